"""A2A 1.0: ProtoJSON names, wrapped results, tenants, and lists of tasks."""

from __future__ import annotations

from datetime import UTC
from types import MappingProxyType
from typing import TYPE_CHECKING, assert_never

from a2a_delegate.errors import UsageError
from a2a_delegate.lifecycle.operations import (
    CancelTask,
    GetTask,
    ListTasks,
    SendMessage,
    SubscribeToTask,
)
from a2a_delegate.model.card import ProtocolVersion
from a2a_delegate.model.part import DataPart, FilePart, TextPart, UnknownPart
from a2a_delegate.wire import replies
from a2a_delegate.wire.events import read_event
from a2a_delegate.wire.words import Words
from a2a_delegate.wire.writing import (
    PROTO_ROLES,
    cannot_send,
    message_members,
    named_extensions,
    packed,
    send_params,
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

PAGE_SIZE = 100
"""The largest page that a server must give (1.0 section 3.1.4)."""

_HEADERS = MappingProxyType({"A2A-Version": "1.0"})


class V10:
    """The dialect of A2A 1.0; `DIALECT` is the only one needed."""

    version = ProtocolVersion.V1_0
    lists_tasks = True

    def headers(self, extensions: Sequence[str] = ()) -> Mapping[str, str]:
        """Name the version, without a patch number (section 3.6.1), and the extensions in use."""
        return {**_HEADERS, **named_extensions("A2A-Extensions", extensions)}

    def encode(self, operation: Operation, *, tenant: str | None) -> Words:
        """Spell an operation; `tenant` is the interface's, and goes with it as it is."""
        words = _words(operation)
        if tenant:
            words.params["tenant"] = tenant
        return words

    def decode(
        self, operation: Operation, result: object
    ) -> TaskReply | MessageReply | TaskPage | Unreadable:
        """Read a result; never raises."""
        return replies.decode(operation, result)

    def decode_event(self, value: object, *, ours: Message | None = None) -> StreamEvent | Unclear:
        """Read an event of a stream, `ours` being the message that it answers; never raises."""
        return read_event(value, ours=ours)


DIALECT = V10()


def _words(operation: Operation) -> Words:
    match operation:
        case SendMessage(streamed=streamed):
            method = "SendStreamingMessage" if streamed else "SendMessage"
            return Words(method, _send(operation))
        case GetTask(task_id=task_id):
            # Without historyLength the server gives what it has: the answer may be only there.
            return Words("GetTask", {"id": task_id})
        case ListTasks():
            return Words("ListTasks", _list(operation))
        case CancelTask(task_id=task_id):
            return Words("CancelTask", {"id": task_id})
        case SubscribeToTask(task_id=task_id):
            return Words("SubscribeToTask", {"id": task_id})
        case _:
            assert_never(operation)


def _send(operation: SendMessage) -> dict[str, JSON]:
    # The default is to block, so the wish is always spelled out (section 3.2.2).
    configuration: dict[str, JSON] = {"returnImmediately": True}
    if operation.accepted_output_modes:
        configuration["acceptedOutputModes"] = list(operation.accepted_output_modes)
    return send_params(operation, message=_message(operation.message), configuration=configuration)


def _list(operation: ListTasks) -> dict[str, JSON]:
    """Ask for one page; historyLength stays unset, since one of 1 hides the message sought."""
    params: dict[str, JSON] = {"pageSize": PAGE_SIZE, "includeArtifacts": False}
    if operation.context_id is not None:
        params["contextId"] = operation.context_id
    elif operation.since is not None:
        if operation.since.tzinfo is None:
            raise UsageError("`since` needs a time zone: a moment without one is no moment")
        moment = operation.since.astimezone(UTC).isoformat(timespec="milliseconds")
        params["statusTimestampAfter"] = moment.replace("+00:00", "Z")
    if operation.page_token:
        params["pageToken"] = operation.page_token
    return params


def _message(message: Message) -> dict[str, JSON]:
    written: dict[str, JSON] = {
        "messageId": message.message_id,
        "role": PROTO_ROLES[message.role],
        "parts": [_part(part) for part in message.parts],
    }
    return written | message_members(message)


def _part(part: Part) -> dict[str, JSON]:
    written: dict[str, JSON]
    match part:
        case TextPart(text=text):
            written = {"text": text}
        case DataPart(data=data):
            written = {"data": data}
        case FilePart(content=bytes() as content):
            written = {"raw": packed(content)}
        case FilePart(url=url):
            written = {"url": url}
        case UnknownPart():
            raise cannot_send(part)
        case _:
            assert_never(part)
    if part.filename:
        written["filename"] = part.filename
    if part.media_type:
        written["mediaType"] = part.media_type
    if part.metadata:
        written["metadata"] = dict(part.metadata)
    return written
