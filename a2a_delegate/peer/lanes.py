"""The connections of a client of ours: who may use one, who waits, and what must not mix.

A *lane* is one connection with one call on it. Calls are of two kinds, with a queue for each: short
ones (a get, a cancel), and those that a peer may hold open for as long as it works, the sends. What
is held open starves nobody: sends never wait for the end of sends that are held, and short calls
never for a send. Either kind takes the lane that was used last, so the others grow old and end.

Everything is kept apart by the origin that is asked, the tenant and the principal: the connections,
the cookies, and the queues.
"""

from __future__ import annotations

import contextlib
import math
import sys
import time
from collections import OrderedDict, deque
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, Protocol, cast

import anyio
import httpx

from a2a_delegate.bindings.carriage import IDENTITY_EXTENSION, NOBODY, OPERATION_EXTENSION
from a2a_delegate.bindings.failures import CLOSED
from a2a_delegate.lifecycle.operations import OperationName
from a2a_delegate.peer.cookies import few_cookies
from a2a_delegate.peer.turns import Turns

if sys.platform != "win32":
    import resource

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from a2a_delegate.bindings.carriage import Identity

HELD = frozenset({OperationName.SEND.value, OperationName.SUBSCRIBE.value})
"""The operations that a peer may hold open for as long as it works."""

IDLE_SECONDS = 2.0
"""How long an idle connection is kept.

A peer that closes one as the next send arrives leaves an outcome that nobody can tell. Servers
close theirs after 5 seconds and more, so ours go well before (httpx itself keeps them for 5).
"""

HELD_PART = 7 / 8
"""The part of all lanes that peers may hold open; tasks are asked for and cancelled by the rest."""

MAX_REALMS = 1_000
"""How many are remembered, with their cookies, that have nothing on its way."""

_CLOSING_SECONDS = 1.0
_CLOSED_AT_ONCE = 2
"""How many old lanes one call closes: what many have left behind, no single one pays for."""


class Lane(Protocol):
    """One connection, asked by one call at a time."""

    @property
    def is_whole(self) -> bool:
        """Whether its last reply was read to the end, so that it may be kept."""
        ...

    @property
    def is_reusable(self) -> bool:
        """Whether it can take another call now."""
        ...

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Carry one call; the lane is taken until the reply's stream is closed."""
        ...

    async def aclose(self) -> None:
        """Close it, whatever is on its way."""
        ...


def most_lanes() -> float:
    """Return how many lanes the limit of open files allows; an eighth of it is left to others."""
    if sys.platform == "win32":
        return math.inf
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return math.inf if files == resource.RLIM_INFINITY else files - files // 8


class _Key(NamedTuple):
    """Who asks whom: only calls that have all of it in common use the same lanes."""

    scheme: str
    host: bytes
    port: int | None
    identity: Identity


class _Realm:
    """What belongs to one key and to no other."""

    __slots__ = ("calls", "cookies", "held", "idle", "key", "short")

    def __init__(self, key: _Key) -> None:
        self.key = key
        self.calls = 0
        self.idle: deque[Lane] = deque()  # the one that was used last is at the right end
        self.short = Turns()
        # Only the limit of open files bounds it, where a lane is opened.
        self.held = Turns(most=sys.maxsize)
        self.cookies: httpx.Cookies | None = None

    @property
    def is_empty(self) -> bool:
        """Whether nothing would be lost with it."""
        return not (self.calls or self.idle or self.cookies)


