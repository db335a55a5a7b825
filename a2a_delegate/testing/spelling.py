"""The bytes of a reply on a port, with every lie about its framing that a wire can carry.

They are spelled here and not by an HTTP library, because one that is any good refuses to lie.
"""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Final, TypeAlias

from a2a_delegate.testing.acts import Close, Loss
from a2a_delegate.testing.behaviours import (
    Chunked,
    CloseAfterReply,
    CloseDelimited,
    CutReply,
    Dribble,
    EarlyReply,
    Interim,
    WrongLength,
    layer,
)
from a2a_delegate.testing.reply import BODILESS, PIECE, in_pieces
from a2a_delegate.testing.streams import Pause

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from a2a_delegate.testing.event_stream import Piece
    from a2a_delegate.testing.layering import Behaviour
    from a2a_delegate.testing.reply import Reply

Framing: TypeAlias = WrongLength | CloseDelimited | Chunked | None
"""How the body says where it ends; None is an honest length."""

Ending: TypeAlias = Close | Loss | CloseAfterReply | EarlyReply | None
"""What becomes of the connection after the bytes; None keeps it alive."""


_AS_IT_COMES: Final = Chunked(PIECE)
"""The framing of a body that is made as it goes: a chunk for each piece."""


@dataclass(frozen=True, slots=True)
class Client:
    """What a reply has to know of who asked."""

    keeps_alive: bool
    knows_chunks: bool
    wants_body: bool


@dataclass(frozen=True, slots=True)
class Spelling:
    """A reply in bytes, in the pieces in which it goes out.

    `ending` tells what comes after them, once they have gone.
    """

    pieces: Iterator[Piece]
    ending: Callable[[], Ending]


def spell(reply: Reply, behaviour: Behaviour, client: Client) -> Spelling:
    """Spell a reply as its behaviour says."""
    framing = _framing(reply, behaviour, client)
    pieces = _whole(reply, framing, behaviour, client)
    cut = layer(behaviour, CutReply)
    if cut is not None:
        pieces = _beginning(pieces, cut.at)

    def ending() -> Ending:
        return _ending(reply, framing, behaviour, client) if cut is None else cut.by

    dribble = layer(behaviour, Dribble)
    return Spelling(in_pieces(pieces, None if dribble is None else dribble.size), ending)


def _framing(reply: Reply, behaviour: Behaviour, client: Client) -> Framing:
    told = (
        layer(behaviour, WrongLength)
        or layer(behaviour, CloseDelimited)
        or layer(behaviour, Chunked)
    )
    if told is not None:
        return told
    if reply.length is not None or reply.raw is not None:
        return None
    return _AS_IT_COMES if client.knows_chunks else CloseDelimited()


def _ending(reply: Reply, framing: Framing, behaviour: Behaviour, client: Client) -> Ending:
    if reply.raw is not None:
        return reply.raw
    if reply.is_cut:
        return reply.loss
    short = isinstance(framing, WrongLength) and framing.off_by > 0
    if short or isinstance(framing, CloseDelimited):
        return Close.FIN
    told = layer(behaviour, CloseAfterReply) or layer(behaviour, EarlyReply)
    return told or (None if client.keeps_alive else Close.FIN)


def _whole(reply: Reply, framing: Framing, behaviour: Behaviour, client: Client) -> Iterator[Piece]:
    if reply.raw is not None:
        yield from reply.pieces()
        return
    if (interim := layer(behaviour, Interim)) is not None:
        for _ in range(interim.times):
            yield b"".join(_lines(interim.status, {}))
    closes = (
        isinstance(framing, CloseDelimited)
        or not client.keeps_alive
        or layer(behaviour, EarlyReply) is not None
    )
    headers = dict(reply.headers)
    given = {name.lower() for name in headers}
    if reply.status not in BODILESS and not given & {"content-length", "transfer-encoding"}:
        headers |= _frame(reply, framing)
    if closes and "connection" not in given:
        headers["connection"] = "close"
    head = b"".join(_lines(reply.status, headers))
    has_body = client.wants_body and reply.status not in BODILESS
    yield from _after(head, _framed(reply, framing) if has_body else iter(()))


def _after(head: bytes, body: Iterator[Piece]) -> Iterator[Piece]:
    """Yield the head together with the first piece of the body, unless that is yet to come."""
    for piece in body:
        if isinstance(piece, Pause):
            if head:
                yield head
            yield piece
        else:
            yield head + piece
        head = b""
    if head:
        yield head


def _lines(status: int, headers: dict[str, str]) -> Iterator[bytes]:
    try:
        phrase = HTTPStatus(status).phrase
    except ValueError:
        phrase = ""
    yield f"HTTP/1.1 {status} {phrase}\r\n".encode()
    for name, value in headers.items():
        yield f"{name}: {value}\r\n".encode()
    yield b"\r\n"


def _frame(reply: Reply, framing: Framing) -> dict[str, str]:
    """Say where the body ends."""
    length = reply.size if reply.length is None else reply.length
    match framing:
        case Chunked():
            return {"transfer-encoding": "chunked"}
        case CloseDelimited():
            return {}
        case WrongLength(off_by=off_by):
            return {"content-length": str(max(0, (length or 0) + off_by))}
        case None:
            return {"content-length": str(length)}


def _framed(reply: Reply, framing: Framing) -> Iterator[Piece]:
    if not isinstance(framing, Chunked):
        yield from reply.pieces()
        return
    for piece in in_pieces(reply.pieces(), None if framing is _AS_IT_COMES else framing.size):
        yield piece if isinstance(piece, Pause) else b"%x\r\n%b\r\n" % (len(piece), piece)
    if not reply.is_cut:
        yield b"0\r\n\r\n"


def _beginning(pieces: Iterator[Piece], length: int) -> Iterator[Piece]:
    """Yield the first `length` bytes, where there are so many."""
    for piece in pieces:
        if length <= 0:
            return
        if isinstance(piece, Pause):
            yield piece
            continue
        yield piece[:length]
        length -= len(piece)
