"""Looking for a card inside a bound: deadlines, tokens, and transports that do not listen."""

from __future__ import annotations

import asyncio
import gc
import weakref
from typing import TYPE_CHECKING

import anyio
import anyio.lowlevel
import httpx
import pytest
import trio

from a2a_delegate import (
    CancelToken,
    DelegationCancelledError,
    InvalidAgentCardError,
    PeerUnreachableError,
    UsageError,
    connect,
    fetch_agent_card,
)
from a2a_delegate.runtime.card_lookup import RELEASE
from a2a_delegate.testing import Hang, Operation, Respond, ScriptedPeer
from tests.test_a2a_card import connected

if TYPE_CHECKING:
    from collections.abc import Callable

    from a2a_delegate import AgentCard

pytestmark = [pytest.mark.anyio, pytest.mark.virtual_time]

BASE = "https://peer.example"


class Silent(httpx.AsyncBaseTransport):
    """A transport that never answers, and says when it was asked and when it was let go."""

    def __init__(self) -> None:
        self.asked = anyio.Event()
        self.let_go = False

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.asked.set()
        try:
            await anyio.sleep_forever()
        finally:
            self.let_go = True
        raise AssertionError(request)


class MyError(Exception):
    """A reason of the caller's."""


async def soon(do: Callable[[], object]) -> None:
    """Do something a second from now."""
    await anyio.sleep(1)
    do()


async def fetch_from(peer: ScriptedPeer, **options: object) -> AgentCard:
    async with httpx.AsyncClient(transport=peer.transport()) as client:
        return await fetch_agent_card(BASE, client=client, **options)  # type: ignore[arg-type]


@pytest.mark.spec("CARR-19")
async def test_one_deadline_covers_the_whole_search() -> None:
    silent, start = Silent(), anyio.current_time()
    async with httpx.AsyncClient(transport=silent) as client:
        with pytest.raises(PeerUnreachableError, match=r"within 0\.5 seconds") as refusal:
            await fetch_agent_card(BASE, client=client, timeout=0.5)
    assert anyio.current_time() - start == pytest.approx(0.5)
    assert refusal.value.phase == "card"
    assert silent.let_go


@pytest.mark.spec("CARR-19")
@pytest.mark.parametrize("unbounded", [None, 0])
async def test_without_a_deadline_only_the_caller_ends_the_search(unbounded: float | None) -> None:
    silent = Silent()
    async with httpx.AsyncClient(transport=silent) as client:
        with anyio.move_on_after(1_000) as scope:
            await fetch_agent_card(BASE, client=client, timeout=unbounded)
    assert scope.cancelled_caught
    assert silent.let_go


@pytest.mark.parametrize("seconds", [-1, float("nan"), float("inf"), True, "1"])
async def test_a_deadline_that_is_no_time_is_refused(seconds: float) -> None:
    async with httpx.AsyncClient() as client:
        with pytest.raises(UsageError, match="timeout"):
            await fetch_agent_card(BASE, client=client, timeout=seconds)


async def test_what_is_no_token_is_refused() -> None:
    async with httpx.AsyncClient() as client:
        with pytest.raises(UsageError, match="CancelToken"):
            await fetch_agent_card(BASE, client=client, cancel=anyio.Event())  # type: ignore[arg-type]


@pytest.mark.spec("CARR-19")
async def test_what_was_cancelled_before_sends_nothing() -> None:
    silent, reason, token = Silent(), MyError("no more"), CancelToken()
    token.cancel(reason)
    async with httpx.AsyncClient(transport=silent) as client:
        with pytest.raises(MyError) as stopped:
            await fetch_agent_card(BASE, client=client, cancel=token)
        with anyio.CancelScope() as scope:
            scope.cancel()
            await fetch_agent_card(BASE, client=client)
    assert stopped.value is reason
    assert not silent.asked.is_set()


@pytest.mark.spec("CARR-19")
@pytest.mark.parametrize("give", [lambda: MyError("no more"), lambda: "user left", lambda: None])
async def test_a_token_ends_the_search_with_the_callers_own_reason(
    give: Callable[[], object],
) -> None:
    silent, reason, token = Silent(), give(), CancelToken()
    stopped: BaseException | None = None
    async with httpx.AsyncClient(transport=silent) as client, anyio.create_task_group() as tasks:
        tasks.start_soon(soon, lambda: token.cancel(reason))
        try:
            await fetch_agent_card(BASE, client=client, cancel=token)
        except (MyError, DelegationCancelledError) as error:
            stopped = error
    assert silent.let_go
    if isinstance(reason, MyError):
        assert stopped is reason
    else:
        assert isinstance(stopped, DelegationCancelledError)
        assert ("user left" in str(stopped)) is (reason is not None)
        assert token.reason is reason


@pytest.mark.spec("CARR-19")
async def test_a_token_may_be_cancelled_in_a_callback_of_the_loop(anyio_backend_name: str) -> None:
    class AsksForTheEnd(Silent):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            if anyio_backend_name == "trio":
                trio.lowlevel.current_trio_token().run_sync_soon(token.cancel, reason)
            else:
                asyncio.get_running_loop().call_soon(token.cancel, reason)
            return await super().handle_async_request(request)

    token, reason = CancelToken(), MyError("no more")
    async with httpx.AsyncClient(transport=AsksForTheEnd()) as client:
        with pytest.raises(MyError) as stopped:
            await fetch_agent_card(BASE, client=client, cancel=token)
    assert stopped.value is reason


