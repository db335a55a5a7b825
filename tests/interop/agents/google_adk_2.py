"""An agent of google-adk behind its own A2A server: protocol 1.0, without a model."""

from __future__ import annotations

import json
import urllib.parse
import uuid
from typing import TYPE_CHECKING, Final

from commands import Agent, Ending, State
from google.adk.a2a.converters.request_converter import convert_a2a_request_to_agent_run_request
from google.adk.a2a.executor.a2a_agent_executor import A2aAgentExecutor
from google.adk.a2a.executor.config import A2aAgentExecutorConfig
from google.adk.a2a.utils.agent_to_a2a import to_a2a
from google.adk.agents import BaseAgent
from google.adk.events import Event
from google.genai import types
from journal import Turn
from one_answer import answer_of
from pydantic import PrivateAttr
from serving import DESCRIPTION, Options, serve

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from a2a.server.agent_execution import RequestContext
    from google.adk.a2a.converters.part_converter import A2APartToGenAIPartConverter
    from google.adk.a2a.converters.request_converter import AgentRunRequest
    from google.adk.agents.invocation_context import InvocationContext
    from google.adk.runners import Runner
    from starlette.applications import Starlette

TURN: Final = "turn"
"""The framework hands its agent the text alone; the journal wants the ids as well."""


class OurAgent(BaseAgent):
    """An agent that asks no model."""

    _agent: Agent = PrivateAttr()

    def __init__(self, agent: Agent) -> None:
        super().__init__(name="interop_agent", description=DESCRIPTION)
        self._agent = agent

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event]:
        turn = Turn(**ctx.run_config.custom_metadata[TURN])
        common = {"author": self.name, "invocation_id": ctx.invocation_id}
        async for said in answer_of(self._agent, turn):
            if isinstance(said, str):
                yield Event(**common, partial=True, content=_content(said))
            else:
                yield _event(said, **common)


def _content(text: str) -> types.Content:
    return types.Content(role="model", parts=[types.Part(text=text)])


def _event(ending: Ending, *, author: str, invocation_id: str) -> Event:
    """The last event of a turn, in the framework's words for its end."""
    common = {"author": author, "invocation_id": invocation_id}
    match ending.state:
        case State.FAILED | State.REJECTED:
            return Event(**common, error_code=ending.state, error_message=ending.text)
        case State.INPUT_REQUIRED:
            # A call of a tool that a person must answer is how an agent of this framework asks.
            call = types.FunctionCall(id=str(uuid.uuid4()), name="ask", args={})
            parts = [types.Part(text=ending.text), types.Part(function_call=call)]
            content = types.Content(role="model", parts=parts)
            return Event(**common, content=content, long_running_tool_ids={call.id})
        case _:
            value = ending.text if ending.artifact is None else ending.artifact
            text = value if isinstance(value, str) else json.dumps(value)
            return Event(**common, content=_content(text))


def request(context: RequestContext, converter: A2APartToGenAIPartConverter) -> AgentRunRequest:
    """The framework's own conversion, with the turn beside it."""
    converted = convert_a2a_request_to_agent_run_request(context, converter)
    converted.run_config.custom_metadata[TURN] = {
        "message_id": context.message.message_id,
        "task_id": context.task_id,
        "context_id": context.context_id,
        "text": context.get_user_input(),
        "follow_up": context.current_task is not None,
    }
    return converted


def executor(runner: Runner) -> A2aAgentExecutor:
    """The framework's executor as it comes."""
    return A2aAgentExecutor(runner=runner, config=A2aAgentExecutorConfig(request_converter=request))


def application(options: Options) -> Starlette:
    """The ASGI application; the framework serves JSON-RPC at the root."""
    address = urllib.parse.urlsplit(options.base_url)
    return to_a2a(
        OurAgent(Agent(options.journal)),
        host=address.hostname,
        port=address.port,
        agent_executor_factory=executor,
    )


if __name__ == "__main__":
    serve(("1.0-only",), application)
