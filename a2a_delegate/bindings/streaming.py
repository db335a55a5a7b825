"""A call over HTTP and what answers it: one body, or a stream of events with a body in each.

Whoever asked for a stream may get a single answer all the same, a refusal most of all: the content
type of the reply decides, not what was asked for (A2A 1.0 section 9.4.2; BIND-5).
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Protocol

import anyio

from a2a_delegate.bindings.carriage import Answer
from a2a_delegate.bindings.reading import UnreadableBodyError
from a2a_delegate.errors import A2ARequestError, InvalidReplyError
from a2a_delegate.lifecycle.operations import (
    ArtifactUpdate,
    Fault,
    FaultKind,
    Lost,
    StreamEnd,
    Unreadable,
)
from a2a_delegate.wire.event_stream import EventStream, EventTooLargeError, ServerSentEvent
from a2a_delegate.wire.reading import Unclear
from a2a_delegate.wire.result import EVIDENCE, WireResult

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from a2a_delegate.bindings.call import CallReply, ReadsEvent
    from a2a_delegate.bindings.carriage import Carried, Carrier, Errand
    from a2a_delegate.bindings.exchange import Exchange

_OK = 200
_IN_A_ROW = 64
"""Events that are read before the event loop has its turn."""
_NO_HEADERS: Mapping[str, str] = {}


def utc_now() -> datetime:
    """Return the time of day, in UTC: what dates in `Retry-After` are measured from."""
    return datetime.now(UTC)


class ReadsBody(Protocol):
    """Reads one body: that of a whole reply, or the data of one event of a stream."""

    def __call__(
        self, body: bytes, *, status: int, headers: Mapping[str, str], now: datetime
    ) -> WireResult | Fault | Unreadable:
        """Take the result or the error out of it; never raises."""
        ...


async def carried(
    carrier: Carrier,
    errand: Errand,
    exchange: Exchange,
    *,
    read: ReadsBody,
    read_event: ReadsEvent | None,
    now: Callable[[], datetime],
) -> CallReply:
    """Carry an errand and read what comes back; with `read_event` a stream is read too."""
    if read_event is None:
        answer = await carrier.carry(errand, exchange)
        if not isinstance(answer, Answer):
            return answer
        return read(answer.body, status=answer.status, headers=answer.headers, now=now())
    events = EventStream(max_event_bytes=carrier.bounds.max_event_bytes)
    stream = _Stream(errand, exchange, events, read=read, read_event=read_event, now=now)
    answer = await carrier.carry(replace(errand, sink=stream), exchange)
    if isinstance(answer, Answer) and not answer.streamed:
        return read(answer.body, status=answer.status, headers=answer.headers, now=now())
    return stream.end(answer)


class _Stream:
    """The events of one reply: those that can be read are told to the exchange as they come.

    One that cannot be read is passed over, for what it may have said is asked for anyway. An error
    ends the stream: the peer says that nothing more will come.
    """

    def __init__(
        self,
        errand: Errand,
        exchange: Exchange,
        events: EventStream,
        *,
        read: ReadsBody,
        read_event: ReadsEvent,
        now: Callable[[], datetime],
    ) -> None:
        self._errand = errand
        self._exchange = exchange
        self._events = events
        self._read = read
        self._read_event = read_event
        self._now = now
        self._shown = 0
        self._flaw: Unreadable | None = None
        self._fault: Fault | None = None

    async def take(self, chunk: bytes) -> bool:
        """Take the next piece; return whether more is wanted.

        Raises UnreadableBodyError for an event that is too large.
        """
        try:
            events = self._events.feed(chunk)
        except EventTooLargeError as problem:
            raise UnreadableBodyError(str(problem)) from None
        for event in events:
            if event.data.strip() and not self._show(event):
                return False
            await self._exchange.pace()
            self._shown += 1
            if not self._shown % _IN_A_ROW:
                # One read of the network can hold ten thousand events.
                await anyio.lowlevel.cancel_shielded_checkpoint()
        return True

    def _show(self, event: ServerSentEvent) -> bool:
        body = self._read(event.data, status=_OK, headers=_NO_HEADERS, now=self._now())
        if isinstance(body, WireResult):
            shown = self._read_event(body.result)
            if not isinstance(shown, Unclear):
                if isinstance(shown, ArtifactUpdate):
                    shown = replace(shown, size=len(event.data))
                self._exchange.show(shown)
                return True
            body = self._unreadable(shown.reason, event.data, shown.task_id)
        if isinstance(body, Unreadable) and body.task_id is not None:
            self._show_id(body.task_id)
        if isinstance(body, Unreadable) and event.name == "error":
            said = event.data[:EVIDENCE].decode(errors="replace")
            error = A2ARequestError(method=self._errand.name, status=_OK, message=said)
            body = Fault(FaultKind.OTHER, error)
        if isinstance(body, Fault):
            self._fault = body
            return False
        if self._flaw is None or (self._flaw.task_id is None and body.task_id is not None):
            self._flaw = body
        return True

    def _show_id(self, task_id: str) -> None:
        """Tell of a task that only a send can have made known."""
        if self._errand.scan is not None:
            self._exchange.on_id(task_id)

    def cut(self) -> None:
        """Take that no more will come: the event that was coming may show the task's id."""
        scan = self._errand.scan
        if scan is not None and not self._exchange.shown:
            scan.feed(self._events.unfinished)
            if scan.task_id is not None:
                self._show_id(scan.task_id)

    def end(self, carried: Carried) -> CallReply:
        """Say how the stream ended."""
        error = None if isinstance(carried, Answer) else carried.error
        if self._exchange.shown:
            return StreamEnd(error if self._fault is None else self._fault.error)
        came = self._exchange.evidence
        if self._flaw is not None and isinstance(carried, Answer):
            # What came before an error may have been of a task: then the error proves nothing.
            return replace(self._flaw, evidence=came[:EVIDENCE])
        if self._fault is not None:
            return self._fault
        scan = self._errand.scan
        task_id = None if scan is None else scan.task_id
        if self._flaw is not None:
            task_id = self._flaw.task_id or task_id
        if isinstance(carried, Answer):
            return self._unreadable("a stream that ended without an event", came, task_id)
        if isinstance(carried, Lost | Unreadable):
            return replace(carried, task_id=task_id)
        return carried

    def _unreadable(self, reason: str, evidence: bytes, task_id: str | None) -> Unreadable:
        error = InvalidReplyError(method=self._errand.name, reason=reason, status=_OK)
        return Unreadable(error, evidence[:EVIDENCE], task_id)
