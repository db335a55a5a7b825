"""A2A 0.3 in the words of its proto, which HTTP+JSON carries."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from a2a_delegate.errors import UsageError
from a2a_delegate.lifecycle.operations import (
    ArtifactUpdate,
    CancelTask,
    GetTask,
    ListTasks,
    MessageReply,
    SendMessage,
    StatusUpdate,
    SubscribeToTask,
    TaskReply,
    Unreadable,
)
from a2a_delegate.model.card import ProtocolVersion
from a2a_delegate.model.message import Message, Role
from a2a_delegate.model.part import DataPart, FilePart, Part, TextPart, UnknownPart
from a2a_delegate.model.task import TaskState
from a2a_delegate.wire.proto_family import V0_3 as DIALECT
from a2a_delegate.wire.reading import Unclear
from a2a_delegate.wire.words import Words
from tests.wire.json_values import json_values

HELLO = Message("m-1", Role.USER, (TextPart("hello"),))


def written(part: Part) -> object:
    words = DIALECT.encode(SendMessage(Message("m", Role.USER, (part,))), tenant=None)
    message = words.params["message"]
    assert isinstance(message, dict)
    assert isinstance(message["content"], list)
    return message["content"][0]


@pytest.mark.spec("BIND-2")
def test_every_request_names_exactly_version_0_3() -> None:
    assert dict(DIALECT.headers()) == {"A2A-Version": "0.3"}
    assert DIALECT.version is ProtocolVersion.V0_3


@pytest.mark.spec("BIND-7", "METH-3", "METH-4", "METH-8")
def test_a_first_send_has_these_words_and_no_others() -> None:
    assert DIALECT.encode(SendMessage(HELLO), tenant=None) == Words(
        "SendMessage",
        {
            "message": {
                "messageId": "m-1",
                "role": "ROLE_USER",
                "content": [{"text": "hello"}],
            },
            "configuration": {"blocking": False},
        },
        "v1",
    )


@pytest.mark.spec("BIND-7", "METH-3", "METH-4", "METH-8")
def test_a_send_says_all_that_it_was_given_but_the_tenant() -> None:
    message = Message(
        "m-1",
        Role.AGENT,
        (),
        context_id="c",
        task_id="t",
        extensions=("https://e.example/x",),
        metadata={"a": 1},
    )
    send = SendMessage(message, accepted_output_modes=("text/plain",), metadata={"b": 2})
    assert DIALECT.encode(send, tenant="acme").params == {
        "message": {
            "messageId": "m-1",
            "role": "ROLE_AGENT",
            "content": [],
            "contextId": "c",
            "taskId": "t",
            "extensions": ["https://e.example/x"],
            "metadata": {"a": 1},
        },
        "configuration": {"blocking": False, "acceptedOutputModes": ["text/plain"]},
        "metadata": {"b": 2},
    }


@pytest.mark.spec("WIRE-16")
def test_what_the_proto_has_no_word_for_is_refused() -> None:
    message = Message("m-1", Role.USER, (), reference_task_ids=("t",))
    with pytest.raises(UsageError, match="no word for the tasks that a message refers to"):
        DIALECT.encode(SendMessage(message), tenant=None)
    with pytest.raises(UsageError, match="cannot be sent on"):
        written(UnknownPart({"video": 1}))


@pytest.mark.spec("METH-1", "BIND-7")
def test_the_other_operations_name_the_task_and_nothing_else() -> None:
    said = [
        DIALECT.encode(operation, tenant="acme")
        for operation in (
            SendMessage(HELLO, streamed=True),
            GetTask("t"),
            CancelTask("t"),
            SubscribeToTask("t"),
        )
    ]
    assert said[0].params == DIALECT.encode(SendMessage(HELLO), tenant=None).params
    assert [(words.method, words.root) for words in said] == [
        ("SendStreamingMessage", "v1"),
        ("GetTask", "v1"),
        ("CancelTask", "v1"),
        ("TaskSubscription", "v1"),
    ]
    assert [words.params for words in said[1:]] == [{"id": "t"}] * 3


@pytest.mark.spec("IDEM-7")
def test_there_are_no_words_for_a_list_of_tasks() -> None:
    assert not DIALECT.lists_tasks
    with pytest.raises(UsageError, match="no method that lists tasks"):
        DIALECT.encode(ListTasks(), tenant=None)


@pytest.mark.parametrize(
    ("part", "wire"),
    [
        (TextPart(""), {"text": ""}),
        (TextPart("hi", metadata={"a": 1}), {"text": "hi", "metadata": {"a": 1}}),
        (DataPart({"a": 1}), {"data": {"data": {"a": 1}}}),
        (
            DataPart([1], metadata={"a": 1}),
            {
                "data": {"data": {"value": [1]}},
                "metadata": {"a": 1, "data_part_compat": True},
            },
        ),
        (FilePart(b"\x00\xff"), {"file": {"fileWithBytes": "AP8="}}),
        (
            FilePart(url="https://f.example/a", filename="a", media_type="image/png"),
            {"file": {"fileWithUri": "https://f.example/a", "name": "a", "mimeType": "image/png"}},
        ),
    ],
)
@pytest.mark.spec("BIND-7", "METH-7", "WIRE-1")
def test_a_part_has_the_shape_of_the_proto(part: Part, wire: object) -> None:
    assert written(part) == wire


PARTS = [
    TextPart("hi", metadata={"a": 1}),
    DataPart({"data": {"b": 1}}),
    DataPart(None),
    DataPart([{"data": {}}], metadata={"a": 1}),
    FilePart(b"x", filename="f"),
    FilePart(url="https://f.example/a", media_type="image/png"),
]


@pytest.mark.parametrize("part", PARTS, ids=repr)
@pytest.mark.spec("WIRE-1", "WIRE-16")
def test_a_part_is_read_back_as_it_was_wherever_it_stands(part: Part) -> None:
    wire = written(part)
    message = {"messageId": "m", "role": "ROLE_AGENT", "content": [wire]}
    status = {"state": "TASK_STATE_WORKING", "message": message}
    task = {"id": "t", "status": status, "history": [message], "artifacts": [{"parts": [wire]}]}
    reply = DIALECT.decode(GetTask("t"), task)
    assert isinstance(reply, TaskReply)
    assert reply.task.status.message is not None
    assert reply.task.status.message.parts == (part,)
    assert reply.task.history[0].parts == (part,)
    assert reply.task.artifacts[0].parts == (part,)
    told = DIALECT.decode(SendMessage(HELLO), {"message": message})
    assert isinstance(told, MessageReply)
    assert told.message.parts == (part,)
    shown = DIALECT.decode_event(
        {"artifactUpdate": {"taskId": "t", "artifact": {"artifactId": "a", "parts": [wire]}}}
    )
    assert isinstance(shown, ArtifactUpdate)
    assert shown.artifact.parts == (part,)
    update = DIALECT.decode_event({"statusUpdate": {"taskId": "t", "status": status}})
    assert isinstance(update, StatusUpdate)
    assert update.status.message is not None
    assert update.status.message.parts == (part,)


@pytest.mark.spec("WIRE-16", "STATE-1")
def test_the_words_of_the_proto_itself_are_read_as_well() -> None:
    update = {"message_id": "m", "role": "ROLE_AGENT", "content": [{"text": "why"}], "parts": []}
    status = {"state": "TASK_STATE_CANCELLED", "update": update}
    reply = DIALECT.decode(GetTask("t"), {"id": "t", "context_id": "c", "status": status})
    assert isinstance(reply, TaskReply)
    assert reply.task.status.state is TaskState.CANCELED
    assert reply.task.status.message is not None
    assert (reply.task.context_id, reply.task.status.message.text) == ("c", "why")


@pytest.mark.spec("WIRE-16", "METH-6")
def test_the_words_of_json_rpc_are_read_as_they_are() -> None:
    data = {"kind": "data", "data": {"data": {"a": 1}}}
    message = {"kind": "message", "messageId": "m", "role": "agent", "parts": [data, 7]}
    reply = DIALECT.decode(SendMessage(HELLO), message)
    assert isinstance(reply, MessageReply)
    assert reply.message.parts == (DataPart({"data": {"a": 1}}), UnknownPart(7))


@pytest.mark.spec("METH-6")
def test_our_own_message_sent_back_is_no_event() -> None:
    sent = DIALECT.encode(SendMessage(HELLO), tenant=None).params["message"]
    assert isinstance(DIALECT.decode_event({"message": sent}, ours=HELLO), Unclear)


@given(value=json_values)
@pytest.mark.spec("WIRE-4")
def test_no_value_makes_the_reader_raise(value: object) -> None:
    for operation in (SendMessage(HELLO), GetTask("t")):
        assert isinstance(DIALECT.decode(operation, value), TaskReply | MessageReply | Unreadable)
    DIALECT.decode_event(value)


@given(data=json_values, metadata=st.none() | st.just({"a": 1}))
@pytest.mark.spec("WIRE-1")
def test_any_data_is_read_back_as_it_was(data: object, metadata: dict[str, int] | None) -> None:
    part = DataPart(data, metadata=metadata)  # type: ignore[arg-type]
    message = {"messageId": "m", "role": "ROLE_AGENT", "content": [written(part)]}
    reply = DIALECT.decode(SendMessage(HELLO), {"message": message})
    assert isinstance(reply, MessageReply)
    assert reply.message.parts == (part,)
