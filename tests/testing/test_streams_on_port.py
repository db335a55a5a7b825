"""Streams over a wire: their bytes, how they end, and what a client that leaves does to them."""

from __future__ import annotations

import re
import ssl
from typing import TYPE_CHECKING

import anyio
import httpx
import pytest

from a2a_delegate.testing import (
    Chunked,
    Close,
    CloseDelimited,
    CutReply,
    Delay,
    Dribble,
    DropAfterAccepting,
    EventFormat,
    EventKind,
    EventOrder,
    Finished,
    Gathered,
    GreedyFirstChunk,
    Happening,
    Honest,
    InsertBytes,
    InsertEvent,
    Interim,
    Intruder,
    LineEnd,
    Loss,
    Opening,
    Operation,
    PadEvent,
    Parting,
    Pings,
    RequestOver,
    Respond,
    Rewrite,
    RpcError,
    ScriptedPeer,
    SplitInside,
    Stop,
    StopStream,
    StreamEnd,
    StreamFact,
    Subscription,
    UnknownState,
    Unstreamed,
    WithoutEvents,
    WrongId,
)
from tests.testing.hearing import Heard, hear, hear_send
from tests.testing.plain_wire import PATIENCE, open_wire, request, send_of, until, wire_to
from tests.testing.speaking import Reply, Speaker

if TYPE_CHECKING:
    from a2a_delegate.testing import Behaviour

pytestmark = pytest.mark.anyio

TLS = ssl.create_default_context()  # each client would make one of its own, which takes time
_TIME = re.compile(rb'"timestamp": ?"[^"]*"')


def far_client() -> httpx.AsyncClient:
    return httpx.AsyncClient(timeout=PATIENCE, verify=TLS)


def stream_of(peer: ScriptedPeer) -> StreamFact:
    fact = peer.truth.requests[-1].stream
    assert fact is not None
    return fact


def call_for(text: str) -> bytes:
    """Spell a streamed send of 1.0."""
    return request("stream", send_of(text))


# The bytes


@pytest.mark.spec("STRM-11")
@pytest.mark.parametrize("version", ["1.0", "0.3", "0.2"])
async def test_events_come_over_a_wire_when_they_are_due(version: str) -> None:
    peer = ScriptedPeer((version,), streaming=True)
    over: list[Happening] = []
    async with peer.serve(observer=over.append) as url, far_client() as client:
        heard = await hear_send(Speaker(peer, client, version), "slow 0.3", url=f"{url}/rpc")
        again = await hear_send(Speaker(peer, client, version), "hello", url=f"{url}/rpc")
        await until(lambda: len([one for one in over if isinstance(one, RequestOver)]) == 2)
    assert heard.kinds == ["task", "status", "artifact", "status"]
    assert heard.headers["transfer-encoding"] == "chunked"
    assert heard.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert heard.moments[1] < 0.3 <= heard.moments[-1]
    assert (again.kinds, again.ending) == (["message"], "closed")
    partings = [one.parting for one in over if isinstance(one, RequestOver)]
    assert partings == [Parting.KEPT, Parting.KEPT]
    streams = [request.stream for request in peer.truth.requests]
    assert [one.events for one in streams if one] == [4, 1]


@pytest.mark.spec("STRM-11")
async def test_each_event_is_a_chunk_and_the_end_is_one() -> None:
    peer = ScriptedPeer(streaming=True)
    async with peer.serve() as url, wire_to(url) as wire:
        await wire.say(call_for("task"))
        whole = await wire.hear_until(b"\r\n0\r\n\r\n")
    assert whole.count(b"\r\ndata: ") == 3
    assert b"content-length" not in whole


@pytest.mark.spec("STRM-11", "SHOW-1")
@pytest.mark.parametrize(("how", "whole"), [(Stop.END, True), (Stop.CUT, False)])
async def test_a_cut_stream_lacks_its_last_chunk(how: Stop, *, whole: bool) -> None:
    peer = ScriptedPeer(streaming=True)
    peer.script(Operation.SEND, StopStream(2, how))
    async with peer.serve() as url, wire_to(url) as wire:
        await wire.say(call_for("stuck"))
        if whole:
            came = await wire.hear_until(b"\r\n0\r\n\r\n")
        else:
            came, ending = await wire.hear_the_end()
            assert ending == "fin"
    assert came.count(b"data: ") == 2
    assert came.endswith(b"0\r\n\r\n") == whole


