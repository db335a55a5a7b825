"""The agent behind agent-framework's A2A executor: protocol 1.0, served by a2a-sdk 1.3."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING

from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.tasks import InMemoryTaskStore
from a2a.types import AgentCapabilities, AgentCard, AgentInterface, AgentSkill
from agent_framework import (
    AgentResponse,
    AgentResponseUpdate,
    AgentSession,
    Content,
    Message,
    ResponseStream,
)
from agent_framework.a2a import A2AExecutor
from commands import Agent
from journal import Turn
from one_answer import answer_of, ending_of, words_of
from serving import DESCRIPTION, NAME, RPC_PATH, TEXT, VERSION, Options, serve
from starlette.applications import Starlette

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable

    from a2a.server.agent_execution import RequestContext
    from a2a.server.events import EventQueue

_TURN: ContextVar[Turn] = ContextVar("_TURN")
"""The framework hands its agent the text alone; the journal wants the ids as well."""


class Executor(A2AExecutor):
    """The framework's executor, which notes the turn before it runs the agent.

    By itself it gives the answer as words of the status; told to stream, as an artifact in pieces.
    """

    def __init__(self, agent: OurAgent) -> None:
        super().__init__(agent)
        self._in_pieces = A2AExecutor(agent, stream=True)

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        """Deal with one message."""
        if context.message is not None:
            _TURN.set(
                Turn(
                    context.message.message_id,
                    context.task_id or "",
                    context.context_id or "",
                    context.get_user_input(),
                    follow_up=context.current_task is not None,
                )
            )
        if context.get_user_input().startswith("chunks"):
            await self._in_pieces.execute(context, event_queue)
        else:
            await super().execute(context, event_queue)


@dataclass
class OurAgent:
    """What the framework calls an agent: something that can be run."""

    agent: Agent
    id: str = "interop"
    name: str | None = NAME
    description: str | None = DESCRIPTION

    def run(
        self, _messages: object = None, *, stream: bool = False, **_: object
    ) -> Awaitable[AgentResponse] | ResponseStream[AgentResponseUpdate, AgentResponse]:
        """Answer one message."""
        if stream:
            return ResponseStream(self._pieces(), finalizer=AgentResponse.from_updates)
        return self._answer()

    async def _pieces(self) -> AsyncGenerator[AgentResponseUpdate]:
        async for said in answer_of(self.agent, _TURN.get()):
            if isinstance(said, str):
                yield AgentResponseUpdate(contents=[Content.from_text(said)], role="assistant")

    async def _answer(self) -> AgentResponse:
        ending = await ending_of(self.agent, _TURN.get())
        return AgentResponse(messages=[Message("assistant", [words_of(ending)])])

    def create_session(self, *, session_id: str | None = None) -> AgentSession:
        """A conversation, which this agent does not need."""
        return AgentSession(session_id=session_id)

    def get_session(
        self, service_session_id: str, *, session_id: str | None = None
    ) -> AgentSession:
        """Find one again."""
        return AgentSession(service_session_id=service_session_id, session_id=session_id)


def application(options: Options) -> Starlette:
    """The ASGI application, put together as the framework's documentation does."""
    card = AgentCard(
        name=NAME,
        description=DESCRIPTION,
        version=VERSION,
        supported_interfaces=[
            AgentInterface(url=options.rpc_url, protocol_binding="JSONRPC", protocol_version="1.0")
        ],
        capabilities=AgentCapabilities(streaming=True),
        default_input_modes=[TEXT],
        default_output_modes=[TEXT],
        skills=[
            AgentSkill(
                id="commands", name="commands", description="Commands of the tests.", tags=["test"]
            )
        ],
    )
    handler = DefaultRequestHandler(
        agent_executor=Executor(OurAgent(Agent(options.journal))),
        task_store=InMemoryTaskStore(),
        agent_card=card,
    )
    rpc = create_jsonrpc_routes(handler, RPC_PATH)
    return Starlette(routes=[*create_agent_card_routes(card), *rpc])


if __name__ == "__main__":
    serve(("1.0-only",), application)
