"""One HTTP/1.1 connection, kept for the next request, with one request on it at a time.

httpx's own pool looks at each of its connections several times for each request, which at a hundred
connections is most of a request's cost. So `peer.lanes` keeps the connections, and here is one of
them: httpcore, as below every httpx client, without the pool in between.
"""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING, Any, cast

import anyio
import httpcore
import httpx

from a2a_delegate.peer.lanes import IDLE_SECONDS

if TYPE_CHECKING:
    import ssl
    from collections.abc import (
        AsyncIterable,
        AsyncIterator,
        Awaitable,
        Callable,
        Iterable,
        Iterator,
    )

_CLOSING_SECONDS = 1.0
"""How long a connection that is given up may take to close."""

_ONE_WRITE_BYTES = 64 * 1024
"""Up to this size the head of a request and its body go out together."""

_HEAD_END = b"\r\n\r\n"
_BODILESS = frozenset({204, 304})
_DIGITS = 18
"""Longer than a number of 64 bits, a length is nonsense."""

_PORTS = {"http": 80, "https": 443}
_ERRORS: dict[type[Exception], type[httpx.TransportError]] = {
    # The two libraries have the same tree of errors, by the same names.
    getattr(httpcore, name): getattr(httpx, name)
    for name in (
        "ConnectTimeout",
        "ReadTimeout",
        "WriteTimeout",
        "PoolTimeout",
        "ConnectError",
        "ReadError",
        "WriteError",
        "ProxyError",
        "UnsupportedProtocol",
        "LocalProtocolError",
        "RemoteProtocolError",
    )
}


class Connection:
    """A connection to the origin of `url`, opened by its first request.

    It may be used again for `idle_seconds` after the end of a reply. Raises httpx's errors for
    those of the network and of the protocol.
    """

    __slots__ = ("_announced", "_http", "_meter")

    def __init__(
        self, url: httpx.URL, ssl_context: ssl.SSLContext, *, idle_seconds: float = IDLE_SECONDS
    ) -> None:
        origin = httpcore.Origin(url.raw_scheme, url.raw_host, url.port or _PORTS[url.scheme])
        self._meter = _Meter()
        self._announced: int | None = None
        self._http = httpcore.AsyncHTTPConnection(
            origin,
            ssl_context=ssl_context,
            keepalive_expiry=idle_seconds,
            network_backend=_OneWriteBackend(self._meter),
        )

    @property
    def is_whole(self) -> bool:
        """Whether the last reply was read to its end, so that the connection may be kept."""
        return self._http.is_idle() and not self._http.is_closed()

    @property
    def is_reusable(self) -> bool:
        """Whether the next request may go by it: whole, not old, and not closed by the peer."""
        return self._http.is_idle() and not self._http.has_expired()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request; the reply's stream is to be closed before the next one."""
        url = request.url
        below = httpcore.Request(
            request.method,
            httpcore.URL(
                scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path
            ),
            headers=request.headers.raw,
            content=request.stream,
            # Of all extensions those that are meant for a connection; the rest would cost.
            extensions={"timeout": request.extensions.get("timeout", {})},
        )
        self._meter.restart()
        self._announced = None
        with _errors_of_httpx():
            response = await self._http.handle_async_request(below)
        self._announced = _announced(response)
        return httpx.Response(
            response.status,
            headers=response.headers,
            stream=_Body(response, self._end),
            extensions=response.extensions,
        )

    async def _end(self) -> None:
        """Keep the connection only where nothing came after the reply.

        The parser would take a second reply, which nobody asked for, as that to the next request,
        and a refusal in it as proof that it never began. Of a reply without a length, or behind an
        interim one, that cannot be told, so it ends as well.
        """
        if self._meter.beyond_the_head != self._announced:
            await self.aclose()

    async def aclose(self) -> None:
        """Close it, whatever is on its way."""
        with _errors_of_httpx():
            await self._http.aclose()


def _announced(response: httpcore.Response) -> int | None:
    """Return how long a reply says that its body is; None where it does not (RFC 9112 6.3)."""
    if response.status in _BODILESS:
        return 0
    headers = {name.lower(): value for name, value in response.headers}
    length = headers.get(b"content-length", b"")
    if b"transfer-encoding" in headers or not length.isdigit() or len(length) > _DIGITS:
        return None
    return int(length)


