from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

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
from a2a_delegate.model.card import ProtocolVersion
from a2a_delegate.model.message import Message, Role
from a2a_delegate.model.part import DataPart, FilePart, Part, TextPart, UnknownPart
from a2a_delegate.wire.reading import Unclear
from a2a_delegate.wire.v1_0 import DIALECT
from a2a_delegate.wire.words import Words

HELLO = Message("m-1", Role.USER, (TextPart("hello"),))


def words(operation: Operation, tenant: str | None = None) -> Words:
    return DIALECT.encode(operation, tenant=tenant)


@pytest.mark.spec("BIND-1")
def test_every_request_names_exactly_version_1_0() -> None:
    assert dict(DIALECT.headers()) == {"A2A-Version": "1.0"}
    assert DIALECT.version is ProtocolVersion.V1_0
    assert DIALECT.lists_tasks


@pytest.mark.spec("METH-1", "METH-3", "METH-4", "METH-8", "METH-10")
def test_a_first_send_has_these_words_and_no_others() -> None:
    assert words(SendMessage(HELLO)) == Words(
        "SendMessage",
        {
            "message": {"messageId": "m-1", "role": "ROLE_USER", "parts": [{"text": "hello"}]},
            "configuration": {"returnImmediately": True},
        },
    )


@pytest.mark.spec("METH-1", "METH-3", "METH-4", "METH-8")
def test_a_send_says_all_that_it_was_given() -> None:
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
            "messageId": "m-1",
            "role": "ROLE_AGENT",
            "parts": [],
            "contextId": "c",
            "taskId": "t",
            "referenceTaskIds": ["r"],
            "extensions": ["https://e.example/x"],
            "metadata": {"a": 1},
        },
        "configuration": {"returnImmediately": True, "acceptedOutputModes": ["text/plain"]},
        "metadata": {"b": 2},
        "tenant": "acme",
    }


@pytest.mark.spec("METH-1", "METH-3", "METH-4", "CARD-8")
def test_a_send_that_is_streamed_says_the_same_under_another_name() -> None:
    plain = words(SendMessage(HELLO, ("text/plain",), {"b": 2}), "acme")
    streamed = words(SendMessage(HELLO, ("text/plain",), {"b": 2}, streamed=True), "acme")
    assert streamed == Words("SendStreamingMessage", plain.params)


@pytest.mark.parametrize(
    ("part", "written"),
    [
        (TextPart(""), {"text": ""}),
        (
            TextPart("hi", media_type="text/markdown", filename="f", metadata={"a": 1}),
            {"text": "hi", "mediaType": "text/markdown", "filename": "f", "metadata": {"a": 1}},
        ),
        (DataPart({"a": 1}), {"data": {"a": 1}}),
        (DataPart(None), {"data": None}),
        (DataPart([1]), {"data": [1]}),
        (FilePart(b"hi"), {"raw": "aGk="}),
        (FilePart(b""), {"raw": ""}),
        (
            FilePart(url="https://f.example/x", filename="x", media_type="image/png"),
            {"url": "https://f.example/x", "filename": "x", "mediaType": "image/png"},
        ),
    ],
)
@pytest.mark.spec("METH-7")
def test_a_part_is_written_by_its_member(part: Part, written: dict[str, object]) -> None:
    params = words(SendMessage(Message("m", Role.USER, (part,)))).params
    assert params["message"] == {"messageId": "m", "role": "ROLE_USER", "parts": [written]}


@pytest.mark.spec("WIRE-2")
def test_a_part_that_was_not_understood_is_not_sent_on() -> None:
    message = Message("m", Role.USER, (UnknownPart({"form": {}}),))
    with pytest.raises(UsageError, match="cannot be sent on"):
        words(SendMessage(message))


@pytest.mark.spec("METH-1", "METH-10", "CARD-8")
def test_a_call_about_a_task_names_it_and_nothing_more() -> None:
    assert words(GetTask("t")) == Words("GetTask", {"id": "t"})
    assert words(GetTask("t"), "acme") == Words("GetTask", {"id": "t", "tenant": "acme"})
    assert words(CancelTask("t")) == Words("CancelTask", {"id": "t"})
    assert words(CancelTask("t"), "acme") == Words("CancelTask", {"id": "t", "tenant": "acme"})
    subscribe = words(SubscribeToTask("t"), "acme")
    assert subscribe == Words("SubscribeToTask", {"id": "t", "tenant": "acme"})


