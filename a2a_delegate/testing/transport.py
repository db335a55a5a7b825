"""The httpx transport of a scripted peer: it stands where the network would be.

A client meets the peer only through what httpx shows of a network: the body that is pulled from
it, the exceptions of httpx, and the reply as it streams in.
"""

from __future__ import annotations

import contextlib
import math
from typing import TYPE_CHECKING

import anyio.lowlevel
import httpx

from a2a_delegate.errors import UsageError
from a2a_delegate.testing.acts import Loss
from a2a_delegate.testing.behaviours import Dribble, layer
from a2a_delegate.testing.exchange import OPERATION_EXTENSION, Exchange
from a2a_delegate.testing.reply import BODILESS, Reply, in_pieces
from a2a_delegate.testing.streams import Pause
from a2a_delegate.testing.truth import Entry, StreamEnd, headers_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

    from a2a_delegate.testing.backstage import Backstage


class ScriptedTransport(httpx.AsyncBaseTransport):
    """A way to one scripted peer and to nobody else. Made by `ScriptedPeer.transport`.

    A peer may have many. Closing one closes nothing of the peer's.
    """

    def __init__(self, backstage: Backstage, url: httpx.URL) -> None:
        self._backstage = backstage
        self._url = url

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Answer one request as the script says. Raises httpx's own exceptions, as a network does.

        Raises UsageError where the script asks what cannot be done with this request.
        """
        backstage = self._backstage
        entry = Entry(
            request.method,
            str(request.url),
            headers_of(request.headers),
            backstage.clock.now(),
        )
        backstage.enter(entry)
        exchange = Exchange(backstage, _HttpxArrival(request, str(self._url)), entry)
        try:
            played = await self._played(exchange, request)
        except BaseException:
            backstage.end(entry)
            raise
        headers = httpx.Headers(dict(played.headers))
        if played.length is not None and played.status not in BODILESS:
            headers.setdefault("content-length", str(played.length))
        dribble = layer(exchange.behaviour, Dribble)
        return httpx.Response(
            played.status,
            headers=headers,
            stream=_ReplyStream(played, request, dribble, lambda: backstage.end(entry)),
            extensions={"http_version": b"HTTP/1.1"},
            request=request,
        )

    async def _played(self, exchange: Exchange, request: httpx.Request) -> Reply:
        await anyio.lowlevel.checkpoint()
        own = self._url
        if (request.url.scheme, request.url.netloc) != (own.scheme, own.netloc):
            raise httpx.ConnectError("All connection attempts failed", request=request)
        exchange.arrive()
        played = await exchange.play()
        if not isinstance(played, Reply):
            raise played.error(request)
        return played


class _HttpxArrival:
    """A request as httpx hands it to a transport."""

    on_a_port = False
    is_whole = True

    def __init__(self, request: httpx.Request, endpoint: str) -> None:
        self._request = request
        self.method = request.method
        self.target = request.url.raw_path.decode("ascii")
        self.endpoint = endpoint

    @property
    def headers(self) -> Mapping[str, str]:
        return self._request.headers

    def foretold(self) -> str | None:
        named = self._request.extensions.get(OPERATION_EXTENSION)
        return named if isinstance(named, str) else None

    def content(self) -> bytes | None:
        """Return the bytes that it was built from, where httpx has kept them beside its stream.

        A subclass may watch who takes its content, so it is not asked.
        """
        if type(self._request) is httpx.Request:
            with contextlib.suppress(httpx.RequestNotRead):
                return self._request.content
        return None

    def chunks(self) -> AsyncIterator[bytes]:
        stream = self._request.stream
        if not isinstance(stream, httpx.AsyncByteStream):
            raise UsageError("a scripted peer is for asynchronous clients: use httpx.AsyncClient")
        return aiter(stream)

    def patience(self, phase: str) -> float:
        return _patience(self._request, phase)


def _patience(request: httpx.Request, phase: str) -> float:
    limit = request.extensions.get("timeout", {}).get(phase)
    return math.inf if limit is None else float(limit)


class _ReplyStream(httpx.AsyncByteStream):
    """The body of a reply as it comes in: whole, cut off, in pieces, or filled up with blanks.

    No generator: a client may leave it half-way, and nobody would close that.
    """

    def __init__(
        self,
        reply: Reply,
        request: httpx.Request,
        dribble: Dribble | None,
        end: Callable[[], None],
    ) -> None:
        self._reply = reply
        self._request = request
        self._dribble = dribble
        self._end = end
        self._pieces = in_pieces(reply.pieces(), None if dribble is None else dribble.size)
        self._begun = False

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        await anyio.lowlevel.checkpoint()
        if self._begun and self._dribble is not None:
            await anyio.sleep(self._dribble.every)
        self._begun = True
        with anyio.move_on_after(_patience(self._request, "read")):
            piece = await self._next()
            if piece is not None:
                return piece
            if self._reply.stream is not None:
                self._reply.stream.closed(StreamEnd.PEER)
            if self._reply.is_cut:
                raise self._reply.loss.error(self._request)
            raise StopAsyncIteration
        raise Loss.READ_TIMEOUT.error(self._request)

    async def _next(self) -> bytes | None:
        """Wait for the next piece of the body; None is its end."""
        while isinstance(piece := next(self._pieces, None), Pause):
            await piece.over()
        return piece

    async def aclose(self) -> None:
        if self._reply.stream is not None:
            self._reply.stream.closed(StreamEnd.CLIENT)
        self._end()
