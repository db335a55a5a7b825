"""Tasks that a delegate began and forgot, for tests of what goes on with them."""

from __future__ import annotations

import pytest

from a2a_delegate import DelegationHandle, open_delegation
from a2a_delegate.testing import DropBeforeReading, Honest, Operation, ScriptedPeer, WorkState
from tests.runtime.staging import delegate_to

VERSIONS = pytest.mark.parametrize("versions", [("1.0",), ("0.3",), ("0.3", "1.0")], ids="+".join)
"""The versions that can be gone on with, the older one alone and beside the newer."""


async def handle_of(peer: ScriptedPeer, prompt: str) -> DelegationHandle:
    """Begin a task with one delegate, and forget everything but its handle in JSON."""
    async with delegate_to(peer) as delegate, open_delegation(delegate, prompt) as delegation:
        while not peer.truth.tasks or delegation.handle is None or not delegation.handle.task_id:
            await anext(delegation)
        text = delegation.handle.to_json()
        peer.always(Operation.CANCEL, DropBeforeReading())
    peer.always(Operation.CANCEL, Honest())
    return DelegationHandle.from_json(text)


def only_task(peer: ScriptedPeer) -> WorkState:
    (task,) = peer.truth.tasks
    return task.state
