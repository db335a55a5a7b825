"""One request at a scripted peer, played out as its behaviour says, from arrival to reply.

The order is that of a real connection: refuse it, read the body, begin the work, answer. What comes
first is never touched by what stops before it: a peer that refuses before reading does not look
at the body's stream.
"""

from __future__ import annotations

import contextlib
import inspect
import json
import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, TypeAlias, assert_never

import anyio
import httpx

from a2a_delegate.errors import UsageError
from a2a_delegate.testing.behaviours import (
    Act,
    Behaviour,
    Delay,
    DropAfterAccepting,
    DropBeforeReading,
    DropWhileReading,
    Endless,
    Hang,
    Honest,
    IgnoredCancel,
    Loss,
    LyingCancel,
    Operation,
    OtherTask,
    Redirect,
    RefuseConnection,
    RefusedCancel,
    Respond,
    Rewrite,
    RpcError,
    UnknownState,
    Unread,
    WrongId,
    acts_before_reading,
)
from a2a_delegate.testing.cards import CARD_PATH, etag, matches, to_bytes
from a2a_delegate.testing.reception import Answer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from a2a_delegate.testing.agent import Agent
    from a2a_delegate.testing.clock import PeerClock
    from a2a_delegate.testing.face import Json
    from a2a_delegate.testing.reception import Reception
    from a2a_delegate.testing.script import Script
    from a2a_delegate.testing.truth import Entry

OPERATION_EXTENSION: Final = "a2a_operation"
"""The httpx extension in which a client that streams its bodies may say what it asks for."""

_OPERATIONS: Mapping[str, Operation] = {operation.value: operation for operation in Operation}
_JSON: Mapping[str, str] = {"content-type": "application/json"}
_TEXT: Mapping[str, str] = {"content-type": "text/plain; charset=utf-8"}


@dataclass(slots=True)
class Backstage:
    """What the transports of one peer share."""

    url: httpx.URL
    card: Callable[[], Json]
    script: Script
    reception: Reception
    agent: Agent
    clock: PeerClock
    ledger: list[Entry] = field(default_factory=list)
    hanging: set[anyio.Event] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Reply:
    """One HTTP reply. It breaks off at `cut_at`, or is filled up with blanks to `size`."""

    status: int
    headers: Mapping[str, str]
    content: bytes
    size: int | None = None
    cut_at: int | None = None
    loss: Loss = Loss.DISCONNECTED


_PATIENCE: Mapping[type, tuple[str, type[httpx.TransportError]]] = {
    RefuseConnection: ("connect", httpx.ConnectTimeout),
    DropBeforeReading: ("write", httpx.WriteTimeout),
    DropWhileReading: ("write", httpx.WriteTimeout),
}
"""The timeout that runs while an act is prepared; for all others it is the one for reading."""

Begun: TypeAlias = Reply | Answer
"""What was made of a request: a reply that stands already, or an answer yet to be written."""


