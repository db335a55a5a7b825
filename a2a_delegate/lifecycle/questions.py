"""Whether a snapshot asks the caller something new.

Right after an answer servers often still show the question that it was given to (law 4).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2a_delegate.model.message import Role
from a2a_delegate.model.task import TaskState

if TYPE_CHECKING:
    from a2a_delegate.lifecycle.plan import Route
    from a2a_delegate.model.task import Task


def awaits_caller(task: Task, route: Route, *, moved_on: bool, waits_for_auth: bool) -> bool:
    """Whether the task waits for its caller, and for another answer than one that was given.

    A question counts if it is another one, or once the task was seen to go on (`moved_on`).
    """
    state, answers = task.status.state, route.answers
    if not state.is_interrupted:
        return False
    if state is TaskState.AUTH_REQUIRED and waits_for_auth:
        return False
    if moved_on:
        return True
    same = answers is not None and task.question_id == answers.question_id
    return not same and not _asked_before(task, route.send.message.message_id)


def _asked_before(task: Task, ours: str) -> bool:
    """Whether the history shows the question of a task before our own message.

    a2a-sdk 0.3 moves the words of a question there when the answer comes, before its agent begins:
    until then the task asks without a word, and the peer has said nothing since our message.
    """
    question = task.status.message
    place = next((at for at, one in enumerate(task.history) if one.message_id == ours), None)
    if place is None:
        return False
    before, since = task.history[:place], task.history[place:]
    if question is not None:
        return bool(question.message_id) and any(
            one.message_id == question.message_id for one in before
        )
    spoke_before = any(one.role is Role.AGENT for one in before)
    return spoke_before and all(one.role is Role.USER for one in since)
