"""What an error answer proves, operation by operation; what is in no set here proves nothing."""

from __future__ import annotations

from a2a_delegate.lifecycle.operations import FaultKind

PROVEN: frozenset[FaultKind] = frozenset(
    {
        FaultKind.PARSE_ERROR,
        FaultKind.METHOD_NOT_FOUND,
        FaultKind.VERSION_NOT_SUPPORTED,
        FaultKind.EXTENSION_REQUIRED,
        FaultKind.UNAUTHENTICATED,
        FaultKind.METHOD_NOT_ALLOWED,
        FaultKind.CONTENT_TOO_LARGE,
        FaultKind.MEDIA_TYPE,
        FaultKind.REDIRECTED,
        FaultKind.RATE_LIMITED,
    }
)
"""Answers to a send that prove that the peer never began: they come before the agent's code.

Every other error can be raised by agent code after its effect (-32602, 403, 404, 5xx).
"""

VERSION_SHAPED: frozenset[FaultKind] = frozenset(
    {FaultKind.VERSION_NOT_SUPPORTED, FaultKind.METHOD_NOT_FOUND}
)
"""Those of them that say that the peer does not speak the version."""

NOT_LISTING: frozenset[FaultKind] = frozenset(
    {
        FaultKind.METHOD_NOT_FOUND,
        FaultKind.VERSION_NOT_SUPPORTED,
        FaultKind.METHOD_NOT_ALLOWED,
        FaultKind.NO_ENDPOINT,
        FaultKind.UNSUPPORTED,
        FaultKind.UNAUTHENTICATED,
        FaultKind.DENIED,
    }
)
"""Answers to a list that end the look-up at once: the peer does not list, or not for us."""

NOT_CANCELLING: frozenset[FaultKind] = frozenset(
    {
        FaultKind.TASK_NOT_CANCELABLE,
        FaultKind.TASK_NOT_FOUND,
        FaultKind.UNSUPPORTED,
        FaultKind.METHOD_NOT_FOUND,
    }
)
"""Answers to a cancel that refuse it."""

GONE: frozenset[FaultKind] = frozenset(
    {
        FaultKind.TASK_NOT_FOUND,
        FaultKind.NO_ENDPOINT,
        FaultKind.UNAUTHENTICATED,
        FaultKind.DENIED,
        FaultKind.METHOD_NOT_FOUND,
    }
)
"""Answers to a get that, three times running, say that this task cannot be asked for any more."""

NOT_STREAMING: frozenset[FaultKind] = frozenset(
    {
        FaultKind.METHOD_NOT_FOUND,
        FaultKind.METHOD_NOT_ALLOWED,
        FaultKind.NO_ENDPOINT,
        FaultKind.UNSUPPORTED,
    }
)
"""Answers to a subscription that say that nobody can subscribe, or not to this task any more."""
