"""Streams over real sockets, in real time: left, reset, closed, dead; and nothing stays behind."""

from __future__ import annotations

import sys
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from a2a_delegate import (
    A2ADelegate,
    A2ADelegateConfig,
    A2ARequestError,
    ArtifactChunk,
    AttemptFailed,
    Cancelled,
    CancelToken,
    Completed,
    Effect,
    Failed,
    InputRequired,
    InvalidReplyError,
    LostReplyError,
    Rejected,
    StateSeen,
    TimedOut,
    connect,
    open_delegation,
)
from a2a_delegate.testing import (
    Chunked,
    Close,
    CloseAfterReply,
    CloseDelimited,
    CutReply,
    Dribble,
    DropAfterAccepting,
    DropBeforeReading,
    Gathered,
    Loss,
    Operation,
    PadEvent,
    Parting,
    Pings,
    RequestOver,
    Respond,
    ScriptedPeer,
    Stop,
    StopStream,
    WorkState,
)
from tests.reports.staging import Notes
from tests.reports.streaming import (
    EVENTS,
    THREE,
    Way,
    cuts,
    streaming_peer,
    subscriptions,
    text_told,
)

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable

    from a2a_delegate import Signal
    from a2a_delegate.testing import Behaviour, Happening

pytestmark = pytest.mark.anyio

# A version makes no difference to a socket; the same over each stands in the other modules.
WAYS = pytest.mark.parametrize("way", [Way("1.0", "JSONRPC"), Way("0.3", "HTTP+JSON")], ids=str)

PATIENCE = 15.0
"""Seconds that a test waits for anything at most."""

AT_ONCE = 1.0
"""Seconds within which a connection that is left must be closed, on a busy machine."""


@dataclass
class Port:
    """A peer on a port, and what it saw of the requests that are over."""

    peer: ScriptedPeer
    url: str = ""
    over: list[RequestOver] = field(default_factory=list)
    changed: anyio.Event = field(default_factory=anyio.Event)

    def __call__(self, happening: Happening) -> None:
        if isinstance(happening, RequestOver):
            self.over.append(happening)
            self.changed.set()
            self.changed = anyio.Event()

    def streams(self) -> list[RequestOver]:
        """Return the streams that are over."""
        return [one for one in self.over if one.request.stream is not None]

    async def stream_over(self, within: float) -> RequestOver:
        """Wait until a stream is over, and return the first that is."""
        with anyio.fail_after(within):
            while not self.streams():
                await self.changed.wait()
        return self.streams()[0]


@asynccontextmanager
async def delegating(
    peer: ScriptedPeer, **config: Any
) -> AsyncGenerator[tuple[A2ADelegate, Port], None]:
    """Put a peer on a port and connect to it, both with quick manners."""
    port = Port(peer)
    quickly = {"watch": "stream", "poll_interval": 0.05, "recovery_timeout": 1.0}
    options = A2ADelegateConfig(**{**quickly, **config})
    async with peer.serve(observer=port) as url, connect(url, config=options) as delegate:
        port.url = url
        with anyio.fail_after(PATIENCE):
            yield delegate, port


# -- streams that are left -------------------------------------------------------------------------


async def leaves_the_block(delegate: A2ADelegate) -> None:
    async with open_delegation(delegate, "stuck") as delegation:
        async for _ in delegation:
            break


async def raises_in_the_block(delegate: A2ADelegate) -> None:
    with pytest.raises(ZeroDivisionError):
        await _raise_in_the_block(delegate)


async def _raise_in_the_block(delegate: A2ADelegate) -> None:
    async with open_delegation(delegate, "stuck") as delegation:
        async for _ in delegation:
            raise ZeroDivisionError


async def cancels_it(delegate: A2ADelegate) -> None:
    async with open_delegation(delegate, "stuck") as delegation:
        await anext(delegation)
        assert isinstance(await delegation.cancel("enough"), Cancelled)


async def cancels_the_token(delegate: A2ADelegate) -> None:
    token = CancelToken()

    def seen(signal: Signal) -> None:
        if isinstance(signal, StateSeen):
            token.cancel("enough")

    assert isinstance(await delegate.dispatch("stuck", cancel=token, observer=seen), Cancelled)


async def is_out_of_time(delegate: A2ADelegate) -> None:
    with anyio.move_on_after(0.5):
        assert isinstance(await delegate.dispatch("stuck"), TimedOut)


