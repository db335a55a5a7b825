"""Signals: frozen facts that observers are told, in order, while a delegation goes on."""

from __future__ import annotations

from dataclasses import field, replace
from typing import TYPE_CHECKING, TypeAlias

from a2a_delegate.model.frozen import dataclass

if TYPE_CHECKING:
    from a2a_delegate.errors import DelegateError
    from a2a_delegate.model.artifact import Artifact
    from a2a_delegate.model.message import Message
    from a2a_delegate.outcome import Attempt, DelegateResult, DelegationHandle


@dataclass(frozen=True, slots=True)
class Intent:
    """A delegation begins; told before its first byte leaves.

    `handle` has no task id yet, unless the delegation is taken up by one that has; it is None for
    work in this process.
    """

    handle: DelegationHandle | None


@dataclass(frozen=True, slots=True)
class Sent:
    """The first byte of the message's body is handed to the transport."""

    attempt: int


@dataclass(frozen=True, slots=True)
class IdKnown:
    """The peer's task id was seen; from now on the task can be asked for and cancelled."""

    task_id: str


@dataclass(frozen=True, slots=True)
class StateSeen:
    """The task shows a state that it did not show before; `state` is the peer's word if unknown."""

    task_id: str
    state: str


@dataclass(frozen=True, slots=True)
class Progress:
    """The peer tells, while it works, how it goes."""

    task_id: str
    message: Message


@dataclass(frozen=True, slots=True)
class ArtifactChunk:
    """An artifact that is new, or that shows other content than before.

    With `append` its parts go after those shown before, and `artifact` holds only the new ones;
    without, they replace them. So `artifact.text` is the text that has been added, or all of it.
    """

    task_id: str
    artifact: Artifact
    append: bool = False


@dataclass(frozen=True, slots=True)
class StreamCut:
    """A stream ended before its task did; what has become of the task is asked for next.

    `error` says what cut it; None where the peer ended it in good order.
    """

    task_id: str
    error: DelegateError | None = None


@dataclass(frozen=True, slots=True)
class AttemptFailed:
    """A request ended without an answer that helps; what follows is told by the next signals."""

    attempt: Attempt
    error: DelegateError


@dataclass(frozen=True, slots=True)
class Recovered:
    """The reply to the send was lost, and the task was found again."""

    task_id: str


@dataclass(frozen=True, slots=True)
class ContextSubstituted:
    """The peer put the task under another context than ours, against 1.0 section 3.4.1."""

    ours: str
    theirs: str | None


@dataclass(frozen=True, slots=True)
class EvidenceFailed:
    """An observer raised; it is told nothing more. `error` is what it raised."""

    observer: object
    error: BaseException


@dataclass(frozen=True, slots=True)
class Downgraded:
    """The peer refused a version and the older one is spoken from now on.

    `handle`, with the new endpoint and version, takes the place of the one that `Intent` told.
    """

    refused: str
    spoken: str
    handle: DelegationHandle | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Rerouted:
    """The peer cannot be reached by one interface, and another one that its card offers is tried.

    `handle`, with the new endpoint and binding, takes the place of the one that `Intent` told.
    """

    handle: DelegationHandle


@dataclass(frozen=True, slots=True)
class CancelSent:
    """The peer is asked to stop the task."""

    task_id: str


@dataclass(frozen=True, slots=True)
class TransportStuck:
    """A request ignored its cancellation and was left behind."""

    operation: str


@dataclass(frozen=True, slots=True)
class TerminalChanged:
    """The peer reports another end than the one it reported first; the first one stays."""

    task_id: str
    first: str
    later: str


@dataclass(frozen=True, slots=True)
class Settled:
    """The delegation has ended; nothing is told after this."""

    result: DelegateResult


Signal: TypeAlias = (
    Intent
    | Sent
    | IdKnown
    | StateSeen
    | Progress
    | ArtifactChunk
    | StreamCut
    | AttemptFailed
    | Recovered
    | ContextSubstituted
    | EvidenceFailed
    | Downgraded
    | Rerouted
    | CancelSent
    | TransportStuck
    | TerminalChanged
    | Settled
)
"""Everything that an observer is told."""


def handle_after(signal: Signal, before: DelegationHandle | None) -> DelegationHandle | None:
    """Return the handle of a delegation once a signal was told; `before` it there was that one."""
    match signal:
        case Intent(handle) | Rerouted(handle):
            return handle
        case Downgraded(handle=handle):
            return handle or before
        case IdKnown(task_id) if before is not None:
            return replace(before, task_id=task_id)
        case Settled(result):
            return result.handle or before
        case _:
            return before
