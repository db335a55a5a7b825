"""The JSON-RPC 2.0 envelope: made, and read by the rule BIND-11.

What stands in a reply counts only under our own id. Of an error object the id may be missing: a
server that could not read the request cannot know it. A reply under a foreign id is refused before
anyone looks inside, whatever its HTTP status.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2a_delegate.errors import InvalidReplyError
from a2a_delegate.lifecycle.operations import Fault, OperationName, Unreadable
from a2a_delegate.model.frozen import dataclass
from a2a_delegate.wire import fault_table, first_generation
from a2a_delegate.wire.cut_reply import task_id_in
from a2a_delegate.wire.json_text import NotJSONError, kind_of, parse, write
from a2a_delegate.wire.replies import task_id_of
from a2a_delegate.wire.result import EVIDENCE, WireResult
from a2a_delegate.wire.saying import text_in, text_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from a2a_delegate.model.json_value import JSON
    from a2a_delegate.wire.words import Words

_REDIRECTION = 300
"""From here on the HTTP status itself is the answer, where the body is none."""


@dataclass(frozen=True, slots=True)
class _Flaw:
    """Why a body is no envelope of ours, and what it says in its own words.

    `final`: not even the HTTP status may speak in its place.
    """

    reason: str
    said: str = ""
    final: bool = False
    task_id: str | None = None


def request(request_id: str, words: Words) -> bytes:
    """Put words into an envelope. Raises UsageError where they are no JSON (NaN, other types)."""
    return write(
        {"jsonrpc": "2.0", "id": request_id, "method": words.method, "params": words.params}
    )


def read(
    body: bytes,
    *,
    request_id: str,
    operation: OperationName,
    status: int,
    headers: Mapping[str, str],
    now: datetime,
) -> WireResult | Fault | Unreadable:
    """Read the whole body of a reply; never raises.

    The content type does not matter: a body that is an envelope is one. `headers` has lower-case
    names or ignores case; `now` (aware) is what a date in `Retry-After` is measured from.
    """
    try:
        opened = _open(parse(body), request_id)
    except NotJSONError as problem:
        # A server that counts characters for bytes announces less than it has, and so cuts its own
        # reply.
        sent = operation is OperationName.SEND
        shown = task_id_in(body, request_id=request_id) if sent else None
        opened = _Flaw(str(problem), said=text_of(body), task_id=shown)
    if not isinstance(opened, _Flaw):
        error = opened.get("error")
        if not isinstance(error, dict):
            return WireResult(opened["result"], status, body[:EVIDENCE])
        return fault_table.from_error(
            error, operation=operation, status=status, headers=headers, now=now
        )
    if status >= _REDIRECTION and not opened.final:
        return fault_table.from_status(
            status, operation=operation, headers=headers, now=now, message=opened.said
        )
    unread = InvalidReplyError(method=operation, reason=opened.reason, status=status)
    return Unreadable(unread, body[:EVIDENCE], opened.task_id)


def _open(value: object, request_id: str) -> Mapping[str, JSON] | _Flaw:
    """Return an envelope that holds our result or an error object, else what is wrong with it."""
    if not isinstance(value, dict):
        return _Flaw(f"{kind_of(value)}, not a JSON-RPC envelope", said=text_in(value))
    result, error, reply_id = value.get("result"), value.get("error"), value.get("id")
    if value.get("jsonrpc") != "2.0" and first_generation.is_message(value):
        # What else it says stands in a part of its own, which nobody asked for.
        named = f"a message of {first_generation.NAME}"
        flaw = _Flaw(f"{named}, without an envelope", said=named)
    elif value.get("jsonrpc") != "2.0":
        flaw = _Flaw('an object without "jsonrpc": "2.0"', said=text_in(value))
    elif reply_id is not None and reply_id != request_id:
        flaw = _Flaw("a reply under another id than the request's", final=True)
    elif reply_id is None and result is not None:
        flaw = _Flaw("a result without the request's id", final=True)
    elif result is not None and error is not None:
        flaw = _Flaw("both a result and an error", final=True, task_id=task_id_of(result))
    elif result is None and not isinstance(error, dict):
        wrong = "neither a result nor an error" if error is None else f"{kind_of(error)} as error"
        flaw = _Flaw(f"an envelope with {wrong}", said=text_in(value))
    else:
        return value
    return flaw
