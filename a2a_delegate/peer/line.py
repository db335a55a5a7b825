"""The bytes of one connection: anyio's streams, on either loop, in the shape that httpcore wants.

httpcore has streams of its own, which guard every read and write by a timer. Here time belongs to
whoever cancels the call; without the timers, and with the head of a request and its body in one
write, a small request costs a quarter less.
"""

from __future__ import annotations

import contextlib
import select
import ssl
import sys
from typing import TYPE_CHECKING

import anyio
import httpcore
from anyio.abc import SocketAttribute
from anyio.streams.tls import TLSStream

if TYPE_CHECKING:
    from collections.abc import Iterable
    from socket import socket

    from anyio.abc import ByteStream

_ONE_WRITE_BYTES = 64 * 1024
"""Up to this size the head of a request and its body go out together."""

_EARLY_READ_BYTES = 64 * 1024
_EARLY_READS = 16
"""How much is taken of what a peer says before all of a request is out: a refusal is short."""

_HEAD_END = b"\r\n\r\n"
_BROKEN = (anyio.BrokenResourceError, anyio.ClosedResourceError, ssl.SSLError)


class Meter:
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


class LineBackend(httpcore.AsyncNetworkBackend):
    """Connects over TCP; what comes goes past the meter."""

    def __init__(self, meter: Meter) -> None:
        self._meter = meter

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - httpcore's signature
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Connect within `timeout` seconds; no address and no options are ever asked for."""
        del local_address, socket_options
        try:
            with anyio.fail_after(timeout):
                stream = await anyio.connect_tcp(host, port)
        except TimeoutError as problem:
            raise httpcore.ConnectTimeout(str(problem)) from problem
        except (OSError, anyio.BrokenResourceError) as problem:
            raise httpcore.ConnectError(str(problem)) from problem
        return _Line(stream, self._meter)


class _Line(httpcore.AsyncNetworkStream):
    """One connection. httpcore writes the head, the pieces of the body, and nothing at its end."""

    def __init__(self, stream: ByteStream, meter: Meter) -> None:
        self._stream = stream
        self._socket: socket = stream.extra(SocketAttribute.raw_socket)  # noqa: S610 - no Django
        self._meter = meter
        self._held: list[bytes] = []
        self._size = 0
        self._early: list[bytes] = []

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109 - as above
        """Keep what is small until the end of the request."""
        del timeout
        if buffer:
            self._held.append(buffer)
            self._size += len(buffer)
        if not buffer or self._size > _ONE_WRITE_BYTES:
            await self._send()

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109 - as above
        """Read, once everything has been written; nothing at the end."""
        del timeout
        if self._held:
            await self._send()
        try:
            data = self._early.pop(0) if self._early else await self._stream.receive(max_bytes)
        except anyio.EndOfStream:
            return b""
        except _BROKEN as problem:
            raise httpcore.ReadError(str(problem)) from problem
        self._meter.take(data)
        return data

    async def _send(self) -> None:
        held, size = self._held, self._size
        self._held, self._size = [], 0
        try:
            if size > _ONE_WRITE_BYTES:
                await self._send_at_length(held)
            else:
                await self._stream.send(b"".join(held))
        except _BROKEN as problem:
            raise httpcore.WriteError(str(problem)) from problem

    async def _send_at_length(self, pieces: Iterable[bytes]) -> None:
        """Send what may take its time, and listen meanwhile (RFC 9112 section 9.5).

        A peer may refuse a request before all of it is there, and close. asyncio then drops what
        nobody has read, and with it the proof that nothing began.
        """
        broken: Exception | None = None
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._listen)
            try:
                for piece in pieces:
                    await self._stream.send(piece)
            except _BROKEN as problem:
                broken = problem
            tasks.cancel_scope.cancel()
        if broken is not None:
            raise broken

    async def _listen(self) -> None:
        with contextlib.suppress(anyio.EndOfStream, *_BROKEN):
            while len(self._early) < _EARLY_READS:
                self._early.append(await self._stream.receive(_EARLY_READ_BYTES))

    async def aclose(self) -> None:
        """Close it."""
        await self._stream.aclose()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109 - as above
    ) -> httpcore.AsyncNetworkStream:
        """Speak TLS from now on, within `timeout` seconds of shaking hands, or close."""
        try:
            with anyio.fail_after(timeout):
                stream = await TLSStream.wrap(
                    self._stream,
                    server_side=False,
                    hostname=server_hostname,
                    ssl_context=ssl_context,
                    # A farewell that is missing says nothing that HTTP's own lengths do not say.
                    standard_compatible=False,
                )
        except BaseException as problem:
            await anyio.aclose_forcefully(self._stream)
            if isinstance(problem, TimeoutError):
                raise httpcore.ConnectTimeout(str(problem)) from problem
            if isinstance(problem, (anyio.EndOfStream, OSError, *_BROKEN)):
                raise httpcore.ConnectError(str(problem)) from problem
            raise
        return _Line(stream, self._meter)

    def get_extra_info(self, info: str) -> object:
        """Tell whether there is something to read, such as a farewell; no more is asked."""
        if info != "is_readable":
            return None
        return bool(self._early) or _is_readable(self._socket)


def _is_readable(connection: socket) -> bool:
    file = connection.fileno()
    if file < 0:
        return True
    if sys.platform == "win32":
        return bool(select.select([file], [], [], 0)[0])
    poll = select.poll()
    poll.register(file, select.POLLIN)
    return bool(poll.poll(0))
