"""Stopping: what the peer is told when nobody waits any more, and what is said of it."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

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
    TaskFailedError,
    TimedOut,
    Unknown,
    delegate_from,
    open_delegation,
)
from a2a_delegate.testing import (
    Delay,
    DropAfterAccepting,
    DropBeforeReading,
    Hang,
    Honest,
    IgnoredCancel,
    LyingCancel,
    Operation,
    RefuseConnection,
    RefusedCancel,
    Respond,
    RpcError,
    ScriptedPeer,
    WorkState,
)
from tests.reports.staging import VERSIONS, Notes, changed, delegate_of, remade, requests_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from a2a_delegate import A2ADelegate, DelegateResult
    from a2a_delegate.testing import Behaviour
    from tests.reports.staging import Json

pytestmark = [pytest.mark.anyio, pytest.mark.virtual_time]

GRACE = 0.5
"""`recovery_grace`: how long a send in flight may still show an id."""


async def cancelled_after(
    seconds: float, delegate: A2ADelegate, prompt: str, notes: Notes | None = None
) -> DelegateResult:
    """Dispatch, and cancel by a token after some seconds."""
    token = CancelToken()
    async with anyio.create_task_group() as group:

        async def cancel() -> None:
            await anyio.sleep(seconds)
            token.cancel("enough")

        group.start_soon(cancel)
        result = await delegate.dispatch(prompt, cancel=token, observer=notes)
        group.cancel_scope.cancel()
    return result


def states(*peers: ScriptedPeer) -> list[WorkState]:
    """Return the true states of all tasks."""
    return [task.state for peer in peers for task in peer.truth.tasks]


# -- a cancel before the id is known ---------------------------------------------------------------


@pytest.mark.report("C1", "C5", "P37")
@VERSIONS
@pytest.mark.parametrize("hold", [0.3, 0.5, 0.69])
async def test_an_id_that_comes_in_the_grace_is_cancelled(version: str, hold: float) -> None:
    peer = ScriptedPeer((version,), lists=False)
    peer.script(Operation.SEND, Delay(hold))
    async with delegate_of(peer) as delegate:
        result = await cancelled_after(0.2, delegate, "stuck")
    assert isinstance(result, Cancelled)
    assert (result.by, result.reason, result.receipt) == ("caller", "enough", "confirmed")
    assert states(peer) == [WorkState.CANCELED]
    assert (peer.truth.sends, peer.truth.cancels, peer.truth.open) == (1, 1, 0)


@pytest.mark.report("C1", "C5", "P37")
@pytest.mark.parametrize("versions", [("1.0",), ("0.3", "1.0")], ids="+".join)
@pytest.mark.parametrize("answer", [Delay(1), Delay(60), Hang()], ids=repr)
async def test_a_task_whose_id_does_not_come_is_looked_for_and_cancelled(
    versions: tuple[str, ...], answer: Behaviour
) -> None:
    peer = ScriptedPeer(versions)
    peer.script(Operation.SEND, answer)
    async with delegate_of(peer) as delegate:
        began = anyio.current_time()
        result = await cancelled_after(0.2, delegate, "stuck")
        took = anyio.current_time() - began
    assert isinstance(result, Cancelled)
    assert (result.receipt, result.effect) == (CancelReceipt.CONFIRMED, Effect.RAN)
    assert states(peer) == [WorkState.CANCELED]
    assert took <= 0.2 + GRACE + 2 * 2.0


@pytest.mark.report("C1", "C5")
async def test_a_task_that_nobody_can_find_is_said_to_be_unreached() -> None:
    peer = ScriptedPeer(("0.3",))
    peer.script(Operation.SEND, Delay(1))
    async with delegate_of(peer) as delegate:
        result = await cancelled_after(0.2, delegate, "stuck")
    assert isinstance(result, Cancelled)
    assert (result.receipt, result.effect) == (CancelReceipt.UNREACHED, Effect.MAY_HAVE_RUN)
    assert states(peer) == [WorkState.WORKING], "and that is the truth"


@pytest.mark.report("C1", "C5")
@VERSIONS
@pytest.mark.parametrize(
    "answer",
    [Delay(5, before_reading=True), Delay(5, RefuseConnection()), Delay(5, DropBeforeReading())],
    ids=repr,
)
async def test_a_send_that_has_not_left_is_not_waited_for_and_nothing_was_begun(
    version: str, answer: Behaviour
) -> None:
    peer = ScriptedPeer((version,))
    peer.script(Operation.SEND, answer)
    async with delegate_of(peer) as delegate:
        began = anyio.current_time()
        result = await cancelled_after(0.2, delegate, "stuck")
        assert anyio.current_time() - began < 0.2 + GRACE
        await anyio.sleep(3600)
    assert isinstance(result, Cancelled)
    assert (result.receipt, result.effect) == (CancelReceipt.NOT_NEEDED, Effect.NOT_STARTED)
    assert result.handle is None
    assert not peer.truth.runs


@pytest.mark.report("C1", "C5")
@VERSIONS
async def test_the_grace_is_the_callers_to_choose(version: str) -> None:
    peer = ScriptedPeer((version,), lists=False)
    peer.script(Operation.SEND, Delay(4))
    async with delegate_of(peer, recovery_grace=5) as delegate:
        result = await cancelled_after(0.2, delegate, "stuck")
    assert isinstance(result, Cancelled)
    assert result.receipt is CancelReceipt.CONFIRMED
    assert states(peer) == [WorkState.CANCELED]


# -- whatever stops it, the peer is told -----------------------------------------------------------


@pytest.mark.report("C2")
@VERSIONS
@pytest.mark.parametrize("limit", [0.2, 3, 100])
async def test_a_deadline_cancels_at_the_peer_and_gives_an_outcome(
    version: str, limit: float
) -> None:
    peer, notes = ScriptedPeer((version,)), Notes()
    async with delegate_of(peer) as delegate:
        request = DelegateRequest("stuck", timeout=limit)
        result = await delegate.dispatch(request, observer=notes)
    assert isinstance(result, TimedOut)
    assert (result.last_state, result.receipt) == (
        "submitted" if limit < 1 else "working",
        "confirmed",
    )
    assert notes.of(CancelSent) == [CancelSent(peer.truth.tasks[0].id)]
    assert states(peer) == [WorkState.CANCELED]


@pytest.mark.report("C2")
@VERSIONS
async def test_a_deadline_of_the_callers_scope_gives_an_outcome_before_it(version: str) -> None:
    peer = ScriptedPeer((version,))
    async with delegate_of(peer) as delegate:
        with anyio.fail_after(8):
            result = await delegate.dispatch("stuck")
    assert isinstance(result, TimedOut)
    assert result.receipt is CancelReceipt.CONFIRMED
    assert result.handle is not None
    assert states(peer) == [WorkState.CANCELED]


@pytest.mark.report("C2", "P37")
@VERSIONS
@pytest.mark.parametrize("seconds", [0.0, 0.2, 3])
async def test_a_cancelled_scope_still_gets_its_cleanup_done(version: str, seconds: float) -> None:
    peer = ScriptedPeer((version,))
    async with delegate_of(peer) as delegate:
        with anyio.CancelScope() as scope:
            async with anyio.create_task_group() as group:
                group.start_soon(delegate.dispatch, "stuck")
                await anyio.sleep(seconds)
                scope.cancel()
        assert scope.cancelled_caught
    # What had not begun is not begun for the sake of being stopped.
    assert set(states(peer)) <= {WorkState.CANCELED}
    assert peer.truth.sends == len(states(peer)) == (0 if seconds == 0 else 1)
    assert peer.truth.open == 0


@pytest.mark.report("C2", "P37")
@VERSIONS
@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("seconds", [0.2, 3])
async def test_cancelling_the_task_itself_cannot_cut_the_cleanup(
    version: str, times: int, seconds: float, anyio_backend_name: str
) -> None:
    peer = ScriptedPeer((version,))
    peer.always(Operation.CANCEL, Delay(1))
    async with delegate_of(peer) as delegate:
        if anyio_backend_name == "asyncio":
            task = asyncio.ensure_future(delegate.dispatch("stuck"))
            await anyio.sleep(seconds)
            for _ in range(times):
                task.cancel()
                await anyio.sleep(0.1)
            with pytest.raises(asyncio.CancelledError):
                await task
        else:  # there is only one way to cancel a task of trio
            with anyio.move_on_after(seconds + 30):
                async with anyio.create_task_group() as group:
                    group.start_soon(delegate.dispatch, "stuck")
                    await anyio.sleep(seconds)
                    for _ in range(times):
                        group.cancel_scope.cancel()
    assert states(peer) == [WorkState.CANCELED]


@pytest.mark.report("C3")
@VERSIONS
@pytest.mark.parametrize("way", ["break", "raise", "leave"])
async def test_whoever_stops_reading_stops_the_work(version: str, way: str) -> None:
    peer = ScriptedPeer((version,))
    async with delegate_of(peer) as delegate:
        with pytest.raises(ZeroDivisionError) if way == "raise" else contextlib.nullcontext():
            async with open_delegation(delegate, "stuck") as delegation:
                async for _ in delegation:
                    if way == "raise":
                        _ = 1 / 0
                    break
                if way == "leave":
                    await anyio.sleep(5)
        result = await delegation.result()
    assert isinstance(result, Cancelled)
    assert result.receipt is CancelReceipt.CONFIRMED
    assert states(peer) == [WorkState.CANCELED]
    assert peer.truth.open == 0


@pytest.mark.report("C4", "M9")
@VERSIONS
@pytest.mark.parametrize("by", ["cancel", "deadline"])
async def test_stopping_the_first_of_a_chain_stops_the_last(version: str, by: str) -> None:
    last = ScriptedPeer((version,))
    async with delegate_of(last) as delegate_d:

        async def c(request: DelegateRequest) -> DelegateResult:
            return await delegate_d.dispatch(request.prompt)

        async def b(request: DelegateRequest) -> DelegateResult:
            return await delegate_from(c, id="c").dispatch(request)

        delegate = delegate_from(b, id="b")
        token = CancelToken()
        async with anyio.create_task_group() as group:

            async def cancel() -> None:
                await anyio.sleep(3)
                token.cancel("enough")

            if by == "cancel":
                group.start_soon(cancel)
            limit = None if by == "cancel" else 3
            request = DelegateRequest("stuck", timeout=limit)
            result = await delegate.dispatch(request, cancel=token)
    assert isinstance(result, Cancelled | TimedOut)
    assert states(last) == [WorkState.CANCELED]


@pytest.mark.report("C15")
@VERSIONS
@pytest.mark.parametrize("by", ["token", "scope", "deadline"])
async def test_a_parent_that_stops_stops_all_its_children(version: str, by: str) -> None:
    peers = [ScriptedPeer((version,)) for _ in range(3)]
    token = CancelToken()

    async def delegate_one(peer: ScriptedPeer) -> None:
        async with delegate_of(peer, timeout=3 if by == "deadline" else None) as delegate:
            await delegate.dispatch("stuck", cancel=token)

    async with anyio.create_task_group() as group:
        for peer in peers:
            group.start_soon(delegate_one, peer)
        await anyio.sleep(3)
        if by == "token":
            token.cancel()
        elif by == "scope":
            group.cancel_scope.cancel()
    assert states(*peers) == [WorkState.CANCELED] * 3
    assert [peer.truth.cancels for peer in peers] == [1, 1, 1]


# -- what a peer makes of a cancel -----------------------------------------------------------------


@pytest.mark.report("C6")
@VERSIONS
async def test_a_confirmed_cancel_says_nothing_of_the_effect(version: str) -> None:
    peer = ScriptedPeer((version,))
    peer.script(Operation.CANCEL, LyingCancel())
    async with delegate_of(peer) as delegate:
        result = await cancelled_after(2.5, delegate, "slow 4")
    assert isinstance(result, Cancelled)
    assert (result.receipt, result.effect) == (CancelReceipt.CONFIRMED, Effect.RAN)
    assert not result.safe_to_retry
    await anyio.sleep(4)
    assert states(peer) == [WorkState.COMPLETED], "the peer lied, and the outcome is still true"


@pytest.mark.report("C8", "C10")
@VERSIONS
@pytest.mark.parametrize("prompt", ["stuck", "slow 1000"])
async def test_a_cancel_that_changes_nothing_is_only_requested(version: str, prompt: str) -> None:
    peer = ScriptedPeer((version,))
    peer.always(Operation.CANCEL, IgnoredCancel())
    async with delegate_of(peer) as delegate:
        began = anyio.current_time()
        result = await cancelled_after(3, delegate, prompt)
        took = anyio.current_time() - began
    assert isinstance(result, Cancelled)
    assert (result.receipt, result.effect) == (CancelReceipt.REQUESTED, Effect.RAN)
    assert 3 < took <= 3 + 2 * 2.0
    last = peer.truth.requests[-1].operation
    assert last is Operation.GET, "the state after it was looked at"


@pytest.mark.report("C8", "C10")
@VERSIONS
@pytest.mark.parametrize(
    "make",
    [
        lambda task: task,
        lambda task: {"task": task},
        lambda task: {**task, "kind": "task"},
        lambda task: {**task, "status": {"state": "cancelled"}},
        lambda task: {**task, "status": {"state": "TASK_STATE_CANCELLED"}},
        lambda task: {**task, "status": {"state": "working"}},
        lambda task: {**task, "status": None},
        lambda task: {**task, "id": "another"},
        lambda _: {},
        lambda _: None,
        lambda _: {"success": True},
        lambda _: {"messageId": "m", "role": "agent", "parts": [{"text": "cancelled"}]},
    ],
    ids=range(12),
)
async def test_a_cancel_that_was_obeyed_is_confirmed_however_it_was_answered(
    version: str, make: Callable[[Json], Any]
) -> None:
    peer = ScriptedPeer((version,))
    peer.script(Operation.CANCEL, remade(make))
    async with delegate_of(peer) as delegate:
        result = await cancelled_after(3, delegate, "stuck")
    assert isinstance(result, Cancelled)
    assert result.receipt is CancelReceipt.CONFIRMED
    assert states(peer) == [WorkState.CANCELED]
    assert peer.truth.cancels == 1


@pytest.mark.report("C8", "C10")
@VERSIONS
@pytest.mark.parametrize(
    ("answer", "receipt"),
    [
        (RefusedCancel(), "refused"),
        (RpcError(-32002, "not cancelable", status=409), "refused"),
        (RpcError(-32001, "no such task"), "refused"),
        (RpcError(-32601, "Method not found"), "refused"),
        (RpcError(-32004, "not supported"), "refused"),
        (Respond(500), "unreached"),
        (DropAfterAccepting(), "confirmed"),
        (Hang(accepts=False), "unreached"),
    ],
    ids=repr,
)
async def test_a_cancel_that_fails_says_how(version: str, answer: Behaviour, receipt: str) -> None:
    peer = ScriptedPeer((version,))
    peer.always(Operation.CANCEL, answer)
    async with delegate_of(peer) as delegate:
        result = await cancelled_after(3, delegate, "stuck")
    assert isinstance(result, Cancelled)
    assert (result.receipt, result.effect) == (receipt, Effect.RAN)


@pytest.mark.report("C12")
@VERSIONS
@pytest.mark.parametrize(
    "answer",
    [
        Honest(),
        RpcError(-32002, "Task cannot be canceled", status=409),
        RpcError(-32001, "Task not found"),
        RpcError(-32603, "it has ended"),
        Respond(409),
        DropAfterAccepting(),
    ],
    ids=repr,
)
async def test_a_task_that_completed_while_it_was_cancelled_is_completed(
    version: str, answer: Behaviour
) -> None:
    peer = ScriptedPeer((version,))
    peer.script(Operation.CANCEL, answer)
    async with delegate_of(peer, poll_interval=1.9) as delegate:
        result = await cancelled_after(2.05, delegate, "slow 2")
    assert requests_of(peer, Operation.CANCEL), "the cancel came after the end"
    if states(peer) == [WorkState.CANCELED]:
        # A server of 0.2 lets a cancel overwrite the end, and nobody can be shown the answer.
        assert isinstance(result, Cancelled)
        assert (version, result.effect) == ("0.2", Effect.RAN)
        return
    assert isinstance(result, Completed)
    assert (result.output, result.late) == ("result of slow 2", True)


@pytest.mark.report("C14")
@VERSIONS
async def test_a_task_that_our_cancel_made_fail_is_late_and_had_begun(version: str) -> None:
    def fail(task: dict[str, object]) -> None:
        task["status"] = {"state": "TASK_STATE_FAILED" if version == "1.0" else "failed"}

    peer = ScriptedPeer((version,))
    peer.always(Operation.CANCEL, changed(fail))
    async with delegate_of(peer) as delegate:
        result = await cancelled_after(2.5, delegate, "stuck")
    assert isinstance(result, Failed)
    assert isinstance(result.error, TaskFailedError)
    assert (result.late, result.effect) == (True, Effect.RAN)


@pytest.mark.report("C14", "P37")
@VERSIONS
async def test_hanging_up_is_no_cancel_and_the_peer_gets_one_by_name(version: str) -> None:
    peer = ScriptedPeer((version,))
    async with delegate_of(peer) as delegate, anyio.create_task_group() as group:
        group.start_soon(delegate.dispatch, "stuck")
        peer.always(Operation.GET, Hang())
        await anyio.sleep(2.5)
        group.cancel_scope.cancel()
    assert [task.cancel_requests for task in peer.truth.tasks] == [1]


@pytest.mark.report("C2", "C10")
@VERSIONS
async def test_everything_that_hangs_ends_in_a_bound(version: str) -> None:
    peer = ScriptedPeer((version,))
    for operation in (Operation.SEND, Operation.GET, Operation.LIST, Operation.CANCEL):
        peer.always(operation, Hang())
    async with delegate_of(peer, timeout=3) as delegate:
        began = anyio.current_time()
        result = await delegate.dispatch("stuck")
        took = anyio.current_time() - began
    assert isinstance(result, Unknown)
    assert result.effect is Effect.MAY_HAVE_RUN
    assert took <= 3 + GRACE + 2 * 2.0
