"""Every behaviour: what the client sees of it, and what is true afterwards."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import anyio
import httpx
import pytest

from a2a_delegate.errors import UsageError
from a2a_delegate.testing import (
    Behaviour,
    Delay,
    DropAfterAccepting,
    DropBeforeReading,
    DropWhileReading,
    Endless,
    Hang,
    Honest,
    IgnoredCancel,
    Loss,
    LyingCancel,
    Operation,
    OtherTask,
    Redirect,
    Refusal,
    RefuseConnection,
    RefusedCancel,
    Respond,
    Rewrite,
    RpcError,
    ScriptedPeer,
    UnknownState,
    WorkState,
    WrongId,
)
from tests.testing.speaking import Speaker, state, texts

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

pytestmark = [pytest.mark.anyio, pytest.mark.virtual_time]


@pytest.fixture(params=["1.0", "0.3"])
async def speaker(request: pytest.FixtureRequest) -> AsyncIterator[Speaker]:
    peer = ScriptedPeer((request.param,))
    async with peer.client(timeout=None) as client:
        yield Speaker(peer, client, request.param)
    assert peer.truth.open == 0
    assert peer.pending == ()


class Watched(httpx.AsyncByteStream):
    """A body that counts what is taken from it; it is sent in pieces."""

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.taken = 0
        self.opened = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        self.opened = True
        for start in range(0, len(self.content), 40):
            self.taken += len(self.content[start : start + 40])
            yield self.content[start : start + 40]


async def watched_send(
    speaker: Speaker, behaviour: Behaviour, *, extension: bool = False
) -> tuple[Watched, httpx.Response | Exception]:
    """Send `m` under a behaviour, with the body watched; return what came of it."""
    speaker.peer.script(Operation.SEND, behaviour)
    method = {"1.0": "SendMessage", "0.3": "message/send"}[speaker.version]
    call = {"jsonrpc": "2.0", "id": 7, "method": method}
    body = {**call, "params": {"message": speaker.message("slow 3", "m")}}
    request = speaker.client.build_request(
        "POST",
        speaker.peer.url,
        headers={"A2A-Version": speaker.version},
        **({"content": b""} if extension else {"json": body}),
        extensions={"a2a_operation": "send"} if extension else {},
    )
    watched = Watched(json.dumps(body).encode())
    request.stream = watched
    try:
        response = await speaker.client.send(request)
    except httpx.TransportError as error:
        return watched, error
    return watched, response


@pytest.mark.parametrize("extension", [False, True])
@pytest.mark.parametrize(
    ("behaviour", "error"),
    [
        (RefuseConnection(), httpx.ConnectError),
        (RefuseConnection(Refusal.DNS), httpx.ConnectError),
        (RefuseConnection(Refusal.TLS), httpx.ConnectError),
        (RefuseConnection(Refusal.CONNECT_TIMEOUT), httpx.ConnectTimeout),
        (RefuseConnection(Refusal.POOL_TIMEOUT), httpx.PoolTimeout),
        (Delay(3, RefuseConnection()), httpx.ConnectError),
        (Delay(3, RefuseConnection(), before_reading=True), httpx.ConnectError),
        (DropBeforeReading(), httpx.RemoteProtocolError),
        (DropBeforeReading(Loss.WRITE_ERROR), httpx.WriteError),
        (Delay(3, DropBeforeReading(Loss.READ_ERROR)), httpx.ReadError),
    ],
    ids=repr,
)
async def test_what_stops_before_the_body_never_touches_it(
    speaker: Speaker, behaviour: Behaviour, error: type[Exception], *, extension: bool
) -> None:
    start = anyio.current_time()
    watched, seen = await watched_send(speaker, behaviour, extension=extension)
    assert type(seen) is error
    assert not watched.opened
    assert speaker.peer.truth.runs["m"] == 0
    assert speaker.peer.truth.sends == 0
    (request,) = speaker.peer.truth.requests
    assert request.operation is Operation.SEND
    assert not request.body_read
    assert request.body is None
    waited = 3 if isinstance(behaviour, Delay) else 0
    assert anyio.current_time() - start == pytest.approx(waited)


async def test_a_drop_while_reading_takes_one_piece_and_runs_nothing(speaker: Speaker) -> None:
    watched, seen = await watched_send(speaker, DropWhileReading())
    assert type(seen) is httpx.WriteError
    assert watched.taken == 40
    (request,) = speaker.peer.truth.requests
    assert request.body_read
    assert request.content == watched.content[:40]
    assert request.body is None
    assert speaker.peer.truth.runs["m"] == 0
    assert speaker.peer.truth.sends == 1


@pytest.mark.parametrize("loss", list(Loss))
async def test_a_reply_can_be_lost_in_every_way_that_httpx_knows(
    speaker: Speaker, loss: Loss
) -> None:
    start = anyio.current_time()
    watched, seen = await watched_send(speaker, DropAfterAccepting(loss=loss))
    assert type(seen) is loss.kind
    assert watched.taken == len(watched.content)
    assert speaker.peer.truth.runs["m"] == 1
    assert speaker.peer.truth.tasks[0].state is WorkState.WORKING
    assert anyio.current_time() == start
    await anyio.sleep(3)
    assert [task.state for task in speaker.peer.truth.tasks] == [WorkState.COMPLETED]


async def test_a_reply_can_be_cut_at_any_byte(speaker: Speaker) -> None:
    call = get_call(speaker, "nowhere")
    whole = await speaker.client.post(speaker.peer.url, json=call, headers=HEADERS)
    for cut in range(len(whole.content)):
        speaker.peer.script(Operation.GET, DropAfterAccepting(cut, headers_sent=True))
        request = speaker.client.build_request("POST", speaker.peer.url, json=call, headers=HEADERS)
        response = await speaker.client.send(request, stream=True)
        assert response.status_code == 200
        assert response.headers == whole.headers
        received: list[bytes] = []
        with pytest.raises(httpx.RemoteProtocolError):
            await receive(response, received)
        await response.aclose()
        assert b"".join(received) == whole.content[:cut]
    speaker.peer.script(Operation.GET, DropAfterAccepting(len(whole.content)))
    uncut = await speaker.client.post(speaker.peer.url, json=call, headers=HEADERS)
    assert uncut.content == whole.content


async def receive(response: httpx.Response, kept: list[bytes]) -> None:
    """Keep what comes in before the stream breaks off."""
    async for chunk in response.aiter_raw():
        kept.append(chunk)  # noqa: PERF401 - a comprehension would lose it when the stream breaks


HEADERS = {"A2A-Version": "1.0"}  # a peer of 0.3 alone does not look at it


def get_call(speaker: Speaker, task_id: str) -> dict[str, object]:
    method = {"1.0": "GetTask", "0.3": "tasks/get"}[speaker.version]
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": {"id": task_id}}


async def test_a_cut_reply_waits_for_the_work_that_it_tells_of(speaker: Speaker) -> None:
    speaker.peer.script(Operation.SEND, DropAfterAccepting(60))
    start = anyio.current_time()
    with pytest.raises(httpx.RemoteProtocolError):
        await speaker.send("slow 4")
    assert anyio.current_time() - start == pytest.approx(4)


async def test_a_delayed_reply_was_made_before_the_delay(speaker: Speaker) -> None:
    task = await speaker.sent_task("slow 2", immediate=True)
    start = anyio.current_time()
    speaker.peer.script(Operation.GET, Delay(1, then=Delay(4)))
    seen = await speaker.get(task["id"])
    assert anyio.current_time() - start == pytest.approx(5)
    assert state(seen) == "working"
    assert state(await speaker.get(task["id"])) == "completed"


async def test_work_begins_before_a_delay_unless_that_comes_before_reading(
    speaker: Speaker,
) -> None:
    with anyio.move_on_after(1):
        await watched_send(speaker, Delay(5, before_reading=True))
    assert speaker.peer.truth.runs["m"] == 0
    assert not speaker.peer.truth.requests[0].body_read
    with anyio.move_on_after(1):
        await watched_send(speaker, Delay(5))
    assert speaker.peer.truth.runs["m"] == 1
    assert speaker.peer.truth.requests[1].body_read


@pytest.mark.parametrize("accepts", [True, False])
async def test_any_answer_can_be_given(speaker: Speaker, *, accepts: bool) -> None:
    answer = Respond(503, {"Retry-After": "2"}, b"\xffbusy", accepts=accepts)
    watched, seen = await watched_send(speaker, answer)
    assert isinstance(seen, httpx.Response)
    assert seen.status_code == 503
    assert seen.headers["retry-after"] == "2"
    assert seen.content == b"\xffbusy"
    assert seen.headers["content-length"] == "5"
    assert watched.taken == len(watched.content)
    assert speaker.peer.truth.runs["m"] == accepts


@pytest.mark.parametrize(
    ("body", "content"),
    [("é", "é".encode()), ({"a": [1]}, b'{"a": [1]}'), (None, b"null"), (b"", b"")],
)
async def test_a_body_is_bytes_or_text_or_json(
    speaker: Speaker, body: bytes | str | None, content: bytes
) -> None:
    _, seen = await watched_send(speaker, Respond(body=body))
    assert isinstance(seen, httpx.Response)
    assert seen.content == content


async def test_an_answer_without_content_announces_none(speaker: Speaker) -> None:
    _, seen = await watched_send(speaker, Respond(204))
    assert isinstance(seen, httpx.Response)
    assert "content-length" not in seen.headers


async def test_headers_of_an_answer_cannot_be_changed_afterwards() -> None:
    headers = {"a": "1"}
    answer = Respond(headers=headers)
    headers["a"] = "2"
    assert answer.headers["a"] == "1"
    assert answer == Respond(headers={"a": "1"})


@pytest.mark.parametrize("accepts", [True, False])
@pytest.mark.parametrize("with_id", [True, False])
async def test_any_error_can_be_answered(speaker: Speaker, *, accepts: bool, with_id: bool) -> None:
    error = RpcError(-32603, "boom", {"why": "x"}, status=500, accepts=accepts, with_id=with_id)
    _, seen = await watched_send(speaker, error)
    assert isinstance(seen, httpx.Response)
    assert seen.status_code == 500
    assert seen.json() == {
        "jsonrpc": "2.0",
        "id": 7 if with_id else None,
        "error": {"code": -32603, "message": "boom", "data": {"why": "x"}},
    }
    assert speaker.peer.truth.runs["m"] == accepts


async def test_an_error_says_no_more_than_it_was_told(speaker: Speaker) -> None:
    speaker.peer.script(Operation.GET, RpcError(-32000))
    assert await speaker.get("x") == {"code": -32000, "message": ""}


async def test_a_reply_can_carry_another_id(speaker: Speaker) -> None:
    for request_id, shown in [(7, 8), ("x", "not-x")]:
        speaker.peer.script(Operation.GET, WrongId())
        call = get_call(speaker, "nowhere") | {"id": request_id}
        reply = (await speaker.client.post(speaker.peer.url, json=call)).json()
        assert reply["id"] == shown
        assert "error" in reply


async def test_an_accepted_request_can_hang_while_the_work_goes_on(speaker: Speaker) -> None:
    with anyio.move_on_after(100) as scope:
        await watched_send(speaker, Hang())
    assert scope.cancelled_caught
    assert [task.state for task in speaker.peer.truth.tasks] == [WorkState.COMPLETED]


async def test_a_request_that_hangs_unaccepted_runs_nothing(speaker: Speaker) -> None:
    with anyio.move_on_after(100) as scope:
        await watched_send(speaker, Hang(accepts=False))
    assert scope.cancelled_caught
    assert speaker.peer.truth.runs["m"] == 0
    assert speaker.peer.truth.sends == 1


@pytest.mark.parametrize("deaf", [True, False])
async def test_release_ends_every_hanging_request(speaker: Speaker, *, deaf: bool) -> None:
    seen: list[httpx.Response | Exception] = []

    async def send(behaviour: Behaviour) -> None:
        seen.append((await watched_send(speaker, behaviour))[1])

    async with anyio.create_task_group() as group:
        group.start_soon(send, Hang(deaf=deaf))
        await anyio.sleep(1)
        group.start_soon(send, Hang(accepts=False, deaf=deaf))
        await anyio.sleep(9)
        assert speaker.peer.truth.open == 2
        speaker.peer.release()
    answered, lost = sorted(seen, key=lambda one: isinstance(one, Exception))
    assert isinstance(answered, httpx.Response)
    result = answered.json()["result"]
    assert state(result.get("task", result)) == "completed"
    assert type(lost) is httpx.RemoteProtocolError


async def test_a_deaf_request_ignores_cancellation_until_it_is_released(speaker: Speaker) -> None:
    ended = []

    async def send() -> None:
        with anyio.move_on_after(1):
            await watched_send(speaker, Hang(deaf=True))
        ended.append(anyio.current_time())

    start = anyio.current_time()
    async with anyio.create_task_group() as group:
        group.start_soon(send)
        await anyio.sleep(50)
        assert speaker.peer.truth.open == 1
        speaker.peer.release()
    assert ended == [pytest.approx(start + 50)]


async def test_a_get_can_answer_with_another_task(speaker: Speaker) -> None:
    speaker.peer.script(Operation.GET, OtherTask(), OtherTask())
    first = await speaker.sent_task("task one")
    invented = await speaker.get(first["id"])
    assert invented["id"] != first["id"]
    assert [task.id for task in speaker.peer.truth.tasks] == [first["id"]]
    second = await speaker.sent_task("task two")
    assert (await speaker.get(first["id"]))["id"] == second["id"]
    assert (await speaker.get(first["id"]))["id"] == first["id"]


async def test_a_lying_cancel_stops_nothing(speaker: Speaker) -> None:
    speaker.peer.always(Operation.CANCEL, LyingCancel())
    task = await speaker.sent_task("slow 5", immediate=True)
    assert state(await speaker.cancel(task["id"])) == "canceled"
    await anyio.sleep(6)
    assert texts(await speaker.get(task["id"])) == ["result of slow 5"]
    (fact,) = speaker.peer.truth.tasks
    assert (fact.state, fact.cancel_requests) == (WorkState.COMPLETED, 1)
    assert state(await speaker.cancel(task["id"])) == "canceled"
    assert speaker.peer.truth.tasks[0].state is WorkState.COMPLETED
    assert (await speaker.cancel("nowhere"))["code"] == -32001


async def test_a_refused_cancel_stops_nothing(speaker: Speaker) -> None:
    speaker.peer.script(Operation.CANCEL, RefusedCancel())
    task = await speaker.sent_task("slow 5", immediate=True)
    assert (await speaker.cancel(task["id"]))["code"] == -32002
    assert state(await speaker.get(task["id"])) == "working"
    assert state(await speaker.cancel(task["id"])) == "canceled"


async def test_an_ignored_cancel_stops_nothing(speaker: Speaker) -> None:
    speaker.peer.script(Operation.CANCEL, IgnoredCancel(), IgnoredCancel())
    task = await speaker.sent_task("slow 5", immediate=True)
    assert state(await speaker.cancel(task["id"])) == "working"
    await anyio.sleep(6)
    assert (await speaker.cancel(task["id"]))["code"] == -32002
    assert speaker.peer.truth.tasks[0].state is WorkState.COMPLETED
    assert speaker.peer.truth.cancels == 2


async def test_a_state_can_be_any_word(speaker: Speaker) -> None:
    speaker.peer.always(Operation.GET, UnknownState("PONDERING"))
    speaker.peer.always(Operation.SEND, UnknownState("PONDERING"))
    task = await speaker.sent_task("task")
    assert task["status"]["state"] == "PONDERING"
    assert (await speaker.get(task["id"]))["status"]["state"] == "PONDERING"
    assert "error" in await speaker.send("task", taskId="nowhere")
    assert "result" in await speaker.send("hello")
    assert speaker.peer.truth.tasks[0].state is WorkState.COMPLETED


async def test_a_listed_state_can_be_any_word() -> None:
    peer = ScriptedPeer()
    peer.script(Operation.LIST, UnknownState("PONDERING"))
    async with peer.client() as client:
        speaker = Speaker(peer, client)
        await speaker.send("task")
        await speaker.send("task")
        listed = await speaker.list()
    assert [task["status"]["state"] for task in listed["tasks"]] == ["PONDERING"] * 2


async def test_a_reply_can_be_of_any_size_and_is_still_understood(speaker: Speaker) -> None:
    size = 200_001
    for behaviour, understood in [(Endless(size), True), (Endless(size, accepts=False), False)]:
        _, seen = await watched_send(speaker, behaviour)
        assert isinstance(seen, httpx.Response)
        assert "content-length" not in seen.headers
        assert len(seen.content) == size
        assert (seen.content.strip() != b"") is understood
        if understood:
            assert seen.json()["id"] == 7
    assert speaker.peer.truth.runs["m"] == 1


async def test_a_reply_that_never_ends_can_be_left(speaker: Speaker) -> None:
    speaker.peer.script(Operation.GET, Endless(10**15))
    request = httpx.Request("POST", speaker.peer.url, json=get_call(speaker, "nowhere"))
    # Straight from the transport: httpx's own generators are not to be left half-way.
    response = await speaker.peer.transport().handle_async_request(request)
    assert isinstance(response.stream, httpx.AsyncByteStream)
    pieces = aiter(response.stream)
    assert sum([len(await anext(pieces)) for _ in range(20)]) > 1_000_000
    assert speaker.peer.truth.open == 1
    await response.stream.aclose()
    assert speaker.peer.truth.open == 0


async def test_a_short_endless_reply_is_cut_to_its_size(speaker: Speaker) -> None:
    _, seen = await watched_send(speaker, Endless(5))
    assert isinstance(seen, httpx.Response)
    assert len(seen.content) == 5


async def test_a_redirect_leads_elsewhere_and_does_nothing(speaker: Speaker) -> None:
    _, seen = await watched_send(speaker, Redirect(307, "https://evil.example/rpc"))
    assert isinstance(seen, httpx.Response)
    assert seen.status_code == 307
    assert seen.headers["location"] == "https://evil.example/rpc"
    assert speaker.peer.truth.runs["m"] == 0


async def test_a_reply_can_be_rewritten(speaker: Speaker) -> None:
    speaker.peer.script(Operation.SEND, Rewrite(lambda reply: {**reply, "jsonrpc": "1.0"}))
    reply = await speaker.send("task", "m")
    assert reply["jsonrpc"] == "1.0"
    assert "result" in reply
    assert speaker.peer.truth.runs["m"] == 1


async def test_the_card_misbehaves_as_well() -> None:
    peer = ScriptedPeer()
    url = "https://peer.example/.well-known/agent-card.json"
    peer.script(
        Operation.CARD,
        RefuseConnection(),
        DropWhileReading(),
        Respond(404),
        Rewrite(lambda card: {**card, "name": "other"}),
        Honest(),
        Rewrite(lambda _: {}),
    )
    async with peer.client() as client:
        for _ in range(2):
            with pytest.raises(httpx.TransportError):
                await client.get(url)
        assert (await client.get(url)).status_code == 404
        assert (await client.get(url)).json()["name"] == "other"
        honest = await client.get(url)
        assert honest.json() == peer.card()
        # Nothing is sent when the card is still the same, so there is nothing to rewrite.
        same = await client.get(url, headers={"If-None-Match": honest.headers["etag"]})
        assert (same.status_code, same.content) == (304, b"")
    assert [request.operation for request in peer.truth.requests] == [Operation.CARD] * 6


async def test_scripts_come_first_then_always_then_honesty(speaker: Speaker) -> None:
    peer = speaker.peer
    peer.script(Operation.GET, RpcError(-1), Honest())
    peer.script(Operation.GET, RpcError(-2))
    assert [operation for operation, _ in peer.pending] == [Operation.GET] * 3
    codes = [(await speaker.get("nowhere"))["code"] for _ in range(4)]
    assert codes == [-1, -32001, -2, -32001]
    peer.always(Operation.GET, RpcError(-3))
    assert [(await speaker.get("nowhere"))["code"] for _ in range(2)] == [-3, -3]
    peer.always(Operation.GET, Honest())
    assert (await speaker.get("nowhere"))["code"] == -32001


async def test_a_script_is_for_its_operation_alone(speaker: Speaker) -> None:
    speaker.peer.script(Operation.CANCEL, RpcError(-1))
    assert (await speaker.get("nowhere"))["code"] == -32001
    assert (await speaker.call("nothing", {}))["error"]["code"] == -32601
    assert (await speaker.cancel("nowhere"))["code"] == -1


def misplaced() -> Iterator[tuple[Operation, Behaviour]]:
    for operation in Operation:
        if operation is not Operation.GET:
            yield operation, OtherTask()
        if operation is not Operation.CANCEL:
            yield operation, Delay(1, LyingCancel())
            yield operation, RefusedCancel()
            yield operation, IgnoredCancel()
    yield Operation.CARD, RpcError(-1)
    yield Operation.CARD, WrongId()
    yield Operation.CARD, UnknownState("x")


@pytest.mark.parametrize(("operation", "behaviour"), list(misplaced()), ids=str)
def test_what_means_nothing_for_an_operation_is_refused(
    operation: Operation, behaviour: Behaviour
) -> None:
    peer = ScriptedPeer()
    with pytest.raises(UsageError, match=f"not for {operation}"):
        peer.script(operation, Honest(), behaviour)
    with pytest.raises(UsageError, match=f"not for {operation}"):
        peer.always(operation, behaviour)
    assert peer.pending == ()


def test_behaviours_that_cannot_be_are_refused() -> None:
    for seconds in (-1.0, float("nan"), float("inf")):
        with pytest.raises(UsageError, match="finite number of seconds"):
            Delay(seconds)
    with pytest.raises(UsageError, match="from 0, not -1"):
        DropAfterAccepting(-1)
    with pytest.raises(UsageError, match="from 0, not -1"):
        Endless(-1)
    for status in (100, 199, 600):
        with pytest.raises(UsageError, match="final HTTP status"):
            Respond(status)
    with pytest.raises(UsageError, match="300 to 399"):
        Redirect(200, "/")