async def test_nobody_listens_to_a_token_any_more_once_the_card_is_found() -> None:
    class Listened(CancelToken):
        listeners = 0

        def subscribe(self, listener: Callable[[], None]) -> Callable[[], None]:
            undo = super().subscribe(listener)
            self.listeners += 1

            def counted() -> None:
                undo()
                self.listeners -= 1

            heard.append(self.listeners)
            return counted

    token, heard = Listened(), list[int]()
    await fetch_from(ScriptedPeer(), cancel=token)
    assert (heard, token.listeners) == ([1], 0)


@pytest.mark.spec("CARR-15")
async def test_a_peer_that_asks_for_more_time_than_there_is_is_not_waited_for() -> None:
    for timeout, surrounding in ((30, 100), (None, 30)):
        peer = ScriptedPeer()
        peer.always(Operation.CARD, Respond(503, {"retry-after": "31"}))
        with anyio.fail_after(surrounding), pytest.raises(InvalidAgentCardError, match="HTTP 503"):
            await fetch_from(peer, timeout=timeout)
        assert len(peer.truth.requests) == 1


# -- a transport that does not stop ----------------------------------------------------------------


@pytest.mark.spec("CARR-20")
async def test_a_deaf_transport_cannot_hold_the_search_beyond_its_deadline() -> None:
    peer, start = ScriptedPeer(), anyio.current_time()
    peer.script(Operation.CARD, Hang(deaf=True))
    with pytest.raises(PeerUnreachableError, match="within 3 seconds"):
        await fetch_from(peer, timeout=3)
    assert anyio.current_time() - start == pytest.approx(3 + RELEASE)
    peer.release()


@pytest.mark.spec("CARR-20")
async def test_a_deaf_transport_cannot_hold_up_a_cancel_by_token() -> None:
    peer, token, start = ScriptedPeer(), CancelToken(), anyio.current_time()
    peer.script(Operation.CARD, Hang(deaf=True))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(soon, token.cancel)
        with pytest.raises(DelegationCancelledError):
            await fetch_from(peer, cancel=token)
    assert anyio.current_time() - start == pytest.approx(1 + RELEASE)
    peer.release()


@pytest.mark.spec("CARR-20")
async def test_a_deaf_transport_cannot_hold_up_a_plain_cancellation() -> None:
    peer, start = ScriptedPeer(), anyio.current_time()
    peer.script(Operation.CARD, Hang(deaf=True))
    with anyio.move_on_after(1) as scope:
        await fetch_from(peer)
    assert scope.cancelled_caught
    assert anyio.current_time() - start == pytest.approx(1 + RELEASE)
    peer.release()


@pytest.mark.spec("CARR-20")
async def test_a_second_cancellation_does_not_cut_the_release(anyio_backend_name: str) -> None:
    """asyncio alone has a cancellation that goes through every shield."""
    if anyio_backend_name == "trio":
        return
    peer, loop = ScriptedPeer(), asyncio.get_running_loop()
    peer.script(Operation.CARD, Hang(deaf=True))
    start, task = loop.time(), asyncio.ensure_future(fetch_from(peer))
    loop.call_later(1.0, task.cancel)
    loop.call_later(1.1, task.cancel)
    with pytest.raises(asyncio.CancelledError):
        await task
    assert loop.time() - start == pytest.approx(1 + RELEASE)
    peer.release()


@pytest.mark.spec("CARR-20", "DLG-2")
async def test_a_deaf_transport_cannot_hold_connect() -> None:
    peer, token, start = ScriptedPeer(), CancelToken(), anyio.current_time()
    peer.script(Operation.CARD, Hang(deaf=True))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(soon, token.cancel)
        with pytest.raises(DelegationCancelledError):
            async with connected(peer, cancel=token):
                raise AssertionError
    assert anyio.current_time() - start == pytest.approx(1 + RELEASE)
    peer.release()


# -- what the search raises ------------------------------------------------------------------------


async def test_a_refusal_of_the_search_reaches_the_caller() -> None:
    peer = ScriptedPeer()
    peer.always(Operation.CARD, Respond(500))
    with pytest.raises(InvalidAgentCardError, match="HTTP 500"):
        await fetch_from(peer)


async def test_nothing_keeps_what_a_refused_search_held() -> None:
    peer, kept = ScriptedPeer(), []
    peer.always(Operation.CARD, Respond(500))
    gc.collect()
    gc.disable()
    try:
        async with httpx.AsyncClient(transport=peer.transport()) as client:
            try:
                await fetch_agent_card(BASE, client=client)
            except InvalidAgentCardError as error:
                kept.append(weakref.ref(error))
        assert kept[0]() is None
    finally:
        gc.enable()


async def test_what_is_meant_for_the_program_is_not_taken_for_a_missing_card() -> None:
    class Exits(httpx.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            raise SystemExit(str(request.url))

    async with httpx.AsyncClient(transport=Exits()) as client:
        with pytest.raises(SystemExit, match="agent-card"):
            await fetch_agent_card(BASE, client=client)


async def test_a_search_that_the_end_of_the_loop_cuts_off_is_no_card(
    anyio_backend_name: str,
) -> None:
    """asyncio ends a loop by cancelling every task; here all but the one that waits."""
    if anyio_backend_name == "trio":
        return
    silent = Silent()

    async def cut_off() -> None:
        await silent.asked.wait()
        for task in asyncio.all_tasks():
            if "OwnedTask" in str(task.get_coro()):
                task.cancel()

    async with httpx.AsyncClient(transport=silent) as client, anyio.create_task_group() as tasks:
        tasks.start_soon(cut_off)
        with pytest.raises(PeerUnreachableError, match="cut off"):
            await fetch_agent_card(BASE, client=client)


async def test_connect_says_what_it_cannot_use() -> None:
    with pytest.raises(UsageError):
        async with connect("not an address"):
            raise AssertionError
