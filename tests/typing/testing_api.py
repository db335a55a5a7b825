"""What the package offers to testers, used as a user would and type-checked; never run."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, assert_type

import httpx

from a2a_delegate import A2ADelegate, AgentCard, DelegateRequest, fetch_agent_card
from a2a_delegate.testing import (
    Behaviour,
    Chunked,
    Close,
    ConnectionRefused,
    CutReply,
    Delay,
    DelegateSuite,
    DelegateUnderTest,
    DropAfterAccepting,
    EventOrder,
    Gathered,
    GroundTruth,
    Hang,
    Happening,
    Honest,
    Opening,
    Operation,
    Parting,
    Pings,
    RequestArrived,
    RequestFact,
    RequestOver,
    Respond,
    Rewrite,
    RpcError,
    ScriptedPeer,
    Stop,
    StopStream,
    StreamEnd,
    StreamFact,
    Subscription,
    TaskFact,
    WorkState,
)

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from a2a_delegate.testing import Nothing  # type: ignore[attr-defined]  # noqa: F401


class TestOurs(DelegateSuite):
    """Over a peer in this process."""

    short = 0.1

    @asynccontextmanager
    async def make(self) -> AsyncGenerator[DelegateUnderTest, None]:
        peer = ScriptedPeer()
        async with peer.client() as client:
            assert_type(client, httpx.AsyncClient)
            card = await fetch_agent_card("https://peer.example", client=client)
            async with A2ADelegate("peer", card, client=client) as delegate:
                yield DelegateUnderTest(
                    delegate=delegate,
                    completes=lambda text: f"say {text}",
                    takes=lambda seconds, text: DelegateRequest(f"slow {seconds} {text}"),
                    fails=("fail", "it failed"),
                    gives_data=("data", {"n": 3}),
                    asks=("ask", "which city?"),
                    answers=lambda text: text,
                    refuses="reject",
                    ran=len,
                )


class TestForgetful(DelegateSuite):
    """Gives a card where a delegate under test is wanted."""

    @asynccontextmanager
    async def make(self) -> AsyncGenerator[AgentCard, None]:  # type: ignore[override]
        yield AgentCard("a", ())


def script(behaviours: list[Behaviour]) -> GroundTruth:
    peer = ScriptedPeer(("1.0", "0.3"), recognises_repeats=True)
    peer.script(Operation.SEND, DropAfterAccepting(), Delay(3, Hang()), *behaviours)
    peer.script(Operation.GET, Respond(503, {"Retry-After": "1"}), RpcError(-32001), Honest())
    peer.always(Operation.CANCEL, Rewrite(lambda reply: {**reply, "jsonrpc": "1.0"}))
    peer.always("cancel", Honest())  # type: ignore[arg-type]
    return peer.truth


def facts(truth: GroundTruth) -> None:
    assert_type(truth.runs["m-1"], int)
    assert_type(truth.tasks, tuple[TaskFact, ...])
    assert_type(truth.tasks[0].state, WorkState)
    assert_type(truth.requests, tuple[RequestFact, ...])
    assert_type(truth.open, int)


def streams() -> StreamFact | None:
    peer = ScriptedPeer(streaming=True)
    peer.script(Operation.SEND, Pings(5, StopStream(2, Stop.SILENCE)), EventOrder((2, 1)))
    peer.always(Operation.SUBSCRIBE, Gathered(0, Subscription(Opening.UPDATES)))
    peer.script(Operation.SEND, StopStream(1, "end"))  # type: ignore[arg-type]
    assert_type(peer.truth.subscriptions, int)
    stream = peer.truth.requests[0].stream
    assert_type(stream, StreamFact | None)
    if stream is not None:
        assert_type(stream.end, StreamEnd)
    return stream


async def port(told: list[Happening]) -> None:
    peer = ScriptedPeer()
    peer.script(Operation.SEND, CutReply(120, Close.RST, Chunked(8)), call=3)
    peer.always(Operation.SEND, Honest(), prompt="hi")
    async with peer.serve("::1", 8000, certfile="cert.pem", observer=told.append) as url:
        assert_type(url, str)
    peer.serve(tls="a context")  # type: ignore[arg-type]


def line(happening: Happening) -> str:
    match happening:
        case RequestArrived(behaviour=behaviour):
            return str(behaviour)
        case RequestOver(parting=Parting.RESET, reply=reply):
            return str(len(reply))
        case RequestOver(request=request):
            return assert_type(request, RequestFact).method
        case ConnectionRefused(reason=reason):
            return reason
