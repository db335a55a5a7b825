"""Which version is spoken, and where context ids of ours go: learnt once, kept for later."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio
import pytest

from a2a_delegate import (
    Completed,
    ContextSubstituted,
    DelegateRequest,
    Downgraded,
    Effect,
    Failed,
    Recovered,
    Rejected,
    Unknown,
)
from a2a_delegate.testing import (
    DropAfterAccepting,
    Operation,
    RpcError,
    ScriptedPeer,
)
from tests.runtime.staging import Notes, delegate_to, requests_of

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
    assert notes.of(Downgraded) == [Downgraded(refused="1.0", spoken="0.3")]
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
