"""What is known of one delegation. The rules of the table read it.

What requests show comes in by `learning`; the machine and the steps note what is their own: the
cause, what was asked for, and what became of it.
"""

from __future__ import annotations

import dataclasses
from dataclasses import field, replace
from typing import TYPE_CHECKING, Literal

from a2a_delegate.errors import A2ARequestError, DelegateError
from a2a_delegate.lifecycle.assembly import Assembly
from a2a_delegate.lifecycle.faults import PROVEN
from a2a_delegate.lifecycle.operations import (
    Fault,
    FaultKind,
    OperationName,
)
from a2a_delegate.lifecycle.plan import Mission
from a2a_delegate.lifecycle.questions import awaits_caller
from a2a_delegate.model.frozen import dataclass
from a2a_delegate.model.task import Task, TaskState
from a2a_delegate.outcome import Attempt, CancelReceipt, Effect
from a2a_delegate.signals import (
    IdKnown,
    Signal,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from a2a_delegate.lifecycle.plan import Plan, Route
    from a2a_delegate.model.artifact import Artifact
    from a2a_delegate.model.message import Message
    from a2a_delegate.model.task import TaskStatus
    from a2a_delegate.outcome import DelegationHandle

_KEPT_ATTEMPTS = 64
"""Attempts that are kept; of those that ask for the task the ones in the middle go first."""
_MANY = frozenset({OperationName.GET, OperationName.SUBSCRIBE})


@dataclass(frozen=True, slots=True)
class Cause:
    """Why the delegation is being stopped; the first one latches."""

    by: Literal["caller", "sibling", "deadline"]
    at: float
    reason: object = None


@dataclasses.dataclass(slots=True, eq=False, repr=False)
class Evidence:
    """The facts so far; `unproven`: a body left and nothing proves that the peer did not begin."""

    plan: Plan
    route: Route
    cause: Cause | None = None
    ever_left: bool = False
    unproven: bool = False
    sends: int = 0
    unsent: int = 0
    downgraded: bool = False
    detours: int = 0
    """How many other ways have been tried."""
    task_id: str | None = None
    task: Task | None = None
    answer: Message | None = None
    context_lost: bool = False
    began: bool = False
    """The task was seen in a state that is neither submitted nor rejected, or with artifacts."""
    error: DelegateError | None = None
    """How the last send failed: what an outcome without an answer is made from."""
    fault: Fault | None = None
    """The same, where the peer itself said so."""
    fault_is_late: bool = False
    get_error: DelegateError | None = None
    list_error: DelegateError | None = None
    """Why the last list could not be had."""
    refused_gets: int = 0
    gone: DelegateError | None = None
    """Why the task cannot be asked for any more."""
    reply_bytes: bytes = b""
    state_before_cancel: str = ""
    cancel_sent: bool = False
    receipt: CancelReceipt | None = None
    first_end: str | None = None
    attempts: list[Attempt] = field(default_factory=list)
    made: Assembly = field(default_factory=lambda: Assembly(0))
    """The artifacts that were shown."""
    end_seen: TaskStatus | None = None
    """The end of the task, as a stream showed it before the task itself was asked."""
    end_is_late: bool = False
    progress_seen: Message | None = None
    moved_on: bool = False
    """The task was seen in a state in which it does not wait for its caller."""

    @property
    def artifacts(self) -> tuple[Artifact, ...]:
        """The artifacts that were shown."""
        return self.made.artifacts

    @property
    def late(self) -> bool:
        """Whether an answer that settles now was learned after a cause had latched."""
        return self.cause is not None if self.end_seen is None else self.end_is_late

    @property
    def target(self) -> str:
        """The task to ask for and to stop: ours, else the one that our message answers."""
        answers = self.route.answers
        return self.task_id or ("" if answers is None else answers.task_id)

    @property
    def ours(self) -> Message:
        """The message that is handed over, as the present route sends it."""
        return self.route.send.message

    @property
    def effect(self) -> Effect:
        """Whether the work began, as far as the evidence goes."""
        if self.task_id is not None or self.answer is not None:
            return Effect.RAN
        return Effect.MAY_HAVE_RUN if self.unproven else Effect.NOT_STARTED

    @property
    def handle(self) -> DelegationHandle | None:
        """What a later process needs; None exactly when no byte of a body left."""
        if not self.ever_left or self.plan.in_process:
            return None
        task, intent = self.task, self.route.intent
        known = replace(
            intent,
            task_id=self.task_id,
            context_id=(task.context_id if task else None) or intent.context_id,
            question_id=None,
        )
        if task is None or not self.awaits_caller(task):
            return known
        return replace(known, question_id=task.question_id, answers=None)

    def awaits_caller(self, task: Task) -> bool:
        """Whether a snapshot of the task asks for a new answer of its caller."""
        waits = self.plan.waits_for_auth
        return awaits_caller(task, self.route, moved_on=self.moved_on, waits_for_auth=waits)

    @property
    def unbegun(self) -> bool:
        """Whether the last send was refused with proof that the peer never began.

        A peer that showed a task for it says two things, and the task is the safe one to believe.
        """
        if self.fault is None or self.task_id is not None:
            return False
        if self.fault.kind is FaultKind.TASK_NOT_FOUND:
            # Of a new message agent code could say so; of one that names its task the server does.
            return self.route.answers is not None
        return self.fault.kind in PROVEN

    def canceled_by_us(self, task: Task) -> bool:
        """Whether a task ended by our own cancel: then its end is the receipt, and no answer."""
        return self.cancel_sent and task.status.state is TaskState.CANCELED

    # -- learning ------------------------------------------------------------------------------

    def learn_left(self) -> None:
        """Take that a byte of a body left."""
        self.ever_left = self.unproven = True

    def learn_id(self, task_id: str) -> Iterator[Signal]:
        """Take the task id; the first one stays."""
        if self.task_id is None:
            self.task_id = task_id
            yield IdKnown(task_id)

    def keep(self, attempt: Attempt) -> None:
        """Keep an attempt, in bounded memory: a task may be polled for days."""
        self.attempts.append(attempt)
        if len(self.attempts) > _KEPT_ATTEMPTS:
            asked = [at for at, one in enumerate(self.attempts) if one.operation in _MANY]
            del self.attempts[asked[len(asked) // 2]]


def first_evidence(plan: Plan) -> Evidence:
    """Return what is known before anything is done: what was handed over before has left."""
    before = plan.mission is not Mission.HAND_OVER
    return Evidence(
        plan,
        plan.route,
        made=Assembly(plan.kept_bytes),
        ever_left=before,
        unproven=before,
        task_id=plan.route.intent.task_id if before else None,
        # What nobody saw here may have been, and a task that asked has begun.
        began=before or plan.route.answers is not None,
    )


def in_order(attempts: Iterable[Attempt]) -> tuple[Attempt, ...]:
    """Return attempts as they were made; requests side by side end as they like."""
    return tuple(sorted(attempts, key=lambda one: one.number))


def asked_pause(error: DelegateError | None) -> float:
    """Return the seconds that the peer asks to wait for, with the error that it answered by."""
    asked = error.retry_after if isinstance(error, A2ARequestError) else None
    # A timer that never rings would be a dead end, whatever the header said.
    return asked if asked is not None and 0.0 < asked < float("inf") else 0.0
