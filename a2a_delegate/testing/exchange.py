"""One request at a scripted peer, played out as its behaviour says, from arrival to reply.

The order is that of a real connection: refuse it, read the body, begin the work, answer. What comes
first is never touched by what stops before it: a peer that refuses before reading does not look
at the body's stream.
"""

from __future__ import annotations

import inspect
import json
from dataclasses import replace
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final, TypeAlias, assert_never

import anyio

from a2a_delegate.errors import UsageError
from a2a_delegate.testing.acts import (
    Act,
    DropAfterAccepting,
    DropBeforeReading,
    DropWhileReading,
    Endless,
    Hang,
    Honest,
    IgnoredCancel,
    Loss,
    LyingCancel,
    OtherTask,
    RawReply,
    Redirect,
    Refusal,
    RefuseConnection,
    RefusedCancel,
    Respond,
    Rewrite,
    RpcError,
    Subscription,
    UnknownState,
    Unread,
    Unstreamed,
    WrongId,
)
from a2a_delegate.testing.behaviours import (
    Compressed,
    Delay,
    Operation,
    Overtaken,
    acts_before_reading,
    core,
    layer,
    layers,
    lies_about_ids,
    needs_port,
)
from a2a_delegate.testing.cards import etag, matches, to_bytes
from a2a_delegate.testing.event_stream import EVENT_STREAM, EventStream
from a2a_delegate.testing.http_json import NOT_ALLOWED
from a2a_delegate.testing.places import Card
from a2a_delegate.testing.reception import Begun
from a2a_delegate.testing.reply import Reply
from a2a_delegate.testing.streams import Streamed
from a2a_delegate.testing.truth import StreamEntry

if TYPE_CHECKING:
    from collections.abc import Mapping

    from a2a_delegate.testing.backstage import Arrival, Backstage
    from a2a_delegate.testing.face import Head, Json
    from a2a_delegate.testing.layering import Behaviour
    from a2a_delegate.testing.truth import Entry

OPERATION_EXTENSION: Final = "a2a_operation"
"""The httpx extension in which a client that streams its bodies may say what it asks for."""

_OPERATIONS: Mapping[str, Operation] = {operation.value: operation for operation in Operation}
_JSON: Mapping[str, str] = {"content-type": "application/json"}
_TEXT: Mapping[str, str] = {"content-type": "text/plain; charset=utf-8"}

_PATIENCE: Mapping[type, tuple[str, Refusal | Loss]] = {
    RefuseConnection: ("connect", Refusal.CONNECT_TIMEOUT),
    DropBeforeReading: ("write", Loss.WRITE_TIMEOUT),
    DropWhileReading: ("write", Loss.WRITE_TIMEOUT),
}
"""The timeout that runs while an act is prepared; for all others it is the one for reading."""

Made: TypeAlias = Reply | Begun
"""What was made of a request: a reply that stands already, or one that is yet to be written."""

Answered: TypeAlias = (
    Honest
    | DropAfterAccepting
    | Respond
    | RawReply
    | RpcError
    | WrongId
    | OtherTask
    | Subscription
    | Unstreamed
    | LyingCancel
    | RefusedCancel
    | IgnoredCancel
    | UnknownState
    | Endless
    | Redirect
    | Rewrite
)
"""The acts that come to a reply."""

Played: TypeAlias = Reply | Refusal | Loss
"""What becomes of a request: a reply, or a connection that never came about or is lost."""


