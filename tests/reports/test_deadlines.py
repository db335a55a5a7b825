"""Replies that take long, and limits that are kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio
import pytest

from a2a_delegate import (
    A2ARequestError,
    CancelReceipt,
    Completed,
    DelegateRequest,
    Failed,
    LostReplyError,
    PeerUnreachableError,
    TimedOut,
    Unknown,
    fetch_agent_card,
)
from a2a_delegate.testing import (
    Delay,
    Hang,
    Operation,
    Respond,
    ScriptedPeer,
    WorkState,
)
from tests.reports.staging import (
    CLEANUP,
    ORIGIN,
    VERSIONS,
    changed,
    delegate_of,
    requests_of,
    runs,
    state_word,
    text_part,
)

if TYPE_CHECKING:
    from tests.reports.staging import Json

pytestmark = [pytest.mark.anyio, pytest.mark.virtual_time]


@pytest.mark.report("L5")
@VERSIONS
async def test_an_immediate_return_is_asked_for_and_its_task_is_polled(version: str) -> None:
    peer = ScriptedPeer((version,))
    async with delegate_of(peer) as delegate:
        result = await delegate.dispatch("slow 30")
    assert isinstance(result, Completed)
    (request,) = requests_of(peer, Operation.SEND)
    body: Any = request.body
    configuration = body["params"]["configuration"]
    asked = configuration == {"returnImmediately": True}
    assert asked if version == "1.0" else configuration["blocking"] is False
    assert requests_of(peer, Operation.GET)


@pytest.mark.report("L5", "L8", "L9", "L14")
@VERSIONS
@pytest.mark.parametrize("seconds", [6, 7, 61, 500])
@pytest.mark.parametrize("patience", [0.5, 5.0], ids="client of {} s".format)
async def test_a_peer_that_holds_the_send_open_is_waited_for(
    version: str, seconds: float, patience: float
) -> None:
    def complete(task: Json) -> None:
        task["status"] = {"state": state_word(version, WorkState.COMPLETED)}
        task["artifacts"] = [{"artifactId": "a", "parts": [text_part(version, "done")]}]

    peer = ScriptedPeer((version,))
    peer.script(Operation.SEND, Delay(seconds, changed(complete)))
    # The client's own limit is httpx's idea of a web page, and no word about an agent's work.
    async with delegate_of(peer, client={"timeout": patience}) as delegate:
        began = anyio.current_time()
        result = await delegate.dispatch(f"slow {seconds}")
    assert isinstance(result, Completed)
    assert result.output == "done"
    assert anyio.current_time() - began == pytest.approx(seconds)
    assert (peer.truth.sends, runs(peer)) == (1, 1)


@pytest.mark.report("L8", "L9", "L10")
@VERSIONS
@pytest.mark.parametrize("limit", [0.5, 3, 61, 1000])
@pytest.mark.parametrize("operation", [Operation.SEND, Operation.GET, Operation.CANCEL])
async def test_each_call_has_a_deadline_of_its_own(
    version: str, limit: float, operation: Operation
) -> None:
    peer = ScriptedPeer((version,), lists=False)
    peer.always(operation, Hang())
    async with delegate_of(peer, timeout=5) as delegate:
        began = anyio.current_time()
        result = await delegate.dispatch(DelegateRequest("stuck", timeout=limit))
        took = anyio.current_time() - began
    assert isinstance(result, Unknown | TimedOut)
    assert limit - 0.001 <= took <= limit + CLEANUP
    assert peer.truth.open == 0


@pytest.mark.report("L6", "P28")
@VERSIONS
async def test_silence_is_told_from_an_error_of_the_peer(version: str) -> None:
    peer = ScriptedPeer((version,), lists=False)
    peer.script(Operation.SEND, Hang(), Respond(503, body="busy", accepts=True))
    async with delegate_of(peer, timeout=3) as delegate:
        silent = await delegate.dispatch("work")
        refused = await delegate.dispatch("work")
    assert isinstance(silent, Unknown)
    assert isinstance(silent.cause, LostReplyError)
    assert [one.http_status for one in silent.attempts if one.operation == "send"] == [None]
    assert "HTTP 503" not in silent.explain()
    assert isinstance(refused, Failed)
    assert isinstance(refused.error, A2ARequestError)
    assert (refused.error.status, refused.error.message) == (503, "busy")


@pytest.mark.report("L11")
@VERSIONS
async def test_one_deadline_covers_every_step_however_slow(version: str) -> None:
    peer = ScriptedPeer((version,))
    for operation in (Operation.SEND, Operation.GET):
        peer.always(operation, Delay(25))
    async with delegate_of(peer) as delegate:
        began = anyio.current_time()
        slow = await delegate.dispatch(DelegateRequest("slow 60", timeout=120))
        late = await delegate.dispatch(DelegateRequest("slow 60", timeout=40))
    assert isinstance(slow, Completed)
    assert isinstance(late, TimedOut)
    assert late.receipt is CancelReceipt.CONFIRMED
    assert anyio.current_time() - began <= 120 + 40 + CLEANUP


@pytest.mark.report("L11")
@pytest.mark.parametrize(("seconds", "limit"), [(25, 30), (61, 90)])
async def test_the_search_for_a_card_has_its_own_limit_and_keeps_to_it(
    seconds: float, limit: float
) -> None:
    peer = ScriptedPeer()
    async with peer.client() as client:
        peer.script(Operation.CARD, Delay(seconds))
        card = await fetch_agent_card(ORIGIN, client=client, timeout=limit)
        assert card.name == peer.name
        peer.script(Operation.CARD, Hang())
        began = anyio.current_time()
        with pytest.raises(PeerUnreachableError) as caught:
            await fetch_agent_card(ORIGIN, client=client, timeout=limit)
        assert anyio.current_time() - began == pytest.approx(limit, abs=0.5)
    assert caught.value.phase == "card"


@pytest.mark.report("L12")
@VERSIONS
@pytest.mark.parametrize("deaf", [False, True])
async def test_a_hanging_get_takes_no_more_than_what_is_left(
    version: str,
    deaf: bool,  # noqa: FBT001 - an example
) -> None:
    peer = ScriptedPeer((version,))
    peer.always(Operation.GET, Hang(deaf=deaf))
    async with delegate_of(peer, timeout=2) as delegate:
        began = anyio.current_time()
        result = await delegate.dispatch("stuck")
        took = anyio.current_time() - began
        peer.release()
    assert isinstance(result, TimedOut)
    assert result.receipt is CancelReceipt.CONFIRMED
    assert took <= 2 + CLEANUP
    assert peer.truth.tasks[0].state is WorkState.CANCELED
