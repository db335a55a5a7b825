"""Tells one machine a story, step by step, and remembers what it asked for."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from a2a_delegate.lifecycle.commands import LetGo, Perform, Settle, Tell
from a2a_delegate.lifecycle.machine import Lifecycle
from a2a_delegate.lifecycle.observations import (
    BodyLeft,
    CancelRequested,
    Ended,
    IdSeen,
    Observation,
    Started,
    Streamed,
    TimePassed,
)
from a2a_delegate.lifecycle.operations import OperationName
from a2a_delegate.lifecycle.plan import Mission, Plan, Route, Timing
from a2a_delegate.outcome import Completed
from tests.lifecycle.replies import ENDINGS, NEWER, TASK, attempt

if TYPE_CHECKING:
    from a2a_delegate.lifecycle.commands import Command
    from a2a_delegate.lifecycle.operations import Operation, Reply, StreamEvent
    from a2a_delegate.lifecycle.table import Phase
    from a2a_delegate.model.card import AgentInterface
    from a2a_delegate.outcome import DelegateResult
    from a2a_delegate.signals import Signal

T = TypeVar("T")
SEND, GET, LIST, CANCEL, SUBSCRIBE = OperationName


class Story:
    """One delegation as a test tells it; `now` is the time of what is told next."""

    def __init__(
        self,
        route: Route = NEWER,
        *,
        timing: Timing | None = None,
        deadline: float | None = None,
        fallback: Route | None = None,
        detours: tuple[AgentInterface, ...] = (),
        in_process: bool = False,
        chance: float = 0.5,
        mission: Mission = Mission.HAND_OVER,
        waits_for_auth: bool = False,
        kept_bytes: int = 32 * 1024 * 1024,
    ) -> None:
        plan = Plan(
            "peer",
            route,
            timing or Timing(),
            deadline,
            fallback,
            detours=detours,
            in_process=in_process,
            mission=mission,
            waits_for_auth=waits_for_auth,
            kept_bytes=kept_bytes,
        )
        self.machine = Lifecycle(plan, chance=lambda: chance)
        self.now = 0.0
        self.commands: list[Command] = []
        self.performed: dict[int, Operation] = {}
        self.ended: set[int] = set()
        self.signals: list[Signal] = []
        self.let_go: list[LetGo] = []
        self._result: DelegateResult | None = None

    # -- telling -----------------------------------------------------------------------------

    def tell(self, observation: Observation) -> Story:
        self.machine.receive(observation, self.now)
        self.commands = self.machine.commands()
        for command in self.commands:
            match command:
                case Perform(number, operation):
                    self.performed[number] = operation
                case LetGo():
                    self.let_go.append(command)
                case Tell(signal):
                    self.signals.append(signal)
                case Settle(result):
                    self._result = result
                case _:
                    pass
        return self

    def starts(self) -> Story:
        return self.tell(Started())

    def body_leaves(self) -> Story:
        return self.tell(BodyLeft())

    def id_shows(self, task_id: str = TASK) -> Story:
        return self.tell(IdSeen(task_id))

    def caller_cancels(self, reason: object = None) -> Story:
        return self.tell(CancelRequested("caller", reason))

    def sends(self) -> Story:
        """Start, and let the body leave."""
        return self.starts().body_leaves()

    def follows(self) -> Story:
        """Send, and be shown a task that works."""
        return self.sends().ends("working")

    def ends(
        self,
        reply: str | Reply,
        *,
        name: OperationName | None = None,
        number: int | None = None,
        body_left: bool = True,
    ) -> Story:
        """End a request: the newest in flight, the newest of that name, or the one of a number."""
        if number is None:
            flying = {n: op for n, op in self.performed.items() if n not in self.ended}
            number = max(n for n, op in flying.items() if name in {None, op.name})
        self.ended.add(number)
        said = ENDINGS[reply] if isinstance(reply, str) else reply
        op = self.performed[number].name
        left = body_left and op is SEND and reply != "not-sent"
        return self.tell(Ended(number, op, said, attempt(number, op, said, body_left=left)))

    def shows(self, event: StreamEvent, *, name: OperationName = SEND) -> Story:
        """Let the newest request of that name show an event of its stream."""
        number = max(n for n, op in self.performed.items() if op.name is name)
        return self.tell(Streamed(number, name, event))

    def time_comes(self) -> Story:
        """Go to the moment that the machine has asked for, and tell it."""
        due = self.machine.next_deadline()
        assert due is not None, "nothing is waited for"
        self.now = max(self.now, due)
        return self.tell(TimePassed())

    def later(self, seconds: float) -> Story:
        """Let time pass without a word; to the moment itself, not beyond."""
        self.now += seconds
        return self

    # -- asking ------------------------------------------------------------------------------

    @property
    def phase(self) -> Phase:
        return self.machine.phase

    @property
    def due(self) -> float | None:
        return self.machine.next_deadline()

    @property
    def wait(self) -> float:
        """Seconds to the moment that the machine has asked for."""
        assert self.due is not None
        return self.due - self.now

    @property
    def result(self) -> DelegateResult:
        assert self._result is not None, f"not settled: {self.phase}"
        return self._result

    def result_of(self, end: str | Reply) -> Completed:
        """End the newest request, which must complete the delegation."""
        result = self.ends(end).result
        assert isinstance(result, Completed)
        return result

    @property
    def settled(self) -> bool:
        return self._result is not None

    @property
    def asked(self) -> list[str]:
        """The names of everything that was asked for."""
        return [operation.name.value for operation in self.performed.values()]

    @property
    def asks(self) -> list[str]:
        """The names of what was asked for by the last thing told."""
        return [one.operation.name.value for one in self.commands if isinstance(one, Perform)]

    def told(self, kind: type[T]) -> list[T]:
        return [signal for signal in self.signals if isinstance(signal, kind)]


def older(route: Route = NEWER) -> Route:
    """Return a route that cannot look up."""
    return replace(route, looks_up=False, by_context=False, own_context=False)
