"""What the reports of streams are played with: all interfaces, and what stands between."""

from __future__ import annotations

import copy
import math
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

import anyio
import httpx
import pytest

from a2a_delegate import (
    A2ADelegate,
    A2ADelegateConfig,
    ArtifactChunk,
    AttemptFailed,
    Completed,
    StateSeen,
    StreamCut,
    fetch_agent_card,
)
from a2a_delegate.testing import Operation, Rewrite, ScriptedPeer
from tests.reports.staging import ORIGIN, Notes, delegate_of
from tests.runtime.staging import requests_of

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable

    from a2a_delegate import DelegateResult
    from a2a_delegate.testing import RequestFact
    from tests.reports.staging import Json


class Way(NamedTuple):
    """A version over a binding."""

    version: str
    binding: str

    def __str__(self) -> str:
        return f"{self.version} {self.binding}"


INTERFACES: Final = (
    Way("1.0", "JSONRPC"),
    Way("1.0", "HTTP+JSON"),
    Way("0.3", "JSONRPC"),
    Way("0.3", "HTTP+JSON"),
    Way("0.2", "JSONRPC"),
)

WAYS: Final = pytest.mark.parametrize("way", INTERFACES, ids=str)
"""The ways that a report of streams is played over where it is not about one of them."""

THREE: Final = "chunk 1 chunk 2 chunk 3"
"""What `chunks 3` makes: 1 is the task, 2 its work, then word and piece by turns, 9 its end."""

EVENTS: Final = 9


def streaming_peer(way: Way, **options: Any) -> ScriptedPeer:
    """Make a peer that streams over this way alone."""
    return ScriptedPeer((way.version,), bindings=(way.binding,), streaming=True, **options)


async def watched(
    peer: ScriptedPeer, prompt: str = "chunks 3", **config: Any
) -> tuple[DelegateResult, Notes]:
    """Delegate once with a card that offers streams, and note what is told.

    Streams are insisted on unless `config` says otherwise, since before 1.0 nobody subscribes else.
    """
    notes = Notes()
    async with delegate_of(peer, **{"watch": "stream", **config}) as delegate:
        result = await delegate.dispatch(prompt, observer=notes)
    return result, notes


def text_told(notes: Notes) -> str:
    """Put the text of the artifacts together from what was told of them."""
    texts: dict[str, str] = {}
    for chunk in notes.of(ArtifactChunk):
        name = chunk.artifact.artifact_id
        texts[name] = (texts.get(name, "") if chunk.append else "") + chunk.artifact.text
    return "\n\n".join(texts.values())


def cuts(notes: Notes) -> list[StreamCut]:
    """Return what was told of streams that ended before their task."""
    return notes.of(StreamCut)


def streams(peer: ScriptedPeer) -> list[RequestFact]:
    """Return the requests for a stream that got one, in order."""
    return [one for one in peer.truth.requests if one.stream is not None]


def subscriptions(peer: ScriptedPeer) -> list[RequestFact]:
    """Return the subscriptions that arrived, in order."""
    return requests_of(peer, Operation.SUBSCRIBE)


def assert_all_was_seen(result: DelegateResult, notes: Notes) -> None:
    """The three pieces came, each once, and the stream was followed to its end."""
    assert isinstance(result, Completed)
    assert result.output == text_told(notes) == THREE
    assert [chunk.artifact.text for chunk in notes.of(ArtifactChunk)] == [
        "chunk 1",
        " chunk 2",
        " chunk 3",
    ]
    assert not cuts(notes)
    assert not notes.of(AttemptFailed)
    assert [one.state for one in notes.of(StateSeen)] == ["submitted", "working", "completed"]


# -- events ----------------------------------------------------------------------------------------


def result_in(reply: Json) -> Json:
    """Return what a reply or an event holds, in an envelope or without."""
    held: Json = reply.get("result", reply)
    return held


def task_shown(reply: Json) -> Json | None:
    """Return the whole task that a reply or an event shows, if it does."""
    held = result_in(reply)
    task: Json | None = held.get("task", held if "id" in held and "status" in held else None)
    return task


def update_shown(reply: Json, name: str) -> Json | None:
    """Return the update that an event shows, if it is of this name: `status` or `artifact`."""
    held = result_in(reply)
    if held.get("kind") == f"{name}-update":
        return held
    update: Json | None = held.get(f"{name}Update")
    return update


