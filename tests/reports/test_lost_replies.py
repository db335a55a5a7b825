"""Replies that never came, came late or came cut: what is said, and how often the work ran."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio
import httpx
import pytest

from a2a_delegate import (
    A2ARequestError,
    CancelReceipt,
    Completed,
    DelegateRequest,
    DelegationHandle,
    Effect,
    Failed,
    LostReplyError,
    PeerUnreachableError,
    Recovered,
    TimedOut,
    Unknown,
    fetch_agent_card,
)
from a2a_delegate.testing import (
    Delay,
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
    ORIGIN,
    VERSIONS,
    Notes,
    changed,
    delegate_of,
    remade,
    requests_of,
    sends,
    state_word,
    text_part,
)

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from a2a_delegate import DelegateResult
    from a2a_delegate.testing import Behaviour
    from tests.reports.staging import Json

pytestmark = [pytest.mark.anyio, pytest.mark.virtual_time]

BOUND = 0.5 + 2 * 2.0
"""Seconds that cleaning up may take: `recovery_grace` and twice `cancel_grace`."""

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


def runs(peer: ScriptedPeer) -> int:
    """Return how often the peer ran anything."""
    return sum(peer.truth.runs.values())


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


# -- long replies, and limits that are kept --------------------------------------------------------


@pytest.mark.report("L5")
@VERSIONS
async def test_an_immediate_return_is_asked_for_and_its_task_is_polled(version: str) -> None:
    peer = ScriptedPeer((version,))
    async with delegate_of(peer) as delegate:
        result = await delegate.dispatch("slow 30")
    assert isinstance(result, Completed)
    (request,) = requests_of(peer, Operation.SEND)
    body: Any = request.body
    configuration = body["params"]["configuration"]
    asked = configuration == {"returnImmediately": True}
    assert asked if version == "1.0" else configuration["blocking"] is False
    assert requests_of(peer, Operation.GET)


@pytest.mark.report("L5", "L8", "L9", "L14")
@VERSIONS
@pytest.mark.parametrize("seconds", [6, 7, 61, 500])
@pytest.mark.parametrize("patience", [0.5, 5.0], ids="client of {} s".format)
async def test_a_peer_that_holds_the_send_open_is_waited_for(
    version: str, seconds: float, patience: float
) -> None:
    def complete(task: Json) -> None:
        task["status"] = {"state": state_word(version, WorkState.COMPLETED)}
        task["artifacts"] = [{"artifactId": "a", "parts": [text_part(version, "done")]}]

    peer = ScriptedPeer((version,))
    peer.script(Operation.SEND, Delay(seconds, changed(complete)))
    # The client's own limit is httpx's idea of a web page, and no word about an agent's work.
    async with delegate_of(peer, client={"timeout": patience}) as delegate:
        began = anyio.current_time()
        result = await delegate.dispatch(f"slow {seconds}")
    assert isinstance(result, Completed)
    assert result.output == "done"
    assert anyio.current_time() - began == pytest.approx(seconds)
    assert (peer.truth.sends, runs(peer)) == (1, 1)


@pytest.mark.report("L8", "L9", "L10")
@VERSIONS
@pytest.mark.parametrize("limit", [0.5, 3, 61, 1000])
@pytest.mark.parametrize("operation", [Operation.SEND, Operation.GET, Operation.CANCEL])
async def test_each_call_has_a_deadline_of_its_own(
    version: str, limit: float, operation: Operation
) -> None:
    peer = ScriptedPeer((version,), lists=False)
    peer.always(operation, Hang())
    async with delegate_of(peer, timeout=5) as delegate:
        began = anyio.current_time()
        result = await delegate.dispatch(DelegateRequest("stuck", timeout=limit))
        took = anyio.current_time() - began
    assert isinstance(result, Unknown | TimedOut)
    assert limit - 0.001 <= took <= limit + BOUND
    assert peer.truth.open == 0


@pytest.mark.report("L6", "P28")
@VERSIONS
async def test_silence_is_told_from_an_error_of_the_peer(version: str) -> None:
    peer = ScriptedPeer((version,), lists=False)
    peer.script(Operation.SEND, Hang(), Respond(503, body="busy", accepts=True))
    async with delegate_of(peer, timeout=3) as delegate:
        silent = await delegate.dispatch("work")
        refused = await delegate.dispatch("work")
    assert isinstance(silent, Unknown)
    assert isinstance(silent.cause, LostReplyError)
    assert [one.http_status for one in silent.attempts if one.operation == "send"] == [None]
    assert "503" not in silent.explain()
    assert isinstance(refused, Failed)
    assert isinstance(refused.error, A2ARequestError)
    assert (refused.error.status, refused.error.message) == (503, "busy")


@pytest.mark.report("L11")
@VERSIONS
async def test_one_deadline_covers_every_step_however_slow(version: str) -> None:
    peer = ScriptedPeer((version,))
    for operation in (Operation.SEND, Operation.GET):
        peer.always(operation, Delay(25))
    async with delegate_of(peer) as delegate:
        began = anyio.current_time()
        slow = await delegate.dispatch(DelegateRequest("slow 60", timeout=120))
        late = await delegate.dispatch(DelegateRequest("slow 60", timeout=40))
    assert isinstance(slow, Completed)
    assert isinstance(late, TimedOut)
    assert late.receipt is CancelReceipt.CONFIRMED
    assert anyio.current_time() - began <= 120 + 40 + BOUND


@pytest.mark.report("L11")
@pytest.mark.parametrize(("seconds", "limit"), [(25, 30), (61, 90)])
async def test_the_search_for_a_card_has_its_own_limit_and_keeps_to_it(
    seconds: float, limit: float
) -> None:
    peer = ScriptedPeer()
    async with peer.client() as client:
        peer.script(Operation.CARD, Delay(seconds))
        card = await fetch_agent_card(ORIGIN, client=client, timeout=limit)
        assert card.name == peer.name
        peer.script(Operation.CARD, Hang())
        began = anyio.current_time()
        with pytest.raises(PeerUnreachableError) as caught:
            await fetch_agent_card(ORIGIN, client=client, timeout=limit)
        assert anyio.current_time() - began == pytest.approx(limit, abs=0.5)
    assert caught.value.phase == "card"


@pytest.mark.report("L12")
@VERSIONS
@pytest.mark.parametrize("deaf", [False, True])
async def test_a_hanging_get_takes_no_more_than_what_is_left(
    version: str,
    deaf: bool,  # noqa: FBT001 - an example
) -> None:
    peer = ScriptedPeer((version,))
    peer.always(Operation.GET, Hang(deaf=deaf))
    async with delegate_of(peer, timeout=2) as delegate:
        began = anyio.current_time()
        result = await delegate.dispatch("stuck")
        took = anyio.current_time() - began
        peer.release()
    assert isinstance(result, TimedOut)
    assert result.receipt is CancelReceipt.CONFIRMED
    assert took <= 2 + BOUND
    assert peer.truth.tasks[0].state is WorkState.CANCELED


# -- what a get can come to ------------------------------------------------------------------------


class Renewing(httpx.Auth):
    """A bearer token that is made anew when the peer refuses the old one."""

    def __init__(self) -> None:
        self.made = 0

    async def async_auth_flow(
        self, request: httpx.Request
    ) -> AsyncGenerator[httpx.Request, httpx.Response]:
        request.headers["authorization"] = f"Bearer {self.made}"
        response = yield request
        if response.status_code == httpx.codes.UNAUTHORIZED:
            self.made += 1
            request.headers["authorization"] = f"Bearer {self.made}"
            yield request


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
