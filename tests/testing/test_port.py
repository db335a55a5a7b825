"""The scripted peer on a TCP port: where it stands, whom it answers, and how it ends."""

from __future__ import annotations

import gc
import json
import resource
import socket
import struct
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import anyio
import httpx
import pytest

from a2a_delegate import A2ADelegateConfig, Completed, UsageError, connect
from a2a_delegate.testing import (
    ConnectionRefused,
    Delay,
    Dribble,
    Endless,
    Hang,
    Happening,
    Honest,
    Operation,
    Overtaken,
    Parting,
    RefuseConnection,
    RequestArrived,
    RequestOver,
    Rewrite,
    RpcError,
    ScriptedPeer,
)
from a2a_delegate.testing.connection import MAX_BODY, MAX_HEAD
from tests.testing.plain_wire import (
    PATIENCE,
    open_wire,
    request,
    send_of,
    until,
    until_come,
    wire_to,
)
from tests.testing.speaking import Speaker, state

if TYPE_CHECKING:
    from a2a_delegate.testing import Behaviour
    from a2a_delegate.testing.acts import JsonValue

pytestmark = pytest.mark.anyio

QUICK = A2ADelegateConfig(timeout=PATIENCE, poll_interval=0.02)


# Where it stands


@pytest.mark.spec("PORT-1")
@pytest.mark.parametrize("versions", [("1.0",), ("0.3",), ("0.2",), ("0.3", "1.0")], ids="+".join)
async def test_a_delegate_finds_it_by_its_url_and_delegates(versions: tuple[str, ...]) -> None:
    peer = ScriptedPeer(versions)
    async with peer.serve() as url, connect(url, config=QUICK) as delegate:
        assert url.startswith("http://127.0.0.1:")
        result = await delegate.dispatch("slow 0.05")
    assert isinstance(result, Completed)
    assert result.output == "result of slow 0.05"
    assert [(fact.text, str(fact.state)) for fact in peer.truth.tasks] == [
        ("slow 0.05", "completed")
    ]
    assert list(peer.truth.runs.values()) == [1]
    assert peer.truth.open == 0


@pytest.mark.spec("PORT-1")
async def test_the_card_that_is_served_names_the_address_that_it_is_served_at() -> None:
    peer = ScriptedPeer(("1.0", "0.3"), url="https://peer.example/agents/one?x=%2F")
    before = peer.card()
    async with peer.serve() as url, httpx.AsyncClient() as client:
        card = (await client.get(f"{url}/.well-known/agent-card.json")).json()
        endpoint = f"{url}/agents/one?x=%2F"
        assert [one["url"] for one in card["supportedInterfaces"]] == [endpoint, endpoint]
        assert card["url"] == endpoint
        for target, status in [("/agents/one?x=%2F", 405), ("/agents", 404), ("//[", 404)]:
            assert (await client.get(f"{url}{target}")).status_code == status
    assert peer.card() == before
    assert peer.truth.requests[0].url == f"{url}/.well-known/agent-card.json"


@pytest.mark.spec("PORT-2")
async def test_it_is_the_same_peer_in_process_and_on_every_port() -> None:
    peer = ScriptedPeer()
    peer.script(Operation.GET, RpcError(-1), RpcError(-2), RpcError(-3))
    async with (
        peer.client() as near,
        peer.serve() as one,
        peer.serve() as other,
        httpx.AsyncClient() as far,
    ):
        task = await Speaker(peer, near).sent_task("stuck", immediate=True)
        seen = [
            (await far.post(f"{url}/rpc", **call("get", id=task["id"]))).json()["error"]["code"]
            for url in (one, other)
        ]
        assert seen == [-1, -2]
        assert (await Speaker(peer, near).get(task["id"]))["code"] == -3
        await far.post(f"{one}/rpc", **call("cancel", id=task["id"]))
        assert state(await Speaker(peer, near).get(task["id"])) == "canceled"
    assert [fact.cancel_requests for fact in peer.truth.tasks] == [1]
    assert len(peer.truth.requests) == 6


def call(operation: str, **params: object) -> dict[str, Any]:
    content = request(operation, params)
    return {"content": content.partition(b"\r\n\r\n")[2], "headers": {"A2A-Version": "1.0"}}


