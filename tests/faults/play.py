"""One case from beginning to end: caller, delegate, wire and peer, on a clock that jumps.

The times of a case are seconds from the beginning of its errand, those of a record are the clock's.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, TypeVarTuple, Unpack

import anyio
import httpx
import trio
import trio.testing
from hypothesis.internal.entropy import deterministic_PRNG

from a2a_delegate import (
    A2ADelegate,
    A2ADelegateConfig,
    CancelToken,
    Intent,
    Settled,
)
from a2a_delegate.testing import ScriptedPeer
from a2a_delegate.wire.card_reader import read_card
from tests.faults.callers import (
    REASON,
    Caller,
    Ending,
    act,
    clocked,
    observed,
    request_for,
    timeout_of,
)
from tests.faults.errands import Errand, handle_for
from tests.faults.kinds import MAX_REPLY_BYTES
from tests.faults.wire import Trip, Wire
from tests.virtual_time import VirtualTimeLoop

if TYPE_CHECKING:
    import contextvars
    from collections.abc import Callable, Iterable

    from a2a_delegate import AgentCard, DelegateResult, DelegationHandle, Observer, Signal
    from a2a_delegate.testing import RequestFact, TaskFact
    from tests.faults.callers import Answer
    from tests.faults.catalogue import Fault

Ts = TypeVarTuple("Ts")

LOOPS: Final = ("asyncio", "trio")
VERSIONS: Final = (("1.0",), ("0.3",), ("0.3", "1.0"), ("0.2",))
"""The third one is the card of a peer that speaks 0.3 and can be looked at in 1.0."""

CONFIG: Final = A2ADelegateConfig(max_reply_bytes=MAX_REPLY_BYTES, poll_interval_max=4.0)
URL: Final = "https://peer.example/.well-known/agent-card.json"
_HASTE: Final = A2ADelegateConfig(poll_interval=0.01)
"""Of the delegate of what came before."""
_AFTERWARDS: Final = 100.0
"""Seconds after the end, in which whatever was left behind shows itself."""


@dataclass(frozen=True, slots=True)
class Case:
    """One errand: who does what to it, and when. `first` is a cancel before the caller's."""

    fault: Fault
    versions: tuple[str, ...]
    loop: str
    caller: Caller = Caller.PATIENT
    at: float = 0.0
    first: float | None = None
    phase: str = ""

    def __str__(self) -> str:
        first = "" if self.first is None else f" after token.cancel() at {self.first:.4f}"
        when = "" if self.caller is Caller.PATIENT else f" at {self.at:.4f} ({self.phase})"
        return f"{'+'.join(self.versions)} on {self.loop}, {self.fault}: {self.caller}{when}{first}"


@dataclass(slots=True)
class Record:
    """What is known once a case is over: what the caller saw, the signals, the wire, the truth."""

    case: Case
    trips: list[Trip]
    began: float = 0.0
    handle: DelegationHandle | None = None
    """What the errand is about, where there was something before."""
    ending: Ending = field(default_factory=Ending)
    signals: list[tuple[float, Signal]] = field(default_factory=list)
    requests_at_intent: int = -1
    listening: int = 0
    released_at: float | None = None
    closed_at: float = 0.0
    over_at: float = 0.0
    open_when_closed: int = 0
    open_at_last: int = 0
    tasks_left: int = 0
    timers_left: int = 0
    complaints: list[str] = field(default_factory=list)
    tasks: tuple[TaskFact, ...] = ()
    requests: tuple[RequestFact, ...] = ()
    runs: dict[str, int] = field(default_factory=dict)
    met: bool = False
    """Whether the fault had anything to befall: what it is about was asked for."""

    @property
    def settled(self) -> DelegateResult | None:
        """The outcome, whoever was told it."""
        told = [signal.result for _, signal in self.signals if isinstance(signal, Settled)]
        return told[0] if told else None

    def told(self, kind: type[Signal]) -> list[Signal]:
        """Return the signals of one kind."""
        return [signal for _, signal in self.signals if isinstance(signal, kind)]

    def time_of(self, kind: type[Signal]) -> float | None:
        """Return when the first signal of a kind was told."""
        return next((at for at, signal in self.signals if isinstance(signal, kind)), None)


