"""One delegation in real time: what is recorded of it, and what cannot cut its cleanup."""

from __future__ import annotations

import asyncio
import signal
from typing import TYPE_CHECKING

import anyio
import httpx
import pytest
import trio
import trio.testing

from a2a_delegate import (
    AttemptOutcome,
    Cancelled,
    CancelReceipt,
    CancelSent,
    CancelToken,
    Completed,
    DelegateRequest,
    Effect,
    EvidenceFailed,
    Failed,
    IdKnown,
    Intent,
    Sent,
    Settled,
    StateSeen,
    TransportStuck,
    Unknown,
)
from a2a_delegate.testing import (
    Delay,
    DropAfterAccepting,
    DropWhileReading,
    Hang,
    LyingCancel,
    Operation,
    RefuseConnection,
    Respond,
    Rewrite,
    ScriptedPeer,
    WrongId,
)
from tests.faults.callers import Caller
from tests.faults.catalogue import Fault
from tests.faults.errands import Errand
from tests.faults.play import Case, play
from tests.faults.wire import Manners
from tests.runtime.staging import Notes, delegate_over, delegate_to, requests_of
from tests.virtual_time import VirtualTimeLoop

if TYPE_CHECKING:
    from a2a_delegate import Signal

pytestmark = [pytest.mark.anyio, pytest.mark.virtual_time]


# -- attempts and evidence -------------------------------------------------------------------------


@pytest.mark.spec("RUN-8")
async def test_attempts_are_the_requests_that_were_made() -> None:
    peer = ScriptedPeer()
    peer.script(Operation.SEND, RefuseConnection(), DropAfterAccepting())
    peer.script(Operation.GET, Respond(500), WrongId())
    async with delegate_to(peer, manners=Manners()) as delegate:
        result = await delegate.dispatch("slow 2")
    assert isinstance(result, Completed)
    told = [(one.number, one.operation, one.http_status, one.outcome) for one in result.attempts]
    assert told[:6] == [
        (1, "send", None, AttemptOutcome.NOT_SENT),
        (2, "send", None, AttemptOutcome.LOST),
        (3, "list", 200, AttemptOutcome.ANSWERED),
        (4, "get", 500, AttemptOutcome.REFUSED),
        (5, "get", 200, AttemptOutcome.NOT_UNDERSTOOD),
        (6, "get", 200, AttemptOutcome.ANSWERED),
    ]
    assert [one.body_left for one in result.attempts[:3]] == [False, True, True]
    assert all(0.03 - 1e-9 < one.seconds < 0.04 + 1e-9 for one in result.attempts[2:])
    assert {one.version for one in result.attempts} == {"1.0"}


@pytest.mark.spec("RUN-8")
async def test_an_attempt_names_the_version_that_was_spoken() -> None:
    peer = ScriptedPeer(("0.3", "1.0"))
    peer.script(Operation.SEND, DropAfterAccepting())
    async with delegate_to(peer) as delegate:
        result = await delegate.dispatch("work")
    spoken = [(one.operation, one.version) for one in result.attempts]
    assert spoken == [("send", "0.3"), ("list", "1.0"), ("get", "0.3")]
    seen = [(one.operation, one.version) for one in peer.truth.requests]
    assert seen == spoken


@pytest.mark.spec("RUN-8")
async def test_what_came_of_a_reply_is_kept_when_it_is_let_go() -> None:
    peer = ScriptedPeer(("0.3",))
    peer.script(Operation.SEND, Respond(200, {"content-length": "100"}, b'{"jsonrpc"'))

    class Dribbling(httpx.AsyncBaseTransport):
        """Passes on what the peer says, and then nothing more."""

        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            response = await peer.transport().handle_async_request(request)
            return httpx.Response(200, stream=_Dribble(await response.aread()))

    async with delegate_over(Dribbling(), peer.versions) as delegate:
        result = await delegate.dispatch(DelegateRequest("stuck", timeout=2))
    assert isinstance(result, Unknown)
    assert result.evidence == b'{"jsonrpc"'
    (attempt,) = result.attempts
    assert (attempt.http_status, attempt.outcome) == (200, AttemptOutcome.LOST)


class _Dribble(httpx.AsyncByteStream):
    def __init__(self, content: bytes) -> None:
        self._content = [content]

    def __aiter__(self) -> _Dribble:
        return self

    async def __anext__(self) -> bytes:
        if self._content:
            return self._content.pop()
        await anyio.sleep_forever()
        raise StopAsyncIteration


