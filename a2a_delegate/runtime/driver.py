"""Drives one lifecycle: carries out its commands, tells it what came, wakes it in time."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Protocol, assert_never, cast

import anyio

from a2a_delegate.bindings.exchange import Exchange
from a2a_delegate.errors import UsageError
from a2a_delegate.lifecycle.commands import Command, LetGo, Perform, Settle, Switch, Tell
from a2a_delegate.lifecycle.machine import Lifecycle
from a2a_delegate.lifecycle.observations import (
    BodyLeft,
    CancelRequested,
    IdSeen,
    Observation,
    Started,
    Streamed,
    TimePassed,
)
from a2a_delegate.lifecycle.operations import (
    Operation,
    OperationName,
    Reply,
    asks_for_stream,
)
from a2a_delegate.runtime.flight import Flight
from a2a_delegate.runtime.owner import Bell, OwnedTask, uninterrupted
from a2a_delegate.runtime.plans import interface_of
from a2a_delegate.runtime.signalling import Observers
from a2a_delegate.signals import Settled, TransportStuck

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from a2a_delegate.delegate import CancelToken, Observer
    from a2a_delegate.lifecycle.plan import Plan
    from a2a_delegate.model.card import AgentInterface
    from a2a_delegate.outcome import DelegateResult
    from a2a_delegate.runtime.clock import Clock

_ASKED_ONCE = frozenset({OperationName.LIST, OperationName.CANCEL})
"""Requests that are made once, and that may be repeated."""


class Performer(Protocol):
    """Whoever carries out operations: a remote peer, or work in this process."""

    def way_of(self, operation: Operation) -> tuple[str, str]:
        """Return the version that an operation is asked in now, and the endpoint it goes to."""
        ...

    async def perform(self, operation: Operation, exchange: Exchange) -> Reply:
        """Carry out one operation; what the network or the peer does is a reply, never raised."""
        ...

    def switch(self, to: AgentInterface) -> None:
        """Go by another interface from now on, that of a fallback or a detour of the plan."""
        ...


class Driver:
    """One delegation in real time. Make it, and `run` it in the task of the caller.

    Requests fly in tasks of their own, which nothing of the caller's can cancel; the caller's task
    only waits for them and steps the lifecycle. `left_behind` holds, once settled, the tasks of
    requests that ignored their cancellation.
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
        self._mailbox: deque[Observation | Flight] = deque()
        self._bell = Bell()
        self._stepping = False
        self._flights: dict[int, Flight] = {}
        self._result: DelegateResult | None = None
        self._fatal: BaseException | None = None
        self._release_ends: float | None = None
        self.left_behind: list[OwnedTask] = []

    def post(self, observation: Observation) -> None:
        """Tell the lifecycle something; from any task or callback of this loop."""
        self._mailbox.append(observation)
        self._bell.ring()

    async def run(self) -> DelegateResult:
        """Drive the delegation to its outcome.

        The first cancellation of the calling task stops the delegation like a token, and is raised
        again after the cleanup; further ones are absorbed, so that they cannot cut the cleanup. A
        KeyboardInterrupt counts as one, and a second one goes before the cleanup.
        """
        undo = self._listen()
        try:
            # Of what was cancelled before it began nothing is sent.
            self._read_mail()
            self._receive(Started())
            await self._conduct(self._bell.wait)
        except GeneratorExit:
            # The loop is gone: nothing can be waited for any more.
            raise
        except BaseException:
            await self._clean_up()
            raise
        finally:
            undo()
        self._close()
        if self._fatal is not None:
            raise self._fatal
        return cast("DelegateResult", self._result)

    async def _clean_up(self) -> None:
        """Stop the delegation, and wait for that whatever is done to this task."""
        self.post(CancelRequested("caller"))
        try:
            with anyio.CancelScope(shield=True):
                await self._conduct(self._wait_uninterrupted)
        except BaseException:
            for flight in tuple(self._flights.values()):
                self._let_go(flight.number, unless_left=False)
            raise
        self._close()

    async def _conduct(self, wait: Callable[[float | None], Awaitable[object]]) -> None:
        """Wait and take what comes, until the outcome is there and the requests have ended.

        Those that were let go have a bound of their own for that.
        """
        while self._result is None and self._fatal is None:
            await wait(self._machine.next_deadline())
            self._take_mail()
        if self._release_ends is None:
            self._release_ends = self._clock.now() + self._plan.timing.release
        while self._flights and self._clock.now() < self._release_ends:
            await wait(self._release_ends)
            self._take_mail()

    async def _wait_uninterrupted(self, until: float | None) -> None:
        await uninterrupted(lambda: self._bell.wait(until))

    def _close(self) -> None:
        """Name the requests that stay, and tell the outcome, the last signal of all."""
        # A request that a cancellation of the caller's overtook has landed and not been read.
        self._read_mail()
        now = self._clock.now()
        stuck = [flight.ended(now).attempt for flight in self._flights.values()]
        for flight in self._flights.values():
            self._observers.tell(TransportStuck(flight.operation.name.value))
            if flight.task is not None:
                self.left_behind.append(flight.task)
        if self._result is not None:
            self._result = self._machine.completed(self._result, stuck)
            self._observers.tell(Settled(self._result))

    def _listen(self) -> Callable[[], None]:
        if (token := self._token) is None:
            return lambda: None
        return token.subscribe(lambda: self.post(CancelRequested("caller", token.reason)))

    def _read_mail(self) -> None:
        while self._mailbox:
            news = self._mailbox.popleft()
            if not isinstance(news, Flight):
                self._receive(news)
            elif self._may_be_renewed(news):
                # Nobody would ask again, and a second time does no harm.
                news.renewed, news.exchange = True, Exchange()
                self._launch(news)
            else:
                self._receive(news.ended(self._clock.now()))

    def _may_be_renewed(self, flight: Flight) -> bool:
        """Whether a request that the end of the loop cut off is needed, and can be repeated."""
        name = flight.operation.name
        # The get of a look-up, and that after a cancel, may be the last one.
        needed = name in _ASKED_ONCE or (name is OperationName.GET and not self._machine.follows)
        return needed and self._result is None and flight.cut_off and not flight.renewed

    def _take_mail(self) -> None:
        self._read_mail()
        due = self._machine.next_deadline()
        while due is not None and due <= self._clock.now():
            self._receive(TimePassed())
            due = self._machine.next_deadline()

    def _receive(self, observation: Observation) -> None:
        self._stepping = True
        interrupt: KeyboardInterrupt | None = None
        try:
            self._machine.receive(observation, self._clock.now())
            for command in self._machine.commands():
                try:
                    self._carry_out(command)
                except KeyboardInterrupt as problem:
                    interrupt = problem  # of an observer; the other commands bring the end
        finally:
            self._stepping = False
        if interrupt is not None:
            raise interrupt

    def _hear(self, observation: Observation) -> None:
        """Take what a request's own task observes, there and at once.

        The caller's task is woken only where it waits for another moment now; most of what is seen
        of a request on its way changes nothing that it waits for.
        """
        if self._stepping or self._mailbox:
            self.post(observation)
            return
        due = self._machine.next_deadline()
        self._receive(observation)
        if self._result is not None or self._machine.next_deadline() != due:
            self._bell.ring()

    def _carry_out(self, command: Command) -> None:
        match command:
            case Tell(signal):
                self._observers.tell(signal)
            case Perform(number, operation):
                self._perform(number, operation)
            case LetGo(number, unless_left):
                self._let_go(number, unless_left=unless_left)
            case Switch(to):
                self._performer.switch(interface_of(to))
            case Settle(result):
                self._result = result
            case _:
                assert_never(command)

    # -- requests ------------------------------------------------------------------------------

    def _perform(self, number: int, operation: Operation) -> None:
        exchange = Exchange()
        if operation.name is OperationName.SEND:
            exchange.on_left = lambda: self._hear(BodyLeft())
            exchange.on_id = lambda task_id: self._hear(IdSeen(task_id))
        if asks_for_stream(operation):
            name = operation.name
            exchange.on_event = lambda event: self._hear(Streamed(number, name, event))
            exchange.pace = self._observers.ready_for_more
        clock, performer = self._clock, self._performer
        version, endpoint = performer.way_of(operation)
        flight = Flight(number, operation, exchange, clock.now(), clock.utc(), version, endpoint)
        self._launch(flight)

    def _launch(self, flight: Flight) -> None:
        self._flights[flight.number] = flight
        performer, operation, exchange = self._performer, flight.operation, flight.exchange

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
        flight.let_go = self._machine.stop
        flight.task.cancel()

    def _land(self, flight: Flight) -> None:
        """Take a request that has ended; where its task never ran, inside a callback of the loop.

        No clock can be read there, so all the rest is left to whoever reads the mail.
        """
        self._flights.pop(flight.number, None)
        error = None if flight.task is None else flight.task.error
        if isinstance(error, UsageError) or not isinstance(error, Exception | None):
            # A wrong call, or what is meant for the whole program: the caller has to know.
            self._fatal = error
        self._mailbox.append(flight)
        self._bell.ring()
