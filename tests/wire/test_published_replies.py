"""110 shapes of tasks, messages and events as seen in public, and what is made of each."""

from __future__ import annotations

import csv
import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from a2a_delegate.lifecycle.operations import (
    MessageReply,
    OperationName,
    SendMessage,
    TaskPage,
    TaskReply,
    Unreadable,
)
from a2a_delegate.model.message import Message, Role
from a2a_delegate.model.part import DataPart, FilePart, TextPart, UnknownPart
from a2a_delegate.wire.envelope import read
from a2a_delegate.wire.replies import decode
from a2a_delegate.wire.result import WireResult

if TYPE_CHECKING:
    from a2a_delegate.model.task import Task

CARDS = Path(__file__).parents[1] / "data" / "cards"
SEND = SendMessage(Message("m", Role.USER, ()))

with (CARDS / "replies.csv").open(encoding="utf-8", newline="") as table:
    ROWS = list(csv.DictReader(table))

# The table says what a fair reader may see; here nothing is taken for a task that has no id or no
# state, because nobody could ask for it, or know when it has ended.
NOT_READ = {
    "026": ("both a task and a message", "id-1"),
    "027": ("the task's status is null", None),
    "051": ("a task without an id", None),
    "059": ("a task without an id", None),
    "074": ("a task without an id", None),
    "075": ("the task's status is null", None),
    "077": ("a task without an id", None),
    "087": ("the task's status is a string", "00000000-0000-4000-8000-000000000001"),
    "088": ("the task's status is a string", "id-1"),
    "089": ("the task's status is a string", "00000000-0000-4000-8000-000000000001"),
    "097": ("the task's status is a string", None),  # a task of MCP, and its id is no id of A2A
    "104": ("the task's state is null", "id-1"),
    # "nothing certain", the table says
    "011": ("a task without an id", None),
    "076": ("a task without an id", None),
    "078": ("a task without an id", None),
    "079": ("a task without an id", None),
    "092": ("a task without an id", None),
    "093": ("a task without an id", None),
    "099": ("the task's status is a number", None),
    "108": ("the result is an empty object", None),
}
EVENT = "an event of a stream, where one answer was asked for"

# Envelopes that are none (BIND-11), whatever is in them.
NO_ENVELOPE = {
    "028": "a result without the request's id",
    "043": 'an object without "jsonrpc": "2.0"',
    "052": 'an object without "jsonrpc": "2.0"',
    "053": 'an object without "jsonrpc": "2.0"',
    "054": 'an object without "jsonrpc": "2.0"',
    "055": 'an object without "jsonrpc": "2.0"',
    "068": 'an object without "jsonrpc": "2.0"',
    "075": "a result without the request's id",
    "076": 'an object without "jsonrpc": "2.0"',
    "077": 'an object without "jsonrpc": "2.0"',
    "078": 'an object without "jsonrpc": "2.0"',
}


def body(number: str) -> bytes:
    return (CARDS / "replies" / f"{number}.json").read_bytes()


def inside(number: str) -> object:
    """Return the result in an envelope, or the document itself where it has none."""
    document = json.loads(body(number))
    return document.get("result", document)


def reading(number: str) -> TaskReply | MessageReply | TaskPage | Unreadable:
    return decode(SEND, inside(number))


def task(number: str) -> Task:
    reply = reading(number)
    assert isinstance(reply, TaskReply)
    return reply.task


def word_of(reading_column: str) -> str:
    """Spell the state that the table names as the model does, without the code under test."""
    found = re.search(r"state='([A-Za-z_-]+)'", reading_column)
    assert found is not None
    return found[1].removeprefix("TASK_STATE_").lower().replace("_", "-")


