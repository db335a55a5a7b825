"""What an error answer means: one table, by reason, then by code, then by HTTP status.

It serves all versions and bindings, and both mappings of errors to HTTP statuses that call
themselves 1.0 (those of 1.0.0 and 1.0.1 differ, and no request can tell which one a server
follows): an error that names its reason or its code decides by itself, so the status beside it
hardly matters.

Several kinds count as proof that the peer never began (the verdict table of the design). So each
rule here is narrower than it could be: text from an agent's own code can be in every message, and
may well say "not found" or "not supported" after hours of work.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import TYPE_CHECKING

from a2a_delegate.errors import A2ARequestError
from a2a_delegate.lifecycle.faults import VERSION_SHAPED
from a2a_delegate.lifecycle.operations import Fault, FaultKind, OperationName
from a2a_delegate.wire import first_generation
from a2a_delegate.wire.reading_parts import text_or_none

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from a2a_delegate.model.json_value import JSON

BY_REASON: Mapping[str, FaultKind] = {
    "TASK_NOT_FOUND": FaultKind.TASK_NOT_FOUND,
    "TASK_NOT_CANCELABLE": FaultKind.TASK_NOT_CANCELABLE,
    "UNSUPPORTED_OPERATION": FaultKind.UNSUPPORTED,
    "METHOD_NOT_FOUND": FaultKind.METHOD_NOT_FOUND,
    "EXTENSION_SUPPORT_REQUIRED": FaultKind.EXTENSION_REQUIRED,
    "VERSION_NOT_SUPPORTED": FaultKind.VERSION_NOT_SUPPORTED,
}
"""`google.rpc.ErrorInfo.reason`; the others say nothing that their code does not."""

BY_CODE: Mapping[int, FaultKind] = {
    -32700: FaultKind.PARSE_ERROR,
    -32601: FaultKind.METHOD_NOT_FOUND,
    -32001: FaultKind.TASK_NOT_FOUND,
    -32002: FaultKind.TASK_NOT_CANCELABLE,
    -32004: FaultKind.UNSUPPORTED,
    -32008: FaultKind.EXTENSION_REQUIRED,
    -32009: FaultKind.VERSION_NOT_SUPPORTED,
}
"""JSON-RPC codes that mean one thing; what is not here is OTHER, or decided by its text."""

BY_STATUS: Mapping[int, FaultKind] = {
    307: FaultKind.REDIRECTED,
    308: FaultKind.REDIRECTED,
    401: FaultKind.DENIED,
    403: FaultKind.DENIED,
    404: FaultKind.NO_ENDPOINT,
    405: FaultKind.METHOD_NOT_ALLOWED,
    413: FaultKind.CONTENT_TOO_LARGE,
    415: FaultKind.MEDIA_TYPE,
    429: FaultKind.RATE_LIMITED,
}
"""HTTP statuses without an error object; 401 with `WWW-Authenticate` is UNAUTHENTICATED."""

_JSON_RPC_CODES = range(-32768, -31999)
"""The codes that JSON-RPC keeps for protocols; some servers put them into errors of HTTP+JSON."""

_ON_A_TASK = frozenset({OperationName.GET, OperationName.CANCEL, OperationName.SUBSCRIBE})
"""The operations that name a task, and that no agent's code answers."""

_PROBLEM = r"https?://a2a-protocol\.org/errors/([a-z-]{1,60})"
"""The type of a problem (RFC 9457), as the examples of 1.0 have it: the reason in small letters."""

_ADDRESS_GONE = frozenset(
    {FaultKind.NO_ENDPOINT, FaultKind.METHOD_NOT_ALLOWED, FaultKind.REDIRECTED}
)

_DOMAIN = "a2a-protocol.org"
_INVALID_REQUEST, _INVALID_PARAMS = -32600, -32602

_SECONDS = r"[ \t]*[0-9]{1,9}(?:\.[0-9]{0,9})?[ \t]*"
_DATE = 64
"""Characters that a date in a header may have."""

_TEXT = 300
"""Characters of a message that are looked at; the patterns are anchored at its beginning."""

# Patterns for text in small letters; they are compiled when the first error of their kind comes.
# One word may stand between the subject and what is said of it: the version, the method.
_NOT_SUPPORTED = r"\b(?:\W{1,3}\S{1,60})?\W{1,3}(?:is |was )?not supported\b"
_NOT_FOUND = r"\b(?:\W{1,3}\S{1,60})?\W{1,3}(?:is |was )?not (?:found|supported)\b"
_UNKNOWN = r"(?:unknown|unsupported|invalid|no such)"
_OURS = (
    r"['\"`]?(?:send(?:streaming)?message|gettask|listtasks|canceltask|subscribetotask"
    r"|message/(?:send|stream)|tasks/(?:get|cancel|resubscribe))\b"
)

