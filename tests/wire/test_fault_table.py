from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from a2a_delegate.errors import A2ARequestError
from a2a_delegate.lifecycle.faults import PROVEN
from a2a_delegate.lifecycle.operations import Fault, FaultKind, OperationName
from a2a_delegate.wire.fault_table import (
    from_document,
    from_error,
    from_status,
    is_code,
    retry_after,
    says_gone,
)
from tests.wire.json_values import json_objects

if TYPE_CHECKING:
    from collections.abc import Mapping

    from a2a_delegate.model.json_value import JSON

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
SEND, GET, CANCEL = OperationName.SEND, OperationName.GET, OperationName.CANCEL
LIST = OperationName.LIST
INFO = "type.googleapis.com/google.rpc.ErrorInfo"


def fault(
    code: JSON = None,
    message: JSON = "",
    data: JSON = None,
    *,
    operation: OperationName = SEND,
    status: int = 200,
) -> Fault:
    error: dict[str, JSON] = {"code": code, "message": message, "data": data}
    return from_error(error, operation=operation, status=status, headers={}, now=NOW)


def info(reason: JSON, **members: JSON) -> dict[str, JSON]:
    return {"@type": INFO, "reason": reason, "domain": "a2a-protocol.org", **members}


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (-32700, FaultKind.PARSE_ERROR),
        (-32600, FaultKind.OTHER),
        (-32601, FaultKind.METHOD_NOT_FOUND),
        (-32602, FaultKind.OTHER),
        (-32603, FaultKind.OTHER),
        (-32001, FaultKind.TASK_NOT_FOUND),
        (-32002, FaultKind.TASK_NOT_CANCELABLE),
        (-32003, FaultKind.OTHER),
        (-32004, FaultKind.UNSUPPORTED),
        (-32005, FaultKind.OTHER),
        (-32006, FaultKind.OTHER),
        (-32007, FaultKind.OTHER),
        (-32008, FaultKind.EXTENSION_REQUIRED),
        (-32009, FaultKind.VERSION_NOT_SUPPORTED),
        (-32010, FaultKind.OTHER),
        (-32000, FaultKind.OTHER),
        (0, FaultKind.OTHER),
        (429, FaultKind.OTHER),
        (10**300, FaultKind.OTHER),
    ],
)
# One of 1.0.0, one of 1.0.1, and what SDKs send over JSON-RPC.
@pytest.mark.parametrize("status", [200, 400, 404, 405, 409, 415, 429, 500, 502])
@pytest.mark.spec("ERR-1", "ERR-2")
def test_a_code_means_the_same_whatever_the_http_status(
    code: int, kind: FaultKind, status: int
) -> None:
    read = fault(code, "text", status=status)
    assert read.kind is kind
    assert (read.error.code, read.error.status, read.error.message) == (code, status, "text")


@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        ("TASK_NOT_FOUND", FaultKind.TASK_NOT_FOUND),
        ("TASK_NOT_CANCELABLE", FaultKind.TASK_NOT_CANCELABLE),
        ("UNSUPPORTED_OPERATION", FaultKind.UNSUPPORTED),
        ("METHOD_NOT_FOUND", FaultKind.METHOD_NOT_FOUND),
        ("EXTENSION_SUPPORT_REQUIRED", FaultKind.EXTENSION_REQUIRED),
        ("VERSION_NOT_SUPPORTED", FaultKind.VERSION_NOT_SUPPORTED),
        ("INVALID_PARAMS", FaultKind.OTHER),
        ("INTERNAL_ERROR", FaultKind.OTHER),
    ],
)
@pytest.mark.spec("ERR-1")
def test_the_reason_goes_before_the_code(reason: str, kind: FaultKind) -> None:
    read = fault(-32603, data=[{"@type": "google.rpc.BadRequest"}, "x", info(reason)])
    assert (read.kind, read.error.reason, read.error.code) == (kind, reason, -32603)
    assert fault(-32603, data=info(reason)).kind is kind


