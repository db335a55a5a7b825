"""Actions of watching a task: by a stream with a slow poll beside it, or by get, to its end.

`steps` holds the others. Watching a stream never replaces asking: a peer that only pings, or that
forgets its last event, is found out by the poll.
"""

from __future__ import annotations

from a2a_delegate.lifecycle.desk import GET_FLOOR, SUBSCRIPTIONS, Desk
from a2a_delegate.lifecycle.evidence import asked_pause
from a2a_delegate.lifecycle.guards import subscribes_next
from a2a_delegate.lifecycle.operations import GetTask, OperationName, SubscribeToTask

GET_BOUND = 30.0
"""Seconds that one get may take."""
_STOPPING_POLL = 0.05
_GROWTH = 1.5
_SLOW_POLL = 10
"""How many times slower the task is asked for beside a stream."""
_MOST_GROWTH = 64


def get_now(desk: Desk) -> None:
    """Ask for the task; also when the id appeared while something else was being tried.

    Before a stop it has half of the time that is left: the cancel needs the other half.
    """
    desk.let_go(OperationName.LIST)
    stops = desk.seen.cause is not None
    desk.bound_at = (desk.now + desk.stopping_ends) / 2 if stops else desk.now + GET_BOUND
    desk.perform(GetTask(desk.seen.target))


def watch(desk: Desk) -> None:
    """Wait before the next get, or subscription: what the peer asks for, else growing with jitter.

    Beside a stream the task is asked for slowly: some peers ping for ever, or forget the end.
    """
    if OperationName.GET in desk.flight or desk.wake_at is not None:
        # A get that was let go brought this, or a stream; the next get knows better.
        return
    desk.bound_at = None
    subscribes = subscribes_next(desk)
    pause = _before_subscribing(desk) if subscribes else _before_asking(desk)
    if subscribes and pause <= 0.0:
        subscribe(desk)
    else:
        desk.paused_until = desk.now + asked_pause(desk.seen.get_error)
        desk.wake_at = max(desk.paused_until, desk.now + max(pause, GET_FLOOR))


def _before_subscribing(desk: Desk) -> float:
    """Return how long to wait yet: not at all after a stream that was open long enough.

    A task that could not be asked for is not subscribed to at once either.
    """
    failed, last = desk.seen.get_error is not None, desk.subscribed_at
    if last is None and not failed:
        return 0.0
    steady = min(desk.timing.poll_interval * 2.0**desk.barren, desk.timing.poll_interval_max)
    begun = desk.now if failed or last is None else last
    return begun + _jittered(desk, steady) - desk.now


def _before_asking(desk: Desk) -> float:
    first, growth = desk.timing.poll_interval, _GROWTH
    if desk.stream is not None:
        first, growth = first * _SLOW_POLL, 2.0
    steady: float = min(first * growth**desk.polls, desk.timing.poll_interval_max)
    pause = _jittered(desk, steady) if desk.polls else steady
    desk.polls = min(desk.polls + 1, _MOST_GROWTH)
    return pause


def _jittered(desk: Desk, steady: float) -> float:
    return steady * (0.5 + desk.chance() / 2)


def subscribe(desk: Desk) -> None:
    """Watch the task by a stream, and ask for it soon.

    What happened before the peer takes the subscription in, some peers never show.
    """
    desk.bound_at = None
    desk.barren += 1
    desk.wake_at = desk.now + max(desk.timing.poll_interval, GET_FLOOR)
    desk.perform(SubscribeToTask(desk.seen.target))


def ask_after_stream(desk: Desk) -> None:
    """Ask what has become of the task that a stream does not show any more (law 4)."""
    desk.polls, desk.owes_get = 0, True
    # A get that went out before cannot say.
    desk.let_go(OperationName.GET)
    desk.bound_at = None
    if desk.now < (earliest := max(_earliest_get(desk), desk.paused_until)):
        desk.wake_at = earliest
    else:
        desk.wake_at = None
        get_now(desk)


def ask_for_question(desk: Desk) -> None:
    """Ask for the question that a stream says there is: the task itself holds all of it."""
    desk.let_streams_go()
    ask_after_stream(desk)


def give_up_streams(desk: Desk) -> None:
    """Watch by get alone from now on."""
    desk.barren = SUBSCRIPTIONS
    ask_after_stream(desk)


# -- confirming an end -------------------------------------------------------------------------


def confirm(desk: Desk) -> None:
    """Ask the task that was seen to end for all that it has made."""
    desk.let_streams_go()
    desk.let_go(OperationName.GET)
    desk.let_go(OperationName.LIST)
    timing = desk.timing
    unhurried = desk.now + max(timing.recovery_timeout, timing.cancel_grace)
    desk.bound_at = unhurried if desk.seen.cause is None else desk.cleaning_ends
    look_once_more(desk)


def confirm_again(desk: Desk) -> None:
    """Ask again soon: the peer's answer is older than what its stream has shown."""
    if OperationName.GET not in desk.flight:
        desk.wake_at = desk.now + soon(desk)


def hurry_confirming(desk: Desk) -> None:
    """Go on within the bound of cleaning up: the answer is known already."""
    ends = desk.cleaning_ends
    desk.bound_at = ends if desk.bound_at is None else min(desk.bound_at, ends)


def give_up_get(desk: Desk) -> None:
    """Let a get go that took too long, and ask again later."""
    desk.let_go(OperationName.GET)
    desk.seen.refused_gets, desk.seen.get_error = 0, None
    watch(desk)


def look_once_more(desk: Desk) -> None:
    """Ask what has become of the task; the floor between two gets holds here too."""
    if desk.now < (earliest := _earliest_get(desk)):
        desk.wake_at = earliest
    else:
        desk.wake_at = None
        desk.perform(GetTask(desk.seen.target))


def _earliest_get(desk: Desk) -> float:
    return desk.now if desk.last_get is None else desk.last_get + GET_FLOOR


def soon(desk: Desk) -> float:
    """Return the short pause before the next look at a task that ends about now."""
    pause = min(_STOPPING_POLL * 2.0**desk.stopping_polls, desk.timing.poll_interval)
    desk.stopping_polls = min(desk.stopping_polls + 1, _MOST_GROWTH)
    return max(asked_pause(desk.seen.get_error), pause, GET_FLOOR)
