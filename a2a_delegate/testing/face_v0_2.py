"""A2A 0.2 over JSON-RPC as a2a-sdk 0.2.16 serves it.

It reads and writes what 0.3 does. Its own are these: whatever is wrong with a request, also an
unknown method, is -32600 with the complaints of a validator about every kind of request, under no
id; `historyLength` changes nothing; and a cancel overwrites the end of a task.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from a2a_delegate.testing import face_v0_3
from a2a_delegate.testing.acts import Finished, Opening, Subscription
from a2a_delegate.testing.requests import Fault, Objection

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from a2a_delegate.testing.clock import PeerClock
    from a2a_delegate.testing.face import Json
    from a2a_delegate.testing.requests import RefusedError
    from a2a_delegate.testing.work import View

_REQUESTS: Mapping[str, str] = {
    "SendMessageRequest": "message/send",
    "SendStreamingMessageRequest": "message/stream",
    "GetTaskRequest": "tasks/get",
    "CancelTaskRequest": "tasks/cancel",
    "SetTaskPushNotificationConfigRequest": "tasks/pushNotificationConfig/set",
    "GetTaskPushNotificationConfigRequest": "tasks/pushNotificationConfig/get",
    "TaskResubscriptionRequest": "tasks/resubscribe",
    "ListTaskPushNotificationConfigRequest": "tasks/pushNotificationConfig/list",
    "DeleteTaskPushNotificationConfigRequest": "tasks/pushNotificationConfig/delete",
}
"""The kinds of request that the validator tries, and the method of each."""

_EXTENDED_CARD = "agent/getAuthenticatedExtendedCard"

VOCABULARY = replace(
    face_v0_3.VOCABULARY,
    version="0.2",
    # The extended card is got by plain HTTP in 0.2.
    unsupported={
        method: answer
        for method, answer in face_v0_3.VOCABULARY.unsupported.items()
        if method != _EXTENDED_CARD
    },
    objections={
        **face_v0_3.VOCABULARY.objections,
        Objection.FINISHED: (
            Fault.INVALID_PARAMS,
            "Task {task} is in terminal state: TaskState.{state}",
        ),
        Objection.NOT_CANCELABLE: (Fault.TASK_NOT_CANCELABLE, "Task cannot be canceled"),
    },
    subscription=Subscription(Opening.SILENCE, Finished.ERROR_EVENT),
    cancels_the_ended=True,
)
"""The words of A2A 0.2."""


class FaceV02(face_v0_3.FaceV03):
    """A2A 0.2; like 0.3 it cannot list, and no header means anything to it."""

    words = VOCABULARY

    def __init__(self, clock: PeerClock) -> None:
        super().__init__(clock, alone=True)

    def task(self, view: View, history_length: int | None) -> Json:
        """Write a Task with all of its history, whatever length was asked for."""
        del history_length
        return super().task(view, None)

    def refusal(self, request_id: object, error: RefusedError) -> Json:
        """Write the envelope of an error; the validator does not know whose request it was."""
        complaints = _complaints(error)
        if not complaints:
            return super().refusal(request_id, error)
        body: Json = {
            "code": Fault.INVALID_REQUEST.code,
            "data": complaints,
            "message": "Request payload validation error",
        }
        return {"error": body, "jsonrpc": "2.0"}


def _complaints(error: RefusedError) -> Sequence[Json]:
    """Return what the validator says of each kind of request; nothing, where it let it pass."""
    if error.field:
        # Of the kind that was meant, only the field is wrong: its method is right.
        own = "GetTaskRequest" if error.field == "id" else "SendMessageRequest"
        place = [own, "params", *error.field.split(".")]
        wrong: Json = {"type": "value_error", "loc": place, "msg": error.problem}
        return [wrong if kind == own else _other_method(kind) for kind in _REQUESTS]
    if error.fault is Fault.METHOD_NOT_FOUND:
        return [_other_method(kind) for kind in _REQUESTS]
    if error.problem or error.fault is Fault.INVALID_REQUEST:
        msg = error.problem or error.text
        return [{"type": "model_type", "loc": [kind], "msg": msg} for kind in _REQUESTS]
    return []


def _other_method(kind: str) -> Json:
    msg = f"Input should be '{_REQUESTS[kind]}'"
    return {"type": "literal_error", "loc": [kind, "method"], "msg": msg}
