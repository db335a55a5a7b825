from __future__ import annotations

import time
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from a2a_delegate.model.artifact import Artifact
from a2a_delegate.model.message import Message, Role
from a2a_delegate.model.part import TextPart
from a2a_delegate.model.task import Task, TaskState, TaskStatus
from a2a_delegate.wire.reading import (
    Unclear,
    read_message,
    read_state,
    read_task,
    read_timestamp,
    texts,
)
from tests.wire.json_values import json_objects, json_values

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)

SPELLINGS = {
    TaskState.SUBMITTED: "submitted TASK_STATE_SUBMITTED SUBMITTED Submitted",
    TaskState.WORKING: "working TASK_STATE_WORKING WORKING task_state_working",
    TaskState.COMPLETED: "completed TASK_STATE_COMPLETED COMPLETED",
    TaskState.FAILED: "failed TASK_STATE_FAILED FAILED",
    TaskState.CANCELED: (
        "canceled cancelled CANCELED CANCELLED TASK_STATE_CANCELED TASK_STATE_CANCELLED"
    ),
    TaskState.REJECTED: "rejected TASK_STATE_REJECTED REJECTED",
    TaskState.INPUT_REQUIRED: (
        "input-required TASK_STATE_INPUT_REQUIRED input_required INPUT_REQUIRED INPUT-REQUIRED"
    ),
    TaskState.AUTH_REQUIRED: (
        "auth-required TASK_STATE_AUTH_REQUIRED auth_required AUTH_REQUIRED AUTH-REQUIRED"
    ),
    TaskState.UNKNOWN: (
        "unknown TASK_STATE_UNSPECIFIED unspecified UNKNOWN TASK_STATE_PAUSED thinking cancel 3"
    ),
}


@pytest.mark.parametrize(
    ("word", "state"),
    [(word, state) for state, words in SPELLINGS.items() for word in words.split()],
)
@pytest.mark.spec("STATE-1", "STATE-2", "STATE-3")
def test_a_state_is_read_in_every_spelling(word: str, state: TaskState) -> None:
    assert read_state(word) is state


@pytest.mark.spec("STATE-1", "STATE-2")
def test_every_state_has_a_spelling_here() -> None:
    assert set(SPELLINGS) == set(TaskState)
    terminal = {state for state in TaskState if state.is_terminal}
    assert terminal == {
        TaskState.COMPLETED,
        TaskState.FAILED,
        TaskState.CANCELED,
        TaskState.REJECTED,
    }
    interrupted = {state for state in TaskState if state.is_interrupted}
    assert interrupted == {TaskState.INPUT_REQUIRED, TaskState.AUTH_REQUIRED}


@pytest.mark.spec("STATE-3")
def test_an_unknown_state_is_kept_as_it_came_and_ends_nothing() -> None:
    task = read_task({"id": "t", "status": {"state": "TASK_STATE_PAUSED"}})
    assert isinstance(task, Task)
    assert task.status.name == "TASK_STATE_PAUSED"
    assert not task.status.state.is_terminal
    assert not task.status.state.is_interrupted


@given(st.text())
@pytest.mark.spec("STATE-3")
def test_any_word_is_some_state(word: str) -> None:
    assert read_state(word) in TaskState


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-11-30T12:00:00Z", NOON),
        ("2026-11-30T12:00:00.000Z", NOON),
        ("2026-11-30T12:00:00+00:00", NOON),
        ("2026-11-30T07:00:00-05:00", NOON),
        ("2026-11-30T12:00:00", NOON),
        ("2026-11-30T12:00:00.25", NOON.replace(microsecond=250_000)),
        ("2026-11-30T12:00:00.123456789Z", NOON.replace(microsecond=123_456)),
        ("2026-11-30 12:00:00", NOON),
        ("yesterday", None),
        ("", None),
        ("0001-01-01T00:00:00+23:59", None),
        (1_796_041_144, None),
        (None, None),
        ({}, None),
    ],
)
@pytest.mark.spec("WIRE-7")
def test_a_timestamp_is_read_as_utc_or_not_at_all(text: object, moment: datetime | None) -> None:
    assert read_timestamp(text) == moment
    assert moment is None or read_timestamp(text).utcoffset() is not None  # type: ignore[union-attr]


