"""The queue before the connections of short calls, on a clock that jumps."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio
import pytest

from a2a_delegate.peer.turns import LEAST_WIDTH, MOST_WIDTH, PATIENCE, Turns

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

pytestmark = [pytest.mark.anyio, pytest.mark.virtual_time]


class Thread:
    """A thread that is at work for a part of all time."""

    def __init__(self, busy: float) -> None:
        self._busy = busy
        self._spent = 0.0
        self._since = anyio.current_time()

    def time(self) -> float:
        now = anyio.current_time()
        self._spent += (now - self._since) * self._busy
        self._since = now
        return self._spent

    def works(self, busy: float) -> None:
        """Be at work for another part of the time from now on."""
        self.time()
        self._busy = busy


def one_turn() -> Turns:
    return Turns(width=1, most=1)


def idle_turns(width: int = LEAST_WIDTH) -> Turns:
    return Turns(width=width, thread_time=Thread(0.1).time)


async def taken(turns: Turns, number: int) -> None:
    """Take turns that nobody ends."""
    for _ in range(number):
        await turns.enter()


@asynccontextmanager
async def callers(turns: Turns, number: int) -> AsyncIterator[list[int]]:
    """Let callers ask one after the other; give the numbers of those whose turn came, in order."""

    async def call(caller: int) -> None:
        await turns.enter()
        came.append(caller)

    came: list[int] = []
    async with anyio.create_task_group() as tasks:
        for caller in range(number):
            tasks.start_soon(call, caller)
            await anyio.wait_all_tasks_blocked()
        yield came
        tasks.cancel_scope.cancel()


async def test_as_many_as_the_queue_is_wide_go_at_once() -> None:
    turns = Turns()
    with anyio.fail_after(1):
        await taken(turns, LEAST_WIDTH)
    assert turns.waiting == 0


@pytest.mark.spec("CARR-25")
async def test_turns_come_in_the_order_of_the_callers() -> None:
    turns = one_turn()
    await turns.enter()
    async with callers(turns, 4) as came:
        for number in range(4):
            assert came == list(range(number))
            turns.leave()
            await anyio.wait_all_tasks_blocked()
        assert came == [0, 1, 2, 3]


async def test_who_comes_later_overtakes_nobody() -> None:
    turns = one_turn()
    await turns.enter()
    async with callers(turns, 1) as came:
        turns.leave()  # the turn is the waiting caller's, who has not woken up yet
        with anyio.move_on_after(PATIENCE) as scope:
            await turns.enter()
        assert (came, scope.cancelled_caught) == ([0], True)


@pytest.mark.spec("CARR-25")
async def test_a_turn_that_comes_as_its_caller_is_cancelled_goes_to_the_next() -> None:
    turns = one_turn()
    await turns.enter()

    async def call(scope: anyio.CancelScope) -> None:
        with scope:
            await turns.enter()

    async with anyio.create_task_group() as tasks:
        scope = anyio.CancelScope()
        tasks.start_soon(call, scope)
        await anyio.wait_all_tasks_blocked()
        async with callers(turns, 1) as came:
            # Both before the waiting task runs again, in either order.
            turns.leave()
            scope.cancel()
            await anyio.wait_all_tasks_blocked()
            # On trio the turn counts, on asyncio the cancellation: none of them is lost.
            if not came:
                turns.leave()
                await anyio.wait_all_tasks_blocked()
            assert came == [0]
    assert turns.waiting == 0


@pytest.mark.spec("CARR-25")
async def test_a_caller_that_is_cancelled_in_the_queue_takes_no_turn() -> None:
    turns = one_turn()
    await turns.enter()
    with anyio.move_on_after(PATIENCE * 3):
        await turns.enter()
    assert turns.waiting == 0
    turns.leave()
    with anyio.fail_after(1):
        await turns.enter()


@pytest.mark.spec("CARR-25")
async def test_the_queue_doubles_while_callers_wait_and_the_thread_has_time() -> None:
    turns = idle_turns()
    await taken(turns, LEAST_WIDTH)
    began = anyio.current_time()
    with anyio.fail_after(10 * PATIENCE):
        for doubled in (2, 4, 8):
            # Nobody leaves and nobody else comes: who waits finds out alone.
            await taken(turns, LEAST_WIDTH * doubled // 2)
            assert turns.width == LEAST_WIDTH * doubled
    assert anyio.current_time() - began < 5 * PATIENCE


async def work(turns: Turns) -> None:
    """Take one turn after the other, each for a moment."""
    while True:
        await turns.enter()
        await anyio.sleep(PATIENCE / 10)
        turns.leave()


async def test_a_busy_thread_gets_no_wider_queue_before_it_has_time_again() -> None:
    thread = Thread(0.9)
    turns = Turns(thread_time=thread.time)
    async with anyio.create_task_group() as tasks:
        for _ in range(3 * LEAST_WIDTH):
            tasks.start_soon(work, turns)
        await anyio.sleep(PATIENCE * 100)
        assert turns.width == LEAST_WIDTH
        assert turns.waiting > 0
        thread.works(0.1)
        await anyio.sleep(PATIENCE * 4)
        assert turns.width == 4 * LEAST_WIDTH
        assert turns.waiting == 0
        tasks.cancel_scope.cancel()


@pytest.mark.spec("CARR-25")
async def test_a_thread_that_is_busy_with_other_things_lets_the_queue_double() -> None:
    turns = Turns(width=1, thread_time=Thread(0.9).time)
    await turns.enter()
    async with callers(turns, 5) as came:
        await anyio.sleep(10 * PATIENCE)
        assert sorted(came) == [0, 1, 2, 3, 4]


@pytest.mark.spec("CARR-25")
async def test_the_queue_has_an_end_to_its_width() -> None:
    turns = idle_turns(MOST_WIDTH - 1)
    await taken(turns, MOST_WIDTH)
    async with callers(turns, 3) as came:
        await anyio.sleep(100 * PATIENCE)
        assert (turns.width, turns.waiting, came) == (MOST_WIDTH, 3, [])


@pytest.mark.parametrize("which", [0, 1, 2])
async def test_somebody_looks_after_those_who_wait_whoever_is_cancelled(which: int) -> None:
    turns = idle_turns(1)
    await turns.enter()
    scopes = [anyio.CancelScope() for _ in range(3)]
    came: list[int] = []

    async def call(number: int) -> None:
        with scopes[number]:
            await turns.enter()
            came.append(number)

    async with anyio.create_task_group() as tasks:
        for number in range(3):
            tasks.start_soon(call, number)
            await anyio.wait_all_tasks_blocked()
        scopes[which].cancel()
        await anyio.sleep(PATIENCE * 4)
    assert came == [number for number in range(3) if number != which]
