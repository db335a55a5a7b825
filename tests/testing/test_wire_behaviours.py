"""What only a wire can do: every behaviour that needs a port, byte for byte."""

from __future__ import annotations

import gzip
import json
import zlib

import anyio
import httpx
import pytest

from a2a_delegate import A2ADelegateConfig, Completed, UsageError, connect
from a2a_delegate.testing import (
    Behaviour,
    Chunked,
    Close,
    CloseAfterReply,
    CloseDelimited,
    Coding,
    Compressed,
    CutReply,
    Delay,
    Dribble,
    DropAfterAccepting,
    DropBeforeReading,
    DropWhileReading,
    EarlyReply,
    Endless,
    Happening,
    Honest,
    Interim,
    Loss,
    Moment,
    Operation,
    Overtaken,
    Parting,
    RawReply,
    Redirect,
    RequestOver,
    Respond,
    RpcError,
    ScriptedPeer,
    WrongLength,
)
from tests.testing.plain_wire import PATIENCE, request, send_of, until, until_come, wire_to

pytestmark = pytest.mark.anyio

CARD = request("card")
BODY = b"hello"
HEAD = b"HTTP/1.1 200 OK\r\nx: y\r\ncontent-length: 5\r\n\r\n"
PLAIN = Respond(200, {"x": "y"}, BODY)


async def heard(behaviour: Behaviour, *, then: bytes = b"") -> tuple[bytes, str]:
    """Ask for the card under a behaviour, and return all that comes up to the end."""
    peer = ScriptedPeer()
    peer.script(Operation.CARD, behaviour)
    async with peer.serve() as url, wire_to(url) as wire:
        await wire.say(CARD + then)
        return await wire.hear_the_end()


# Cut at any byte


@pytest.mark.spec("BYTES-1")
@pytest.mark.parametrize("by", list(Close))
async def test_a_reply_is_cut_at_any_byte_of_it_by_fin_and_by_rst(by: Close) -> None:
    peer = ScriptedPeer()
    whole = HEAD + BODY
    cuts = [*range(len(whole) + 1), len(whole) + 100]
    peer.script(Operation.CARD, *(CutReply(at, by, PLAIN) for at in cuts))
    async with peer.serve() as url:
        for at in cuts:
            async with wire_to(url) as wire:
                await wire.say(CARD)
                assert await wire.hear_the_end() == (whole[:at], by)


@pytest.mark.spec("BYTES-1")
async def test_a_cut_comes_after_the_work_was_begun() -> None:
    peer = ScriptedPeer()
    peer.script(Operation.SEND, CutReply(0))
    async with peer.serve() as url, wire_to(url) as wire:
        await wire.say(request("send", send_of("hi")))
        assert await wire.hear_the_end() == (b"", "fin")
    assert peer.truth.runs["m"] == 1


@pytest.mark.spec("BYTES-1")
async def test_a_cut_can_be_laid_around_every_other_behaviour() -> None:
    inner = Interim(103, 1, Chunked(2, PLAIN))
    whole = (
        b"HTTP/1.1 103 Early Hints\r\n\r\n"
        b"HTTP/1.1 200 OK\r\nx: y\r\ntransfer-encoding: chunked\r\n\r\n"
        b"2\r\nhe\r\n2\r\nll\r\n1\r\no\r\n0\r\n\r\n"
    )
    for at in (3, 20, 40, len(whole) - 6, len(whole)):
        assert await heard(CutReply(at, Close.RST, inner)) == (whole[:at], "rst")


# A connection that is kept alive, and is not


@pytest.mark.spec("BYTES-2")
@pytest.mark.parametrize("by", list(Close))
async def test_a_connection_is_closed_right_after_a_reply_that_keeps_it(by: Close) -> None:
    assert await heard(CloseAfterReply(Moment.AT_ONCE, by, PLAIN)) == (HEAD + BODY, by)