@pytest.mark.spec("WIRE-7")
def test_a_moment_without_a_zone_is_utc_wherever_this_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as elsewhere:
        elsewhere.setenv("TZ", "Asia/Tokyo")
        time.tzset()
        assert read_timestamp("2026-11-30T12:00:00") == NOON
    time.tzset()


@given(st.one_of(st.text(), st.datetimes().map(str), json_values))
@pytest.mark.spec("WIRE-7")
def test_no_timestamp_spoils_a_task(stamp: object) -> None:
    task = read_task({"id": "t", "status": {"state": "working", "timestamp": stamp}})
    assert isinstance(task, Task)
    assert task.status.timestamp is None or task.status.timestamp.tzinfo is UTC


FULL_1_0 = {
    "id": "t",
    "contextId": "c",
    "status": {
        "state": "TASK_STATE_COMPLETED",
        "timestamp": "2026-11-30T12:00:00Z",
        "message": {
            "messageId": "m2",
            "role": "ROLE_AGENT",
            "parts": [{"text": "done"}],
            "contextId": "c",
            "taskId": "t",
            "extensions": ["https://e.example/x"],
            "referenceTaskIds": ["r"],
            "metadata": {"a": 1},
        },
    },
    "artifacts": [
        {
            "artifactId": "a",
            "name": "n",
            "description": "d",
            "parts": [{"text": "result"}],
            "extensions": ["https://e.example/x"],
            "metadata": {"b": 2},
        }
    ],
    "history": [{"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": "do"}]}],
    "metadata": {"c": 3},
}
FULL_0_3 = {
    **FULL_1_0,
    "kind": "task",
    "status": {
        **FULL_1_0["status"],  # type: ignore[dict-item]
        "state": "completed",
        "message": {
            **FULL_1_0["status"]["message"],  # type: ignore[index]
            "kind": "message",
            "role": "agent",
            "parts": [{"kind": "text", "text": "done"}],
        },
    },
    "history": [
        {
            "kind": "message",
            "messageId": "m1",
            "role": "user",
            "parts": [{"kind": "text", "text": "do"}],
        }
    ],
}