async def test_it_may_be_served_again() -> None:
    peer = ScriptedPeer()
    for _ in range(2):
        async with peer.serve() as url, connect(url, config=QUICK) as delegate:
            assert isinstance(await delegate.dispatch("hi"), Completed)
    assert len(peer.truth.tasks) == 2


@pytest.mark.spec("PORT-3")
@pytest.mark.parametrize(
    ("host", "begins"),
    [("::1", "http://[::1]:"), ("localhost", "http://localhost:"), ("", "http://")],
)
async def test_it_is_called_by_the_name_that_it_was_given(host: str, begins: str) -> None:
    async with ScriptedPeer().serve(host) as url, connect(url, config=QUICK) as delegate:
        assert url.startswith(begins)
        assert isinstance(await delegate.dispatch("hi"), Completed)


@pytest.mark.spec("PORT-3")
async def test_one_that_listens_everywhere_is_called_as_its_client_calls_it() -> None:
    async with ScriptedPeer().serve("0.0.0.0") as url:  # noqa: S104 - that is the example
        port = url.rpartition(":")[2]
        assert url == f"http://127.0.0.1:{port}"
        for host, known in [
            ("agent.example:81", "agent.example:81"),
            ("[::2]", "[::2]"),
            ("evil/../\\", f"127.0.0.1:{port}"),
        ]:
            async with wire_to(url) as wire:
                await wire.say(request("card").replace(b"Host: x", f"Host: {host}".encode()))
                card = json.loads((await wire.hear_reply()).partition(b"\r\n\r\n")[2])
            assert card["supportedInterfaces"][0]["url"] == f"http://{known}/rpc"


@pytest.mark.spec("PORT-3")
async def test_where_nothing_can_listen_it_says_so() -> None:
    peer = ScriptedPeer()
    async with peer.serve() as url:
        taken = int(url.rpartition(":")[2])
        for host, port in [
            ("127.0.0.1", taken),
            ("127.0.0.1", 70_000),
            ("no such host", 0),
            ("x" * 70, 0),
        ]:
            with pytest.raises(UsageError, match=f"cannot listen at {host}:{port}: "):
                async with peer.serve(host, port):
                    raise AssertionError("it listens")
        async with connect(url, config=QUICK) as delegate:
            assert isinstance(await delegate.dispatch("hi"), Completed)


# What it hears


@pytest.mark.spec("PORT-4")
async def test_requests_over_one_connection_are_answered_in_their_order() -> None:
    peer = ScriptedPeer()
    peer.script(Operation.SEND, Delay(0.05))
    async with peer.serve() as url, wire_to(url) as wire:
        await wire.say(request("send", send_of("hi")) + request("get", {"id": "x"}))
        await wire.say(request("card"))
        replies = [await wire.hear_reply() for _ in range(3)]
    assert b'"task"' in replies[0]
    assert b"-32001" in replies[1]
    assert b"supportedInterfaces" in replies[2]


