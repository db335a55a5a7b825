"""The command to go on with, where something may still be at the peer."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING

from a2a_delegate.cli.delegating import needs_card
from a2a_delegate.errors import public_url
from a2a_delegate.outcome import (
    AuthRequired,
    Cancelled,
    CancelReceipt,
    InputRequired,
    Running,
    TimedOut,
    Unknown,
)
from a2a_delegate.peer.origins import origin_of

if TYPE_CHECKING:
    from a2a_delegate.outcome import DelegateResult, DelegationHandle


@dataclass(frozen=True, slots=True)
class Way:
    """How the agent was reached: the URL that was typed, if any, and whether headers went along."""

    url: str
    with_headers: bool

    def next_step(self, result: DelegateResult) -> str | None:
        """Return a line with the whole command; None where there is nothing to go on with."""
        handle = result.handle
        if handle is None:
            return None
        match result:
            case InputRequired():
                at = shlex.quote(self._typed_for(handle))
                quoted = shlex.quote(handle.to_json())
                return self._line("to answer", f"send {at} 'YOUR ANSWER' --continue {quoted}")
            case AuthRequired():
                label = "to wait until it has them"
                return self._line(label, self._resume(handle, "--auth-required wait"))
            case Running() | Unknown():
                return self.to_look_again(handle, waiting=True)
            case Cancelled(receipt=receipt) | TimedOut(receipt=receipt) if receipt not in _OVER:
                return self.to_look_again(handle, waiting=False)
            case _:
                return None

    def to_look_again(self, handle: DelegationHandle, *, waiting: bool) -> str:
        """Return the line with the command that waits for it, or takes one look."""
        if waiting:
            return self._line("to go on", self._resume(handle))
        label = "to look what became of it"
        return self._line(label, self._resume(handle, "--no-wait"))

    def _resume(self, handle: DelegationHandle, *options: str) -> str:
        words = ["resume", shlex.quote(handle.to_json()), *options]
        if self.with_headers or (self.url and needs_card(handle)):
            words += ["--url", shlex.quote(self._typed_for(handle))]
        return " ".join(words)

    def _typed_for(self, handle: DelegationHandle) -> str:
        """Return what to type for the agent, without what a query may hold.

        The origin of the handle binds what must be bound, also where only --allow-origin did so;
        but a card is where the typed URL led.
        """
        if self.url and needs_card(handle):
            return public_url(self.url)
        return str(origin_of(handle.endpoint))

    def _line(self, label: str, command: str) -> str:
        headers = " with the same headers" if self.with_headers else ""
        return f"{label}{headers}: a2a-delegate {command}"


_OVER = frozenset({CancelReceipt.CONFIRMED, CancelReceipt.NOT_NEEDED})
