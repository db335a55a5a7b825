"""The outcome, matched, kept and saved; type-checked and never run."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Literal, assert_never, assert_type

import pydantic

from a2a_delegate import (
    JSON,
    Artifact,
    Attempt,
    AttemptOutcome,
    AuthRequired,
    Cancelled,
    CancelReceipt,
    Completed,
    Delegate,
    DelegateError,
    DelegateResult,
    DelegationHandle,
    Effect,
    Failed,
    FilePart,
    InputRequired,
    Message,
    Rejected,
    Running,
    TimedOut,
    Unknown,
)


def told(result: DelegateResult) -> str:  # noqa: PLR0911 - one case for each outcome
    match result:
        case Completed(output=text, data=data):
            assert_type(text, str | None)
            assert_type(data, tuple[JSON, ...])
            return text or repr(data)
        case Failed(error=error) | Rejected(error=error):
            assert_type(error, DelegateError)
            return str(error)
        case Cancelled(by=by, reason=reason, receipt=receipt):
            assert_type(by, Literal["caller", "sibling", "peer"])
            assert_type(reason, object)
            assert_type(receipt, CancelReceipt)
            return by
        case TimedOut(last_state=state, receipt=receipt):
            assert_type(receipt, CancelReceipt)
            return state
        case InputRequired(question=question) | AuthRequired(question=question):
            assert_type(question, Message)
            return question.text
        case Running(last_state=state):
            return state
        case Unknown(cause=cause, evidence=evidence, handle=handle):
            assert_type(cause, DelegateError)
            assert_type(evidence, bytes)
            assert_type(handle, DelegationHandle | None)
            return str(cause)
        case _:
            assert_never(result)


def told_by_status(result: DelegateResult) -> str:
    if result.status == "completed":
        assert_type(result, Completed)
        return result.output or ""
    if result.status == "unknown":
        assert_type(result, Unknown)
        return str(result.cause)
    return result.status


def not_every_case(result: DelegateResult) -> None:
    match result:
        case Completed() | Failed() | Rejected() | Cancelled() | TimedOut():
            pass
        case _:
            assert_never(result)  # type: ignore[arg-type]


def in_common(result: DelegateResult) -> None:
    assert_type(result.delegate_id, str)
    assert_type(result.effect, Effect)
    assert_type(result.handle, DelegationHandle | None)
    assert_type(result.attempts, tuple[Attempt, ...])
    assert_type(result.artifacts, tuple[Artifact, ...])
    assert_type(result.message, Message | None)
    assert_type(result.late, bool)
    assert_type(result.safe_to_retry, bool)
    assert_type(result.explain(), str)
    assert_type(result.raise_for_status(), Completed)
    assert_type(result.files, tuple[FilePart, ...])
    assert_type(result.save("here"), tuple[Path, ...])
    assert_type(result.save(Path("here")), tuple[Path, ...])
    for attempt in result.attempts:
        assert_type(attempt.outcome, AttemptOutcome)
        assert_type(attempt.started_at, datetime)
        assert_type(attempt.http_status, int | None)


class City(pydantic.BaseModel):
    """What an answer should hold."""

    name: str


def parsed(completed: Completed) -> None:
    assert_type(completed.parse(City), City)
    assert_type(completed.parse(list[City]), list[City])
    assert_type(completed.parse(int), int)


async def kept_for_later(result: DelegateResult, delegate: Delegate) -> None:
    if result.handle is not None:
        text = result.handle.to_json()
        assert_type(text, str)
        handle = DelegationHandle.from_json(text)
        assert_type(handle.task_id, str | None)
        assert_type(handle.sent_at, datetime)
        assert_type(await delegate.resume(handle, wait=False), DelegateResult)
        assert_type(await delegate.cancel(handle, "no longer needed"), CancelReceipt)
