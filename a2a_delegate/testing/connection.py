"""One connection of a peer on a port, from its first byte to its end.

h11 reads what comes; what goes out is spelled by ourselves, and some of it is no HTTP. So each
request has a parser of its own, which begins with what came after the one before.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import anyio
import anyio.abc
import h11

from a2a_delegate.testing.acts import Close, Loss, Refusal
from a2a_delegate.testing.arrival import PortArrival
from a2a_delegate.testing.behaviours import CloseAfterReply, Dribble, EarlyReply, Moment, layer
from a2a_delegate.testing.exchange import Exchange
from a2a_delegate.testing.happenings import (
    ConnectionRefused,
    Parting,
    RequestArrived,
    RequestOver,
)
from a2a_delegate.testing.places import Card
from a2a_delegate.testing.reply import Reply
from a2a_delegate.testing.spelling import Client, spell
from a2a_delegate.testing.streams import Pause
from a2a_delegate.testing.truth import Entry, StreamEnd

if TYPE_CHECKING:
    from collections.abc import Callable

    from a2a_delegate.testing.backstage import Backstage
    from a2a_delegate.testing.happenings import Happening, PortObserver
    from a2a_delegate.testing.layering import Behaviour
    from a2a_delegate.testing.line import Line
    from a2a_delegate.testing.spelling import Ending, Spelling
    from a2a_delegate.testing.truth import RequestFact

MAX_HEAD: Final = 64 * 1024
"""Bytes that the head of a request may have."""

MAX_BODY: Final = 64 * 1024 * 1024
"""Bytes that the body of a request may have."""

_TELLING: Final = 64 * 1024
"""Bytes of a body within which its method is looked for before all of it has come."""

_TOLD: Final = 64 * 1024
"""Bytes of a reply that are told to an observer."""

_PARTING_SECONDS: Final = 1.0
"""How long a client that was refused may take to see that."""

_GONE: Final = (anyio.BrokenResourceError, anyio.EndOfStream, anyio.ClosedResourceError)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the connections of one port share.

    `url_of` gives the URL of a path, as the client that sent this Host header can reach it;
    `failures` keeps what functions of the test raised, the script's and the observer.
    """

    backstage: Backstage
    url_of: Callable[[str, str], str]
    observer: PortObserver | None
    failures: list[Exception] = field(default_factory=list)

    def tell(self, happening: Callable[[], Happening]) -> None:
        """Tell what happened; it is not worked out where nobody listens."""
        if self.observer is None:
            return
        try:
            self.observer(happening())
        # It is the test's own, and may raise what it likes; the block that serves tells it.
        except Exception as problem:  # noqa: BLE001 - as said above
            self.failures.append(problem)


@dataclass(slots=True)
class _Course:
    """One request on its way."""

    arrival: PortArrival
    entry: Entry
    client: Client
    behaviour: Behaviour | None = None
    status: int | None = None
    sent: int = 0
    reply: bytes = b""
    parting: Parting = Parting.ENDED