@pytest.mark.parametrize(
    "data",
    [
        info("TASK_NOT_FOUND", domain="tracker.example"),
        info("TASK_NOT_FOUND", domain=""),
        info("TASK_NOT_FOUND", domain=None),
        {"@type": INFO, "reason": "TASK_NOT_FOUND"},
        {"@type": "type.googleapis.com/google.rpc.Help", "reason": "TASK_NOT_FOUND"},
        {"reason": "TASK_NOT_FOUND"},
        info(7),
        info(""),
        "TASK_NOT_FOUND",
    ],
)
@pytest.mark.spec("ERR-1")
def test_what_is_no_reason_of_a2a_counts_for_nothing(data: JSON) -> None:
    read = fault(-32603, data=data)
    assert (read.kind, read.error.reason) == (FaultKind.OTHER, None)
    assert fault(-32601, data=data).kind is FaultKind.METHOD_NOT_FOUND


@pytest.mark.parametrize(
    "text",
    [
        "A2A version '1.0' is not supported by this handler. Expected version '0.3'.",
        "The requested A2A protocol version '1.0' is not supported. Supported versions: 0.3",
        "Unsupported A2A version: 1.0. This server supports 0.3.0.",
        "unsupported A2A protocol version 1.0",
    ],
)
@pytest.mark.parametrize("code", [-32600, -32603])
@pytest.mark.spec("WIRE-10")
def test_a_text_that_begins_with_the_version_is_a_refusal_of_it(code: int, text: str) -> None:
    assert fault(code, text).kind is FaultKind.VERSION_NOT_SUPPORTED
    assert fault(-32602, text).kind is FaultKind.OTHER


@pytest.mark.parametrize(
    "text",
    [
        "Unknown method: SendMessage",
        "Invalid method 'message/send'",
        "Method not found: SendMessage",
        "Method 'tasks/get' not found",
        "method SendMessage is not supported",
        "Unsupported method: tasks/cancel",
        "Unknown method: SendStreamingMessage",
        "Method not found: SubscribeToTask",
        "Method 'message/stream' not found",
        "Unsupported method: tasks/resubscribe",
    ],
)
@pytest.mark.parametrize("code", [-32600, -32603])
@pytest.mark.spec("WIRE-10")
def test_a_text_that_begins_with_the_method_is_a_refusal_of_it(code: int, text: str) -> None:
    assert fault(code, text).kind is FaultKind.VERSION_NOT_SUPPORTED


@pytest.mark.parametrize(
    "text",
    [
        "Unsupported protocol version",
        "protocol version 1.0 is not supported",
        "Version not supported",
        "Unknown method",
        "Method not found",
        "Method 'x' not supported",
    ],
)
@pytest.mark.spec("WIRE-10")
def test_an_invalid_request_may_say_it_shorter_than_an_internal_error(text: str) -> None:
    assert fault(-32600, text).kind is FaultKind.VERSION_NOT_SUPPORTED
    # A tool that the agent called may have said this, after hours of work.
    assert fault(-32603, text).kind is FaultKind.OTHER


@pytest.mark.parametrize(
    "text",
    [
        "boom from agent code",
        "Task execution failed: A2A version '1.0' is not supported by this handler.",
        "the downstream agent said: Method not found: SendMessage",
        "Authenticated card not supported",
        "Task t is in a terminal state (completed) and cannot be modified.",
        "Invalid request: 'jsonrpc' must be exactly '2.0'",
        "Request payload validation error",
        "Method calls took too long: the file format is not a version that is supported",
        "version conflict in the repository",
        "Version 3 of the report is not supported by evidence",
        "Method section: reference not found",
        "Unsupported methods of payment",
        "A2A versions differ\nThis file is not supported",
        "",
    ],
)
@pytest.mark.parametrize("code", [-32600, -32603])
@pytest.mark.spec("WIRE-10")
def test_any_other_text_proves_nothing(code: int, text: str) -> None:
    assert fault(code, text).kind is FaultKind.OTHER


def refused(shapes: dict[str, list[str]]) -> list[JSON]:
    """Complain as the validator of a2a-sdk 0.2 does: of each shape, at each of the places."""
    return [
        {
            "type": "literal_error" if place == "method" else "missing",
            "loc": [shape, *place.split(".")],
        }
        for shape, places in shapes.items()
        for place in places
    ]


