"""What is known of one delegation: it accumulates and is never taken back.

The machine's rules read it; `note` is the only place that adds what an observation shows.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from a2a_delegate.lifecycle.operations import (
    Fault,
    FaultKind,
    Lost,
    MessageReply,
    NotSent,
    OperationName,
    TaskReply,
    Unreadable,
)
from a2a_delegate.model.task import TaskState
from a2a_delegate.outcome import Attempt, CancelReceipt, Effect
from a2a_delegate.signals import (
    ArtifactChunk,
    AttemptFailed,
    ContextSubstituted,
    IdKnown,
    Progress,
    Signal,
    StateSeen,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from a2a_delegate.errors import DelegateError
    from a2a_delegate.lifecycle.observations import Ended
    from a2a_delegate.lifecycle.plan import Plan, Route
    from a2a_delegate.model.artifact import Artifact
    from a2a_delegate.model.message import Message
    from a2a_delegate.model.task import Task
    from a2a_delegate.outcome import DelegationHandle

PROVEN: frozenset[FaultKind] = frozenset(
    {
        FaultKind.PARSE_ERROR,
        FaultKind.METHOD_NOT_FOUND,
        FaultKind.VERSION_NOT_SUPPORTED,
        FaultKind.EXTENSION_REQUIRED,
        FaultKind.UNAUTHENTICATED,
        FaultKind.METHOD_NOT_ALLOWED,
        FaultKind.CONTENT_TOO_LARGE,
        FaultKind.MEDIA_TYPE,
        FaultKind.REDIRECTED,
        FaultKind.RATE_LIMITED,
    }
)
"""Answers to a send that prove that the peer never began: they come before the agent's code.

Every other error can be raised by agent code after its effect (-32602, 403, 404, 5xx).
"""

GONE: frozenset[FaultKind] = frozenset(
    {
        FaultKind.TASK_NOT_FOUND,
        FaultKind.NO_ENDPOINT,
        FaultKind.UNAUTHENTICATED,
        FaultKind.DENIED,
        FaultKind.METHOD_NOT_FOUND,
    }
)
"""Answers to a get that, three times running, say that this task cannot be asked for any more."""

_KEPT_ATTEMPTS = 64
"""Attempts that are kept; of a long poll the gets in the middle go first."""


@dataclass(frozen=True, slots=True)
class Cause:
    """Why the delegation is being stopped; the first one latches."""

    by: Literal["caller", "sibling", "deadline"]
    at: float
    reason: object = None


@dataclass(slots=True)
class Evidence:
    """The facts so far; `unproven`: a body left and nothing proves that the peer did not begin."""

    plan: Plan
    route: Route
    cause: Cause | None = None
    ever_left: bool = False
    unproven: bool = False
    sends: int = 0
    downgraded: bool = False
    context_dropped: bool = False
    task_id: str | None = None
    task: Task | None = None
    answer: Message | None = None
    context_lost: bool = False
    state_before_cancel: str = ""
    busy: bool = False
    """The task was seen working or with artifacts."""
    error: DelegateError | None = None
    """The last error about the send: what an outcome without an answer is made from."""
    fault: Fault | None = None
    get_error: DelegateError | None = None
    reply_bytes: bytes = b""
    refused_gets: int = 0
    receipt: CancelReceipt | None = None
    cancel_sent: bool = False
    first_end: str | None = None
    attempts: list[Attempt] = field(default_factory=list)
    artifacts_seen: dict[str, Artifact] = field(default_factory=dict)
    progress_seen: Message | None = None

    @property
    def ours(self) -> Message:
        """The message that is handed over, as the present route sends it."""
        return self.route.send.message

    @property
    def effect(self) -> Effect:
        """Whether the work began, as far as the evidence goes."""
        if self.task is not None or self.task_id is not None or self.answer is not None:
            return Effect.RAN
        return Effect.MAY_HAVE_RUN if self.unproven else Effect.NOT_STARTED

    @property
    def handle(self) -> DelegationHandle | None:
        """What a later process needs; None exactly when no byte of a body left."""
        if not self.ever_left or self.plan.in_process:
            return None
        task = self.task
        asks = task is not None and task.status.state.is_interrupted
        question = task.status.message if task is not None and asks else None
        return replace(
            self.route.intent,
            task_id=self.task_id,
            context_id=(task.context_id if task else None) or self.route.intent.context_id,
            question_id=question.message_id or None if question else None,
        )

    def keep(self, attempt: Attempt) -> None:
        """Keep an attempt, in bounded memory: a task may be polled for days."""
        self.attempts.append(attempt)
        if len(self.attempts) > _KEPT_ATTEMPTS:
            gets = [
                at for at, one in enumerate(self.attempts) if one.operation == OperationName.GET
            ]
            del self.attempts[gets[len(gets) // 2] if gets else len(self.attempts) // 2]

    def learn_id(self, task_id: str) -> Iterator[Signal]:
        """Take the task id; the first one stays."""
        if self.task_id is None:
            self.task_id = task_id
            yield IdKnown(task_id)

    def learn_reply(self, ended: Ended) -> Iterator[Signal]:
        """Take what an ended request shows, whichever it was."""
        self.keep(ended.attempt)
        reply = ended.reply
        if isinstance(reply, TaskReply):
            if self.task_id in (None, reply.task.id):
                yield from self.learn_task(reply.task)
            return
        if isinstance(reply, MessageReply):
            if ended.name is OperationName.SEND:
                self.answer = reply.message
            return
        if isinstance(reply, (Fault, Unreadable, NotSent, Lost)):
            yield AttemptFailed(ended.attempt, reply.error)
        if ended.name is OperationName.SEND:
            yield from self._learn_send_failure(reply)
        elif ended.name is OperationName.GET and isinstance(
            reply, (Fault, Unreadable, NotSent, Lost)
        ):
            self.get_error = reply.error

    def _learn_send_failure(self, reply: object) -> Iterator[Signal]:
        if isinstance(reply, (Fault, Unreadable, NotSent, Lost)):
            self.error = reply.error
        self.fault = reply if isinstance(reply, Fault) else None
        if isinstance(reply, Fault) and reply.kind in PROVEN:
            # The refusal proves it for this very attempt, and no attempt follows one without proof.
            self.unproven = False
        if isinstance(reply, (Unreadable, Lost)):
            self.reply_bytes = reply.evidence
            if reply.task_id is not None:
                yield from self.learn_id(reply.task_id)

    def learn_task(self, task: Task) -> Iterator[Signal]:
        """Take a snapshot: its id, its context, its state and what is new in it."""
        yield from self.learn_id(task.id)
        before, self.task = self.task, task
        ours = self.ours.context_id
        if ours is not None and task.context_id not in (None, ours) and not self.context_lost:
            self.context_lost = True
            yield ContextSubstituted(ours, task.context_id)
        state = task.status.state
        self.busy = self.busy or bool(task.artifacts) or state is TaskState.WORKING
        if before is None or before.status.name != task.status.name:
            yield StateSeen(task.id, task.status.name)
        message = task.status.message
        if message is not None and not state.is_terminal and message != self.progress_seen:
            self.progress_seen = message
            yield Progress(task.id, message)
        for artifact in task.artifacts:
            if self.artifacts_seen.get(artifact.artifact_id) != artifact:
                self.artifacts_seen[artifact.artifact_id] = artifact
                yield ArtifactChunk(task.id, artifact)
