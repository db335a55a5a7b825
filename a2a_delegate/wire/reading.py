"""Tasks, messages and artifacts as peers really send them, whatever version they meant.

One tolerant reader serves both dialects: servers answer a 0.3 call in the spelling of 1.0 and the
other way round, leave out what is required, and send null for what is optional. Every function
here takes any JSON value and raises nothing.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from a2a_delegate.model.artifact import Artifact
from a2a_delegate.model.frozen import dataclass
from a2a_delegate.model.message import Message, Role
from a2a_delegate.model.task import Task, TaskState, TaskStatus
from a2a_delegate.wire.json_text import kind_of
from a2a_delegate.wire.reading_parts import object_or_none, read_parts, text_or_none

if TYPE_CHECKING:
    from collections.abc import Mapping

    from a2a_delegate.model.json_value import JSON


@dataclass(frozen=True, slots=True)
class Unclear:
    """Why a value is no answer, and the id of the task that it shows, if it shows one."""

    reason: str
    task_id: str | None = None


def read_task(value: object) -> Task | Unclear:
    """Read a task: it needs an id, and a status with a state; nothing else can spoil it."""
    if not isinstance(value, dict):
        return Unclear(f"the task is {kind_of(value)}")
    task_id = text_or_none(value.get("id"))
    status = value.get("status")
    if not isinstance(status, dict):
        return Unclear(f"the task's status is {kind_of(status)}", task_id)
    if task_id is None:
        return Unclear("a task without an id")
    read = read_status(status)
    if read is None:
        return Unclear(f"the task's state is {kind_of(status.get('state'))}", task_id)
    return Task(
        task_id,
        read,
        text_or_none(value.get("contextId") or value.get("context_id")),
        _artifacts(value.get("artifacts")),
        _messages(value.get("history")),
        object_or_none(value.get("metadata")),
    )


def read_status(value: Mapping[str, JSON]) -> TaskStatus | None:
    """Read a status; None for one without a state."""
    word = text_or_none(value.get("state"))
    if word is None:
        return None
    return TaskStatus(
        read_state(word),
        word,
        read_message(value.get("message")),
        read_timestamp(value.get("timestamp")),
    )


def read_message(value: object) -> Message | None:
    """Read a message; None for what has no parts, no role and no id, and so is none."""
    if not isinstance(value, dict):
        return None
    message_id = text_or_none(value.get("messageId") or value.get("message_id"))
    role = text_or_none(value.get("role"))
    parts = value.get("parts")
    if not parts and isinstance(value.get("content"), list):  # the name in ProtoJSON of 0.3
        parts = value["content"]
    if message_id is None and role is None and not isinstance(parts, list):
        return None
    references = value.get("referenceTaskIds") or value.get("reference_task_ids")
    return Message(
        message_id or "",
        Role.USER if role in _USER else Role.AGENT,
        read_parts(parts),
        text_or_none(value.get("contextId") or value.get("context_id")),
        text_or_none(value.get("taskId") or value.get("task_id")),
        texts(references),
        texts(value.get("extensions")),
        object_or_none(value.get("metadata")),
    )


def read_state(word: str) -> TaskState:
    """Read a state in the spelling of either version, also half-way ones such as `CANCELLED`."""
    return _STATES.get(word) or _STATES.get(_plain(word), TaskState.UNKNOWN)


def read_timestamp(value: object) -> datetime | None:
    """Read a moment as UTC; one without a zone is UTC too. None for what cannot be read."""
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.fromisoformat(value)
        if moment.tzinfo is UTC:
            return moment
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def texts(value: object) -> tuple[str, ...]:
    """Return the strings of a list; what is no list holds none."""
    if not value or not isinstance(value, list):
        return ()
    return tuple([item for item in value if isinstance(item, str)])


def _artifacts(value: JSON) -> tuple[Artifact, ...]:
    if not isinstance(value, list):
        return ()
    return tuple([read_artifact(item) for item in value if isinstance(item, dict)])


def read_artifact(value: Mapping[str, JSON]) -> Artifact:
    """Read an artifact; one without an id has an empty one."""
    get = value.get
    return Artifact(
        text_or_none(get("artifactId") or get("artifact_id") or get("id")) or "",
        read_parts(get("parts")),
        text_or_none(get("name")),
        text_or_none(get("description")),
        texts(get("extensions")),
        object_or_none(get("metadata")),
    )


def _messages(value: JSON) -> tuple[Message, ...]:
    # Published histories also hold statuses, which are no messages and answer nothing.
    if not isinstance(value, list):
        return ()
    return tuple([message for item in value if (message := read_message(item)) is not None])


def _plain(word: str) -> str:
    plain = word.strip().lower().replace("_", "-").removeprefix("task-state-")
    return "canceled" if plain == "cancelled" else plain


_USER = frozenset({"user", "ROLE_USER", "USER", "role_user"})
_STATES = {state.value: state for state in TaskState} | {
    f"TASK_STATE_{state.name}": state for state in TaskState
}