async def is_cancelled(delegate: A2ADelegate) -> None:
    async with anyio.create_task_group() as group:

        def seen(signal: Signal) -> None:
            if isinstance(signal, StateSeen):
                group.cancel_scope.cancel()

        await delegate.dispatch("stuck", observer=seen)
    assert group.cancel_scope.cancel_called


LEAVING = [
    leaves_the_block,
    raises_in_the_block,
    cancels_it,
    cancels_the_token,
    is_out_of_time,
    is_cancelled,
]
"""Every way in which a caller can leave a stream that goes on."""


@pytest.mark.report("S10", "C3")
@WAYS
@pytest.mark.parametrize("leave", LEAVING, ids=lambda one: one.__name__)
async def test_a_stream_that_is_left_is_closed_at_once_and_its_task_cancelled(
    way: Way, leave: Callable[[A2ADelegate], Awaitable[None]]
) -> None:
    peer = streaming_peer(way)
    async with delegating(peer) as (delegate, port):
        await leave(delegate)
        left = await port.stream_over(AT_ONCE)
        assert left.request.operation is Operation.SEND
        assert left.parting is Parting.LEFT
        assert peer.truth.tasks[0].state is WorkState.CANCELED
        again = await delegate.dispatch("work")
        assert isinstance(again, Completed), "and the delegate goes on"
    assert peer.truth.open == 0


@pytest.mark.report("S10", "S14")
@WAYS
@pytest.mark.parametrize(
    ("prompt", "after", "kind"),
    [("chunks 1", 5, Completed), ("fail", 2, Failed), ("ask", 2, InputRequired)],
)
async def test_a_stream_that_stays_open_after_the_end_is_closed_at_once(
    way: Way, prompt: str, after: int, kind: type
) -> None:
    peer = streaming_peer(way)
    peer.script(Operation.SEND, StopStream(after, Stop.SILENCE))
    async with delegating(peer) as (delegate, port):
        assert isinstance(await delegate.dispatch(prompt), kind)
        assert (await port.stream_over(AT_ONCE)).parting is Parting.LEFT
    assert (peer.truth.open, peer.truth.cancels) == (0, 0)


ABANDONS = """
import gc
import sys
import anyio
from a2a_delegate import A2ADelegateConfig, CancelToken, connect, open_delegation

async def main():
    config = A2ADelegateConfig(poll_interval=0.1)
    async with connect(sys.argv[2], config=config) as delegate:
        async with open_delegation(delegate, "stuck") as delegation:
            async for _ in delegation:
                break
        gc.collect()
        try:
            async with open_delegation(delegate, "chunks 100") as delegation:
                async for _ in delegation:
                    raise ZeroDivisionError
        except ZeroDivisionError:
            gc.collect()
        with anyio.move_on_after(0.3):
            await delegate.dispatch("stuck")
        gc.collect()
        async with anyio.create_task_group() as group:
            group.start_soon(delegate.dispatch, "chunks 100")
            await anyio.sleep(0.3)
            group.cancel_scope.cancel()
        gc.collect()
        async with open_delegation(delegate, "stuck") as delegation:
            await anext(delegation)
            await delegation.cancel()
    gc.collect()
    print("quiet")

anyio.run(main, backend=sys.argv[1])
gc.collect()
"""
"""A process that leaves stream after stream, and collects its garbage each time."""


@pytest.mark.report("S11")
@WAYS
async def test_leaving_streams_makes_no_noise(way: Way, anyio_backend_name: str) -> None:
    async with streaming_peer(way).serve() as url:
        command = [sys.executable, "-W", "error", "-c", ABANDONS, anyio_backend_name, url]
        with anyio.fail_after(4 * PATIENCE):
            ended = await anyio.run_process(command, check=False)
    assert (ended.stdout, ended.stderr, ended.returncode) == (b"quiet\n", b"", 0)


# -- connections that are cut, closed, or dead -----------------------------------------------------


CUTS: dict[str, Behaviour] = {
    "reset within an event": CutReply(1_500, Close.RST),
    "closed within an event": CutReply(1_500, Close.FIN),
    "closed without a length, within an event": CutReply(1_500, Close.FIN, CloseDelimited()),
    "closed without a length, between events": CloseDelimited(StopStream(3)),
    "reset between events": CloseAfterReply(by=Close.RST, then=StopStream(3)),
    "lost between events": StopStream(3, Stop.CUT),
    "ended between events": StopStream(3),
    "reset after the head": CutReply(300, Close.RST),
}
"""What load balancers, restarts and networks do to a stream."""


