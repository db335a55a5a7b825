"""The templates of HTTP+JSON against real servers: each recorded request is replayed."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from a2a_delegate.testing import ScriptedPeer
from tests.testing.recorded_shapes import CAPTURES, shape

if TYPE_CHECKING:
    import httpx

pytestmark = [pytest.mark.anyio, pytest.mark.virtual_time]

BOTH = ("1.0", "0.3")
SERVERS: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    "a2a-sdk-1.3": (("1.0",), {}),
    "a2a-sdk-1.3-compat-as-1.0": (BOTH, {}),
    "a2a-sdk-1.3-compat-as-0.3": (BOTH, {}),
    "a2a-sdk-0.3": (("0.3",), {}),
    "js-sdk-0.3": (("0.3",), {"like_js": True}),
}
# What the agent there makes of an empty message is its own; the scripted peer is stricter.
ANSWERS_ANYTHING = ("a2a-sdk-0.3", '{"message": {}}')
MILLISECONDS = re.compile(r"(T\d\d:\d\d:\d\d\.\d{3})Z")


def paired(recorded: object, replayed: object, known: dict[str, str]) -> None:
    """Learn which id of the recording is which of the peer's."""
    if isinstance(recorded, dict) and isinstance(replayed, dict):
        for name, item in recorded.items():
            if name in {"id", "contextId"} and isinstance(item, str):
                known[item] = replayed[name]
            paired(item, replayed.get(name), known)


def told(body: dict[str, Any]) -> object:
    """Return what is compared: of several complaints about one message the first alone."""
    error = body.get("error", {})
    for detail in error.get("details", ()):
        detail.get("metadata", {}).get("errors", [])[1:] = []
        detail.get("fieldViolations", [])[1:] = []
    return shape(body)


@pytest.mark.spec("BARE-3")
@pytest.mark.parametrize("server", SERVERS)
async def test_a_recorded_request_gets_a_reply_of_the_recorded_shape(server: str) -> None:
    versions, options = SERVERS[server]
    peer = ScriptedPeer(versions, bindings=("HTTP+JSON",), **options)
    path = CAPTURES / server / "25-rest.json"
    recording = json.loads(path.read_text(encoding="utf-8"))
    known: dict[str, str] = {}
    async with peer.client() as client:
        for exchange in recording["exchanges"]:
            request, response = exchange["request"], exchange["response"]
            if (server, request["body"]) == ANSWERS_ANYTHING:
                continue
            place = request["url"].split("/rest/")[1]
            for theirs, ours in known.items():
                place = place.replace(theirs, ours)
            reply = await client.request(
                request["method"],
                f"{peer.http_json_url}/{place}",
                content=request["body"],
                headers=request["headers"],
            )
            assert reply.status_code == response["status"], place
            compare(reply, response, known)


def compare(reply: httpx.Response, response: dict[str, Any], known: dict[str, str]) -> None:
    """Compare two replies; where nothing is served, what a web framework says is its own."""
    media_type = response["headers"]["content-type"]
    if "json" not in media_type:
        assert reply.headers["content-type"] == "text/plain; charset=utf-8"
        return
    assert reply.headers["content-type"] == media_type
    recorded = json.loads(MILLISECONDS.sub(r"\g<1>000Z", response["body"]))
    replayed = reply.json()
    paired(recorded, replayed, known)
    if recorded.get("task", {}).get("status") == {"state": "TASK_STATE_SUBMITTED"}:
        # The recorded agent had not begun when the send was answered; this one has ended by then.
        assert replayed["task"].pop("artifacts")
        replayed["task"]["status"]["state"] = "TASK_STATE_SUBMITTED"
    listed = [
        {json.dumps(shape(task), sort_keys=True) for task in body.pop("tasks", ())}
        for body in (replayed, recorded)
    ]
    assert listed[0] <= listed[1]
    assert bool(listed[0]) == bool(listed[1])
    assert told(replayed) == told(recorded)
    if "message" in recorded and isinstance(recorded["message"], str):
        assert replayed["message"] == said(recorded["message"], known)
    elif "error" in recorded:
        assert replayed["error"]["message"] == said(recorded["error"]["message"], known)


def said(text: str, known: dict[str, str]) -> str:
    """Return an error's text, with the ids of the recording replaced by the peer's."""
    for theirs, ours in known.items():
        text = text.replace(theirs, ours)
    return text


@pytest.mark.spec("BARE-1")
@pytest.mark.parametrize("server", ["a2a-sdk-1.3", "a2a-sdk-1.3-compat-as-1.0", "a2a-sdk-0.3"])
def test_the_interfaces_of_the_card_are_of_the_recorded_shape(server: str) -> None:
    versions, _ = SERVERS[server]
    text = (CAPTURES / server / "01-card.json").read_text(encoding="utf-8")
    card = ScriptedPeer(versions, bindings=("JSONRPC", "HTTP+JSON")).card()
    recorded = next(
        json.loads(exchange["response"]["body"])
        for exchange in json.loads(text)["exchanges"]
        if exchange["request"]["url"].endswith("agent-card.json")
    )
    for name in ("supportedInterfaces", "additionalInterfaces"):
        # The recorded servers speak gRPC too.
        of_ours = [one for one in recorded.get(name, ()) if "GRPC" not in one.values()]
        found: Any = card.get(name, [])
        words = ("protocolBinding", "protocolVersion", "transport")
        assert [[one.get(word) for word in words] for one in found] == [
            [one.get(word) for word in words] for one in of_ours
        ]
        assert [one["url"].rsplit("/")[-1] for one in found] == [
            one["url"].rsplit("/")[-1] or "rpc" for one in of_ours
        ]
    assert card.get("preferredTransport") == recorded.get("preferredTransport")
