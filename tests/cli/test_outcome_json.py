"""Outcomes of every kind as the one JSON object."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from a2a_delegate.cli.outcome_json import error_object, outcome_object, spell
from a2a_delegate.errors import (
    A2AProtocolMismatchError,
    A2ARequestError,
    CardProblem,
    InvalidAgentCardError,
    LostReplyError,
    TaskFailedError,
)
from a2a_delegate.model.artifact import Artifact
from a2a_delegate.model.message import Message, Role
from a2a_delegate.model.part import DataPart, FilePart, TextPart, UnknownPart
from a2a_delegate.outcome import (
    Attempt,
    AttemptOutcome,
    AuthRequired,
    Cancelled,
    CancelReceipt,
    Completed,
    DelegateResult,
    DelegationHandle,
    Effect,
    Failed,
    InputRequired,
    Rejected,
    Running,
    TimedOut,
    Unknown,
)

pytestmark = pytest.mark.spec("CLI-7")

WHEN = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
QUESTION = Message("m", Role.AGENT, (TextPart("which?"), DataPart({"a": 1})))
LOST = LostReplyError(method="send", phase="read")
HANDLE = DelegationHandle(
    delegate_id="d",
    endpoint="https://a.example/rpc",
    version="1.0",
    binding="JSONRPC",
    message_id="m-1",
    body_digest="0" * 64,
    sent_at=WHEN,
    context_id="c-1",
    task_id="t-1",
)


def told_of(result: DelegateResult, *files: Path) -> dict[str, object]:
    """Return the object as a reader of the output gets it."""
    value = json.loads(spell(outcome_object(result, hide=str, files=files)))
    assert isinstance(value, dict)
    return value


def test_a_completed_one_has_its_answer_its_ids_and_its_evidence() -> None:
    result = Completed(
        delegate_id="d",
        effect=Effect.RAN,
        handle=HANDLE,
        output="text",
        data=({"a": 1}, None),
        artifacts=(
            Artifact(
                "a-1",
                (
                    TextPart("t", media_type="text/plain"),
                    DataPart([1]),
                    FilePart(b"\x00\xff", filename="f"),
                    FilePart(url="https://x.example/y"),
                    UnknownPart({"odd": True}),
                ),
                name="made",
            ),
        ),
        attempts=(
            Attempt(1, "send", WHEN, 0.25, 200, AttemptOutcome.ANSWERED, True, "1.0"),  # noqa: FBT003
        ),
    )
    assert told_of(result, Path("in/f"), Path("in/odd \ud800")) == {
        "status": "completed",
        "effect": "ran",
        "output": "text",
        "data": [{"a": 1}, None],
        "artifacts": [
            {
                "artifact_id": "a-1",
                "name": "made",
                "description": None,
                "parts": [
                    {"text": "t", "media_type": "text/plain"},
                    {"data": [1]},
                    {"raw": "AP8=", "filename": "f"},
                    {"url": "https://x.example/y"},
                    {"unknown": {"odd": True}},
                ],
            }
        ],
        "files": ["in/f", "in/odd \ud800"],
        "task_id": "t-1",
        "context_id": "c-1",
        "handle": json.loads(HANDLE.to_json()),
        "receipt": None,
        "error": None,
        "attempts": [
            {
                "number": 1,
                "operation": "send",
                "started_at": "2026-01-02T03:04:05+00:00",
                "seconds": 0.25,
                "http_status": 200,
                "outcome": "answered",
                "body_left": True,
                "version": "1.0",
            }
        ],
    }


FAILURE = TaskFailedError(task_id="t", state="failed", text="broke")


@pytest.mark.parametrize(
    ("result", "kind", "facts"),
    [
        (
            Failed(delegate_id="d", effect=Effect.RAN, error=FAILURE),
            "TaskFailedError",
            {"task_id": "t", "state": "failed", "text": "broke"},
        ),
        (
            Rejected(delegate_id="d", effect=Effect.NOT_STARTED, error=FAILURE),
            "TaskFailedError",
            {"task_id": "t", "state": "failed", "text": "broke"},
        ),
        (
            Cancelled(delegate_id="d", effect=Effect.RAN, by="caller", reason="SIGINT"),
            "DelegationCancelledError",
            {"by": "caller", "reason": "SIGINT"},
        ),
        (
            Cancelled(delegate_id="d", effect=Effect.RAN, by="peer", reason=object()),
            "DelegationCancelledError",
            {"by": "peer", "reason": None},
        ),
        (
            TimedOut(
                delegate_id="d",
                effect=Effect.RAN,
                last_state="working",
                receipt=CancelReceipt.REFUSED,
            ),
            "DelegationTimeoutError",
            {"last_state": "working"},
        ),
        (
            Running(delegate_id="d", effect=Effect.RAN, last_state="working"),
            "DelegationPausedError",
            {"last_state": "working"},
        ),
        (
            Unknown(delegate_id="d", effect=Effect.MAY_HAVE_RUN, cause=LOST, evidence=b"HTTP\xff"),
            "LostReplyError",
            {"method": "send", "phase": "read", "reason": "", "evidence": "HTTP\\xff"},
        ),
    ],
    ids=lambda value: getattr(value, "status", None),
)
def test_what_is_no_answer_has_an_error_with_its_facts(
    result: DelegateResult, kind: str, facts: dict[str, object]
) -> None:
    error = told_of(result)["error"]
    assert isinstance(error, dict)
    assert (error["type"], error["facts"]) == (kind, facts)
    assert error["message"]


@pytest.mark.parametrize("kind", [InputRequired, AuthRequired])
def test_the_question_stands_among_the_facts(
    kind: type[InputRequired | AuthRequired],
) -> None:
    told = told_of(kind(delegate_id="d", effect=Effect.RAN, question=QUESTION))
    assert told["error"] == {
        "type": "DelegationPausedError",
        "message": str(kind(delegate_id="d", effect=Effect.RAN, question=QUESTION)),
        "facts": {
            "question": {
                "message_id": "m",
                "text": "which?",
                "parts": [{"text": "which?"}, {"data": {"a": 1}}],
            }
        },
    }


def test_the_receipt_is_the_word_of_the_library() -> None:
    stopped = Cancelled(
        delegate_id="d", effect=Effect.RAN, by="caller", receipt=CancelReceipt.CONFIRMED
    )
    assert told_of(stopped)["receipt"] == "confirmed"


def test_evidence_is_bounded() -> None:
    long = Unknown(delegate_id="d", effect=Effect.MAY_HAVE_RUN, cause=LOST, evidence=b"x" * 100_000)
    error = told_of(long)["error"]
    assert isinstance(error, dict)
    assert len(error["facts"]["evidence"]) == 4096


def test_facts_of_errors_keep_their_types() -> None:
    request = A2ARequestError(method="send", status=429, code=-32000, retry_after=1.5)
    assert error_object(request)["facts"] == {
        "method": "send",
        "status": 429,
        "code": -32000,
        "reason": None,
        "message": "",
        "retry_after": 1.5,
        "task_id": None,
    }
    card = InvalidAgentCardError(url="https://a.example", reason="no", problem=CardProblem.BAD_URL)
    versions = A2AProtocolMismatchError(url="https://a.example", theirs=("2.0",), ours=("1.0",))
    assert json.loads(spell(error_object(card)))["facts"]["problem"] == "bad-url"
    assert error_object(versions)["facts"] == {
        "url": "https://a.example",
        "theirs": ["2.0"],
        "ours": ["1.0"],
    }
