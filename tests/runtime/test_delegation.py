"""A delegation beside its caller: the handle at once, updates, the outcome; and leaving early."""

from __future__ import annotations

import asyncio
import contextvars
import signal
from typing import TYPE_CHECKING

import anyio
import pytest
import trio
import trio.testing

from a2a_delegate import (
    Artifact,
    ArtifactChunk,
    Cancelled,
    CancelReceipt,
    Completed,
    DelegateCapabilities,
    DelegateCapabilityMismatchError,
    DelegateRequest,
    Delegation,
    DispatchOnly,
    Effect,
    Intent,
    Progress,
    Settled,
    StateSeen,
    TextPart,
    TimedOut,
    UsageError,
    delegate_from,
    open_delegation,
)
from a2a_delegate.testing import Delay, Operation, ScriptedPeer
from tests.runtime.staging import delegate_to
from tests.virtual_time import VirtualTimeLoop

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from a2a_delegate import CancelToken, DelegateResult, Observer

pytestmark = [pytest.mark.anyio, pytest.mark.virtual_time, pytest.mark.spec("OPEN-1")]


class Handmade(DispatchOnly):
    """A delegate that somebody else wrote: it only tells signals and does what it is made of."""

    id = "handmade"

    def __init__(
        self,
        work: Callable[[Observer], Awaitable[DelegateResult]],
        capabilities: DelegateCapabilities | None = None,
    ) -> None:
        self.capabilities = capabilities or DelegateCapabilities()
        self._work = work

    async def dispatch(
        self,
        request: DelegateRequest | str,
        *,
        cancel: CancelToken | None = None,
        observer: Observer | None = None,
    ) -> DelegateResult:
        del request, cancel
        assert observer is not None
        return await self._work(observer)


DONE = Completed(delegate_id="handmade", effect=Effect.RAN, output="done")


def cancels(peer: ScriptedPeer) -> list[tuple[str, int]]:
    return [(str(task.state), task.cancel_requests) for task in peer.truth.tasks]


@pytest.mark.spec("OPEN-1")
async def test_the_handle_is_there_before_a_byte_leaves() -> None:
    peer = ScriptedPeer()
    async with delegate_to(peer) as delegate, open_delegation(delegate, "work") as delegation:
        assert delegation.handle is not None
        assert delegation.handle.task_id is None
        assert peer.truth.sends == 0
        result = await delegation.result()
        assert isinstance(result, Completed)
        assert delegation.handle == result.handle
        assert delegation.handle.message_id in peer.truth.runs


async def test_the_handle_learns_the_task_while_it_runs() -> None:
    peer = ScriptedPeer()
    async with delegate_to(peer) as delegate, open_delegation(delegate, "slow 5") as delegation:
        await anyio.sleep(1)
        assert delegation.handle is not None
        assert delegation.handle.task_id == peer.truth.tasks[0].id
        assert (await delegation.result()).handle == delegation.handle


async def test_updates_come_in_order_and_end_with_the_delegation() -> None:
    peer, request = ScriptedPeer(), DelegateRequest("slow 2")
    async with delegate_to(peer) as delegate, open_delegation(delegate, request) as delegation:
        updates = [update async for update in delegation]
        result = await delegation.result()
    states = [update.state for update in updates if isinstance(update, StateSeen)]
    assert states == ["submitted", "working", "completed"]
    assert [str(one.message) for one in updates if isinstance(one, Progress)] == ["working on it"]
    (chunk,) = [one for one in updates if isinstance(one, ArtifactChunk)]
    assert chunk.artifact in result.artifacts
    with pytest.raises(StopAsyncIteration):
        await anext(delegation)


async def test_updates_are_read_after_the_outcome_as_well() -> None:
    peer = ScriptedPeer()
    async with delegate_to(peer) as delegate, open_delegation(delegate, "work") as delegation:
        await delegation.result()
        assert len([update async for update in delegation]) == 2


@pytest.mark.spec("OPEN-2")
async def test_a_slow_reader_misses_the_oldest_and_never_the_outcome() -> None:
    async def chat(observer: Observer) -> DelegateResult:
        observer(Intent(None))
        for number in range(5_000):
            observer(StateSeen("task", f"state {number}"))
        observer(Settled(DONE))
        return DONE

    async with open_delegation(Handmade(chat), "work") as delegation:
        assert delegation.handle is None
        updates = [update async for update in delegation]
        assert await delegation.result() is DONE
    assert len(updates) == 1_024
    assert updates[-1] == StateSeen("task", "state 4999")


@pytest.mark.spec("OPEN-1")
async def test_a_second_reader_is_refused_and_waits_for_nothing() -> None:
    async def work(request: DelegateRequest) -> str:
        await anyio.sleep(1)
        return request.prompt

    async def read() -> None:
        read_by_one.extend([update async for update in delegation])

    read_by_one: list[object] = []
    async with (
        open_delegation(delegate_from(work, id="f"), "work") as delegation,
        anyio.create_task_group() as group,
    ):
        group.start_soon(read)
        await anyio.sleep(0.5)
        with pytest.raises(UsageError, match="one reader at a time"):
            await anext(delegation)
    assert len(read_by_one) == 2


