"""What every version writes alike, so that each dialect holds only what is its own."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

from a2a_delegate.errors import UsageError
from a2a_delegate.model.message import Role
from a2a_delegate.wire.reading_parts import WRAPPED_DATA

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from a2a_delegate.lifecycle.operations import SendMessage
    from a2a_delegate.model.json_value import JSON
    from a2a_delegate.model.message import Message
    from a2a_delegate.model.part import UnknownPart

PROTO_ROLES = {Role.USER: "ROLE_USER", Role.AGENT: "ROLE_AGENT"}
"""The roles in ProtoJSON."""


EXTENSIONS = "X-A2A-Extensions"
"""The header that names extensions before 1.0 (topics/extensions.md of 0.2.2 and later)."""


def named_extensions(header: str, extensions: Sequence[str]) -> dict[str, str]:
    """Return the header that names the extensions in use, none for none (BIND-3)."""
    return {header: ", ".join(extensions)} if extensions else {}


def send_params(
    operation: SendMessage, *, message: dict[str, JSON], configuration: dict[str, JSON]
) -> dict[str, JSON]:
    """Put the parameters of a send together: its metadata is the request's, not the message's."""
    params: dict[str, JSON] = {"message": message, "configuration": configuration}
    if operation.metadata:
        params["metadata"] = dict(operation.metadata)
    return params


def message_members(message: Message) -> dict[str, JSON]:
    """Write the optional members of a message; one that says nothing is left out."""
    written: dict[str, JSON] = {}
    if message.context_id:
        written["contextId"] = message.context_id
    if message.task_id:
        written["taskId"] = message.task_id
    if message.reference_task_ids:
        written["referenceTaskIds"] = list(message.reference_task_ids)
    if message.extensions:
        written["extensions"] = list(message.extensions)
    if message.metadata:
        written["metadata"] = dict(message.metadata)
    return written


def packed(content: bytes) -> str:
    """Return the base64 of bytes, in the standard alphabet and padded."""
    return base64.b64encode(content).decode()


def wrapped_data(data: JSON, metadata: Mapping[str, JSON] | None) -> tuple[JSON, dict[str, JSON]]:
    """Return the data of a part, and its metadata, where only objects are data (0.2, 0.3).

    Any other value is put as the SDKs do it: into `value`, and marked.
    """
    marked = dict(metadata or {})
    if isinstance(data, dict):
        return data, marked
    return {"value": data}, marked | {WRAPPED_DATA: True}


def cannot_send(part: UnknownPart) -> UsageError:
    """Say that a part is not ours to send: what nobody understood must not be passed on."""
    return UsageError(f"a part that was not understood cannot be sent on: {part.raw!r:.200}")
