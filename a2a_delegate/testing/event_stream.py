"""The bytes of a stream of server-sent events, made as they are asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from a2a_delegate.testing.cards import to_bytes
from a2a_delegate.testing.streams import Pause

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from a2a_delegate.testing.face import Json
    from a2a_delegate.testing.streams import Streamed
    from a2a_delegate.testing.truth import StreamEnd, StreamEntry

EVENT_STREAM: Final[Mapping[str, str]] = {
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-store",
    "x-accel-buffering": "no",
}
"""The headers of a stream, as a2a-sdk sends them."""

Piece: TypeAlias = bytes | Pause
"""A piece of a body, or nothing yet."""


@dataclass(slots=True)
class EventStream:
    """The body of a reply that is a stream.

    `entry` is where its events are counted. `change` is what an act makes of every reply in it.
    `is_cut` becomes true where it breaks off before its end.
    """

    streamed: Streamed
    entry: StreamEntry
    change: Callable[[Json], object] | None = None
    is_cut: bool = False

    def closed(self, by: StreamEnd) -> None:
        """Take note of who ended it; what is told after the end says nothing."""
        self.entry.close(by, self.streamed.audience.clock.now())

    def pieces(self, cut_at: int | None = None) -> Iterator[Piece]:
        """Yield it as it goes out; with `cut_at` it breaks off there, unless it has ended."""
        sent = 0
        for piece in self._events():
            if sent == cut_at:
                self.is_cut = True
                return
            if isinstance(piece, Pause):
                yield piece
                continue
            room = len(piece) if cut_at is None else cut_at - sent
            sent += min(room, len(piece))
            yield piece[:room]
            if room < len(piece):
                self.is_cut = True
                return

    def _events(self) -> Iterator[Piece]:
        for shown in self.streamed.showing:
            if isinstance(shown, Pause):
                yield shown
                continue
            value = shown.envelope if self.change is None else self.change(shown.envelope)
            self.entry.events += 1
            yield b"data: %b\n\n" % to_bytes(value)
