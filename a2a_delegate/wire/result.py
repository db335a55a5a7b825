"""The result of a call, taken out of whatever carried it and not yet understood."""

from __future__ import annotations

from dataclasses import field, replace
from typing import TYPE_CHECKING

from a2a_delegate.errors import InvalidReplyError
from a2a_delegate.lifecycle.operations import Unreadable
from a2a_delegate.model.frozen import dataclass

if TYPE_CHECKING:
    from a2a_delegate.lifecycle.operations import (
        MessageReply,
        Operation,
        TaskPage,
        TaskReply,
    )
    from a2a_delegate.wire.dialect import Dialect

EVIDENCE = 64 * 1024
"""Bytes of a reply that are kept as evidence."""


@dataclass(frozen=True, slots=True)
class WireResult:
    """A result that answers our own request; `decoded` hands it to a dialect."""

    result: object
    status: int
    evidence: bytes = field(default=b"", repr=False)


def decoded(
    dialect: Dialect, operation: Operation, answer: WireResult
) -> TaskReply | MessageReply | TaskPage | Unreadable:
    """Read a result in a dialect; what is not understood keeps its bytes and HTTP status."""
    reply = dialect.decode(operation, answer.result)
    if not isinstance(reply, Unreadable):
        return reply
    error = InvalidReplyError(
        method=operation.name, reason=reply.error.reason, status=answer.status
    )
    return replace(reply, error=error, evidence=answer.evidence)
