"""What comes of a stream whose events are errors, cannot be read, or come by the thousand."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import anyio
import httpx
import pytest

from a2a_delegate.bindings.call import Call
from a2a_delegate.bindings.carriage import Bounds
from a2a_delegate.bindings.exchange import Exchange
from a2a_delegate.bindings.jsonrpc import JsonRpcBinding
from a2a_delegate.lifecycle.operations import (
    Fault,
    Lost,
    OperationName,
    StreamEnd,
    StreamEvent,
    Unreadable,
)
from a2a_delegate.wire import v1_0
from a2a_delegate.wire.words import Words

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from a2a_delegate.bindings.call import CallReply

pytestmark = pytest.mark.anyio

NO_STATUS = {"result": {"statusUpdate": {"taskId": "t-1"}}}
WORKING = {"result": {"statusUpdate": {"taskId": "t-1", "status": {"state": "TASK_STATE_WORKING"}}}}
NONSENSE = {"result": {"what": "ever"}}
NO_METHOD = {"error": {"code": -32601, "message": "no such method"}}


class Events(httpx.AsyncBaseTransport):
    """Answers by these events, each under the request's id; a `cut` loses the connection then."""

    def __init__(
        self,
        *events: Mapping[str, object],
        cut: bool = False,
        raw: bytes = b"",
        name: bytes = b"message",
    ) -> None:
        self._events, self._cut, self._raw, self._name = events, cut, raw, name

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        request_id = json.loads(await request.aread())["id"]

        async def body() -> AsyncIterator[bytes]:
            yield self._raw
            for event in self._events:
                envelope = {"jsonrpc": "2.0", "id": request_id, **event}
                yield (
                    b"event: " + self._name + b"\ndata: " + json.dumps(envelope).encode() + b"\n\n"
                )
            if self._cut:
                raise httpx.ReadError("reset")

        return httpx.Response(
            200, headers={"content-type": "text/event-stream"}, content=body(), request=request
        )


async def streamed(
    transport: Events, exchange: Exchange | None = None
) -> tuple[CallReply, list[StreamEvent], list[str]]:
    shown: list[StreamEvent] = []
    ids: list[str] = []
    exchange = exchange or Exchange(on_event=shown.append, on_id=ids.append)
    async with httpx.AsyncClient(transport=transport) as client:
        binding = JsonRpcBinding(
            client, bounds=Bounds(10_000_000), now=lambda: datetime(2026, 5, 1, tzinfo=UTC)
        )
        call = Call(
            Words("SendStreamingMessage", {}),
            OperationName.SEND,
            httpx.URL("https://agent.example/rpc"),
            {},
            read_event=v1_0.DIALECT.decode_event,
        )
        return await binding.call(call, exchange), shown, ids


async def test_an_error_alone_is_a_refusal() -> None:
    reply, _, _ = await streamed(Events(NO_METHOD))
    assert isinstance(reply, Fault)


@pytest.mark.spec("CARR-30", "LAW-1")
async def test_an_error_after_an_event_that_shows_a_task_refuses_nothing() -> None:
    reply, shown, ids = await streamed(Events(NO_STATUS, NO_METHOD))
    assert isinstance(reply, Unreadable)
    assert (reply.task_id, shown, ids) == ("t-1", [], ["t-1"])
    assert b"no such method" in reply.evidence


@pytest.mark.spec("CARR-30", "LAW-1")
async def test_an_error_after_an_event_that_nobody_understood_refuses_nothing() -> None:
    reply, _, ids = await streamed(Events(NONSENSE, NO_METHOD))
    assert isinstance(reply, Unreadable)
    assert (reply.task_id, ids) == (None, [])


@pytest.mark.spec("CARR-30")
async def test_what_is_called_an_error_may_show_a_task_as_well() -> None:
    reply, _, ids = await streamed(Events(NO_STATUS, name=b"error"))
    assert isinstance(reply, Fault)
    assert ids == ["t-1"]


async def test_an_error_after_an_event_ends_the_stream() -> None:
    reply, shown, _ = await streamed(Events(WORKING, NO_METHOD))
    assert isinstance(reply, StreamEnd)
    assert len(shown) == 1


@pytest.mark.spec("CARR-30")
async def test_the_id_that_an_unreadable_event_shows_is_not_lost_with_the_connection() -> None:
    reply, _, ids = await streamed(Events(NONSENSE, NO_STATUS, cut=True))
    assert isinstance(reply, Lost)
    assert (reply.task_id, ids) == ("t-1", ["t-1"])


@pytest.mark.spec("CARR-30")
async def test_the_loop_has_its_turn_between_thousands_of_events() -> None:
    turns = 0
    ends = anyio.Event()

    async def count() -> None:
        nonlocal turns
        while not ends.is_set():
            turns += 1
            await anyio.lowlevel.checkpoint()

    async with anyio.create_task_group() as group:
        group.start_soon(count)
        await streamed(Events(raw=b"data: {}\n\n" * 20_000))
        ends.set()
    assert turns > 200


async def test_empty_events_say_nothing() -> None:
    reply, _, _ = await streamed(Events(WORKING, raw=b"data:\n\ndata: \n\n"))
    assert isinstance(reply, StreamEnd)
    assert reply.error is None
