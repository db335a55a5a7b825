"""The machine: observations in, commands out, and when to be woken. Three verbs.

It knows no protocol version, no binding and no clock. The rules are in `table`, what they do in
`steps`, what is known in `evidence`, how it ends in `verdict`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from a2a_delegate.errors import UsageError
from a2a_delegate.lifecycle.desk import Desk
from a2a_delegate.lifecycle.evidence import GONE, PROVEN, Cause, Evidence
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
from a2a_delegate.lifecycle.operations import (
    Fault,
    FaultKind,
    Lost,
    MessageReply,
    NotSent,
    OperationName,
    TaskPage,
    TaskReply,
)
from a2a_delegate.lifecycle.search import PAGES, is_ours
from a2a_delegate.lifecycle.table import TABLE, Event, Phase
from a2a_delegate.outcome import CancelReceipt
from a2a_delegate.signals import Intent, Sent

if TYPE_CHECKING:
    from collections.abc import Callable

    from a2a_delegate.lifecycle.commands import Command
    from a2a_delegate.lifecycle.plan import Plan
    from a2a_delegate.model.task import Task

_NOT_LISTING = frozenset(
    {
        FaultKind.METHOD_NOT_FOUND,
        FaultKind.VERSION_NOT_SUPPORTED,
        FaultKind.METHOD_NOT_ALLOWED,
        FaultKind.NO_ENDPOINT,
        FaultKind.UNSUPPORTED,
        FaultKind.UNAUTHENTICATED,
        FaultKind.DENIED,
    }
)
_NOT_CANCELLING = frozenset(
    {
        FaultKind.TASK_NOT_CANCELABLE,
        FaultKind.TASK_NOT_FOUND,
        FaultKind.UNSUPPORTED,
        FaultKind.METHOD_NOT_FOUND,
    }
)


class Lifecycle:
    """One delegation from its intent to its outcome.

    `receive` what was observed, carry out the `commands`, and come back with `TimePassed` when
    `next_deadline` is due. Peer input never raises; UsageError is for a shell that misuses it.
    `chance` gives numbers in [0, 1) for jitter.
    """

    def __init__(self, plan: Plan, *, chance: Callable[[], float]) -> None:
        self._phase = Phase.PREPARED
        self._begun = False
        self._desk = Desk(Evidence(plan, plan.route), plan.timing, chance)

    @property
    def phase(self) -> Phase:
        """What is true now."""
        return self._phase

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

        Raises UsageError when the delegation has not begun, or begins twice.
        """
        if isinstance(observation, Started) == self._begun:
            msg = "the lifecycle begins with Started, once"
            raise UsageError(msg)
        self._desk.now = now
        if isinstance(observation, TimePassed):
            self._pass_time()
        elif isinstance(observation, CancelRequested):
            # A deadline that has passed unseen came first; the first cause latches.
            self._pass_deadline()
            if self._latch(Cause(observation.by, now, observation.reason)):
                self._step(Event.CANCEL)
        elif self._phase is Phase.SETTLED:
            self._compare(observation)
        else:
            event = self._note(observation)
            if event is not None:
                self._step(event)

    # -- time and causes ---------------------------------------------------------------------

    def _latch(self, cause: Cause) -> bool:
        if self._desk.seen.cause is not None or self._phase is Phase.SETTLED:
            return False
        self._desk.seen.cause = cause
        return True

    def _pass_deadline(self) -> None:
        deadline = self._desk.seen.plan.deadline
        passed = deadline is not None and deadline <= self._desk.now
        if passed and self._latch(Cause("deadline", self._desk.now)):
            self._step(Event.DEADLINE)

    def _pass_time(self) -> None:
        self._pass_deadline()
        desk = self._desk
        if desk.bound_at is not None and desk.bound_at <= desk.now:
            desk.bound_at = None
            self._step(Event.BOUND)
        elif desk.wake_at is not None and desk.wake_at <= desk.now:
            desk.wake_at = None
            self._step(Event.TIMER)

    def _step(self, event: Event) -> None:
        for rule in TABLE[self._phase].get(event, ()):
            if rule.when(self._desk):
                if rule.to is not self._phase:
                    self._desk.wake_at = self._desk.bound_at = None
                self._phase = rule.to
                rule.do(self._desk)
                return

    # -- from observation to event -----------------------------------------------------------

    def _note(self, observation: Observation) -> Event | None:
        desk, seen = self._desk, self._desk.seen
        if isinstance(observation, Started):
            self._begun = True
            desk.tell(Intent(None if seen.plan.in_process else seen.route.intent))
            return Event.START
        if isinstance(observation, BodyLeft):
            seen.ever_left = seen.unproven = True
            desk.tell(Sent(seen.sends))
            return Event.BODY_LEFT
        if isinstance(observation, IdSeen):
            for signal in seen.learn_id(observation.task_id):
                desk.tell(signal)
            return Event.ID_SEEN
        if isinstance(observation, Returned):
            desk.returned = observation.result
            return Event.RETURNED
        if isinstance(observation, Ended):
            return self._note_end(observation)
        return None

    def _note_end(self, ended: Ended) -> Event | None:
        desk = self._desk
        known = desk.seen.task_id
        for signal in desk.seen.learn_reply(ended):
            desk.tell(signal)
        current = desk.flight.get(ended.name) == ended.number
        if current:
            del desk.flight[ended.name]
        reply = ended.reply
        if isinstance(reply, TaskReply) and known in (None, reply.task.id):
            if ended.name is OperationName.GET:
                desk.seen.refused_gets, desk.seen.get_error = 0, None
            if ended.name is OperationName.CANCEL and current:
                desk.seen.receipt = CancelReceipt.REQUESTED
            return _state_event(reply.task)
        if isinstance(reply, MessageReply) and ended.name is OperationName.SEND:
            return Event.MESSAGE
        return self._failure(ended) if current else None

    def _failure(self, ended: Ended) -> Event:
        """Say what an end without an answer means; another task's body is one of them."""
        name, reply = ended.name, ended.reply
        if name is OperationName.SEND:
            return _send_event(reply)
        if name is OperationName.LIST:
            return self._list_event(reply)
        kind = reply.kind if isinstance(reply, Fault) else None
        if name is OperationName.GET:
            gone = kind in GONE
            self._desk.seen.refused_gets = self._desk.seen.refused_gets + 1 if gone else 0
            return Event.GET_REFUSED if gone else Event.GET_FAILED
        if name is OperationName.CANCEL:
            refused = kind in _NOT_CANCELLING
            self._desk.seen.receipt = CancelReceipt.REFUSED if refused else CancelReceipt.UNREACHED
            return Event.CANCEL_REFUSED if refused else Event.CANCEL_FAILED
        assert_never(name)

    def _list_event(self, reply: object) -> Event:
        if isinstance(reply, TaskPage):
            search, ours = self._desk.search, self._desk.seen.ours
            search.found.update({one.id: one for one in reply.tasks if is_ours(one, ours)})
            search.next_page = reply.next_page_token
            more = bool(search.next_page) and search.page < PAGES
            return Event.MORE_PAGES if more else Event.SEARCHED
        if isinstance(reply, Fault) and reply.kind in _NOT_LISTING:
            return Event.NO_LIST
        return Event.SEARCHED

    def _compare(self, observation: Observation) -> None:
        """Take another end than the first one, after which nothing else counts."""
        if isinstance(observation, Ended) and isinstance(observation.reply, TaskReply):
            task = observation.reply.task
            if task.id == self._desk.seen.task_id and task.status.state.is_terminal:
                self._desk.seen.task = task
                self._step(Event.ENDED)


def _state_event(task: Task) -> Event:
    state = task.status.state
    if state.is_terminal:
        return Event.ENDED
    return Event.PAUSED if state.is_interrupted else Event.WORKING


def _send_event(reply: object) -> Event:
    if isinstance(reply, NotSent):
        return Event.NOT_SENT
    if isinstance(reply, Fault):
        if reply.kind is FaultKind.RATE_LIMITED:
            return Event.BUSY
        return Event.REFUSED if reply.kind in PROVEN else Event.FAULT
    if isinstance(reply, Lost):
        return Event.LOST
    return Event.UNREADABLE
