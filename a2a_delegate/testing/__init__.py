"""Twins for tests: a peer that misbehaves on demand and knows what really happened.

An orchestrator is only as good as what it does when a peer is slow, silent, lying or gone. Here is
such a peer, in the same process, on the event loop's own clock::

    from a2a_delegate.testing import DropAfterAccepting, Operation, ScriptedPeer

    peer = ScriptedPeer()
    peer.script(Operation.SEND, DropAfterAccepting())
    async with peer.client() as client:
        ...  # let your orchestrator delegate to https://peer.example over this client
    assert peer.truth.sends == 1, "it sent the work a second time, and it ran twice"

And here is `DelegateSuite`, the tests that every delegate has to pass, for those whom you write.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2a_delegate.testing.acts import (
    Close,
    DropAfterAccepting,
    DropBeforeReading,
    DropWhileReading,
    Endless,
    Finished,
    Hang,
    Honest,
    IgnoredCancel,
    Loss,
    LyingCancel,
    Opening,
    OtherTask,
    RawReply,
    Redirect,
    Refusal,
    RefuseConnection,
    RefusedCancel,
    Respond,
    Rewrite,
    RpcError,
    Subscription,
    UnknownState,
    Unstreamed,
    WrongId,
)
from a2a_delegate.testing.behaviours import (
    Chunked,
    CloseAfterReply,
    CloseDelimited,
    Coding,
    Compressed,
    CutReply,
    Delay,
    Dribble,
    EarlyReply,
    Interim,
    Moment,
    Operation,
    Overtaken,
    WrongLength,
)
from a2a_delegate.testing.happenings import (
    ConnectionRefused,
    Happening,
    Parting,
    PortObserver,
    RequestArrived,
    RequestOver,
)
from a2a_delegate.testing.layering import Behaviour
from a2a_delegate.testing.peer import ScriptedPeer
from a2a_delegate.testing.stream_behaviours import (
    EventFormat,
    EventKind,
    EventOrder,
    Gathered,
    GreedyFirstChunk,
    InsertBytes,
    InsertEvent,
    Intruder,
    LineEnd,
    PadEvent,
    Pings,
    SplitInside,
    Stop,
    StopStream,
    WithoutEvents,
    WorkEndsWithStream,
)
from a2a_delegate.testing.truth import GroundTruth, RequestFact, StreamEnd, StreamFact, TaskFact
from a2a_delegate.testing.work import WorkState

if TYPE_CHECKING:
    from a2a_delegate.testing.delegate_suite import (
        DelegateSuite as DelegateSuite,
    )
    from a2a_delegate.testing.delegate_suite import (
        DelegateUnderTest as DelegateUnderTest,
    )

# Without DelegateSuite and DelegateUnderTest: a star import asks for each of these, and those two
# need pytest.
__all__ = [
    "Behaviour",
    "Chunked",
    "Close",
    "CloseAfterReply",
    "CloseDelimited",
    "Coding",
    "Compressed",
    "ConnectionRefused",
    "CutReply",
    "Delay",
    "Dribble",
    "DropAfterAccepting",
    "DropBeforeReading",
    "DropWhileReading",
    "EarlyReply",
    "Endless",
    "EventFormat",
    "EventKind",
    "EventOrder",
    "Finished",
    "Gathered",
    "GreedyFirstChunk",
    "GroundTruth",
    "Hang",
    "Happening",
    "Honest",
    "IgnoredCancel",
    "InsertBytes",
    "InsertEvent",
    "Interim",
    "Intruder",
    "LineEnd",
    "Loss",
    "LyingCancel",
    "Moment",
    "Opening",
    "Operation",
    "OtherTask",
    "Overtaken",
    "PadEvent",
    "Parting",
    "Pings",
    "PortObserver",
    "RawReply",
    "Redirect",
    "Refusal",
    "RefuseConnection",
    "RefusedCancel",
    "RequestArrived",
    "RequestFact",
    "RequestOver",
    "Respond",
    "Rewrite",
    "RpcError",
    "ScriptedPeer",
    "SplitInside",
    "Stop",
    "StopStream",
    "StreamEnd",
    "StreamFact",
    "Subscription",
    "TaskFact",
    "UnknownState",
    "Unstreamed",
    "WithoutEvents",
    "WorkEndsWithStream",
    "WorkState",
    "WrongId",
    "WrongLength",
]

if not TYPE_CHECKING:  # to a type checker this would be a promise to have any name

    def __getattr__(name: str) -> object:
        """Import the suite when it is asked for: it needs pytest, and nothing else here does."""
        if name not in {"DelegateSuite", "DelegateUnderTest"}:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        try:
            from a2a_delegate.testing import delegate_suite  # noqa: PLC0415 - see above
        except ModuleNotFoundError as missing:
            if missing.name != "pytest":
                raise
            sentence = f"{name} needs pytest; install it with: pip install pytest"
            raise ModuleNotFoundError(sentence, name="pytest") from None
        value: object = getattr(delegate_suite, name)
        return value