@pytest.mark.spec("WIRE-10")
def test_a_method_that_no_shape_of_request_allows_is_a_refusal_of_it() -> None:
    everywhere = refused(
        {"SendMessageRequest": ["params.message", "method"], "GetTaskRequest": ["method"]}
    )
    elsewhere = refused({"SendMessageRequest": ["params.message"], "GetTaskRequest": ["method"]})
    text = "Request payload validation error"
    assert fault(-32600, text, everywhere).kind is FaultKind.VERSION_NOT_SUPPORTED
    assert fault(-32600, text, elsewhere).kind is FaultKind.OTHER
    assert fault(-32603, text, everywhere).kind is FaultKind.OTHER
    others: list[JSON] = [{"loc": []}, {"loc": "x"}, {"loc": [1, "method"]}, {}]
    for broken in others:
        assert fault(-32600, text, [*everywhere, broken]).kind is FaultKind.OTHER


@pytest.mark.parametrize(
    "text",
    [
        "task not found: x",
        "Task not found",
        "Task 4711 not found",
        "The task 'x' was not found",
        "Task x was specified but does not exist",
        "Unknown task x",
        "No such task",
    ],
)
@pytest.mark.spec("WIRE-11")
def test_invalid_params_may_mean_that_the_task_is_not_there(text: str) -> None:
    assert fault(-32602, text, operation=GET).kind is FaultKind.TASK_NOT_FOUND
    assert fault(-32602, text, operation=CANCEL).kind is FaultKind.TASK_NOT_FOUND
    # The agent's own code may speak of a task of its tracker.
    assert fault(-32602, text, operation=SEND).kind is FaultKind.OTHER


@pytest.mark.parametrize(
    "text",
    [
        "Task t is in terminal state: completed",
        "contextId does not match task",
        "history length must be non-negative",
        "Multitasking not found",
    ],
)
@pytest.mark.spec("WIRE-11")
def test_other_invalid_params_are_not(text: str) -> None:
    assert fault(-32602, text, operation=GET).kind is FaultKind.OTHER


@pytest.mark.parametrize(
    ("code", "shown", "kind"),
    [
        (-32001.0, -32001, FaultKind.TASK_NOT_FOUND),
        ("-32001", -32001, FaultKind.OTHER),
        ("429", 429, FaultKind.OTHER),
        ("TASK_NOT_FOUND", None, FaultKind.OTHER),
        ("-" * 50_000, None, FaultKind.OTHER),
        ("9" * 50_000, None, FaultKind.OTHER),
        (-32001.5, None, FaultKind.OTHER),
        (True, None, FaultKind.OTHER),
        (False, None, FaultKind.OTHER),
        (None, None, FaultKind.OTHER),
        ([-32001], None, FaultKind.OTHER),
    ],
)
@pytest.mark.spec("WIRE-13")
def test_only_a_number_is_a_code(code: JSON, shown: int | None, kind: FaultKind) -> None:
    read = fault(code)
    assert read.kind is kind
    assert read.error.code == shown
    assert type(read.error.code) is not bool


@pytest.mark.parametrize("status", [401, 403])
@pytest.mark.spec("ERR-1", "ERR-5")
def test_an_error_object_of_unknown_code_under_401_is_denied_and_no_more(status: int) -> None:
    # With an error object the gate before the agent is no longer certain.
    error: dict[str, JSON] = {"code": -32000, "message": "Unauthorized"}
    headers = {"www-authenticate": "Bearer"}
    read = from_error(error, operation=SEND, status=status, headers=headers, now=NOW)
    assert read.kind is FaultKind.DENIED