class _Meter:
    """Counts the bytes of one reply as they come over the line."""

    __slots__ = ("_came", "_head", "_head_ends")

    def __init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """Count the next reply."""
        self._came = 0
        self._head = b""
        self._head_ends: int | None = None

    def take(self, data: bytes) -> None:
        """Take what one read brought."""
        self._came += len(data)
        if self._head_ends is None:
            self._head += data
            end = self._head.find(_HEAD_END)
            if end >= 0:
                self._head, self._head_ends = b"", end + len(_HEAD_END)

    @property
    def beyond_the_head(self) -> int | None:
        """How many bytes came after the first head; None where there is none yet."""
        return None if self._head_ends is None else self._came - self._head_ends


class _Body(httpx.AsyncByteStream):
    """The body of a reply, as it comes."""

    def __init__(self, body: httpcore.Response, end: Callable[[], Awaitable[None]]) -> None:
        self._body = body
        self._end = end

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with _errors_of_httpx():
            async for piece in cast("AsyncIterable[bytes]", self._body.stream):
                yield piece

    async def aclose(self) -> None:
        with _errors_of_httpx():
            await self._body.aclose()
        await self._end()


@contextlib.contextmanager
def _errors_of_httpx() -> Iterator[None]:
    try:
        yield
    except Exception as problem:
        theirs = _ERRORS.get(type(problem))
        if theirs is None:
            raise
        raise theirs(str(problem)) from problem


class _OneWriteBackend(httpcore.AsyncNetworkBackend):
    """Connects as httpcore does by itself; what is written goes through `_OneWrite`."""

    def __init__(self, meter: _Meter) -> None:
        self._meter = meter

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - httpcore's signature
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Connect; see httpcore."""
        below = httpcore.TrioBackend() if _on_trio() else httpcore.AnyIOBackend()
        stream = await below.connect_tcp(host, port, timeout, local_address, socket_options)
        return _OneWrite(stream, self._meter)


def _on_trio() -> bool:
    # Where trio runs it has been imported.
    return "trio" in sys.modules and sys.modules["trio"].lowlevel.in_trio_task() is True


class _OneWrite(httpcore.AsyncNetworkStream):
    """Sends the head of a request and its body at once.

    Two writes are two packets and two system calls, a tenth of what a small request costs. httpcore
    writes the head, the pieces of the body, and nothing at all at its end.
    """

    def __init__(self, stream: httpcore.AsyncNetworkStream, meter: _Meter) -> None:
        self._stream = stream
        self._meter = meter
        self._held: list[bytes] = []
        self._size = 0

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109 - as above
        """Keep what is small until the end of the request."""
        if buffer:
            self._held.append(buffer)
            self._size += len(buffer)
        if not buffer or self._size > _ONE_WRITE_BYTES:
            await self._send(timeout)

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109 - as above
        """Read, once everything has been written."""
        if self._held:
            await self._send(timeout)
        data = await self._stream.read(max_bytes, timeout)
        self._meter.take(data)
        return data

    async def _send(self, timeout: float | None) -> None:  # noqa: ASYNC109 - as above
        held, size = self._held, self._size
        self._held, self._size = [], 0
        for piece in held if size > _ONE_WRITE_BYTES else (b"".join(held),):
            await self._stream.write(piece, timeout)

    async def aclose(self) -> None:
        """Close it; see httpcore."""
        await self._stream.aclose()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109 - as above
    ) -> httpcore.AsyncNetworkStream:
        """Speak TLS from now on; see httpcore."""
        try:
            stream = await self._stream.start_tls(ssl_context, server_hostname, timeout)
        except BaseException:
            # httpcore closes it after an error, and not after a cancellation.
            with anyio.move_on_after(_CLOSING_SECONDS, shield=True):
                await self._stream.aclose()
            raise
        return _OneWrite(stream, self._meter)

    def get_extra_info(self, info: str) -> Any:
        """Tell about the connection; see httpcore."""
        return self._stream.get_extra_info(info)
