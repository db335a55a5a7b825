"""What a scripted peer refuses over HTTP+JSON, and what it does to a request there when told."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

import anyio
import httpx
import hypothesis
import hypothesis.strategies as st
import pytest

from a2a_delegate.errors import UsageError
from a2a_delegate.testing import (
    DropBeforeReading,
    DropWhileReading,
    InsertEvent,
    Intruder,
    Operation,
    Respond,
    RpcError,
    ScriptedPeer,
    UnknownState,
    WrongId,
)
from tests.testing.speaking_http_json import KINDS, HttpJsonSpeaker

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from a2a_delegate.testing import Behaviour

pytestmark = [pytest.mark.anyio, pytest.mark.virtual_time]

HTTP_JSON = ("HTTP+JSON",)
BOTH = ("JSONRPC", "HTTP+JSON")


@pytest.fixture(params=KINDS)
async def speaker(request: pytest.FixtureRequest) -> AsyncIterator[HttpJsonSpeaker]:
    versions, options = KINDS[request.param]
    peer = ScriptedPeer(versions, bindings=HTTP_JSON, **options)
    async with peer.client(timeout=None) as client:
        yield HttpJsonSpeaker(peer, client, versions[-1])
    assert peer.truth.open == 0
    assert peer.pending == ()


# Errors


REASONS = {
    -32700: "INVALID_REQUEST",
    -32600: "INVALID_REQUEST",
    -32601: "METHOD_NOT_FOUND",
    -32602: "INVALID_PARAMS",
    -32603: "INTERNAL_ERROR",
    -32001: "TASK_NOT_FOUND",
    -32002: "TASK_NOT_CANCELABLE",
    -32003: "PUSH_NOTIFICATION_NOT_SUPPORTED",
    -32004: "UNSUPPORTED_OPERATION",
    -32005: "CONTENT_TYPE_NOT_SUPPORTED",
    -32006: "INVALID_AGENT_RESPONSE",
    -32007: "EXTENDED_AGENT_CARD_NOT_CONFIGURED",
    -32008: "EXTENSION_SUPPORT_REQUIRED",
    -32009: "VERSION_NOT_SUPPORTED",
}
STATUSES = {
    "1.0.1": {
        **dict.fromkeys(REASONS, 400),
        -32601: 404,
        -32603: 500,
        -32001: 404,
        -32006: 500,
    },
    "1.0.0": {
        **dict.fromkeys(REASONS, 400),
        -32601: 404,
        -32603: 500,
        -32001: 404,
        -32002: 409,
        -32005: 415,
        -32006: 502,
    },
}
WORDS_OF_1_0_0 = {-32003, -32004, -32009}


@pytest.mark.spec("BARE-3")
@pytest.mark.parametrize("code", REASONS)
@pytest.mark.parametrize("mapping", STATUSES)
async def test_an_error_has_the_status_and_the_reason_of_its_code(mapping: str, code: int) -> None:
    peer = ScriptedPeer(bindings=HTTP_JSON, error_mapping=mapping)
    peer.script(Operation.GET, RpcError(code, "why", {"a": 1}))
    async with peer.client() as client:
        reply = await HttpJsonSpeaker(peer, client).post("get", {"id": "x"})
    error = reply.json()["error"]
    assert (reply.status_code, error["code"]) == (STATUSES[mapping][code],) * 2
    assert error["message"] == "why"
    assert error["details"] == [
        {
            "@type": "type.googleapis.com/google.rpc.ErrorInfo",
            "reason": REASONS[code],
            "domain": "a2a-protocol.org",
            "metadata": {"a": 1},
        }
    ]
    unimplemented = mapping == "1.0.0" and code in WORDS_OF_1_0_0
    assert (error["status"] == "UNIMPLEMENTED") is unimplemented


@pytest.mark.spec("BARE-4")
async def test_an_error_of_any_code_takes_the_form_of_its_server(speaker: HttpJsonSpeaker) -> None:
    peer = speaker.peer
    peer.script(Operation.GET, RpcError(-32000, "odd", [1]), RpcError(-32001, "x", status=418))
    odd, told = [await speaker.post("get", {"id": "x"}) for _ in range(2)]
    assert (odd.status_code, told.status_code) == (500, 418)
    of_kind: dict[tuple[str, ...], dict[str, object]] = {
        ("code", "message", "data"): {"code": -32000, "message": "odd", "data": [1]},
        ("message",): {"message": "odd"},
        ("error",): {
            "error": {"code": 500, "status": "INTERNAL", "message": "odd", "details": [1]}
        },
    }
    assert odd.json() == of_kind[tuple(odd.json())]


@pytest.mark.spec("BARE-3")
async def test_an_error_of_no_known_code_has_no_details() -> None:
    peer = ScriptedPeer(bindings=HTTP_JSON)
    peer.script(Operation.GET, RpcError(-1, "odd"))
    async with peer.client() as client:
        reply = await HttpJsonSpeaker(peer, client).post("get", {"id": "x"})
    assert reply.json() == {"error": {"code": 500, "status": "INTERNAL", "message": "odd"}}


@pytest.mark.spec("BARE-4")
@pytest.mark.parametrize("accepts", [True, False])
async def test_an_error_may_come_after_the_effect(
    speaker: HttpJsonSpeaker, *, accepts: bool
) -> None:
    speaker.peer.script(Operation.SEND, RpcError(-32602, "no", accepts=accepts))
    reply = await speaker.post("send", {"message": speaker.message("task", "m")})
    assert reply.status_code in {400, 422}
    assert speaker.peer.truth.runs["m"] == accepts


@pytest.mark.spec("BARE-3")
async def test_a_version_that_is_not_spoken_is_refused() -> None:
    for versions, header, status in [
        (("1.0",), "", 400),
        (("1.0",), "0.3", 400),
        (("1.0",), "1.1", 200),
        (("0.3",), "9.9", 200),
        (("1.0", "0.3"), "1.0", 400),
        (("1.0", "0.3"), "0.3.0", 200),
        (("1.0", "0.3"), "", 200),
    ]:
        peer = ScriptedPeer(versions, bindings=HTTP_JSON)
        async with peer.client() as client:
            speaker = HttpJsonSpeaker(peer, client, versions[-1])
            request = speaker.request("send", {"message": speaker.message("task")})
            request.headers["A2A-Version"] = header
            reply = await client.send(request)
        assert reply.status_code == status, (versions, header)
        if status != 200:
            assert reply.json()["error"]["details"][0]["reason"] == "VERSION_NOT_SUPPORTED"


@pytest.mark.spec("BARE-4")
@pytest.mark.parametrize("behaviour", [WrongId(), InsertEvent(0, Intruder.WRONG_ID)], ids=repr)
async def test_a_reply_that_names_no_request_names_no_wrong_one(behaviour: Behaviour) -> None:
    peer = ScriptedPeer(bindings=BOTH, streaming=True)
    peer.script(Operation.SEND, behaviour)
    async with peer.client() as client:
        speaker = HttpJsonSpeaker(peer, client)
        with pytest.raises(UsageError, match=r"over HTTP\+JSON a reply names no request"):
            await speaker.call("stream", {"message": speaker.message("task", "m")})
    assert peer.truth.runs["m"] == 0


@pytest.mark.spec("BARE-4")
async def test_a_listed_or_shown_state_can_be_any_word(speaker: HttpJsonSpeaker) -> None:
    for operation in (Operation.SEND, Operation.GET, Operation.CANCEL, Operation.LIST):
        speaker.peer.always(operation, UnknownState("PONDERING"))
    task = await speaker.sent_task("slow 5", immediate=True)
    seen = [task, await speaker.get(task["id"]), await speaker.cancel(task["id"])]
    if speaker.version == "1.0":
        seen += (await speaker.list())["tasks"]
    assert {one["status"]["state"] for one in seen} == {"PONDERING"}
    assert "error" in await speaker.send("task", taskId="nowhere")


@pytest.mark.spec("BARE-4")
async def test_what_is_asked_is_known_before_the_body_is_touched(speaker: HttpJsonSpeaker) -> None:
    taken: list[bytes] = []

    class Watched(httpx.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            for piece in (b'{"mess', b'age":{}}'):
                taken.append(piece)
                yield piece

    speaker.peer.script(Operation.SEND, DropBeforeReading(), DropWhileReading())
    for expected in ([], [b'{"mess']):
        request = speaker.request("send", {})
        request.stream = Watched()
        with pytest.raises(httpx.TransportError):
            await speaker.client.send(request)
        assert taken == expected
    assert speaker.peer.truth.sends == 1


@pytest.mark.spec("BARE-4")
async def test_a_rule_for_a_prompt_holds_for_the_gets_of_its_task(speaker: HttpJsonSpeaker) -> None:
    speaker.peer.always(Operation.GET, Respond(503), prompt="task one")
    speaker.peer.always(Operation.SEND, Respond(429), prompt="task two")
    one = await speaker.sent_task("task one")
    other = await speaker.sent_task("task three")
    params = {"message": speaker.message("task two")}
    statuses = [
        (await speaker.post(operation, asked)).status_code
        for operation, asked in [
            ("get", {"id": one["id"]}),
            ("get", {"id": other["id"]}),
            ("send", params),
        ]
    ]
    assert statuses == [503, 200, 429]


# Any bytes


@pytest.mark.spec("BARE-6")
@pytest.mark.parametrize(
    "body",
    [
        b"{oops",
        b"\xff\xfe\x00",
        b"[" * 200_000,
        b'{"message":' + b"[" * 101 + b"]" * 101 + b"}",
        b"[]",
        b"null",
        b'"text"',
        b"7",
        b"",
        b" ",
        b'{"message":null}',
        b'{"message":[]}',
        b'{"message":{"messageId":7,"role":"ROLE_USER"}}',
        b'{"message":{"messageId":"m","role":"user","kind":"message","parts":[{"kind":"text"}]}}',
        b'{"message":{"messageId":"m","role":"ROLE_USER","parts":[7],"content":[7]}}',
        b'{"message":{"messageId":"m","role":"ROLE_USER","parts":[{}],"content":[{}]}}',
        b'{"message":{"messageId":"m","role":"ROLE_USER","content":[{"data":{"data":[]}}]}}',
        b'{"message":{"messageId":"m","role":"ROLE_USER","content":[{"file":{}}]}}',
        b'{"message":{"messageId":"m","role":"ROLE_USER"},"configuration":[1]}',
        b'{"message":{"messageId":"m","role":"ROLE_USER","parts":[7]},"configuration":{"a":1}}',
    ],
    ids=lambda value: repr(value)[:60],
)
async def test_what_is_no_send_is_refused_and_runs_nothing(
    speaker: HttpJsonSpeaker, body: bytes
) -> None:
    request = speaker.request("send", {})
    request = httpx.Request(
        "POST", request.url, content=body, headers={"A2A-Version": speaker.version}
    )
    reply = await speaker.client.send(request)
    assert reply.status_code in {400, 422, 500}
    assert "json" in reply.headers["content-type"]
    assert isinstance(reply.json(), dict)
    assert speaker.peer.truth.tasks == ()


def test_any_body_at_any_place_is_answered() -> None:
    places = [
        "message:send",
        "v1/message:send",
        "tasks/x:cancel",
        "v1/tasks/x:subscribe",
        "t/tasks/x:cancel",
    ]
    peer = ScriptedPeer(("1.0", "0.3"), bindings=HTTP_JSON, tenant="t")

    @hypothesis.given(place=st.sampled_from(places) | st.text(max_size=20), body=st.binary())
    @hypothesis.settings(deadline=None, max_examples=100)
    def answers(place: str, body: bytes) -> None:
        anyio.run(ask, place, body)

    async def ask(place: str, body: bytes) -> None:
        async with peer.client() as client:
            reply = await client.post(
                f"{peer.http_json_url}/{quote(place, safe='/:?&=%')}",
                content=body,
                headers={"A2A-Version": "1.0"},
            )
        assert reply.status_code < 600

    answers()
