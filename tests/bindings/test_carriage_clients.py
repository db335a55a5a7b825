"""The caller's own client: what it adds goes along, and nothing of it decides."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import httpx
import pytest

from a2a_delegate.bindings.carriage import OPERATION_EXTENSION, Answer, Bounds, Carrier, Errand
from a2a_delegate.bindings.exchange import Exchange
from a2a_delegate.errors import UsageError
from a2a_delegate.lifecycle.operations import Lost, NotSent, Unreadable
from tests.bindings.carrying import BODY, WHOLE, NewClient, carry_by, errand, hang_up
from tests.bindings.loopback import Line, peer, reply

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("client", [None, httpx.AsyncClient])
async def test_what_is_no_asynchronous_client_is_refused(client: object) -> None:
    with pytest.raises(UsageError, match=r"must be an httpx\.AsyncClient"):
        Carrier(client, bounds=Bounds(1))  # type: ignore[arg-type]
    with httpx.Client() as waits, pytest.raises(UsageError, match="got Client"):
        Carrier(waits, bounds=Bounds(1))  # type: ignore[arg-type]


@pytest.mark.spec("CARR-12")
async def test_a_client_that_its_owner_closed_is_named() -> None:
    client = httpx.AsyncClient()
    await client.aclose()
    exchange = Exchange()
    carried = await Carrier(client, bounds=Bounds(10)).carry(errand("http://h.example/"), exchange)
    assert isinstance(carried, NotSent)
    assert "client is closed" in str(carried.error)
    assert isinstance(carried.error.__cause__, UsageError)


@pytest.mark.spec("CARR-11")
async def test_what_the_client_adds_of_its_own_goes_along() -> None:
    async def talk(line: Line) -> None:
        await line.hear()
        await line.say(reply(WHOLE))

    async def stamp(request: httpx.Request) -> None:
        request.headers["X-Hook"] = "was here"

    exchange = Exchange()
    async with peer(talk) as there:
        client = httpx.AsyncClient(
            headers={"X-Theirs": "2", "X-Ours": "0"},
            cookies={"crumb": "c"},
            auth=("me", "pass"),
            event_hooks={"request": [stamp]},
        )
        assert isinstance(await carry_by(client, there.url, exchange), Answer)
    (heard,) = there.heard
    assert heard.header("X-Theirs") == "2"
    assert heard.header("X-Ours") == "1"
    assert heard.header("X-Hook") == "was here"
    assert heard.header("Cookie") == "crumb=c"
    assert (heard.header("Authorization") or "").startswith("Basic ")
    assert heard.body == BODY


class Recorder(httpx.AsyncBaseTransport):
    """A transport that keeps the request, and answers it."""

    def __init__(self) -> None:
        self.requests: list[httpx.Request] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        await request.aread()
        self.requests.append(request)
        return httpx.Response(200, content=WHOLE)


@pytest.mark.spec("CARR-13")
async def test_no_limit_of_the_client_ends_a_slow_answer_or_a_wait_in_its_queue() -> None:
    recorder = Recorder()
    client = httpx.AsyncClient(transport=recorder, timeout=httpx.Timeout(0.01, connect=7.0))
    await carry_by(client, "http://h.example/", Exchange())
    (request,) = recorder.requests
    limits = {"connect": 7.0, "read": None, "write": None, "pool": None}
    assert request.extensions["timeout"] == limits


async def test_a_transport_can_tell_operations_apart_without_the_body() -> None:
    recorder = Recorder()
    await carry_by(httpx.AsyncClient(transport=recorder), "http://h.example/", Exchange())
    assert recorder.requests[0].extensions[OPERATION_EXTENSION] == "send"


class EndlessStream(httpx.AsyncByteStream):
    """A body without an end, from a transport that never waits."""

    closed = False

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        return b"0" * 1000

    async def aclose(self) -> None:
        self.closed = True
        raise OSError("closing fails as well")


@pytest.mark.spec("CARR-8")
async def test_a_stream_without_an_end_that_never_waits_is_given_up_too() -> None:
    class Endless(httpx.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            await request.aread()
            return httpx.Response(200, stream=stream)

    stream = EndlessStream()
    client = httpx.AsyncClient(transport=Endless())
    carried = await carry_by(client, "http://h.example/", Exchange(), limit=5000)
    assert isinstance(carried, Unreadable)
    assert stream.closed


@pytest.mark.spec("CARR-8")
async def test_a_reply_in_many_pieces_leaves_others_their_turn() -> None:
    class Crumbs(httpx.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            for _ in range(10_000):
                yield b" "

    class Crumbling(httpx.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            await request.aread()
            return httpx.Response(200, stream=Crumbs())

    turns = 0

    async def take_turns() -> None:
        nonlocal turns
        while True:
            await anyio.lowlevel.checkpoint()
            turns += 1

    async with anyio.create_task_group() as group:
        group.start_soon(take_turns)
        client = httpx.AsyncClient(transport=Crumbling())
        carried = await carry_by(client, "http://h.example/", Exchange())
        group.cancel_scope.cancel()
    assert isinstance(carried, Answer)
    assert len(carried.body) == 10_000
    assert turns >= 100


async def test_a_body_that_a_hook_has_read_is_taken_from_there() -> None:
    async def talk(line: Line) -> None:
        await line.hear()
        await line.say(reply(WHOLE))

    async def read(response: httpx.Response) -> None:
        await response.aread()

    async with peer(talk) as there:
        client = httpx.AsyncClient(event_hooks={"response": [read]})
        carried = await carry_by(client, there.url, Exchange())
    assert isinstance(carried, Answer)
    assert carried.body == WHOLE


@pytest.mark.spec("CARR-12")
async def test_a_transport_that_raises_what_it_likes_ends_as_the_exchange_says() -> None:
    class Odd(httpx.AsyncBaseTransport):
        def __init__(self, *, reads: bool) -> None:
            self._reads = reads

        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            if self._reads:
                await request.aread()
            raise ZeroDivisionError("oops")

    before = await carry_by(
        httpx.AsyncClient(transport=Odd(reads=False)), "http://h.example/", Exchange()
    )
    after = await carry_by(
        httpx.AsyncClient(transport=Odd(reads=True)), "http://h.example/", Exchange()
    )
    assert isinstance(before, NotSent)
    assert isinstance(after, Lost)
    assert isinstance(before.error.__cause__, ZeroDivisionError)
    assert isinstance(after.error.__cause__, ZeroDivisionError)
    assert "oops" in str(after.error)


@pytest.mark.spec("CARR-12")
async def test_a_header_that_http_cannot_carry_is_named_and_its_value_is_not(
    new_client: NewClient,
) -> None:
    async with peer(hang_up) as there, new_client() as client:
        carrier = Carrier(client, bounds=Bounds(1000))
        for value in ("Bearer s3cret\nX: y", "Bearer s3cret é"):
            wrong = Errand(name="send", url=httpx.URL(there.url), headers={"A": value}, body=BODY)
            exchange = Exchange()
            carried = await carrier.carry(wrong, exchange)
            assert isinstance(carried, NotSent)
            assert "s3cret" not in str(carried.error)
            assert not exchange.body_left
