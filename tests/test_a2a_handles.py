"""Handles: another delegate takes up and stops what they stand for; a stranger's are refused."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

import anyio
import httpx
import pytest

from a2a_delegate import (
    A2ADelegate,
    A2ADelegateConfig,
    Cancelled,
    CancelReceipt,
    CancelToken,
    Completed,
    DelegateRequest,
    DelegationHandle,
    Downgraded,
    Effect,
    InputRequired,
    Intent,
    Recovered,
    Rejected,
    Running,
    TimedOut,
    Unknown,
    UnsafeEndpointError,
    UsageError,
    open_delegation,
)
from a2a_delegate.testing import (
    Delay,
    DropAfterAccepting,
    DropBeforeReading,
    DropWhileReading,
    Honest,
    IgnoredCancel,
    Operation,
    RefusedCancel,
    Respond,
    Rewrite,
    RpcError,
    ScriptedPeer,
    WorkState,
)
from tests.faults.play import card_of
from tests.runtime.staging import Notes, delegate_to, requests_of

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

pytestmark = [pytest.mark.anyio, pytest.mark.virtual_time]

VERSIONS = pytest.mark.parametrize("versions", [("1.0",), ("0.3",), ("0.3", "1.0")], ids="+".join)


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


# -- resume ----------------------------------------------------------------------------------------


@pytest.mark.spec("HAND-1")
@VERSIONS
async def test_another_delegate_follows_the_task_to_its_end(versions: tuple[str, ...]) -> None:
    peer, notes = ScriptedPeer(versions), Notes()
    handle = await handle_of(peer, "slow 8")
    async with delegate_to(peer) as delegate:
        result = await delegate.resume(handle, observer=notes)
    assert isinstance(result, Completed)
    assert notes.of(Intent) == [Intent(handle)]
    assert notes.kinds[-1] == "Settled"
    assert peer.truth.sends == 1


@pytest.mark.spec("HAND-2")
@VERSIONS
async def test_at_its_deadline_the_task_is_stopped(versions: tuple[str, ...]) -> None:
    peer = ScriptedPeer(versions)
    handle = await handle_of(peer, "stuck")
    async with delegate_to(peer, timeout=10) as delegate:
        start = anyio.current_time()
        result = await delegate.resume(handle)
    assert isinstance(result, TimedOut)
    assert result.receipt is CancelReceipt.CONFIRMED
    assert anyio.current_time() - start < 11
    assert only_task(peer) is WorkState.CANCELED


@pytest.mark.spec("HAND-2")
async def test_a_cancelled_token_stops_the_task() -> None:
    peer, token, reason = ScriptedPeer(), CancelToken(), object()
    handle = await handle_of(peer, "stuck")
    async with delegate_to(peer) as delegate:
        token.cancel(reason)
        result = await delegate.resume(handle, cancel=token)
    assert isinstance(result, Cancelled)
    assert result.reason is reason
    assert only_task(peer) is WorkState.CANCELED


@pytest.mark.spec("HAND-2")
async def test_a_plain_cancellation_stops_the_task() -> None:
    peer = ScriptedPeer()
    handle = await handle_of(peer, "stuck")
    async with delegate_to(peer) as delegate:
        with anyio.CancelScope() as scope:
            async with anyio.create_task_group() as group:
                group.start_soon(delegate.resume, handle)
                await anyio.sleep(3)
                scope.cancel()
    assert only_task(peer) is WorkState.CANCELED


@pytest.mark.spec("HAND-5")
@VERSIONS
async def test_one_look_changes_nothing(versions: tuple[str, ...]) -> None:
    peer = ScriptedPeer(versions)
    handle = await handle_of(peer, "slow 20")
    async with delegate_to(peer) as delegate:
        before = len(peer.truth.requests)
        running = await delegate.resume(handle, wait=False)
        assert len(peer.truth.requests) == before + 1
        await anyio.sleep(20)
        completed = await delegate.resume(handle, wait=False)
    assert isinstance(running, Running)
    assert running.last_state == "working"
    assert running.effect is Effect.RAN
    assert isinstance(completed, Completed)


@pytest.mark.spec("HAND-5")
async def test_a_look_that_the_caller_gives_up_stops_nothing() -> None:
    peer = ScriptedPeer()
    handle = await handle_of(peer, "slow 20")
    peer.script(Operation.GET, Delay(30.0))
    async with delegate_to(peer) as delegate:
        with anyio.move_on_after(1):
            await delegate.resume(handle, wait=False)
    assert requests_of(peer, Operation.CANCEL)[-1].when < anyio.current_time() - 0.5
    assert only_task(peer) is WorkState.WORKING


@pytest.mark.spec("HAND-4")
async def test_an_unknown_outcome_is_looked_up_again() -> None:
    peer, notes = ScriptedPeer(), Notes()
    peer.script(Operation.SEND, DropAfterAccepting())
    peer.always(Operation.LIST, Respond(500))
    async with delegate_to(peer) as delegate:
        unknown = await delegate.dispatch("slow 60")
    assert isinstance(unknown, Unknown)
    assert unknown.handle is not None
    assert unknown.handle.task_id is None
    peer.always(Operation.LIST, Honest())
    async with delegate_to(peer) as delegate:
        result = await delegate.resume(unknown.handle, observer=notes)
    assert isinstance(result, Completed)
    assert len(notes.of(Recovered)) == 1
    assert max(peer.truth.runs.values()) == 1


@pytest.mark.spec("HAND-4")
async def test_an_unknown_outcome_over_0_3_is_looked_up_at_the_1_0_face() -> None:
    peer = ScriptedPeer(("0.3", "1.0"))
    peer.script(Operation.SEND, DropAfterAccepting())
    peer.always(Operation.LIST, Respond(500))
    async with delegate_to(peer) as delegate:
        unknown = await delegate.dispatch("slow 60")
        peer.always(Operation.LIST, Honest())
        assert isinstance(unknown, Unknown)
        assert unknown.handle is not None
        assert unknown.handle.version == "0.3"
        result = await delegate.resume(unknown.handle)
    assert isinstance(result, Completed)


@pytest.mark.spec("HAND-4")
async def test_an_unknown_outcome_that_no_list_can_find_stays_unknown() -> None:
    peer = ScriptedPeer(("0.3",))
    peer.script(Operation.SEND, DropAfterAccepting())
    async with delegate_to(peer) as delegate:
        unknown = await delegate.dispatch("work")
        assert unknown.handle is not None
        before = len(peer.truth.requests)
        again = await delegate.resume(unknown.handle)
        looked = await delegate.resume(unknown.handle, wait=False)
        receipt = await delegate.cancel(unknown.handle)
    assert isinstance(again, Unknown)
    assert isinstance(looked, Unknown)
    assert again.effect is Effect.MAY_HAVE_RUN
    assert receipt is CancelReceipt.UNREACHED
    assert len(peer.truth.requests) == before, "there is nothing to ask for"


# -- cancel ----------------------------------------------------------------------------------------


@pytest.mark.spec("HAND-3")
@VERSIONS
async def test_a_task_is_stopped_by_its_handle(versions: tuple[str, ...]) -> None:
    peer = ScriptedPeer(versions)
    handle = await handle_of(peer, "stuck")
    async with delegate_to(peer) as delegate:
        receipt = await delegate.cancel(handle, "no longer needed")
        again = await delegate.cancel(handle)
    assert receipt is CancelReceipt.CONFIRMED
    assert again is CancelReceipt.CONFIRMED
    assert only_task(peer) is WorkState.CANCELED


@pytest.mark.spec("HAND-3")
@pytest.mark.parametrize("prompt", ["work", "fail", "reject"])
async def test_a_task_that_ended_is_left_alone(prompt: str) -> None:
    peer = ScriptedPeer()
    async with delegate_to(peer) as delegate:
        handle = (await delegate.dispatch(prompt)).handle
        assert handle is not None
        assert await delegate.cancel(handle) is CancelReceipt.NOT_NEEDED
        # As it was kept before the first byte left.
        assert await delegate.cancel(replace(handle, task_id=None)) is CancelReceipt.NOT_NEEDED
    assert requests_of(peer, Operation.CANCEL) == []


@pytest.mark.spec("HAND-3")
@pytest.mark.parametrize(
    ("behaviour", "receipt"),
    [
        (RefusedCancel(), CancelReceipt.REFUSED),
        (IgnoredCancel(), CancelReceipt.REQUESTED),
        (Respond(500), CancelReceipt.UNREACHED),
    ],
)
async def test_the_receipt_says_what_came_of_it(behaviour: Any, receipt: CancelReceipt) -> None:
    peer = ScriptedPeer()
    handle = await handle_of(peer, "stuck")
    peer.always(Operation.CANCEL, behaviour)
    async with delegate_to(peer) as delegate:
        start = anyio.current_time()
        assert await delegate.cancel(handle) is receipt
        assert anyio.current_time() - start <= 4.5


# -- whose it is -----------------------------------------------------------------------------------


async def refuse_everything(
    delegate: A2ADelegate, handle: DelegationHandle, error: type[Exception], match: str
) -> None:
    with pytest.raises(error, match=match):
        await delegate.resume(handle)
    with pytest.raises(error, match=match):
        await delegate.resume(handle, wait=False)
    with pytest.raises(error, match=match):
        await delegate.cancel(handle)
    with pytest.raises(error, match=match):
        await delegate.dispatch(DelegateRequest("answer", continues=handle))


@pytest.mark.spec("HAND-6")
@pytest.mark.parametrize(
    ("fact", "match"),
    [
        ({"delegate_id": "somebody else"}, "somebody else"),
        ({"tenant": "another"}, "another tenant"),
        ({"version": "9.9"}, "no interface of A2A"),
        ({"binding": "CARRIER-PIGEON"}, "no interface of A2A"),
        ({"binding": "GRPC"}, "not spoken"),
    ],
)
async def test_the_handle_of_somebody_else_is_refused(fact: dict[str, Any], match: str) -> None:
    peer = ScriptedPeer()
    handle = await handle_of(peer, "stuck")
    before = len(peer.truth.requests)
    async with delegate_to(peer) as delegate:
        await refuse_everything(delegate, replace(handle, **fact), UsageError, match)
    assert len(peer.truth.requests) == before


@pytest.mark.spec("HAND-7")
@pytest.mark.parametrize(
    "endpoint",
    [
        "https://elsewhere.example/rpc",
        "http://peer.example/rpc",
        "https://peer.example:8443/rpc",
        "https://user@peer.example/rpc",
        "file:///etc/passwd",
        "not a url",
    ],
)
async def test_a_handle_to_an_origin_that_is_not_bound_is_refused(endpoint: str) -> None:
    peer = ScriptedPeer()
    handle = await handle_of(peer, "stuck")
    before = len(peer.truth.requests)
    async with delegate_to(peer) as delegate:
        stolen = replace(handle, endpoint=endpoint)
        await refuse_everything(delegate, stolen, UnsafeEndpointError, ".")
    assert len(peer.truth.requests) == before


@pytest.mark.spec("HAND-6")
async def test_what_is_no_handle_is_refused() -> None:
    peer = ScriptedPeer()
    handle: Any = json.loads((await handle_of(peer, "work 1")).to_json())
    async with delegate_to(peer) as delegate:
        with pytest.raises(UsageError, match="wait is True or False"):
            await delegate.resume(handle, wait="no")  # type: ignore[arg-type]
        with pytest.raises(UsageError, match="DelegationHandle"):
            await delegate.resume(handle)
        with pytest.raises(UsageError, match="DelegationHandle"):
            await delegate.cancel(handle)
    with pytest.raises(UsageError, match="DelegationHandle"):
        DelegateRequest("answer", continues=handle)


@pytest.mark.spec("HAND-6")
async def test_an_answer_goes_to_the_principal_of_its_question() -> None:
    peer = ScriptedPeer()
    async with delegate_to(peer) as delegate:
        asked = await delegate.dispatch(DelegateRequest("ask", principal="alice"))
        assert asked.handle is not None
        assert asked.handle.principal == "alice"
        for another in (None, "bob"):
            with pytest.raises(UsageError, match="another principal"):
                await delegate.dispatch(
                    DelegateRequest("this", continues=asked.handle, principal=another)
                )
        answered = await delegate.dispatch(
            DelegateRequest("this", continues=asked.handle, principal="alice")
        )
    assert isinstance(answered, Completed)


class Named(httpx.Auth):
    """Names the principal, as a token would."""

    def __init__(self, principal: str | None) -> None:
        self._principal = principal

    def auth_flow(self, request: httpx.Request) -> Any:
        request.headers["Authorization"] = f"Bearer of {self._principal}"
        yield request


@asynccontextmanager
async def delegate_for_principals(
    peer: ScriptedPeer, seen: list[str]
) -> AsyncGenerator[A2ADelegate, None]:
    async def take_down(request: httpx.Request) -> None:
        seen.append(request.headers["Authorization"])

    async with (
        httpx.AsyncClient(
            transport=peer.transport(), trust_env=False, event_hooks={"request": [take_down]}
        ) as client,
        A2ADelegate(
            "peer",
            card_of(peer.versions),
            client=client,
            auth=lambda principal, _: Named(principal),
            config=A2ADelegateConfig(),
        ) as delegate,
    ):
        yield delegate


@pytest.mark.spec("HAND-8")
async def test_every_request_for_a_handle_authenticates_as_its_principal() -> None:
    peer, seen = ScriptedPeer(), list[str]()
    async with delegate_for_principals(peer, seen) as delegate:
        asked = await delegate.dispatch(DelegateRequest("ask", principal="alice"))
        assert asked.handle is not None
        await delegate.resume(asked.handle, wait=False)
        await delegate.dispatch(DelegateRequest("2", continues=asked.handle, principal="alice"))
        await delegate.cancel(asked.handle)
    assert len(seen) >= 4
    assert set(seen) == {"Bearer of alice"}


# -- turns -----------------------------------------------------------------------------------------


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


@pytest.mark.spec("HAND-4")
async def test_a_handle_may_say_any_time() -> None:
    peer = ScriptedPeer()
    async with delegate_to(peer) as delegate:
        handle = (await delegate.dispatch("work")).handle
        assert handle is not None
        for moment in ("0001-01-01T00:00:00+00:00", "9999-12-31T23:59:59+00:00"):
            odd = replace(
                handle, sent_at=datetime.fromisoformat(moment), task_id=None, context_id=None
            )
            kept = DelegationHandle.from_json(odd.to_json())
            assert isinstance(await delegate.resume(kept, wait=False), Unknown | Completed)
            assert await delegate.cancel(kept) in set(CancelReceipt)


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
