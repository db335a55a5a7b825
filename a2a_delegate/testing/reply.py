"""One HTTP reply before it is put on any wire, in process or on a port."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from a2a_delegate.testing.acts import Close, Loss
from a2a_delegate.testing.behaviours import Coding
from a2a_delegate.testing.streams import Pause

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from a2a_delegate.testing.event_stream import EventStream, Piece

PIECE: Final = 65_536
"""Bytes of a body that are handed over at once, at most."""

BODILESS: Final = frozenset({204, 304})
"""Statuses of replies that have no body, and so no length (RFC 9110 6.4.1)."""

_WINDOW: Final[Mapping[Coding, int]] = {
    Coding.GZIP: 16 + zlib.MAX_WBITS,
    # "deflate" is the format of zlib (RFC 9110 8.4.1.2).
    Coding.DEFLATE: zlib.MAX_WBITS,
}


@dataclass(frozen=True, slots=True)
class Reply:
    """One HTTP reply. Its body breaks off at `cut_at`, or is filled up with blanks to `size`.

    The body is `content`, or the `stream` in its place.

    `raw` says that `content` is all of it, in place of status, headers and body; the connection
    ends so after it.
    """

    status: int
    headers: Mapping[str, str]
    content: bytes
    size: int | None = None
    cut_at: int | None = None
    loss: Loss = Loss.DISCONNECTED
    coding: Coding | None = None
    raw: Close | None = None
    stream: EventStream | None = None

    @property
    def is_cut(self) -> bool:
        """Whether its body breaks off before its end; of a stream that is known then."""
        if self.stream is not None:
            return self.stream.is_cut
        return self.cut_at is not None and self.cut_at < len(self.content)

    @property
    def length(self) -> int | None:
        """How many bytes the whole body has; None for one that is made as it goes."""
        return len(self.content) if self.size is None and self.stream is None else None

    def compressed(self, coding: Coding) -> Reply:
        """Return it with its body compressed, and with the header that says so."""
        if self.status in BODILESS:
            return self
        headers = {**self.headers, "content-encoding": coding.value}
        if self.length is None:
            return replace(self, headers=headers, coding=coding)
        packer = zlib.compressobj(wbits=_WINDOW[coding])
        content = packer.compress(self.content) + packer.flush()
        return replace(self, headers=headers, content=content)

    def pieces(self) -> Iterator[Piece]:
        """Yield the body as it goes out, up to where it breaks off."""
        if self.coding is None:
            yield from self._plain()
            return
        packer = zlib.compressobj(wbits=_WINDOW[self.coding])
        for piece in self._plain():
            if isinstance(piece, Pause):
                yield packer.flush(zlib.Z_SYNC_FLUSH)
                yield piece
            elif packed := packer.compress(piece):
                yield packed
        yield packer.flush()

    def _plain(self) -> Iterator[Piece]:
        sent = 0
        for piece in self._told():
            sent += 0 if isinstance(piece, Pause) else len(piece)
            yield piece
        while self.size is not None and sent < self.size:
            piece = b" " * min(PIECE, self.size - sent)
            sent += len(piece)
            yield piece

    def _told(self) -> Iterator[Piece]:
        """Yield what is said, up to where it breaks off."""
        if self.stream is not None:
            yield from self.stream.pieces(self.cut_at)
            return
        content = self.content if self.cut_at is None else self.content[: self.cut_at]
        for start in range(0, len(content), PIECE):
            yield content[start : start + PIECE]


def in_pieces(pieces: Iterator[Piece], size: int | None) -> Iterator[Piece]:
    """Cut what comes into pieces of this size, whatever it came in; None leaves it as it is.

    Before a pause a smaller one goes out: what has come is not held back.
    """
    if size is None:
        yield from pieces
        return
    left = b""
    for piece in pieces:
        if isinstance(piece, Pause):
            if left:
                yield left
            left = b""
            yield piece
            continue
        left += piece
        whole = len(left) - len(left) % size
        for start in range(0, whole, size):
            yield left[start : start + size]
        left = left[whole:]
    if left:
        yield left
