"""Streams as servers really write them: every event of them, and nothing that is none."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from a2a_delegate.lifecycle.operations import (
    ArtifactUpdate,
    MessageReply,
    OperationName,
    StatusUpdate,
    TaskReply,
)
from a2a_delegate.model.part import TextPart
from a2a_delegate.model.task import TaskState
from a2a_delegate.wire import envelope
from a2a_delegate.wire.dialect import DIALECTS
from a2a_delegate.wire.event_stream import EventStream, EventTooLargeError
from a2a_delegate.wire.reading import Unclear
from a2a_delegate.wire.result import WireResult

if TYPE_CHECKING:
    from a2a_delegate.lifecycle.operations import StreamEvent
    from a2a_delegate.wire.dialect import Dialect

LIMIT = 1024 * 1024
NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)

every_version = pytest.mark.parametrize("dialect", DIALECTS.values(), ids=lambda one: one.version)


def line(result: object) -> bytes:
    """Write the line of data of one event, with all its text as it is."""
    document = {"jsonrpc": "2.0", "id": "r", "result": result}
    return b"data: " + json.dumps(document, ensure_ascii=False).encode()


def shown(dialect: Dialect, *chunks: bytes) -> list[StreamEvent | Unclear]:
    """Return what a stream shows that comes in these chunks."""
    stream = EventStream(max_event_bytes=LIMIT)
    found: list[StreamEvent | Unclear] = []
    for event in [event for chunk in chunks for event in stream.feed(chunk)]:
        reply = envelope.read(
            event.data,
            request_id="r",
            operation=OperationName.SEND,
            status=200,
            headers={},
            now=NOW,
        )
        if isinstance(reply, WireResult):
            found.append(dialect.decode_event(reply.result))
    return found


def status(text: str = "", **members: object) -> dict[str, Any]:
    message = {"messageId": "m", "role": "agent", "parts": [{"kind": "text", "text": text}]}
    said: dict[str, Any] = {"state": "working", "message": message}
    return {"kind": "status-update", "taskId": "t", "status": said, "final": False, **members}


def texts(events: list[StreamEvent | Unclear]) -> list[str]:
    """Return what the agent says in status updates that are all read."""
    said = []
    for event in events:
        assert isinstance(event, StatusUpdate)
        assert event.status.message is not None
        said.append(event.status.message.text)
    return said


# -- what stands between events --------------------------------------------------------------------


@pytest.mark.parametrize(
    "comment", [b":\n", b": keep-alive\n", b": ping - 12:00\r\n", b":data: x\n"]
)
@every_version
@pytest.mark.report("S4")
def test_comments_between_events_and_within_them_are_ignored(
    dialect: Dialect, comment: bytes
) -> None:
    first, second = line(status("1")), line(status("2"))
    between = comment + first + b"\n" + comment + b"\n" + comment * 3 + b"\n" + second + b"\n\n"
    assert texts(shown(dialect, between, comment * 1_000)) == ["1", "2"]


@pytest.mark.parametrize(
    "trailer", [b"data: [DONE]\n\n", b"data:\n\n", b"data: {}\n\n", b"id: 1\n\n"]
)
@every_version
@pytest.mark.report("P31")
def test_a_trailer_is_no_event_and_takes_nothing_away(dialect: Dialect, trailer: bytes) -> None:
    assert texts(shown(dialect, line(status("end")) + b"\n\n" + trailer)) == ["end"]


# -- where an event begins and ends ----------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 100, 1_000_000])
@every_version
@pytest.mark.report("S15")
def test_events_that_come_together_are_all_kept(dialect: Dialect, size: int) -> None:
    content = b"".join(line(status(str(number))) + b"\n\n" for number in range(200))
    chunks = [content[start : start + size] for start in range(0, len(content), size)]
    assert texts(shown(dialect, *chunks)) == [str(number) for number in range(200)]


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
@every_version
@pytest.mark.report("S17")
def test_an_event_is_read_whole_and_not_by_its_lines(dialect: Dialect, end: bytes) -> None:
    document = {"jsonrpc": "2.0", "id": "r", "result": status("over several lines")}
    lines = json.dumps(document, indent=2).encode().splitlines()
    event = end.join([b"event: message", b"id: 7", *(b"data: " + one for one in lines), b"", b""])
    assert texts(shown(dialect, event, event)) == ["over several lines"] * 2


@pytest.mark.parametrize(
    "text",
    [
        "\u4f60\u597d",
        "\U0001f600 e\u0301",
        "a\u2028b\u2029c",
        "a\u0085b",
        "a\x7fb",
        "\ufeff",
        "\u0000",
    ],
)
@pytest.mark.parametrize("size", [1, 3, 1_000_000])
@every_version
@pytest.mark.report("S19", "P32")
def test_any_text_in_an_event_stays_what_it_is(dialect: Dialect, size: int, text: str) -> None:
    content = line(status(text)) + b"\r\n\r\n"
    chunks = [content[start : start + size] for start in range(0, len(content), size)]
    assert texts(shown(dialect, *chunks)) == [text]


@every_version
@pytest.mark.report("P33")
def test_a_byte_order_mark_costs_no_event(dialect: Dialect) -> None:
    content = b"\xef\xbb\xbf" + line(status("1")) + b"\n\n" + line(status("2")) + b"\n\n"
    assert texts(shown(dialect, content)) == ["1", "2"]
    assert texts(shown(dialect, content[:2], content[2:])) == ["1", "2"]


@every_version
@pytest.mark.report("P30")
def test_a_last_event_without_its_blank_line_is_no_event(dialect: Dialect) -> None:
    whole = line(status("1")) + b"\n\n"
    last = line({**status("2"), "status": {"state": "completed"}, "final": True})
    assert texts(shown(dialect, whole + last)) == ["1"]
    assert texts(shown(dialect, whole + last + b"\n")) == ["1"]


@pytest.mark.parametrize("endless", [b"x", b"data: x", b": x", b"data: x\n", b"event: x\n"])
@pytest.mark.report("S9")
def test_an_event_without_end_is_refused_at_the_bound(endless: bytes) -> None:
    stream = EventStream(max_event_bytes=LIMIT)
    before = stream.feed(line(status("1")) + b"\n\n" + endless)
    assert len(before) == 1
    chunk = (endless if endless.endswith(b"\n") else b"x") * 64_000
    with pytest.raises(EventTooLargeError, match="more than 1048576 bytes"):
        feed_on(stream, chunk, times=100)


def feed_on(stream: EventStream, chunk: bytes, *, times: int) -> None:
    for _ in range(times):
        stream.feed(chunk)


# -- what an event says ----------------------------------------------------------------------------


EVENTS: list[tuple[dict[str, Any], type]] = [
    (status("x"), StatusUpdate),
    (status("x", contextId="c"), StatusUpdate),
    (status("x", contextId=None), StatusUpdate),
    ({"statusUpdate": {"taskId": "t", "status": {"state": "TASK_STATE_WORKING"}}}, StatusUpdate),
    ({"taskId": "t", "status": {"state": "working"}}, StatusUpdate),
    ({"kind": "artifact-update", "taskId": "t", "artifact": {"artifactId": "a"}}, ArtifactUpdate),
    ({"artifactUpdate": {"taskId": "t", "artifact": {"artifactId": "a"}}}, ArtifactUpdate),
    ({"kind": "task", "id": "t", "status": {"state": "working"}}, TaskReply),
    ({"task": {"id": "t", "status": {"state": "TASK_STATE_WORKING"}}}, TaskReply),
    ({"kind": "message", "messageId": "m", "role": "agent", "parts": []}, MessageReply),
    ({"message": {"messageId": "m", "role": "ROLE_AGENT", "parts": []}}, MessageReply),
]


@pytest.mark.parametrize(("result", "kind"), EVENTS)
@every_version
@pytest.mark.report("S24", "P34")
def test_an_event_of_either_version_is_read_with_or_without_a_context(
    dialect: Dialect, result: dict[str, Any], kind: type
) -> None:
    (event,) = shown(dialect, line({**result, "unknown": 1}) + b"\n\n")
    assert isinstance(event, kind)
    if isinstance(event, StatusUpdate):
        assert event.task_id == "t"
        assert event.status.state is TaskState.WORKING


@pytest.mark.parametrize("result", [{}, {"unknown": {}}, {"kind": "progress"}, [], "text"])
@every_version
@pytest.mark.report("P34")
def test_an_event_of_another_shape_is_told_apart_and_is_no_empty_one(
    dialect: Dialect, result: object
) -> None:
    (event,) = shown(dialect, line(result) + b"\n\n")
    assert isinstance(event, Unclear)


@every_version
@pytest.mark.report("S20")
def test_more_of_an_artifact_that_nobody_has_seen_is_read(dialect: Dialect) -> None:
    artifact = {"artifactId": "new", "parts": [{"text": "x"}]}
    more = {"taskId": "t", "artifact": artifact, "append": True, "lastChunk": False}
    for result in ({"artifactUpdate": more}, {"kind": "artifact-update", **more}):
        (event,) = shown(dialect, line(result) + b"\n\n")
        assert isinstance(event, ArtifactUpdate)
        assert event.append
        assert event.artifact.parts == (TextPart("x"),)
