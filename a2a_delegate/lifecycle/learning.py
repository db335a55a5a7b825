"""What is learned of one delegation: from events of streams, and from requests that have ended.

It goes into the evidence, and what is new in it is told. What it means for the delegation the
machine says.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, assert_never

from a2a_delegate.errors import DelegateError, InvalidReplyError, LostReplyError
from a2a_delegate.lifecycle.operations import (
    ArtifactUpdate,
    Fault,
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
from a2a_delegate.lifecycle.search import ended_without, is_ours
from a2a_delegate.model.message import Role
from a2a_delegate.model.task import Task, TaskState
from a2a_delegate.signals import (
    AttemptFailed,
    ContextSubstituted,
    Progress,
    Recovered,
    Signal,
    StateSeen,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from a2a_delegate.lifecycle.evidence import Evidence
    from a2a_delegate.lifecycle.observations import Ended, Streamed
    from a2a_delegate.model.message import Message

_NOT_BEGUN = frozenset({TaskState.SUBMITTED, TaskState.REJECTED})
_SERVER_ERROR = 500
_OVER = "the stream ended before its task"


def learn_event(seen: Evidence, streamed: Streamed) -> Iterator[Signal]:
    """Take what a stream shows; what is of another task counts for nothing (STATE-12)."""
    event, name = streamed.event, streamed.name
    match event:
        case MessageReply(message):
            yield from _learn_message(seen, message)
        case TaskReply(task) if _is_followed(seen, name, task.id, task.context_id):
            yield from _learn_snapshot(seen, name, task)
        case StatusUpdate() if _is_followed(seen, name, event.task_id, event.context_id):
            yield from _learn_task(seen, _updated(seen, event))
            if event.status.state.is_terminal and seen.end_seen is None:
                seen.end_seen, seen.end_is_late = event.status, seen.cause is not None
        case ArtifactUpdate() if _is_followed(seen, name, event.task_id, event.context_id):
            yield from seen.learn_id(event.task_id)
            seen.began = True
            if (chunk := seen.made.add(event)) is not None:
                yield chunk
        case _:
            return
    # What is shown is not gone, whatever a get says.
    seen.refused_gets = 0


def _learn_message(seen: Evidence, message: Message) -> Iterator[Signal]:
    """Take a message: alone it is the whole answer, beside a task it says how that goes.

    What a user said, shown to whoever watches, is neither; the task that it is of may be shown.
    """
    if message.role is Role.USER:
        if message.task_id is not None:
            yield from seen.learn_id(message.task_id)
    elif seen.task_id is None:
        seen.answer = message
    else:
        yield Progress(seen.task_id, message)


def _is_followed(seen: Evidence, name: OperationName, task_id: str, context_id: str | None) -> bool:
    """Whether an event is one of the task that is followed, or makes a task known."""
    known = None if seen.task is None else seen.task.context_id
    return _asked_for(seen, name) in {None, task_id} and known in {None, context_id or known}


def _asked_for(seen: Evidence, name: OperationName) -> str | None:
    """Return the only task that a request can show; a send may show one that is new."""
    return seen.task_id if name is OperationName.SEND else seen.target


def _updated(seen: Evidence, event: StatusUpdate) -> Task:
    """Return the task as an event shows it: all but its status is as it was."""
    if seen.task is None:
        return Task(event.task_id, event.status, event.context_id)
    return replace(seen.task, status=event.status, artifacts=())


def learn_end(seen: Evidence, ended: Ended, *, current: bool) -> Iterator[Signal]:
    """Take what an ended request shows; `current`: it had not been let go."""
    seen.keep(ended.attempt)
    failure = failure_of(seen, ended)
    if ended.name is OperationName.SEND and ended.attempt.body_left:
        seen.learn_left()
    if isinstance(ended.reply, StreamEnd) and seen.task_id is not None:
        return  # what it showed has been learned
    if failure is not None:
        yield AttemptFailed(ended.attempt, failure)
        yield from _learn_failure(seen, ended, failure, current=current)
    elif isinstance(ended.reply, TaskReply):
        if ended.name is OperationName.GET:
            seen.refused_gets, seen.get_error = 0, None
        yield from _learn_snapshot(seen, ended.name, ended.reply.task)
    elif isinstance(ended.reply, MessageReply):
        seen.answer = ended.reply.message
    else:
        seen.list_error = None  # a page of tasks came


def _learn_failure(
    seen: Evidence, ended: Ended, failure: DelegateError, *, current: bool
) -> Iterator[Signal]:
    if ended.name is OperationName.SEND:
        yield from _learn_send_failure(seen, ended.reply, failure)
    elif ended.name is OperationName.GET and current:
        seen.get_error = failure
    elif ended.name is OperationName.LIST and current:
        seen.list_error = failure


def failure_of(seen: Evidence, ended: Ended) -> DelegateError | None:
    """Return why an end is no answer; another task's body and the wrong kind are none."""
    reply, name = ended.reply, ended.name
    match reply:
        case TaskReply(task) if name is not OperationName.LIST:
            known = _asked_for(seen, name) in {None, task.id}
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


