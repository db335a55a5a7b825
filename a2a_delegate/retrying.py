"""Repeats of single requests that change nothing at a peer: the one place of tenacity.

A send is never repeated here. Whether it may be is the lifecycle's to decide, by proof.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
import tenacity

from a2a_delegate.model.frozen import dataclass

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Again:
    """Said of a result: the same request may fare better. `after` is what the peer asked for."""

    after: float | None = None


@dataclass(frozen=True, slots=True)
class Repeats:
    """How often and how soon a request is repeated; times in seconds.

    `attempts` counts the first one too. Waits are drawn between 0 and a bound that doubles from
    `first_wait` to `longest_wait` (full jitter). A peer that asks for more time gets it, up to
    `longest_asked`; one that asks for more than that is not asked again.
    """

    attempts: int = 3
    first_wait: float = 0.25
    longest_wait: float = 2.0
    longest_asked: float = 60.0


CARD_REPEATS = Repeats()
"""For the card: a peer that is just starting, or a proxy before it."""


async def sleep_for(seconds: float) -> None:
    """Wait, by the loop's clock.

    Naming `anyio.sleep` itself as a default would load all that anyio has for event loops, which
    is a tenth of this package's import, before there is one.
    """
    await anyio.sleep(seconds)


async def repeated(
    request: Callable[[], Awaitable[T]],
    *,
    again: Callable[[T], Again | None],
    repeats: Repeats = CARD_REPEATS,
    deadline: float = math.inf,
    sleep: Callable[[float], Awaitable[None]] = sleep_for,
) -> T:
    """Call `request` until `again` says None of its result, and return the last result.

    Ends early, with the result at hand, where the next wait would pass `deadline` (on the loop's
    clock) or that of the scope that this runs in: an answer that says why is worth more than a
    timeout. What `request` raises goes through.
    """
    verdict: Again | None = None

    def judge(result: T) -> bool:
        nonlocal verdict
        verdict = again(result)
        return verdict is not None

    def wait(state: tenacity.RetryCallState) -> float:
        asked = 0.0 if verdict is None or verdict.after is None else verdict.after
        return asked if asked > repeats.longest_asked else max(asked, drawn(state))

    def stop(state: tenacity.RetryCallState) -> bool:
        ends = min(deadline, anyio.current_effective_deadline())
        left = ends - anyio.current_time()
        longest = min(left, max(repeats.longest_asked, repeats.longest_wait))
        return state.attempt_number >= repeats.attempts or state.upcoming_sleep > longest

    drawn = tenacity.wait_random_exponential(
        multiplier=repeats.first_wait, max=repeats.longest_wait
    )
    policy = tenacity.AsyncRetrying(
        sleep=sleep,
        retry=tenacity.retry_if_result(judge),
        wait=wait,
        stop=stop,
        retry_error_callback=_last_result,
    )
    return await policy(request)


def _last_result(state: tenacity.RetryCallState) -> Any:
    """Return what the last request gave, in place of an error that says how often it was made."""
    return state.outcome.result() if state.outcome is not None else None
