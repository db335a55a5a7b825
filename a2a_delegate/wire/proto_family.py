"""A2A 0.3 and 0.2 in ProtoJSON, as servers speak it over HTTP+JSON: the words of their a2a.proto.

The proto came with 0.2.2, and 0.3 changed nothing of it that is said here.

They are not those of its JSON-RPC: messages have `content`, files and data lie one level deeper,
and states and roles are words of enums. Servers parse strictly, so a member too many is refused.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar, assert_never

from a2a_delegate.errors import UsageError
from a2a_delegate.lifecycle.operations import (
    CancelTask,
    GetTask,
    ListTasks,
    SendMessage,
    SubscribeToTask,
)
from a2a_delegate.model.card import ProtocolVersion
from a2a_delegate.model.frozen import dataclass
from a2a_delegate.model.part import DataPart, FilePart, TextPart, UnknownPart
from a2a_delegate.wire import replies
from a2a_delegate.wire.events import read_event
from a2a_delegate.wire.words import Words
from a2a_delegate.wire.writing import (
    EXTENSIONS,
    PROTO_ROLES,
    cannot_send,
    message_members,
    named_extensions,
    packed,
    send_params,
    wrapped_data,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from a2a_delegate.lifecycle.operations import (
        MessageReply,
        Operation,
        StreamEvent,
        TaskPage,
        TaskReply,
        Unreadable,
    )
    from a2a_delegate.model.json_value import JSON
    from a2a_delegate.model.message import Message
    from a2a_delegate.model.part import Part
    from a2a_delegate.wire.reading import Unclear

_ROOT = "v1"

_PARTS = frozenset({"content", "parts"})
_HOLDERS = frozenset(
    {
        *("task", "message", "history", "artifacts", "artifact", "status", "update"),
        *("statusUpdate", "status_update", "artifactUpdate", "artifact_update"),
    }
)
"""Members below which parts may stand."""

_TOUCHED = _PARTS | _HOLDERS
_LEVELS = 5
"""How deep they may stand: in a message, in the history, in a task, in its wrapper."""


@dataclass(frozen=True, slots=True)
class ProtoDialect:
    """One version of the family in ProtoJSON; `version_headers` go with every request."""

    version: ProtocolVersion
    version_headers: Mapping[str, str]
    lists_tasks: ClassVar[bool] = False

    def headers(self, extensions: Sequence[str] = ()) -> Mapping[str, str]:
        """Name the version, by which servers of two choose (BIND-2), and the extensions in use."""
        return {**self.version_headers, **named_extensions(EXTENSIONS, extensions)}

    def encode(self, operation: Operation, *, tenant: str | None) -> Words:
        """Spell an operation; the family knows no tenants, so `tenant` is left out.

        Raises UsageError for ListTasks: the documents have a path for it, the proto has no method,
        and no server answers it.
        """
        del tenant
        match operation:
            case SendMessage(streamed=streamed):
                method = "SendStreamingMessage" if streamed else "SendMessage"
                return Words(method, _send(operation), _ROOT)
            case GetTask(task_id=task_id):
                return Words("GetTask", {"id": task_id}, _ROOT)
            case CancelTask(task_id=task_id):
                return Words("CancelTask", {"id": task_id}, _ROOT)
            case SubscribeToTask(task_id=task_id):
                return Words("TaskSubscription", {"id": task_id}, _ROOT)
            case ListTasks():
                raise UsageError(f"A2A {self.version} in ProtoJSON has no method that lists tasks")
            case _:
                assert_never(operation)

    def decode(
        self, operation: Operation, result: object
    ) -> TaskReply | MessageReply | TaskPage | Unreadable:
        """Read a result; never raises."""
        return replies.decode(operation, _plain(result))

    def decode_event(self, value: object, *, ours: Message | None = None) -> StreamEvent | Unclear:
        """Read an event of a stream, `ours` being the message that it answers; never raises."""
        return read_event(_plain(value), ours=ours)


V0_2 = ProtoDialect(ProtocolVersion.V0_2, MappingProxyType({}))
V0_3 = ProtoDialect(ProtocolVersion.V0_3, MappingProxyType({"A2A-Version": "0.3"}))


def _send(operation: SendMessage) -> dict[str, JSON]:
    # The default is not to block here, and to block over JSON-RPC: so it is spelled out (METH-4).
    configuration: dict[str, JSON] = {"blocking": False}
    if operation.accepted_output_modes:
        configuration["acceptedOutputModes"] = list(operation.accepted_output_modes)
    return send_params(operation, message=_message(operation.message), configuration=configuration)


def _message(message: Message) -> dict[str, JSON]:
    if message.reference_task_ids:
        raise UsageError("A2A 0.3 in ProtoJSON has no word for the tasks that a message refers to")
    written: dict[str, JSON] = {
        "messageId": message.message_id,
        "role": PROTO_ROLES[message.role],
        "content": [_part(part) for part in message.parts],
    }
    return written | message_members(message)


def _part(part: Part) -> dict[str, JSON]:
    if isinstance(part, UnknownPart):
        raise cannot_send(part)
    metadata = part.metadata
    written: dict[str, JSON]
    match part:
        case TextPart(text=text):
            written = {"text": text}
        case DataPart(data=data):
            data, metadata = wrapped_data(data, metadata)
            written = {"data": {"data": data}}
        case FilePart():
            written = {"file": _file(part)}
        case _:
            assert_never(part)
    if metadata:
        written["metadata"] = dict(metadata)
    return written


def _file(part: FilePart) -> dict[str, JSON]:
    content = part.content
    written: dict[str, JSON] = (
        {"fileWithUri": part.url} if content is None else {"fileWithBytes": packed(content)}
    )
    if part.filename:
        written["name"] = part.filename
    if part.media_type:
        written["mimeType"] = part.media_type
    return written


def _plain(value: object, levels: int = _LEVELS) -> object:
    """Write a result anew in the words that every version reads: `parts`, data as it is.

    What is not spelled as the proto has it stays as it came: some servers send the words of their
    JSON-RPC here as well.
    """
    if isinstance(value, list) and levels:
        return [_plain(item, levels - 1) for item in value]
    if not isinstance(value, dict) or not levels or _TOUCHED.isdisjoint(value):
        return value
    written: dict[str, object] = {}
    for name, member in value.items():
        if name in _PARTS and isinstance(member, list):
            # Whoever prints defaults may print both, one of them empty.
            written["parts"] = [_plain_part(item) for item in member] or written.get("parts", [])
        elif name in _HOLDERS:
            written["message" if name == "update" else name] = _plain(member, levels - 1)
        else:
            written[name] = member
    return written


def _plain_part(value: object) -> object:
    """Take data out of the message that the proto puts around it (`DataPart`)."""
    if not isinstance(value, dict) or "kind" in value:
        return value
    held = value.get("data")
    if isinstance(held, dict) and held.keys() == {"data"}:
        return {**value, "data": held["data"]}
    return value
