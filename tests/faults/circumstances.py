"""The judge's first half: what the caller saw, what was told, and what is left."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

import trio

from a2a_delegate import EvidenceFailed, Intent, Settled, TransportStuck
from tests.faults.callers import (
    ABRUPT,
    AGAIN,
    CLEANUP,
    PATIENCE,
    Caller,
    SiblingError,
    scope_seconds,
)
from tests.faults.play import CONFIG

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.faults.play import Record

EPSILON: Final = 1e-6
_URL: Final = "https://peer.example/rpc"
_CANCELLATIONS: Final = (asyncio.CancelledError, trio.Cancelled)


def cause_time(record: Record) -> float:
    """Return when the first cause falls, if the errand lasts that long; a stop is one itself."""
    case = record.case
    if case.fault.errand.stops:
        return record.began
    event = case.at if case.caller is not Caller.PATIENT else PATIENCE
    first = event if case.first is None else case.first
    return record.began + min(event, first, PATIENCE)


# -- what the caller saw -------------------------------------------------------------------------


def ending_of(record: Record) -> Iterator[str]:
    """The caller's cancellation comes out as its own exception, and nothing else does."""
    case, ending = record.case, record.ending
    if not ending.began:
        if case.caller is not Caller.SHUTDOWN:
            yield "the call was never made"
        return
    yield from _in_time(record)
    if case.caller in {Caller.MOVE_ON, Caller.FAIL}:
        fell = ending.at + EPSILON - record.began >= scope_seconds(case.at)
    else:
        fell = case.caller in ABRUPT and ending.at + EPSILON - record.began >= case.at
    if not fell:
        if ending.raised is not None or ending.outside is not None:
            yield f"raised {ending.raised!r} and {ending.outside!r} without a reason"
        # A stop gives a receipt; the judge compares that with the outcome.
        stops = case.fault.errand.stops
        if ending.result is None or (ending.result is not record.settled and not stops):
            yield "the outcome is not the one that observers were told"
        return
    if not isinstance(ending.raised, _CANCELLATIONS):
        yield f"the cancellation was swallowed: {ending.raised!r}"
    yield from _outside(record)


def _outside(record: Record) -> Iterator[str]:
    """What comes out of the construct is what Python promises for it."""
    caller, ending = record.case.caller, record.ending
    outside = ending.outside
    match caller:
        case Caller.TIMEOUT | Caller.WAIT_FOR | Caller.FAIL:
            right = type(outside) is TimeoutError
        case Caller.SIBLING | Caller.FELLOW:
            right = isinstance(outside, ExceptionGroup) and [
                type(one) for one in outside.exceptions
            ] == [SiblingError]
        case Caller.TASK | Caller.TASK_TWICE | Caller.TASK_AT_ONCE:
            right = isinstance(outside, _CANCELLATIONS)
        case _:
            right = outside is None
    if not right:
        yield f"out of the construct came {outside!r}"
    asked_again = ending.at - record.began > record.case.at + AGAIN - EPSILON
    expected = {
        Caller.TASK: {1},
        Caller.TASK_TWICE: {2} if asked_again else {1},
        Caller.TASK_AT_ONCE: {2},
    }.get(caller, {0})
    if ending.cancelling not in expected:
        yield f"Task.cancelling() is {ending.cancelling}, not {expected}"


def _in_time(record: Record) -> Iterator[str]:
    """Law 5: the call returns inside its bounds, and so does closing."""
    latest = cause_time(record) + CLEANUP
    if record.ending.at > latest + EPSILON:
        yield f"returned at {record.ending.at:.3f}, and {latest:.3f} was the bound"
    if record.closed_at > record.ending.at + CONFIG.timing.release + EPSILON:
        yield f"closing took {record.closed_at - record.ending.at:.3f} s"


# -- what is left --------------------------------------------------------------------------------


def leftovers_of(record: Record) -> Iterator[str]:
    """Law 6: nothing outlives the call but what cannot be stopped, and that not its release."""
    deaf = record.case.fault.deaf
    if record.open_when_closed and not deaf:
        yield f"{record.open_when_closed} requests were open when the delegate was closed"
    if record.listening:
        yield f"{record.listening} listeners were left at the token"
    if any(fact.url != _URL for fact in record.requests):
        yield "a request went elsewhere"
    if deaf and record.case.caller is Caller.SHUTDOWN:
        # The loop is gone, and what would not end is stopped where it stood.
        return
    if record.open_at_last:
        yield f"{record.open_at_last} requests stayed open for ever"
    if record.tasks_left:
        yield f"{record.tasks_left} tasks were left"
    if record.timers_left:
        yield f"{record.timers_left} timers were left"
    still = [trip.operation for trip in record.trips if not trip.over]
    if still:
        yield f"the wire still carries {still}"


def signals_of(record: Record) -> Iterator[str]:
    """The intent comes before everything, the outcome after everything, and each once."""
    kinds = [type(signal) for _, signal in record.signals]
    if not kinds:
        if record.trips:
            yield "requests were made without an intent"
        return
    if kinds.count(Intent) != 1 or kinds[0] is not Intent:
        yield f"the intent is not the first signal, or not the only one: {kinds}"
    if kinds.count(Settled) != 1 or kinds[-1] is not Settled:
        yield f"the outcome is not the last signal, or not the only one: {kinds}"
    if record.requests_at_intent:
        yield "the intent was told after a request"
    if EvidenceFailed in kinds:
        yield "an observer failed"
    stuck = record.case.fault.manners.stuck
    if TransportStuck in kinds and not (record.case.fault.deaf or stuck):
        yield "a transport was called stuck that is not"
