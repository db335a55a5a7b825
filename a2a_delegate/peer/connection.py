"""One HTTP/1.1 connection, kept for the next request, with one request on it at a time.

httpx's own pool looks at each of its connections several times for each request, which at a hundred
connections is most of a request's cost. So `peer.lanes` keeps the connections, and here is one of
them: httpcore, as below every httpx client, without the pool in between.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Self, cast

import httpcore
import httpx

from a2a_delegate.peer.lanes import IDLE_SECONDS
from a2a_delegate.peer.line import LineBackend, Meter

if TYPE_CHECKING:
    import ssl
    from collections.abc import (
        AsyncIterable,
        AsyncIterator,
        Awaitable,
        Callable,
        Iterator,
    )

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
        self._meter = Meter()
        self._announced: int | None = None
        self._http = httpcore.AsyncHTTPConnection(
            origin,
            ssl_context=ssl_context,
            keepalive_expiry=idle_seconds,
            network_backend=LineBackend(self._meter),
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
            content=_ungenerated(request.stream),
            # Of all extensions what a connection needs; the rest would cost.
            extensions={"timeout": {"connect": _connect_seconds(request)}},
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


def _connect_seconds(request: httpx.Request) -> float | None:
    seconds: float | None = request.extensions.get("timeout", {}).get("connect")
    return seconds


def _announced(response: httpcore.Response) -> int | None:
    """Return how long a reply says that its body is; None where it does not (RFC 9112 6.3)."""
    if response.status in _BODILESS:
        return 0
    headers = {name.lower(): value for name, value in response.headers}
    length = headers.get(b"content-length", b"")
    if b"transfer-encoding" in headers or not length.isdigit() or len(length) > _DIGITS:
        return None
    return int(length)


def _ungenerated(stream: object) -> Any:
    """Return a body that no generator gives: a cancelled write leaves one half finished.

    httpx has one also for a request without a body. Bodies of ours are none.
    """
    return _Pieces(iter(stream)) if isinstance(stream, httpx.ByteStream) else stream


class _Pieces:
    """The pieces of one body, once."""

    __slots__ = ("_left",)

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._left = pieces

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        piece = next(self._left, None)
        if piece is None:
            raise StopAsyncIteration
        return piece


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
