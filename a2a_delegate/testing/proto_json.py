"""The messages and tasks of A2A 0.3 in proto-JSON, which differs from its JSON-RPC in every part.

A message has `content`, not `parts`; roles and states are the words of enumerations, and one of
them is spelled with two L. What is empty is left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from a2a_delegate.testing.requests import (
    missing,
    take_list,
    take_metadata,
    take_object,
    take_text,
    take_texts,
    wrong,
)
from a2a_delegate.testing.work import DataPart, FilePart, Message, TextPart, WorkState

if TYPE_CHECKING:
    from collections.abc import Mapping

    from a2a_delegate.testing.face import Json
    from a2a_delegate.testing.work import Artifact, Part, View

STATES: Final[Mapping[WorkState, str]] = {
    **{state: f"TASK_STATE_{state.name}" for state in WorkState},
    WorkState.CANCELED: "TASK_STATE_CANCELLED",
}
ROLES: Final = ("ROLE_USER", "ROLE_AGENT")


def read_message(value: Json) -> Message:
    """Read a message, whose role has been looked at. Raises RefusedError."""
    message_id = take_text(value, "messageId", "message.message_id", required=True)
    content = take_list(value.get("content") or [], "message.parts")
    if not content:
        raise wrong("message.parts", "Field must contain at least one element.")
    return Message(
        message_id,
        tuple(_read_part(take_object(part, "message.parts")) for part in content),
        take_text(value, "contextId", "message.context_id") or None,
        take_text(value, "taskId", "message.task_id") or None,
        by_agent=value.get("role") == "ROLE_AGENT",
        metadata=take_metadata(value, "message.metadata"),
        extensions=take_texts(value, "extensions", "message.extensions"),
    )


def _read_part(value: Json) -> Part:
    metadata = take_metadata(value, "message.parts.metadata")
    match value:
        case {"text": str(text)}:
            return TextPart(text, metadata=metadata)
        case {"data": {"data": dict(data)}}:
            return DataPart(data, metadata=metadata)
        case {"file": dict(file)}:
            return _read_file(file, metadata)
        case _:
            raise wrong("message.parts", "A part holds one of text, file and data.")


def _read_file(file: Json, metadata: Json | None) -> FilePart:
    content = take_text(file, "fileWithBytes", "message.parts.file") or None
    url = take_text(file, "fileWithUri", "message.parts.file") or None
    if (content is None) == (url is None):
        raise missing("message.parts.file")
    return FilePart(
        base64=content,
        url=url,
        filename=take_text(file, "name", "message.parts.file.name"),
        media_type=take_text(file, "mimeType", "message.parts.file.mime_type"),
        metadata=metadata,
    )


def message_json(message: Message, *, spells_metadata: bool) -> Json:
    """Write a message. Where it `spells_metadata`, one of the user shows its empty metadata too."""
    value: Json = {"messageId": message.message_id, "contextId": message.context_id}
    if message.task_id is not None:
        value["taskId"] = message.task_id
    value["role"] = ROLES[message.by_agent]
    value["content"] = [_part(part) for part in message.parts]
    if message.metadata is not None or (spells_metadata and not message.by_agent):
        value["metadata"] = dict(message.metadata or {})
    if message.extensions:
        value["extensions"] = list(message.extensions)
    return value


def task_json(view: View, status: Json, history: list[Json]) -> Json:
    """Write a task, with its status and as much of its history as is to be shown."""
    task: Json = {"id": view.task_id, "contextId": view.context_id, "status": status}
    if view.artifacts:
        task["artifacts"] = [artifact_json(artifact) for artifact in view.artifacts]
    if history:
        task["history"] = history
    return task


def artifact_json(artifact: Artifact) -> Json:
    """Write an artifact."""
    parts = [_part(part) for part in artifact.parts]
    return {"artifactId": artifact.artifact_id, "name": artifact.name, "parts": parts}


def _part(part: Part) -> Json:
    value: Json
    match part:
        case TextPart(text=text):
            value = {"text": text}
        case DataPart(data=dict(data)):
            value = {"data": {"data": data}}
        case DataPart(data=data):  # only objects travel in 0.3; a2a-sdk wraps the others so
            value = {"data": {"data": {"value": data}}}
        case FilePart():
            value = {"file": _file(part)}
    if part.metadata is not None:
        value["metadata"] = dict(part.metadata)
    return value


def _file(part: FilePart) -> Json:
    file: Json = {}
    if part.url is not None:
        file["fileWithUri"] = part.url
    if part.base64 is not None:
        file["fileWithBytes"] = part.base64
    if part.media_type:
        file["mimeType"] = part.media_type
    if part.filename:
        file["name"] = part.filename
    return file
