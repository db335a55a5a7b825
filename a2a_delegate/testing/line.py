"""A TCP connection of which every byte is chosen, and how it ends."""

from __future__ import annotations

import contextlib
import socket
import struct
import sys
from typing import Final

import anyio
import anyio.abc
import anyio.lowlevel

MOST: Final = 65_536
"""Bytes that are taken off the wire at once, at most."""

# Two numbers, on and 0 seconds, in the shape of the system's `struct linger`.
_NO_LINGER: Final = struct.pack("hh" if sys.platform == "win32" else "ii", 1, 0)


class Line(anyio.abc.ByteStream):
    """One accepted connection, as a stream of bytes.

    The streams of anyio end a connection in order, whatever comes next; here it can also be reset.
    Whoever takes from it, or gives to it, is one task at a time.
    """

    def __init__(self, accepted: socket.socket) -> None:
        self._socket = accepted
        accepted.setblocking(False)  # noqa: FBT003 - it takes no keyword
        # Each piece goes out at once, and not when there is more of it.
        with contextlib.suppress(OSError):
            accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    async def receive(self, max_bytes: int = MOST) -> bytes:
        """Return what has come.

        Raises EndOfStream after the last of it, and BrokenResourceError after a reset.
        """
        await anyio.lowlevel.checkpoint()
        while True:
            try:
                came = self._socket.recv(max_bytes)
            except BlockingIOError:
                await anyio.wait_readable(self._socket)
            except OSError as problem:
                raise anyio.BrokenResourceError from problem
            else:
                if came:
                    return came
                raise anyio.EndOfStream

    async def send(self, item: bytes) -> None:
        """Hand all of it to the operating system. Raises BrokenResourceError."""
        await anyio.lowlevel.checkpoint()
        left = memoryview(item)
        while left:
            try:
                left = left[self._socket.send(left) :]
            except BlockingIOError:
                await anyio.wait_writable(self._socket)
            except OSError as problem:
                raise anyio.BrokenResourceError from problem

    async def send_eof(self) -> None:
        """Say that nothing more will be sent, and go on receiving."""
        await anyio.lowlevel.checkpoint()
        with contextlib.suppress(OSError):  # the client has left, and needs to be told nothing
            self._socket.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        """End it: in order where everything that came was taken (FIN)."""
        self._socket.close()

    def reset(self) -> None:
        """End it by RST; what the client has not got by now is lost."""
        with contextlib.suppress(OSError):
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
        self._socket.close()

    async def aclose(self) -> None:
        """End it, as `close` does."""
        self.close()
