"""Who may use a connection, who waits, and which ones are kept."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import anyio
import httpx
import pytest

from a2a_delegate.bindings.carriage import Answer, Bounds, Carrier, Errand, Identity
from a2a_delegate.bindings.exchange import Exchange
from a2a_delegate.lifecycle.operations import NotSent
from a2a_delegate.peer.cookies import no_cookies
from a2a_delegate.peer.lanes import IDLE_SECONDS, MAX_REALMS, Lanes
from a2a_delegate.peer.own_client import own_client
from a2a_delegate.peer.turns import LEAST_WIDTH
from tests.bindings.loopback import Line, peer, reply

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from a2a_delegate.bindings.carriage import Carried

pytestmark = pytest.mark.anyio

URL = httpx.URL("http://peer.example/rpc")


def errand(name: str, url: httpx.URL | str = URL, identity: Identity | None = None) -> Errand:
    return Errand(
        name, httpx.URL(url), headers={}, body=name.encode(), identity=identity or Identity()
    )


async def carry(client: httpx.AsyncClient, what: Errand, exchange: Exchange) -> Carried:
    return await Carrier(client, bounds=Bounds(1_000)).carry(what, exchange)


class Silence(httpx.AsyncByteStream):
    """A reply that comes when the test lets it."""

    def __init__(self, over: anyio.Event) -> None:
        self._over = over

    async def __aiter__(self) -> AsyncIterator[bytes]:
        await self._over.wait()
        yield b"{}"


class Track:
    """A lane without a network, that keeps what went by it."""

    def __init__(self) -> None:
        self.requests: list[httpx.Request] = []
        self.over = anyio.Event()
        self.is_whole = self.is_reusable = True
        self.closed = False

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        assert isinstance(request.stream, httpx.AsyncByteStream)
        assert [chunk async for chunk in request.stream]
        self.requests.append(request)
        return httpx.Response(
            200, stream=Silence(self.over), headers={"Set-Cookie": f"lane={id(self)}; Path=/"}
        )

    async def aclose(self) -> None:
        self.closed = True


class Yard:
    """Lanes without a network, and a clock that the test moves."""

    def __init__(self, most: int = 1_000, *, held: bool = True) -> None:
        self.tracks: list[Track] = []
        self.now = 100.0
        self.lanes = Lanes(self.open, most=lambda: most, now=lambda: self.now)
        self.client = httpx.AsyncClient(transport=self.lanes, cookies=no_cookies())
        self._held = held

    def open(self, url: httpx.URL) -> Track:
        assert url == URL
        self.tracks.append(Track())
        if not self._held:
            self.tracks[-1].over.set()
        return self.tracks[-1]

    @property
    def used(self) -> list[int]:
        """How many requests each lane has had."""
        return [len(track.requests) for track in self.tracks]

    async def hold(self, number: int) -> None:
        """Send as often at once, and let all of it end when each has its lane."""
        async with anyio.create_task_group() as tasks:
            before = sum(self.used)
            for _ in range(number):
                tasks.start_soon(carry, self.client, errand("send"), Exchange())
            with anyio.fail_after(5):
                while sum(self.used) < before + number:
                    await anyio.lowlevel.checkpoint()
            self.end()
        for track in self.tracks:
            track.over = anyio.Event()

    def end(self) -> None:
        for track in self.tracks:
            track.over.set()


@pytest.mark.spec("CARR-26")
async def test_every_send_has_a_lane_at_once() -> None:
    yard = Yard()
    await yard.hold(50)
    assert yard.used == [1] * 50


@pytest.mark.spec("CARR-25")
async def test_a_call_that_is_cancelled_in_the_queue_has_sent_nothing() -> None:
    yard = Yard(most=LEAST_WIDTH)
    exchange = Exchange()
    async with anyio.create_task_group() as tasks:
        for _ in range(LEAST_WIDTH):
            tasks.start_soon(carry, yard.client, errand("get"), Exchange())
        await anyio.wait_all_tasks_blocked()
        with anyio.CancelScope() as scope:
            async with anyio.create_task_group() as inner:
                inner.start_soon(carry, yard.client, errand("get"), exchange)
                # It waits, or is refused for want of room; in no case has anything left.
                await anyio.lowlevel.checkpoint()
                scope.cancel()
        assert not exchange.body_left
        assert yard.used == [1] * LEAST_WIDTH
        yard.end()


@pytest.mark.spec("CARR-27")
async def test_the_lane_that_was_used_last_is_used_first_and_old_ones_are_closed() -> None:
    yard = Yard()
    await yard.hold(10)
    for _ in range(5):
        yard.now += IDLE_SECONDS * 0.75
        await yard.hold(1)
    assert sorted(yard.used) == [1] * 9 + [6]
    # Each call closes a few of those that many calls have left.
    assert [track.closed for track in yard.tracks].count(True) == 8
    yard.now += IDLE_SECONDS * 0.75
    await yard.hold(1)
    assert [track for track in yard.tracks if not track.closed] == [
        track for track in yard.tracks if len(track.requests) > 1
    ]


async def test_lanes_of_others_that_have_grown_old_are_closed_too() -> None:
    yard = Yard(held=False)
    for principal in ("alice", "bob"):
        await carry(yard.client, errand("send", identity=Identity(None, principal)), Exchange())
        yard.now += IDLE_SECONDS + 0.1
    assert [track.closed for track in yard.tracks] == [True, False]


@pytest.mark.spec("CARR-28")
async def test_a_lane_that_is_not_reusable_any_more_is_closed_and_left() -> None:
    yard = Yard()
    await yard.hold(1)
    yard.tracks[0].is_reusable = False
    await yard.hold(1)
    assert yard.used == [1, 1]
    assert [track.closed for track in yard.tracks] == [True, False]


@pytest.mark.spec("CARR-28")
async def test_a_lane_that_is_not_whole_after_its_reply_is_closed() -> None:
    yard = Yard(held=False)
    await carry(yard.client, errand("send"), Exchange())
    yard.tracks[0].is_whole = False
    await carry(yard.client, errand("send"), Exchange())
    assert yard.used == [2]
    assert yard.tracks[0].closed


@pytest.mark.spec("CARR-28")
@pytest.mark.parametrize("name", ["send", "get"])
async def test_a_lane_whose_call_is_cancelled_anywhere_is_closed(name: str) -> None:
    class Deaf(Track):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            self.is_whole = False
            await anyio.sleep_forever()
            raise AssertionError(request)

    deaf: list[Deaf] = []

    def open_lane(_: httpx.URL) -> Deaf:
        deaf.append(Deaf())
        return deaf[-1]

    async with httpx.AsyncClient(transport=Lanes(open_lane)) as client:
        for _ in range(2 * LEAST_WIDTH):
            # As often as this their turns would have run out, too.
            with anyio.move_on_after(0.001) as scope:
                await carry(client, errand(name), Exchange())
            assert scope.cancelled_caught
        assert all(lane.closed for lane in deaf)
        assert len(deaf) == 2 * LEAST_WIDTH


@pytest.mark.spec("CARR-26")
async def test_a_send_that_meets_the_limit_of_files_was_not_sent() -> None:
    yard = Yard(most=3)
    exchange = Exchange()
    async with anyio.create_task_group() as tasks:
        for _ in range(3):
            tasks.start_soon(carry, yard.client, errand("send"), Exchange())
        await anyio.wait_all_tasks_blocked()
        refused = await carry(yard.client, errand("send"), exchange)
        yard.end()
    assert isinstance(refused, NotSent)
    assert refused.error.phase == "queue"
    assert not exchange.body_left
    # There is room again, and where a principal left an idle one, for another principal too.
    await yard.hold(3)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(
            carry, yard.client, errand("send", identity=Identity(principal="bob")), Exchange()
        )
        await anyio.wait_all_tasks_blocked()
        yard.end()
    assert yard.used == [2, 2, 2, 1]
    assert [track.closed for track in yard.tracks].count(True) == 1


@pytest.mark.spec("CARR-26")
async def test_sends_that_are_held_leave_room_to_ask_and_to_cancel() -> None:
    yard, refused = Yard(most=16), []

    async def send() -> None:
        if isinstance(await carry(yard.client, errand("send"), Exchange()), NotSent):
            refused.append(1)

    async with anyio.create_task_group() as tasks:
        for _ in range(20):
            tasks.start_soon(send)
        with anyio.fail_after(5):
            while sum(yard.used) + len(refused) < 20:
                await anyio.lowlevel.checkpoint()
        assert len(refused) == 20 - 14
        for name in ("get", "cancel"):
            tasks.start_soon(carry, yard.client, errand(name), Exchange())
        with anyio.fail_after(5):
            while sum(yard.used) < 16:
                await anyio.lowlevel.checkpoint()
        yard.end()


@pytest.mark.spec("CARR-26")
async def test_a_short_call_waits_a_little_for_a_lane_that_is_let_go() -> None:
    yard, ends = Yard(most=3), []

    async def cancel() -> None:
        ends.append(await carry(yard.client, errand("cancel"), Exchange()))

    async with anyio.create_task_group() as tasks:
        for name in ("send", "send", "get"):
            tasks.start_soon(carry, yard.client, errand(name), Exchange())
        await anyio.wait_all_tasks_blocked()
        tasks.start_soon(cancel)
        await anyio.wait_all_tasks_blocked()
        assert ends == [], "it was given up at once"
        yard.end()
        with anyio.fail_after(5):
            while sum(yard.used) < 4:
                await anyio.lowlevel.checkpoint()
        yard.end()
    assert isinstance(ends[0], Answer)


@pytest.mark.spec("CARR-26")
async def test_a_call_that_waits_for_a_lane_opens_none_once_all_are_closed() -> None:
    yard, ends = Yard(most=2), []

    async def cancel() -> None:
        ends.append(await carry(yard.client, errand("cancel"), Exchange()))

    async with anyio.create_task_group() as tasks:
        for name in ("send", "get"):
            tasks.start_soon(carry, yard.client, errand(name), Exchange())
        await anyio.wait_all_tasks_blocked()
        tasks.start_soon(cancel)
        await anyio.wait_all_tasks_blocked()
        await yard.client.aclose()
        yard.end()
    assert isinstance(ends[0], NotSent)
    assert sum(yard.used) == 2


@pytest.mark.spec("CARR-24")
async def test_what_is_remembered_of_principals_is_bounded() -> None:
    yard = Yard(held=False)

    async def cookie_of(principal: int) -> str | None:
        identity = Identity(principal=str(principal))
        await carry(yard.client, errand("get", identity=identity), Exchange())
        yard.now += IDLE_SECONDS * 2
        cookie: str | None = yard.tracks[-1].requests[-1].headers.get("cookie")
        return cookie

    assert await cookie_of(0) is None
    for _ in range(2):
        # It is kept for longer than its lane.
        assert await cookie_of(0) is not None
    for number in range(1, MAX_REALMS + 1):
        await cookie_of(number)
    assert await cookie_of(MAX_REALMS) is not None
    assert await cookie_of(0) is None


async def test_closing_ends_what_is_under_way_and_lets_nothing_new_begin() -> None:
    yard = Yard()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(carry, yard.client, errand("send"), Exchange())
        await anyio.wait_all_tasks_blocked()
        await yard.lanes.aclose()
        assert yard.tracks[0].closed
        refused = await carry(yard.client, errand("send"), Exchange())
        yard.end()
    assert isinstance(refused, NotSent)
    assert "client is closed" in str(refused.error)


@pytest.mark.spec("CARR-25", "CARR-26")
async def test_two_hundred_held_calls_starve_nobody() -> None:
    async def talk(line: Line) -> None:
        while True:
            heard = await line.hear()
            if heard.body == b"hold":
                await held.wait()
            await line.say(reply(b"{}"))

    held = anyio.Event()
    ends: list[Carried] = []

    async def hold(client: httpx.AsyncClient, name: str, url: str) -> None:
        call = Errand(name, httpx.URL(url), headers={}, body=b"hold")
        ends.append(await carry(client, call, Exchange()))

    async with peer(talk) as there, own_client() as client, anyio.create_task_group() as tasks:
        for number in range(208):
            # The peer holds as many gets as are asked at once at first, too.
            tasks.start_soon(hold, client, "get" if number < LEAST_WIDTH else "send", there.url)
        with anyio.fail_after(10):
            while len(there.heard) < 208:
                await anyio.lowlevel.checkpoint()
        with anyio.fail_after(2):
            for name in ("send", "get", "cancel", "list"):
                assert isinstance(await carry(client, errand(name, there.url), Exchange()), Answer)
        assert ends == []
        held.set()
    assert len(ends) == 208
    assert all(isinstance(end, Answer) for end in ends)


@pytest.mark.spec("CARR-5", "CARR-27")
async def test_a_connection_that_the_peer_has_closed_is_not_used_again() -> None:
    async def talk(line: Line) -> None:
        await line.hear()
        await line.say(reply(b"{}"))
        gone.set()

    async with peer(talk) as there, own_client() as client:
        for _ in range(3):
            gone = anyio.Event()
            assert isinstance(await carry(client, errand("send", there.url), Exchange()), Answer)
            await gone.wait()
            await anyio.wait_all_tasks_blocked()
    assert [len(line.heard) for line in there.lines] == [1, 1, 1]


WITHOUT_FILES = """
import os, resource, sys
import anyio, httpx
from a2a_delegate.bindings.carriage import Bounds, Carrier, Errand
from a2a_delegate.bindings.exchange import Exchange
from a2a_delegate.peer.cookies import no_cookies
from a2a_delegate.peer.lanes import most_lanes
from a2a_delegate.peer.own_client import own_client

async def main(kind):
    errand = Errand("send", httpx.URL("http://127.0.0.1:9/rpc"), headers={}, body=b"{}")
    async with own_client() if kind == "own" else httpx.AsyncClient() as client:
        carrier = Carrier(client, bounds=Bounds(9))
        await carrier.carry(errand, Exchange())  # loads what it needs
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
        files = []
        try:
            while True:
                files.append(os.dup(0))
        except OSError:
            pass
        exchange = Exchange()
        ended = await carrier.carry(errand, exchange)
        for file in files:
            os.close(file)
    print(type(ended).__name__, ended.error.phase, exchange.body_left, most_lanes())

anyio.run(main, sys.argv[2], backend=sys.argv[1])
"""


@pytest.mark.spec("CARR-26")
@pytest.mark.parametrize("kind", ["own", "given"])
async def test_a_request_that_no_file_is_left_for_was_not_sent(
    anyio_backend_name: str, kind: str
) -> None:
    # In a process of its own: a limit that was lowered cannot be raised again.
    run = await anyio.run_process([sys.executable, "-c", WITHOUT_FILES, anyio_backend_name, kind])
    assert run.stdout.decode().split() == ["NotSent", "queue", "False", "224"]
