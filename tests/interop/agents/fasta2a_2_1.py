"""The agent on fasta2a 2.1: protocol 1.0, with the one worker that the library runs by default."""

from __future__ import annotations

import uuid
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from commands import Agent, Ending, State
from fasta2a import FastA2A, Worker
from fasta2a.broker import InMemoryBroker
from fasta2a.storage import InMemoryStorage
from journal import Turn
from serving import DESCRIPTION, JSON, NAME, TEXT, VERSION, Options, serve

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from fasta2a.schema import Artifact, Message, Part, TaskIdParams, TaskSendParams, TaskState

STATES: Final[dict[State, TaskState]] = {
    # A worker can only end a task: it has no way to answer with a bare message.
    State.MESSAGE: "completed",
    State.COMPLETED: "completed",
    State.INPUT_REQUIRED: "input-required",
    State.FAILED: "failed",
    State.REJECTED: "rejected",
}


@dataclass(frozen=True, slots=True)
class StoredReplies:
    """`Replies` written into the library's storage, which is all that a get shows.

    A stream shows what is published beside it, here the states and the pieces of `chunks`: what is
    only stored, as the artifact of `quick` is, no stream ever shows.
    """

    worker: Worker[object]
    task_id: str
    context_id: str
    _pieces: list[str] = field(default_factory=list)

    async def open_task(self) -> None:
        """Nothing to do: it is a task already."""

    async def working(self, text: str) -> None:
        """Store the state, and the text in the history: a status has no words here."""
        message = _message(text)
        await self.worker.storage.update_task(self.task_id, "working", new_messages=[message])
        await self.worker.publish_status(self.task_id, self.context_id, "working", message)

    async def piece(self, text: str, *, first: bool, last: bool) -> None:
        """Publish the piece, and store the artifact once it is whole."""
        self._pieces.append(text)
        await self.worker.publish_artifact(
            self.task_id, self.context_id, _artifact(text), append=not first, last_chunk=last
        )
        if last:
            whole = _artifact("".join(self._pieces))
            await self.worker.storage.update_task(self.task_id, "working", [whole])

    async def end(self, ending: Ending) -> None:
        """Store the artifact, the text and the state in one step."""
        artifacts = [] if ending.artifact is None else [_artifact(ending.artifact)]
        messages = [] if ending.text is None else [_message(ending.text)]
        state = STATES[ending.state]
        await self.worker.storage.update_task(self.task_id, state, artifacts, messages)


def _part(value: str | dict[str, object]) -> Part:
    return {"text": value} if isinstance(value, str) else {"data": value}


def _artifact(value: str | dict[str, object]) -> Artifact:
    return {"artifact_id": "result", "name": "result", "parts": [_part(value)]}


def _message(text: str) -> Message:
    return {"role": "agent", "message_id": str(uuid.uuid4()), "parts": [_part(text)]}


@dataclass
class OurWorker(Worker[object]):
    """Hands the library's operations to the agent, one after the other."""

    agent: Agent

    async def run_task(self, params: TaskSendParams) -> None:
        """Deal with one message."""
        message = params["message"]
        text = "\n".join(part["text"] for part in message["parts"] if "text" in part)
        turn = Turn(
            message["message_id"], params["id"], params["context_id"], text, follow_up=False
        )
        replies = StoredReplies(self, params["id"], params["context_id"])
        await self.agent.perform(turn, replies)

    async def cancel_task(self, params: TaskIdParams) -> None:
        """Cancel a task that still waits; one worker never gets here while another task runs."""
        task = await self.storage.load_task(params["id"])
        if task is None:
            return
        self.agent.cancel_asked(task["id"], task["context_id"])
        if task["status"]["state"] in {"submitted", "working", "input-required"}:
            await self.storage.update_task(task["id"], "canceled")

    def build_message_history(self, history: list[Message]) -> list[Any]:
        """Not used here."""
        return history

    def build_artifacts(self, _: Any) -> list[Artifact]:
        """Not used here."""
        return []


def application(options: Options) -> FastA2A:
    """The ASGI application; the library serves JSON-RPC at the root and nowhere else."""
    storage: InMemoryStorage[object] = InMemoryStorage()
    broker = InMemoryBroker()
    worker = OurWorker(broker, storage, Agent(options.journal))

    @asynccontextmanager
    async def lifespan(app: FastA2A) -> AsyncGenerator[None]:
        async with app.task_manager, worker.run():
            yield

    return FastA2A(
        storage=storage,
        broker=broker,
        name=NAME,
        description=DESCRIPTION,
        version=VERSION,
        url=options.base_url,
        skills=[
            {
                "id": "commands",
                "name": "commands",
                "description": "Commands of the tests.",
                "tags": ["test"],
            }
        ],
        default_input_modes=[TEXT],
        default_output_modes=[TEXT, JSON],
        lifespan=lifespan,
    )


if __name__ == "__main__":
    serve(("1.0-only",), application)