class Exchange:
    """One request from its arrival to its reply; `behaviour` is what it gets, once it is known."""

    def __init__(self, backstage: Backstage, arrival: Arrival, entry: Entry) -> None:
        self._backstage = backstage
        self._arrival = arrival
        self._entry = entry
        self.behaviour: Behaviour = Honest()
        self._act: Act | None = None
        self._place = backstage.places.find(arrival.method, arrival.target)

    def arrive(self) -> None:
        """Choose the behaviour, unless that needs the body to be taken first.

        Raises UsageError where the script asks what cannot be done with this request.
        """
        self._act = self._foresee()

    async def play(self) -> Played:
        """Let the behaviour come about, of a request that has arrived.

        Raises UsageError where the script asks what cannot be done with this request.
        """
        act = self._act
        pause, patience = self._pause(before_reading=True), self._arrival.patience("write")
        await anyio.sleep(min(pause, patience))
        if pause > patience:
            return Loss.WRITE_TIMEOUT
        if not isinstance(act, Unread):
            await self._read(stop_early=isinstance(act, DropWhileReading))
        if act is None:
            act = self._choose()
        phase, too_late = _PATIENCE.get(type(act), ("read", Loss.READ_TIMEOUT))
        with anyio.move_on_after(self._arrival.patience(phase)) as scope:
            played = await self._played(act)
            if (overtaken := layer(self.behaviour, Overtaken)) is not None:
                await self._backstage.overtaken(self._entry, overtaken.by)
            await anyio.sleep(self._pause(before_reading=False))
        return too_late if scope.cancelled_caught else played

    def _foresee(self) -> Act | None:
        """Choose the behaviour without touching the body; None where that cannot be done."""
        place, content = self._place, self._arrival.content()
        if isinstance(place, Card):
            self._entry.operation = Operation.CARD
        elif not isinstance(place, int):
            known = place.identify(None) or self._told() or place.identify(content)
            if known is None:
                return None
            self._entry.operation, self._entry.version = known
        return self._take(content)

    def _told(self) -> tuple[Operation, None] | None:
        """Return the operation that the request names beside its body, if it does."""
        named = _OPERATIONS.get(self._arrival.foretold() or "")
        return None if named is None else (named, None)

    def _choose(self) -> Act:
        """Choose the behaviour of a streamed request, once it has been read."""
        act = self._take(self._entry.content)
        if acts_before_reading(self.behaviour):
            raise UsageError(
                f"{self.behaviour} acts before the body is read, but this request streams its "
                f"body, so only reading it tells that it is a {self._entry.operation}; build the "
                f"request from bytes, or name its operation in the extension {OPERATION_EXTENSION}"
            )
        return act

    def _take(self, content: bytes | None) -> Act:
        script, operation = self._backstage.script, self._entry.operation
        prompt, place = None, self._place
        if script.asks_for_prompts(operation) and not isinstance(place, Card | int):
            prompt = self._backstage.reception.prompt_of(place, content or b"")
        self.behaviour = script.take(operation, prompt)
        if not self._arrival.on_a_port and (name := needs_port(self.behaviour)) is not None:
            raise UsageError(f"{name} needs a port, on which ScriptedPeer.serve puts a peer")
        return core(self.behaviour)

    def _pause(self, *, before_reading: bool) -> float:
        delays = [one for one in layers(self.behaviour) if isinstance(one, Delay)]
        return sum(one.seconds for one in delays if one.before_reading is before_reading)

    async def _read(self, *, stop_early: bool) -> None:
        chunks = self._arrival.chunks()
        try:
            async for chunk in chunks:
                self._entry.content += chunk
                if chunk and stop_early:
                    return
        finally:
            # A generator that is left half-way has to be closed here: nobody else would.
            if inspect.isasyncgen(chunks):
                await chunks.aclose()
        if self._arrival.is_whole:
            self._entry.complete = True
            if not isinstance(self._place, Card | int):
                known = self._place.identify(self._entry.content)
                self._entry.operation, self._entry.version = known or (None, None)

    async def _played(self, act: Act) -> Played:
        place = self._place
        if (
            not isinstance(place, Card | int)
            and not place.has_ids
            and lies_about_ids(self.behaviour)
        ):
            raise UsageError(f"over HTTP+JSON a reply names no request, so not {self.behaviour}")
        match act:
            case RefuseConnection(phase=refusal):
                return refusal
            case DropBeforeReading(loss=loss) | DropWhileReading(loss=loss):
                return loss
            case DropAfterAccepting(bytes_sent=0, headers_sent=False, loss=loss):
                self._begin(act)
                return loss
            case Hang():
                return await self._hang(act)
            case _:
                reply = await self._reply(act)
        compressed = layer(self.behaviour, Compressed)
        return reply if compressed is None else reply.compressed(compressed.coding)

    async def _reply(self, act: Answered) -> Reply:
        match act:
            case Respond() | RawReply() | RpcError() | Redirect():
                if not isinstance(act, Redirect) and act.accepts:
                    self._begin(act)
                reply = self._made_up(act)
            case DropAfterAccepting():
                reply = await self._honest(act)
                reply = replace(reply, cut_at=act.bytes_sent, loss=act.loss)
            case Endless(size=size, accepts=accepts):
                reply = await self._honest(act) if accepts else Reply(200, _JSON, b"")
                reply = replace(reply, content=reply.content[:size], size=size)
            case (
                Honest()
                | OtherTask()
                | Subscription()
                | Unstreamed()
                | LyingCancel()
                | RefusedCancel()
                | IgnoredCancel()
            ):
                reply = await self._honest(act)
            case WrongId() | UnknownState() | Rewrite():
                reply = _falsified(await self._honest(act), act)
            case _:
                assert_never(act)
        return reply

    def _begin(self, manner: Behaviour) -> Made:
        """Do what is asked."""
        place = self._place
        if isinstance(place, Card):
            return self._card() if self._arrival.method == "GET" else _nothing_there(NOT_ALLOWED)
        if isinstance(place, int):
            return _nothing_there(place)
        header = self._arrival.headers.get("a2a-version", "")
        runs = self._backstage.agent.runs
        before = runs.total()
        answer = self._backstage.reception.accept(place, self._entry.content, header, manner)
        self._entry.ran = runs.total() > before
        return answer

    def _card(self) -> Reply:
        content = to_bytes(self._backstage.card(self._arrival.endpoint))
        tag = etag(content)
        if matches(self._arrival.headers.get("if-none-match", ""), tag):
            return Reply(304, {"etag": tag}, b"")
        return Reply(200, {**_JSON, "etag": tag}, content)

    async def _finish(self, begun: Made) -> Reply:
        """Wait for what the reply has to wait for, and write it."""
        if isinstance(begun, Reply):
            return begun
        if isinstance(begun, Streamed):
            entry = self._entry.stream = StreamEntry()
            return Reply(200, EVENT_STREAM, b"", stream=EventStream(begun, self.behaviour, entry))
        if begun.blocks_on is not None:
            await self._backstage.agent.settled(begun.blocks_on)
        return _json(begun.head, begun.render())

    async def _honest(self, manner: Behaviour) -> Reply:
        return await self._finish(self._begin(manner))

    async def _hang(self, act: Hang) -> Played:
        begun = self._begin(act) if act.accepts else None
        released = anyio.Event()
        self._backstage.hanging.add(released)
        try:
            with anyio.CancelScope(shield=act.deaf):
                await (_wait_deaf(released) if act.deaf else released.wait())
        finally:
            self._backstage.hanging.discard(released)
        return Loss.DISCONNECTED if begun is None else await self._finish(begun)

    def _made_up(self, act: Respond | RawReply | RpcError | Redirect) -> Reply:
        if isinstance(act, Respond):
            return Reply(act.status, act.headers, act.content)
        if isinstance(act, RawReply):
            return Reply(0, {}, act.content, raw=act.by)
        if isinstance(act, Redirect):
            return Reply(act.status, {"location": act.location}, b"")
        assert not isinstance(self._place, Card | int)  # noqa: S101 - it is scripted for calls alone
        return _json(*self._place.error(act, self._entry.content))


