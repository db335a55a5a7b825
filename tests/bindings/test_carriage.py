"""One request over a real socket: how it ends, and what is proven by that."""

from __future__ import annotations

import gzip
import traceback
import zlib
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol, TypeAlias

import anyio
import httpx
import pytest

from a2a_delegate.bindings.carriage import OPERATION_EXTENSION, Answer, Bounds, Carrier, Errand
from a2a_delegate.bindings.exchange import EVIDENCE_BYTES, Exchange
from a2a_delegate.errors import UsageError
from a2a_delegate.lifecycle.operations import Lost, NotSent, Unreadable
from a2a_delegate.peer.own_client import own_client
from a2a_delegate.wire.cut_reply import TaskIdScan
from tests.bindings.loopback import Line, closed_port, peer, reply

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable

    from a2a_delegate.bindings.carriage import Carried

    NewClient: TypeAlias = Callable[[], httpx.AsyncClient]

pytestmark = pytest.mark.anyio

BODY = b'{"jsonrpc":"2.0","id":"r-1","method":"SendMessage"}'
WHOLE = b'{"jsonrpc":"2.0","id":"r-1","result":{"task":{"id":"task-7","status":{"state":"x"}}}}'
SHOWS_THE_ID = WHOLE[:60]


def errand(url: str, *, scan: TaskIdScan | None = None) -> Errand:
    return Errand(name="send", url=httpx.URL(url), headers={"X-Ours": "1"}, body=BODY, scan=scan)


@pytest.fixture(params=[httpx.AsyncClient, own_client], ids=["given", "own"])
def new_client(request: pytest.FixtureRequest) -> NewClient:
    """Make a client: one as callers bring it, or ours."""
    make: NewClient = request.param
    return make


class Carry(Protocol):
    async def __call__(self, url: str, exchange: Exchange, *, limit: int = ...) -> Carried: ...


@pytest.fixture
def carry(new_client: NewClient) -> Carry:
    """Carry one errand by a new client."""

    async def by_a_new_client(url: str, exchange: Exchange, *, limit: int = 1_000_000) -> Carried:
        return await carry_by(new_client(), url, exchange, limit=limit)

    return by_a_new_client


async def carry_by(
    client: httpx.AsyncClient, url: str, exchange: Exchange, *, limit: int = 1_000_000
) -> Carried:
    async with client:
        carrier = Carrier(client, bounds=Bounds(limit))
        scan = TaskIdScan(request_id="r-1")
        with anyio.fail_after(5):
            return await carrier.carry(errand(url, scan=scan), exchange)


@pytest.mark.parametrize("client", [None, httpx.AsyncClient])
async def test_what_is_no_asynchronous_client_is_refused(client: object) -> None:
    with pytest.raises(UsageError, match=r"must be an httpx\.AsyncClient"):
        Carrier(client, bounds=Bounds(1))  # type: ignore[arg-type]
    with httpx.Client() as waits, pytest.raises(UsageError, match="got Client"):
        Carrier(waits, bounds=Bounds(1))  # type: ignore[arg-type]


async def test_a_complete_reply_is_an_answer(carry: Carry) -> None:
    async def talk(line: Line) -> None:
        await line.hear()
        await line.say(reply(WHOLE, status="201 Created", headers="X-Theirs: 2\r\n"))

    exchange = Exchange()
    async with peer(talk) as there:
        carried = await carry(there.url, exchange)
    assert isinstance(carried, Answer)
    assert (carried.status, carried.body, carried.is_success) == (201, WHOLE, True)
    assert carried.headers["x-theirs"] == "2"
    assert exchange.http_status == 201
    assert exchange.evidence == WHOLE


@pytest.mark.spec("CARR-4")
async def test_the_body_has_a_known_length_whatever_the_client_would_have() -> None:
    async def talk(line: Line) -> None:
        await line.hear()
        await line.say(reply(WHOLE))

    async with peer(talk) as there:
        client = httpx.AsyncClient(headers={"Transfer-Encoding": "chunked"})
        await carry_by(client, there.url, Exchange())
    (heard,) = there.heard
    assert heard.header("Content-Length") == str(len(BODY))
    assert heard.header("Transfer-Encoding") is None
    assert heard.body == BODY


