"""The connection is dropped after the send: found again, or unknown, and never run twice."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from a2a_delegate import (
    AttemptFailed,
    Cancelled,
    CancelReceipt,
    CancelToken,
    Completed,
    DelegateRequest,
    Effect,
    Failed,
    LostReplyError,
    Recovered,
    StreamCut,
    Unknown,
)
from tests.interop.behaviours import IN_PIECES, Behaviour, Expected, words_of
from tests.interop.cutting_proxy import (
    CuttingProxy,
    after_events,
    all_but_the_last_byte,
    nothing,
    the_head,
    within_event,
)
from tests.interop.delegating import QUICKLY, Reacting, Told, operations, sends, spoken
from tests.interop.peers import everywhere, on
from tests.interop.ways import BY_STREAM, WAYS

if TYPE_CHECKING:
    from collections.abc import Callable

    from a2a_delegate import DelegateResult
    from tests.interop.behaviours import Ended
    from tests.interop.cutting_proxy import Cut
    from tests.interop.peers import Peer

pytestmark = [pytest.mark.interop, pytest.mark.anyio]

CUTS = {"before-a-byte": nothing, "after-the-head": the_head}

FOUND = Expected(Completed, "quick done", note="found again")


def how(told: Told) -> str:
    """Whether the task was found by a look-up."""
    return "found again" if told.all(Recovered) else ""


@pytest.mark.parametrize("cut", CUTS)
@everywhere
async def test_a_lost_reply_is_found_again_or_unknown(peer: Peer, cut: str) -> None:
    told = Told()
    with CuttingProxy(peer.server.url, cut=CUTS[cut]) as proxy:
        ended = await peer.dispatch("quick", told=told, via=proxy.url)
    assert proxy.lost == len(sends(ended.result)) == 1
    assert not ended.result.safe_to_retry
    peer.shows(Behaviour.LOST, peer.ended(told, ended.result, note=how(told)), FOUND)


@everywhere
async def test_a_connection_that_drops_while_the_server_works_does_not_run_it_twice(
    peer: Peer,
) -> None:
    told = Told()
    with CuttingProxy(peer.server.url, waits=False) as proxy:
        ended = await peer.dispatch("quick", told=told, via=proxy.url)
    assert proxy.lost == len(sends(ended.result)) == 1
    # The task may not be listed yet when first looked for.
    peer.shows(Behaviour.DROPPED, peer.ended(told, ended.result, note=how(told)), FOUND)


@everywhere
async def test_an_id_in_a_cut_reply_is_enough(peer: Peer) -> None:
    told = Told()
    with CuttingProxy(peer.server.url, cut=all_but_the_last_byte) as proxy:
        ended = await peer.dispatch("quick", told=told, via=proxy.url)
    assert proxy.lost == len(sends(ended.result)) == 1
    assert "list" not in operations(ended.result)
    peer.shows(Behaviour.CUT, ended, Expected(Completed, "quick done"))


WHOLE = Expected(Completed, IN_PIECES)


async def end_behind_a_cut_stream(peer: Peer, cut: Cut) -> Ended:
    """Delegate through a proxy that cuts the first stream while the agent works."""
    told = Told()
    with CuttingProxy(peer.server.url, cut=cut) as proxy:
        request = DelegateRequest("chunks 5", timeout=4.0)
        ended = await peer.dispatch(request, told=told, via=proxy.url)
    assert proxy.lost == len(sends(ended.result)) == 1
    first, *_ = told.all(StreamCut)
    assert isinstance(first.error, LostReplyError)
    assert "subscribe" in operations(ended.result)
    is_doubled = (words_of(ended.result) or "").count("piece 5.") > 1
    return replace(ended, note="with pieces twice" if is_doubled else "")


@on(ways=BY_STREAM)
async def test_a_stream_that_is_cut_between_two_events_is_no_result(peer: Peer) -> None:
    peer.shows(Behaviour.CUT_BETWEEN, await end_behind_a_cut_stream(peer, after_events(3)), WHOLE)


@on(ways=BY_STREAM)
async def test_a_stream_that_is_cut_within_an_event_is_no_result(peer: Peer) -> None:
    peer.shows(Behaviour.CUT_WITHIN, await end_behind_a_cut_stream(peer, within_event(3)), WHOLE)


@on("a2a-sdk-0.3", ways=BY_STREAM)
async def test_watching_does_not_change_what_a_server_of_0_3_stores(peer: Peer) -> None:
    with CuttingProxy(peer.server.url, cut=after_events(3)) as proxy:
        async with peer.delegate(via=proxy.url, config=QUICKLY) as delegate:
            result = await delegate.dispatch(DelegateRequest("chunks 5", timeout=4.0))
    assert proxy.lost == len(sends(result)) == 1
    assert "subscribe" not in operations(result)
    assert (words_of(result) or "").rstrip() == IN_PIECES


# Their servers can list, if only in their other version.
@on("a2a-sdk-1.3", "a2a-sdk-1.3 as 0.3", "js-sdk-1.3", "js-sdk-1.3 as 0.3", ways=WAYS[1:3])
async def test_only_the_look_up_goes_over_the_1_0_face(peer: Peer) -> None:
    with CuttingProxy(peer.server.url) as proxy:
        result = (await peer.dispatch("slow 1", via=proxy.url)).result
    assert isinstance(result, Completed)
    assert operations(result)[:2] == ["send", "list"]
    assert spoken(result, by=lambda one: one.operation == "list") == {"1.0"}
    assert spoken(result, by=lambda one: one.operation != "list") == {peer.face.version}


async def outcome_behind_a_lost_reply(
    peer: Peer, text: str, *, told: Told, cancel: CancelToken | None = None
) -> DelegateResult:
    """Delegate through a proxy that lets no byte of the reply to the send through."""
    with CuttingProxy(peer.server.url) as proxy:
        ended = await peer.dispatch(text, told=told, cancel=cancel, via=proxy.url)
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
