"""Honest delegation to agents, tools and functions that you do not run.

Hand over a sub-task and get one typed outcome that says what happened and what is not known::

    from a2a_delegate import Completed, Unknown, connect

    async with connect("https://research.example") as delegate:
        result = await delegate.dispatch("Summarise the three newest papers on X")
        match result:
            case Completed(output=text): ...
            case Unknown(handle=handle): ...  # sent, never answered: it may have run

Begin with `connect` (or `fetch_agent_card` and `A2ADelegate` for a client of your own),
`delegate_from` for functions, `DelegateRequest`, `CancelToken`, `open_delegation`. Outcomes are the
classes of `DelegateResult`; what observers are told those of `Signal`; every error is a
`DelegateError`. For tests of your own see `a2a_delegate.testing`.

Every name below is imported when it is first used, so the package itself costs next to nothing.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import FunctionType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    __version__: str
    from a2a_delegate.a2a import (
        A2ADelegate,
        connect,
    )
    from a2a_delegate.delegate import (
        INHERIT,
        CancelToken,
        Delegate,
        DelegateCapabilities,
        DelegateRequest,
        DispatchOnly,
        Observer,
        PacingObserver,
        check_capabilities,
    )
    from a2a_delegate.errors import (
        A2AProtocolMismatchError,
        A2ARequestError,
        CardProblem,
        DelegateCapabilityError,
        DelegateCapabilityMismatchError,
        DelegateError,
        DelegationCancelledError,
        DelegationPausedError,
        DelegationTimeoutError,
        InvalidAgentCardError,
        InvalidReplyError,
        LostReplyError,
        OutputMismatchError,
        PeerUnreachableError,
        TaskFailedError,
        UnknownEffectError,
        UnsafeEndpointError,
        UsageError,
    )
    from a2a_delegate.functions import (
        FunctionDelegate,
        delegate_from,
    )
    from a2a_delegate.model.artifact import (
        Artifact,
    )
    from a2a_delegate.model.card import (
        AgentCapabilities,
        AgentCard,
        AgentExtension,
        AgentInterface,
        AgentSkill,
        Binding,
        ProtocolVersion,
    )
    from a2a_delegate.model.json_value import (
        JSON,
    )
    from a2a_delegate.model.message import (
        Message,
        Role,
    )
    from a2a_delegate.model.part import (
        DataPart,
        FilePart,
        Part,
        TextPart,
        UnknownPart,
    )
    from a2a_delegate.model.task import (
        Task,
        TaskState,
        TaskStatus,
    )
    from a2a_delegate.outcome import (
        Attempt,
        AttemptOutcome,
        AuthRequired,
        Cancelled,
        CancelReceipt,
        Completed,
        DelegateResult,
        DelegationHandle,
        Effect,
        Failed,
        InputRequired,
        Rejected,
        Running,
        TimedOut,
        Unknown,
    )
    from a2a_delegate.peer.credentials import (
        ApiKeyAuth,
        AuthProvider,
        BearerAuth,
    )
    from a2a_delegate.runtime.card_lookup import (
        fetch_agent_card,
    )
    from a2a_delegate.runtime.config import (
        A2ADelegateConfig,
    )
    from a2a_delegate.runtime.delegation import (
        Delegation,
        Update,
        open_delegation,
    )
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

__all__ = [
    "INHERIT",
    "JSON",
    "A2ADelegate",
    "A2ADelegateConfig",
    "A2AProtocolMismatchError",
    "A2ARequestError",
    "AgentCapabilities",
    "AgentCard",
    "AgentExtension",
    "AgentInterface",
    "AgentSkill",
    "ApiKeyAuth",
    "Artifact",
    "ArtifactChunk",
    "Attempt",
    "AttemptFailed",
    "AttemptOutcome",
    "AuthProvider",
    "AuthRequired",
    "BearerAuth",
    "Binding",
    "CancelReceipt",
    "CancelSent",
    "CancelToken",
    "Cancelled",
    "CardProblem",
    "Completed",
    "ContextSubstituted",
    "DataPart",
    "Delegate",
    "DelegateCapabilities",
    "DelegateCapabilityError",
    "DelegateCapabilityMismatchError",
    "DelegateError",
    "DelegateRequest",
    "DelegateResult",
    "Delegation",
    "DelegationCancelledError",
    "DelegationHandle",
    "DelegationPausedError",
    "DelegationTimeoutError",
    "DispatchOnly",
    "Downgraded",
    "Effect",
    "EvidenceFailed",
    "Failed",
    "FilePart",
    "FunctionDelegate",
    "IdKnown",
    "InputRequired",
    "Intent",
    "InvalidAgentCardError",
    "InvalidReplyError",
    "LostReplyError",
    "Message",
    "Observer",
    "OutputMismatchError",
    "PacingObserver",
    "Part",
    "PeerUnreachableError",
    "Progress",
    "ProtocolVersion",
    "Recovered",
    "Rejected",
    "Rerouted",
    "Role",
    "Running",
    "Sent",
    "Settled",
    "Signal",
    "StateSeen",
    "StreamCut",
    "Task",
    "TaskFailedError",
    "TaskState",
    "TaskStatus",
    "TerminalChanged",
    "TextPart",
    "TimedOut",
    "TransportStuck",
    "Unknown",
    "UnknownEffectError",
    "UnknownPart",
    "UnsafeEndpointError",
    "Update",
    "UsageError",
    "__version__",
    "check_capabilities",
    "connect",
    "delegate_from",
    "fetch_agent_card",
    "open_delegation",
]

_HOMES = {
    "a2a": (
        "A2ADelegate",
        "connect",
    ),
    "delegate": (
        "INHERIT",
        "CancelToken",
        "Delegate",
        "DelegateCapabilities",
        "DelegateRequest",
        "DispatchOnly",
        "Observer",
        "PacingObserver",
        "check_capabilities",
    ),
    "errors": (
        "A2AProtocolMismatchError",
        "A2ARequestError",
        "CardProblem",
        "DelegateCapabilityError",
        "DelegateCapabilityMismatchError",
        "DelegateError",
        "DelegationCancelledError",
        "DelegationPausedError",
        "DelegationTimeoutError",
        "InvalidAgentCardError",
        "InvalidReplyError",
        "LostReplyError",
        "OutputMismatchError",
        "PeerUnreachableError",
        "TaskFailedError",
        "UnknownEffectError",
        "UnsafeEndpointError",
        "UsageError",
    ),
    "functions": (
        "FunctionDelegate",
        "delegate_from",
    ),
    "model.artifact": ("Artifact",),
    "model.card": (
        "AgentCapabilities",
        "AgentCard",
        "AgentExtension",
        "AgentInterface",
        "AgentSkill",
        "Binding",
        "ProtocolVersion",
    ),
    "model.json_value": ("JSON",),
    "model.message": (
        "Message",
        "Role",
    ),
    "model.part": (
        "DataPart",
        "FilePart",
        "Part",
        "TextPart",
        "UnknownPart",
    ),
    "model.task": (
        "Task",
        "TaskState",
        "TaskStatus",
    ),
    "outcome": (
        "Attempt",
        "AttemptOutcome",
        "AuthRequired",
        "CancelReceipt",
        "Cancelled",
        "Completed",
        "DelegateResult",
        "DelegationHandle",
        "Effect",
        "Failed",
        "InputRequired",
        "Rejected",
        "Running",
        "TimedOut",
        "Unknown",
    ),
    "peer.credentials": ("ApiKeyAuth", "AuthProvider", "BearerAuth"),
    "runtime.card_lookup": ("fetch_agent_card",),
    "runtime.config": ("A2ADelegateConfig",),
    "runtime.delegation": (
        "Delegation",
        "Update",
        "open_delegation",
    ),
    "signals": (
        "ArtifactChunk",
        "AttemptFailed",
        "CancelSent",
        "ContextSubstituted",
        "Downgraded",
        "EvidenceFailed",
        "IdKnown",
        "Intent",
        "Progress",
        "Recovered",
        "Rerouted",
        "Sent",
        "Settled",
        "Signal",
        "StateSeen",
        "StreamCut",
        "TerminalChanged",
        "TransportStuck",
    ),
}
"""Where each name is at home; the imports above say the same to type checkers."""

_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def _adopt() -> None:
    """Let whatever was imported so far say that users find it here: in tracebacks, in pickles.

    The names of all homes, not only those that were asked for: an error that nobody imported is
    shown, too. A home that another thread is just importing has its turn at a later name.
    """
    for home, names in _HOMES.items():
        module = sys.modules.get(f"{__name__}.{home}")
        for name in names if module is not None else ():
            value = vars(module).get(name)
            if isinstance(value, type | FunctionType):
                value.__module__ = __name__


def __dir__() -> list[str]:
    """List the public names, imported or not."""
    return list(__all__)


if not TYPE_CHECKING:  # to a type checker this would be a promise to have any name

    def __getattr__(name: str) -> object:
        """Import a public name when it is first used."""
        if name == "__version__":
            from importlib import metadata  # noqa: PLC0415 - it costs more than all else here

            try:
                return metadata.version("a2a-delegate")
            except metadata.PackageNotFoundError:
                # Run from a checkout that is not installed: nobody can say which version it is.
                return "0+unknown"
        home = _HOME_OF.get(name)
        if home is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        module = import_module(f"{__name__}.{home}")
        _adopt()
        value: object = getattr(module, name)
        globals()[name] = value
        return value
