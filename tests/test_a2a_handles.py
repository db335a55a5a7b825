"""Handles: another delegate takes up what they stand for, looks at it, and stops it."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

import anyio
import pytest

from a2a_delegate import (
    Cancelled,
    CancelReceipt,
    CancelToken,
    Completed,
    DelegationHandle,
    Effect,
    Intent,
    Recovered,
    Running,
    TimedOut,
    Unknown,
)
from a2a_delegate.testing import (
    Delay,
    DropAfterAccepting,
    Honest,
    IgnoredCancel,
    Operation,
    RefusedCancel,
    Respond,
    ScriptedPeer,
    WorkState,
)
from tests.begun_tasks import VERSIONS, handle_of, only_task
from tests.runtime.staging import Notes, delegate_to, requests_of

pytestmark = [pytest.mark.anyio, pytest.mark.virtual_time]


@pytest.mark.spec("HAND-1")
@VERSIONS
async def test_another_delegate_follows_the_task_to_its_end(versions: tuple[str, ...]) -> None:
    peer, notes = ScriptedPeer(versions), Notes()
    handle = await handle_of(peer, "slow 8")
    async with delegate_to(peer) as delegate:
        result = await delegate.resume(handle, observer=notes)
    assert isinstance(result, Completed)
    assert notes.of(Intent) == [Intent(handle)]
    assert notes.kinds[-1] == "Settled"
    assert peer.truth.sends == 1


@pytest.mark.spec("HAND-2")
@VERSIONS
async def test_at_its_deadline_the_task_is_stopped(versions: tuple[str, ...]) -> None:
    peer = ScriptedPeer(versions)
    handle = await handle_of(peer, "stuck")
    async with delegate_to(peer, timeout=10) as delegate:
        start = anyio.current_time()
        result = await delegate.resume(handle)
    assert isinstance(result, TimedOut)
    assert result.receipt is CancelReceipt.CONFIRMED
    assert anyio.current_time() - start < 11
    assert only_task(peer) is WorkState.CANCELED


@pytest.mark.spec("HAND-2")
async def test_a_cancelled_token_stops_the_task() -> None:
    peer, token, reason = ScriptedPeer(), CancelToken(), object()
    handle = await handle_of(peer, "stuck")
    async with delegate_to(peer) as delegate:
        token.cancel(reason)
        result = await delegate.resume(handle, cancel=token)
    assert isinstance(result, Cancelled)
    assert result.reason is reason
    assert only_task(peer) is WorkState.CANCELED


@pytest.mark.spec("HAND-2")
async def test_a_plain_cancellation_stops_the_task() -> None:
    peer = ScriptedPeer()
    handle = await handle_of(peer, "stuck")
    async with delegate_to(peer) as delegate:
        with anyio.CancelScope() as scope:
            async with anyio.create_task_group() as group:
                group.start_soon(delegate.resume, handle)
                await anyio.sleep(3)
                scope.cancel()
    assert only_task(peer) is WorkState.CANCELED


@pytest.mark.spec("HAND-5")
@VERSIONS
async def test_one_look_changes_nothing(versions: tuple[str, ...]) -> None:
    peer = ScriptedPeer(versions)
    handle = await handle_of(peer, "slow 20")
    async with delegate_to(peer) as delegate:
        before = len(peer.truth.requests)
        running = await delegate.resume(handle, wait=False)
        assert len(peer.truth.requests) == before + 1
        await anyio.sleep(20)
        completed = await delegate.resume(handle, wait=False)
    assert isinstance(running, Running)
    assert running.last_state == "working"
    assert running.effect is Effect.RAN
    assert isinstance(completed, Completed)


@pytest.mark.spec("HAND-5")
async def test_a_look_that_the_caller_gives_up_stops_nothing() -> None:
    peer = ScriptedPeer()
    handle = await handle_of(peer, "slow 20")
    peer.script(Operation.GET, Delay(30.0))
    async with delegate_to(peer) as delegate:
        with anyio.move_on_after(1):
            await delegate.resume(handle, wait=False)
    assert requests_of(peer, Operation.CANCEL)[-1].when < anyio.current_time() - 0.5
    assert only_task(peer) is WorkState.WORKING


@pytest.mark.spec("HAND-4")
async def test_an_unknown_outcome_is_looked_up_again() -> None:
    peer, notes = ScriptedPeer(), Notes()
    peer.script(Operation.SEND, DropAfterAccepting())
    peer.always(Operation.LIST, Respond(500))
    async with delegate_to(peer) as delegate:
        unknown = await delegate.dispatch("slow 60")
    assert isinstance(unknown, Unknown)
    assert unknown.handle is not None
    assert unknown.handle.task_id is None
    peer.always(Operation.LIST, Honest())
    async with delegate_to(peer) as delegate:
        result = await delegate.resume(unknown.handle, observer=notes)
    assert isinstance(result, Completed)
    assert len(notes.of(Recovered)) == 1
    assert max(peer.truth.runs.values()) == 1


@pytest.mark.spec("HAND-4")
async def test_an_unknown_outcome_over_0_3_is_looked_up_at_the_1_0_face() -> None:
    peer = ScriptedPeer(("0.3", "1.0"))
    peer.script(Operation.SEND, DropAfterAccepting())
    peer.always(Operation.LIST, Respond(500))
    async with delegate_to(peer) as delegate:
        unknown = await delegate.dispatch("slow 60")
        peer.always(Operation.LIST, Honest())
        assert isinstance(unknown, Unknown)
        assert unknown.handle is not None
        assert unknown.handle.version == "0.3"
        result = await delegate.resume(unknown.handle)
    assert isinstance(result, Completed)


@pytest.mark.spec("HAND-4")
async def test_an_unknown_outcome_that_no_list_can_find_stays_unknown() -> None:
    peer = ScriptedPeer(("0.3",))
    peer.script(Operation.SEND, DropAfterAccepting())
    async with delegate_to(peer) as delegate:
        unknown = await delegate.dispatch("work")
        assert unknown.handle is not None
        before = len(peer.truth.requests)
        again = await delegate.resume(unknown.handle)
        looked = await delegate.resume(unknown.handle, wait=False)
        receipt = await delegate.cancel(unknown.handle)
    assert isinstance(again, Unknown)
    assert isinstance(looked, Unknown)
    assert again.effect is Effect.MAY_HAVE_RUN
    assert receipt is CancelReceipt.UNREACHED
    assert len(peer.truth.requests) == before, "there is nothing to ask for"


@pytest.mark.spec("HAND-4")
async def test_a_handle_may_say_any_time() -> None:
    peer = ScriptedPeer()
    async with delegate_to(peer) as delegate:
        handle = (await delegate.dispatch("work")).handle
        assert handle is not None
        for moment in ("0001-01-01T00:00:00+00:00", "9999-12-31T23:59:59+00:00"):
            odd = replace(
                handle, sent_at=datetime.fromisoformat(moment), task_id=None, context_id=None
            )
            kept = DelegationHandle.from_json(odd.to_json())
            assert isinstance(await delegate.resume(kept, wait=False), Unknown | Completed)
            assert await delegate.cancel(kept) in set(CancelReceipt)


@pytest.mark.spec("HAND-3")
@VERSIONS
async def test_a_task_is_stopped_by_its_handle(versions: tuple[str, ...]) -> None:
    peer = ScriptedPeer(versions)
    handle = await handle_of(peer, "stuck")
    async with delegate_to(peer) as delegate:
        receipt = await delegate.cancel(handle, "no longer needed")
        again = await delegate.cancel(handle)
    assert receipt is CancelReceipt.CONFIRMED
    assert again is CancelReceipt.CONFIRMED
    assert only_task(peer) is WorkState.CANCELED


@pytest.mark.spec("HAND-3")
@pytest.mark.parametrize("prompt", ["work", "fail", "reject"])
async def test_a_task_that_ended_is_left_alone(prompt: str) -> None:
    peer = ScriptedPeer()
    async with delegate_to(peer) as delegate:
        handle = (await delegate.dispatch(prompt)).handle
        assert handle is not None
        assert await delegate.cancel(handle) is CancelReceipt.NOT_NEEDED
        # As it was kept before the first byte left.
        assert await delegate.cancel(replace(handle, task_id=None)) is CancelReceipt.NOT_NEEDED
    assert requests_of(peer, Operation.CANCEL) == []


@pytest.mark.spec("HAND-3")
@pytest.mark.parametrize(
    ("behaviour", "receipt"),
    [
        (RefusedCancel(), CancelReceipt.REFUSED),
        (IgnoredCancel(), CancelReceipt.REQUESTED),
        (Respond(500), CancelReceipt.UNREACHED),
    ],
)
async def test_the_receipt_says_what_came_of_it(behaviour: Any, receipt: CancelReceipt) -> None:
    peer = ScriptedPeer()
    handle = await handle_of(peer, "stuck")
    peer.always(Operation.CANCEL, behaviour)
    async with delegate_to(peer) as delegate:
        start = anyio.current_time()
        assert await delegate.cancel(handle) is receipt
        assert anyio.current_time() - start <= 4.5
