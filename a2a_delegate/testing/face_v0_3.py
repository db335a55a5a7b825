"""A2A 0.3 over JSON-RPC as a2a-sdk 0.3 serves it.

Stricter than that in one thing: a part without its `kind` is refused, as the JS server does,
because the specification requires it.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from a2a_delegate.testing.acts import Finished, Opening, Subscription
from a2a_delegate.testing.behaviours import Operation
from a2a_delegate.testing.face import Head, Vocabulary
from a2a_delegate.testing.requests import (
    NO_PUSH,
    Fault,
    Objection,
    RefusedError,
    SendParams,
    TaskParams,
    missing,
    take_flag,
    take_list,
    take_metadata,
    take_number,
    take_object,
    take_text,
    take_texts,
    wrong,
)
from a2a_delegate.testing.work import (
    Artifact,
    Became,
    DataPart,
    FilePart,
    Made,
    Message,
    Part,
    Task,
    TextPart,
    View,
    WorkState,
)

if TYPE_CHECKING:
    from a2a_delegate.testing.clock import PeerClock
    from a2a_delegate.testing.face import Json, Listing

VERSION = re.compile(r"0(\.\d+)*", re.ASCII)


VOCABULARY = Vocabulary(
    version="0.3",
    methods={
        "message/send": Operation.SEND,
        "tasks/get": Operation.GET,
        "tasks/list": Operation.LIST,
        "tasks/cancel": Operation.CANCEL,
        "message/stream": Operation.SEND,
        "tasks/resubscribe": Operation.SUBSCRIBE,
    },
    streams=frozenset({"message/stream", "tasks/resubscribe"}),
    unsupported={
        "tasks/pushNotificationConfig/set": NO_PUSH,
        "tasks/pushNotificationConfig/get": NO_PUSH,
        "tasks/pushNotificationConfig/list": NO_PUSH,
        "tasks/pushNotificationConfig/delete": NO_PUSH,
        "agent/getAuthenticatedExtendedCard": (
            Fault.INTERNAL,
            "Authenticated card not supported",
        ),
    },
    states={state: state.value for state in WorkState},
    objections={
        Objection.FINISHED: (Fault.INVALID_PARAMS, "Task {task} is in terminal state: {state}"),
        Objection.NOT_CANCELABLE: (
            Fault.TASK_NOT_CANCELABLE,
            "Task cannot be canceled - current state: TaskState.{state}",
        ),
        Objection.UNKNOWN: (Fault.TASK_NOT_FOUND, "Task not found"),
        Objection.UNKNOWN_TO_SEND: (
            Fault.TASK_NOT_FOUND,
            "Task {task} was specified but does not exist",
        ),
        Objection.OTHER_CONTEXT: (Fault.INVALID_PARAMS, "bad context id"),
        Objection.NO_CONTEXT: (Fault.INVALID_PARAMS, "bad context id"),
    },
    no_streams=(Fault.UNSUPPORTED_OPERATION, "This agent does not stream"),
    subscription=Subscription(Opening.UPDATES, Finished.ERROR_EVENT),
    refuses_in_stream=True,
    needs_ids=True,
)
"""The words of A2A 0.3."""

BESIDE_1_0 = replace(
    VOCABULARY,
    subscription=Subscription(Opening.SNAPSHOT, Finished.ERROR_EVENT),
    objections={
        **VOCABULARY.objections,
        Objection.FINISHED: (
            Fault.UNSUPPORTED_OPERATION,
            "Task {task} is in terminal state: {state_of_1_0}",
        ),
    },
)
"""The same, of a2a-sdk's adapter."""


