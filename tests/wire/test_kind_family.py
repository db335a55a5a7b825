"""What is said in 0.2 and in 0.3 alike: each test speaks both."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from a2a_delegate.errors import UsageError
from a2a_delegate.lifecycle.operations import (
    CancelTask,
    GetTask,
    ListTasks,
    Operation,
    SendMessage,
    StatusUpdate,
    SubscribeToTask,
    TaskReply,
    Unreadable,
)
from a2a_delegate.model.message import Message, Role
from a2a_delegate.model.part import DataPart, FilePart, Part, TextPart, UnknownPart
from a2a_delegate.wire import v0_2, v0_3
from a2a_delegate.wire.reading import Unclear
from a2a_delegate.wire.reading_parts import read_parts
from a2a_delegate.wire.words import Words
from tests.wire.json_values import json_values

if TYPE_CHECKING:
    from a2a_delegate.wire.kind_family import KindDialect

HELLO = Message("m-1", Role.USER, (TextPart("hello"),))


DIALECTS = (v0_2.DIALECT, v0_3.DIALECT)


def words(operation: Operation, tenant: str | None = None) -> Words:
    """Return what both versions say, which has to be the same."""
    said = [dialect.encode(operation, tenant=tenant) for dialect in DIALECTS]
    assert said[0] == said[1]
    return said[0]


def written(part: Part) -> object:
    message = words(SendMessage(Message("m", Role.USER, (part,)))).params["message"]
    assert isinstance(message, dict)
    assert isinstance(message["parts"], list)
    return message["parts"][0]


@pytest.mark.spec("METH-1", "METH-3", "METH-4", "METH-8", "METH-9", "METH-10")
def test_a_first_send_has_these_words_and_no_others() -> None:
    assert words(SendMessage(HELLO)) == Words(
        "message/send",
        {
            "message": {
                "kind": "message",
                "messageId": "m-1",
                "role": "user",
                "parts": [{"kind": "text", "text": "hello"}],
            },
            "configuration": {"blocking": False, "acceptedOutputModes": []},
        },
    )


@pytest.mark.spec("METH-1", "METH-3", "METH-4", "METH-8", "METH-9")
def test_a_send_says_all_that_it_was_given_but_the_tenant() -> None:
    message = Message(
        "m-1",
        Role.AGENT,
        (),
        context_id="c",
        task_id="t",
        reference_task_ids=("r",),
        extensions=("https://e.example/x",),
        metadata={"a": 1},
    )
    send = SendMessage(message, accepted_output_modes=("text/plain",), metadata={"b": 2})
    assert words(send, tenant="acme").params == {
        "message": {
            "kind": "message",
            "messageId": "m-1",
            "role": "agent",
            "parts": [],
            "contextId": "c",
            "taskId": "t",
            "referenceTaskIds": ["r"],
            "extensions": ["https://e.example/x"],
            "metadata": {"a": 1},
        },
        "configuration": {"blocking": False, "acceptedOutputModes": ["text/plain"]},
        "metadata": {"b": 2},
    }


@pytest.mark.spec("METH-1", "METH-3", "METH-4", "METH-9")
def test_a_send_that_is_streamed_says_the_same_under_another_name() -> None:
    plain = words(SendMessage(HELLO, ("text/plain",), {"b": 2}))
    streamed = words(SendMessage(HELLO, ("text/plain",), {"b": 2}, streamed=True))
    assert streamed == Words("message/stream", plain.params)


@pytest.mark.parametrize(
    ("part", "wire"),
    [
        (TextPart(""), {"kind": "text", "text": ""}),
        (
            # neither has a media type or a file name for texts
            TextPart("hi", media_type="text/markdown", filename="f", metadata={"a": 1}),
            {"kind": "text", "text": "hi", "metadata": {"a": 1}},
        ),
        (DataPart({"a": 1}), {"kind": "data", "data": {"a": 1}}),
        (
            DataPart({}, metadata={"a": 1}),
            {"kind": "data", "data": {}, "metadata": {"a": 1}},
        ),
        (FilePart(b"hi"), {"kind": "file", "file": {"bytes": "aGk="}}),
        (FilePart(b""), {"kind": "file", "file": {"bytes": ""}}),
        (
            FilePart(
                url="https://f.example/x",
                filename="x",
                media_type="image/png",
                metadata={"a": 1},
            ),
            {
                "kind": "file",
                "file": {"uri": "https://f.example/x", "name": "x", "mimeType": "image/png"},
                "metadata": {"a": 1},
            },
        ),
    ],
)
@pytest.mark.spec("METH-7")
def test_a_part_is_written_with_its_kind(part: Part, wire: dict[str, object]) -> None:
    assert written(part) == wire


@pytest.mark.spec("WIRE-1")
def test_data_that_is_no_object_is_wrapped_and_marked() -> None:
    metadata = {"a": 1}
    part = DataPart([1, 2], metadata=metadata)
    assert written(part) == {
        "kind": "data",
        "data": {"value": [1, 2]},
        "metadata": {"a": 1, "data_part_compat": True},
    }
    assert metadata == {"a": 1}


@given(json_values)
@pytest.mark.spec("WIRE-1")
def test_any_data_comes_back_as_it_was(value: object) -> None:
    part = DataPart(value)  # type: ignore[arg-type]
    assert read_parts([written(part)]) == (part,)


@given(st.binary())
@pytest.mark.spec("METH-7")
def test_any_bytes_come_back_as_they_were(content: bytes) -> None:
    assert read_parts([written(FilePart(content))]) == (FilePart(content),)


@pytest.mark.spec("WIRE-2")
def test_a_part_that_was_not_understood_is_not_sent_on() -> None:
    with pytest.raises(UsageError, match="cannot be sent on"):
        written(UnknownPart({"form": {}}))


@pytest.mark.spec("METH-1", "METH-10")
def test_a_call_about_a_task_names_it_and_nothing_more() -> None:
    assert words(GetTask("t"), "acme") == Words("tasks/get", {"id": "t"})
    assert words(CancelTask("t"), "acme") == Words("tasks/cancel", {"id": "t"})
    assert words(SubscribeToTask("t"), "acme") == Words("tasks/resubscribe", {"id": "t"})


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda one: one.version)
@pytest.mark.spec("IDEM-7", "METH-1")
def test_a_list_has_no_words_and_is_never_guessed(dialect: KindDialect) -> None:
    with pytest.raises(UsageError, match=rf"A2A {dialect.version} .* no method that lists tasks"):
        dialect.encode(ListTasks("c"), tenant=None)


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda one: one.version)
@pytest.mark.spec("METH-6")
def test_a_1_0_answer_is_understood_too(dialect: KindDialect) -> None:
    task = {"task": {"id": "t", "status": {"state": "TASK_STATE_INPUT_REQUIRED"}}}
    assert isinstance(dialect.decode(SendMessage(HELLO), task), TaskReply)
    assert isinstance(dialect.decode(SendMessage(HELLO), {"task": {}}), Unreadable)


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda one: one.version)
@pytest.mark.spec("EVENT-1", "EVENT-5")
def test_an_event_of_any_version_is_understood_but_not_our_own_words(dialect: KindDialect) -> None:
    update = {"kind": "status-update", "taskId": "t", "status": {"state": "working"}}
    assert isinstance(dialect.decode_event(update), StatusUpdate)
    assert isinstance(dialect.decode_event({"statusUpdate": update}), StatusUpdate)
    back = {"kind": "message", "messageId": "m-1", "role": "user", "parts": []}
    assert isinstance(dialect.decode_event(back, ours=HELLO), Unclear)


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda one: one.version)
@pytest.mark.spec("BIND-5")
def test_a_single_answer_to_a_request_for_a_stream_is_read_as_one(dialect: KindDialect) -> None:
    task = {"kind": "task", "id": "t", "status": {"state": "working"}}
    streamed = SendMessage(HELLO, streamed=True)
    assert dialect.decode(streamed, task) == dialect.decode(SendMessage(HELLO), task)
    assert dialect.decode(SubscribeToTask("t"), task) == dialect.decode(GetTask("t"), task)
    assert isinstance(dialect.decode(SubscribeToTask("other"), task), Unreadable)
