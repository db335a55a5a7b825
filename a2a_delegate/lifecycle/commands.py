"""What the machine asks for. The shell carries it out and reports what came of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from a2a_delegate.model.frozen import dataclass

if TYPE_CHECKING:
    from a2a_delegate.lifecycle.operations import Operation
    from a2a_delegate.outcome import DelegateResult, DelegationHandle
    from a2a_delegate.signals import Signal


@dataclass(frozen=True, slots=True)
class Perform:
    """Carry out one operation; report `Ended` with this number when its transport has stopped."""

    number: int
    operation: Operation


@dataclass(frozen=True, slots=True)
class LetGo:
    """Stop waiting for a request: seal its body, stop its transport, and still report `Ended`.

    With `unless_left` a body that has left meanwhile is not stopped: `BodyLeft` is on its way and
    the machine decides anew.
    """

    number: int
    unless_left: bool = False


@dataclass(frozen=True, slots=True)
class Switch:
    """Go by the interface of this handle from now on."""

    to: DelegationHandle


@dataclass(frozen=True, slots=True)
class Tell:
    """Tell the observers."""

    signal: Signal


@dataclass(frozen=True, slots=True)
class Settle:
    """The outcome is fixed. What is still in flight has been let go."""

    result: DelegateResult


Command: TypeAlias = Perform | LetGo | Switch | Tell | Settle