@pytest.mark.spec("BYTES-2")
@pytest.mark.parametrize("by", list(Close))
async def test_an_idle_connection_is_closed_as_the_next_request_arrives(by: Close) -> None:
    peer = ScriptedPeer()
    told: list[Happening] = []
    peer.script(Operation.CARD, CloseAfterReply(Moment.NEXT_REQUEST, by))
    async with peer.serve(observer=told.append) as url, wire_to(url) as wire:
        await wire.say(CARD)
        assert b"connection: close" not in await wire.hear_reply()
        with anyio.move_on_after(0.05) as waited:
            await wire.hear_until(b"anything")
        assert waited.cancelled_caught, "it was closed before the next request"
        await wire.say(request("send", send_of("hi")))
        assert await wire.hear_the_end() == (b"", by)
    assert dict(peer.truth.runs) == {}
    card, unserved = peer.truth.requests
    assert card.operation is Operation.CARD
    assert (unserved.method, unserved.operation, unserved.body_read) == ("POST", None, False)
    over = [one for one in told if isinstance(one, RequestOver)]
    assert over[1].behaviour is None
    assert over[1].parting is (Parting.CLOSED if by is Close.FIN else Parting.RESET)


@pytest.mark.spec("BYTES-2")
async def test_a_request_that_came_ahead_finds_the_connection_closed_as_well() -> None:
    came, ending = await heard(CloseAfterReply(Moment.NEXT_REQUEST, then=PLAIN), then=CARD)
    assert (came, ending) == (HEAD + BODY, "fin")


@pytest.mark.spec("BYTES-2")
async def test_a_half_closed_connection_takes_requests_and_answers_none() -> None:
    peer = ScriptedPeer()
    peer.script(Operation.CARD, CloseAfterReply(Moment.HALF, then=PLAIN))
    async with peer.serve() as url, wire_to(url) as wire:
        await wire.say(CARD)
        assert await wire.hear_the_end() == (HEAD + BODY, "fin")
        for _ in range(3):
            await wire.say(request("send", send_of("hi")))
            await anyio.sleep(0.01)
    assert dict(peer.truth.runs) == {}
    assert [fact.operation for fact in peer.truth.requests] == [Operation.CARD, None]


@pytest.mark.spec("BYTES-2")
async def test_a_client_that_leaves_an_unserved_connection_ends_it() -> None:
    peer = ScriptedPeer()
    peer.always(Operation.CARD, CloseAfterReply(Moment.NEXT_REQUEST))
    async with peer.serve() as url:
        for _ in range(3):
            async with wire_to(url) as wire:
                await wire.say(CARD)
                await wire.hear_reply()
    assert len(peer.truth.requests) == 3


# In pieces, and in another order


