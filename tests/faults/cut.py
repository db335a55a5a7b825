"""One delegation to a peer on a real port, one of whose replies is cut at one byte.

In real time, because the bytes are real: so the intervals are short, and nothing waits for a clock.
What comes of it is a `Record`, as of the cases in process, for the same judge.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

import anyio
import trio

from a2a_delegate import (
    A2ADelegateConfig,
    CancelToken,
    DelegateError,
    IdKnown,
    Intent,
    InvalidAgentCardError,
    PeerUnreachableError,
    connect,
)
from a2a_delegate.testing import (
    Close,
    CutReply,
    DropAfterAccepting,
    Operation,
    RequestArrived,
    RequestOver,
    ScriptedPeer,
)
from tests.faults.callers import REASON, Caller, observed, request_for
from tests.faults.catalogue import Fault
from tests.faults.judge import complaints
from tests.faults.kinds import MAX_REPLY_BYTES
from tests.faults.play import Case, Record
from tests.faults.wire import Step, Trip

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from a2a_delegate import Signal
    from a2a_delegate.testing import Happening, RequestFact

CONFIG: Final = A2ADelegateConfig(
    max_reply_bytes=MAX_REPLY_BYTES,
    poll_interval=0.01,
    poll_interval_max=0.05,
    recovery_grace=0.05,
    recovery_timeout=5.0,
    cancel_grace=2.0,
)
PATIENCE: Final = 2.0
"""Seconds in which the peer has to take notice that everybody has left."""

_JUDGED_URL: Final = "https://peer.example/rpc"
_PROMPTS: Final = {Operation.CANCEL: "stuck", Operation.GET: "stuck"}
"""What is delegated so that an operation is asked for; for the others it is done at once."""

_NEVER: Final = 1_000.0
_HEAD_ENDS: Final = b"\r\n\r\n"
_NEEDS_VIRTUAL_TIME: Final = "two gets within 10 ms"
"""What the judge says of times that a loaded machine can make so on the way to the peer."""


@dataclass(frozen=True, slots=True)
class Cut:
    """Which reply is cut, where and how; `at` None leaves it whole."""

    versions: tuple[str, ...]
    operation: Operation
    at: int | None = None
    by: Close = Close.FIN
    binding: str = "JSONRPC"

    def __str__(self) -> str:
        where = f"{'+'.join(self.versions)} over {self.binding}, {self.operation}"
        return f"{where}: cut at byte {self.at} by {self.by} on {loop_name()}"

    @property
    def fault(self) -> Fault:
        """The fault that the judge is told of."""
        return Fault(
            str(self),
            self.operation,
            once=() if self.at is None else (CutReply(self.at, self.by),),
            prompt=_PROMPTS.get(self.operation, "data"),
            others=(
                ((Operation.SEND, DropAfterAccepting()),)
                if self.operation is Operation.LIST
                else ()
            ),
        )


def loop_name() -> str:
    """Return the name of the event loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return "trio"
    return "asyncio"


