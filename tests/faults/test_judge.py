"""The judge itself: a record that is honest has no complaint, and each lie in it has one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

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
from a2a_delegate.testing import DropAfterAccepting, Operation, WorkState
from tests.faults.callers import Caller
from tests.faults.catalogue import FAULTS, Fault
from tests.faults.judge import complaints
from tests.faults.play import Case, play

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


def without(record: Record, kind: type) -> None:
    record.signals = [one for one in record.signals if not isinstance(one[1], kind)]


@pytest.mark.parametrize(
    "honest", [completed, cancelled, timed_out, unknown, unreachable, task_cancelled]
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
    (
        cancelled,
        lambda record: setattr(
            record, "tasks", (replace(record.tasks[0], state=WorkState.WORKING),)
        ),
        "confirmed, and the task is working",
    ),
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
