"""Over real sockets, in real time: what outlives a process, a loop or a block, and broken heads."""

from __future__ import annotations

import asyncio
import sys
from contextlib import asynccontextmanager
from subprocess import DEVNULL
from typing import TYPE_CHECKING

import anyio
import anyio.abc
import anyio.from_thread
import anyio.streams.text
import httpx
import pytest

from a2a_delegate import (
    A2ADelegate,
    A2ADelegateConfig,
    A2ARequestError,
    Completed,
    DelegationHandle,
    Effect,
    Failed,
    InvalidAgentCardError,
    Rejected,
    Unknown,
    UsageError,
    connect,
    fetch_agent_card,
)
from a2a_delegate.testing import (
    Hang,
    Honest,
    Operation,
    Redirect,
    RequestArrived,
    ScriptedPeer,
)
from tests.reports.staging import TLS, VERSIONS

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from a2a_delegate import DelegateResult
    from a2a_delegate.testing import Behaviour, Happening

PATIENCE = 15.0
"""Seconds that a test waits for anything at most."""


QUICK = A2ADelegateConfig(poll_interval=0.1, recovery_timeout=1)


# -- a process that is killed ----------------------------------------------------------------------

ORCHESTRATOR = """
import sys
import anyio
from a2a_delegate import Intent, connect, open_delegation

async def main():
    async with connect(sys.argv[1]) as delegate:
        async with open_delegation(delegate, "slow 1") as delegation:
            print(delegation.handle.to_json(), flush=True)
            async for _ in delegation:
                print(delegation.handle.to_json(), flush=True)
            await delegation.result()

anyio.run(main)
"""
"""An orchestrator that writes down its handle before a byte leaves, and whenever it learns more."""


@pytest.mark.anyio
@pytest.mark.report("O14", "L1")
@VERSIONS
@pytest.mark.parametrize(
    "answer", [Hang(), Honest()], ids=["before any reply", "with the id known"]
)
async def test_work_of_a_process_that_was_killed_is_taken_up_and_not_begun_again(
    version: str, answer: Behaviour
) -> None:
    peer, working = ScriptedPeer((version,)), anyio.Event()
    peer.script(Operation.SEND, answer)

    def watch(happening: Happening) -> None:
        operation = happening.request.operation if isinstance(happening, RequestArrived) else None
        # The send when nothing answers it, else the first look at the task.
        if operation is (Operation.SEND if isinstance(answer, Hang) else Operation.GET):
            working.set()

    async with peer.serve(observer=watch) as url:
        with anyio.fail_after(PATIENCE):
            stored = await killed_at(working, url)
        async with connect(url, config=QUICK) as delegate:
            handle = DelegationHandle.from_json(stored)
            result = await delegate.resume(handle)
    if isinstance(answer, Hang) and version != "1.0":
        # Nobody was told the task's id, and these versions list none.
        assert isinstance(result, Unknown)
        assert result.effect is Effect.MAY_HAVE_RUN
    else:
        assert isinstance(result, Completed)
        assert result.output == "result of slow 1"
    assert (peer.truth.sends, sum(peer.truth.runs.values())) == (1, 1)


async def killed_at(moment: anyio.Event, url: str) -> str:
    """Run an orchestrator, kill it at the moment, and return the last handle that it wrote."""
    async with await anyio.open_process(
        [sys.executable, "-c", ORCHESTRATOR, url], stderr=DEVNULL
    ) as process:
        await moment.wait()
        process.kill()
        assert process.stdout is not None
        written = "".join(
            [text async for text in anyio.streams.text.TextReceiveStream(process.stdout)]
        )
        await process.wait()
    return written.splitlines()[-1]


# -- connections -----------------------------------------------------------------------------------


class Relay:
    """A way to a port on which the open connections are counted."""

    def __init__(self, url: str) -> None:
        self._port = httpx.URL(url).port
        self.open = 0
        self.ever = 0
        self.none = anyio.Event()

    @asynccontextmanager
    async def listening(self) -> AsyncGenerator[str, None]:
        listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
        async with listener, anyio.create_task_group() as group:
            group.start_soon(listener.serve, self._pass_on)
            port = listener.extra(anyio.abc.SocketAttribute.local_port)  # noqa: S610 - not Django's
            yield f"http://127.0.0.1:{port}"
            group.cancel_scope.cancel()

    async def _pass_on(self, near: anyio.abc.SocketStream) -> None:
        self.open += 1
        self.ever += 1
        self.none = anyio.Event()
        far = await anyio.connect_tcp("127.0.0.1", self._port or 0)
        async with near, far, anyio.create_task_group() as group:
            group.start_soon(self._copy, far, near)
            await self._copy(near, far)
            group.cancel_scope.cancel()
        self.open -= 1
        if not self.open:
            self.none.set()

    async def _copy(self, source: anyio.abc.SocketStream, sink: anyio.abc.SocketStream) -> None:
        async for piece in source:
            await sink.send(piece)


