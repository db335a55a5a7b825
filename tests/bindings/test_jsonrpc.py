"""JSON-RPC over HTTP: one envelope out, one envelope back."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import httpx
import pytest

from a2a_delegate.bindings.call import Call
from a2a_delegate.bindings.carriage import Bounds
from a2a_delegate.bindings.exchange import Exchange
from a2a_delegate.bindings.jsonrpc import JsonRpcBinding
from a2a_delegate.errors import UsageError
from a2a_delegate.lifecycle.operations import (
    Fault,
    FaultKind,
    Lost,
    NotSent,
    OperationName,
    Unreadable,
)
from a2a_delegate.wire.result import WireResult
from a2a_delegate.wire.words import Words
from tests.bindings.loopback import Line, closed_port, peer, reply

if TYPE_CHECKING:
    import respx

    from a2a_delegate.bindings.call import CallReply

pytestmark = pytest.mark.anyio

URL = "https://agent.example/rpc"
WORDS = Words("SendMessage", {"message": {"messageId": "m-1"}})
NOON = datetime(2026, 5, 1, 12, 0, tzinfo=UTC)


async def call(
    client: httpx.AsyncClient,
    *,
    url: str = URL,
    name: OperationName = OperationName.SEND,
    exchange: Exchange | None = None,
    words: Words = WORDS,
) -> CallReply:
    ids = iter(["r-1", "r-2"])
    binding = JsonRpcBinding(
        client, bounds=Bounds(10_000), new_id=lambda: next(ids), now=lambda: NOON
    )
    asked = Call(words, name, httpx.URL(url), {"A2A-Version": "1.0"})
    return await binding.call(asked, exchange or Exchange())


@pytest.mark.spec("CARR-4")
async def test_a_request_is_one_envelope_and_says_what_it_is(
    respx_mock: respx.MockRouter,
) -> None:
    result = {"jsonrpc": "2.0", "id": "r-1", "result": {"task": {"id": "t-1"}}}
    route = respx_mock.post(URL).respond(json=result)
    exchange = Exchange()
    async with httpx.AsyncClient() as client:
        answer = await call(client, exchange=exchange)
    assert isinstance(answer, WireResult)
    assert (answer.result, answer.status) == ({"task": {"id": "t-1"}}, 200)
    request = route.calls.last.request
    assert json.loads(request.content) == {
        "jsonrpc": "2.0",
        "id": "r-1",
        "method": "SendMessage",
        "params": {"message": {"messageId": "m-1"}},
    }
    assert request.headers["content-type"] == "application/json"
    assert request.headers["accept"] == "application/json"
    assert request.headers["accept-encoding"] == "identity"
    assert request.headers["a2a-version"] == "1.0"
    assert exchange.body_left


async def test_each_request_has_an_id_of_its_own(respx_mock: respx.MockRouter) -> None:
    route = respx_mock.post(URL).respond(204)
    async with httpx.AsyncClient() as client:
        binding = JsonRpcBinding(client, bounds=Bounds(10_000))
        for _ in range(3):
            await binding.call(Call(WORDS, OperationName.GET, httpx.URL(URL), {}), Exchange())
    ids = {json.loads(call.request.content)["id"] for call in route.calls}
    assert len(ids) == 3


@pytest.mark.parametrize(
    ("response", "kind", "retry_after"),
    [
        (httpx.Response(307, headers={"Location": "/x"}), FaultKind.REDIRECTED, None),
        (
            httpx.Response(401, headers={"WWW-Authenticate": "Bearer"}),
            FaultKind.UNAUTHENTICATED,
            None,
        ),
        (httpx.Response(429, headers={"Retry-After": "7"}), FaultKind.RATE_LIMITED, 7.0),
        (
            httpx.Response(429, headers={"Retry-After": "Fri, 01 May 2026 12:00:09 GMT"}),
            FaultKind.RATE_LIMITED,
            9.0,
        ),
        (
            httpx.Response(
                400,
                json={"jsonrpc": "2.0", "id": "r-1", "error": {"code": -32009, "message": "no"}},
            ),
            FaultKind.VERSION_NOT_SUPPORTED,
            None,
        ),
    ],
)
async def test_an_error_answer_is_a_fault_with_its_facts(
    respx_mock: respx.MockRouter,
    response: httpx.Response,
    kind: FaultKind,
    retry_after: float | None,
) -> None:
    respx_mock.post(URL).mock(return_value=response)
    async with httpx.AsyncClient() as client:
        answer = await call(client)
    assert isinstance(answer, Fault)
    assert answer.kind is kind
    assert (answer.error.status, answer.error.retry_after) == (response.status_code, retry_after)
    assert answer.error.method == "send"


@pytest.mark.parametrize(
    "response",
    [
        httpx.Response(204),
        httpx.Response(200, content=b""),
        httpx.Response(200, content=b"<html>"),
        httpx.Response(200, json={"jsonrpc": "2.0", "id": "other", "result": {}}),
        httpx.Response(200, content=b"\xff\xfe\x00"),
    ],
)
async def test_what_is_no_envelope_of_ours_is_unreadable(
    respx_mock: respx.MockRouter, response: httpx.Response
) -> None:
    respx_mock.post(URL).mock(return_value=response)
    async with httpx.AsyncClient() as client:
        answer = await call(client)
    assert isinstance(answer, Unreadable)
    assert answer.evidence == response.content
    assert answer.error.status == response.status_code


@pytest.mark.parametrize(("name", "ids"), [(OperationName.SEND, ["t-1"]), (OperationName.LIST, [])])
@pytest.mark.spec("CARR-10")
async def test_only_a_cut_reply_to_a_send_is_searched_for_an_id(
    name: OperationName, ids: list[str]
) -> None:
    async def talk(line: Line) -> None:
        await line.hear()
        cut = b'{"jsonrpc":"2.0","id":"r-1","result":{"task":{"id":"t-1",'
        await line.say(reply(cut, length=1000))

    seen: list[str] = []
    async with peer(talk) as there, httpx.AsyncClient() as client:
        answer = await call(client, url=there.url, name=name, exchange=Exchange(on_id=seen.append))
    assert isinstance(answer, Lost)
    assert seen == ids
    assert answer.task_id == (ids[0] if ids else None)


async def test_a_peer_that_is_not_there_was_sent_nothing() -> None:
    async with httpx.AsyncClient() as client:
        answer = await call(client, url=f"http://127.0.0.1:{await closed_port()}/")
    assert isinstance(answer, NotSent)


async def test_words_that_are_no_json_are_refused_before_anything_is_sent() -> None:
    exchange = Exchange()
    async with httpx.AsyncClient() as client:
        with pytest.raises(UsageError):
            await call(client, exchange=exchange, words=Words("X", {"n": float("nan")}))
    assert not exchange.body_left
