from __future__ import annotations

import itertools
import time
import tracemalloc
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from a2a_delegate.wire.event_stream import EventStream, EventTooLargeError, ServerSentEvent
from tests.wire.by_the_book import events_by_the_book

if TYPE_CHECKING:
    from collections.abc import Iterator

LIMIT = 1024
MEBIBYTE = 1024 * 1024


def event(data: str | bytes, name: str = "message") -> ServerSentEvent:
    return ServerSentEvent(name, data.encode() if isinstance(data, str) else data)


def events_of(*chunks: bytes, limit: int = LIMIT) -> list[ServerSentEvent]:
    """Return all events of a stream that comes in these chunks."""
    stream = EventStream(max_event_bytes=limit)
    return [made for chunk in chunks for made in stream.feed(chunk)]


def pieces(content: bytes, size: int) -> Iterator[bytes]:
    return (content[start : start + size] for start in range(0, len(content), size))


# What the standard itself shows, and what real servers send.
@pytest.mark.parametrize(
    ("content", "made"),
    [
        (b"data: This is the first message.\n\n", [event("This is the first message.")]),
        (b"data: YHOO\ndata: +2\ndata: 10\n\n", [event("YHOO\n+2\n10")]),
        (
            b": test stream\n\ndata: first\nid: 1\n\ndata:second\nid\n\ndata:  third\n\n",
            [event("first"), event("second"), event(" third")],
        ),
        (b"data\n\ndata\ndata\n\ndata:", [event(""), event("\n")]),
        (b"data:test\n\ndata: test\n\n", [event("test"), event("test")]),
        (b"event: add\ndata: 1\n\nevent:\ndata: 2\n\n", [event("1", "add"), event("2")]),
        (b"event: add\nevent: remove\ndata: 1\n\ndata: 2\n\n", [event("1", "remove"), event("2")]),
        (b"event: error\ndata: {}\n\n", [event("{}", "error")]),
        (b"event:  e\ndata:x\n\n", [event("x", " e")]),
        (b"id: 7\nretry: 10\ndata: x\nunknown: y\nnothing\n\n", [event("x")]),
        (b": ping - 2026-11-30\r\n\r\ndata: x\r\n\r\n", [event("x")]),
        (b":\ndata: a\n: keep-alive\ndata: b\n\n", [event("a\nb")]),
        (b"data: {}\n\ndata: [DONE]\n\n", [event("{}"), event("[DONE]")]),
        (b"data : x\nDATA: x\n data: x\ndatum: x\ndata2: x\n\n", []),
        (b"data: a:b: c\n\n", [event("a:b: c")]),
        (b"\n\n\r\r\n\ndata: x\n\n\n", [event("x")]),
    ],
)
@pytest.mark.spec("SSE-1", "SSE-3", "STATE-11")
def test_a_stream_is_read_by_the_rules_of_the_standard(
    content: bytes, made: list[ServerSentEvent]
) -> None:
    assert events_of(content) == made
    assert events_by_the_book(content) == made


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
@pytest.mark.spec("SSE-1")
def test_each_of_three_line_ends_ends_a_line(end: bytes) -> None:
    content = end.join([b"event: e", b"data: 1", b"data: 2", b"", b"data: 3", b"", b""])
    made = [event("1\n2", "e"), event("3")]
    assert events_of(content) == made
    assert events_of(*pieces(content, 1)) == made


@pytest.mark.parametrize(
    "other", ["\u2028", "\u2029", "\u0085", "\x0b", "\x0c", "\x1c", "\x1e", "\0"]
)
@pytest.mark.spec("SSE-1")
def test_nothing_else_ends_a_line(other: str) -> None:
    text = f'{{"text": "before{other}data: after{other}{other}"}}'
    content = f"data: {text}\n\n".encode()
    assert events_of(content) == [event(text)]
    assert events_of(*pieces(content, 1)) == [event(text)]


@pytest.mark.spec("SSE-2")
def test_an_event_is_given_as_soon_as_its_blank_line_has_begun_to_end() -> None:
    stream = EventStream(max_event_bytes=LIMIT)
    assert stream.feed(b"data: 1\r\n\r") == [event("1")]
    assert stream.feed(b"\ndata: 2\r\n") == []
    assert stream.feed(b"\r\n") == [event("2")]


@pytest.mark.spec("SSE-1")
def test_a_line_end_that_is_cut_in_two_is_one() -> None:
    assert events_of(b"data: 1\r", b"\ndata: 2\r", b"", b"\n", b"\r", b"\n") == [event("1\n2")]
    assert events_of(b"data: 1\r", b"data: 2\r\r") == [event("1\n2")]
    assert events_of(b"data: 1\r", b"\n\n") == [event("1")]


