"""The agent on a2akit 0.0.32: protocol 0.3, with a list of its own beside it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from a2akit import A2AServer, AgentCardConfig, CapabilitiesConfig, SkillConfig, Worker
from commands import Agent, Ending, State
from journal import Turn
from serving import DESCRIPTION, NAME, VERSION, Options, serve

if TYPE_CHECKING:
    from a2akit import TaskContext
    from fastapi import FastAPI


@dataclass(frozen=True, slots=True)
class ContextReplies:
    """`Replies` over the framework's context of a task."""

    context: TaskContext

    async def open_task(self) -> None:
        """Nothing to do: it is a task already."""

    async def working(self, text: str) -> None:
        """Publish a status update with a text."""
        await self.context.send_status(text)

    async def piece(self, text: str, *, first: bool, last: bool) -> None:
        """Publish a piece of the one artifact."""
        await self.context.emit_text_artifact(
            text, artifact_id="result", append=not first, last_chunk=last
        )

    async def end(self, ending: Ending) -> None:
        """End the turn by the call that the framework has for it."""
        text = ending.text or ""
        match ending.state:
            case State.MESSAGE:
                await self.context.reply_directly(text)
            case State.INPUT_REQUIRED:
                await self.context.request_input(text)
            case State.FAILED:
                await self.context.fail(text)
            case State.REJECTED:
                await self.context.reject(text)
            case State.COMPLETED if isinstance(ending.artifact, dict):
                await self.context.complete_json(ending.artifact)
            case State.COMPLETED:
                await self.context.complete(ending.artifact)


class OurWorker(Worker):
    """Hands the framework's tasks to the agent. It has no hook for a cancel: it just cancels."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent

    async def handle(self, ctx: TaskContext) -> None:
        """Deal with one message."""
        turn = Turn(
            ctx.message_id,
            ctx.task_id,
            ctx.context_id or "",
            ctx.user_text,
            follow_up=bool(ctx.history),
        )
        await self._agent.perform(turn, ContextReplies(ctx))


def application(options: Options) -> FastAPI:
    """The ASGI application; the framework serves JSON-RPC at the root, HTTP+JSON below `/v1`."""
    card = AgentCardConfig(
        name=NAME,
        description=DESCRIPTION,
        version=VERSION,
        capabilities=CapabilitiesConfig(streaming=True),
        skills=[
            SkillConfig(
                id="commands", name="commands", description="Commands of the tests.", tags=["test"]
            )
        ],
    )
    server = A2AServer(
        worker=OurWorker(Agent(options.journal)),
        agent_card=card,
        additional_protocols=["http+json"],
    )
    return server.as_fastapi_app()


if __name__ == "__main__":
    serve(("0.3-only",), application)
