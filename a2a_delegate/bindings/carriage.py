"""One HTTP request from build to the last byte of its reply, with a typed end.

Whatever the network, the peer, the caller's client or a library below does becomes one of the
four ends. Cancellation alone passes through, and leaves the exchange to be read.
"""

from __future__ import annotations

import math
from dataclasses import field
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

import anyio
import httpx

from a2a_delegate.bindings.body import WatchedAuth, WatchedBody, WatchedRequest
from a2a_delegate.bindings.broken_redirect import TRACE_EXTENSION, HeadTrace
from a2a_delegate.bindings.failures import CLOSED, failed
from a2a_delegate.bindings.reading import (
    Received,
    SilentStreamError,
    UnreadableBodyError,
    give_up,
    is_event_stream,
    read_body,
    read_stream,
)
from a2a_delegate.bindings.trace_context import trace_context
from a2a_delegate.errors import InvalidReplyError, LostReplyError, PeerUnreachableError, UsageError
from a2a_delegate.lifecycle.operations import Lost, NotSent, Unreadable
from a2a_delegate.model.frozen import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from a2a_delegate.bindings.exchange import Exchange
    from a2a_delegate.wire.cut_reply import TaskIdScan


OPERATION_EXTENSION = "a2a_operation"
"""The httpx extension that names the operation of a request.

A transport that traces or scripts requests can tell them apart by it without touching the body.
"""

IDENTITY_EXTENSION = "a2a_identity"
"""The httpx extension that names for whom a request is made: an Identity."""


class Identity(NamedTuple):
    """For whom a request is made, besides the origin that it goes to.

    What one of them has, cookies and connections, no other one uses.
    """

    tenant: str | None = None
    principal: str | None = None


NOBODY = Identity()
"""A request for no tenant and no principal, such as that for a card."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much of a reply is kept, in bytes, and how long a stream may be silent, in seconds."""

    max_reply_bytes: int
    max_event_bytes: int = 8 * 1024 * 1024
    stream_idle_seconds: float = 60.0


class Sink(Protocol):
    """Takes the body of a reply that is a stream of events."""

    async def take(self, chunk: bytes) -> bool:
        """Take the next piece, and return whether more is wanted.

        Raises UnreadableBodyError for what is too much.
        """
        ...

    def cut(self) -> None:
        """Take that no more will come."""
        ...


@dataclass(frozen=True, slots=True)
class Errand:
    """What is to be carried.

    `name` is the word for it in errors. `url` is absolute and of a bound origin. `headers` go
    beside those of the client and before them. `body` None is a GET. `scan` finds the id of a
    task in the pieces of an incomplete reply, where one matters. `identity` keeps apart what must
    not mix, where the client can. A successful reply that is a stream of events goes to `sink`,
    where there is one, and is not kept.
    """

    name: str
    url: httpx.URL
    headers: Mapping[str, str] = field(repr=False)
    body: bytes | None = field(default=None, repr=False)
    auth: httpx.Auth | None = field(default=None, repr=False)
    scan: TaskIdScan | None = None
    identity: Identity = NOBODY
    sink: Sink | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Answer:
    """A complete HTTP reply, whatever its status; the body of one `streamed` went to the sink."""

    status: int
    headers: httpx.Headers
    body: bytes = field(repr=False)
    streamed: bool = False

    @property
    def is_success(self) -> bool:
        """Whether the status says that all went well."""
        return 200 <= self.status < 300  # noqa: PLR2004 - RFC 9110 section 15.3


Carried: TypeAlias = Answer | Unreadable | NotSent | Lost


