"""Finding a delegation again in the peer's list of tasks (A2A 1.0 section 3.1.4)."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from a2a_delegate.lifecycle.operations import ListTasks
from a2a_delegate.model.message import Role

if TYPE_CHECKING:
    from a2a_delegate.lifecycle.plan import Question, Route
    from a2a_delegate.model.message import Message
    from a2a_delegate.model.task import Task

ROUNDS = 3
PAGES = 3
_SKEW = timedelta(minutes=2)
"""How far behind ours the peer's clock may be."""


def query(route: Route, ours: Message, page_token: str = "") -> ListTasks:
    """Ask by our own context id where it went with the message, else by the time of the send."""
    if route.by_context and ours.context_id is not None:
        return ListTasks(context_id=ours.context_id, page_token=page_token)
    sent_at = route.intent.sent_at
    try:
        return ListTasks(since=sent_at - _SKEW, page_token=page_token)
    except OverflowError:  # a handle may say any time, also the first of all
        return ListTasks(since=sent_at, page_token=page_token)


def is_ours(task: Task, ours: Message) -> bool:
    """Whether a listed task was made by our message.

    The id of our message must stand in a user message of its history. Filters are not trusted, so
    context and text are compared as well where both sides show them.
    """
    if ours.context_id is not None and task.context_id not in (None, ours.context_id):
        return False
    for message in task.history:
        if message.role is Role.USER and message.message_id == ours.message_id:
            return not message.text or not ours.text or message.text == ours.text
    return False


def ended_without(task: Task, ours: Message, question: Question) -> bool:
    """Whether a task that has ended shows that it did so without our answer.

    A history that lacks our message proves nothing where the peer keeps none, cuts it, or gives
    messages other ids. So it must hold the message that the question came upon, under its id, and
    something since.
    """
    ids = [message.message_id for message in task.history]
    kept = question.asked_of in ids[:-1]
    return task.status.state.is_terminal and kept and ours.message_id not in ids