class Lanes(httpx.AsyncBaseTransport):
    """A transport of many lanes, for one event loop.

    `open_lane` makes one for a URL, without connecting; `most` says how many may be open now; `now`
    is a clock in seconds. What a request is stands in its extensions (see `bindings.carriage`): its
    operation decides between the two kinds, its identity whose lanes it may use. A request that
    finds no room for a lane ends with httpx's PoolTimeout; a caller that is cancelled in the queue
    has sent nothing.
    """

    def __init__(
        self,
        open_lane: Callable[[httpx.URL], Lane],
        *,
        most: Callable[[], float] = most_lanes,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._open_lane = open_lane
        self._most = most
        self._now = now
        self._open: set[Lane] = set()
        # Since when they are, the longest first.
        self._idle: dict[Lane, tuple[float, _Realm]] = {}
        self._realms: OrderedDict[_Key, _Realm] = OrderedDict()
        self._closed = False
        self._room: anyio.Event | None = None

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Carry one request by a lane that is free, or a new one."""
        realm = self._realm_of(request)
        realm.calls += 1
        is_held = request.extensions.get(OPERATION_EXTENSION) in HELD
        turns = realm.held if is_held else realm.short
        lane, turn = None, None
        try:
            await turns.enter()
            turn = turns
            lane = await self._lane_for(realm, request.url, is_held=is_held)
            if realm.cookies is not None:
                realm.cookies.set_cookie_header(request)
            response = await lane.handle_async_request(request)
        except BaseException:
            await self._end(realm, lane, turn)
            raise
        response.request = request
        response.stream = _Reply(response.stream, partial(self._end, realm, lane, turn))
        if "set-cookie" in response.headers:
            realm.cookies = realm.cookies or few_cookies()
            realm.cookies.extract_cookies(response)
        return response

    async def aclose(self) -> None:
        """Close every lane, whatever is on its way."""
        self._closed = True
        self._idle.clear()
        for realm in self._realms.values():
            realm.idle.clear()
        for lane in tuple(self._open):
            await self._close(lane)

    def _realm_of(self, request: httpx.Request) -> _Realm:
        url = request.url
        identity = request.extensions.get(IDENTITY_EXTENSION, NOBODY)
        key = _Key(url.scheme, url.raw_host, url.port, identity)
        realm = self._realms.get(key)
        if realm is not None:
            self._realms.move_to_end(key)
            return realm
        if len(self._realms) >= MAX_REALMS:
            unused = next((one for one in self._realms.values() if not one.calls), None)
            if unused is not None:
                # Its lanes are idle ones, and end in time.
                del self._realms[unused.key]
        self._realms[key] = realm = _Realm(key)
        return realm

    async def _lane_for(self, realm: _Realm, url: httpx.URL, *, is_held: bool) -> Lane:
        await self._close_old()
        while realm.idle:
            lane = realm.idle.pop()
            del self._idle[lane]
            if lane.is_reusable:
                return lane
            await self._close(lane)
        most = self._most() * (HELD_PART if is_held else 1)
        if len(self._open) >= most and not is_held:
            await self._wait_for_room(most)
        if self._closed:
            raise RuntimeError(CLOSED)
        if len(self._open) >= most:
            await self._make_room()
        lane = self._open_lane(url)
        self._open.add(lane)
        return lane

    async def _end(self, realm: _Realm, lane: Lane | None, turn: Turns | None) -> None:
        """Take back what a call has used; a lane that is not whole is closed."""
        broken = None
        if lane is not None:
            if lane.is_whole and not self._closed:
                realm.idle.append(lane)
                self._idle[lane] = self._now(), realm
                self._tell_of_room()
            else:
                broken = lane
        if turn is not None:
            turn.leave()
        realm.calls -= 1
        self._forget(realm)
        if broken is not None:
            # httpcore closes what fails, but not what is cancelled between two of its steps.
            await self._close(broken)

    def _forget(self, realm: _Realm) -> None:
        if realm.is_empty and self._realms.get(realm.key) is realm:
            del self._realms[realm.key]

    async def _close_old(self) -> None:
        for _ in range(_CLOSED_AT_ONCE):
            since, _realm = next(iter(self._idle.values()), (math.inf, None))
            if since > self._now() - IDLE_SECONDS:
                return
            await self._close_oldest()

    async def _wait_for_room(self, most: float) -> None:
        """Wait a little for a lane: when many streams are left at once, theirs end just now."""
        with anyio.move_on_after(_CLOSING_SECONDS):
            while len(self._open) >= most and not self._idle:
                if self._room is None:
                    self._room = anyio.Event()
                await self._room.wait()

    def _tell_of_room(self) -> None:
        room, self._room = self._room, None
        if room is not None:
            room.set()

    async def _make_room(self) -> None:
        if not self._idle:
            raise httpx.PoolTimeout("as many connections are open as the limit of files allows")
        await self._close_oldest()

    async def _close_oldest(self) -> None:
        lane, (_, realm) = next(iter(self._idle.items()))
        del self._idle[lane]
        realm.idle.remove(lane)
        self._forget(realm)
        await self._close(lane)

    async def _close(self, lane: Lane) -> None:
        self._open.discard(lane)
        self._tell_of_room()
        # Whatever it raises, nobody uses it any more.
        with (
            anyio.move_on_after(_CLOSING_SECONDS, shield=True),
            contextlib.suppress(Exception),
        ):
            await lane.aclose()


class _Reply(httpx.AsyncByteStream):
    """The stream of one reply, that tells once when its lane is free."""

    def __init__(
        self,
        stream: httpx.SyncByteStream | httpx.AsyncByteStream,
        end: Callable[[], Awaitable[None]],
    ) -> None:
        # A lane is asynchronous, and so is its stream.
        self._stream = cast("httpx.AsyncByteStream", stream)
        self._end: Callable[[], Awaitable[None]] | None = end

    def __aiter__(self) -> AsyncIterator[bytes]:
        return aiter(self._stream)

    async def aclose(self) -> None:
        """Close it: the lane is free then, or closed."""
        try:
            await self._stream.aclose()
        finally:
            end, self._end = self._end, None
            if end is not None:
                await end()
