"""What the result of a call is: a task, a message, a page of tasks, or nothing that answers it."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from a2a_delegate.errors import InvalidReplyError
from a2a_delegate.lifecycle.operations import (
    CancelTask,
    GetTask,
    ListTasks,
    MessageReply,
    SendMessage,
    SubscribeToTask,
    TaskPage,
    TaskReply,
    Unreadable,
)
from a2a_delegate.model.task import Task
from a2a_delegate.wire.events import (
    Shape,
    message_reply,
    not_ours,
    task_id_of_update,
    task_reply,
    tell,
)
from a2a_delegate.wire.json_text import kind_of
from a2a_delegate.wire.reading import Unclear, read_task
from a2a_delegate.wire.reading_parts import text_or_none

if TYPE_CHECKING:
    from a2a_delegate.lifecycle.operations import Operation

_PAGE = ("tasks", "nextPageToken", "next_page_token", "pageSize", "page_size", "totalSize")


def decode(
    operation: Operation, result: object
) -> TaskReply | MessageReply | TaskPage | Unreadable:
    """Read the result of an operation, in the shape of any version; never raises.

    Unreadable comes without evidence and HTTP status: those are the envelope's to add.
    """
    answer = _answer(operation, result)
    if not isinstance(answer, Unclear):
        return answer
    error = InvalidReplyError(method=operation.name, reason=answer.reason)
    return Unreadable(error, task_id=answer.task_id)


def task_id_of(result: object) -> str | None:
    """Return the id of the task that a result shows, whether or not the rest can be read."""
    answer = _task_or_message(result)
    return None if isinstance(answer, MessageReply) else _shown_id(answer)


def _answer(operation: Operation, result: object) -> TaskReply | MessageReply | TaskPage | Unclear:
    match operation:
        case SendMessage(message=ours):
            answer = _task_or_message(result)
            return answer if isinstance(answer, TaskReply) else not_ours(answer, ours)
        case (
            GetTask(task_id=task_id)
            | CancelTask(task_id=task_id)
            | SubscribeToTask(task_id=task_id)
        ):
            return _task(result, task_id)
        case ListTasks():
            return _page(result)
        case _:
            assert_never(operation)


def _task(result: object, task_id: str) -> TaskReply | Unclear:
    answer = _task_or_message(result)
    if isinstance(answer, MessageReply):
        return Unclear("a message, where a task was asked for")
    shown = _shown_id(answer)
    if shown is not None and shown != task_id:
        return Unclear(f"the task {shown!r}, where {task_id!r} was asked for")
    return answer


def _page(result: object) -> TaskPage | Unclear:
    """Read a page; a listed task that cannot be read is left out, and the others stay."""
    if not isinstance(result, dict):
        return Unclear(f"the result is {kind_of(result)}, not a page of tasks")
    tasks = result.get("tasks")
    if not isinstance(tasks, list):
        # ProtoJSON may leave out an empty list, but hardly every member of the page.
        if tasks is not None or not any(name in result for name in _PAGE):
            return Unclear("the result is no page of tasks")
        tasks = []
    token = text_or_none(result.get("nextPageToken") or result.get("next_page_token"))
    read = [read_task(item) for item in tasks]
    return TaskPage(tuple([task for task in read if isinstance(task, Task)]), token or "")


def _task_or_message(result: object) -> TaskReply | MessageReply | Unclear:
    told = tell(result, called="the result")
    if isinstance(told, Unclear):
        return told
    shape, shown = told
    match shape:
        case Shape.TASK:
            return task_reply(shown)
        case Shape.MESSAGE:
            return message_reply(shown)
        case Shape.STATUS | Shape.ARTIFACT:
            # It shows a state, and none of the artifacts made before.
            reason = "an event of a stream, where one answer was asked for"
            return Unclear(reason, task_id_of_update(shown))
        case _:
            assert_never(shape)


def _shown_id(answer: TaskReply | Unclear) -> str | None:
    return answer.task.id if isinstance(answer, TaskReply) else answer.task_id
