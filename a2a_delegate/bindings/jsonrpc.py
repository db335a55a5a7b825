"""JSON-RPC over HTTP (A2A 1.0 section 9): one POST of an envelope, one envelope back.

Of a stream each event is such an envelope (section 9.4.2).
"""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

from a2a_delegate.bindings.carriage import Carrier, Errand
from a2a_delegate.bindings.reading import EVENT_STREAM
from a2a_delegate.bindings.streaming import carried, utc_now
from a2a_delegate.lifecycle.operations import OperationName
from a2a_delegate.wire import envelope
from a2a_delegate.wire.cut_reply import TaskIdScan

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    import httpx

    from a2a_delegate.bindings.call import Call, CallReply
    from a2a_delegate.bindings.carriage import Bounds
    from a2a_delegate.bindings.exchange import Exchange

HEADERS: Mapping[str, str] = {
    "Content-Type": "application/json",
    "Accept": "application/json",
    # The bytes are counted, and a compressed reply saves nothing that is worth a bomb.
    "Accept-Encoding": "identity",
}
"""What the carriage says of itself; nobody's own headers replace it."""

STREAM_HEADERS: Mapping[str, str] = {**HEADERS, "Accept": f"{EVENT_STREAM}, application/json"}
"""The same, where the answer is asked for as a stream."""


def _fresh_id() -> str:
    return os.urandom(16).hex()


class JsonRpcBinding:
    """Carries words as JSON-RPC over a client that somebody else owns.

    The client's headers, cookies, authentication and hooks apply, so it is used for bound origins
    only; it is neither changed nor closed. `bounds` limit what is kept of a reply. `new_id` makes
    the ids of requests, which must not repeat; `now` is the time of day, in UTC, that dates in
    `Retry-After` are measured from.
    """

    def __init__(
        self,
        client: httpx.AsyncClient,
        *,
        bounds: Bounds,
        new_id: Callable[[], str] = _fresh_id,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self._carrier = Carrier(client, bounds=bounds)
        self._new_id = new_id
        self._now = now

    async def call(self, call: Call, exchange: Exchange) -> CallReply:
        """Carry one call and read the envelope that comes back, or those of a stream.

        The call's headers must name none of `HEADERS`, in any case of letters.
        """
        request_id = self._new_id()
        sends = call.name is OperationName.SEND
        own = HEADERS if call.read_event is None else STREAM_HEADERS
        errand = Errand(
            name=call.name,
            url=call.url,
            headers={**call.headers, **own},
            body=envelope.request(request_id, call.words),
            auth=call.auth,
            # Only a send has a task that nobody knows yet.
            scan=TaskIdScan(request_id=request_id) if sends else None,
            identity=call.identity,
        )
        read = partial(envelope.read, request_id=request_id, operation=call.name)
        return await carried(
            self._carrier, errand, exchange, read=read, read_event=call.read_event, now=self._now
        )
