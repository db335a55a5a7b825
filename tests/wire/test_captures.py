"""Every recorded JSON-RPC reply of a real server, read and compared with a reading of its own."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

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
from a2a_delegate.model.card import ProtocolVersion
from a2a_delegate.model.message import Message, Role
from a2a_delegate.model.task import TaskState
from a2a_delegate.wire.cut_reply import task_id_in
from a2a_delegate.wire.dialect import DIALECTS
from a2a_delegate.wire.envelope import read
from a2a_delegate.wire.result import WireResult, decoded
from tests.wire.recordings import (
    CAPTURES,
    exchanges,
    observed_message,
    observed_task,
    plain_message,
    plain_task,
    sent,
)

if TYPE_CHECKING:
    from pathlib import Path

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)

METHODS: dict[str, tuple[ProtocolVersion, type[Operation]]] = {
    "SendMessage": (ProtocolVersion.V1_0, SendMessage),
    "GetTask": (ProtocolVersion.V1_0, GetTask),
    "ListTasks": (ProtocolVersion.V1_0, ListTasks),
    "CancelTask": (ProtocolVersion.V1_0, CancelTask),
    "message/send": (ProtocolVersion.V0_3, SendMessage),
    "tasks/get": (ProtocolVersion.V0_3, GetTask),
    "tasks/cancel": (ProtocolVersion.V0_3, CancelTask),
}
OF_0_2 = "a2a-sdk-0.2"
OF_0_1 = "python-a2a"

# What cannot be read, and why that is right.
UNREADABLE = {
    "a result without the request's id": "a request without an id gets its result under none",
    "an empty body": "a request without an id gets 204",
    "the result is a task of A2A 0.1 (`tasks/send`), which is not spoken here": "it is one",
}


@dataclass(frozen=True)
class Recorded:
    """One request and the whole reply to it."""

    place: str
    request: dict[str, Any]
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def server(self) -> str:
        """The folder that it lies in."""
        return self.place.split("/")[0]

    def __str__(self) -> str:
        """Name the test."""
        return self.place


def recorded() -> list[Recorded]:
    found = []
    for path in sorted(CAPTURES.rglob("*.json")):
        for number, exchange in enumerate(exchanges(path)):
            request = sent(exchange["request"])
            response = exchange.get("response")
            if request.get("method") not in METHODS or response is None:
                continue
            place = f"{path.parent.name}/{path.stem}/{number}"
            body, headers = response["body"].encode(), response.get("headers", {})
            found.append(Recorded(place, request, response["status"], headers, body))
    return found


RECORDED = recorded()


def reading(
    one: Recorded,
) -> TaskReply | MessageReply | TaskPage | Fault | Unreadable:
    version, kind = METHODS[one.request["method"]]
    if one.server == OF_0_2 and version is ProtocolVersion.V0_3:
        version = ProtocolVersion.V0_2
    params = one.request.get("params", {})
    operation: Operation
    if kind is SendMessage:
        operation = SendMessage(Message("m", Role.USER, ()))
    elif kind is ListTasks:
        operation = ListTasks()
    else:
        operation = (GetTask if kind is GetTask else CancelTask)(params.get("id", ""))
    reply = read(
        one.body,
        request_id=one.request.get("id", "none was sent"),
        operation=operation.name,
        status=one.status,
        headers=one.headers,
        now=NOW,
    )
    return decoded(DIALECTS[version], operation, reply) if isinstance(reply, WireResult) else reply


# Recorded JSON to plain values.


def plain(one: Recorded) -> object:
    try:
        document = json.loads(one.body)
    except ValueError:
        return ("status", one.status)
    if "jsonrpc" not in document:
        return ("status", one.status)
    if document.get("error"):
        return ("error", document["error"]["code"], document["error"]["message"][:400])
    result = document["result"]
    if "tasks" in result:
        tasks = [plain_task(task) for task in result["tasks"]]
        return ("page", tasks, result.get("nextPageToken", ""))
    result = result.get("task") or result.get("message") or result
    return plain_task(result) if "status" in result else plain_message(result)


# The same plain values, from what was read.


def observed(reply: object) -> object:
    match reply:
        case TaskReply(task=task):
            return observed_task(task)
        case MessageReply(message=message):
            return observed_message(message)
        case TaskPage(tasks=tasks, next_page_token=token):
            return ("page", [observed_task(task) for task in tasks], token)
        case Fault(error=error) if error.code is not None:
            return ("error", error.code, error.message[:400])
        case Fault(error=error):
            return ("status", error.status)
        case _:
            return reply


def test_the_recordings_are_here() -> None:
    servers = Counter(one.server for one in RECORDED)
    assert len(servers) >= 18
    assert len(RECORDED) >= 1164
    assert servers[OF_0_2] >= 68


@pytest.mark.parametrize("one", RECORDED, ids=str)
@pytest.mark.spec(
    "BIND-11", "METH-6", "METH-11", "STATE-1", "STATE-2", "WIRE-7", "GEN-1", "ERR-1", "WIRE-13"
)
def test_a_recorded_reply_is_read_as_it_stands(one: Recorded) -> None:
    reply = reading(one)
    if isinstance(reply, Unreadable):
        assert "id" not in one.request or one.server == OF_0_1
        assert reply.error.reason in UNREADABLE
    else:
        assert observed(reply) == plain(one)


def test_what_cannot_be_read_is_a_handful_and_each_has_its_reason() -> None:
    replies = [reply for one in RECORDED if isinstance(reply := reading(one), Unreadable)]
    reasons = Counter(reply.error.reason for reply in replies)
    assert reasons.keys() == UNREADABLE.keys()
    assert sum(reasons.values()) == 11


@pytest.mark.parametrize("one", RECORDED, ids=str)
@pytest.mark.spec("WIRE-6")
def test_a_recorded_reply_that_is_cut_tells_its_task_or_nothing(one: Recorded) -> None:
    request_id = one.request.get("id")
    reply = reading(one)
    if not isinstance(request_id, str) or isinstance(reply, (TaskPage, Unreadable)):
        return
    task_id = reply.task.id if isinstance(reply, TaskReply) else None
    assert task_id_in(one.body, request_id=request_id) == task_id
    step = max(1, len(one.body) // 15)
    for cut in range(0, len(one.body), step):
        assert task_id_in(one.body[:cut], request_id=request_id) in (None, task_id)


# What the recorded refusals mean, by what they say; the first pattern that fits counts.
MEANINGS = (
    (r"-32009 |-32603 A2A version ", FaultKind.VERSION_NOT_SUPPORTED),
    (r"-32601 ", FaultKind.METHOD_NOT_FOUND),
    (r"-32001 ", FaultKind.TASK_NOT_FOUND),
    (r"-32002 ", FaultKind.TASK_NOT_CANCELABLE),
    (r"-32004 ", FaultKind.UNSUPPORTED),
    (r"-3260[023] |-32000 ", FaultKind.OTHER),
    (r"http (400|500)", FaultKind.OTHER),
)


@pytest.mark.parametrize("one", RECORDED, ids=str)
@pytest.mark.spec("ERR-1", "WIRE-10", "WIRE-11")
def test_a_recorded_refusal_means_what_it_says(one: Recorded) -> None:
    reply = reading(one)
    if not isinstance(reply, Fault):
        return
    code = reply.error.code
    said = f"http {one.status}" if code is None else f"{code} {reply.error.message}"
    if one.server == OF_0_2 and METHODS[one.request["method"]][0] is ProtocolVersion.V1_0:
        # Its code for all requests that it does not know is told apart by what was asked of it.
        assert code == -32600
        assert reply.kind is FaultKind.VERSION_NOT_SUPPORTED
        return
    assert reply.kind is next(kind for words, kind in MEANINGS if re.match(words, said))


# Scenarios in which every state and code of the recorder's own summary came by these methods.
SUMMARISED = (
    "03-send-task-default",
    "04-send-slow-blocking",
    "05-send-slow-nonblocking",
    "05b-send-slow-default-config",
    "06-get",
    "07-cancel-running",
    "08-cancel-other",
    "09-cancel-stubborn",
    "13-input-required",
    "14-wrong-context",
    "15-outcomes",
    "16-duplicate-messageid",
    "21-other-dialect",
)


def named(summary: object) -> set[object]:
    """Return the states and the codes that a summary names, wherever they stand in it."""
    if isinstance(summary, dict):
        code = summary.get("code")
        if isinstance(code, int):
            return {code}
        return set().union(*map(named, summary.values()), set())
    word = summary.removeprefix("TASK_STATE_").lower() if isinstance(summary, str) else ""
    return {state.value for state in TaskState if state.value == word.replace("_", "-")}


@pytest.mark.parametrize(
    "path",
    [path for path in sorted(CAPTURES.rglob("*.json")) if path.stem in SUMMARISED],
    ids=lambda path: f"{path.parent.name}/{path.stem}",
)
@pytest.mark.spec("STATE-1", "STATE-2", "ERR-1")
def test_what_the_recorder_saw_is_what_is_read(path: Path) -> None:
    summary = json.loads(path.read_text(encoding="utf-8"))["summary"]
    place = f"{path.parent.name}/{path.stem}/"
    read_here: set[object] = set()
    for one in RECORDED:
        if one.place.startswith(place):
            reply = reading(one)
            if isinstance(reply, TaskReply):
                read_here.add(reply.task.status.state.value)
            elif isinstance(reply, Fault):
                read_here.add(reply.error.code)
    assert named(summary) <= read_here
