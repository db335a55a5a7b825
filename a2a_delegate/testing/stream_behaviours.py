"""What a scripted peer can be told to do with a stream: layers, as those in `behaviours`.

=====================  =====================================================================
laid around an act     what becomes of its stream of events
=====================  =====================================================================
`StopStream`           ends, breaks off or falls silent after any event
`Pings`                is full of comments, also when nothing else comes any more
`EventOrder`           shows events twice, in another order, or not at all
`WithoutEvents`        shows no events of some kind: no artifacts, no end
`InsertEvent`          holds an event that does not belong there
`InsertBytes`          holds any bytes between its events
`PadEvent`             has an event of any size
`GreedyFirstChunk`     shows in the first piece of an artifact all that follow, and these again
`EventFormat`          is spelled otherwise: line ends, a byte order mark, ids, several lines
`Gathered`             comes with many events in one piece
`SplitInside`          comes in pieces that end in the middle of a character or a line end
`WorkEndsWithStream`   takes the work with it when the client leaves
=====================  =====================================================================

They change what the layers within them left of the stream: of `Pings(15, StopStream(2))` both come
about. Events are counted from 1, as the client would see them without the layer; where a stream has
fewer, its end counts as the place. To a reply that is no stream they mean nothing. Those of
`behaviours` can be laid around a stream too, and `DropAfterAccepting` breaks it off at any byte.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, TypeAlias

from a2a_delegate.errors import UsageError
from a2a_delegate.testing.acts import Honest
from a2a_delegate.testing.layering import Around

if TYPE_CHECKING:
    from a2a_delegate.testing.layering import Behaviour


class Stop(StrEnum):
    """How a stream stops: as if it were over, by losing the connection, or by saying no more."""

    END = "end"
    CUT = "cut"
    SILENCE = "silence"


class EventKind(StrEnum):
    """What an event of a stream shows; `END` is a state in which the work stops or waits."""

    TASK = "task"
    MESSAGE = "message"
    PROGRESS = "progress"
    ARTIFACT = "artifact"
    END = "end"
    ERROR = "error"


class Intruder(StrEnum):
    """An event that does not belong into a stream.

    - `OTHER_TASK`: another task, one that nobody asked for, has completed.
    - `WRONG_ID`: the task of the stream has failed, under the id of another request.
    - `MESSAGE`: the agent says something beside its task.
    - `WORKING`: the task of the stream works, whatever came of it before.
    - `ERROR`: a JSON-RPC error object.
    - `ERROR_FRAME`: the same as an event with the name `error`, as @a2a-js/sdk sends it.
    - `UNPARSABLE`: the beginning of some JSON.
    """

    OTHER_TASK = "other-task"
    WRONG_ID = "wrong-id"
    MESSAGE = "message"
    WORKING = "working"
    ERROR = "error"
    ERROR_FRAME = "error-frame"
    UNPARSABLE = "unparsable"


class LineEnd(StrEnum):
    """What ends a line of an event stream (WHATWG HTML, 9.2.5)."""

    LF = "lf"
    CRLF = "crlf"
    CR = "cr"

    @property
    def octets(self) -> bytes:
        """The bytes of it."""
        return {LineEnd.LF: b"\n", LineEnd.CRLF: b"\r\n", LineEnd.CR: b"\r"}[self]


@dataclass(frozen=True, slots=True)
class StopStream(Around):
    """Stop the stream after so many events, while the work goes on.

    With `SILENCE` it stays open until the client leaves; after more events than it has, it is one
    that is never closed.
    """

    after: int
    how: Stop = Stop.END
    then: Behaviour = field(default_factory=Honest)

    def __post_init__(self) -> None:
        """Refuse a negative number (`UsageError`)."""
        _check_place("after", self.after)


@dataclass(frozen=True, slots=True)
class Pings(Around):
    """Send a comment every so many seconds of the loop's clock, for as long as the stream is open.

    Around a `StopStream` that falls silent it is a stream that only pings, for ever.
    """

    every: float = 15.0
    then: Behaviour = field(default_factory=Honest)

    def __post_init__(self) -> None:
        """Refuse what is no finite number of seconds (`UsageError`)."""
        if not (math.isfinite(self.every) and self.every > 0):
            raise UsageError(f"Pings needs a finite number of seconds over 0, not {self.every}")


@dataclass(frozen=True, slots=True)
class EventOrder(Around):
    """Show the first events in this order: `(1, 3, 2)`.

    One that is named twice comes twice, one that is left out does not come; each comes once it and
    those named before it have come about. What follows the highest number comes as it is.
    """

    order: tuple[int, ...]
    then: Behaviour = field(default_factory=Honest)

    def __post_init__(self) -> None:
        """Refuse no numbers, and numbers below 1 (`UsageError`)."""
        object.__setattr__(self, "order", tuple(self.order))
        if not self.order or min(self.order) < 1:
            raise UsageError(f"EventOrder needs numbers from 1, not {self.order}")


@dataclass(frozen=True, slots=True)
class WithoutEvents(Around):
    """Show no event of this kind; the work and its end are as they would be.

    Without `END` the stream closes when the work is done, and does not say so.
    """

    kind: EventKind
    then: Behaviour = field(default_factory=Honest)


@dataclass(frozen=True, slots=True)
class InsertEvent(Around):
    """Put an event that does not belong there after so many events, 0 being before the first."""

    after: int
    what: Intruder
    then: Behaviour = field(default_factory=Honest)

    def __post_init__(self) -> None:
        """Refuse a negative number (`UsageError`)."""
        _check_place("after", self.after)


@dataclass(frozen=True, slots=True)
class InsertBytes(Around):
    r"""Put these bytes after so many events, 0 being before the first: `b"data: [DONE]\n\n"`."""

    after: int
    content: bytes
    then: Behaviour = field(default_factory=Honest)

    def __post_init__(self) -> None:
        """Refuse a negative number (`UsageError`)."""
        _check_place("after", self.after)


@dataclass(frozen=True, slots=True)
class PadEvent(Around):
    """Fill the data of one event up to `size` bytes, with blanks: a parser does not mind them.

    They are made as they are taken, so that the size may be any.
    """

    number: int
    size: int
    then: Behaviour = field(default_factory=Honest)

    def __post_init__(self) -> None:
        """Refuse an event below 1, and a negative size (`UsageError`)."""
        if self.number < 1:
            raise UsageError(f"events are numbered from 1; {self.number} is none")
        _check_place("size", self.size)


@dataclass(frozen=True, slots=True)
class GreedyFirstChunk(Around):
    """Let the first piece of an artifact hold all later ones, which then come again (a2akit).

    The artifact of the task itself is right.
    """

    then: Behaviour = field(default_factory=Honest)


@dataclass(frozen=True, slots=True)
class EventFormat(Around):
    """Spell the stream otherwise, and mean the same (WHATWG HTML, 9.2.5 and 9.2.6).

    `bom` begins it with a byte order mark. `multi_line` spreads the data of each event over many
    lines. `ids` gives events an `id`, `retry` an interval to reconnect in milliseconds (0: none),
    `name` a name. Without `space` none follows the colons.
    """

    line_end: LineEnd = LineEnd.LF
    bom: bool = False
    multi_line: bool = False
    ids: bool = False
    retry: int = 0
    name: str = ""
    space: bool = True
    then: Behaviour = field(default_factory=Honest)


@dataclass(frozen=True, slots=True)
class Gathered(Around):
    """Send so many events in one piece, once all of them have come; 0 is all that there are."""

    events: int = 0
    then: Behaviour = field(default_factory=Honest)

    def __post_init__(self) -> None:
        """Refuse a negative number (`UsageError`)."""
        _check_place("events", self.events)


@dataclass(frozen=True, slots=True)
class SplitInside(Around):
    r"""End a piece inside each of these: `"\r\n"`, or `"\u00e9"` to cut the character in two.

    `Dribble(1, 0)` cuts everywhere.
    """

    mark: str = "\r\n"
    then: Behaviour = field(default_factory=Honest)

    def __post_init__(self) -> None:
        """Refuse what is too short to be cut (`UsageError`)."""
        if len(self.octets) < 2:  # noqa: PLR2004 - one byte has no inside
            raise UsageError(f"SplitInside needs a mark of two bytes at least, not {self.mark!r}")

    @property
    def octets(self) -> bytes:
        """The bytes of the mark."""
        return self.mark.encode()


@dataclass(frozen=True, slots=True)
class WorkEndsWithStream(Around):
    """Stop the work where the client leaves the stream, and never end the task (a2a-sdk 0.2)."""

    then: Behaviour = field(default_factory=Honest)


StreamLayer: TypeAlias = (
    StopStream
    | Pings
    | EventOrder
    | WithoutEvents
    | InsertEvent
    | InsertBytes
    | PadEvent
    | GreedyFirstChunk
    | EventFormat
    | Gathered
    | SplitInside
    | WorkEndsWithStream
)
"""What is laid around an act that comes to a stream, or around another layer."""

REPEATABLE = (StopStream, Pings, EventOrder, WithoutEvents, InsertEvent, InsertBytes, PadEvent)
"""Those of which more than one can be meant."""


def _check_place(name: str, value: int) -> None:
    if value < 0:
        raise UsageError(f"{name} counts from 0, not {value}")
