"""Reads a stream of events from memory, one way, and says what CPU or memory that took.

    python benchmarks/stream_reader.py delegate|httpx-sse|a2a-sdk

Each way runs in an environment that has it. The stream is the body of an `httpx.Response` that
comes in chunks, as from a network, so every way is fed through its own public door. Reads orders
from standard input, a JSON object a line with the fields of `Order`, and answers each line with a
number: seconds of CPU, or where `memory` is asked for the most bytes that Python held at once. Ends
with its input.
"""

from __future__ import annotations

import asyncio  # noqa: TID251 - a program without the package
import gc
import json
import sys
import time
import tracemalloc
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import httpx

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

CHUNK: Final = 64 * 1024
"""Bytes that come at once; httpx reads as many from a socket."""

_BEGIN: Final = (
    b'data: {"jsonrpc":"2.0","id":"1","result":{"artifactUpdate":{"taskId":"t-1","append":true,'
    b'"artifact":{"artifactId":"a-1","parts":[{"text":"'
)
_END: Final = b'"}]}}}}\n\n'


@dataclass(frozen=True)
class Order:
    """So many events of so many bytes; `read`: as JSON and as events of A2A as well."""

    events: int
    size: int
    read: bool = False
    memory: bool = False


class Body(httpx.AsyncByteStream):
    """Events that come in chunks, none of which is made before it is asked for."""

    def __init__(self, order: Order) -> None:
        self._order = order
        self._text = b"x" * (order.size - len(_BEGIN) - len(_END))

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Yield the chunks."""
        if self._order.events == 1:
            yield _BEGIN
            for start in range(0, len(self._text), CHUNK):
                yield self._text[start : start + CHUNK]
            yield _END
            return
        event = _BEGIN + self._text + _END
        at_once = CHUNK // len(event) + 1
        # Chunks of a network end anywhere, so each begins where the last one has cut an event.
        rest = b""
        for first in range(0, self._order.events, at_once):
            rest += event * min(at_once, self._order.events - first)
            yield rest[:CHUNK]
            rest = rest[CHUNK:]
        yield rest


def delegate(body: Body, *, read: bool) -> AsyncIterator[object]:
    """Read by the decoder of this package."""
    from a2a_delegate.wire.event_stream import EventStream  # noqa: PLC0415 - as said above
    from a2a_delegate.wire.events import read_event  # noqa: PLC0415
    from a2a_delegate.wire.json_text import parse  # noqa: PLC0415

    async def events() -> AsyncIterator[object]:
        stream = EventStream(max_event_bytes=1024 * 1024 * 1024)
        async for chunk in httpx.Response(200, stream=body).aiter_raw():
            for event in stream.feed(chunk):
                if not read:
                    yield event
                else:
                    value = parse(event.data)
                    yield read_event(value["result"])  # type: ignore[index]

    return events()


def httpx_sse(body: Body, *, read: bool) -> AsyncIterator[object]:
    """Read by httpx-sse, which knows nothing of A2A: JSON is all that it makes."""
    from httpx_sse import EventSource  # noqa: PLC0415 - as said above

    async def events() -> AsyncIterator[object]:
        response = httpx.Response(200, headers={"content-type": "text/event-stream"}, stream=body)
        async for event in EventSource(response).aiter_sse():
            yield event.json() if read else event

    return events()


def a2a_sdk(body: Body, *, read: bool) -> AsyncIterator[object]:
    """Read by the parser of a2a-sdk's client."""
    from a2a.client.transports.http_helpers import (  # type: ignore[import-not-found]  # noqa: PLC0415
        parse_sse_stream,
    )
    from a2a.types.a2a_pb2 import (  # type: ignore[import-not-found]  # noqa: PLC0415
        StreamResponse,
    )
    from a2a.utils.proto_utils import (  # type: ignore[import-not-found]  # noqa: PLC0415
        parse_lenient,
    )

    async def events() -> AsyncIterator[object]:
        async for _, data in parse_sse_stream(httpx.Response(200, stream=body)):
            if read:
                yield parse_lenient(json.loads(data)["result"], StreamResponse())
            else:
                yield data

    return events()


WAYS: Final = {"delegate": delegate, "httpx-sse": httpx_sse, "a2a-sdk": a2a_sdk}


async def carry_out(way: Callable[..., AsyncIterator[object]], order: Order) -> float:
    """Read a stream; return the seconds of CPU, or the bytes, that it took."""
    body, count = Body(order), 0
    gc.collect()
    if order.memory:
        tracemalloc.start()
    began = time.process_time()
    async for _ in way(body, read=order.read):
        count += 1
    spent = time.process_time() - began
    if order.memory:
        spent = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    if count != order.events:
        raise ValueError(f"{count} events of {order.events}")
    return spent


def main() -> None:
    """Serve the orders on standard input."""
    way = WAYS[sys.argv[1]]
    for line in sys.stdin:
        print(asyncio.run(carry_out(way, Order(**json.loads(line)))), flush=True)


if __name__ == "__main__":
    main()
