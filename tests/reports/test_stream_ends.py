"""Streams that end before their task does: cut, closed, silent. None of that is a result."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import anyio
import pytest

from a2a_delegate import (
    AttemptFailed,
    Cancelled,
    CancelReceipt,
    Completed,
    Effect,
    Failed,
    LostReplyError,
    TimedOut,
    Unknown,
    open_delegation,
)
from a2a_delegate.testing import (
    Delay,
    Dribble,
    DropAfterAccepting,
    DropBeforeReading,
    EventKind,
    EventOrder,
    Hang,
    Loss,
    Opening,
    Operation,
    Pings,
    RefusedCancel,
    Respond,
    Stop,
    StopStream,
    StreamEnd,
    Subscription,
    Unstreamed,
    WithoutEvents,
    WorkEndsWithStream,
    WorkState,
)
from tests.reports.staging import Notes, delegate_of, requests_of, runs
from tests.reports.streaming import (
    EVENTS,
    THREE,
    WAYS,
    Balancer,
    Way,
    cuts,
    delegate_behind,
    rewritten,
    said_in,
    spelled,
    streaming_peer,
    streams,
    subscriptions,
    text_told,
    updates_rewritten,
    watched,
)

if TYPE_CHECKING:
    from a2a_delegate import DelegateResult
    from a2a_delegate.testing import Behaviour, ScriptedPeer
    from tests.reports.staging import Json

pytestmark = [pytest.mark.anyio, pytest.mark.virtual_time]

LATER = 30
"""Seconds within which any watch here must have found out that a short task has ended."""


# -- closed in good order, or cut ------------------------------------------------------------------


@pytest.mark.report("S1", "P29", "R1")
@WAYS
@pytest.mark.parametrize("how", [Stop.END, Stop.CUT])
@pytest.mark.parametrize("after", range(1, EVENTS))
async def test_a_stream_that_ends_before_its_task_is_no_result(
    way: Way, how: Stop, after: int
) -> None:
    peer = streaming_peer(way)
    peer.script(Operation.SEND, StopStream(after, how))
    result, notes = await watched(peer)
    assert isinstance(result, Completed)
    assert result.output == text_told(notes) == THREE
    (cut,) = cuts(notes)
    assert cut.task_id == peer.truth.tasks[0].id
    assert isinstance(cut.error, LostReplyError if how is Stop.CUT else type(None))
    assert requests_of(peer, Operation.GET)
    assert (peer.truth.sends, runs(peer)) == (1, 1)


@pytest.mark.report("S1", "P29", "R27")
@WAYS
@pytest.mark.parametrize("how", [Stop.END, Stop.CUT])
async def test_what_streams_showed_is_no_answer_while_the_task_goes_on(way: Way, how: Stop) -> None:
    peer = streaming_peer(way)
    for operation in (Operation.SEND, Operation.SUBSCRIBE):
        peer.always(operation, StopStream(6, how))
    result, notes = await watched(peer, "chunks 300", timeout=20)
    assert isinstance(result, TimedOut)
    assert (result.last_state, result.effect) == ("working", Effect.RAN)
    assert result.receipt is CancelReceipt.CONFIRMED
    (artifact,) = result.artifacts
    assert artifact.text.startswith("chunk 1 chunk 2 chunk 3 "), "it is not lost either"
    assert text_told(notes) == artifact.text
    assert peer.truth.tasks[0].state is WorkState.CANCELED


@pytest.mark.report("S2", "S27")
@WAYS
@pytest.mark.parametrize("seconds", [30, 300])
@pytest.mark.parametrize("pings", [True, False])
async def test_a_stream_that_is_closed_cleanly_while_its_task_goes_on_is_resumed(
    way: Way,
    seconds: float,
    pings: bool,  # noqa: FBT001 - an example
) -> None:
    peer, notes = streaming_peer(way), Notes()
    if pings:
        for operation in (Operation.SEND, Operation.SUBSCRIBE):
            peer.always(operation, Pings(15.0))
    work = 2.2 * seconds
    balancer = Balancer(peer, seconds=seconds)
    async with delegate_behind(balancer, timeout=1_000, stream_idle_timeout=400) as delegate:
        result = await delegate.dispatch(f"slow {work:g}", observer=notes)
    assert isinstance(result, Completed)
    assert result.output == text_told(notes) == f"result of slow {work:g}"
    # A subscription of 0.3 shows what is new and nothing else, so that one showed nothing at all.
    assert len(cuts(notes)) + len(notes.of(AttemptFailed)) == 2
    assert len(cuts(notes)) == (2 if way.version == "1.0" else 1)
    assert {cut.error for cut in cuts(notes)} == {None}, "and each was closed in good order"
    assert len(streams(peer)) == 3, "each time that it is closed it is subscribed to again"
    end = peer.truth.tasks[0].ended
    assert end is not None
    last = streams(peer)[-1].stream
    assert last is not None
    # Servers of 0.2 show nothing to who subscribes, so there the poll beside the stream finds out.
    within = LATER if way.version == "0.2" else 0.1
    assert last.closed == pytest.approx(end, abs=within), "the end is seen as it comes"


NOT_SUBSCRIBED: list[Behaviour] = [
    DropBeforeReading(Loss.READ_ERROR),
    Respond(502, body="bad gateway"),
    DropAfterAccepting(headers_sent=True, loss=Loss.READ_ERROR),
]
"""Three ways in which a subscription fails."""


@pytest.mark.report("S3")
@WAYS
async def test_a_stream_that_drops_within_an_event_is_resumed_with_backoff(way: Way) -> None:
    peer = streaming_peer(way)
    peer.script(Operation.SEND, DropAfterAccepting(1_400, loss=Loss.READ_ERROR))
    peer.script(Operation.SUBSCRIBE, *NOT_SUBSCRIBED)
    prompt, output = "chunks 300", " ".join(f"chunk {n}" for n in range(1, 301))
    result, notes = await watched(peer, prompt)
    assert isinstance(result, Completed)
    assert result.output == text_told(notes) == output, "nothing is lost, and nothing comes twice"
    times = [one.when for one in subscriptions(peer)]
    assert len(times) == 4, "three fail and the fourth works"
    pauses = [later - sooner for sooner, later in pairwise(times)]
    assert all(least <= pause <= 2 * least for least, pause in zip((1, 2, 4), pauses, strict=True))
    assert (peer.truth.sends, runs(peer)) == (1, 1)
    assert peer.truth.open == 0


@pytest.mark.report("S3")
@WAYS
@pytest.mark.parametrize("trouble", NOT_SUBSCRIBED, ids=repr)
async def test_resuming_is_bounded_and_then_the_task_is_asked_for(
    way: Way, trouble: Behaviour
) -> None:
    peer = streaming_peer(way)
    peer.script(Operation.SEND, StopStream(1, Stop.CUT))
    peer.always(Operation.SUBSCRIBE, trouble)
    result, _ = await watched(peer, "slow 300")
    assert isinstance(result, Completed)
    assert len(subscriptions(peer)) == 5
    end = peer.truth.tasks[0].ended
    assert end is not None
    assert requests_of(peer, Operation.GET)[-1].when <= end + 30


@pytest.mark.report("S27", "S13")
@WAYS
@pytest.mark.parametrize("opening", Opening)
async def test_a_subscription_that_the_server_ends_early_is_taken_up_again(
    way: Way, opening: Opening
) -> None:
    peer, notes = streaming_peer(way), Notes()
    peer.always(Operation.SUBSCRIBE, Subscription(opening))
    async with delegate_behind(Balancer(peer, seconds=30)) as delegate:
        result = await delegate.dispatch("slow 100", observer=notes)
    assert isinstance(result, Completed)
    assert result.output == text_told(notes) == "result of slow 100"
    assert len(subscriptions(peer)) >= 3
    assert peer.truth.sends == 1


# -- silent ----------------------------------------------------------------------------------------


@pytest.mark.report("S26", "L7")
@WAYS
async def test_a_dead_connection_is_found_out_and_is_no_status(way: Way) -> None:
    peer = streaming_peer(way)
    peer.script(Operation.SEND, StopStream(1, Stop.SILENCE))
    peer.always(Operation.SUBSCRIBE, Pings(15.0))
    result, notes = await watched(peer, "slow 300")
    assert isinstance(result, Completed)
    (cut,) = cuts(notes)
    assert isinstance(cut.error, LostReplyError)
    assert cut.error.phase == "idle"
    assert "60 s" in str(cut.error)
    assert notes.time_of(type(cut)) == pytest.approx(60, abs=1)
    dead, resumed = streams(peer)
    assert dead.stream is not None
    assert dead.stream.end is StreamEnd.CLIENT, "it is closed, not kept"
    assert resumed.operation is Operation.SUBSCRIBE


@pytest.mark.report("S26", "S4")
@WAYS
async def test_a_comment_shows_that_a_connection_is_alive(way: Way) -> None:
    peer = streaming_peer(way)
    peer.script(Operation.SEND, Pings(45.0))
    result, notes = await watched(peer, "slow 500")
    assert isinstance(result, Completed)
    assert result.output == text_told(notes) == "result of slow 500"
    assert not cuts(notes)
    assert len(streams(peer)) == 1


@pytest.mark.report("S4")
@WAYS
async def test_a_stream_of_comments_alone_hides_no_end(way: Way) -> None:
    peer = streaming_peer(way)
    peer.always(Operation.SEND, Pings(1.0, StopStream(1, Stop.SILENCE)))
    result, notes = await watched(peer, "slow 60")
    assert isinstance(result, Completed)
    assert result.output == text_told(notes) == "result of slow 60"
    assert not cuts(notes), "the poll beside the stream finds out"
    assert requests_of(peer, Operation.GET)[-1].when - peer.truth.tasks[0].started <= 60 + LATER


@pytest.mark.report("S13")
@WAYS
@pytest.mark.parametrize(
    "behaviour",
    [
        Subscription(Opening.SILENCE),
        StopStream(0, Stop.SILENCE),
        Pings(10, StopStream(0, Stop.SILENCE)),
        Hang(),
        Dribble(20, 900.0, Unstreamed()),
        Dribble(20, 900.0, Respond(500, {"content-type": "text/plain"}, "sorry, " * 9)),
    ],
    ids=repr,
)
async def test_a_subscription_that_stays_silent_ends_no_watch(
    way: Way, behaviour: Behaviour
) -> None:
    peer = streaming_peer(way)
    peer.script(Operation.SEND, StopStream(1, Stop.CUT))
    peer.always(Operation.SUBSCRIBE, behaviour)
    result, notes = await watched(peer, "slow 200")
    assert isinstance(result, Completed)
    assert result.output == text_told(notes) == "result of slow 200"
    end = peer.truth.tasks[0].ended
    assert end is not None
    assert requests_of(peer, Operation.GET)[-1].when <= end + LATER
    assert peer.truth.open == 0
    if isinstance(behaviour, Pings):
        assert len(subscriptions(peer)) == 1, "it is alive, and the poll beside it finds out"
    else:
        first, second, *_ = [one.when for one in subscriptions(peer)]
        assert second - first == pytest.approx(60, abs=5), "it is left when it was silent for long"


@pytest.mark.report("L7")
@WAYS
@pytest.mark.parametrize("silence", [StopStream(0, Stop.SILENCE), Hang()], ids=repr)
async def test_a_first_stream_that_stays_silent_is_a_loss_and_no_status(
    way: Way, silence: Behaviour
) -> None:
    peer = streaming_peer(way, lists=False)
    peer.script(Operation.SEND, silence)
    result, _ = await watched(peer, "slow 5", timeout=90)
    assert isinstance(result, Unknown)
    assert isinstance(result.cause, LostReplyError)
    assert result.cause.phase == "deadline"
    assert not hasattr(result.cause, "status")
    assert "HTTP" not in str(result.cause)
    assert result.effect is Effect.MAY_HAVE_RUN
    assert (peer.truth.sends, runs(peer)) == (1, 1)


@pytest.mark.report("L8", "L9")
@WAYS
@pytest.mark.parametrize("bound", [60, 100])
async def test_an_agent_may_show_nothing_for_as_long_as_it_works(way: Way, bound: float) -> None:
    peer = streaming_peer(way)
    # The head of the stream comes at once, and nothing in it before the artifact is made.
    peer.script(Operation.SEND, EventOrder((3, 1, 2)))
    result, _ = await watched(peer, "slow 70", stream_idle_timeout=bound)
    assert isinstance(result, Completed)
    assert result.output == "result of slow 70"
    assert (peer.truth.sends, runs(peer)) == (1, 1)


# -- after the end ---------------------------------------------------------------------------------


@pytest.mark.report("S20", "P29")
@WAYS
@pytest.mark.parametrize("how", [Stop.END, Stop.CUT])
async def test_after_a_stream_that_shows_no_end_the_stored_answer_is_asked_for(
    way: Way, how: Stop
) -> None:
    peer = streaming_peer(way)
    hidden = WithoutEvents(
        EventKind.ARTIFACT, WithoutEvents(EventKind.END, StopStream(EVENTS, how))
    )
    peer.script(Operation.SEND, hidden)
    result, notes = await watched(peer)
    assert isinstance(result, Completed)
    assert result.output == text_told(notes) == THREE
    assert not subscriptions(peer), "a task that has ended is not subscribed to"
    assert len(requests_of(peer, Operation.GET)) == 1


@pytest.mark.report("S20")
@WAYS
async def test_more_of_an_artifact_that_nobody_has_seen_begins_it(way: Way) -> None:
    peer = streaming_peer(way)
    peer.script(Operation.SEND, updates_rewritten("artifact", lambda one: one.update(append=True)))
    result, notes = await watched(peer)
    assert isinstance(result, Completed)
    assert result.output == text_told(notes) == THREE
    assert not cuts(notes)


@pytest.mark.report("P30")
@WAYS
@pytest.mark.parametrize("missing", [1, 2, 3, 40])
async def test_a_last_event_without_its_blank_line_counts_as_cut(way: Way, missing: int) -> None:
    peer, notes = streaming_peer(way), Notes()
    async with delegate_behind(Balancer(peer, keeps_back=missing)) as delegate:
        result = await delegate.dispatch("chunks 3", observer=notes)
    assert isinstance(result, Completed)
    assert result.output == text_told(notes) == THREE
    assert len(cuts(notes)) == 1
    assert len(requests_of(peer, Operation.GET)) == 1


@pytest.mark.report("L18", "L19", "R27")
@WAYS
async def test_a_task_that_its_server_forgot_with_the_stream_times_out_with_what_it_had_made(
    way: Way,
) -> None:
    peer = streaming_peer(way)
    # It falls silent, is left for that, and with the client its work goes: working for ever.
    peer.script(Operation.SEND, WorkEndsWithStream(StopStream(6, Stop.SILENCE)))
    result, notes = await watched(peer, "chunks 300", timeout=100, stream_idle_timeout=20)
    assert isinstance(result, TimedOut)
    assert (result.last_state, result.effect) == ("working", Effect.RAN)
    (artifact,) = result.artifacts
    assert artifact.text.startswith("chunk 1 chunk 2 chunk 3 ")
    assert text_told(notes) == artifact.text
    assert result.receipt is CancelReceipt.CONFIRMED


# -- streams that nobody waits for any more --------------------------------------------------------


async def cancelled_at(peer: ScriptedPeer, seconds: float, prompt: str) -> DelegateResult:
    """Delegate, and cancel after so many seconds."""
    async with delegate_of(peer) as delegate, open_delegation(delegate, prompt) as delegation:
        await anyio.sleep(seconds)
        return await delegation.cancel("enough")


@pytest.mark.report("C1", "C5")
@WAYS
@pytest.mark.parametrize(
    "held", [Delay(0.4), Delay(0.4, StopStream(1, Stop.SILENCE)), Delay(1.0)], ids=repr
)
async def test_a_cancel_before_the_first_event_waits_a_moment_for_the_id(
    way: Way, held: Delay
) -> None:
    peer = streaming_peer(way)
    peer.script(Operation.SEND, held)
    result = await cancelled_at(peer, 0.2, "stuck")
    assert isinstance(result, Cancelled)
    if held.seconds < 0.2 + 0.5 or way.version == "1.0":
        assert (result.receipt, result.effect) == (CancelReceipt.CONFIRMED, Effect.RAN)
        assert peer.truth.tasks[0].state is WorkState.CANCELED
    else:
        # Nobody was told the id in time, and these versions list none.
        assert (result.receipt, result.effect) == (CancelReceipt.UNREACHED, Effect.MAY_HAVE_RUN)
    assert peer.truth.open == 0


@pytest.mark.report("C3", "C6", "S10")
@WAYS
@pytest.mark.parametrize("seconds", [0.05, 0.35, 1.0])
async def test_a_cancel_between_events_leaves_the_stream_and_cancels_the_task(
    way: Way, seconds: float
) -> None:
    peer = streaming_peer(way)
    result = await cancelled_at(peer, seconds, "chunks 300")
    assert isinstance(result, Cancelled)
    assert (result.by, result.reason, result.receipt) == ("caller", "enough", "confirmed")
    assert (result.effect, result.safe_to_retry) == (Effect.RAN, False)
    (artifact,) = result.artifacts
    assert artifact.text.startswith("chunk 1")
    (left,) = streams(peer)
    assert left.stream is not None
    assert left.stream.end is StreamEnd.CLIENT
    assert left.stream.closed == pytest.approx(left.when + seconds, abs=0.01), "at once"
    assert peer.truth.cancels == 1


@pytest.mark.report("C14")
@WAYS
async def test_what_the_peer_makes_of_a_stream_that_was_left_counts_as_it_says(way: Way) -> None:
    peer = streaming_peer(way)

    def fail(held: Json) -> None:
        task = held.get("task", held)
        task["status"] = {"state": spelled(way, "failed"), "message": said_in(way, "aborted")}

    peer.script(Operation.CANCEL, RefusedCancel())
    peer.always(Operation.GET, rewritten(fail))
    result = await cancelled_at(peer, 0.2, "stuck")
    assert isinstance(result, Failed)
    assert "aborted" in str(result.error)
    assert result.late
