"""Outcomes and errors as JSON: the one object that `--json` prints (design section 8)."""

from __future__ import annotations

import base64
import json
import sys
from typing import TYPE_CHECKING, assert_never

from a2a_delegate.errors import DelegateError
from a2a_delegate.model.part import DataPart, FilePart, TextPart, UnknownPart
from a2a_delegate.outcome import (
    AuthRequired,
    Cancelled,
    Completed,
    Failed,
    InputRequired,
    Rejected,
    Running,
    TimedOut,
    Unknown,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from a2a_delegate.model.artifact import Artifact
    from a2a_delegate.model.json_value import JSON
    from a2a_delegate.model.message import Message
    from a2a_delegate.model.part import Part
    from a2a_delegate.outcome import Attempt, DelegateResult

_EVIDENCE = 4096
"""Bytes of the evidence that are shown."""

_INDENT = 2


def spell(value: JSON) -> str:
    """Spell one object in ASCII, on a line of its own, or indented where a person reads it.

    ASCII, so that whatever a peer wrote is inert: controls, bidi marks and lone surrogates are
    escapes.
    """
    indent = _INDENT if sys.stdout is not None and sys.stdout.isatty() else None
    # JSON lets DEL stand as it is; some terminals act on it.
    return json.dumps(value, indent=indent).replace("\x7f", "\\u007f")


def hidden(value: JSON, hide: Callable[[str], str]) -> JSON:
    """Return the value with `hide` gone over every text in it."""
    match value:
        case str():
            return hide(value)
        case list():
            return [hidden(one, hide) for one in value]
        case dict():
            return {name: hidden(one, hide) for name, one in value.items()}
        case _:
            return value


def outcome_object(
    result: DelegateResult, *, hide: Callable[[str], str], files: Sequence[Path] = ()
) -> dict[str, JSON]:
    """Return an outcome as a JSON object. `hide` goes over what is told, never over the answer.

    `files` are those that were written.
    """
    handle = result.handle
    completed = result if isinstance(result, Completed) else None
    return {
        "status": result.status,
        "effect": str(result.effect),
        "output": None if completed is None else completed.output,
        "data": [] if completed is None else list(completed.data),
        "artifacts": [_artifact(one) for one in result.artifacts],
        "files": [str(path) for path in files],
        "task_id": None if handle is None else handle.task_id,
        "context_id": None if handle is None else handle.context_id,
        "handle": None if handle is None else json.loads(handle.to_json()),
        "receipt": str(result.receipt) if isinstance(result, Cancelled | TimedOut) else None,
        "error": hidden(_error_of(result), hide),
        "attempts": [_attempt(one) for one in result.attempts],
    }


def error_object(
    error: DelegateError, *, further: Mapping[str, JSON] | None = None
) -> dict[str, JSON]:
    """Return an error as an object: its type, its sentence, and its facts by name."""
    facts = {name: _fact(value) for name, value in vars(error).items() if not _is_apart(name)}
    return {
        "type": type(error).__name__,
        "message": str(error),
        "facts": {**facts, **(further or {})},
    }


def _is_apart(name: str) -> bool:
    # The outcome that an error was raised for is this very object.
    return name == "result" or name.startswith("_")


def _fact(value: object) -> JSON:
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, tuple | list):
        return [_fact(one) for one in value]
    return str(value)


def _error_of(result: DelegateResult) -> JSON:
    """Return the error behind an outcome: the one that `raise_for_status` raises, or its cause."""
    match result:
        case Completed():
            return None
        case Failed(error=error) | Rejected(error=error):
            return error_object(error)
        case Unknown(cause=cause, evidence=evidence):
            came = evidence[:_EVIDENCE].decode(errors="backslashreplace")
            return error_object(cause, further={"evidence": came})
        case InputRequired(question=question) | AuthRequired(question=question):
            further: Mapping[str, JSON] = {"question": _message(question)}
        case Cancelled(by=by, reason=reason):
            further = {"by": by, "reason": reason if isinstance(reason, str) else None}
        case TimedOut(last_state=state) | Running(last_state=state):
            further = {"last_state": state}
        case _:
            assert_never(result)
    try:
        result.raise_for_status()
    except DelegateError as error:
        return error_object(error, further=further)
    raise AssertionError(f"{result.status} raises nothing")  # pragma: no cover - see the union


def _artifact(artifact: Artifact) -> dict[str, JSON]:
    return {
        "artifact_id": artifact.artifact_id,
        "name": artifact.name,
        "description": artifact.description,
        "parts": [_part(one) for one in artifact.parts],
    }


def _message(message: Message) -> dict[str, JSON]:
    return {
        "message_id": message.message_id,
        "text": message.text,
        "parts": [_part(one) for one in message.parts],
    }


def _part(part: Part) -> dict[str, JSON]:
    """Return a part in the words of A2A 1.0: `text`, `data`, `raw` (base64) or `url` says which."""
    match part:
        case TextPart(text=text):
            content: dict[str, JSON] = {"text": text}
        case DataPart(data=data):
            content = {"data": data}
        case FilePart(content=bytes() as raw):
            content = {"raw": base64.b64encode(raw).decode("ascii")}
        case FilePart(url=url):
            content = {"url": url}
        case UnknownPart(raw=value):
            return {"unknown": value}
        case _:
            assert_never(part)
    named: Mapping[str, JSON] = {"filename": part.filename, "media_type": part.media_type}
    return {**content, **{name: value for name, value in named.items() if value is not None}}


def _attempt(attempt: Attempt) -> dict[str, JSON]:
    return {
        "number": attempt.number,
        "operation": attempt.operation,
        "started_at": attempt.started_at.isoformat(),
        "seconds": round(attempt.seconds, 6),
        "http_status": attempt.http_status,
        "outcome": str(attempt.outcome),
        "body_left": attempt.body_left,
        "version": attempt.version,
    }
