"""The judge's rules of what was stopped: receipts, and who may stop what."""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2a_delegate import Cancelled, CancelReceipt, CancelSent, Effect, IdKnown, TimedOut, Unknown
from a2a_delegate.testing import LyingCancel, Operation, WorkState
from a2a_delegate.testing.behaviours import core
from tests.faults.callers import ABRUPT, REASON, Caller
from tests.faults.errands import Errand

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.faults.facts import Facts


def stopped(facts: Facts) -> Iterator[str]:
    """What is said of a stop is what the peer said, and an honest peer says the truth."""
    match facts.result:
        case Cancelled() as result:
            yield from _cancelled(facts, result)
        case TimedOut() as result:
            yield from _timed_out(facts, result)
        case Unknown():
            owes = facts.result.handle is not None and facts.result.handle.task_id is not None
            owes = owes or (facts.errand is Errand.ANSWER and facts.stopped)
            if owes and not facts.record.told(CancelSent) and not facts.errand.looks:
                yield "the task is given up, and the peer was not told to stop it"
        case _:
            pass
    yield from _returned(facts)
    yield from _looked(facts)


def _cancelled(facts: Facts, result: Cancelled) -> Iterator[str]:
    case = facts.record.case
    if result.by == "peer":
        if facts.state is not WorkState.CANCELED or facts.record.told(CancelSent):
            yield "cancelled by the peer, and nobody did"
        return
    told = case.first is not None or case.caller in ABRUPT | {Caller.TOKEN}
    told = facts.errand.stops or (facts.stopped and told)
    if result.by != "caller" or not told:
        yield f"cancelled by the {result.by}, and nobody did"
    with_reason = case.first is not None or case.caller is Caller.TOKEN or facts.errand.stops
    if (result.reason is REASON) != with_reason:
        yield f"the reason is {result.reason!r}"
    yield from _receipt(facts, result.receipt)


def _timed_out(facts: Facts, result: TimedOut) -> Iterator[str]:
    if not result.last_state:
        yield "timed out without a state"
    if not facts.stopped:
        yield "timed out before the deadline"
    if result.handle is None or result.handle.task_id is None:
        yield "timed out without knowing a task"
    yield from _receipt(facts, result.receipt)


def _receipt(facts: Facts, receipt: CancelReceipt) -> Iterator[str]:
    fault = facts.fault
    state = None if facts.target is None else facts.target.state
    known = facts.record.time_of(IdKnown) is not None
    if facts.errand is Errand.ANSWER:
        # The task is there from the beginning; it is ours to stop once the answer may be in it.
        known = known or facts.result.effect is not Effect.NOT_STARTED
    else:
        known = known or facts.errand.knows_task
    if facts.errand.looks:
        if receipt is not CancelReceipt.UNREACHED:
            yield f"the receipt is {receipt}, and a look stops nothing"
        return
    if receipt is CancelReceipt.CONFIRMED and state is not WorkState.CANCELED and not _liar(facts):
        yield f"confirmed, and the task is {state}"
    if receipt is CancelReceipt.NOT_NEEDED and facts.runs and not fault.lies:
        yield "a cancel was not needed, and it ran"
    if known and not facts.record.told(CancelSent):
        yield "the task is known, and the peer was not told to stop it"
    ended_by_itself = state is not None and state.is_terminal and state is not WorkState.CANCELED
    # One that the end of the loop cut off may have done it; the second one is refused then.
    twice = sum(trip.operation == "cancel" for trip in facts.record.trips) > 1
    if (
        known
        and fault.operation is not Operation.CANCEL
        and not ended_by_itself
        and not twice
        and receipt is not CancelReceipt.CONFIRMED
    ):
        yield f"the receipt is {receipt}, and nothing was wrong with the cancel"


def _liar(facts: Facts) -> bool:
    """Whether the peer says of a cancel what is not so."""
    fault = facts.fault
    behaviours = (*fault.once, *([] if fault.always is None else [fault.always]))
    # A peer that ran it twice has two tasks, of which only one was ours to stop.
    return fault.lies or any(isinstance(core(one), LyingCancel) for one in behaviours)


def _returned(facts: Facts) -> Iterator[str]:
    """The receipt of a stop agrees with the truth, and with what observers were told."""
    receipt, result = facts.record.ending.result, facts.result
    if not facts.errand.stops or receipt is None:
        return
    if not isinstance(receipt, CancelReceipt):
        yield f"a stop returned {receipt!r}"
        return
    told = None
    if isinstance(result, Cancelled):
        told = CancelReceipt.CONFIRMED if result.by == "peer" else result.receipt
    if told not in {None, receipt}:
        yield f"the receipt is {receipt}, and observers were told {told}"
    if receipt is CancelReceipt.CONFIRMED and facts.state is not WorkState.CANCELED:
        if not _liar(facts):
            yield f"the receipt is confirmed, and the task is {facts.state}"
    elif receipt is CancelReceipt.NOT_NEEDED:
        ended = facts.state is not None and facts.state.is_terminal
        if not ended or facts.state is WorkState.CANCELED:
            yield f"the receipt is not-needed, and the task is {facts.state}"


def _looked(facts: Facts) -> Iterator[str]:
    """A look is one, and stops nothing; whoever takes up sends nothing."""
    record = facts.record
    if not facts.errand.sends and facts.sends:
        yield f"{len(facts.sends)} messages were sent, and there was none to send"
    if not facts.errand.looks:
        return
    stops = [trip for trip in record.trips if trip.operation == "cancel"]
    if stops or record.told(CancelSent) or (facts.task is not None and facts.task.cancel_requests):
        yield "a look stopped something"
    # The end of the loop has a list made twice.
    rounds = 2 if record.case.caller is Caller.SHUTDOWN else 1
    for operation, most in (("get", 1), ("list", rounds)):
        made = sum(trip.operation == operation for trip in record.trips)
        if made > most:
            yield f"{made} requests of {operation} for one look"
