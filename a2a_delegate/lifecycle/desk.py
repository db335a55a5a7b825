"""The working state of one delegation: evidence, timers, what is in flight, what to ask for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from a2a_delegate.lifecycle.commands import Command, LetGo, Perform, Settle, Tell
from a2a_delegate.lifecycle.operations import OperationName

if TYPE_CHECKING:
    from collections.abc import Callable

    from a2a_delegate.lifecycle.evidence import Evidence
    from a2a_delegate.lifecycle.operations import Operation
    from a2a_delegate.lifecycle.plan import Timing
    from a2a_delegate.model.message import Message
    from a2a_delegate.model.task import Task
    from a2a_delegate.outcome import DelegateResult
    from a2a_delegate.signals import Signal


GET_FLOOR = 0.01
"""Seconds between two gets of one task, at least."""

SUBSCRIPTIONS = 5
"""Subscriptions running that showed nothing new, after which the task is only asked for."""


@dataclass(slots=True, eq=False, repr=False)
class Search:
    """One look-up: `found` are the ids of the tasks that carry our message, in order.

    `ended`: one of them is listed as ended.
    """

    found: tuple[str, ...] = ()
    ended: bool = False
    page: int = 0
    next_page: str = ""
    round: int = 1


@dataclass(slots=True, eq=False, repr=False)
class Desk:
    """What the rules work with. `now` is set before each step; `chance` gives numbers in [0, 1).

    What the event at hand shows is set just before the step that reads it, and means nothing in
    any other: `shown` with ENDED, PAUSED and WORKING, `said` with MESSAGE, `returned` with
    RETURNED. `ended` is the request whose end it is, None for one that was let go before.
    """

    seen: Evidence
    timing: Timing
    chance: Callable[[], float]
    now: float = 0.0
    wake_at: float | None = None
    bound_at: float | None = None
    numbers: int = 0
    flight: dict[OperationName, int] = field(default_factory=dict)
    stopped_send: int | None = None
    """The send that was told to stop; it stays in flight, because its end still matters."""
    search: Search = field(default_factory=Search)
    polls: int = 0
    barren: int = 0
    """Subscriptions running that have shown nothing new."""
    subscribed_at: float | None = None
    """When the last of them was made."""
    paused_until: float = 0.0
    """When the pause ends that the peer asked for, as it refused a get or a subscription."""
    owes_get: bool = False
    """A stream is over, and the task has not been asked for since."""
    stopping_polls: int = 0
    last_get: float | None = None
    ended: OperationName | None = None
    shown: Task = field(init=False)
    said: Message = field(init=False)
    returned: DelegateResult = field(init=False)
    outbox: list[Command] = field(default_factory=list)

    def tell(self, signal: Signal) -> None:
        """Tell the observers."""
        self.outbox.append(Tell(signal))

    def perform(self, operation: Operation) -> None:
        """Ask for one operation; at most one of each kind is in flight."""
        self.numbers += 1
        self.flight[operation.name] = self.numbers
        if operation.name is OperationName.GET:
            self.last_get, self.owes_get = self.now, False
        elif operation.name is OperationName.SUBSCRIBE:
            self.subscribed_at = self.now
        self.outbox.append(Perform(self.numbers, operation))

    def let_go(self, name: OperationName) -> None:
        """Stop waiting for what is in flight; only a send's own end still matters."""
        number = self.flight.get(name)
        if number is None or number == self.stopped_send:
            return
        self.outbox.append(LetGo(number))
        if name is OperationName.SEND:
            self.stopped_send = number
        else:
            del self.flight[name]

    def settle(self, result: DelegateResult) -> None:
        """Fix the outcome, and let go of what is in flight."""
        self.wake_at = self.bound_at = None
        for name in tuple(self.flight):
            self.let_go(name)
        self.outbox.append(Settle(result))

    @property
    def stream(self) -> int | None:
        """The request that shows the task as a stream now; None where there is none."""
        send = self.flight.get(OperationName.SEND)
        if send is not None and send != self.stopped_send and self.seen.route.send.streamed:
            return send
        return self.flight.get(OperationName.SUBSCRIBE)

    def let_streams_go(self) -> None:
        """Stop watching."""
        self.let_go(OperationName.SEND)
        self.let_go(OperationName.SUBSCRIBE)

    @property
    def round_pause(self) -> float:
        """Seconds before the next round of a look-up: a task may be listed a little late."""
        return max(self.timing.poll_interval, GET_FLOOR) * self.search.round

    @property
    def stopping_ends(self) -> float:
        """When stopping a task ends, whatever it has brought.

        As cleaning up does. A loop that was held up gets `release` seconds all the same: a cancel
        that has no time is no cancel.
        """
        return max(self.cleaning_ends, self.now + self.timing.release)

    @property
    def cleaning_ends(self) -> float:
        """When cleaning up ends: `cancel_grace` from now.

        Where a cause has latched, early enough that the last transport still has the time to stop
        within the bound.
        """
        ends, cause = self.now + self.timing.cancel_grace, self.seen.cause
        if cause is None:
            return ends
        return min(ends, cause.at + self.timing.cleanup - self.timing.release)
