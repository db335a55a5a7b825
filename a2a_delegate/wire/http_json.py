"""Requests of HTTP+JSON and the bodies that answer them (1.0 section 11, 0.3 section 3.5.6).

There is no envelope and no id: the answer to a request is what comes back on its connection. So a
body is a result by itself, or an error document, which servers spell in five ways.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never
from urllib.parse import quote

from a2a_delegate.errors import InvalidReplyError
from a2a_delegate.lifecycle.operations import Fault, OperationName, Unreadable
from a2a_delegate.model.frozen import dataclass
from a2a_delegate.wire import fault_table
from a2a_delegate.wire.cut_reply import task_id_in
from a2a_delegate.wire.json_text import NotJSONError, parse, write
from a2a_delegate.wire.result import EVIDENCE, WireResult
from a2a_delegate.wire.saying import text_in, text_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from a2a_delegate.model.json_value import JSON
    from a2a_delegate.wire.words import Words

_REDIRECTION = 300
"""From here on the HTTP status says that there is no result, whatever the body looks like."""

_RESULTS = (
    *("task", "message", "tasks", "statusUpdate", "artifactUpdate"),
    *("status", "artifact", "parts", "content"),
)
"""Members of a result that hold something: of its wrapper, or of what stands there without one."""

_OF_AN_ERROR = frozenset({"code", "message", "data", "status", "details"})
"""Members of an error that stands there by itself."""

_WITH_BODY = frozenset({OperationName.SEND, OperationName.CANCEL, OperationName.SUBSCRIBE})


@dataclass(frozen=True, slots=True)
class Resource:
    """Where a request goes, below the address of its interface, and what it brings.

    `path` and `query` are percent-encoded. `root` stands before the path, unless the address ends
    with it already. `body` None is a GET, anything else a POST.
    """

    root: str
    path: str
    query: str = ""
    body: bytes | None = None


def request(
    name: OperationName, words: Words, *, streamed: bool = False, by_get: bool = False
) -> Resource:
    """Say where words go; `streamed` asks for events, `by_get` subscribes without a body.

    The task and the tenant are taken out of the parameters by their names, as the transcoding rules
    of the specification do it; a body keeps the tenant (1.0 section 8.3.2, CARD-8).

    Raises UsageError where the words are no JSON (NaN, other types).
    """
    params = dict(words.params)
    tenant = params.get("tenant")
    path = f"{_segment(tenant)}/" if tenant else ""
    match name:
        case OperationName.SEND:
            path += "message:stream" if streamed else "message:send"
        case OperationName.LIST:
            path += "tasks"
        case OperationName.GET | OperationName.CANCEL | OperationName.SUBSCRIBE:
            verb = "" if name is OperationName.GET else f":{name}"
            path += f"tasks/{_segment(params.pop('id'))}{verb}"
        case _:
            assert_never(name)
    if name in _WITH_BODY and not by_get:
        return Resource(words.root, path, body=write(params))
    asked = [f"{key}={_value(value)}" for key, value in params.items() if key != "tenant"]
    return Resource(words.root, path, "&".join(asked))


def read(
    body: bytes,
    *,
    operation: OperationName,
    status: int,
    headers: Mapping[str, str],
    now: datetime,
) -> WireResult | Fault | Unreadable:
    """Read the whole body of a reply, or one event of a stream; never raises.

    The content type does not matter: what is JSON is read. `headers` has lower-case names or
    ignores case; `now` (aware) is what a date in `Retry-After` is measured from.
    """
    try:
        value = parse(body)
    except NotJSONError as problem:
        if status >= _REDIRECTION:
            return fault_table.from_status(
                status, operation=operation, headers=headers, now=now, message=text_of(body)
            )
        unread = InvalidReplyError(method=operation, reason=str(problem), status=status)
        shown = task_id_in(body, request_id=None) if operation is OperationName.SEND else None
        return Unreadable(unread, body[:EVIDENCE], shown)
    document = _error_in(value, status)
    if document is not None:
        return fault_table.from_document(
            document,
            operation=operation,
            status=status,
            headers=headers,
            now=now,
            message=text_in(document),
        )
    if status >= _REDIRECTION:
        return fault_table.from_status(
            status, operation=operation, headers=headers, now=now, message=text_in(value)
        )
    return WireResult(value, status, body[:EVIDENCE])


def _segment(text: JSON) -> str:
    """Encode any text as one segment of a path, which no reader of paths takes for several."""
    encoded = quote(str(text), safe="", errors="surrogatepass")
    # These two mean a way through the path, and a reader would walk it.
    return encoded.replace(".", "%2E") if encoded in (".", "..") else encoded


def _value(value: JSON) -> str:
    spelled = str(value).lower() if isinstance(value, bool) else str(value)
    return quote(spelled, safe="", errors="surrogatepass")


def _error_in(value: object, status: int) -> Mapping[str, JSON] | None:
    """Find the error document in a body, if it is one.

    In a stream the status is that of the whole, so under success a document has to show what it is;
    and some errors prove that nothing ran, so nothing that may be a result is taken for one.
    """
    if not isinstance(value, dict):
        return None
    failed = status >= _REDIRECTION
    if not failed and any(isinstance(value.get(name), dict | list) for name in _RESULTS):
        return None
    for name in ("error", "detail") if failed else ("error",):
        inner = value.get(name)
        if isinstance(inner, dict):
            return inner
    bare = fault_table.is_code(value.get("code")) and value.keys() <= _OF_AN_ERROR
    return value if failed or bare else None