class Exchange:
    """One request from its arrival to its reply."""

    def __init__(self, backstage: Backstage, request: httpx.Request, entry: Entry) -> None:
        self._backstage = backstage
        self._request = request
        self._entry = entry
        self._early_pause = 0.0
        self._pause = 0.0
        path = request.url.path
        self._is_card = path == CARD_PATH
        self._is_call = path == backstage.url.path and request.method == "POST"

    async def play(self) -> Reply:
        """Let the behaviour of this request come about. Raises what its connection would raise."""
        url, own = self._request.url, self._backstage.url
        if (url.scheme, url.netloc) != (own.scheme, own.netloc):
            raise httpx.ConnectError("All connection attempts failed", request=self._request)
        act = self._foresee()
        await self._before_reading()
        if not isinstance(act, Unread):
            await self._read(stop_early=isinstance(act, DropWhileReading))
        if act is None:
            act = self._choose()
        with self._patience(act):
            reply = await self._reply(act)
            await anyio.sleep(self._pause)
        return reply

    def _foresee(self) -> Act | None:
        """Choose the behaviour without touching the body; None where that cannot be done."""
        if self._is_card:
            self._entry.operation = Operation.CARD
        elif self._is_call:
            named = self._request.extensions.get(OPERATION_EXTENSION)
            if isinstance(named, str) and named in _OPERATIONS:
                self._entry.operation = _OPERATIONS[named]
            elif (content := _kept_content(self._request)) is not None:
                self._identify(content)
            else:
                return None
        return self._unwrap(self._backstage.script.take(self._entry.operation))

    def _choose(self) -> Act:
        """Choose the behaviour of a streamed request, once it has been read."""
        behaviour = self._backstage.script.take(self._entry.operation)
        if acts_before_reading(behaviour):
            raise UsageError(
                f"{behaviour} acts before the body is read, but this request streams its body, "
                f"so only reading it tells that it is a {self._entry.operation}; build the "
                f"request from bytes, or name its operation in the extension {OPERATION_EXTENSION}"
            )
        return self._unwrap(behaviour)

    def _identify(self, content: bytes) -> None:
        entry = self._entry
        entry.operation, entry.version = self._backstage.reception.identify(content)

    def _unwrap(self, behaviour: Behaviour) -> Act:
        """Take the delays off, and remember where they fall."""
        while isinstance(behaviour, Delay):
            if behaviour.before_reading:
                self._early_pause += behaviour.seconds
            else:
                self._pause += behaviour.seconds
            behaviour = behaviour.then
        return behaviour

    async def _before_reading(self) -> None:
        limit = _limit(self._request, "write")
        await anyio.sleep(min(self._early_pause, limit))
        if self._early_pause > limit:
            raise httpx.WriteTimeout("", request=self._request)

    async def _read(self, *, stop_early: bool) -> None:
        stream = self._request.stream
        if not isinstance(stream, httpx.AsyncByteStream):
            raise UsageError("a scripted peer is for asynchronous clients: use httpx.AsyncClient")
        chunks = aiter(stream)
        try:
            async for chunk in chunks:
                self._entry.content += chunk
                if chunk and stop_early:
                    return
        finally:
            # A generator that is left half-way has to be closed here: nobody else would.
            if inspect.isasyncgen(chunks):
                await chunks.aclose()
        self._entry.complete = True
        if self._is_call:
            self._identify(self._entry.content)

    @contextlib.contextmanager
    def _patience(self, act: Act) -> Iterator[None]:
        """Keep the timeout that a real connection would have at this point."""
        kind, error = _PATIENCE.get(type(act), ("read", httpx.ReadTimeout))
        with anyio.move_on_after(_limit(self._request, kind)) as scope:
            yield
        if scope.cancelled_caught:
            raise error("", request=self._request)

    async def _reply(self, act: Act) -> Reply:
        match act:
            case RefuseConnection() | DropBeforeReading() | DropWhileReading():
                await anyio.sleep(self._pause)
                raise act.error(self._request)
            case Respond() | RpcError() | Redirect():
                if not isinstance(act, Redirect) and act.accepts:
                    self._begin(act)
                reply = self._made_up(act)
            case DropAfterAccepting():
                reply = await self._cut_off(act)
            case Hang():
                reply = await self._hang(act)
            case Endless(size=size, accepts=accepts):
                reply = await self._honest(act) if accepts else Reply(200, _JSON, b"")
                reply = replace(reply, content=reply.content[:size], size=size)
            case Honest() | OtherTask() | LyingCancel() | RefusedCancel() | IgnoredCancel():
                reply = await self._honest(act)
            case WrongId() | UnknownState() | Rewrite():
                reply = _falsified(await self._honest(act), act)
            case _:
                assert_never(act)
        return reply

    def _begin(self, manner: Behaviour) -> Begun:
        """Do what is asked."""
        if self._is_call:
            header = self._request.headers.get("a2a-version", "")
            return self._backstage.reception.accept(self._entry.content, header, manner)
        if self._is_card and self._request.method == "GET":
            content = to_bytes(self._backstage.card())
            tag = etag(content)
            if matches(self._request.headers.get("if-none-match", ""), tag):
                return Reply(304, {"etag": tag}, b"")
            return Reply(200, {**_JSON, "etag": tag}, content)
        if self._is_card or self._request.url.path == self._backstage.url.path:
            return Reply(405, _TEXT, b"Method Not Allowed")
        return Reply(404, _TEXT, b"Not Found")

    async def _finish(self, begun: Begun) -> Reply:
        """Wait for what the reply has to wait for, and write it."""
        if isinstance(begun, Reply):
            return begun
        if begun.blocks_on is not None:
            await self._backstage.agent.settled(begun.blocks_on)
        return Reply(200, _JSON, to_bytes(begun.render()))

    async def _honest(self, manner: Behaviour) -> Reply:
        return await self._finish(self._begin(manner))

    async def _cut_off(self, act: DropAfterAccepting) -> Reply:
        begun = self._begin(act)
        if act.bytes_sent == 0 and not act.headers_sent:
            await anyio.sleep(self._pause)
            raise act.loss.error(self._request)
        return replace(await self._finish(begun), cut_at=act.bytes_sent, loss=act.loss)

    async def _hang(self, act: Hang) -> Reply:
        begun = self._begin(act) if act.accepts else None
        released = anyio.Event()
        self._backstage.hanging.add(released)
        try:
            with anyio.CancelScope(shield=act.deaf):
                await (_wait_deaf(released) if act.deaf else released.wait())
        finally:
            self._backstage.hanging.discard(released)
        if begun is None:
            raise Loss.DISCONNECTED.error(self._request)
        return await self._finish(begun)

    def _made_up(self, act: Respond | RpcError | Redirect) -> Reply:
        if isinstance(act, Respond):
            return Reply(act.status, act.headers, act.content)
        if isinstance(act, Redirect):
            return Reply(act.status, {"location": act.location}, b"")
        error: Json = {"code": act.code, "message": act.message}
        if act.data is not None:
            error["data"] = act.data
        request_id = _id_of(self._entry.content) if act.with_id else None
        body = {"jsonrpc": "2.0", "id": request_id, "error": error}
        return Reply(act.status, _JSON, to_bytes(body))


