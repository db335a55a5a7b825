"""An asyncio loop whose clock jumps: days pass in milliseconds, in the order of the timers.

trio has its MockClock for this; here is the same for asyncio, through the loop factory. A test
module asks for both with `pytestmark = pytest.mark.virtual_time` (see conftest.py).
"""

from __future__ import annotations

import asyncio
import selectors

IO_PATIENCE = 0.05
"""Real seconds that a socket is given before the clock jumps over it."""


class _JumpingSelector(selectors.DefaultSelector):
    """Where a loop would wait for its next timer, moves the clock there instead.

    A loop without a timer waits for real: only a thread or a socket can wake it.
    """

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.own_files = 0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Return what is ready; `timeout` is how far away the loop's next timer is."""
        if timeout is None or timeout <= 0:
            return super().select(timeout)
        has_sockets = len(self.get_map()) > self.own_files
        ready = super().select(IO_PATIENCE if has_sockets else 0)
        if not ready:
            self.now += timeout
        return ready


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """A selector loop that starts at 0 and never waits for a timer."""

    def __init__(self) -> None:
        self._clock = _JumpingSelector()
        super().__init__(self._clock)
        # The pipe by which a loop wakes itself is there from the start; it is nobody's I/O.
        self._clock.own_files = len(self._clock.get_map())

    def time(self) -> float:
        """Return the virtual seconds since the loop was made."""
        return self._clock.now