@pytest.mark.spec("OPEN-1")
async def test_a_reader_that_comes_late_is_shown_each_artifact_as_it_is_now() -> None:
    async def work(tell: Observer) -> DelegateResult:
        for number in range(100):
            for name in ("a", "b"):
                part = TextPart(f"{number}")
                tell(ArtifactChunk("t", Artifact(name, (part,))))
                tell(ArtifactChunk("t", Artifact("", (part,))))
        tell(ArtifactChunk("t", Artifact("b", (TextPart("more"),)), append=True))
        return DONE

    async with open_delegation(Handmade(work), "work") as delegation:
        assert await delegation.result() is DONE
        shown = [one.artifact for one in [update async for update in delegation]]  # type: ignore[union-attr]
    assert [(one.artifact_id, one.text) for one in shown if one.artifact_id] == [
        ("a", "99"),
        ("b", "99"),
        ("b", "more"),
    ]
    assert len(shown) == 3 + 200


@pytest.mark.spec("CXL-6")
async def test_leaving_early_cancels_at_the_peer() -> None:
    peer = ScriptedPeer()
    async with delegate_to(peer) as delegate:
        async with open_delegation(delegate, "stuck") as delegation:
            await anyio.sleep(2)
        assert cancels(peer) == [("canceled", 1)]
        result = await delegation.result()
    assert isinstance(result, Cancelled)
    assert result.receipt is CancelReceipt.CONFIRMED
    assert result.reason == "the block of the delegation was left"


@pytest.mark.spec("CXL-6")
async def test_leaving_at_once_sends_nothing() -> None:
    peer = ScriptedPeer()
    async with delegate_to(peer) as delegate:
        async with open_delegation(delegate, "stuck") as delegation:
            pass
        result = await delegation.result()
    assert isinstance(result, Cancelled)
    assert (result.effect, result.receipt) == (Effect.NOT_STARTED, CancelReceipt.NOT_NEEDED)
    assert peer.truth.sends == 0


@pytest.mark.spec("CXL-6")
async def test_an_exception_in_the_block_cancels_at_the_peer_and_goes_on() -> None:
    peer = ScriptedPeer()

    async def fail() -> None:
        async with delegate_to(peer) as delegate, open_delegation(delegate, "stuck"):
            await anyio.sleep(2)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail()
    assert cancels(peer) == [("canceled", 1)]


@pytest.mark.spec("CXL-6")
async def test_leaving_early_still_takes_the_answer_that_comes() -> None:
    peer = ScriptedPeer(("0.3",))
    peer.script(Operation.SEND, Delay(1.2))
    async with delegate_to(peer) as delegate:
        async with open_delegation(delegate, "hello") as delegation:
            await anyio.sleep(1)
        result = await delegation.result()
    assert isinstance(result, Completed)
    assert result.late


@pytest.mark.spec("CXL-6")
async def test_cancel_gives_the_outcome_with_the_callers_own_reason() -> None:
    peer, reason = ScriptedPeer(), object()
    async with delegate_to(peer) as delegate, open_delegation(delegate, "stuck") as delegation:
        await anyio.sleep(2)
        assert "running" in repr(delegation)
        result = await delegation.cancel(reason)
        assert isinstance(result, Cancelled)
        assert result.reason is reason
        assert await delegation.cancel("again") is result
        assert "settled" in repr(delegation)
        assert delegation.id in repr(delegation)


async def test_many_wait_for_one_result() -> None:
    peer, results = ScriptedPeer(), []
    async with delegate_to(peer) as delegate, open_delegation(delegate, "slow 2") as delegation:

        async def wait() -> None:
            results.append(await delegation.result())

        async with anyio.create_task_group() as group:
            for _ in range(3):
                group.start_soon(wait)
    assert len(results) == 3
    assert len(set(map(id, results))) == 1


@pytest.mark.spec("DEAD-1")
async def test_the_deadline_around_the_block_is_the_delegations_too() -> None:
    peer = ScriptedPeer()
    async with delegate_to(peer) as delegate:
        with anyio.fail_after(8):
            async with open_delegation(delegate, "stuck") as delegation:
                result = await delegation.result()
    assert isinstance(result, TimedOut)
    assert result.receipt is CancelReceipt.CONFIRMED


@pytest.mark.spec("CXL-6")
async def test_a_scope_that_ends_the_block_waits_for_the_cleanup() -> None:
    peer = ScriptedPeer()
    async with delegate_to(peer) as delegate:
        with anyio.CancelScope() as scope:
            async with open_delegation(delegate, "stuck") as delegation:
                await anyio.sleep(2)
                scope.cancel()
                await anyio.sleep(2)
        assert cancels(peer) == [("canceled", 1)]
        assert (await delegation.result()).status == "cancelled"


async def test_a_block_that_is_cancelled_before_it_is_entered_sends_nothing() -> None:
    peer = ScriptedPeer()
    async with delegate_to(peer) as delegate:
        with anyio.CancelScope() as scope:
            scope.cancel()
            async with open_delegation(delegate, "stuck"):
                await anyio.sleep(5)
        await anyio.sleep(5)
    assert peer.truth.requests == ()


