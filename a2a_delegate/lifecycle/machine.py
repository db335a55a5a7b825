"""The machine: observations in, commands out, and when to be woken. Three verbs.

It knows no protocol version, no binding and no clock. The rules are in `table`, what they ask in
`guards`, what they do in `steps` and `watching`, what requests mean in `meaning`, what is known in
`evidence`, what an error answer proves in `faults`, how it ends in `verdict`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal, assert_never

from a2a_delegate.errors import UsageError
from a2a_delegate.lifecycle.desk import Desk
from a2a_delegate.lifecycle.evidence import Cause, first_evidence, in_order
from a2a_delegate.lifecycle.meaning import event_of_end, event_of_stream
from a2a_delegate.lifecycle.observations import (
    BodyLeft,
    CancelRequested,
    Ended,
    IdSeen,
    Observation,
    Returned,
    Started,
    Streamed,
    TimePassed,
)
from a2a_delegate.lifecycle.operations import (
    TaskReply,
)
from a2a_delegate.lifecycle.table import TABLE, Cells, Event, Phase
from a2a_delegate.signals import Intent, Sent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from a2a_delegate.lifecycle.commands import Command
    from a2a_delegate.lifecycle.plan import Plan
    from a2a_delegate.outcome import Attempt, DelegateResult


class Lifecycle:
    """One delegation from its intent to its outcome.

    `receive` what was observed, carry out the `commands`, and come back with `TimePassed` when
    `next_deadline` is due. Peer input never raises; UsageError is for a shell that misuses it.
    `chance` gives numbers in [0, 1) for jitter; `table` is there for those who watch the rules.
    """

    def __init__(
        self,
        plan: Plan,
        *,
        chance: Callable[[], float],
        table: Mapping[Phase, Cells] = TABLE,
    ) -> None:
        self._phase = Phase.PREPARED
        self._begun = False
        self._returned = False
        self._table = table
        self._desk = Desk(first_evidence(plan), plan.timing, chance)

    @property
    def phase(self) -> Phase:
        """What is true now."""
        return self._phase

    @property
    def follows(self) -> bool:
        """Whether the task is followed: after a get that fails comes another one, or a cancel."""
        return self._phase is Phase.FOLLOWING

    @property
    def stop(self) -> Literal["cancel", "deadline"]:
        """Why a request that is let go now is let go: somebody cancelled, or its time is over."""
        cause = self._desk.seen.cause
        return "deadline" if cause is None or cause.by == "deadline" else "cancel"

    def completed(self, result: DelegateResult, stuck: Iterable[Attempt]) -> DelegateResult:
        """Add to the outcome the requests that ended after it was fixed, and those that never did.

        An outcome of its own making, from work in this process, stands as it is.
        """
        made = in_order((*self._desk.seen.attempts, *stuck))
        if self._returned or made == result.attempts:
            return result
        return replace(result, attempts=made)

    def commands(self) -> list[Command]:
        """Take what is to be done, in order; each command is given once."""
        taken, self._desk.outbox = self._desk.outbox, []
        return taken

    def next_deadline(self) -> float | None:
        """Return when `TimePassed` must be told at the latest; None when nothing is waited for."""
        if self._phase is Phase.SETTLED:
            return None
        desk = self._desk
        deadline = None if desk.seen.cause is not None else desk.seen.plan.deadline
        due = [at for at in (desk.wake_at, desk.bound_at, deadline) if at is not None]
        return min(due, default=None)

    def receive(self, observation: Observation, now: float) -> None:
        """Take one observation. `now` never runs backwards.

        `Started` comes first, and once; only `CancelRequested` may come before it, and then nothing
        is sent. Raises UsageError for any other order.
        """
        begins = isinstance(observation, Started)
        if begins == self._begun and not isinstance(observation, CancelRequested):
            raise UsageError("the lifecycle begins with Started, once")
        self._desk.now = now
        if self._phase is Phase.SETTLED:
            self._compare(observation)
            return
        # A deadline that has passed unseen came before whatever is told now.
        deadline_falls = self._deadline_falls()
        event = self._note(observation)
        if not self._begun:
            return
        if event is not None:
            self._step(event)
        if deadline_falls:
            self._step(Event.DEADLINE)
        if isinstance(observation, TimePassed):
            self._pass_time()

    # -- time and causes ---------------------------------------------------------------------

    def _latch(self, cause: Cause) -> bool:
        """Take the cause, if it is the first one."""
        first = self._desk.seen.cause is None
        if first:
            self._desk.seen.cause = cause
        return first

    def _deadline_falls(self) -> bool:
        deadline, now = self._desk.seen.plan.deadline, self._desk.now
        return deadline is not None and deadline <= now and self._latch(Cause("deadline", now))

    def _pass_time(self) -> None:
        desk = self._desk
        if desk.bound_at is not None and desk.bound_at <= desk.now:
            desk.bound_at = None
            self._step(Event.BOUND)
        elif desk.wake_at is not None and desk.wake_at <= desk.now:
            desk.wake_at = None
            self._step(Event.TIMER)

    def _step(self, event: Event) -> None:
        for rule in self._table[self._phase].get(event, ()):
            if rule.when(self._desk):
                if rule.to is not self._phase:
                    self._desk.wake_at = self._desk.bound_at = None
                self._phase = rule.to
                rule.do(self._desk)
                return

    # -- from observation to event -----------------------------------------------------------

    def _note(self, observation: Observation) -> Event | None:
        """Take the observation into the evidence, and say what it means."""
        desk, seen = self._desk, self._desk.seen
        event: Event | None = None
        match observation:
            case Started():
                self._begun = True
                desk.tell(Intent(None if seen.plan.in_process else seen.route.intent))
                event = Event.START
            case CancelRequested(by, reason):
                event = Event.CANCEL if self._latch(Cause(by, desk.now, reason)) else None
            case BodyLeft():
                # What an earlier attempt came to says nothing of this one.
                seen.error = seen.fault = None
                seen.learn_left()
                desk.tell(Sent(seen.sends))
                event = Event.BODY_LEFT
            case IdSeen(task_id):
                for signal in seen.learn_id(task_id):
                    desk.tell(signal)
                event = Event.ID_SEEN
            case Streamed():
                event = event_of_stream(desk, self._phase, observation)
            case Returned(result):
                desk.returned, self._returned = result, True
                event = Event.RETURNED
            case Ended():
                event = event_of_end(desk, self._phase, observation)
            case TimePassed():
                pass
            case _:
                assert_never(observation)
        return event

    def _compare(self, observation: Observation) -> None:
        """Take how the last requests end, and another end of the task than the first one."""
        if not isinstance(observation, Ended):
            return
        self._desk.seen.keep(observation.attempt)
        if isinstance(observation.reply, TaskReply):
            task = observation.reply.task
            if task.id == self._desk.seen.task_id and task.status.state.is_terminal:
                self._desk.shown = task
                self._step(Event.ENDED)
