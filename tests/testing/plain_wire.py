"""A client that speaks bytes: what it sends is what it was given, what it returns is what came."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import anyio
import anyio.abc
import httpx

from tests.testing.speaking import METHODS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from a2a_delegate.testing import ScriptedPeer

PATIENCE = 5.0
"""Seconds that anything here may take at most."""


@dataclass
class Wire:
    """One connection to a peer."""

    stream: anyio.abc.ByteStream
    came: bytes = b""

    async def say(self, content: bytes) -> None:
        await self.stream.send(content)

    async def hear_until(self, mark: bytes) -> bytes:
        """Return what came up to this mark, and it."""
        while mark not in self.came:
            self.came += await self.stream.receive()
        before, _, self.came = self.came.partition(mark)
        return before + mark

    async def hear_reply(self) -> bytes:
        """Return one reply of known length."""
        head = await self.hear_until(b"\r\n\r\n")
        length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        while len(self.came) < length:
            self.came += await self.stream.receive()
        body, self.came = self.came[:length], self.came[length:]
        return head + body

    async def hear_the_end(self) -> tuple[bytes, str]:
        """Return all that comes, and how it ends: `fin` or `rst`."""
        ending = "fin"
        try:
            while True:
                self.came += await self.stream.receive()
        except anyio.EndOfStream:
            pass
        except anyio.BrokenResourceError:
            ending = "rst"
        came, self.came = self.came, b""
        return came, ending


async def open_wire(url: str) -> Wire:
    """Open a connection; its stream is the caller's to close."""
    parsed = httpx.URL(url)
    return Wire(await anyio.connect_tcp(parsed.host, parsed.port or 0))


@asynccontextmanager
async def wire_to(url: str) -> AsyncIterator[Wire]:
    """Open a connection, for a bounded time."""
    with anyio.fail_after(PATIENCE):
        wire = await open_wire(url)
        async with wire.stream:
            yield wire


async def until(is_true: Callable[[], bool]) -> None:
    """Wait until something is true, bounded."""
    with anyio.fail_after(PATIENCE):
        while not is_true():  # noqa: ASYNC110 - the truth is a snapshot, and has no event
            await anyio.sleep(0.001)


async def until_come(peer: ScriptedPeer, number: int) -> None:
    """Wait until the peer has had so many requests."""
    await until(lambda: len(peer.truth.requests) == number)


def request(
    operation: str, params: object = None, *, version: str = "1.0", headers: str = ""
) -> bytes:
    """Spell a request: the card, or a call."""
    if operation == "card":
        return f"GET /.well-known/agent-card.json HTTP/1.1\r\nHost: x\r\n{headers}\r\n".encode()
    call = {"jsonrpc": "2.0", "id": 1, "method": METHODS[version][operation]}
    body = json.dumps({**call, "params": params or {}}).encode()
    head = (
        "POST /rpc HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        f"A2A-Version: {version}\r\nContent-Length: {len(body)}\r\n{headers}\r\n"
    )
    return head.encode() + body


def send_of(text: str, message_id: str = "m") -> dict[str, object]:
    """Make the parameters of a send of 1.0."""
    return {"message": {"messageId": message_id, "role": "ROLE_USER", "parts": [{"text": text}]}}
