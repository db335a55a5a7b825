"""Tasks that only their owner cancels, and the bell that wakes a task."""

from __future__ import annotations

import asyncio
import gc
from typing import TYPE_CHECKING

import anyio
import anyio.lowlevel
import pytest
import trio

from a2a_delegate.runtime.owner import Bell, OwnedTask, uninterrupted
from tests.virtual_time import VirtualTimeLoop

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

pytestmark = [pytest.mark.anyio, pytest.mark.virtual_time, pytest.mark.spec("RUN-4")]


async def sleep_for_ever() -> None:
    await anyio.sleep_forever()


async def ended(task: OwnedTask) -> None:
    """Wait until a task has ended, for a bounded time."""
    with anyio.fail_after(100):
        while not task.finished:
            await task.wait()


async def steps(number: int = 5) -> None:
    """Let everything that is ready go on."""
    for _ in range(number):
        await anyio.lowlevel.checkpoint()


# -- the bell --------------------------------------------------------------------------------------


async def test_a_bell_wakes_who_waits() -> None:
    bell, start = Bell(), anyio.current_time()
    async with anyio.create_task_group() as group:
        group.start_soon(bell.wait)
        await anyio.sleep(1)
        bell.ring()
    assert anyio.current_time() - start == pytest.approx(1)


async def test_a_bell_that_rang_before_is_not_waited_for() -> None:
    bell, start = Bell(), anyio.current_time()
    bell.ring()
    bell.ring()
    await bell.wait()
    assert anyio.current_time() == start
    with anyio.move_on_after(1) as scope:
        await bell.wait()
    assert scope.cancelled_caught, "two rings before a wait are one"


@pytest.mark.parametrize("seconds", [2.0, 0.0, -1.0])
async def test_a_wait_ends_at_its_moment(seconds: float) -> None:
    bell, start = Bell(), anyio.current_time()
    await bell.wait(start + seconds)
    assert anyio.current_time() - start == pytest.approx(max(seconds, 0.0))


async def test_a_ring_in_the_step_of_a_cancellation_is_not_lost() -> None:
    bell = Bell()
    with anyio.CancelScope() as scope:
        async with anyio.create_task_group() as group:

            async def ring_and_cancel() -> None:
                await steps(1)
                bell.ring()
                scope.cancel()

            group.start_soon(ring_and_cancel)
            await bell.wait(anyio.current_time() + 50)
    start = anyio.current_time()
    with anyio.move_on_after(1):
        await bell.wait()
    # It may have been heard before the cancellation; it is never heard late.
    assert anyio.current_time() - start in (0, pytest.approx(1))


@pytest.mark.spec("CXL-2")
def test_trap_a_bell_rings_inside_a_callback_of_the_loop() -> None:
    async def main() -> float:
        bell = Bell()
        asyncio.get_running_loop().call_later(3, bell.ring)
        await bell.wait()
        return anyio.current_time()

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        assert runner.run(main()) == 3


# -- owned tasks -----------------------------------------------------------------------------------


async def test_a_task_runs_at_once_and_tells_when_it_has_ended() -> None:
    told: list[str] = []

    async def work() -> None:
        told.append("works")

    task = OwnedTask(work, lambda: told.append("over"))
    assert told == []
    await ended(task)
    assert told == ["works", "over"]
    assert task.error is None
    await task.wait()  # of one that has ended, at once


async def test_what_a_task_raises_stays_with_its_owner() -> None:
    problem = ValueError("no")

    async def work() -> None:
        await steps()
        raise problem

    task = OwnedTask(work)
    await ended(task)
    assert task.error is problem


@pytest.mark.parametrize("kind", [ValueError, SystemExit, KeyboardInterrupt, BaseExceptionGroup])
async def test_trap_a_system_task_never_raises(kind: type[BaseException]) -> None:
    args = ("no", [KeyboardInterrupt()]) if kind is BaseExceptionGroup else ()

    async def work() -> None:
        raise kind(*args)

    task = OwnedTask(work)
    await ended(task)
    assert type(task.error) is kind


async def test_a_task_ends_when_its_owner_cancels_it() -> None:
    task = OwnedTask(sleep_for_ever)
    await steps()
    task.cancel()
    await ended(task)
    assert task.error is None


async def test_a_task_that_is_cancelled_before_its_first_step_runs_to_its_first_wait() -> None:
    reached: list[str] = []

    async def work() -> None:
        reached.append("begun")
        await anyio.sleep_forever()
        reached.append("never")

    task = OwnedTask(work)
    task.cancel()
    await ended(task)
    assert reached in ([], ["begun"])


