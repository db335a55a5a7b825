"""Guards and actions: the small pure steps that the table is made of."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from a2a_delegate.errors import PeerUnreachableError
from a2a_delegate.lifecycle import search, verdict
from a2a_delegate.lifecycle.commands import Downgrade, LetGo
from a2a_delegate.lifecycle.desk import Desk, Search
from a2a_delegate.lifecycle.operations import (
    CancelTask,
    FaultKind,
    GetTask,
    OperationName,
)
from a2a_delegate.outcome import CancelReceipt
from a2a_delegate.signals import CancelSent, Downgraded, Recovered, TerminalChanged

if TYPE_CHECKING:
    from a2a_delegate.model.task import Task

SEND_ATTEMPTS = 3
"""Sends whose body never left, before the peer counts as unreachable."""
BUSY_ATTEMPTS = 10
"""Sends that a rate limit answers, before its refusal is the outcome."""
_SEND_PAUSE = 0.5
_SEND_PAUSE_MAX = 5.0
GET_BOUND = 30.0
"""Seconds that one get may take."""
GET_FLOOR = 0.01
"""Seconds between two gets of one task, at least."""
GONE_AFTER = 3
"""Refused gets running, after which the task counts as gone."""
_STOPPING_POLL = 0.05
_GROWTH = 1.5


def nothing(_: Desk) -> None:
    """Do nothing on the way."""


def always(_: Desk) -> bool:
    """Let the rule hold in any case."""
    return True


# -- guards ------------------------------------------------------------------------------------


def has_cause(desk: Desk) -> bool:
    """Whether a cancel or the deadline has latched."""
    return desk.seen.cause is not None


def id_known(desk: Desk) -> bool:
    """Whether the peer's task id was seen."""
    return desk.seen.task_id is not None


def id_known_while_stopping(desk: Desk) -> bool:
    """Whether the id was seen and we want to stop."""
    return has_cause(desk) and id_known(desk)


def body_left(desk: Desk) -> bool:
    """Whether a body left without proof that the peer did not begin."""
    return desk.seen.unproven


def can_look_up(desk: Desk) -> bool:
    """Whether there is something to find, and a list to find it in."""
    return desk.seen.unproven and desk.seen.route.looks_up


def may_send_again(desk: Desk) -> bool:
    """Whether a repeat is allowed: nothing left unproven, attempts and time for the pause left."""
    seen = desk.seen
    limit = SEND_ATTEMPTS if seen.fault is None else BUSY_ATTEMPTS
    if seen.unproven or seen.sends >= limit:
        return False
    deadline = seen.plan.deadline
    # The smallest pause decides: a longer one drawn by chance is cut to what is left.
    return deadline is None or desk.now + _least_pause(desk) < deadline


def may_downgrade(desk: Desk) -> bool:
    """Whether the refusal names the version and an older one may be spoken, once."""
    seen = desk.seen
    shaped = seen.fault is not None and seen.fault.kind in {
        FaultKind.VERSION_NOT_SUPPORTED,
        FaultKind.METHOD_NOT_FOUND,
    }
    return shaped and seen.plan.fallback is not None and not seen.downgraded and not seen.unproven


def context_refused(desk: Desk) -> bool:
    """Whether the refusal, which precedes execution, names the context id that we chose."""
    seen = desk.seen
    if seen.fault is None or seen.route.without_context is None or seen.context_dropped:
        return False
    return not seen.unproven and "context" in seen.fault.error.message.lower()


def found_one(desk: Desk) -> bool:
    """Whether exactly one listed task carries our message."""
    return len(desk.search.found) == 1


def found_one_while_stopping(desk: Desk) -> bool:
    """Whether exactly one was found and we want to stop."""
    return has_cause(desk) and found_one(desk)


def found_several(desk: Desk) -> bool:
    """Whether more than one listed task carries our message."""
    return len(desk.search.found) > 1


def another_round(desk: Desk) -> bool:
    """Whether the look-up may go on: nobody wants to stop, rounds and time are left."""
    ends = desk.bound_at
    pause = _round_pause(desk)
    in_time = ends is None or desk.now + pause < ends
    return not has_cause(desk) and desk.search.round < search.ROUNDS and in_time


def refused_thrice(desk: Desk) -> bool:
    """Whether this get was refused as often as counts, running."""
    return desk.seen.refused_gets >= GONE_AFTER


def receipt_is_final(desk: Desk) -> bool:
    """Whether the cancel came to nothing and the peer was asked once more."""
    final = desk.seen.receipt in {CancelReceipt.REFUSED, CancelReceipt.UNREACHED}
    return final and OperationName.GET not in desk.flight


# -- sending -----------------------------------------------------------------------------------


