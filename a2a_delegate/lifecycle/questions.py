"""Whether a snapshot asks the caller something new.

Right after an answer servers often still show the question that it was given to (law 4).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2a_delegate.model.message import Role
from a2a_delegate.model.task import TaskState

if TYPE_CHECKING:
    from collections.abc import Sequence

    from a2a_delegate.lifecycle.plan import Route
    from a2a_delegate.model.message import Message
    from a2a_delegate.model.task import Task


def awaits_caller(task: Task, route: Route, *, moved_on: bool, waits_for_auth: bool) -> bool:
    """Whether the task waits for its caller, and for another answer than one that was given.

    After an answer a question counts if it is another one, or once the task was seen to go on
    (`moved_on`). One without words is another one only where the peer has spoken since.
    """
    state, answers = task.status.state, route.answers
    if not state.is_interrupted:
        return False
    if state is TaskState.AUTH_REQUIRED and waits_for_auth:
        return False
    if moved_on:
        return True
    before, since = _split(task, route.send.message.message_id)
    question = task.status.message
    if question is None:
        # a2a-sdk 0.3 moves the words of a question into the history when the answer comes, before
        # its agent begins.
        answered = answers is not None or _peer_spoke(before)
        return not answered or _peer_spoke(since)
    if answers is not None and task.question_id == answers.question_id:
        return False
    # What stands in the history before our own message was asked before it.
    return not question.message_id or all(one.message_id != question.message_id for one in before)


def _split(task: Task, ours: str) -> tuple[Sequence[Message], Sequence[Message]]:
    """Return what the history shows from before our message and from after it, if it shows ours."""
    for place, message in enumerate(task.history):
        if message.message_id == ours:
            return task.history[:place], task.history[place + 1 :]
    return (), ()


def _peer_spoke(messages: Sequence[Message]) -> bool:
    return any(message.role is Role.AGENT for message in messages)
