"""One piece of work as the agent has it: a plan of events on the clock, without a version.

A scripted agent runs nothing in the background. When work begins, everything that will come of it
is written down with its moment (`Said`, `Became`, `Made`); whoever looks sees what has come so
far. Cancelling strikes out what has not come yet. So virtual time moves the work with it, and no
task outlives a test.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

    import anyio


class WorkState(StrEnum):
    """The true state of a task, in the words of A2A 0.3; its `str()` is the word."""

    SUBMITTED = "submitted"
    WORKING = "working"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELED = "canceled"
    REJECTED = "rejected"
    INPUT_REQUIRED = "input-required"
    AUTH_REQUIRED = "auth-required"

    @property
    def is_terminal(self) -> bool:
        """Whether the work has ended."""
        return self in _TERMINAL

    @property
    def is_settled(self) -> bool:
        """Whether a blocking send returns now: the work has ended or waits for its caller."""
        return self not in {WorkState.SUBMITTED, WorkState.WORKING}


_TERMINAL = frozenset(
    {WorkState.COMPLETED, WorkState.FAILED, WorkState.CANCELED, WorkState.REJECTED}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """What every kind of part may have beside its content."""

    filename: str = ""
    media_type: str = ""
    metadata: Mapping[str, object] | None = None


@dataclass(frozen=True, slots=True)
class TextPart(_Part):
    """A part of text."""

    text: str


@dataclass(frozen=True, slots=True)
class DataPart(_Part):
    """A part of any JSON value."""

    data: object


@dataclass(frozen=True, slots=True)
class FilePart(_Part):
    """A file: by its address, or by its content in base64 as the wire has it."""

    base64: str | None = None
    url: str | None = None


Part: TypeAlias = TextPart | DataPart | FilePart


@dataclass(frozen=True, slots=True)
class Message:
    """What one side said."""

    message_id: str
    parts: tuple[Part, ...]
    context_id: str | None = None
    task_id: str | None = None
    by_agent: bool = False
    metadata: Mapping[str, object] | None = None
    extensions: tuple[str, ...] = ()
    reference_task_ids: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """Its text parts, joined without a gap."""
        return "".join(part.text for part in self.parts if isinstance(part, TextPart))


@dataclass(frozen=True, slots=True)
class Artifact:
    """Something that the agent made."""

    artifact_id: str
    name: str
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Said:
    """A message of the caller arrived."""

    at: float
    message: Message


@dataclass(frozen=True, slots=True)
class Became:
    """The state changed."""

    at: float
    state: WorkState
    message: Message | None = None

    @property
    def since(self) -> float | None:
        """The moment that servers tell; none of `submitted` (a2a-sdk 1.3 and 0.3)."""
        return None if self.state is WorkState.SUBMITTED else self.at


@dataclass(frozen=True, slots=True)
class Made:
    """An artifact was finished, or a piece of one.

    `append` and `last` are told of pieces only: whether it follows another, and whether none
    follows it.
    """

    at: float
    artifact: Artifact
    append: bool | None = None
    last: bool | None = None


Event: TypeAlias = Said | Became | Made


OPENING: Final = 2
"""The events with which every plan begins: what the caller said, and that it was taken in."""


@dataclass(frozen=True, slots=True)
class View:
    """What can be seen of one task at one moment.

    `since` is the moment of the state, or None where servers tell none. A status message moves
    to the history when the next thing happens, as it does in a2a-sdk.
    """

    task_id: str
    context_id: str
    state: WorkState
    since: float | None
    message: Message | None
    history: tuple[Message, ...]
    artifacts: tuple[Artifact, ...]


@dataclass(slots=True)
class Task:
    """One task and its plan, in the order of the events."""

    task_id: str
    context_id: str
    ordinal: int
    first: Message
    plan: list[Event] = field(default_factory=list)
    cancel_requests: int = 0
    waiters: set[anyio.Event] = field(default_factory=set)

    def view(self, now: float) -> View:
        """Show what has come until `now`."""
        return self._fold([event for event in self.plan if event.at <= now])

    def opening(self) -> View:
        """Show the task as it was before the agent took it up: what an immediate return shows."""
        return self.until(OPENING)

    def until(self, position: int) -> View:
        """Show what this many events of the plan made of it."""
        return self._fold(self.plan[:position])

    def position(self, now: float) -> int:
        """Tell how much of the plan has come until `now`."""
        return sum(event.at <= now for event in self.plan)

    def next_event(self, now: float) -> float:
        """Tell when something will come by itself; infinity when nothing will."""
        return min((event.at for event in self.plan if event.at > now), default=math.inf)

    def ended(self, now: float) -> float | None:
        """Tell when the work ended, if it has."""
        for event in self.plan:
            if isinstance(event, Became) and event.state.is_terminal and event.at <= now:
                return event.at
        return None

    def add(self, *events: Event) -> None:
        """Let what was planned after the first of these never come, and these come instead."""
        self.plan = [event for event in self.plan if event.at <= events[0].at]
        self.plan.extend(events)
        for waiter in self.waiters:
            waiter.set()

    def abandon(self, now: float) -> None:
        """Let what was planned after this moment never come, and nothing instead."""
        self.plan = self.plan[: self.position(now)]
        for waiter in self.waiters:
            waiter.set()

    def _fold(self, events: list[Event]) -> View:
        state, since = WorkState.SUBMITTED, None
        message: Message | None = None
        history: list[Message] = []
        artifacts: dict[str, Artifact] = {}
        for event in events:
            match event:
                case Said():
                    history.extend(m for m in (message, event.message) if m is not None)
                    message = None
                case Became():
                    history.extend(m for m in (message,) if m is not None)
                    state, message = event.state, event.message
                    since = event.since
                case Made(artifact=artifact):
                    made = artifacts.get(artifact.artifact_id)
                    if event.append and made is not None:
                        artifact = replace(made, parts=(*made.parts, *artifact.parts))
                    artifacts[artifact.artifact_id] = artifact
        return View(
            self.task_id,
            self.context_id,
            state,
            since,
            message,
            tuple(history),
            tuple(artifacts.values()),
        )
