"""The agent on a2a-sdk 1.3: protocol 1.0 alone, or 0.3 beside it on the same URLs."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from a2a.helpers import (
    new_data_part,
    new_task_from_user_message,
    new_text_message,
    new_text_part,
)
from a2a.server.agent_execution import AgentExecutor
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import (
    create_agent_card_routes,
    create_jsonrpc_routes,
    create_rest_routes,
)
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import (
    AgentCapabilities,
    AgentCard,
    AgentInterface,
    AgentSkill,
    Message,
    Part,
    TaskState,
)
from a2a.utils.errors import TaskNotCancelableError
from commands import Agent, CancelAnswer, Ending, State
from journal import Turn
from serving import DESCRIPTION, JSON, NAME, REST_PATH, RPC_PATH, TEXT, VERSION, Options, serve
from starlette.applications import Starlette

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from a2a.server.agent_execution import RequestContext
    from a2a.server.events import EventQueue

ONLY_1_0: Final = "1.0-only"
DUAL: Final = "dual"

STATES: Final = {
    State.COMPLETED: TaskState.TASK_STATE_COMPLETED,
    State.INPUT_REQUIRED: TaskState.TASK_STATE_INPUT_REQUIRED,
    State.FAILED: TaskState.TASK_STATE_FAILED,
    State.REJECTED: TaskState.TASK_STATE_REJECTED,
}


class SDKReplies:
    """`Replies` over the event queue of a2a-sdk 1.3."""

    def __init__(self, message: Message, updater: TaskUpdater) -> None:
        self._message = message
        self._updater = updater

    async def open_task(self) -> None:
        """Publish the submitted task; this is what an immediate return gives."""
        await self._updater.event_queue.enqueue_event(new_task_from_user_message(self._message))

    async def working(self, text: str) -> None:
        """Publish a status update with a text."""
        await self._updater.start_work(self._status(text))

    async def piece(self, text: str, *, first: bool, last: bool) -> None:
        """Publish a piece of the one artifact."""
        await self._updater.add_artifact(
            [_part(text)], artifact_id="result", name="result", append=not first, last_chunk=last
        )

    async def end(self, ending: Ending) -> None:
        """Publish the artifact and the state, or the bare message."""
        if ending.state is State.MESSAGE:
            message = new_text_message(ending.text or "", context_id=self._updater.context_id)
            await self._updater.event_queue.enqueue_event(message)
            return
        if ending.artifact is not None:
            await self._updater.add_artifact([_part(ending.artifact)], name="result")
        text = None if ending.text is None else self._status(ending.text)
        await self._updater.update_status(STATES[ending.state], text)

    def _status(self, text: str) -> Message:
        return self._updater.new_agent_message([_part(text)])


def _part(value: str | dict[str, object]) -> Part:
    return new_text_part(value) if isinstance(value, str) else new_data_part(value)


@dataclass(frozen=True, slots=True)
class Executor(AgentExecutor):
    """Hands the SDK's calls to the agent."""

    agent: Agent

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        """Deal with one message."""
        message = context.message
        if message is None or context.task_id is None or context.context_id is None:
            raise TypeError("the SDK called execute without a message")
        turn = Turn(
            message.message_id,
            context.task_id,
            context.context_id,
            context.get_user_input(),
            follow_up=context.current_task is not None,
        )
        updater = TaskUpdater(event_queue, context.task_id, context.context_id)
        await self.agent.perform(turn, SDKReplies(message, updater))

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        """Answer a request to cancel; the SDK cancels the coroutine afterwards, whatever it is."""
        task_id, context_id = context.task_id or "", context.context_id or ""
        match self.agent.cancel_asked(task_id, context_id):
            case CancelAnswer.STOP:
                await TaskUpdater(event_queue, task_id, context_id).cancel()
            case CancelAnswer.REFUSE:
                raise TaskNotCancelableError
            case CancelAnswer.IGNORE:
                pass


def card(options: Options) -> AgentCard:
    """An interface for each binding and version of the mode; those of a binding at one URL."""
    versions = ("1.0", "0.3") if options.mode == DUAL else ("1.0",)
    urls = {"JSONRPC": options.rpc_url, "HTTP+JSON": options.rest_url}
    return AgentCard(
        name=NAME,
        description=DESCRIPTION,
        version=VERSION,
        supported_interfaces=[
            AgentInterface(url=url, protocol_binding=binding, protocol_version=version)
            for binding, url in urls.items()
            for version in versions
        ],
        capabilities=AgentCapabilities(streaming=True),
        default_input_modes=[TEXT],
        default_output_modes=[TEXT, JSON],
        skills=[
            AgentSkill(
                id="commands", name="commands", description="Commands of the tests.", tags=["test"]
            )
        ],
    )


def application(options: Options) -> Starlette:
    """The ASGI application for one mode and port."""
    agent_card = card(options)
    handler = DefaultRequestHandler(
        agent_executor=Executor(Agent(options.journal)),
        task_store=InMemoryTaskStore(),
        agent_card=agent_card,
    )

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncGenerator[None]:
        yield
        await handler.aclose()

    dual = options.mode == DUAL
    routes = [
        *create_agent_card_routes(agent_card),
        *create_jsonrpc_routes(handler, RPC_PATH, enable_v0_3_compat=dual),
        # The last: it takes whatever is below the root for the resources of a tenant.
        *create_rest_routes(handler, path_prefix=REST_PATH, enable_v0_3_compat=dual),
    ]
    return Starlette(routes=routes, lifespan=lifespan)


if __name__ == "__main__":
    serve((ONLY_1_0, DUAL), application)
