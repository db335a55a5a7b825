"""What an outcome shows of how it came about: every request, and who stopped waiting."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import pytest

from a2a_delegate import (
    A2ADelegate,
    A2ADelegateConfig,
    CancelToken,
    DelegateRequest,
    LostReplyError,
    TimedOut,
    Unknown,
    fetch_agent_card,
)
from a2a_delegate.testing import Hang, Operation, ScriptedPeer

if TYPE_CHECKING:
    import httpx

pytestmark = [pytest.mark.anyio, pytest.mark.virtual_time]

CONFIG = A2ADelegateConfig(poll_interval=0.5, client_context_ids=False)


async def delegate(peer: ScriptedPeer, client: httpx.AsyncClient) -> A2ADelegate:
    card = await fetch_agent_card(peer.url, client=client)
    return A2ADelegate("peer", card, client=client, config=CONFIG)


@pytest.mark.spec("RUN-8")
async def test_a_cancel_that_is_never_answered_stands_among_the_attempts() -> None:
    peer = ScriptedPeer()
    peer.always(Operation.CANCEL, Hang())
    async with peer.client() as client:
        request = DelegateRequest("slow 60", timeout=2)
        result = await (await delegate(peer, client)).dispatch(request)
    assert isinstance(result, TimedOut)
    assert [one.number for one in result.attempts] == [*range(1, len(result.attempts) + 1)]
    asked = [request.operation for request in peer.truth.requests]
    assert [one.operation for one in result.attempts] == [
        operation for operation in asked if operation not in {None, Operation.CARD}
    ]
    (cancel,) = [one for one in result.attempts if one.operation == "cancel"]
    assert cancel.outcome == "lost"
    assert "cancel (1.0): lost" in result.explain()


@pytest.mark.parametrize("version", ["1.0", "0.3"])
async def test_a_reply_that_the_deadline_cut_off_says_so(version: str) -> None:
    peer = ScriptedPeer(versions=(version,), lists=False)
    peer.script(Operation.SEND, Hang())
    async with peer.client() as client:
        request = DelegateRequest("task", timeout=2)
        result = await (await delegate(peer, client)).dispatch(request)
    assert isinstance(result, Unknown)
    assert isinstance(result.cause, LostReplyError)
    assert result.cause.phase == "deadline"
    assert "the deadline passed" in str(result)


async def test_a_reply_that_a_cancel_cut_off_is_no_deadline() -> None:
    peer = ScriptedPeer(versions=("0.3",))
    peer.script(Operation.SEND, Hang())
    token, errors = CancelToken(), []
    async with peer.client() as client, anyio.create_task_group() as group:
        work = await delegate(peer, client)

        async def later() -> None:
            await anyio.sleep(1)
            token.cancel()

        group.start_soon(later)
        await work.dispatch(
            "task", cancel=token, observer=lambda told: errors.append(getattr(told, "error", None))
        )
    (lost,) = [error for error in errors if isinstance(error, LostReplyError)]
    assert lost.phase == "cancel"
