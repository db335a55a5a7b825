from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given

from a2a_delegate.lifecycle.operations import (
    ArtifactUpdate,
    MessageReply,
    StatusUpdate,
    StreamEvent,
    TaskReply,
)
from a2a_delegate.model.artifact import Artifact
from a2a_delegate.model.message import Message, Role
from a2a_delegate.model.part import DataPart, TextPart
from a2a_delegate.model.task import Task, TaskState, TaskStatus
from a2a_delegate.wire.events import read_event
from a2a_delegate.wire.reading import Unclear
from tests.wire.json_values import json_objects, json_values

if TYPE_CHECKING:
    from collections.abc import Mapping

WORKING = TaskStatus(TaskState.WORKING, "working")
UPDATE = StatusUpdate("t", WORKING)
WIRE_STATUS = {"state": "working"}
WIRE_UPDATE = {"taskId": "t", "status": WIRE_STATUS}
WIRE_ARTIFACT = {"artifactId": "a", "parts": [{"text": "x"}]}
ARTIFACT = Artifact("a", (TextPart("x"),))
WIRE_MESSAGE = {"messageId": "m2", "role": "agent", "parts": [{"text": "hi"}]}
MESSAGE = Message("m2", Role.AGENT, (TextPart("hi"),))
WIRE_TASK = {"id": "t", "status": WIRE_STATUS}
TASK = Task("t", WORKING)


@pytest.mark.parametrize(
    ("value", "event"),
    [
        ({"statusUpdate": WIRE_UPDATE}, UPDATE),
        ({"status_update": {"task_id": "t", "status": WIRE_STATUS}}, UPDATE),
        ({"statusUpdate": {**WIRE_UPDATE, "final": True}, "task": None}, UPDATE),
        (
            {"artifactUpdate": {"taskId": "t", "artifact": WIRE_ARTIFACT}},
            ArtifactUpdate("t", ARTIFACT),
        ),
        (
            {"artifact_update": {"task_id": "t", "artifact": {**WIRE_ARTIFACT, "artifactId": "a"}}},
            ArtifactUpdate("t", ARTIFACT),
        ),
        ({"task": WIRE_TASK}, TaskReply(TASK)),
        ({"message": WIRE_MESSAGE}, MessageReply(MESSAGE)),
    ],
)
@pytest.mark.spec("EVENT-1", "GEN-1")
def test_an_event_of_1_0_is_what_its_wrapper_says(
    value: Mapping[str, object], event: StreamEvent
) -> None:
    assert read_event(value) == event
    assert read_event({**value, "unknown": {"taskId": "other"}}) == event


@pytest.mark.parametrize(
    ("value", "event"),
    [
        ({"kind": "status-update", **WIRE_UPDATE, "final": False}, UPDATE),
        ({"kind": "status-update", **WIRE_UPDATE, "final": True, "id": "event-7"}, UPDATE),
        (
            {"kind": "artifact-update", "taskId": "t", "artifact": WIRE_ARTIFACT},
            ArtifactUpdate("t", ARTIFACT),
        ),
        ({"kind": "task", **WIRE_TASK}, TaskReply(TASK)),
        ({"kind": "message", **WIRE_MESSAGE}, MessageReply(MESSAGE)),
        (
            {"kind": "message", **WIRE_MESSAGE, "taskId": "t"},
            MessageReply(Message("m2", Role.AGENT, (TextPart("hi"),), task_id="t")),
        ),
    ],
)
@pytest.mark.spec("EVENT-1", "GEN-1")
def test_an_event_of_0_3_is_what_its_kind_says(
    value: Mapping[str, object], event: StreamEvent
) -> None:
    assert read_event(value) == event
    assert read_event({**value, "unknown": {"taskId": "other"}}) == event


