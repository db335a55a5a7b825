"""Signals as records of the standard `logging`, one record a signal.

What was asked, said or made is in no record, nor is any text of an error: a peer's words may hold
anything, and a library's may hold the header that it complains of. Records name what happened by
kinds, codes and ids; `result.explain()` tells the rest to who has the outcome.
"""

from __future__ import annotations

import logging
import re
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, assert_never

from a2a_delegate.errors import (
    A2ARequestError,
    InvalidReplyError,
    LostReplyError,
    PeerUnreachableError,
    public_url,
    shown,
)
from a2a_delegate.outcome import Cancelled, Failed, Rejected, TimedOut, Unknown
from a2a_delegate.signals import (
    ArtifactChunk,
    AttemptFailed,
    CancelSent,
    ContextSubstituted,
    Downgraded,
    EvidenceFailed,
    IdKnown,
    Intent,
    Progress,
    Recovered,
    Rerouted,
    Sent,
    Settled,
    Signal,
    StateSeen,
    StreamCut,
    TerminalChanged,
    TransportStuck,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from a2a_delegate.outcome import DelegateResult, DelegationHandle

_LOGGER = logging.getLogger("a2a_delegate")
# Without it Python itself prints the warnings of who has not configured logging.
_LOGGER.addHandler(logging.NullHandler())

_VALUE = 100
"""Characters of one value in a record; ids are the peer's to choose."""

MEANINGS: Mapping[type[Signal], tuple[int, str]] = {
    Intent: (logging.INFO, "a delegation begins"),
    Sent: (logging.DEBUG, "the message leaves"),
    IdKnown: (logging.DEBUG, "the task is known"),
    StateSeen: (logging.DEBUG, "the task shows a state"),
    Progress: (logging.DEBUG, "the peer tells how it goes"),
    ArtifactChunk: (logging.DEBUG, "an artifact came"),
    StreamCut: (logging.INFO, "the stream is over before the task"),
    AttemptFailed: (logging.WARNING, "a request failed"),
    Recovered: (logging.INFO, "the reply was lost and the task is found again"),
    ContextSubstituted: (logging.WARNING, "the peer put the task under another context"),
    EvidenceFailed: (logging.ERROR, "an observer raised and is told nothing more"),
    Downgraded: (logging.WARNING, "an older version is spoken"),
    Rerouted: (logging.WARNING, "the peer cannot be reached, and another interface is tried"),
    CancelSent: (logging.INFO, "the peer is asked to stop"),
    TransportStuck: (logging.WARNING, "a request ignored its cancellation and was left behind"),
    TerminalChanged: (logging.WARNING, "the peer reports another end than before"),
    Settled: (logging.INFO, "a delegation has settled"),
}
"""The level of each signal, and what it says."""

_Fact: TypeAlias = str | int | bool | None


@dataclass(slots=True)
class _Ids:
    """The delegation that a context tells of; `before` is the one that it told of when this began.

    One object for all contexts that are copied from the caller's: the task's id is learned in the
    context of a request, and the others must know it too.
    """

    delegate_id: str | None = None
    message_id: str | None = None
    context_id: str | None = None
    task_id: str | None = None
    before: _Ids | None = None

    def learn(self, handle: DelegationHandle | None) -> None:
        """Take the ids of a handle."""
        if handle is not None:
            self.delegate_id, self.message_id = handle.delegate_id, handle.message_id
            self.context_id, self.task_id = handle.context_id, handle.task_id


_told_of: ContextVar[_Ids | None] = ContextVar("a2a_delegate.observers.told_of", default=None)
"""Signals do not say whose they are. Those of one delegation come in one context and its copies."""


class LoggingObserver:
    """An observer that writes one record of the standard `logging` for each signal.

    `logger` defaults to that of the package, `a2a_delegate`, which prints nothing until the
    application configures logging. The end of a delegation and what is done about it are INFO, the
    steps between DEBUG, what went wrong on the way WARNING, an observer that raised ERROR.

    Each record has the attributes `a2a_signal`, `a2a_delegate_id`, `a2a_message_id`,
    `a2a_context_id` and `a2a_task_id` (None where not known), and further ones by signal, such as
    `a2a_state`, `a2a_status`, `a2a_effect`, `a2a_error` (its type) and `a2a_http_status`. What was
    asked or answered is in none; each is bounded and of one line. One observer may serve many
    delegates. Handlers run on the event loop: put a slow one behind a `QueueHandler`.
    """

    def __init__(self, logger: logging.Logger | None = None) -> None:
        self._logger = logger if logger is not None else _LOGGER

    def __call__(self, signal: Signal) -> None:
        """Write the record of a signal."""
        ids = _ids_of(signal)
        level, words = MEANINGS[type(signal)]
        if not self._logger.isEnabledFor(level):
            return
        facts = {
            "delegate_id": ids.delegate_id,
            "message_id": ids.message_id,
            "context_id": ids.context_id,
            "task_id": ids.task_id,
            **_facts(signal),
        }
        plain = {name: _plain(fact) for name, fact in facts.items()}
        told = " ".join(f"{name}={fact!r}" for name, fact in plain.items() if fact is not None)
        extra = {f"a2a_{name}": fact for name, fact in plain.items()}
        extra["a2a_signal"] = type(signal).__name__
        self._logger.log(level, "%s [%s]", words, told, extra=extra)


def _ids_of(signal: Signal) -> _Ids:
    """Return the ids of the delegation that a signal belongs to, and learn those that it brings."""
    ids = _told_of.get()
    if isinstance(signal, Intent):
        ids = _Ids(before=ids)
        ids.learn(signal.handle)
        _told_of.set(ids)
    elif ids is None:
        # Called by hand, or by a delegate that tells no intent: nothing else is known of it.
        ids = _Ids()
    if isinstance(signal, Settled):
        ids.learn(signal.result.handle)
        ids.delegate_id = signal.result.delegate_id
        _told_of.set(ids.before)
    if isinstance(signal, ContextSubstituted):
        ids.context_id = signal.theirs
    ids.task_id = getattr(signal, "task_id", ids.task_id)
    return ids


def _facts(signal: Signal) -> Mapping[str, _Fact]:  # noqa: C901, PLR0911 - one for each signal
    """Return what a signal says in words and numbers that are nobody's text."""
    match signal:
        case Intent(handle):
            return {} if handle is None else _way(handle)
        case Rerouted(handle):
            return _way(handle)
        case Sent(attempt):
            return {"attempt": attempt}
        case IdKnown() | Recovered() | CancelSent():
            return {}
        case StateSeen(state=state):
            return {"state": state}
        case Progress(message=message):
            return {"parts": len(message.parts)}
        case ArtifactChunk(artifact=artifact, append=append):
            one = artifact.artifact_id
            return {"artifact_id": one, "parts": len(artifact.parts), "append": append}
        case StreamCut(error=cut):
            return {} if cut is None else _error(cut)
        case AttemptFailed(attempt, error):
            return {
                "attempt": attempt.number,
                "operation": attempt.operation,
                "outcome": attempt.outcome.value,
                "body_left": attempt.body_left,
                "http_status": attempt.http_status,
                **_error(error),
            }
        case Settled(result):
            return _outcome(result)
        case _:
            return _oddity(signal)


def _oddity(
    signal: ContextSubstituted | EvidenceFailed | Downgraded | TransportStuck | TerminalChanged,
) -> Mapping[str, _Fact]:
    match signal:
        case ContextSubstituted(ours, theirs):
            return {"ours": ours, "theirs": theirs}
        case EvidenceFailed(observer, error):
            name = getattr(observer, "__qualname__", type(observer).__qualname__)
            return {"observer": name, **_error(error)}
        case Downgraded(refused, spoken):
            return {"refused": refused, "spoken": spoken}
        case TransportStuck(operation):
            return {"operation": operation}
        case TerminalChanged(first=first, later=later):
            return {"first": first, "later": later}
        case _:
            assert_never(signal)


def _way(handle: DelegationHandle) -> Mapping[str, _Fact]:
    return {
        "endpoint": public_url(handle.endpoint),
        "version": handle.version,
        "binding": handle.binding,
    }


def _outcome(result: DelegateResult) -> Mapping[str, _Fact]:
    facts: dict[str, _Fact] = {"status": result.status, "effect": result.effect.value}
    if isinstance(result, Cancelled):
        facts["by"] = result.by
    if isinstance(result, Cancelled | TimedOut):
        facts["receipt"] = result.receipt.value
    if isinstance(result, Failed | Rejected):
        facts |= _error(result.error)
    if isinstance(result, Unknown):
        facts |= _error(result.cause)
    return {**facts, "attempts": len(result.attempts), "late": result.late}


def _error(error: BaseException) -> Mapping[str, _Fact]:
    """Name an error by its type and its codes; its sentence may hold anybody's words."""
    facts: dict[str, _Fact] = {"error": type(error).__name__}
    if isinstance(error, LostReplyError | PeerUnreachableError):
        facts["phase"] = error.phase
    if isinstance(error, A2ARequestError | InvalidReplyError) and error.status is not None:
        facts["http_status"] = error.status
    if isinstance(error, A2ARequestError):
        facts["code"] = error.code
        # The peer writes it, and may write anything; `google.rpc.ErrorInfo` has words of this form.
        if error.reason is not None and re.fullmatch(r"[A-Z][A-Z0-9_]{1,62}", error.reason):
            facts["reason"] = error.reason
    return facts


def _plain(fact: _Fact) -> _Fact:
    """Return a fact that fits on one line, whoever chose it."""
    return shown(fact, _VALUE) if isinstance(fact, str) else fact