@pytest.mark.spec("STRM-11", "BYTES-1")
@pytest.mark.parametrize("by", Close)
async def test_a_stream_is_cut_at_any_byte_of_the_wire(by: Close) -> None:
    peer = ScriptedPeer(streaming=True)
    async with peer.serve() as url:
        async with wire_to(url) as wire:
            await wire.say(call_for("hello"))
            whole = await wire.hear_until(b"\r\n0\r\n\r\n")
        for at in range(0, len(whole), 11):
            peer.script(Operation.SEND, CutReply(at, by))
            async with wire_to(url) as wire:
                await wire.say(call_for("hello"))
                came, ending = await wire.hear_the_end()
            assert ending == by
            assert len(came) == at if by is Close.FIN else len(came) <= at
    assert len(peer.truth.runs) == 1


@pytest.mark.spec("STRM-11")
async def test_the_framing_of_a_stream_can_be_told() -> None:
    peer = ScriptedPeer(streaming=True)
    peer.script(Operation.SEND, CloseDelimited(), Chunked(10))
    async with peer.serve() as url:
        async with wire_to(url) as wire:
            await wire.say(call_for("hello"))
            came, ending = await wire.hear_the_end()
        assert (came.endswith(b"\n\n"), ending) == (True, "fin")
        async with wire_to(url) as wire:
            await wire.say(call_for("hello"))
            chunks = await wire.hear_until(b"\r\n0\r\n\r\n")
    assert b'\r\na\r\ndata: {"re\r\na\r\n' in chunks


@pytest.mark.spec("STRM-11")
async def test_a_client_of_http_1_0_gets_a_stream_that_ends_with_the_connection() -> None:
    peer = ScriptedPeer(streaming=True)
    async with peer.serve() as url, wire_to(url) as wire:
        await wire.say(call_for("hello").replace(b"HTTP/1.1", b"HTTP/1.0"))
        came, ending = await wire.hear_the_end()
    assert b"transfer-encoding" not in came
    assert (came.count(b"data: "), ending) == (1, "fin")


# Who ends it


@pytest.mark.spec("STRM-12")
@pytest.mark.parametrize("behaviour", [Honest(), StopStream(2, Stop.SILENCE), Pings(0.01)], ids=str)
async def test_a_client_that_leaves_is_seen_at_once(behaviour: Behaviour) -> None:
    peer = ScriptedPeer(streaming=True)
    peer.script(Operation.SEND, behaviour)
    over: list[Happening] = []
    async with peer.serve(observer=over.append) as url:
        async with wire_to(url) as wire:
            await wire.say(call_for("stuck"))
            await wire.hear_until(b"working on it")
            assert stream_of(peer) == StreamFact(2, StreamEnd.OPEN, None)
            left = anyio.current_time()
        await until(lambda: peer.truth.open == 0)
        fact = stream_of(peer)
        assert fact.end is StreamEnd.CLIENT
        assert fact.closed is not None
        assert 0 <= fact.closed - left < 1
    assert [one.parting for one in over if isinstance(one, RequestOver)] == [Parting.LEFT]
    assert peer.truth.tasks[0].state == "working"


@pytest.mark.spec("STRM-12", "PORT-7")
async def test_the_end_of_the_port_ends_its_streams() -> None:
    peer = ScriptedPeer(streaming=True)
    peer.script(Operation.SEND, StopStream(2, Stop.SILENCE))
    with anyio.fail_after(PATIENCE):
        async with peer.serve() as url:
            wire = await open_wire(url)
            await wire.say(call_for("stuck"))
            await wire.hear_until(b"working on it")
            assert stream_of(peer).end is StreamEnd.OPEN
        assert stream_of(peer).end is StreamEnd.PEER
        assert peer.truth.open == 0
        async with wire.stream:
            assert b"data: " not in (await wire.hear_the_end())[0]


# Both ways

