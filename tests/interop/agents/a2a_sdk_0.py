"""The agent on a2a-sdk 0.3 and on 0.2, which differ in the bindings alone: 0.2 has JSON-RPC only.

The release that is installed speaks its own version of the protocol alone, and writes it into the
card; the mode only names it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from a2a.server.agent_execution import AgentExecutor
from a2a.server.apps import A2AStarletteApplication
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import (
    AgentCapabilities,
    AgentCard,
    AgentInterface,
    AgentSkill,
    DataPart,
    Message,
    Part,
    TaskNotCancelableError,
    TaskState,
    TextPart,
)
from a2a.utils import new_agent_text_message, new_task
from a2a.utils.errors import ServerError
from commands import Agent, CancelAnswer, Ending, State
from journal import Turn
from serving import DESCRIPTION, JSON, NAME, REST_PATH, RPC_PATH, TEXT, VERSION, Options, serve

if TYPE_CHECKING:
    from a2a.server.agent_execution import RequestContext
    from a2a.server.events import EventQueue
    from starlette.applications import Starlette

V0_3: Final = "0.3-only"
V0_2: Final = "0.2-only"

STATES: Final = {
    State.COMPLETED: TaskState.completed,
    State.INPUT_REQUIRED: TaskState.input_required,
    State.FAILED: TaskState.failed,
    State.REJECTED: TaskState.rejected,
}


class SDKReplies:
    """`Replies` over the event queue of the SDK."""

    def __init__(self, message: Message, updater: TaskUpdater) -> None:
        self._message = message
        self._updater = updater

    async def open_task(self) -> None:
        """Publish the submitted task; this is what an immediate return gives."""
        await self._updater.event_queue.enqueue_event(new_task(self._message))

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
            message = new_agent_text_message(ending.text or "", self._updater.context_id)
            await self._updater.event_queue.enqueue_event(message)
            return
        if ending.artifact is not None:
            await self._updater.add_artifact([_part(ending.artifact)], name="result")
        text = None if ending.text is None else self._status(ending.text)
        # final: the turn ends here, also when the task waits for an answer.
        await self._updater.update_status(STATES[ending.state], text, final=True)

    def _status(self, text: str) -> Message:
        return self._updater.new_agent_message([_part(text)])


def _part(value: str | dict[str, object]) -> Part:
    return Part(root=TextPart(text=value) if isinstance(value, str) else DataPart(data=value))


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
        """Answer a request to cancel; the SDK cancels the coroutine unless this raises."""
        task_id, context_id = context.task_id or "", context.context_id or ""
        match self.agent.cancel_asked(task_id, context_id):
            case CancelAnswer.STOP:
                await TaskUpdater(event_queue, task_id, context_id).cancel()
            case CancelAnswer.REFUSE:
                raise ServerError(error=TaskNotCancelableError())
            case CancelAnswer.IGNORE:
                pass


def card(options: Options) -> AgentCard:
    """The card; the SDK adds its version, and JSON-RPC as the transport of the URL."""
    rest = AgentInterface(url=options.rest_url, transport="HTTP+JSON")
    return AgentCard(
        name=NAME,
        description=DESCRIPTION,
        version=VERSION,
        url=options.rpc_url,
        additional_interfaces=[rest] if options.mode == V0_3 else None,
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
    """The ASGI application for one port."""
    handler = DefaultRequestHandler(
        agent_executor=Executor(Agent(options.journal)), task_store=InMemoryTaskStore()
    )
    agent_card = card(options)
    served = A2AStarletteApplication(agent_card, handler).build(rpc_url=RPC_PATH)
    if options.mode == V0_3:
        from a2a.server.apps import A2ARESTFastAPIApplication  # noqa: PLC0415  # 0.2 has none

        rest = A2ARESTFastAPIApplication(agent_card=agent_card, http_handler=handler)
        served.mount("/", rest.build(rpc_url=REST_PATH))
    return served


if __name__ == "__main__":
    serve((V0_3, V0_2), application)
