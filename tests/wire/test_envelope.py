from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from a2a_delegate.errors import UsageError
from a2a_delegate.lifecycle.operations import (
    Fault,
    FaultKind,
    GetTask,
    OperationName,
    TaskReply,
    Unreadable,
)
from a2a_delegate.model.card import ProtocolVersion
from a2a_delegate.wire.dialect import DIALECTS, Words
from a2a_delegate.wire.envelope import read, request
from a2a_delegate.wire.result import EVIDENCE, WireResult, decoded
from tests.wire.json_values import json_objects, json_values

if TYPE_CHECKING:
    from collections.abc import Mapping

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
TASK = {"id": "t", "status": {"state": "working"}}
ERROR = {"code": -32001, "message": "Task not found"}


def answer(
    body: object, status: int = 200, headers: Mapping[str, str] | None = None
) -> WireResult | Fault | Unreadable:
    """Read a reply to the request `r1`; what is no bytes is sent as JSON."""
    return read(
        body if isinstance(body, bytes) else json.dumps(body).encode(),
        request_id="r1",
        operation=OperationName.SEND,
        status=status,
        headers=headers or {},
        now=NOW,
    )


def envelope(**members: object) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": "r1", **members}


def reason(reply: object) -> str:
    assert isinstance(reply, Unreadable)
    return reply.error.reason


def test_words_travel_in_an_envelope_with_the_requests_id() -> None:
    body = request("r1", Words("GetTask", {"id": "\ud800ü"}))
    assert json.loads(body) == {
        "jsonrpc": "2.0",
        "id": "r1",
        "method": "GetTask",
        "params": {"id": "\ud800ü"},
    }


@pytest.mark.spec("WIRE-2")
def test_what_json_cannot_carry_never_leaves() -> None:
    with pytest.raises(UsageError):
        request("r1", Words("SendMessage", {"metadata": {"a": float("nan")}}))


@pytest.mark.parametrize(
    "body",
    [
        envelope(result=TASK),
        envelope(result=TASK, error=None),
        {**envelope(result=TASK), "extra": 1},
        b"\xef\xbb\xbf" + json.dumps(envelope(result=TASK)).encode(),
        b"\r\n " + json.dumps(envelope(result=TASK)).encode() + b"\n",
    ],
)
@pytest.mark.parametrize("status", [200, 201, 202, 404, 500])
@pytest.mark.spec("BIND-11")
def test_a_result_under_our_id_is_one_whatever_the_status(body: object, status: int) -> None:
    reply = answer(body, status)
    assert isinstance(reply, WireResult)
    assert (reply.result, reply.status) == (TASK, status)


@pytest.mark.parametrize("result", [False, 0, "", [], {}])
@pytest.mark.spec("BIND-11")
def test_a_result_may_be_anything_but_null(result: object) -> None:
    reply = answer(envelope(result=result))
    assert isinstance(reply, WireResult)
    assert reply.result == result


@pytest.mark.parametrize(
    "headers", [{}, {"content-type": "text/plain"}, {"content-type": "text/event-stream"}]
)
@pytest.mark.spec("BIND-6")
def test_the_content_type_does_not_matter(headers: Mapping[str, str]) -> None:
    assert isinstance(answer(envelope(result=TASK), headers=headers), WireResult)
    assert isinstance(answer(envelope(error=ERROR), headers=headers), Fault)


@pytest.mark.parametrize(
    "body",
    [
        envelope(error=ERROR),
        envelope(error=ERROR, result=None),
        {"jsonrpc": "2.0", "id": None, "error": ERROR},
        {"jsonrpc": "2.0", "error": ERROR},
    ],
)
@pytest.mark.parametrize("status", [200, 400, 404, 429, 500])
@pytest.mark.spec("BIND-11")
def test_an_error_object_counts_under_our_id_or_none_whatever_the_status(
    body: object, status: int
) -> None:
    reply = answer(body, status)
    assert isinstance(reply, Fault)
    assert reply.kind is FaultKind.TASK_NOT_FOUND
    assert (reply.error.method, reply.error.status, reply.error.code) == ("send", status, -32001)


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (
            {"jsonrpc": "2.0", "id": "r2", "result": TASK},
            "a reply under another id than the request's",
        ),
        (
            {"jsonrpc": "2.0", "id": 1, "result": TASK},
            "a reply under another id than the request's",
        ),
        (
            {"jsonrpc": "2.0", "id": "r2", "error": ERROR},
            "a reply under another id than the request's",
        ),
        (
            {"jsonrpc": "2.0", "id": ["r1"], "error": ERROR},
            "a reply under another id than the request's",
        ),
        ({"jsonrpc": "2.0", "id": None, "result": TASK}, "a result without the request's id"),
        ({"jsonrpc": "2.0", "result": TASK}, "a result without the request's id"),
        (
            {"jsonrpc": "2.0", "result": TASK, "error": ERROR},
            "a result without the request's id",
        ),
    ],
)
@pytest.mark.parametrize("status", [200, 401, 404, 405, 500])
@pytest.mark.spec("BIND-11")
def test_what_is_not_ours_is_refused_without_a_look_inside(
    body: object, why: str, status: int
) -> None:
    reply = answer(body, status, {"www-authenticate": "Bearer"})
    assert reason(reply) == why
    assert isinstance(reply, Unreadable)
    assert reply.task_id is None
    assert reply.error.status == status


