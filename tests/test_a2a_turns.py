"""Turns: an answer goes on with its task, once, and a question is not asked again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import anyio
import pytest

from a2a_delegate import (
    Cancelled,
    CancelReceipt,
    CancelToken,
    Completed,
    DelegateRequest,
    DelegationHandle,
    Downgraded,
    Effect,
    InputRequired,
    Recovered,
    Rejected,
    Running,
    Unknown,
    UsageError,
    open_delegation,
)
from a2a_delegate.testing import (
    Delay,
    DropAfterAccepting,
    DropBeforeReading,
    DropWhileReading,
    Operation,
    Rewrite,
    RpcError,
    ScriptedPeer,
    WorkState,
)
from tests.begun_tasks import VERSIONS, only_task
from tests.runtime.staging import Notes, delegate_to

pytestmark = [pytest.mark.anyio, pytest.mark.virtual_time]


@pytest.mark.spec("TURN-1")
@VERSIONS
@pytest.mark.parametrize(
    ("prompt", "status"), [("ask", "input-required"), ("auth", "auth-required")]
)
async def test_an_answer_goes_on_with_its_task(
    versions: tuple[str, ...], prompt: str, status: str
) -> None:
    peer = ScriptedPeer(versions)
    async with delegate_to(peer) as delegate:
        asked = await delegate.dispatch(prompt)
        assert asked.status == status
        assert asked.handle is not None
        assert asked.handle.question_id
        answered = await delegate.dispatch(DelegateRequest("the second", continues=asked.handle))
    assert isinstance(answered, Completed)
    assert answered.handle is not None
    assert answered.handle.task_id == asked.handle.task_id
    assert answered.handle.message_id != asked.handle.message_id
    assert len(peer.truth.tasks) == 1


@pytest.mark.spec("TURN-1", "VER-2")
async def test_an_answer_is_never_sent_by_an_older_version_than_its_question() -> None:
    peer, notes = ScriptedPeer(("1.0", "0.3")), Notes()
    async with delegate_to(peer, allow_downgrade=True) as delegate:
        asked = await delegate.dispatch("ask")
        peer.script(Operation.SEND, RpcError(-32009))
        refused = await delegate.dispatch(
            DelegateRequest("this", continues=asked.handle), observer=notes
        )
    assert isinstance(refused, Rejected)
    assert refused.handle is not None
    assert refused.handle.version == "1.0"
    assert len(refused.attempts) == 1
    assert notes.of(Downgraded) == []


@pytest.mark.spec("TURN-1")
async def test_new_work_in_the_same_conversation_names_no_task() -> None:
    peer = ScriptedPeer()
    async with delegate_to(peer) as delegate:
        first = await delegate.dispatch("work")
        assert first.handle is not None
        second = await delegate.dispatch(
            DelegateRequest("more", context_id=first.handle.context_id)
        )
    assert isinstance(second, Completed)
    assert second.handle is not None
    assert second.handle.context_id == first.handle.context_id
    assert second.handle.task_id != first.handle.task_id


@pytest.mark.spec("HAND-10")
@VERSIONS
async def test_an_answer_to_a_task_that_has_ended_is_refused(versions: tuple[str, ...]) -> None:
    peer = ScriptedPeer(versions)
    async with delegate_to(peer) as delegate:
        asked = await delegate.dispatch("ask")
        assert isinstance(asked, InputRequired)
        assert asked.handle is not None
        await delegate.dispatch(DelegateRequest("this", continues=asked.handle))
        late = await delegate.dispatch(DelegateRequest("that", continues=asked.handle))
    assert isinstance(late, Rejected)
    assert late.effect is Effect.NOT_STARTED


@pytest.mark.spec("HAND-14")
@VERSIONS
async def test_a_crash_after_an_answer_does_not_bring_the_old_question_back(
    versions: tuple[str, ...],
) -> None:
    peer = ScriptedPeer(versions)
    peer.always(Operation.GET, Rewrite(_forgetful))
    peer.script(Operation.SEND, Rewrite(_forgetful), Rewrite(_forgetful))
    async with delegate_to(peer) as delegate:
        asked = await delegate.dispatch("ask")
        assert isinstance(asked, InputRequired)
        assert asked.handle is not None
        assert asked.handle.answers is None
        again = await delegate.resume(asked.handle, wait=False)
        assert isinstance(again, InputRequired), "nobody has answered it"
        request = DelegateRequest("this", continues=asked.handle)
        async with open_delegation(delegate, request) as delegation:
            while delegation.handle is None or delegation.handle.task_id is None:
                await anext(delegation)
            kept = DelegationHandle.from_json(delegation.handle.to_json())
            peer.always(Operation.CANCEL, DropBeforeReading())
        assert kept.answers == asked.handle.question_id
        looked = await delegate.resume(kept, wait=False)
    assert isinstance(looked, Running)
    assert looked.handle is not None
    assert looked.handle.answers == kept.answers


def _forgetful(reply: dict[str, Any]) -> dict[str, Any]:
    """Show a task that still asks, and none of its history."""
    task = reply["result"].get("task", reply["result"])
    word = "TASK_STATE_INPUT_REQUIRED" if "kind" not in task else "input-required"
    said = {"messageId": "q-1", "role": "ROLE_AGENT", "parts": [{"text": "Which?"}]}
    if "kind" in task:
        said = {"kind": "message", "messageId": "q-1", "role": "agent", "parts": []}
    task["status"] = {"state": word, "message": said}
    task.pop("history", None)
    task.pop("artifacts", None)
    return reply


@pytest.mark.spec("HAND-11")
@VERSIONS
async def test_a_lost_reply_to_an_answer_is_found_in_the_task(versions: tuple[str, ...]) -> None:
    peer, notes = ScriptedPeer(versions), Notes()
    async with delegate_to(peer) as delegate:
        asked = await delegate.dispatch("ask")
        assert asked.handle is not None
        peer.script(Operation.SEND, DropAfterAccepting())
        answered = await delegate.dispatch(
            DelegateRequest("this", continues=asked.handle), observer=notes
        )
    assert isinstance(answered, Completed)
    assert len(notes.of(Recovered)) == 1
    assert max(peer.truth.runs.values()) == 1


@pytest.mark.spec("HAND-11")
@VERSIONS
async def test_an_answer_that_never_arrived_is_unknown(versions: tuple[str, ...]) -> None:
    peer = ScriptedPeer(versions)
    async with delegate_to(peer) as delegate:
        asked = await delegate.dispatch("ask")
        assert asked.handle is not None
        peer.script(Operation.SEND, DropWhileReading())
        lost = await delegate.dispatch(DelegateRequest("this", continues=asked.handle))
        assert isinstance(lost, Unknown)
        assert lost.effect is Effect.MAY_HAVE_RUN
        again = await delegate.dispatch(DelegateRequest("this", continues=asked.handle))
    assert isinstance(again, Completed)


@pytest.mark.spec("HAND-12")
async def test_a_cancel_after_the_answer_left_stops_the_task() -> None:
    peer, token = ScriptedPeer(), CancelToken()
    async with delegate_to(peer) as delegate:
        asked = await delegate.dispatch("ask")
        assert asked.handle is not None
        peer.script(Operation.SEND, Delay(20.0, DropWhileReading()))
        async with anyio.create_task_group() as group:

            async def stop() -> None:
                await anyio.sleep(1)
                token.cancel()

            group.start_soon(stop)
            result = await delegate.dispatch(
                DelegateRequest("this", continues=asked.handle), cancel=token
            )
    assert isinstance(result, Cancelled)
    assert result.receipt is CancelReceipt.CONFIRMED
    assert only_task(peer) is WorkState.CANCELED


@pytest.mark.spec("TURN-2")
async def test_credentials_may_arrive_by_another_way() -> None:
    peer = ScriptedPeer()

    async def grant() -> None:
        await anyio.sleep(10)
        (task,) = peer.truth.tasks
        peer.finish(task.id)

    async with (
        delegate_to(peer, auth_required="wait") as delegate,
        anyio.create_task_group() as group,
    ):
        group.start_soon(grant)
        result = await delegate.dispatch("auth")
    assert isinstance(result, Completed)


async def test_an_answer_needs_a_task() -> None:
    handle = DelegationHandle.from_json(
        '{"delegate_id": "peer", "endpoint": "https://peer.example", "version": "1.0", '
        '"binding": "JSONRPC", "message_id": "m", "body_digest": "d", '
        '"sent_at": "2026-01-01T00:00:00+00:00", "context_id": "c"}'
    )
    with pytest.raises(UsageError, match="resume it first"):
        DelegateRequest("answer", continues=handle)
    known = replace(handle, task_id="t")
    with pytest.raises(UsageError, match="another one"):
        DelegateRequest("answer", continues=known, context_id="elsewhere")
    with pytest.raises(UsageError, match="principal"):
        DelegateRequest("answer", principal="")
    assert DelegateRequest("answer", continues=known, context_id="c").continues is known