_A2A_VERSION = (
    rf"(?:the )?(?:requested )?a2a(?: protocol)? version{_NOT_SUPPORTED}"
    r"|unsupported a2a(?: protocol)? version\b"
)
_ANY_VERSION = (
    rf"(?:the )?(?:requested )?(?:protocol )?version{_NOT_SUPPORTED}"
    r"|unsupported (?:protocol )?version\b"
)
_A2A_METHOD = (
    rf"{_UNKNOWN} method\W{{1,3}}{_OURS}"
    rf"|method not (?:found|supported)\W{{1,3}}{_OURS}"
    rf"|method {_OURS}['\"`]? (?:is )?not (?:found|supported)\b"
)
_ANY_METHOD = rf"{_UNKNOWN} method\b|method{_NOT_FOUND}"
_NO_TASK = (
    r"(?:unknown|no such) task\b"
    r"|(?:the )?task\b[^\n]{0,120}(?:not found|does not exist)"
)

BY_TEXT: Mapping[int, tuple[tuple[str, FaultKind], ...]] = {
    -32600: (
        (_ANY_VERSION, FaultKind.VERSION_NOT_SUPPORTED),
        (_A2A_VERSION, FaultKind.VERSION_NOT_SUPPORTED),
        (_ANY_METHOD, FaultKind.VERSION_NOT_SUPPORTED),
    ),
    # Agent code raises into this one, so here the text has to speak of A2A itself.
    -32603: (
        (_A2A_VERSION, FaultKind.VERSION_NOT_SUPPORTED),
        (_A2A_METHOD, FaultKind.VERSION_NOT_SUPPORTED),
    ),
    # Agent code can raise into the answer to a send; no agent runs for a get.
    -32602: ((_NO_TASK, FaultKind.TASK_NOT_FOUND),),
}
"""Codes that mean several things, told apart by how their message begins. -32602 not of a send."""


def from_error(
    error: Mapping[str, JSON],
    *,
    operation: OperationName,
    status: int,
    headers: Mapping[str, str],
    now: datetime,
) -> Fault:
    """Read a JSON-RPC error object, whatever the HTTP status that it came with."""
    raw = error.get("code")
    text = error.get("message")
    data = error.get("data")
    reason = _reason(data)
    message = text if isinstance(text, str) else data if isinstance(data, str) else ""
    if any(first_generation.is_expected(complaint) for complaint in _objects(data)):
        message = f"{message} (the peer speaks {first_generation.NAME})"
    return Fault(
        BY_REASON.get(reason or "") or _by_code(_code(raw), message, data, operation, status),
        A2ARequestError(
            method=operation,
            status=status,
            # "-32001" is shown as the number it means, but it proves nothing: a code is a number.
            code=_code(raw) if not isinstance(raw, str) else _number_in(raw),
            reason=reason,
            message=message,
            retry_after=retry_after(headers, now=now),
        ),
    )


def from_document(
    document: Mapping[str, JSON],
    *,
    operation: OperationName,
    status: int,
    headers: Mapping[str, str],
    now: datetime,
    message: str,
) -> Fault:
    """Read the error document of HTTP+JSON, in any of its shapes; `message` is what it says.

    The shapes are that of 1.0, a google.rpc.Status by itself, a problem of RFC 9457, and those of
    0.3, which defines none: a message alone, or with the code of JSON-RPC.
    """
    code, data = _code(document.get("code")), document.get("data")
    known = code if code in _JSON_RPC_CODES else None
    reason = _reason(document.get("details")) or _reason(data) or _problem(document.get("type"))
    if reason is None and known is None:
        fault = from_status(status, operation=operation, headers=headers, now=now, message=message)
        kind = _by_document(document, message, operation, status)
        return fault if kind is None else Fault(kind, fault.error)
    return Fault(
        BY_REASON.get(reason or "") or _by_code(known, message, data, operation, status),
        A2ARequestError(
            method=operation,
            status=status,
            code=known,
            reason=reason,
            message=message,
            retry_after=retry_after(headers, now=now),
        ),
    )


def is_code(value: JSON) -> bool:
    """Whether a value is a code of JSON-RPC, and so the sign of an error wherever it stands."""
    return _code(value) in _JSON_RPC_CODES


def from_status(
    status: int,
    *,
    operation: OperationName,
    headers: Mapping[str, str],
    now: datetime,
    message: str = "",
) -> Fault:
    """Read an answer that has no error object of ours: its HTTP status is all that counts."""
    kind = BY_STATUS.get(status, FaultKind.OTHER)
    if status == HTTPStatus.UNAUTHORIZED and headers.get("www-authenticate"):
        kind = FaultKind.UNAUTHENTICATED
    error = A2ARequestError(
        method=operation,
        status=status,
        message=message,
        retry_after=retry_after(headers, now=now),
    )
    return Fault(kind, error)


def says_gone(error: A2ARequestError) -> bool:
    """Whether an error says that the version or the address of the agent's card is gone."""
    if error.code is not None or error.reason is not None:
        kind = BY_REASON.get(error.reason or "") or BY_CODE.get(error.code or 0)
        return kind in VERSION_SHAPED
    gone = BY_STATUS.get(error.status or 0) in _ADDRESS_GONE
    return gone or error.status == HTTPStatus.GONE


