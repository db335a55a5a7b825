"""Follows many streams at once, one way, and says what that took.

    python open_streams.py delegate|httpx-sse|a2a-sdk URL PIECES [--loop asyncio|trio]

Each way runs in an environment that has it, against streaming_agent.py at `URL`, whose streams show
the task, so many pieces of an artifact, and the end. Reads orders from standard input, a JSON
object a line with the fields of `Order`, and answers each line with a JSON object. What is said of
events was measured from the first piece on that one of them showed, when all were open, until the
first of them had shown its last piece:

- `opening`, `event`, `ending`: seconds of CPU, for one stream before, for one event, and for one
  stream afterwards, with whatever it takes to be sure of the outcome;
- `late`: by how many seconds a task that sleeps 10 ms woke up too late: the median, the 99th
  percentile, and the most; `busy`: the same, but for what other processes are to blame for: no more
  than the CPU that this process spent in the time;
- `held`: the bytes that Python held for one stream; an order for it has no other answer, for
  counting them takes more CPU than all else.

Ends with ValueError where a stream shows anything else, or leaves a file or a task behind.
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import sys
import time
import tracemalloc
import uuid
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

import anyio
import httpx

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

PROMPT: Final = "Summarise the three newest papers on the delegation of tasks between agents."
SLEEP: Final = 0.01
CLOSING_SECONDS: Final = 5.0
"""How long it may take the event loop to be rid of what has been closed."""

_FILES: Final = Path("/dev/fd")
_FIRST_PIECE: Final = 2
"""The number of the event in which a stream shows it, after the task."""


@dataclass(frozen=True)
class Order:
    """So many streams at once; `held`: count the memory that they take."""

    streams: int
    held: bool = False


class Course:
    """How far the streams of an order are, and what was seen at the moments that count."""

    def __init__(self, order: Order, pieces: int) -> None:
        self.shown = [0] * order.streams
        self.goes_on = anyio.Event()
        self.late: list[float] = []
        self.busy: list[float] = []
        self.held = 0
        self.first_piece: float | None = None
        self.first_done: float | None = None
        self.events = 0
        self._pieces = pieces

    def event(self, stream: int) -> None:
        """Take that a stream has shown another event."""
        self.shown[stream] += 1
        self.events += self.first_piece is not None and self.first_done is None
        if self.shown[stream] == _FIRST_PIECE and self.first_piece is None:
            if not all(self.shown):
                raise ValueError("a stream went on before all were open")
            self.first_piece = time.process_time()
            self.goes_on.set()
        elif self.shown[stream] == 1 + self._pieces and self.first_done is None:
            self.first_done = time.process_time()
            if tracemalloc.is_tracing():
                gc.collect()
                self.held = tracemalloc.get_traced_memory()[0]
                tracemalloc.stop()

    async def watch_the_loop(self) -> None:
        """Sleep, again and again, and note by how much too long."""
        await self.goes_on.wait()
        while self.first_done is None:
            began, spent = time.perf_counter(), time.process_time()
            await anyio.sleep(SLEEP)
            self.late.append(time.perf_counter() - began - SLEEP)
            self.busy.append(min(self.late[-1], time.process_time() - spent))


Follow: TypeAlias = "Callable[[int], Coroutine[object, object, None]]"
"""Follows the stream of that number to its end."""


class FollowAll(Protocol):
    """Follows all streams of an order."""

    async def __call__(self, follow: Follow) -> None:
        """Return at the end of the last one."""
        ...


async def by_delegate(url: str, course: Course, follow_all: FollowAll) -> None:
    """Delegate, by this package, with an observer each."""
    from a2a_delegate import (  # noqa: PLC0415 - as said above
        A2ADelegateConfig,
        ArtifactChunk,
        StateSeen,
        connect,
    )

    def observe(stream: int, signal: object) -> None:
        if isinstance(signal, StateSeen | ArtifactChunk):
            course.event(stream)

    async def follow(stream: int) -> None:
        result = await delegate.dispatch(PROMPT, observer=partial(observe, stream))
        result.raise_for_status()

    # Beside a stream the task is asked for every 30 seconds in the long run, and so from the first.
    config = A2ADelegateConfig(watch="stream", poll_interval=3.0)
    async with connect(url, config=config) as delegate:
        await follow_all(follow)


async def by_httpx_sse(url: str, course: Course, follow_all: FollowAll) -> None:
    """Read the events by httpx-sse, and the JSON in them."""
    from httpx_sse import aconnect_sse  # noqa: PLC0415 - as said above

    async def follow(stream: int) -> None:
        state, headers = "", {"A2A-Version": "1.0", "Accept-Encoding": "identity"}
        async with aconnect_sse(
            client, "POST", f"{url}/rpc", json=a_send(), headers=headers
        ) as source:
            async for event in source.aiter_sse():
                update = event.json()["result"].get("statusUpdate")
                state = update["status"]["state"] if update else state
                course.event(stream)
        check("TASK_STATE_COMPLETED", state)

    async with a_client() as client:
        await follow_all(follow)


async def by_a2a_sdk(url: str, course: Course, follow_all: FollowAll) -> None:
    """Send by the client of a2a-sdk, and take its events."""
    from a2a.client import (  # type: ignore[import-not-found]  # noqa: PLC0415
        ClientConfig,
        ClientFactory,
    )
    from a2a.helpers.proto_helpers import (  # type: ignore[import-not-found]  # noqa: PLC0415
        new_text_message,
    )
    from a2a.types.a2a_pb2 import (  # type: ignore[import-not-found]  # noqa: PLC0415
        Role,
        SendMessageRequest,
        TaskState,
    )

    async def follow(stream: int) -> None:
        state, message = None, new_text_message(PROMPT, role=Role.ROLE_USER)
        async for event in client.send_message(SendMessageRequest(message=message)):
            state = event.status_update.status.state
            course.event(stream)
        check(TaskState.TASK_STATE_COMPLETED, state)

    async with a_client() as http:
        factory = ClientFactory(ClientConfig(streaming=True, httpx_client=http))
        client = await factory.create_from_url(url)
        await follow_all(follow)


WAYS: Final = {"delegate": by_delegate, "httpx-sse": by_httpx_sse, "a2a-sdk": by_a2a_sdk}


def a_client() -> httpx.AsyncClient:
    """Make a client as anyone does, but for limits that would end streams, or let them wait."""
    return httpx.AsyncClient(timeout=None, limits=httpx.Limits())  # noqa: S113 - as said


def a_send() -> dict[str, object]:
    """Write by hand the request that the delegate writes, with fresh ids."""
    message = {
        "messageId": str(uuid.uuid4()),
        "role": "ROLE_USER",
        "parts": [{"text": PROMPT}],
        "contextId": str(uuid.uuid4()),
    }
    return {
        "jsonrpc": "2.0",
        "id": str(uuid.uuid4()),
        "method": "SendStreamingMessage",
        "params": {"message": message},
    }


def check(expected: object, found: object) -> None:
    """Raise ValueError where these differ."""
    if found != expected:
        raise ValueError(f"{found!r}, expected was {expected!r}")


async def carry_out(way: str, url: str, pieces: int, order: Order) -> dict[str, object]:
    """Follow so many streams, and return what that took."""
    course, opened = Course(order, pieces), what_is_open()
    gc.collect()
    if order.held:
        tracemalloc.start()
    before, began = tracemalloc.get_traced_memory()[0], time.process_time()

    async def follow_all(follow: Follow) -> None:
        async with anyio.create_task_group() as tasks:
            if not order.held:
                tasks.start_soon(course.watch_the_loop)
            for number in range(order.streams):
                tasks.start_soon(follow, number)

    await WAYS[way](url, course, follow_all)
    ended = time.process_time()
    check([pieces + 2] * order.streams, course.shown)
    await check_nothing_left(opened)
    if course.first_piece is None or course.first_done is None:
        raise ValueError("there was no moment at which all streams were open")
    if order.held:
        return {"held": (course.held - before) / order.streams}
    return {
        "opening": (course.first_piece - began) / order.streams,
        "event": (course.first_done - course.first_piece) / course.events,
        "ending": (ended - course.first_done) / order.streams,
        "late": summed_up(course.late),
        "busy": summed_up(course.busy),
    }


def summed_up(samples: list[float]) -> list[float]:
    """Return the median, the 99th percentile, and the most."""
    percentiles = statistics.quantiles(samples, n=100, method="inclusive")
    return [percentiles[49], percentiles[98], max(samples)]


def what_is_open() -> tuple[int, int]:
    """Count the tasks, and the files and sockets where the system lists them."""
    files = len(list(_FILES.iterdir())) if _FILES.exists() else 0
    return len(anyio.get_running_tasks()), files


async def check_nothing_left(before: tuple[int, int]) -> None:
    """Raise ValueError where a task or a socket is left, once the loop has had time to end them."""
    with anyio.move_on_after(CLOSING_SECONDS):
        while what_is_open() != before:  # noqa: ASYNC110 - nobody tells
            await anyio.sleep(SLEEP)
    check(before, what_is_open())


def main() -> None:
    """Serve the orders on standard input."""
    parser = argparse.ArgumentParser(description="Follows many streams at once.")
    parser.add_argument("way", choices=WAYS)
    parser.add_argument("url")
    parser.add_argument("pieces", type=int, help="pieces of an artifact that each stream shows")
    parser.add_argument("--loop", choices=("asyncio", "trio"), default="asyncio")
    options = parser.parse_args()
    for line in sys.stdin:
        order = Order(**json.loads(line))
        answer = anyio.run(
            carry_out, options.way, options.url, options.pieces, order, backend=options.loop
        )
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