@pytest.mark.parametrize("size", [1, 2, 3, 4, 100])
@pytest.mark.spec("SSE-4")
def test_a_byte_order_mark_is_left_out_at_the_very_start_and_nowhere_else(size: int) -> None:
    bom = b"\xef\xbb\xbf"
    assert events_of(*pieces(bom + b"data: 1\n\n", size)) == [event("1")]
    assert events_of(*pieces(bom + b"\ndata: 1\n\n", size)) == [event("1")]
    assert events_of(*pieces(bom * 2 + b"data: 1\ndata: 2\n\n", size)) == [event("2")]
    assert events_of(*pieces(b"data: 1\n\n" + bom + b"data: 2\n\n", size)) == [event("1")]
    assert events_of(*pieces(b"data: " + bom + b"\n\n", size)) == [event(bom)]
    assert events_of(*pieces(bom[:2] + b"data: 1\ndata: 2\n\n", size)) == [event("2")]
    assert events_of(*pieces(bom, size)) == []


@pytest.mark.spec("SSE-2")
def test_an_event_without_its_blank_line_is_none() -> None:
    whole = b"event: e\ndata: 1\n\n"
    for cut in range(len(whole)):
        assert events_of(whole[:cut]) == []
    assert events_of(whole) == [event("1", "e")]


@pytest.mark.parametrize(
    ("content", "unfinished"),
    [
        (b"", b""),
        (b"data: 1\n\n", b""),
        (b"data: 1\n\nda", b""),
        (b"data", b""),
        (b"data:", b""),
        (b"data: ", b""),
        (b"data:1", b"1"),
        (b"data: 12", b"12"),
        (b"data: 1\n", b"1"),
        (b"data: 1\nevent: 2", b"1"),
        (b"data: 1\ndata: 2", b"1\n2"),
        (b"data: 1\ndata: 2\ndata", b"1\n2\n"),
        (b"event: data: 1", b""),
        (b": data: 1", b""),
    ],
)
@pytest.mark.spec("SSE-2")
def test_what_came_of_the_data_of_an_event_can_be_looked_at(
    content: bytes, unfinished: bytes
) -> None:
    for size in (1, 100):
        stream = EventStream(max_event_bytes=LIMIT)
        for piece in pieces(content, size):
            stream.feed(piece)
        assert stream.unfinished == unfinished


@pytest.mark.spec("SSE-3")
def test_an_event_without_a_line_of_data_is_none_and_leaves_no_name_behind() -> None:
    assert events_of(b"event: e\n\ndata: 1\n\n") == [event("1")]
    assert events_of(b"id: 1\n\n: comment\n\nretry: 5\n\n") == []


@pytest.mark.spec("SSE-3")
def test_a_name_that_is_no_utf_8_harms_nothing() -> None:
    assert events_of(b"event: \xff\ndata: \xff\n\n") == [event(b"\xff", "\ufffd")]


FRAGMENTS = [
    *(b"data", b"data:", b"data: ", b"event: ", b"event", b"id: 1", b"retry: 1", b":", b" ", b"x"),
    *(b"\n", b"\n\n", b"\r", b"\r\n", b"\r\n\r\n", b"\xef\xbb\xbf", b"\xef", b"\xff", b"\0"),
    *("\u2028".encode(), "\u0085".encode(), b"\x0c", b"\x1c"),
]
streams = st.lists(st.sampled_from(FRAGMENTS) | st.binary(max_size=8), max_size=30).map(b"".join)


@given(content=streams, cuts=st.lists(st.integers(0, 120), max_size=10))
@example(content=b"\xef\xbb\xbfdata: 1\r\n\r\n", cuts=[1, 2, 10, 12])
@pytest.mark.spec("SSE-1", "SSE-2", "SSE-3", "SSE-4")
def test_however_a_stream_is_cut_its_events_are_the_same(content: bytes, cuts: list[int]) -> None:
    made = events_by_the_book(content)
    bounds = [0, *sorted(min(cut, len(content)) for cut in cuts), len(content)]
    assert events_of(content) == made
    assert events_of(*(content[start:end] for start, end in itertools.pairwise(bounds))) == made
    assert events_of(*pieces(content, 1)) == made


def first_too_large(*chunks: bytes, limit: int) -> tuple[list[ServerSentEvent], bool]:
    """Return the events that come before one that is too large, and whether there is one."""
    stream, made = EventStream(max_event_bytes=limit), []
    try:
        for chunk in [*chunks, b""]:
            made += stream.feed(chunk)
    except EventTooLargeError:
        return made, True
    return made, False


@given(content=streams, limit=st.integers(0, 24), size=st.integers(1, 9))
@pytest.mark.spec("SSE-5")
def test_however_a_stream_is_cut_the_same_event_is_too_large(
    content: bytes, limit: int, size: int
) -> None:
    whole = first_too_large(content, limit=limit)
    assert first_too_large(*pieces(content, size), limit=limit) == whole
    made, _ = whole
    assert made == events_by_the_book(content)[: len(made)]
    assert all(len(one.data) <= limit for one in made)


