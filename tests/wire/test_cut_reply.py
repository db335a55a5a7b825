from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from a2a_delegate.wire.cut_reply import MAX_SCANNED, TaskIdScan, task_id_in
from a2a_delegate.wire.json_text import parse
from a2a_delegate.wire.replies import task_id_of
from tests.wire.json_values import json_values

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hypothesis.strategies import DrawFn

OURS = "r1"
# Ids and texts of a reply may hold anything that JSON strings can, also what looks like JSON.
words = st.one_of(
    st.sampled_from(['"', "\\", '","id":"x', '{"task":{"id":"x"}}', "é漢\u2028\ud800", "id", ""]),
    st.text(max_size=12),
)
ids = words.filter(bool)


def shuffled(draw: DrawFn, members: Mapping[str, object]) -> dict[str, object]:
    """Put the members of an object in any order, some of the optional ones left out."""
    names = draw(st.permutations(list(members)))
    return {name: members[name] for name in names}


@st.composite
def messages(draw: DrawFn, *, flat: bool = False) -> dict[str, object]:
    kind = {"kind": "message"} if flat else {}
    part = {"text": draw(words), "metadata": {"id": draw(ids), "task": {"id": draw(ids)}}}
    return shuffled(
        draw,
        kind
        | {
            "messageId": draw(ids),
            "role": "agent",
            "taskId": draw(ids),
            "contextId": draw(ids),
            "parts": [part],
        },
    )


@st.composite
def tasks(draw: DrawFn, task_id: str, *, flat: bool = False) -> dict[str, object]:
    kind = {"kind": "task"} if flat else {}
    optional = {
        "contextId": draw(ids),
        "history": draw(st.lists(messages(), max_size=2)),
        "artifacts": [shuffled(draw, {"artifactId": draw(ids), "id": draw(ids), "parts": []})],
        "metadata": {"id": draw(ids), "kind": "message", "result": {"id": draw(ids)}},
    }
    kept = {name: optional[name] for name in draw(st.sets(st.sampled_from(sorted(optional))))}
    status = {"state": "working", "message": draw(messages()), "id": draw(ids)}
    return shuffled(draw, kind | kept | {"id": task_id, "status": status})


@st.composite
def replies(draw: DrawFn) -> tuple[bytes, str | None]:
    """Draw an honest reply to a send, and the id of its task; None for a message."""
    task_id = draw(ids)
    shape = draw(st.sampled_from(["task 1.0", "task 0.3", "message 1.0", "message 0.3", "error"]))
    member = "result"
    result: object
    if shape == "task 1.0":
        result = {"task": draw(tasks(task_id))}
    elif shape == "task 0.3":
        result = draw(tasks(task_id, flat=True))
    elif shape == "message 1.0":
        result = {"message": draw(messages())}
    elif shape == "message 0.3":
        result = draw(messages(flat=True))
    else:
        member = "error"
        result = {"code": -32603, "message": draw(words), "data": {"id": draw(ids)}}
    envelope = shuffled(draw, {"jsonrpc": "2.0", "id": OURS, member: result})
    indent = draw(st.sampled_from([None, 1]))
    ascii_only = draw(st.booleans())
    text = json.dumps(envelope, indent=indent, ensure_ascii=ascii_only)
    body = text.encode("utf-8", "surrogatepass" if ascii_only else "replace")
    expected = task_id if shape.startswith("task") else None
    if expected is not None and not ascii_only:
        expected = expected.encode("utf-8", "replace").decode()
    return body, expected


@given(replies(), st.data())
@pytest.mark.spec("WIRE-6")
def test_at_any_cut_the_id_is_the_right_one_or_none(
    reply: tuple[bytes, str | None], data: st.DataObject
) -> None:
    body, task_id = reply
    cut = data.draw(st.integers(0, len(body)))
    assert task_id_in(body[:cut], request_id=OURS) in (None, task_id)


@given(replies())
@pytest.mark.spec("WIRE-6")
def test_of_a_whole_reply_the_id_is_the_one_that_the_dialect_reads(
    reply: tuple[bytes, str | None],
) -> None:
    body, task_id = reply
    envelope = parse(body)
    assert isinstance(envelope, dict)
    assert task_id_of(envelope.get("result")) == task_id
    assert task_id_in(body, request_id=OURS) == task_id


@given(replies(), st.lists(st.integers(1, 40), min_size=1))
@pytest.mark.spec("WIRE-6")
def test_pieces_tell_the_same_as_the_whole(
    reply: tuple[bytes, str | None], lengths: list[int]
) -> None:
    body, _ = reply
    scan = TaskIdScan(request_id=OURS)
    at = turn = 0
    while at < len(body):
        length = lengths[turn % len(lengths)]
        told = scan.feed(body[at : at + length])
        at, turn = at + length, turn + 1
        assert scan.task_id == task_id_in(body[:at], request_id=OURS)
        assert told in {None, scan.task_id}
    assert told == task_id_in(body, request_id=OURS)


@given(replies())
@pytest.mark.spec("WIRE-6")
def test_under_a_foreign_id_nothing_is_found(reply: tuple[bytes, str | None]) -> None:
    body, _ = reply
    assert task_id_in(body, request_id="r2") is None


@given(st.binary(max_size=100) | json_values.map(lambda value: json.dumps(value).encode()))
@pytest.mark.spec("WIRE-4", "WIRE-6")
def test_no_bytes_make_the_scan_raise(body: bytes) -> None:
    found = task_id_in(body, request_id=OURS)
    assert found is None or found


