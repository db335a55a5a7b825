"""A scripted peer on a real port of this machine, for commands that run in processes of their own.

One thread, one event loop, one request a connection: as little HTTP as a client needs.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from typing import TYPE_CHECKING, Self, TypeVar

import httpx

from a2a_delegate.testing import GroundTruth, ScriptedPeer

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from types import TracebackType

T = TypeVar("T")

PATIENCE = 10.0
"""Seconds that a test waits for the peer at most."""


class PeerOnAPort:
    """A ScriptedPeer of these versions that is reached over TCP.

    What the peer is told and asked goes through `do`, because it belongs to its event loop.
    """

    def __init__(self, *versions: str) -> None:
        self._versions = versions or ("1.0",)
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._ready.wait(PATIENCE), "the peer did not come up"
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive(), "the peer did not go down"

    def do(self, action: Callable[[ScriptedPeer], T]) -> T:
        """Do something with the peer on its own loop, and return what it returns."""

        async def act() -> T:
            return action(self._peer)

        return self._from_outside(act())

    def wait_until(self, is_true: Callable[[GroundTruth], bool]) -> None:
        """Wait until something is true of the ground truth; looked at after each request."""

        async def watch() -> None:
            async with self._changed:
                await asyncio.wait_for(
                    self._changed.wait_for(lambda: is_true(self._peer.truth)), PATIENCE
                )

        self._from_outside(watch())

    def _from_outside(self, work: Awaitable[T]) -> T:
        async def awaited() -> T:
            return await work

        return asyncio.run_coroutine_threadsafe(awaited(), self._loop).result(2 * PATIENCE)

    async def _run(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        self._changed = asyncio.Condition()
        self._connections: set[asyncio.Task[None]] = set()
        server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        self.origin = f"http://127.0.0.1:{port}"
        self._peer = ScriptedPeer(self._versions, url=f"{self.origin}/rpc")
        self._transport = self._peer.transport()
        self._ready.set()
        await self._stop.wait()
        server.close()
        self._peer.release()
        for connection in tuple(self._connections):
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            request = await self._read(reader)
            reply = await self._answer(request, reader)
            if reply is None:
                writer.transport.abort()
                return
            writer.write(reply)
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            # The client is gone: nobody is left to be answered.
            pass
        finally:
            self._connections.discard(task)
            writer.close()
            await self._tell()

    async def _read(self, reader: asyncio.StreamReader) -> httpx.Request:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = head.strip().split("\r\n")
        method, target, _ = first.split(" ")
        headers = [
            (name, value.strip()) for name, _, value in (one.partition(":") for one in lines)
        ]
        length = next(
            (int(value) for name, value in headers if name.lower() == "content-length"), 0
        )
        body = await reader.readexactly(length)
        return httpx.Request(method, f"{self.origin}{target}", headers=headers, content=body)

    async def _answer(self, request: httpx.Request, reader: asyncio.StreamReader) -> bytes | None:
        """Return the reply's bytes; None where the connection is lost, by either side."""
        answering = asyncio.ensure_future(self._reply(request))
        leaving = asyncio.ensure_future(reader.read(1))
        await asyncio.sleep(0)  # let the request arrive
        await self._tell()
        try:
            await asyncio.wait({answering, leaving}, return_when=asyncio.FIRST_COMPLETED)
            return answering.result() if answering.done() else None
        finally:
            for task in (answering, leaving):
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task

    async def _reply(self, request: httpx.Request) -> bytes | None:
        try:
            response = await self._transport.handle_async_request(request)
            body = await response.aread()
            await response.aclose()
        except httpx.TransportError:
            return None
        head = [f"HTTP/1.1 {response.status_code} {response.reason_phrase}", "connection: close"]
        head += [f"{name}: {value}" for name, value in response.headers.items()]
        return "\r\n".join([*head, "", ""]).encode("latin-1") + body

    async def _tell(self) -> None:
        async with self._changed:
            self._changed.notify_all()


def _header(line: str) -> tuple[str, str]:
    name, _, value = line.partition(":")
    return name, value.strip()
