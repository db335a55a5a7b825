"""The body of a reply, read within bounds.

A peer may send any number of bytes, in pieces of one byte. What is kept stays below the limit,
whatever comes. Nothing is decoded: nobody asked for an encoding, and a few bytes that unfold to
millions save nothing that is worth it.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, cast

import anyio
import httpx

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from a2a_delegate.bindings.exchange import Exchange
    from a2a_delegate.wire.cut_reply import TaskIdScan

EVENT_STREAM = "text/event-stream"

_CLOSING_SECONDS = 1.0
"""How long a connection that is given up may take to close."""

_IN_A_ROW = 64
"""Pieces that are read before the event loop has its turn: one read of the network can hold ten
thousand, and all of them come without waiting."""

_LEFTOVERS = 20_000
"""Pieces that may be taken off a stream that is being given up: what one read can hold."""


_UNBOUNDED = contextlib.nullcontext()


class UnreadableBodyError(Exception):
    """The body is none that is read here: too large, or in an encoding that nobody asked for."""


class SilentStreamError(Exception):
    """A stream showed no sign of life for too long."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"no byte came for {seconds:g} s")


class Received:
    """The bytes of one reply, as they come.

    `scan` is fed the pieces of an incomplete body and finds the id of a task; None where no id
    matters. The exchange is told of it once, as soon as it is known.
    """

    __slots__ = ("_buffer", "_exchange", "_scan", "limit", "task_id")

    def __init__(self, exchange: Exchange, *, limit: int, scan: TaskIdScan | None = None) -> None:
        self._exchange = exchange
        self._scan = scan
        self._buffer: bytes | bytearray = b""
        self.limit = limit
        self.task_id: str | None = None

    def add(self, chunk: bytes, *, complete: bool = False) -> None:
        """Take one more piece; `complete` if it is known to be the last.

        Raises UnreadableBodyError when it is too much.
        """
        room = self.limit - len(self._buffer)
        kept = chunk if len(chunk) <= room else chunk[:room]
        if not self._buffer:
            self._buffer = kept
        else:
            if isinstance(self._buffer, bytes):
                self._buffer = bytearray(self._buffer)
            self._buffer += kept
        self._exchange.see(kept)
        if self._scan is not None and self.task_id is None and not complete:
            self._show(self._scan.feed(kept))
        if len(chunk) > room:
            raise UnreadableBodyError(f"it is larger than {self.limit} bytes")

    def size_with(self, chunk: bytes) -> int:
        """Return how many bytes there will be with one more piece."""
        return len(self._buffer) + len(chunk)

    def whole(self) -> bytes:
        """Return the body, which has come to its end."""
        return bytes(self._buffer)

    def cut(self) -> None:
        """Take that no more will come, and keep nothing but the id that has been shown.

        The bytes go: the traceback of what ended the reply would keep them.
        """
        self._buffer = b""
        if self._scan is not None and self.task_id is None:
            self._show(self._scan.task_id)

    def _show(self, task_id: str | None) -> None:
        if task_id is not None:
            self.task_id = task_id
            self._exchange.on_id(task_id)


async def read_body(
    response: httpx.Response, received: Received, *, idle_seconds: float = math.inf
) -> None:
    """Read a reply's body into `received`; at its end the connection is free again.

    Raises UnreadableBodyError when it is no body to be read, SilentStreamError when no byte comes
    for `idle_seconds`, and whatever the transport raises when it is cut. The response is to be
    given up then.
    """
    if response.is_stream_consumed:
        # A hook of the caller's client, or a transport without a network, has read it already.
        received.add(response.content, complete=True)
        _refuse(_encoding_of(response))
        return
    encoding = _encoding_of(response)
    announced = response.headers.get("content-length", "")
    # No id is searched in what is complete: the reply itself shows it. Longer than a number of
    # 64 bits, a length is nonsense.
    length = int(announced) if announced.isdecimal() and len(announced) < 20 else -1  # noqa: PLR2004
    # The stream itself: of the generators that httpx has for it, each is one more to end early.
    chunks = aiter(_stream_of(response))
    pieces = 0
    # Most replies may take their time, and a scope would cost them a hundredth of a request.
    is_bounded = idle_seconds < math.inf
    with anyio.move_on_after(idle_seconds) if is_bounded else _UNBOUNDED as silence:
        try:
            async for chunk in chunks:
                received.add(chunk, complete=received.size_with(chunk) == length)
                pieces += 1
                if not pieces % _IN_A_ROW:
                    # A cancellation waits for the stream's own next wait, which ends its
                    # generators.
                    await anyio.lowlevel.cancel_shielded_checkpoint()
                if silence is not None:
                    silence.deadline = anyio.current_time() + idle_seconds
        except UnreadableBodyError:
            await _let_go(chunks)
            raise
    if silence is not None and silence.cancelled_caught:
        raise SilentStreamError(idle_seconds)
    await response.aclose()
    _refuse(encoding)


