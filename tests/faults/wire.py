"""A network between the delegate and the scripted peer: with latency, and with a memory of its own.

The peer knows what it did; the wire knows what passed. Every step of a request takes a moment, so
that a caller's event can fall into each of them, and every step is written down, so that the judge
can compare an outcome with what really left and what really came back.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Final

import anyio
import httpx

from a2a_delegate.bindings.carriage import OPERATION_EXTENSION

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

MOMENT: Final = 0.01
"""Seconds of the loop's clock that each step of a request takes."""


class Step(StrEnum):
    """Where a request is."""

    CONNECTING = "connecting"
    LEAVING = "half of the body gone"
    WAITING = "waiting for the reply"
    COMING = "half of the reply come"
    CLOSING = "closing"
    OVER = "over"


@dataclass(frozen=True, slots=True)
class Manners:
    """How this network treats every request of one operation, beside what the peer does.

    `deaf` seconds of connecting take no notice of a cancellation; `stuck` ones pass in closing a
    reply that was not read to its end.
    """

    operation: str = ""
    deaf: float = 0.0
    stuck: float = 0.0


@dataclass(slots=True)
class Trip:
    """One request on its way, as the wire saw it."""

    operation: str
    began: float
    steps: list[tuple[float, Step]] = field(default_factory=list)
    left: bool = False
    """A byte of the body was handed over."""
    whole: bool = False
    """All of the body was."""
    status: int | None = None
    came: bytes = b""
    """What was handed to the client of the reply's body."""
    complete: bool = False

    def step(self, step: Step) -> None:
        """Write down that the request is there now."""
        self.steps.append((anyio.current_time(), step))

    @property
    def over(self) -> bool:
        """Whether nothing of it is left."""
        return bool(self.steps) and self.steps[-1][1] is Step.OVER


class Wire(httpx.AsyncBaseTransport):
    """An httpx transport around that of a peer; `trips` tells what passed."""

    def __init__(self, inner: httpx.AsyncBaseTransport, manners: Manners) -> None:
        self._inner = inner
        self._manners = manners
        self.trips: list[Trip] = []

    def trips_of(self, operation: str) -> list[Trip]:
        """Return the requests of one operation, in order."""
        return [trip for trip in self.trips if trip.operation == operation]

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Carry one request, one moment for each step."""
        operation = str(request.extensions[OPERATION_EXTENSION])
        trip = Trip(operation, anyio.current_time())
        self.trips.append(trip)
        manners = self._manners if self._manners.operation == operation else Manners()
        try:
            trip.step(Step.CONNECTING)
            await anyio.sleep(MOMENT)
            with anyio.CancelScope(shield=True):
                await _sleep_deaf(manners.deaf)
            return await self._carry(request, trip, manners)
        except BaseException:
            trip.step(Step.OVER)
            raise

    async def _carry(self, request: httpx.Request, trip: Trip, manners: Manners) -> httpx.Response:
        request.stream = _Body(request, trip)
        response = await self._inner.handle_async_request(request)
        try:
            trip.step(Step.WAITING)
            await anyio.sleep(MOMENT)
        except BaseException:
            await response.aclose()
            raise
        trip.status = response.status_code
        response.stream = _Reply(response, trip, manners.stuck)
        return response


async def _sleep_deaf(seconds: float) -> None:
    """Sleep through every cancellation, those of asyncio too."""
    ends = anyio.current_time() + seconds
    while anyio.current_time() < ends:
        try:
            await anyio.sleep(ends - anyio.current_time())
        except anyio.get_cancelled_exc_class():
            continue


class _Body(httpx.AsyncByteStream):
    """A body that leaves in two halves, a moment apart."""

    def __init__(self, request: httpx.Request, trip: Trip) -> None:
        assert isinstance(request.stream, httpx.AsyncByteStream)
        self._pieces = aiter(request.stream)
        self._trip = trip
        self._rest: list[bytes] = []

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        trip = self._trip
        if self._rest:
            await anyio.sleep(MOMENT)
            return self._rest.pop()
        try:
            piece = await anext(self._pieces)
        except StopAsyncIteration:
            trip.whole = True
            trip.step(Step.WAITING)
            raise
        trip.left = True
        trip.step(Step.LEAVING)
        half = len(piece) // 2
        self._rest = [piece[half:]]
        return piece[:half]


class _Reply(httpx.AsyncByteStream):
    """A reply that comes in two halves, a moment apart; a piece without end comes as it is."""

    def __init__(self, response: httpx.Response, trip: Trip, stuck: float) -> None:
        assert isinstance(response.stream, httpx.AsyncByteStream)
        self._stream = response.stream
        self._pieces = aiter(response.stream)
        self._trip = trip
        self._stuck = stuck
        self._rest: list[bytes] = []

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        trip = self._trip
        if self._rest:
            await anyio.sleep(MOMENT)
            piece = self._rest.pop()
        else:
            try:
                piece = await anext(self._pieces)
            except StopAsyncIteration:
                trip.complete = True
                raise
            trip.step(Step.COMING)
            half = len(piece) // 2
            if half:
                piece, self._rest = piece[:half], [piece[half:]]
        trip.came += piece
        return piece

    async def aclose(self) -> None:
        trip = self._trip
        try:
            if not trip.complete and self._stuck:
                trip.step(Step.CLOSING)
                await anyio.sleep(self._stuck)
        finally:
            await self._stream.aclose()
            if not trip.over:
                trip.step(Step.OVER)
