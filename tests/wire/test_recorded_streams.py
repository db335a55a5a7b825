"""Every recorded stream of a real server, event by event."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from a2a_delegate.lifecycle.operations import (
    ArtifactUpdate,
    Fault,
    MessageReply,
    OperationName,
    StatusUpdate,
    TaskReply,
)
from a2a_delegate.model.card import ProtocolVersion
from a2a_delegate.wire.dialect import DIALECTS
from a2a_delegate.wire.envelope import read
from a2a_delegate.wire.event_stream import EventStream, ServerSentEvent
from a2a_delegate.wire.result import WireResult
from tests.wire.recordings import (
    CAPTURES,
    exchanges,
    observed_artifact,
    observed_message,
    observed_status,
    observed_task,
    plain_artifact,
    plain_message,
    plain_status,
    plain_task,
    sent,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
METHODS = {
    "SendStreamingMessage": (ProtocolVersion.V1_0, OperationName.SEND),
    "SubscribeToTask": (ProtocolVersion.V1_0, OperationName.SUBSCRIBE),
    "message/stream": (ProtocolVersion.V0_3, OperationName.SEND),
    "tasks/resubscribe": (ProtocolVersion.V0_3, OperationName.SUBSCRIBE),
}
KINDS = {
    "task": "task",
    "message": "message",
    "statusUpdate": "status-update",
    "artifactUpdate": "artifact-update",
}


@dataclass(frozen=True)
class Recorded:
    """One stream: what was asked, and the lines that came."""

    place: str
    request: dict[str, Any]
    lines: list[str]
    was_closed: bool

    @property
    def is_single_reply(self) -> bool:
        """Whether the server answered by JSON, and by no stream."""
        return self.lines[:1] != [] and self.lines[0].startswith("{")

    @property
    def content(self) -> bytes:
        """What came, byte for byte; a stream that was left has no end of its last line."""
        end = "\n" if self.was_closed else ""
        return ("\n".join(self.lines) + end).encode() if self.lines else b""

    @property
    def documents(self) -> list[dict[str, Any]]:
        """The JSON of the events: each of these servers writes each on one line."""
        data = [line.removeprefix("data:") for line in self.lines if line.startswith("data:")]
        # Whoever left after three events had read the line of the third, but not its end.
        left = not self.was_closed and self.lines[-1:] != [] and self.lines[-1].startswith("data:")
        return [json.loads(document) for document in (data[:-1] if left else data)]

    def __str__(self) -> str:
        """Name the test."""
        return self.place


def recorded() -> Iterator[Recorded]:
    for path in sorted(CAPTURES.rglob("*.json")):
        for number, exchange in enumerate(exchanges(path)):
            if "stream" in exchange:
                place = f"{path.parent.name}/{path.stem}/{number}"
                lines = [line for _, line in exchange["stream"]]
                closed = exchange["ended"] == "server closed"
                yield Recorded(place, sent(exchange["request"]), lines, closed)


ALL = list(recorded())
STREAMS = [one for one in ALL if not one.is_single_reply]
SINGLE = [one for one in ALL if one.is_single_reply]


def events_of(one: Recorded, size: int = 100_000) -> list[ServerSentEvent]:
    """Decode a stream that comes in pieces of a size."""
    stream, content = EventStream(max_event_bytes=100_000), one.content
    cuts = range(0, len(content), size)
    return [event for start in cuts for event in stream.feed(content[start : start + size])]


def reading(one: Recorded, body: bytes) -> object:
    """Read one event, as plain values."""
    version, operation = METHODS[one.request["method"]]
    reply = read(
        body,
        request_id=one.request["id"],
        operation=operation,
        status=200,
        headers={},
        now=NOW,
    )
    if isinstance(reply, Fault):
        return ("error", reply.error.code, reply.error.message[:400])
    assert isinstance(reply, WireResult), reply
    if one.place.startswith("a2a-sdk-0.2/") and version is ProtocolVersion.V0_3:
        version = ProtocolVersion.V0_2
    match event := DIALECTS[version].decode_event(reply.result):
        case TaskReply(task=task):
            return observed_task(task)
        case MessageReply(message=message):
            return observed_message(message)
        case StatusUpdate(task_id=task_id, status=status, context_id=context_id):
            return ("status-update", task_id, context_id, observed_status(status))
        case ArtifactUpdate(artifact=artifact, append=append, context_id=context_id):
            made = observed_artifact(artifact)
            return ("artifact-update", event.task_id, context_id, append, made)
        case _:
            pytest.fail(f"an event that was not understood: {event}")


def plain(document: dict[str, Any]) -> object:
    error = document.get("error")
    if error:
        return ("error", error["code"], error["message"][:400])
    kind, event = named(document["result"])
    if kind == "task":
        return plain_task(event)
    if kind == "message":
        return plain_message(event)
    ids = (event["taskId"], event.get("contextId"))
    if kind == "status-update":
        return (kind, *ids, plain_status(event["status"]))
    return (kind, *ids, event.get("append", False), plain_artifact(event["artifact"]))


def named(result: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Name an event by its kind, or by the one member that it is wrapped in."""
    if "kind" in result:
        return result["kind"], result
    ((name, event),) = result.items()
    return KINDS[name], event


def test_the_recordings_are_here() -> None:
    servers = Counter(one.place.split("/")[0] for one in STREAMS)
    assert len(servers) == 17
    assert len(STREAMS) == 106
    assert len(SINGLE) == 14
    kinds = Counter(
        named(document["result"])[0]
        for one in STREAMS
        for document in one.documents
        if "result" in document
    )
    assert kinds["status-update"] > 250
    assert kinds["artifact-update"] > 60
    assert kinds["task"] > 60
    assert kinds["message"] >= 8


@pytest.mark.parametrize("one", STREAMS, ids=str)
@pytest.mark.spec("SSE-1", "SSE-2", "SSE-3", "STATE-11", "EVENT-1", "EVENT-2", "EVENT-3")
def test_a_recorded_stream_is_read_as_it_stands(one: Recorded) -> None:
    events = events_of(one)
    assert [json.loads(event.data) for event in events] == one.documents
    assert [reading(one, event.data) for event in events] == [plain(one) for one in one.documents]


@pytest.mark.parametrize("one", STREAMS, ids=str)
@pytest.mark.spec("SSE-2")
def test_a_recorded_stream_may_be_cut_anywhere(one: Recorded) -> None:
    whole = events_of(one)
    for size in (1, 7, 1_000):
        assert events_of(one, size) == whole
    stream = EventStream(max_event_bytes=100_000)
    before = one.content[: len(one.content) // 2]
    assert (
        stream.feed(before) == whole[: len([line for line in before.split(b"\n\n")[:-1] if line])]
    )


@pytest.mark.parametrize("one", SINGLE, ids=str)
@pytest.mark.spec("BIND-5")
def test_a_refusal_that_is_no_stream_holds_no_event_and_is_read_as_a_reply(one: Recorded) -> None:
    assert events_of(one) == []
    (line,) = one.lines
    assert reading(one, line.encode()) == plain(json.loads(line))


@pytest.mark.spec("STATE-11")
def test_an_error_comes_as_an_event_of_its_own_name_or_under_none() -> None:
    names = Counter(
        event.name
        for one in STREAMS
        for event in events_of(one)
        if "error" in json.loads(event.data)
    )
    assert set(names) == {"error", "message"}