@dataclass(slots=True)
class Stage:
    """One cut, and all that is seen of it: at the peer, and by the caller."""

    cut: Cut
    over: list[RequestOver] = field(default_factory=list)
    trips: dict[int, Trip] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    record: Record = field(init=False)
    peer: ScriptedPeer = field(init=False)
    token: CancelToken = field(default_factory=CancelToken)

    def __post_init__(self) -> None:
        """Set the stage."""
        fault, operation = self.cut.fault, self.cut.operation
        caller = Caller.TOKEN if operation is Operation.CANCEL else Caller.PATIENT
        case = Case(fault, self.cut.versions, loop_name(), caller, at=_NEVER)
        self.record = Record(case, [])
        self.peer = ScriptedPeer(self.cut.versions, bindings=(self.cut.binding,))
        for other, behaviour in fault.others:
            self.peer.script(other, behaviour)
        self.peer.script(operation, *fault.once)

    async def play(self) -> None:
        """Play the delegation up to the end of the delegate, and of the port."""
        async with self.peer.serve(observer=self.note) as url:
            try:
                await self._delegate(url)
            except (PeerUnreachableError, InvalidAgentCardError) as error:
                self._without_card(error)
            except DelegateError as error:
                self.wrong.append(f"no card, and it is called {error!r}")
            with anyio.move_on_after(PATIENCE):
                while self.peer.truth.open:  # noqa: ASYNC110 - the truth has no event
                    await anyio.sleep(0.001)
            self.record.open_when_closed = self.peer.truth.open
        self._count(url)

    async def _delegate(self, url: str) -> None:
        record = self.record
        async with connect(url, id="peer", config=CONFIG) as delegate:
            self._with_card(delegate.card.name)
            record.began = anyio.current_time()
            request = request_for(Caller.PATIENT, record.case.fault.prompt, _NEVER)
            call = delegate.dispatch(request, cancel=self.token, observer=self.observe)
            await observed(call, record.ending)
        record.closed_at = anyio.current_time()

    def observe(self, signal: Signal) -> None:
        """Take every signal, with its time; a caller who stops does so once the id is known."""
        record, now = self.record, anyio.current_time()
        record.signals.append((now, signal))
        if isinstance(signal, Intent):
            record.requests_at_intent = len(self.trips)
        if isinstance(signal, IdKnown) and record.case.caller is Caller.TOKEN:
            record.case = replace(record.case, at=now - record.began)
            self.token.cancel(REASON)

    def note(self, happening: Happening) -> None:
        """Take note of what happened at the peer."""
        if isinstance(happening, RequestArrived) and _is_call(happening.request):
            fact = happening.request
            left = fact.method == "POST"
            self.trips[happening.number] = Trip(str(fact.operation), fact.when, left=left)
        elif isinstance(happening, RequestOver):
            self.over.append(happening)
            if self.cut.operation is happening.request.operation is Operation.GET:
                self._finish()
            if (trip := self.trips.get(happening.number)) is not None:
                head, ends, trip.came = happening.reply.partition(_HEAD_ENDS)
                trip.status = int(head.split()[1]) if ends else None
                trip.complete = _is_whole(happening)
                trip.step(Step.OVER)

    def _finish(self) -> None:
        """End the work once it has been asked for, however slow this machine is."""
        for task in self.peer.truth.tasks:
            if task.ended is None:
                self.peer.finish(task.id)

    def complaints(self) -> list[str]:
        """Return what is wrong: with the card, with the cut, and what the judge says."""
        judged = [] if not self.record.signals else complaints(self.record)
        return [*self.wrong, *(one for one in judged if one != _NEEDS_VIRTUAL_TIME)]

    def _with_card(self, name: str) -> None:
        cards = [one for one in self.over if one.request.operation is Operation.CARD]
        if name != self.peer.name or not cards or not _is_whole(cards[-1]):
            self.wrong.append(f"a card that never came is taken for one: {name!r}")

    def _without_card(self, error: DelegateError) -> None:
        cards = [one for one in self.over if one.request.operation is Operation.CARD]
        if self.cut.operation is not Operation.CARD or any(map(_is_whole, cards)):
            self.wrong.append(f"the card came, and it says {error!r}")
        if self.trips:
            self.wrong.append("there is no card, and something was asked")

    def _count(self, url: str) -> None:
        """Take down the ground truth."""
        record, truth = self.record, self.peer.truth
        record.trips[:] = self.trips.values()
        record.open_at_last = truth.open
        record.tasks = truth.tasks
        record.runs = dict(truth.runs)
        path = "/rpc" if self.cut.binding == "JSONRPC" else "/rest/"
        record.requests = tuple(_at_judged_url(truth.requests, f"{url}{path}"))
        if self.peer.pending:
            self.wrong.append(f"never asked for: {self.peer.pending}")


def tasks() -> int:
    """Count the tasks of this loop."""
    if loop_name() == "asyncio":
        return len(asyncio.all_tasks())
    return trio.lowlevel.current_statistics().tasks_living


def _is_whole(one: RequestOver) -> bool:
    """Whether all of a reply went out."""
    head, ends, _ = one.reply.partition(_HEAD_ENDS)
    if not ends:
        return False
    length = int(head.partition(b"content-length: ")[2].split()[0])
    return one.sent == len(head) + len(ends) + length


def _at_judged_url(requests: Iterable[RequestFact], url: str) -> Iterator[RequestFact]:
    """Yield the calls, at the address that the judge knows the endpoint by."""
    for fact in filter(_is_call, requests):
        yield replace(fact, url=_JUDGED_URL if fact.url.startswith(url) else fact.url)


def _is_call(fact: RequestFact) -> bool:
    """Whether an interface of the agent is asked, and not where its card is."""
    return fact.operation not in {Operation.CARD, None}
