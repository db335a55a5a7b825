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
from a2a_delegate.model.message import Role
from a2a_delegate.model.task import Task
from a2a_delegate.wire import first_generation
from a2a_delegate.wire.json_text import kind_of
from a2a_delegate.wire.reading import Unclear, read_message, read_task
from a2a_delegate.wire.reading_parts import text_or_none

if TYPE_CHECKING:
    from collections.abc import Mapping

    from a2a_delegate.lifecycle.operations import Operation
    from a2a_delegate.model.json_value import JSON
    from a2a_delegate.model.message import Message

_EVENTS = ("statusUpdate", "status_update", "artifactUpdate", "artifact_update")
_EVENT_KINDS = frozenset({"status-update", "artifact-update"})
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
            return _not_ours(_task_or_message(result), ours)
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


def _not_ours(
    answer: TaskReply | MessageReply | Unclear, ours: Message
) -> TaskReply | MessageReply | Unclear:
    """Take our own message for none: who sends it back has said nothing of its own.

    A task that it has been put under meanwhile is worth asking for.
    """
    if not isinstance(answer, MessageReply):
        return answer
    said = answer.message
    if (said.message_id, said.role) != (ours.message_id, Role.USER):
        return answer
    task_id = said.task_id if said.task_id != ours.task_id else None
    return Unclear("our own message, sent back", task_id)


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
    """Tell a task from a message: by wrapper (1.0), by `kind` (0.2, 0.3), else by their members."""
    if not isinstance(result, dict):
        return Unclear(f"the result is {kind_of(result)}, neither a task nor a message")
    # A flat task may have members of any name beside its own, so it goes before the wrappers.
    if "status" not in result or "id" not in result:
        task, message = result.get("task"), result.get("message")
        if isinstance(task, dict):
            answer = _task_reply(task)
            if isinstance(message, dict):
                return Unclear("both a task and a message", _shown_id(answer))
            return answer
        if isinstance(message, dict) and not result.get("kind"):
            return _message_reply(message)
    return _by_kind_or_members(result)


def _by_kind_or_members(result: Mapping[str, JSON]) -> TaskReply | MessageReply | Unclear:
    kind = result.get("kind")
    if kind == "task":
        return _task_reply(result)
    if kind == "message":
        return _message_reply(result)
    event = _event(result)
    if event is not None:
        task_id = event.get("taskId") or event.get("task_id") or event.get("id")
        reason = "an event of a stream, where one answer was asked for"
        return Unclear(reason, text_or_none(task_id))
    if "messageId" in result or "message_id" in result:
        return _message_reply(result)
    if "status" in result and not first_generation.is_task(result.keys()):
        return _task_reply(result)
    if "status" in result:
        named = f"a task of {first_generation.NAME}"
    else:
        named = "neither a task nor a message" if result else "an empty object"
    return Unclear(f"the result is {named}")


def _event(result: Mapping[str, JSON]) -> Mapping[str, JSON] | None:
    """Find an event of a stream: it shows a state, and none of the artifacts made before."""
    kind = result.get("kind")
    if isinstance(kind, str) and kind in _EVENT_KINDS:
        return result
    if "final" in result and "status" in result:  # 0.1, which has no kinds
        return result
    if "taskId" in result and "id" not in result:
        # A task of MCP has a taskId as well, and a status that is a word.
        shown = (result.get("status"), result.get("artifact"))
        return result if any(isinstance(member, dict) for member in shown) else None
    return next((event for name in _EVENTS if isinstance(event := result.get(name), dict)), None)


def _task_reply(value: Mapping[str, JSON]) -> TaskReply | Unclear:
    task = read_task(value)
    return TaskReply(task) if isinstance(task, Task) else task


def _message_reply(value: Mapping[str, JSON]) -> MessageReply | Unclear:
    """Take a message without an id, but not one that says nothing at all: that is no answer."""
    message = read_message(value)
    if message is None or not (message.parts or message.message_id):
        return Unclear("a message without parts and without an id")
    return MessageReply(message)


def _shown_id(answer: TaskReply | Unclear) -> str | None:
    return answer.task.id if isinstance(answer, TaskReply) else answer.task_id
