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
    from a2a_delegate.model.task import Task
    from a2a_delegate.outcome import DelegateResult
    from a2a_delegate.signals import Signal


@dataclass(slots=True)
class Search:
    """One look-up: `found` are the tasks that carry our message, by id."""

    found: dict[str, Task] = field(default_factory=dict)
    page: int = 0
    next_page: str = ""
    round: int = 1


@dataclass(slots=True)
class Desk:
    """What the rules work with. `now` is set before each step; `chance` gives numbers in [0, 1)."""

    seen: Evidence
    timing: Timing
    chance: Callable[[], float]
    now: float = 0.0
    wake_at: float | None = None
    bound_at: float | None = None
    numbers: int = 0
    flight: dict[OperationName, int] = field(default_factory=dict)
    search: Search = field(default_factory=Search)
    polls: int = 0
    stopping_polls: int = 0
    last_get: float | None = None
    returned: DelegateResult | None = None
    settled: DelegateResult | None = None
    outbox: list[Command] = field(default_factory=list)

    def tell(self, signal: Signal) -> None:
        """Tell the observers."""
        self.outbox.append(Tell(signal))

    def perform(self, operation: Operation) -> None:
        """Ask for one operation; at most one of each kind is in flight."""
        self.numbers += 1
        self.flight[operation.name] = self.numbers
        if operation.name is OperationName.GET:
            self.last_get = self.now
        self.outbox.append(Perform(self.numbers, operation))

    def let_go(self, name: OperationName) -> None:
        """Stop waiting for what is in flight; only a send's own end still matters."""
        number = self.flight.get(name)
        if number is not None:
            self.outbox.append(LetGo(number))
            if name is not OperationName.SEND:
                del self.flight[name]

    def settle(self, result: DelegateResult) -> None:
        """Fix the outcome, and let go of what is in flight."""
        self.settled = result
        self.wake_at = self.bound_at = None
        for name in tuple(self.flight):
            self.let_go(name)
        self.outbox.append(Settle(result))

    @property
    def cleanup_ends(self) -> float:
        """When cleaning up is over, whatever it has brought."""
        cause = self.seen.cause
        return self.now if cause is None else cause.at + self.timing.cleanup
