"""What a person is told while a delegation goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2a_delegate.cli.growing_text import GrowingText
from a2a_delegate.cli.terminal import on_one_line
from a2a_delegate.signals import (
    ArtifactChunk,
    AttemptFailed,
    CancelSent,
    Downgraded,
    IdKnown,
    Intent,
    Progress,
    Recovered,
    Rerouted,
    Sent,
    StateSeen,
    TransportStuck,
    handle_after,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from a2a_delegate.delegate import Observer
    from a2a_delegate.outcome import DelegationHandle
    from a2a_delegate.signals import Signal

_TEXT = 120
"""Characters of the peer's words in the line; a terminal cuts the line where it ends."""


def both(first: Observer, second: Observer) -> Observer:
    """Return one observer that tells two, in this order."""

    def observe(signal: Signal) -> None:
        first(signal)
        second(signal)

    return observe


class Telling:
    """Keeps a line of progress and the text so far up to date, and says what must not be missed.

    An observer: pass `observe`. `clock` gives seconds, `say` writes a line that stays. `opening` is
    what is told before the first signal, `errand` what is done after it. `handle` is the last one
    that was told, with the task's id as soon as that is known.
    """

    def __init__(
        self,
        *,
        clock: Callable[[], float],
        say: Callable[[str], None],
        opening: str,
        errand: str,
    ) -> None:
        self.handle: DelegationHandle | None = None
        self._clock = clock
        self._say = say
        self._began = clock()
        self._state = opening
        self._errand = errand
        self._words = ""
        self._growing = GrowingText()

    def text(self) -> str:
        """Return the end of the text that the peer has made so far."""
        return self._growing.end

    def line(self) -> str:
        """Return the state, the peer's last words and the seconds since the beginning."""
        told = [self._state, self._words, f"{self._clock() - self._began:.1f} s"]
        return " · ".join(filter(None, told))

    def stopping(self) -> None:
        """Show that the delegation is being stopped, whatever the peer says from now on."""
        self._state = "cancelling"

    def observe(self, signal: Signal) -> None:
        """Take in one signal."""
        self._state = self._state_of(signal) or self._state
        self._words = on_one_line(_words_of(signal), _TEXT) or self._words
        self.handle = handle_after(signal, self.handle)
        match signal:
            case Downgraded(refused, spoken):
                self._say(f"the peer refused version {refused}; {spoken} is spoken instead")
            case ArtifactChunk():
                self._growing.take(signal)
            case Rerouted(handle):
                self._say(f"the agent cannot be reached so; {handle.binding} is tried instead")
            case TransportStuck(operation):
                self._say(f"a request ({operation}) ignored its end and was left behind")
            case _:
                pass

    def _state_of(self, signal: Signal) -> str:
        match signal:
            case Intent():
                return self._errand
            case Sent():
                return "sent, waiting for the reply"
            case IdKnown():
                return "begun"
            case StateSeen(state=state):
                return on_one_line(state, _TEXT)
            case CancelSent():
                return "cancelling, the peer was asked to stop"
            case _:
                return ""


def _words_of(signal: Signal) -> str:
    match signal:
        case Progress(message=message):
            return message.text
        case AttemptFailed(attempt, error):
            return f"{attempt.operation}: {error}"
        case Recovered():
            return "the reply was lost, the task was found"
        case _:
            return ""
