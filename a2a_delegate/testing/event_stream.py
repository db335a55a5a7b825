"""The bytes of a stream of server-sent events, made as they are asked for."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, TypeAlias

from a2a_delegate.testing.behaviours import layer, layers
from a2a_delegate.testing.cards import to_bytes
from a2a_delegate.testing.event_layers import Stage, Written, laid
from a2a_delegate.testing.stream_behaviours import (
    EventFormat,
    Gathered,
    SplitInside,
    WorkEndsWithStream,
)
from a2a_delegate.testing.streams import Pause, Shown
from a2a_delegate.testing.truth import StreamEnd

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from a2a_delegate.testing.layering import Behaviour
    from a2a_delegate.testing.streams import Streamed
    from a2a_delegate.testing.truth import StreamEntry

EVENT_STREAM: Final[Mapping[str, str]] = {
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-store",
    "x-accel-buffering": "no",
}
"""The headers of a stream, as a2a-sdk sends them."""

Piece: TypeAlias = bytes | Pause
"""A piece of a body, or nothing yet."""

_BOM: Final = b"\xef\xbb\xbf"
_BLANKS: Final = b" " * 65_536


@dataclass(slots=True)
class EventStream:
    """The body of a reply that is a stream.

    `entry` is where its events are counted. `change` is what an act makes of every reply in it.
    `is_cut` becomes true where it breaks off before its end.
    """

    streamed: Streamed
    behaviour: Behaviour
    entry: StreamEntry
    change: Callable[[object], object] | None = None
    is_cut: bool = False

    def closed(self, by: StreamEnd) -> None:
        """Take note of who ended it; what is told after the end says nothing."""
        now, task = self.streamed.audience.clock.now(), self.streamed.task
        leaves = by is StreamEnd.CLIENT and self.entry.end is StreamEnd.OPEN
        if leaves and task is not None and layer(self.behaviour, WorkEndsWithStream) is not None:
            task.abandon(now)
        self.entry.close(by, now)

    def pieces(self, cut_at: int | None = None) -> Iterator[Piece]:
        """Yield it as it goes out; with `cut_at` it breaks off there, unless it has ended."""
        sent = given = 0
        for piece in self._body():
            if sent == cut_at:  # so there is more, which was looked at and is not given
                self.entry.events = given
                self.is_cut = True
                return
            given = self.entry.events
            if isinstance(piece, Pause):
                yield piece
                continue
            room = len(piece) if cut_at is None else cut_at - sent
            sent += min(room, len(piece))
            yield piece[:room]
            if room < len(piece):
                self.is_cut = True
                return
        self.is_cut |= self.streamed.breaks

    def _body(self) -> Iterator[Piece]:
        form = layer(self.behaviour, EventFormat) or EventFormat()
        pieces = self._spelled(form)
        if (split := layer(self.behaviour, SplitInside)) is not None:
            pieces = _split(pieces, split.octets)
        return pieces

    def _spelled(self, form: EventFormat) -> Iterator[Piece]:
        end = form.line_end.octets
        if form.bom:
            yield _BOM
        if form.retry:
            yield _line(b"retry", b"%d" % form.retry, form) + end
        for bundle in self._bundles(end):
            if isinstance(bundle, Pause):
                yield bundle
            elif len(bundle) > 1:
                yield b"".join(piece for item in bundle for piece in self._bytes(item, form))
            else:
                yield from self._bytes(bundle[0], form)

    def _bundles(self, line_end: bytes) -> Iterator[list[Shown | Written] | Pause]:
        """Yield what goes out at once: one event, or as many as are gathered."""
        stage = Stage(self.streamed, self._told, self._cut, line_end)
        inside_out = reversed([*layers(self.behaviour)])
        shown = (
            one if isinstance(one, Pause) else self._told(one) for one in self.streamed.showing
        )
        gathered = layer(self.behaviour, Gathered)
        held: list[Shown | Written] = []
        came = 0
        for item in laid(shown, inside_out, stage):
            if isinstance(item, Pause):
                yield item
                continue
            held.append(item)
            came += isinstance(item, Shown)
            if gathered is None or came == gathered.events:
                yield held
                held, came = [], 0
        if held:
            yield held

    def _told(self, shown: Shown) -> Shown:
        """Return an event as the act has it."""
        if self.change is None:
            return shown
        return replace(shown, envelope=self.change(shown.envelope))

    def _cut(self) -> None:
        self.is_cut = True

    def _bytes(self, item: Shown | Written, form: EventFormat) -> Iterator[bytes]:
        if isinstance(item, Written):
            yield item.content
            return
        self.entry.events += 1
        end = form.line_end.octets
        head = _line(b"id", b"%d" % self.entry.events, form) if form.ids else b""
        if name := item.name or form.name:
            head += _line(b"event", name.encode(), form)
        *lines, last = _data(item.envelope, form)
        head += b"".join(_line(b"data", line, form) for line in lines)
        yielded = head + _line(b"data", last, form).removesuffix(end)
        blanks = max(0, item.size - sum(len(line) + 1 for line in lines) - len(last))
        while blanks:
            yield yielded
            yielded = _BLANKS[:blanks]
            blanks -= len(yielded)
        yield yielded + 2 * end


def _data(value: object, form: EventFormat) -> list[bytes]:
    """Return the lines of an event's data."""
    if not form.multi_line:
        return [to_bytes(value)]
    text = json.dumps(value, indent=1, ensure_ascii=False)
    return text.encode("utf-8", "backslashreplace").split(b"\n")


def _line(field: bytes, value: bytes, form: EventFormat) -> bytes:
    return field + (b": " if form.space else b":") + value + form.line_end.octets


def _split(pieces: Iterator[Piece], mark: bytes) -> Iterator[Piece]:
    for piece in pieces:
        if isinstance(piece, Pause):
            yield piece
            continue
        first, *others = piece.split(mark)
        left = first
        for other in others:
            yield left + mark[:1]
            left = mark[1:] + other
        yield left
