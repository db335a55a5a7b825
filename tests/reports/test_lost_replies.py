"""Replies that never came or came cut: what is said, and how often the work ran."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio
import pytest

from a2a_delegate import (
    A2ARequestError,
    Completed,
    DelegateRequest,
    DelegationHandle,
    Effect,
    Failed,
    LostReplyError,
    Recovered,
    Unknown,
)
from a2a_delegate.testing import (
    DropAfterAccepting,
    DropBeforeReading,
    Hang,
    Loss,
    Operation,
    Refusal,
    RefuseConnection,
    Respond,
    Rewrite,
    RpcError,
    ScriptedPeer,
    WorkState,
    WrongId,
)
from tests.reports.staging import (
    VERSIONS,
    Notes,
    delegate_of,
    remade,
    requests_of,
    runs,
    sends,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from a2a_delegate import DelegateResult
    from a2a_delegate.testing import Behaviour
    from tests.reports.staging import Json

pytestmark = [pytest.mark.anyio, pytest.mark.virtual_time]

LOST = [
    *(pytest.param(DropAfterAccepting(loss=loss), id=loss.name) for loss in Loss),
    pytest.param(DropAfterAccepting(headers_sent=True), id="after the head"),
    pytest.param(DropAfterAccepting(9), id="after a few bytes"),
]
"""The work has begun, and no reply shows its id."""

UNCLEAR = [
    *(
        pytest.param(RpcError(code, "could not find", accepts=True), id=str(code))
        for code in (-32603, -32602, -32600, -32000, -32001, -32004, -32006, 13)
    ),
    *(
        pytest.param(Respond(status, body="sorry", accepts=True), id=str(status))
        for status in (400, 403, 404, 409, 422, 500, 502, 503, 504)
    ),
]
"""Errors that agent code or a proxy can give after the effect."""


# -- one intent, at most one run -------------------------------------------------------------------


@pytest.mark.report("L1")
@VERSIONS
@pytest.mark.parametrize("loss", LOST)
async def test_a_first_reply_that_is_lost_is_unknown_and_never_sent_again(
    version: str, loss: DropAfterAccepting
) -> None:
    peer = ScriptedPeer((version,), lists=False)
    peer.script(Operation.SEND, loss)
    async with delegate_of(peer) as delegate:
        result = await delegate.dispatch("work")
    assert isinstance(result, Unknown)
    assert isinstance(result.cause, LostReplyError)
    assert (result.effect, result.safe_to_retry) == (Effect.MAY_HAVE_RUN, False)
    assert (peer.truth.sends, runs(peer)) == (1, 1)
    # What the reporter had lost: everything that a later process needs to look again.
    assert result.handle is not None
    assert result.handle.message_id == sends(peer)[0]["messageId"]
    assert DelegationHandle.from_json(result.handle.to_json()) == result.handle


@pytest.mark.report("L1", "L2")
@pytest.mark.parametrize("versions", [("1.0",), ("0.3", "1.0")], ids="+".join)
@pytest.mark.parametrize("loss", LOST)
async def test_a_first_reply_that_is_lost_is_found_where_tasks_are_listed(
    versions: tuple[str, ...], loss: DropAfterAccepting
) -> None:
    peer, notes = ScriptedPeer(versions), Notes()
    peer.script(Operation.SEND, loss)
    async with delegate_of(peer) as delegate:
        result = await delegate.dispatch("slow 4", observer=notes)
    assert isinstance(result, Completed)
    assert result.output == "result of slow 4"
    assert notes.of(Recovered) == [Recovered(peer.truth.tasks[0].id)]
    assert (peer.truth.sends, runs(peer)) == (1, 1)


def listing(change: Callable[[list[Json]], Any]) -> Rewrite:
    """Give the honest list of tasks, changed in place or replaced."""

    def rewrite(reply: Json) -> Json:
        tasks = reply["result"]["tasks"]
        replaced = change(tasks)
        reply["result"]["tasks"] = tasks if replaced is None else replaced
        return reply

    return Rewrite(rewrite)


def _of_another_message(tasks: list[Json]) -> None:
    for task in tasks:
        for message in task["history"]:
            message["messageId"] = "another"


NO_PROOF: dict[str, Behaviour] = {
    "no history": listing(lambda tasks: [{**task, "history": []} for task in tasks]),
    "another message": listing(_of_another_message),
    "another context": listing(lambda tasks: [{**task, "contextId": "c"} for task in tasks]),
    "two tasks": listing(lambda tasks: [*tasks, *({**task, "id": "two"} for task in tasks)]),
    "no id": listing(lambda tasks: [{**task, "id": None} for task in tasks]),
    "nothing": listing(lambda _: []),
    "junk": listing(lambda _: [None, 5, "x", {}, {"id": "x"}]),
    "no list": Rewrite(lambda reply: {**reply, "result": {}}),
    "null": Rewrite(lambda reply: {**reply, "result": None}),
    "another's reply": WrongId(),
    "no page": Respond(200, body="<html>"),
    "refused": RpcError(-32004, "not supported"),
    "unknown": RpcError(-32601, "Method not found"),
    "broken": Respond(500),
    "silent": Hang(),
}


@pytest.mark.report("L1", "L2")
@pytest.mark.parametrize("answer", NO_PROOF.values(), ids=NO_PROOF)
async def test_no_task_is_taken_for_ours_without_proof(answer: Behaviour) -> None:
    peer = ScriptedPeer()
    peer.always(Operation.LIST, answer)
    async with delegate_of(peer) as delegate:
        await delegate.dispatch("of somebody else")
        peer.script(Operation.SEND, DropAfterAccepting())
        began = anyio.current_time()
        result = await delegate.dispatch("slow 60")
        assert anyio.current_time() - began <= 5 + 0.1, "the bound of looking up"
    assert isinstance(result, Unknown)
    assert (result.effect, result.safe_to_retry) == (Effect.MAY_HAVE_RUN, False)
    assert peer.truth.sends == 2
    assert peer.truth.cancels == 0, "and nobody's task is touched"


@pytest.mark.report("L2")
@VERSIONS
@pytest.mark.parametrize("recognises", [True, False])
@pytest.mark.parametrize("lists", [True, False])
async def test_a_peer_that_might_recognise_a_repeat_is_not_tried_out(
    version: str,
    recognises: bool,  # noqa: FBT001 - an example
    lists: bool,  # noqa: FBT001 - an example
) -> None:
    peer = ScriptedPeer((version,), recognises_repeats=recognises, lists=lists)
    peer.script(Operation.SEND, DropAfterAccepting())
    async with delegate_of(peer) as delegate:
        await delegate.dispatch("work")
    assert (peer.truth.sends, runs(peer)) == (1, 1)


@pytest.mark.report("L2", "L3")
@VERSIONS
@pytest.mark.parametrize(
    "refusal",
    [
        *(RefuseConnection(phase) for phase in Refusal),
        DropBeforeReading(),
        Respond(429, {"retry-after": "2"}),
    ],
    ids=repr,
)
async def test_a_repeat_after_proof_is_the_same_message(version: str, refusal: Behaviour) -> None:
    peer = ScriptedPeer((version,))
    peer.script(Operation.SEND, refusal, refusal)
    async with delegate_of(peer) as delegate:
        result = await delegate.dispatch("work")
    assert isinstance(result, Completed)
    requests = requests_of(peer, Operation.SEND)
    assert len(requests) == 3
    assert len({one["messageId"] for one in sends(peer)}) == 1
    assert runs(peer) == 1


@pytest.mark.report("L2", "L3", "R16")
@VERSIONS
async def test_two_dispatches_of_one_request_are_two_intents(version: str) -> None:
    peer, request = ScriptedPeer((version,)), DelegateRequest("work")
    async with delegate_of(peer) as delegate:
        await delegate.dispatch(request)
        await delegate.dispatch(request)
    assert len({one["messageId"] for one in sends(peer)}) == 2
    assert runs(peer) == 2


@pytest.mark.report("L20", "L21", "P38")
@VERSIONS
@pytest.mark.parametrize("refusal", UNCLEAR)
async def test_an_error_after_the_effect_is_looked_into_and_never_answered_with_another_post(
    version: str, refusal: Behaviour
) -> None:
    peer = ScriptedPeer((version,))
    peer.script(Operation.SEND, refusal)
    async with delegate_of(peer) as delegate:
        result = await delegate.dispatch("work")
    if version == "1.0":
        assert isinstance(result, Completed)
        assert result.output == "result of work"
    else:
        assert isinstance(result, Failed)
        assert isinstance(result.error, A2ARequestError)
        assert result.effect is Effect.MAY_HAVE_RUN
    assert (peer.truth.sends, runs(peer)) == (1, 1)
    posts = [one for one in peer.truth.requests if one.method == "POST"]
    assert {one.url for one in posts} == {peer.url}
    assert {one.operation for one in posts} <= {Operation.SEND, Operation.LIST, Operation.GET}


ODD = {
    "artifactUpdate": lambda task: {"artifactUpdate": {"taskId": task["id"], "artifact": {}}},
    "statusUpdate": lambda task: {"statusUpdate": {**task, "taskId": task["id"]}},
    "artifact-update": lambda task: {"kind": "artifact-update", "taskId": task["id"]},
    "status-update": lambda task: {"kind": "status-update", "taskId": task["id"], "final": True},
    "task without status": lambda task: {"task": {"id": task["id"]}},
    "status null": lambda task: {**task, "status": None},
    "status a word": lambda task: {**task, "status": "completed"},
    "task and message": lambda task: {"task": task, "message": {"messageId": "m", "parts": []}},
}


@pytest.mark.report("L22")
@VERSIONS
@pytest.mark.parametrize("make", ODD.values(), ids=ODD)
async def test_a_reply_in_an_odd_wrapper_is_followed_and_not_sent_anew(
    version: str, make: Callable[[Json], Any]
) -> None:
    peer = ScriptedPeer((version,), lists=False)
    peer.script(Operation.SEND, remade(make))
    async with delegate_of(peer) as delegate:
        result = await delegate.dispatch("work")
    assert isinstance(result, Completed)
    assert result.output == "result of work"
    assert (peer.truth.sends, runs(peer)) == (1, 1)


# -- many at once ----------------------------------------------------------------------------------


@pytest.mark.report("L26", "O11")
@VERSIONS
async def test_one_peer_that_never_answers_takes_nothing_from_the_others(version: str) -> None:
    prompts = ["work", "stuck", "slow 2"]
    peers = [ScriptedPeer((version,), name=prompt) for prompt in prompts]
    results: dict[str, DelegateResult] = {}

    async def delegate_one(peer: ScriptedPeer) -> None:
        async with delegate_of(peer, timeout=5) as delegate:
            results[peer.name] = await delegate.dispatch(peer.name)

    async with anyio.create_task_group() as group:
        for peer in peers:
            group.start_soon(delegate_one, peer)
    outcomes = [results[prompt] for prompt in prompts]
    assert [one.status for one in outcomes] == ["completed", "timed-out", "completed"]
    assert peers[1].truth.tasks[0].state is WorkState.CANCELED