def _learn_send_failure(seen: Evidence, reply: object, failure: DelegateError) -> Iterator[Signal]:
    if isinstance(reply, NotSent):
        seen.unsent += 1
        if seen.fault is not None and seen.cause is not None:
            # A repeat that we stopped ourselves: what the peer said before says more.
            return
    seen.error = failure
    seen.fault = reply if isinstance(reply, Fault) else None
    seen.fault_is_late = seen.cause is not None
    if isinstance(reply, Lost):
        seen.learn_left()
    if seen.unbegun:
        # The refusal proves it for this very attempt, and no attempt follows one without proof.
        seen.unproven = False
    if isinstance(reply, (Unreadable, Lost)):
        seen.reply_bytes = reply.evidence
        if reply.task_id is not None:
            yield from seen.learn_id(reply.task_id)


def _learn_snapshot(seen: Evidence, name: OperationName, task: Task) -> Iterator[Signal]:
    """Take a snapshot; that of the task that we answered only where it shows our answer."""
    if seen.task_id is None and name is not OperationName.SEND:
        if not is_ours(task, seen.ours):
            # An end of our own making says nothing of before.
            if _was_refused(seen) and not seen.canceled_by_us(task):
                question = seen.route.answers
                ended = question is not None and ended_without(task, seen.ours, question)
                seen.unproven = seen.unproven and not ended
            return
        yield Recovered(task.id)
    yield from _learn_task(seen, task)


def _learn_task(seen: Evidence, task: Task) -> Iterator[Signal]:
    """Take a snapshot: its id, its context, its state and what is new in it."""
    yield from seen.learn_id(task.id)
    before, seen.task = seen.task, _as_ended(seen, task)
    ours = seen.ours.context_id
    if ours is not None and task.context_id not in {None, ours} and not seen.context_lost:
        seen.context_lost = True
        yield ContextSubstituted(ours, task.context_id)
    state = task.status.state
    seen.began = seen.began or bool(task.artifacts) or state not in _NOT_BEGUN
    seen.moved_on = seen.moved_on or not state.is_interrupted
    if before is None or before.status.name != seen.task.status.name:
        yield StateSeen(task.id, seen.task.status.name)
    message, over = seen.task.status.message, seen.task.status.state.is_terminal
    if message is not None and not over and message != seen.progress_seen:
        seen.progress_seen = message
        yield Progress(task.id, message)
    asks = state.is_interrupted and seen.end_seen is None
    yield from seen.made.show(task, final=state.is_terminal or asks)


def _as_ended(seen: Evidence, task: Task) -> Task:
    """Return a snapshot with the end that a stream has shown: the first one stays (law 3).

    Its words stay too where the task has none: servers may lose them (A2A 1.0 section 3.7).
    """
    end = seen.end_seen
    if end is None or (end.name == task.status.name and task.status.message is not None):
        return task
    return replace(task, status=end)


def _was_refused(seen: Evidence) -> bool:
    """Whether an error answered the last send, and none of a gateway that lost the reply."""
    if seen.fault is None:
        return False
    error = seen.fault.error
    return error.code is not None or (error.status or 0) < _SERVER_ERROR
