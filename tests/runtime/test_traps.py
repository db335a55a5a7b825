"""Traps that a prototype fell into, each an hour's work to find; and the same on both loops."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

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
    Downgraded,
    Effect,
    Failed,
    Rejected,
    TimedOut,
    TransportStuck,
    Unknown,
    UnsafeEndpointError,
    fetch_agent_card,
)
from a2a_delegate.testing import (
    Delay,
    DropAfterAccepting,
    DropWhileReading,
    Hang,
    Operation,
    RefuseConnection,
    RpcError,
    ScriptedPeer,
)
from tests.faults.wire import Manners
from tests.runtime.staging import Notes, delegate_over, delegate_to, requests_of
from tests.virtual_time import VirtualTimeLoop

if TYPE_CHECKING:
    from a2a_delegate import DelegateResult

pytestmark = [pytest.mark.anyio, pytest.mark.virtual_time]


async def cancel_at(token: CancelToken, seconds: float) -> None:
    await anyio.sleep(seconds)
    token.cancel("enough")


# 1: anyio's shield does not stop asyncio's Task.cancel(); the wait for a deaf transport is bounded


@pytest.mark.spec("CXL-3")
def test_trap_task_cancel_goes_through_a_shield_and_the_peer_is_told_all_the_same() -> None:
    peer = ScriptedPeer()

    async def main() -> None:
        async with delegate_to(peer) as delegate:
            call = asyncio.create_task(delegate.dispatch("stuck"))
            await asyncio.sleep(1.5)
            for _ in range(3):
                call.cancel()
                await asyncio.sleep(0)
            with pytest.raises(asyncio.CancelledError):
                await call

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        runner.run(main())
    (task,) = peer.truth.tasks
    assert (task.state, task.cancel_requests, peer.truth.open) == ("canceled", 1, 0)


@pytest.mark.spec("RUN-5", "DEAD-2")
async def test_trap_a_deaf_transport_does_not_keep_its_caller() -> None:
    peer, notes, start = ScriptedPeer(("0.3",)), Notes(), anyio.current_time()
    peer.always(Operation.SEND, Hang(deaf=True))
    async with delegate_to(peer) as delegate:
        result = await delegate.dispatch(DelegateRequest("stuck", timeout=0.5), observer=notes)
        assert isinstance(result, Unknown)
        assert notes.of(TransportStuck) == [TransportStuck("send")]
        # The deadline, the grace for the id, and the time that a transport gets to stop.
        assert anyio.current_time() - start == pytest.approx(0.5 + 0.5 + 0.5 + 0.5)
        closing = anyio.current_time()
        await delegate.aclose()
        assert anyio.current_time() - closing == pytest.approx(0.5)
        assert peer.truth.open == 1
        peer.release()
        await anyio.sleep(0.1)
    assert peer.truth.open == 0


# 2: inside a loop callback anyio works no more


@pytest.mark.spec("CXL-2")
def test_trap_a_token_is_cancelled_from_a_callback_of_the_loop() -> None:
    peer, token = ScriptedPeer(), CancelToken()

    async def main() -> DelegateResult:
        async with delegate_to(peer) as delegate:
            asyncio.get_running_loop().call_later(1.5, token.cancel, "enough")
            return await delegate.dispatch("stuck", cancel=token)

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        result = runner.run(main())
        assert runner.get_loop().time() < 2
    assert isinstance(result, Cancelled)
    assert (result.reason, result.receipt) == ("enough", CancelReceipt.CONFIRMED)


# 3: a send in flight is given time to show its id


@pytest.mark.spec("CXL-5")
@pytest.mark.parametrize("version", ["1.0", "0.3"])
async def test_trap_a_send_in_flight_may_still_show_its_id_in_the_grace(version: str) -> None:
    peer, token = ScriptedPeer((version,)), CancelToken()
    peer.script(Operation.SEND, Delay(0.6))
    async with delegate_to(peer) as delegate, anyio.create_task_group() as group:
        group.start_soon(cancel_at, token, 0.2)
        result = await delegate.dispatch("stuck", cancel=token)
    assert isinstance(result, Cancelled)
    assert (result.receipt, result.effect) == (CancelReceipt.CONFIRMED, Effect.RAN)
    assert peer.truth.tasks[0].state == "canceled"


@pytest.mark.spec("CXL-5")
async def test_trap_the_grace_of_a_send_ends_and_the_task_is_looked_for() -> None:
    peer, token, start = ScriptedPeer(), CancelToken(), anyio.current_time()
    peer.script(Operation.SEND, Delay(0.8))
    async with delegate_to(peer) as delegate, anyio.create_task_group() as group:
        group.start_soon(cancel_at, token, 0.2)
        result = await delegate.dispatch("stuck", cancel=token)
    assert isinstance(result, Cancelled)
    assert result.receipt is CancelReceipt.CONFIRMED
    assert anyio.current_time() - start == pytest.approx(0.7)
    assert [one.operation for one in result.attempts] == ["send", "list", "cancel"]


@pytest.mark.spec("CXL-5")
async def test_trap_an_answer_in_the_grace_is_the_answer() -> None:
    peer, token = ScriptedPeer(("0.3",)), CancelToken()
    peer.script(Operation.SEND, Delay(0.6))
    async with delegate_to(peer) as delegate, anyio.create_task_group() as group:
        group.start_soon(cancel_at, token, 0.2)
        result = await delegate.dispatch("hello", cancel=token)
    assert isinstance(result, Completed)
    assert (result.output, result.late) == ("hello from Scripted peer", True)


@pytest.mark.spec("CXL-5")
async def test_trap_a_send_that_has_not_left_is_stopped_at_once() -> None:
    peer, token, start = ScriptedPeer(), CancelToken(), anyio.current_time()
    peer.script(Operation.SEND, Delay(30, RefuseConnection()))
    async with delegate_to(peer) as delegate, anyio.create_task_group() as group:
        group.start_soon(cancel_at, token, 0.2)
        result = await delegate.dispatch("stuck", cancel=token)
    assert isinstance(result, Cancelled)
    assert (result.receipt, result.effect) == (CancelReceipt.NOT_NEEDED, Effect.NOT_STARTED)
    assert (result.handle, result.safe_to_retry) == (None, True)
    assert anyio.current_time() - start == pytest.approx(0.2)


# 4: between the order to stop and its delivery a body can still leave


@pytest.mark.spec("RUN-5")
async def test_trap_no_byte_leaves_after_the_order_to_stop() -> None:
    peer, token, start = ScriptedPeer(), CancelToken(), anyio.current_time()
    manners = Manners("send", deaf=0.4)
    async with (
        delegate_to(peer, manners=manners) as delegate,
        anyio.create_task_group() as group,
    ):
        group.start_soon(cancel_at, token, 0.2)
        result = await delegate.dispatch("stuck", cancel=token)
        # It was waited for: only a transport that has stopped has said all that it has to say.
        assert anyio.current_time() - start == pytest.approx(0.41)
    assert isinstance(result, Cancelled)
    assert result.effect is Effect.NOT_STARTED
    assert (peer.truth.sends, len(peer.truth.tasks)) == (0, 0)


@pytest.mark.spec("RUN-5")
async def test_trap_what_left_before_the_order_counts() -> None:
    peer, token = ScriptedPeer(("0.3",)), CancelToken()

    class Telltale(httpx.AsyncBaseTransport):
        """Cancels the token just as the body leaves."""

        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            assert isinstance(request.stream, httpx.AsyncByteStream)
            async for _ in request.stream:
                token.cancel("enough")
            await anyio.sleep_forever()
            raise AssertionError

    async with delegate_over(Telltale(), peer.versions) as delegate:
        result = await delegate.dispatch("stuck", cancel=token)
    assert isinstance(result, Cancelled)
    assert (result.effect, result.receipt) == (Effect.MAY_HAVE_RUN, CancelReceipt.UNREACHED)
    assert result.handle is not None


# 5: once a body has left, nothing is sent again


@pytest.mark.spec("RUN-2")
@pytest.mark.parametrize("loss", [DropWhileReading(), DropAfterAccepting()], ids=repr)
async def test_trap_a_lost_send_is_never_repeated(
    loss: DropWhileReading | DropAfterAccepting,
) -> None:
    peer = ScriptedPeer(("0.3",))
    peer.script(Operation.SEND, loss, RefuseConnection())
    async with delegate_to(peer) as delegate:
        result = await delegate.dispatch("work")
    assert isinstance(result, Unknown)
    assert result.effect is Effect.MAY_HAVE_RUN
    assert peer.pending == ((Operation.SEND, RefuseConnection()),)


@pytest.mark.spec("RUN-2")
async def test_trap_a_send_that_left_in_a_repeat_is_not_called_unsent() -> None:
    peer = ScriptedPeer(("0.3",))
    peer.script(Operation.SEND, RefuseConnection(), DropWhileReading(), RefuseConnection())
    async with delegate_to(peer) as delegate:
        result = await delegate.dispatch("work")
    assert isinstance(result, Unknown)
    assert [one.body_left for one in result.attempts] == [False, True]
    assert len(peer.pending) == 1


# 14: what the caller's client has of its own goes to bound origins only


@pytest.mark.spec("DLG-7")
async def test_trap_the_clients_headers_and_cookies_go_to_bound_origins_only() -> None:
    seen: list[httpx.Request] = []
    peer = ScriptedPeer(url="https://elsewhere.example/rpc")

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(200, json=peer.card())

    async with httpx.AsyncClient(
        transport=httpx.MockTransport(answer),
        headers={"authorization": "Bearer secret"},
        cookies={"session": "secret"},
    ) as client:
        card = await fetch_agent_card("https://peer.example", client=client)
        with pytest.raises(UnsafeEndpointError, match="allowed_origins"):
            A2ADelegate("peer", card, client=client)
        config = A2ADelegateConfig(allowed_origins=("https://elsewhere.example",))
        A2ADelegate("peer", card, client=client, config=config)
    assert [(one.url.host, one.headers["cookie"]) for one in seen] == [
        ("peer.example", "session=secret")
    ]


# 15: a downgrade is made once, and from the first interface


@pytest.mark.spec("DLG-3")
async def test_trap_a_downgrade_is_made_once_and_never_in_circles() -> None:
    peer, notes = ScriptedPeer(("1.0", "0.3")), Notes()
    peer.always(Operation.SEND, RpcError(-32009, "version not supported"))
    async with delegate_to(peer, allow_downgrade=True) as delegate:
        first = await delegate.dispatch("work", observer=notes)
        second = await delegate.dispatch("work", observer=notes)
    assert isinstance(first, Rejected)
    assert isinstance(second, Rejected)
    assert notes.of(Downgraded) == [Downgraded("1.0", "0.3")]
    assert [one.version for one in requests_of(peer, Operation.SEND)] == ["1.0", "0.3", "0.3"]


# 16: trio's system tasks never raise (see also test_owner)


@pytest.mark.spec("RUN-5")
async def test_trap_a_transport_that_raises_anything_ends_in_an_outcome() -> None:
    class Broken(httpx.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            raise RuntimeError(str(request.url))

    async with delegate_over(Broken(), ("1.0",)) as delegate:
        result = await delegate.dispatch("work")
    assert isinstance(result, Failed)
    assert result.effect is Effect.NOT_STARTED


@pytest.mark.spec("RUN-5")
async def test_trap_a_transport_that_leaves_the_program_does_so_by_its_caller() -> None:
    class Quitting(httpx.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            raise SystemExit(str(request.url))

    async with delegate_over(Quitting(), ("1.0",)) as delegate:
        with pytest.raises(SystemExit):
            await delegate.dispatch("work")


# beside them: a deadline that falls in an attempt to stop


@pytest.mark.spec("DEAD-2")
async def test_the_first_cause_stays_the_cause() -> None:
    peer, token = ScriptedPeer(), CancelToken()
    peer.script(Operation.CANCEL, Hang())
    async with delegate_to(peer) as delegate, anyio.create_task_group() as group:
        group.start_soon(cancel_at, token, 1.5)
        result = await delegate.dispatch(DelegateRequest("stuck", timeout=1.2), cancel=token)
    assert isinstance(result, TimedOut)
    assert result.last_state == "working"
