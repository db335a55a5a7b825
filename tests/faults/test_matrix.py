"""Every kind of fault at every operation, with every caller stopping in every phase.

One judge for all of them (`tests.faults.judge`). Here a part of the product is played, in which
each fault meets each version, and over a sweep each caller meets each phase. The whole product is
played by the soak.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from a2a_delegate.testing import Operation
from tests.faults.callers import ABRUPT, Caller, callers_on
from tests.faults.cases import Choice, Phase, each_phase_once, events_after, events_during
from tests.faults.catalogue import FAULTS, OPERATIONS
from tests.faults.judge import complaints
from tests.faults.play import LOOPS, VERSIONS, Case, play

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.faults.play import Record

pytestmark = pytest.mark.exhaustive

LEAST_IN_A_SWEEP = {("1.0",): 1_000, ("0.3",): 750, ("0.3", "1.0"): 1_000, ("0.2",): 750}
AFTER_THE_CAUSE = {Phase.HOLDING, Phase.STOPPING, Phase.CLEANUP}
LEAST_OF_THE_PRODUCT = 4_000
SHOWN = 20


class Sweep:
    """Plays cases, and keeps count of them and of what the judge says."""

    def __init__(self) -> None:
        self.played = 0
        self.statuses: Counter[str] = Counter()
        self.complaints: list[str] = []

    def play(self, case: Case) -> Record:
        """Play one case, and have it judged."""
        record = play(case)
        self.played += 1
        self.statuses["none" if record.settled is None else record.settled.status] += 1
        self.complaints += [f"{case}: {complaint}" for complaint in complaints(record)]
        return record

    def check(self, least: int) -> None:
        """Fail with what the judge said, or when there was too little to judge."""
        told = "\n".join(self.complaints[:SHOWN])
        assert not self.complaints, f"{len(self.complaints)} of {self.played} cases:\n{told}"
        assert self.played >= least, f"only {self.played} cases"


def has(versions: tuple[str, ...], operation: Operation) -> bool:
    """Whether a peer of these versions is asked for that; 0.3 alone is never asked to list."""
    return "1.0" in versions or operation is not Operation.LIST


@pytest.mark.spec("RUN-1", "RUN-2", "RUN-3", "RUN-7", "RUN-8", "DEAD-2", "CXL-3")
@pytest.mark.timeout(240)
@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("versions", VERSIONS, ids="+".join)
def test_no_fault_and_no_caller_makes_an_outcome_lie(
    versions: tuple[str, ...], loop: str, record_property: Callable[[str, object], None]
) -> None:
    sweep, choice = Sweep(), Choice()
    turn = LOOPS.index(loop) + VERSIONS.index(versions)
    for number, fault in enumerate(FAULTS):
        if (number + turn) % len(LOOPS) or not has(versions, fault.operation):
            continue
        patient = sweep.play(Case(fault, versions, loop))
        for case in choice.pick(events_during(patient), 1):
            record = sweep.play(case)
            if case.caller is Caller.TOKEN:
                for again in choice.pick(events_after(record), 1):
                    sweep.play(again)
    record_property("cases", sweep.played)
    sweep.check(LEAST_IN_A_SWEEP[versions])
    demanded = {
        (caller, phase)
        for caller in callers_on(loop)[1:]
        for phase in Phase
        if caller in ABRUPT or phase not in AFTER_THE_CAUSE
        if "1.0" in versions or phase is not Phase.LOOKING_UP
    }
    assert demanded - choice.pairs.keys() == set(), "a caller that never met a phase"
    assert sweep.statuses.keys() >= {"completed", "failed", "rejected", "cancelled", "timed-out"}


WHOLE = [
    pytest.param(versions, loop, operation, id=f"{'+'.join(versions)}-{loop}-{operation}")
    for versions in VERSIONS
    for loop in LOOPS
    for operation in OPERATIONS
    if has(versions, operation)
]


@pytest.mark.soak
@pytest.mark.spec("RUN-1", "RUN-2", "RUN-3")
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize(("versions", "loop", "operation"), WHOLE)
def test_nothing_in_the_whole_product_makes_an_outcome_lie(
    versions: tuple[str, ...],
    loop: str,
    operation: Operation,
    record_property: Callable[[str, object], None],
) -> None:
    sweep, choice = Sweep(), Choice()
    for fault in FAULTS:
        if fault.operation is not operation:
            continue
        patient = sweep.play(Case(fault, versions, loop))
        for case in each_phase_once(events_during(patient)):
            record = sweep.play(case)
            if case.caller is Caller.TOKEN:
                for again in choice.pick(events_after(record), 2):
                    sweep.play(again)
    record_property("cases", sweep.played)
    sweep.check(LEAST_OF_THE_PRODUCT)
