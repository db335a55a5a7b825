"""The connection is dropped after the send: found again, or unknown, and never run twice."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from a2a_delegate import (
    AttemptFailed,
    Cancelled,
    CancelReceipt,
    CancelToken,
    Completed,
    Effect,
    Failed,
    Recovered,
    Unknown,
)
from tests.interop.behaviours import Behaviour, Expected
from tests.interop.cutting_proxy import CuttingProxy, all_but_the_last_byte, nothing, the_head
from tests.interop.delegating import Reacting, Told, operations, sends, spoken
from tests.interop.peers import params

if TYPE_CHECKING:
    from collections.abc import Callable

    from a2a_delegate import DelegateResult
    from tests.interop.peers import Peer

pytestmark = [pytest.mark.interop, pytest.mark.anyio]

CUTS = {"before-a-byte": nothing, "after-the-head": the_head}

FOUND = Expected(Completed, "quick done", note="found again")

LISTED = params("a2a-sdk-1.3", "a2a-sdk-1.3 as 0.3", "js-sdk-1.3", "js-sdk-1.3 as 0.3")
"""Faces whose server can list, if only in its other version."""


def how(told: Told) -> str:
    """Whether the task was found by a look-up."""
    return "found again" if told.all(Recovered) else ""


@pytest.mark.parametrize("cut", CUTS)
async def test_a_lost_reply_is_found_again_or_unknown(peer: Peer, cut: str) -> None:
    told = Told()
    with CuttingProxy(peer.server.rpc_url, cut=CUTS[cut]) as proxy:
        ended = await peer.dispatch("quick", told=told, url=proxy.url)
    assert proxy.lost == len(sends(ended.result)) == 1
    assert not ended.result.safe_to_retry
    peer.shows(Behaviour.LOST, peer.ended(told, ended.result, note=how(told)), FOUND)


async def test_a_connection_that_drops_while_the_server_works_does_not_run_it_twice(
    peer: Peer,
) -> None:
    told = Told()
    with CuttingProxy(peer.server.rpc_url, waits=False) as proxy:
        ended = await peer.dispatch("quick", told=told, url=proxy.url)
    assert proxy.lost == len(sends(ended.result)) == 1
    # The task may not be listed yet when first looked for.
    peer.shows(Behaviour.DROPPED, peer.ended(told, ended.result, note=how(told)), FOUND)


async def test_an_id_in_a_cut_reply_is_enough(peer: Peer) -> None:
    told = Told()
    with CuttingProxy(peer.server.rpc_url, cut=all_but_the_last_byte) as proxy:
        ended = await peer.dispatch("quick", told=told, url=proxy.url)
    assert proxy.lost == len(sends(ended.result)) == 1
    assert "list" not in operations(ended.result)
    peer.shows(Behaviour.CUT, ended, Expected(Completed, "quick done"))


@pytest.mark.parametrize("peer", LISTED, indirect=True)
async def test_only_the_look_up_goes_over_the_1_0_face(peer: Peer) -> None:
    with CuttingProxy(peer.server.rpc_url) as proxy:
        result = (await peer.dispatch("slow 1", url=proxy.url)).result
    assert isinstance(result, Completed)
    assert operations(result)[:2] == ["send", "list"]
    assert spoken(result, by=lambda one: one.operation == "list") == {"1.0"}
    assert spoken(result, by=lambda one: one.operation != "list") == {peer.face.version}


async def outcome_behind_a_lost_reply(
    peer: Peer, text: str, *, told: Told, cancel: CancelToken | None = None
) -> DelegateResult:
    """Delegate through a proxy that lets no byte of the reply to the send through."""
    with CuttingProxy(peer.server.rpc_url) as proxy:
        ended = await peer.dispatch(text, told=told, cancel=cancel, url=proxy.url)
    assert proxy.lost == 1
    assert peer.server.runs(told.message_id) == 1
    return ended.result


async def test_a_failure_behind_a_lost_reply_is_found_as_one(
    peer_of: Callable[[str], Peer],
) -> None:
    result = await outcome_behind_a_lost_reply(peer_of("a2a-sdk-1.3"), "fail", told=Told())
    assert isinstance(result, Failed)
    assert result.effect is Effect.RAN


async def test_a_reply_that_answers_with_a_message_cannot_be_found_again(
    peer_of: Callable[[str], Peer],
) -> None:
    result = await outcome_behind_a_lost_reply(peer_of("a2a-sdk-1.3"), "hello", told=Told())
    # There is no task to list, and that it is not listed proves nothing.
    assert isinstance(result, Unknown)
    assert result.effect is Effect.MAY_HAVE_RUN
    assert set(operations(result)) == {"send", "list"}


async def test_a_cancel_while_the_task_is_looked_for_stops_it_at_the_peer(
    peer_of: Callable[[str], Peer],
) -> None:
    peer, token = peer_of("a2a-sdk-1.3"), CancelToken()
    told = Reacting(when=lambda signal: isinstance(signal, AttemptFailed), then=token.cancel)
    result = await outcome_behind_a_lost_reply(peer, "slow 30", told=told, cancel=token)
    assert isinstance(result, Cancelled)
    assert (result.receipt, result.effect) == (CancelReceipt.CONFIRMED, Effect.RAN)
    assert len(told.all(Recovered)) == 1
    peer.server.wait_for("cancelled", told.message_id)
