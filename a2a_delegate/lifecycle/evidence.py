"""What is known of one delegation. The rules of the table read it.

What an ended request shows comes in by `learn_end`; the machine and the steps note what is their
own: the cause, what was asked for, and what became of it.
"""

from __future__ import annotations

import dataclasses
from dataclasses import field, replace
from typing import TYPE_CHECKING, Literal, assert_never

from a2a_delegate.errors import A2ARequestError, DelegateError, InvalidReplyError, LostReplyError
from a2a_delegate.lifecycle.assembly import Assembly
from a2a_delegate.lifecycle.faults import PROVEN
from a2a_delegate.lifecycle.operations import (
    ArtifactUpdate,
    Fault,
    FaultKind,
    Lost,
    MessageReply,
    NotSent,
    OperationName,
    StatusUpdate,
    StreamEnd,
    TaskPage,
    TaskReply,
    Unreadable,
)
from a2a_delegate.lifecycle.plan import Mission
from a2a_delegate.lifecycle.questions import awaits_caller
from a2a_delegate.lifecycle.search import ended_without, is_ours
from a2a_delegate.model.frozen import dataclass
from a2a_delegate.model.message import Role
from a2a_delegate.model.task import Task, TaskState
from a2a_delegate.outcome import Attempt, CancelReceipt, Effect
from a2a_delegate.signals import (
    AttemptFailed,
    ContextSubstituted,
    IdKnown,
    Progress,
    Recovered,
    Signal,
    StateSeen,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from a2a_delegate.lifecycle.observations import Ended, Streamed
    from a2a_delegate.lifecycle.plan import Plan, Route
    from a2a_delegate.model.artifact import Artifact
    from a2a_delegate.model.message import Message
    from a2a_delegate.model.task import TaskStatus
    from a2a_delegate.outcome import DelegationHandle

_NOT_BEGUN = frozenset({TaskState.SUBMITTED, TaskState.REJECTED})
_SERVER_ERROR = 500
_KEPT_ATTEMPTS = 64
"""Attempts that are kept; of those that ask for the task the ones in the middle go first."""
_MANY = frozenset({OperationName.GET, OperationName.SUBSCRIBE})
_OVER = "the stream ended before its task"


@dataclass(frozen=True, slots=True)
class Cause:
    """Why the delegation is being stopped; the first one latches."""

    by: Literal["caller", "sibling", "deadline"]
    at: float
    reason: object = None


@dataclasses.dataclass(slots=True, eq=False)
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

    @property
    def _was_refused(self) -> bool:
        """Whether an error answered the last send, and none of a gateway that lost the reply."""
        if self.fault is None:
            return False
        error = self.fault.error
        return error.code is not None or (error.status or 0) < _SERVER_ERROR

    # -- learning ------------------------------------------------------------------------------

    def learn_left(self) -> None:
        """Take that a byte of a body left."""
        self.ever_left = self.unproven = True

    def learn_id(self, task_id: str) -> Iterator[Signal]:
        """Take the task id; the first one stays."""
        if self.task_id is None:
            self.task_id = task_id
            yield IdKnown(task_id)

    def learn_event(self, streamed: Streamed) -> Iterator[Signal]:
        """Take what a stream shows; what is of another task counts for nothing (STATE-12)."""
        event, name = streamed.event, streamed.name
        match event:
            case MessageReply(message):
                yield from self._learn_message(message)
            case TaskReply(task) if self._is_followed(name, task.id, task.context_id):
                yield from self._learn_snapshot(name, task)
            case StatusUpdate() if self._is_followed(name, event.task_id, event.context_id):
                yield from self._learn_task(self._updated(event))
                if event.status.state.is_terminal and self.end_seen is None:
                    self.end_seen, self.end_is_late = event.status, self.cause is not None
            case ArtifactUpdate() if self._is_followed(name, event.task_id, event.context_id):
                yield from self.learn_id(event.task_id)
                self.began = True
                if (chunk := self.made.add(event)) is not None:
                    yield chunk
            case _:
                return
        # What is shown is not gone, whatever a get says.
        self.refused_gets = 0

    def _learn_message(self, message: Message) -> Iterator[Signal]:
        """Take a message: alone it is the whole answer, beside a task it says how that goes."""
        if self.task_id is None:
            self.answer = message
        elif message.role is not Role.USER:
            yield Progress(self.task_id, message)

    def _is_followed(self, name: OperationName, task_id: str, context_id: str | None) -> bool:
        """Whether an event is one of the task that is followed, or makes a task known."""
        known = None if self.task is None else self.task.context_id
        return self._asked_for(name) in {None, task_id} and known in {None, context_id or known}

    def _asked_for(self, name: OperationName) -> str | None:
        """Return the only task that a request can show; a send may show one that is new."""
        return self.task_id if name is OperationName.SEND else self.target

    def _updated(self, event: StatusUpdate) -> Task:
        """Return the task as an event shows it: all but its status is as it was."""
        if self.task is None:
            return Task(event.task_id, event.status, event.context_id)
        return replace(self.task, status=event.status, artifacts=())

    def learn_end(self, ended: Ended, *, current: bool) -> Iterator[Signal]:
        """Take what an ended request shows; `current`: it had not been let go."""
        self.keep(ended.attempt)
        failure = self.failure_of(ended)
        if ended.name is OperationName.SEND and ended.attempt.body_left:
            self.learn_left()
        if isinstance(ended.reply, StreamEnd) and self.task_id is not None:
            return  # what it showed has been learned
        if failure is not None:
            yield AttemptFailed(ended.attempt, failure)
            yield from self._learn_failure(ended, failure, current=current)
        elif isinstance(ended.reply, TaskReply):
            if ended.name is OperationName.GET:
                self.refused_gets, self.get_error = 0, None
            yield from self._learn_snapshot(ended.name, ended.reply.task)
        elif isinstance(ended.reply, MessageReply):
            self.answer = ended.reply.message
        else:
            self.list_error = None  # a page of tasks came

    def _learn_failure(
        self, ended: Ended, failure: DelegateError, *, current: bool
    ) -> Iterator[Signal]:
        if ended.name is OperationName.SEND:
            yield from self._learn_send_failure(ended.reply, failure)
        elif ended.name is OperationName.GET and current:
            self.get_error = failure
        elif ended.name is OperationName.LIST and current:
            self.list_error = failure

    def failure_of(self, ended: Ended) -> DelegateError | None:
        """Return why an end is no answer; another task's body and the wrong kind are none."""
        reply, name = ended.reply, ended.name
        match reply:
            case TaskReply(task) if name is not OperationName.LIST:
                known = self._asked_for(name) in {None, task.id}
                reason = "" if known else "it shows another task"
            case TaskReply():
                reason = "a task came where tasks were asked for"
            case MessageReply():
                reason = "" if name is OperationName.SEND else "a message came"
            case TaskPage():
                reason = "" if name is OperationName.LIST else "a list of tasks came"
            case Fault(error=error) | Unreadable(error=error):
                return error
            case NotSent(error=error) | Lost(error=error):
                return error
            case StreamEnd(error=cut):
                return cut or LostReplyError(method=name, phase="read", reason=_OVER)
            case _:
                assert_never(reply)
        return InvalidReplyError(method=name, reason=reason) if reason else None

    def _learn_send_failure(self, reply: object, failure: DelegateError) -> Iterator[Signal]:
        if isinstance(reply, NotSent):
            self.unsent += 1
            if self.fault is not None and self.cause is not None:
                # A repeat that we stopped ourselves: what the peer said before says more.
                return
        self.error = failure
        self.fault = reply if isinstance(reply, Fault) else None
        self.fault_is_late = self.cause is not None
        if isinstance(reply, Lost):
            self.learn_left()
        if self.unbegun:
            # The refusal proves it for this very attempt, and no attempt follows one without proof.
            self.unproven = False
        if isinstance(reply, (Unreadable, Lost)):
            self.reply_bytes = reply.evidence
            if reply.task_id is not None:
                yield from self.learn_id(reply.task_id)

    def _learn_snapshot(self, name: OperationName, task: Task) -> Iterator[Signal]:
        """Take a snapshot; that of the task that we answered only where it shows our answer."""
        if self.task_id is None and name is not OperationName.SEND:
            if not is_ours(task, self.ours):
                # An end of our own making says nothing of before.
                if self._was_refused and not self.canceled_by_us(task):
                    question = self.route.answers
                    ended = question is not None and ended_without(task, self.ours, question)
                    self.unproven = self.unproven and not ended
                return
            yield Recovered(task.id)
        yield from self._learn_task(task)

    def _learn_task(self, task: Task) -> Iterator[Signal]:
        """Take a snapshot: its id, its context, its state and what is new in it."""
        yield from self.learn_id(task.id)
        before, self.task = self.task, self._as_ended(task)
        ours = self.ours.context_id
        if ours is not None and task.context_id not in {None, ours} and not self.context_lost:
            self.context_lost = True
            yield ContextSubstituted(ours, task.context_id)
        state = task.status.state
        self.began = self.began or bool(task.artifacts) or state not in _NOT_BEGUN
        self.moved_on = self.moved_on or not state.is_interrupted
        if before is None or before.status.name != self.task.status.name:
            yield StateSeen(task.id, self.task.status.name)
        message, over = self.task.status.message, self.task.status.state.is_terminal
        if message is not None and not over and message != self.progress_seen:
            self.progress_seen = message
            yield Progress(task.id, message)
        asks = state.is_interrupted and self.end_seen is None
        yield from self.made.show(task, final=state.is_terminal or asks)

    def _as_ended(self, task: Task) -> Task:
        """Return a snapshot with the end that a stream has shown: the first one stays (law 3).

        Its words stay too where the task has none: servers may lose them (A2A 1.0 section 3.7).
        """
        end = self.end_seen
        if end is None or (end.name == task.status.name and task.status.message is not None):
            return task
        return replace(task, status=end)

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
