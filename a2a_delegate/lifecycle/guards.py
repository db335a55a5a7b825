"""Guards: the questions that the rules of the table ask before they hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2a_delegate.lifecycle.desk import SUBSCRIPTIONS
from a2a_delegate.lifecycle.evidence import asked_pause
from a2a_delegate.lifecycle.faults import VERSION_SHAPED
from a2a_delegate.lifecycle.operations import FaultKind, OperationName
from a2a_delegate.lifecycle.plan import Mission
from a2a_delegate.lifecycle.search import ROUNDS
from a2a_delegate.model.task import TaskState
from a2a_delegate.outcome import CancelReceipt

if TYPE_CHECKING:
    from a2a_delegate.lifecycle.desk import Desk

SEND_ATTEMPTS = 3
"""Sends whose body never left, before the peer counts as unreachable."""
BUSY_ATTEMPTS = 10
"""Sends in all, before a rate limit's refusal is the outcome."""
GONE_AFTER = 3
"""Refused gets running, after which the task counts as gone."""

_CAME_TO_NOTHING = frozenset({CancelReceipt.REFUSED, CancelReceipt.UNREACHED})


def always(_: Desk) -> bool:
    """Let the rule hold in any case."""
    return True


def has_cause(desk: Desk) -> bool:
    """Whether a cancel or the deadline has latched."""
    return desk.seen.cause is not None


def hands_over(desk: Desk) -> bool:
    """Whether the message is to be sent; else it was, earlier."""
    return desk.seen.plan.mission is Mission.HAND_OVER


def unsent_with_cause(desk: Desk) -> bool:
    """Whether the message was to be sent, and nobody wants it any more."""
    return hands_over(desk) and has_cause(desk)


def looks_once(desk: Desk) -> bool:
    """Whether one look is all that was asked for."""
    return desk.seen.plan.mission is Mission.LOOK


def looks_with_cause(desk: Desk) -> bool:
    """Whether one look was asked for, and nobody wants it any more."""
    return looks_once(desk) and has_cause(desk)


def wants_to_stop(desk: Desk) -> bool:
    """Whether a cause has latched and the task is ours to stop; a look stops nothing."""
    return has_cause(desk) and not looks_once(desk)


def id_known(desk: Desk) -> bool:
    """Whether the peer's task id was seen."""
    return desk.seen.task_id is not None


def id_known_while_stopping(desk: Desk) -> bool:
    """Whether the id was seen and we want to stop."""
    return wants_to_stop(desk) and id_known(desk)


def answered_while_stopping(desk: Desk) -> bool:
    """Whether the task that our message answers is known, and we want to stop it."""
    return wants_to_stop(desk) and desk.seen.unproven and desk.seen.route.answers is not None


def body_left(desk: Desk) -> bool:
    """Whether a body left without proof that the peer did not begin."""
    return desk.seen.unproven


def can_look_up(desk: Desk) -> bool:
    """Whether there is something to find, and a list or the task that was answered to look in."""
    route = desk.seen.route
    return desk.seen.unproven and (route.looks_up or route.answers is not None)


def may_send_again(desk: Desk) -> bool:
    """Whether attempts, and time for the pause, are left; that nothing began is proven by then."""
    seen = desk.seen
    attempts = seen.unsent < SEND_ATTEMPTS and seen.sends < BUSY_ATTEMPTS
    if has_cause(desk) or not attempts:
        return False
    # Only what the peer asks for can be too long: our own pause is drawn from what is left.
    deadline = seen.plan.deadline
    return deadline is None or desk.now + asked_pause(seen.error) < deadline


def may_downgrade(desk: Desk) -> bool:
    """Whether the refusal names the version and an older one may be spoken, once."""
    seen = desk.seen
    shaped = seen.fault is not None and seen.fault.kind in VERSION_SHAPED
    fallback = seen.plan.fallback is not None and not seen.downgraded
    return shaped and fallback and not has_cause(desk)


def may_detour(desk: Desk) -> bool:
    """Whether the card offers another way in the same version that has not been tried."""
    seen = desk.seen
    left = seen.detours < len(seen.plan.detours) and not seen.downgraded
    return left and not has_cause(desk)


def stream_refused(desk: Desk) -> bool:
    """Whether the refusal says that there is no such method, and a stream was asked for."""
    seen = desk.seen
    unknown = seen.fault is not None and seen.fault.kind is FaultKind.METHOD_NOT_FOUND
    return unknown and seen.route.send.streamed and not has_cause(desk)


def subscribes_next(desk: Desk) -> bool:
    """Whether the task is to be watched by a stream, and none is open."""
    watched = desk.seen.route.streams and desk.barren < SUBSCRIPTIONS
    asked = desk.stream is None and not desk.owes_get
    return watched and asked and not has_cause(desk)


def stopped_by_us(desk: Desk) -> bool:
    """Whether the end that a stream shows is that of our own cancel: the receipt, and no answer."""
    end = desk.seen.end_seen
    return end is not None and end.state is TaskState.CANCELED


def context_refused(desk: Desk) -> bool:
    """Whether the refusal, which precedes execution, names the context id that we chose."""
    seen = desk.seen
    if seen.fault is None or not seen.route.own_context or has_cause(desk):
        return False
    return "context" in seen.fault.error.message.lower()


def found_one(desk: Desk) -> bool:
    """Whether exactly one listed task carries our message."""
    return len(desk.search.found) == 1


def found_one_to_look_at(desk: Desk) -> bool:
    """Whether exactly one was found, and it is to be followed, or looked at before it is stopped.

    A task that has ended must not be cancelled; so may have what was handed over before.
    """
    may_have_ended = desk.search.ended or not hands_over(desk)
    looks = not has_cause(desk) or (wants_to_stop(desk) and may_have_ended)
    return found_one(desk) and looks


def found_one_while_stopping(desk: Desk) -> bool:
    """Whether exactly one was found and we want to stop."""
    return wants_to_stop(desk) and found_one(desk)


def found_several(desk: Desk) -> bool:
    """Whether more than one listed task carries our message."""
    return len(desk.search.found) > 1


def another_round(desk: Desk) -> bool:
    """Whether the look-up may go on: nobody wants to stop, rounds and time are left."""
    ends = desk.bound_at
    in_time = ends is None or desk.now + desk.round_pause < ends
    goes_on = not has_cause(desk) and not looks_once(desk)
    return goes_on and desk.search.round < ROUNDS and in_time


def refused_thrice(desk: Desk) -> bool:
    """Whether this get was refused as often as counts, running."""
    return desk.seen.refused_gets >= GONE_AFTER


def came_to_nothing(desk: Desk) -> bool:
    """Whether the cancel came to nothing, and this is the look at the task that followed it.

    A snapshot that another request brings may be older than the peer's answer to the cancel.
    """
    return desk.seen.receipt in _CAME_TO_NOTHING and desk.ended is OperationName.GET


def another_end(desk: Desk) -> bool:
    """Whether the task ended before, and otherwise than it does now."""
    first = desk.seen.first_end
    return first is not None and desk.shown.status.name != first
