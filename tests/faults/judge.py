"""The one judge of every case: what was said is compared with what was true.

Each rule yields a sentence for every way in which a record breaks it. The truth is that of the peer
(what ran, how it ended), of the wire (what left, what came) and of the clock; nothing here asks the
delegate what it believes. `circumstances` has the rules that need no outcome, `stopping` those of
receipts and of who may stop what, `recovery` those of what was done for an answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from a2a_delegate import (
    A2ARequestError,
    AuthRequired,
    Completed,
    DelegateError,
    Effect,
    Failed,
    InputRequired,
    PeerUnreachableError,
    Rejected,
    Running,
    TaskFailedError,
    Unknown,
)
from a2a_delegate.testing import UnknownState, WorkState
from tests.faults import recovery, stopping
from tests.faults.circumstances import EPSILON, ending_of, leftovers_of, signals_of
from tests.faults.facts import Facts, facts_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.faults.play import Record

_EVIDENCE: Final = 64 * 1024
BUSY: Final = 429
"""The only answer after which the matrix allows another send."""


def complaints(record: Record) -> list[str]:
    """Return everything that is wrong with a case; nothing when it is honest."""
    found = [
        *record.complaints,
        *ending_of(record),
        *leftovers_of(record),
        *signals_of(record),
    ]
    facts = facts_of(record)
    if facts is not None:
        for rule in _RULES:
            found += rule(facts)
    return found


# -- no lie --------------------------------------------------------------------------------------


def _effect(facts: Facts) -> Iterator[str]:
    """What is said of the run agrees with what ran."""
    fault, result = facts.fault, facts.result
    if result.effect is Effect.NOT_STARTED and facts.runs and not fault.lies:
        yield "not-started, and it ran"
    if result.effect is Effect.RAN and not facts.began:
        yield "ran, and the peer knows nothing of it"
    if not facts.ever_left and result.effect is not Effect.NOT_STARTED:
        yield f"{result.effect}, and no byte left"
    if (result.handle is None) != (not facts.ever_left):
        yield f"the handle is {result.handle}, and {len(facts.left)} bodies left"
    if result.handle is not None and result.handle.task_id is not None:
        known = facts.task.id if facts.task is not None else None
        if result.handle.task_id != known and not fault.lies:
            yield f"the handle names task {result.handle.task_id}, and ours is {known}"


def _no_second_run(facts: Facts) -> Iterator[str]:
    """Law 1: at most one run by our doing."""
    if not facts.fault.lies and any(times > 1 for times in facts.record.runs.values()):
        yield f"it ran more than once: {facts.record.runs}"
    for trip in facts.left[:-1]:
        if trip.status != BUSY or not trip.complete:
            yield f"sent again without proof, after HTTP {trip.status}"
    late = [trip for trip in facts.sends if trip.began > facts.cause_at + EPSILON]
    if late:
        yield "sent after the cause"


def _verdict(facts: Facts) -> Iterator[str]:
    """The outcome is the one that the truth allows; those of a stop have rules of their own."""
    match facts.result:
        case Completed() as result:
            yield from _completed(facts, result)
        case Failed(error=error):
            yield from _failed(facts, error)
        case Rejected(error=error):
            yield from _rejected(facts, error)
        case InputRequired() | AuthRequired() as result:
            yield from _asks(facts, result)
        case Unknown() as result:
            yield from _unknown(facts, result)
        case Running() as result:
            yield from _running(facts, result)
        case _:
            pass


def _asks(facts: Facts, result: InputRequired | AuthRequired) -> Iterator[str]:
    if result.status != facts.state or not str(result.question):
        yield f"{result.status}, and the task is {facts.state}"
    answered = facts.record.handle if facts.errand.sends else None
    if answered is not None and result.question.message_id == answered.question_id:
        yield "the question is the one that was answered"


def _running(facts: Facts, result: Running) -> Iterator[str]:
    looks = [trip.began for trip in facts.record.trips if trip.operation == "get"]
    if not facts.errand.looks or not result.last_state or not looks or facts.task is None:
        yield f"an outcome that cannot be: {result}"
        return
    ended, state = facts.task.ended, facts.task.state
    asks = state.is_settled and not state.is_terminal
    hidden = any(isinstance(one, UnknownState) for one in (*facts.fault.once, facts.fault.always))
    if ((ended is not None and ended < looks[-1]) or asks) and not hidden:
        yield f"running, and the task is {state}"


def _undone(facts: Facts) -> bool:
    """Whether a second cancel, at the end of the loop, undid the end, as 0.2 does it."""
    twice = facts.task is not None and facts.task.cancel_requests > 1
    return twice and facts.record.case.versions == ("0.2",)


def _failed(facts: Facts, error: DelegateError) -> Iterator[str]:
    match error:
        case TaskFailedError():
            if facts.state is not WorkState.FAILED or error.text != "it failed":
                yield f"failed with {error.text!r}, and the task is {facts.state}"
        case PeerUnreachableError():
            if not facts.errand.sends or any(trip.status != BUSY for trip in facts.left):
                yield "unreachable, and a body left"
        case A2ARequestError():
            if not _came(facts, error):
                yield f"an answer with HTTP {error.status} that never came"
        case _:
            yield f"an outcome that cannot be: {facts.result}"


def _came(facts: Facts, error: DelegateError) -> bool:
    """Whether an answer of this status came to a send."""
    answers = [trip.status for trip in facts.left]
    return isinstance(error, A2ARequestError) and error.status in answers


def _rejected(facts: Facts, error: DelegateError) -> Iterator[str]:
    if isinstance(error, TaskFailedError):
        if facts.state is not WorkState.REJECTED:
            yield f"rejected, and the task is {facts.state}"
        return
    if facts.result.effect is not Effect.NOT_STARTED:
        yield f"refused before it began, and the effect is {facts.result.effect}"
    if not _came(facts, error):
        yield f"refused by an answer that never came: {error!r}"


_SAID: Final = {"hello": "hello from Scripted peer", "empty": None}


def _completed(facts: Facts, result: Completed) -> Iterator[str]:
    prompt = facts.fault.prompt
    done = facts.state is WorkState.COMPLETED or _undone(facts)
    if prompt != "hello" and not done:
        yield f"completed, and the task is {facts.task}"
    if facts.task is not None and (facts.task.ended or 0.0) > facts.settled_at:
        yield "completed before the task was"
    expected = _SAID.get(prompt, f"result of {prompt}")
    if result.output != expected:
        yield f"the answer is {result.output!r}, not {expected!r}"
    if result.late != (facts.cause_at < facts.settled_at - EPSILON) and result.late:
        yield "late, and nothing had told it to stop"


def _unknown(facts: Facts, result: Unknown) -> Iterator[str]:
    if result.effect is Effect.NOT_STARTED:
        yield "unknown, and not started"
    came = facts.left[-1].came if facts.left else b""
    if not came.startswith(result.evidence):
        yield "the evidence is not what came"
    fault = facts.fault
    if not fault.deaf and result.evidence != came[:_EVIDENCE] and result.effect is not Effect.RAN:
        yield f"{len(came)} bytes came and {len(result.evidence)} are shown"


_RULES: Final = (
    _effect,
    _no_second_run,
    _verdict,
    stopping.stopped,
    recovery.found,
    recovery.healed,
    recovery.late,
    recovery.attempts,
)
