"""Drives one lifecycle: carries out its commands, tells it what came, wakes it in time."""

from __future__ import annotations

import sys
from collections import deque
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Protocol, assert_never

from a2a_delegate.bindings.exchange import Exchange
from a2a_delegate.errors import LostReplyError, PeerUnreachableError, UsageError
from a2a_delegate.lifecycle.commands import Command, Downgrade, LetGo, Perform, Settle, Tell
from a2a_delegate.lifecycle.machine import Lifecycle
from a2a_delegate.lifecycle.observations import (
    BodyLeft,
    CancelRequested,
    Ended,
    IdSeen,
    Observation,
    Started,
    TimePassed,
)
from a2a_delegate.lifecycle.operations import (
    Fault,
    Lost,
    NotSent,
    Operation,
    OperationName,
    Reply,
    Unreadable,
)
from a2a_delegate.outcome import Attempt, AttemptOutcome
from a2a_delegate.runtime.owner import Bell, OwnedTask, uninterrupted
from a2a_delegate.signals import EvidenceFailed, Settled, Signal, TransportStuck

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from a2a_delegate.delegate import CancelToken, Observer
    from a2a_delegate.lifecycle.plan import Plan
    from a2a_delegate.outcome import DelegateResult
    from a2a_delegate.runtime.clock import Clock


class Performer(Protocol):
    """Whoever carries out operations: a remote peer, or work in this process."""

    def way_of(self, operation: Operation) -> tuple[str, str]:
        """Return the version that an operation is asked in now, and the endpoint it goes to."""
        ...

    async def perform(self, operation: Operation, exchange: Exchange) -> Reply:
        """Carry out one operation; what the network or the peer does is a reply, never raised."""
        ...

    def downgrade(self) -> object:
        """Speak the fallback from now on."""
        ...


class Observers:
    """Tells signals in order; an observer that raises is told nothing more, and told of once."""

    __slots__ = ("_observers",)

    def __init__(self, observers: Sequence[Observer]) -> None:
        self._observers = list(observers)

    def tell(self, signal: Signal) -> None:
        """Tell every observer that is left."""
        for observer in tuple(self._observers):
            try:
                observer(signal)
            except Exception as problem:  # noqa: BLE001 - an observer harms nobody, whatever it raises
                self._observers.remove(observer)
                _report(observer, problem)
                self.tell(EvidenceFailed(observer, problem))


def _report(observer: Observer, problem: Exception) -> None:
    """Show the observer's own error where Python shows those that no caller can take."""
    sys.unraisablehook(
        SimpleNamespace(
            exc_type=type(problem),
            exc_value=problem,
            exc_traceback=problem.__traceback__,
            err_msg="An observer of a2a_delegate raised and is told nothing more",
            object=observer,
        )
    )


@dataclass(slots=True)
class _Flight:
    """One request on its way."""

    number: int
    operation: Operation
    exchange: Exchange
    began: float
    began_utc: datetime
    version: str
    endpoint: str
    reply: Reply | None = None
    task: OwnedTask | None = None
    let_go: str | None = None


