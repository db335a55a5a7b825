"""The peer's templates against real servers: each recorded request is replayed, and the replies
have to be of the recorded shape.

The templates share no code with the client's dialects, and this is what they are held to instead.
"""

from __future__ import annotations

import json

import anyio
import pytest

from a2a_delegate.testing import ScriptedPeer
from tests.testing.recorded_shapes import CAPTURES, shape

pytestmark = [pytest.mark.anyio, pytest.mark.virtual_time]

# Seconds before each exchange of a scenario in which the recording waited.
PAUSES = {
    "05-send-slow-nonblocking": [0.0, 0.8, 2.2],
    "07-cancel-running": [0.0, 1.0, 0.0, 3.0, 0.0, 0.0],
}
SCENARIOS = [
    "02-send-hello",
    "03-send-task-default",
    "04-send-slow-blocking",
    "05-send-slow-nonblocking",
    "05b-send-slow-default-config",
    "06-get",
    "07-cancel-running",
    "08-cancel-other",
    "13-input-required",
    "14-wrong-context",
    "15-outcomes",
    "16-duplicate-messageid",
    "17-duplicate-messageid-running",
    "20-version-header",
    "21-other-dialect",
    "22-malformed",
    "23-list",
]
OF_0_2 = "a2a-sdk-0.2"
PEERS = {"a2a-sdk-1.3": ("1.0",), "a2a-sdk-0.3": ("0.3",), OF_0_2: ("0.2",)}
BOTH = ("1.0", "0.3")
CASES = [
    *((peer, versions, name) for peer, versions in PEERS.items() for name in SCENARIOS),
    ("a2a-sdk-1.3-compat-as-1.0", BOTH, "20-version-header"),
    ("a2a-sdk-1.3-compat-as-1.0", BOTH, "21-other-dialect"),
    ("a2a-sdk-1.3-compat-as-0.3", BOTH, "20-version-header"),
    ("a2a-sdk-1.3-compat-as-0.3", BOTH, "21-other-dialect"),
]

# The recorded agent raises at the word `boom`, and says hello to a message without parts.
OTHERS = {("boom", False), ("no_parts", True)}


def assert_same_shape(replayed: dict[str, object], recorded: dict[str, object]) -> None:
    """Compare two replies; a list of tasks may lack a kind of task that the recorded one has."""
    listed = []
    for reply in (replayed, recorded):
        result = reply.get("result")
        tasks = result.pop("tasks", []) if isinstance(result, dict) else []
        listed.append({json.dumps(shape(task), sort_keys=True) for task in tasks})
    assert listed[0] <= listed[1]
    assert bool(listed[0]) == bool(listed[1])
    assert shape(replayed) == shape(recorded)


def pair_ids(recorded: object, replayed: object, known: dict[str, str], key: str = "") -> None:
    """Learn which id of the recording is which of the peer's, from two replies of one shape."""
    if isinstance(recorded, dict) and isinstance(replayed, dict):
        for name, item in recorded.items():
            pair_ids(item, replayed.get(name), known, name)
    elif key in {"id", "contextId"} and isinstance(recorded, str) and isinstance(replayed, str):
        known[recorded] = replayed


def exchanges(peer: str, name: str) -> list[dict[str, dict[str, object]]]:
    loaded = json.loads((CAPTURES / peer / f"{name}.json").read_text(encoding="utf-8"))
    return [
        exchange
        for exchange in loaded["exchanges"]
        if (exchange.get("note"), "result" in exchange["response"]["body"]) not in OTHERS
    ]


@pytest.mark.parametrize(
    ("recorded_of", "versions", "name"), CASES, ids=[f"{peer}/{name}" for peer, _, name in CASES]
)
async def test_a_recorded_request_gets_a_reply_of_the_recorded_shape(
    recorded_of: str, versions: tuple[str, ...], name: str
) -> None:
    peer = ScriptedPeer(versions, always_blocks=recorded_of == OF_0_2)
    known: dict[str, str] = {}
    async with peer.client(timeout=None) as client:
        if name == "23-list":
            await fill(peer)
        for number, exchange in enumerate(exchanges(recorded_of, name)):
            await anyio.sleep(PAUSES.get(name, [0.0] * 99)[number])
            request, response = exchange["request"], exchange["response"]
            body = str(request.get("body") or "")
            for theirs, ours in known.items():
                body = body.replace(theirs, ours)
            headers = {str(k): str(v) for k, v in dict(request["headers"]).items()}  # type: ignore[call-overload]
            reply = await client.post(peer.url, content=body, headers=headers)
            recorded, replayed = json.loads(str(response["body"])), reply.json()
            assert reply.status_code == response["status"]
            assert reply.headers["content-type"] == "application/json"
            assert_same_shape(replayed, recorded)
            assert replayed.get("id") == recorded.get("id")
            if "error" in recorded:
                pair_ids(recorded, replayed, known)
                assert words(replayed, {}) == words(recorded, known)
            else:
                pair_ids(recorded["result"], replayed["result"], known)
                pair_ids(recorded["result"].get("task"), replayed["result"].get("task"), known)


def words(reply: dict[str, dict[str, str]], known: dict[str, str]) -> str:
    """Return an error's text, with the ids of the recording replaced by the peer's."""
    text = reply["error"]["message"]
    for theirs, ours in known.items():
        text = text.replace(theirs, ours)
    return text


async def fill(peer: ScriptedPeer) -> None:
    """Give the peer more than a page of tasks to list, the newest with a longer history."""
    async with peer.client() as client:
        for number in range(60):
            word = "slow 1" if number > 55 else "reject" if number % 7 == 3 else "task"
            message = {"messageId": f"m{number}", "role": "ROLE_USER", "parts": [{"text": word}]}
            call = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage"}
            await client.post(
                peer.url,
                json={**call, "params": {"message": message}},
                headers={"A2A-Version": "1.0"},
            )


@pytest.mark.parametrize("peer_name", [*PEERS, "a2a-sdk-1.3-compat-as-1.0"])
async def test_the_card_has_the_fields_of_the_recorded_one(peer_name: str) -> None:
    peer = ScriptedPeer(PEERS.get(peer_name, BOTH))
    path = "/.well-known/agent.json" if peer_name == OF_0_2 else "/.well-known/agent-card.json"
    asked = exchanges(peer_name, "01-card")
    recorded_reply = next(one for one in asked if str(one["request"]["url"]).endswith(path))[
        "response"
    ]
    recorded = json.loads(str(recorded_reply["body"]))
    async with peer.client() as client:
        reply = await client.get(f"https://peer.example{path}")
    for card in (recorded, reply.json()):
        for interfaces in ("supportedInterfaces", "additionalInterfaces"):
            # The recorded servers speak more bindings than the scripted peer.
            one_binding = [i for i in card.get(interfaces, []) if "JSONRPC" in i.values()]
            card.pop(interfaces, None)
            if one_binding:
                card[interfaces] = one_binding
    assert shape(reply.json()) == shape(recorded)
    has_tag = "etag" in dict(recorded_reply["headers"])  # type: ignore[call-overload]
    assert not has_tag or reply.headers["etag"].startswith('W/"')
    assert reply.headers["content-type"] == "application/json"
