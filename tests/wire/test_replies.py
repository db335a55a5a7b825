from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given

from a2a_delegate.lifecycle.operations import (
    CancelTask,
    GetTask,
    ListTasks,
    MessageReply,
    Operation,
    SendMessage,
    SubscribeToTask,
    TaskPage,
    TaskReply,
    Unreadable,
)
from a2a_delegate.model.message import Message, Role
from a2a_delegate.model.part import TextPart
from a2a_delegate.model.task import Task, TaskState, TaskStatus
from a2a_delegate.wire.replies import decode, task_id_of
from tests.wire.json_values import json_objects, json_values

if TYPE_CHECKING:
    from collections.abc import Mapping

SEND = SendMessage(Message("m", Role.USER, (TextPart("do"),)))
GET = GetTask("t")
CANCEL = CancelTask("t")
SUBSCRIBE = SubscribeToTask("t")
LIST = ListTasks(context_id="c")

WIRE_TASK = {"id": "t", "status": {"state": "working"}}
TASK = Task("t", TaskStatus(TaskState.WORKING, "working"))
WIRE_MESSAGE = {"messageId": "m2", "role": "agent", "parts": [{"text": "hi"}]}
MESSAGE = Message("m2", Role.AGENT, (TextPart("hi"),))


def unreadable(operation: Operation, result: object) -> tuple[str, str | None]:
    """Return why a result cannot be read, and the task's id that it shows."""
    reply = decode(operation, result)
    assert isinstance(reply, Unreadable)
    assert reply.error.method == operation.name
    return reply.error.reason, reply.task_id


OURS = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "do"}]}


@pytest.mark.spec("METH-6")
@pytest.mark.parametrize(
    ("result", "task_id"),
    [
        ({"message": OURS}, None),
        ({**OURS, "kind": "message", "role": "user"}, None),
        ({"message": {**OURS, "parts": [{"text": "done"}]}}, None),
        ({"message": {**OURS, "taskId": "t"}}, "t"),
        ({"message": {**OURS, "taskId": "asked"}}, None),
    ],
)
def test_our_own_message_sent_back_is_no_answer(
    result: Mapping[str, object], task_id: str | None
) -> None:
    send = SendMessage(Message("m", Role.USER, (TextPart("do"),), task_id="asked"))
    assert unreadable(send, result) == ("our own message, sent back", task_id)


@pytest.mark.spec("METH-6")
@pytest.mark.parametrize("own", [{"role": "ROLE_AGENT"}, {"messageId": "m3"}])
def test_an_answer_may_repeat_our_words_or_our_id(own: Mapping[str, str]) -> None:
    assert isinstance(decode(SEND, {"message": {**OURS, **own}}), MessageReply)


@pytest.mark.parametrize(
    "result",
    [
        WIRE_TASK,
        {"task": WIRE_TASK},
        {"task": WIRE_TASK, "message": None},
        {**WIRE_TASK, "kind": "task"},
        {**WIRE_TASK, "kind": ""},
        {**WIRE_TASK, "kind": "Task"},
        {**WIRE_TASK, "kind": ["task"]},
        {**WIRE_TASK, "type": "task"},  # early servers of 0.2
        {**WIRE_TASK, "task": {"id": "other"}, "message": WIRE_MESSAGE},
        {"kind": "task", "task": WIRE_TASK},
        {**WIRE_TASK, "kind": "task", "final": False},
        {**WIRE_TASK, "taskId": "other"},
        {"task": {**WIRE_TASK, "kind": "task"}},
    ],
)
@pytest.mark.parametrize("operation", [SEND, GET, CANCEL, SUBSCRIBE], ids=str)
@pytest.mark.spec("METH-6")
def test_a_task_is_read_with_and_without_wrapper(
    operation: Operation, result: Mapping[str, object]
) -> None:
    assert decode(operation, result) == TaskReply(TASK)


@pytest.mark.parametrize(
    "result",
    [
        WIRE_MESSAGE,
        {"message": WIRE_MESSAGE},
        {"message": WIRE_MESSAGE, "task": None},
        {**WIRE_MESSAGE, "kind": "message"},
        {**WIRE_MESSAGE, "kind": "message", "id": "x"},
        {**WIRE_MESSAGE, "kind": None, "id": "x"},
        {**WIRE_MESSAGE, "type": "message"},
        {"message_id": "m2", "role": "agent", "parts": [{"text": "hi"}]},
    ],
)
@pytest.mark.spec("METH-6")
def test_a_message_is_read_with_and_without_wrapper(result: Mapping[str, object]) -> None:
    assert decode(SEND, result) == MessageReply(MESSAGE)


@pytest.mark.spec("METH-6")
def test_a_message_without_an_id_is_a_message_still() -> None:
    said = Message("", Role.AGENT, (TextPart("hi"),))
    assert decode(SEND, {"message": {"parts": [{"text": "hi"}]}}) == MessageReply(said)
    assert decode(SEND, {"kind": "message", "parts": [{"text": "hi"}]}) == MessageReply(said)
    silent = Message("m2", Role.AGENT, ())
    assert decode(SEND, {"message": {"messageId": "m2"}}) == MessageReply(silent)


