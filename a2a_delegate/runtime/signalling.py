"""Telling the signals of one delegation to its observers, whatever those do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2a_delegate.delegate import PacingObserver
from a2a_delegate.signals import EvidenceFailed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from a2a_delegate.delegate import Observer
    from a2a_delegate.signals import Signal


class Observers:
    """Tells signals in order; an observer that raises is told nothing more, and told of once."""

    __slots__ = ("_observers", "_pacing")

    def __init__(self, observers: Sequence[Observer]) -> None:
        self._observers = tuple(observers)
        self._pacing: list[PacingObserver] | None = None

    def tell(self, signal: Signal) -> None:
        """Tell every observer that is left."""
        told = self._observers
        for observer in told:
            # One that raised when it was told of another's failure is left out from there on.
            if self._observers is not told and not self._has(observer):
                continue
            try:
                observer(signal)
            except KeyboardInterrupt:
                raise
            except BaseException as problem:  # noqa: BLE001 - an observer harms nobody, whatever it raises
                self._drop(observer, problem)

    async def ready_for_more(self) -> None:
        """Wait until every observer that holds a stream back has room for more of it."""
        if self._pacing is None:
            # Not for each event: Python would look for every name of the protocol anew.
            self._pacing = [one for one in self._observers if isinstance(one, PacingObserver)]
        for observer in self._pacing:
            await observer.ready_for_more()

    def _has(self, observer: Observer) -> bool:
        return any(one is observer for one in self._observers)

    def _drop(self, observer: Observer, problem: BaseException) -> None:
        self._observers = tuple([one for one in self._observers if one is not observer])
        self._pacing = None
        _Unraised(problem)
        self.tell(EvidenceFailed(observer, problem))


class _Unraised:
    """Shows an observer's own error where Python shows those that no caller can take.

    By a finalizer that raises, because only the interpreter can make what its default
    `sys.unraisablehook` takes, and because whatever a hook does wrong ends there, too.
    """

    def __init__(self, problem: BaseException) -> None:
        self._problem = problem

    def __del__(self) -> None:
        """Raise it; the interpreter says where, and goes on."""
        raise self._problem
