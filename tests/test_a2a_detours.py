"""A peer that cannot be reached by one interface is asked by the next one that its card offers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx
import pytest

from a2a_delegate import (
    A2ADelegate,
    A2ADelegateConfig,
    Completed,
    DelegateRequest,
    Failed,
    InputRequired,
    PeerUnreachableError,
    Rerouted,
    Unknown,
    fetch_agent_card,
)
from a2a_delegate.testing import DropAfterAccepting, Operation, ScriptedPeer
from tests.runtime.staging import Notes

if TYPE_CHECKING:
    from collections.abc import Sequence

pytestmark = [pytest.mark.anyio, pytest.mark.virtual_time]

BOTH = ("HTTP+JSON", "JSONRPC")


class Blocked(httpx.AsyncBaseTransport):
    """A way on which nobody is there at some paths; `asked` are those of all sends."""

    def __init__(self, peer: ScriptedPeer, paths: Sequence[str]) -> None:
        self._way = peer.transport()
        self.paths = set(paths)
        self.asked: list[str] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path
        if request.method == "POST":
            self.asked.append(path)
        if any(
            path == one or (path.startswith(f"{one}/") and "message:" in path) for one in self.paths
        ):
            raise httpx.ConnectError("nobody is there")
        return await self._way.handle_async_request(request)


async def delegate_by(
    peer: ScriptedPeer, client: httpx.AsyncClient, **config: float
) -> A2ADelegate:
    card = await fetch_agent_card(peer.url, client=client)
    return A2ADelegate("peer", card, client=client, config=A2ADelegateConfig(**config))  # type: ignore[arg-type]


@pytest.mark.spec("GATE-8")
@pytest.mark.parametrize("version", ["1.0", "0.3"])
@pytest.mark.parametrize("streaming", [True, False])
async def test_a_binding_that_cannot_be_reached_falls_to_the_next_one(
    version: str, *, streaming: bool
) -> None:
    peer = ScriptedPeer((version,), bindings=BOTH, streaming=streaming)
    way = Blocked(peer, ["/rest"])
    async with httpx.AsyncClient(transport=way) as client:
        delegate = await delegate_by(peer, client)
        notes = Notes()
        result = await delegate.dispatch("slow 3", observer=notes)
    assert isinstance(result, Completed)
    assert result.handle is not None
    assert (result.handle.binding, result.handle.endpoint) == ("JSONRPC", peer.url)
    assert [attempt.outcome.value for attempt in result.attempts[:2]] == ["not-sent", "answered"]
    (rerouted,) = notes.of(Rerouted)
    assert rerouted.handle.binding == "JSONRPC"
    assert notes.time_of(Rerouted) == 0, "at once"
    assert sum(peer.truth.runs.values()) == 1


@pytest.mark.spec("GATE-8")
async def test_a_peer_that_is_nowhere_was_sent_nothing() -> None:
    peer = ScriptedPeer(bindings=BOTH)
    way = Blocked(peer, ["/rest", "/rpc"])
    async with httpx.AsyncClient(transport=way) as client:
        result = await (await delegate_by(peer, client)).dispatch("do it")
    assert isinstance(result, Failed)
    assert isinstance(result.error, PeerUnreachableError)
    assert result.safe_to_retry
    assert [path.split("/")[1] for path in way.asked] == ["rest", "rpc", "rpc"]


@pytest.mark.spec("GATE-8")
async def test_what_may_have_run_is_never_sent_by_another_way() -> None:
    peer = ScriptedPeer(("0.3",), bindings=BOTH)
    peer.script(Operation.SEND, DropAfterAccepting())
    way = Blocked(peer, [])
    async with httpx.AsyncClient(transport=way) as client:
        result = await (await delegate_by(peer, client)).dispatch("do it")
    assert isinstance(result, Unknown)
    assert len(way.asked) == 1
    assert sum(peer.truth.runs.values()) == 1


@pytest.mark.spec("GATE-8")
async def test_an_answer_goes_where_its_question_came_from_and_nowhere_else() -> None:
    peer = ScriptedPeer(bindings=BOTH)
    way = Blocked(peer, [])
    async with httpx.AsyncClient(transport=way) as client:
        delegate = await delegate_by(peer, client)
        asked = await delegate.dispatch("ask")
        assert isinstance(asked, InputRequired)
        way.paths.add("/rest")
        result = await delegate.dispatch(DelegateRequest("Rome", continues=asked.handle))
    assert isinstance(result, Failed)
    assert {path.split("/")[1] for path in way.asked} == {"rest"}


async def test_the_next_delegation_tries_the_card_s_own_order_again() -> None:
    peer = ScriptedPeer(bindings=BOTH)
    way = Blocked(peer, ["/rest"])
    async with httpx.AsyncClient(transport=way) as client:
        delegate = await delegate_by(peer, client)
        await delegate.dispatch("do it")
        way.paths.clear()
        result = await delegate.dispatch("do it")
    assert result.handle is not None
    assert result.handle.binding == "HTTP+JSON"
