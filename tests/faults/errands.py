"""What a caller asks of the delegate in a case, and what came before that.

Whoever answers, takes up, looks or stops has the handle of an earlier dispatch. That dispatch is an
honest one, by a delegate of its own that is closed before the errand begins: the handle goes from
the one to the other as text, as between two processes.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Final

from a2a_delegate import CancelToken, DelegateRequest, DelegationHandle, IdKnown
from a2a_delegate.testing import DropAfterAccepting, DropBeforeReading, Honest, Operation, RpcError

if TYPE_CHECKING:
    from a2a_delegate import A2ADelegate, Signal
    from a2a_delegate.testing import ScriptedPeer

_NOT_LISTING: Final = -32004


class Errand(Enum):
    """What is asked of the delegate, and whether that knows the task from the beginning."""

    HAND_OVER = "hand over", False
    ANSWER = "answer", True
    RESUME = "resume", True
    RESUME_LOST = "resume what was lost", False
    LOOK = "look", True
    LOOK_LOST = "look for what was lost", False
    STOP = "stop", True
    STOP_LOST = "stop what was lost", False

    def __init__(self, words: str, knows_task: bool) -> None:  # noqa: FBT001 - a column of the table
        self.words = words
        self.knows_task = knows_task

    def __str__(self) -> str:
        return self.words

    @property
    def sends(self) -> bool:
        """Whether it hands a message over."""
        return self in {Errand.HAND_OVER, Errand.ANSWER}

    @property
    def looks(self) -> bool:
        """Whether it looks once, and leaves everything as it is."""
        return self in {Errand.LOOK, Errand.LOOK_LOST}

    @property
    def stops(self) -> bool:
        """Whether it is itself the cancel."""
        return self in {Errand.STOP, Errand.STOP_LOST}

    @property
    def lost(self) -> bool:
        """Whether it begins with an unknown outcome, and no id of a task."""
        return self in {Errand.RESUME_LOST, Errand.LOOK_LOST, Errand.STOP_LOST}


async def handle_for(
    errand: Errand, peer: ScriptedPeer, delegate: A2ADelegate, prompt: str
) -> DelegationHandle | None:
    """Make the handle that an errand begins with, by a dispatch of this delegate.

    For an answer the dispatch asks the peer for a question; else it hands `prompt` over, and ends
    where its task is known and cannot be stopped, or where its reply is lost and not found.
    """
    if errand is Errand.HAND_OVER:
        return None
    token = CancelToken()

    def leave(signal: Signal) -> None:
        if isinstance(signal, IdKnown):
            token.cancel()

    if errand is Errand.ANSWER:
        result = await delegate.dispatch("ask")
    elif errand.lost:
        peer.script(Operation.SEND, DropAfterAccepting())
        if "1.0" in peer.versions:
            peer.script(Operation.LIST, RpcError(_NOT_LISTING, "not now"))
        result = await delegate.dispatch(DelegateRequest(prompt))
    else:
        peer.always(Operation.CANCEL, DropBeforeReading())
        result = await delegate.dispatch(prompt, cancel=token, observer=leave)
        peer.always(Operation.CANCEL, Honest())
    assert result.handle is not None, f"{errand}: {result}"
    assert (result.handle.task_id is None) is errand.lost, f"{errand}: {result}"
    assert not peer.pending, f"{errand}: {peer.pending}"
    return DelegationHandle.from_json(result.handle.to_json())
