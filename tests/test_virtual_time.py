from __future__ import annotations

import asyncio
import contextlib
import functools
import socket
import threading
import time
from pathlib import Path

import anyio
import anyio.lowlevel
import anyio.to_thread
import hypothesis
import hypothesis.strategies as st
import pytest

import tests.conftest
from tests.virtual_time import IO_PATIENCE, VirtualTimeLoop

pytestmark = [pytest.mark.anyio, pytest.mark.virtual_time]

DAY = 86_400


async def test_three_days_pass_in_less_than_a_second() -> None:
    virtual, real = anyio.current_time(), time.monotonic()
    await anyio.sleep(3 * DAY)
    assert anyio.current_time() - virtual == pytest.approx(3 * DAY)
    assert time.monotonic() - real < 1


async def test_tasks_wake_in_the_order_of_their_timers() -> None:
    woken: list[tuple[str, float]] = []
    start = anyio.current_time()

    async def sleeper(name: str, *delays: float) -> None:
        for delay in delays:
            await anyio.sleep(delay)
            woken.append((name, anyio.current_time() - start))

    async with anyio.create_task_group() as group:
        group.start_soon(sleeper, "slow", 7, DAY)
        group.start_soon(sleeper, "quick", 5, 5)
    assert [name for name, _ in woken] == ["quick", "slow", "quick", "slow"]
    assert [when for _, when in woken] == pytest.approx([5, 7, 10, 7 + DAY])


async def test_a_timeout_falls_at_its_virtual_time() -> None:
    start = anyio.current_time()
    with pytest.raises(TimeoutError), anyio.fail_after(600):
        await anyio.sleep(DAY)
    assert anyio.current_time() - start == pytest.approx(600)


async def test_the_clock_stands_still_while_there_is_work_to_do() -> None:
    start = anyio.current_time()
    with anyio.move_on_after(1):
        for _ in range(1_000):
            await anyio.lowlevel.checkpoint()
    assert anyio.current_time() == start


async def test_a_loop_without_a_timer_waits_for_its_threads() -> None:
    started = threading.Event()

    def work() -> str:
        started.set()
        return "done"

    assert await anyio.to_thread.run_sync(work) == "done"
    assert started.is_set()


@hypothesis.given(delay=st.floats(min_value=0.001, max_value=DAY))
async def test_any_delay_is_slept_exactly(delay: float) -> None:
    start = anyio.current_time()
    await anyio.sleep(delay)
    assert anyio.current_time() - start == pytest.approx(delay, abs=1e-6)


def test_a_socket_that_is_ready_goes_before_the_jump() -> None:
    seen: list[str] = []
    left, right = socket.socketpair()
    loop = VirtualTimeLoop()
    with left, right, contextlib.closing(loop):
        loop.call_later(DAY, functools.partial(seen.append, "timer"))
        loop.call_later(DAY, loop.stop)
        loop.add_reader(right, lambda: seen.append(right.recv(16).decode()))
        threading.Timer(IO_PATIENCE / 5, left.send, [b"socket"]).start()
        loop.run_forever()
    assert seen == ["socket", "timer"]


def test_a_silent_socket_does_not_hold_the_clock() -> None:
    left, right = socket.socketpair()
    loop = VirtualTimeLoop()
    with left, right, contextlib.closing(loop):
        loop.add_reader(right, right.recv, 16)
        loop.call_later(DAY, loop.stop)
        loop.run_forever()
        assert loop.time() == DAY


def test_each_loop_starts_at_zero() -> None:
    for _ in range(2):
        with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
            assert runner.get_loop().time() == 0
            runner.run(asyncio.sleep(DAY))


def test_virtual_time_for_less_than_a_module_is_refused(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nmarkers =\n    virtual_time: as in pyproject.toml")
    pytester.makeconftest(Path(tests.conftest.__file__).read_text(encoding="utf-8"))
    pytester.makepyfile("import pytest\n@pytest.mark.virtual_time\ndef test_it(): ...")
    result = pytester.runpytest_inprocess()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*::test_it: virtual_time marks whole modules*"])
