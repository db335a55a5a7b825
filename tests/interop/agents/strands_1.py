"""An agent of strands behind its own A2A server: protocol 0.3. Its model is our commands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from commands import Agent
from journal import Turn
from one_answer import answer_of, words_of
from serving import DESCRIPTION, NAME, Options, serve
from strands import Agent as StrandsAgent
from strands.models import Model
from strands.multiagent.a2a import A2AServer

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from starlette.applications import Starlette
    from strands.types.streaming import StreamEvent


class Commands(Model):
    """What the framework asks for an answer; no language model is behind it."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent

    def update_config(self, **_: object) -> None:
        """Nothing to set."""

    def get_config(self) -> dict[str, object]:
        """Nothing was set."""
        return {}

    def structured_output(self, *_: object, **__: object) -> AsyncGenerator[dict[str, Any]]:
        """Not offered."""
        raise NotImplementedError

    async def stream(
        self, *_: object, invocation_state: dict[str, Any] | None = None, **__: object
    ) -> AsyncGenerator[StreamEvent]:
        """Answer one message, found in the request that the framework hands on."""
        context = (invocation_state or {})["a2a_request_context"]
        turn = Turn(
            context.message.message_id,
            context.task_id,
            context.context_id,
            context.get_user_input(),
            follow_up=context.current_task is not None,
        )
        yield {"messageStart": {"role": "assistant"}}
        yield {"contentBlockStart": {"start": {}}}
        in_pieces = False
        async for said in answer_of(self._agent, turn):
            if isinstance(said, str) or not in_pieces:
                text = said if isinstance(said, str) else words_of(said)
                yield {"contentBlockDelta": {"delta": {"text": text}}}
            in_pieces = True
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn"}}


def application(options: Options) -> Starlette:
    """The ASGI application; the framework serves JSON-RPC at the root."""
    agent = Agent(options.journal)

    def made(_: str) -> StrandsAgent:
        return StrandsAgent(
            model=Commands(agent), name=NAME, description=DESCRIPTION, callback_handler=None
        )

    server = A2AServer(agent_factory=made, http_url=options.base_url, skills=[])
    return server.to_starlette_app()


if __name__ == "__main__":
    serve(("0.3-only",), application)
