"""The one deadline of a delegation: ours or the surrounding scope's, whichever is nearer."""

from __future__ import annotations

import math

import anyio


def nearer_deadline(*, now: float, timeout: float | None, cleanup: float) -> float | None:
    """Return the deadline on the loop's clock, None for none.

    Where a surrounding anyio scope ends first, ours falls before it by the time that cleaning up
    may take, or by a quarter of what is left, whichever is less: so the caller gets an outcome
    with a handle instead of a bare cancellation. `asyncio.timeout` shows no deadline to anyone.
    """
    ours = math.inf if timeout is None else now + timeout
    scope = anyio.current_effective_deadline()
    if scope < ours:
        left = max(scope - now, 0.0)
        ours = scope - min(cleanup, left / 4)
    # A scope that has been cancelled already is one whose deadline was always.
    return None if ours == math.inf else ours
