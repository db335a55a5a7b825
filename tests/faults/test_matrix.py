"""Every kind of fault at every operation, with every caller stopping in every phase.

One judge for all of them (`tests.faults.judge`). Here a part of the product is played, in which
each fault of a hand-over meets each version and each fault of another errand meets one, and over a
sweep each caller meets each phase. The whole product is played by the soak; a version that has no
means but those of another meets one of each sort of caller there, and not each of the sort.
"""

from __future__ import annotations

import gc
import itertools
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import pytest

from a2a_delegate.testing import Operation
from tests.faults.callers import ABRUPT, Caller, callers_on
from tests.faults.cases import (
    Choice,
    Phase,
    callers_of,
    each_phase_once,
    events_after,
    events_during,
)
from tests.faults.catalogue import FAULTS
from tests.faults.errands import Errand
from tests.faults.judge import complaints
from tests.faults.play import LOOPS, VERSIONS, Case, play
from tests.faults.wire import Manners

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator

    from tests.faults.catalogue import Fault
    from tests.faults.play import Record

pytestmark = pytest.mark.exhaustive

LEAST_IN_A_SWEEP: Final = {
    ("1.0",): 1_000,
    ("0.3",): 750,
    ("0.3", "1.0"): 1_000,
    ("0.2",): 750,
}
LEAST_OF_AN_ERRAND: Final = {
    Errand.ANSWER: 1_500,
    Errand.RESUME: 950,
    Errand.RESUME_LOST: 1_400,
    Errand.LOOK: 500,
    Errand.LOOK_LOST: 950,
    Errand.STOP: 850,
    Errand.STOP_LOST: 850,
}
AFTER_THE_CAUSE: Final = {Phase.HOLDING, Phase.STOPPING, Phase.CLEANUP}
_SENDING: Final = {Phase.CONNECTING, Phase.LEAVING, Phase.IN_FLIGHT, Phase.COMING, Phase.HOLDING}
PHASES: Final = {
    Errand.ANSWER: set(Phase),
    Errand.RESUME: set(Phase) - _SENDING - {Phase.PAUSING, Phase.LOOKING_UP},
    Errand.RESUME_LOST: set(Phase) - _SENDING,
    Errand.LOOK: {Phase.BEFORE, Phase.DURING_GET},
    Errand.LOOK_LOST: {Phase.BEFORE, Phase.LOOKING_UP, Phase.DURING_GET},
    Errand.STOP: {Phase.BEFORE, Phase.STOPPING, Phase.CLEANUP},
    Errand.STOP_LOST: {Phase.BEFORE, Phase.LOOKING_UP, Phase.STOPPING, Phase.CLEANUP},
}
"""Where an errand can be stopped."""
OF_EACH_SORT: Final = {Caller.TOKEN, Caller.DEADLINE, Caller.SCOPE, Caller.TASK, Caller.TASK_TWICE}
CALLERS: Final = {("0.2",): OF_EACH_SORT, ("0.3", "1.0"): OF_EACH_SORT}
"""Who stops at peers whose means are those of 0.3 (0.2), or of the two that have all callers."""
LEAST_FOR_EACH_FAULT: Final = 5
LEAST_OF_EACH_SORT: Final = 2
"""A stop on trio has one sort of caller: it waits, and is stopped by a scope at least once."""
SHOWN: Final = 20


class Sweep:
    """Plays cases, and keeps count of them and of what the judge says."""

    def __init__(self) -> None:
        self.played = 0
        self.same = 0
        self.statuses: Counter[str] = Counter()
        self.complaints: list[str] = []
        self._unmet: set[Hashable] = set()
        # What the tests are made of need not be looked through for garbage after every few cases.
        gc.collect()
        gc.freeze()

    def play(self, case: Case) -> Record:
        """Play one case, and have it judged."""
        record = play(case)
        self.played += 1
        self.statuses["none" if record.settled is None else record.settled.status] += 1
        self.complaints += [f"{case}: {complaint}" for complaint in complaints(record)]
        strict = not (case.fault.lies or case.fault.deaf)
        if strict and not record.met:
            self._unmet.add(_without_fault(case))
        return record

    def sample(self, case: Case, choice: Choice) -> None:
        """Play a case of a patient caller, and some of those in which the caller stops."""
        for event in choice.pick(events_during(self.play(case)), 1):
            record = self.play(event)
            if event.caller is Caller.TOKEN:
                for again in choice.pick(events_after(record), 1):
                    self.play(again)

    def exhaust(self, case: Case, choice: Choice) -> None:
        """Play a case of a patient caller, and each caller's stopping in each phase of it.

        Where a caller stops before the fault is met, all faults of one situation make one case:
        that is played once, and the next moment of its phase takes its place.
        """
        callers = CALLERS.get(case.versions, set(Caller))
        events = [one for one in events_during(self.play(case)) if one.caller in callers]
        new = [event for event in events if _without_fault(event) not in self._unmet]
        self.same += len(events) - len(new)
        for event in each_phase_once(new):
            record = self.play(event)
            if event.caller is Caller.TOKEN:
                for again in choice.pick(events_after(record), 2):
                    self.play(again)

    def check(self, least: int, record_property: Callable[[str, object], None]) -> None:
        """Fail with what the judge said, or when there was too little to judge."""
        record_property("cases", self.played)
        if self.same:
            record_property("the same as another case, and so not played", self.same)
        told = "\n".join(self.complaints[:SHOWN])
        assert not self.complaints, f"{len(self.complaints)} of {self.played} cases:\n{told}"
        assert self.played >= least, f"only {self.played} cases"