@pytest.mark.parametrize(
    ("value", "event"),
    [
        (WIRE_UPDATE, UPDATE),
        ({"task_id": "t", "status": WIRE_STATUS}, UPDATE),
        ({"id": "t", "status": WIRE_STATUS, "final": False}, UPDATE),  # as 0.1 wrote them
        ({"taskId": "t", "artifact": WIRE_ARTIFACT}, ArtifactUpdate("t", ARTIFACT)),
        ({"task_id": "t", "artifact": WIRE_ARTIFACT}, ArtifactUpdate("t", ARTIFACT)),
        ({"id": "t", "artifact": WIRE_ARTIFACT}, ArtifactUpdate("t", ARTIFACT)),
        (WIRE_TASK, TaskReply(TASK)),
        ({**WIRE_TASK, "taskId": "other", "artifact": {}}, TaskReply(TASK)),
        (WIRE_MESSAGE, MessageReply(MESSAGE)),
        ({**WIRE_MESSAGE, "artifact": {}}, MessageReply(MESSAGE)),
        ({**WIRE_UPDATE, "kind": "unheard-of"}, UPDATE),
        ({**WIRE_UPDATE, "kind": ["status-update"]}, UPDATE),
    ],
)
@pytest.mark.spec("EVENT-1")
def test_an_event_that_does_not_say_what_it_is_shows_it(
    value: Mapping[str, object], event: StreamEvent
) -> None:
    assert read_event(value) == event


@pytest.mark.spec("EVENT-1")
def test_proto_json_of_0_3_is_read_with_its_own_names() -> None:
    said = {"messageId": "m2", "role": "ROLE_AGENT", "content": [{"text": "hi"}]}
    status = {"state": "TASK_STATE_WORKING", "message": said}
    update = {"statusUpdate": {"taskId": "t", "contextId": "c", "status": status, "final": False}}
    working = TaskStatus(TaskState.WORKING, "TASK_STATE_WORKING", MESSAGE)
    assert read_event(update) == StatusUpdate("t", working, "c")
    assert read_event({"message": said}) == MessageReply(MESSAGE)
    assert read_event({"message": {**said, "parts": []}}) == MessageReply(MESSAGE)
    both = {**said, "parts": [{"data": 1}]}
    assert read_event({"message": both}) == MessageReply(Message("m2", Role.AGENT, (DataPart(1),)))


@pytest.mark.spec("EVENT-2", "GEN-1")
def test_a_status_is_read_with_its_message_and_its_context() -> None:
    update = {
        "kind": "status-update",
        "taskId": "t",
        "contextId": "c",
        "status": {
            "state": "input-required",
            "message": WIRE_MESSAGE,
            "timestamp": "2026-11-30T12:00:00Z",
        },
        "final": True,
    }
    event = read_event(update)
    assert isinstance(event, StatusUpdate)
    assert (event.task_id, event.context_id) == ("t", "c")
    assert event.status.state is TaskState.INPUT_REQUIRED
    assert event.status.message == MESSAGE
    assert event.status.timestamp is not None
    no_context: list[object] = [None, "", 7, {}]
    for absent in no_context:
        assert read_event({**update, "contextId": absent, "status": WIRE_STATUS}) == UPDATE


@pytest.mark.parametrize(
    ("append", "read"),
    [(True, True), (False, False), (None, False), ("true", False), (1, False), ({}, False)],
)
@pytest.mark.spec("EVENT-3")
def test_an_artifact_goes_on_only_where_the_event_says_true(append: object, read: bool) -> None:  # noqa: FBT001
    value = {"taskId": "t", "contextId": "c", "artifact": WIRE_ARTIFACT, "lastChunk": True}
    event = ArtifactUpdate("t", ARTIFACT, append=read, context_id="c")
    assert read_event({"artifactUpdate": {**value, "append": append}}) == event
    assert read_event({"kind": "artifact-update", **value, "append": append}) == event
    assert read_event({"artifactUpdate": value}) == ArtifactUpdate("t", ARTIFACT, context_id="c")


@pytest.mark.spec("EVENT-3")
def test_an_artifact_of_an_event_is_read_as_one_of_a_task() -> None:
    for artifact in ({}, {"id": "b", "parts": [{"kind": "text", "text": "x"}]}, WIRE_ARTIFACT):
        task = {**WIRE_TASK, "artifacts": [artifact]}
        event, whole = read_event({"taskId": "t", "artifact": artifact}), read_event(task)
        assert isinstance(event, ArtifactUpdate)
        assert isinstance(whole, TaskReply)
        assert (event.artifact,) == whole.task.artifacts


