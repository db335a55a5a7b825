"""JSON-RPC over HTTP (A2A 1.0 section 9): one POST of an envelope, one envelope back."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeAlias

from a2a_delegate.bindings.carriage import NOBODY, Answer, Carrier, Errand
from a2a_delegate.lifecycle.operations import Fault, Lost, NotSent, OperationName, Unreadable
from a2a_delegate.wire import envelope
from a2a_delegate.wire.cut_reply import TaskIdScan

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import httpx

    from a2a_delegate.bindings.carriage import Identity
    from a2a_delegate.bindings.exchange import Exchange
    from a2a_delegate.wire.words import Words

RpcReply: TypeAlias = envelope.RpcResult | Fault | Unreadable | NotSent | Lost

HEADERS: Mapping[str, str] = {
    "Content-Type": "application/json",
    "Accept": "application/json",
    # The bytes are counted, and a compressed reply saves nothing that is worth a bomb.
    "Accept-Encoding": "identity",
}
"""What the carriage says of itself; nobody's own headers replace it."""


def _fresh_id() -> str:
    return os.urandom(16).hex()


def _now() -> datetime:
    return datetime.now(UTC)


class JsonRpcBinding:
    """Carries words as JSON-RPC over a client that somebody else owns.

    The client's headers, cookies, authentication and hooks apply, so it is used for bound origins
    only; it is neither changed nor closed. `max_reply_bytes` bounds what is kept of a reply.
    `new_id` makes the ids of requests, which must not repeat; `now` is the time of day, in UTC,
    that dates in `Retry-After` are measured from.
    """

    def __init__(
        self,
        client: httpx.AsyncClient,
        *,
        max_reply_bytes: int,
        new_id: Callable[[], str] = _fresh_id,
        now: Callable[[], datetime] = _now,
    ) -> None:
        self._carrier = Carrier(client, max_reply_bytes=max_reply_bytes)
        self._new_id = new_id
        self._now = now

    async def call(
        self,
        words: Words,
        *,
        url: httpx.URL,
        headers: Mapping[str, str],
        exchange: Exchange,
        name: OperationName,
        auth: httpx.Auth | None = None,
        identity: Identity = NOBODY,
    ) -> RpcReply:
        """Carry one request, once, and read the envelope that comes back.

        `headers` must name none of `HEADERS`, in any case of letters. Raises UsageError for words
        that are no JSON; whatever the network or the peer does is in what it returns, and
        cancellation passes through with the exchange filled so far.
        """
        request_id = self._new_id()
        sends = name is OperationName.SEND
        errand = Errand(
            name=name,
            url=url,
            headers={**headers, **HEADERS},
            body=envelope.request(request_id, words),
            auth=auth,
            # Only a send has a task that nobody knows yet.
            scan=TaskIdScan(request_id=request_id) if sends else None,
            identity=identity,
        )
        carried = await self._carrier.carry(errand, exchange)
        if not isinstance(carried, Answer):
            return carried
        return envelope.read(
            carried.body,
            request_id=request_id,
            operation=name,
            status=carried.status,
            headers=carried.headers,
            now=self._now(),
        )