@pytest.mark.parametrize("error", [ERROR, "boom", 7])
@pytest.mark.spec("BIND-11", "WIRE-5")
def test_a_result_and_an_error_together_are_neither(error: object) -> None:
    reply = answer(envelope(result={"task": TASK}, error=error), 400)
    assert reason(reply) == "both a result and an error"
    assert isinstance(reply, Unreadable)
    assert reply.task_id == "t"


NO_ENVELOPES = [
    (b"", "an empty body", ""),
    (b"<html><body>404</body></html>", "not JSON at character 0", ""),
    (b"Internal Server Error", "not JSON at character 0", "Internal Server Error"),
    (b'{"jsonrpc":"2.0","id":"r1","result":{"id":', "not JSON at character 42", None),
    (b"\xff\xfe", "not UTF-8 at byte 0", None),
    (b"[" * 101, "JSON that nests deeper than 100 levels", None),
    (None, "null, not a JSON-RPC envelope", ""),
    (7, "a number, not a JSON-RPC envelope", ""),
    ("not found", "a string, not a JSON-RPC envelope", "not found"),
    ([envelope(result=TASK)], "an array, not a JSON-RPC envelope", ""),
    ({}, 'an object without "jsonrpc": "2.0"', ""),
    ({"id": "r1", "result": TASK}, 'an object without "jsonrpc": "2.0"', ""),
    ({"id": "r1", "jsonrpc": "1.0", "result": TASK}, 'an object without "jsonrpc": "2.0"', ""),
    ({"id": "r1", "jsonrpc": 2.0, "result": TASK}, 'an object without "jsonrpc": "2.0"', ""),
    (
        {"code": -32009, "message": "Unsupported A2A version"},
        'an object without "jsonrpc": "2.0"',
        "Unsupported A2A version",
    ),
    ({"detail": "Not Found"}, 'an object without "jsonrpc": "2.0"', "Not Found"),
    ({"title": "Bad", "status": 400}, 'an object without "jsonrpc": "2.0"', "Bad"),
    ({"error": "denied"}, 'an object without "jsonrpc": "2.0"', "denied"),
    ({"error": {"message": "no"}}, 'an object without "jsonrpc": "2.0"', "no"),
    (
        {"error": {"code": 404}, "message": "no"},
        'an object without "jsonrpc": "2.0"',
        "",
    ),
    (envelope(), "an envelope with neither a result nor an error", ""),
    (envelope(result=None), "an envelope with neither a result nor an error", ""),
    (envelope(error=None), "an envelope with neither a result nor an error", ""),
    (envelope(error="boom"), "an envelope with a string as error", "boom"),
    (envelope(error=[ERROR], result=None), "an envelope with an array as error", ""),
    ({"jsonrpc": "2.0", "error": 7}, "an envelope with a number as error", ""),
]


@pytest.mark.parametrize(("body", "why", "said"), NO_ENVELOPES)
@pytest.mark.parametrize("status", [200, 202, 204])
@pytest.mark.spec("BIND-11", "WIRE-3")
def test_success_without_an_envelope_is_unreadable(
    body: object, why: str, said: str, status: int
) -> None:
    del said
    reply = answer(body, status)
    assert reason(reply) == why
    assert isinstance(reply, Unreadable)
    assert (reply.error.method, reply.error.status) == ("send", status)


@pytest.mark.parametrize(("body", "why", "said"), NO_ENVELOPES)
@pytest.mark.spec("BIND-11", "WIRE-3", "ERR-4")
def test_failure_without_an_envelope_is_its_http_status(
    body: object, why: str, said: str | None
) -> None:
    del why
    reply = answer(body, 404)
    assert isinstance(reply, Fault)
    assert reply.kind is FaultKind.NO_ENDPOINT
    assert (reply.error.status, reply.error.code, reply.error.reason) == (404, None, None)
    assert said is None or reply.error.message == said


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308, 400, 500])
@pytest.mark.spec("WIRE-3")
def test_a_redirection_is_an_answer_of_its_own(status: int) -> None:
    assert isinstance(answer(b"", status), Fault)