@pytest.mark.parametrize(
    "endless",
    [b"x", b"data: x", b": x", b"data:\n", b"data\n", b"data: x\n", b"event: x\n", b"data: \r\n"],
)
@pytest.mark.spec("SSE-5")
def test_an_event_without_end_is_refused_before_it_is_held(endless: bytes) -> None:
    stream = EventStream(max_event_bytes=16 * 1024)
    chunk = endless * (4_096 // len(endless)) if endless.endswith(b"\n") else endless * 4_096
    tracemalloc.start()
    try:
        with pytest.raises(EventTooLargeError, match="an event of more than 16384 bytes"):
            feed(stream, chunk, times=1_000)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 8 * 16 * 1024


def feed(stream: EventStream, chunk: bytes, *, times: int) -> None:
    """Feed a chunk that completes nothing, again and again."""
    for _ in range(times):
        assert stream.feed(chunk) == []


@pytest.mark.spec("SSE-5")
def test_a_stream_without_data_may_be_endless_and_is_not_held() -> None:
    stream = EventStream(max_event_bytes=LIMIT)
    chunk = b": ping\n" * 50 + b"id: 1\nretry: 9\nunknown: x\n" * 50
    tracemalloc.start()
    try:
        feed(stream, chunk, times=10)
        before = tracemalloc.get_traced_memory()[0]
        feed(stream, chunk, times=200)
        assert tracemalloc.get_traced_memory()[0] - before < len(chunk)
    finally:
        tracemalloc.stop()
    assert stream.feed(b"data: 1\n\n") == [event("1")]


@pytest.mark.spec("SSE-5")
def test_what_was_complete_before_an_event_that_is_too_large_is_not_lost() -> None:
    stream = EventStream(max_event_bytes=LIMIT)
    assert stream.feed(b"data: 1\n\ndata: 2\n\ndata: " + b"x" * LIMIT) == [event("1"), event("2")]
    for _ in range(2):
        with pytest.raises(EventTooLargeError) as caught:
            stream.feed(b"\n\ndata: 3\n\n")
        assert caught.value.most == LIMIT


@pytest.mark.spec("SSE-5")
def test_the_bound_is_on_one_event_and_not_on_a_chunk() -> None:
    whole = b"data: " + b"x" * (LIMIT - 6)
    assert events_of((whole + b"\n\n") * 500) == [event(whole[6:])] * 500
    with pytest.raises(EventTooLargeError):
        events_of(whole + b"x\n\n")


@pytest.mark.parametrize("size", [1, 100, 10_000])
@pytest.mark.parametrize("line", [b"data: " + b"x" * 400, b"event: " + b"x" * 400])
@pytest.mark.spec("SSE-5")
def test_the_bound_is_on_all_lines_of_an_event(line: bytes, size: int) -> None:
    two = b"\n".join([line, line, b"data", b"", b""])
    assert len(events_of(*pieces(two, size))) == 1
    with pytest.raises(EventTooLargeError):
        events_of(*pieces(line + b"\n" + two, size))


def seconds(*chunks: bytes, limit: int) -> float:
    began = time.process_time()
    events_of(*chunks, limit=limit)
    return time.process_time() - began


@pytest.mark.parametrize(("size", "most"), [(16, 4 * MEBIBYTE), (4096, 64 * MEBIBYTE)])
@pytest.mark.spec("SSE-6")
def test_a_large_event_takes_time_in_proportion_to_its_size(size: int, most: int) -> None:
    # Copied or looked through anew with each piece it would come to hundreds of gigabytes.
    content = b"data: " + b"x" * (most - 6) + b"\n\n"
    assert seconds(*pieces(content, size), limit=most) < 10


@pytest.mark.parametrize(("before", "times"), [(b"", 2.2), (b"data: x\n", 4.4)])
@pytest.mark.spec("SSE-6")
def test_a_large_event_is_held_a_few_times_and_no_more(before: bytes, times: float) -> None:
    content = before + b"data: " + b"x" * (16 * MEBIBYTE) + b"\n\n"
    chunks = list(pieces(content, 64 * 1024))
    tracemalloc.start()
    try:
        assert len(events_of(*chunks, limit=2 * len(content))) == 1
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < times * len(content)


@pytest.mark.spec("SSE-6")
def test_many_events_in_one_chunk_cost_what_they_are() -> None:
    one = b'data: {"x": "' + b"y" * 180 + b'"}\n\n'
    assert seconds(one * 100_000, limit=LIMIT) < 5
    assert len(events_of(one * 100_000)) == 100_000
