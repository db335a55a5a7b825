"""Any bytes are answered as a server would: with an error object, never with a traceback."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import hypothesis
import hypothesis.strategies as st
import pytest

from a2a_delegate.testing import ScriptedPeer
from tests.testing.speaking import METHODS, Reply, Speaker

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.anyio, pytest.mark.virtual_time]

VERSIONS = [("1.0",), ("0.3",), ("0.2",), ("1.0", "0.3"), ("1.0", "0.2")]
HEADERS = {"A2A-Version": "1.0"}
JSON_RPC = {-32700, -32600, -32601, -32602}


@pytest.mark.parametrize("versions", VERSIONS)
@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", -32700),
        (b"{oops", -32700),
        (b"\xff\xfe\x00", -32700),
        (b"[" * 200_000, -32700),
        (b'{"id":' + b"9" * 5_000 + b"}", -32700),
        (b'{"jsonrpc":"2.0","id":' + b"[" * 101 + b"]" * 101 + b"}", -32700),
        (b'{"a":[' + b"[]," * 999 + b"1]}", -32600),
        (b"[]", -32600),
        (b'[{"jsonrpc":"2.0","id":1,"method":"GetTask"}]', -32600),
        (b"null", -32600),
        (b'"text"', -32600),
        (b"{}", -32600),
        (b'{"jsonrpc":"1.0","id":1,"method":"GetTask"}', -32600),
        (b'{"jsonrpc":"2.0","id":1}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":7}', -32600),
        (b'{"jsonrpc":"2.0","id":true,"method":"GetTask"}', -32600),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"GetTask"}', -32600),
        (b'{"jsonrpc":"2.0","id":{},"method":"GetTask"}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":""}', -32601),
        (b'{"jsonrpc":"2.0","id":1,"method":"nope/nope"}', -32601),
    ],
    ids=lambda value: repr(value)[:40],
)
async def test_what_is_no_request_gets_the_error_of_json_rpc(
    versions: tuple[str, ...], body: bytes, code: int
) -> None:
    peer = ScriptedPeer(versions)
    async with peer.client() as client:
        reply = await client.post(peer.url, content=body, headers=HEADERS)
    assert reply.status_code == 200
    # What is no request of its own is an invalid one to a server of 0.2, and under no id.
    is_0_2 = versions == ("0.2",)
    assert reply.json()["error"]["code"] == (-32600 if is_0_2 and code == -32601 else code)
    assert reply.json()["jsonrpc"] == "2.0"
    # A server of 0.3 leaves out an id that it cannot name; one of 1.0 says null.
    names_it = (
        not is_0_2 and body.startswith(b'{"jsonrpc"') and b'"id":1' in body and b"1.5" not in body
    )
    assert reply.json().get("id") == (1 if names_it else None)
    assert ("id" in reply.json()) == ("1.0" in versions or names_it)


GOOD: dict[str, Reply] = {
    "1.0": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "task"}]},
    "0.3": {
        "messageId": "m",
        "role": "user",
        "kind": "message",
        "parts": [{"kind": "text", "text": "task"}],
    },
}
GOOD["0.2"] = GOOD["0.3"]
NO_PARAMS: list[object] = [[], "x", 7, None, {}]
BAD_FIELDS: list[Reply] = [
    {"messageId": None},
    {"messageId": ""},
    {"messageId": 7},
    {"role": "robot"},
    {"role": ["user"]},
    {"parts": None},
    {"parts": "task"},
    {"parts": ["task"]},
    {"parts": [{}]},
    {"contextId": 7},
    {"taskId": ["x"]},
    {"metadata": "x"},
    {"extensions": "x"},
    {"extensions": [1]},
    {"referenceTaskIds": {"a": 1}},
]
BAD_PARTS: dict[str, list[Reply]] = {
    "1.0": [
        {"text": 7},
        {"text": "a", "data": 1},
        {"raw": None},
        {"url": 7},
        {"text": "a", "metadata": []},
        {"data": 1, "mediaType": 3},
        {"raw": "", "filename": {}},
        {"kind": "text"},
    ],
    "0.3": [
        {"text": "a"},
        {"kind": "text", "text": 7},
        {"kind": "data", "data": [1]},
        {"kind": "data"},
        {"kind": "file"},
        {"kind": "file", "file": {}},
        {"kind": "file", "file": {"bytes": "aGk=", "uri": "https://x.example"}},
        {"kind": "file", "file": {"uri": 7}},
        {"kind": "file", "file": {"uri": "https://x.example", "name": 7}},
        {"kind": "smell"},
    ],
}
BAD_PARTS["0.2"] = BAD_PARTS["0.3"]
BAD_CONFIGURATIONS: dict[str, list[object]] = {
    "1.0": ["x", [1], {"historyLength": "1"}, {"historyLength": -1}, {"returnImmediately": 1}],
    "0.3": ["x", [1], {"historyLength": "1"}, {"historyLength": True}, {"blocking": "no"}],
}
BAD_CONFIGURATIONS["0.2"] = BAD_CONFIGURATIONS["0.3"]
BAD_IDS: list[object] = [None, [], {}, {"id": None}, {"id": ""}, {"id": 7}]


def bad_params() -> Iterator[tuple[str, str, object]]:
    for version, message in GOOD.items():
        bad_messages = [{**message, **fields} for fields in BAD_FIELDS]
        bad_messages += [{**message, "parts": [part]} for part in BAD_PARTS[version]]
        for params in NO_PARAMS:
            yield version, "send", params
        for bad in bad_messages:
            yield version, "send", {"message": bad}
        for configuration in BAD_CONFIGURATIONS[version]:
            yield version, "send", {"message": message, "configuration": configuration}
        for params in BAD_IDS:
            yield version, "get", params
            yield version, "cancel", params
    yield "0.3", "send", {"message": {**GOOD["0.3"], "kind": "task"}}


@pytest.mark.parametrize(("version", "operation", "params"), list(bad_params()), ids=repr)
@pytest.mark.parametrize("dual", [False, True])
async def test_parameters_of_another_shape_are_refused_before_anything_runs(
    version: str, operation: str, params: object, *, dual: bool
) -> None:
    beside = version if version != "1.0" else "0.3"
    peer = ScriptedPeer(("1.0", beside) if dual else (version,))
    async with peer.client() as client:
        reply = await Speaker(peer, client, version).post(operation, params)
    assert reply.json()["error"]["code"] == (-32600 if version == "0.2" else -32602)
    assert dict(peer.truth.runs) == {}
    assert peer.truth.tasks == ()


async def test_fields_that_nobody_knows_do_no_harm() -> None:
    peer = ScriptedPeer()
    async with peer.client() as client:
        message = {**GOOD["1.0"], "xUnknown": 1}
        reply = await Speaker(peer, client).call("send", {"message": message, "yUnknown": 2})
    assert "result" in reply


async def test_a_notification_runs_in_1_0_and_is_refused_before_it() -> None:
    for version, runs in [("1.0", 1), ("0.3", 0), ("0.2", 0)]:
        peer = ScriptedPeer((version,))
        async with peer.client() as client:
            call = {"jsonrpc": "2.0", "method": METHODS[version]["send"]}
            body = {**call, "params": {"message": GOOD[version]}}
            reply = (await client.post(peer.url, json=body, headers=HEADERS)).json()
        assert ("result" in reply) == bool(runs)
        assert reply.get("id") is None
        assert peer.truth.runs["m"] == runs


@pytest.mark.parametrize("text", ["é😀", "\ud800 alone", 'a"\\\n', "\u2028", "slow ²", "slow -1"])
async def test_any_text_comes_back_as_it_was_sent(text: str) -> None:
    peer = ScriptedPeer(name="name of \ud83d")
    async with peer.client() as client:
        speaker = Speaker(peer, client)
        call = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage"}
        body = {**call, "params": {"message": speaker.message(text)}}
        # httpx's own `json=` cannot write a lone surrogate.
        reply = await client.post(peer.url, content=json.dumps(body), headers=HEADERS)
    task = json.loads(reply.content)["result"]["task"]
    assert task["history"][0]["parts"][0]["text"] == text
    assert peer.truth.tasks[0].text == text


async def test_data_as_deep_as_is_taken_comes_back() -> None:
    peer = ScriptedPeer()
    data: list[object] = []
    for _ in range(94):  # within: the request, params, message, parts, the part
        data = [data]
    async with peer.client() as client:
        speaker = Speaker(peer, client)
        task = await speaker.sent_task("", parts=[{"data": data}])
        assert task["history"][0]["parts"] == [{"data": data}]
        refused = await speaker.send("", parts=[{"data": [data]}])
        assert refused["error"]["code"] == -32700


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=6,
)
KEYS = ["message", "id", "configuration", "pageSize", "pageToken", "contextId", "status", "tenant"]
MESSAGE_KEYS = ["messageId", "role", "parts", "kind", "contextId", "taskId", "metadata"]


def objects(keys: list[str], values: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    return st.dictionaries(st.sampled_from(keys), values, max_size=len(keys))


parts = objects(["kind", "text", "data", "raw", "url", "file", "metadata"], json_values)
messages = objects(MESSAGE_KEYS, json_values | st.lists(parts, max_size=2))
params = json_values | objects(KEYS, json_values | messages)
methods = st.sampled_from([name for names in METHODS.values() for name in names.values()])
requests = objects(["jsonrpc", "id", "method", "params"], json_values | methods | params) | (
    st.builds(
        lambda method, value: {"jsonrpc": "2.0", "id": 1, "method": method, "params": value},
        methods,
        params,
    )
)


@hypothesis.given(
    body=st.binary(max_size=40) | requests.map(lambda value: json.dumps(value).encode()),
    versions=st.sampled_from(VERSIONS),
    header=st.none() | st.sampled_from(["", "1.0", "0.3"]) | st.text("0123456789.vx", max_size=6),
)
async def test_whatever_comes_is_answered_in_json_rpc(
    body: bytes, versions: tuple[str, ...], header: str | None
) -> None:
    peer = ScriptedPeer(versions)
    headers = {} if header is None else {"A2A-Version": header}
    async with peer.client(timeout=None) as client:
        response = await client.post(peer.url, content=body, headers=headers)
    reply = response.json()
    assert response.status_code == 200
    assert reply["jsonrpc"] == "2.0"
    assert ("result" in reply) != ("error" in reply)
    assert peer.truth.open == 0
    assert sum(peer.truth.runs.values()) <= 1
