"""What a look at a task can come to, and what ends the watch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import pytest

from a2a_delegate import (
    A2ARequestError,
    CancelReceipt,
    Completed,
    Effect,
    Failed,
    LostReplyError,
    PeerUnreachableError,
    TimedOut,
    Unknown,
)
from a2a_delegate.testing import (
    Delay,
    DropAfterAccepting,
    Hang,
    Loss,
    Operation,
    Refusal,
    RefuseConnection,
    Respond,
    RpcError,
    ScriptedPeer,
    WorkState,
)
from tests.reports.staging import (
    VERSIONS,
    Renewing,
    changed,
    delegate_of,
    requests_of,
    runs,
    sends,
    state_word,
    text_part,
)

if TYPE_CHECKING:
    from a2a_delegate.testing import Behaviour
    from tests.reports.staging import Json

pytestmark = [pytest.mark.anyio, pytest.mark.virtual_time]


REFUSED = Respond(401, {"www-authenticate": 'Bearer error="invalid_token"'})


@pytest.mark.report("L13")
@VERSIONS
@pytest.mark.parametrize("times", [1, 2])
async def test_a_token_that_lapses_for_a_moment_ends_no_watch(version: str, times: int) -> None:
    peer = ScriptedPeer((version,))
    peer.script(Operation.GET, *[REFUSED] * times)
    async with delegate_of(peer) as delegate:
        result = await delegate.dispatch("slow 20")
    assert isinstance(result, Completed)


@pytest.mark.report("L13")
@VERSIONS
@pytest.mark.parametrize("refusal", [REFUSED, Respond(401), Respond(403)], ids=repr)
async def test_a_token_that_has_lapsed_for_good_leaves_the_effect_and_says_so(
    version: str, refusal: Respond
) -> None:
    peer = ScriptedPeer((version,))
    peer.always(Operation.GET, refusal)
    async with delegate_of(peer) as delegate:
        result = await delegate.dispatch("slow 200")
    assert isinstance(result, Unknown)
    assert isinstance(result.cause, A2ARequestError)
    assert (result.cause.status, result.effect) == (refusal.status, Effect.RAN)
    assert result.handle is not None
    assert result.handle.task_id == peer.truth.tasks[0].id


@pytest.mark.report("L13")
@VERSIONS
async def test_a_token_is_renewed_by_the_callers_own_authentication(version: str) -> None:
    peer, auth = ScriptedPeer((version,)), Renewing()
    async with delegate_of(peer, auth=auth) as delegate:
        peer.script(Operation.GET, REFUSED, Delay(0), REFUSED)
        result = await delegate.dispatch("slow 20")
    assert isinstance(result, Completed)
    tokens = [one.headers["authorization"] for one in requests_of(peer, Operation.GET)]
    assert tokens[:4] == ["Bearer 0", "Bearer 1", "Bearer 1", "Bearer 2"]


@pytest.mark.report("L13")
@VERSIONS
async def test_a_send_that_was_refused_for_its_token_runs_once_with_the_next_one(
    version: str,
) -> None:
    peer = ScriptedPeer((version,))
    async with delegate_of(peer, auth=Renewing()) as delegate:
        peer.script(Operation.SEND, REFUSED)
        result = await delegate.dispatch("work")
    assert isinstance(result, Completed)
    assert len({one["messageId"] for one in sends(peer)}) == 1
    assert (peer.truth.sends, runs(peer)) == (2, 1)


GONE = [
    RpcError(-32001, "Task not found"),
    RpcError(-32001, "unknown", status=404),
    RpcError(-32602, "task not found: x"),
    RpcError(-32602, "Task x was not found", status=400),
    RpcError(-32602, "unknown task x"),
    RpcError(-32602, "The task does not exist"),
    RpcError(-32601, "Method not found"),
    Respond(404, body="not found"),
]


@pytest.mark.report("L16")
@VERSIONS
@pytest.mark.parametrize("answer", GONE, ids=repr)
async def test_a_task_that_a_restart_has_lost_is_unknown_and_had_begun(
    version: str, answer: Behaviour
) -> None:
    peer = ScriptedPeer((version,))
    peer.always(Operation.GET, answer)
    async with delegate_of(peer) as delegate:
        began = anyio.current_time()
        result = await delegate.dispatch("slow 500")
        took = anyio.current_time() - began
    assert isinstance(result, Unknown)
    assert isinstance(result.cause, A2ARequestError)
    assert (result.effect, result.safe_to_retry) == (Effect.RAN, False)
    assert len(requests_of(peer, Operation.GET)) >= 3
    assert took < 30


@pytest.mark.report("L16")
@VERSIONS
@pytest.mark.parametrize("answer", GONE[:-2], ids=repr)
async def test_a_task_that_is_missed_for_a_moment_is_not_given_up(
    version: str, answer: Behaviour
) -> None:
    peer = ScriptedPeer((version,))
    peer.script(Operation.GET, answer, answer)
    async with delegate_of(peer) as delegate:
        result = await delegate.dispatch("slow 5")
    assert isinstance(result, Completed)


@pytest.mark.report("L18", "L19", "R27")
@VERSIONS
@pytest.mark.parametrize("word", ["working", "submitted", "stalled"])
@pytest.mark.parametrize("limit", [3, 500])
async def test_a_task_that_never_ends_times_out_with_what_it_had_made(
    version: str, word: str, limit: float
) -> None:
    def stall(task: Json) -> None:
        spelled = state_word(version, WorkState(word)) if word != "stalled" else word
        task["status"] = {"state": spelled}
        task["artifacts"] = [{"artifactId": "a", "parts": [text_part(version, "half")]}]

    peer = ScriptedPeer((version,))
    peer.always(Operation.GET, changed(stall))
    async with delegate_of(peer, timeout=limit) as delegate:
        result = await delegate.dispatch("stuck")
    assert isinstance(result, TimedOut)
    assert (result.last_state, result.effect) == (word, Effect.RAN)
    assert [one.artifact_id for one in result.artifacts] == ["a"]
    assert result.receipt is CancelReceipt.CONFIRMED
    assert peer.truth.tasks[0].state is WorkState.CANCELED


@pytest.mark.report("L25", "P28")
@VERSIONS
@pytest.mark.parametrize(
    "trouble",
    [
        *(DropAfterAccepting(loss=loss) for loss in Loss),
        *(RefuseConnection(phase) for phase in Refusal),
        DropAfterAccepting(20),
        Respond(500),
        Respond(502),
        Respond(503, {"retry-after": "1"}),
        Respond(200),
        Hang(),
    ],
    ids=repr,
)
async def test_a_get_that_fails_is_asked_again(version: str, trouble: Behaviour) -> None:
    peer = ScriptedPeer((version,))
    peer.script(Operation.GET, *[trouble] * 5)
    async with delegate_of(peer) as delegate:
        result = await delegate.dispatch("slow 2")
    assert isinstance(result, Completed)
    assert peer.truth.sends == 1


@pytest.mark.report("P28")
@VERSIONS
@pytest.mark.parametrize("phase", Refusal)
async def test_what_never_left_is_told_from_what_may_have_run(version: str, phase: Refusal) -> None:
    peer = ScriptedPeer((version,), lists=False)
    async with delegate_of(peer) as delegate:
        peer.script(Operation.SEND, *[RefuseConnection(phase)] * 3)
        refused = await delegate.dispatch("work")
        peer.script(Operation.SEND, *(DropAfterAccepting(loss=loss) for loss in Loss))
        dropped = [await delegate.dispatch("work") for _ in Loss]
    assert isinstance(refused, Failed)
    assert isinstance(refused.error, PeerUnreachableError)
    assert (refused.effect, refused.handle) == (Effect.NOT_STARTED, None)
    for result in dropped:
        assert isinstance(result, Unknown)
        assert isinstance(result.cause, LostReplyError)
        assert result.effect is Effect.MAY_HAVE_RUN