def retry_after(headers: Mapping[str, str], *, now: datetime) -> float | None:
    """Return the seconds that `Retry-After` asks for: finite, at least 0; None for nonsense.

    `headers` has lower-case names or ignores case; `now` is what a date is measured from.
    """
    value = headers.get("retry-after")
    if not value:
        return None
    if re.fullmatch(_SECONDS, value):
        return float(value)
    try:
        moment = parsedate_to_datetime(value[:_DATE])
    except (ValueError, TypeError, OverflowError):
        return None
    zoned = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, (zoned - now).total_seconds())


def _by_code(
    code: int | None, text: str, data: JSON, operation: OperationName, status: int
) -> FaultKind:
    decided = BY_CODE.get(code or 0)
    if decided is not None:
        return decided
    if code == _INVALID_REQUEST and _only_other_methods(data):
        return FaultKind.VERSION_NOT_SUPPORTED
    if code != _INVALID_PARAMS or operation is not OperationName.SEND:
        said = text[:_TEXT].strip().lower()
        for pattern, kind in BY_TEXT.get(code or 0, ()):
            if re.match(pattern, said):
                return kind
    return FaultKind.DENIED if status in (401, 403) else FaultKind.OTHER


def _by_document(
    document: Mapping[str, JSON], message: str, operation: OperationName, status: int
) -> FaultKind | None:
    """Read an error that names neither a reason nor a code of A2A; None: its status decides.

    An agent's code answers a send, so nothing that is found here may prove that it never began.
    """
    word, number = document.get("status"), _code(document.get("code"))
    if status == HTTPStatus.UNSUPPORTED_MEDIA_TYPE:
        # No gate before the agent: 0.3 and 1.0.0 map -32005 to it, which an agent can raise.
        return FaultKind.OTHER
    if operation is OperationName.SEND:
        return None
    if word == "UNIMPLEMENTED":
        return FaultKind.UNSUPPORTED
    if operation is OperationName.CANCEL and (
        HTTPStatus.CONFLICT in (status, number) or word == "FAILED_PRECONDITION"
    ):
        return FaultKind.TASK_NOT_CANCELABLE
    # The JSON of a framework for a path that it does not know is an error document as well.
    if operation in _ON_A_TASK and HTTPStatus.NOT_FOUND in (status, number):
        said = message[:_TEXT].strip().lower()
        if word == "NOT_FOUND" or re.match(_NO_TASK, said):
            return FaultKind.TASK_NOT_FOUND
    return None


def _problem(kind: JSON) -> str | None:
    match = re.fullmatch(_PROBLEM, kind) if isinstance(kind, str) else None
    return None if match is None else match[1].upper().replace("-", "_")


def _only_other_methods(data: JSON) -> bool:
    """Whether a validator complains of the method in every shape that a request may have.

    So a2a-sdk 0.2 refuses a method that it does not know. Where one shape has another complaint,
    the method was known and the parameters were wrong. A validator that chooses the shape by the
    method has one complaint of the whole request: so do the servers of 0.1.
    """
    complaints = list(_objects(data))
    if len(complaints) == 1 and _is_of_the_choice(complaints[0]):
        return True
    wrong: dict[str, bool] = {}
    for complaint in complaints:
        place = complaint.get("loc")
        if not isinstance(place, list) or not place or not isinstance(place[0], str):
            return False
        unknown = place[1:] == ["method"] and complaint.get("type") == "literal_error"
        wrong[place[0]] = wrong.get(place[0], False) or unknown
    return bool(wrong) and all(wrong.values())


def _is_of_the_choice(complaint: Mapping[str, JSON]) -> bool:
    context = complaint.get("ctx")
    chosen_by = context.get("discriminator") if isinstance(context, dict) else None
    return complaint.get("type") == "union_tag_invalid" and chosen_by == "'method'"


def _reason(data: JSON) -> str | None:
    for detail in _objects(data):
        kind, reason = detail.get("@type"), detail.get("reason")
        # Agent code may put anything into the data of an error; only what names the domain of the
        # protocol speaks for the protocol.
        ours = detail.get("domain") == _DOMAIN
        if ours and isinstance(kind, str) and kind.endswith("google.rpc.ErrorInfo"):
            return text_or_none(reason)
    return None


def _objects(data: JSON) -> Iterator[Mapping[str, JSON]]:
    items = data if isinstance(data, list) else [data]
    return (item for item in items if isinstance(item, dict))


def _code(value: JSON) -> int | None:
    """Return a code: an integer, also one written as 1.0; true and false are none."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return int(value) if isinstance(value, int) or value.is_integer() else None


def _number_in(text: str) -> int | None:
    return int(text) if re.fullmatch(r"-?[0-9]{1,9}", text) else None
