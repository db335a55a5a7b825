"""The queue before the connections: fair, and as wide as it pays.

Every connection costs CPU, and more of them help only as long as callers wait for the network. So
the queue is narrow at first, and doubles while callers wait, unless it is their own calls that keep
this thread busy: then a call that waits costs less than one more connection.
"""

from __future__ import annotations

import time
from collections import deque
from typing import TYPE_CHECKING

import anyio

if TYPE_CHECKING:
    from collections.abc import Callable

LEAST_WIDTH = 8
"""How many calls go at once at first."""

MOST_WIDTH = 512
"""How many short calls go at once at most; beyond it one waits for the end of another."""

PATIENCE = 0.025
"""Seconds that callers wait before anyone looks whether the queue should be wider."""

_BUSY = 0.5
"""The part of its time that a thread may be at work and still be worth more connections."""

_DEAREST_CALL = 0.005
"""Seconds of CPU that no call takes; where more is spent, the thread is busy with other things."""


class Turns:
    """Gives turns to callers in the order in which they came.

    `async with` is left out on purpose: a turn is taken in one place and ends in another, when the
    last byte of a reply has been read. Every `enter` that returns is followed by one `leave`, also
    from another task. `thread_time` is the CPU time of this thread, in seconds.
    """

    __slots__ = (
        "_ended",
        "_most",
        "_since",
        "_spent",
        "_taken",
        "_thread_time",
        "_waiting",
        "_watch",
        "width",
    )

    def __init__(
        self,
        *,
        width: int = LEAST_WIDTH,
        most: int = MOST_WIDTH,
        thread_time: Callable[[], float] = time.thread_time,
    ) -> None:
        self.width = width
        self._most = most
        self._thread_time = thread_time
        self._taken = 0
        self._waiting: deque[_Turn] = deque()
        # Who looks after all that wait, by a timer: one of them is enough, and all would be dear.
        self._watch: _Turn | None = None
        # The last look, or when the first one of those who wait now came.
        self._since = 0.0
        self._spent = 0.0
        self._ended = 0

    @property
    def waiting(self) -> int:
        """How many callers wait."""
        return len(self._waiting)

    async def enter(self) -> None:
        """Wait for a turn. A caller that is cancelled meanwhile has none, and loses no other's."""
        if self._taken < self.width and not self._waiting:
            self._taken += 1
            return
        if not self._waiting:
            self._since, self._spent, self._ended = anyio.current_time(), self._thread_time(), 0
        turn = _Turn()
        self._waiting.append(turn)
        try:
            while not turn.granted:
                await self._wait(turn)
        except BaseException:
            if turn.granted:
                # It was cancelled just as its turn came.
                self.leave()
            else:
                self._waiting.remove(turn)
            raise
        finally:
            self._hand_over(turn)

    def leave(self) -> None:
        """End a turn: it goes to the caller that has waited longest."""
        self._ended += 1
        if self._waiting:
            self._waiting.popleft().grant()
        else:
            self._taken -= 1

    async def _wait(self, turn: _Turn) -> None:
        if self._watch is None:
            self._watch = turn
        if self._watch is not turn:
            await turn.woken.wait()
        else:
            with anyio.move_on_after(PATIENCE):
                await turn.woken.wait()
            self._consider()
        if not turn.granted:
            turn.woken = anyio.Event()

    def _hand_over(self, turn: _Turn) -> None:
        """See that somebody watches; the last one in the queue does so for longest."""
        if self._watch is turn:
            self._watch = None
        if self._watch is None and self._waiting:
            self._waiting[-1].woken.set()

    def _consider(self) -> None:
        """Double the width, unless calls that end are what keeps the thread busy."""
        now, spent = anyio.current_time(), self._thread_time()
        seconds, work = now - self._since, spent - self._spent
        # Half of it: a timer may be a little early.
        if not self._waiting or seconds < PATIENCE / 2:
            return
        if work < seconds * _BUSY or work > self._ended * _DEAREST_CALL:
            self.width = min(self.width * 2, self._most)
        self._since, self._spent, self._ended = now, spent, 0
        while self._waiting and self._taken < self.width:
            self._taken += 1
            self._waiting.popleft().grant()


class _Turn:
    """One caller that waits."""

    __slots__ = ("granted", "woken")

    def __init__(self) -> None:
        self.granted = False
        self.woken = anyio.Event()

    def grant(self) -> None:
        self.granted = True
        self.woken.set()
