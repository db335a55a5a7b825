"""What A2A 0.2 and 0.3 write alike: `kind` everywhere, bare results, and no list of tasks.

Over JSON-RPC their requests differ in no word of the body, so one writer serves both; what is a
version's own stands in its module, as an argument.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, assert_never

from a2a_delegate.errors import UsageError
from a2a_delegate.lifecycle.operations import (
    CancelTask,
    GetTask,
    ListTasks,
    SendMessage,
    SubscribeToTask,
)
from a2a_delegate.model.frozen import dataclass
from a2a_delegate.model.part import DataPart, FilePart, TextPart, UnknownPart
from a2a_delegate.wire import replies
from a2a_delegate.wire.events import read_event
from a2a_delegate.wire.words import Words
from a2a_delegate.wire.writing import (
    EXTENSIONS,
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
    from a2a_delegate.model.card import ProtocolVersion
    from a2a_delegate.model.json_value import JSON
    from a2a_delegate.model.message import Message
    from a2a_delegate.model.part import Part
    from a2a_delegate.wire.reading import Unclear


@dataclass(frozen=True, slots=True)
class KindDialect:
    """One version of the family; `version_headers` go with every request."""

    version: ProtocolVersion
    version_headers: Mapping[str, str]
    lists_tasks: ClassVar[bool] = False

    def headers(self, extensions: Sequence[str] = ()) -> Mapping[str, str]:
        """Return what names the version, if anything does, and the extensions in use."""
        return {**self.version_headers, **named_extensions(EXTENSIONS, extensions)}

    def encode(self, operation: Operation, *, tenant: str | None) -> Words:
        """Spell an operation; the family knows no tenants, so `tenant` is left out.

        Raises UsageError for ListTasks, which it does not have: look at `lists_tasks` first.
        """
        del tenant
        match operation:
            case SendMessage(streamed=streamed):
                return Words("message/stream" if streamed else "message/send", _send(operation))
            case GetTask(task_id=task_id):
                # historyLength stays unset: 0 means everything to some servers, nothing to others.
                return Words("tasks/get", {"id": task_id})
            case CancelTask(task_id=task_id):
                return Words("tasks/cancel", {"id": task_id})
            case SubscribeToTask(task_id=task_id):
                return Words("tasks/resubscribe", {"id": task_id})
            case ListTasks():
                raise UsageError(f"A2A {self.version} over JSON-RPC has no method that lists tasks")
            case _:
                assert_never(operation)

    def decode(
        self, operation: Operation, result: object
    ) -> TaskReply | MessageReply | TaskPage | Unreadable:
        """Read a result; never raises."""
        return replies.decode(operation, result)

    def decode_event(self, value: object, *, ours: Message | None = None) -> StreamEvent | Unclear:
        """Read an event of a stream, `ours` being the message that it answers; never raises."""
        return read_event(value, ours=ours)


def _send(operation: SendMessage) -> dict[str, JSON]:
    # The default differs between servers, so the wish is always spelled out (METH-4), though some
    # do not heed it (METH-5). The list of modes is required beside it up to 0.2.5 (METH-9), and one
    # server of today answers HTTP 500 where it is missing.
    configuration: dict[str, JSON] = {
        "blocking": False,
        "acceptedOutputModes": list(operation.accepted_output_modes),
    }
    return send_params(operation, message=_message(operation.message), configuration=configuration)


def _message(message: Message) -> dict[str, JSON]:
    written: dict[str, JSON] = {
        "kind": "message",
        "messageId": message.message_id,
        "role": message.role.value,
        "parts": [_part(part) for part in message.parts],
    }
    return written | message_members(message)


def _part(part: Part) -> dict[str, JSON]:
    if isinstance(part, UnknownPart):
        raise cannot_send(part)
    metadata = part.metadata
    written: dict[str, JSON]
    match part:
        case TextPart(text=text):
            written = {"kind": "text", "text": text}
        case DataPart(data=data):
            data, metadata = wrapped_data(data, metadata)
            written = {"kind": "data", "data": data}
        case FilePart():
            written = {"kind": "file", "file": _file(part)}
        case _:
            assert_never(part)
    if metadata:
        written["metadata"] = dict(metadata)
    return written


def _file(part: FilePart) -> dict[str, JSON]:
    content = part.content
    written: dict[str, JSON] = {"uri": part.url} if content is None else {"bytes": packed(content)}
    if part.filename:
        written["name"] = part.filename
    if part.media_type:
        written["mimeType"] = part.media_type
    return written
