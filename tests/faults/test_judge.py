"""The judge itself: a record that is honest has no complaint, and each lie in it has one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from a2a_delegate import (
    A2ARequestError,
    Cancelled,
    CancelReceipt,
    CancelSent,
    Completed,
    Effect,
    Failed,
    Intent,
    Message,
    PeerUnreachableError,
    Rejected,
    Role,
    Running,
    Settled,
    TaskFailedError,
    TimedOut,
    TransportStuck,
    Unknown,
)
from a2a_delegate.errors import LostReplyError
from a2a_delegate.outcome import InputRequired
from a2a_delegate.testing import Delay, DropAfterAccepting, Hang, Operation, WorkState
from tests.faults.callers import Caller
from tests.faults.catalogue import FAULTS, Fault
from tests.faults.errands import Errand
from tests.faults.judge import complaints
from tests.faults.play import Case, play
from tests.faults.wire import Step, Trip

if TYPE_CHECKING:
    from collections.abc import Callable

    from a2a_delegate import DelegateResult
    from tests.faults.play import Record

HONEST = Fault("nothing", Operation.SEND)
STUCK = Fault("nothing", Operation.SEND, prompt="stuck")
LOST = Fault("lost", Operation.SEND, once=(DropAfterAccepting(20),))
UNREACHABLE = next(one for one in FAULTS if str(one) == "send: connection refused (DNS), always")


def completed() -> Record:
    return play(Case(HONEST, ("1.0",), "asyncio"))


def cancelled() -> Record:
    return play(Case(STUCK, ("1.0",), "asyncio", Caller.TOKEN, 0.6, phase="between polls"))


def timed_out() -> Record:
    return play(Case(STUCK, ("1.0",), "trio"))


def unknown() -> Record:
    return play(Case(LOST, ("0.3",), "trio"))


def unreachable() -> Record:
    return play(Case(UNREACHABLE, ("0.3",), "asyncio"))


def task_cancelled() -> Record:
    return play(Case(HONEST, ("1.0",), "asyncio", Caller.TASK, 0.5))


def errand(kind: Errand, *, prompt: str = "stuck", **facts: Any) -> Record:
    """Play an errand of a patient caller to whom nothing is done."""
    operation = Operation.SEND if kind.sends else Operation.GET
    fault = Fault("nothing", operation, errand=kind, prompt=prompt, **facts)
    return play(Case(fault, ("1.0",), "asyncio"))


def answered() -> Record:
    return errand(Errand.ANSWER, prompt="this")


def asked_again() -> Record:
    return errand(Errand.ANSWER, prompt="ask")


def unread() -> Record:
    """Answer a question, and hear nothing; the deadline stops the task."""
    return errand(Errand.ANSWER, others=((Operation.SEND, Hang(accepts=False)),))


def resumed() -> Record:
    return errand(Errand.RESUME, prompt="slow 0.5")


def found() -> Record:
    return errand(Errand.RESUME_LOST, prompt="slow 0.5")


def looked() -> Record:
    return errand(Errand.LOOK)


def given_up() -> Record:
    late = Fault("late", Operation.GET, (Delay(4.0),), errand=Errand.LOOK)
    return play(Case(late, ("1.0",), "trio", Caller.TOKEN, 1.0))


def stopped() -> Record:
    return errand(Errand.STOP)


def stopped_too_late() -> Record:
    return errand(Errand.STOP, prompt="data")


def outcome_of(record: Record) -> DelegateResult:
    assert record.settled is not None
    return record.settled


def settle(record: Record, result: DelegateResult) -> None:
    """Let the delegate have said something else."""
    at, _ = record.signals[-1]
    record.signals[-1] = at, Settled(result)
    record.ending.result = result


def change(record: Record, **facts: object) -> None:
    """Let the same outcome have said something else in these fields."""
    changed = replace(outcome_of(record), **facts)  # type: ignore[arg-type]
    settle(record, changed)


def give(receipt: object) -> Callable[[Record], None]:
    """Let a stop have returned something else."""
    return lambda record: setattr(record.ending, "result", receipt)


def in_state(state: WorkState) -> Callable[[Record], None]:
    """Let the task have been in another state in truth."""
    return lambda record: setattr(record, "tasks", (replace(record.tasks[0], state=state),))


def sent(record: Record) -> None:
    """Let a message have gone out."""
    record.trips.append(Trip("send", 0.0, [(0.0, Step.OVER)], left=True))


def without(record: Record, kind: type) -> None:
    record.signals = [one for one in record.signals if not isinstance(one[1], kind)]


@pytest.mark.parametrize(
    "honest",
    [
        *(completed, cancelled, timed_out, unknown, unreachable, task_cancelled),
        *(answered, asked_again, unread, resumed, found, looked, given_up),
        *(stopped, stopped_too_late),
    ],
)
def test_an_honest_record_has_no_complaint(honest: Callable[[], Record]) -> None:
    assert complaints(honest()) == []


def told(result: DelegateResult) -> Callable[[Record], None]:
    """Let the delegate have said this instead."""
    return lambda record: settle(record, replace(result, handle=outcome_of(record).handle))


def said(**facts: object) -> Callable[[Record], None]:
    """Let the same outcome have said something else in these fields."""
    return lambda record: change(record, **facts)


COMPLETED = Completed(delegate_id="peer", effect=Effect.RAN, output="result of stuck")
FAILED = TaskFailedError(task_id="t", state="failed", text="it failed")
REFUSED = A2ARequestError(method="send", status=418)
DOWN = PeerUnreachableError(phase="connect", url="https://peer.example/rpc")
QUESTION = Message("m", Role.AGENT, ())
LOST_REPLY = LostReplyError(method="send", phase="read")


def _unlike(effect: Effect, kind: type[Failed | Rejected], error: object) -> DelegateResult:
    return kind(delegate_id="peer", effect=effect, error=error)  # type: ignore[arg-type]


def _by(who: str) -> DelegateResult:
    return Cancelled(delegate_id="peer", effect=Effect.RAN, by=who)  # type: ignore[arg-type]


NOT_NEEDED = CancelReceipt.NOT_NEEDED
RAN, MAYBE, NEVER = Effect.RAN, Effect.MAY_HAVE_RUN, Effect.NOT_STARTED


def asked_for(record: Record) -> str:
    """Return the id of the question that was answered."""
    assert record.handle is not None
    assert record.handle.question_id is not None
    return record.handle.question_id


LIES: list[tuple[Callable[[], Record], Callable[[Record], object], str]] = [
    # of the effect
    (completed, said(effect=NEVER), "not-started, and it ran"),
    (unreachable, said(effect=RAN), "ran, and the peer knows nothing"),
    (unreachable, said(effect=MAYBE), "may-have-run, and no byte left"),
    (completed, said(handle=None), "the handle is None"),
    # of the outcome
    (timed_out, told(COMPLETED), "completed, and the task is"),
    (completed, said(output="something else"), "the answer is 'something else'"),
    (completed, said(late=True), "late, and nothing had told it to stop"),
    (completed, told(_unlike(RAN, Failed, FAILED)), "failed with 'it failed', and the task is"),
    (completed, told(_unlike(NEVER, Failed, DOWN)), "unreachable, and a body left"),
    (completed, told(_unlike(MAYBE, Failed, REFUSED)), "HTTP 418 that never came"),
    (completed, told(_unlike(NEVER, Rejected, FAILED)), "rejected, and the task is"),
    (completed, told(_unlike(RAN, Rejected, REFUSED)), "refused before it began, and"),
    (completed, told(_unlike(RAN, Failed, LOST_REPLY)), "an outcome that cannot be"),
    (completed, told(_by("peer")), "cancelled by the peer, and nobody did"),
    (timed_out, told(_by("caller")), "cancelled by the caller, and nobody did"),
    (cancelled, said(reason="another"), "the reason is 'another'"),
    (cancelled, said(receipt=CancelReceipt.UNREACHED), "nothing was wrong with the cancel"),
    (cancelled, said(receipt=CancelReceipt.NOT_NEEDED), "not needed, and it ran"),
    (timed_out, said(last_state=""), "timed out without a state"),
    (
        completed,
        told(
            TimedOut(
                delegate_id="", effect=RAN, last_state="working", receipt=CancelReceipt.REFUSED
            )
        ),
        "timed out before the deadline",
    ),
    (
        timed_out,
        lambda record: change(record, handle=replace(outcome_of(record).handle, task_id=None)),  # type: ignore[type-var]
        "without knowing a task",
    ),
    (
        completed,
        told(InputRequired(delegate_id="peer", effect=RAN, question=QUESTION)),
        "input-required, and the task is",
    ),
    (completed, told(Running(delegate_id="", effect=RAN, last_state="")), "an outcome that cannot"),
    (unknown, said(effect=NEVER), "unknown, and not started"),
    (unknown, said(evidence=b"other"), "the evidence is not what came"),
    (unknown, said(evidence=b"{"), "bytes came and 1 are shown"),
    (
        completed,
        told(Unknown(delegate_id="peer", effect=MAYBE, cause=LOST_REPLY)),
        "nobody looked for task",
    ),
    # of the cancel
    (cancelled, lambda record: without(record, CancelSent), "was not told to stop it"),
    (cancelled, in_state(WorkState.WORKING), "confirmed, and the task is working"),
    # of an answer
    (answered, lambda record: record.runs.clear(), "ran, and the peer knows nothing of it"),
    (answered, lambda record: record.runs.clear(), "completed, and the task is None"),
    (answered, lambda record: record.runs.clear(), "the handle names task"),
    (answered, said(effect=NEVER), "not-started, and it ran"),
    (answered, told(Unknown(delegate_id="", effect=MAYBE, cause=LOST_REPLY)), "nobody looked for"),
    (answered, told(_unlike(NEVER, Rejected, REFUSED)), "refused by an answer that never came"),
    (asked_again, in_state(WorkState.WORKING), "input-required, and the task is working"),
    (
        asked_again,
        lambda record: change(record, question=replace(QUESTION, message_id=asked_for(record))),
        "the question is the one that was answered",
    ),
    (unread, lambda record: without(record, CancelSent), "was not told to stop it"),
    (
        unread,
        told(Cancelled(delegate_id="", effect=MAYBE, by="caller", receipt=NOT_NEEDED)),
        "nothing was wrong with the cancel",
    ),
    # of what is taken up
    (resumed, sent, "messages were sent, and there was none to send"),
    (resumed, said(handle=None), "the handle is None"),
    (resumed, said(effect=NEVER), "not-started, and it ran"),
    (resumed, told(_unlike(MAYBE, Failed, DOWN)), "unreachable, and a body left"),
    (resumed, told(_unlike(MAYBE, Failed, REFUSED)), "HTTP 418 that never came"),
    (resumed, in_state(WorkState.WORKING), "completed, and the task is"),
    (resumed, lambda record: setattr(record.ending, "at", 99.0), "was the bound"),
    (
        found,
        lambda record: settle(record, Unknown(delegate_id="", effect=MAYBE, cause=LOST_REPLY)),
        "was there to be found",
    ),
    # of a look
    (looked, in_state(WorkState.INPUT_REQUIRED), "running, and the task is input-required"),
    (
        looked,
        lambda record: setattr(record, "tasks", (replace(record.tasks[0], ended=-1.0),)),
        "running, and the task is",
    ),
    (looked, said(last_state=""), "an outcome that cannot be"),
    (
        looked,
        told(Unknown(delegate_id="", effect=RAN, cause=LOST_REPLY)),
        "one look showed nothing",
    ),
    (looked, lambda record: record.trips.append(record.trips[0]), "2 requests of get for one look"),
    (
        looked,
        lambda record: setattr(record, "tasks", (replace(record.tasks[0], cancel_requests=1),)),
        "a look stopped something",
    ),
    (looked, lambda record: record.signals.insert(1, (0.0, CancelSent("t"))), "a look stopped"),
    (given_up, said(receipt=CancelReceipt.REQUESTED), "and a look stops nothing"),
    # of a stop
    (stopped, give(CancelReceipt.REFUSED), "the receipt is refused, and observers were told"),
    (stopped, give(CancelReceipt.NOT_NEEDED), "the receipt is not-needed, and the task is canc"),
    (stopped, give("confirmed, I think"), "a stop returned 'confirmed, I think'"),
    (stopped, give(None), "not the one that observers"),
    (stopped, in_state(WorkState.WORKING), "the receipt is confirmed, and the task is working"),
    (stopped, said(reason="another"), "the reason is 'another'"),
    (stopped, lambda record: setattr(record.ending, "at", 4.6), "was the bound"),
    (stopped_too_late, in_state(WorkState.WORKING), "the receipt is not-needed, and the task is"),
    # of what was sent
    (completed, lambda record: record.runs.update({"m": 2}), "it ran more than once"),
    (
        completed,
        lambda record: record.trips.insert(0, record.trips[0]),
        "sent again without proof",
    ),
    (cancelled, lambda record: setattr(record.trips[0], "began", 2.0), "sent after the cause"),
    (completed, said(attempts=()), "0 bodies of send are said to have left, and 1 did"),
    (
        completed,
        lambda record: setattr(record.trips[0], "status", 418),
        "the statuses of send are said to have been [200]",
    ),
    (
        timed_out,
        lambda record: setattr(record.trips[2], "began", record.trips[1].began),
        "two gets within 10 ms",
    ),
    # of the signals
    (completed, lambda record: without(record, Intent), "the intent is not the first signal"),
    (completed, lambda record: record.signals.append(record.signals[0]), "not the last signal"),
    (completed, lambda record: record.signals.clear(), "without an intent"),
    (completed, lambda record: setattr(record, "requests_at_intent", 1), "told after a request"),
    (
        completed,
        lambda record: record.signals.insert(1, (0.0, TransportStuck("get"))),
        "called stuck that is not",
    ),
    # of what is left
    (completed, lambda record: setattr(record, "open_when_closed", 1), "1 requests were open"),
    (completed, lambda record: setattr(record, "open_at_last", 1), "stayed open for ever"),
    (completed, lambda record: setattr(record, "tasks_left", 1), "1 tasks were left"),
    (completed, lambda record: setattr(record, "timers_left", 1), "1 timers were left"),
    (completed, lambda record: setattr(record, "listening", 1), "1 listeners were left"),
    (completed, lambda record: record.trips[0].steps.pop(), "the wire still carries ['send']"),
    (
        completed,
        lambda record: setattr(record, "requests", (replace(record.requests[0], url="x"),)),
        "a request went elsewhere",
    ),
    (completed, lambda record: record.complaints.append("it broke"), "it broke"),
    # of what the caller saw
    (completed, lambda record: setattr(record.ending, "began", False), "never made"),
    (completed, lambda record: setattr(record.ending, "at", 99.0), "was the bound"),
    (completed, lambda record: setattr(record, "closed_at", 99.0), "closing took"),
    (
        completed,
        lambda record: setattr(record.ending, "result", None),
        "not the one that observers",
    ),
    (completed, lambda record: setattr(record.ending, "raised", OSError()), "without a reason"),
    (task_cancelled, lambda record: setattr(record.ending, "raised", None), "was swallowed"),
    (
        task_cancelled,
        lambda record: setattr(record.ending, "outside", None),
        "out of the construct",
    ),
    (task_cancelled, lambda record: setattr(record.ending, "cancelling", 0), "cancelling() is 0"),
]


@pytest.mark.parametrize(("honest", "tamper", "complaint"), LIES, ids=[lie for *_, lie in LIES])
def test_each_lie_has_its_complaint(
    honest: Callable[[], Record], tamper: Callable[[Record], object], complaint: str
) -> None:
    record = honest()
    tamper(record)
    assert any(complaint in told for told in complaints(record)), complaints(record)


def test_a_task_that_could_have_been_found_has_its_complaint() -> None:
    record = play(Case(replace(LOST, once=(DropAfterAccepting(),)), ("1.0",), "asyncio"))
    assert complaints(record) == []
    settle(record, Unknown(delegate_id="", effect=MAYBE, cause=LOST_REPLY))
    assert any("was there to be found" in told for told in complaints(record))


def test_a_fault_that_passes_and_costs_the_answer_has_its_complaint() -> None:
    flaky = next(one for one in FAULTS if str(one) == "get: HTTP 500, not accepted")
    record = play(Case(flaky, ("1.0",), "asyncio"))
    assert complaints(record) == []
    settle(record, TimedOut(delegate_id="", effect=RAN, last_state="x", receipt=NOT_NEEDED))
    assert any("the peer was well again" in told for told in complaints(record))
    assert any("there was time enough" in told for told in complaints(record))


def test_an_answer_after_the_cause_has_to_say_so() -> None:
    record = play(Case(HONEST, ("1.0",), "asyncio", Caller.TOKEN, 2.0))
    record.case = replace(record.case, at=0.1)
    assert any("is not called late" in told for told in complaints(record))
