"""What a peer shows of its work: a task, a message, or an event of a stream, whatever its version.

Results of calls and events of streams come in the same objects, so they are told apart here.
Nothing in this module raises, whatever the value.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, assert_never

from a2a_delegate.lifecycle.operations import (
    ArtifactUpdate,
    MessageReply,
    StatusUpdate,
    TaskReply,
)
from a2a_delegate.model.message import Role
from a2a_delegate.model.task import Task
from a2a_delegate.wire import first_generation
from a2a_delegate.wire.json_text import kind_of
from a2a_delegate.wire.reading import (
    Unclear,
    read_artifact,
    read_message,
    read_status,
    read_task,
)
from a2a_delegate.wire.reading_parts import text_or_none

if TYPE_CHECKING:
    from collections.abc import Mapping

    from a2a_delegate.lifecycle.operations import StreamEvent
    from a2a_delegate.model.json_value import JSON
    from a2a_delegate.model.message import Message


class Shape(Enum):
    """What an object of a peer is."""

    TASK = "a task"
    MESSAGE = "a message"
    STATUS = "a status update"
    ARTIFACT = "an artifact update"


_WRAPPERS = {
    "statusUpdate": Shape.STATUS,
    "status_update": Shape.STATUS,
    "artifactUpdate": Shape.ARTIFACT,
    "artifact_update": Shape.ARTIFACT,
}
_KINDS = {
    "task": Shape.TASK,
    "message": Shape.MESSAGE,
    "status-update": Shape.STATUS,
    "artifact-update": Shape.ARTIFACT,
}


def read_event(value: object, *, ours: Message | None = None) -> StreamEvent | Unclear:
    """Read one event of a stream: the object that it carries, out of its envelope.

    `ours` is the message that the stream answers: sent back, it is no answer. An event without a
    context is whole, one of a task without the task's id is not.
    """
    told = tell(value, called="the event")
    if isinstance(told, Unclear):
        return told
    shape, shown = told
    match shape:
        case Shape.TASK:
            return task_reply(shown)
        case Shape.MESSAGE:
            return not_ours(message_reply(shown), ours)
        case Shape.STATUS:
            return _status_update(shown)
        case Shape.ARTIFACT:
            return _artifact_update(shown)
        case _:
            assert_never(shape)


def tell(value: object, *, called: str) -> tuple[Shape, Mapping[str, JSON]] | Unclear:
    """Say what a value is, and give the object that is it, out of its wrapper.

    By wrapper (1.0, and ProtoJSON of 0.3), by `kind` (0.2, 0.3), else by its members. `called` is
    how a sentence names the value.
    """
    if not isinstance(value, dict):
        return Unclear(f"{called} is {kind_of(value)}, neither a task nor a message")
    # A flat task may have members of any name beside its own, so it goes before the wrappers.
    if "status" not in value or "id" not in value:
        task, message = value.get("task"), value.get("message")
        if isinstance(task, dict):
            if isinstance(message, dict):
                return Unclear("both a task and a message", text_or_none(task.get("id")))
            return Shape.TASK, task
        if isinstance(message, dict) and not value.get("kind"):
            return Shape.MESSAGE, message
    kind = value.get("kind")
    shape = _KINDS.get(kind) if isinstance(kind, str) else None
    return (shape, value) if shape is not None else _by_members(value, called)


def _by_members(
    value: Mapping[str, JSON], called: str
) -> tuple[Shape, Mapping[str, JSON]] | Unclear:
    update = _update(value)
    if update is not None:
        return update
    if "messageId" in value or "message_id" in value:
        return Shape.MESSAGE, value
    if "status" not in value and isinstance(value.get("artifact"), dict):
        return Shape.ARTIFACT, value
    if "status" in value and not first_generation.is_task(value.keys()):
        return Shape.TASK, value
    if "status" in value:
        named = f"a task of {first_generation.NAME}"
    else:
        named = "neither a task nor a message" if value else "an empty object"
    return Unclear(f"{called} is {named}")


def _update(value: Mapping[str, JSON]) -> tuple[Shape, Mapping[str, JSON]] | None:
    """Find what shows a state or an artifact of a task, and not the artifacts made before."""
    if "final" in value and "status" in value:  # 0.1, which has no kinds
        return Shape.STATUS, value
    if ("taskId" in value or "task_id" in value) and "id" not in value:
        # A task of MCP has a taskId as well, and a status that is a word.
        if isinstance(value.get("status"), dict):
            return Shape.STATUS, value
        if isinstance(value.get("artifact"), dict):
            return Shape.ARTIFACT, value
        return None
    for name, shape in _WRAPPERS.items():
        wrapped = value.get(name)
        if isinstance(wrapped, dict):
            return shape, wrapped
    return None


def task_reply(value: Mapping[str, JSON]) -> TaskReply | Unclear:
    """Read a task."""
    task = read_task(value)
    return TaskReply(task) if isinstance(task, Task) else task


def message_reply(value: Mapping[str, JSON]) -> MessageReply | Unclear:
    """Read a message, also one without an id, but not one that says nothing: that is no answer."""
    message = read_message(value)
    if message is None or not (message.parts or message.message_id):
        return Unclear("a message without parts and without an id")
    return MessageReply(message)


def not_ours(answer: MessageReply | Unclear, ours: Message | None) -> MessageReply | Unclear:
    """Take our own message for none: who sends it back has said nothing of its own.

    A task that it has been put under meanwhile is worth asking for.
    """
    if ours is None or not isinstance(answer, MessageReply):
        return answer
    said = answer.message
    if (said.message_id, said.role) != (ours.message_id, Role.USER):
        return answer
    task_id = said.task_id if said.task_id != ours.task_id else None
    return Unclear("our own message, sent back", task_id)


def task_id_of_update(value: Mapping[str, JSON]) -> str | None:
    """Return the id of the task that an update is of, if it says one; in 0.1 it is its own id."""
    return text_or_none(value.get("taskId") or value.get("task_id") or value.get("id"))


def _status_update(value: Mapping[str, JSON]) -> StatusUpdate | Unclear:
    # `final` (0.2, 0.3) is left out: that a turn is over shows in the state as well, and who ends
    # at a state copes with peers that never say it (STATE-7).
    task_id = task_id_of_update(value)
    status = value.get("status")
    if not isinstance(status, dict):
        return Unclear(f"the update's status is {kind_of(status)}", task_id)
    if task_id is None:
        return Unclear("a status update without the task's id")
    read = read_status(status)
    if read is None:
        return Unclear(f"the update's state is {kind_of(status.get('state'))}", task_id)
    return StatusUpdate(task_id, read, _context_id(value))


def _artifact_update(value: Mapping[str, JSON]) -> ArtifactUpdate | Unclear:
    task_id = task_id_of_update(value)
    artifact = value.get("artifact")
    if not isinstance(artifact, dict):
        return Unclear(f"the update's artifact is {kind_of(artifact)}", task_id)
    if task_id is None:
        return Unclear("an artifact update without the task's id")
    append = value.get("append") is True
    return ArtifactUpdate(task_id, read_artifact(artifact), append, _context_id(value))


def _context_id(value: Mapping[str, JSON]) -> str | None:
    return text_or_none(value.get("contextId") or value.get("context_id"))
