"""Every way in which a caller stops waiting, on both event loops, at a moment of the loop's clock.

Each is written as a user would write it. What comes out of it is compared with what Python promises
for that construct when nobody swallows a cancellation.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final, TypeAlias

import anyio
import trio

from a2a_delegate import DelegateRequest

if TYPE_CHECKING:
    from a2a_delegate import CancelReceipt, CancelToken, DelegateResult, DelegationHandle

Call: TypeAlias = Callable[[], Awaitable[None]]
Answer: TypeAlias = "DelegateResult | CancelReceipt"
"""What a call returns: an outcome, or the receipt of a stop."""

PATIENCE: Final = 6.0
"""Seconds of a delegation whose caller says nothing of time."""
SOON: Final = 0.001
"""Seconds of the shortest deadline: none may be zero."""
CLEANUP: Final = 4.5
"""recovery_grace and twice cancel_grace, by default."""
AGAIN: Final = 0.3
"""Seconds between the two cancels of a caller who asks twice."""
REASON: Final = object()
"""What a token is cancelled with."""


class Caller(Enum):
    """How the caller stops waiting, and on which loops that exists."""

    PATIENT = "waits", "both"
    TOKEN = "token.cancel()", "both"
    DEADLINE = "DelegateRequest(timeout=...)", "both"
    SCOPE = "scope.cancel()", "both"
    SCOPE_TWICE = "scope.cancel() of an inner, then of an outer scope", "both"
    MOVE_ON = "anyio.move_on_after()", "both"
    FAIL = "anyio.fail_after()", "both"
    FELLOW = "a failing sibling in an anyio task group", "both"
    TASK = "Task.cancel()", "asyncio"
    TASK_TWICE = "Task.cancel(), twice", "asyncio"
    TASK_AT_ONCE = "Task.cancel(), twice in one step", "asyncio"
    TIMEOUT = "asyncio.timeout()", "asyncio"
    WAIT_FOR = "asyncio.wait_for()", "asyncio"
    SIBLING = "a failing sibling in an asyncio.TaskGroup", "asyncio"
    SHUTDOWN = "the end of the loop", "asyncio"

    def __init__(self, words: str, loops: str) -> None:
        self.words = words
        self.loops = loops

    def __str__(self) -> str:
        return self.words


SAYS_WHEN: Final = frozenset({Caller.DEADLINE, Caller.MOVE_ON, Caller.FAIL})
"""Those who tell the delegate beforehand when they will stop waiting."""
ABRUPT: Final = frozenset(Caller) - SAYS_WHEN - {Caller.PATIENT, Caller.TOKEN}
"""Those who cancel without a word beforehand, and so get no outcome."""


def callers_on(loop: str) -> tuple[Caller, ...]:
    """Return those that exist on a loop."""
    return tuple(one for one in Caller if one.loops in {"both", loop})


class SiblingError(Exception):
    """What the sibling fails with."""


@dataclass(slots=True)
class Ending:
    """What the caller saw: of the call itself, and of the construct around it."""

    result: Answer | None = None
    raised: BaseException | None = None
    outside: BaseException | None = None
    cancelling: int = 0
    """`Task.cancelling()` once the construct is left (asyncio only)."""
    began: bool = False
    at: float = 0.0


async def observed(dispatch: Awaitable[Answer], ending: Ending) -> None:
    """Wait for the call, and note what it does."""
    ending.began = True
    try:
        ending.result = await dispatch
    except BaseException as problem:
        ending.raised = problem
        raise
    finally:
        ending.at = anyio.current_time()


def timeout_of(caller: Caller, at: float) -> float | None:
    """Return the delegation's own time: it ends by itself, unless the scope does so before."""
    if at < PATIENCE and caller in SAYS_WHEN:
        return max(at, SOON) if caller is Caller.DEADLINE else None
    return PATIENCE


def request_for(
    caller: Caller, prompt: str, at: float, continues: DelegationHandle | None = None
) -> DelegateRequest:
    """Make the request of a dispatch."""
    return DelegateRequest(prompt, timeout=timeout_of(caller, at), continues=continues)


def scope_seconds(at: float) -> float:
    """Return how long a scope around the call lasts whose nearness makes ours fall after `at`."""
    return at * 4 / 3 if at / 3 < CLEANUP else at + CLEANUP