@pytest.mark.spec("RUN-5")
async def test_a_body_that_leaves_in_the_step_of_the_cancel_counts() -> None:
    token = CancelToken()

    class Telltale(httpx.AsyncBaseTransport):
        """Cancels the token just before the body leaves."""

        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            token.cancel("enough")
            assert isinstance(request.stream, httpx.AsyncByteStream)
            async for _ in request.stream:
                pass
            await anyio.sleep_forever()
            raise AssertionError

    start = anyio.current_time()
    async with delegate_over(Telltale(), ("0.3",)) as delegate:
        result = await delegate.dispatch("stuck", cancel=token)
    assert isinstance(result, Cancelled)
    assert (result.effect, result.receipt) == (Effect.MAY_HAVE_RUN, CancelReceipt.UNREACHED)
    assert anyio.current_time() - start == pytest.approx(0.5), "it was held for its grace"


@pytest.mark.spec("RUN-5")
async def test_an_error_of_the_stack_below_is_an_outcome_with_its_cause() -> None:
    class Odd(httpx.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            raise RuntimeError(f"no way to {request.url.host}")

    async with delegate_over(Odd(), ("1.0",)) as delegate:
        result = await delegate.dispatch("work")
    assert isinstance(result, Failed)
    assert isinstance(result.error.__cause__, RuntimeError)
    assert result.effect is Effect.NOT_STARTED


@pytest.mark.spec("RUN-5")
async def test_a_transport_left_behind_is_named_and_then_forgotten() -> None:
    peer, notes = ScriptedPeer(), Notes()
    peer.script(Operation.GET, Hang(deaf=True))
    async with delegate_to(peer) as delegate:
        result = await delegate.dispatch(DelegateRequest("stuck", timeout=2), observer=notes)
        assert result.status == "timed-out"
        assert notes.of(TransportStuck) == [TransportStuck("get")]
        peer.release()
        await anyio.sleep(0.1)
        assert (await delegate.dispatch("work")).status == "completed"
        closing = anyio.current_time()
    assert anyio.current_time() == closing
    assert peer.truth.open == 0


# -- observers -------------------------------------------------------------------------------------


async def test_observers_are_told_in_order_and_each_signal_in_turn() -> None:
    peer, told = ScriptedPeer(), []

    def first(signal: Signal) -> None:
        told.append(("first", type(signal).__name__))

    def second(signal: Signal) -> None:
        told.append(("second", type(signal).__name__))

    async with delegate_over(peer.transport(), peer.versions, observers=[first]) as delegate:
        await delegate.dispatch("work", observer=second)
    names = [name for who, name in told if who == "first"]
    assert told == [(who, name) for name in names for who in ("first", "second")]
    assert names[0] == "Intent"
    assert names[-1] == "Settled"


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
async def test_observers_that_all_raise_are_each_told_of_once() -> None:
    peer, notes = ScriptedPeer(), Notes()

    def breaks(signal: Signal) -> None:
        if type(signal) in {Intent, EvidenceFailed}:
            raise ValueError(type(signal).__name__)

    def breaks_too(signal: Signal) -> None:
        breaks(signal)

    both = (breaks, breaks_too)
    async with delegate_over(peer.transport(), peer.versions, observers=both) as delegate:
        result = await delegate.dispatch("work", observer=notes)
    assert isinstance(result, Completed)
    failed = [one.observer for one in notes.of(EvidenceFailed)]
    assert sorted(map(repr, failed)) == sorted(map(repr, (breaks, breaks_too)))
    assert notes.of(IdKnown)
    assert notes.of(Settled) == [Settled(result)]


@pytest.mark.parametrize("kind", [Intent, Sent, IdKnown, StateSeen, CancelSent, Settled])
async def test_an_interrupt_in_an_observer_stops_the_peer_and_goes_on(kind: type) -> None:
    peer, start = ScriptedPeer(), anyio.current_time()

    def interrupted(signal: Signal) -> None:
        if isinstance(signal, kind):
            raise KeyboardInterrupt

    async with delegate_to(peer) as delegate:
        with pytest.raises(KeyboardInterrupt):
            await delegate.dispatch(DelegateRequest("stuck", timeout=2), observer=interrupted)
        assert anyio.current_time() - start <= 2 + 4.5
    assert peer.truth.open == 0


@pytest.mark.spec("CXL-5")
async def test_an_id_in_half_a_reply_ends_the_hold() -> None:
    peer, token, notes = ScriptedPeer(), CancelToken(), Notes()
    peer.script(Operation.SEND, Delay(0.4, Rewrite(lambda reply: dict(sorted(reply.items())))))

    async def cancel() -> None:
        await anyio.sleep(0.2)
        token.cancel()

    async with (
        delegate_to(peer, manners=Manners()) as delegate,
        anyio.create_task_group() as group,
    ):
        group.start_soon(cancel)
        result = await delegate.dispatch("stuck", cancel=token, observer=notes)
    assert isinstance(result, Cancelled)
    assert result.receipt is CancelReceipt.CONFIRMED
    assert notes.time_of(CancelSent) == notes.time_of(IdKnown)
    assert notes.time_of(IdKnown) == pytest.approx(0.43)


# -- what cannot cut the cleanup -------------------------------------------------------------------


def shut_down_at(moment: float, peer: ScriptedPeer, manners: Manners, prompt: str) -> Notes:
    """End an asyncio loop while a delegation that was cancelled at 1.5 goes on."""
    notes, token = Notes(), CancelToken()
    tasks: list[asyncio.Task[None]] = []

    async def delegation() -> None:
        async with delegate_to(peer, manners=manners) as delegate:
            await delegate.dispatch(prompt, cancel=token, observer=notes)

    async def main() -> None:
        tasks.append(asyncio.create_task(delegation()))
        asyncio.get_running_loop().call_at(1.5, token.cancel)
        await asyncio.sleep(moment)

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        runner.run(main())
    assert tasks[0].cancelled()
    return notes


def outcome_of(notes: Notes) -> Cancelled:
    (settled,) = notes.of(Settled)
    assert isinstance(settled.result, Cancelled)
    return settled.result


@pytest.mark.spec("RUN-6")
@pytest.mark.parametrize(("moment", "seen"), [(1.505, 1), (1.515, 2), (1.525, 2), (1.535, 2)])
def test_a_cancel_that_the_end_of_the_loop_cuts_off_is_made_once_more(
    moment: float, seen: int
) -> None:
    peer = ScriptedPeer()
    peer.always(Operation.GET, Hang())
    notes = shut_down_at(moment, peer, Manners(), "stuck")
    assert peer.truth.tasks[0].state == "canceled"
    assert len(requests_of(peer, Operation.CANCEL)) == seen
    assert outcome_of(notes).effect is Effect.RAN
    assert peer.truth.open == 0


@pytest.mark.spec("RUN-6")
@pytest.mark.parametrize(("moment", "seen"), [(1.025, 1), (1.035, 2), (1.055, 2)])
def test_a_look_up_that_the_end_of_the_loop_cuts_off_is_made_once_more(
    moment: float, seen: int
) -> None:
    peer = ScriptedPeer()
    peer.script(Operation.SEND, Delay(1.0, DropAfterAccepting()))
    notes = shut_down_at(moment, peer, Manners(), "stuck")
    assert outcome_of(notes).receipt is CancelReceipt.CONFIRMED
    assert peer.truth.tasks[0].state == "canceled"
    assert len(requests_of(peer, Operation.LIST)) == seen


@pytest.mark.spec("RUN-6")
@pytest.mark.parametrize("moment", [1.545, 1.555, 1.565, 1.575])
def test_the_last_look_of_a_stop_that_the_end_of_the_loop_cuts_off_is_made_once_more(
    moment: float,
) -> None:
    notes = shut_down_at(moment, ScriptedPeer(), Manners(), "slow 1.2")
    (settled,) = notes.of(Settled)
    assert isinstance(settled.result, Completed)
    assert settled.result.late


@pytest.mark.spec("RUN-6", "HAND-12")
@pytest.mark.parametrize("moment", [3.095, 3.115, 3.125])
def test_the_end_of_the_loop_in_the_last_look_for_an_answer_stops_the_task(moment: float) -> None:
    lost = Fault("lost", Operation.SEND, (DropWhileReading(),), errand=Errand.ANSWER)
    record = play(Case(lost, ("1.0",), "asyncio", Caller.SHUTDOWN, moment))
    assert len(record.told(CancelSent)) == 1
    assert record.tasks[0].state == "canceled"


@pytest.mark.spec("RUN-6")
def test_a_send_that_the_end_of_the_loop_cuts_off_is_looked_for() -> None:
    peer = ScriptedPeer()
    peer.script(Operation.SEND, Hang())
    notes = shut_down_at(1.0, peer, Manners(), "stuck")
    assert outcome_of(notes).receipt is CancelReceipt.CONFIRMED
    assert outcome_of(notes).attempts[0].outcome is AttemptOutcome.LOST


@pytest.mark.spec("CXL-3")
def test_an_interrupt_on_trio_stops_the_peer_and_goes_on() -> None:
    peer = ScriptedPeer()

    async def interrupt() -> None:
        await trio.sleep(2)
        signal.raise_signal(signal.SIGINT)

    async def main() -> None:
        async with delegate_to(peer) as delegate:
            trio.lowlevel.spawn_system_task(interrupt)
            await delegate.dispatch("stuck")

    with pytest.raises(KeyboardInterrupt):
        trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
    assert [(one.state, one.cancel_requests) for one in peer.truth.tasks] == [("canceled", 1)]
    assert peer.truth.open == 0


@pytest.mark.spec("CXL-3")
def test_a_second_interrupt_on_trio_does_not_wait_for_the_peer() -> None:
    peer = ScriptedPeer()
    peer.always(Operation.CANCEL, Hang())
    left: list[float] = []

    async def interrupt() -> None:
        for seconds in (2.0, 0.5):
            await trio.sleep(seconds)
            signal.raise_signal(signal.SIGINT)

    async def main() -> None:
        async with delegate_to(peer) as delegate:
            trio.lowlevel.spawn_system_task(interrupt)
            try:
                await delegate.dispatch("stuck")
            finally:
                left.append(trio.current_time())

    with pytest.raises(KeyboardInterrupt):
        trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
    assert left == [pytest.approx(2.5)]
    assert peer.truth.open == 0


@pytest.mark.spec("CXL-3")
def test_an_interrupt_on_asyncio_stops_the_peer_and_goes_on() -> None:
    peer = ScriptedPeer()

    async def main() -> None:
        async with delegate_to(peer) as delegate:
            loop = asyncio.get_running_loop()
            loop.call_later(2, signal.raise_signal, signal.SIGINT)
            await delegate.dispatch("stuck")

    with (
        pytest.raises(KeyboardInterrupt),
        asyncio.Runner(loop_factory=VirtualTimeLoop) as runner,
    ):
        runner.run(main())
    assert [(one.state, one.cancel_requests) for one in peer.truth.tasks] == [("canceled", 1)]


@pytest.mark.spec("CXL-3")
@pytest.mark.parametrize(("inner", "outer"), [(2.0, 2.5), (2.5, 2.0), (2.0, 2.0)])
def test_of_nested_timeouts_the_outermost_that_fell_is_seen(inner: float, outer: float) -> None:
    peer, seen = ScriptedPeer(), []
    peer.always(Operation.CANCEL, Hang())
    peer.always(Operation.GET, Hang())

    async def main() -> None:
        async with delegate_to(peer) as delegate:
            try:
                async with asyncio.timeout(outer):
                    try:
                        async with asyncio.timeout(inner):
                            await delegate.dispatch("stuck")
                    except TimeoutError:
                        seen.append("inner")
            except TimeoutError:
                seen.append("outer")
            assert asyncio.get_running_loop().time() == pytest.approx(4.0, abs=0.6)
            task = asyncio.current_task()
            assert task is not None
            assert task.cancelling() == 0

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        runner.run(main())
    assert seen == ["outer"]


@pytest.mark.spec("CXL-3")
async def test_a_lying_cancel_is_not_doubted_twice() -> None:
    peer, token = ScriptedPeer(), CancelToken()
    peer.script(Operation.CANCEL, LyingCancel())

    async def cancel() -> None:
        await anyio.sleep(2)
        token.cancel()

    async with delegate_to(peer) as delegate, anyio.create_task_group() as group:
        group.start_soon(cancel)
        result = await delegate.dispatch("stuck", cancel=token)
    assert isinstance(result, Cancelled)
    assert result.receipt is CancelReceipt.CONFIRMED
    assert peer.truth.cancels == 1
