"""A2A 0.3 over HTTP+JSON as servers speak it: proto-JSON under `/v1`.

The specification of 0.3 says little of this binding, and servers went by the protobuf. Three kinds
are known here, which differ in their errors, their defaults and what they leave out: a2a-sdk 0.3,
@a2a-js/sdk 0.3, and the adapter of a2a-sdk 1.3 that speaks 0.3 beside 1.0.

In one thing this is milder than a2a-sdk 0.3: that one breaks off the stream of a subscription which
it refuses, and here it is an error. A script breaks it off by `DropAfterAccepting`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from a2a_delegate.testing import face_v0_3, face_v1_0
from a2a_delegate.testing.acts import Finished, Opening, Subscription
from a2a_delegate.testing.behaviours import Operation
from a2a_delegate.testing.error_details import details_of
from a2a_delegate.testing.face import Head
from a2a_delegate.testing.http_json import Failure, Route, subscribing
from a2a_delegate.testing.http_json_v1_0 import NAMES_THE_TASK
from a2a_delegate.testing.http_statuses import MAPPINGS, OF_A2A_SDK, OF_JS, UNKNOWN, status_object
from a2a_delegate.testing.proto_json import (
    ROLES,
    STATES,
    artifact_json,
    message_json,
    read_message,
    task_json,
)
from a2a_delegate.testing.requests import (
    Fault,
    Objection,
    RefusedError,
    SendParams,
    missing,
    take_flag,
    take_number,
    take_object,
)
from a2a_delegate.testing.work import Became, Message

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from a2a_delegate.testing.clock import PeerClock
    from a2a_delegate.testing.face import Json, Vocabulary
    from a2a_delegate.testing.work import Made, Task, View, WorkState

_CONFIGS: Final = "v1/tasks/{id}/pushNotificationConfigs"
_ROUTES: Final = (
    Route("POST", "v1/message:send", "message/send"),
    Route("POST", "v1/message:stream", "message/stream"),
    Route("POST", "v1/tasks/{id}:cancel", "tasks/cancel"),
    Route("GET", "v1/tasks/{id}", "tasks/get"),
    Route("POST", _CONFIGS, "tasks/pushNotificationConfig/set"),
    Route("GET", _CONFIGS, "tasks/pushNotificationConfig/list"),
    Route("GET", f"{_CONFIGS}/{{config}}", "tasks/pushNotificationConfig/get"),
)
_LIST: Final = Route("GET", "v1/tasks", "tasks/list")
_EXCEPTION: Final = (Fault.INTERNAL, "unknown exception")
"""What a2a-sdk 0.3 says of whatever it did not expect."""

OF_SDK: Final = replace(
    face_v0_3.VOCABULARY,
    unsupported={**face_v0_3.VOCABULARY.unsupported, _LIST.method: _EXCEPTION},
    subscription=Subscription(Opening.UPDATES, Finished.CUT),
    refuses_in_stream=False,
    needs_ids=False,
)
"""The words of a2a-sdk 0.3."""

OF_JS_SDK: Final = replace(
    OF_SDK,
    objections={
        **OF_SDK.objections,
        Objection.UNKNOWN: NAMES_THE_TASK,
        Objection.UNKNOWN_TO_SEND: NAMES_THE_TASK,
        Objection.NOT_CANCELABLE: (Fault.TASK_NOT_CANCELABLE, "Task not cancelable: {task}"),
    },
    subscription=Subscription(Opening.SNAPSHOT, Finished.SNAPSHOT),
)
"""The words of @a2a-js/sdk 0.3."""

OF_ADAPTER: Final = replace(
    OF_SDK,
    objections=face_v1_0.VOCABULARY.objections,
    subscription=Subscription(Opening.SNAPSHOT, Finished.REFUSAL),
)
"""The words of a2a-sdk's adapter: those of the 1.0 behind it."""


