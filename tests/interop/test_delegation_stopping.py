"""Delegations to real servers that somebody or the clock stops, and what the peer made of it."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

import anyio
import pytest

from a2a_delegate import (
    Cancelled,
    CancelReceipt,
    CancelSent,
    CancelToken,
    Completed,
    DelegateRequest,
    Effect,
    Failed,
    Settled,
    TimedOut,
)
from tests.interop.delegating import (
    FACES,
    FACES_THAT_DIFFER,
    QUICKLY,
    Face,
    Reacting,
    Stopwatch,
    Told,
    at_work,
    delegate_to,
    journal,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.interop.servers import Server

pytestmark = [pytest.mark.interop, pytest.mark.anyio]

STOPPED = ["execute", "cancel-asked", "cancelled"]
WENT_ON = ["execute", "cancel-asked", "done"]


@pytest.fixture(params=FACES_THAT_DIFFER)
def face(request: pytest.FixtureRequest) -> Face:
    """Every kind of server in every version that it speaks."""
    return FACES[request.param]


@pytest.fixture
def server(face: Face, server_of: Callable[[str, str], Server]) -> Server:
    """The running server of the face."""
    return server_of(face.line, face.mode)


def assert_settled_as_cancelled(told: Told) -> None:
    """A plain cancellation returns nothing; the outcome is told all the same."""
    (settled,) = told.all(Settled)
    assert isinstance(settled.result, Cancelled)
    assert settled.result.receipt is CancelReceipt.CONFIRMED


async def test_a_token_stops_the_work_at_the_peer(face: Face, server: Server) -> None:
    token, reason = CancelToken(), object()
    told = Reacting(when=at_work, then=lambda: token.cancel(reason))
    async with delegate_to(server, face.version) as delegate:
        result = await delegate.dispatch("slow 5", cancel=token, observer=told)
    assert isinstance(result, Cancelled)
    assert (result.by, result.receipt) == ("caller", CancelReceipt.CONFIRMED)
    assert result.reason is reason
    assert (result.effect, result.late) == (Effect.RAN, False)
    server.wait_for("cancelled", told.message_id)
    assert journal(server, told.message_id) == STOPPED


async def test_a_cancel_before_the_send_leaves_nothing_at_the_peer(
    face: Face, server: Server
) -> None:
    token, told = CancelToken(), Told()
    token.cancel("changed my mind")
    async with delegate_to(server, face.version) as delegate:
        result = await delegate.dispatch("quick", cancel=token, observer=told)
    assert isinstance(result, Cancelled)
    assert (result.reason, result.receipt) == ("changed my mind", CancelReceipt.NOT_NEEDED)
    assert (result.effect, result.handle) == (Effect.NOT_STARTED, None)
    assert not any(attempt.body_left for attempt in result.attempts)
    assert journal(server, told.message_id) == []


async def test_the_deadline_stops_the_work_at_the_peer(face: Face, server: Server) -> None:
    told, watch = Told(), Stopwatch()
    async with delegate_to(server, face.version) as delegate:
        result = await delegate.dispatch(DelegateRequest("slow 5", timeout=1.0), observer=told)
    assert isinstance(result, TimedOut)
    assert (result.last_state, result.receipt) == ("working", CancelReceipt.CONFIRMED)
    assert result.effect is Effect.RAN
    assert watch.seconds < 1.0 + QUICKLY.timing.cleanup
    server.wait_for("cancelled", told.message_id)
    assert journal(server, told.message_id) == STOPPED


async def test_a_refused_cancel_is_told_as_what_the_peer_then_says(
    face: Face, server: Server
) -> None:
    told = Told()
    request = DelegateRequest("stubborn 2", timeout=0.7)
    async with delegate_to(server, face.version) as delegate:
        result = await delegate.dispatch(request, observer=told)
    if face.line == "a2a-sdk-1.3":
        # The server reports failed in the meantime; it will report completed. The first end stays.
        assert isinstance(result, Failed)
        assert result.late
    else:
        assert isinstance(result, TimedOut)
        assert result.receipt is CancelReceipt.REFUSED
    assert (result.effect, result.safe_to_retry) == (Effect.RAN, False)
    # The work goes on all the same, and nobody said that it had not begun.
    server.wait_for("done", told.message_id)
    assert journal(server, told.message_id) == WENT_ON


async def test_an_answer_that_comes_while_the_cancel_hangs_is_the_outcome(
    face: Face, server: Server
) -> None:
    told = Told()
    request = DelegateRequest("deaf 1.5", timeout=0.7)
    async with delegate_to(server, face.version) as delegate:
        result = await delegate.dispatch(request, observer=told)
    assert isinstance(result, Completed)
    assert (result.output, result.late) == ("deaf done", True)
    assert len(told.all(CancelSent)) == 1
    assert journal(server, told.message_id) == WENT_ON


async def test_a_cancel_that_hangs_longer_than_its_bound_is_unreached(
    face: Face, server: Server
) -> None:
    told, watch = Told(), Stopwatch()
    config = replace(QUICKLY, cancel_grace=0.4, recovery_grace=0.1)
    request = DelegateRequest("deaf 3", timeout=0.5)
    async with delegate_to(server, face.version, config=config) as delegate:
        result = await delegate.dispatch(request, observer=told)
        seconds = watch.seconds
    assert isinstance(result, TimedOut)
    assert (result.receipt, result.effect) == (CancelReceipt.UNREACHED, Effect.RAN)
    assert seconds < 0.5 + config.timing.cleanup + 0.5
    server.wait_for("done", told.message_id)
    assert journal(server, told.message_id) == WENT_ON


async def test_a_surrounding_fail_after_still_gets_an_outcome_with_a_handle(
    face: Face, server: Server
) -> None:
    told = Told()
    async with delegate_to(server, face.version) as delegate:
        with anyio.fail_after(2.0):
            result = await delegate.dispatch("slow 5", observer=told)
    assert isinstance(result, TimedOut)
    assert result.receipt is CancelReceipt.CONFIRMED
    assert result.handle is not None
    server.wait_for("cancelled", told.message_id)
    assert journal(server, told.message_id) == STOPPED


async def test_a_cancelled_scope_stops_the_work_at_the_peer(face: Face, server: Server) -> None:
    scope = anyio.CancelScope()
    told = Reacting(when=at_work, then=scope.cancel)
    async with delegate_to(server, face.version) as delegate:
        with scope:
            await delegate.dispatch("slow 5", observer=told)
    assert scope.cancelled_caught
    assert_settled_as_cancelled(told)
    server.wait_for("cancelled", told.message_id)
    assert journal(server, told.message_id) == STOPPED


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_timeout_of_asyncio_stops_the_work_at_the_peer(face: Face, server: Server) -> None:
    told = Told()
    async with delegate_to(server, face.version) as delegate:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1.0):
                await delegate.dispatch("slow 5", observer=told)
    assert_settled_as_cancelled(told)
    server.wait_for("cancelled", told.message_id)
    assert journal(server, told.message_id) == STOPPED
