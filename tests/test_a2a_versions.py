"""Which version is spoken, and where context ids of ours go: learnt once, kept for later."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio
import pytest

from a2a_delegate import (
    A2ADelegate,
    CancelToken,
    Completed,
    ContextSubstituted,
    DelegateRequest,
    Downgraded,
    Effect,
    Failed,
    Recovered,
    Rejected,
    Unknown,
    fetch_agent_card,
    open_delegation,
)
from a2a_delegate.testing import (
    DropAfterAccepting,
    Operation,
    Respond,
    Rewrite,
    RpcError,
    ScriptedPeer,
)
from tests.runtime.staging import Notes, delegate_over, delegate_to, requests_of

if TYPE_CHECKING:
    from a2a_delegate import DelegateResult

pytestmark = [pytest.mark.anyio, pytest.mark.virtual_time]

BOTH = ("1.0", "0.3")


def message_of(peer: ScriptedPeer, place: int = -1) -> dict[str, Any]:
    """Return the message of a send, as it stood on the wire."""
    body: Any = requests_of(peer, Operation.SEND)[place].body
    message: dict[str, Any] = body["params"]["message"]
    return message


# -- context ids -----------------------------------------------------------------------------------


@pytest.mark.spec("DLG-5")
async def test_a_message_has_a_fresh_id_and_a_fresh_context_each_time() -> None:
    peer = ScriptedPeer()
    request = DelegateRequest("work")
    async with delegate_to(peer) as delegate:
        for _ in range(2):
            await delegate.dispatch(request)
    ids = [message_of(peer, place)[name] for place in (0, 1) for name in ("messageId", "contextId")]
    assert len(set(ids)) == 4


@pytest.mark.spec("DLG-5")
@pytest.mark.parametrize(
    ("versions", "wanted", "own", "sent"),
    [
        (("1.0",), True, None, "ours"),
        (("1.0",), False, None, None),
        (("1.0",), True, "theirs", "theirs"),
        (("1.0",), False, "theirs", "theirs"),
        (("0.3",), True, None, None),
        (("0.3",), True, "theirs", "theirs"),
        (("0.3", "1.0"), True, None, None),
        (("0.2",), True, None, None),
        (("0.2",), True, "theirs", "theirs"),
    ],
)
async def test_a_context_id_of_ours_goes_where_tasks_are_listed_by_it(
    versions: tuple[str, ...],
    wanted: bool,  # noqa: FBT001 - an example
    own: str | None,
    sent: str | None,
) -> None:
    peer = ScriptedPeer(versions)
    async with delegate_to(peer, client_context_ids=wanted) as delegate:
        result = await delegate.dispatch(DelegateRequest("work", context_id=own))
    context = message_of(peer).get("contextId")
    assert result.handle is not None
    if sent == "ours":
        assert context == result.handle.context_id
    else:
        assert context == sent
    assert result.handle.context_id == peer.truth.tasks[0].context_id


@pytest.mark.spec("DLG-5")
@pytest.mark.parametrize("code", [-32700, -32601])
async def test_a_context_that_is_refused_before_the_work_is_left_out_once(code: int) -> None:
    peer = ScriptedPeer()
    peer.script(Operation.SEND, RpcError(code, "this contextId is not accepted"))
    async with delegate_to(peer) as delegate:
        result = await delegate.dispatch("work")
    assert isinstance(result, Completed)
    first, second = message_of(peer, 0), message_of(peer, 1)
    assert "contextId" in first
    assert "contextId" not in second
    assert first["messageId"] == second["messageId"]
    assert result.handle is not None
    assert result.handle.context_id == peer.truth.tasks[0].context_id


@pytest.mark.spec("DLG-5")
async def test_a_context_that_is_refused_twice_is_refused() -> None:
    peer = ScriptedPeer()
    peer.always(Operation.SEND, RpcError(-32700, "this contextId is not accepted"))
    async with delegate_to(peer) as delegate:
        result = await delegate.dispatch("work")
    assert isinstance(result, Rejected)
    assert len(requests_of(peer, Operation.SEND)) == 2


@pytest.mark.spec("DLG-5", "RUN-2")
async def test_a_context_that_agent_code_may_have_refused_is_not_sent_again() -> None:
    peer = ScriptedPeer(refuses_context_ids=True)
    async with delegate_to(peer, poll_interval=0.1) as delegate:
        result = await delegate.dispatch("work")
    assert isinstance(result, Failed)
    assert result.effect is Effect.MAY_HAVE_RUN
    assert peer.truth.sends == 1


@pytest.mark.spec("DLG-5")
async def test_a_context_of_the_callers_own_is_never_left_out() -> None:
    peer = ScriptedPeer()
    peer.script(Operation.SEND, RpcError(-32700, "this contextId is not accepted"))
    async with delegate_to(peer) as delegate:
        result = await delegate.dispatch(DelegateRequest("work", context_id="mine"))
    assert isinstance(result, Rejected)
    assert peer.truth.sends == 1


@pytest.mark.spec("DLG-6")
async def test_a_substituted_context_is_not_looked_up_by_any_more() -> None:
    peer, notes = ScriptedPeer(keeps_context_ids=False), Notes()
    async with delegate_to(peer) as delegate:
        first = await delegate.dispatch("work", observer=notes)
        peer.script(Operation.SEND, DropAfterAccepting())
        second = await delegate.dispatch("more", observer=notes)
    assert isinstance(first, Completed)
    (told,) = notes.of(ContextSubstituted)[:1]
    assert (told.ours, told.theirs) == (
        message_of(peer, 0)["contextId"],
        peer.truth.tasks[0].context_id,
    )
    # Found by the time of the send and our message id, whatever its context.
    assert isinstance(second, Unknown | Completed)
    (listed,) = requests_of(peer, Operation.LIST)[:1]
    params: Any = listed.body
    assert "contextId" not in params["params"]


@pytest.mark.spec("DLG-6")
async def test_a_kept_context_is_looked_up_by() -> None:
    peer, notes = ScriptedPeer(), Notes()
    peer.script(Operation.SEND, DropAfterAccepting())
    async with delegate_to(peer) as delegate:
        result = await delegate.dispatch("work", observer=notes)
    assert isinstance(result, Completed)
    assert notes.of(Recovered) == [Recovered(peer.truth.tasks[0].id)]
    (listed,) = requests_of(peer, Operation.LIST)
    params: Any = listed.body
    assert params["params"]["contextId"] == message_of(peer)["contextId"]


# -- downgrades ------------------------------------------------------------------------------------

_REFUSALS = [
    RpcError(-32009, "version not supported"),
    RpcError(-32601, "Method not found"),
    RpcError(-32600, "A2A version 1.0 is not supported"),
]


@pytest.mark.spec("DLG-3")
async def test_a_delegation_has_the_handle_of_the_version_that_is_spoken() -> None:
    peer = ScriptedPeer(BOTH)
    peer.script(Operation.SEND, RpcError(-32009, "no"))
    async with (
        delegate_to(peer, allow_downgrade=True) as delegate,
        open_delegation(delegate, "stuck") as delegation,
    ):
        async for update in delegation:
            assert delegation.handle is not None
            assert delegation.handle.version == "0.3"
            assert delegation.handle.task_id == update.task_id
            break


@pytest.mark.spec("DLG-3")
@pytest.mark.parametrize("refusal", _REFUSALS, ids=lambda one: str(one.code))
async def test_a_downgrade_is_made_where_it_is_allowed_and_is_kept(refusal: RpcError) -> None:
    peer, notes = ScriptedPeer(BOTH), Notes()
    peer.script(Operation.SEND, refusal)
    async with delegate_to(peer, allow_downgrade=True) as delegate:
        first = await delegate.dispatch("work", observer=notes)
        second = await delegate.dispatch("work", observer=notes)
        assert "A2A 0.3" in repr(delegate)
    for result in (first, second):
        assert isinstance(result, Completed)
        assert result.handle is not None
        assert result.handle.version == "0.3"
    (told,) = notes.of(Downgraded)
    assert told == Downgraded(refused="1.0", spoken="0.3")
    assert told.handle is not None
    assert (told.handle.version, told.handle.task_id) == ("0.3", None)
    sends = requests_of(peer, Operation.SEND)
    assert [one.version for one in sends] == ["1.0", "0.3", "0.3"]
    assert message_of(peer, 0)["messageId"] == message_of(peer, 1)["messageId"]
    assert [one.version for one in first.attempts] == ["1.0", "0.3"]


@pytest.mark.spec("DLG-3")
@pytest.mark.parametrize("refusal", _REFUSALS, ids=lambda one: str(one.code))
async def test_a_downgrade_that_is_not_allowed_is_not_made(refusal: RpcError) -> None:
    peer, notes = ScriptedPeer(BOTH), Notes()
    peer.script(Operation.SEND, refusal)
    async with delegate_to(peer) as delegate:
        result = await delegate.dispatch("work", observer=notes)
    assert isinstance(result, Rejected)
    assert result.effect is Effect.NOT_STARTED
    assert notes.of(Downgraded) == []
    assert peer.truth.sends == 1


@pytest.mark.spec("DLG-3", "RUN-2")
async def test_a_refusal_that_proves_nothing_is_no_reason_to_downgrade() -> None:
    peer = ScriptedPeer(BOTH)
    peer.script(Operation.SEND, RpcError(-32603, "the tool says: version not supported"))
    async with delegate_to(peer, allow_downgrade=True, poll_interval=0.1) as delegate:
        result = await delegate.dispatch("work")
    assert isinstance(result, Failed)
    assert peer.truth.sends == 1


@pytest.mark.spec("DLG-3")
async def test_a_downgrade_in_one_delegation_leaves_another_that_goes_on() -> None:
    peer = ScriptedPeer(BOTH)
    async with delegate_to(peer, allow_downgrade=True) as delegate:
        results: list[DelegateResult] = []

        async def call(prompt: str) -> None:
            results.append(await delegate.dispatch(prompt))

        async with anyio.create_task_group() as group:
            group.start_soon(call, "slow 5")
            await anyio.sleep(0.5)
            peer.script(Operation.SEND, RpcError(-32009))
            group.start_soon(call, "work")
    assert [result.status for result in results] == ["completed", "completed"]
    gets = requests_of(peer, Operation.GET)
    assert {one.version for one in gets} == {"1.0"}


# -- 0.2, and what came before it ------------------------------------------------------------------


@pytest.mark.spec("CARD-1", "WIRE-14", "METH-9")
async def test_an_agent_of_0_2_is_found_at_the_old_path_and_spoken_to_in_its_words() -> None:
    peer = ScriptedPeer(("0.2",))
    async with peer.client() as client:
        card = await fetch_agent_card("https://peer.example", client=client)
        async with A2ADelegate("peer", card, client=client) as delegate:
            result = await delegate.dispatch("slow 2")
    assert isinstance(result, Completed)
    assert result.output == "result of slow 2"
    assert result.handle is not None
    assert result.handle.version == "0.2"
    (send,) = requests_of(peer, Operation.SEND)
    assert "a2a-version" not in send.headers
    assert message_of(peer)["kind"] == "message"
    assert send.body["params"]["configuration"] == {  # type: ignore[index]
        "blocking": False,
        "acceptedOutputModes": [],
    }


@pytest.mark.spec("METH-5")
async def test_a_send_that_0_2_holds_against_our_wish_is_waited_for_and_no_longer() -> None:
    peer = ScriptedPeer(("0.2",), always_blocks=True)
    async with delegate_to(peer) as delegate:
        done = await delegate.dispatch("slow 20")
        start = anyio.current_time()
        late = await delegate.dispatch(DelegateRequest("slow 20", timeout=5))
    assert isinstance(done, Completed)
    assert requests_of(peer, Operation.GET) == []
    assert isinstance(late, Unknown)
    assert late.effect is Effect.MAY_HAVE_RUN
    assert 5 <= anyio.current_time() - start <= 6


@pytest.mark.spec("IDEM-1", "IDEM-7")
async def test_a_lost_reply_of_0_2_is_unknown_at_once_and_no_list_is_asked_for() -> None:
    peer = ScriptedPeer(("0.2",))
    peer.script(Operation.SEND, DropAfterAccepting())
    async with delegate_to(peer) as delegate:
        result = await delegate.dispatch("work")
    assert isinstance(result, Unknown)
    assert [one.operation for one in peer.truth.requests] == [Operation.SEND]
    assert list(peer.truth.runs.values()) == [1]


@pytest.mark.spec("GATE-5", "IDEM-7")
async def test_a_lost_reply_of_0_2_is_looked_for_where_the_card_offers_1_0_as_well() -> None:
    peer = ScriptedPeer(("0.2", "1.0"))
    peer.script(Operation.SEND, DropAfterAccepting())
    async with delegate_to(peer) as delegate:
        result = await delegate.dispatch("work")
    assert isinstance(result, Completed)
    spoken = [(one.operation, one.version) for one in peer.truth.requests]
    assert spoken == [(Operation.SEND, "0.2"), (Operation.LIST, "1.0"), (Operation.GET, "0.2")]


@pytest.mark.spec("CANC-2")
async def test_an_end_that_was_seen_is_never_written_over_by_a_cancel() -> None:
    peer, token = ScriptedPeer(("0.2",)), CancelToken()
    async with delegate_to(peer) as delegate:
        result = await delegate.dispatch("task", cancel=token)
        token.cancel()
        await anyio.sleep(5)
    assert isinstance(result, Completed)
    assert peer.truth.cancels == 0
    assert peer.truth.tasks[0].state == "completed"


@pytest.mark.spec("WIRE-10")
async def test_a_method_that_0_2_does_not_know_is_proof_that_nothing_began() -> None:
    peer = ScriptedPeer(("0.2",))
    transport = peer.transport()
    async with delegate_over(transport, ("1.0",)) as delegate:
        result = await delegate.dispatch("work")
    assert isinstance(result, Rejected)
    assert result.safe_to_retry
    assert result.handle is not None
    assert dict(peer.truth.runs) == {}


# What a recorded server of 0.1, under a card of 0.3, says to a request of 0.3.
BARE: dict[str, Any] = {
    "parts": [{"data": {"error": "Unknown content type: None"}, "type": "data"}],
    "role": "agent",
}


@pytest.mark.spec("WIRE-15")
async def test_a_peer_that_turns_out_to_be_of_0_1_is_named_in_the_outcome() -> None:
    peer = ScriptedPeer(("0.3",))
    peer.script(Operation.SEND, Respond(500, body=BARE))
    async with delegate_to(peer) as delegate:
        result = await delegate.dispatch("work")
    assert isinstance(result, Failed)
    assert result.effect is Effect.MAY_HAVE_RUN
    assert "a message of A2A 0.1 (`tasks/send`), which is not spoken here" in str(result.error)


@pytest.mark.spec("WIRE-15")
async def test_a_task_of_0_1_is_named_and_never_followed() -> None:
    def in_a_session(body: Any) -> Any:
        task = body["result"]
        del task["contextId"], task["kind"]
        return body | {"result": task | {"sessionId": "s"}}

    peer = ScriptedPeer(("0.2",))
    peer.script(Operation.SEND, Rewrite(in_a_session))
    async with delegate_to(peer) as delegate:
        result = await delegate.dispatch("work")
    assert isinstance(result, Unknown)
    assert "a task of A2A 0.1 (`tasks/send`), which is not spoken here" in str(result.cause)
    assert b"sessionId" in result.evidence
    assert requests_of(peer, Operation.GET) == []
