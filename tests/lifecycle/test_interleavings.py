"""All interleavings of peer, network, caller, deadline and clock, each end compared with the truth.

What is checked at every command, in every state and at every end stands in `judge`. The depths
below are those that specs/laws.md states.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeAlias

import pytest

from a2a_delegate.lifecycle.steps import (
    cancel_peer,
    nothing,
    send,
    settle_end_seen,
    settle_ended,
    settle_paused,
    settle_without_answer,
)
from a2a_delegate.lifecycle.table import TABLE, Event, Phase, Rule
from a2a_delegate.lifecycle.watching import (
    ask_after_stream,
    confirm,
    confirm_again,
    get_now,
    subscribe,
    watch,
)
from tests.lifecycle.explorer import CELLS, BrokenLawError, Cell, Report, explore, recording
from tests.lifecycle.world import SENT, TAKEN_UP, setup

if TYPE_CHECKING:
    from collections.abc import Callable

    from a2a_delegate.lifecycle.desk import Desk
    from a2a_delegate.lifecycle.table import Cells

pytestmark = pytest.mark.exhaustive

DEADLINES = (None, 0.0, 0.1, 1.1, 2.6, 40.0)
"""None, passed before the start, and later: at each depth one of them falls in each phase."""
ALL_MOVES = 5
"""Moves of every interleaving in which everything can happen at every step."""
LONGER = {
    "recovery": (8, ("lists", 1.1)),
    "repeats": (10, ("falls back", 2.6)),
    "a task that is gone": (10, ("plain", None)),
    "a stream": (7, ("streams", 1.1)),
    "a subscription": (8, ("subscribes", None)),
}
"""Longer interleavings, of fewer words: how many moves, and in which setup."""
WORDS = {
    "recovery": """lost | lost, id shown | page, none | page, ours | page, two and more | page, more
        | page, ours, ended | message
        | no list | working | completed | canceled | not cancelable | error, later""",
    "repeats": "not-sent | busy, later | version refused | context refused | working | completed",
    "a task that is gone": "lost, id shown | gone | error, later | working | canceled | lost",
    "a stream": """status, working | status, completed | status, input-required | status, canceled
        | task, failed | piece | cut | lost | no method | working | working, older
        | canceled, another | completed | gone""",
    "a subscription": """status, working | status, completed | cut | no stream | error, later
        | working | gone""",
}
"""All that peer and network can say there."""


@dataclass(slots=True)
class Exploration:
    """What was gone through, by setup, and the rules that were followed on the way."""

    reports: dict[str, Report] = field(default_factory=dict)
    fired: set[Cell] = field(default_factory=set)

    @property
    def total(self) -> Report:
        return Report.total(self.reports.values())

    def everything(self, kind: str, deadline: float | None, depth: int) -> None:
        whole = replace(setup(kind, deadline), table=recording(self.fired), stalls=True)
        self.reports[f"everything: {whole.name}"] = explore(whole, depth)

    def longer(self, name: str, *, further: int = 0) -> None:
        depth, (kind, deadline) = LONGER[name]
        few = replace(
            setup(kind, deadline),
            table=recording(self.fired),
            labels=frozenset(map(str.strip, WORDS[name].split("|"))),
        )
        self.reports[name] = explore(few, depth + further)


@pytest.fixture(scope="module")
def explored() -> Exploration:
    exploration = Exploration()
    for kind in (*SENT, *TAKEN_UP):
        for deadline in DEADLINES:
            exploration.everything(kind, deadline, ALL_MOVES)
    for name in LONGER:
        exploration.longer(name)
    return exploration


Note: TypeAlias = "Callable[[str, object], None]"


@pytest.mark.timeout(600)
@pytest.mark.spec("LAW-1", "LAW-2", "LAW-3", "LAW-4", "LAW-5", "LAW-7", "LAW-11", "LAW-12")
@pytest.mark.spec(
    "STREAM-1", "STREAM-2", "STREAM-3", "STREAM-4", "STREAM-5", "STREAM-6", "STREAM-7"
)
def test_every_law_holds_in_all_interleavings(explored: Exploration, record_property: Note) -> None:
    total = explored.total
    record_property("explored", str(total))
    assert total.steps > 500_000
    assert total.ends > 150_000
    assert total.interleavings > 3_000_000


@pytest.mark.timeout(600)
def test_the_figures_of_the_specification_are_these(
    explored: Exploration, pytestconfig: pytest.Config
) -> None:
    total = explored.total
    page = (pytestconfig.rootpath / "specs" / "laws.md").read_text(encoding="utf-8")
    figures = f"{total.states:,} states that differ, {total.steps:,} steps and {total.ends:,} ends"
    assert figures in " ".join(page.split()), "write them into specs/laws.md"


@pytest.mark.timeout(600)
def test_every_setup_was_gone_through(explored: Exploration) -> None:
    kinds = len(SENT) + len(TAKEN_UP)
    assert len(explored.reports) == kinds * len(DEADLINES) + len(LONGER)
    passed = {name for name, report in explored.reports.items() if report.closed}
    # Where the deadline has passed before the start nothing is sent, and one look is soon taken:
    # there nothing is left to try.
    deadlines = [f"deadline {deadline}" for deadline in DEADLINES]
    over = {f"everything: {kind}, deadline 0.0" for kind in SENT}
    over |= {f"everything: {kind}, {one}" for kind in ("lost", "looked at") for one in deadlines}
    assert passed == over | {"everything: looked for, deadline 0.0"}


@pytest.mark.timeout(600)
@pytest.mark.spec("LAW-13")
def test_every_rule_of_the_table_is_followed_somewhere(explored: Exploration) -> None:
    assert explored.fired == CELLS


@pytest.mark.soak
@pytest.mark.parametrize("deadline", DEADLINES)
@pytest.mark.parametrize("kind", [*SENT, *TAKEN_UP])
def test_every_law_holds_in_longer_interleavings(
    kind: str, deadline: float | None, record_property: Note
) -> None:
    exploration = Exploration()
    exploration.everything(kind, deadline, ALL_MOVES + 2)
    record_property("explored", str(exploration.total))


@pytest.mark.soak
@pytest.mark.parametrize("name", LONGER)
def test_every_law_holds_in_the_longest_interleavings(name: str, record_property: Note) -> None:
    exploration = Exploration()
    exploration.longer(name, further=2)
    record_property("explored", str(exploration.total))


# -- the judge can say no ----------------------------------------------------------------------


def mended(phase: Phase, event: Event, *rules: Rule) -> dict[Phase, Cells]:
    """Return the table with one cell replaced, to break a law."""
    return {**TABLE, phase: {**TABLE[phase], event: rules}}


def without(phase: Phase, event: Event) -> dict[Phase, Cells]:
    cells = {one: rules for one, rules in TABLE[phase].items() if one is not event}
    return {**TABLE, phase: cells}


_P, _E = Phase, Event
_LEAVE = Rule(_P.SETTLED, settle_without_answer)
_SEND = Rule(_P.SENDING, send)
_WATCH = Rule(_P.FOLLOWING, watch)
_SETTLE_END = Rule(_P.SETTLED, settle_end_seen)


@pytest.mark.parametrize(
    ("law", "table"),
    [
        ("a second run", mended(_P.SENDING, _E.LOST, _SEND)),
        ("a second run", mended(_P.SENDING, _E.FAULT, _SEND)),
        ("a second run", mended(_P.SENDING, _E.UNREADABLE, _SEND)),
        ("law 2", without(_P.STOPPING, _E.ENDED)),
        ("law 2", without(_P.HOLDING, _E.MESSAGE)),
        ("law 2", without(_P.RELEASING, _E.ENDED)),
        ("law 2", without(_P.LOOKING_UP, _E.ENDED)),
        ("law 2", without(_P.FOLLOWING, _E.ENDED)),
        ("a question", without(_P.FOLLOWING, _E.PAUSED)),
        ("a dead end", without(_P.FOLLOWING, _E.TIMER)),
        ("a dead end", without(_P.SENDING, _E.FAULT)),
        ("a dead end", without(_P.PREPARED, _E.TIMER)),
        ("has no bound", without(_P.STOPPING, _E.BOUND)),
        ("has no bound", without(_P.HOLDING, _E.BOUND)),
        ("has no bound", without(_P.SENDING, _E.CANCEL)),
        ("has no bound", without(_P.SENDING, _E.DEADLINE)),
        ("begun after the cause", mended(_P.PREPARED, _E.START, _SEND)),
        ("not told that nobody waits", mended(_P.FOLLOWING, _E.CANCEL, _LEAVE)),
        ("one cancel", mended(_P.STOPPING, _E.CANCEL_FAILED, Rule(_P.STOPPING, cancel_peer))),
        ("10 ms between gets", mended(_P.FOLLOWING, _E.GET_FAILED, Rule(_P.FOLLOWING, get_now))),
        ("was not asked", mended(_P.SENDING, _E.FAULT, _LEAVE)),
        ("given up too soon", mended(_P.SENDING, _E.NOT_SENT, _LEAVE)),
        ("another end is told", mended(_P.SETTLED, _E.ENDED, Rule(_P.SETTLED, nothing))),
        ("a look stops nothing", mended(_P.FOLLOWING, _E.CANCEL, Rule(_P.STOPPING, cancel_peer))),
        ("status='unknown'", mended(_P.FOLLOWING, _E.GET_FAILED, Rule(_P.FOLLOWING, watch))),
        ("a question was thrown away", mended(_P.SENDING, _E.PAUSED, _WATCH)),
    ],
)  # fmt: skip
def test_a_table_that_breaks_a_law_is_found(law: str, table: dict[Phase, Cells]) -> None:
    with pytest.raises(BrokenLawError, match=law):
        explore_with(table, "lists", "plain", "looked at", "answers")


def explore_with(table: dict[Phase, Cells], *kinds: str) -> None:
    for kind in kinds:
        for deadline in (1.1, None):
            explore(replace(setup(kind, deadline), table=table), ALL_MOVES)


def trust(desk: Desk) -> None:
    desk.wake_at = desk.now + 60.0


_CONFIRM = Rule(_P.CONFIRMING, confirm)
_AGAIN = Rule(_P.CONFIRMING, confirm_again)
_AFTER = Rule(_P.FOLLOWING, ask_after_stream)
_SUBSCRIBE = Rule(_P.FOLLOWING, subscribe)
_STOP = Rule(_P.STOPPING, cancel_peer)


@pytest.mark.parametrize(
    ("law", "table"),
    [
        ("the stream is watched on", without(_P.SENDING, _E.END_SEEN)),
        ("the stream is watched on", without(_P.FOLLOWING, _E.END_SEEN)),
        ("the stream is watched on", without(_P.HOLDING, _E.END_SEEN)),
        ("law 2", without(_P.RELEASING, _E.END_SEEN)),
        ("asked for, and no more|law 2", without(_P.STOPPING, _E.END_SEEN)),
        ("confirmed", mended(_P.STOPPING, _E.END_SEEN, _CONFIRM)),
        ("given up too soon", mended(_P.FOLLOWING, _E.END_SEEN, _SETTLE_END)),
        ("law 2", without(_P.CONFIRMING, _E.ENDED)),
        ("status=", mended(_P.CONFIRMING, _E.ENDED, Rule(_P.SETTLED, settle_ended))),
        ("status=", mended(_P.CONFIRMING, _E.PAUSED, Rule(_P.SETTLED, settle_paused))),
        ("asked for, and no more", mended(_P.CONFIRMING, _E.WORKING, _WATCH)),
        ("given up too soon", mended(_P.CONFIRMING, _E.WORKING, _SETTLE_END)),
        ("given up too soon", mended(_P.CONFIRMING, _E.GET_FAILED, _SETTLE_END)),
        ("is waited for", mended(_P.CONFIRMING, _E.GET_REFUSED, _AGAIN)),
        ("has no bound", without(_P.CONFIRMING, _E.BOUND)),
        ("asked for, and no more", mended(_P.CONFIRMING, _E.CANCEL, _STOP)),
        ("cleanup takes too long", without(_P.CONFIRMING, _E.CANCEL)),
        ("cleanup takes too long", without(_P.CONFIRMING, _E.DEADLINE)),
        ("law 4", without(_P.FOLLOWING, _E.STREAM_OVER)),
        ("law 4", mended(_P.FOLLOWING, _E.STREAM_OVER, _WATCH)),
        ("followed by a get", mended(_P.FOLLOWING, _E.STREAM_OVER, _SUBSCRIBE)),
        ("not followed after the cause", mended(_P.FOLLOWING, _E.STREAM_OVER, _AFTER)),
        ("nobody can subscribe", mended(_P.FOLLOWING, _E.NO_STREAM, _AFTER)),
        ("a question was thrown away", without(_P.FOLLOWING, _E.QUESTION_SEEN)),
        ("a question was thrown away", without(_P.SENDING, _E.QUESTION_SEEN)),
        ("the stream is watched on", mended(_P.FOLLOWING, _E.QUESTION_SEEN, _AFTER)),
        ("at most one", mended(_P.SENDING, _E.WORKING, _SUBSCRIBE)),
        ("a dead end", mended(_P.SENDING, _E.WORKING, Rule(_P.FOLLOWING))),
        ("is trusted too long", mended(_P.SENDING, _E.WORKING, Rule(_P.FOLLOWING, trust))),
        ("without a stream", mended(_P.SENDING, _E.REFUSED, _LEAVE)),
    ],
)
def test_a_table_that_breaks_a_law_of_streams_is_found(law: str, table: dict[Phase, Cells]) -> None:
    with pytest.raises(BrokenLawError, match=law):
        explore_with(table, "streams", "subscribes")
