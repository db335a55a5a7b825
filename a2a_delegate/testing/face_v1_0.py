"""A2A 1.0 over JSON-RPC as a2a-sdk 1.3 serves it."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from a2a_delegate.testing.acts import Subscription
from a2a_delegate.testing.behaviours import Operation
from a2a_delegate.testing.error_details import details_of
from a2a_delegate.testing.face import Head, Vocabulary
from a2a_delegate.testing.requests import (
    DEFAULT_PAGE,
    LARGEST_PAGE,
    NO_PUSH,
    Fault,
    ListParams,
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
    from collections.abc import Mapping, Sequence

    from a2a_delegate.testing.clock import PeerClock
    from a2a_delegate.testing.face import Json, Listing

_STATES: Mapping[WorkState, str] = {
    WorkState.SUBMITTED: "TASK_STATE_SUBMITTED",
    WorkState.WORKING: "TASK_STATE_WORKING",
    WorkState.COMPLETED: "TASK_STATE_COMPLETED",
    WorkState.FAILED: "TASK_STATE_FAILED",
    WorkState.CANCELED: "TASK_STATE_CANCELED",
    WorkState.REJECTED: "TASK_STATE_REJECTED",
    WorkState.INPUT_REQUIRED: "TASK_STATE_INPUT_REQUIRED",
    WorkState.AUTH_REQUIRED: "TASK_STATE_AUTH_REQUIRED",
}
_VERSION = re.compile(r"v?(\d+)(\.\d+)*", re.ASCII)
_CONTENT = ("text", "raw", "url", "data")


VOCABULARY = Vocabulary(
    version="1.0",
    methods={
        "SendMessage": Operation.SEND,
        "GetTask": Operation.GET,
        "ListTasks": Operation.LIST,
        "CancelTask": Operation.CANCEL,
        "SendStreamingMessage": Operation.SEND,
        "SubscribeToTask": Operation.SUBSCRIBE,
    },
    streams=frozenset({"SendStreamingMessage", "SubscribeToTask"}),
    unsupported={
        "CreateTaskPushNotificationConfig": NO_PUSH,
        "GetTaskPushNotificationConfig": NO_PUSH,
        "ListTaskPushNotificationConfigs": NO_PUSH,
        "DeleteTaskPushNotificationConfig": NO_PUSH,
        "GetExtendedAgentCard": (
            Fault.UNSUPPORTED_OPERATION,
            "The agent does not support authenticated extended cards",
        ),
    },
    states=_STATES,
    objections={
        Objection.FINISHED: (
            Fault.UNSUPPORTED_OPERATION,
            "Task {task} is in terminal state: {state}",
        ),
        Objection.NOT_CANCELABLE: (Fault.TASK_NOT_CANCELABLE, "Task cannot be canceled"),
        Objection.UNKNOWN: (Fault.TASK_NOT_FOUND, "Task not found"),
        Objection.UNKNOWN_TO_SEND: (Fault.TASK_NOT_FOUND, "Task {task} not found"),
        Objection.OTHER_CONTEXT: (
            Fault.INVALID_PARAMS,
            "Context {theirs} does not match context {context} of task {task}",
        ),
        Objection.NO_CONTEXT: (
            Fault.INVALID_PARAMS,
            "Context {theirs} is not accepted: this agent makes its own context ids",
        ),
    },
    no_streams=(Fault.UNSUPPORTED_OPERATION, "Stream not supported"),
    subscription=Subscription(),
)
"""The words of A2A 1.0."""


class FaceV10:
    """A2A 1.0. With a `tenant`, every request has to name it (section 8.3.2)."""

    words = VOCABULARY

    def __init__(self, clock: PeerClock, *, tenant: str | None, lists: bool) -> None:
        self._clock = clock
        self._tenant = tenant
        self._lists = lists
        self.listing: Listing | None = self

    def check_header(self, value: str) -> None:
        """Take any 1.x: a2a-sdk compares the major number only; no header means 0.3 (3.6.2)."""
        match = _VERSION.fullmatch(value or "0.3")
        if match is None or match[1] != "1":
            raise RefusedError(
                Fault.VERSION_NOT_SUPPORTED,
                f"A2A version '{value or '0.3'}' is not supported by this handler. "
                "Expected version '1.0'.",
            )

    def read_send(self, params: Json) -> SendParams:
        """Read a SendMessageRequest."""
        self._check_tenant(params)
        if params.get("message") is None:
            raise missing("message")
        message = _read_message(take_object(params["message"], "message"))
        configuration = take_object(params.get("configuration") or {}, "configuration")
        return SendParams(
            message,
            take_flag(
                configuration,
                "returnImmediately",
                "configuration.return_immediately",
                default=False,
            ),
            _history_length(configuration, "configuration.history_length"),
        )

    def read_task(self, params: Json) -> TaskParams:
        """Read a GetTaskRequest or a CancelTaskRequest."""
        self._check_tenant(params)
        task_id = take_text(params, "id", "id", required=True)
        return TaskParams(task_id, _history_length(params, "history_length"))

    def read_list(self, params: Json) -> ListParams:
        """Read a ListTasksRequest. A status that is no word counts as none (as in a2a-sdk)."""
        self._check_tenant(params)
        if not self._lists:
            raise RefusedError(Fault.UNSUPPORTED_OPERATION, "This agent does not list its tasks")
        size = take_number(params, "pageSize", "page_size")
        if size is not None and size < 1:
            raise RefusedError(Fault.INVALID_PARAMS, "minimum page size is 1")
        if size is not None and size > LARGEST_PAGE:
            raise RefusedError(Fault.INVALID_PARAMS, f"maximum page size is {LARGEST_PAGE}")
        status = take_text(params, "status", "status")
        states = [state for state, word in _STATES.items() if word == status]
        return ListParams(
            context_id=take_text(params, "contextId", "context_id"),
            state=states[0] if states else None,
            since=_moment(take_text(params, "statusTimestampAfter", "status_timestamp_after")),
            page_size=DEFAULT_PAGE if size is None else size,
            page_token=take_text(params, "pageToken", "page_token"),
            history_length=_history_length(params, "history_length"),
            with_artifacts=take_flag(
                params, "includeArtifacts", "include_artifacts", default=False
            ),
        )

    def sent(self, outcome: View | Message, history_length: int | None) -> Json:
        """Write a SendMessageResponse: exactly one of task and message."""
        if isinstance(outcome, Message):
            return {"message": _message(outcome)}
        return {"task": self.task(outcome, history_length)}

    def task(self, view: View, history_length: int | None) -> Json:
        """Write a Task; what is empty is left out, as proto-JSON has it."""
        return self._task(view, history_length, artifacts=True, full=False)

    def update(self, task: Task, event: Became | Made) -> Json:
        """Write a StreamResponse; what is false is left out, as proto-JSON has it."""
        ids: Json = {"taskId": task.task_id, "contextId": task.context_id}
        if isinstance(event, Became):
            status = self._status(event.state, event.message, event.since)
            return {"statusUpdate": {**ids, "status": status}}
        value: Json = {**ids, "artifact": _artifact(event.artifact, full=False)}
        if event.append:
            value["append"] = True
        if event.last:
            value["lastChunk"] = True
        return {"artifactUpdate": value}

    def page(self, views: Sequence[View], params: ListParams, *, total: int, token: str) -> Json:
        """Write a ListTasksResponse; a2a-sdk prints the empty fields in it."""
        return {
            "tasks": [
                self._task(view, params.history_length, artifacts=params.with_artifacts, full=True)
                for view in views
            ],
            "nextPageToken": token,
            "pageSize": params.page_size,
            "totalSize": total,
        }

    def reply(self, request_id: object, result: object) -> Json:
        """Write the envelope of a result."""
        return {"result": result, "id": request_id, "jsonrpc": "2.0"}

    def refusal(self, request_id: object, error: RefusedError) -> Json:
        """Write the envelope of an error, with ErrorInfo for the codes that have a reason."""
        body: Json = {"code": error.fault.code, "message": error.text}
        if error.fault.reason:
            body["data"] = details_of(error, error.fault.reason)
        return {"error": body, "id": request_id, "jsonrpc": "2.0"}

    def head(self, answered: Operation | RefusedError | None) -> Head:
        """Say that JSON-RPC answers all in one way."""
        del answered
        return Head()

    def _check_tenant(self, params: Json) -> None:
        if self._tenant is not None and params.get("tenant") != self._tenant:
            raise wrong("tenant", "Field must be the tenant of the interface.")

    def _task(self, view: View, history_length: int | None, *, artifacts: bool, full: bool) -> Json:
        status = self._status(view.state, view.message, view.since, full=full)
        task: Json = {"id": view.task_id, "contextId": view.context_id, "status": status}
        if artifacts and view.artifacts:
            task["artifacts"] = [_artifact(artifact, full=full) for artifact in view.artifacts]
        history = view.history
        if history_length is not None:  # unset: all of it; 0: none of it (section 3.2.4)
            history = history[max(0, len(history) - history_length) :]
        if history:
            task["history"] = [_message(message, full=full) for message in history]
        return task

    def _status(
        self, state: WorkState, message: Message | None, since: float | None, *, full: bool = False
    ) -> Json:
        status: Json = {"state": _STATES[state]}
        if message is not None:
            status["message"] = _message(message, full=full)
        if since is not None:
            day = self._clock.time_of_day(since)
            status["timestamp"] = day.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        return status


def _read_message(value: Json) -> Message:
    message_id = take_text(value, "messageId", "message.message_id", required=True)
    role = value.get("role")
    if role not in ("ROLE_USER", "ROLE_AGENT"):
        raise missing("message.role")
    parts = take_list(value.get("parts") or [], "message.parts")
    if not parts:
        raise wrong("message.parts", "Field must contain at least one element.")
    return Message(
        message_id,
        tuple(_read_part(take_object(part, "message.parts")) for part in parts),
        take_text(value, "contextId", "message.context_id") or None,
        take_text(value, "taskId", "message.task_id") or None,
        by_agent=role == "ROLE_AGENT",
        metadata=take_metadata(value, "message.metadata"),
        extensions=take_texts(value, "extensions", "message.extensions"),
        reference_task_ids=take_texts(value, "referenceTaskIds", "message.reference_task_ids"),
    )


def _read_part(value: Json) -> Part:
    kinds = [kind for kind in _CONTENT if kind in value]
    if len(kinds) != 1:
        raise wrong("message.parts", "A part holds one of text, raw, url and data.")
    more = {
        "filename": take_text(value, "filename", "message.parts.filename"),
        "media_type": take_text(value, "mediaType", "message.parts.media_type"),
    }
    metadata = take_metadata(value, "message.parts.metadata")
    content = value[kinds[0]]
    if kinds == ["data"]:
        return DataPart(content, **more, metadata=metadata)
    if not isinstance(content, str):
        raise wrong(f"message.parts.{kinds[0]}", "Field must be a string.")
    match kinds[0]:
        case "text":
            return TextPart(content, **more, metadata=metadata)
        case "raw":
            return FilePart(base64=content, **more, metadata=metadata)
        case _:
            return FilePart(url=content, **more, metadata=metadata)


def _history_length(holder: Json, field: str) -> int | None:
    length = take_number(holder, "historyLength", field)
    if length is not None and length < 0:
        raise RefusedError(Fault.INVALID_PARAMS, "history length must be non-negative")
    return length


def _moment(value: str) -> datetime | None:
    if not value:
        return None
    try:
        moment = datetime.fromisoformat(value)
        if moment.tzinfo is not None:
            return moment.astimezone(UTC)
    except (ValueError, OverflowError):
        pass
    raise wrong("status_timestamp_after", "Field must be a timestamp with an offset.")


def _message(message: Message, *, full: bool = False) -> Json:
    value: Json = {"messageId": message.message_id, "contextId": message.context_id}
    if message.task_id is not None:
        value["taskId"] = message.task_id
    value["role"] = "ROLE_AGENT" if message.by_agent else "ROLE_USER"
    value["parts"] = [_part(part, full=full) for part in message.parts]
    if message.metadata is not None:
        value["metadata"] = dict(message.metadata)
    if message.extensions or full:
        value["extensions"] = list(message.extensions)
    if message.reference_task_ids or full:
        value["referenceTaskIds"] = list(message.reference_task_ids)
    return value


def _part(part: Part, *, full: bool) -> Json:
    value: Json
    match part:
        case TextPart(text=text):
            value = {"text": text}
        case DataPart(data=data):
            value = {"data": data}
        case FilePart(base64=str(base64)):
            value = {"raw": base64}
        case FilePart(url=url):
            value = {"url": url}
    if part.filename or full:
        value["filename"] = part.filename
    if part.media_type or full:
        value["mediaType"] = part.media_type
    if part.metadata is not None:
        value["metadata"] = dict(part.metadata)
    return value


def _artifact(artifact: Artifact, *, full: bool) -> Json:
    value: Json = {
        "artifactId": artifact.artifact_id,
        "name": artifact.name,
        "parts": [_part(part, full=full) for part in artifact.parts],
    }
    return {**value, "description": "", "extensions": []} if full else value
