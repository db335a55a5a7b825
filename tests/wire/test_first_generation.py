"""A2A 0.1 is told from what came later by what it shows, and refused by its name."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from a2a_delegate.lifecycle.operations import (
    CancelTask,
    Fault,
    FaultKind,
    GetTask,
    Operation,
    OperationName,
    SendMessage,
    TaskReply,
    Unreadable,
)
from a2a_delegate.model.message import Message, Role
from a2a_delegate.wire import v0_2, v0_3, v1_0
from a2a_delegate.wire.cut_reply import task_id_in
from a2a_delegate.wire.envelope import read
from a2a_delegate.wire.first_generation import is_expected, is_message, is_task
from a2a_delegate.wire.result import WireResult, decoded

if TYPE_CHECKING:
    from a2a_delegate.wire.dialect import Dialect

RECORDED = Path(__file__).parents[1] / "data" / "captures" / "python-a2a" / "all.json"
SEND = SendMessage(Message("m", Role.USER, ()))
DIALECTS = [v0_2.DIALECT, v0_3.DIALECT, v1_0.DIALECT]

SESSION: dict[str, Any] = {"id": "t", "sessionId": "s", "status": {"state": "completed"}}
BARE: dict[str, Any] = {
    "role": "agent",
    "parts": [{"type": "data", "data": {"error": "what is this?"}}],
}


def recorded(method: str) -> list[dict[str, Any]]:
    """Return the recorded exchanges of one method."""
    exchanges = json.loads(RECORDED.read_text(encoding="utf-8"))
    return [one for one in exchanges if (one["request"]["body"] or {}).get("method") == method]


def reading_of(one: dict[str, Any]) -> WireResult | Fault | Unreadable:
    response = one["response"]
    return reading(response["body"].encode(), status=response["status"], request_id=1)


def reading(
    body: bytes, *, status: int = 200, request_id: Any = "r"
) -> WireResult | Fault | Unreadable:
    return read(
        body,
        request_id=request_id,
        operation=OperationName.SEND,
        status=status,
        headers={},
        now=datetime.now(UTC),
    )


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda one: one.version)
@pytest.mark.parametrize("operation", [SEND, GetTask("t"), CancelTask("t")], ids=lambda o: o.name)
@pytest.mark.spec("WIRE-15")
def test_a_task_in_a_session_is_refused_by_name_and_its_id_is_none(
    dialect: Dialect, operation: Operation
) -> None:
    reply = dialect.decode(operation, SESSION)
    assert isinstance(reply, Unreadable)
    assert reply.task_id is None
    assert reply.error.reason == (
        "the result is a task of A2A 0.1 (`tasks/send`), which is not spoken here"
    )


@pytest.mark.parametrize(
    "later", [{"kind": "task"}, {"contextId": "c"}, {"context_id": "c"}, {"contextId": None}]
)
@pytest.mark.spec("WIRE-15", "GEN-1")
def test_a_session_beside_what_came_later_is_a_member_like_any_other(later: dict[str, Any]) -> None:
    assert not is_task((SESSION | later).keys())
    assert isinstance(v0_2.DIALECT.decode(SEND, SESSION | later), TaskReply)
    assert isinstance(v1_0.DIALECT.decode(SEND, {"task": SESSION}), TaskReply)


@pytest.mark.parametrize(
    ("members", "found"),
    [
        ({}, None),
        ({"contextId": "c"}, "t"),
        ({"kind": "task"}, "t"),
        ({"kind": None}, "t"),
        ({"metadata": {"kind": "task"}}, None),
    ],
)
@pytest.mark.spec("WIRE-6", "WIRE-15")
def test_the_id_of_a_task_in_a_session_is_not_taken_from_a_cut_reply_either(
    members: dict[str, object], found: str | None
) -> None:
    whole = json.dumps({"jsonrpc": "2.0", "id": "r", "result": members | SESSION})
    assert task_id_in(whole.encode(), request_id="r") == found
    assert task_id_in(whole[:-20].encode(), request_id="r") == found


@pytest.mark.parametrize(
    ("status", "sentence"),
    [
        (200, "a message of A2A 0.1 (`tasks/send`), which is not spoken here, without an envelope"),
        (500, "a message of A2A 0.1 (`tasks/send`), which is not spoken here"),
    ],
)
@pytest.mark.spec("WIRE-15", "WIRE-3")
def test_a_bare_message_of_0_1_is_named_whatever_its_status(status: int, sentence: str) -> None:
    reply = reading(json.dumps(BARE).encode(), status=status)
    if isinstance(reply, Fault):
        assert (reply.kind, reply.error.message) == (FaultKind.OTHER, sentence)
    else:
        assert isinstance(reply, Unreadable)
        assert reply.error.reason == sentence


@pytest.mark.parametrize(
    "other",
    [
        {"parts": BARE["parts"]},
        BARE | {"role": 1},
        BARE | {"parts": []},
        BARE | {"parts": "text"},
        BARE | {"parts": ["text"]},
        BARE | {"parts": [{"type": 1}]},
        BARE | {"parts": [{"type": "text", "kind": "text"}]},
        BARE | {"parts": [{"type": "text"}, {"text": "hi"}]},
        BARE | {"messageId": "m"},
        BARE | {"kind": "message"},
    ],
)
@pytest.mark.spec("WIRE-15")
def test_what_has_anything_of_later_is_no_message_of_0_1(other: dict[str, Any]) -> None:
    assert is_message(BARE)
    assert not is_message(other)
    reply = reading(json.dumps(other).encode())
    assert isinstance(reply, Unreadable)
    assert reply.error.reason == 'an object without "jsonrpc": "2.0"'


def wanting(*methods: str) -> dict[str, object]:
    """Complain as pydantic does where the method chooses the shape of a request."""
    return {
        "type": "union_tag_invalid",
        "loc": [],
        "ctx": {
            "discriminator": "'method'",
            "tag": "message/send",
            "expected_tags": ", ".join(f"'{method}'" for method in methods),
        },
    }


def invalid(*complaints: dict[str, object]) -> Fault:
    error = {"code": -32600, "message": "Request payload validation error", "data": complaints}
    reply = reading(json.dumps({"jsonrpc": "2.0", "id": None, "error": error}).encode(), status=400)
    assert isinstance(reply, Fault)
    return reply


@pytest.mark.spec("WIRE-10", "WIRE-15")
def test_a_server_that_wants_tasks_send_began_nothing_and_is_named() -> None:
    reply = invalid(wanting("tasks/send", "tasks/get", "tasks/cancel"))
    assert reply.kind is FaultKind.VERSION_NOT_SUPPORTED
    assert reply.error.message == (
        "Request payload validation error "
        "(the peer speaks A2A 0.1 (`tasks/send`), which is not spoken here)"
    )


@pytest.mark.spec("WIRE-10", "WIRE-15")
def test_another_choice_is_a_refusal_of_the_method_only_if_it_is_one_of_methods() -> None:
    later = wanting("message/stream", "tasks/get")
    assert invalid(later).kind is FaultKind.VERSION_NOT_SUPPORTED
    assert invalid(later).error.message == "Request payload validation error"
    assert invalid(later, later).kind is FaultKind.OTHER
    parts = later | {"loc": ["params"], "ctx": {"discriminator": "'kind'"}}
    assert invalid(parts).kind is FaultKind.OTHER
    assert invalid(later | {"ctx": "method"}).kind is FaultKind.OTHER
    assert not is_expected({"ctx": {"expected_tags": 7}})


@pytest.mark.spec("WIRE-15")
def test_what_a_recorded_server_of_0_1_says_is_refused_by_name() -> None:
    made = [reading_of(one) for one in recorded("tasks/send") if one["response"]["status"] == 200]
    assert len(made) == 3
    for reply in made:
        assert isinstance(reply, WireResult)
        refused = decoded(v0_3.DIALECT, SEND, reply)
        assert isinstance(refused, Unreadable)
        assert "a task of A2A 0.1" in refused.error.reason
        assert refused.evidence == reply.evidence
    later = [reading_of(one) for one in recorded("message/send") + recorded("SendMessage")]
    assert len(later) == 3
    for reply in later:
        assert isinstance(reply, Fault)
        assert reply.error.message.startswith("a message of A2A 0.1")
