"""HTTP+JSON (A2A 1.0 section 11, 0.3 section 3.5.6): resources with paths, and no envelope."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import httpx

from a2a_delegate.bindings.carriage import Carrier, Errand
from a2a_delegate.bindings.failures import failed
from a2a_delegate.bindings.streaming import carried, utc_now
from a2a_delegate.lifecycle.operations import Fault, FaultKind, OperationName
from a2a_delegate.wire import http_json
from a2a_delegate.wire.cut_reply import TaskIdScan

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from a2a_delegate.bindings.call import Call, CallReply
    from a2a_delegate.bindings.carriage import Bounds
    from a2a_delegate.bindings.exchange import Exchange
    from a2a_delegate.wire.http_json import Resource

HEADERS: Mapping[str, str] = {
    "Accept": "application/a2a+json, application/json",
    # The bytes are counted, and a compressed reply saves nothing that is worth a bomb.
    "Accept-Encoding": "identity",
}
"""What the carriage says of itself; nobody's own headers replace it."""

STREAM_HEADERS: Mapping[str, str] = {
    **HEADERS,
    "Accept": f"text/event-stream, {HEADERS['Accept']}",
}
"""The same, where the answer is asked for as a stream."""

_NO_SUCH_PATH = b":subscribe"
"""What a 404 names where the server took the operation for a part of the task's id (BIND-9)."""


class HttpJsonBinding:
    """Carries words as requests for resources, over a client that somebody else owns.

    The client's headers, cookies, authentication and hooks apply, so it is used for bound origins
    only; it is neither changed nor closed. `bounds` limit what is kept of a reply. `now` is the
    time of day, in UTC, that dates in `Retry-After` are measured from.
    """

    def __init__(
        self,
        client: httpx.AsyncClient,
        *,
        bounds: Bounds,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self._carrier = Carrier(client, bounds=bounds)
        self._now = now
        # Interfaces of two versions may share an address, and differ in this.
        self._subscribed_by_get: set[tuple[httpx.URL, str]] = set()

    async def call(self, call: Call, exchange: Exchange) -> CallReply:
        """Carry one call and read the body that comes back, or the events of a stream.

        A subscription is a POST in the text of the specification and a GET in its proto; servers
        have one or the other (BIND-9). Which one an interface has is remembered. The call's headers
        must name none of `HEADERS` and no content type, in any case of letters.
        """
        if call.name is not OperationName.SUBSCRIBE:
            return await self._carried(call, exchange)
        interface = (call.url, call.words.root)
        by_get = interface in self._subscribed_by_get
        reply = await self._carried(call, exchange, by_get=by_get)
        if not _has_other_verb(reply, exchange):
            return reply
        if by_get:
            self._subscribed_by_get.discard(interface)
            return reply
        reply = await self._carried(call, exchange, by_get=True)
        if not isinstance(reply, Fault):
            self._subscribed_by_get.add(interface)
        return reply

    async def _carried(self, call: Call, exchange: Exchange, *, by_get: bool = False) -> CallReply:
        streamed = call.read_event is not None
        resource = http_json.request(call.name, call.words, streamed=streamed, by_get=by_get)
        try:
            url = _address(call.url, resource)
        except httpx.InvalidURL as problem:
            # The id of a task is the peer's word, and an address holds no id of any length.
            return failed(problem, exchange=exchange, name=call.name, url=str(call.url))
        own = dict(STREAM_HEADERS if streamed else HEADERS)
        if resource.body is not None:
            # 1.0.1 would have a2a+json and 0.3 must have this; every server takes this one.
            own["Content-Type"] = "application/json"
        errand = Errand(
            name=call.name,
            url=url,
            headers={**call.headers, **own},
            body=resource.body,
            auth=call.auth,
            # Only a send has a task that nobody knows yet.
            scan=TaskIdScan(request_id=None) if call.name is OperationName.SEND else None,
            identity=call.identity,
        )
        read = partial(http_json.read, operation=call.name)
        return await carried(
            self._carrier, errand, exchange, read=read, read_event=call.read_event, now=self._now
        )


def _address(interface: httpx.URL, resource: Resource) -> httpx.URL:
    """Put the path of a resource below the address of an interface, whose own bytes stay.

    An address may end with the root that the version puts there, or with a slash. Raises
    httpx.InvalidURL for one that is too long.
    """
    base, mark, query = interface.raw_path.partition(b"?")
    base = base.removesuffix(b"/")
    root = f"/{resource.root}".encode() if resource.root else b""
    if not base.endswith(root):
        base += root
    path = base + b"/" + resource.path.encode()
    asked = b"&".join(part for part in (query, resource.query.encode()) if part)
    return interface.copy_with(raw_path=path + (b"?" + asked if mark or asked else b""))


def _has_other_verb(reply: CallReply, exchange: Exchange) -> bool:
    """Whether a refused subscription says that this path has another verb, or none known."""
    if not isinstance(reply, Fault):
        return False
    if reply.kind is FaultKind.METHOD_NOT_ALLOWED:
        return True
    return reply.error.status == httpx.codes.NOT_FOUND and _NO_SUCH_PATH in exchange.evidence
