"""The one judge of every case: what was said is compared with what was true.

Each rule yields a sentence for every way in which a record breaks it. The truth is that of the peer
(what ran, how it ended), of the wire (what left, what came) and of the clock; nothing here asks the
delegate what it believes.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from a2a_delegate import (
    A2ARequestError,
    AuthRequired,
    Cancelled,
    CancelReceipt,
    CancelSent,
    Completed,
    DelegateError,
    Effect,
    Failed,
    IdKnown,
    InputRequired,
    Intent,
    PeerUnreachableError,
    Rejected,
    Running,
    Settled,
    TaskFailedError,
    TimedOut,
    Unknown,
)
from a2a_delegate.testing import (
    Delay,
    DropBeforeReading,
    Hang,
    LyingCancel,
    Operation,
    RefuseConnection,
    Respond,
    WorkState,
)
from a2a_delegate.testing.behaviours import core
from tests.faults.callers import (
    ABRUPT,
    PATIENCE,
    REASON,
    Caller,
)
from tests.faults.circumstances import EPSILON, cause_time, ending_of, leftovers_of, signals_of
from tests.faults.play import CONFIG

if TYPE_CHECKING:
    from collections.abc import Iterator

    from a2a_delegate import DelegateResult
    from a2a_delegate.testing import Behaviour, TaskFact
    from tests.faults.play import Record
    from tests.faults.wire import Trip

_EVIDENCE: Final = 64 * 1024
BUSY: Final = 429
"""The only answer after which the matrix allows another send."""
_GET_FLOOR: Final = 0.01


@dataclass(frozen=True, slots=True)
class _Facts:
    """What the rules need of a record, worked out once."""

    record: Record
    result: DelegateResult
    settled_at: float
    message_id: str
    runs: int
    task: TaskFact | None
    sends: list[Trip]
    cause_at: float
    """When the delegation was first told to stop, or would have been."""

    @property
    def stopped(self) -> bool:
        """Whether it was told to stop before it had settled."""
        return self.cause_at <= self.settled_at + EPSILON

    @property
    def began(self) -> bool:
        """Whether the peer took the message up: it ran, or there is a task for it."""
        return self.runs > 0 or self.task is not None

    @property
    def left(self) -> list[Trip]:
        """The sends of which a byte left."""
        return [trip for trip in self.sends if trip.left]


def complaints(record: Record) -> list[str]:
    """Return everything that is wrong with a case; nothing when it is honest."""
    found = [
        *record.complaints,
        *ending_of(record),
        *leftovers_of(record),
        *signals_of(record),
    ]
    facts = _facts(record)
    if facts is not None:
        for rule in _RULES:
            found += rule(facts)
    return found


def _facts(record: Record) -> _Facts | None:
    intents = [signal for signal in record.told(Intent) if isinstance(signal, Intent)]
    result, settled_at = record.settled, record.time_of(Settled)
    if not intents or intents[0].handle is None or result is None or settled_at is None:
        return None
    message_id = intents[0].handle.message_id
    task = next((one for one in record.tasks if one.message_id == message_id), None)
    return _Facts(
        record,
        result,
        settled_at,
        message_id,
        record.runs.get(message_id, 0),
        task,
        [trip for trip in record.trips if trip.operation == "send"],
        cause_time(record),
    )


# -- no lie --------------------------------------------------------------------------------------


def _effect(facts: _Facts) -> Iterator[str]:
    """What is said of the run agrees with what ran."""
    fault, result = facts.record.case.fault, facts.result
    if result.effect is Effect.NOT_STARTED and facts.runs and not fault.lies:
        yield "not-started, and it ran"
    if result.effect is Effect.RAN and not facts.began:
        yield "ran, and the peer knows nothing of it"
    if not facts.left and result.effect is not Effect.NOT_STARTED:
        yield f"{result.effect}, and no byte left"
    if (result.handle is None) != (not facts.left):
        yield f"the handle is {result.handle}, and {len(facts.left)} bodies left"
    if result.handle is not None and result.handle.task_id is not None:
        known = facts.task.id if facts.task is not None else None
        if result.handle.task_id != known and not fault.lies:
            yield f"the handle names task {result.handle.task_id}, and ours is {known}"


def _no_second_run(facts: _Facts) -> Iterator[str]:
    """Law 1: at most one run by our doing."""
    fault = facts.record.case.fault
    if not fault.lies and any(times > 1 for times in facts.record.runs.values()):
        yield f"it ran more than once: {facts.record.runs}"
    for trip in facts.left[:-1]:
        if trip.status != BUSY or not trip.complete:
            yield f"sent again without proof, after HTTP {trip.status}"
    late = [trip for trip in facts.sends if trip.began > facts.cause_at + EPSILON]
    if late:
        yield "sent after the cause"


def _verdict(facts: _Facts) -> Iterator[str]:
    """The outcome is the one that the truth allows."""
    match facts.result:
        case Completed() as result:
            yield from _completed(facts, result)
        case Failed(error=error):
            yield from _failed(facts, error)
        case Rejected(error=error):
            yield from _rejected(facts, error)
        case Cancelled() as result:
            yield from _cancelled(facts, result)
        case TimedOut() as result:
            yield from _timed_out(facts, result)
        case InputRequired() | AuthRequired() as result:
            if result.status != _state(facts) or not str(result.question):
                yield f"{result.status}, and the task is {_state(facts)}"
        case Unknown() as result:
            yield from _unknown(facts, result)
        case Running() as result:
            yield f"an outcome that cannot be: {result}"


def _state(facts: _Facts) -> WorkState | None:
    return None if facts.task is None else facts.task.state


def _failed(facts: _Facts, error: DelegateError) -> Iterator[str]:
    match error:
        case TaskFailedError():
            if _state(facts) is not WorkState.FAILED or error.text != "it failed":
                yield f"failed with {error.text!r}, and the task is {_state(facts)}"
        case PeerUnreachableError():
            if any(trip.status != BUSY for trip in facts.left):
                yield "unreachable, and a body left"
        case A2ARequestError():
            if not any(trip.status == error.status for trip in facts.left):
                yield f"an answer with HTTP {error.status} that never came"
        case _:
            yield f"an outcome that cannot be: {facts.result}"


def _rejected(facts: _Facts, error: DelegateError) -> Iterator[str]:
    if isinstance(error, TaskFailedError):
        if _state(facts) is not WorkState.REJECTED:
            yield f"rejected, and the task is {_state(facts)}"
    elif facts.result.effect is not Effect.NOT_STARTED:
        yield f"refused before it began, and the effect is {facts.result.effect}"


_SAID: Final = {"hello": "hello from Scripted peer", "empty": None}


def _completed(facts: _Facts, result: Completed) -> Iterator[str]:
    prompt = facts.record.case.fault.prompt
    if prompt != "hello" and (facts.task is None or facts.task.state is not WorkState.COMPLETED):
        yield f"completed, and the task is {facts.task}"
    if facts.task is not None and (facts.task.ended or 0.0) > facts.settled_at:
        yield "completed before the task was"
    expected = _SAID.get(prompt, f"result of {prompt}")
    if result.output != expected:
        yield f"the answer is {result.output!r}, not {expected!r}"
    if result.late != (facts.cause_at < facts.settled_at - EPSILON) and result.late:
        yield "late, and nothing had told it to stop"


def _cancelled(facts: _Facts, result: Cancelled) -> Iterator[str]:
    case = facts.record.case
    told = facts.stopped and (case.first is not None or case.caller in ABRUPT | {Caller.TOKEN})
    if result.by != "caller" or not told:
        yield f"cancelled by the {result.by}, and nobody did"
    by_token = case.first is not None or case.caller is Caller.TOKEN
    if (result.reason is REASON) != by_token:
        yield f"the reason is {result.reason!r}"
    yield from _receipt(facts, result.receipt)


def _timed_out(facts: _Facts, result: TimedOut) -> Iterator[str]:
    if not result.last_state:
        yield "timed out without a state"
    if not facts.stopped:
        yield "timed out before the deadline"
    if result.handle is None or result.handle.task_id is None:
        yield "timed out without knowing a task"
    yield from _receipt(facts, result.receipt)


def _receipt(facts: _Facts, receipt: CancelReceipt) -> Iterator[str]:
    """A receipt says what the peer said, and an honest peer says the truth."""
    fault, state = facts.record.case.fault, _state(facts)
    behaviours = (*fault.once, *([] if fault.always is None else [fault.always]))
    # A peer that ran it twice has two tasks, of which only one was ours to stop.
    liar = fault.lies or any(isinstance(core(one), LyingCancel) for one in behaviours)
    known = facts.record.time_of(IdKnown) is not None
    if receipt is CancelReceipt.CONFIRMED and state is not WorkState.CANCELED and not liar:
        yield f"confirmed, and the task is {state}"
    if receipt is CancelReceipt.NOT_NEEDED and facts.runs and not fault.lies:
        yield "a cancel was not needed, and it ran"
    if known and not facts.record.told(CancelSent):
        yield "the task is known, and the peer was not told to stop it"
    ended_by_itself = state is not None and state.is_terminal and state is not WorkState.CANCELED
    if (
        known
        and fault.operation is not Operation.CANCEL
        and not ended_by_itself
        and receipt is not CancelReceipt.CONFIRMED
    ):
        yield f"the receipt is {receipt}, and nothing was wrong with the cancel"


def _unknown(facts: _Facts, result: Unknown) -> Iterator[str]:
    if result.effect is Effect.NOT_STARTED:
        yield "unknown, and not started"
    came = facts.left[-1].came if facts.left else b""
    if not came.startswith(result.evidence):
        yield "the evidence is not what came"
    fault = facts.record.case.fault
    if not fault.deaf and result.evidence != came[:_EVIDENCE] and result.effect is not Effect.RAN:
        yield f"{len(came)} bytes came and {len(result.evidence)} are shown"
    if result.handle is not None and result.handle.task_id and not facts.record.told(CancelSent):
        yield "the task is given up, and the peer was not told to stop it"


def _recovered(facts: _Facts) -> Iterator[str]:
    """Section 5: what can be found is found."""
    case, task = facts.record.case, facts.task
    looked = [trip.began for trip in facts.record.trips if trip.operation == "list"]
    # One that does not list, or lists under another context, tells nobody.
    hides = {("lists", False), ("keeps_context_ids", False)} & set(case.fault.options)
    honest = case.fault.operation is not Operation.LIST and not case.fault.deaf and not hides
    if task is None or not honest or "1.0" not in case.versions or case.fault.lies:
        return
    if facts.result.effect is not Effect.RAN and task.state is not WorkState.REJECTED:
        if not looked:
            yield f"{facts.result.effect}, and nobody looked for task {task.id}"
        elif task.started <= max(looked):
            yield f"{facts.result.effect}, and task {task.id} was there to be found"


def _healed(facts: _Facts) -> Iterator[str]:
    """A get that fails once, and a send that never left once, cost time and nothing else."""
    case, fault = facts.record.case, facts.record.case.fault
    if case.caller is not Caller.PATIENT or len(fault.once) != 1 or fault.prompt not in _HEALING:
        return
    passes = fault.operation is Operation.GET or (
        fault.operation is Operation.SEND
        and isinstance(core(fault.once[0]), RefuseConnection | DropBeforeReading)
    )
    if passes and facts.settled_at < PATIENCE and not isinstance(facts.result, Completed):
        yield f"{facts.result.status}, and the peer was well again"
    if passes and not isinstance(facts.result, Completed) and not _lasts(fault.once[0]):
        yield f"{facts.result.status}, and there was time enough"


_HEALING: Final = frozenset({"slow 0.5", "slow 0.02", "data", "history"})


def _lasts(behaviour: Behaviour) -> bool:
    """Whether a single one of these outlasts the patience of a caller."""
    act, asked = core(behaviour), None
    if isinstance(act, Respond):
        asked = act.headers.get("retry-after")
    slow = isinstance(behaviour, Delay) and behaviour.seconds > PATIENCE / 2
    return slow or isinstance(act, Hang) or asked == "7200"


def _late(facts: _Facts) -> Iterator[str]:
    if facts.result.late and not facts.stopped:
        yield "late, and nothing had told it to stop"
    answered = isinstance(facts.result, Completed)
    overdue = facts.cause_at < facts.settled_at - CONFIG.timing.release - EPSILON
    if answered and overdue and not facts.result.late:
        yield "the answer came after the cause, and is not called late"


def _attempts(facts: _Facts) -> Iterator[str]:
    """What the outcome shows of its requests is what the wire saw of them."""
    for operation in ("send", "get", "list", "cancel"):
        shown = [one for one in facts.result.attempts if one.operation == operation]
        made = [trip for trip in facts.record.trips if trip.operation == operation]
        told, left = sum(one.body_left for one in shown), sum(trip.left for trip in made)
        # The end of the loop has some requests made twice, and the outcome tells of the second.
        again = facts.record.case.caller is Caller.SHUTDOWN and operation in {"list", "cancel"}
        if told != left and not again:
            yield f"{told} bodies of {operation} are said to have left, and {left} did"
        statuses = [one.http_status for one in shown if one.http_status is not None]
        if not again and statuses != [one.status for one in made if one.status is not None]:
            yield f"the statuses of {operation} are said to have been {statuses}"
    gets = [trip.began for trip in facts.record.trips if trip.operation == "get"]
    if any(later - earlier < _GET_FLOOR - EPSILON for earlier, later in pairwise(gets)):
        yield "two gets within 10 ms"


_RULES = (_effect, _no_second_run, _verdict, _recovered, _healed, _late, _attempts)