def send(desk: Desk) -> None:
    """Hand the message over."""
    desk.wake_at = None
    desk.seen.sends += 1
    desk.perform(desk.seen.route.send)


def _least_pause(desk: Desk) -> float:
    fault = desk.seen.fault
    return (fault.error.retry_after or 0.0) if fault is not None else 0.0


def wait_to_send(desk: Desk) -> None:
    """Wait before the repeat: what the peer asks for, else full jitter from zero up."""
    ceiling = min(_SEND_PAUSE * 2 ** (desk.seen.sends - 1), _SEND_PAUSE_MAX)
    desk.wake_at = desk.now + max(_least_pause(desk), ceiling * desk.chance())


def downgrade(desk: Desk) -> None:
    """Speak the fallback from now on, and hand the same message over by it."""
    seen, fallback = desk.seen, desk.seen.plan.fallback
    if fallback is None:  # pragma: no cover - the guard has looked
        return
    refused, seen.route, seen.downgraded = seen.route, fallback, True
    desk.outbox.append(Downgrade())
    desk.tell(Downgraded(refused=refused.intent.version, spoken=fallback.intent.version))
    send(desk)


def send_without_context(desk: Desk) -> None:
    """Hand the message over once more without the context id that we chose."""
    seen = desk.seen
    bare = seen.route.without_context
    if bare is None:  # pragma: no cover - the guard has looked
        return
    seen.context_dropped = True
    intent = replace(seen.route.intent, context_id=None)
    seen.route = replace(
        seen.route, intent=intent, send=bare, by_context=False, without_context=None
    )
    send(desk)


# -- stopping a send ---------------------------------------------------------------------------


def hold(desk: Desk) -> None:
    """Keep the transport a little: only the reply can show the id."""
    desk.bound_at = desk.now + desk.timing.recovery_grace


def release(desk: Desk) -> None:
    """Stop the transport; its end completes the evidence."""
    desk.bound_at = desk.now + desk.timing.release
    desk.let_go(OperationName.SEND)


def release_unless_left(desk: Desk) -> None:
    """Stop the transport at once, if really nothing has left."""
    desk.wake_at, desk.bound_at = None, desk.now + desk.timing.release
    desk.outbox.append(LetGo(desk.flight[OperationName.SEND], unless_left=True))


# -- looking up --------------------------------------------------------------------------------


def look_up(desk: Desk) -> None:
    """Ask the peer by list: the bound is that of recovery, or of cleaning up."""
    bound = desk.timing.cancel_grace if has_cause(desk) else desk.timing.recovery_timeout
    desk.bound_at = desk.now + bound
    desk.search = Search()
    _ask_list(desk)


def _ask_list(desk: Desk) -> None:
    desk.wake_at = None
    desk.search.page += 1
    route = desk.seen.route
    desk.perform(search.query(route, route.send.message, desk.search.next_page))


def next_page(desk: Desk) -> None:
    """Ask for the next page of this round."""
    _ask_list(desk)


def _round_pause(desk: Desk) -> float:
    return desk.timing.poll_interval * desk.search.round


def wait_for_next_round(desk: Desk) -> None:
    """Wait: a task may be listed a little after it was made."""
    desk.wake_at = desk.now + _round_pause(desk)
    desk.search = Search(round=desk.search.round + 1)


def next_round(desk: Desk) -> None:
    """Ask from the first page again."""
    _ask_list(desk)


def hurry_look_up(desk: Desk) -> None:
    """Go on within the bound of cleaning up: this round, or a last one, decides."""
    end = desk.now + desk.timing.cancel_grace
    desk.bound_at = end if desk.bound_at is None else min(desk.bound_at, end)
    if OperationName.LIST not in desk.flight:
        _ask_list(desk)


def _adopted(desk: Desk) -> Task:
    desk.let_go(OperationName.LIST)
    (task,) = desk.search.found.values()
    desk.tell(Recovered(task.id))
    for signal in desk.seen.learn_id(task.id):
        desk.tell(signal)
    return task


def adopt(desk: Desk) -> None:
    """Take the task that was found, and ask for it: a listed snapshot is never the outcome."""
    _adopted(desk)
    get_now(desk)


def adopt_and_cancel(desk: Desk) -> None:
    """Take the task that was found, and stop it."""
    _adopted(desk)
    cancel_peer(desk)


# -- following ---------------------------------------------------------------------------------


def get_now(desk: Desk) -> None:
    """Ask for the task; also when the id appeared while something else was being tried."""
    desk.let_go(OperationName.LIST)
    desk.wake_at = None
    desk.bound_at = desk.now + GET_BOUND
    desk.perform(GetTask(desk.seen.task_id or ""))


