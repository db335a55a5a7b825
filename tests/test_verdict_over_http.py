"""The verdict on a send, as HTTP shows it: one case for each line of the table, over respx."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import httpx
import pytest
import respx

from a2a_delegate import (
    A2ADelegate,
    A2ADelegateConfig,
    A2ARequestError,
    AgentCard,
    AgentInterface,
    Binding,
    DelegateError,
    Effect,
    InvalidReplyError,
    LostReplyError,
    PeerUnreachableError,
    ProtocolVersion,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from a2a_delegate import DelegateResult

pytestmark = [pytest.mark.anyio, pytest.mark.virtual_time]

URL = "https://peer.example/rpc"
TLS = httpx.create_ssl_context()
"""Made once: each client would take its own time to make one."""
CONFIG = A2ADelegateConfig(timeout=60, poll_interval=0.5)


def delegate(client: httpx.AsyncClient, version: ProtocolVersion) -> A2ADelegate:
    card = AgentCard("Peer", (AgentInterface(URL, Binding.JSONRPC, version),))
    return A2ADelegate("peer", card, client=client, config=CONFIG)


def answering(reply: Callable[[str], httpx.Response]) -> respx.Route:
    """Answer every send with what `reply` makes of its JSON-RPC id, and list nothing."""

    def answer(request: httpx.Request) -> httpx.Response:
        envelope = json.loads(request.content)
        if envelope["method"] == "ListTasks":
            empty = {"tasks": [], "nextPageToken": ""}
            return httpx.Response(
                200, json={"jsonrpc": "2.0", "id": envelope["id"], "result": empty}
            )
        return reply(envelope["id"])

    return respx.post(URL).mock(side_effect=answer)


def sends(route: respx.Route) -> int:
    methods = [json.loads(call.request.content)["method"] for call in route.calls]
    return sum(method in {"SendMessage", "message/send"} for method in methods)


async def verdict(version: ProtocolVersion) -> DelegateResult:
    async with httpx.AsyncClient(verify=TLS) as client:
        return await delegate(client, version).dispatch("work")


def rpc_error(code: int, message: str = "no", status: int = 200) -> Callable[[str], httpx.Response]:
    def reply(request_id: str) -> httpx.Response:
        error = {"code": code, "message": message}
        return httpx.Response(status, json={"jsonrpc": "2.0", "id": request_id, "error": error})

    return reply


def plain(status: int, **headers: str) -> Callable[[str], httpx.Response]:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda _: httpx.Response(status, headers=named)


REFUSED = [
    pytest.param(rpc_error(-32700), id="-32700"),
    pytest.param(rpc_error(-32601), id="-32601"),
    pytest.param(rpc_error(-32601, status=404), id="-32601 under 404"),
    pytest.param(rpc_error(-32008), id="-32008"),
    pytest.param(rpc_error(-32009, status=400), id="-32009 under 400"),
    pytest.param(rpc_error(-32600, "Protocol version not supported"), id="-32600 version"),
    pytest.param(rpc_error(-32603, "A2A version '1.0' is not supported"), id="-32603 version"),
    pytest.param(plain(401, www_authenticate="Bearer"), id="401 with challenge"),
    pytest.param(plain(405), id="405"),
    pytest.param(plain(413), id="413"),
    pytest.param(plain(415), id="415"),
    pytest.param(plain(307, location="https://peer.example/rpc/"), id="307"),
    pytest.param(plain(308, location="https://elsewhere.example/"), id="308"),
]

UNCLEAR = [
    pytest.param(rpc_error(code), id=str(code))
    for code in (-32600, -32602, -32603, -32001, -32002, -32004, -32005, -32006, -1)
] + [
    pytest.param(plain(status), id=str(status))
    for status in (301, 302, 400, 401, 403, 404, 408, 409, 410, 422, 500, 502, 503, 504)
]

NOT_UNDERSTOOD = [
    pytest.param(plain(204), id="204"),
    pytest.param(plain(200), id="empty"),
    pytest.param(lambda _: httpx.Response(200, text="<html>hello</html>"), id="markup"),
    pytest.param(lambda _: httpx.Response(200, json={}), id="an empty object"),
    pytest.param(
        lambda _: httpx.Response(200, json={"jsonrpc": "2.0", "id": "another", "result": {}}),
        id="another id",
    ),
    pytest.param(
        lambda it: httpx.Response(200, json={"jsonrpc": "2.0", "id": it, "result": {}}),
        id="an empty result",
    ),
]

VERSIONS = pytest.mark.parametrize("version", [ProtocolVersion.V1_0, ProtocolVersion.V0_3])


@VERSIONS
@pytest.mark.parametrize("reply", REFUSED)
@respx.mock
async def test_a_refusal_that_precedes_execution_is_rejected_and_not_started(
    version: ProtocolVersion, reply: Callable[[str], httpx.Response]
) -> None:
    route = answering(reply)
    result = await verdict(version)
    assert (result.status, result.effect) == ("rejected", Effect.NOT_STARTED)
    assert result.safe_to_retry
    assert isinstance(getattr(result, "error", None), A2ARequestError)
    assert sends(route) == 1
    assert result.handle is not None


@VERSIONS
@pytest.mark.parametrize("reply", UNCLEAR)
@respx.mock
async def test_any_other_error_may_come_after_the_effect(
    version: ProtocolVersion, reply: Callable[[str], httpx.Response]
) -> None:
    route = answering(reply)
    result = await verdict(version)
    assert (result.status, result.effect) == ("failed", Effect.MAY_HAVE_RUN)
    assert not result.safe_to_retry
    assert isinstance(getattr(result, "error", None), A2ARequestError)
    assert sends(route) == 1


@VERSIONS
@pytest.mark.parametrize("reply", NOT_UNDERSTOOD)
@respx.mock
async def test_what_is_not_understood_is_unknown_and_never_a_blank_success(
    version: ProtocolVersion, reply: Callable[[str], httpx.Response]
) -> None:
    route = answering(reply)
    result = await verdict(version)
    assert (result.status, result.effect) == ("unknown", Effect.MAY_HAVE_RUN)
    assert isinstance(getattr(result, "cause", None), InvalidReplyError)
    assert sends(route) == 1


@VERSIONS
@respx.mock
async def test_a_rate_limit_is_waited_for_and_the_message_sent_again(
    version: ProtocolVersion,
) -> None:
    replies = iter([plain(429, retry_after="7"), plain(429), rpc_error(-32700)])

    def in_turn(request_id: str) -> httpx.Response:
        return next(replies)(request_id)

    route = answering(in_turn)
    result = await verdict(version)
    assert result.status == "rejected"
    assert sends(route) == 3
    first, second, *_ = result.attempts
    assert (second.started_at - first.started_at).total_seconds() < 1, "the clock is virtual"


@VERSIONS
@respx.mock
async def test_a_rate_limit_beyond_the_deadline_is_a_rejection(version: ProtocolVersion) -> None:
    route = answering(plain(429, retry_after="3600"))
    result = await verdict(version)
    assert (result.status, result.effect) == ("rejected", Effect.NOT_STARTED)
    assert sends(route) == 1
    error: DelegateError | None = getattr(result, "error", None)
    assert isinstance(error, A2ARequestError)
    assert error.retry_after == 3600


class Absent(httpx.AsyncBaseTransport):
    """Nobody listens. respx cannot say so: it reads each request before it answers."""

    def __init__(self) -> None:
        self.calls = 0

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.calls += 1
        raise httpx.ConnectError("refused", request=request)


@VERSIONS
async def test_a_peer_that_is_not_there_is_tried_three_times(version: ProtocolVersion) -> None:
    absent = Absent()
    async with httpx.AsyncClient(transport=absent) as client:
        result = await delegate(client, version).dispatch("work")
    assert (result.status, result.effect) == ("failed", Effect.NOT_STARTED)
    assert isinstance(getattr(result, "error", None), PeerUnreachableError)
    assert result.handle is None
    assert absent.calls == 3


@VERSIONS
@respx.mock
async def test_a_reply_that_is_lost_is_unknown(version: ProtocolVersion) -> None:
    def lose(request: httpx.Request) -> httpx.Response:
        request.read()  # the body is taken, and then the line is cut
        raise httpx.ReadError("cut")

    route = respx.post(URL).mock(side_effect=lose)
    result = await verdict(version)
    assert (result.status, result.effect) == ("unknown", Effect.MAY_HAVE_RUN)
    assert isinstance(getattr(result, "cause", None), LostReplyError)
    assert sends(route) == 1