def snake(value: object) -> object:
    """Spell the names of a task in snake_case, as some servers do."""
    if isinstance(value, list):
        return [snake(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        "".join(f"_{c.lower()}" if c.isupper() else c for c in name): snake(item)
        for name, item in value.items()
    }


def full(word: str) -> Task:
    return Task(
        "t",
        TaskStatus(
            TaskState.COMPLETED,
            word,
            Message(
                "m2",
                Role.AGENT,
                (TextPart("done"),),
                "c",
                "t",
                ("r",),
                ("https://e.example/x",),
                {"a": 1},
            ),
            NOON,
        ),
        "c",
        (Artifact("a", (TextPart("result"),), "n", "d", ("https://e.example/x",), {"b": 2}),),
        (Message("m1", Role.USER, (TextPart("do"),)),),
        {"c": 3},
    )


@pytest.mark.spec("METH-6", "GEN-1")
def test_both_spellings_of_a_task_read_alike() -> None:
    assert read_task(FULL_1_0) == full("TASK_STATE_COMPLETED")
    assert read_task(FULL_0_3) == full("completed")
    assert read_task(snake(FULL_1_0)) == full("TASK_STATE_COMPLETED")


@pytest.mark.spec("GEN-1")
def test_null_and_unknown_members_change_nothing() -> None:
    bare = {"id": "t", "status": {"state": "working"}}
    nulls = {
        "id": "t",
        "contextId": None,
        "status": {"state": "working", "message": None, "timestamp": None},
        "artifacts": None,
        "history": None,
        "metadata": None,
        "generation": "7",
        "createdAt": "2026-11-30",
    }
    assert read_task(nulls) == read_task(bare)
    assert read_task(bare) == Task("t", TaskStatus(TaskState.WORKING, "working"))


@pytest.mark.parametrize(
    ("value", "reason", "task_id"),
    [
        (None, "the task is null", None),
        ([], "the task is an array", None),
        ({}, "the task's status is null", None),
        ({"id": "t"}, "the task's status is null", "t"),
        ({"id": "t", "status": "working"}, "the task's status is a string", "t"),
        ({"id": "t", "status": {}}, "the task's state is null", "t"),
        ({"id": "t", "status": {"state": ""}}, "the task's state is a string", "t"),
        ({"id": "t", "status": {"state": 3}}, "the task's state is a number", "t"),
        ({"status": {"state": "completed"}}, "a task without an id", None),
        ({"id": "", "status": {"state": "completed"}}, "a task without an id", None),
        ({"id": 7, "status": {"state": "completed"}}, "a task without an id", None),
        ({"taskId": "t", "status": "working"}, "the task's status is a string", None),
    ],
)
@pytest.mark.spec("METH-6", "WIRE-5")
def test_a_task_needs_an_id_and_a_state(value: object, reason: str, task_id: str | None) -> None:
    assert read_task(value) == Unclear(reason, task_id)


@given(json_objects)
@pytest.mark.spec("WIRE-7")
def test_nothing_but_id_and_state_can_spoil_a_task(members: dict[str, object]) -> None:
    members["id"] = "t"
    status = members.get("status")
    inner = status if isinstance(status, dict) else {}
    task = read_task({**members, "status": {**inner, "state": "working"}})
    assert isinstance(task, Task)
    assert (task.id, task.status.state) == ("t", TaskState.WORKING)


def test_an_artifact_is_read_with_whatever_id_it_has() -> None:
    task = read_task(
        {
            "id": "t",
            "status": {"state": "completed"},
            "artifacts": [{"id": "a", "parts": []}, {"artifact_id": "b"}, {}, None, "text"],
        }
    )
    assert isinstance(task, Task)
    assert task.artifacts == (Artifact("a", ()), Artifact("b", ()), Artifact("", ()))


def test_what_is_no_message_is_left_out_of_a_history() -> None:
    history: list[object] = [{"state": "working"}, None, "text", {"role": "user"}, {"parts": []}]
    task = read_task({"id": "t", "status": {"state": "completed"}, "history": history})
    assert isinstance(task, Task)
    assert task.history == (Message("", Role.USER, ()), Message("", Role.AGENT, ()))


@pytest.mark.parametrize(
    ("role", "read"),
    [
        ("user", Role.USER),
        ("ROLE_USER", Role.USER),
        ("USER", Role.USER),
        ("agent", Role.AGENT),
        ("ROLE_AGENT", Role.AGENT),
        ("ROLE_UNSPECIFIED", Role.AGENT),
        ("robot", Role.AGENT),
        (None, Role.AGENT),
        (1, Role.AGENT),
    ],
)
def test_a_role_that_is_not_the_users_is_the_agents(role: object, read: Role) -> None:
    message = read_message({"messageId": "m", "role": role, "parts": []})
    assert message is not None
    assert message.role is read


@pytest.mark.spec("GEN-1")
def test_an_empty_id_is_no_id() -> None:
    message = read_message({"parts": [], "contextId": "", "taskId": "", "messageId": ""})
    assert message == Message("", Role.AGENT, ())


@pytest.mark.parametrize("value", [None, "text", [], {}, {"state": "working"}, {"parts": "x"}])
def test_what_has_no_part_no_role_and_no_id_is_no_message(value: object) -> None:
    assert read_message(value) is None


def test_only_the_texts_of_a_list_are_kept() -> None:
    assert texts(["a", None, 1, "b", []]) == ("a", "b")
    values: list[object] = [None, "ab", {}, [], 7]
    assert [texts(value) for value in values] == [()] * 5
