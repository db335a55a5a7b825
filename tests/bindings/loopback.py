"""A peer at the other end of a real socket, that says exactly the bytes it is told to."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import anyio
import anyio.abc

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable


@dataclass
class Heard:
    """One request, as it came."""

    head: bytes
    body: bytes = b""

    def header(self, name: str) -> str | None:
        for line in self.head.split(b"\r\n")[1:]:
            key, _, value = line.partition(b":")
            if key.decode().lower() == name.lower():
                return value.decode().strip()
        return None


class Line:
    """One connection, seen from the peer."""

    def __init__(self, stream: anyio.abc.SocketStream, number: int) -> None:
        self._stream = stream
        self._buffer = b""
        self.number = number
        self.heard: list[Heard] = []

    async def hear(self) -> Heard:
        """Read one whole request. Raises EndOfStream when the client hangs up."""
        head = await self.hear_head()
        length = int(head.header("content-length") or 0)
        while len(self._buffer) < length:
            self._buffer += await self._stream.receive()
        head.body, self._buffer = self._buffer[:length], self._buffer[length:]
        return head

    async def hear_head(self) -> Heard:
        while b"\r\n\r\n" not in self._buffer:
            self._buffer += await self._stream.receive()
        head, _, self._buffer = self._buffer.partition(b"\r\n\r\n")
        heard = Heard(head)
        self.heard.append(heard)
        return heard

    async def say(self, content: bytes) -> None:
        await self._stream.send(content)

    async def closed_by_client(self) -> bool:
        """Wait until the client hangs up."""
        try:
            while True:
                await self._stream.receive()
        except (anyio.EndOfStream, anyio.BrokenResourceError):
            return True


def reply(
    body: bytes, *, status: str = "200 OK", length: int | None = None, headers: str = ""
) -> bytes:
    """Spell a reply; `length` announces another length than it has."""
    announced = len(body) if length is None else length
    return f"HTTP/1.1 {status}\r\nContent-Length: {announced}\r\n{headers}\r\n".encode() + body


@dataclass
class Loopback:
    """Where the peer listens, and every connection that it had."""

    port: int
    lines: list[Line] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/rpc"

    @property
    def heard(self) -> list[Heard]:
        return [heard for line in self.lines for heard in line.heard]


@contextlib.asynccontextmanager
async def peer(talk: Callable[[Line], Awaitable[object]]) -> AsyncIterator[Loopback]:
    """Listen on a free port of this machine, and let `talk` hold every connection.

    A connection ends when `talk` returns or when the client hangs up.
    """
    async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener:
        port = listener.extra_attributes[anyio.abc.SocketAttribute.local_port]()
        loopback = Loopback(port)

        async def hold(stream: anyio.abc.SocketStream) -> None:
            line = Line(stream, len(loopback.lines))
            loopback.lines.append(line)
            async with stream:
                with contextlib.suppress(anyio.EndOfStream, anyio.BrokenResourceError):
                    await talk(line)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(listener.serve, hold)
            try:
                yield loopback
            finally:
                tasks.cancel_scope.cancel()


async def closed_port() -> int:
    """Return a port of this machine that nobody listens at."""
    async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener:
        port: int = listener.extra_attributes[anyio.abc.SocketAttribute.local_port]()
        return port
