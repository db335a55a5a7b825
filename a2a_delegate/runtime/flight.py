"""One request on its way: what is known of it, and how it ended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from a2a_delegate.errors import LostReplyError, PeerUnreachableError
from a2a_delegate.lifecycle.observations import Ended
from a2a_delegate.lifecycle.operations import (
    Fault,
    Lost,
    NotSent,
    Reply,
    StreamEnd,
    Unreadable,
)
from a2a_delegate.outcome import Attempt, AttemptOutcome

if TYPE_CHECKING:
    from datetime import datetime

    from a2a_delegate.bindings.exchange import Exchange
    from a2a_delegate.lifecycle.operations import Operation
    from a2a_delegate.runtime.owner import OwnedTask


@dataclass(slots=True, eq=False, repr=False)
class Flight:
    """One request on its way."""

    number: int
    operation: Operation
    exchange: Exchange
    began: float
    began_utc: datetime
    version: str
    endpoint: str
    reply: Reply | None = None
    task: OwnedTask | None = None
    let_go: Literal["cancel", "deadline"] | None = None
    renewed: bool = False

    @property
    def cut_off(self) -> bool:
        """Whether it ended by nobody's doing here: the end of an asyncio loop cancels all tasks."""
        failed = self.task is not None and self.task.error is not None
        return self.reply is None and not self.let_go and not failed

    def ended(self, now: float) -> Ended:
        """Say how it ended: by its reply, or by what was seen of its body."""
        reply = self.reply or self._without_reply()
        attempt = Attempt(
            number=self.number,
            operation=self.operation.name.value,
            started_at=self.began_utc,
            seconds=max(now - self.began, 0.0),
            http_status=self.exchange.http_status,
            outcome=_attempt_outcome(reply),
            body_left=self.exchange.body_left,
            version=self.version,
        )
        return Ended(self.number, self.operation.name, reply, attempt)

    def _without_reply(self) -> Reply:
        error = None if self.task is None else self.task.error
        reason = "" if error is None else f"{type(error).__name__} in the transport"
        problem: LostReplyError | PeerUnreachableError
        if self.exchange.shown:
            return StreamEnd()  # what it showed was an answer, whoever let it go
        if self.exchange.body_left:
            phase = self.let_go or ("cancel" if error is None else "read")
            problem = LostReplyError(method=self.operation.name.value, phase=phase, reason=reason)
            problem.__cause__ = error
            return Lost(problem, evidence=self.exchange.evidence)
        before = "deadline" if error is None else "connect"
        problem = PeerUnreachableError(phase=before, url=self.endpoint, reason=reason)
        problem.__cause__ = error
        return NotSent(problem)


def _attempt_outcome(reply: Reply) -> AttemptOutcome:
    match reply:
        case Fault():
            return AttemptOutcome.REFUSED
        case Unreadable():
            return AttemptOutcome.NOT_UNDERSTOOD
        case NotSent():
            return AttemptOutcome.NOT_SENT
        case Lost():
            return AttemptOutcome.LOST
        case _:
            return AttemptOutcome.ANSWERED
