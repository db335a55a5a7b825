"""Polling that harms nobody, peers to test with, and event loops that come and go."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import anyio
import pytest
import trio
import trio.testing

from a2a_delegate import (
    A2ADelegate,
    AgentCard,
    AgentInterface,
    AuthRequired,
    Binding,
    Completed,
    DelegateRequest,
    DelegationTimeoutError,
    Failed,
    InputRequired,
    ProtocolVersion,
    Rejected,
    TimedOut,
    UsageError,
)
from a2a_delegate.testing import (
    Operation,
    RefuseConnection,
    Respond,
    ScriptedPeer,
    WorkState,
)
from tests.reports.staging import ORIGIN, VERSIONS, delegate_of, requests_of
from tests.virtual_time import VirtualTimeLoop

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from a2a_delegate.testing import Behaviour

pytestmark = [pytest.mark.anyio, pytest.mark.virtual_time]


def gaps(peer: ScriptedPeer, operation: Operation = Operation.GET) -> list[float]:
    """Return the pauses between the requests of one operation."""
    times = [one.when for one in requests_of(peer, operation)]
    return [later - earlier for earlier, later in pairwise(times)]


# -- polling ---------------------------------------------------------------------------------------


@pytest.mark.report("O1", "P26")
@VERSIONS
@pytest.mark.parametrize(
    "busy", [Respond(429), Respond(503), Respond(429, {"retry-after": "junk"})], ids=repr
)
async def test_a_task_that_nobody_may_ask_about_is_asked_ever_less_and_not_for_ever(
    version: str, busy: Respond
) -> None:
    peer = ScriptedPeer((version,))
    peer.always(Operation.GET, busy)
    async with delegate_of(peer, timeout=600) as delegate:
        result = await delegate.dispatch("stuck")
    assert isinstance(result, TimedOut)
    pauses = gaps(peer)
    # At most one in 15 seconds once it has settled; seven a second had emptied the peer's quota.
    assert len(pauses) <= 50
    assert max(pauses[:3]) < 5 < min(pauses[10:-2])
    assert max(pauses) <= 30
    assert len(set(pauses)) > 10, "with jitter, or a thousand callers would come at once"
    assert peer.truth.tasks[0].state is WorkState.CANCELED, "and nobody is left behind"


@pytest.mark.report("O1", "P26")
@VERSIONS
@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize("seconds", [7, 100])
async def test_a_busy_peer_is_left_alone_for_as_long_as_it_asks(
    version: str, status: int, seconds: int
) -> None:
    peer = ScriptedPeer((version,))
    peer.script(Operation.GET, *[Respond(status, {"retry-after": str(seconds)})] * 3)
    async with delegate_of(peer, timeout=600) as delegate:
        result = await delegate.dispatch("slow 3")
    assert isinstance(result, Completed)
    assert min(gaps(peer)) >= seconds


@pytest.mark.report("O1", "P26")
@VERSIONS
@pytest.mark.parametrize("asked", ["100000", "999999999", "Fri, 31 Dec 9999 23:59:59 GMT"])
async def test_a_pause_beyond_the_deadline_ends_at_the_deadline(version: str, asked: str) -> None:
    peer = ScriptedPeer((version,))
    peer.always(Operation.GET, Respond(503, {"retry-after": asked}))
    async with delegate_of(peer, timeout=60) as delegate:
        began = anyio.current_time()
        result = await delegate.dispatch("stuck")
        took = anyio.current_time() - began
    assert isinstance(result, TimedOut)
    assert 60 - 0.001 <= took <= 60 + 0.5 + 2 * 2.0
    assert len(requests_of(peer, Operation.GET)) <= 3
    assert peer.truth.tasks[0].state is WorkState.CANCELED


@pytest.mark.report("O1")
@VERSIONS
async def test_a_peer_that_is_not_there_is_tried_a_few_times_only(version: str) -> None:
    peer = ScriptedPeer((version,))
    peer.always(Operation.SEND, RefuseConnection())
    async with delegate_of(peer, timeout=600) as delegate:
        result = await delegate.dispatch("work")
    assert isinstance(result, Failed)
    assert result.safe_to_retry
    assert len(requests_of(peer, Operation.SEND)) == 3


@pytest.mark.report("O1")
@VERSIONS
async def test_a_send_that_is_limited_for_ever_is_given_up(version: str) -> None:
    peer = ScriptedPeer((version,))
    peer.always(Operation.SEND, Respond(429, {"retry-after": "1"}))
    async with delegate_of(peer, timeout=600) as delegate:
        result = await delegate.dispatch("work")
    assert isinstance(result, Rejected)
    assert len(requests_of(peer, Operation.SEND)) == 10


@pytest.mark.report("O2")
@VERSIONS
@pytest.mark.parametrize("seconds", [2, 30, 300])
async def test_a_reply_that_is_no_end_is_polled_to_the_end(version: str, seconds: int) -> None:
    peer = ScriptedPeer((version,))
    async with delegate_of(peer) as delegate:
        result = await delegate.dispatch(f"slow {seconds}")
    assert isinstance(result, Completed)
    assert result.output == f"result of slow {seconds}"
    polls = len(requests_of(peer, Operation.GET))
    assert 2 <= polls <= 4 + seconds / 3


@pytest.mark.report("O2")
@VERSIONS
@pytest.mark.parametrize(
    ("state", "kind"),
    [("input-required", InputRequired), ("auth-required", AuthRequired), ("failed", Failed)],
)
async def test_polling_stops_where_the_peer_waits_or_has_ended(
    version: str, state: str, kind: type
) -> None:
    peer = ScriptedPeer((version,))
    async with delegate_of(peer) as delegate, anyio.create_task_group() as group:

        async def turn() -> None:
            await anyio.sleep(5)
            peer.finish(peer.truth.tasks[0].id, state, "more, please")

        group.start_soon(turn)
        result = await delegate.dispatch("stuck")
        polls = len(requests_of(peer, Operation.GET))
        await anyio.sleep(3600)
    assert isinstance(result, kind)
    assert len(requests_of(peer, Operation.GET)) == polls
    assert peer.truth.cancels == 0


@pytest.mark.report("O3", "R27")
@VERSIONS
async def test_a_deadline_hands_back_the_last_snapshot_or_raises_as_the_caller_likes(
    version: str,
) -> None:
    peer = ScriptedPeer((version,))
    async with delegate_of(peer, timeout=5) as delegate:
        result = await delegate.dispatch("stuck")
    assert isinstance(result, TimedOut)
    assert result.last_state == "working"
    assert result.message is not None
    assert str(result.message) == "working on it"
    assert result.handle is not None
    assert result.handle.task_id == peer.truth.tasks[0].id
    with pytest.raises(DelegationTimeoutError) as caught:
        result.raise_for_status()
    assert caught.value.result is result


@pytest.mark.report("O5")
@VERSIONS
@pytest.mark.parametrize(("interval", "most"), [(1.0, 21), (0.1, 201), (1e-9, 1_001)])
async def test_no_interval_makes_a_storm_of_polls(version: str, interval: float, most: int) -> None:
    peer = ScriptedPeer((version,))
    async with delegate_of(
        peer, timeout=10, poll_interval=interval, poll_interval_max=max(interval, 0.1)
    ) as delegate:
        await delegate.dispatch("stuck")
    pauses = gaps(peer)
    assert len(pauses) <= most
    assert min(pauses[:-1]) >= 0.01 - 1e-9


@pytest.mark.report("O5")
@VERSIONS
async def test_many_delegations_do_not_poll_in_step(version: str) -> None:
    peer = ScriptedPeer((version,))
    async with delegate_of(peer, timeout=60) as delegate, anyio.create_task_group() as group:
        for _ in range(20):
            group.start_soon(delegate.dispatch, "stuck")
    moments = [one.when for one in requests_of(peer, Operation.GET)]
    later = [moment for moment in moments if moment > moments[0] + 5]
    assert max(later.count(moment) for moment in later) <= 3


# -- a peer to test with ---------------------------------------------------------------------------


@pytest.mark.report("O8")
@VERSIONS
@pytest.mark.parametrize(
    ("prompt", "status", "state"),
    [
        ("work", "completed", WorkState.COMPLETED),
        ("slow 2", "completed", WorkState.COMPLETED),
        ("history", "completed", WorkState.COMPLETED),
        ("empty", "completed", WorkState.COMPLETED),
        ("fail", "failed", WorkState.FAILED),
        ("reject", "rejected", WorkState.REJECTED),
        ("ask", "input-required", WorkState.INPUT_REQUIRED),
        ("auth", "auth-required", WorkState.AUTH_REQUIRED),
        ("stuck", "timed-out", WorkState.CANCELED),
    ],
)
async def test_a_message_drives_the_scripted_peer_into_every_state(
    version: str, prompt: str, status: str, state: WorkState
) -> None:
    peer = ScriptedPeer((version,))
    async with delegate_of(peer, timeout=20) as delegate:
        result = await delegate.dispatch(prompt)
    assert (result.status, peer.truth.tasks[0].state) == (status, state)


@pytest.mark.report("O9")
@VERSIONS
@pytest.mark.parametrize("behaviour", [Respond(500), Respond(429), RefuseConnection()], ids=repr)
async def test_a_scripted_peer_knows_what_was_asked_and_what_really_ran(
    version: str, behaviour: Behaviour
) -> None:
    peer = ScriptedPeer((version,))
    peer.script(Operation.SEND, behaviour)
    assert list(peer.pending) == [(Operation.SEND, behaviour)]
    async with delegate_of(peer) as delegate:
        result = await delegate.dispatch("work")
    assert not peer.pending
    ran = sum(peer.truth.runs.values())
    assert ran == (0 if isinstance(result, Failed) else 1)
    operations = [one.operation for one in peer.truth.requests if one.operation is not None]
    assert operations[:2] == [Operation.CARD, Operation.SEND]
    assert peer.truth.open == 0


# -- event loops -----------------------------------------------------------------------------------

INTERFACE = AgentInterface(f"{ORIGIN}/rpc", Binding.JSONRPC, ProtocolVersion.V1_0)


def run_on_asyncio(work: Callable[[], Awaitable[object]]) -> Any:
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:

        async def run() -> object:
            return await work()

        return runner.run(run())


def run_on_trio(work: Callable[[], Awaitable[object]]) -> Any:
    return trio.run(work, clock=trio.testing.MockClock(autojump_threshold=0))


@pytest.mark.report("O13")
@pytest.mark.parametrize("run", [run_on_asyncio, run_on_trio])
def test_a_delegate_made_in_each_event_loop_works_in_each(run: Callable[..., Any]) -> None:
    async def work() -> object:
        async with delegate_of(ScriptedPeer()) as delegate:
            return await delegate.dispatch("slow 2")

    assert [run(work).status for _ in range(3)] == ["completed"] * 3


@pytest.mark.report("O13")
@pytest.mark.parametrize("first", [run_on_asyncio, run_on_trio])
@pytest.mark.parametrize("second", [run_on_asyncio, run_on_trio])
def test_a_delegate_kept_from_one_event_loop_is_refused_in_the_next_by_name(
    first: Callable[..., Any], second: Callable[..., Any]
) -> None:
    peer = ScriptedPeer()
    delegate = A2ADelegate("x", AgentCard("A", (INTERFACE,)), client=peer.client())

    async def work() -> object:
        return await delegate.dispatch(DelegateRequest("work"))

    assert first(work).status == "completed"
    with pytest.raises(UsageError, match="one event loop"):
        second(work)
    assert peer.truth.sends == 1