@pytest.mark.parametrize(
    ("value", "reason", "task_id"),
    [
        (None, "the event is null, neither a task nor a message", None),
        ([WIRE_UPDATE], "the event is an array, neither a task nor a message", None),
        ("[DONE]", "the event is a string, neither a task nor a message", None),
        ({}, "the event is an empty object", None),
        ({"id": "t"}, "the event is neither a task nor a message", None),
        ({"taskId": "t"}, "the event is neither a task nor a message", None),
        ({"statusUpdate": None}, "the event is neither a task nor a message", None),
        # A task of MCP: its id is none of ours.
        ({"taskId": "t", "status": "working"}, "the task's status is a string", None),
        (
            {"statusUpdate": {"status": WIRE_STATUS}},
            "a status update without the task's id",
            None,
        ),
        (
            {"kind": "status-update", "taskId": "", "status": WIRE_STATUS},
            "a status update without the task's id",
            None,
        ),
        ({"statusUpdate": {"taskId": "t"}}, "the update's status is null", "t"),
        ({"statusUpdate": {"taskId": "t", "status": {}}}, "the update's state is null", "t"),
        ({"taskId": "t", "status": {"state": 1}}, "the update's state is a number", "t"),
        ({"artifactUpdate": {"taskId": "t"}}, "the update's artifact is null", "t"),
        (
            {"kind": "artifact-update", "taskId": "t", "artifact": []},
            "the update's artifact is an array",
            "t",
        ),
        ({"artifact": WIRE_ARTIFACT}, "an artifact update without the task's id", None),
        ({"artifactUpdate": {"artifact": {}}}, "an artifact update without the task's id", None),
        ({"task": {"id": "t"}}, "the task's status is null", "t"),
        ({"task": WIRE_TASK, "message": WIRE_MESSAGE}, "both a task and a message", "t"),
        ({"message": {}}, "a message without parts and without an id", None),
    ],
)
@pytest.mark.spec("EVENT-4")
def test_what_is_no_event_says_why_and_shows_its_task(
    value: object, reason: str, task_id: str | None
) -> None:
    assert read_event(value) == Unclear(reason, task_id)


@pytest.mark.spec("EVENT-4", "WIRE-15")
def test_a_task_of_0_1_is_refused_by_its_name_and_not_followed() -> None:
    task = {"id": "t", "sessionId": "s", "status": WIRE_STATUS}
    refused = read_event(task)
    assert isinstance(refused, Unclear)
    assert "A2A 0.1" in refused.reason
    assert refused.task_id is None


@pytest.mark.spec("EVENT-5")
def test_our_own_message_sent_back_is_no_answer() -> None:
    ours = Message("m", Role.USER, (TextPart("do"),))
    back = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "do"}]}
    for value in ({"message": back}, {**back, "kind": "message", "role": "user"}, back):
        assert read_event(value, ours=ours) == Unclear("our own message, sent back")
        assert isinstance(read_event(value), MessageReply)
    put_under = {"message": {**back, "taskId": "t"}}
    assert read_event(put_under, ours=ours) == Unclear("our own message, sent back", "t")
    for own in ({"role": "ROLE_AGENT"}, {"messageId": "m3"}):
        assert isinstance(read_event({"message": {**back, **own}}, ours=ours), MessageReply)


@given(json_values | json_objects)
@pytest.mark.spec("EVENT-4", "WIRE-4")
def test_no_value_makes_the_reader_raise(value: object) -> None:
    for called in (value, {"statusUpdate": value}, {"taskId": "t", "artifact": value}):
        event = read_event(called, ours=Message("m", Role.USER, ()))
        if isinstance(event, (StatusUpdate, ArtifactUpdate)):
            assert event.task_id
        else:
            assert isinstance(event, (TaskReply, MessageReply, Unclear))