@pytest.mark.parametrize(
    ("message", "data", "shown"),
    [
        ("text", None, "text"),
        (None, "text", "text"),
        (7, {"a": 1}, ""),
        ("", "text", ""),
    ],
)
def test_what_the_peer_says_is_its_message_or_its_data(
    message: JSON, data: JSON, shown: str
) -> None:
    assert fault(-32603, message, data).error.message == shown


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (301, FaultKind.OTHER),
        (302, FaultKind.OTHER),
        (303, FaultKind.OTHER),
        (307, FaultKind.REDIRECTED),
        (308, FaultKind.REDIRECTED),
        (400, FaultKind.OTHER),
        (401, FaultKind.DENIED),
        (403, FaultKind.DENIED),
        (404, FaultKind.NO_ENDPOINT),
        (405, FaultKind.METHOD_NOT_ALLOWED),
        (408, FaultKind.OTHER),
        (409, FaultKind.OTHER),
        (410, FaultKind.OTHER),
        (413, FaultKind.CONTENT_TOO_LARGE),
        (415, FaultKind.MEDIA_TYPE),
        (422, FaultKind.OTHER),
        (429, FaultKind.RATE_LIMITED),
        (500, FaultKind.OTHER),
        (502, FaultKind.OTHER),
        (503, FaultKind.OTHER),
        (504, FaultKind.OTHER),
    ],
)
@pytest.mark.spec("ERR-1", "ERR-4", "ERR-5")
def test_without_an_error_object_the_status_decides(status: int, kind: FaultKind) -> None:
    read = from_status(status, operation=LIST, headers={}, now=NOW, message="text")
    assert read.kind is kind
    assert (read.error.method, read.error.status, read.error.code) == ("list", status, None)
    assert read.error.message == "text"


@pytest.mark.spec("ERR-5")
def test_401_with_a_challenge_is_a_gate_before_the_agent() -> None:
    challenge = {"www-authenticate": 'Bearer realm="x"'}
    read = from_status(401, operation=SEND, headers=challenge, now=NOW)
    assert read.kind is FaultKind.UNAUTHENTICATED
    empty = from_status(401, operation=SEND, headers={"www-authenticate": ""}, now=NOW)
    assert empty.kind is FaultKind.DENIED
    forbidden = from_status(403, operation=SEND, headers=challenge, now=NOW)
    assert forbidden.kind is FaultKind.DENIED


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("0", 0.0),
        ("7", 7.0),
        (" 120 ", 120.0),
        ("\t120\t", 120.0),
        ("\x1c0", None),
        ("0\x1f", None),
        ("\u20280", None),
        ("1.5", 1.5),
        ("999999999", 999_999_999.0),
        ("Mon, 30 Nov 2026 12:00:30 GMT", 30.0),
        ("Mon, 30 Nov 2026 13:00:30 +0100", 30.0),
        ("Mon, 30 Nov 2026 12:00:30", 30.0),
        ("Monday, 30-Nov-26 12:00:30 GMT", 30.0),
        ("Mon, 30 Nov 2026 11:00:00 GMT", 0.0),
        ("Mon, 30 Nov 20260 11:00:00 GMT", None),
        ("-1", None),
        ("inf", None),
        ("nan", None),
        ("1e3", None),
        ("1_000", None),
        ("٣", None),
        ("9999999999", None),
        ("soon", None),
        ("", None),
        ("9" * 100_000, None),
    ],
)
@pytest.mark.spec("WIRE-12")
def test_a_delay_is_seconds_or_a_date(value: str, seconds: float | None) -> None:
    assert retry_after({"retry-after": value}, now=NOW) == seconds


@pytest.mark.spec("WIRE-12")
def test_without_the_header_there_is_no_delay() -> None:
    assert retry_after({}, now=NOW) is None


@given(st.text())
@pytest.mark.spec("WIRE-12")
def test_no_header_makes_the_reader_raise(value: str) -> None:
    seconds = retry_after({"retry-after": value}, now=NOW)
    assert seconds is None or seconds >= 0


@given(json_objects, st.sampled_from(OperationName), st.integers(100, 599))
@pytest.mark.spec("WIRE-4")
def test_no_error_object_makes_the_reader_raise(
    error: Mapping[str, JSON], operation: OperationName, status: int
) -> None:
    read = from_error(error, operation=operation, status=status, headers={}, now=NOW)
    assert str(read.error)


