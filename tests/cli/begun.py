"""Delegations that another program began and no longer follows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio

from a2a_delegate import connect, open_delegation
from a2a_delegate.testing import Honest, Operation, RefusedCancel

if TYPE_CHECKING:
    from a2a_delegate import DelegationHandle
    from tests.cli.peer_on_a_port import PeerOnAPort


def begin(peer: PeerOnAPort, prompt: str) -> DelegationHandle:
    """Begin a task at the peer, leave it there at work, and return its handle."""

    async def begun() -> DelegationHandle:
        with anyio.fail_after(10):
            async with connect(peer.origin) as delegate:
                async with open_delegation(delegate, prompt) as delegation:
                    while delegation.handle is None or delegation.handle.task_id is None:
                        await anext(delegation)
                    handle = delegation.handle
                    # Leaving the block cancels; the agent goes on all the same.
                    peer.do(lambda it: it.always(Operation.CANCEL, RefusedCancel()))
                peer.do(lambda it: it.always(Operation.CANCEL, Honest()))
                return handle

    return anyio.run(begun)