class FaceV03:
    """A2A 0.3; it cannot list. Beside 1.0 on one URL it looks as a2a-sdk's adapter makes it."""

    words = VOCABULARY
    listing: Listing | None = None

    def __init__(self, clock: PeerClock, *, alone: bool) -> None:
        self._clock = clock
        self._alone = alone
        if not alone:
            self.words = BESIDE_1_0

    def check_header(self, value: str) -> None:
        """Take any header when alone; beside 1.0 only 0.x or none."""
        if not self._alone and value and not VERSION.fullmatch(value):
            raise RefusedError(
                Fault.INTERNAL,
                f"A2A version '{value}' is not supported by this handler. Expected version '0.3'.",
            )

    def read_send(self, params: Json) -> SendParams:
        """Read MessageSendParams; a send that does not say blocks, as servers of 0.3 do."""
        if params.get("message") is None:
            raise missing("message")
        message = _read_message(take_object(params["message"], "message"))
        configuration = take_object(params.get("configuration") or {}, "configuration")
        blocking = take_flag(configuration, "blocking", "configuration.blocking", default=True)
        length = take_number(configuration, "historyLength", "configuration.historyLength")
        return SendParams(message, immediate=not blocking, history_length=length)

    def read_task(self, params: Json) -> TaskParams:
        """Read TaskQueryParams or TaskIdParams."""
        task_id = take_text(params, "id", "id", required=True)
        return TaskParams(task_id, take_number(params, "historyLength", "historyLength"))

    def sent(self, outcome: View | Message, history_length: int | None) -> Json:
        """Write a Task or a Message, told apart by `kind`."""
        if isinstance(outcome, Message):
            return _message(outcome)
        return self.task(outcome, history_length)

    def task(self, view: View, history_length: int | None) -> Json:
        """Write a Task; a history length of 0 shows all of it, as servers of 0.3 do."""
        history = view.history
        if history_length is not None and history_length > 0:
            history = history[-history_length:]
        task: Json = {}
        if view.artifacts:
            task["artifacts"] = [_artifact(artifact) for artifact in view.artifacts]
        task["contextId"] = view.context_id
        if history:
            task["history"] = [_message(message) for message in history]
        status = self._status(view.state, view.message, view.since)
        return {**task, "id": view.task_id, "kind": "task", "status": status}

    def update(self, task: Task, event: Became | Made) -> Json:
        """Write a status or an artifact update; a2a-sdk's adapter spells out what is not told."""
        ids: Json = {"contextId": task.context_id, "taskId": task.task_id}
        if isinstance(event, Became):
            status = self._status(event.state, event.message, event.since)
            final = event.state.is_settled
            return {**ids, "final": final, "kind": "status-update", "status": status}
        value: Json = {**ids, "kind": "artifact-update", "artifact": _artifact(event.artifact)}
        for name, told in (("append", event.append), ("lastChunk", event.last)):
            if told is not None or not self._alone:
                value[name] = bool(told)
        return value

    def _status(self, state: WorkState, message: Message | None, since: float | None) -> Json:
        status: Json = {"state": self.words.states[state]}
        if message is not None:
            status["message"] = _message(message)
        if since is not None:
            moment = self._clock.time_of_day(since).isoformat(timespec="microseconds")
            status["timestamp"] = moment if self._alone else moment.replace("+00:00", "Z")
        return status

    def reply(self, request_id: object, result: object) -> Json:
        """Write the envelope of a result."""
        return {"id": request_id, "jsonrpc": "2.0", "result": result}

    def refusal(self, request_id: object, error: RefusedError) -> Json:
        """Write the envelope of an error; what is null is left out, but by the adapter."""
        body: Json = {"code": error.fault.code}
        if error.fault is Fault.INVALID_REQUEST:
            body["data"] = [{"type": "value_error", "loc": [], "msg": error.text}]
            body["message"] = "Request payload validation error"
        elif error.field:
            loc = ["params", *error.field.split(".")]
            body["data"] = [{"type": "value_error", "loc": loc, "msg": error.problem}]
            body["message"] = "Invalid parameters"
        else:
            body["message"] = error.text
        if not self._alone:
            body.setdefault("data", None)
        envelope: Json = {"error": body}
        if request_id is not None or not self._alone:
            envelope["id"] = request_id
        return {**envelope, "jsonrpc": "2.0"}

    def head(self, answered: Operation | RefusedError | None) -> Head:
        """Say that JSON-RPC answers all in one way."""
        del answered
        return Head()