@pytest.mark.spec("BYTES-3")
async def test_a_reply_dribbles_head_and_all() -> None:
    peer = ScriptedPeer()
    peer.script(Operation.CARD, Dribble(7, 0.005, PLAIN))
    pieces: list[bytes] = []
    async with peer.serve() as url, wire_to(url) as wire:
        begun = anyio.current_time()
        await wire.say(CARD)
        while len(b"".join(pieces)) < len(HEAD + BODY):
            pieces.append(await wire.stream.receive())
        seconds = anyio.current_time() - begun
    assert b"".join(pieces) == HEAD + BODY
    assert len(pieces) > 3
    assert seconds >= 0.005 * (len(HEAD + BODY) // 7 - 1)


@pytest.mark.spec("BYTES-3")
async def test_a_reply_dribbles_in_process_as_well() -> None:
    peer = ScriptedPeer()
    peer.script(Operation.CARD, Dribble(2, 0.005, PLAIN))
    async with peer.client() as client:
        begun = anyio.current_time()
        url = "https://peer.example/.well-known/agent-card.json"
        async with client.stream("GET", url) as response:
            pieces = [piece async for piece in response.aiter_raw()]
        assert anyio.current_time() - begun >= 0.01
    assert pieces == [b"he", b"ll", b"o"]


@pytest.mark.spec("BYTES-4")
@pytest.mark.parametrize("on_a_port", [True, False])
async def test_the_reply_to_the_request_sent_first_comes_second(*, on_a_port: bool) -> None:
    peer = ScriptedPeer()
    order: list[str] = []
    peer.script(Operation.GET, Overtaken(Operation.CANCEL), Honest())

    async def ask(client: httpx.AsyncClient, url: str, operation: str) -> None:
        content = request(operation, {"id": "x"}).partition(b"\r\n\r\n")[2]
        await client.post(url, content=content, headers={"A2A-Version": "1.0"})
        order.append(operation)

    async def ask_all(client: httpx.AsyncClient, url: str) -> None:
        with anyio.fail_after(PATIENCE):
            async with anyio.create_task_group() as group:
                for number, asked in enumerate(("get", "list", "cancel"), 1):
                    group.start_soon(ask, client, url, asked)
                    await until_come(peer, number)

    if on_a_port:
        async with peer.serve() as url, httpx.AsyncClient() as client:
            await ask_all(client, f"{url}/rpc")
    else:
        async with peer.client() as client:
            await ask_all(client, peer.url)
    assert order == ["list", "cancel", "get"]
    assert peer.truth.open == 0


@pytest.mark.spec("BYTES-4")
async def test_on_one_connection_no_reply_overtakes_another() -> None:
    peer = ScriptedPeer()
    peer.script(Operation.CARD, Overtaken())
    async with peer.serve() as url, wire_to(url) as wire:
        await wire.say(CARD + request("get", {"id": "x"}))
        with anyio.move_on_after(0.05) as waited:
            await wire.hear_reply()
        assert waited.cancelled_caught
        peer.release()
        assert b"supportedInterfaces" in await wire.hear_reply()
        assert b"-32001" in await wire.hear_reply()


async def test_a_reply_that_was_overtaken_before_it_was_ready_is_not_held() -> None:
    peer = ScriptedPeer()
    peer.script(Operation.SEND, Overtaken())
    async with peer.serve() as url, wire_to(url) as first, wire_to(url) as second:
        await first.say(request("send", send_of("slow 0.05")))
        await second.say(CARD)
        await second.hear_reply()
        assert b"TASK_STATE_COMPLETED" in await first.hear_reply()


# How a body says where it ends


@pytest.mark.spec("BYTES-5")
async def test_a_length_is_announced_that_is_wrong() -> None:
    head = b"HTTP/1.1 200 OK\r\nx: y\r\ncontent-length: %d\r\n\r\n"
    assert await heard(WrongLength(3, PLAIN)) == (head % 8 + BODY, "fin")
    peer = ScriptedPeer()
    peer.script(Operation.CARD, WrongLength(-3, PLAIN), WrongLength(-99, PLAIN), PLAIN)
    async with peer.serve() as url, wire_to(url) as wire:
        for announced in (2, 0, 5):
            await wire.say(CARD)
            expected = head % announced + BODY
            assert await wire.hear_until(expected) == expected


@pytest.mark.spec("BYTES-5")
async def test_a_body_ends_with_its_connection() -> None:
    head = b"HTTP/1.1 200 OK\r\nx: y\r\nconnection: close\r\n\r\n"
    assert await heard(CloseDelimited(PLAIN)) == (head + BODY, "fin")
    cut = CutReply(len(head) + 2, then=CloseDelimited(PLAIN))
    assert await heard(cut) == (head + BODY[:2], "fin")


@pytest.mark.spec("BYTES-5")
async def test_a_body_comes_in_chunks() -> None:
    peer = ScriptedPeer()
    peer.script(Operation.CARD, Chunked(2, PLAIN), Chunked(3, DropAfterAccepting(4)))
    head = b"HTTP/1.1 200 OK\r\nx: y\r\ntransfer-encoding: chunked\r\n\r\n"
    async with peer.serve() as url, wire_to(url) as wire:
        await wire.say(CARD)
        expected = head + b"2\r\nhe\r\n2\r\nll\r\n1\r\no\r\n0\r\n\r\n"
        assert await wire.hear_until(expected) == expected
        await wire.say(CARD)
        came, ending = await wire.hear_the_end()
    assert came.partition(b"\r\n\r\n")[2] == b'3\r\n{"n\r\n1\r\na\r\n'
    assert ending == "fin"


@pytest.mark.spec("BYTES-5")
async def test_what_a_script_says_of_a_length_stands() -> None:
    for name in ("Content-Length", "Transfer-Encoding"):
        reply = Respond(200, {name: "17"}, BODY)
        came, _ = await heard(CutReply(1_000, then=reply))
        assert came == f"HTTP/1.1 200 OK\r\n{name}: 17\r\n\r\n".encode() + BODY


@pytest.mark.spec("BYTES-5")
async def test_a_reply_without_a_body_has_no_length() -> None:
    for status, phrase in [(204, b"No Content"), (304, b"Not Modified"), (299, b"")]:
        came, _ = await heard(CutReply(1_000, then=Compressed(then=Respond(status))))
        coded = b"" if status in {204, 304} else b"content-encoding: gzip\r\ncontent-length: 20\r\n"
        assert came.startswith(b"HTTP/1.1 %d %b\r\n%b\r\n" % (status, phrase, coded))


@pytest.mark.spec("BYTES-6")
async def test_interim_replies_come_before_the_final_one() -> None:
    came, _ = await heard(CutReply(1_000, then=Interim(199, 3, PLAIN)))
    assert came == b"HTTP/1.1 199 \r\n\r\n" * 3 + HEAD + BODY


@pytest.mark.spec("BYTES-6")
@pytest.mark.parametrize("on_a_port", [True, False])
@pytest.mark.parametrize("coding", list(Coding))
async def test_a_body_is_compressed_unasked(coding: Coding, *, on_a_port: bool) -> None:
    peer = ScriptedPeer()
    unpack = gzip.decompress if coding is Coding.GZIP else zlib.decompress
    peer.script(Operation.CARD, Compressed(coding), Compressed(coding, Endless(10**6)))
    async with peer.serve() as url, httpx.AsyncClient() as far, peer.client() as near:
        client = far if on_a_port else near
        origin = url if on_a_port else "https://peer.example"
        bodies = []
        for _ in range(2):
            async with client.stream("GET", f"{origin}/.well-known/agent-card.json") as response:
                assert response.headers["content-encoding"] == coding
                bodies.append(b"".join([piece async for piece in response.aiter_raw()]))
    assert json.loads(unpack(bodies[0]))["name"] == "Scripted peer"
    assert len(unpack(bodies[1])) == 10**6
    assert len(bodies[1]) < 5_000


# Bytes that are no reply, and replies before their time


@pytest.mark.spec("BYTES-7")
@pytest.mark.parametrize("accepts", [True, False])
async def test_any_bytes_can_stand_for_a_reply(*, accepts: bool) -> None:
    peer = ScriptedPeer()
    raw = b"ICY 200 \xff\x00\r\n"
    peer.script(Operation.SEND, Dribble(3, 0.001, RawReply(raw, Close.RST, accepts=accepts)))
    async with peer.serve() as url, wire_to(url) as wire:
        await wire.say(request("send", send_of("hi")))
        assert await wire.hear_the_end() == (raw, "rst")
    assert peer.truth.runs["m"] == accepts


@pytest.mark.spec("BYTES-8")
@pytest.mark.parametrize(
    ("answer", "status"),
    [(Respond(413), 413), (Redirect(307, "/"), 307), (RpcError(-1, with_id=False), 200)],
)
async def test_a_reply_comes_before_the_request_has(
    answer: Respond | Redirect | RpcError, status: int
) -> None:
    peer = ScriptedPeer()
    peer.script(Operation.SEND, EarlyReply(answer))
    whole = request("send", send_of("x" * 100_000))
    async with peer.serve() as url, wire_to(url) as wire:
        await wire.say(whole[:1_000])
        head = await wire.hear_until(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 %d " % status)
        assert b"connection: close" in head
        await wire.say(whole[1_000:])
        await wire.hear_the_end()
    assert dict(peer.truth.runs) == {}
    (fact,) = peer.truth.requests
    assert fact.operation is Operation.SEND
    assert fact.body is None
    assert len(fact.content) < 1_000


@pytest.mark.spec("BYTES-8")
async def test_an_early_reply_can_reset_the_one_that_still_sends() -> None:
    peer = ScriptedPeer()
    peer.script(Operation.SEND, EarlyReply(drains=False))
    async with peer.serve() as url, wire_to(url) as wire:
        with pytest.raises(anyio.BrokenResourceError):
            await wire.say(request("send", send_of("x" * 50_000_000)))
    assert dict(peer.truth.runs) == {}


@pytest.mark.spec("BYTES-8")
async def test_what_is_asked_may_stand_after_the_parameters() -> None:
    """Then it is known only in the end, and what comes of the reply is the same."""
    peer = ScriptedPeer()
    peer.script(Operation.SEND, EarlyReply())
    call = {"jsonrpc": "2.0", "id": 1, "params": send_of('{"method": "GetTask"}')}
    body = json.dumps({**call, "method": "SendMessage"}).encode()
    head = f"POST /rpc HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    async with peer.serve() as url, wire_to(url) as wire:
        await wire.say(head + body[:-20])
        await anyio.sleep(0.02)
        await wire.say(body[-20:])
        assert (await wire.hear_reply()).startswith(b"HTTP/1.1 413 ")
    assert dict(peer.truth.runs) == {}
    assert peer.pending == ()


# What the behaviours of old do to a real connection


@pytest.mark.spec("BYTES-9")
@pytest.mark.parametrize(
    ("loss", "ending"),
    [
        (Loss.DISCONNECTED, "fin"),
        (Loss.READ_ERROR, "rst"),
        (Loss.WRITE_ERROR, "rst"),
        (Loss.READ_TIMEOUT, None),
        (Loss.WRITE_TIMEOUT, None),
    ],
)
async def test_a_loss_is_a_close_a_reset_or_silence(loss: Loss, ending: str | None) -> None:
    peer = ScriptedPeer()
    kinds: list[tuple[Behaviour, bytes, bool, int]] = [
        (DropBeforeReading(loss), b"", False, 0),
        (DropWhileReading(loss), b"", True, 0),
        (DropAfterAccepting(loss=loss), b"", True, 1),
        (DropAfterAccepting(loss=loss, headers_sent=True), b"\r\n\r\n", True, 1),
        (DropAfterAccepting(9, loss=loss), b'\r\n\r\n{"result"', True, 1),
    ]
    for number, (behaviour, last, read, runs) in enumerate(kinds):
        peer.script(Operation.SEND, behaviour)
        async with peer.serve() as url, wire_to(url) as wire:
            await wire.say(request("send", send_of("hi", f"m{number}")))
            heard_all = None
            with anyio.move_on_after(0.05 if ending is None else PATIENCE):
                heard_all = await wire.hear_the_end()
            assert (heard_all is None) == (ending is None)
            came, seen = heard_all or (wire.came, None)
            assert seen == ending
            assert came.endswith(last)
            assert bool(came) == bool(last)
        fact = peer.truth.requests[-1]
        assert (fact.operation, fact.body_read) == (Operation.SEND, read)
        assert peer.truth.runs[f"m{number}"] == runs


@pytest.mark.spec("BYTES-9")
async def test_a_body_without_end_comes_in_chunks_for_as_long_as_it_is_wanted() -> None:
    peer = ScriptedPeer()
    peer.script(Operation.CARD, Endless(10**15))
    async with peer.serve() as url, wire_to(url) as wire:
        await wire.say(CARD)
        assert b"transfer-encoding: chunked" in await wire.hear_until(b"\r\n\r\n")
        while len(wire.came) < 10**6:
            wire.came += await wire.stream.receive()
        assert peer.truth.open == 1


# Where they may stand


@pytest.mark.spec("BYTES-10")
@pytest.mark.parametrize(
    "behaviour",
    [
        RawReply(b"x"),
        CutReply(1),
        CloseAfterReply(),
        WrongLength(1),
        CloseDelimited(),
        Chunked(),
        Interim(),
        EarlyReply(),
        Dribble(1, 0, Delay(0, Chunked())),
    ],
    ids=repr,
)
async def test_what_needs_a_port_says_so_in_process(behaviour: Behaviour) -> None:
    peer = ScriptedPeer()
    peer.script(Operation.SEND, behaviour)
    async with peer.client() as client:
        content = request("send", send_of("hi")).partition(b"\r\n\r\n")[2]
        with pytest.raises(UsageError, match=r"\w+ needs a port, on which ScriptedPeer\.serve"):
            await client.post(peer.url, content=content, headers={"A2A-Version": "1.0"})
    assert dict(peer.truth.runs) == {}
    assert peer.truth.open == 0


@pytest.mark.spec("BYTES-10")
@pytest.mark.parametrize(
    "behaviour",
    [
        Chunked(1, WrongLength(1)),
        CloseDelimited(Chunked()),
        CutReply(1, then=CutReply(2)),
        CutReply(1, then=CloseAfterReply()),
        Dribble(1, 1, Overtaken(then=Dribble(1, 1))),
        Compressed(then=Compressed()),
        Interim(then=Interim()),
        Chunked(1, RawReply(b"x")),
    ],
    ids=repr,
)
async def test_what_contradicts_itself_is_refused(behaviour: Behaviour) -> None:
    with pytest.raises(UsageError, match=r"only one \w+|RawReply is no HTTP reply"):
        ScriptedPeer().script(Operation.SEND, behaviour)


@pytest.mark.spec("BYTES-10")
@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: CutReply(-1), "counts bytes from 0"),
        (lambda: Dribble(0, 1), "a size from 1"),
        (lambda: Dribble(1, -1), "seconds from 0"),
        (lambda: Dribble(1, float("inf")), "seconds from 0"),
        (lambda: WrongLength(0), "a length that is wrong"),
        (lambda: Chunked(0), "a size from 1"),
        (lambda: Interim(200), "a status from 100 to 199"),
        (lambda: Interim(103, -1), "times from 0"),
        (lambda: EarlyReply(Respond(413, accepts=True)), "without an effect"),
        (lambda: EarlyReply(RpcError(-1)), "with_id=False"),
        (
            lambda: EarlyReply(Honest()),  # type: ignore[arg-type]
            "a Respond, a Redirect or an RpcError",
        ),
    ],
)
async def test_numbers_that_mean_nothing_are_refused(make: object, reason: str) -> None:
    assert callable(make)
    with pytest.raises(UsageError, match=reason):
        make()