@pytest.mark.parametrize("tenant", [None, ""])
@pytest.mark.parametrize(
    "operation",
    [
        SendMessage(HELLO),
        SendMessage(HELLO, streamed=True),
        GetTask("t"),
        ListTasks("c"),
        CancelTask("t"),
        SubscribeToTask("t"),
    ],
    ids=str,
)
@pytest.mark.spec("CARD-8")
def test_an_unset_tenant_is_left_out(operation: Operation, tenant: str | None) -> None:
    assert "tenant" not in words(operation, tenant).params
    assert words(operation, " a/b ").params["tenant"] == " a/b "


@pytest.mark.spec("METH-1", "IDEM-5", "METH-11", "CARD-8")
def test_a_list_is_of_a_context() -> None:
    page: dict[str, object] = {"pageSize": 100, "includeArtifacts": False, "contextId": "c"}
    assert words(ListTasks(context_id="c")) == Words("ListTasks", page)  # type: ignore[arg-type]
    both = ListTasks(context_id="c", since=datetime(2026, 1, 1, tzinfo=UTC), page_token="p2")
    assert words(both, "acme").params == {**page, "pageToken": "p2", "tenant": "acme"}


@pytest.mark.parametrize(
    ("since", "text"),
    [
        (datetime(2026, 11, 30, 12, tzinfo=UTC), "2026-11-30T12:00:00.000Z"),
        (datetime(2026, 11, 30, 12, 0, 0, 123_999, tzinfo=UTC), "2026-11-30T12:00:00.123Z"),
        (
            datetime(2026, 11, 30, 1, tzinfo=timezone(timedelta(hours=3))),
            "2026-11-29T22:00:00.000Z",
        ),
    ],
)
@pytest.mark.spec("IDEM-5")
def test_a_list_is_else_of_what_changed_since_a_moment_in_utc(since: datetime, text: str) -> None:
    assert words(ListTasks(since=since)).params == {
        "pageSize": 100,
        "includeArtifacts": False,
        "statusTimestampAfter": text,
    }


def test_a_list_without_either_is_of_everything() -> None:
    assert words(ListTasks()).params == {"pageSize": 100, "includeArtifacts": False}


def test_a_moment_without_a_zone_is_refused() -> None:
    with pytest.raises(UsageError, match="time zone"):
        words(ListTasks(since=datetime(2026, 1, 1)))  # noqa: DTZ001 - the mistake itself


@pytest.mark.spec("METH-6")
def test_a_0_3_answer_is_understood_too() -> None:
    task = {"kind": "task", "id": "t", "contextId": "c", "status": {"state": "input-required"}}
    assert isinstance(DIALECT.decode(SendMessage(HELLO), task), TaskReply)
    assert isinstance(DIALECT.decode(SendMessage(HELLO), {"kind": "task"}), Unreadable)


@pytest.mark.spec("EVENT-1", "EVENT-5")
def test_an_event_of_any_version_is_understood_but_not_our_own_words() -> None:
    update = {"kind": "status-update", "taskId": "t", "status": {"state": "working"}}
    assert isinstance(DIALECT.decode_event(update), StatusUpdate)
    assert isinstance(DIALECT.decode_event({"statusUpdate": update}), StatusUpdate)
    back = {"message": {"messageId": "m-1", "role": "ROLE_USER", "parts": [{"text": "hello"}]}}
    assert isinstance(DIALECT.decode_event(back, ours=HELLO), Unclear)


@pytest.mark.spec("BIND-5")
def test_a_single_answer_to_a_request_for_a_stream_is_read_as_one() -> None:
    task = {"task": {"id": "t", "status": {"state": "TASK_STATE_WORKING"}}}
    streamed = SendMessage(HELLO, streamed=True)
    assert DIALECT.decode(streamed, task) == DIALECT.decode(SendMessage(HELLO), task)
    assert DIALECT.decode(SubscribeToTask("t"), task) == DIALECT.decode(GetTask("t"), task)
    assert isinstance(DIALECT.decode(SubscribeToTask("other"), task), Unreadable)