def scanned(text: str) -> str | None:
    return task_id_in(text.encode(), request_id=OURS)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"result":{"task":{"id":"t"', "t"),
        ('{"result":{"task":{"id":"t', None),
        ('{"result":{"task":{"id":"t\\"', None),
        ('{"result":{"id":"t"', "t"),
        ('\ufeff {"jsonrpc":"2.0","id":"r1","result":{"id":"t",', "t"),
        ('{"id":"r1","result":{"contextId":"c","artifacts":[{"artifactId":"a"}],"id":"t"', "t"),
        ('{"id":"r1","result":{"history":[{"id":"x"}],"metadata":{"id":"y"},"id":"t"', "t"),
        ('{"id":"r2","result":{"id":"t"', None),
        ('{"id":1,"result":{"id":"t"', None),
        ('{"id":null,"result":{"id":"t"', None),
        ('{"result":{"id":"t"},"id":"r2"', None),
        ('{"result":{"id":"t"},"id":2', None),
        ('{"result":{"id":"t"},"id":"r1"}', "t"),
        ('{"result":{"kind":"message","id":"x"', None),
        ('{"result":{"messageId":"m","id":"x"', None),
        ('{"result":{"message_id":"m","id":"x"', None),
        ('{"result":{"kind":"task","id":"t"', "t"),
        ('{"result":{"id":"x","task":{"id":"t"', "t"),
        ('{"result":{"message":{"id":"x","taskId":"y"', None),
        ('{"result":{"task":{"status":{"id":"x"},"metadata":{"id":"y"', None),
        ('{"result":{"task":{"contextId":"id","id"', None),
        ('{"result":{"task":{"id":7', None),
        ('{"result":{"task":{"id":""', None),
        ('{"result":{"task":{"id":"\\ud800"', "\ud800"),
        ('{"result":{"task":{"id":"\\x"', None),
        ('{"result":{"task":[{"id":"x"', None),
        ('{"result":[{"id":"x"', None),
        ('[{"result":{"id":"x"', None),
        ('{"result":"{\\"id\\":\\"x\\"}"', None),
        ('{"error":{"id":"x","data":{"task":{"id":"y"', None),
        ('{"params":{"task":{"id":"x"', None),
        ('{"result":{"tasks":[{"id":"x"}]', None),
        ('}]},{"result":{"id":"t"', "t"),
        ("", None),
        ("<html>", None),
    ],
)
@pytest.mark.spec("WIRE-6")
def test_only_the_id_in_the_tasks_own_place_counts(text: str, found: str | None) -> None:
    assert scanned(text) == found


@pytest.mark.spec("WIRE-6")
def test_an_id_that_is_no_utf_8_is_none() -> None:
    assert task_id_in(b'{"result":{"id":"\xff"', request_id=OURS) is None


@pytest.mark.parametrize(
    ("start", "filler"),
    [
        (b'{"result":{"metadata":"', b"x"),
        (b'{"result":{"metadata":"', b'\\"'),
        (b'{"result":{"metadata":', b"7"),
        (b'{"result":{"metadata":', b" "),
        (b'{"result":{"metadata":', b"["),
        (b'{"result":{"metadata":[', b"{},"),
    ],
)
@pytest.mark.spec("WIRE-6")
def test_a_reply_that_drips_costs_no_more_than_its_length(start: bytes, filler: bytes) -> None:
    scan = TaskIdScan(request_id=OURS)
    scan.feed(start + filler * (300_000 // len(filler)))
    started = time.process_time()
    for at in range(20_000):
        assert scan.feed(filler[at % len(filler) :][:1]) is None
    # Looking through everything again for every byte would be a hundred times as much.
    assert time.process_time() - started < 2


@pytest.mark.spec("WIRE-6")
def test_what_lies_beyond_the_bound_is_not_looked_for() -> None:
    def with_id_at(length: int) -> bytes:
        start, end = b'{"result":{"metadata":"', b'","id":"t"'
        return start + b"x" * (length - len(start) - len(end)) + end

    assert task_id_in(with_id_at(MAX_SCANNED), request_id=OURS) == "t"
    assert task_id_in(with_id_at(MAX_SCANNED + 1), request_id=OURS) is None
    scan = TaskIdScan(request_id=OURS)
    scan.feed(b" " * MAX_SCANNED)
    assert scan.feed(b'{"id":"r1","result":{"id":"t"') is None


def test_an_id_once_found_stays_while_the_reply_goes_on() -> None:
    scan = TaskIdScan(request_id=OURS)
    assert scan.task_id is None
    assert scan.feed(b'{"id":"r1","result":{"id":"t"') == "t"
    assert scan.feed(b',"status":{"state":"wor') == "t"
    assert scan.task_id == "t"


@pytest.mark.spec("BIND-11", "WIRE-6")
def test_an_id_is_not_told_while_the_reply_may_still_be_another_one() -> None:
    scan = TaskIdScan(request_id=OURS)
    assert scan.feed(b'{"result":{"id":"t"') is None
    assert scan.task_id == "t"
    assert scan.feed(b'},"id":"r1"') == "t"
    foreign = TaskIdScan(request_id=OURS)
    assert foreign.feed(b'{"result":{"id":"t"') is None
    assert foreign.feed(b'},"id":"r2"}') is None
    assert foreign.task_id is None