@pytest.mark.spec("CARR-1")
async def test_a_refused_connection_proves_that_nothing_left(carry: Carry) -> None:
    exchange = Exchange()
    carried = await carry(f"http://127.0.0.1:{await closed_port()}/", exchange)
    assert isinstance(carried, NotSent)
    assert carried.error.phase == "connect"
    assert isinstance(carried.error.__cause__, httpx.ConnectError)
    assert not exchange.body_left


async def hello_in_plain_text(line: Line) -> None:
    await line.say(b"220 mail.example ready\r\n" * 10)
    await line.closed_by_client()


async def hang_up(line: Line) -> None:
    """Return, which closes the connection."""


@pytest.mark.spec("CARR-1")
@pytest.mark.parametrize("talk", [hello_in_plain_text, hang_up])
async def test_a_failed_handshake_proves_that_nothing_left(
    carry: Carry, talk: Callable[[Line], Awaitable[object]]
) -> None:
    exchange = Exchange()
    async with peer(talk) as there:
        carried = await carry(there.url.replace("http:", "https:"), exchange)
    assert isinstance(carried, NotSent)
    assert carried.error.phase == "tls"
    assert not exchange.body_left


@pytest.mark.spec("CARR-3")
async def test_a_cut_reply_is_never_an_answer_and_shows_what_came(carry: Carry) -> None:
    async def talk(line: Line) -> None:
        await line.hear()
        await line.say(reply(SHOWS_THE_ID, length=len(WHOLE)))

    ids: list[str] = []
    exchange = Exchange(on_id=ids.append)
    async with peer(talk) as there:
        carried = await carry(there.url, exchange)
    assert isinstance(carried, Lost)
    assert (carried.error.phase, carried.error.method) == ("read", "send")
    assert isinstance(carried.error.__cause__, httpx.RemoteProtocolError)
    assert (carried.evidence, carried.task_id) == (SHOWS_THE_ID, "task-7")
    assert ids == ["task-7"]
    assert (exchange.body_left, exchange.http_status) == (True, 200)


@pytest.mark.spec("BIND-11", "CARR-10")
@pytest.mark.parametrize(
    ("end", "ids"), [(b'},"id":"r-1"', ["task-7"]), (b'},"id":"r-2"', []), (b"", ["task-7"])]
)
async def test_a_reply_that_shows_a_task_before_its_own_id_counts_if_it_is_ours(
    carry: Carry, end: bytes, ids: list[str]
) -> None:
    async def talk(line: Line) -> None:
        await line.hear()
        await line.say(reply(b'{"jsonrpc":"2.0","result":{"task":{"id":"task-7",', length=1000))
        await line.say(b'"status":{}}' + end)

    seen: list[str] = []
    async with peer(talk) as there:
        carried = await carry(there.url, Exchange(on_id=seen.append))
    assert isinstance(carried, Lost)
    assert ([carried.task_id] if carried.task_id else []) == seen == ids


@pytest.mark.spec("CARR-3")
@pytest.mark.parametrize(
    "said", [b"", b"HTTP/1.1 200", b"HTTP/1.1 200 OK\r\nContent-Le", b"no HTTP at all\r\n\r\n"]
)
async def test_a_reply_without_a_body_is_lost(carry: Carry, said: bytes) -> None:
    async def talk(line: Line) -> None:
        await line.hear()
        await line.say(said)

    exchange = Exchange()
    async with peer(talk) as there:
        carried = await carry(there.url, exchange)
    assert isinstance(carried, Lost)
    assert (carried.evidence, carried.task_id, exchange.http_status) == (b"", None, None)
    assert exchange.body_left