STREAMED: list[Behaviour] = [
    Honest(),
    DropAfterAccepting(200),
    DropAfterAccepting(0, headers_sent=True, loss=Loss.READ_ERROR),
    Respond(200, {"content-type": "text/event-stream"}, b"data: {}\n\n"),
    RpcError(-32603, accepts=True),
    WrongId(),
    UnknownState("PONDERING"),
    Rewrite(lambda reply: [reply]),
    Unstreamed(),
    Unstreamed(waits=True),
    Delay(0.01, Dribble(50, 0.0)),
    StopStream(1),
    StopStream(1, Stop.CUT),
    EventOrder((2, 1, 1)),
    WithoutEvents(EventKind.ARTIFACT),
    InsertBytes(1, b"data: [DONE]\n\n"),
    PadEvent(1, 100_000),
    GreedyFirstChunk(),
    EventFormat(LineEnd.CR, bom=True, multi_line=True, ids=True, retry=5, name="x", space=False),
    Gathered(2),
    SplitInside("data"),
    *(InsertEvent(1, what) for what in Intruder),
]


async def seen_of(
    behaviour: Behaviour,
    version: str,
    operation: Operation,
    *,
    on_a_port: bool,
    first: str = "",
) -> tuple[object, ...]:
    peer = ScriptedPeer((version,), streaming=True)
    async with peer.client(timeout=PATIENCE) as near:
        speaker = Speaker(peer, near, version)
        text = "chunks 1" if isinstance(behaviour, GreedyFirstChunk) else "task"
        params: Reply = {"message": speaker.message(text, "m")}
        if operation is Operation.SUBSCRIBE:
            await speaker.send(first, "first", immediate=True)
            params = {"id": peer.truth.tasks[0].id}
        peer.script(operation, behaviour)
        name = "subscribe" if operation is Operation.SUBSCRIBE else "stream"
        if on_a_port:
            async with peer.serve() as url, far_client() as far:
                heard = await hear(Speaker(peer, far, version), name, params, url=f"{url}/rpc")
                await until(lambda: peer.truth.open == 0)
        else:
            heard = await hear(speaker, name, params)
    fact = peer.truth.requests[-1].stream
    return (
        heard.status,
        heard.headers["content-type"],
        _TIME.sub(b"", heard.body),
        ended(heard),
        dict(peer.truth.runs),
        fact and (fact.events, fact.end),
        len(peer.truth.tasks),
    )


def ended(heard: Heard) -> bool:
    """Whether it came to its end; how a loss looks differs with the wire."""
    return heard.ending == "closed"


@pytest.mark.spec("PORT-2")
@pytest.mark.parametrize("version", ["1.0", "0.3"])
@pytest.mark.parametrize("behaviour", STREAMED, ids=str)
async def test_a_stream_is_the_same_in_process_and_on_a_port(
    behaviour: Behaviour, version: str
) -> None:
    near = await seen_of(behaviour, version, Operation.SEND, on_a_port=False)
    far = await seen_of(behaviour, version, Operation.SEND, on_a_port=True)
    assert near == far


@pytest.mark.spec("PORT-2")
@pytest.mark.parametrize(
    ("behaviour", "first"),
    [
        (Subscription(), "slow 0.5"),
        *((Subscription(Opening.SNAPSHOT, one), "task") for one in Finished),
    ],
    ids=str,
)
async def test_a_subscription_is_the_same_in_process_and_on_a_port(
    behaviour: Behaviour, first: str
) -> None:
    subscribe = Operation.SUBSCRIBE
    near = await seen_of(behaviour, "1.0", subscribe, on_a_port=False, first=first)
    far = await seen_of(behaviour, "1.0", subscribe, on_a_port=True, first=first)
    assert near == far


@pytest.mark.spec("STRM-11", "BYTES-6")
async def test_an_interim_reply_comes_before_a_stream() -> None:
    peer = ScriptedPeer(streaming=True)
    peer.script(Operation.SEND, Interim(103, 1, StopStream(1)))
    async with peer.serve() as url, wire_to(url) as wire:
        await wire.say(call_for("task"))
        came = await wire.hear_until(b"\r\n0\r\n\r\n")
    assert came.startswith(b"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\n")