def rewritten(change: Callable[[Json], object]) -> Rewrite:
    """Change in place what each reply or event of an operation holds."""

    def rewrite(reply: Json) -> Json:
        told = copy.deepcopy(reply)
        change(result_in(told))
        return told

    return Rewrite(rewrite)


def wrapped(wrap: Callable[[Json], Any]) -> Rewrite:
    """Put what each event shows into another wrapper."""

    def rewrite(event: Json) -> Any:
        if "jsonrpc" in event:
            return {**event, "result": wrap(result_in(event))}
        return wrap(event)

    return Rewrite(rewrite)


def updates_rewritten(name: str, change: Callable[[Json], object]) -> Rewrite:
    """Change in place the updates of one name, `status` or `artifact`."""

    def rewrite(held: Json) -> None:
        update = update_shown(held, name)
        if update is not None:
            change(update)

    return rewritten(rewrite)


def statuses_rewritten(change: Callable[[Json], object]) -> Rewrite:
    """Change in place every status, that of an update and that of a whole task."""

    def rewrite(held: Json) -> None:
        for holder in (update_shown(held, "status"), task_shown(held)):
            if holder is not None:
                change(holder["status"])

    return rewritten(rewrite)


def said_in(way: Way, text: str) -> Json:
    """Write a message of the agent as a way spells it."""
    message: Json = {"messageId": "m-1"}
    if way == Way("0.3", "HTTP+JSON"):
        return {**message, "role": "ROLE_AGENT", "content": [{"text": text}]}
    if way.version == "1.0":
        return {**message, "role": "ROLE_AGENT", "parts": [{"text": text}]}
    parts = [{"kind": "text", "text": text}]
    return {**message, "role": "agent", "kind": "message", "parts": parts}


def spelled(way: Way, state: str) -> str:
    """Spell a state as a way does."""
    if way == Way("0.3", "HTTP+JSON") and state == "canceled":
        return "TASK_STATE_CANCELLED"
    if way.version == "1.0" or way.binding == "HTTP+JSON":
        return "TASK_STATE_" + state.upper().replace("-", "_")
    return state


# -- what stands between ---------------------------------------------------------------------------


class Balancer(httpx.AsyncBaseTransport):
    """A load balancer before a peer: it ends streams in good order, at times of its own.

    Each ends after `seconds`, and of each the last `keeps_back` bytes never come. With a
    `media_type` it calls every reply that.
    """

    def __init__(
        self,
        peer: ScriptedPeer,
        *,
        seconds: float = math.inf,
        keeps_back: int = 0,
        media_type: str | None = None,
    ) -> None:
        self._inner = peer.transport()
        self._seconds = seconds
        self._keeps_back = keeps_back
        self._media_type = media_type

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Pass a request on, and its reply back."""
        response = await self._inner.handle_async_request(request)
        if "event-stream" in response.headers.get("content-type", ""):
            inner = cast("httpx.AsyncByteStream", response.stream)
            response.stream = _Ended(inner, self._seconds, self._keeps_back)
        if self._media_type is not None:
            response.headers["content-type"] = self._media_type
        return response


class _Ended(httpx.AsyncByteStream):
    """A stream that ends early."""

    def __init__(self, inner: httpx.AsyncByteStream, seconds: float, keeps_back: int) -> None:
        self._inner = inner
        self._chunks = aiter(inner)
        self._deadline = anyio.current_time() + seconds
        self._keeps_back = keeps_back
        self._held = b""

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        chunk = None
        with anyio.CancelScope(deadline=self._deadline):
            chunk = await anext(self._chunks, None)
        if chunk is None:
            raise StopAsyncIteration
        came = self._held + chunk
        passed = max(0, len(came) - self._keeps_back)
        self._held = came[passed:]
        return came[:passed]

    async def aclose(self) -> None:
        await self._inner.aclose()


@asynccontextmanager
async def delegate_behind(balancer: Balancer, **config: Any) -> AsyncGenerator[A2ADelegate, None]:
    """Make a delegate whose requests go through a load balancer."""
    async with httpx.AsyncClient(transport=balancer, trust_env=False) as client:
        card = await fetch_agent_card(ORIGIN, client=client)
        options = A2ADelegateConfig(**{"watch": "stream", **config})
        async with A2ADelegate("peer", card, client=client, config=options) as delegate:
            yield delegate
