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
    """The body of a reply as it comes in: whole, cut off, or filled up with blanks."""

    def __init__(self, reply: Reply, request: httpx.Request, entry: Entry) -> None:
        self._reply = reply
        self._request = request
        self._entry = entry

    async def __aiter__(self) -> AsyncIterator[bytes]:
        reply = self._reply
        content = reply.content[: reply.cut_at]
        for start in range(0, len(content), _CHUNK):
            await anyio.lowlevel.checkpoint()
            yield content[start : start + _CHUNK]
        if reply.cut_at is not None and reply.cut_at < len(reply.content):
            raise reply.loss.error(self._request)
        blanks = 0 if reply.size is None else reply.size - len(content)
        while blanks > 0:
            await anyio.lowlevel.checkpoint()
            yield b" " * min(blanks, _CHUNK)
            blanks -= _CHUNK

    async def aclose(self) -> None:
        self._entry.open = False
