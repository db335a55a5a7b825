"""The errors of A2A as HTTP+JSON has them: their HTTP status, their word and their reason.

A2A 1.0.1 section 5.4; six of its mappings differ from those of 1.0.0, which servers in use follow
as well. Errors go by their JSON-RPC code here, so that a script names them alike in each binding.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from a2a_delegate.testing.error_details import error_info

if TYPE_CHECKING:
    from collections.abc import Mapping

    from a2a_delegate.testing.face import Json


@dataclass(frozen=True, slots=True)
class Mapped:
    """One error: HTTP status, status of gRPC, and reason; without a reason there are no details."""

    status: int
    word: str
    reason: str = ""


UNKNOWN: Final = Mapped(500, "INTERNAL")
"""An error that has no code of the specification."""

_V1_0_1: Final[Mapping[int, Mapped]] = {
    -32700: Mapped(400, "INVALID_ARGUMENT", "INVALID_REQUEST"),
    -32600: Mapped(400, "INVALID_ARGUMENT", "INVALID_REQUEST"),
    -32601: Mapped(404, "NOT_FOUND", "METHOD_NOT_FOUND"),
    -32602: Mapped(400, "INVALID_ARGUMENT", "INVALID_PARAMS"),
    -32603: Mapped(500, "INTERNAL", "INTERNAL_ERROR"),
    -32001: Mapped(404, "NOT_FOUND", "TASK_NOT_FOUND"),
    -32002: Mapped(400, "FAILED_PRECONDITION", "TASK_NOT_CANCELABLE"),
    -32003: Mapped(400, "FAILED_PRECONDITION", "PUSH_NOTIFICATION_NOT_SUPPORTED"),
    -32004: Mapped(400, "FAILED_PRECONDITION", "UNSUPPORTED_OPERATION"),
    -32005: Mapped(400, "INVALID_ARGUMENT", "CONTENT_TYPE_NOT_SUPPORTED"),
    -32006: Mapped(500, "INTERNAL", "INVALID_AGENT_RESPONSE"),
    -32007: Mapped(400, "FAILED_PRECONDITION", "EXTENDED_AGENT_CARD_NOT_CONFIGURED"),
    -32008: Mapped(400, "FAILED_PRECONDITION", "EXTENSION_SUPPORT_REQUIRED"),
    -32009: Mapped(400, "FAILED_PRECONDITION", "VERSION_NOT_SUPPORTED"),
}

MAPPINGS: Final[Mapping[str, Mapping[int, Mapped]]] = MappingProxyType(
    {
        "1.0.1": _V1_0_1,
        "1.0.0": {
            **_V1_0_1,
            -32002: Mapped(409, "FAILED_PRECONDITION", "TASK_NOT_CANCELABLE"),
            -32003: Mapped(400, "UNIMPLEMENTED", "PUSH_NOTIFICATION_NOT_SUPPORTED"),
            -32004: Mapped(400, "UNIMPLEMENTED", "UNSUPPORTED_OPERATION"),
            -32005: Mapped(415, "INVALID_ARGUMENT", "CONTENT_TYPE_NOT_SUPPORTED"),
            -32006: Mapped(502, "INTERNAL", "INVALID_AGENT_RESPONSE"),
            -32009: Mapped(400, "UNIMPLEMENTED", "VERSION_NOT_SUPPORTED"),
        },
    }
)
"""Both mappings of 1.0, by the patch that has them."""

OF_A2A_SDK: Final[Mapping[int, int]] = {
    -32700: 400,
    -32600: 400,
    -32601: 404,
    -32602: 422,
    -32001: 404,
    -32002: 409,
    -32003: 501,
    -32004: 501,
    -32005: 415,
    -32006: 502,
    -32007: 404,
}
"""HTTP statuses of 0.3 in a2a-sdk 0.3; all else is 500. The specification of 0.3 has none."""

OF_JS: Final[Mapping[int, int]] = {
    -32700: 400,
    -32600: 400,
    -32601: 404,
    -32602: 400,
    -32001: 404,
    -32002: 409,
    -32003: 400,
    -32004: 400,
}
"""HTTP statuses of 0.3 in @a2a-js/sdk 0.3; all else is 500."""


def status_object(mapped: Mapped, text: str, data: object) -> Json:
    """Write the error of 1.0: a status of Google's APIs. `data` is what JSON-RPC would have.

    A list is the details as they are; an object becomes the metadata of the one that is made.
    """
    error: Json = {"code": mapped.status, "status": mapped.word, "message": text}
    if isinstance(data, list):
        error["details"] = data
    elif mapped.reason:
        metadata = data if isinstance(data, dict) else {}
        error["details"] = [error_info(mapped.reason, metadata)]
    return {"error": error}
