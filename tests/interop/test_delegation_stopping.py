"""Delegations to real servers that somebody or the clock stops, and what the peer made of it."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread
import pytest

from a2a_delegate import (
    Cancelled,
    CancelReceipt,
    CancelSent,
    CancelToken,
    Completed,
    DelegateRequest,
    Effect,
    IdKnown,
    Intent,
    Settled,
    TimedOut,
)
from tests.interop.behaviours import Behaviour, Expected
from tests.interop.delegating import QUICKLY, Reacting, Stopwatch, Told, at_work
from tests.interop.peers import everywhere, on
from tests.interop.ways import WAYS

if TYPE_CHECKING:
    from tests.interop.peers import Peer

pytestmark = [pytest.mark.interop, pytest.mark.anyio]

FACES = ("a2a-sdk-1.3", "a2a-sdk-1.3 as 0.3", "a2a-sdk-0.3")
"""For what is ours alone, however the server answers."""

one_of_each_version = on(*FACES, ways=WAYS[:2])

STOPPED = {"receipt": CancelReceipt.CONFIRMED}


def assert_settled_as_cancelled(told: Told) -> None:
    """A plain cancellation returns nothing; the outcome is told all the same."""
    (settled,) = told.all(Settled)
    assert isinstance(settled.result, Cancelled)
    assert settled.result.receipt is CancelReceipt.CONFIRMED


@everywhere
async def test_a_token_stops_the_work_at_the_peer(peer: Peer) -> None:
    token, reason, working = CancelToken(), object(), anyio.Event()
    told = Reacting(when=at_work, then=working.set)

    async def cancel_when_it_works() -> None:
        while not told.signals:
            await anyio.lowlevel.checkpoint()
        await anyio.to_thread.run_sync(peer.server.wait_for, "execute", told.message_id)
        with anyio.move_on_after(1.0):  # a send that is held shows no state
            await working.wait()
        token.cancel(reason)

    async with anyio.create_task_group() as group:
        group.start_soon(cancel_when_it_works)
        ended = await peer.dispatch("slow 5", told=told, cancel=token)
    usual = Expected(Cancelled, work="cancelled", facts=STOPPED | {"reason": reason})
    peer.shows(Behaviour.CANCEL, ended, usual)


@everywhere
async def test_a_cancel_by_somebody_else_is_seen(peer: Peer) -> None:
    found = anyio.Event()
    told = Reacting(when=lambda signal: isinstance(signal, IdKnown), then=found.set)

    async def cancel_from_elsewhere() -> None:
        await found.wait()
        await anyio.to_thread.run_sync(peer.server.wait_for, "execute", told.message_id)
        (intent,), (known,) = told.all(Intent), told.all(IdKnown)
        assert intent.handle is not None
        async with peer.delegate() as other:
            await other.cancel(replace(intent.handle, task_id=known.task_id))

    async with anyio.create_task_group() as group:
        group.start_soon(cancel_from_elsewhere)
        ended = await peer.dispatch("slow 3", told=told)
        group.cancel_scope.cancel()
    usual = Expected(Cancelled, work="cancelled", facts={"by": "peer"})
    peer.shows(Behaviour.STOPPED_BY_OTHERS, ended, usual)


@everywhere
async def test_the_deadline_stops_the_work_at_the_peer(peer: Peer) -> None:
    watch = Stopwatch()
    ended = await peer.dispatch(DelegateRequest("slow 5", timeout=0.7))
    assert watch.seconds < 0.7 + QUICKLY.timing.cleanup + 1.0
    usual = Expected(TimedOut, work="cancelled", facts=STOPPED)
    peer.shows(Behaviour.DEADLINE, ended, usual)


@everywhere
async def test_a_refused_cancel_is_told_as_what_the_peer_then_says(peer: Peer) -> None:
    ended = await peer.dispatch(DelegateRequest("stubborn 1.5", timeout=0.6))
    assert not ended.result.safe_to_retry
    usual = Expected(TimedOut, facts={"receipt": CancelReceipt.REFUSED})
    peer.shows(Behaviour.REFUSE, ended, usual)


@everywhere
async def test_an_answer_that_comes_while_the_cancel_hangs_is_the_outcome(peer: Peer) -> None:
    told = Told()
    ended = await peer.dispatch(DelegateRequest("deaf 1.2", timeout=0.6), told=told)
    peer.shows(Behaviour.HANG, ended, Expected(Completed, "deaf done", late=True))
    assert len(told.all(CancelSent)) <= 1


@one_of_each_version
async def test_a_cancel_before_the_send_leaves_nothing_at_the_peer(peer: Peer) -> None:
    token = CancelToken()
    token.cancel("changed my mind")
    ended = await peer.dispatch("quick", cancel=token)
    facts = {"reason": "changed my mind", "receipt": CancelReceipt.NOT_NEEDED, "handle": None}
    Expected(Cancelled, work="nothing", effect=Effect.NOT_STARTED, facts=facts).check(ended)
    assert not any(attempt.body_left for attempt in ended.result.attempts)


@one_of_each_version
async def test_a_cancel_that_hangs_longer_than_its_bound_is_unreached(peer: Peer) -> None:
    told, watch = Told(), Stopwatch()
    config = replace(peer.config, cancel_grace=0.4, recovery_grace=0.1)
    async with peer.delegate(config=config) as delegate:
        result = await delegate.dispatch(DelegateRequest("deaf 2", timeout=0.5), observer=told)
        seconds = watch.seconds
    assert seconds < 0.5 + config.timing.cleanup + 0.5
    facts = {"receipt": CancelReceipt.UNREACHED}
    Expected(TimedOut, facts=facts).check(peer.ended(told, result))


@one_of_each_version
async def test_a_surrounding_fail_after_still_gets_an_outcome_with_a_handle(peer: Peer) -> None:
    with anyio.fail_after(2.0):
        ended = await peer.dispatch("slow 5")
    Expected(TimedOut, work="cancelled", facts=STOPPED).check(ended)
    assert ended.result.handle is not None


@one_of_each_version
async def test_a_cancelled_scope_stops_the_work_at_the_peer(peer: Peer) -> None:
    scope = anyio.CancelScope()
    told = Reacting(when=at_work, then=scope.cancel)
    with scope:
        await peer.dispatch("slow 5", told=told)
    assert scope.cancelled_caught
    assert_settled_as_cancelled(told)
    peer.server.wait_for("cancelled", told.message_id)
    assert peer.server.runs(told.message_id) == 1


@on(*FACES, ways=WAYS[:2], loops=("asyncio",))
async def test_a_timeout_of_asyncio_stops_the_work_at_the_peer(peer: Peer) -> None:
    told = Told()
    async with peer.delegate() as delegate:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1.0):
                await delegate.dispatch("slow 5", observer=told)
    assert_settled_as_cancelled(told)
    peer.server.wait_for("cancelled", told.message_id)
    assert peer.server.runs(told.message_id) == 1