@pytest.mark.report("S1", "S2", "S3", "P29")
@WAYS
@pytest.mark.parametrize("cut", CUTS.values(), ids=CUTS)
async def test_a_stream_whose_connection_goes_is_resumed_and_nothing_is_lost(
    way: Way, cut: Behaviour
) -> None:
    peer = streaming_peer(way, lists=way.version == "1.0")
    peer.script(Operation.SEND, cut)
    peer.script(Operation.SUBSCRIBE, DropBeforeReading(), Respond(502), DropBeforeReading())
    notes = Notes()
    async with delegating(peer) as (delegate, _):
        result = await delegate.dispatch("chunks 12", observer=notes)
    if isinstance(result, Completed):
        assert result.output == text_told(notes) == " ".join(f"chunk {n}" for n in range(1, 13))
        assert len(subscriptions(peer)) == 4, "three fail and the fourth works"
    else:
        assert cut == CUTS["reset after the head"]
        assert result.effect is Effect.MAY_HAVE_RUN
    assert peer.truth.sends == 1
    assert peer.truth.open == 0


@pytest.mark.report("S26", "L7")
@WAYS
async def test_a_dead_connection_is_left_after_the_bound_and_the_work_found(way: Way) -> None:
    peer = streaming_peer(way)
    peer.script(Operation.SEND, DropAfterAccepting(1_200, loss=Loss.READ_TIMEOUT))
    notes = Notes()
    async with delegating(peer, stream_idle_timeout=0.3) as (delegate, port):
        result = await delegate.dispatch("chunks 12", observer=notes)
        dead = await port.stream_over(AT_ONCE)
    assert isinstance(result, Completed)
    assert result.output == text_told(notes)
    assert (dead.request.operation, dead.parting) == (Operation.SEND, Parting.LEFT)
    first = cuts(notes)[0]
    assert isinstance(first.error, LostReplyError)
    assert first.error.phase == "idle"


@pytest.mark.report("S4", "S26")
@WAYS
async def test_comments_keep_a_slow_stream_for_as_long_as_it_takes(way: Way) -> None:
    peer = streaming_peer(way)
    peer.always(Operation.SEND, Pings(0.1))
    notes = Notes()
    async with delegating(peer, stream_idle_timeout=0.7) as (delegate, port):
        result = await delegate.dispatch("slow 1.2", observer=notes)
    assert isinstance(result, Completed)
    assert result.output == "result of slow 1.2"
    assert not cuts(notes)
    assert len(port.streams()) == 1


@pytest.mark.report("S14")
@WAYS
@pytest.mark.parametrize(
    "ending",
    [
        StopStream(EVENTS, Stop.CUT),
        CloseAfterReply(by=Close.RST),
        CloseAfterReply(by=Close.FIN),
        CloseDelimited(),
        CloseDelimited(StopStream(EVENTS, Stop.CUT)),
    ],
    ids=repr,
)
async def test_an_end_and_then_an_abrupt_close_is_the_end(way: Way, ending: Behaviour) -> None:
    peer = streaming_peer(way)
    peer.script(Operation.SEND, ending)
    notes = Notes()
    async with delegating(peer) as (delegate, _):
        result = await delegate.dispatch("chunks 3", observer=notes)
    assert isinstance(result, Completed)
    assert result.output == text_told(notes) == THREE
    assert (peer.truth.sends, peer.truth.cancels) == (1, 0)


@pytest.mark.report("S15")
@WAYS
async def test_events_in_one_segment_are_all_told(way: Way) -> None:
    peer = streaming_peer(way)
    peer.script(Operation.SEND, Gathered())
    notes = Notes()
    async with delegating(peer) as (delegate, _):
        result = await delegate.dispatch("chunks 10", observer=notes)
    assert isinstance(result, Completed)
    assert len(notes.of(ArtifactChunk)) == 10
    assert result.output == text_told(notes)


# -- errors in place of a stream, and too much of one ----------------------------------------------