@pytest.mark.parametrize(
    ("result", "reason", "task_id"),
    [
        (None, "the result is null, neither a task nor a message", None),
        ([WIRE_TASK], "the result is an array, neither a task nor a message", None),
        (7, "the result is a number, neither a task nor a message", None),
        (True, "the result is a boolean, neither a task nor a message", None),
        ("done", "the result is a string, neither a task nor a message", None),
        ({}, "the result is an empty object", None),
        ({"id": "t"}, "the result is neither a task nor a message", None),
        ({"text": "hi"}, "the result is neither a task nor a message", None),
        ({"task": WIRE_TASK, "message": WIRE_MESSAGE}, "both a task and a message", "t"),
        ({"task": {"id": "t"}, "message": WIRE_MESSAGE}, "both a task and a message", "t"),
        ({"task": {"id": "t"}}, "the task's status is null", "t"),
        ({"id": "t", "status": "working"}, "the task's status is a string", "t"),
        ({"id": "t", "status": 1, "message": WIRE_MESSAGE}, "the task's status is a number", "t"),
        ({"kind": "task", "message": WIRE_MESSAGE}, "the task's status is null", None),
        ({"status": {"state": "completed"}}, "a task without an id", None),
        ({"task": {"taskId": "t", "status": "working"}}, "the task's status is a string", None),
        ({"message": {}}, "a message without parts and without an id", None),
        ({"message": {"role": "agent"}}, "a message without parts and without an id", None),
        ({"kind": "message"}, "a message without parts and without an id", None),
        ({"messageId": ""}, "a message without parts and without an id", None),
    ],
)
@pytest.mark.spec("METH-6", "WIRE-5")
def test_what_is_no_answer_says_why(result: object, reason: str, task_id: str | None) -> None:
    assert unreadable(SEND, result) == (reason, task_id)
    assert task_id_of(result) == task_id


@pytest.mark.parametrize(
    "result",
    [
        {"kind": "status-update", "taskId": "t", "status": {"state": "working"}},
        {"kind": "artifact-update", "taskId": "t", "artifact": {}},
        {"statusUpdate": {"taskId": "t", "status": {"state": "working"}}},
        {"status_update": {"task_id": "t"}},
        {"artifactUpdate": {"taskId": "t"}},
        {"artifact_update": {"taskId": "t"}},
        {"taskId": "t", "status": {"state": "working"}},
        {"taskId": "t", "artifact": {"parts": []}},
        {"id": "t", "status": {"state": "completed"}, "final": True},
    ],
)
@pytest.mark.spec("METH-6", "WIRE-5")
def test_an_event_of_a_stream_is_no_answer_but_tells_its_task(result: object) -> None:
    reason = "an event of a stream, where one answer was asked for"
    assert unreadable(SEND, result) == (reason, "t")


def test_the_id_of_a_task_is_told_and_that_of_a_message_is_not() -> None:
    assert task_id_of({"task": WIRE_TASK}) == "t"
    assert task_id_of({"message": {**WIRE_MESSAGE, "taskId": "t"}}) is None


@pytest.mark.parametrize("operation", [GET, CANCEL, SUBSCRIBE], ids=str)
@pytest.mark.spec("WIRE-9")
def test_another_tasks_body_is_refused_with_its_id_unused(operation: Operation) -> None:
    reason = "the task 'other', where 't' was asked for"
    assert unreadable(operation, {**WIRE_TASK, "id": "other"}) == (reason, None)
    assert unreadable(operation, {"id": "other", "status": "working"}) == (reason, None)
    assert unreadable(operation, {"id": "t", "status": 1}) == ("the task's status is a number", "t")


@pytest.mark.parametrize("operation", [GET, CANCEL, SUBSCRIBE], ids=str)
@pytest.mark.spec("WIRE-9")
def test_a_message_is_no_answer_to_a_get(operation: Operation) -> None:
    reason = "a message, where a task was asked for"
    assert unreadable(operation, {"message": WIRE_MESSAGE}) == (reason, None)


@pytest.mark.parametrize(
    ("result", "page"),
    [
        ({"tasks": [WIRE_TASK], "nextPageToken": ""}, TaskPage((TASK,))),
        ({"tasks": [WIRE_TASK], "nextPageToken": "n"}, TaskPage((TASK,), "n")),
        ({"tasks": [WIRE_TASK], "next_page_token": "n"}, TaskPage((TASK,), "n")),
        ({"tasks": [WIRE_TASK], "nextPageToken": 7}, TaskPage((TASK,))),
        ({"tasks": [{"id": "x"}, None, WIRE_TASK]}, TaskPage((TASK,))),
        ({"tasks": []}, TaskPage(())),
        ({"tasks": None, "totalSize": 0}, TaskPage(())),
        ({"nextPageToken": "", "pageSize": 100, "totalSize": 0}, TaskPage(())),
    ],
)
@pytest.mark.spec("METH-11", "IDEM-5")
def test_a_page_is_read_whatever_one_of_its_tasks_is(result: object, page: TaskPage) -> None:
    assert decode(LIST, result) == page


@pytest.mark.parametrize(
    ("result", "reason"),
    [
        (None, "the result is null, not a page of tasks"),
        ([WIRE_TASK], "the result is an array, not a page of tasks"),
        ({}, "the result is no page of tasks"),
        ({"tasks": {"t": WIRE_TASK}}, "the result is no page of tasks"),
        ({"task": WIRE_TASK}, "the result is no page of tasks"),
    ],
)
@pytest.mark.spec("METH-6", "METH-11")
def test_what_is_no_page_says_why(result: object, reason: str) -> None:
    assert unreadable(LIST, result) == (reason, None)


@given(json_values | json_objects)
@pytest.mark.spec("WIRE-4")
def test_no_result_makes_the_reader_raise(result: object) -> None:
    for operation in (SEND, GET, CANCEL, SUBSCRIBE, LIST):
        reply = decode(operation, result)
        assert isinstance(reply, (TaskReply, MessageReply, TaskPage, Unreadable))
        assert isinstance(reply, TaskPage) <= (operation is LIST)
    shown = task_id_of(result)
    assert shown is None or shown
