"""Tasks that no caller's scope can cancel, on asyncio and on trio.

The work of a delegation must outlive the cancellation of whoever waits for it, by as long as the
cleanup takes. A shielded scope is not enough on asyncio: `Task.cancel()` (`asyncio.timeout`,
`wait_for`, task groups, the end of the loop) goes through it. So the work runs in a task of its
own, and the caller's task waits for it. This module is the only one that touches either loop.
"""

from __future__ import annotations

import contextvars
import sys
from typing import TYPE_CHECKING, cast

import anyio

# Each loop is imported where it runs: the one that is there has been imported already, and the
# other one would cost its import for nothing.
if TYPE_CHECKING:
    import asyncio
    from collections.abc import Awaitable, Callable

    import trio


def _on_trio() -> bool:
    return "trio" in sys.modules and sys.modules["trio"].lowlevel.in_trio_task() is True


def loop_time() -> float:
    """Return the time of the running loop's clock: `anyio.current_time` at a third of its cost."""
    if _on_trio():
        import trio

        return trio.current_time()
    return _asyncio_loop().time()


def _asyncio_loop() -> asyncio.AbstractEventLoop:
    # Where it runs it is there, and a look costs a fifth of an import statement.
    return cast("asyncio.AbstractEventLoop", sys.modules["asyncio"].get_running_loop())


class Bell:
    """Wakes one task: rung from anywhere on the loop's thread, also from a loop callback."""

    __slots__ = ("_future", "_rung", "_trio_event")

    def __init__(self) -> None:
        self._rung = False
        self._future: asyncio.Future[None] | None = None
        self._trio_event: trio.Event | None = None

    def ring(self) -> None:
        """Wake the waiting task, or the next one that waits."""
        self._rung = True
        if self._future is not None and not self._future.done():
            self._future.set_result(None)
        if self._trio_event is not None:
            self._trio_event.set()

    async def wait(self, until: float | None = None) -> None:
        """Wait for a ring, at most until that moment of the loop's clock."""
        if not self._rung:
            if _on_trio():
                await self._wait_on_trio(until)
            else:
                await self._wait_on_asyncio(until)
        self._rung = False

    async def _wait_on_asyncio(self, until: float | None) -> None:
        loop = _asyncio_loop()
        self._future = loop.create_future()
        timer = None if until is None else loop.call_at(until, self.ring)
        try:
            await self._future
        finally:
            self._future = None
            if timer is not None:
                timer.cancel()

    async def _wait_on_trio(self, until: float | None) -> None:
        import trio

        self._trio_event = trio.Event()
        try:
            with trio.CancelScope(deadline=float("inf") if until is None else until):
                await self._trio_event.wait()
        finally:
            self._trio_event = None


_running: set[asyncio.Task[None]] = set()
"""asyncio keeps only weak references to tasks; these must live until they end."""


class OwnedTask:
    """A task that only its owner cancels.

    `finished` says whether it has ended, `error` what it raised: never a cancellation, but also
    what is no Exception, such as SystemExit. Its owner hands that to the caller.
    """

    __slots__ = ("_on_finish", "_scope", "_waiters", "error", "finished")

    def __init__(
        self, function: Callable[[], Awaitable[None]], on_finish: Callable[[], None] | None = None
    ) -> None:
        """Start `function` at once; `on_finish` is called when it has ended, however."""
        self._on_finish = on_finish
        self._waiters: list[Bell] = []
        # Cancelled by its scope, on asyncio too: then what the function shields stays shielded.
        self._scope = anyio.CancelScope(shield=True)
        self.finished = False
        self.error: BaseException | None = None
        if _on_trio():
            import trio

            context = contextvars.copy_context()
            trio.lowlevel.spawn_system_task(self._run, function, context=context)
        else:
            task = _asyncio_loop().create_task(self._run(function))
            _running.add(task)
            task.add_done_callback(self._has_ended)

    def cancel(self) -> None:
        """Ask the task to stop; it may take its time, or never do so."""
        self._scope.cancel()

    async def _run(self, function: Callable[[], Awaitable[None]]) -> None:
        try:
            with self._scope:
                await function()
        except anyio.get_cancelled_exc_class():
            # The end of an asyncio loop; on trio the scope has taken every cancellation. This
            # task is over, and its owner sees it.
            pass
        except BaseException as problem:  # noqa: BLE001 - its owner reads it; a system task never raises
            self.error = problem
        finally:
            self._finish()

    def _has_ended(self, task: asyncio.Task[None]) -> None:
        _running.discard(task)
        # A task that the loop's end cancels before its first step never runs a line of it.
        self._finish()

    def _finish(self) -> None:
        if self.finished:
            return
        self.finished = True
        # Called once; kept, it would tie the owner and the task into a cycle.
        on_finish, self._on_finish = self._on_finish, None
        if on_finish is not None:
            on_finish()
        for waiter in self._waiters:
            waiter.ring()

    async def wait(self, until: float | None = None) -> None:
        """Wait until the task has ended, at most until that moment of the loop's clock.

        It may return early: look at `finished`.
        """
        if not self.finished:
            bell = Bell()
            self._waiters.append(bell)
            try:
                await bell.wait(until)
            finally:
                self._waiters.remove(bell)

    async def join(self, on_interrupt: Callable[[], None]) -> None:
        """Wait until the task has ended, whatever is done to the waiting task.

        The first cancellation of the waiting task calls `on_interrupt` and is raised again once
        the task has ended; further ones are absorbed, so that they cannot cut the cleanup.
        """
        try:
            while not self.finished:
                await self.wait()
        except anyio.get_cancelled_exc_class():
            on_interrupt()
            with anyio.CancelScope(shield=True):
                while not self.finished:
                    await uninterrupted(self.wait)
            raise


async def uninterrupted(wait: Callable[[], Awaitable[None]]) -> bool:
    """Wait, and absorb a native cancellation of asyncio; return whether there was one.

    trio has none: there a shielded scope is enough, and its Cancelled must never be absorbed.
    """
    if _on_trio():
        await wait()
        return False
    try:
        await wait()
    except anyio.get_cancelled_exc_class():
        return True
    return False
