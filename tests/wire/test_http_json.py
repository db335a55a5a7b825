"""HTTP+JSON as it is spelled and read, without a network."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from a2a_delegate.errors import UsageError
from a2a_delegate.lifecycle.faults import PROVEN
from a2a_delegate.lifecycle.operations import Fault, FaultKind, OperationName, Unreadable
from a2a_delegate.wire.http_json import Resource, read, request
from a2a_delegate.wire.result import EVIDENCE, WireResult
from a2a_delegate.wire.words import Words
from tests.wire.json_values import json_values

if TYPE_CHECKING:
    from a2a_delegate.model.json_value import JSON

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
SEND, GET, LIST = OperationName.SEND, OperationName.GET, OperationName.LIST
CANCEL, SUBSCRIBE = OperationName.CANCEL, OperationName.SUBSCRIBE

INFO = "type.googleapis.com/google.rpc.ErrorInfo"


def reading(
    body: object,
    *,
    operation: OperationName = GET,
    status: int = 200,
    headers: dict[str, str] | None = None,
) -> WireResult | Fault | Unreadable:
    sent = body if isinstance(body, bytes) else json.dumps(body).encode()
    return read(sent, operation=operation, status=status, headers=headers or {}, now=NOW)


def kind(
    body: object, *, operation: OperationName, status: int, headers: dict[str, str] | None = None
) -> FaultKind:
    fault = reading(body, operation=operation, status=status, headers=headers)
    assert isinstance(fault, Fault)
    assert fault.error.status == status
    return fault.kind


# What is asked.


@pytest.mark.parametrize(
    ("name", "streamed", "by_get", "path", "body"),
    [
        (SEND, False, False, "message:send", b'{"message":{}}'),
        (SEND, True, False, "message:stream", b'{"message":{}}'),
        (GET, False, False, "tasks/t", None),
        (CANCEL, False, False, "tasks/t:cancel", b"{}"),
        (SUBSCRIBE, True, False, "tasks/t:subscribe", b"{}"),
        (SUBSCRIBE, True, True, "tasks/t:subscribe", None),
    ],
)
@pytest.mark.spec("BIND-8", "BIND-9")
def test_each_operation_has_a_path_and_a_verb(
    name: OperationName, *, streamed: bool, by_get: bool, path: str, body: bytes | None
) -> None:
    words = Words("X", {"message": {}} if name is SEND else {"id": "t"})
    asked = request(name, words, streamed=streamed, by_get=by_get)
    assert asked == Resource("", path, "", body)


@pytest.mark.spec("BIND-8", "IDEM-5")
def test_a_list_asks_by_its_query() -> None:
    params: dict[str, JSON] = {
        "pageSize": 100,
        "includeArtifacts": False,
        "contextId": "a b&c=/é",
        "statusTimestampAfter": "2026-11-30T12:00:00.000Z",
        "pageToken": "n+1",
        "tenant": "acme",
    }
    assert request(LIST, Words("ListTasks", dict(params))) == Resource(
        "",
        "acme/tasks",
        "pageSize=100&includeArtifacts=false&contextId=a%20b%26c%3D%2F%C3%A9"
        "&statusTimestampAfter=2026-11-30T12%3A00%3A00.000Z&pageToken=n%2B1",
    )
    assert request(LIST, Words("ListTasks", {"includeArtifacts": True})).query == (
        "includeArtifacts=true"
    )


@pytest.mark.parametrize(
    ("task_id", "segment"),
    [
        ("t-1_x~", "t-1_x~"),
        ("../x?y#z/ü", "..%2Fx%3Fy%23z%2F%C3%BC"),
        ("..", "%2E%2E"),
        (".", "%2E"),
        ("t:cancel", "t%3Acancel"),
        ("a%2Fb c", "a%252Fb%20c"),
        ("\ud800", "%ED%A0%80"),
    ],
)
@pytest.mark.spec("BIND-8")
def test_an_id_is_one_segment_whatever_it_holds(task_id: str, segment: str) -> None:
    assert request(GET, Words("X", {"id": task_id})).path == f"tasks/{segment}"
    tenant = request(CANCEL, Words("X", {"id": task_id, "tenant": task_id}, "v1"))
    assert (tenant.root, tenant.path) == ("v1", f"{segment}/tasks/{segment}:cancel")


@given(task_id=st.text(st.characters()))
@pytest.mark.spec("BIND-8")
def test_no_id_leaves_its_segment(task_id: str) -> None:
    path = request(GET, Words("X", {"id": task_id})).path
    assert path.isascii()
    assert path.count("/") == 1
    assert not set(path) & set("?#\\ ")
    assert path not in ("tasks/.", "tasks/..")


@pytest.mark.spec("CARD-8")
def test_a_tenant_stands_in_the_path_and_in_a_body_and_not_in_a_query() -> None:
    sent = request(SEND, Words("X", {"message": {}, "tenant": "a/b"}))
    assert (sent.path, sent.body) == ("a%2Fb/message:send", b'{"message":{},"tenant":"a/b"}')
    stopped = request(CANCEL, Words("X", {"id": "t", "tenant": "a/b"}))
    assert (stopped.path, stopped.body) == ("a%2Fb/tasks/t:cancel", b'{"tenant":"a/b"}')
    assert request(GET, Words("X", {"id": "t", "tenant": "a/b"})) == Resource("", "a%2Fb/tasks/t")


@pytest.mark.spec("WIRE-2")
def test_what_json_cannot_carry_is_refused() -> None:
    with pytest.raises(UsageError):
        request(SEND, Words("X", {"n": float("nan")}))


# What comes back.


@pytest.mark.parametrize("status", [200, 201, 202, 299])
@pytest.mark.parametrize(
    "body",
    [
        {"task": {"id": "t"}},
        {"message": {"messageId": "m"}},
        {"id": "t", "status": {"state": "x"}, "error": {"code": -32603}},
        {"statusUpdate": {"taskId": "t"}, "code": -32001},
        {"messageId": "m", "parts": [], "code": -32009},
        {"messageId": "m", "content": [], "error": {"code": -32009}},
        {"tasks": [], "error": {"code": -32009}},
        {"id": "t", "code": -32009},
        {"tasks": [], "nextPageToken": ""},
        {"code": 7},
        {"code": True},
        {"message": "an odd text"},
        {},
        [],
        7,
    ],
)
@pytest.mark.spec("WIRE-17", "BIND-6")
def test_json_under_success_is_the_result(body: object, status: int) -> None:
    result = reading(body, status=status)
    assert isinstance(result, WireResult)
    assert (result.result, result.status) == (body, status)
    assert result.evidence == json.dumps(body).encode()


@pytest.mark.parametrize("body", [b"", b"<html>", b"\xff", b'{"task":'])
@pytest.mark.spec("WIRE-17", "WIRE-3")
def test_what_is_no_json_is_unreadable_under_success_and_else_its_status(body: bytes) -> None:
    unread = reading(body)
    assert isinstance(unread, Unreadable)
    assert (unread.evidence, unread.error.status) == (body, 200)
    assert kind(body, operation=SEND, status=405) is FaultKind.METHOD_NOT_ALLOWED


@pytest.mark.spec("WIRE-6")
def test_a_cut_body_still_shows_the_task_of_a_send() -> None:
    cut = b'{"task":{"id":"t-1","status":{"sta'
    shown = [reading(cut, operation=name) for name in (SEND, GET)]
    assert [one.task_id for one in shown if isinstance(one, Unreadable)] == ["t-1", None]


@pytest.mark.spec("WIRE-3")
def test_no_more_than_the_bound_is_kept() -> None:
    unread = reading(b"x" * (EVIDENCE + 1))
    assert isinstance(unread, Unreadable)
    assert len(unread.evidence) == EVIDENCE
    result = reading(["x" * EVIDENCE])
    assert isinstance(result, WireResult)
    assert len(result.evidence) == EVIDENCE


def of_1_0(status: int, word: str, reason: str | None) -> object:
    details = [] if reason is None else [{"@type": INFO, "reason": reason, **DOMAIN}]
    return {"error": {"code": status, "status": word, "message": "why", "details": details}}


DOMAIN = {"domain": "a2a-protocol.org"}
ORG = "https://a2a-protocol.org/errors"


# Each condition as 1.0.0 and as 1.0.1 map it, and in the shapes of 0.3 and of other servers.
SAID: dict[FaultKind, list[tuple[OperationName, int, object]]] = {
    FaultKind.TASK_NOT_FOUND: [
        (GET, 404, of_1_0(404, "NOT_FOUND", "TASK_NOT_FOUND")),
        (SEND, 404, of_1_0(404, "NOT_FOUND", "TASK_NOT_FOUND")),
        (GET, 404, of_1_0(404, "NOT_FOUND", None)),
        (GET, 404, {"message": "Task not found"}),
        (CANCEL, 404, {"code": -32001, "message": "Task not found: t"}),
        (SUBSCRIBE, 404, {"detail": {"code": -32001, "message": "Task not found"}}),
        (GET, 404, {"code": 5, "status": "NOT_FOUND", "message": "gone"}),
        (GET, 404, {"type": f"{ORG}/task-not-found", "title": "gone", "status": 404}),
        (GET, 400, {"jsonrpc": "2.0", "id": None, "error": {"code": -32001, "message": "x"}}),
        (SUBSCRIBE, 200, {"error": {"code": 404, "status": "NOT_FOUND", "message": "x"}}),
        (SUBSCRIBE, 200, {"code": -32001, "message": "x"}),
    ],
    FaultKind.TASK_NOT_CANCELABLE: [
        (CANCEL, 409, of_1_0(409, "FAILED_PRECONDITION", "TASK_NOT_CANCELABLE")),
        (CANCEL, 400, of_1_0(400, "FAILED_PRECONDITION", "TASK_NOT_CANCELABLE")),
        (CANCEL, 400, of_1_0(400, "FAILED_PRECONDITION", None)),
        (CANCEL, 409, {"message": "Task cannot be canceled - current state: completed"}),
        (CANCEL, 400, {"code": -32002, "message": "Task not cancelable: t"}),
        (CANCEL, 409, {"type": f"{ORG}/task-not-cancelable", "detail": "no"}),
    ],
    FaultKind.UNSUPPORTED: [
        (LIST, 400, of_1_0(400, "UNIMPLEMENTED", "UNSUPPORTED_OPERATION")),
        (LIST, 400, of_1_0(400, "FAILED_PRECONDITION", "UNSUPPORTED_OPERATION")),
        (LIST, 501, of_1_0(501, "UNIMPLEMENTED", None)),
        (SEND, 501, {"code": -32004, "message": "no"}),
    ],
    FaultKind.VERSION_NOT_SUPPORTED: [
        (SEND, 400, of_1_0(400, "UNIMPLEMENTED", "VERSION_NOT_SUPPORTED")),
        (SEND, 400, of_1_0(400, "FAILED_PRECONDITION", "VERSION_NOT_SUPPORTED")),
        (SEND, 400, {"code": -32009, "message": "Unsupported A2A version: 1.0."}),
        (SEND, 400, {"type": f"{ORG}/version-not-supported", "supportedVersions": ["0.3"]}),
        (SEND, 500, {"code": -32603, "message": "A2A version '1.0' is not supported"}),
    ],
    FaultKind.EXTENSION_REQUIRED: [
        (SEND, 400, of_1_0(400, "FAILED_PRECONDITION", "EXTENSION_SUPPORT_REQUIRED")),
    ],
    FaultKind.METHOD_NOT_FOUND: [(SEND, 404, {"code": -32601, "message": "no"})],
    FaultKind.PARSE_ERROR: [(SEND, 400, {"code": -32700, "message": "no"})],
}


@pytest.mark.parametrize(
    ("meant", "operation", "status", "body"),
    [(meant, *said) for meant, cases in SAID.items() for said in cases],
)
@pytest.mark.spec("ERR-1", "ERR-2", "WIRE-18")
def test_one_condition_is_read_the_same_however_it_is_spelled(
    meant: FaultKind, operation: OperationName, status: int, body: object
) -> None:
    assert kind(body, operation=operation, status=status) is meant


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (404, of_1_0(404, "NOT_FOUND", None)),
        (404, {"message": "Task t was specified but does not exist"}),
        (409, {"message": "Task cannot be canceled"}),
        (400, of_1_0(400, "FAILED_PRECONDITION", None)),
        (400, of_1_0(400, "INVALID_ARGUMENT", "INVALID_PARAMS")),
        (415, of_1_0(415, "INVALID_ARGUMENT", "CONTENT_TYPE_NOT_SUPPORTED")),
        (415, of_1_0(415, "INVALID_ARGUMENT", None)),
        (415, {"message": "Incompatible content types"}),
        (422, {"message": "Parameters are invalid"}),
        (500, of_1_0(500, "INTERNAL", None)),
        (501, {"message": "This operation is not supported"}),
        (502, {"message": "Invalid agent response"}),
        (429, {"code": -32603, "message": "slow down"}),
        (405, of_1_0(405, "UNIMPLEMENTED", "UNSUPPORTED_OPERATION")),
        (200, {"error": {"code": 405, "status": "UNIMPLEMENTED", "message": "x"}}),
        (200, {"error": {"code": 429, "message": "x"}}),
        (400, {"type": "https://evil.example/errors/version-not-supported", "title": "x"}),
        (400, {"message": "A2A version '1.0' is not supported"}),
    ],
)
@pytest.mark.spec("WIRE-18")
def test_what_an_agents_code_can_raise_does_not_prove_that_a_send_never_began(
    status: int, body: object
) -> None:
    assert kind(body, operation=SEND, status=status) not in PROVEN


@pytest.mark.parametrize(
    ("status", "headers", "meant"),
    [
        (401, {"www-authenticate": "Bearer"}, FaultKind.UNAUTHENTICATED),
        (401, {}, FaultKind.DENIED),
        (403, {}, FaultKind.DENIED),
        (405, {}, FaultKind.METHOD_NOT_ALLOWED),
        (413, {}, FaultKind.CONTENT_TOO_LARGE),
        (429, {"retry-after": "3"}, FaultKind.RATE_LIMITED),
        (307, {}, FaultKind.REDIRECTED),
        (308, {}, FaultKind.REDIRECTED),
    ],
)
@pytest.mark.parametrize("body", [b"", b"no", {"message": "no"}, {"error": {"message": "no"}}, []])
@pytest.mark.spec("ERR-5", "WIRE-18")
def test_a_gate_before_the_agent_is_told_by_its_status(
    status: int, headers: dict[str, str], meant: FaultKind, body: object
) -> None:
    fault = reading(body, operation=SEND, status=status, headers=headers)
    assert isinstance(fault, Fault)
    assert fault.kind is meant
    assert fault.error.retry_after == (3.0 if "retry-after" in headers else None)
    assert fault.error.message in ("", "no")


@pytest.mark.spec("WIRE-18")
def test_a_media_type_is_refused_before_the_agent_where_no_error_document_says_more() -> None:
    assert kind(b"Unsupported Media Type", operation=SEND, status=415) is FaultKind.MEDIA_TYPE


@pytest.mark.parametrize("operation", [SEND, GET, LIST, CANCEL, SUBSCRIBE])
@pytest.mark.parametrize(
    "body",
    [
        b"Not Found",
        b"<html><pre>Cannot GET /v1/tasks</pre></html>",
        {"detail": "Not Found"},
        {"code": 5, "message": "Not Found", "details": []},
        {"timestamp": 1, "status": 404, "error": "Not Found", "path": "/tasks/t"},
        {"message": "Route GET:/tasks/t not found", "error": "Not Found", "statusCode": 404},
        [],
    ],
)
@pytest.mark.spec("ERR-4")
def test_a_path_that_is_not_there_is_no_missing_task(
    operation: OperationName, body: object
) -> None:
    assert kind(body, operation=operation, status=404) is FaultKind.NO_ENDPOINT


@pytest.mark.spec("ERR-1")
def test_an_error_has_the_facts_of_its_document() -> None:
    fault = reading(
        of_1_0(404, "NOT_FOUND", "TASK_NOT_FOUND"), status=404, headers={"retry-after": "2"}
    )
    assert isinstance(fault, Fault)
    error = fault.error
    assert (error.status, error.code, error.reason) == (404, None, "TASK_NOT_FOUND")
    assert (error.message, error.retry_after, error.method) == ("why", 2.0, "get")
    bare = reading({"code": -32001, "message": "why"}, status=404)
    assert isinstance(bare, Fault)
    assert (bare.error.code, bare.error.reason, bare.error.message) == (-32001, None, "why")


@given(
    body=st.binary(max_size=60) | json_values.map(lambda value: json.dumps(value).encode()),
    operation=st.sampled_from(OperationName),
    status=st.sampled_from([200, 201, 204, 302, 400, 401, 404, 409, 415, 429, 500, 501]),
)
@pytest.mark.spec("WIRE-4")
def test_no_bytes_make_the_reader_raise(body: bytes, operation: OperationName, status: int) -> None:
    reading(body, operation=operation, status=status)
