"""Every recorded HTTP+JSON reply of a real server, read and compared with a reading of its own."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

import pytest

from a2a_delegate.lifecycle.operations import (
    CancelTask,
    Fault,
    FaultKind,
    GetTask,
    ListTasks,
    MessageReply,
    Operation,
    SendMessage,
    TaskPage,
    TaskReply,
    Unreadable,
)
from a2a_delegate.model.card import Binding, ProtocolVersion
from a2a_delegate.model.message import Message, Role
from a2a_delegate.wire import http_json
from a2a_delegate.wire.cut_reply import task_id_in
from a2a_delegate.wire.result import WireResult, decoded
from a2a_delegate.wire.spoken import dialect_for
from tests.wire.recordings import (
    CAPTURES,
    exchanges,
    observed_message,
    observed_task,
    plain_message,
    plain_task,
)

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
SEND = SendMessage(Message("m", Role.USER, ()))


@dataclass(frozen=True)
class Recorded:
    """One request and the whole reply to it."""

    place: str
    version: ProtocolVersion
    operation: Operation
    note: str
    status: int
    headers: dict[str, str]
    body: bytes

    def __str__(self) -> str:
        """Name the test."""
        return self.place


def recorded() -> list[Recorded]:
    return [
        one(f"{path.parent.name}/{number}", exchange)
        for path in sorted(CAPTURES.rglob("25-rest.json"))
        for number, exchange in enumerate(exchanges(path))
    ]


def one(place: str, exchange: dict[str, Any]) -> Recorded:
    request, response = exchange["request"], exchange["response"]
    path = urlsplit(request["url"]).path
    last = path.rpartition("/")[2]
    operation: Operation
    if last == "message:send":
        operation = SEND
    elif last == "tasks":
        operation = ListTasks()
    elif last.endswith(":cancel"):
        operation = CancelTask(last.removesuffix(":cancel"))
    else:
        operation = GetTask(last)
    return Recorded(
        place,
        ProtocolVersion.V0_3 if "/v1/" in path else ProtocolVersion.V1_0,
        operation,
        exchange.get("note") or "",
        response["status"],
        response["headers"],
        response["body"].encode(),
    )


RECORDED = recorded()


def reading(one: Recorded) -> TaskReply | MessageReply | TaskPage | Fault | Unreadable:
    reply = http_json.read(
        one.body, operation=one.operation.name, status=one.status, headers=one.headers, now=NOW
    )
    dialect = dialect_for(one.version, Binding.HTTP_JSON)
    assert dialect is not None
    return decoded(dialect, one.operation, reply) if isinstance(reply, WireResult) else reply


def with_parts(value: Any) -> Any:
    """Name the parts of 0.3 as the little reader knows them."""
    if isinstance(value, list):
        return [with_parts(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        "parts" if name == "content" else name: with_parts(item) for name, item in value.items()
    }


def plain(one: Recorded) -> object:
    document = with_parts(json.loads(one.body))
    if "tasks" in document:
        return [plain_task(task) for task in document["tasks"]]
    if "task" in document or "status" in document:
        return plain_task(document.get("task") or document)
    return plain_message(document["message"])


def observed(reply: object) -> object:
    match reply:
        case TaskReply(task=task):
            return observed_task(task)
        case MessageReply(message=message):
            return observed_message(message)
        case TaskPage(tasks=tasks):
            return [observed_task(task) for task in tasks]
        case _:
            return reply


# What each of the recorded requests was for, and what a refusal of it means.
MEANT = {
    "unknown": FaultKind.TASK_NOT_FOUND,
    "cancel completed": FaultKind.TASK_NOT_CANCELABLE,
    "version 9.9": FaultKind.VERSION_NOT_SUPPORTED,
    "no version header": FaultKind.VERSION_NOT_SUPPORTED,
    "bad message": FaultKind.OTHER,
    "plain JSON-RPC style body": FaultKind.OTHER,
}
WITHOUT_LISTS = {404: FaultKind.NO_ENDPOINT, 500: FaultKind.OTHER}


def test_the_recordings_are_here() -> None:
    servers = Counter(one.place.split("/")[0] for one in RECORDED)
    assert len(servers) == 7
    assert len(RECORDED) == 67
    assert sum(one.status == 201 for one in RECORDED) == 7


@pytest.mark.parametrize("one", [one for one in RECORDED if one.status < 300], ids=str)
@pytest.mark.spec("BIND-6", "BIND-7", "METH-6", "METH-11", "WIRE-16", "WIRE-17", "GEN-1")
def test_a_recorded_result_is_read_as_it_stands(one: Recorded) -> None:
    assert observed(reading(one)) == plain(one)


@pytest.mark.parametrize("one", [one for one in RECORDED if one.status >= 300], ids=str)
@pytest.mark.spec("ERR-1", "ERR-2", "ERR-4", "WIRE-18")
def test_a_recorded_error_means_what_was_done_to_get_it(one: Recorded) -> None:
    fault = reading(one)
    assert isinstance(fault, Fault)
    assert fault.error.status == one.status
    meant = WITHOUT_LISTS[one.status] if one.note == "list" else MEANT[one.note]
    assert fault.kind is meant
    if one.body.startswith(b"{"):
        assert fault.error.message


@pytest.mark.parametrize(
    "one", [one for one in RECORDED if one.status < 300 and one.operation is SEND], ids=str
)
@pytest.mark.spec("WIRE-6")
def test_the_task_of_a_recorded_send_is_found_in_its_beginning(one: Recorded) -> None:
    reply = reading(one)
    task_id = reply.task.id if isinstance(reply, TaskReply) else None
    shown = [task_id_in(one.body[:end], request_id=None) for end in range(len(one.body) + 1)]
    assert set(shown) == {None, task_id}
    assert shown[-1] == task_id
