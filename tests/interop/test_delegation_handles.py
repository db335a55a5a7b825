"""Handles at real servers: a task outlives its process, and another one takes it up."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from a2a_delegate import (
    A2ARequestError,
    AttemptOutcome,
    Cancelled,
    CancelReceipt,
    Completed,
    DelegateRequest,
    DelegationHandle,
    Effect,
    Rejected,
    Running,
    Unknown,
)
from tests.interop.behaviours import Behaviour, Ended, Expected
from tests.interop.cutting_proxy import CuttingProxy
from tests.interop.delegating import Told, operations
from tests.interop.peers import everywhere
from tests.interop.raw import new_id
from tests.interop.servers import wait_until

if TYPE_CHECKING:
    from a2a_delegate import DelegateResult
    from tests.interop.peers import Peer

pytestmark = [pytest.mark.interop, pytest.mark.anyio]

FIRST_PROCESS = Path(__file__).with_name("first_process.py")


def left_by_a_killed_process(peer: Peer, text: str, file: Path) -> DelegationHandle:
    """The last handle that a process wrote down which was killed while the agent worked."""

    def last() -> DelegationHandle | None:
        *_, line = ["", *file.read_text("utf-8").rpartition("\n")[0].splitlines()]
        return DelegationHandle.from_json(line) if line else None

    def last_with_id() -> DelegationHandle | None:
        return found if (found := last()) and found.task_id else None

    file.touch()
    asked = [peer.server.url, peer.face.version, str(peer.way), text, str(file)]
    command = [sys.executable, str(FIRST_PROCESS), *asked]
    with subprocess.Popen(command) as process:  # noqa: S603  # our own program
        try:
            first = wait_until(last, "handle of the first process", within=15.0)
            peer.server.wait_for("execute", first.message_id)
            with contextlib.suppress(TimeoutError):  # a send that is held shows no id
                wait_until(last_with_id, "task id", within=1.5)
        finally:
            process.kill()
    return last() or first


def now(peer: Peer, handle: DelegationHandle, result: DelegateResult, note: str = "") -> Ended:
    """What has come of the delegation that a handle is for."""
    return Ended(peer.server, handle.message_id, result, note)


@everywhere
async def test_another_process_takes_up_the_task_of_one_that_was_killed(
    peer: Peer, tmp_path: Path
) -> None:
    handle = left_by_a_killed_process(peer, "slow 1.5", tmp_path / "handle")
    config = replace(peer.config, timeout=4.0)
    async with peer.delegate(config=config) as delegate:
        result = await delegate.resume(handle)
    assert "send" not in operations(result)
    assert ("subscribe" in operations(result)) == (peer.way.streams and handle.task_id is not None)
    if peer.way.streams and isinstance(result, Completed):
        # By the verb that the server has, and it stayed open.
        first, second, *_ = result.attempts
        assert (first.operation, second.operation) == ("get", "subscribe")
        assert second.outcome is AttemptOutcome.ANSWERED
        assert second.seconds > 0.2
    peer.shows(Behaviour.TAKEN_UP, now(peer, handle, result), Expected(Completed, "slow done"))


@everywhere
async def test_a_task_is_looked_at_and_then_stopped_by_its_handle(
    peer: Peer, tmp_path: Path
) -> None:
    handle = left_by_a_killed_process(peer, "slow 5", tmp_path / "handle")
    async with peer.delegate() as delegate:
        look = await delegate.resume(handle, wait=False)
        receipt = await delegate.cancel(handle, "no longer needed")
        after = await delegate.resume(handle)
    assert {"send", "cancel"}.isdisjoint(operations(look))
    stopped = Expected(Cancelled, work="cancelled", note="cancel confirmed", facts={"by": "peer"})
    outcome = now(peer, handle, after, f"cancel {receipt}")
    peer.shows(Behaviour.STOPPED_BY_HANDLE, outcome, stopped)
    peer.shows(Behaviour.LOOK, now(peer, handle, look), Expected(Running, work=None))


@everywhere
async def test_an_unknown_outcome_is_looked_up_again_when_it_is_taken_up(peer: Peer) -> None:
    told = Told()
    with CuttingProxy(peer.server.url, everything=True) as proxy:
        async with peer.delegate(via=proxy.url) as delegate:
            first = await delegate.dispatch("quick", observer=told)
            assert isinstance(first, Unknown)
            assert first.handle is not None
            proxy.heal()
            result = await delegate.resume(DelegationHandle.from_json(first.handle.to_json()))
    assert "send" not in operations(result)
    found = Expected(Completed, "quick done")
    peer.shows(Behaviour.TAKEN_UP_UNKNOWN, peer.ended(told, result), found)


async def forgotten(peer: Peer) -> DelegationHandle:
    """The handle of a task that the server does not know."""
    done = await peer.dispatch("quick")
    assert done.result.handle is not None
    return replace(done.result.handle, task_id=new_id())


@everywhere
async def test_a_task_that_the_peer_does_not_know_is_unknown_and_ran(peer: Peer) -> None:
    handle = await forgotten(peer)
    async with peer.delegate() as delegate:
        result = await delegate.resume(handle)
        receipt = await delegate.cancel(handle)
    assert receipt is not CancelReceipt.CONFIRMED
    peer.shows(Behaviour.UNKNOWN_TASK, now(peer, handle, result), Expected(Unknown))
    assert isinstance(result, Unknown)
    assert isinstance(result.cause, A2ARequestError)
    assert result.cause.method == "get"
    # HTTP+JSON has the status to say it, and the code only where a server gives it too.
    assert result.cause.code == -32001 or result.cause.status == 404


@everywhere
async def test_an_answer_to_a_task_that_the_peer_does_not_know_starts_nothing(peer: Peer) -> None:
    told = Told()
    request = DelegateRequest("blue", continues=await forgotten(peer))
    async with peer.delegate() as delegate:
        result = await delegate.dispatch(request, observer=told)
    refused = Expected(Rejected, work="nothing", effect=Effect.NOT_STARTED)
    peer.shows(Behaviour.ANSWER_TO_NOBODY, peer.ended(told, result), refused)