@asynccontextmanager
async def clocked(at: float, ring: Callable[[], object]) -> AsyncGenerator[None, None]:
    """Call `ring` at that moment: from a callback on asyncio, from another task on trio."""
    if at <= anyio.current_time():
        ring()
        yield
        return
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_ring_at, at, ring)
            yield
            nursery.cancel_scope.cancel()
        return
    timer = loop.call_at(at, ring)
    try:
        yield
    finally:
        timer.cancel()


async def _ring_at(at: float, ring: Callable[[], object]) -> None:
    await trio.sleep_until(at)
    ring()


# -- the constructs ------------------------------------------------------------------------------


async def _fail_at(at: float) -> None:
    await anyio.sleep(at - anyio.current_time())
    raise SiblingError


async def _scope(call: Call, at: float) -> None:
    with anyio.CancelScope() as scope:
        async with clocked(at, scope.cancel):
            await call()


async def _scope_twice(call: Call, at: float) -> None:
    with anyio.CancelScope() as outer, anyio.CancelScope() as inner:
        async with clocked(at, inner.cancel), clocked(at + AGAIN, outer.cancel):
            await call()


async def _move_on(call: Call, at: float) -> None:
    with anyio.move_on_after(scope_seconds(at - anyio.current_time())):
        await call()


async def _fail(call: Call, at: float) -> None:
    with anyio.fail_after(scope_seconds(at - anyio.current_time())):
        await call()


async def _fellow(call: Call, at: float) -> None:
    async with anyio.create_task_group() as group:
        group.start_soon(_fail_at, at)
        await call()
        group.cancel_scope.cancel()


def _current_task() -> asyncio.Task[object]:
    task = asyncio.current_task()
    assert task is not None
    return task


async def _task(call: Call, at: float) -> None:
    async with clocked(at, _current_task().cancel):
        await call()


async def _task_twice(call: Call, at: float) -> None:
    cancel = _current_task().cancel
    async with clocked(at, cancel), clocked(at + AGAIN, cancel):
        await call()


async def _task_at_once(call: Call, at: float) -> None:
    cancel = _current_task().cancel
    async with clocked(at, cancel), clocked(at, cancel):
        await call()


async def _timeout(call: Call, at: float) -> None:
    async with asyncio.timeout_at(at):
        await call()


async def _wait_for(call: Call, at: float) -> None:
    await asyncio.wait_for(asyncio.ensure_future(call()), max(at - anyio.current_time(), SOON))


async def _sibling(call: Call, at: float) -> None:
    async with asyncio.TaskGroup() as group:
        sibling = group.create_task(_fail_at(at))
        await call()
        sibling.cancel()


async def _no_construct(call: Call, _: float) -> None:
    await call()


_CONSTRUCTS: Final[Mapping[Caller, Callable[[Call, float], Awaitable[None]]]] = {
    Caller.SCOPE: _scope,
    Caller.SCOPE_TWICE: _scope_twice,
    Caller.MOVE_ON: _move_on,
    Caller.FAIL: _fail,
    Caller.FELLOW: _fellow,
    Caller.TASK: _task,
    Caller.TASK_TWICE: _task_twice,
    Caller.TASK_AT_ONCE: _task_at_once,
    Caller.TIMEOUT: _timeout,
    Caller.WAIT_FOR: _wait_for,
    Caller.SIBLING: _sibling,
}
"""What stands around the call; around the others' nothing does."""


async def act(
    caller: Caller, call: Callable[[], Awaitable[Answer]], at: float, token: CancelToken
) -> Ending:
    """Let the caller call, and stop waiting at that moment of the loop's clock."""
    ending = Ending()

    async def noted() -> None:
        await observed(call(), ending)

    construct = _CONSTRUCTS.get(caller, _no_construct)
    cancel = functools.partial(token.cancel, REASON)
    try:
        if caller is Caller.TOKEN:
            async with clocked(at, cancel):
                await noted()
        else:
            await construct(noted, at)
    except (asyncio.CancelledError, TimeoutError, ExceptionGroup) as problem:
        ending.outside = problem
        if isinstance(problem, asyncio.CancelledError):
            _calm_down(ending)
    return ending


def _calm_down(ending: Ending) -> None:
    """Take note of a task's cancellations, and let it go on without them."""
    task = _current_task()
    ending.cancelling = task.cancelling()
    while task.cancelling():
        task.uncancel()
