"""From evidence to outcome: one function an end, none of them asks anything."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypedDict

from a2a_delegate.errors import LostReplyError, PeerUnreachableError, TaskFailedError
from a2a_delegate.lifecycle import answer
from a2a_delegate.lifecycle.evidence import in_order
from a2a_delegate.lifecycle.plan import Mission
from a2a_delegate.model.message import Message, Role
from a2a_delegate.model.part import data_of
from a2a_delegate.model.task import TaskState
from a2a_delegate.outcome import (
    AuthRequired,
    Cancelled,
    CancelReceipt,
    Completed,
    Effect,
    Failed,
    InputRequired,
    Rejected,
    Running,
    TimedOut,
    Unknown,
)

if TYPE_CHECKING:
    from a2a_delegate.errors import DelegateError
    from a2a_delegate.lifecycle.evidence import Evidence
    from a2a_delegate.model.artifact import Artifact
    from a2a_delegate.model.task import Task
    from a2a_delegate.outcome import Attempt, DelegateResult, DelegationHandle


class _Common(TypedDict):
    delegate_id: str
    effect: Effect
    handle: DelegationHandle | None
    attempts: tuple[Attempt, ...]
    artifacts: tuple[Artifact, ...]
    message: Message | None
    late: bool


def _common(seen: Evidence, *, late: bool = False) -> _Common:
    task = seen.task
    words = answer.words_of(task, ours=seen.ours.message_id) if task is not None else ()
    return {
        "delegate_id": seen.plan.delegate_id,
        "effect": seen.effect,
        "handle": seen.handle,
        "attempts": in_order(seen.attempts),
        "artifacts": seen.artifacts,
        "message": seen.answer or (words[0] if words else None),
        "late": late,
    }


def message_answer(seen: Evidence, message: Message) -> DelegateResult:
    """Complete with a message, which is the whole answer."""
    return Completed(
        output=message.text or None,
        data=data_of(message.parts),
        **_common(seen, late=seen.cause is not None),
    )


def task_ended(seen: Evidence, task: Task) -> DelegateResult:
    """Read a terminal task; after our own cancel, canceled is the receipt and no answer."""
    if seen.canceled_by_us(task):
        return stopped(seen, CancelReceipt.CONFIRMED)
    if seen.task_id is None:
        # The task that was answered: how it ended says nothing of our answer.
        return stopped(seen, CancelReceipt.NOT_NEEDED)
    state, ours = task.status.state, seen.ours.message_id
    common = _common(seen, late=seen.late)
    # A purged task may end without the artifacts that it showed before.
    whole = task if task.artifacts is seen.artifacts else replace(task, artifacts=seen.artifacts)
    if state is TaskState.COMPLETED:
        said = answer.text(whole, ours=ours)
        return Completed(output=said, data=answer.data(whole, ours=ours), **common)
    if state is TaskState.CANCELED:
        return Cancelled(by="peer", **common)
    words = answer.words_of(task, ours=ours)
    said = (words[0].text if words else "") or (answer.text(whole, ours=ours) or "")
    error = TaskFailedError(task_id=task.id, state=state.value, text=said)
    if state is TaskState.FAILED:
        return Failed(error=error, **common)
    if not seen.began:
        common["effect"] = Effect.NOT_STARTED
    return Rejected(error=error, **common)


def paused(seen: Evidence, task: Task) -> DelegateResult:
    """Hand the peer's question to its caller, wherever it stands; one without words is empty."""
    common = _common(seen)
    question = common["message"] or Message("", Role.AGENT, (), task_id=task.id)
    if task.status.state is TaskState.INPUT_REQUIRED:
        return InputRequired(question=question, **common)
    return AuthRequired(question=question, **common)


def running(seen: Evidence, task: Task) -> DelegateResult:
    """Say that the task goes on, as one look shows it."""
    return Running(last_state=task.status.name, **_common(seen))


def stopped(seen: Evidence, receipt: CancelReceipt) -> DelegateResult:
    """Let the reason of stopping decide: the task is known, and no answer came before the bound."""
    if seen.gone is not None:
        return unknown(seen, seen.gone)
    if (cancelled := _cancelled(seen, receipt)) is not None:
        return cancelled
    if seen.task_id is None:
        return without_answer(seen)
    # Work in this process shows its id when it begins, and no state before it ends.
    working = TaskState.WORKING.value if seen.plan.in_process else "unknown"
    before = seen.state_before_cancel or working
    return TimedOut(last_state=before, receipt=receipt, **_common(seen))


def _cancelled(seen: Evidence, receipt: CancelReceipt) -> Cancelled | None:
    """Return the outcome where somebody cancelled; None at the deadline and without a cause."""
    cause = seen.cause
    if cause is None or cause.by == "deadline":
        return None
    return Cancelled(by=cause.by, reason=cause.reason, receipt=receipt, **_common(seen))


def receipt_of(result: DelegateResult) -> CancelReceipt:
    """Say what became of stopping a delegation that was taken up only for that."""
    match result:
        case Cancelled(by="peer"):
            return CancelReceipt.CONFIRMED
        case Cancelled(receipt=receipt):
            return receipt
        case _:
            # It had ended, or ended otherwise meanwhile: nothing is left that could be stopped.
            return CancelReceipt.NOT_NEEDED


def without_answer(seen: Evidence) -> DelegateResult:
    """Let the last error and the effect decide: no task is known and none will be."""
    receipt = CancelReceipt.UNREACHED if seen.unproven else CancelReceipt.NOT_NEEDED
    if (cancelled := _cancelled(seen, receipt)) is not None:
        return cancelled
    if seen.fault is not None:
        common = _common(seen, late=seen.fault_is_late)
        kind = Failed if seen.unproven else Rejected
        return kind(error=seen.fault.error, **common)
    if not seen.unproven:
        return Failed(error=seen.error or _never_left(seen), **_common(seen))
    return _never_answered(seen)


def _never_answered(seen: Evidence) -> DelegateResult:
    if seen.error is not None:
        return unknown(seen, seen.error)
    if seen.plan.mission is Mission.HAND_OVER or seen.cause is not None:
        return unknown(seen, LostReplyError(method="send", phase="deadline"))
    if seen.list_error is not None:
        return unknown(seen, seen.list_error)
    found = "no task that carries the message was found"
    nowhere = found if seen.route.looks_up else "the peer cannot be asked for tasks by list"
    return unknown(seen, LostReplyError(method="send", phase="resume", reason=nowhere))


def unknown(seen: Evidence, cause: DelegateError) -> DelegateResult:
    """Say that it was sent, and that no answer can be had."""
    return Unknown(cause=cause, evidence=seen.reply_bytes, **_common(seen))


def ambiguous(seen: Evidence, found: int) -> DelegateResult:
    """Say that several tasks carry our message: none of them can be called ours."""
    if (cancelled := _cancelled(seen, CancelReceipt.UNREACHED)) is not None:
        return cancelled
    reason = f"{found} tasks at the peer carry this message"
    return unknown(seen, LostReplyError(method="send", phase="read", reason=reason))


def _never_left(seen: Evidence) -> PeerUnreachableError:
    return PeerUnreachableError(phase="deadline", url=seen.route.intent.endpoint)
