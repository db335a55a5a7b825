"""The one deadline: ours, or that of the scope around the call, whichever is nearer."""

from __future__ import annotations

import asyncio
import math

import anyio
import pytest

from a2a_delegate import (
    CancelReceipt,
    DelegateRequest,
    Effect,
    Failed,
    PeerUnreachableError,
    TimedOut,
    Unknown,
)
from a2a_delegate.runtime.deadlines import nearer_deadline
from a2a_delegate.testing import Delay, Hang, Operation, RefuseConnection, Respond, ScriptedPeer
from tests.runtime.staging import Notes, delegate_to, requests_of
from tests.virtual_time import VirtualTimeLoop

pytestmark = [pytest.mark.anyio, pytest.mark.virtual_time]

CLEANUP = 4.5


async def test_without_a_scope_it_is_ours() -> None:
    assert nearer_deadline(now=100.0, timeout=7.0, cleanup=CLEANUP) == 107.0
    assert nearer_deadline(now=100.0, timeout=None, cleanup=CLEANUP) is None


@pytest.mark.spec("DEAD-1")
@pytest.mark.parametrize(
    ("scope", "ours", "expected"),
    [
        (100.0, 7.0, 7.0),  # ours is nearer, and stays as it is
        (7.0, 7.0, 7.0),
        (4.0, None, 3.0),  # a quarter of what is left
        (4.0, 3.5, 3.5),  # ours is nearer, if not by much
        (18.0, None, 13.5),  # a quarter is just the bound of cleaning up
        (100.0, None, 95.5),  # the bound of cleaning up is less than a quarter
        (math.inf, None, None),
        (math.inf, 3.0, 3.0),
    ],
)
async def test_a_nearer_scope_leaves_time_to_clean_up(
    scope: float, ours: float | None, expected: float | None
) -> None:
    now = anyio.current_time()
    with anyio.CancelScope(deadline=now + scope, shield=True):  # noqa: ASYNC100 - asked, not waited
        found = nearer_deadline(now=now, timeout=ours, cleanup=CLEANUP)
    assert found == (None if expected is None else pytest.approx(now + expected))


async def test_of_several_scopes_the_nearest_counts() -> None:
    now = anyio.current_time()
    with anyio.CancelScope(deadline=now + 8), anyio.CancelScope(deadline=now + 80):  # noqa: ASYNC100
        found = nearer_deadline(now=now, timeout=600, cleanup=CLEANUP)
    assert found == pytest.approx(now + 6)


@pytest.mark.spec("DEAD-1")
async def test_a_scope_that_is_cancelled_leaves_no_time() -> None:
    now = anyio.current_time()
    with anyio.CancelScope() as scope:  # noqa: ASYNC100 - asked, not waited
        scope.cancel()
        found = nearer_deadline(now=now, timeout=600, cleanup=CLEANUP)
    assert found is not None
    assert found <= now


@pytest.mark.spec("DEAD-1")
@pytest.mark.parametrize("seconds", [2.0, 8.0, 60.0])
async def test_a_caller_who_says_when_gets_an_outcome_with_a_handle(seconds: float) -> None:
    peer, start = ScriptedPeer(), anyio.current_time()
    async with delegate_to(peer) as delegate:
        with anyio.fail_after(seconds):
            result = await delegate.dispatch("stuck")
    assert isinstance(result, TimedOut)
    assert (result.receipt, result.last_state) == (CancelReceipt.CONFIRMED, "working")
    assert result.handle is not None
    assert result.handle.task_id == peer.truth.tasks[0].id
    expected = seconds - min(CLEANUP, seconds / 4)
    assert anyio.current_time() - start == pytest.approx(expected, abs=0.1)


@pytest.mark.spec("DEAD-1")
def test_a_timeout_of_asyncio_says_nothing_and_still_stops_the_peer() -> None:
    peer = ScriptedPeer()

    async def main() -> None:
        async with delegate_to(peer) as delegate:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(2):
                    await delegate.dispatch("stuck")

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        runner.run(main())
    assert peer.truth.tasks[0].state == "canceled"


@pytest.mark.spec("DEAD-1")
async def test_a_scope_that_has_expired_sends_nothing() -> None:
    peer, seen = ScriptedPeer(), Notes()
    async with delegate_to(peer) as delegate:
        with anyio.move_on_after(0) as scope:
            await delegate.dispatch("work", observer=seen)
    assert scope.cancelled_caught
    assert (peer.truth.requests, seen.signals) == ((), [])


@pytest.mark.spec("DEAD-3")
@pytest.mark.parametrize("operation", [Operation.SEND, Operation.GET, Operation.CANCEL])
async def test_one_request_that_hangs_does_not_outlast_the_deadline(operation: Operation) -> None:
    peer, start = ScriptedPeer(), anyio.current_time()
    peer.script(operation, Hang())
    async with delegate_to(peer) as delegate:
        result = await delegate.dispatch(DelegateRequest("stuck", timeout=2))
    assert isinstance(result, TimedOut)
    assert anyio.current_time() - start <= 2 + CLEANUP


@pytest.mark.spec("DEAD-3")
async def test_a_connection_that_never_comes_about_does_not_outlast_the_deadline() -> None:
    peer, start = ScriptedPeer(), anyio.current_time()
    peer.always(Operation.SEND, Delay(3600, RefuseConnection()))
    async with delegate_to(peer) as delegate:
        result = await delegate.dispatch(DelegateRequest("work", timeout=2))
    assert isinstance(result, Failed)
    assert isinstance(result.error, PeerUnreachableError)
    assert result.effect is Effect.NOT_STARTED
    assert anyio.current_time() - start == pytest.approx(2, abs=0.01)


@pytest.mark.spec("DEAD-3")
async def test_a_pause_that_the_peer_asks_for_does_not_outlast_the_deadline() -> None:
    peer, start = ScriptedPeer(), anyio.current_time()
    peer.always(Operation.GET, Respond(503, {"retry-after": "3600"}))
    async with delegate_to(peer) as delegate:
        result = await delegate.dispatch(DelegateRequest("stuck", timeout=5))
    assert isinstance(result, TimedOut)
    assert len(requests_of(peer, Operation.GET)) == 1
    assert anyio.current_time() - start == pytest.approx(5, abs=0.1)


@pytest.mark.spec("DEAD-2")
@pytest.mark.parametrize("versions", [("1.0",), ("0.3",)], ids="+".join)
async def test_everything_that_hangs_takes_no_longer_than_the_graces(
    versions: tuple[str, ...],
) -> None:
    peer, start = ScriptedPeer(versions), anyio.current_time()
    for operation in (Operation.SEND, Operation.LIST, Operation.CANCEL, Operation.GET):
        peer.always(operation, Hang(deaf=True))
    async with delegate_to(peer) as delegate:
        result = await delegate.dispatch(DelegateRequest("stuck", timeout=3))
        assert isinstance(result, Unknown)
        assert anyio.current_time() - start <= 3 + CLEANUP
        peer.release()


@pytest.mark.spec("DEAD-1")
async def test_a_delegation_without_a_deadline_waits_for_hours() -> None:
    peer, start = ScriptedPeer(), anyio.current_time()
    async with delegate_to(peer, timeout=None) as delegate:
        result = await delegate.dispatch("slow 20000")
    assert result.status == "completed"
    assert anyio.current_time() - start == pytest.approx(20_000, abs=31)
    assert len(result.attempts) == 64
    assert result.attempts[0].operation == "send"
