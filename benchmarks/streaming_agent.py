"""An agent that streams the work on its tasks, as cheaply as HTTP/1.1 allows.

    python streaming_agent.py [--events 5] [--pause 1] [--together 1] [--rest 5]

Run as a program it prints its URL and serves on loopback until its standard input ends. A stream
shows the task at once; then, `--rest` seconds after `--together` of them are open, so many pieces
of an artifact, one every `--pause` seconds, and the end. The streams take turns evenly. It speaks
what completing_agent.py speaks, and shows a task that is asked for as its stream has.
"""

from __future__ import annotations

import argparse
import asyncio  # noqa: TID251 - a server of its own, without the package
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from completing_agent import Connection, card_of, in_one, serve

if TYPE_CHECKING:
    from completing_agent import Request

_ARTIFACT: Final = "the-answer"
_PIECE: Final = "A sentence of the answer, which comes in pieces as long as this one. "
_HEAD: Final = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
)
_END: Final = b"0\r\n\r\n"


@dataclass(slots=True)
class Work:
    """One task, and the stream that shows it."""

    task_id: str
    context_id: str
    request_id: str
    transport: asyncio.Transport
    pieces: int = 0
    completed: bool = False

    @property
    def status(self) -> dict[str, object]:
        """How it goes."""
        state = "TASK_STATE_COMPLETED" if self.completed else "TASK_STATE_WORKING"
        return {"state": state, "timestamp": "2026-11-30T12:00:00.000Z"}

    @property
    def task(self) -> dict[str, object]:
        """The task as it is now."""
        task = {"id": self.task_id, "contextId": self.context_id, "status": self.status}
        return task | ({"artifacts": [_artifact(self.pieces)]} if self.pieces else {})

    def show(self, **event: object) -> None:
        """Send an event."""
        reply = {"jsonrpc": "2.0", "id": self.request_id, "result": event}
        data = b"data: " + json.dumps(reply, separators=(",", ":")).encode() + b"\n\n"
        self.transport.write(f"{len(data):x}\r\n".encode("ascii") + data + b"\r\n")


def _artifact(pieces: int) -> dict[str, object]:
    return {"artifactId": _ARTIFACT, "parts": [{"text": _PIECE}] * pieces}


class Agent:
    """What the agent knows: its tasks, and the streams that wait for others."""

    def __init__(self, *, events: int, pause: float, together: int, rest: float) -> None:
        self._rest = rest
        self._events = events
        self._pause = pause
        self._together = together
        self._works: dict[str, Work] = {}
        self._waiting: list[Work] = []

    def answer(self, body: bytes, transport: asyncio.Transport) -> None:
        """Answer a `SendStreamingMessage` or a `GetTask`. Raises ValueError for anything else."""
        request = json.loads(body)
        method, params = request["method"], request["params"]
        if method == "SendStreamingMessage":
            message = params["message"]
            name = f"task-of-{message['messageId']}"
            context = message.get("contextId", "a-context-of-ours")
            self._open(Work(name, context, request["id"], transport))
        elif method == "GetTask":
            task = self._works[params["id"]].task
            reply = {"jsonrpc": "2.0", "id": request["id"], "result": task}
            transport.write(in_one(json.dumps(reply, separators=(",", ":")).encode()))
        else:
            raise ValueError(f"no request of 1.0 that is known here: {body!r:.200}")

    def _open(self, work: Work) -> None:
        self._works[work.task_id] = work
        work.transport.write(_HEAD)
        work.show(task=work.task)
        self._waiting.append(work)
        if len(self._waiting) < self._together:
            return
        begin = asyncio.get_running_loop().time() + self._rest
        for number, one in enumerate(self._waiting):
            self._later(one, begin + self._pause * number / self._together)
        self._waiting = []

    def _later(self, work: Work, due: float) -> None:
        asyncio.get_running_loop().call_at(due, self._go_on, work, due)

    def _go_on(self, work: Work, due: float) -> None:
        """Show what is due now; how late that is delays nothing that comes after it."""
        if work.transport.is_closing():
            raise ConnectionError("a stream was left before its end")
        ids = {"taskId": work.task_id, "contextId": work.context_id}
        if work.pieces < self._events:
            work.show(artifactUpdate={**ids, "artifact": _artifact(1), "append": work.pieces > 0})
            work.pieces += 1
            self._later(work, due + self._pause)
            return
        work.completed = True
        work.show(statusUpdate={**ids, "status": work.status})
        work.transport.write(_END)


class StreamingConnection(Connection):
    """One kept connection to the agent."""

    def __init__(self, agent: Agent) -> None:
        super().__init__()
        self._agent = agent

    def answer(self, request: Request, transport: asyncio.Transport) -> None:
        """Answer one request."""
        if request.body:
            self._agent.answer(request.body, transport)
        else:
            transport.write(in_one(card_of(request.host, streams=True)))


def main() -> None:
    """Read the options, and serve."""
    parser = argparse.ArgumentParser(description="An agent that streams the work on its tasks.")
    parser.add_argument("--events", type=int, default=5, help="pieces of an answer in a stream")
    parser.add_argument("--pause", type=float, default=1.0, help="seconds between two of them")
    parser.add_argument("--together", type=int, default=1, help="streams that wait for each other")
    parser.add_argument("--rest", type=float, default=5.0, help="seconds that they wait then")
    options = parser.parse_args()
    agent = Agent(
        events=options.events,
        pause=options.pause,
        together=options.together,
        rest=options.rest,
    )
    asyncio.run(serve(lambda: StreamingConnection(agent)))


if __name__ == "__main__":
    main()
