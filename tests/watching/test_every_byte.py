"""A stream that is cut at any of its bytes: the one outcome, or unknown where nothing was shown.

A part of the places is played, spread over all by a seed that is printed (`A2A_DELEGATE_SEED`
draws others); all of them by the soak.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

import anyio
import pytest
import trio.testing

from a2a_delegate import AttemptFailed, IdKnown, StreamCut
from a2a_delegate.testing import DropAfterAccepting, Operation
from tests.virtual_time import VirtualTimeLoop
from tests.watching.playing import INTERFACES, Way, play
from tests.watching.scenarios import THREE, Scenario

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.watching.playing import Played

LOOPS: Final = ("asyncio", "trio")
SEED: Final = os.environ.get("A2A_DELEGATE_SEED", "20")
STEP: Final = 61
"""Bytes between two places of the sample."""


def cut_at(place: int, way: Way, loop: str) -> Played:
    """Cut the first stream after so many bytes of it."""
    drop = DropAfterAccepting(bytes_sent=place, headers_sent=True)
    scenario = Scenario(f"cut after {place} bytes", once=((Operation.SEND, drop),))
    options: dict[str, Any] = (
        {"clock": trio.testing.MockClock(autojump_threshold=0)}
        if loop == "trio"
        else {"loop_factory": VirtualTimeLoop}
    )
    return anyio.run(play, scenario, way, backend=loop, backend_options=options)


def play_from(start: int, step: int, way: Way, loop: str) -> Counter[str]:
    """Cut at each place of a row of them, until one is behind the end of the stream."""
    statuses: Counter[str] = Counter()
    place = start
    while True:
        played = cut_at(place, way, loop)
        status, effect, output = played.outcome
        told = f"seed {SEED}: cut after {place} bytes, {way} on {loop}: {played.result!r}"
        if status == "unknown":
            assert effect == "may-have-run", told
            assert way.version != "1.0", told
            assert not any(isinstance(one, IdKnown) for one in played.signals), told
        else:
            assert (status, effect, output) == ("completed", "ran", THREE), told
        assert (played.runs, played.left_open) == (1, 0), told
        statuses[status] += 1
        if not any(isinstance(one, AttemptFailed | StreamCut) for one in played.signals):
            return statuses
        place += step


@pytest.mark.timeout(240)
@pytest.mark.spec("WATCH-3")
def test_no_byte_at_which_a_stream_is_cut_changes_its_outcome(
    record_property: Callable[[str, object], None],
) -> None:
    chance = random.Random(SEED)  # noqa: S311 - a sample, and no secret
    statuses: Counter[str] = Counter()
    for interface in INTERFACES:
        for loop in LOOPS:
            way = Way(*interface, "stream")
            statuses += play_from(chance.randrange(STEP), STEP, way, loop)
    record_property("places", f"{sum(statuses.values())}, seed {SEED}")
    assert sum(statuses.values()) > 100
    assert statuses.keys() == {"completed", "unknown"}


@pytest.mark.soak
@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("interface", INTERFACES, ids=" ".join)
def test_no_byte_of_all_changes_the_outcome(
    interface: tuple[str, str], loop: str, record_property: Callable[[str, object], None]
) -> None:
    statuses = play_from(0, 1, Way(*interface, "stream"), loop)
    record_property("places", sum(statuses.values()))
    assert statuses["completed"] > 500
