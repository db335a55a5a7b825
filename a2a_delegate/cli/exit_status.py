"""Exit statuses: what a script learns without reading a word."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, assert_never

from a2a_delegate.errors import DelegationCancelledError, UsageError
from a2a_delegate.outcome import (
    AuthRequired,
    Cancelled,
    CancelReceipt,
    Completed,
    Effect,
    Failed,
    InputRequired,
    Rejected,
    Running,
    TimedOut,
    Unknown,
)

if TYPE_CHECKING:
    from a2a_delegate.errors import DelegateError
    from a2a_delegate.outcome import DelegateResult


class ExitStatus(IntEnum):
    """The exit statuses of every command (design section 8)."""

    COMPLETED = 0
    FAILED = 1
    """Failed or rejected."""
    USAGE = 2
    NO_PEER = 3
    """No card that can be used, no version in common, no endpoint that is bound."""
    PAUSED = 4
    """The peer asks for input or for credentials."""
    STOPPED = 5
    """Cancelled or timed out."""
    UNKNOWN = 6
    """Nobody can say whether the work ran."""
    RUNNING = 7
    """The task goes on; only a look, and a cancel that it has not obeyed yet, end so."""


def status_of(result: DelegateResult) -> ExitStatus:  # noqa: PLR0911 - one for each outcome
    """Map an outcome to the exit status.

    The effect goes before the status: whoever repeats on 1 or 5 must not repeat what may have run.
    """
    if result.effect is Effect.MAY_HAVE_RUN:
        return ExitStatus.UNKNOWN
    match result:
        case Completed():
            return ExitStatus.COMPLETED
        case Failed() | Rejected():
            return ExitStatus.FAILED
        case InputRequired() | AuthRequired():
            return ExitStatus.PAUSED
        case Cancelled() | TimedOut():
            return ExitStatus.STOPPED
        case Unknown():
            return ExitStatus.UNKNOWN
        case Running():
            return ExitStatus.RUNNING
        case _:
            assert_never(result)


def status_of_receipt(receipt: CancelReceipt) -> ExitStatus:
    """Map what became of `cancel` to its exit status: 0 where nothing runs any more."""
    match receipt:
        case CancelReceipt.CONFIRMED | CancelReceipt.NOT_NEEDED:
            return ExitStatus.COMPLETED
        case CancelReceipt.REFUSED:
            return ExitStatus.FAILED
        case CancelReceipt.REQUESTED:
            return ExitStatus.RUNNING
        case CancelReceipt.UNREACHED:
            return ExitStatus.UNKNOWN
        case _:
            assert_never(receipt)


def status_of_refusal(error: DelegateError) -> ExitStatus:
    """Map an error that was raised before anything was delegated to the exit status."""
    if isinstance(error, UsageError):
        return ExitStatus.USAGE
    if isinstance(error, DelegationCancelledError):
        return ExitStatus.STOPPED
    return ExitStatus.NO_PEER
