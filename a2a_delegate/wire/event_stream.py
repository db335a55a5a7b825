"""Server-sent events out of bytes, by the rules of the HTML standard (section 9.2.6).

Written here because no library that runs on httpx and Python 3.11 bounds an event before it is
buffered and drops a byte order mark: httpx-sse 0.4 and sseclient-py 1.9 do neither, and the parser
of a2a-sdk 1.3 also cuts lines at U+2028 and U+0085.
"""

from __future__ import annotations

from a2a_delegate.model.frozen import dataclass

_PIECE = 64 * 1024
"""Bytes that are cut into lines at once, so that a large chunk costs no list of all its lines."""

_BOM = b"\xef\xbb\xbf"
_DATA = b"data: "


class EventTooLargeError(ValueError):
    """An event of a stream is larger than it may be; `most` is how many bytes it may have."""

    def __init__(self, most: int) -> None:
        super().__init__(f"an event of more than {most} bytes")
        self.most = most


@dataclass(frozen=True, slots=True)
class ServerSentEvent:
    """One event: its name, `message` where it has none, and its lines of data, joined by LF.

    The data may be empty: an empty line of data is one.
    """

    name: str
    data: bytes


class EventStream:
    """Makes events of a stream that arrives in pieces, cut anywhere.

    Give `feed` every chunk as it comes. What stands at the end of the stream without its blank line
    is no event, so there is nothing to call then. For one event are held its name, its data so far,
    and the line that is coming; all that must fit into `max_event_bytes`, also a comment. Ids and
    times to reconnect are left out: no server of A2A replays events.
    """

    def __init__(self, *, max_event_bytes: int) -> None:
        self._most = max_event_bytes
        self._line = bytearray()  # what has come of a line, without its end
        self._after_cr = False
        self._opening = True  # a byte order mark may still come
        self._name = ""
        self._data: bytes | bytearray | None = None
        self._held = 0  # bytes of the names and the data of this event
        self._over = False

    def feed(self, chunk: bytes) -> list[ServerSentEvent]:
        """Take the next chunk; return the events that it completes.

        Raises EventTooLargeError for an event that is too large, now and ever after; if others were
        complete before it they are returned first, and the next call raises.
        """
        events: list[ServerSentEvent] = []
        for start in range(0, len(chunk), _PIECE):
            if not self._over:
                self._over = not self._take(chunk[start : start + _PIECE], events)
        if self._over:
            self._line, self._data = bytearray(), None
            if not events:
                raise EventTooLargeError(self._most)
        return events

    @property
    def unfinished(self) -> bytes:
        """What has come of the data of an event that is not complete."""
        data = b"" if self._data is None else bytes(self._data)
        field, _, value = bytes(self._line).partition(b":")
        if field != b"data":
            return data
        value = value.removeprefix(b" ")
        return value if self._data is None else data + b"\n" + value

    def _take(self, piece: bytes, events: list[ServerSentEvent]) -> bool:
        """Add the events that a piece completes; return whether what is left may be held."""
        if self._opening:
            piece = bytes(self._line) + piece
            self._line.clear()
            if len(piece) < len(_BOM) and _BOM.startswith(piece):
                self._line += piece
                return True
            self._opening = False
            piece = piece.removeprefix(_BOM)
        if self._after_cr:  # a line end may be cut in two, and has ended its line already
            piece = piece.removeprefix(b"\n")
        self._after_cr = piece.endswith(b"\r")
        if b"\r" in piece:
            piece = piece.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        lines = piece.split(b"\n")
        coming = lines.pop()
        if lines:
            if self._line:
                self._line += lines[0]
                lines[0] = bytes(self._line)
                self._line.clear()
            if not self._read(lines, events):
                return False
        if self._held + len(self._line) + len(coming) > self._most:
            return False
        self._line += coming
        return True

    def _read(self, lines: list[bytes], events: list[ServerSentEvent]) -> bool:
        """Read whole lines; return False where the event that they are of becomes too large."""
        name, data, held, most = self._name, self._data, self._held, self._most
        for line in lines:
            if held + len(line) > most:
                return False
            if not line:
                if data is not None:
                    whole = data if isinstance(data, bytes) else bytes(data)
                    events.append(ServerSentEvent(name or "message", whole))
                name, data, held = "", None, 0
                continue
            if line[:6] == _DATA:  # as most lines are
                field, value = b"data", line[6:]
            else:
                field, _, value = line.partition(b":")
                value = value.removeprefix(b" ")
            if field == b"data":
                held += len(value) + 1
                data = value if data is None else _joined(data, value)
            elif field == b"event":
                held += len(value)
                name = value.decode(errors="replace")
        self._name, self._data, self._held = name, data, held
        return True


def _joined(data: bytes | bytearray, value: bytes) -> bytearray:
    """Append a line to data, in place from the second one on."""
    joined = bytearray(data) if isinstance(data, bytes) else data
    joined += b"\n"
    joined += value
    return joined
