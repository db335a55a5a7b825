"""A send that waits for a connection: over real sockets, because httpx's queue is its pool's."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import anyio
import anyio.lowlevel
import httpx
import pytest

from a2a_delegate import (
    A2ADelegate,
    A2ADelegateConfig,
    AgentCard,
    AgentInterface,
    Binding,
    Cancelled,
    CancelReceipt,
    CancelToken,
    Completed,
    DelegateRequest,
    Effect,
    Failed,
    PeerUnreachableError,
    ProtocolVersion,
)
from tests.bindings import loopback

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from a2a_delegate import DelegateResult

pytestmark = [pytest.mark.anyio, pytest.mark.spec("CXL-7")]

PATIENCE = 10
"""Real seconds after which something hangs."""


class Agent:
    """Answers each send with a message, the first one only once it is told to."""

    def __init__(self) -> None:
        self.heard: list[str] = []
        self.asked: list[httpx.Request] = []
        self.busy = anyio.Event()
        self.released = anyio.Event()

    async def talk(self, line: loopback.Line) -> None:
        while True:
            call = json.loads((await line.hear()).body)
            self.heard.append(call["params"]["message"]["parts"][0]["text"])
            if len(self.heard) == 1:
                self.busy.set()
                await self.released.wait()
            said = {"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": "done"}]}
            answer = {"jsonrpc": "2.0", "id": call["id"], "result": {"message": said}}
            await line.say(loopback.reply(json.dumps(answer).encode()))

    async def note(self, request: httpx.Request) -> None:
        """See a request that is about to queue for a connection."""
        self.asked.append(request)

    async def queue(self, length: int) -> None:
        """Wait until so many requests wait for a connection beside the one that has it."""
        while len(self.asked) <= length:
            await anyio.lowlevel.checkpoint()
        for _ in range(50):
            await anyio.lowlevel.checkpoint()


@pytest.fixture
async def agent() -> Agent:
    return Agent()


@pytest.fixture
async def delegate(agent: Agent) -> AsyncGenerator[A2ADelegate, None]:
    limits = httpx.Limits(max_connections=1)
    async with (
        loopback.peer(agent.talk) as place,
        httpx.AsyncClient(
            limits=limits, event_hooks={"request": [agent.note]}, trust_env=False
        ) as client,
    ):
        interface = AgentInterface(place.url, Binding.JSONRPC, ProtocolVersion.V1_0)
        card = AgentCard("Agent", (interface,))
        config = A2ADelegateConfig(cancel_grace=0.4)
        async with A2ADelegate("agent", card, client=client, config=config) as made:
            yield made


async def test_trap_a_send_that_is_cancelled_in_the_queue_has_sent_nothing(
    agent: Agent, delegate: A2ADelegate
) -> None:
    results: dict[str, DelegateResult] = {}
    token = CancelToken()

    async def ask(text: str, token: CancelToken | None = None) -> None:
        results[text] = await delegate.dispatch(text, cancel=token)

    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as group:
            group.start_soon(ask, "first")
            await agent.busy.wait()
            async with anyio.create_task_group() as queueing:
                queueing.start_soon(ask, "queueing", token)
                await agent.queue(1)
                token.cancel()
            stopped = results["queueing"]
            assert isinstance(stopped, Cancelled)
            assert stopped.effect is Effect.NOT_STARTED
            assert stopped.receipt is CancelReceipt.NOT_NEEDED
            agent.released.set()
        await ask("after")
    assert [type(results[text]) for text in ("first", "after")] == [Completed, Completed]
    assert agent.heard == ["first", "after"]


async def test_trap_a_place_granted_in_the_step_of_the_cancel_is_given_back(
    agent: Agent, delegate: A2ADelegate
) -> None:
    token = CancelToken()
    results: list[DelegateResult] = []

    async def ask(text: str, token: CancelToken | None = None) -> None:
        results.append(await delegate.dispatch(text, cancel=token))
        # The connection is free in this very step, and the next in the queue is granted it.
        if text == "first":
            waiting.cancel()

    waiting = CancelToken()
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as group:
            group.start_soon(ask, "first", token)
            await agent.busy.wait()
            group.start_soon(ask, "waiting", waiting)
            await agent.queue(1)
            agent.released.set()
        await ask("after")
    outcome = results[1]
    # Either it was granted in time and has an answer, or it sent nothing: both leave the queue.
    assert isinstance(outcome, Completed | Cancelled)
    assert (outcome.effect is Effect.RAN) == ("waiting" in agent.heard)
    assert isinstance(results[2], Completed)


async def test_trap_a_deadline_in_the_queue_is_a_send_that_never_was(
    agent: Agent, delegate: A2ADelegate
) -> None:
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as group:
            group.start_soon(delegate.dispatch, "first")
            await agent.busy.wait()
            result = await delegate.dispatch(DelegateRequest("queueing", timeout=0.1))
            agent.released.set()
    assert isinstance(result, Failed)
    assert isinstance(result.error, PeerUnreachableError)
    assert result.effect is Effect.NOT_STARTED
    assert agent.heard == ["first"]