def framed(reply: Respond) -> dict[str, Behaviour]:
    """Send an error in every framing."""
    return {
        "length": reply,
        "chunks": Chunked(7, reply),
        "no length": CloseDelimited(reply),
        "slowly": Dribble(40, 0.01, reply),
        "and closes": CloseAfterReply(by=Close.FIN, then=reply),
    }


CHALLENGE = {"content-type": "application/json", "www-authenticate": "Bearer"}
REFUSED = framed(Respond(401, CHALLENGE, {"error": "the token has expired"}))
BROKEN = framed(Respond(500, {"content-type": "application/a2a+json"}, {"detail": "it is broken"}))


@pytest.mark.report("S5", "S6")
@WAYS
@pytest.mark.parametrize("framing", REFUSED)
async def test_the_body_of_an_error_to_a_stream_request_is_read_before_it_is_closed(
    way: Way, framing: str
) -> None:
    peer = streaming_peer(way, lists=False)
    peer.script(Operation.SEND, REFUSED[framing], BROKEN[framing])
    async with delegating(peer) as (delegate, _):
        refused = await delegate.dispatch("work")
        broken = await delegate.dispatch("work")
        assert isinstance(await delegate.dispatch("work"), Completed), "and the delegate goes on"
    assert isinstance(refused, Rejected)
    assert isinstance(refused.error, A2ARequestError)
    assert refused.error.status == 401
    assert "the token has expired" in str(refused.error)
    assert refused.effect is Effect.NOT_STARTED
    assert isinstance(broken, Failed)
    assert isinstance(broken.error, A2ARequestError)
    assert broken.error.status == 500
    assert "it is broken" in str(broken.error)
    assert broken.effect is Effect.MAY_HAVE_RUN
    assert peer.truth.open == 0


@pytest.mark.report("S5", "S6")
@WAYS
@pytest.mark.parametrize("framing", BROKEN)
async def test_the_body_of_an_error_to_a_subscription_is_told(way: Way, framing: str) -> None:
    peer = streaming_peer(way)
    peer.script(Operation.SEND, StopStream(1, Stop.CUT))
    peer.script(Operation.SUBSCRIBE, BROKEN[framing])
    notes = Notes()
    async with delegating(peer) as (delegate, _):
        result = await delegate.dispatch("slow 0.6", observer=notes)
    assert isinstance(result, Completed)
    assert result.output == text_told(notes) == "result of slow 0.6"
    (failed,) = [one for one in notes.of(AttemptFailed) if one.attempt.operation == "subscribe"]
    assert failed.attempt.http_status == 500
    assert "it is broken" in str(failed.error)


@pytest.mark.spec("WATCH-5")
@pytest.mark.report("S13", "S26")
@WAYS
@pytest.mark.parametrize("status", [200, 500])
async def test_a_subscription_that_is_answered_by_half_a_body_is_left(
    way: Way, status: int
) -> None:
    peer = streaming_peer(way)
    peer.script(Operation.SEND, StopStream(1, Stop.CUT))
    half = Respond(status, {"content-type": "application/json"}, {"x": "y" * 600})
    peer.script(Operation.SUBSCRIBE, Dribble(500, 60.0, half))
    notes = Notes()
    async with delegating(peer, stream_idle_timeout=0.3) as (delegate, port):
        result = await delegate.dispatch("slow 1", observer=notes)
    assert isinstance(result, Completed)
    assert result.output == text_told(notes) == "result of slow 1"
    left = [one for one in port.over if one.request.operation is Operation.SUBSCRIBE]
    assert left[0].parting is Parting.LEFT
    failed = [one.error for one in notes.of(AttemptFailed) if one.attempt.operation == "subscribe"]
    assert isinstance(failed[0], LostReplyError)
    assert failed[0].phase == "idle"


@pytest.mark.report("S9")
@WAYS
async def test_an_event_without_end_is_left_before_much_of_it_has_come(way: Way) -> None:
    peer = streaming_peer(way)
    peer.script(Operation.SEND, PadEvent(2, 2**30))
    notes = Notes()
    async with delegating(peer, max_event_bytes=2**20) as (delegate, port):
        result = await delegate.dispatch("slow 1.5", observer=notes)
        left = await port.stream_over(AT_ONCE)
    assert isinstance(result, Completed)
    assert left.parting is Parting.LEFT
    assert left.sent < 2**25, "what lay in the buffers of the system, and no more"
    assert isinstance(cuts(notes)[0].error, InvalidReplyError)
