"""The task's id in a reply of HTTP+JSON that is still coming: there is no envelope around it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from a2a_delegate.wire.cut_reply import TaskIdScan, task_id_in
from a2a_delegate.wire.json_text import parse
from a2a_delegate.wire.replies import task_id_of
from tests.wire.json_values import json_values
from tests.wire.test_cut_reply import ids, messages, shuffled, tasks, words

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn


@st.composite
def bodies(draw: DrawFn) -> tuple[bytes, str | None]:
    """Draw an honest reply to a send, and the id of its task; None for a message or an error."""
    task_id = draw(ids)
    shape = draw(st.sampled_from(["task", "flat task", "message", "flat message", "error", "bare"]))
    body: dict[str, object]
    if shape == "task":
        body = {"task": draw(tasks(task_id))}
    elif shape == "flat task":
        body = draw(tasks(task_id, flat=True))
    elif shape == "message":
        body = {"message": draw(messages())}
    elif shape == "flat message":
        body = draw(messages(flat=True))
    elif shape == "error":
        body = {"error": {"code": 400, "message": draw(words), "id": draw(ids)}, "id": draw(ids)}
    else:
        body = shuffled(draw, {"code": -32603, "message": draw(words), "id": draw(ids)})
    return json.dumps(body).encode(), task_id if "task" in shape else None


@given(bodies(), st.data())
@pytest.mark.spec("WIRE-6")
def test_at_any_cut_the_id_is_the_right_one_or_none(
    reply: tuple[bytes, str | None], data: st.DataObject
) -> None:
    body, task_id = reply
    cut = data.draw(st.integers(0, len(body)))
    assert task_id_in(body[:cut], request_id=None) in (None, task_id)


@given(bodies())
@pytest.mark.spec("WIRE-6")
def test_of_a_whole_reply_the_id_is_the_one_that_the_dialect_reads(
    reply: tuple[bytes, str | None],
) -> None:
    body, task_id = reply
    assert task_id_of(parse(body)) == task_id
    assert task_id_in(body, request_id=None) == task_id


@given(bodies(), st.lists(st.integers(1, 40), min_size=1))
@pytest.mark.spec("WIRE-6")
def test_pieces_tell_the_same_as_the_whole(
    reply: tuple[bytes, str | None], lengths: list[int]
) -> None:
    body, _ = reply
    scan = TaskIdScan(request_id=None)
    at = turn = 0
    while at < len(body):
        length = lengths[turn % len(lengths)]
        told = scan.feed(body[at : at + length])
        at, turn = at + length, turn + 1
        assert told == scan.task_id == task_id_in(body[:at], request_id=None)


@given(st.binary(max_size=100) | json_values.map(lambda value: json.dumps(value).encode()))
@pytest.mark.spec("WIRE-4", "WIRE-6")
def test_no_bytes_make_the_scan_raise(body: bytes) -> None:
    found = task_id_in(body, request_id=None)
    assert found is None or found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"task":{"id":"t"', "t"),
        ('{"task":{"id":"t', None),
        ('{"task":{"contextId":"c","history":[{"id":"x"}],"id":"t"', "t"),
        ('{"task":{"status":{"id":"x"},"metadata":{"id":"y"', None),
        ('{"id":"t","kind":"task"', "t"),
        ('{"contextId":"c","id":"t"', "t"),
        ('{"context_id":"c","id":"t"', "t"),
        ('{"id":"t"', None),
        ('{"id":"t","kind":"message"', None),
        ('{"contextId":"c","messageId":"m","id":"x"', None),
        ('{"id":"t","sessionId":"s","status":{', None),
        ('{"message":{"taskId":"x","contextId":"c","id":"y"', None),
        ('{"jsonrpc":"2.0","id":"r1","result":{"task":{"id":"x"', None),
        ('{"error":{"code":404,"task":{"id":"x"', None),
        ('{"tasks":[{"id":"x","contextId":"c"', None),
        ("", None),
    ],
)
@pytest.mark.spec("WIRE-6")
def test_only_the_id_in_the_tasks_own_place_counts(text: str, found: str | None) -> None:
    assert task_id_in(text.encode(), request_id=None) == found