@pytest.mark.spec("WIRE-12")
def test_what_the_headers_ask_for_is_kept() -> None:
    for body in (b"", envelope(error={"code": -32000})):
        reply = answer(body, 503, {"retry-after": "7"})
        assert isinstance(reply, Fault)
        assert reply.error.retry_after == 7


@pytest.mark.spec("WIRE-3")
def test_evidence_is_bounded() -> None:
    huge = b"x" * (EVIDENCE + 10)
    reply = answer(huge)
    assert isinstance(reply, Unreadable)
    assert reply.evidence == huge[:EVIDENCE]
    long = answer(envelope(result={"a": "x" * EVIDENCE}))
    assert isinstance(long, WireResult)
    assert len(long.evidence) == EVIDENCE


def test_the_text_of_a_huge_error_page_is_cut_for_the_sentence() -> None:
    reply = answer(b"x" * 10_000_000, 502)
    assert isinstance(reply, Fault)
    assert len(reply.error.message) == 500


@pytest.mark.spec("WIRE-3", "WIRE-5")
def test_a_result_that_is_not_understood_keeps_bytes_status_and_task() -> None:
    get = GetTask("t")
    dialect = DIALECTS[ProtocolVersion.V1_0]
    rpc = answer(envelope(result={"id": "t", "status": {}}), 201)
    assert isinstance(rpc, WireResult)
    reply = decoded(dialect, get, rpc)
    assert isinstance(reply, Unreadable)
    assert (reply.error.method, reply.error.status, reply.task_id) == ("get", 201, "t")
    assert reply.error.reason == "the task's state is null"
    assert json.loads(reply.evidence) == envelope(result={"id": "t", "status": {}})


def test_a_result_that_is_understood_is_the_dialects() -> None:
    rpc = answer(envelope(result=TASK))
    assert isinstance(rpc, WireResult)
    assert isinstance(decoded(DIALECTS[ProtocolVersion.V0_3], GetTask("t"), rpc), TaskReply)


statuses = st.sampled_from([200, 204, 301, 307, 400, 401, 404, 429, 500, 599])
headers = st.dictionaries(st.sampled_from(["retry-after", "www-authenticate"]), st.text())


@given(st.binary(max_size=80), statuses, headers)
@pytest.mark.spec("WIRE-4")
def test_no_bytes_make_the_reader_raise(
    body: bytes, status: int, headers: Mapping[str, str]
) -> None:
    assert isinstance(answer(body, status, headers), (Fault, Unreadable))


@given(json_values | json_objects, st.sampled_from(["r1", None, 1]), statuses, headers)
@pytest.mark.spec("WIRE-4")
def test_no_json_makes_the_reader_raise(
    inner: object, reply_id: object, status: int, headers: Mapping[str, str]
) -> None:
    for body in (
        inner,
        {"jsonrpc": "2.0", "id": reply_id, "result": inner},
        {"jsonrpc": "2.0", "id": reply_id, "error": inner},
        {"jsonrpc": "2.0", "id": reply_id, "error": {"code": inner, "data": inner}},
    ):
        reply = answer(body, status, headers)
        assert isinstance(reply, (WireResult, Fault, Unreadable))
        assert not isinstance(reply, WireResult) or reply_id == "r1"
        if isinstance(reply, Unreadable):
            assert str(reply.error)


@pytest.mark.spec("WIRE-6")
def test_a_reply_that_its_own_length_cut_short_still_tells_the_tasks_id() -> None:
    whole = json.dumps(envelope(result={"task": {**TASK, "metadata": {"é": "ü"}}})).encode()
    for cut in (whole[:-2], whole[: whole.index(b'"status"')]):
        unread = answer(cut)
        assert isinstance(unread, Unreadable)
        assert unread.task_id == "t"


@pytest.mark.spec("BIND-11", "WIRE-6")
def test_a_cut_reply_to_another_request_tells_no_id() -> None:
    foreign = json.dumps({"jsonrpc": "2.0", "result": {"task": TASK}, "id": "r2"}).encode()
    unread = answer(foreign[:-1])
    assert isinstance(unread, Unreadable)
    assert unread.task_id is None


def test_only_of_a_send_the_id_matters() -> None:
    cut = json.dumps(envelope(result=TASK)).encode()[:-1]
    unread = read(
        cut, request_id="r1", operation=OperationName.GET, status=200, headers={}, now=NOW
    )
    assert isinstance(unread, Unreadable)
    assert unread.task_id is None
