"""The httpx transport of a scripted peer: it stands where the network would be.

A client meets the peer only through what httpx shows of a network: the body that is pulled from
it, the exceptions of httpx, and the reply as it streams in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio.lowlevel
import httpx

from a2a_delegate.testing.exchange import Exchange
from a2a_delegate.testing.truth import Entry, headers_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from a2a_delegate.testing.exchange import Backstage, Reply

_CHUNK = 65_536
_BODILESS = frozenset({204, 304})


class ScriptedTransport(httpx.AsyncBaseTransport):
    """A way to one scripted peer and to nobody else. Made by `ScriptedPeer.transport`.

    A peer may have many. Closing one closes nothing of the peer's.
    """

    def __init__(self, backstage: Backstage) -> None:
        self._backstage = backstage

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
        backstage.ledger.append(entry)
        try:
            await anyio.lowlevel.checkpoint()
            reply = await Exchange(backstage, request, entry).play()
        except BaseException:
            entry.open = False
            raise
        headers = httpx.Headers(dict(reply.headers))
        if reply.size is None and reply.status not in _BODILESS:
            headers.setdefault("content-length", str(len(reply.content)))
        return httpx.Response(
            reply.status,
            headers=headers,
            stream=_ReplyStream(reply, request, entry),
            extensions={"http_version": b"HTTP/1.1"},
            request=request,
        )


class _ReplyStream(httpx.AsyncByteStream):
    """The body of a reply as it comes in: whole, cut off, or filled up with blanks.

    No generator: a client may leave it half-way, and nobody would close that.
    """

    def __init__(self, reply: Reply, request: httpx.Request, entry: Entry) -> None:
        self._reply = reply
        self._request = request
        self._entry = entry
        self._sent = 0

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        await anyio.lowlevel.checkpoint()
        reply = self._reply
        whole = len(reply.content)
        end = whole if reply.cut_at is None else min(whole, reply.cut_at)
        if self._sent < end:
            piece = reply.content[self._sent : min(end, self._sent + _CHUNK)]
        elif end < whole:
            raise reply.loss.error(self._request)
        elif reply.size is not None and self._sent < reply.size:
            piece = b" " * min(_CHUNK, reply.size - self._sent)
        else:
            raise StopAsyncIteration
        self._sent += len(piece)
        return piece

    async def aclose(self) -> None:
        self._entry.open = False