@pytest.mark.spec("PORT-4")
async def test_a_client_that_waits_to_send_its_body_is_told_to_go_on() -> None:
    whole = request("get", {"id": "x"}, headers="Expect: 100-continue\r\n")
    head, _, body = whole.partition(b"\r\n\r\n")
    async with ScriptedPeer().serve() as url, wire_to(url) as wire:
        await wire.say(head + b"\r\n\r\n")
        assert await wire.hear_until(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        await wire.say(body)
        assert b"-32001" in await wire.hear_reply()


@pytest.mark.spec("PORT-4")
@pytest.mark.parametrize(
    ("old", "new"),
    [(b"HTTP/1.1", b"HTTP/1.0"), (b"Host: x", b"Host: x\r\nConnection: close")],
)
async def test_a_client_that_wants_no_more_gets_the_connection_closed(
    old: bytes, new: bytes
) -> None:
    peer = ScriptedPeer()
    peer.script(Operation.CARD, Honest(), Endless(100_000, accepts=False))
    async with peer.serve() as url:
        for _ in range(2):
            async with wire_to(url) as wire:
                await wire.say(request("card").replace(old, new))
                came, ending = await wire.hear_the_end()
                assert ending == "fin"
                assert b"connection: close" in came
                chunked = b"transfer-encoding: chunked" in came
    assert chunked is (new != b"HTTP/1.0")


async def test_a_head_is_asked_for_without_a_body() -> None:
    async with ScriptedPeer().serve() as url, httpx.AsyncClient() as client:
        seen = await client.head(f"{url}/.well-known/agent-card.json")
        assert (seen.status_code, seen.content) == (405, b"")
        assert (await client.get(f"{url}/.well-known/agent-card.json")).status_code == 200


@pytest.mark.spec("PORT-5")
@pytest.mark.parametrize(
    ("content", "status"),
    [
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\n\r\n", 400),
        (b"POST /rpc HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", 400),
        (b"POST /rpc HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400),
        (b"GET /" + b"x" * MAX_HEAD, 431),
        (
            b"POST /rpc HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % (MAX_BODY + 1),
            413,
        ),
    ],
    ids=lambda value: repr(value)[:30],
)
async def test_what_is_no_request_is_refused_and_harms_nobody(content: bytes, status: int) -> None:
    peer = ScriptedPeer()
    told: list[Happening] = []
    async with peer.serve(observer=told.append) as url:
        async with wire_to(url) as wire:
            await wire.say(content)
            came, _ = await wire.hear_the_end()
        assert came.startswith(f"HTTP/1.1 {status} ".encode())
        async with connect(url, config=QUICK) as delegate:
            assert isinstance(await delegate.dispatch("hi"), Completed)
    assert any(isinstance(one, ConnectionRefused) for one in told)
    assert peer.truth.open == 0


@pytest.mark.spec("PORT-5")
async def test_a_body_without_end_is_refused_where_it_becomes_too_large() -> None:
    peer = ScriptedPeer()
    piece = b" " * (1 << 20)
    chunk = b"%x\r\n%b\r\n" % (len(piece), piece)
    async with peer.serve() as url, wire_to(url) as wire:
        await wire.say(b"POST /rpc HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
        with suppress(anyio.BrokenResourceError):
            for _ in range(2 * MAX_BODY // len(piece)):
                await wire.say(chunk)
        await until(lambda: peer.truth.open == 0)
    (fact,) = peer.truth.requests
    assert len(fact.content) <= MAX_BODY + len(piece)


@pytest.mark.spec("PORT-5")
async def test_a_client_that_leaves_half_way_leaves_nothing_behind() -> None:
    peer = ScriptedPeer()
    whole = request("send", send_of("hi"))
    async with peer.serve() as url:
        for end in (0, 10, whole.index(b"\r\n\r\n") + 4, len(whole) - 1):
            async with wire_to(url) as wire:
                await wire.say(whole[:end])
        await until(lambda: len(peer.truth.requests) == 2 and not peer.truth.open)
    assert [fact.body_read for fact in peer.truth.requests] == [False, True]
    assert dict(peer.truth.runs) == {}


@pytest.mark.spec("PORT-5")
async def test_a_client_that_resets_half_way_leaves_nothing_behind() -> None:
    peer = ScriptedPeer()
    told: list[Happening] = []
    whole = request("send", send_of("hi"))
    async with peer.serve(observer=told.append) as url:
        for number, end in enumerate((len(whole) - 1, len(whole)), 1):
            with socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2]))) as client:
                client.sendall(whole[:end])
                await until_come(peer, number)
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            await until(lambda: not peer.truth.open)
    over = [one for one in told if isinstance(one, RequestOver)]
    assert over[0].parting is Parting.LEFT
    assert sum(peer.truth.runs.values()) == 1


@pytest.mark.spec("PORT-5")
async def test_a_body_may_come_byte_by_byte() -> None:
    peer = ScriptedPeer()
    async with peer.serve() as url, wire_to(url) as wire:
        for byte in request("send", send_of("hi")):
            await wire.say(bytes([byte]))
        assert b"TASK_STATE_COMPLETED" in await wire.hear_reply()