@pytest.mark.spec("CXL-6")
def test_a_task_that_is_cancelled_on_entering_leaves_nothing_running() -> None:
    peer = ScriptedPeer()

    async def main() -> int:
        async def enter() -> None:
            async with delegate_to(peer) as delegate, open_delegation(delegate, "stuck"):
                await asyncio.sleep(100)

        task = asyncio.create_task(enter())
        for _ in range(2):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return len(asyncio.all_tasks())

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        assert runner.run(main()) == 1
    assert all(task.state == "canceled" for task in peer.truth.tasks)
    assert peer.truth.open == 0


@pytest.mark.spec("CXL-6")
def test_an_interrupt_on_entering_leaves_nothing_running() -> None:
    async def dawdle(observer: Observer) -> DelegateResult:
        del observer
        await anyio.sleep(0.5)
        return DONE

    async def interrupt() -> None:
        await trio.sleep(0.2)
        signal.raise_signal(signal.SIGINT)

    async def main() -> None:
        trio.lowlevel.spawn_system_task(interrupt)
        try:
            async with open_delegation(Handmade(dawdle), "work"):
                raise AssertionError
        finally:
            left.append(trio.current_time())

    left: list[float] = []
    with pytest.raises(KeyboardInterrupt):
        trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
    assert left == [pytest.approx(0.5)], "it was waited for"


@pytest.mark.spec("CXL-6", "RUN-6")
def test_the_end_of_the_loop_stops_the_peer() -> None:
    peer = ScriptedPeer()

    async def main() -> None:
        async def hold() -> None:
            async with delegate_to(peer) as delegate, open_delegation(delegate, "stuck"):
                await asyncio.sleep(100)

        background.append(asyncio.create_task(hold()))
        await asyncio.sleep(2)

    background: list[asyncio.Task[None]] = []
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        runner.run(main())
    assert cancels(peer) == [("canceled", 1)]


async def test_a_delegate_that_tells_nothing_is_waited_for_no_longer_than_a_second() -> None:
    async def dawdle(_: Observer) -> DelegateResult:
        await anyio.sleep(3)
        return DONE

    start = anyio.current_time()
    async with open_delegation(Handmade(dawdle), "work") as delegation:
        assert anyio.current_time() - start == pytest.approx(1)
        assert await delegation.result() is DONE


@pytest.mark.spec("OPEN-1")
async def test_the_work_sees_the_callers_context() -> None:
    name: contextvars.ContextVar[str] = contextvars.ContextVar("name", default="nobody")

    async def work(_: DelegateRequest) -> str:
        return name.get()

    name.set("somebody")
    async with open_delegation(delegate_from(work, id="work"), "go") as delegation:
        result = await delegation.result()
    assert isinstance(result, Completed)
    assert result.output == "somebody"


# -- misuse ----------------------------------------------------------------------------------------


@pytest.mark.spec("OPEN-3")
async def test_a_delegation_is_used_inside_its_block() -> None:
    delegation = Delegation(delegate_from(nothing, id="x"), DelegateRequest("work"))
    with pytest.raises(UsageError, match="open_delegation"):
        await delegation.result()
    with pytest.raises(UsageError, match="open_delegation"):
        await anext(delegation)


@pytest.mark.spec("OPEN-3")
async def test_one_call_opens_one_delegation() -> None:
    opened = open_delegation(delegate_from(nothing, id="x"), "work")
    async with opened:
        pass
    with pytest.raises(UsageError, match="for each one"):
        async with opened:
            pass


async def nothing(_: DelegateRequest) -> None:
    """Do nothing."""


@pytest.mark.spec("OPEN-3")
async def test_a_refused_request_is_raised_on_entering() -> None:
    async with delegate_to(ScriptedPeer()) as delegate:
        with pytest.raises(UsageError, match="arguments"):
            async with open_delegation(delegate, DelegateRequest(arguments={"n": 1})):
                raise AssertionError


@pytest.mark.spec("OPEN-3")
async def test_what_a_delegate_raises_against_its_contract_is_raised_once() -> None:
    async def break_down(observer: Observer) -> DelegateResult:
        observer(Intent(None))
        await anyio.sleep(1)
        raise ZeroDivisionError

    async def read() -> None:
        async with open_delegation(Handmade(break_down), "work") as delegation:
            assert [update async for update in delegation] == []

    with pytest.raises(ZeroDivisionError):
        await read()
    async with open_delegation(Handmade(break_down), "work") as delegation:
        with pytest.raises(ZeroDivisionError):
            await delegation.result()


@pytest.mark.spec("OPEN-3")
async def test_a_delegate_that_claims_what_it_has_not_is_refused() -> None:
    async def work(_: Observer) -> DelegateResult:
        return DONE

    with pytest.raises(DelegateCapabilityMismatchError):
        open_delegation(Handmade(work, DelegateCapabilities(resume=True)), "work")
