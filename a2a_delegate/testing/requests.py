"""What a request asks, once its version has been read off, and how it is refused.

The readers below are strict where servers in use differ: what one of them would refuse, they
refuse, so that a client that passes here passes there.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from datetime import datetime

    from a2a_delegate.testing.work import Message, WorkState

DEFAULT_PAGE: Final = 50
LARGEST_PAGE: Final = 100
"""Sizes of a page of tasks (A2A 1.0 section 3.1.4)."""


class Fault(Enum):
    """The errors that a peer answers with by itself: JSON-RPC code and the reason of A2A 1.0."""

    PARSE = (-32700, "")
    INVALID_REQUEST = (-32600, "INVALID_REQUEST")
    METHOD_NOT_FOUND = (-32601, "")
    INVALID_PARAMS = (-32602, "INVALID_PARAMS")
    INTERNAL = (-32603, "")
    TASK_NOT_FOUND = (-32001, "TASK_NOT_FOUND")
    TASK_NOT_CANCELABLE = (-32002, "TASK_NOT_CANCELABLE")
    PUSH_NOTIFICATION_NOT_SUPPORTED = (-32003, "PUSH_NOTIFICATION_NOT_SUPPORTED")
    UNSUPPORTED_OPERATION = (-32004, "UNSUPPORTED_OPERATION")
    VERSION_NOT_SUPPORTED = (-32009, "VERSION_NOT_SUPPORTED")

    def __init__(self, code: int, reason: str) -> None:
        self.code = code
        self.reason = reason


NO_PUSH: Final = (
    Fault.PUSH_NOTIFICATION_NOT_SUPPORTED,
    "Push Notification is not supported",
)
"""The answer to every request about webhooks."""


class Objection(Enum):
    """Why a well-formed request is not carried out; each version has its own code and words.

    A version's words may name `{task}`, its `{state}` (also as `{state_of_1_0}`) and `{context}`,
    and `{theirs}`, the context id that the request named.
    """

    FINISHED = "a message to a task that has ended"
    NOT_CANCELABLE = "a cancel of a task that cannot be stopped"
    UNKNOWN = "a task that is not there"
    UNKNOWN_TO_SEND = "a message to a task that is not there"
    OTHER_CONTEXT = "a message to a task under another context id"
    NO_CONTEXT = "a context id made by the client"


class RefusedError(Exception):
    """The peer refuses a request: it answers with this fault, and did nothing.

    `field` names the parameter that is at fault, where one is; `problem` says what is wrong with
    it. Never leaves the package: it becomes a JSON-RPC error object.
    """

    def __init__(self, fault: Fault, text: str, *, field: str = "", problem: str = "") -> None:
        super().__init__(text)
        self.fault = fault
        self.text = text
        self.field = field
        self.problem = problem


@dataclass(frozen=True, slots=True)
class SendParams:
    """A message to act on; `immediate` asks for a reply before the work has ended."""

    message: Message
    immediate: bool
    history_length: int | None


@dataclass(frozen=True, slots=True)
class TaskParams:
    """A task to look at or to cancel."""

    task_id: str
    history_length: int | None


@dataclass(frozen=True, slots=True)
class ListParams:
    """A page of tasks to show."""

    context_id: str
    state: WorkState | None
    since: datetime | None
    page_size: int
    page_token: str
    history_length: int | None
    with_artifacts: bool


def missing(field: str) -> RefusedError:
    """Make the refusal of a request in which a required field is not there."""
    return wrong(field, "Field is required.")


def wrong(field: str, problem: str) -> RefusedError:
    """Make the refusal of a request in which a field has a wrong value."""
    return RefusedError(Fault.INVALID_PARAMS, "Validation failed", field=field, problem=problem)


def take_object(value: object, field: str) -> dict[str, object]:
    """Return a JSON object. Raises RefusedError for anything else."""
    if not isinstance(value, dict):
        raise wrong(field, "Field must be an object.")
    return value


def take_list(value: object, field: str) -> list[object]:
    """Return a JSON array. Raises RefusedError for anything else."""
    if not isinstance(value, list):
        raise wrong(field, "Field must be an array.")
    return value


def take_text(holder: dict[str, object], key: str, field: str, *, required: bool = False) -> str:
    """Return a string, empty where it is absent or null. Raises RefusedError for another type."""
    value = holder.get(key)
    if value is None:
        value = ""
    if not isinstance(value, str):
        raise wrong(field, "Field must be a string.")
    if required and not value:
        raise missing(field)
    return value


def take_texts(holder: dict[str, object], key: str, field: str) -> tuple[str, ...]:
    """Return an array of strings, empty where it is absent. Raises RefusedError for others."""
    values = take_list(holder.get(key) or [], field)
    if not all(isinstance(value, str) for value in values):
        raise wrong(field, "Field must hold strings.")
    return tuple(str(value) for value in values)


def take_flag(holder: dict[str, object], key: str, field: str, *, default: bool) -> bool:
    """Return a boolean. Raises RefusedError for another type."""
    value = holder.get(key)
    if value is None:
        return default
    if not isinstance(value, bool):
        raise wrong(field, "Field must be a boolean.")
    return value


def take_number(holder: dict[str, object], key: str, field: str) -> int | None:
    """Return an integer, None where it is absent. Raises RefusedError for another type."""
    value = holder.get(key)
    if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
        raise wrong(field, "Field must be an integer.")
    return value


def take_metadata(holder: dict[str, object], field: str) -> dict[str, object] | None:
    """Return the metadata, None where there is none. Raises RefusedError for no object."""
    value = holder.get("metadata")
    return None if value is None else take_object(value, field)
