"""One connection, over real sockets: what goes out at once, and when it may be used again."""

from __future__ import annotations

import contextlib
import gc
import ssl
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio
import anyio.abc
import httpx
import pytest
import trustme
from anyio.streams.tls import TLSListener

from a2a_delegate.bindings.body import WatchedBody
from a2a_delegate.bindings.exchange import Exchange
from a2a_delegate.peer.connection import Connection
from tests.bindings.loopback import Line, Loopback, closed_port, peer, reply

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

pytestmark = pytest.mark.anyio

NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def post(url: str, body: bytes) -> httpx.Request:
    return httpx.Request(
        "POST",
        url,
        headers={"Host": "h", "Content-Length": str(len(body))},
        stream=WatchedBody(body, Exchange()),
        extensions={"timeout": {"connect": 5.0}},
    )


async def answer(connection: Connection, request: httpx.Request) -> bytes:
    with anyio.fail_after(5):
        response = await connection.handle_async_request(request)
        return await response.aread()


async def test_a_small_request_goes_out_at_once() -> None:
    came: list[bytes] = []

    async def serve(stream: anyio.abc.SocketStream) -> None:
        async with stream:
            for _ in range(2):
                came.append(await stream.receive())
                await stream.send(reply(b"{}"))

    async with (
        await anyio.create_tcp_listener(local_host="127.0.0.1") as listener,
        anyio.create_task_group() as tasks,
    ):
        port = listener.extra_attributes[anyio.abc.SocketAttribute.local_port]()
        url = f"http://127.0.0.1:{port}/rpc"
        tasks.start_soon(listener.serve, serve)
        connection = Connection(httpx.URL(url), NO_TLS)
        for body in (b"first", b"second"):
            assert await answer(connection, post(url, body)) == b"{}"
        await connection.aclose()
        tasks.cancel_scope.cancel()
    assert [one.partition(b"\r\n\r\n")[2] for one in came] == [b"first", b"second"]


class Interrupted(httpx.ByteStream):
    """What httpx has for a body, also for none; whoever takes it is cancelled before the write."""

    def __init__(self, scope: anyio.CancelScope) -> None:
        super().__init__(b"")
        self._scope = scope

    def __iter__(self) -> Iterator[bytes]:
        self._scope.cancel()
        yield from super().__iter__()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        self._scope.cancel()
        async for piece in super().__aiter__():
            yield piece


async def test_a_request_that_is_cancelled_as_it_is_written_leaves_no_generator() -> None:
    async with peer(Line.hear) as there:
        connection = Connection(httpx.URL(there.url), NO_TLS)
        with anyio.CancelScope() as scope:
            asked = httpx.Request(
                "GET", there.url, headers={"Host": "h"}, stream=Interrupted(scope)
            )
            await connection.handle_async_request(asked)
        assert scope.cancelled_caught
        # trio warns of one that is collected half finished; such a warning fails the test.
        gc.collect()
        await anyio.lowlevel.checkpoint()
        await connection.aclose()


@pytest.mark.parametrize("size", [0, 1, 60_000, 65_536, 70_000, 3_000_000])
async def test_a_request_of_any_size_arrives_whole(size: int) -> None:
    async def talk(line: Line) -> None:
        while True:
            heard = await line.hear()
            await line.say(reply(str(len(heard.body)).encode()))

    body = bytes(size)
    async with peer(talk) as there:
        connection = Connection(httpx.URL(there.url), NO_TLS)
        for _ in range(2):
            assert await answer(connection, post(there.url, body)) == str(size).encode()
        # Without a body, too.
        get = httpx.Request("GET", there.url, headers={"Host": "h"})
        assert await answer(connection, get) == b"0"
        await connection.aclose()
    assert len(there.lines) == 1


@pytest.mark.spec("CARR-27", "CARR-28")
async def test_a_connection_is_reusable_between_whole_replies_and_while_it_is_young() -> None:
    async def talk(line: Line) -> None:
        while True:
            await line.hear()
            await line.say(reply(b"{}"))

    async with peer(talk) as there:
        connection = Connection(httpx.URL(there.url), NO_TLS)
        assert not connection.is_whole
        with anyio.fail_after(5):
            response = await connection.handle_async_request(post(there.url, b"x"))
            assert (connection.is_whole, connection.is_reusable) == (False, False)
            await response.aread()
        assert (connection.is_whole, connection.is_reusable) == (True, True)
        await connection.aclose()
        assert not connection.is_whole
        old = Connection(httpx.URL(there.url), NO_TLS, idle_seconds=0.0)
        await answer(old, post(there.url, b"x"))
        assert (old.is_whole, old.is_reusable) == (True, False)
        await old.aclose()


def head(*lines: str) -> bytes:
    return "\r\n".join(("HTTP/1.1 200 OK", *lines, "", "")).encode()


