"""A call over HTTP, answered by a body."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from a2a_delegate.bindings.carriage import Answer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from a2a_delegate.bindings.call import CallReply, ReadsEvent
    from a2a_delegate.bindings.carriage import Carrier, Errand
    from a2a_delegate.bindings.exchange import Exchange
    from a2a_delegate.lifecycle.operations import Fault, Unreadable
    from a2a_delegate.wire.result import WireResult

EVENT_STREAM = "text/event-stream"


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
    """Carry an errand and read what comes back."""
    del read_event
    answer = await carrier.carry(errand, exchange)
    if not isinstance(answer, Answer):
        return answer
    return read(answer.body, status=answer.status, headers=answer.headers, now=now())