@pytest.mark.anyio
@pytest.mark.report("L14")
@VERSIONS
async def test_what_connect_opened_is_closed_when_its_block_is_left(version: str) -> None:
    # A peer that listens everywhere names in its card the address by which it is called.
    async with ScriptedPeer((version,)).serve("0.0.0.0") as url:  # noqa: S104 - for the test only
        relay = Relay(url)
        async with relay.listening() as near:
            async with connect(near, config=QUICK) as delegate:
                for _ in range(3):
                    assert isinstance(await delegate.dispatch("slow 0.2"), Completed)
                assert relay.open > 0, "an idle connection is kept while the delegate is"
            with anyio.fail_after(PATIENCE):
                await relay.none.wait()
    assert relay.ever < 9, "and used again"


@pytest.mark.anyio
@pytest.mark.report("L14")
@VERSIONS
async def test_a_client_of_the_callers_own_stays_open(version: str) -> None:
    async with ScriptedPeer((version,)).serve() as url, httpx.AsyncClient(verify=TLS) as client:
        card = await fetch_agent_card(url, client=client)
        async with A2ADelegate("x", card, client=client, config=QUICK) as delegate:
            assert isinstance(await delegate.dispatch("work"), Completed)
        assert not client.is_closed


@pytest.mark.anyio
@pytest.mark.report("D26")
@pytest.mark.parametrize("versions", [("1.0",), ("0.3",), ("0.2",), ("1.0", "0.3")], ids="+".join)
async def test_defaults_on_both_sides_talk_to_each_other_over_tcp(
    versions: tuple[str, ...],
) -> None:
    async with ScriptedPeer(versions).serve() as url, connect(url) as delegate:
        result = await delegate.dispatch("work")
    assert isinstance(result, Completed)
    assert result.output == "result of work"


@pytest.mark.anyio
@pytest.mark.report("P27")
@VERSIONS
@pytest.mark.parametrize("status", [302, 307, 308])
@pytest.mark.parametrize("target", ["::", "https://[x"])
async def test_a_redirect_that_leads_nowhere_is_answered_as_any_other(
    version: str, status: int, target: str
) -> None:
    peer = ScriptedPeer((version,), lists=False)
    async with peer.serve() as url, httpx.AsyncClient(verify=TLS) as client:
        card = await fetch_agent_card(url, client=client)
        async with A2ADelegate("x", card, client=client, config=QUICK) as delegate:
            peer.script(Operation.SEND, Redirect(status, target))
            result = await delegate.dispatch("work")
        peer.script(Operation.CARD, Redirect(status, target))
        with pytest.raises(InvalidAgentCardError) as caught:
            await fetch_agent_card(url, client=client)
    assert isinstance(result, Failed | Rejected)
    assert isinstance(result.error, A2ARequestError)
    assert (result.error.status, caught.value.status) == (status, status)
    assert result.safe_to_retry is (status != 302)
    assert not peer.truth.runs


# -- event loops -----------------------------------------------------------------------------------


@pytest.mark.report("O13")
def test_each_asyncio_run_has_a_delegate_of_its_own_to_a_peer_that_keeps_connections() -> None:
    async def delegate_once(url: str) -> DelegateResult:
        async with connect(url, config=QUICK) as delegate:
            return await delegate.dispatch("slow 0.1")

    with (
        anyio.from_thread.start_blocking_portal() as portal,
        portal.wrap_async_context_manager(ScriptedPeer().serve()) as url,
    ):
        results = [asyncio.run(delegate_once(url)) for _ in range(3)]
    assert [result.status for result in results] == ["completed"] * 3


@pytest.mark.report("O13")
def test_a_delegate_that_is_kept_for_a_second_asyncio_run_is_refused_by_name() -> None:
    kept: list[A2ADelegate] = []

    async def first(url: str) -> DelegateResult:
        client = httpx.AsyncClient()
        card = await fetch_agent_card(url, client=client)
        kept.append(A2ADelegate("x", card, client=client, config=QUICK))
        result = await kept[0].dispatch("work")
        await client.aclose()
        return result

    async def second() -> DelegateResult:
        return await kept[0].dispatch("work")

    with (
        anyio.from_thread.start_blocking_portal() as portal,
        portal.wrap_async_context_manager(ScriptedPeer().serve()) as url,
    ):
        assert isinstance(asyncio.run(first(url)), Completed)
        with pytest.raises(UsageError, match="one event loop"):
            asyncio.run(second())
