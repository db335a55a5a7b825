"""What the machine is told. Frozen facts; nothing in them asks for anything."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from a2a_delegate.model.frozen import dataclass

if TYPE_CHECKING:
    from a2a_delegate.lifecycle.operations import OperationName, Reply, StreamEvent
    from a2a_delegate.outcome import Attempt, DelegateResult


@dataclass(frozen=True, slots=True)
class Started:
    """The delegation begins; told once, before everything but a cancel."""


@dataclass(frozen=True, slots=True)
class BodyLeft:
    """The first byte of the send's body is handed to the transport."""


@dataclass(frozen=True, slots=True)
class IdSeen:
    """The reply to the send shows a task id; the reply itself may not be complete."""

    task_id: str


@dataclass(frozen=True, slots=True)
class Streamed:
    """A request that is in flight shows an event of its stream."""

    number: int
    name: OperationName
    event: StreamEvent


@dataclass(frozen=True, slots=True)
class Ended:
    """A request has ended, let go or not, and its transport has stopped."""

    number: int
    name: OperationName
    reply: Reply
    attempt: Attempt


@dataclass(frozen=True, slots=True)
class Returned:
    """Work in this process returned an outcome of its own making."""

    result: DelegateResult


@dataclass(frozen=True, slots=True)
class CancelRequested:
    """The caller, or a sibling's failure, stops the delegation.

    It may come before `Started`; then nothing is sent.
    """

    by: Literal["caller", "sibling"]
    reason: object = None


@dataclass(frozen=True, slots=True)
class TimePassed:
    """Nothing but time has passed: told when `next_deadline` is due."""


Observation: TypeAlias = (
    Started | BodyLeft | IdSeen | Streamed | Ended | Returned | CancelRequested | TimePassed
)