UNASKED = b"HTTP/1.1 401 No\r\nWWW-Authenticate: Bearer\r\nContent-Length: 0\r\n\r\n"


@pytest.mark.spec("CARR-28")
@pytest.mark.parametrize(
    "pieces",
    [
        pytest.param([reply(b"{}") + UNASKED], id="a second reply"),
        pytest.param([reply(b"{}") + UNASKED[:9]], id="the beginning of one"),
        pytest.param([reply(b"{}"), UNASKED], id="a second reply, later"),
        pytest.param([head("Content-Length: 2") + b"{}x"], id="a body longer than announced"),
        pytest.param(
            [head("Transfer-Encoding: chunked") + b"2\r\n{}\r\n0\r\n\r\n" + UNASKED], id="chunks"
        ),
        pytest.param([b"HTTP/1.1 103 Hint\r\n\r\n" + reply(b"{}") + UNASKED], id="a hint before"),
    ],
)
async def test_a_reply_that_nobody_asked_for_answers_no_other_request(
    pieces: list[bytes],
) -> None:
    """Whatever comes after a reply, the connection takes no other request."""
    sent = anyio.Event()

    async def serve(stream: anyio.abc.SocketStream) -> None:
        async with stream:
            await stream.receive()
            for piece in pieces:
                await stream.send(piece)
                await anyio.lowlevel.checkpoint()
            sent.set()
            with anyio.move_on_after(5), contextlib.suppress(anyio.EndOfStream, OSError):
                await stream.receive()

    async with (
        await anyio.create_tcp_listener(local_host="127.0.0.1") as listener,
        anyio.create_task_group() as tasks,
    ):
        port = listener.extra_attributes[anyio.abc.SocketAttribute.local_port]()
        tasks.start_soon(listener.serve, serve)
        url = f"http://127.0.0.1:{port}/rpc"
        connection = Connection(httpx.URL(url), NO_TLS)
        assert await answer(connection, post(url, b"{}")) == b"{}"
        with anyio.fail_after(5):
            await sent.wait()
            while connection.is_reusable:
                await anyio.lowlevel.checkpoint()
        await connection.aclose()
        tasks.cancel_scope.cancel()


@pytest.mark.spec("CARR-28")
async def test_a_connection_whose_reply_was_left_is_closed_and_not_whole() -> None:
    async def talk(line: Line) -> None:
        await line.hear()
        await line.say(reply(b"half", length=8))
        closed.append(await line.closed_by_client())

    closed: list[bool] = []
    async with peer(talk) as there:
        connection = Connection(httpx.URL(there.url), NO_TLS)
        with anyio.fail_after(5):
            response = await connection.handle_async_request(post(there.url, b"x"))
            await response.aclose()
            assert not connection.is_whole
            while not closed:
                await anyio.lowlevel.checkpoint()


async def test_what_goes_wrong_is_told_in_the_words_of_httpx() -> None:
    async def talk(line: Line) -> None:
        heard = await line.hear()
        if heard.body == b"garbage":
            await line.say(b"this is no HTTP\r\n\r\n")
        elif heard.body == b"half":
            await line.say(reply(b"half", length=8))

    closed = f"http://127.0.0.1:{await closed_port()}/rpc"
    async with peer(talk) as there:
        for url, body, error in (
            (closed, b"x", httpx.ConnectError),
            (there.url, b"garbage", httpx.RemoteProtocolError),
            (there.url, b"nothing", httpx.RemoteProtocolError),
            (there.url, b"half", httpx.RemoteProtocolError),
        ):
            connection = Connection(httpx.URL(url), NO_TLS)
            with pytest.raises(error) as raised:
                await answer(connection, post(url, body))
            assert type(raised.value.__cause__).__name__ == error.__name__
            assert not connection.is_whole
        bad = httpx.Request("POST", there.url, headers={"Host": "h", "X": "a\nb"})
        with pytest.raises(httpx.LocalProtocolError):
            await answer(Connection(httpx.URL(there.url), NO_TLS), bad)


