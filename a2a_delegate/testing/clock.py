"""The peer's two clocks: the event loop's moves the work, the wall's stamps the replies."""

from __future__ import annotations

import contextlib
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import anyio

if TYPE_CHECKING:
    from collections.abc import Callable


class PeerClock:
    """Reads the event loop's clock, and turns its moments into times of day.

    The time of day is the system's when the peer is first used, and from then on goes with the
    event loop's clock: when that one jumps, the timestamps jump with it. `wall` replaces it, for
    a peer whose clock is wrong.
    """

    def __init__(self, wall: Callable[[], datetime] | None = None) -> None:
        self._wall = wall
        self._anchor: tuple[datetime, float] | None = None
        self._last = 0.0

    def now(self) -> float:
        """Return the event loop's time in seconds; outside a loop, the last one that was read."""
        with contextlib.suppress(RuntimeError):
            self._last = anyio.current_time()
            if self._anchor is None:
                self._anchor = datetime.now(UTC), self._last
        return self._last

    def time_of_day(self, moment: float) -> datetime:
        """Return the time of day, in UTC, at a moment of the event loop's clock."""
        now = self.now()
        if self._wall is not None:
            return self._wall().astimezone(UTC) - timedelta(seconds=now - moment)
        day, then = self._anchor or (datetime.now(UTC), now)
        return day + timedelta(seconds=moment - then)
