"""Tasks and their states (A2A 1.0 sections 4.1.1 to 4.1.3)."""

from __future__ import annotations

import hashlib
from enum import Enum
from typing import TYPE_CHECKING

from a2a_delegate.model.frozen import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from a2a_delegate.model.artifact import Artifact
    from a2a_delegate.model.json_value import JSON
    from a2a_delegate.model.message import Message


class TaskState(Enum):
    """The states of a task, in the words of A2A 0.3; 1.0 spells them `TASK_STATE_...`."""

    SUBMITTED = "submitted"
    WORKING = "working"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELED = "canceled"
    REJECTED = "rejected"
    INPUT_REQUIRED = "input-required"
    AUTH_REQUIRED = "auth-required"
    UNKNOWN = "unknown"

    @property
    def is_terminal(self) -> bool:
        """Whether the task has ended and will never change again."""
        return self in _TERMINAL

    @property
    def is_interrupted(self) -> bool:
        """Whether the task waits for its caller."""
        return self in _INTERRUPTED


_TERMINAL = frozenset(
    {TaskState.COMPLETED, TaskState.FAILED, TaskState.CANCELED, TaskState.REJECTED}
)
_INTERRUPTED = frozenset({TaskState.INPUT_REQUIRED, TaskState.AUTH_REQUIRED})


@dataclass(frozen=True, slots=True)
class TaskStatus:
    """The state of a task at one moment.

    `word` is the peer's own spelling of the state, kept because an unknown word is evidence;
    `timestamp` is the peer's clock and is never compared with ours.
    """

    state: TaskState
    word: str = ""
    message: Message | None = None
    timestamp: datetime | None = None

    @property
    def name(self) -> str:
        """The word to show: the known state, or the peer's own word."""
        return (self.word or "unknown") if self.state is TaskState.UNKNOWN else self.state.value


@dataclass(frozen=True, slots=True)
class Task:
    """One task as a peer reports it."""

    id: str
    status: TaskStatus
    context_id: str | None = None
    artifacts: tuple[Artifact, ...] = ()
    history: tuple[Message, ...] = ()
    metadata: Mapping[str, JSON] | None = None

    @property
    def question_id(self) -> str | None:
        """What tells the question of a task that waits from its next one; None where nothing does.

        The id of its message; where the peer gives none, a digest of what it says, and when.
        """
        question, moment = self.status.message, self.status.timestamp
        if question is not None and question.message_id:
            return question.message_id
        if question is None and moment is None:
            return None
        said = f"{moment}\n{question or ''}".encode(errors="surrogatepass")
        return hashlib.sha256(said).hexdigest()