@asynccontextmanager
async def tls_peer(authority: trustme.CA) -> AsyncIterator[Loopback]:
    """Answer over TLS with the body of each request."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)

    async def serve(stream: anyio.abc.ByteStream) -> None:
        line = Line(stream, len(there.lines))  # type: ignore[arg-type]
        there.lines.append(line)
        async with stream:
            try:
                while True:
                    heard = await line.hear()
                    await line.say(reply(heard.body))
            except (anyio.EndOfStream, anyio.BrokenResourceError):
                return

    tcp = await anyio.create_tcp_listener(local_host="127.0.0.1")
    there = Loopback(tcp.extra_attributes[anyio.abc.SocketAttribute.local_port]())
    async with (
        TLSListener(tcp, context, standard_compatible=False) as listener,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(listener.serve, serve)
        yield there
        tasks.cancel_scope.cancel()


async def test_over_tls_it_is_the_same() -> None:
    authority = trustme.CA()
    trusting = ssl.create_default_context()
    authority.configure_trust(trusting)
    async with tls_peer(authority) as there:
        url = f"https://localhost:{there.port}/rpc"
        connection = Connection(httpx.URL(url), trusting)
        for body in (b"first", bytes(100_000)):
            assert await answer(connection, post(url, body)) == body
        assert connection.is_reusable
        await connection.aclose()
    assert len(there.lines) == 1
    assert [len(heard.body) for heard in there.heard] == [5, 100_000]


async def test_a_certificate_that_is_not_trusted_ends_before_a_byte() -> None:
    async with tls_peer(trustme.CA()) as there:
        url = f"https://localhost:{there.port}/rpc"
        exchange = Exchange()
        request = post(url, b"x")
        request.stream = WatchedBody(b"x", exchange)
        with pytest.raises(httpx.ConnectError):
            await answer(Connection(httpx.URL(url), ssl.create_default_context()), request)
    assert not exchange.body_left
    assert there.heard == []


@pytest.mark.parametrize("late", ["cancelled", "timed out"])
async def test_a_handshake_that_nobody_answers_ends_in_time_and_leaves_no_connection(
    late: str,
) -> None:
    async def talk(line: Line) -> None:
        closed.append(await line.closed_by_client())

    closed: list[bool] = []
    async with peer(talk) as there:
        url = there.url.replace("http:", "https:")
        request = post(url, b"x")
        request.extensions = {"timeout": {"connect": 0.05 if late == "timed out" else None}}
        connection = Connection(httpx.URL(url), ssl.create_default_context())
        with anyio.move_on_after(0.05 if late == "cancelled" else 5) as scope:
            with pytest.raises(httpx.ConnectTimeout):
                await connection.handle_async_request(request)
        assert scope.cancelled_caught is (late == "cancelled")
        with anyio.fail_after(5):
            while not closed:
                await anyio.lowlevel.checkpoint()


async def test_a_peer_that_goes_while_a_large_body_is_written_is_told_as_such() -> None:
    async def talk(line: Line) -> None:
        await line.hear_head()

    async with peer(talk) as there:
        connection = Connection(httpx.URL(there.url), NO_TLS)
        with pytest.raises((httpx.ReadError, httpx.RemoteProtocolError)):
            await answer(connection, post(there.url, bytes(20_000_000)))
        assert not connection.is_whole


REFUSAL = b"HTTP/1.1 413 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


@pytest.mark.spec("CARR-29")
@pytest.mark.parametrize("tls", [False, True])
async def test_a_refusal_that_comes_before_all_of_a_request_is_out_is_read(*, tls: bool) -> None:
    authority, trusting = trustme.CA(), ssl.create_default_context()
    authority.configure_trust(trusting)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)

    async def serve(stream: anyio.abc.ByteStream) -> None:
        # It closes with what it has not read, so the system resets the line under the client.
        await stream.receive(1_000)
        await stream.send(REFUSAL)
        await anyio.aclose_forcefully(stream)

    tcp = await anyio.create_tcp_listener(local_host="127.0.0.1")
    port = tcp.extra_attributes[anyio.abc.SocketAttribute.local_port]()
    listener = TLSListener(tcp, context, standard_compatible=False) if tls else tcp
    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, serve)
        url = f"{'https' if tls else 'http'}://localhost:{port}/rpc"
        connection = Connection(httpx.URL(url), trusting)
        with anyio.fail_after(5):
            response = await connection.handle_async_request(post(url, bytes(20_000_000)))
            await response.aread()
        assert response.status_code == 413
        assert not connection.is_reusable
        tasks.cancel_scope.cancel()


@pytest.mark.spec("CARR-28", "CARR-29")
async def test_what_came_before_a_request_was_out_answers_no_other_one() -> None:
    body = bytes(5_000_000)

    async def serve(stream: anyio.abc.SocketStream) -> None:
        async with stream:
            await stream.receive(1_000)
            await stream.send(reply(b"early"))
            await anyio.wait_all_tasks_blocked()
            await stream.send(UNASKED)
            with contextlib.suppress(anyio.EndOfStream, anyio.BrokenResourceError):
                while True:
                    await stream.receive()

    async with (
        await anyio.create_tcp_listener(local_host="127.0.0.1") as listener,
        anyio.create_task_group() as tasks,
    ):
        port = listener.extra_attributes[anyio.abc.SocketAttribute.local_port]()
        tasks.start_soon(listener.serve, serve)
        url = f"http://127.0.0.1:{port}/rpc"
        connection = Connection(httpx.URL(url), NO_TLS)
        assert await answer(connection, post(url, body)) == b"early"
        assert not connection.is_reusable
        await connection.aclose()
        tasks.cancel_scope.cancel()