def test_all_of_them_are_here() -> None:
    assert len(ROWS) == 110


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["n"])
@pytest.mark.spec("METH-6", "STATE-1", "STATE-2", "WIRE-5", "WIRE-7", "GEN-1")
def test_each_is_read_as_the_table_says_or_refused_for_a_reason(row: dict[str, str]) -> None:
    number, said = row["n"], row["reading"]
    reply = reading(number)
    if number in NOT_READ:
        assert isinstance(reply, Unreadable)
        assert (reply.error.reason, reply.task_id) == NOT_READ[number]
    elif said.startswith("task"):
        assert isinstance(reply, TaskReply)
        assert reply.task.status.name == word_of(said)
    elif said.startswith("message"):
        assert isinstance(reply, MessageReply)
        assert reply.message.parts
    else:
        assert said.startswith(("status", "artifact"))
        assert isinstance(reply, Unreadable)
        assert reply.error.reason == EVENT


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["n"])
@pytest.mark.spec("BIND-11")
def test_an_envelope_counts_only_if_it_is_whole(row: dict[str, str]) -> None:
    document = json.loads(body(row["n"]))
    reply = read(
        body(row["n"]),
        request_id=document.get("id", "r1"),
        operation=OperationName.SEND,
        status=200,
        headers={},
        now=datetime.now(UTC),
    )
    if "result" in document and row["n"] not in NO_ENVELOPE:
        assert isinstance(reply, WireResult)
        assert reply.result == document["result"]
    else:
        assert isinstance(reply, Unreadable)
        bare = 'an object without "jsonrpc": "2.0"'
        assert reply.error.reason == NO_ENVELOPE.get(row["n"], bare)


@pytest.mark.parametrize(
    ("number", "task_id"),
    [
        ("002", "id-2"),
        ("005", "00000000-0000-4000-8000-000000000001"),
        ("037", "id-1"),
        ("039", "id-1"),
        ("040", "id-1"),
        ("046", "id-1"),
        ("071", "id-1"),
        ("107", "id-1"),
        ("053", None),
        ("082", None),
    ],
)
@pytest.mark.spec("WIRE-5")
def test_an_event_tells_the_id_of_its_task(number: str, task_id: str | None) -> None:
    reply = reading(number)
    assert isinstance(reply, Unreadable)
    assert reply.task_id == task_id


@pytest.mark.spec("METH-6", "WIRE-7", "WIRE-8", "GEN-1")
def test_what_is_odd_about_them_takes_nothing_else_away() -> None:
    naive = task("003")
    assert naive.status.timestamp == datetime(2025, 4, 2, 16, 59, 25, 331_844, tzinfo=UTC)
    assert isinstance(naive.history[0].parts[1], UnknownPart)  # bytes under `data`, no base64
    assert task("025").history == ()  # statuses, not messages
    assert isinstance(task("032").artifacts[0].parts[0], UnknownPart)
    assert isinstance(task("065").artifacts[0].parts[0], UnknownPart)
    assert task("033").artifacts[0].parts[0] == FilePart(
        url="https://peer-33.example/photo.png", filename="item-4.png", media_type="image/png"
    )
    assert isinstance(task("034").artifacts[0].parts[0], DataPart)
    assert task("036").status.timestamp == datetime(2023, 10, 1, 17, 0, 0, 234_000, tzinfo=UTC)
    question = task("047").status.message
    assert question is not None
    assert question.text == "Made-up text 2."  # a text within a text
    assert task("050").artifacts[0].artifact_id == ""
    assert task("073").context_id == "ctx-2"
    assert task("085").history[0].role is Role.USER
    assert task("086").status.timestamp == datetime(2026, 5, 24, 10, 0, 1, tzinfo=UTC)
    assert task("098").artifacts[0].artifact_id == "id-2"
    assert task("098").artifacts[0].text == "Made-up text é漢 3."
    assert task("100").history[0].parts == (TextPart("Made-up text 5."),)
    assert task("101").history[0].text == "Made-up text 5."  # the answer is only here
    empty = task("105").status.message
    assert empty is not None
    assert (empty.context_id, empty.task_id) == (None, None)
    sound = task("109").status.message
    assert sound is not None
    assert sound.parts == (FilePart(b"made-up bytes", media_type="audio/mp3"),)
