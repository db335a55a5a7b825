"""An agent that completes every task in its first reply, as cheaply as HTTP/1.1 allows.

Run as a program it prints its URL and serves on loopback until its standard input ends. It speaks
A2A 1.0 over JSON-RPC on connections that are kept, and checks what it is sent: a benchmark of wrong
requests would measure nothing.
"""

from __future__ import annotations

import asyncio  # noqa: TID251 - a server of its own, without the package
import json
import sys
from typing import Final

HOST: Final = "127.0.0.1"
_END_OF_HEAD: Final = b"\r\n\r\n"


def reply_to(body: bytes) -> bytes:
    """Answer a `SendMessage` with its completed task. Raises ValueError for anything else."""
    request = json.loads(body)
    if request["jsonrpc"] != "2.0" or request["method"] != "SendMessage":
        raise ValueError(f"no SendMessage of 1.0: {body!r:.200}")
    message = request["params"]["message"]
    task = {
        "id": f"task-of-{message['messageId']}",
        "contextId": message.get("contextId", "a-context-of-ours"),
        "status": {"state": "TASK_STATE_COMPLETED", "timestamp": "2026-11-30T12:00:00.000Z"},
        "artifacts": [
            {"artifactId": "the-answer", "name": "answer", "parts": [{"text": "It is done."}]}
        ],
        "history": [message],
    }
    result = {"jsonrpc": "2.0", "id": request["id"], "result": {"task": task}}
    return json.dumps(result, separators=(",", ":")).encode()


def card_of(host: str) -> bytes:
    """Write the card of the agent that is asked at this host and port."""
    interface = {
        "url": f"http://{host}/rpc",
        "protocolBinding": "JSONRPC",
        "protocolVersion": "1.0",
    }
    card = {
        "name": "completing agent",
        "description": "Completes every task at once.",
        "version": "1.0.0",
        "supportedInterfaces": [interface],
        "capabilities": {},
        "defaultInputModes": ["text/plain"],
        "defaultOutputModes": ["text/plain"],
        "skills": [],
    }
    return json.dumps(card).encode()


class Connection(asyncio.Protocol):
    """One kept connection: requests in, replies out, in order."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        if not isinstance(transport, asyncio.Transport):
            raise TypeError("a connection that cannot be written to")
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Answer every request that is complete."""
        self._received += data
        while self._transport is not None and (body := self._next_reply()) is not None:
            head = (
                "HTTP/1.1 200 OK\r\n"
                "content-type: application/json\r\n"
                f"content-length: {len(body)}\r\n\r\n"
            )
            self._transport.write(head.encode("ascii") + body)

    def _next_reply(self) -> bytes | None:
        """Take the first request, once all of it has come, and answer it."""
        head, end, rest = self._received.partition(_END_OF_HEAD)
        if not end:
            return None
        first, *lines = head.lower().split(b"\r\n")
        fields = {name: value.strip() for name, _, value in (one.partition(b":") for one in lines)}
        length = int(fields.get(b"content-length", b"0"))
        if len(rest) < length:
            return None
        self._received = rest[length:]
        if first.startswith(b"get "):
            return card_of(fields[b"host"].decode("ascii"))
        return reply_to(rest[:length])


async def serve() -> None:
    """Serve until standard input ends."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Connection, HOST, 0)
    async with server:
        print(f"http://{HOST}:{server.sockets[0].getsockname()[1]}", flush=True)
        await loop.run_in_executor(None, sys.stdin.buffer.read)


if __name__ == "__main__":
    asyncio.run(serve())
