"""Repeats of requests that change nothing: a few, with jitter, inside the deadline."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import pytest

from a2a_delegate.retrying import Again, Repeats, repeated

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

pytestmark = [pytest.mark.anyio, pytest.mark.virtual_time]


def answers(*results: str) -> tuple[Callable[[], Awaitable[str]], list[str]]:
    """Return a request that gives these results in turn, and the list of those it gave."""
    given: list[str] = []

    async def request() -> str:
        given.append(results[len(given)])
        return given[-1]

    return request, given


def unless_ok(result: str) -> Again | None:
    return None if result == "ok" else Again()


async def test_a_good_result_is_not_asked_for_twice() -> None:
    request, given = answers("ok", "never")
    assert await repeated(request, again=unless_ok) == "ok"
    assert given == ["ok"]


@pytest.mark.spec("CARR-15")
async def test_a_request_is_repeated_a_few_times_and_then_its_last_result_stands() -> None:
    request, given = answers("bad", "worse", "worst", "never")
    assert await repeated(request, again=unless_ok) == "worst"
    assert given == ["bad", "worse", "worst"]


@pytest.mark.spec("CARR-15")
async def test_the_waits_are_drawn_below_a_bound_that_doubles() -> None:
    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    waits: list[float] = []
    request, _ = answers(*["bad"] * 6)
    repeats = Repeats(attempts=6, first_wait=1.0, longest_wait=4.0)
    await repeated(request, again=unless_ok, repeats=repeats, sleep=sleep)
    assert len(waits) == 5
    for wait, bound in zip(waits, (1, 2, 4, 4, 4), strict=True):
        assert 0 <= wait <= bound
    assert len(set(waits)) == 5


@pytest.mark.spec("CARR-15")
async def test_a_peer_that_asks_for_time_gets_it() -> None:
    begun = anyio.current_time()
    request, _ = answers("later", "ok")
    verdict = {"later": Again(after=20.0), "ok": None}
    assert await repeated(request, again=verdict.__getitem__) == "ok"
    assert anyio.current_time() - begun == pytest.approx(20.0, abs=0.1)


@pytest.mark.spec("CARR-15")
@pytest.mark.parametrize(("asked", "deadline"), [(61.0, None), (20.0, 10.0), (1e9, 10.0)])
async def test_a_wait_that_is_too_long_is_not_begun(asked: float, deadline: float | None) -> None:
    begun = anyio.current_time()
    request, given = answers("later", "never")
    with anyio.move_on_after(deadline) as scope:
        result = await repeated(request, again=lambda _: Again(after=asked))
    assert not scope.cancelled_caught
    assert result == "later"
    assert given == ["later"]
    assert anyio.current_time() == pytest.approx(begun, abs=0.1)


async def test_what_the_request_raises_goes_through() -> None:
    async def request() -> str:
        raise KeyError("x")

    with pytest.raises(KeyError, match="x"):
        await repeated(request, again=unless_ok)


async def test_a_repeat_can_be_cancelled_while_it_waits() -> None:
    request, given = answers("later", "never")
    with anyio.move_on_after(5) as scope:
        await repeated(
            request,
            again=lambda _: Again(after=1.0),
            repeats=Repeats(first_wait=0.0, longest_wait=0.0),
            sleep=lambda _: anyio.sleep_forever(),
        )
    assert scope.cancelled_caught
    assert given == ["later"]
