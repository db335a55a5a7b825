"""Streams as servers write them, end to end: every event counts, and what is none does not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from a2a_delegate import (
    ArtifactChunk,
    AttemptFailed,
    Completed,
    InvalidReplyError,
    Progress,
    StateSeen,
)
from a2a_delegate.testing import (
    Dribble,
    EventFormat,
    Gathered,
    InsertBytes,
    InsertEvent,
    Intruder,
    LineEnd,
    Operation,
    PadEvent,
    SplitInside,
)
from tests.reports.staging import runs
from tests.reports.streaming import (
    EVENTS,
    INTERFACES,
    THREE,
    WAYS,
    Way,
    assert_all_was_seen,
    cuts,
    streaming_peer,
    task_shown,
    text_told,
    update_shown,
    watched,
    wrapped,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from a2a_delegate.testing import Behaviour
    from tests.reports.staging import Json

pytestmark = [pytest.mark.anyio, pytest.mark.virtual_time]


# -- how events are written ------------------------------------------------------------------------


FORMATS: dict[str, Behaviour] = {
    "lf": EventFormat(),
    "crlf": EventFormat(line_end=LineEnd.CRLF),
    "cr": EventFormat(line_end=LineEnd.CR),
    "several lines": EventFormat(multi_line=True),
    "names and ids": EventFormat(ids=True, retry=1000, name="message", multi_line=True),
    "another name": EventFormat(name="status_update", space=False),
    "byte order mark": EventFormat(bom=True),
    "all": EventFormat(LineEnd.CRLF, bom=True, multi_line=True, ids=True, retry=1, name="x"),
}


@pytest.mark.report("S17", "P33")
@WAYS
@pytest.mark.parametrize("form", FORMATS.values(), ids=FORMATS)
@pytest.mark.parametrize("size", [None, 7])
async def test_events_are_read_however_they_are_spelled_and_cut(
    way: Way, form: EventFormat, size: int | None
) -> None:
    peer = streaming_peer(way)
    peer.script(Operation.SEND, form if size is None else Dribble(size, 0, form))
    assert_all_was_seen(*await watched(peer))


TEXTS = [
    "\u4f60\u597d\uff0c\u4e16\u754c",
    "\U0001f600 e\u0301 \u00fc",
    "a\u2028b\u2029c\u0085d\x0be\x0cf",
    "\ufeff and data: x",
]


@pytest.mark.report("S19", "P32")
@WAYS
@pytest.mark.parametrize("text", TEXTS, ids=ascii)
@pytest.mark.parametrize("form", [EventFormat(), EventFormat(multi_line=True, bom=True)], ids=repr)
async def test_any_text_comes_through_a_stream_as_it_is(
    way: Way, text: str, form: EventFormat
) -> None:
    peer = streaming_peer(way)
    peer.script(Operation.SEND, Dribble(1, 0, form))
    result, notes = await watched(peer, f"say {text}")
    assert isinstance(result, Completed)
    assert result.output == text_told(notes) == f"result of say {text}"
    assert not cuts(notes)


@pytest.mark.report("S19")
@WAYS
@pytest.mark.parametrize("mark", ["\u4f60", "\u2028", "\U0001f600", "\u00e9"], ids=ascii)
async def test_a_character_may_be_cut_in_two(way: Way, mark: str) -> None:
    peer = streaming_peer(way)
    peer.script(Operation.SEND, SplitInside(mark))
    result, notes = await watched(peer, f"say {mark * 3}")
    assert isinstance(result, Completed)
    assert result.output == text_told(notes) == f"result of say {mark * 3}"


@pytest.mark.report("S15")
@WAYS
async def test_events_that_come_in_one_piece_are_all_told_in_order(way: Way) -> None:
    peer = streaming_peer(way)
    peer.script(Operation.SEND, Gathered())
    result, notes = await watched(peer, "chunks 200")
    assert isinstance(result, Completed)
    assert result.output == text_told(notes)
    numbers = range(1, 201)
    assert [one.message.text for one in notes.of(Progress)] == [
        f"piece {n} of 200" for n in numbers
    ]
    chunks = [one.artifact.text.strip() for one in notes.of(ArtifactChunk)]
    assert chunks == [f"chunk {n}" for n in numbers]


# -- what does not belong there --------------------------------------------------------------------


TRAILERS = [
    b"data: [DONE]\n\n",
    b"data: [DONE]",
    b"data:\n\n",
    b"data: {}\n\n",
    b"data: null\n\n",
    b"event: done\ndata: bye\n\n",
    b"event: close\n\n",
    b": bye\n\n",
    b"\r\n\r\n",
    b"\x00\xff\xfe",
]


@pytest.mark.report("P31", "S14")
@WAYS
@pytest.mark.parametrize("trailer", TRAILERS, ids=repr)
async def test_a_trailer_takes_nothing_from_an_end_that_was_seen(way: Way, trailer: bytes) -> None:
    peer = streaming_peer(way)
    peer.script(Operation.SEND, Gathered(0, InsertBytes(EVENTS, trailer)))
    assert_all_was_seen(*await watched(peer))


@pytest.mark.report("P31", "P34", "S4")
@WAYS
@pytest.mark.parametrize(
    "junk",
    [
        *(one for one in TRAILERS if one.endswith(b"\n\n")),
        b'data: {"no": "event"}\n\n',
        b'data: {"jsonrpc": "2.0", "id": null, "result": {"unknown": {}}}\n\n',
        b"data: [1, 2]\n\n",
        b"data: <html>\n\n",
        b"unknown: field\n\n",
        b": keep-alive\n",
    ],
    ids=repr,
)
async def test_what_is_no_event_is_passed_over(way: Way, junk: bytes) -> None:
    peer = streaming_peer(way)
    peer.script(Operation.SEND, InsertBytes(1, junk, InsertBytes(5, junk)))
    assert_all_was_seen(*await watched(peer))


@pytest.mark.report("P34")
@WAYS
@pytest.mark.parametrize(
    "shape", [{}, {"kind": "progress"}, {"unknown": {"x": 1}}, [], "x"], ids=repr
)
async def test_an_event_of_another_shape_is_no_empty_event(way: Way, shape: Any) -> None:
    peer = streaming_peer(way)
    peer.script(
        Operation.SEND,
        wrapped(lambda shown: shape if update_shown(shown, "artifact") else shown),
    )
    result, notes = await watched(peer)
    assert isinstance(result, Completed)
    assert result.output == text_told(notes) == THREE, "the task itself has what was not understood"
    assert len(notes.of(Progress)) == 3
    assert not cuts(notes)


FOREIGN = [Intruder.OTHER_TASK, Intruder.WRONG_ID]


@pytest.mark.report("P35")
@pytest.mark.parametrize(
    ("way", "what"),
    [
        (way, what)
        for way in INTERFACES
        for what in FOREIGN
        if way.binding == "JSONRPC" or what is not Intruder.WRONG_ID
    ],
    ids=str,
)
@pytest.mark.parametrize("after", [1, 2, 5, EVENTS - 1, EVENTS])
@pytest.mark.parametrize("together", [True, False])
async def test_events_of_another_task_or_request_change_nothing(
    way: Way,
    what: Intruder,
    after: int,
    together: bool,  # noqa: FBT001 - an example
) -> None:
    peer = streaming_peer(way)
    intruder = InsertEvent(after, what)
    peer.script(Operation.SEND, Gathered(0, intruder) if together else intruder)
    result, notes = await watched(peer)
    assert_all_was_seen(result, notes)
    assert {one.task_id for one in notes.of(StateSeen)} == {peer.truth.tasks[0].id}


@pytest.mark.report("S9")
@WAYS
@pytest.mark.parametrize(
    "endless",
    [
        PadEvent(4, 300_000),
        InsertBytes(3, b"data: " + b"x" * 300_000),
        InsertBytes(3, b"x" * 300_000),
        InsertBytes(3, b": " + b"x" * 300_000),
        InsertBytes(3, b"data: x\n" * 50_000),
        InsertBytes(0, b"data: " + b"x" * 300_000),
    ],
    ids=["event", "data", "field", "comment", "many lines", "at first"],
)
async def test_an_event_without_end_is_left_at_the_bound_and_the_task_goes_on(
    way: Way, endless: Behaviour
) -> None:
    peer = streaming_peer(way)
    peer.script(Operation.SEND, endless)
    result, notes = await watched(peer, max_event_bytes=100_000)
    if endless == InsertBytes(0, b"data: " + b"x" * 300_000) and way.version != "1.0":
        # Nothing of the task was shown, and these versions list none.
        assert result.status == "unknown"
    else:
        assert isinstance(result, Completed)
        assert result.output == text_told(notes) == THREE
    errors = [*(cut.error for cut in cuts(notes)), *(one.error for one in notes.of(AttemptFailed))]
    assert any(isinstance(one, InvalidReplyError) and "100000" in str(one) for one in errors)
    assert (peer.truth.sends, runs(peer)) == (1, 1)


# -- events in the words of another version --------------------------------------------------------


def flat(shown: Json) -> Any:
    """Take the wrapper of 1.0 away."""
    inner = [shown[name] for name in ("task", "statusUpdate", "artifactUpdate") if name in shown]
    return inner[0] if inner else shown


def in_a_wrapper(shown: Json) -> Any:
    """Put what 0.3 has flat into the wrapper of 1.0."""
    names = {
        "task": "task",
        "status-update": "statusUpdate",
        "artifact-update": "artifactUpdate",
    }
    name = names.get(str(shown.get("kind")))
    return shown if name is None else {name: shown}


def each_without(*members: str) -> Callable[[Json], Any]:
    """Leave members out of a task or an update."""

    def leave_out(shown: Json) -> Any:
        inner = flat(shown)
        for name in members:
            inner.pop(name, None)
        return shown

    return leave_out


def each_with(**members: Any) -> Callable[[Json], Any]:
    """Put members into a task or an update, where they have another value or none."""

    def put_in(shown: Json) -> Any:
        flat(shown).update(members)
        return shown

    return put_in


def with_a_kind(shown: Json) -> Any:
    """Say of everything what it is, as 0.3 does."""
    kind = "task" if task_shown(shown) is not None else "artifact-update"
    inner = flat(shown)
    inner["kind"] = "status-update" if update_shown(shown, "status") is not None else kind
    return shown


def with_nulls(shown: Json) -> Any:
    """Spell out as null what is not there."""
    inner = flat(shown)
    for name in ("metadata", "artifacts", "history", "contextId", "append", "lastChunk"):
        inner.setdefault(name, None)
    for name in ("message", "timestamp"):
        inner.get("status", {}).setdefault(name, None)
    for name in ("name", "description", "metadata", "extensions"):
        inner.get("artifact", {}).setdefault(name, None)
    return shown


CHANGES: dict[str, Callable[[Json], Any]] = {
    "flat": flat,
    "in a wrapper": in_a_wrapper,
    "without context": each_without("contextId"),
    "null context": each_with(contextId=None),
    "without final": each_without("final"),
    "final too early": each_with(final=True),
    "with a kind": with_a_kind,
    "unknown members": each_with(createdAt="2026-11-30T12:00:00", extra={"a": [1]}),
    "nulls": with_nulls,
}


@pytest.mark.report("S24", "R2", "R4", "R5", "R10", "R11")
@WAYS
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
async def test_events_are_read_with_and_without_what_versions_differ_in(
    way: Way, change: Callable[[Json], Any]
) -> None:
    peer = streaming_peer(way)
    peer.script(Operation.SEND, wrapped(change))
    assert_all_was_seen(*await watched(peer))
