"""An agent that does nothing for its tasks, as cheaply as HTTP/1.1 allows.

    python completing_agent.py [--latency 0] [--work 0]

Run as a program it prints its URL and serves on loopback until its standard input ends. A task is
completed in the first reply, or where there is `--work`, that many seconds later; every reply takes
`--latency` seconds. It speaks A2A 1.0 over JSON-RPC on connections that are kept, and checks what
it is sent: a benchmark of wrong requests would measure nothing.
"""

from __future__ import annotations

import argparse
import asyncio  # noqa: TID251 - a server of its own, without the package
import json
import sys
import time
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

HOST: Final = "127.0.0.1"
BACKLOG: Final = 2_048
"""Connections that may wait to be accepted: a thousand callers come at once."""
_END_OF_HEAD: Final = b"\r\n\r\n"


class Agent:
    """What the agent knows: when each task began, and how long it and its replies take."""

    def __init__(self, *, latency: float = 0.0, work: float = 0.0) -> None:
        self.latency = latency
        self._work = work
        self._tasks: dict[str, tuple[float, dict[str, object]]] = {}

    def reply_to(self, body: bytes) -> bytes:
        """Answer a `SendMessage` or a `GetTask`. Raises ValueError for anything else."""
        request = json.loads(body)
        if request["jsonrpc"] != "2.0":
            raise ValueError(f"no JSON-RPC 2.0: {body!r:.200}")
        if request["method"] == "SendMessage":
            task = self._begun(request["params"]["message"])
            result: dict[str, object] = {"task": task}
        elif request["method"] == "GetTask":
            result = self._task(request["params"]["id"])
        else:
            raise ValueError(f"no request of 1.0 that is known here: {body!r:.200}")
        reply = {"jsonrpc": "2.0", "id": request["id"], "result": result}
        return json.dumps(reply, separators=(",", ":")).encode()

    def _begun(self, message: dict[str, object]) -> dict[str, object]:
        name = f"task-of-{message['messageId']}"
        if not self._work:
            return _task(name, message, completed=True)
        self._tasks[name] = time.monotonic(), message
        return self._task(name)

    def _task(self, name: str) -> dict[str, object]:
        began, message = self._tasks[name]
        return _task(name, message, completed=time.monotonic() - began >= self._work)


def _task(name: str, message: dict[str, object], *, completed: bool) -> dict[str, object]:
    state = "TASK_STATE_COMPLETED" if completed else "TASK_STATE_WORKING"
    task: dict[str, object] = {
        "id": name,
        "contextId": message.get("contextId", "a-context-of-ours"),
        "status": {"state": state, "timestamp": "2026-11-30T12:00:00.000Z"},
        "history": [message],
    }
    if completed:
        task["artifacts"] = [
            {"artifactId": "the-answer", "name": "answer", "parts": [{"text": "It is done."}]}
        ]
    return task


def card_of(host: str, *, streams: bool = False) -> bytes:
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
        "capabilities": {"streaming": streams},
        "defaultInputModes": ["text/plain"],
        "defaultOutputModes": ["text/plain"],
        "skills": [],
    }
    return json.dumps(card).encode()


class Request(NamedTuple):
    """What was asked: for the card, at this host and port, where there is no body."""

    host: str
    body: bytes


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
        while self._transport is not None and (request := self._next_request()) is not None:
            self.answer(request, self._transport)

    def answer(self, request: Request, transport: asyncio.Transport) -> None:
        """Answer one request."""
        raise NotImplementedError

    def _next_request(self) -> Request | None:
        """Take the first request, once all of it has come."""
        head, end, rest = self._received.partition(_END_OF_HEAD)
        if not end:
            return None
        _, *lines = head.lower().split(b"\r\n")
        fields = {name: value.strip() for name, _, value in (one.partition(b":") for one in lines)}
        length = int(fields.get(b"content-length", b"0"))
        if len(rest) < length:
            return None
        self._received = rest[length:]
        return Request(fields[b"host"].decode("ascii"), rest[:length])


class CompletingConnection(Connection):
    """One kept connection to the agent."""

    def __init__(self, agent: Agent) -> None:
        super().__init__()
        self._agent = agent

    def answer(self, request: Request, transport: asyncio.Transport) -> None:
        """Answer one request, after the time that it takes."""
        body = self._agent.reply_to(request.body) if request.body else card_of(request.host)
        if self._agent.latency:
            loop = asyncio.get_running_loop()
            loop.call_later(self._agent.latency, transport.write, in_one(body))
        else:
            transport.write(in_one(body))


def in_one(body: bytes) -> bytes:
    """Write a reply of known length."""
    head = (
        f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    return head.encode("ascii") + body


async def serve(connection: Callable[[], Connection]) -> None:
    """Serve until standard input ends."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(connection, HOST, 0, backlog=BACKLOG)
    async with server:
        print(f"http://{HOST}:{server.sockets[0].getsockname()[1]}", flush=True)
        await loop.run_in_executor(None, sys.stdin.buffer.read)


def main() -> None:
    """Read the options, and serve."""
    parser = argparse.ArgumentParser(description="An agent that does nothing for its tasks.")
    parser.add_argument("--latency", type=float, default=0.0, help="seconds that a reply takes")
    parser.add_argument("--work", type=float, default=0.0, help="seconds that a task takes")
    options = parser.parse_args()
    agent = Agent(latency=options.latency, work=options.work)
    asyncio.run(serve(lambda: CompletingConnection(agent)))


if __name__ == "__main__":
    main()
