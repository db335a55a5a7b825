"""One request over a real socket: how it ends, and what is proven by that."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import httpx
import pytest

from a2a_delegate.bindings.carriage import Answer, Bounds, Carrier
from a2a_delegate.bindings.exchange import Exchange
from a2a_delegate.lifecycle.operations import Lost, NotSent
from a2a_delegate.wire.cut_reply import TaskIdScan
from tests.bindings.carrying import (
    BODY,
    SHOWS_THE_ID,
    WHOLE,
    Carry,
    NewClient,
    carry_by,
    errand,
    hang_up,
)
from tests.bindings.loopback import Line, closed_port, peer, reply

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

pytestmark = pytest.mark.anyio


async def test_a_complete_reply_is_an_answer(carry: Carry) -> None:
    async def talk(line: Line) -> None:
        await line.hear()
        await line.say(reply(WHOLE, status="201 Created", headers="X-Theirs: 2\r\n"))

    exchange = Exchange()
    async with peer(talk) as there:
        carried = await carry(there.url, exchange)
    assert isinstance(carried, Answer)
    assert (carried.status, carried.body, carried.is_success) == (201, WHOLE, True)
    assert carried.headers["x-theirs"] == "2"
    assert exchange.http_status == 201
    assert exchange.evidence == WHOLE


@pytest.mark.spec("CARR-4")
async def test_the_body_has_a_known_length_whatever_the_client_would_have() -> None:
    async def talk(line: Line) -> None:
        await line.hear()
        await line.say(reply(WHOLE))

    async with peer(talk) as there:
        client = httpx.AsyncClient(headers={"Transfer-Encoding": "chunked"})
        await carry_by(client, there.url, Exchange())
    (heard,) = there.heard
    assert heard.header("Content-Length") == str(len(BODY))
    assert heard.header("Transfer-Encoding") is None
    assert heard.body == BODY


@pytest.mark.spec("CARR-1")
async def test_a_refused_connection_proves_that_nothing_left(carry: Carry) -> None:
    exchange = Exchange()
    carried = await carry(f"http://127.0.0.1:{await closed_port()}/", exchange)
    assert isinstance(carried, NotSent)
    assert carried.error.phase == "connect"
    assert isinstance(carried.error.__cause__, httpx.ConnectError)
    assert not exchange.body_left


async def hello_in_plain_text(line: Line) -> None:
    await line.say(b"220 mail.example ready\r\n" * 10)
    await line.closed_by_client()


@pytest.mark.spec("CARR-1")
@pytest.mark.parametrize("talk", [hello_in_plain_text, hang_up])
async def test_a_failed_handshake_proves_that_nothing_left(
    carry: Carry, talk: Callable[[Line], Awaitable[object]]
) -> None:
    exchange = Exchange()
    async with peer(talk) as there:
        carried = await carry(there.url.replace("http:", "https:"), exchange)
    assert isinstance(carried, NotSent)
    assert carried.error.phase == "tls"
    assert not exchange.body_left


@pytest.mark.spec("CARR-3")
async def test_a_cut_reply_is_never_an_answer_and_shows_what_came(carry: Carry) -> None:
    async def talk(line: Line) -> None:
        await line.hear()
        await line.say(reply(SHOWS_THE_ID, length=len(WHOLE)))

    ids: list[str] = []
    exchange = Exchange(on_id=ids.append)
    async with peer(talk) as there:
        carried = await carry(there.url, exchange)
    assert isinstance(carried, Lost)
    assert (carried.error.phase, carried.error.method) == ("read", "send")
    assert isinstance(carried.error.__cause__, httpx.RemoteProtocolError)
    assert (carried.evidence, carried.task_id) == (SHOWS_THE_ID, "task-7")
    assert ids == ["task-7"]
    assert (exchange.body_left, exchange.http_status) == (True, 200)


@pytest.mark.spec("BIND-11", "CARR-10")
@pytest.mark.parametrize(
    ("end", "ids"), [(b'},"id":"r-1"', ["task-7"]), (b'},"id":"r-2"', []), (b"", ["task-7"])]
)
async def test_a_reply_that_shows_a_task_before_its_own_id_counts_if_it_is_ours(
    carry: Carry, end: bytes, ids: list[str]
) -> None:
    async def talk(line: Line) -> None:
        await line.hear()
        await line.say(reply(b'{"jsonrpc":"2.0","result":{"task":{"id":"task-7",', length=1000))
        await line.say(b'"status":{}}' + end)

    seen: list[str] = []
    async with peer(talk) as there:
        carried = await carry(there.url, Exchange(on_id=seen.append))
    assert isinstance(carried, Lost)
    assert ([carried.task_id] if carried.task_id else []) == seen == ids


@pytest.mark.spec("CARR-3")
@pytest.mark.parametrize(
    "said", [b"", b"HTTP/1.1 200", b"HTTP/1.1 200 OK\r\nContent-Le", b"no HTTP at all\r\n\r\n"]
)
async def test_a_reply_without_a_body_is_lost(carry: Carry, said: bytes) -> None:
    async def talk(line: Line) -> None:
        await line.hear()
        await line.say(said)

    exchange = Exchange()
    async with peer(talk) as there:
        carried = await carry(there.url, exchange)
    assert isinstance(carried, Lost)
    assert (carried.evidence, carried.task_id, exchange.http_status) == (b"", None, None)
    assert exchange.body_left


@pytest.mark.spec("CARR-3")
async def test_a_chunked_reply_that_stops_is_lost(carry: Carry) -> None:
    async def talk(line: Line) -> None:
        await line.hear()
        await line.say(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")

    async with peer(talk) as there:
        carried = await carry(there.url, Exchange())
    assert isinstance(carried, Lost)
    assert carried.evidence == b"hello"


@pytest.mark.spec("CARR-10")
async def test_the_id_is_told_while_the_reply_is_still_coming(carry: Carry) -> None:
    async def talk(line: Line) -> None:
        await line.hear()
        head, tail = SHOWS_THE_ID[:30], SHOWS_THE_ID[30:]
        await line.say(reply(head, length=len(WHOLE)))
        await line.say(tail)
        await seen.wait()
        await line.say(WHOLE[60:])

    seen = anyio.Event()
    exchange = Exchange(on_id=lambda _: seen.set())
    async with peer(talk) as there:
        carried = await carry(there.url, exchange)
    assert isinstance(carried, Answer)
    assert carried.body == WHOLE


@pytest.mark.spec("CARR-10")
async def test_cancelled_within_a_reply_the_exchange_keeps_what_came(new_client: NewClient) -> None:
    async def talk(line: Line) -> None:
        await line.hear()
        await line.say(reply(SHOWS_THE_ID, length=len(WHOLE)))
        closed.append(await line.closed_by_client())

    def cancel(task_id: str) -> None:
        ids.append(task_id)
        scope.cancel()

    closed: list[bool] = []
    ids: list[str] = []
    exchange = Exchange(on_id=cancel)
    async with peer(talk) as there, new_client() as client:
        with anyio.CancelScope() as scope:
            carrier = Carrier(client, bounds=Bounds(1000))
            await carrier.carry(errand(there.url, scan=TaskIdScan(request_id="r-1")), exchange)
        assert scope.cancelled_caught
        with anyio.fail_after(5):
            while not closed:
                await anyio.lowlevel.checkpoint()
    assert ids == ["task-7"]
    assert exchange.evidence == SHOWS_THE_ID
    assert (exchange.body_left, exchange.http_status) == (True, 200)


@pytest.mark.spec("CARR-2")
async def test_a_sealed_body_stays_here_and_the_peer_sees_none_of_it(carry: Carry) -> None:
    async def talk(line: Line) -> None:
        try:
            # Whether the head came before the end is the client's own affair.
            await line.hear_head()
            await line.closed_by_client()
        finally:
            ended.append(line)

    ended: list[Line] = []
    exchange = Exchange()
    exchange.seal()
    async with peer(talk) as there:
        carried = await carry(there.url, exchange)
        with anyio.fail_after(5):
            while not ended:
                await anyio.lowlevel.checkpoint()
    assert isinstance(carried, NotSent)
    assert carried.error.phase == "write"
    assert not exchange.body_left
    assert b"".join(heard.body for heard in there.heard) == b""


@pytest.mark.spec("CARR-5")
async def test_a_kept_connection_that_closes_as_the_next_request_arrives_is_lost(
    new_client: NewClient,
) -> None:
    async def talk(line: Line) -> None:
        await line.hear()
        await line.say(reply(WHOLE))
        await line.hear_head()

    async with peer(talk) as there, new_client() as client:
        carrier = Carrier(client, bounds=Bounds(1000))
        first, second = Exchange(), Exchange()
        assert isinstance(await carrier.carry(errand(there.url), first), Answer)
        carried = await carrier.carry(errand(there.url), second)
    assert len(there.lines) == 1
    assert isinstance(carried, Lost)
    assert second.body_left


@pytest.mark.spec("CARR-5")
async def test_a_kept_connection_that_was_seen_to_close_is_not_used(new_client: NewClient) -> None:
    async def talk(line: Line) -> None:
        await line.hear()
        await line.say(reply(WHOLE))

    async with peer(talk) as there, new_client() as client:
        carrier = Carrier(client, bounds=Bounds(1000))
        for _ in range(2):
            carried = await carrier.carry(errand(there.url), Exchange())
            assert isinstance(carried, Answer)
            # The peer's farewell is on its way; a look at the socket shows it.
            await anyio.wait_all_tasks_blocked()
    assert len(there.lines) == 2
