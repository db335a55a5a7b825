"""What a peer holds open, and the delegation beside it, over real sockets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import pytest

from a2a_delegate import (
    A2ADelegateConfig,
    Cancelled,
    CancelReceipt,
    CancelToken,
    Completed,
    IdKnown,
    connect,
)
from a2a_delegate.testing import Hang, Operation, ScriptedPeer

if TYPE_CHECKING:
    from a2a_delegate import DelegateResult, Signal

pytestmark = pytest.mark.anyio

HELD = 200


@pytest.mark.spec("CARR-26")
async def test_two_hundred_held_sends_leave_another_delegation_its_own_time() -> None:
    peer = ScriptedPeer()
    peer.always(Operation.SEND, Hang(), prompt="hold")
    config = A2ADelegateConfig(poll_interval=0.05, recovery_grace=0.0, recovery_timeout=0.0)
    results: list[DelegateResult] = []
    stop = CancelToken()
    async with peer.serve() as url, connect(url, config=config) as delegate:

        async def hold() -> None:
            results.append(await delegate.dispatch("hold", cancel=stop))

        def at_its_id(signal: Signal) -> None:
            if isinstance(signal, IdKnown):
                late.cancel()

        late = CancelToken()
        async with anyio.create_task_group() as tasks:
            for _ in range(HELD):
                tasks.start_soon(hold)
            with anyio.fail_after(10):
                while len(peer.truth.runs) < HELD:
                    await anyio.lowlevel.checkpoint()
            with anyio.fail_after(3):
                # Polls included, and a cancel.
                assert isinstance(await delegate.dispatch("slow 0.3"), Completed)
                stopped = await delegate.dispatch("slow 60", cancel=late, observer=at_its_id)
            assert isinstance(stopped, Cancelled)
            assert stopped.receipt is CancelReceipt.CONFIRMED
            assert results == []
            stop.cancel()
    assert len(results) == HELD