def _kept_content(request: httpx.Request) -> bytes | None:
    """Return the bytes that a request was built from, where httpx has kept them beside its stream.

    A subclass may watch who takes its content, so it is not asked.
    """
    if type(request) is httpx.Request:
        with contextlib.suppress(httpx.RequestNotRead):
            return request.content
    return None


async def _wait_deaf(released: anyio.Event) -> None:
    while not released.is_set():
        try:
            await released.wait()
        except anyio.get_cancelled_exc_class():
            # asyncio's own `Task.cancel` goes through every shield of anyio.
            continue


def _limit(request: httpx.Request, kind: str) -> float:
    limit = request.extensions.get("timeout", {}).get(kind)
    return math.inf if limit is None else float(limit)


def _id_of(content: bytes) -> object:
    try:
        request = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return request.get("id") if isinstance(request, dict) else None


def _falsified(reply: Reply, act: WrongId | UnknownState | Rewrite) -> Reply:
    """Return the reply with its JSON changed; one without JSON has nothing to change."""
    if reply.headers.get("content-type") != _JSON["content-type"]:
        return reply
    body = json.loads(reply.content)
    match act:
        case WrongId():
            given = body.get("id")
            body["id"] = given + 1 if isinstance(given, int) else f"not-{given}"
        case UnknownState(word=word):
            result = body.get("result", {})
            for task in (result, result.get("task"), *result.get("tasks", ())):
                if task and "status" in task:
                    task["status"]["state"] = word
        case Rewrite(change=change):
            body = change(body)
    return replace(reply, content=to_bytes(body))
