"""What can be asked of a peer, and what can come of it.

Closed sets of values without a protocol version, a binding or a clock. A dialect spells the
operations, a binding carries them, and both speak of what came back in the words below.
"""

from __future__ import annotations

from dataclasses import field
from enum import Enum, StrEnum
from typing import TYPE_CHECKING, TypeAlias

from a2a_delegate.model.frozen import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from a2a_delegate.errors import (
        A2ARequestError,
        DelegateError,
        InvalidReplyError,
        LostReplyError,
        PeerUnreachableError,
    )
    from a2a_delegate.model.artifact import Artifact
    from a2a_delegate.model.json_value import JSON
    from a2a_delegate.model.message import Message
    from a2a_delegate.model.task import Task, TaskStatus


class OperationName(StrEnum):
    """The operations, as attempts and errors name them."""

    SEND = "send"
    GET = "get"
    LIST = "list"
    CANCEL = "cancel"
    SUBSCRIBE = "subscribe"


@dataclass(frozen=True, slots=True)
class SendMessage:
    """Hand over one message; the peer is asked to return at once with a task.

    `streamed`: it is asked to show its work as a stream of events instead.
    """

    message: Message
    accepted_output_modes: tuple[str, ...] = ()
    metadata: Mapping[str, JSON] | None = None
    streamed: bool = False

    @property
    def name(self) -> OperationName:
        """The word for it."""
        return OperationName.SEND


@dataclass(frozen=True, slots=True)
class GetTask:
    """Ask for a task as it is now, with its history and artifacts."""

    task_id: str

    @property
    def name(self) -> OperationName:
        """The word for it."""
        return OperationName.GET


@dataclass(frozen=True, slots=True)
class ListTasks:
    """Ask for one page of tasks: those of a context, else those that changed since a moment."""

    context_id: str | None = None
    since: datetime | None = None
    page_token: str = ""

    @property
    def name(self) -> OperationName:
        """The word for it."""
        return OperationName.LIST


@dataclass(frozen=True, slots=True)
class CancelTask:
    """Ask the peer to stop a task."""

    task_id: str

    @property
    def name(self) -> OperationName:
        """The word for it."""
        return OperationName.CANCEL


@dataclass(frozen=True, slots=True)
class SubscribeToTask:
    """Ask to be shown, from now on, what becomes of a task: a stream of events."""

    task_id: str

    @property
    def name(self) -> OperationName:
        """The word for it."""
        return OperationName.SUBSCRIBE


Operation: TypeAlias = SendMessage | GetTask | ListTasks | CancelTask | SubscribeToTask


def asks_for_stream(operation: Operation) -> bool:
    """Whether the answer is asked for as a stream; it may be a single one all the same."""
    match operation:
        case SendMessage(streamed=streamed):
            return streamed
        case SubscribeToTask():
            return True
        case _:
            return False


def task_named_in(operation: Operation) -> str | None:
    """Return the id of the task that an operation is about; None where it names none."""
    match operation:
        case SendMessage(message=message):
            return message.task_id
        case ListTasks():
            return None
        case _:
            return operation.task_id


class FaultKind(Enum):
    """What an error answer means, whatever version and binding it came by."""

    PARSE_ERROR = "parse-error"
    METHOD_NOT_FOUND = "method-not-found"
    VERSION_NOT_SUPPORTED = "version-not-supported"
    EXTENSION_REQUIRED = "extension-required"
    UNAUTHENTICATED = "unauthenticated"
    """HTTP 401 with `WWW-Authenticate`: a gate before the agent."""
    METHOD_NOT_ALLOWED = "method-not-allowed"
    CONTENT_TOO_LARGE = "content-too-large"
    MEDIA_TYPE = "media-type"
    REDIRECTED = "redirected"
    """HTTP 307 or 308, never followed."""
    RATE_LIMITED = "rate-limited"
    """HTTP 429 without a JSON-RPC error object: a limiter before the agent."""
    TASK_NOT_FOUND = "task-not-found"
    TASK_NOT_CANCELABLE = "task-not-cancelable"
    DENIED = "denied"
    """HTTP 401 without `WWW-Authenticate`, or 403: agent code can say so after its effect."""
    NO_ENDPOINT = "no-endpoint"
    """HTTP 404 without a JSON-RPC error object: a wrong path, not a missing task."""
    UNSUPPORTED = "unsupported"
    """The peer knows the operation and does not offer it (-32004)."""
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class TaskReply:
    """A task, as the peer shows it now."""

    task: Task


@dataclass(frozen=True, slots=True)
class MessageReply:
    """A message: the whole answer; the peer made no task."""

    message: Message


@dataclass(frozen=True, slots=True)
class StatusUpdate:
    """An event of a stream: the task has another status, or says something of the one it has."""

    task_id: str
    status: TaskStatus
    context_id: str | None = None


@dataclass(frozen=True, slots=True)
class ArtifactUpdate:
    """An event of a stream: an artifact, or more of one.

    With `append` its parts go after those that the artifact has, else they replace them. `size` is
    how many bytes the event had.
    """

    task_id: str
    artifact: Artifact
    append: bool = False
    context_id: str | None = None
    size: int = 0


StreamEvent: TypeAlias = TaskReply | MessageReply | StatusUpdate | ArtifactUpdate


@dataclass(frozen=True, slots=True)
class StreamEnd:
    """A stream that had shown something has ended; `error` says why, where it was not of itself.

    It answers nothing: only what it showed does.
    """

    error: DelegateError | None = None


@dataclass(frozen=True, slots=True)
class TaskPage:
    """One page of tasks; `next_page_token` is empty on the last one."""

    tasks: tuple[Task, ...]
    next_page_token: str = ""


@dataclass(frozen=True, slots=True)
class Fault:
    """An error answer."""

    kind: FaultKind
    error: A2ARequestError


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Bytes that are no answer: empty, not understood, or under a foreign id.

    `task_id` is set only where the reply carried our id and showed one. `evidence` is bounded.
    """

    error: InvalidReplyError
    evidence: bytes = field(default=b"", repr=False)
    task_id: str | None = None


@dataclass(frozen=True, slots=True)
class NotSent:
    """The request ended and no byte of its body was ever handed to the transport."""

    error: PeerUnreachableError


@dataclass(frozen=True, slots=True)
class Lost:
    """The body left, or part of it, and no complete answer came.

    `evidence` is what came of the reply, bounded; `task_id` a complete id seen in it.
    """

    error: LostReplyError
    evidence: bytes = field(default=b"", repr=False)
    task_id: str | None = None


Reply: TypeAlias = (
    TaskReply | MessageReply | TaskPage | StreamEnd | Fault | Unreadable | NotSent | Lost
)
