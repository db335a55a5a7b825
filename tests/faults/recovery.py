"""The judge's rules of what was done for an answer: what is found, what heals, what was asked."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final

from a2a_delegate import Completed, Effect, Unknown
from a2a_delegate.testing import (
    Delay,
    DropBeforeReading,
    Hang,
    Operation,
    RefuseConnection,
    Respond,
    WorkState,
)
from a2a_delegate.testing.behaviours import core
from tests.faults.callers import PATIENCE, Caller
from tests.faults.circumstances import EPSILON
from tests.faults.errands import Errand
from tests.faults.play import CONFIG

if TYPE_CHECKING:
    from collections.abc import Iterator

    from a2a_delegate.testing import Behaviour
    from tests.faults.facts import Facts

_GET_FLOOR: Final = 0.01
_HEALING: Final = frozenset({"slow 0.5", "data", "history"})


def found(facts: Facts) -> Iterator[str]:
    """Section 5: what can be found is found; a look that is given up need not be."""
    fault, task = facts.fault, facts.task
    asks = Operation.GET if facts.errand is Errand.ANSWER else Operation.LIST
    looked = [trip.began for trip in facts.record.trips if trip.operation == asks.value]
    # One that does not list, or lists under another context, tells nobody.
    hides = {("lists", False), ("keeps_context_ids", False)} & set(fault.options)
    honest = fault.operation is not asks and not fault.deaf and not fault.lies and not hides
    listed = asks is Operation.GET or "1.0" in facts.record.case.versions
    given_up = facts.errand.looks and facts.stopped
    if task is None or not honest or not listed or given_up:
        return
    if facts.result.effect is not Effect.RAN and task.state is not WorkState.REJECTED:
        if not looked:
            yield f"{facts.result.effect}, and nobody looked for task {task.id}"
        elif task.started <= max(looked):
            yield f"{facts.result.effect}, and task {task.id} was there to be found"


def healed(facts: Facts) -> Iterator[str]:
    """A get that fails once, and a send that never left once, cost time and nothing else."""
    case, fault = facts.record.case, facts.fault
    if case.caller is not Caller.PATIENT:
        return
    if facts.errand.looks:
        untouched = not fault.once and fault.always is None and not fault.options
        if untouched and not fault.manners.operation and isinstance(facts.result, Unknown):
            yield "one look showed nothing, and the peer was well"
        return
    if len(fault.once) != 1 or fault.prompt not in _HEALING or fault.meanwhile:
        return
    passes = fault.operation is Operation.GET or (
        fault.operation is Operation.SEND
        and isinstance(core(fault.once[0]), RefuseConnection | DropBeforeReading)
    )
    passes = passes and not facts.errand.stops and not isinstance(facts.result, Completed)
    # What became of an answer is not looked for until the deadline.
    looks_up = facts.errand is Errand.ANSWER and fault.operation is Operation.GET
    patience = CONFIG.recovery_timeout if looks_up else PATIENCE
    if passes and facts.settled_at - facts.record.began < patience - EPSILON:
        yield f"{facts.result.status}, and the peer was well again"
    if passes and not _lasts(fault.once[0]):
        yield f"{facts.result.status}, and there was time enough"


def _lasts(behaviour: Behaviour) -> bool:
    """Whether a single one of these outlasts the patience of a caller."""
    act, asked = core(behaviour), None
    if isinstance(act, Respond):
        asked = act.headers.get("retry-after")
    slow = isinstance(behaviour, Delay) and behaviour.seconds > PATIENCE / 2
    return slow or isinstance(act, Hang) or asked == "7200"


def late(facts: Facts) -> Iterator[str]:
    """An answer that comes after the cause says so, and no other does."""
    if facts.result.late and not facts.stopped:
        yield "late, and nothing had told it to stop"
    answered = isinstance(facts.result, Completed)
    overdue = facts.cause_at < facts.settled_at - CONFIG.timing.release - EPSILON
    if answered and overdue and not facts.result.late:
        yield "the answer came after the cause, and is not called late"


def attempts(facts: Facts) -> Iterator[str]:
    """What the outcome shows of its requests is what the wire saw of them, and of no others."""
    for operation in ("send", "get", "list", "cancel"):
        shown = [one for one in facts.result.attempts if one.operation == operation]
        made = [trip for trip in facts.record.trips if trip.operation == operation]
        told, left = sum(one.body_left for one in shown), sum(trip.left for trip in made)
        # The end of the loop has some requests made twice, and the outcome tells of the second.
        again = facts.record.case.caller is Caller.SHUTDOWN and operation != "send"
        if told != left and not again:
            yield f"{told} bodies of {operation} are said to have left, and {left} did"
        statuses = [one.http_status for one in shown if one.http_status is not None]
        if not again and statuses != [one.status for one in made if one.status is not None]:
            yield f"the statuses of {operation} are said to have been {statuses}"
    gets = [trip.began for trip in facts.record.trips if trip.operation == "get"]
    again = facts.record.case.caller is Caller.SHUTDOWN
    close = [pair for pair in pairwise(gets) if pair[1] - pair[0] < _GET_FLOOR - EPSILON]
    if len(close) > again:
        yield "two gets within 10 ms"
