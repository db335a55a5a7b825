"""Real servers that are not there, that speak another version, or that have forgotten."""

from __future__ import annotations

import functools
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread
import httpx
import pytest

from a2a_delegate import (
    A2ARequestError,
    CardProblem,
    Completed,
    DelegateRequest,
    Downgraded,
    Effect,
    Failed,
    IdKnown,
    InvalidAgentCardError,
    PeerUnreachableError,
    ProtocolVersion,
    Rejected,
    Unknown,
    connect,
)
from tests.interop.behaviours import Behaviour, Expected
from tests.interop.cutting_proxy import CuttingProxy
from tests.interop.delegating import (
    QUICKLY,
    Reacting,
    Stopwatch,
    Told,
    delegate_by_hand,
    delegate_to,
    interface,
    journal,
    operations,
    sends,
    spoken,
)
from tests.interop.peers import everywhere
from tests.interop.quirks import quirk_of
from tests.interop.servers import Server, running
from tests.interop.ways import OVER_HTTP_JSON

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.interop.peers import Peer
    from tests.interop.ways import Way

pytestmark = [pytest.mark.interop, pytest.mark.anyio]

V1_0, V0_3 = ProtocolVersion.V1_0, ProtocolVersion.V0_3

WITH_DOWNGRADE = replace(QUICKLY, allow_downgrade=True)


# --- a version that the server does not speak


@everywhere
async def test_a_version_that_the_card_claims_wrongly_starts_nothing(peer: Peer) -> None:
    claimed = V0_3 if peer.face.version is V1_0 else V1_0
    told = Told()
    wrong = interface(peer.server.interfaces[peer.way.binding], claimed, peer.way.binding)
    async with delegate_by_hand(wrong, config=peer.config) as delegate:
        result = await delegate.dispatch("quick", observer=told)
    refused = Expected(Rejected, work="nothing", effect=Effect.NOT_STARTED)
    peer.shows(Behaviour.WRONG_VERSION, peer.ended(told, result), refused)
    # A peer that knows no method for streams may know the one without.
    assert len(sends(result)) <= 1 + peer.way.streams


@pytest.mark.soak
@pytest.mark.parametrize("way", OVER_HTTP_JSON, ids=str)
async def test_words_that_a_server_does_not_take_start_nothing(
    peer_of: Callable[..., Peer], way: Way
) -> None:
    peer = peer_of("a2akit-0.0", way)
    quirk = quirk_of(peer.face.name, way, Behaviour.COMPLETE)
    assert quirk is not None
    quirk.changes[Behaviour.COMPLETE].check(await peer.dispatch("quick"))


@everywhere
async def test_the_same_message_id_twice_runs_twice_wherever_it_is_sent_twice(peer: Peer) -> None:
    """Why a send is never repeated: no server that we know recognises it."""
    told = Told()
    with CuttingProxy(peer.server.url, repeats=True) as proxy:
        await peer.dispatch("quick", told=told, via=proxy.url)
    runs = peer.server.runs(told.message_id)
    peer.holds(Behaviour.REPEAT, f"ran {runs} times")
    async with peer.delegate() as delegate:
        assert not delegate.capabilities.recognises_repeats


async def test_an_older_version_that_the_card_offers_is_not_spoken_unasked(
    server_of: Callable[[str, str], Server],
) -> None:
    server, told = server_of("a2a-sdk-0.3", "0.3-only"), Told()
    url = server.rpc_url
    async with delegate_by_hand(interface(url, V1_0), interface(url, V0_3)) as delegate:
        result = await delegate.dispatch("quick", observer=told)
    assert isinstance(result, Rejected)
    assert spoken(result) == {"1.0"}
    assert journal(server, told.message_id) == []


async def test_an_allowed_downgrade_happens_once_and_shows(
    server_of: Callable[[str, str], Server],
) -> None:
    server, told = server_of("a2a-sdk-0.3", "0.3-only"), Told()
    faces = [interface(server.rpc_url, version) for version in (V1_0, V0_3)]
    async with delegate_by_hand(*faces, config=WITH_DOWNGRADE) as delegate:
        result = await delegate.dispatch("quick", observer=told)
        again = await delegate.dispatch("quick")
    assert isinstance(result, Completed)
    assert (result.output, result.effect) == ("quick done", Effect.RAN)
    assert told.all(Downgraded) == [Downgraded(refused="1.0", spoken="0.3")]
    assert [send.version for send in sends(result)] == ["1.0", "0.3"]
    assert result.handle is not None
    assert result.handle.version == "0.3"
    assert server.runs(told.message_id) == 1
    # Learned for good: the next one does not try the refused version.
    assert isinstance(again, Completed)
    assert spoken(again) == {"0.3"}


# --- a task that the server has forgotten


async def test_a_task_that_a_restart_has_purged_is_unknown_and_ran(tmp_path: Path) -> None:
    with ExitStack() as first, ExitStack() as second:
        server = first.enter_context(running("a2a-sdk-1.3", "1.0-only", directory=tmp_path))
        port = httpx.URL(server.url).port or 0
        known = anyio.Event()
        told = Reacting(when=lambda signal: isinstance(signal, IdKnown), then=known.set)

        async def restart() -> None:
            await known.wait()
            server.wait_for("execute", told.message_id)
            await anyio.to_thread.run_sync(first.close)
            begin = functools.partial(running, "a2a-sdk-1.3", "1.0-only", port=port)
            await anyio.to_thread.run_sync(second.enter_context, begin())

        async with (
            delegate_to(server.url, V1_0) as delegate,
            anyio.create_task_group() as group,
        ):
            group.start_soon(restart)
            request = DelegateRequest("slow 60", timeout=15.0)
            result = await delegate.dispatch(request, observer=told)
    assert isinstance(result, Unknown)
    assert isinstance(result.cause, A2ARequestError)
    assert (result.cause.code, result.cause.method) == (-32001, "get")
    assert (result.effect, result.safe_to_retry) == (Effect.RAN, False)
    assert result.handle is not None
    assert result.handle.task_id == told.all(IdKnown)[0].task_id
    assert len(sends(result)) == 1
    assert server.runs(told.message_id) == 1


# --- a server that is not there


async def test_a_stopped_server_is_unreachable_after_three_attempts() -> None:
    with running("a2a-sdk-1.3", "1.0-only") as server:
        pass
    watch = Stopwatch()
    async with delegate_by_hand(interface(server.rpc_url, V1_0)) as delegate:
        result = await delegate.dispatch("quick")
    assert isinstance(result, Failed)
    assert isinstance(result.error, PeerUnreachableError)
    assert (result.error.phase, result.effect) == ("connect", Effect.NOT_STARTED)
    assert (result.handle, result.safe_to_retry) == (None, True)
    assert operations(result) == ["send"] * 3
    assert not any(attempt.body_left for attempt in result.attempts)
    assert watch.seconds < 5.0


async def test_an_address_without_an_agent_is_refused_before_anything_is_delegated(
    server_of: Callable[[str, str], Server],
) -> None:
    server = server_of("a2a-sdk-1.3", "1.0-only")
    with pytest.raises(InvalidAgentCardError) as caught:
        async with connect(f"{server.rpc_url}/card.json"):
            pass
    assert caught.value.problem is CardProblem.NOT_A_CARD
    assert caught.value.status == 404