@pytest.mark.spec("PORT-5")
async def test_what_a_client_sends_ahead_is_kept_within_bounds() -> None:
    peer = ScriptedPeer()
    peer.script(Operation.CARD, Hang())
    async with peer.serve() as url, wire_to(url) as wire:
        await wire.say(request("card"))
        sent = 0
        with anyio.move_on_after(0.2):
            while sent < 64 * MAX_BODY:
                await wire.say(b"x" * 65_536)
                sent += 65_536
        # What the operating system holds between the two is all that is taken.
        assert sent < MAX_BODY
        assert peer.truth.open == 1


@pytest.mark.spec("PORT-5")
async def test_a_process_without_free_files_accepts_later() -> None:
    async with ScriptedPeer().serve() as url:
        address = ("127.0.0.1", int(url.rpartition(":")[2]))
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        with socket.socket() as client:
            client.setblocking(False)  # noqa: FBT003 - it takes no keyword
            resource.setrlimit(resource.RLIMIT_NOFILE, (client.fileno() + 1, hard))
            spares = []
            try:
                with suppress(OSError):
                    while True:
                        spares.append(socket.socket())
                with suppress(BlockingIOError):
                    client.connect(address)
                await anyio.sleep(0.1)
            finally:
                resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
                for spare in spares:
                    spare.close()
            with anyio.fail_after(PATIENCE):
                client.send(request("card"))
                await anyio.wait_readable(client)
                assert client.recv(12) == b"HTTP/1.1 200"


# Whoever leaves


@pytest.mark.spec("PORT-6")
async def test_a_client_that_leaves_ends_its_request_unless_the_peer_is_deaf() -> None:
    peer = ScriptedPeer()
    peer.script(Operation.SEND, Hang(), Hang(deaf=True))
    told: list[Happening] = []
    async with peer.serve(observer=told.append) as url:
        async with wire_to(url) as wire:
            await wire.say(request("send", send_of("hi", "one")))
            await until(lambda: peer.truth.runs["one"] == 1)
        await until(lambda: peer.truth.open == 0)
        async with wire_to(url) as wire:
            await wire.say(request("send", send_of("hi", "two")))
            await until(lambda: peer.truth.runs["two"] == 1)
        await anyio.sleep(0.05)
        assert peer.truth.open == 1
        peer.release()
        await until(lambda: peer.truth.open == 0)
    over = [one for one in told if isinstance(one, RequestOver)]
    assert [one.parting for one in over] == [Parting.LEFT, Parting.LEFT]


@pytest.mark.spec("PORT-6")
async def test_a_released_request_is_answered() -> None:
    peer = ScriptedPeer()
    peer.script(Operation.SEND, Hang())
    async with peer.serve() as url, wire_to(url) as wire:
        await wire.say(request("send", send_of("hi")))
        await until(lambda: peer.truth.runs["m"] == 1)
        peer.release()
        assert b"TASK_STATE_COMPLETED" in await wire.hear_reply()


@pytest.mark.spec("PORT-7")
@pytest.mark.parametrize(
    "behaviour",
    [
        Hang(),
        Hang(deaf=True),
        Hang(accepts=False, deaf=True),
        Delay(1_000),
        Delay(1_000, before_reading=True),
        Dribble(1, 1_000),
        Endless(10**15),
        Overtaken(),
    ],
    ids=repr,
)
async def test_leaving_the_block_closes_everything(behaviour: Behaviour) -> None:
    peer = ScriptedPeer()
    peer.always(Operation.GET, behaviour)
    with anyio.fail_after(PATIENCE):
        async with peer.serve() as url:
            idle, half, *others = wires = [await open_wire(url) for _ in range(5)]
            await half.say(request("get")[:40])
            await idle.say(request("card"))
            await idle.hear_reply()
            for wire in others:
                await wire.say(request("get", {"id": "x"}))
            await until(lambda: len(peer.truth.requests) == 4 and peer.truth.open == 3)
            left_at = anyio.current_time()
        assert anyio.current_time() - left_at < 1
        assert peer.truth.open == 0
        for wire in wires:
            await wire.hear_the_end()
            await wire.stream.aclose()
        with pytest.raises(OSError, match=r"."):
            await anyio.connect_tcp("127.0.0.1", int(url.rpartition(":")[2]))
    gc.collect()  # a connection that nobody closed would be told of here


