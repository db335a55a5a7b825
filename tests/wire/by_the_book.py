"""How the HTML standard says that a stream of events is read: whole, step by step, unbounded."""

from __future__ import annotations

import re

from a2a_delegate.wire.event_stream import ServerSentEvent


def events_by_the_book(content: bytes) -> list[ServerSentEvent]:
    """Return the events of a whole stream (section 9.2.6)."""
    made, name, data = [], b"", b""
    for line in re.split(rb"\r\n|\r|\n", content.removeprefix(b"\xef\xbb\xbf"))[:-1]:
        if not line:
            if data:
                shown = name.decode(errors="replace") or "message"
                made.append(ServerSentEvent(shown, data.removesuffix(b"\n")))
            name, data = b"", b""
            continue
        match = re.fullmatch(rb"([^:]*)(?:: ?(.*))?", line, re.DOTALL)
        assert match is not None
        if match[1] == b"data":
            data += (match[2] or b"") + b"\n"
        elif match[1] == b"event":
            name = match[2] or b""
    return made
