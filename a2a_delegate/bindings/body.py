"""Request bodies that are watched as they leave, and that can leave again.

The proof that a peer never began is that no byte of the body was ever handed to the transport.
httpx has two ways to get at a body: the stream, and the content that it keeps beside it where it
knows the bytes. Some transports take one, some the other, so both are watched.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx

from a2a_delegate.bindings.reading import bounded

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator

    from a2a_delegate.bindings.exchange import Exchange


class WatchedBody(httpx.AsyncByteStream):
    """A body of known length that tells its exchange before its first byte is handed over.

    Each iteration starts anew: an authentication that sends the request twice sends it whole.
    """

    __slots__ = ("_content", "_exchange")

    def __init__(self, content: bytes, exchange: Exchange) -> None:
        self._content = content
        self._exchange = exchange

    def __aiter__(self) -> AsyncIterator[bytes]:
        """Start at the beginning."""
        return _Whole(self._content, self._exchange)


class _Whole:
    """One iteration, in one piece: no generator, which a transport may leave half finished."""

    __slots__ = ("_content", "_exchange", "_given")

    def __init__(self, content: bytes, exchange: Exchange) -> None:
        self._content = content
        self._exchange = exchange
        self._given = False

    def __aiter__(self) -> _Whole:
        return self

    async def __anext__(self) -> bytes:
        if self._given:
            raise StopAsyncIteration
        self._given = True
        self._exchange.leave()
        return self._content


class WatchedRequest(httpx.Request):
    """A request with a watched stream, whose content can be read as well.

    Hooks of a client read the content to log or sign it, and some transports send it in place of
    the stream. Nobody can tell the two apart, so reading it counts as its leaving: the claim that
    nothing left must never be false, and may be missed.
    """

    def __init__(self, request: httpx.Request, content: bytes, exchange: Exchange) -> None:
        super().__init__(
            request.method,
            request.url,
            headers=request.headers,
            stream=WatchedBody(content, exchange),
            extensions=request.extensions,
        )
        self._watched = content
        self._exchange = exchange

    @property
    def content(self) -> bytes:
        """The body, as somebody takes it."""
        self._exchange.leave()
        return self._watched

    def read(self) -> bytes:
        """Return the body. The stream stays the watched one."""
        return self.content

    async def aread(self) -> bytes:
        """Return the body. The stream stays the watched one."""
        return self.content


class WatchedAuth(httpx.Auth):
    """An authentication of the caller's, at work on a request whose body is watched.

    `auth` sees a plain request, as httpx would give it: it may read and sign the body, and that is
    not the body's leaving. What it yields goes out watched. A reply that it may read, to meet a
    challenge, is bounded by `limit` as every reply is. Requests of its own, to a token endpoint,
    go as they are. `content` None is a request without a body.
    """

    def __init__(
        self, auth: httpx.Auth, content: bytes | None, exchange: Exchange, *, limit: int
    ) -> None:
        self._auth = auth
        self._content = content
        self._exchange = exchange
        self._limit = limit

    async def async_auth_flow(
        self, request: httpx.Request
    ) -> AsyncGenerator[httpx.Request, httpx.Response]:
        """Run the authentication's own flow between the client and its transport."""
        plain = request if self._content is None else self._readable(request, self._content)
        flow = self._auth.async_auth_flow(plain)
        try:
            asked = await anext(flow)
            while True:
                if self._is_ours(asked, plain):
                    response = yield self._watched(asked)
                    self._exchange.http_status = response.status_code
                    bounded(response, self._limit)
                else:
                    response = yield asked
                asked = await flow.asend(response)
        except StopAsyncIteration:
            return
        finally:
            await flow.aclose()

    @staticmethod
    def _readable(request: httpx.Request, content: bytes) -> httpx.Request:
        return httpx.Request(
            request.method,
            request.url,
            headers=request.headers,
            content=content,
            extensions=request.extensions,
        )

    def _watched(self, asked: httpx.Request) -> httpx.Request:
        if self._content is None:
            return asked
        return WatchedRequest(asked, self._content, self._exchange)

    def _is_ours(self, asked: httpx.Request, plain: httpx.Request) -> bool:
        if asked is plain:
            return True
        if self._content is None:
            return False
        try:
            # A copy that the authentication made of our request is our request.
            return asked.content == self._content
        except httpx.RequestNotRead:
            # A stream that it made itself: nobody can say whose bytes it holds.
            self._exchange.leave()
            return False
