"""Questions, answers and handles: the same task goes on, in this process or in the next one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from a2a_delegate import (
    A2ARequestError,
    AuthRequired,
    CancelReceipt,
    Completed,
    DelegateRequest,
    DelegationHandle,
    Effect,
    InputRequired,
    Rejected,
    Running,
    TimedOut,
    Unknown,
    UnsafeEndpointError,
    UsageError,
)
from a2a_delegate.testing import (
    DropAfterAccepting,
    Honest,
    Operation,
    Respond,
    RpcError,
    ScriptedPeer,
    WorkState,
)
from tests.reports.staging import (
    VERSIONS,
    agent_message,
    changed,
    delegate_of,
    sends,
    state_word,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from a2a_delegate import A2ADelegate
    from a2a_delegate.testing import Behaviour
    from tests.reports.staging import Json

pytestmark = [pytest.mark.anyio, pytest.mark.virtual_time]


def asking(
    version: str, question_id: str, state: WorkState = WorkState.INPUT_REQUIRED
) -> Callable[[Json], None]:
    """Make a change that lets a task ask a question under this id."""

    def change(task: Json) -> None:
        message = agent_message(version, f"question {question_id}", question_id)
        task["status"] = {"state": state_word(version, state), "message": message}

    return change


async def asked(delegate: A2ADelegate, prompt: str = "ask") -> DelegationHandle:
    """Delegate what the peer has a question about, and return its handle."""
    result = await delegate.dispatch(prompt)
    assert isinstance(result, InputRequired | AuthRequired)
    assert result.handle is not None
    return result.handle


# -- answers ---------------------------------------------------------------------------------------


@pytest.mark.report("M1", "M2", "M4")
@VERSIONS
@pytest.mark.parametrize("prompt", ["ask", "auth"])
async def test_an_answer_goes_to_the_task_and_context_of_its_question(
    version: str, prompt: str
) -> None:
    peer = ScriptedPeer((version,))
    async with delegate_of(peer) as delegate:
        handle = await asked(delegate, prompt)
        result = await delegate.dispatch(DelegateRequest("Rome", continues=handle))
    assert isinstance(result, Completed)
    assert result.output == "result of Rome"
    (task,) = peer.truth.tasks
    question, answer = sends(peer)
    assert "taskId" not in question
    assert (answer["taskId"], answer["contextId"]) == (task.id, task.context_id)
    assert answer["messageId"] != question["messageId"]
    assert "referenceTaskIds" not in answer


@pytest.mark.report("M1", "M2")
@VERSIONS
@pytest.mark.parametrize("state", [WorkState.INPUT_REQUIRED, WorkState.AUTH_REQUIRED])
@pytest.mark.parametrize("operation", [Operation.SEND, Operation.GET])
async def test_a_question_without_words_is_a_question_and_can_be_answered(
    version: str, state: WorkState, operation: Operation
) -> None:
    def ask(task: Json) -> None:
        task["status"] = {"state": state_word(version, state)}

    peer = ScriptedPeer((version,))
    peer.script(operation, changed(ask))
    async with delegate_of(peer) as delegate:
        first = await delegate.dispatch("slow 5")
        assert isinstance(first, InputRequired | AuthRequired)
        assert str(first.question) == ""
        result = await delegate.dispatch(DelegateRequest("Rome", continues=first.handle))
    assert isinstance(result, Completed)
    assert len(peer.truth.tasks) == 1


@pytest.mark.report("M3")
@VERSIONS
async def test_a_handle_from_a_store_continues_the_task_itself(version: str) -> None:
    peer = ScriptedPeer((version,))
    async with delegate_of(peer) as delegate:
        stored = (await asked(delegate)).to_json()
    async with delegate_of(peer) as delegate:
        handle = DelegationHandle.from_json(stored)
        result = await delegate.dispatch(DelegateRequest("Rome", continues=handle))
    assert isinstance(result, Completed)
    (task,) = peer.truth.tasks
    assert sends(peer)[1]["taskId"] == task.id
    assert "referenceTaskIds" not in sends(peer)[1]


@pytest.mark.report("M3", "R17", "R18")
@VERSIONS
async def test_new_work_in_the_same_context_is_no_continuation(version: str) -> None:
    peer = ScriptedPeer((version,))
    async with delegate_of(peer) as delegate:
        handle = await asked(delegate)
        request = DelegateRequest("work", context_id=handle.context_id)
        result = await delegate.dispatch(request)
    assert isinstance(result, Completed)
    first, second = peer.truth.tasks
    assert (first.state, second.state) == (WorkState.INPUT_REQUIRED, WorkState.COMPLETED)
    assert first.context_id == second.context_id
    assert not any("taskId" in message for message in sends(peer))


@pytest.mark.report("M1", "M6")
@VERSIONS
@pytest.mark.parametrize("state", [WorkState.INPUT_REQUIRED, WorkState.AUTH_REQUIRED])
async def test_a_peer_that_asks_again_and_again_gets_one_message_for_each_answer(
    version: str, state: WorkState
) -> None:
    peer = ScriptedPeer((version,))
    peer.script(Operation.SEND, *[changed(asking(version, f"q-{n}", state)) for n in range(5)])
    async with delegate_of(peer) as delegate:
        handle = await asked(delegate, "stuck")
        for number in range(1, 5):
            result = await delegate.dispatch(DelegateRequest(f"answer {number}", continues=handle))
            assert isinstance(result, InputRequired | AuthRequired)
            assert str(result.question) == f"question q-{number}"
            assert result.handle is not None
            handle = result.handle
        await anyio.sleep(3600)
    assert peer.truth.sends == 5
    assert len(peer.truth.tasks) == 1


@pytest.mark.report("M1")
@VERSIONS
@pytest.mark.parametrize("times", [1, 3])
async def test_the_question_that_was_just_answered_is_not_asked_again(
    version: str, times: int
) -> None:
    old = changed(asking(version, "q-1"))
    peer = ScriptedPeer((version,))
    peer.script(Operation.SEND, old, old)
    peer.script(Operation.GET, *[old] * times)
    async with delegate_of(peer) as delegate:
        handle = await asked(delegate, "slow 1")
        result = await delegate.dispatch(DelegateRequest("Rome", continues=handle))
    assert isinstance(result, Completed)
    assert peer.truth.sends == 2


@pytest.mark.report("M1")
@VERSIONS
async def test_a_peer_that_makes_a_new_task_of_an_answer_is_followed_there(version: str) -> None:
    # As fasta2a does, which does not look at the task that a message names.
    def orphan(task: Json) -> None:
        task.pop("artifacts", None)
        task["id"] = peer.truth.tasks[1].id
        task["status"] = {"state": state_word(version, WorkState.WORKING)}

    peer = ScriptedPeer((version,))
    async with delegate_of(peer, timeout=60) as delegate:
        handle = await asked(delegate)
        await delegate.dispatch("slow 10")
        peer.script(Operation.SEND, changed(orphan))
        result = await delegate.dispatch(DelegateRequest("Rome", continues=handle))
    assert isinstance(result, Completed)
    assert result.output == "result of slow 10"
    assert result.handle is not None
    assert result.handle.task_id == peer.truth.tasks[1].id
    assert peer.truth.sends == 3


@pytest.mark.report("L4", "L2")
@VERSIONS
async def test_an_answer_whose_reply_is_lost_is_looked_for_and_not_repeated(version: str) -> None:
    peer = ScriptedPeer((version,))
    async with delegate_of(peer) as delegate:
        handle = await asked(delegate)
        peer.script(Operation.SEND, DropAfterAccepting())
        result = await delegate.dispatch(DelegateRequest("Rome", continues=handle))
    assert isinstance(result, Completed)
    assert result.output == "result of Rome"
    assert peer.truth.sends == 2
    assert peer.truth.runs[sends(peer)[1]["messageId"]] == 1


@pytest.mark.report("L4", "L2")
@VERSIONS
@pytest.mark.parametrize("history", ["none", "another's"])
async def test_an_answer_that_no_history_shows_may_have_arrived(version: str, history: str) -> None:
    def forget(task: Json) -> None:
        task["history"] = [] if history == "none" else [agent_message(version, "hello")]

    peer = ScriptedPeer((version,))
    async with delegate_of(peer) as delegate:
        handle = await asked(delegate)
        peer.script(Operation.SEND, DropAfterAccepting())
        peer.always(Operation.GET, changed(forget))
        result = await delegate.dispatch(DelegateRequest("Rome", continues=handle))
    assert isinstance(result, Unknown)
    assert (result.effect, result.safe_to_retry) == (Effect.MAY_HAVE_RUN, False)
    assert peer.truth.sends == 2


@pytest.mark.report("L23", "R17")
@VERSIONS
async def test_an_answer_to_a_task_that_has_ended_is_rejected_and_runs_nothing(
    version: str,
) -> None:
    peer = ScriptedPeer((version,))
    async with delegate_of(peer) as delegate:
        handle = await asked(delegate)
        first = await delegate.dispatch(DelegateRequest("Rome", continues=handle))
        second = await delegate.dispatch(DelegateRequest("Rome", continues=handle))
    assert isinstance(first, Completed)
    assert isinstance(second, Rejected)
    assert isinstance(second.error, A2ARequestError)
    assert (second.effect, second.safe_to_retry) == (Effect.NOT_STARTED, True)
    assert peer.truth.runs[sends(peer)[2]["messageId"]] == 0
    assert len(peer.truth.tasks) == 1


@pytest.mark.report("L23")
@VERSIONS
@pytest.mark.parametrize("seconds", [30, 300])
async def test_a_task_that_works_is_asked_for_and_never_sent_to(version: str, seconds: int) -> None:
    peer = ScriptedPeer((version,))
    async with delegate_of(peer) as delegate:
        result = await delegate.dispatch(f"slow {seconds}")
        assert result.handle is not None
        await delegate.resume(result.handle)
    assert isinstance(result, Completed)
    assert (peer.truth.sends, sum(peer.truth.runs.values())) == (1, 1)


@pytest.mark.report("M2", "M3")
@VERSIONS
async def test_a_question_belongs_to_its_delegate_its_principal_and_its_origin(
    version: str,
) -> None:
    peer = ScriptedPeer((version,))
    async with delegate_of(peer) as delegate:
        handle = await asked(delegate)
        count = len(peer.truth.requests)
        strangers: list[tuple[DelegationHandle, type[Exception]]] = [
            (replace(handle, delegate_id="another"), UsageError),
            (replace(handle, tenant="another"), UsageError),
            (replace(handle, principal="another"), UsageError),
            (replace(handle, version="9.9"), UsageError),
            (replace(handle, endpoint="https://elsewhere.example/rpc"), UnsafeEndpointError),
            (replace(handle, endpoint="http://peer.example/rpc"), UnsafeEndpointError),
        ]
        for stranger, error in strangers:
            with pytest.raises(error):
                await delegate.dispatch(DelegateRequest("Rome", continues=stranger))
    assert len(peer.truth.requests) == count


# -- credentials that come another way -------------------------------------------------------------


@pytest.mark.report("M5")
@VERSIONS
@pytest.mark.parametrize("seconds", [3, 300])
async def test_a_task_that_waits_for_credentials_can_be_watched_on(
    version: str, seconds: int
) -> None:
    peer = ScriptedPeer((version,))
    async with delegate_of(peer, auth_required="wait") as delegate, anyio.create_task_group() as it:

        async def grant() -> None:
            await anyio.sleep(seconds)
            peer.finish(peer.truth.tasks[0].id, "working", "thank you")
            await anyio.sleep(5)
            peer.finish(peer.truth.tasks[0].id)

        it.start_soon(grant)
        result = await delegate.dispatch("auth")
    assert isinstance(result, Completed)
    assert peer.truth.sends == 1, "no credential is a message"


@pytest.mark.report("M5")
@VERSIONS
async def test_a_question_is_handed_over_also_where_credentials_are_waited_for(
    version: str,
) -> None:
    peer = ScriptedPeer((version,))
    async with delegate_of(peer, auth_required="wait") as delegate:
        assert isinstance(await delegate.dispatch("ask"), InputRequired)


@pytest.mark.report("M5", "M6")
@VERSIONS
async def test_credentials_that_never_come_are_waited_for_until_the_deadline(version: str) -> None:
    peer = ScriptedPeer((version,))
    async with delegate_of(peer, auth_required="wait", timeout=60) as delegate:
        began = anyio.current_time()
        result = await delegate.dispatch("auth")
        took = anyio.current_time() - began
    assert isinstance(result, TimedOut)
    assert (result.last_state, result.receipt) == ("auth-required", CancelReceipt.CONFIRMED)
    assert took <= 60 + 0.5 + 2 * 2.0
    assert peer.truth.tasks[0].state is WorkState.CANCELED


@pytest.mark.report("M5", "M6")
@VERSIONS
async def test_credentials_that_came_another_way_are_seen_by_who_looks_again(version: str) -> None:
    peer = ScriptedPeer((version,))
    async with delegate_of(peer) as delegate:
        handle = await asked(delegate, "auth")
        assert isinstance(await delegate.resume(handle), AuthRequired)
        peer.finish(peer.truth.tasks[0].id)
        result = await delegate.resume(handle)
    assert isinstance(result, Completed)
    assert (peer.truth.sends, peer.truth.cancels) == (1, 0)


# -- taken up again --------------------------------------------------------------------------------


@pytest.mark.report("O14", "L1")
@pytest.mark.parametrize("versions", [("1.0",), ("0.3", "1.0"), ("0.2", "1.0")], ids="+".join)
async def test_a_first_reply_that_was_lost_is_found_by_a_later_process(
    versions: tuple[str, ...],
) -> None:
    peer = ScriptedPeer(versions)
    peer.script(Operation.SEND, DropAfterAccepting())
    peer.always(Operation.LIST, Respond(503))
    async with delegate_of(peer) as delegate:
        lost = await delegate.dispatch("slow 60")
    assert isinstance(lost, Unknown)
    assert lost.handle is not None
    stored = lost.handle.to_json()
    peer.always(Operation.LIST, Honest())
    async with delegate_of(peer) as delegate:
        result = await delegate.resume(DelegationHandle.from_json(stored))
    assert isinstance(result, Completed)
    assert (peer.truth.sends, sum(peer.truth.runs.values())) == (1, 1)


@pytest.mark.report("O14", "L1")
@VERSIONS
async def test_a_first_reply_that_was_lost_stays_unknown_where_nobody_lists(version: str) -> None:
    peer = ScriptedPeer((version,), lists=False)
    peer.script(Operation.SEND, DropAfterAccepting())
    async with delegate_of(peer) as delegate:
        lost = await delegate.dispatch("work")
        assert lost.handle is not None
        again = await delegate.resume(lost.handle)
    assert isinstance(again, Unknown)
    assert again.effect is Effect.MAY_HAVE_RUN
    assert "cut" not in str(again), "nothing was cut: the peer cannot be asked"
    assert (peer.truth.sends, sum(peer.truth.runs.values())) == (1, 1)


FORGOTTEN = [
    RpcError(-32001, "Task not found"),
    RpcError(-32602, "task not found: x"),
    Respond(404, body="not found"),
]


@pytest.mark.report("L16")
@VERSIONS
@pytest.mark.parametrize("answer", FORGOTTEN, ids=repr)
@pytest.mark.parametrize("wait", [True, False])
async def test_a_handle_to_a_task_that_a_restart_has_lost_is_unknown_and_had_begun(
    version: str,
    answer: Behaviour,
    wait: bool,  # noqa: FBT001 - an example
) -> None:
    peer = ScriptedPeer((version,))
    async with delegate_of(peer) as delegate:
        handle = await asked(delegate)
        peer.always(Operation.GET, answer)
        result = await delegate.resume(handle, wait=wait)
    assert isinstance(result, Unknown)
    assert (result.effect, result.safe_to_retry) == (Effect.RAN, False)
    assert peer.truth.sends == 1


@pytest.mark.report("L16", "O14")
@VERSIONS
async def test_a_look_shows_what_goes_on_and_stops_nothing(version: str) -> None:
    peer = ScriptedPeer((version,))
    async with delegate_of(peer, timeout=None) as delegate, anyio.create_task_group() as group:
        handles: list[DelegationHandle] = []

        def note(signal: Any) -> None:
            handle = getattr(signal, "handle", None)
            if handle is not None:
                handles.append(handle)

        async def first() -> None:
            await delegate.dispatch("stuck", observer=note)

        group.start_soon(first)
        await anyio.sleep(5)
        handle = replace(handles[0], task_id=peer.truth.tasks[0].id)
        looked = await delegate.resume(handle, wait=False)
        assert isinstance(looked, Running)
        assert looked.last_state == "working"
        assert peer.truth.cancels == 0
        assert await delegate.cancel(handle) is CancelReceipt.CONFIRMED
    assert peer.truth.tasks[0].state is WorkState.CANCELED
    assert (peer.truth.sends, peer.truth.cancels) == (1, 1)
