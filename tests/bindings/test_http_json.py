"""HTTP+JSON over a client: a resource for each call, and the body that comes back."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import httpx
import pytest

from a2a_delegate.bindings.call import Call
from a2a_delegate.bindings.carriage import Bounds
from a2a_delegate.bindings.exchange import Exchange
from a2a_delegate.bindings.http_json import HttpJsonBinding
from a2a_delegate.errors import UsageError
from a2a_delegate.lifecycle.operations import (
    Fault,
    FaultKind,
    Lost,
    NotSent,
    OperationName,
    StreamEnd,
    TaskReply,
    Unreadable,
)
from a2a_delegate.wire.result import WireResult
from a2a_delegate.wire.v1_0 import DIALECT
from a2a_delegate.wire.words import Words
from tests.bindings.loopback import Line, closed_port, peer, reply

if TYPE_CHECKING:
    import respx

    from a2a_delegate.bindings.call import CallReply
    from a2a_delegate.lifecycle.operations import StreamEvent

pytestmark = pytest.mark.anyio

URL = "https://agent.example/a2a"
SEND, GET, LIST = OperationName.SEND, OperationName.GET, OperationName.LIST
CANCEL, SUBSCRIBE = OperationName.CANCEL, OperationName.SUBSCRIBE
NOON = datetime(2026, 5, 1, 12, 0, tzinfo=UTC)
HELLO = {"message": {"messageId": "m-1"}}
TASK = {"id": "t-1", "status": {"state": "TASK_STATE_WORKING"}}


class Mirror(httpx.AsyncBaseTransport):
    """Answers each request by the next of its responses, the last one again and again."""

    def __init__(self, *responses: httpx.Response) -> None:
        self.responses = list(responses) or [httpx.Response(200, json={})]
        self.requests: list[httpx.Request] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        await request.aread()
        self.requests.append(request)
        one = self.responses.pop(0) if len(self.responses) > 1 else self.responses[0]
        return httpx.Response(one.status_code, headers=one.headers, content=one.content)

    @property
    def asked(self) -> list[tuple[str, str]]:
        return [(one.method, one.url.raw_path.decode()) for one in self.requests]


def asking(
    name: OperationName = SEND,
    *,
    url: str = URL,
    params: dict[str, object] | None = None,
    root: str = "",
    streamed: bool = False,
) -> Call:
    given = params if params is not None else {"id": "t-1"} if name is not SEND else dict(HELLO)
    return Call(
        Words("X", given, root),  # type: ignore[arg-type]
        name,
        httpx.URL(url),
        {"A2A-Version": "1.0"},
        read_event=DIALECT.decode_event if streamed else None,
    )


def over(client: httpx.AsyncClient) -> HttpJsonBinding:
    return HttpJsonBinding(client, bounds=Bounds(10_000), now=lambda: NOON)


async def answer_to(response: httpx.Response, name: OperationName = SEND) -> CallReply:
    async with httpx.AsyncClient(transport=Mirror(response)) as client:
        return await over(client).call(asking(name), Exchange())


@pytest.mark.spec("CARR-4", "BIND-6")
async def test_a_request_says_what_it_is_and_what_it_takes(respx_mock: respx.MockRouter) -> None:
    route = respx_mock.post(f"{URL}/message:send").respond(201, json={"task": TASK})
    exchange = Exchange()
    async with httpx.AsyncClient() as client:
        answer = await HttpJsonBinding(client, bounds=Bounds(10_000)).call(asking(), exchange)
    assert isinstance(answer, WireResult)
    assert (answer.result, answer.status) == ({"task": TASK}, 201)
    request = route.calls.last.request
    assert json.loads(request.content) == HELLO
    assert request.headers["content-type"] == "application/json"
    assert request.headers["accept"] == "application/a2a+json, application/json"
    assert request.headers["accept-encoding"] == "identity"
    assert request.headers["a2a-version"] == "1.0"
    assert exchange.body_left


@pytest.mark.parametrize("name", [GET, LIST])
@pytest.mark.spec("CARR-4", "BIND-8")
async def test_what_only_looks_has_no_body(name: OperationName) -> None:
    mirror = Mirror()
    exchange = Exchange()
    async with httpx.AsyncClient(transport=mirror) as client:
        await over(client).call(asking(name), exchange)
    (request,) = mirror.requests
    assert (request.method, request.content) == ("GET", b"")
    assert "content-type" not in request.headers
    assert "content-length" not in request.headers
    assert not exchange.body_left


@pytest.mark.parametrize(
    ("url", "root", "path"),
    [
        ("https://a.example", "", "/tasks/t-1"),
        ("https://a.example/", "", "/tasks/t-1"),
        ("https://a.example/a2a", "", "/a2a/tasks/t-1"),
        ("https://a.example/a2a/", "", "/a2a/tasks/t-1"),
        ("https://a.example/a2a//", "", "/a2a//tasks/t-1"),
        ("https://a.example/a%2Fb/%7ex", "", "/a%2Fb/%7ex/tasks/t-1"),
        ("https://a.example/a2a/v1", "", "/a2a/v1/tasks/t-1"),
        ("https://a.example/a2a?code=a%20b+c&x", "", "/a2a/tasks/t-1?code=a%20b+c&x"),
        ("https://a.example/a2a?", "", "/a2a/tasks/t-1?"),
        ("https://a.example/a2a#part", "", "/a2a/tasks/t-1"),
        ("https://a.example", "v1", "/v1/tasks/t-1"),
        ("https://a.example/rest", "v1", "/rest/v1/tasks/t-1"),
        ("https://a.example/v1", "v1", "/v1/tasks/t-1"),
        ("https://a.example/rest/v1/", "v1", "/rest/v1/tasks/t-1"),
        ("https://a.example/xv1", "v1", "/xv1/v1/tasks/t-1"),
        ("https://a.example/v1/message", "v1", "/v1/message/v1/tasks/t-1"),
    ],
)
@pytest.mark.spec("REST-1")
async def test_a_resource_stands_below_the_address_of_its_interface(
    url: str, root: str, path: str
) -> None:
    mirror = Mirror()
    async with httpx.AsyncClient(transport=mirror) as client:
        await over(client).call(asking(GET, url=url, root=root), Exchange())
    assert mirror.asked == [("GET", path)]


@pytest.mark.spec("REST-1", "BIND-8")
async def test_a_query_goes_behind_that_of_the_address() -> None:
    mirror = Mirror()
    params: dict[str, object] = {"contextId": "c&d", "includeArtifacts": False, "tenant": "x"}
    async with httpx.AsyncClient(transport=mirror) as client:
        binding = over(client)
        await binding.call(asking(LIST, params=dict(params)), Exchange())
        await binding.call(asking(LIST, url=f"{URL}?key=1", params=dict(params)), Exchange())
    assert mirror.asked == [
        ("GET", "/a2a/x/tasks?contextId=c%26d&includeArtifacts=false"),
        ("GET", "/a2a/x/tasks?key=1&contextId=c%26d&includeArtifacts=false"),
    ]


@pytest.mark.parametrize(
    ("task_id", "segment"),
    [("../x?y#z/ü", "..%2Fx%3Fy%23z%2F%C3%BC"), ("..", "%2E%2E"), ("%2e%2e/", "%252e%252e%2F")],
)
@pytest.mark.spec("BIND-8", "CARR-16")
async def test_an_id_that_is_a_path_leads_nowhere_else(task_id: str, segment: str) -> None:
    mirror = Mirror()
    async with httpx.AsyncClient(transport=mirror) as client:
        for name in (GET, CANCEL):
            await over(client).call(asking(name, params={"id": task_id}), Exchange())
    assert mirror.asked == [
        ("GET", f"/a2a/tasks/{segment}"),
        ("POST", f"/a2a/tasks/{segment}:cancel"),
    ]


@pytest.mark.parametrize("name", [GET, CANCEL, SUBSCRIBE])
@pytest.mark.spec("REST-1")
async def test_an_id_that_no_address_can_hold_is_not_asked_for(name: OperationName) -> None:
    mirror = Mirror()
    exchange = Exchange()
    async with httpx.AsyncClient(transport=mirror) as client:
        answer = await over(client).call(asking(name, params={"id": "x" * 70_000}), exchange)
    assert isinstance(answer, NotSent)
    assert "too long" in answer.error.reason
    assert (mirror.requests, exchange.body_left) == ([], False)


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
            httpx.Response(400, json={"code": -32009, "message": "no"}),
            FaultKind.VERSION_NOT_SUPPORTED,
            None,
        ),
    ],
)
@pytest.mark.spec("CARR-6")
async def test_an_error_answer_is_a_fault_with_its_facts(
    response: httpx.Response, kind: FaultKind, retry_after: float | None
) -> None:
    answer = await answer_to(response)
    assert isinstance(answer, Fault)
    assert answer.kind is kind
    assert (answer.error.status, answer.error.retry_after) == (response.status_code, retry_after)
    assert answer.error.method == "send"


@pytest.mark.parametrize(
    "response",
    [httpx.Response(204), httpx.Response(200, content=b"<html>"), httpx.Response(202)],
)
async def test_what_is_no_json_is_unreadable(response: httpx.Response) -> None:
    answer = await answer_to(response)
    assert isinstance(answer, Unreadable)
    assert answer.evidence == response.content


@pytest.mark.parametrize(("name", "ids"), [(SEND, ["t-1"]), (CANCEL, [])])
@pytest.mark.spec("CARR-10")
async def test_only_a_cut_reply_to_a_send_is_searched_for_an_id(
    name: OperationName, ids: list[str]
) -> None:
    async def talk(line: Line) -> None:
        await line.hear()
        await line.say(reply(b'{"task":{"id":"t-1",', length=1000))

    seen: list[str] = []
    async with peer(talk) as there, httpx.AsyncClient() as client:
        exchange = Exchange(on_id=seen.append)
        answer = await over(client).call(asking(name, url=there.url), exchange)
    assert isinstance(answer, Lost)
    assert seen == ids
    assert answer.task_id == (ids[0] if ids else None)
    assert there.heard[0].header("content-length") == str(len(there.heard[0].body))
    assert there.heard[0].header("transfer-encoding") is None


@pytest.mark.parametrize(
    ("said", "end"),
    [(b"", NotSent), (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{", Lost)],
    ids=["nothing", "a part"],
)
@pytest.mark.spec("CARR-1", "CARR-3")
async def test_a_request_without_a_body_is_lost_once_its_reply_has_begun(
    said: bytes, end: type[object]
) -> None:
    async def talk(line: Line) -> None:
        await line.hear()
        await line.say(said)

    exchange = Exchange()
    async with peer(talk) as there, httpx.AsyncClient() as client:
        answer = await over(client).call(asking(GET, url=there.url), exchange)
    assert type(answer) is end
    assert not exchange.body_left


async def test_a_peer_that_is_not_there_was_sent_nothing() -> None:
    async with httpx.AsyncClient() as client:
        url = f"http://127.0.0.1:{await closed_port()}/"
        answer = await over(client).call(asking(url=url), Exchange())
    assert isinstance(answer, NotSent)


async def test_words_that_are_no_json_are_refused_before_anything_is_sent() -> None:
    exchange = Exchange()
    async with httpx.AsyncClient() as client:
        with pytest.raises(UsageError):
            await over(client).call(asking(params={"n": float("nan")}), exchange)
    assert not exchange.body_left


# Streams.

EVENT = b'data: {"task":{"id":"t-1","status":{"state":"TASK_STATE_WORKING"}}}\n\n'
SSE = httpx.Response(200, headers={"Content-Type": "text/event-stream"}, content=EVENT)
NO_POST = httpx.Response(405, json={"message": "Method Not Allowed"})
NO_POST_BY_HTML = httpx.Response(404, html="<pre>Cannot POST /a2a/tasks/t-1:subscribe</pre>")
NO_TASK = httpx.Response(404, json={"message": "Task not found"})
NO_PATH = httpx.Response(404, json={"code": -32001, "message": "Task not found: t-1:subscribe"})


@pytest.mark.parametrize(
    ("name", "path"), [(SEND, "message:stream"), (SUBSCRIBE, "tasks/t-1:subscribe")]
)
@pytest.mark.spec("BIND-5", "BIND-8", "BIND-9")
async def test_the_events_of_a_stream_are_told_as_they_come(name: OperationName, path: str) -> None:
    shown: list[StreamEvent] = []
    mirror = Mirror(SSE)
    exchange = Exchange(on_event=shown.append)
    async with httpx.AsyncClient(transport=mirror) as client:
        answer = await over(client).call(asking(name, streamed=True), exchange)
    assert answer == StreamEnd(None)
    assert [one.task.id for one in shown if isinstance(one, TaskReply)] == ["t-1"]
    (request,) = mirror.requests
    assert mirror.asked == [("POST", f"/a2a/{path}")]
    accepted = "text/event-stream, application/a2a+json, application/json"
    assert request.headers["accept"] == accepted


@pytest.mark.spec("BIND-5")
async def test_a_stream_that_is_refused_is_a_fault() -> None:
    refusal = httpx.Response(400, json={"code": -32004, "message": "no streams"})
    async with httpx.AsyncClient(transport=Mirror(refusal)) as client:
        answer = await over(client).call(asking(streamed=True), Exchange())
    assert isinstance(answer, Fault)
    assert answer.kind is FaultKind.UNSUPPORTED


@pytest.mark.parametrize("refusal", [NO_POST, NO_POST_BY_HTML, NO_PATH], ids=["405", "html", "id"])
@pytest.mark.spec("BIND-9")
async def test_a_subscription_is_tried_by_get_once_and_what_works_is_remembered(
    refusal: httpx.Response,
) -> None:
    mirror = Mirror(refusal, SSE)
    async with httpx.AsyncClient(transport=mirror) as client:
        binding = over(client)
        for _ in range(2):
            answer = await binding.call(asking(SUBSCRIBE, streamed=True), Exchange())
            assert answer == StreamEnd(None)
        elsewhere = asking(SUBSCRIBE, url="https://agent.example/other", streamed=True)
        await binding.call(elsewhere, Exchange())
        await binding.call(asking(SUBSCRIBE, root="v1", streamed=True), Exchange())
    assert [verb for verb, _ in mirror.asked] == ["POST", "GET", "GET", "POST", "POST"]
    assert mirror.requests[1].content == b""
    assert "content-type" not in mirror.requests[1].headers


@pytest.mark.spec("BIND-9")
async def test_where_neither_works_the_refusal_is_told_and_nothing_is_remembered() -> None:
    mirror = Mirror(NO_POST)
    async with httpx.AsyncClient(transport=mirror) as client:
        binding = over(client)
        for _ in range(2):
            answer = await binding.call(asking(SUBSCRIBE, streamed=True), Exchange())
            assert isinstance(answer, Fault)
            assert answer.kind is FaultKind.METHOD_NOT_ALLOWED
    assert [verb for verb, _ in mirror.asked] == ["POST", "GET", "POST", "GET"]


@pytest.mark.spec("BIND-9")
async def test_what_is_remembered_is_forgotten_where_it_no_longer_works() -> None:
    mirror = Mirror(NO_POST, SSE, NO_POST, SSE)
    async with httpx.AsyncClient(transport=mirror) as client:
        binding = over(client)
        for _ in range(3):
            await binding.call(asking(SUBSCRIBE, streamed=True), Exchange())
    assert [verb for verb, _ in mirror.asked] == ["POST", "GET", "GET", "POST"]


@pytest.mark.parametrize("name", [SUBSCRIBE, CANCEL, SEND])
@pytest.mark.spec("BIND-9")
async def test_nothing_else_is_tried_twice(name: OperationName) -> None:
    mirror = Mirror(NO_TASK if name is SUBSCRIBE else NO_POST)
    async with httpx.AsyncClient(transport=mirror) as client:
        answer = await over(client).call(asking(name), Exchange())
    assert isinstance(answer, Fault)
    assert len(mirror.requests) == 1