async def test_what_a_task_shields_is_shielded_from_its_owner() -> None:
    cleaned: list[float] = []

    async def work() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.sleep(1)
            cleaned.append(anyio.current_time())

    start = anyio.current_time()
    task = OwnedTask(work)
    await steps()
    task.cancel()
    task.cancel()
    await ended(task)
    assert cleaned == [pytest.approx(start + 1)]


async def test_no_scope_of_the_caller_reaches_a_task() -> None:
    done: list[str] = []

    async def work() -> None:
        await anyio.sleep(5)
        done.append("done")

    with anyio.move_on_after(1) as scope:
        task = OwnedTask(work)
        await task.join(lambda: done.append("interrupted"))
    assert scope.cancelled_caught
    assert done == ["interrupted", "done"]
    assert task.finished


async def test_a_wait_for_a_task_has_a_bound_and_leaves_nothing_behind() -> None:
    task, start = OwnedTask(sleep_for_ever), anyio.current_time()
    await task.wait(start + 2)
    assert anyio.current_time() - start == pytest.approx(2)
    assert not task.finished
    task.cancel()
    await ended(task)


async def test_many_wait_for_one_task() -> None:
    async def work() -> None:
        await anyio.sleep(1)

    task = OwnedTask(work)
    async with anyio.create_task_group() as group:
        for _ in range(3):
            group.start_soon(ended, task)
    assert task.finished


async def test_a_join_without_a_cancellation_interrupts_nothing() -> None:
    interrupted: list[str] = []

    async def work() -> None:
        await anyio.sleep(1)

    await OwnedTask(work).join(lambda: interrupted.append("interrupted"))
    assert interrupted == []


async def test_a_wait_that_is_not_cancelled_is_not_interrupted() -> None:
    assert not await uninterrupted(steps)


# -- asyncio's own cancellation --------------------------------------------------------------------


def on_asyncio(main: Callable[[], Awaitable[None]]) -> list[object]:
    """Run on a loop of its own, and return what the loop complained of."""
    complaints: list[object] = []

    async def run() -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: complaints.append(context))
        await main()

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        runner.run(run())
    gc.collect()
    return complaints


@pytest.mark.spec("CXL-3")
@pytest.mark.parametrize("again", [None, 0.0, 0.5, 1.0])
def test_trap_a_second_cancel_does_not_cut_the_cleanup(again: float | None) -> None:
    done: list[str] = []

    async def work() -> None:
        await anyio.sleep(3)
        done.append("cleaned up")

    async def main() -> None:
        loop, task = asyncio.get_running_loop(), OwnedTask(work)
        caller = asyncio.create_task(task.join(lambda: done.append("interrupted")))
        loop.call_later(1, caller.cancel)
        if again is not None:
            loop.call_later(1 + again, caller.cancel)
        with pytest.raises(asyncio.CancelledError):
            await caller
        assert caller.cancelling() == (1 if again is None else 2)
        assert loop.time() == 3

    assert on_asyncio(main) == []
    assert done == ["interrupted", "cleaned up"]


@pytest.mark.spec("RUN-6")
def test_the_end_of_the_loop_ends_a_task_and_tells_its_owner() -> None:
    told: list[str] = []
    tasks: list[OwnedTask] = []

    async def main() -> None:
        tasks.append(OwnedTask(sleep_for_ever, lambda: told.append("over")))
        await steps()

    assert on_asyncio(main) == []
    assert told == ["over"]
    assert tasks[0].finished
    assert tasks[0].error is None


@pytest.mark.spec("RUN-6")
def test_a_task_that_the_end_of_the_loop_meets_before_its_first_step_has_ended() -> None:
    told: list[str] = []
    tasks: list[OwnedTask] = []

    async def main() -> None:
        tasks.append(OwnedTask(sleep_for_ever, lambda: told.append("over")))

    assert on_asyncio(main) == []
    assert told == ["over"]
    assert tasks[0].finished


@pytest.mark.spec("RUN-6")
def test_the_end_of_a_run_on_trio_ends_no_task_of_ours_before_its_owner_does() -> None:
    done: list[float] = []

    async def work() -> None:
        await trio.sleep(0.01)
        done.append(trio.current_time())

    async def main() -> None:
        OwnedTask(work)
        await steps()

    trio.run(main)
    assert len(done) == 1


def test_uninterrupted_tells_of_a_native_cancellation() -> None:
    heard: list[bool] = []

    async def caller() -> None:
        heard.append(await uninterrupted(lambda: anyio.sleep(10)))

    async def main() -> None:
        task = asyncio.create_task(caller())
        asyncio.get_running_loop().call_later(0.5, task.cancel)
        await task
        assert asyncio.get_running_loop().time() == 0.5

    assert on_asyncio(main) == []
    assert heard == [True]
