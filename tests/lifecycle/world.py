"""A model of the peer, the network and the caller, with the truth of what the peer really did.

The model is consistent with itself, and otherwise as bad as it can be. The peer never gets the
message, or gets and refuses it, or runs it; the reply is lost, or cut with the id visible, or
unreadable, or late; gets, lists and cancels fail, are refused, show another task, hang, or lie
(a cancel that is answered `canceled` while the work goes on). A transport may be deaf: told to
stop, it goes on, and may bring any end later. What the peer did is decided as late as possible:
while nothing tells whether a body that left was taken, it counts as possibly run.

Time passes in two ways: to the next moment that the machine has asked for (`time`), or to that
very moment without the machine being told (`dawdle`), so that whatever comes next meets a timer or
a deadline that has passed unseen; where the setup says so, the loop is also held up for seconds
(`stall`). Of requests that were let go the model keeps the newest of each
kind; the older ones never end.

Every command is judged when it is given, and every end against the truth: `judge` says how.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from enum import Enum
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from a2a_delegate.lifecycle.assembly import Assembly
from a2a_delegate.lifecycle.commands import LetGo, Perform, Settle, Switch, Tell
from a2a_delegate.lifecycle.machine import Lifecycle
from a2a_delegate.lifecycle.observations import (
    BodyLeft,
    CancelRequested,
    Ended,
    IdSeen,
    Observation,
    Returned,
    Started,
    TimePassed,
)
from a2a_delegate.lifecycle.operations import OperationName, asks_for_stream
from a2a_delegate.lifecycle.plan import Mission, Plan, Timing
from a2a_delegate.lifecycle.table import TABLE
from a2a_delegate.outcome import Completed, Effect
from tests.lifecycle import judge, ledger, streams
from tests.lifecycle.replies import (
    ANSWERING,
    ASIDE,
    ENDINGS,
    ENDS,
    NEWER,
    OLDER,
    STATE_OF,
    STATES,
    TASK,
    attempt,
    known,
    streaming,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from a2a_delegate.lifecycle.commands import Command
    from a2a_delegate.lifecycle.operations import Operation
    from a2a_delegate.lifecycle.plan import Route
    from a2a_delegate.lifecycle.table import Cells, Phase

SEND, GET, LIST, CANCEL, SUBSCRIBE = OperationName
REASON: Final = object()
STALL: Final = 7.0
"""Seconds; longer than every bound but that of a get."""
WORK: Final = Completed(delegate_id="peer", effect=Effect.RAN, output="made here")


@dataclass(frozen=True, slots=True)
class Setup:
    """What is fixed before a delegation starts."""

    name: str
    plan: Plan
    chance: Callable[[], float] = lambda: 0.5
    table: Mapping[Phase, Cells] = field(default_factory=lambda: TABLE, hash=False)
    labels: frozenset[str] | None = None
    """What peer and network can say; None for everything."""
    stalls: bool = False
    """Whether the event loop can be held up, so that nothing is told for a long time."""


TIMING: Final = Timing(poll_interval_max=2.0)


def setup(kind: str, deadline: float | None, timing: Timing = TIMING) -> Setup:
    """Return one of several kinds.

    `plain` cannot list, `lists` can, `falls back` to an older one, `goes
    aside` where nobody is reached, `here` is in this process;
    `answers` goes on with a task; `streams` and `answers, streamed` send to peers that stream. Of
    what was handed over before, `taken up` and `looked at` know the task, `sought` and `looked for`
    do not, and of what is `lost` the peer cannot even list; `subscribes` knows the task of a peer
    that streams.
    """
    plan = Plan("peer", _ROUTES.get(kind, OLDER), timing, deadline)
    if kind == "falls back":
        plan = replace(plan, fallback=OLDER)
    elif kind == "goes aside":
        plan = replace(plan, detours=(ASIDE,))
    elif kind == "here":
        plan = replace(plan, in_process=True)
    elif kind in {"taken up", "sought", "lost", "subscribes"}:
        plan = replace(plan, mission=Mission.TAKE_UP)
    elif kind in {"looked at", "looked for"}:
        plan = replace(plan, mission=Mission.LOOK)
    return Setup(f"{kind}, deadline {deadline}", plan)


SENT: Final = (
    "plain",
    "lists",
    "falls back",
    "goes aside",
    "here",
    "answers",
    "streams",
    "answers, streamed",
)
TAKEN_UP: Final = ("taken up", "sought", "lost", "looked at", "looked for", "subscribes")
"""Kinds in which nothing is sent: what was handed over before is taken up, or looked at."""

_ROUTES: Mapping[str, Route] = {
    "lists": NEWER,
    "falls back": NEWER,
    "goes aside": NEWER,
    "sought": NEWER,
    "looked for": NEWER,
    "taken up": known(OLDER),
    "looked at": known(OLDER),
    "answers": ANSWERING,
    "streams": streaming(NEWER),
    "answers, streamed": streaming(ANSWERING),
    "subscribes": known(streaming(OLDER)),
}


class Fate(Enum):
    """What became of the body of the last send, as far as it has been decided."""

    KEPT = "not a byte of it left"
    OPEN = "it left; the peer may or may not have taken it"
    REFUSED = "the peer refused it before it began"
    RAN = "the peer made a task of it"
    ANSWERED = "the peer answered it with a message"


@dataclass(slots=True)
class Flight:
    """One request that is on its way."""

    number: int
    name: OperationName
    began: float
    let_go: bool = False
    for_good: bool = False
    """It was let go whether or not its body had left."""
    deaf: bool = False
    left: bool = False
    id_shown: bool = False
    returned: bool = False
    streams: bool = False
    """The answer was asked for as a stream."""
    showed: bool = False
    """The stream has shown an event."""


class Move(NamedTuple):
    """One thing that happens next."""

    what: str
    number: int = 0
    label: str = ""


T = TypeVar("T")


def twin_of(thing: T, _fields: dict[type, tuple[str, ...]] = {}) -> T:  # noqa: B006 - a cache
    """Copy a slotted dataclass by its fields; several times faster than `replace`."""
    names = _fields.get(type(thing))
    if names is None:
        names = tuple(one.name for one in fields(thing) if one.init)  # type: ignore[arg-type]
        _fields[type(thing)] = names
    twin = object.__new__(type(thing))
    for name in names:
        setattr(twin, name, getattr(thing, name))
    return twin


def twin_of_assembly(assembly: Assembly) -> Assembly:
    """Return the same pieces, to go on from alone."""
    twin = Assembly(assembly._limit)  # noqa: SLF001 - a whole state, not a part
    twin._kept, twin._whole = assembly._kept, assembly._whole  # noqa: SLF001
    for name, growing in assembly._by_name.items():  # noqa: SLF001
        twin._by_name[name] = other = twin_of(growing)  # noqa: SLF001
        other.parts = growing.parts.copy()
    return twin


def twin_of_machine(machine: Lifecycle) -> Lifecycle:
    """Return a machine in the same state that goes on alone; between two steps only."""
    twin = object.__new__(Lifecycle)
    vars(twin).update(vars(machine))
    twin._desk = desk = twin_of(machine._desk)  # noqa: SLF001 - a whole state, not a part
    desk.seen = twin_of(desk.seen)
    desk.seen.attempts = desk.seen.attempts.copy()
    desk.seen.made = twin_of_assembly(desk.seen.made)
    desk.flight, desk.outbox = desk.flight.copy(), []
    desk.search = twin_of(desk.search)
    return twin


class World:
    """The truth, and the machine in the middle of it."""

    __slots__ = ("fate", "flights", "ledger", "lied", "machine", "now", "setup", "started", "state")

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.machine = Lifecycle(setup.plan, chance=setup.chance, table=setup.table)
        self.now = 0.0
        self.started = False
        self.flights: dict[int, Flight] = {}
        self.fate = Fate.KEPT
        self.state = ""
        """The state of the peer's task, as last decided."""
        self.lied = False
        before = setup.plan.mission is not Mission.HAND_OVER
        knows = before and setup.plan.route.intent.task_id is not None
        if before:
            self.fate = Fate.RAN if knows else Fate.OPEN
        self.ledger = ledger.Ledger(
            ever_left=before,
            id_told=knows,
            began_shown=before or setup.plan.route.answers is not None,
        )

    def fork(self) -> World:
        """Return a world in the same state that goes on alone."""
        twin = object.__new__(World)
        twin.setup, twin.now, twin.started = self.setup, self.now, self.started
        twin.fate, twin.state, twin.lied = self.fate, self.state, self.lied
        twin.machine = twin_of_machine(self.machine)
        twin.flights = {number: twin_of(one) for number, one in self.flights.items()}
        twin.ledger = twin_of(self.ledger)
        return twin

    # -- what can happen -------------------------------------------------------------------------

    def moves(self) -> Iterator[Move]:
        """Yield everything that can happen next."""
        if not self.started:
            yield Move("start")
            yield Move("again" if self.ledger.cause else "cancel")
            return
        for flight in self.flights.values():
            yield from self._flight_moves(flight)
        if self.ledger.result is not None:
            return
        yield Move("again" if self.ledger.cause else "cancel")
        due = self.machine.next_deadline()
        if due is not None:
            yield Move("time")
            if due > self.now:
                yield Move("dawdle")
            if self.setup.stalls and not self.ledger.stalled:
                yield Move("stall")

    def _flight_moves(self, flight: Flight) -> Iterator[Move]:
        number = flight.number
        if flight.name is SEND:
            if not flight.left and not flight.let_go:
                yield Move("leave", number)
                if not self.ledger.cause and self.ledger.result is None:
                    yield Move("cancel, leave", number)
            if flight.left and not flight.id_shown and self.fate in {Fate.OPEN, Fate.RAN}:
                yield Move("id", number)
            if self.setup.plan.in_process and flight.left and not flight.returned:
                yield Move("return", number)
        said = self.setup.labels
        for label in self._endings(flight):
            if said is None or label in said:
                yield Move("end", number, label)
        for label in streams.events(self, flight, _later(self.state, lied=self.lied)):
            if said is None or label in said:
                yield Move("show", number, label)

    def _endings(self, flight: Flight) -> tuple[str, ...]:
        if flight.name is SEND or flight.showed:
            return streams.OVER if flight.showed else self._send_endings(flight)
        states = _later(self.state, lied=self.lied)
        if flight.name is SUBSCRIBE:
            return streams.subscription_ends(flight, states)
        states += streams.disagreeing(self.ledger)
        if self.setup.plan.route.answers is not None:
            states = self._states_of_answered(states)
        if flight.let_go or flight.deaf:
            # Failures of what was let go must count for nothing; two kinds stand for all.
            return (("page, ours",) if flight.name is LIST else states) + ("lost", "gone")
        if flight.name is GET:
            return (*states, "gone", "error", "error, later", "lost", "foreign")
        if flight.name is CANCEL:
            lie = () if self.state in ENDS or not self.ledger.id_told else ("canceled, a lie",)
            return (*states, *lie, "not cancelable", "error", "lost", "foreign")
        return _PAGES if self.fate in {Fate.OPEN, Fate.RAN} else ("page, none", "lost")

    def _states_of_answered(self, states: tuple[str, ...]) -> tuple[str, ...]:
        """Show the task that is answered: with our answer in it, or without."""
        if self.ledger.id_told:
            asks = ("input-required, new",) if "input-required" in states else ()
            return (*states, *asks)
        if self.fate not in {Fate.OPEN, Fate.RAN}:
            return states
        ours = tuple(f"{state}, ours" for state in states)
        new = ("input-required, new, ours",) if "input-required" in states else ()
        before = "completed" in states and self.fate is Fate.OPEN
        return (*states, *ours, *new, *(("completed, before",) if before else ()))

    def _send_endings(self, flight: Flight) -> tuple[str, ...]:
        plan = self.setup.plan
        if plan.in_process:
            return _later(self.state) if flight.id_shown else () if flight.left else ("not-sent",)
        if not flight.left:
            return ("not-sent",) if flight.let_go else ("not-sent", "refused")
        cut = ("lost, id shown", "unreadable, id shown", *_later(self.state))
        if flight.id_shown:
            return (*cut, "message", "lost", "error", "refused", "foreign")
        if self.fate is Fate.RAN:
            return (*cut, "lost", "unreadable", "error")
        versions = () if plan.fallback is None else ("version refused",)
        contexts = ("context refused",) if plan.route.own_context else ()
        answered = () if plan.route.answers is None else ("gone", "input-required, new")
        streamed = ("no method",) if plan.route.streams else ()
        refusals = (*_REFUSALS, *versions, *contexts, *answered, *streamed)
        return (*cut, "message", "lost", "unreadable", "error", *refusals)

    # -- what happens ----------------------------------------------------------------------------

    def apply(self, move: Move) -> None:
        """Let one thing happen, and judge what comes of it."""
        if move.what in {"time", "dawdle", "stall"}:
            self._pass_time(move.what)
        elif move.what == "start":
            self.started = True
            self._tell(Started())
        elif move.what == "cancel":
            self._cancel()
        elif move.what == "again":
            self._tell(CancelRequested("sibling"))
        elif move.what == "cancel, leave":
            # The body leaves while the cancel is on its way to the machine.
            flight = self.flights[move.number]
            flight.left, self.fate = True, Fate.OPEN
            self._cancel()
            self._tell_left(flight)
        elif move.what == "leave":
            flight = self.flights[move.number]
            flight.left, self.fate = True, Fate.OPEN
            self._tell_left(flight)
        elif move.what == "id":
            self.flights[move.number].id_shown, self.fate = True, Fate.RAN
            ledger.note_id(self)
            self._tell(IdSeen(TASK))
        elif move.what == "return":
            self.flights[move.number].returned, self.fate = True, Fate.RAN
            self._tell(Returned(WORK), "returned")
        elif move.what == "show":
            self._show(self.flights[move.number], move.label)
        else:
            self._end(self.flights[move.number], move.label)

    def _show(self, flight: Flight, label: str) -> None:
        self._notice_deadline()
        self._tell(*streams.event_of(self, flight, label))

    def note_fate(self, fate: str, state: str = "") -> None:
        """Decide what became of the message, and of its task."""
        self.fate, self.state = Fate[fate], state or self.state

    def _cancel(self) -> None:
        self._notice_deadline()
        ledger.note_cause(self, "caller")
        self._tell(CancelRequested("caller", REASON))

    def _tell_left(self, flight: Flight) -> None:
        self.ledger.ever_left, self.ledger.refused = True, False
        self._tell(BodyLeft())
        if self.setup.plan.in_process:
            flight.id_shown, self.fate = True, Fate.RAN
            ledger.note_id(self)
            self._tell(IdSeen(TASK))

    def _pass_time(self, how: str) -> None:
        due = self.machine.next_deadline()
        assert due is not None
        self.now = max(self.now, due)
        for flight in self.flights.values():
            # What has not ended promptly when it was told to stop is deaf.
            flight.deaf = flight.deaf or flight.let_go
        if how == "time":
            self._tell(TimePassed())
        elif how == "stall":
            self.now += STALL
            self.ledger.stalled = True

    def _end(self, flight: Flight, label: str) -> None:
        del self.flights[flight.number]
        self._notice_deadline()
        self._decide(flight, label)
        reply = ENDINGS["canceled" if label == "canceled, a lie" else label]
        told = attempt(flight.number, flight.name, reply, body_left=flight.left)
        ledger.note_end(self, flight, label)
        self._tell(Ended(flight.number, flight.name, reply, told), label)

    def _decide(self, flight: Flight, label: str) -> None:
        """Fix the truth by what the peer is about to say."""
        if label == "completed, before":
            self.state, self.fate = "completed", Fate.REFUSED
        elif label in STATE_OF:
            self.state = STATE_OF[label]
            if ledger.adopts(self, flight, label):
                self.fate = Fate.RAN
        elif label == "canceled, a lie":
            self.lied = True
        elif label == "message":
            self.fate = Fate.ANSWERED
        elif flight.name is SEND and label in _REFUSED and flight.left and not flight.id_shown:
            self.fate = Fate.REFUSED
        elif label in {"lost, id shown", "unreadable, id shown"} or label in _SHOW_OURS:
            self.fate = Fate.RAN
            self.state = "completed" if label == "page, ours, ended" else self.state

    def _notice_deadline(self) -> None:
        """A deadline that has passed is a cause, whether or not the machine was told."""
        deadline = self.setup.plan.deadline
        if deadline is not None and deadline <= self.now:
            ledger.note_cause(self, "deadline")

    def _tell(self, observation: Observation, label: str = "") -> None:
        self._notice_deadline()
        self.machine.receive(observation, self.now)
        commands = self.machine.commands()
        if self.ledger.result is not None:
            judge.check_after_settling(self.ledger, commands, label)
        else:
            for place, command in enumerate(commands):
                judge.check_command(self, commands, place, label)
                self._carry_out(command)
        judge.check_state(self, label)

    def _carry_out(self, command: Command) -> None:
        match command:
            case Perform(number, operation):
                self._perform(number, operation)
            case LetGo(number, unless_left):
                flight = self.flights[number]
                flight.let_go = flight.let_go or not (unless_left and flight.left)
                flight.for_good = not unless_left
            case Settle() | Tell() | Switch():
                pass

    def _perform(self, number: int, operation: Operation) -> None:
        name = operation.name
        stale = [one.number for one in self.flights.values() if one.name is name]
        for old in stale[1:]:
            del self.flights[old]
        if name is SEND:
            self.fate = Fate.KEPT
        streamed = asks_for_stream(operation)
        self.flights[number] = Flight(number, name, self.now, streams=streamed)


_REFUSALS = ("refused", "busy", "busy, later")
_REFUSED = frozenset({*_REFUSALS, "version refused", "context refused", "gone", "no method"})
_SHOW_OURS = frozenset(
    {"page, ours", "page, ours, ended", "page, two", "page, ours and more", "page, two and more"}
)
_PAGES = (
    "page, none",
    "page, ours",
    "page, ours, ended",
    "page, two",
    "page, more",
    "page, ours and more",
    "page, two and more",
    "no list",
    "error",
    "lost",
)


def _later(state: str, *, lied: bool = False) -> tuple[str, ...]:
    """Return the states that a task can show after `state`; an end is for good, unless it lies."""
    return (state,) if state in ENDS and not lied else STATES