def _without_fault(case: Case) -> Hashable:
    """Return what makes a case whose fault is never met."""
    situation = replace(case.fault, name="", once=(), always=None, lies=False, deaf=False)
    return replace(case, fault=replace(situation, manners=Manners()), phase="")


def has(versions: tuple[str, ...], errand: Errand, operation: Operation) -> bool:
    """Whether a peer of these versions is asked for that; only 1.0 can list what was lost."""
    return "1.0" in versions or not (errand.lost or operation is Operation.LIST)


def faults_of(errand: Errand) -> Iterator[Fault]:
    """Yield the faults of one errand."""
    return (fault for fault in FAULTS if fault.errand is errand)


@pytest.mark.spec("RUN-1", "RUN-2", "RUN-3", "RUN-7", "RUN-8", "DEAD-2", "CXL-3")
@pytest.mark.timeout(480)
@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("versions", VERSIONS, ids="+".join)
def test_no_fault_and_no_caller_makes_an_outcome_lie(
    versions: tuple[str, ...], loop: str, record_property: Callable[[str, object], None]
) -> None:
    sweep, choice = Sweep(), Choice()
    turn = LOOPS.index(loop) + VERSIONS.index(versions)
    for number, fault in enumerate(faults_of(Errand.HAND_OVER)):
        if (number + turn) % len(LOOPS) == 0 and has(versions, fault.errand, fault.operation):
            sweep.sample(Case(fault, versions, loop), choice)
    sweep.check(LEAST_IN_A_SWEEP[versions], record_property)
    demanded = {
        (caller, phase)
        for caller in callers_on(loop)[1:]
        for phase in Phase
        if caller in ABRUPT or phase not in AFTER_THE_CAUSE
        if "1.0" in versions or phase is not Phase.LOOKING_UP
    }
    assert demanded - choice.pairs.keys() == set(), "a caller that never met a phase"
    assert sweep.statuses.keys() >= {"completed", "failed", "rejected", "cancelled", "timed-out"}


@pytest.mark.spec("HAND-13")
@pytest.mark.timeout(480)
@pytest.mark.parametrize("errand", LEAST_OF_AN_ERRAND, ids=str)
def test_no_fault_and_no_caller_makes_an_errand_lie(
    errand: Errand, record_property: Callable[[str, object], None]
) -> None:
    sweep, choice = Sweep(), Choice()
    ways = itertools.cycle(itertools.product(VERSIONS, LOOPS))
    for fault in faults_of(errand):
        versions, loop = next(way for way in ways if has(way[0], errand, fault.operation))
        sweep.sample(Case(fault, versions, loop), choice)
    sweep.check(LEAST_OF_AN_ERRAND[errand], record_property)
    demanded = {
        (caller, phase)
        for caller in callers_of(errand, "asyncio")[1:]
        for phase in PHASES[errand] - {Phase.CLOSING}
        if caller in ABRUPT or errand.stops or phase not in AFTER_THE_CAUSE
    }
    assert demanded - choice.pairs.keys() == set(), "a caller that never met a phase"


WHOLE: Final = [
    pytest.param(
        errand, versions, loop, operation, id=f"{errand}-{'+'.join(versions)}-{loop}-{operation}"
    )
    for errand, operation in sorted({(one.errand, one.operation) for one in FAULTS}, key=str)
    for versions in VERSIONS
    if has(versions, errand, operation)
    for loop in LOOPS
]


@pytest.mark.soak
@pytest.mark.spec("RUN-1", "RUN-2", "RUN-3", "HAND-13")
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize(("errand", "versions", "loop", "operation"), WHOLE)
def test_nothing_in_the_whole_product_makes_an_outcome_lie(
    errand: Errand,
    versions: tuple[str, ...],
    loop: str,
    operation: Operation,
    record_property: Callable[[str, object], None],
) -> None:
    sweep, choice = Sweep(), Choice()
    faults = [fault for fault in faults_of(errand) if fault.operation is operation]
    for fault in faults:
        sweep.exhaust(Case(fault, versions, loop), choice)
    least = LEAST_OF_EACH_SORT if versions in CALLERS else LEAST_FOR_EACH_FAULT
    sweep.check(least * len(faults), record_property)