def _read_message(value: Json) -> Message:
    message_id = take_text(value, "messageId", "message.messageId", required=True)
    role = value.get("role")
    if role not in ("user", "agent"):
        raise wrong("message.role", "Input should be 'agent' or 'user'")
    if value.get("kind", "message") != "message":
        raise wrong("message.kind", "Input should be 'message'")
    parts = value.get("parts")
    if parts is None:
        raise missing("message.parts")
    return Message(
        message_id,
        tuple(
            _read_part(take_object(part, "message.parts"))
            for part in take_list(parts, "message.parts")
        ),
        take_text(value, "contextId", "message.contextId") or None,
        take_text(value, "taskId", "message.taskId") or None,
        by_agent=role == "agent",
        metadata=take_metadata(value, "message.metadata"),
        extensions=take_texts(value, "extensions", "message.extensions"),
        reference_task_ids=take_texts(value, "referenceTaskIds", "message.referenceTaskIds"),
    )


def _read_part(value: Json) -> Part:
    metadata = take_metadata(value, "message.parts.metadata")
    match value:
        case {"kind": "text", "text": str(text)}:
            return TextPart(text, metadata=metadata)
        case {"kind": "data", "data": dict(data)}:
            return DataPart(data, metadata=metadata)
        case {"kind": "file"}:
            return _read_file(take_object(value.get("file"), "message.parts.file"), metadata)
        case _:
            raise wrong("message.parts", "Input should be a part of kind text, data or file")


def _read_file(file: Json, metadata: Json | None) -> FilePart:
    content = take_text(file, "bytes", "message.parts.file.bytes") or None
    url = take_text(file, "uri", "message.parts.file.uri") or None
    if (content is None) == (url is None):
        raise wrong("message.parts.file", "A file has either bytes or a uri.")
    name = take_text(file, "name", "message.parts.file.name")
    media_type = take_text(file, "mimeType", "message.parts.file.mimeType")
    return FilePart(
        base64=content, url=url, filename=name, media_type=media_type, metadata=metadata
    )


def _message(message: Message) -> Json:
    value: Json = {"contextId": message.context_id}
    if message.extensions:
        value["extensions"] = list(message.extensions)
    value["kind"] = "message"
    value["messageId"] = message.message_id
    if message.metadata is not None:
        value["metadata"] = dict(message.metadata)
    value["parts"] = [_part(part) for part in message.parts]
    if message.reference_task_ids:
        value["referenceTaskIds"] = list(message.reference_task_ids)
    value["role"] = "agent" if message.by_agent else "user"
    if message.task_id is not None:
        value["taskId"] = message.task_id
    return value


def _part(part: Part) -> Json:
    value: Json
    match part:
        case TextPart(text=text):
            value = {"kind": "text", "text": text}
        case DataPart(data=dict(data)):
            value = {"data": data, "kind": "data"}
        case DataPart(data=data):  # only objects travel in 0.3; a2a-sdk wraps the others so
            value = {"data": {"value": data}, "kind": "data"}
        case FilePart():
            value = {"file": _file(part), "kind": "file"}
    if part.metadata is not None:
        value["metadata"] = dict(part.metadata)
    return value


def _file(part: FilePart) -> Json:
    file: Json = {}
    if part.base64 is not None:
        file["bytes"] = part.base64
    if part.media_type:
        file["mimeType"] = part.media_type
    if part.filename:
        file["name"] = part.filename
    if part.url is not None:
        file["uri"] = part.url
    return file


def _artifact(artifact: Artifact) -> Json:
    return {
        "artifactId": artifact.artifact_id,
        "name": artifact.name,
        "parts": [_part(part) for part in artifact.parts],
    }