def wait_to_poll(desk: Desk) -> None:
    """Wait before the next get: what the peer asks for, else growing with jitter."""
    if OperationName.GET in desk.flight:
        return
    desk.let_go(OperationName.LIST)
    desk.bound_at = None
    timing = desk.timing
    steady = min(timing.poll_interval * _GROWTH**desk.polls, timing.poll_interval_max)
    pause = steady * (0.5 + desk.chance() / 2) if desk.polls else steady
    desk.polls = min(desk.polls + 1, 64)
    asked = getattr(desk.seen.get_error, "retry_after", None)
    desk.wake_at = desk.now + max(asked or 0.0, pause, GET_FLOOR)


def give_up_get(desk: Desk) -> None:
    """Let a get go that took too long, and ask again later."""
    desk.let_go(OperationName.GET)
    desk.seen.get_error = None
    wait_to_poll(desk)


# -- stopping a task ---------------------------------------------------------------------------


def cancel_peer(desk: Desk) -> None:
    """Ask the peer to stop, in one bound with the gets that verify it."""
    seen = desk.seen
    desk.let_go(OperationName.GET)
    desk.let_go(OperationName.LIST)
    seen.state_before_cancel = seen.task.status.name if seen.task is not None else ""
    grace = desk.timing.cancel_grace
    desk.bound_at = min(desk.now + grace, desk.cleanup_ends - desk.timing.release)
    # A cancel that hangs leaves time to ask what has become of the task.
    desk.wake_at = desk.now + max(desk.bound_at - desk.now, 0.0) / 2
    seen.cancel_sent = True
    desk.tell(CancelSent(seen.task_id or ""))
    desk.perform(CancelTask(seen.task_id or ""))


def next_stopping_step(desk: Desk) -> None:
    """Let a cancel go that hangs, and ask for the task."""
    if OperationName.CANCEL in desk.flight:
        desk.let_go(OperationName.CANCEL)
        desk.seen.receipt = CancelReceipt.UNREACHED
    look_once_more(desk)


def look_once_more(desk: Desk) -> None:
    """Ask what has become of the task; the floor between two gets holds here too."""
    if OperationName.GET in desk.flight:
        return
    earliest = 0.0 if desk.last_get is None else desk.last_get + GET_FLOOR
    if desk.now < earliest:
        desk.wake_at = earliest
        return
    desk.wake_at = None
    desk.perform(GetTask(desk.seen.task_id or ""))


def watch_stopping(desk: Desk) -> None:
    """Ask again soon: the cancel was accepted, and the task has not ended yet."""
    if OperationName.CANCEL in desk.flight or OperationName.GET in desk.flight:
        return
    pause = min(_STOPPING_POLL * 2**desk.stopping_polls, desk.timing.poll_interval)
    desk.stopping_polls += 1
    desk.wake_at = desk.now + max(pause, GET_FLOOR)


# -- settling ----------------------------------------------------------------------------------


def settle_without_answer(desk: Desk) -> None:
    """Settle: no task is known, and none will be."""
    desk.settle(verdict.without_answer(desk.seen))


def settle_ambiguous(desk: Desk) -> None:
    """Settle: several tasks carry our message."""
    desk.settle(verdict.ambiguous(desk.seen, len(desk.search.found)))


def settle_message(desk: Desk) -> None:
    """Settle with a message, the whole answer."""
    message = desk.seen.answer
    if message is not None:
        desk.settle(verdict.message_answer(desk.seen, message))


def settle_returned(desk: Desk) -> None:
    """Settle with the outcome that work in this process made; only the lateness is ours to add."""
    if desk.returned is not None:
        desk.settle(replace(desk.returned, late=desk.seen.cause is not None))


def settle_ended(desk: Desk) -> None:
    """Settle with the end of the task."""
    task = desk.seen.task
    if task is not None:
        desk.seen.first_end = task.status.name
        desk.settle(verdict.task_ended(desk.seen, task))


def settle_paused(desk: Desk) -> None:
    """Settle with the question of the task."""
    task = desk.seen.task
    if task is not None:
        desk.settle(verdict.paused(desk.seen, task))


def settle_gone(desk: Desk) -> None:
    """Settle: the peer does not know the task any more, or does not let us ask."""
    error = desk.seen.get_error or PeerUnreachableError(phase="read", url="")
    desk.settle(verdict.unknown(desk.seen, error))


def settle_stopped(desk: Desk) -> None:
    """Settle by the cause and the receipt: the bound passed, or one more look showed no end."""
    desk.settle(verdict.stopped(desk.seen, desk.seen.receipt or CancelReceipt.UNREACHED))


def compare_ends(desk: Desk) -> None:
    """Tell of another end than the first one; it changes nothing."""
    first, task = desk.seen.first_end, desk.seen.task
    if first is not None and task is not None and task.status.name != first:
        desk.tell(TerminalChanged(task.id, first, task.status.name))