class HttpJsonV03(face_v0_3.FaceV03):
    """A2A 0.3 over HTTP+JSON, as a2a-sdk 0.3 serves it alone."""

    vocabulary: Vocabulary = OF_SDK
    more: Sequence[Route] = (_LIST,)
    takes_tenants = False
    blocks = False
    """Whether a send blocks that does not say; the protobuf says that it does not."""
    tells_time = False
    media_type = "application/json"
    successes: Mapping[Operation | None, int] = {}

    def __init__(self, clock: PeerClock, *, subscribe: Sequence[str]) -> None:
        super().__init__(clock, alone=True)
        path = "v1/tasks/{id}:subscribe"
        said = subscribing(subscribe, path, "tasks/resubscribe")
        self.routes: Sequence[Route] = (*said, *_ROUTES, *self.more)
        self.words = self.vocabulary
        if "GET" not in subscribe:
            objections = {**self.words.objections, Objection.UNKNOWN: NAMES_THE_TASK}
            self.words = replace(self.words, objections=objections)

    def read_send(self, params: Json) -> SendParams:
        """Read a SendMessageRequest of the protobuf."""
        if params.get("message") is None:
            raise missing("message")
        message = take_object(params["message"], "message")
        if message.get("role") not in ROLES:
            self.complain_of_role(message)
        configuration = take_object(params.get("configuration") or {}, "configuration")
        blocking = take_flag(
            configuration, "blocking", "configuration.blocking", default=self.blocks
        )
        length = take_number(configuration, "historyLength", "configuration.history_length")
        return SendParams(read_message(message), immediate=not blocking, history_length=length)

    def complain_of_role(self, message: Json) -> None:
        """Refuse a role that is none: the message is of the shape of JSON-RPC, or of none."""
        del message
        raise RefusedError(*_EXCEPTION)

    def sent(self, outcome: View | Message, history_length: int | None) -> Json:
        """Write a SendMessageResponse: exactly one of task and message."""
        if isinstance(outcome, Message):
            return {"message": self._message(outcome)}
        return {"task": self._task(outcome, history_length)}

    def task(self, view: View, history_length: int | None) -> Json:
        """Write a Task; a history length of 0 shows all of it."""
        return self._task(view, history_length)

    def _task(self, view: View, history_length: int | None) -> Json:
        history = view.history
        if history_length is not None and history_length > 0:
            history = history[-history_length:]
        status = self._status(view.state, view.message, view.since)
        return task_json(view, status, [self._message(message) for message in history])

    def update(self, task: Task, event: Became | Made) -> Json:
        """Write a StreamResponse."""
        ids: Json = {"taskId": task.task_id, "contextId": task.context_id}
        if isinstance(event, Became):
            value = {**ids, "status": self._status(event.state, event.message, event.since)}
            final: Json = {"final": True} if event.state.is_settled else {}
            return {"statusUpdate": {**value, **final}}
        value = {**ids, "artifact": artifact_json(event.artifact)}
        told = {"append": event.append, "lastChunk": event.last}
        return {
            "artifactUpdate": {**value, **{name: True for name, is_so in told.items() if is_so}}
        }

    def reply(self, request_id: object, result: object) -> Json:
        """Write the result alone."""
        del request_id
        assert isinstance(result, dict)  # noqa: S101 - as all results of this peer are
        return result

    def refusal(self, request_id: object, error: RefusedError) -> Json:
        """Write the error."""
        del request_id
        return self.failure(error.fault.code, error.text, None).body

    def failure(self, code: int, text: str, data: object) -> Failure:
        """Write an error of any code, of which only the HTTP status is left."""
        del data
        return Failure(OF_A2A_SDK.get(code, UNKNOWN.status), {"message": text})

    def head(self, answered: Operation | RefusedError | None) -> Head:
        """Say the status, by the error or by what was done."""
        if isinstance(answered, RefusedError):
            status = self.failure(answered.fault.code, "", None).status
        else:
            status = self.successes.get(answered, Head().status)
        return Head(status, self.media_type)

    def _message(self, message: Message) -> Json:
        return message_json(message, spells_metadata=not self.tells_time)

    def _status(self, state: WorkState, message: Message | None, since: float | None) -> Json:
        status: Json = {"state": STATES[state]}
        if message is not None:
            status["message"] = self._message(message)
        if since is not None and self.tells_time:
            day = self._clock.time_of_day(since)
            status["timestamp"] = day.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        return status


class HttpJsonV03OfJs(HttpJsonV03):
    """The same as @a2a-js/sdk 0.3 serves it: its errors keep their codes."""

    vocabulary = OF_JS_SDK
    more = ()
    blocks = True
    tells_time = True
    media_type = "application/json; charset=utf-8"
    successes: Mapping[Operation | None, int] = {Operation.SEND: 201, Operation.CANCEL: 202}

    def task(self, view: View, history_length: int | None) -> Json:
        """Write a Task; without a history length it shows no history."""
        task = super().task(view, history_length)
        if history_length is None:
            task.pop("history", None)
        return task

    def complain_of_role(self, message: Json) -> None:
        """Refuse it by the number that the word became."""
        number = -1 if "role" in message else 0
        raise RefusedError(Fault.INVALID_PARAMS, f"Invalid role: {number}")

    def failure(self, code: int, text: str, data: object) -> Failure:
        """Write an error of any code."""
        body: Json = {"code": code, "message": text}
        if data is not None:
            body["data"] = data
        return Failure(OF_JS.get(code, UNKNOWN.status), body)


class HttpJsonV03Beside(HttpJsonV03):
    """The same as a2a-sdk's adapter serves it beside 1.0: its errors are those of 1.0."""

    vocabulary = OF_ADAPTER
    more = ()
    blocks = True
    tells_time = True

    def __init__(self, clock: PeerClock, *, subscribe: Sequence[str], mapping: str) -> None:
        super().__init__(clock, subscribe=subscribe)
        self._mapping = MAPPINGS[mapping]

    def check_header(self, value: str) -> None:
        """Take 0.x or none."""
        if value and not face_v0_3.VERSION.fullmatch(value):
            raise RefusedError(
                Fault.VERSION_NOT_SUPPORTED,
                f"A2A version '{value}' is not supported by this handler. Expected version '0.3'.",
            )

    def complain_of_role(self, message: Json) -> None:
        """Take a message without a role, and one whose role is none, as one of the user."""

    def refusal(self, request_id: object, error: RefusedError) -> Json:
        """Write a status with its details."""
        del request_id
        mapped = self._mapping[error.fault.code]
        return status_object(mapped, error.text, details_of(error, mapped.reason))

    def failure(self, code: int, text: str, data: object) -> Failure:
        """Write a status for any code."""
        mapped = self._mapping.get(code, UNKNOWN)
        return Failure(mapped.status, status_object(mapped, text, data))