@pytest.mark.spec("PORT-7")
async def test_what_the_block_raises_comes_out_as_it_is() -> None:
    error = KeyError("mine")
    with pytest.raises(KeyError) as raised:
        async with ScriptedPeer().serve() as url, wire_to(url):
            raise error
    assert raised.value is error


@pytest.mark.spec("PORT-7")
async def test_a_cancellation_of_the_block_goes_on_once_all_is_closed() -> None:
    peer = ScriptedPeer()
    peer.always(Operation.GET, Hang(deaf=True))
    with anyio.move_on_after(0.1) as scope:
        async with peer.serve() as url, wire_to(url) as wire:
            await wire.say(request("get"))
            await anyio.sleep_forever()
    assert scope.cancelled_caught
    assert peer.truth.open == 0


# What it cannot do


@pytest.mark.spec("PORT-8")
async def test_a_connection_cannot_be_refused_where_it_stands_already() -> None:
    cannot = pytest.raises(UsageError, match="RefuseConnection cannot be done on a port")
    scripted, prompted, always, served = (ScriptedPeer() for _ in range(4))
    scripted.script(Operation.SEND, Honest(), Delay(1, RefuseConnection()))
    prompted.always(Operation.SEND, RefuseConnection(), prompt="hi")
    always.always(Operation.SEND, RefuseConnection())
    for peer in (scripted, prompted, always):
        with cannot:
            async with peer.serve():
                raise AssertionError("it listens")
    async with served.serve():
        with cannot:
            served.script(Operation.SEND, RefuseConnection())
        with cannot:
            served.always(Operation.SEND, RefuseConnection())
    served.script(Operation.SEND, RefuseConnection())


@pytest.mark.spec("PORT-8")
async def test_a_script_that_fails_is_told_at_the_end_of_the_block() -> None:
    def fails(_: dict[str, JsonValue]) -> JsonValue:
        raise ZeroDivisionError("in the script")

    peer = ScriptedPeer()
    peer.always(Operation.CARD, Rewrite(fails))

    async def ask(error: Exception | None) -> None:
        async with peer.serve() as url, wire_to(url) as wire:
            await wire.say(request("card"))
            assert (await wire.hear_reply()).startswith(b"HTTP/1.1 500 ")
            if error is not None:
                raise error

    with pytest.raises(ZeroDivisionError, match="in the script"):
        await ask(None)
    with pytest.raises(KeyError):
        await ask(KeyError())


@pytest.mark.spec("PORT-8")
async def test_an_observer_that_fails_is_told_at_the_end_of_the_block() -> None:
    def fails(happening: Happening) -> None:
        raise ZeroDivisionError(type(happening).__name__)

    async def ask() -> None:
        async with ScriptedPeer().serve(observer=fails) as url, wire_to(url) as wire:
            await wire.say(request("card"))
            assert (await wire.hear_reply()).startswith(b"HTTP/1.1 200 ")

    with pytest.raises(ZeroDivisionError, match="RequestArrived"):
        await ask()


# What it tells


@pytest.mark.spec("PORT-9")
async def test_an_observer_is_told_of_every_request() -> None:
    peer = ScriptedPeer()
    told: list[Happening] = []
    error = RpcError(-1)
    peer.script(Operation.GET, error)
    async with peer.serve(observer=told.append) as url, wire_to(url) as wire:
        await wire.say(request("send", send_of("hi")))
        first = await wire.hear_reply()
        await wire.say(request("get", {"id": "x"}))
        second = await wire.hear_reply()
        await until(lambda: not peer.truth.open)
    arrived, over = told[::2], told[1::2]
    facts = peer.truth.requests
    for number, (begun, ended, fact) in enumerate(zip(arrived, over, facts, strict=True), 1):
        assert isinstance(begun, RequestArrived)
        assert isinstance(ended, RequestOver)
        assert begun.number == ended.number == number
        assert begun.request.operation is fact.operation
        assert ended.request == fact
        assert begun.behaviour == ended.behaviour == [Honest(), error][number - 1]
        assert (ended.status, ended.parting) == (200, Parting.KEPT)
        assert ended.ran == (number == 1)
        assert ended.reply == [first, second][number - 1]
        assert ended.sent == len(ended.reply)
