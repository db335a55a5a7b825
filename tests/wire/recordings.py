"""What real servers really sent, and a reading of it that shares nothing with the code under test.

`tests/data/captures` holds the recordings of servers of eighteen kinds. What is `plain` here looks
at the recorded JSON alone; what is `observed` makes the same plain values of what was read.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from a2a_delegate.model.message import Message, Role
from a2a_delegate.model.part import DataPart, FilePart, Part, TextPart

if TYPE_CHECKING:
    from a2a_delegate.model.artifact import Artifact
    from a2a_delegate.model.task import Task, TaskStatus

CAPTURES = Path(__file__).parents[1] / "data" / "captures"


def exchanges(path: Path) -> list[dict[str, Any]]:
    """Return what was asked and answered in one recorded scenario, in order."""
    scenario = json.loads(path.read_text(encoding="utf-8"))
    return scenario if isinstance(scenario, list) else scenario.get("exchanges", [])


def sent(request: dict[str, Any]) -> dict[str, Any]:
    """Return the envelope of a recorded request; the recordings hold it in three ways."""
    body = request.get("body", request)
    try:
        envelope = json.loads(body) if isinstance(body, str) else body
    except ValueError:
        return {}
    return envelope if isinstance(envelope, dict) else {}


# Recorded JSON to plain values.


def plain_task(task: dict[str, Any]) -> object:
    return (
        "task",
        task["id"],
        task.get("contextId"),
        plain_status(task["status"]),
        [plain_artifact(made) for made in task.get("artifacts") or []],
        [plain_message(message) for message in task.get("history") or []],
        task.get("metadata"),
    )


def plain_status(status: dict[str, Any]) -> object:
    state = status["state"].replace("TASK_STATE_", "").replace("_", "-").lower()
    message = status.get("message")
    return (state, plain_message(message) if message else None, "timestamp" in status)


def plain_artifact(made: dict[str, Any]) -> object:
    return (made["artifactId"], made.get("name") or None, plain_parts(made.get("parts")))


def plain_message(message: dict[str, Any]) -> object:
    user = message.get("role") in ("user", "ROLE_USER")
    ids = (message["messageId"], message.get("contextId") or None, message.get("taskId") or None)
    return ("message", *ids, user, plain_parts(message.get("parts")))


def plain_parts(parts: list[dict[str, Any]] | None) -> object:
    return [
        ("text", part["text"])
        if isinstance(part.get("text"), str)
        else ("data", part["data"])
        if "data" in part
        else plain_file(part)
        for part in parts or []
    ]


def plain_file(part: dict[str, Any]) -> object:
    file = part.get("file", part)
    content, url = file.get("raw") or file.get("bytes"), file.get("url") or file.get("uri")
    name, kind = file.get("filename") or file.get("name"), file.get("mediaType")
    return ("file", content, url, name, kind or file.get("mimeType"))


# The same plain values, from what was read.


def observed_task(task: Task) -> object:
    return (
        "task",
        task.id,
        task.context_id,
        observed_status(task.status),
        [observed_artifact(made) for made in task.artifacts],
        [observed_message(message) for message in task.history],
        task.metadata,
    )


def observed_status(status: TaskStatus) -> object:
    message = status.message
    said = observed_message(message) if message else None
    return (status.state.value, said, status.timestamp is not None)


def observed_artifact(made: Artifact) -> object:
    return (made.artifact_id, made.name, observed_parts(made))


def observed_message(message: Message) -> object:
    ids = (message.message_id, message.context_id, message.task_id)
    return ("message", *ids, message.role is Role.USER, observed_parts(message))


def observed_parts(holder: Message | Artifact) -> object:
    return [observed_part(part) for part in holder.parts]


def observed_part(part: Part) -> object:
    match part:
        case TextPart(text=text):
            return ("text", text)
        case DataPart(data=data):
            return ("data", data)
        case FilePart(content=content, url=url, filename=name, media_type=kind):
            packed = None if content is None else base64.b64encode(content).decode()
            return ("file", packed, url, name, kind)
        case _:
            pytest.fail(f"a part that was not understood: {part}")