class _CountedToken(CancelToken):
    """A token that counts who still listens."""

    __slots__ = ("listening",)

    def __init__(self) -> None:
        super().__init__()
        self.listening = 0

    def subscribe(self, listener: Callable[[], None]) -> Callable[[], None]:
        undo = super().subscribe(listener)
        self.listening += 1

        def counted() -> None:
            self.listening -= 1
            undo()

        return counted


class _WatchedLoop(VirtualTimeLoop):
    """A virtual loop that knows its timers and what went wrong in its callbacks."""

    def __init__(self) -> None:
        super().__init__()
        self.timers: list[asyncio.TimerHandle] = []
        self.complaints: list[str] = []
        self.set_exception_handler(self._complain)

    def _complain(self, _: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        # A task that nothing can end any more is destroyed after its loop, or with the interpreter;
        # nobody reads of it then, and to print what is half gone can crash Python 3.11.
        if not self.is_closed():
            self.complaints.append(f"the loop complains: {context}")

    def call_at(
        self,
        when: float,
        callback: Callable[[Unpack[Ts]], object],
        *args: *Ts,
        context: contextvars.Context | None = None,
    ) -> asyncio.TimerHandle:
        """Make a timer, and keep it."""
        timer = super().call_at(when, callback, *args, context=context)
        self.timers.append(timer)
        return timer

    def timers_left(self) -> int:
        """Count the timers that were neither cancelled nor due."""
        return sum(not timer.cancelled() and timer.when() > self.time() for timer in self.timers)


@functools.cache
def card_of(versions: tuple[str, ...]) -> AgentCard:
    """Return the card of a scripted peer, as it would be found."""
    card = json.dumps(ScriptedPeer(versions).card()).encode()
    return read_card(card, url=URL)


@functools.cache
def _config(timeout: float | None) -> A2ADelegateConfig:
    return replace(CONFIG, timeout=timeout)


class _Stage:
    """What stands on the stage of one case."""

    def __init__(self, case: Case) -> None:
        self.case = case
        options: dict[str, Any] = dict(case.fault.options)
        self.peer = ScriptedPeer(case.versions, **options)
        self.wire = Wire(self.peer.transport(), case.fault.manners)
        self.token = _CountedToken()
        self.record = Record(case, self.wire.trips)
        self._asked_before = 0

    async def prepare(self) -> None:
        """Play what came before, and only then arm the fault."""
        fault, peer = self.case.fault, self.peer
        if fault.errand is not Errand.HAND_OVER:
            async with (
                peer.client(trust_env=False) as client,
                A2ADelegate(
                    "peer", card_of(self.case.versions), client=client, config=_HASTE
                ) as delegate,
            ):
                self.record.handle = await handle_for(fault.errand, peer, delegate, fault.prompt)
            if fault.meanwhile:
                failed = fault.meanwhile == "failed"
                text = "it failed" if failed else None
                peer.finish(peer.truth.tasks[-1].id, fault.meanwhile, text)
            self._asked_before = self._asked(peer.truth.requests)
        for operation, behaviour in fault.others:
            peer.script(operation, behaviour)
        peer.script(fault.operation, *fault.once)
        if fault.always is not None:
            peer.always(fault.operation, fault.always)

    def observe(self, signal: Signal) -> None:
        """Take every signal, with its time."""
        self.record.signals.append((anyio.current_time(), signal))
        if isinstance(signal, Intent):
            self.record.requests_at_intent = len(self.wire.trips)

    async def play(self) -> None:
        """Play the errand up to the end of the delegate."""
        case, record = self.case, self.record
        record.began = began = anyio.current_time()
        async with (
            httpx.AsyncClient(transport=self.wire, trust_env=False) as client,
            self._delegate(client) as delegate,
            contextlib.AsyncExitStack() as stack,
        ):
            if case.first is not None:
                cancel = functools.partial(self.token.cancel, REASON)
                await stack.enter_async_context(clocked(began + case.first, cancel))
            if case.caller is Caller.SHUTDOWN:
                await observed(self._errand(delegate), record.ending)
            else:
                call = functools.partial(self._errand, delegate)
                record.ending = await act(case.caller, call, began + case.at, self.token)
        record.closed_at = anyio.current_time()
        record.listening = self.token.listening

    def _delegate(self, client: httpx.AsyncClient) -> A2ADelegate:
        """Make the delegate: with the time and the observer that a call of it cannot be given."""
        case, errand = self.case, self.case.fault.errand
        config = CONFIG if errand.sends else _config(timeout_of(case.caller, case.at))
        observers: list[Observer] = [self.observe] if errand.stops else []
        card = card_of(case.versions)
        return A2ADelegate("peer", card, client=client, config=config, observers=observers)

    async def _errand(self, delegate: A2ADelegate) -> Answer:
        case, handle, token, observe = self.case, self.record.handle, self.token, self.observe
        errand = case.fault.errand
        if handle is not None and not errand.sends:
            if errand.stops:
                return await delegate.cancel(handle, REASON)
            wait = not errand.looks
            return await delegate.resume(handle, wait=wait, cancel=token, observer=observe)
        request = request_for(case.caller, case.fault.prompt, case.at, handle)
        return await delegate.dispatch(request, cancel=token, observer=observe)

    async def afterwards(self) -> None:
        """Let time pass, release what hangs, and see what is left."""
        record = self.record
        record.open_when_closed = self.peer.truth.open
        record.over_at = anyio.current_time()
        self.peer.release()
        await anyio.sleep(_AFTERWARDS)

    def count(self) -> None:
        """Take down the ground truth."""
        record, truth = self.record, self.peer.truth
        record.open_at_last = truth.open
        record.tasks = truth.tasks
        record.requests = truth.requests
        record.runs = dict(truth.runs)
        wires = self.case.fault.manners.operation
        asked = self._asked(record.requests)
        record.met = asked > self._asked_before or bool(self.wire.trips_of(wires))

    def _asked(self, requests: Iterable[RequestFact]) -> int:
        """Count the requests that the fault is about."""
        return sum(one.operation is self.case.fault.operation for one in requests)


def play(case: Case) -> Record:
    """Play one case on a loop of its own, the same each time."""
    stage = _Stage(case)
    # Of the delegate's jitter, and of the order in which trio runs what is ready.
    with deterministic_PRNG(20):
        if case.loop == "trio":
            trio.run(_on_trio, stage, clock=trio.testing.MockClock(autojump_threshold=0))
        elif case.caller is Caller.SHUTDOWN:
            _shut_down(stage)
        else:
            # What a Runner does besides is for loops of which more is left than may be.
            with contextlib.closing(_WatchedLoop()) as loop:
                loop.run_until_complete(_on_asyncio(stage))
                stage.record.timers_left = loop.timers_left()
                stage.record.complaints += loop.complaints
    stage.count()
    return stage.record


async def _on_trio(stage: _Stage) -> None:
    before = trio.lowlevel.current_statistics().tasks_living
    await stage.prepare()
    await stage.play()
    await stage.afterwards()
    left = trio.lowlevel.current_statistics()
    stage.record.tasks_left = left.tasks_living - before
    stage.record.timers_left = int(left.seconds_to_next_deadline != float("inf"))


async def _on_asyncio(stage: _Stage) -> None:
    await stage.prepare()
    await stage.play()
    await stage.afterwards()
    stage.record.tasks_left = len(asyncio.all_tasks()) - 1


def _shut_down(stage: _Stage) -> None:
    """End the loop while the delegation goes on, as `asyncio.run` does when its main task ends."""

    async def main() -> asyncio.Task[None]:
        await stage.prepare()
        # The end of a loop waits for every task; one that is deaf has to be helped.
        asyncio.get_running_loop().call_at(_AFTERWARDS, stage.peer.release)
        task = asyncio.create_task(stage.play())
        await asyncio.sleep(stage.case.at)
        return task

    runner = asyncio.Runner(loop_factory=_WatchedLoop)
    with runner:
        task = runner.run(main())
        loop = runner.get_loop()
        assert isinstance(loop, _WatchedLoop)
    stage.record.complaints += loop.complaints
    if not task.done():
        stage.record.complaints.append("the caller's task was left running")
    elif not task.cancelled() and task.exception() is not None:
        stage.record.complaints.append(f"the caller's task ended with {task.exception()!r}")
    stage.record.open_when_closed = stage.peer.truth.open
    helped = 1 if loop.time() < _AFTERWARDS else 0
    stage.record.timers_left = loop.timers_left() - helped