def _json(head: Head, value: Json) -> Reply:
    return Reply(head.status, {"content-type": head.media_type}, to_bytes(value))


def _nothing_there(status: int) -> Reply:
    return Reply(status, _TEXT, HTTPStatus(status).phrase.encode())


async def _wait_deaf(released: anyio.Event) -> None:
    while not released.is_set():
        try:
            await released.wait()
        except anyio.get_cancelled_exc_class():
            # asyncio's own `Task.cancel` goes through every shield of anyio.
            continue


def _falsified(reply: Reply, act: WrongId | UnknownState | Rewrite) -> Reply:
    """Return the reply with its JSON changed; one without JSON has nothing to change."""
    if reply.stream is not None:
        reply.stream.change = lambda event: _changed(event, act)
    if "json" not in reply.headers.get("content-type", ""):
        return reply
    return replace(reply, content=to_bytes(_changed(json.loads(reply.content), act)))


def _changed(body: Any, act: WrongId | UnknownState | Rewrite) -> object:
    """Return the JSON of a reply, or of one event, as the act has it."""
    match act:
        case WrongId():
            given = body.get("id")
            body["id"] = given + 1 if isinstance(given, int) else f"not-{given}"
        case UnknownState(word=word):
            # Over HTTP+JSON the result has nothing around it.
            result = body.get("result", body)
            alone = (result.get("task"), result.get("statusUpdate"))
            for task in (result, *alone, *result.get("tasks", ())):
                if task and "status" in task:
                    task["status"]["state"] = word
        case Rewrite(change=change):
            return change(body)
    return body