class Driver:
    """One delegation in real time. Make it, `start` it, and `join` its task from the caller.

    `left_behind` holds, once settled, the tasks of requests that ignored their cancellation.
    """

    def __init__(
        self,
        plan: Plan,
        performer: Performer,
        *,
        clock: Clock,
        observers: Sequence[Observer] = (),
        token: CancelToken | None = None,
    ) -> None:
        self._performer = performer
        self._clock = clock
        self._plan = plan
        self._machine = Lifecycle(plan, chance=clock.chance)
        self._observers = Observers(observers)
        self._token = token
        self._mailbox: deque[Observation] = deque()
        self._bell = Bell()
        self._flights: dict[int, _Flight] = {}
        self._result: DelegateResult | None = None
        self._misuse: UsageError | None = None
        self.left_behind: list[OwnedTask] = []

    def post(self, observation: Observation) -> None:
        """Tell the lifecycle something; from any task or callback of this loop."""
        self._mailbox.append(observation)
        self._bell.ring()

    def interrupt(self) -> None:
        """Take a plain cancellation of the caller's task for a cancel by the caller."""
        self.post(CancelRequested("caller"))

    async def run(self) -> DelegateResult:
        """Drive the delegation to its outcome in a task of its own, and wait for it.

        A cancellation of the calling task stops the delegation like a token, waits for the
        cleanup, and is raised again.
        """
        task = OwnedTask(self._drive)
        await task.join(self.interrupt)
        error = task.error or self._misuse
        if error is not None:
            raise error
        if self._result is None:  # pragma: no cover - the driver ends with a result or an error
            raise RuntimeError("a delegation ended without an outcome")
        return self._result

    async def _drive(self) -> None:
        undo = self._listen()
        try:
            self._receive(Started())
            while self._result is None and self._misuse is None:
                await self._wait(self._machine.next_deadline())
                self._take_mail()
            await self._let_transports_end()
        finally:
            undo()
        if self._result is not None:
            self._observers.tell(Settled(self._result))

    def _listen(self) -> Callable[[], None]:
        token = self._token
        if token is None:
            return lambda: None
        return token.subscribe(lambda: self.post(CancelRequested("caller", token.reason)))

    async def _wait(self, until: float | None) -> None:
        if not self._mailbox and await uninterrupted(lambda: self._bell.wait(until)):
            # The loop is being shut down under us: the last chance to stop the peer.
            self.interrupt()

    def _take_mail(self) -> None:
        while self._mailbox:
            self._receive(self._mailbox.popleft())
        due = self._machine.next_deadline()
        while due is not None and due <= self._clock.now():
            self._receive(TimePassed())
            due = self._machine.next_deadline()

    def _receive(self, observation: Observation) -> None:
        self._machine.receive(observation, self._clock.now())
        for command in self._machine.commands():
            self._carry_out(command)

    def _carry_out(self, command: Command) -> None:
        match command:
            case Tell(signal):
                self._observers.tell(signal)
            case Perform(number, operation):
                self._perform(number, operation)
            case LetGo(number, unless_left):
                self._let_go(number, unless_left=unless_left)
            case Downgrade():
                self._performer.downgrade()
            case Settle(result):
                self._result = result
            case _:
                assert_never(command)

    # -- requests ------------------------------------------------------------------------------

    def _perform(self, number: int, operation: Operation) -> None:
        exchange = Exchange()
        if operation.name is OperationName.SEND:
            exchange.on_left = lambda: self.post(BodyLeft())
            exchange.on_id = lambda task_id: self.post(IdSeen(task_id))
        clock, performer = self._clock, self._performer
        version, endpoint = performer.way_of(operation)
        flight = _Flight(number, operation, exchange, clock.now(), clock.utc(), version, endpoint)
        self._flights[number] = flight

        async def fly() -> None:
            flight.reply = await performer.perform(operation, exchange)

        flight.task = OwnedTask(fly, lambda: self._land(flight))

    def _let_go(self, number: int, *, unless_left: bool) -> None:
        flight = self._flights.get(number)
        if flight is None or flight.task is None:
            return
        if flight.exchange.seal() and unless_left:
            flight.exchange.sealed = False
            return
        flight.let_go = "cancel"
        flight.task.cancel()

    def _land(self, flight: _Flight) -> None:
        """Tell how a request ended: by its reply, or by what was seen of its body."""
        self._flights.pop(flight.number, None)
        if flight.task is not None and isinstance(flight.task.error, UsageError):
            self._misuse = flight.task.error
        reply = flight.reply or self._without_reply(flight)
        attempt = Attempt(
            number=flight.number,
            operation=flight.operation.name.value,
            started_at=flight.began_utc,
            seconds=max(self._clock.now() - flight.began, 0.0),
            http_status=flight.exchange.http_status,
            outcome=_attempt_outcome(reply),
            body_left=flight.exchange.body_left,
            version=flight.version,
        )
        self.post(Ended(flight.number, flight.operation.name, reply, attempt))

    def _without_reply(self, flight: _Flight) -> Reply:
        error = None if flight.task is None else flight.task.error
        reason = "" if error is None else f"{type(error).__name__} in the transport"
        phase = "cancel" if flight.let_go or error is None else "read"
        problem: LostReplyError | PeerUnreachableError
        if flight.exchange.body_left:
            problem = LostReplyError(method=flight.operation.name.value, phase=phase, reason=reason)
            problem.__cause__ = error
            return Lost(problem)
        phase = "deadline" if error is None else "connect"
        problem = PeerUnreachableError(phase=phase, url=flight.endpoint, reason=reason)
        problem.__cause__ = error
        return NotSent(problem)

    async def _let_transports_end(self) -> None:
        """Wait, bounded, for the requests that were let go, and name those that stay."""
        ends = self._clock.now() + self._plan.timing.release
        while self._flights and self._clock.now() < ends:
            await uninterrupted(lambda: self._bell.wait(ends))
            self._take_mail()
        for flight in self._flights.values():
            self._observers.tell(TransportStuck(flight.operation.name.value))
            if flight.task is not None:
                self.left_behind.append(flight.task)


def _attempt_outcome(reply: Reply) -> AttemptOutcome:
    match reply:
        case Fault():
            return AttemptOutcome.REFUSED
        case Unreadable():
            return AttemptOutcome.NOT_UNDERSTOOD
        case NotSent():
            return AttemptOutcome.NOT_SENT
        case Lost():
            return AttemptOutcome.LOST
        case _:
            return AttemptOutcome.ANSWERED
