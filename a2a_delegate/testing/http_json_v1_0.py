"""A2A 1.0 over HTTP+JSON as a2a-sdk 1.3 serves it: the bodies are the results of JSON-RPC."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from a2a_delegate.testing.error_details import details_of
from a2a_delegate.testing.face import Head
from a2a_delegate.testing.face_v1_0 import FaceV10
from a2a_delegate.testing.http_json import Failure, Route, subscribing
from a2a_delegate.testing.http_statuses import MAPPINGS, UNKNOWN, status_object
from a2a_delegate.testing.requests import Fault, Objection, RefusedError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from a2a_delegate.testing.behaviours import Operation
    from a2a_delegate.testing.clock import PeerClock
    from a2a_delegate.testing.face import Json

MEDIA_TYPE: Final = "application/a2a+json"

_CONFIGS: Final = "tasks/{id}/pushNotificationConfigs"
_ROUTES: Final = (
    Route("POST", "message:send", "SendMessage"),
    Route("POST", "message:stream", "SendStreamingMessage"),
    Route("POST", "tasks/{id}:cancel", "CancelTask"),
    Route("GET", "tasks/{id}", "GetTask"),
    Route("GET", "tasks", "ListTasks"),
    Route("POST", _CONFIGS, "CreateTaskPushNotificationConfig"),
    Route("GET", _CONFIGS, "ListTaskPushNotificationConfigs"),
    Route("GET", f"{_CONFIGS}/{{config}}", "GetTaskPushNotificationConfig"),
    Route("DELETE", f"{_CONFIGS}/{{config}}", "DeleteTaskPushNotificationConfig"),
    Route("GET", "extendedAgentCard", "GetExtendedAgentCard"),
)

NAMES_THE_TASK: Final = (Fault.TASK_NOT_FOUND, "Task not found: {task}")
"""How servers that know a subscription by POST alone refuse a GET: no task has that id."""


class HttpJsonV10(FaceV10):
    """A2A 1.0 over HTTP+JSON.

    `subscribe` are the verbs that a subscription takes, `mapping` is the patch whose errors it has.
    """

    takes_tenants = True

    def __init__(
        self,
        clock: PeerClock,
        *,
        tenant: str | None,
        lists: bool,
        subscribe: Sequence[str],
        mapping: str,
    ) -> None:
        super().__init__(clock, tenant=tenant, lists=lists)
        path = "tasks/{id}:subscribe"
        self.routes: Sequence[Route] = (*subscribing(subscribe, path, "SubscribeToTask"), *_ROUTES)
        self._mapping = MAPPINGS[mapping]
        if "GET" not in subscribe:
            objections = {**self.words.objections, Objection.UNKNOWN: NAMES_THE_TASK}
            self.words = replace(self.words, objections=objections)

    def reply(self, request_id: object, result: object) -> Json:
        """Write the result alone."""
        del request_id
        assert isinstance(result, dict)  # noqa: S101 - as all results of this peer are
        return result

    def refusal(self, request_id: object, error: RefusedError) -> Json:
        """Write a status with its details."""
        del request_id
        mapped = self._mapping[error.fault.code]
        return status_object(mapped, error.text, details_of(error, mapped.reason))

    def failure(self, code: int, text: str, data: object) -> Failure:
        """Write a status for any code."""
        mapped = self._mapping.get(code, UNKNOWN)
        return Failure(mapped.status, status_object(mapped, text, data))

    def head(self, answered: Operation | RefusedError | None) -> Head:
        """Answer as `application/a2a+json`; an error is `application/json`, as a2a-sdk has it."""
        if isinstance(answered, RefusedError):
            return Head(self._mapping[answered.fault.code].status)
        return Head(media_type=MEDIA_TYPE)