class Connection:
    """One connection: one request after the other, each played and answered in its turn.

    `stream` is what is spoken over, `line` what is under it: the same where there is no TLS.
    """

    def __init__(
        self, surroundings: Surroundings, line: Line, stream: anyio.abc.ByteStream
    ) -> None:
        self._backstage = surroundings.backstage
        self._surroundings = surroundings
        self._line = line
        self._stream = stream
        self._parser = _parser()

    async def hold(self) -> None:
        """Serve it to its end."""
        try:
            ending: Ending = None
            while ending is None:
                ending = await self._serve(await self._event())
                self._parser = _parser(self._parser)
            await self._wind_up(ending)
        except h11.RemoteProtocolError as problem:
            reason, status = str(problem), problem.error_status_hint
            self._surroundings.tell(lambda: ConnectionRefused(reason))
            await self._refuse(status)
        except _GONE:
            pass  # the client has left, and nobody is there to be served
        finally:
            self._line.close()

    # -- one request -----------------------------------------------------------------------------

    async def _serve(self, head: object) -> Ending:
        """Read the rest of a request, play and answer it, and say what is to come then."""
        assert isinstance(head, h11.Request)  # noqa: S101 - h11 begins with nothing else
        course = self._entered(head)
        try:
            await self._take_body(course)
            ending = await self._answer(course)
            course.parting = _parting(ending)
        except h11.RemoteProtocolError:
            course.parting = Parting.CLOSED
            raise
        except _GONE:
            course.parting = Parting.LEFT
            raise
        finally:
            self._over(course)
        return ending

    def _entered(self, head: h11.Request) -> _Course:
        headers = dict(head.headers)
        host = headers.get(b"host", b"").decode("latin-1")
        url_of = self._surroundings.url_of
        arrival = PortArrival(head, url_of(host, self._backstage.target))
        url = url_of(host, arrival.target)
        entry = Entry(arrival.method, url, arrival.headers, self._backstage.clock.now())
        self._backstage.enter(entry)
        modern = head.http_version == b"1.1"
        client = Client(
            keeps_alive=modern and b"close" not in headers.get(b"connection", b"").lower(),
            knows_chunks=modern,
            wants_body=head.method != b"HEAD",
        )
        return _Course(arrival, entry, client)

    async def _take_body(self, course: _Course) -> None:
        """Take the body off the wire, or as much of it as an early reply waits for."""
        arrival = course.arrival
        _check_size(int(arrival.headers.get("content-length", "0")))
        try:
            while not (arrival.is_whole or self._is_early(arrival)):
                if self._parser.they_are_waiting_for_100_continue and not arrival.size:
                    await self._stream.send(b"HTTP/1.1 100 Continue\r\n\r\n")
                event = await self._event()
                if isinstance(event, h11.Data):
                    arrival.add(event.data)
                    _check_size(arrival.size)
                else:  # there is nothing else but the end of the message
                    arrival.is_whole = True
        except BaseException:
            course.entry.content = arrival.came
            raise

    def _is_early(self, arrival: PortArrival) -> bool:
        """Whether what came of the body tells that its reply is not to wait for the rest."""
        stage = self._backstage
        if not arrival.is_worth_a_look(_TELLING):
            return False
        place = stage.places.find(arrival.method, arrival.target)
        if isinstance(place, Card | int):
            return False
        operation = place.foretell(arrival.came)
        if operation is None or layer(stage.script.next(operation, None), EarlyReply) is None:
            return False
        arrival.tell(operation)
        return True

    async def _answer(self, course: _Course) -> Ending:
        """Play the request and send the reply, for as long as the client is there."""
        exchange = Exchange(self._backstage, course.arrival, course.entry)
        exchange.arrive()
        course.behaviour = exchange.behaviour
        self._surroundings.tell(
            lambda: RequestArrived(*_numbered(course.entry), exchange.behaviour)
        )
        carried_out: list[Ending] = []
        async with anyio.create_task_group() as group:
            group.start_soon(self._watch, group.cancel_scope)
            with contextlib.suppress(anyio.BrokenResourceError):
                carried_out.append(await self._carry_out(exchange, course))
            group.cancel_scope.cancel()
        if not carried_out:
            raise anyio.EndOfStream
        return carried_out[0]

    async def _carry_out(self, exchange: Exchange, course: _Course) -> Ending:
        try:
            played = await exchange.play()
        # A function of the script's may raise what it likes; the block that serves tells it.
        except Exception as problem:  # noqa: BLE001 - as said above
            self._surroundings.failures.append(problem)
            played = Reply(500, {}, b"")
        if isinstance(played, Reply):
            spelling = spell(played, exchange.behaviour, course.client)
            course.status = played.status or None
            await self._send(spelling, exchange.behaviour, course)
            ending = spelling.ending()
            if played.stream is not None:
                played.stream.closed(StreamEnd.PEER)
        else:
            ending = Close.RST if isinstance(played, Refusal) else played
        if ending is Loss.READ_TIMEOUT or ending is Loss.WRITE_TIMEOUT:
            await anyio.sleep_forever()
        return ending

    async def _send(self, spelling: Spelling, behaviour: Behaviour, course: _Course) -> None:
        dribble = layer(behaviour, Dribble)
        for piece in spelling.pieces:
            if isinstance(piece, Pause):
                await piece.over()
                continue
            if course.sent and dribble is not None:
                await anyio.sleep(dribble.every)
            await self._stream.send(piece)
            course.sent += len(piece)
            if len(course.reply) < _TOLD:
                course.reply += piece[: _TOLD - len(course.reply)]

    def _over(self, course: _Course) -> None:
        entry = course.entry
        if entry.stream is not None:
            left = course.parting is Parting.LEFT
            now = self._backstage.clock.now()
            entry.stream.close(StreamEnd.CLIENT if left else StreamEnd.PEER, now)
        self._backstage.end(entry)
        self._surroundings.tell(
            lambda: RequestOver(
                *_numbered(entry),
                behaviour=course.behaviour,
                ran=entry.ran,
                status=course.status,
                sent=course.sent,
                reply=course.reply,
                parting=course.parting,
            )
        )

    # -- what comes in ---------------------------------------------------------------------------

    async def _event(self) -> object:
        """Return the next event of HTTP. Raises h11.RemoteProtocolError, and when it is gone."""
        while (event := self._parser.next_event()) is h11.NEED_DATA:
            self._parser.receive_data(await self._stream.receive())
        return event

    async def _watch(self, scope: anyio.CancelScope) -> None:
        """End the scope when the client leaves; keep what it sends before its turn, bounded."""
        ahead = 0
        try:
            while ahead < MAX_HEAD:
                came = await self._stream.receive()
                self._parser.receive_data(came)
                ahead += len(came)
        except _GONE:
            scope.cancel()

    # -- the end ---------------------------------------------------------------------------------

    async def _wind_up(self, ending: Ending) -> None:
        """Do with the connection what its last reply asks for."""
        match ending:
            case CloseAfterReply(moment=Moment.HALF):
                await self._line.send_eof()
                await self._unserved(Parting.SILENT)
                await self._swallow()
            case CloseAfterReply(moment=moment, by=by):
                if moment is Moment.NEXT_REQUEST:
                    await self._unserved(_parting(by))
                self._end(by)
            case EarlyReply(drains=True):
                await self._line.send_eof()
                await self._swallow()
            case Close.RST | Loss.READ_ERROR | Loss.WRITE_ERROR:
                self._end(Close.RST)
            case _:
                self._end(Close.FIN)

    def _end(self, by: Close) -> None:
        if by is Close.RST:
            self._line.reset()
        else:
            self._line.close()

    async def _swallow(self) -> None:
        """Take what comes until the client leaves, and do nothing about it."""
        while True:
            await self._stream.receive()

    async def _unserved(self, parting: Parting) -> None:
        """Wait for the next request, of which nobody takes notice, and write down that it came."""
        head = self._parser.next_event()
        if head is h11.NEED_DATA:
            self._parser.receive_data(await self._stream.receive())
            head = self._parser.next_event()
        if isinstance(head, h11.Request):
            course = self._entered(head)
            course.parting = parting
            self._over(course)

    async def _refuse(self, status: int) -> None:
        """Answer what is no request, and give the client a moment to see it."""
        answer = f"HTTP/1.1 {status} \r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
        with contextlib.suppress(*_GONE), anyio.move_on_after(_PARTING_SECONDS):
            await self._stream.send(answer.encode())
            await self._line.send_eof()
            await self._swallow()


def _check_size(size: int) -> None:
    if size > MAX_BODY:
        raise h11.RemoteProtocolError("the body is too large", 413)


def _numbered(entry: Entry) -> tuple[int, RequestFact]:
    return entry.number, entry.fact()


def _parser(before: h11.Connection | None = None) -> h11.Connection:
    """Make a parser of one request, which begins with what came after the one before."""
    parser = h11.Connection(h11.SERVER, max_incomplete_event_size=MAX_HEAD)
    came, _ = (b"", False) if before is None else before.trailing_data
    if came:
        parser.receive_data(came)
    return parser


def _parting(ending: Ending) -> Parting:
    match ending:
        case None | CloseAfterReply(moment=Moment.NEXT_REQUEST):
            return Parting.KEPT
        case CloseAfterReply(moment=Moment.HALF):
            return Parting.HALF_CLOSED
        case Close.RST | Loss.READ_ERROR | Loss.WRITE_ERROR | CloseAfterReply(by=Close.RST):
            return Parting.RESET
        case _:
            return Parting.CLOSED