class Carrier:
    """Carries requests over a client that somebody else owns: neither changed nor closed here.

    `bounds` limit what is kept of a reply. Raises UsageError for what is no asynchronous client.
    """

    def __init__(self, client: httpx.AsyncClient, *, bounds: Bounds) -> None:
        if not isinstance(client, httpx.AsyncClient):
            raise UsageError(f"client must be an httpx.AsyncClient; got {type(client).__name__}")
        self._client = client
        self.bounds = bounds
        # Time belongs to the caller of `carry`, who cancels it: a limit of the client's on reading,
        # five seconds unless it was told otherwise, would turn a slow answer into an unknown one,
        # and a wait in its queue is no failure. Its limit on connecting stays: nothing has left
        # then, and it lets another attempt begin.
        connect = client.timeout.connect
        self._timeout = {"connect": connect, "read": None, "write": None, "pool": None}

    async def carry(self, errand: Errand, exchange: Exchange) -> Carried:
        """Carry one errand. Raises nothing but cancellation."""
        if self._client.is_closed:
            closed = PeerUnreachableError(phase="connect", url=str(errand.url), reason=CLOSED)
            closed.__cause__ = UsageError(CLOSED)
            return NotSent(closed)
        received = Received(exchange, limit=self.bounds.max_reply_bytes, scan=errand.scan)
        try:
            return await self._round_trip(errand, exchange, received)
        except SilentStreamError as problem:
            silent = LostReplyError(method=errand.name, phase="idle", reason=str(problem))
            return Lost(silent, evidence=exchange.evidence)
        except UnreadableBodyError as problem:
            unreadable = InvalidReplyError(
                method=errand.name, reason=str(problem), status=exchange.http_status
            )
            return Unreadable(unreadable, evidence=exchange.evidence, task_id=received.task_id)
        # Transports, authentications and hooks are other people's code and raise what they like;
        # an effect must come of it all the same, and the exchange knows which.
        except Exception as problem:  # noqa: BLE001 - as said above
            return failed(
                problem,
                exchange=exchange,
                name=errand.name,
                url=str(errand.url),
                task_id=received.task_id,
                answered=errand.body is None and exchange.http_status is not None,
            )

    async def _round_trip(self, errand: Errand, exchange: Exchange, received: Received) -> Answer:
        trace = HeadTrace()
        request, auth = self._built(errand, exchange, trace)
        try:
            response = await self._sent(request, auth, errand)
        except (httpx.RemoteProtocolError, httpx.InvalidURL):
            if trace.redirect is None:
                raise
            exchange.http_status = trace.redirect
            return Answer(trace.redirect, httpx.Headers(), b"")
        exchange.http_status = response.status_code
        if errand.sink is not None and is_event_stream(response):
            return await self._streamed(response, errand, errand.sink, exchange)
        try:
            await read_body(response, received, idle_seconds=self._patience(errand))
        except BaseException:
            received.cut()
            await give_up(response)
            raise
        return Answer(response.status_code, response.headers, received.whole())

    async def _sent(
        self, request: httpx.Request, auth: httpx.Auth | None, errand: Errand
    ) -> httpx.Response:
        patience = self._patience(errand)
        sent = self._client.send(request, stream=True, auth=auth, follow_redirects=False)
        if patience == math.inf:
            return await sent
        with anyio.move_on_after(patience):
            return await sent
        raise SilentStreamError(patience)

    def _patience(self, errand: Errand) -> float:
        """Return how long the peer may be silent: a send as long as it works, no subscription."""
        subscribes = errand.sink is not None and errand.scan is None
        return self.bounds.stream_idle_seconds if subscribes else math.inf

    async def _streamed(
        self, response: httpx.Response, errand: Errand, sink: Sink, exchange: Exchange
    ) -> Answer:
        """Hand a stream on to its end; whoever is told to stop closes the connection at once."""
        try:
            await read_stream(
                response,
                sink.take,
                exchange,
                first_seconds=self._patience(errand),
                idle_seconds=self.bounds.stream_idle_seconds,
            )
        except BaseException:
            sink.cut()
            await give_up(response)
            raise
        sink.cut()
        return Answer(response.status_code, response.headers, b"", streamed=True)

    def _built(
        self, errand: Errand, exchange: Exchange, trace: HeadTrace
    ) -> tuple[httpx.Request, httpx.Auth | None]:
        auth = self._client.auth if errand.auth is None else errand.auth
        if auth is not None:
            auth = WatchedAuth(auth, errand.body, exchange, limit=self.bounds.max_reply_bytes)
        extensions = {
            "timeout": self._timeout,
            OPERATION_EXTENSION: str(errand.name),
            IDENTITY_EXTENSION: errand.identity,
            TRACE_EXTENSION: trace,
        }
        headers = dict(errand.headers)
        context = trace_context()
        if context and not any(name.lower() in context for name in headers):
            headers.update(context)
        if errand.body is None:
            request = self._client.build_request(
                "GET", errand.url, headers=headers, extensions=extensions
            )
            return request, auth
        headers["Content-Length"] = str(len(errand.body))
        body = WatchedBody(errand.body, exchange)
        request = self._client.build_request(
            "POST",
            errand.url,
            content=body,
            headers=headers,
            extensions=extensions,
        )
        # Headers of the client's own could ask for chunks; a body of known length has none.
        if "Transfer-Encoding" in request.headers:
            del request.headers["Transfer-Encoding"]
        # In place of the generator that httpx wraps around it, which may be left half finished.
        request.stream = body
        if auth is None and self._client.event_hooks["request"]:
            request = WatchedRequest(request, errand.body, exchange)
        return request, auth
