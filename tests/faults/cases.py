"""Which cases there are: every fault, every caller, every phase that the two go through.

The phases of a delegation under a fault are found by playing it once with a patient caller: each
span between two steps of the wire is one. A caller's event is then put into the middle of a span.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from a2a_delegate import IdKnown
from tests.faults.callers import ABRUPT, SAYS_WHEN, Caller, callers_on
from tests.faults.circumstances import cause_time
from tests.faults.wire import Step

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tests.faults.errands import Errand
    from tests.faults.play import Case, Record


class Phase(StrEnum):
    """Where a delegation is when something happens to it."""

    BEFORE = "before the send"
    CONNECTING = "while the send connects"
    LEAVING = "half of the send's body gone"
    IN_FLIGHT = "send in flight"
    COMING = "half of the send's reply come"
    PAUSING = "before a repeat"
    LOOKING_UP = "while looking up"
    BETWEEN_POLLS = "between polls"
    DURING_GET = "during a get"
    HOLDING = "in the hold"
    STOPPING = "during the cancel"
    CLEANUP = "during the cleanup"
    CLOSING = "while a reply is given up"


@dataclass(frozen=True, slots=True)
class Moment:
    """A moment of a delegation, in the middle of one of its spans."""

    at: float
    phase: Phase


_SENDING: Final = {
    Step.CONNECTING: Phase.CONNECTING,
    Step.LEAVING: Phase.LEAVING,
    Step.WAITING: Phase.IN_FLIGHT,
    Step.COMING: Phase.COMING,
}
_NOTICEABLE: Final = 1e-4


def moments(record: Record) -> list[Moment]:
    """Return a moment of every span of a delegation, in order; the first one is its beginning."""
    until = record.ending.at
    steps = [(at, n, step) for n, trip in enumerate(record.trips) for at, step in trip.steps]
    marks = sorted(one for one in steps if one[0] < until)
    found = [Moment(0.0, Phase.BEFORE)]
    on_the_way: dict[int, Step] = {}
    for place, (at, number, step) in enumerate(marks):
        on_the_way[number] = step
        if step is Step.OVER:
            del on_the_way[number]
        ends = marks[place + 1][0] if place + 1 < len(marks) else until
        if ends - at > _NOTICEABLE:
            middle = (at + ends) / 2
            found.append(Moment(middle - record.began, _phase(record, middle, on_the_way)))
    return found


def _phase(record: Record, at: float, on_the_way: dict[int, Step]) -> Phase:
    newest = max(on_the_way, default=-1)
    step = on_the_way.get(newest, Step.OVER)
    operation = record.trips[newest].operation if on_the_way else ""
    if step is Step.CLOSING:
        return Phase.CLOSING
    if at > cause_time(record):
        stopping = {"send": Phase.HOLDING, "list": Phase.LOOKING_UP, "cancel": Phase.STOPPING}
        return stopping.get(operation, Phase.CLEANUP)
    if operation == "send":
        return _SENDING[step]
    known = _task_known(record, at)
    if operation:
        return Phase.DURING_GET if operation == "get" and known else Phase.LOOKING_UP
    return Phase.BETWEEN_POLLS if known else Phase.PAUSING


def _task_known(record: Record, at: float) -> bool:
    """Whether the task that carries the message was known by then."""
    errand, shown = record.case.fault.errand, record.time_of(IdKnown)
    before = errand.knows_task and not errand.sends
    return before or (shown is not None and shown < at)


def callers_of(errand: Errand, loop: str) -> tuple[Caller, ...]:
    """Return who can run an errand on a loop: a stop takes no token and no time of its own."""
    named = {Caller.TOKEN, Caller.DEADLINE} if errand.stops else set()
    return tuple(one for one in callers_on(loop) if one not in named)


# -- the products --------------------------------------------------------------------------------


def events_during(record: Record) -> list[Case]:
    """Return every event of a caller at every moment of a patient caller's delegation."""
    case = record.case
    return [
        replace(case, caller=caller, at=_spoken(case, caller, moment.at), phase=moment.phase)
        for moment in moments(record)
        for caller in callers_of(case.fault.errand, case.loop)[1:]
    ]


def _spoken(case: Case, caller: Caller, at: float) -> float:
    """Return what the caller says for something to happen at that moment.

    Nothing of a stop heeds a scope's deadline beforehand, so the scope itself has to fall then.
    """
    heeded = caller not in SAYS_WHEN or not case.fault.errand.stops
    return at if heeded else at * 3 / 4


def events_after(record: Record) -> list[Case]:
    """Return every event that can follow the token's cancel of this delegation."""
    first = record.case.at
    return [
        replace(record.case, first=first, caller=caller, at=moment.at, phase=moment.phase)
        for moment in moments(record)
        if moment.at > first
        for caller in callers_on(record.case.loop)
        if caller in ABRUPT
    ]


def each_phase_once(cases: Sequence[Case]) -> list[Case]:
    """Return of the cases in which a caller meets a phase the first one.

    The end of the loop cancels the requests as well, so that each of its moments is another case.
    """
    first: dict[tuple[Caller, str, float], Case] = {}
    for case in cases:
        moment = case.at if case.caller is Caller.SHUTDOWN else 0.0
        first.setdefault((case.caller, case.phase, moment), case)
    return list(first.values())


@dataclass(slots=True)
class Choice:
    """Picks a few of many cases, so that over a sweep every caller meets every phase.

    `pairs` counts how often a caller met a phase.
    """

    pairs: Counter[tuple[Caller, str]] = field(default_factory=Counter)
    picked: int = 0

    def pick(self, cases: Sequence[Case], number: int) -> Iterator[Case]:
        """Yield one case of every new pair, and then some of the rarest pairs up to `number`.

        Of those that are equally rare the ones after the last picked: so all faults do not meet
        the same callers.
        """
        left = each_phase_once(cases)
        while left:
            self.picked += 1
            turn = self.picked % len(left)
            case = min(left[turn:] + left[:turn], key=self._times)
            if number <= 0 and self._times(case):
                return
            number -= 1
            self.pairs[case.caller, case.phase] += 1
            left.remove(case)
            yield case

    def _times(self, case: Case) -> int:
        return self.pairs[case.caller, case.phase]