def is_event_stream(response: httpx.Response) -> bool:
    """Whether a reply is a successful stream of events (HTML standard, section 9.2)."""
    if not response.is_success:
        return False
    said: str = response.headers.get("content-type", "")
    return said.partition(";")[0].strip().lower() == EVENT_STREAM


async def read_stream(
    response: httpx.Response,
    take: Callable[[bytes], Awaitable[bool]],
    exchange: Exchange,
    *,
    first_seconds: float,
    idle_seconds: float,
) -> None:
    """Hand on the pieces of a stream as they come, to its end or until no more is wanted.

    Any byte is a sign of life, also of a comment; while a piece is being taken the peer need give
    none. Raises SilentStreamError where none comes for `idle_seconds`, or `first_seconds` as long
    as no event has been shown, UnreadableBodyError for an
    encoding that nobody asked for, and whatever `take` or the transport raises. The response is to
    be given up then.
    """
    _refuse(_encoding_of(response))
    if response.is_stream_consumed:
        exchange.see(response.content)
        await take(response.content)
        return
    chunks = aiter(_stream_of(response))
    pieces = 0
    patience = first_seconds
    with anyio.move_on_after(None if patience == math.inf else patience) as silence:
        async for chunk in chunks:
            silence.deadline = math.inf
            exchange.see(chunk)
            pieces += 1
            if not pieces % _IN_A_ROW:
                await anyio.lowlevel.cancel_shielded_checkpoint()
            if not await _taken(take, chunk, chunks):
                break
            patience = idle_seconds if exchange.shown else first_seconds
            silence.deadline = anyio.current_time() + patience
    if silence.cancelled_caught:
        raise SilentStreamError(patience)
    await response.aclose()


async def _taken(
    take: Callable[[bytes], Awaitable[bool]], chunk: bytes, chunks: AsyncIterator[bytes]
) -> bool:
    """Hand a piece on; where no more is wanted the iteration is ended from within."""
    try:
        more = await take(chunk)
    except (UnreadableBodyError, anyio.get_cancelled_exc_class()):
        await _let_go(chunks)
        raise
    if not more:
        await _let_go(chunks)
    return more


def bounded(response: httpx.Response, limit: int) -> None:
    """Let a reply's body be read as it comes and no more than `limit` bytes of it, by anyone.

    httpx would decode it, and unfold one piece of 64 KiB to 64 MiB at once.
    """
    if response.is_stream_consumed:
        return
    encoding = _encoding_of(response)
    response.headers.pop("content-encoding", None)
    response.stream = _Bounded(_stream_of(response), limit, encoding)


def _encoding_of(response: httpx.Response) -> str:
    """Return the encoding that hides the body, empty for none (RFC 9110 section 8.4)."""
    words = response.headers.get("content-encoding", "").strip().lower()
    return "" if words == "identity" else words


def _refuse(encoding: str) -> None:
    if encoding:
        raise UnreadableBodyError(f"its encoding is {encoding!r}, and none was asked for")


def _stream_of(response: httpx.Response) -> httpx.AsyncByteStream:
    # An asynchronous client has made sure of it.
    return cast("httpx.AsyncByteStream", response.stream)


async def give_up(response: httpx.Response) -> None:
    """Close a response that is not read to its end, quietly and within a bound.

    Runs while an exception is on its way, which may be a cancellation: that one must go on.
    """
    if response.is_closed:
        return
    with (
        anyio.move_on_after(_CLOSING_SECONDS, shield=True),
        # Whatever a transport raises in closing, what was on its way says more.
        contextlib.suppress(Exception),
    ):
        await response.aclose()


async def _let_go(chunks: AsyncIterator[bytes]) -> None:
    """End an iteration early, from within.

    httpx reads through generators inside generators. Left where they stand, they end in the garbage
    collector, and trio complains. An exception from the innermost ends them all and closes the
    connection: so the next read is cancelled. A stream that never waits is not reached by that.
    """
    with anyio.CancelScope() as scope, contextlib.suppress(Exception):
        scope.cancel()
        for piece in range(_LEFTOVERS):
            await anext(chunks)
            if not piece % _IN_A_ROW:
                await anyio.lowlevel.cancel_shielded_checkpoint()
        if isinstance(chunks, AsyncGenerator):
            await chunks.aclose()


class _Bounded(httpx.AsyncByteStream):
    """The stream of one reply within a bound; like that of a network, it is read once."""

    def __init__(self, stream: httpx.AsyncByteStream, limit: int, encoding: str) -> None:
        self._stream = stream
        self._chunks = aiter(stream)
        self._limit = limit
        self._left = limit
        self._encoding = encoding

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        """Return the next piece; the stream below has ended when it raises.

        Raises UnreadableBodyError for too many bytes, and in place of the end for an encoding.
        """
        try:
            chunk = await anext(self._chunks)
        except StopAsyncIteration:
            _refuse(self._encoding)
            raise
        self._left -= len(chunk)
        if self._left < 0:
            await _let_go(self._chunks)
            raise UnreadableBodyError(f"it is larger than {self._limit} bytes")
        return chunk

    async def aclose(self) -> None:
        """Close the stream below."""
        await self._stream.aclose()