@pytest.mark.spec("DLG-4")
@pytest.mark.parametrize(
    ("status", "code", "gone"),
    [
        *((status, None, True) for status in (307, 308, 404, 405, 410)),
        *((status, None, False) for status in (None, 400, 401, 429, 500, 503)),
        *((200, code, True) for code in (-32009, -32601)),
        *((404, code, False) for code in (-32001, -32603)),
    ],
)
def test_a_version_or_an_address_that_is_gone_is_told_from_any_other_error(
    status: int | None, code: int | None, *, gone: bool
) -> None:
    assert says_gone(A2ARequestError(method="send", status=status, code=code)) is gone


@pytest.mark.spec("DLG-4")
@pytest.mark.parametrize(
    ("reason", "status", "gone"),
    [
        ("VERSION_NOT_SUPPORTED", 400, True),
        ("METHOD_NOT_FOUND", 400, True),
        ("TASK_NOT_FOUND", 404, False),
        ("INVALID_PARAMS", 405, False),
    ],
)
def test_a_reason_tells_it_as_well_and_goes_before_the_status(
    reason: str, status: int, *, gone: bool
) -> None:
    error = A2ARequestError(method="send", status=status, reason=reason)
    assert says_gone(error) is gone


def document(
    document: Mapping[str, JSON], *, operation: OperationName, status: int, message: str = ""
) -> FaultKind:
    fault = from_document(
        document, operation=operation, status=status, headers={}, now=NOW, message=message
    )
    return fault.kind


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ({"code": 400, "details": [info("TASK_NOT_FOUND")]}, FaultKind.TASK_NOT_FOUND),
        ({"code": -32602, "details": [info("TASK_NOT_FOUND")]}, FaultKind.TASK_NOT_FOUND),
        ({"code": -32004, "data": [info("TASK_NOT_FOUND")]}, FaultKind.TASK_NOT_FOUND),
        ({"code": -32004, "details": [info("INVALID_PARAMS")]}, FaultKind.UNSUPPORTED),
        ({"code": -32004, "type": "about:blank"}, FaultKind.UNSUPPORTED),
        (
            {"type": "https://a2a-protocol.org/errors/unsupported-operation"},
            FaultKind.UNSUPPORTED,
        ),
        ({"type": "https://a2a-protocol.org/errors/X"}, FaultKind.NO_ENDPOINT),
        ({"type": 7, "code": 5}, FaultKind.NO_ENDPOINT),
    ],
)
@pytest.mark.spec("ERR-1", "WIRE-18")
def test_a_document_is_read_by_its_reason_then_its_code_then_its_status(
    said: Mapping[str, JSON], kind: FaultKind
) -> None:
    assert document(said, operation=GET, status=404) is kind


@pytest.mark.parametrize("operation", OperationName)
@pytest.mark.parametrize("status", [200, 400, 404, 409, 415, 500, 501])
@pytest.mark.parametrize("word", ["NOT_FOUND", "FAILED_PRECONDITION", "UNIMPLEMENTED", None])
@pytest.mark.spec("WIRE-18")
def test_without_a_reason_no_document_proves_that_a_send_never_began(
    operation: OperationName, status: int, word: str | None
) -> None:
    said: dict[str, JSON] = {"code": status, "status": word, "message": "task not found"}
    kind = document(said, operation=operation, status=status, message="task not found")
    assert kind not in PROVEN
    if operation is SEND:
        assert kind in {FaultKind.OTHER, FaultKind.NO_ENDPOINT}


@pytest.mark.parametrize(
    ("code", "is_one"),
    [
        *((code, True) for code in (-32768, -32000, -32001.0)),
        *((code, False) for code in (-31999, -32769, 404, True, "-32001", None)),
    ],
)
@pytest.mark.spec("WIRE-13", "WIRE-17")
def test_codes_of_json_rpc_are_told_from_http_statuses(code: JSON, *, is_one: bool) -> None:
    assert is_code(code) is is_one


@given(
    said=json_objects,
    operation=st.sampled_from(OperationName),
    status=st.sampled_from([200, 400, 401, 404, 409, 415, 429, 500, 501]),
)
@pytest.mark.spec("WIRE-4")
def test_no_document_makes_the_reader_raise(
    said: Mapping[str, JSON], operation: OperationName, status: int
) -> None:
    read = from_document(said, operation=operation, status=status, headers={}, now=NOW, message="x")
    assert str(read.error)