@pytest.mark.spec("CARR-3")
async def test_a_chunked_reply_that_stops_is_lost(carry: Carry) -> None:
    async def talk(line: Line) -> None:
        await line.hear()
        await line.say(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")

    async with peer(talk) as there:
        carried = await carry(there.url, Exchange())
    assert isinstance(carried, Lost)
    assert carried.evidence == b"hello"


@pytest.mark.spec("CARR-10")
async def test_the_id_is_told_while_the_reply_is_still_coming(carry: Carry) -> None:
    async def talk(line: Line) -> None:
        await line.hear()
        head, tail = SHOWS_THE_ID[:30], SHOWS_THE_ID[30:]
        await line.say(reply(head, length=len(WHOLE)))
        await line.say(tail)
        await seen.wait()
        await line.say(WHOLE[60:])

    seen = anyio.Event()
    exchange = Exchange(on_id=lambda _: seen.set())
    async with peer(talk) as there:
        carried = await carry(there.url, exchange)
    assert isinstance(carried, Answer)
    assert carried.body == WHOLE


@pytest.mark.spec("CARR-10")
async def test_cancelled_within_a_reply_the_exchange_keeps_what_came(new_client: NewClient) -> None:
    async def talk(line: Line) -> None:
        await line.hear()
        await line.say(reply(SHOWS_THE_ID, length=len(WHOLE)))
        closed.append(await line.closed_by_client())

    def cancel(task_id: str) -> None:
        ids.append(task_id)
        scope.cancel()

    closed: list[bool] = []
    ids: list[str] = []
    exchange = Exchange(on_id=cancel)
    async with peer(talk) as there, new_client() as client:
        with anyio.CancelScope() as scope:
            carrier = Carrier(client, bounds=Bounds(1000))
            await carrier.carry(errand(there.url, scan=TaskIdScan(request_id="r-1")), exchange)
        assert scope.cancelled_caught
        with anyio.fail_after(5):
            while not closed:
                await anyio.lowlevel.checkpoint()
    assert ids == ["task-7"]
    assert exchange.evidence == SHOWS_THE_ID
    assert (exchange.body_left, exchange.http_status) == (True, 200)


@pytest.mark.spec("CARR-2")
async def test_a_sealed_body_stays_here_and_the_peer_sees_none_of_it(carry: Carry) -> None:
    async def talk(line: Line) -> None:
        try:
            # Whether the head came before the end is the client's own affair.
            await line.hear_head()
            await line.closed_by_client()
        finally:
            ended.append(line)

    ended: list[Line] = []
    exchange = Exchange()
    exchange.seal()
    async with peer(talk) as there:
        carried = await carry(there.url, exchange)
        with anyio.fail_after(5):
            while not ended:
                await anyio.lowlevel.checkpoint()
    assert isinstance(carried, NotSent)
    assert carried.error.phase == "write"
    assert not exchange.body_left
    assert b"".join(heard.body for heard in there.heard) == b""


@pytest.mark.spec("CARR-5")
async def test_a_kept_connection_that_closes_as_the_next_request_arrives_is_lost(
    new_client: NewClient,
) -> None:
    async def talk(line: Line) -> None:
        await line.hear()
        await line.say(reply(WHOLE))
        await line.hear_head()

    async with peer(talk) as there, new_client() as client:
        carrier = Carrier(client, bounds=Bounds(1000))
        first, second = Exchange(), Exchange()
        assert isinstance(await carrier.carry(errand(there.url), first), Answer)
        carried = await carrier.carry(errand(there.url), second)
    assert len(there.lines) == 1
    assert isinstance(carried, Lost)
    assert second.body_left


@pytest.mark.spec("CARR-5")
async def test_a_kept_connection_that_was_seen_to_close_is_not_used(new_client: NewClient) -> None:
    async def talk(line: Line) -> None:
        await line.hear()
        await line.say(reply(WHOLE))

    async with peer(talk) as there, new_client() as client:
        carrier = Carrier(client, bounds=Bounds(1000))
        for _ in range(2):
            carried = await carrier.carry(errand(there.url), Exchange())
            assert isinstance(carried, Answer)
            # The peer's farewell is on its way; a look at the socket shows it.
            await anyio.wait_all_tasks_blocked()
    assert len(there.lines) == 2


@pytest.mark.spec("CARR-8")
async def test_a_reply_over_the_limit_is_unreadable_and_its_connection_closed(carry: Carry) -> None:
    async def talk(line: Line) -> None:
        await line.hear()
        await line.say(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        while True:
            await line.say(b"4000\r\n" + SHOWS_THE_ID.ljust(0x4000) + b"\r\n")

    exchange = Exchange()
    async with peer(talk) as there:
        carried = await carry(there.url, exchange, limit=100_000)
    assert isinstance(carried, Unreadable)
    assert "larger than 100000 bytes" in str(carried.error)
    assert (carried.error.status, carried.task_id) == (200, "task-7")
    assert len(carried.evidence) == EVIDENCE_BYTES


@pytest.mark.spec("CARR-8")
async def test_a_lost_reply_does_not_stay_in_memory_with_its_error(carry: Carry) -> None:
    async def talk(line: Line) -> None:
        await line.hear()
        await line.say(reply(b"0" * 500_000, length=900_000))

    async with peer(talk) as there:
        carried = await carry(there.url, Exchange())
    assert isinstance(carried, Lost)
    assert len(carried.evidence) == EVIDENCE_BYTES
    assert held_by(carried.error) == []


@pytest.mark.spec("CARR-18")
async def test_a_request_does_not_stay_in_memory_with_the_error_that_ended_it() -> None:
    async def talk(line: Line) -> None:
        await line.hear()

    async with peer(talk) as there:
        client = httpx.AsyncClient(headers={"X-Key": "s3cret"})
        lost = await carry_by(client, there.url, Exchange())
    assert isinstance(lost, Lost)
    assert held_by(lost.error) == []
    cause = lost.error.__cause__
    assert isinstance(cause, httpx.RemoteProtocolError)
    assert (cause.request.method, str(cause.request.url)) == ("POST", there.url)
    assert "X-Key" not in cause.request.headers
    assert cause.request.content == b""


def held_by(error: BaseException) -> list[object]:
    """Return what the tracebacks of an error's causes hold: nothing is lost that they tell."""
    held: list[object] = []
    link = error.__cause__
    assert link is not None
    assert link.__traceback__ is not None
    while link is not None:
        frames = [frame for frame, _ in traceback.walk_tb(link.__traceback__)]
        held += [value for frame in frames for value in frame.f_locals.values()]
        link = link.__cause__ or link.__context__
    return held


@pytest.mark.spec("CARR-8")
async def test_a_reply_in_pieces_of_one_byte_is_kept_as_bytes_and_not_as_pieces(
    carry: Carry,
) -> None:
    async def talk(line: Line) -> None:
        await line.hear()
        await line.say(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        await line.say(b"".join(b"1\r\n%c\r\n" % byte for byte in WHOLE) + b"0\r\n\r\n")

    async with peer(talk) as there:
        carried = await carry(there.url, Exchange(), limit=len(WHOLE))
    assert isinstance(carried, Answer)
    assert carried.body == WHOLE


@pytest.mark.spec("CARR-21")
@pytest.mark.parametrize("word", ["identity", " Identity ", ""])
async def test_a_reply_that_says_that_it_is_not_encoded_is_read(carry: Carry, word: str) -> None:
    async def talk(line: Line) -> None:
        await line.hear()
        await line.say(reply(WHOLE, headers=f"Content-Encoding: {word}\r\n"))

    async with peer(talk) as there:
        carried = await carry(there.url, Exchange())
    assert isinstance(carried, Answer)
    assert carried.body == WHOLE


@pytest.mark.spec("CARR-21")
@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize(
    ("word", "content"),
    [
        ("gzip", gzip.compress(WHOLE)),
        ("gzip", gzip.compress(b"0" * 10_000_000)),
        ("X-GZIP", b"this is no gzip"),
        ("deflate", zlib.compress(WHOLE)),
        ("br", WHOLE),
        ("gzip, gzip", gzip.compress(gzip.compress(WHOLE))),
    ],
    ids=["gzip", "a bomb", "no gzip at all", "deflate", "another", "twice"],
)
async def test_an_encoded_reply_is_unreadable_and_kept_as_it_came(
    word: str, content: bytes, *, signed: bool
) -> None:
    async def talk(line: Line) -> None:
        while True:
            await line.hear()
            await line.say(reply(content, headers=f"Content-Encoding: {word}\r\n"))

    client = httpx.AsyncClient(auth=httpx.BasicAuth("me", "pass") if signed else None)
    async with peer(talk) as there, client:
        for _ in range(2):
            with anyio.fail_after(5):
                carried = await Carrier(client, bounds=Bounds(1_000_000)).carry(
                    errand(there.url), Exchange()
                )
            assert isinstance(carried, Unreadable)
            assert carried.error.reason == (
                f"its encoding is {word.lower()!r}, and none was asked for"
            )
            assert carried.evidence == content
    # What nobody understands was read to its end all the same: the connection serves on.
    assert len(there.lines) == 1


@pytest.mark.spec("CARR-12")
async def test_a_client_that_its_owner_closed_is_named() -> None:
    client = httpx.AsyncClient()
    await client.aclose()
    exchange = Exchange()
    carried = await Carrier(client, bounds=Bounds(10)).carry(errand("http://h.example/"), exchange)
    assert isinstance(carried, NotSent)
    assert "client is closed" in str(carried.error)
    assert isinstance(carried.error.__cause__, UsageError)


@pytest.mark.spec("CARR-6")
@pytest.mark.parametrize(
    "location", ["ht!tp://[", "http://h:x/", "data:text/plain,x", "http://[::1"]
)
@pytest.mark.parametrize("auth", [None, httpx.BasicAuth("me", "pass")])
async def test_a_redirect_is_an_answer_wherever_it_leads(
    new_client: NewClient, location: str, auth: httpx.Auth | None
) -> None:
    async def talk(line: Line) -> None:
        while True:
            await line.hear()
            await line.say(
                reply(
                    b"moved", status="307 Temporary Redirect", headers=f"Location: {location}\r\n"
                )
            )

    exchange = Exchange()
    async with peer(talk) as there, new_client() as client:
        call = replace(errand(there.url), auth=auth)
        with anyio.fail_after(5):
            carried = await Carrier(client, bounds=Bounds(1_000)).carry(call, exchange)
    assert isinstance(carried, Answer)
    assert (carried.status, exchange.http_status) == (307, 307)


@pytest.mark.spec("CARR-1", "CARR-6")
async def test_a_redirect_before_says_nothing_about_a_request_that_is_lost() -> None:
    class Insists(httpx.Auth):
        async def async_auth_flow(
            self, request: httpx.Request
        ) -> AsyncGenerator[httpx.Request, httpx.Response]:
            yield request
            yield request

    async def talk(line: Line) -> None:
        await line.hear()
        await line.say(reply(b"", status="307 Temporary Redirect"))
        await line.hear()

    exchange = Exchange()
    async with peer(talk) as there:
        carried = await carry_by(httpx.AsyncClient(auth=Insists()), there.url, exchange)
    assert isinstance(carried, Lost)


@pytest.mark.spec("CARR-6")
async def test_a_redirect_is_an_answer_and_is_not_followed() -> None:
    async def talk(line: Line) -> None:
        await line.hear()
        await line.say(
            reply(b"", status="307 Temporary Redirect", headers="Location: /elsewhere\r\n")
        )

    async with peer(talk) as there:
        client = httpx.AsyncClient(follow_redirects=True)
        carried = await carry_by(client, there.url, Exchange())
    assert isinstance(carried, Answer)
    assert carried.status == 307
    assert len(there.heard) == 1


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