# The delegate meets them


@pytest.mark.parametrize(
    "behaviour",
    [
        Chunked(7),
        CloseDelimited(),
        Interim(103, 2),
        Dribble(100, 0.001),
        CloseAfterReply(),
        CloseAfterReply(by=Close.RST),
        CloseAfterReply(Moment.HALF),
        Overtaken(),
        CutReply(10**6),
        CutReply(10**6, Close.RST),
    ],
    ids=repr,
)
async def test_a_reply_that_is_whole_is_taken_however_it_comes(behaviour: Behaviour) -> None:
    peer = ScriptedPeer(("0.3",))
    peer.script(Operation.SEND, behaviour)
    config = A2ADelegateConfig(timeout=PATIENCE, poll_interval=0.02)
    async with (
        peer.serve() as url,
        connect(url, config=config) as delegate,
        anyio.create_task_group() as group,
    ):
        if isinstance(behaviour, Overtaken):
            group.start_soon(overtake, url, peer)
        result = await delegate.dispatch("slow 0.05")
    assert isinstance(result, Completed)
    assert list(peer.truth.runs.values()) == [1]


async def overtake(url: str, peer: ScriptedPeer) -> None:
    """Ask for the card once the send has come."""
    await until(lambda: peer.truth.sends == 1)
    async with wire_to(url) as wire:
        await wire.say(CARD)
        await wire.hear_reply()
