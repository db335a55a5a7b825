"""From the bytes of a JSON-RPC request to the call in it, in whichever version it was made.

The version is that of the method's name, as in a2a-sdk: 1.0 shares no name with those before it, so
one URL can serve both. Any bytes are answered with an error object; nothing that a client sends
raises more.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from a2a_delegate.testing.requests import Fault, RefusedError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from a2a_delegate.testing.behaviours import Operation
    from a2a_delegate.testing.face import Face

DEEPEST: Final = 100
"""Levels of nesting that are taken; protobuf's JSON reader, which a2a-sdk 1.x uses, stops here."""

_KEY: Final = re.compile(r'\s*[{,]\s*"(?P<name>[^"\\]*)"\s*:\s*')


@dataclass(frozen=True, slots=True)
class Call:
    """A request with a method that the peer knows; its parameters may still be anything.

    `streams` says that the method asks for a stream.
    """

    request_id: str | int | None
    face: Face
    method: str
    operation: Operation | None
    params: object
    streams: bool = False


class UnreadableError(Exception):
    """The bytes are no request; `refusal` is to be answered under `request_id`."""

    def __init__(self, refusal: RefusedError, request_id: str | int | None = None) -> None:
        super().__init__(refusal.text)
        self.refusal = refusal
        self.request_id = request_id


def load(body: bytes) -> object:
    """Return the JSON value that `body` holds. Raises UnreadableError, and nothing else."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise UnreadableError(RefusedError(Fault.PARSE, str(error))) from None
    deep = body.count(b"[") + body.count(b"{") > DEEPEST
    if deep and isinstance(value, dict) and not _is_shallow(value):
        raise UnreadableError(RefusedError(Fault.PARSE, f"nested deeper than {DEEPEST}"))
    return value


def parse(body: bytes, faces: Sequence[Face]) -> Call:
    """Return the call that `body` holds. Raises UnreadableError, and nothing else."""
    request = load(body)
    if not isinstance(request, dict):
        if request and isinstance(request, list):
            raise _invalid("Batch requests are not supported")
        raise _invalid("Invalid Request", problem="a request is an object")
    request_id = request.get("id")
    if isinstance(request_id, bool) or not isinstance(request_id, str | int | None):
        raise _invalid("Invalid request: id must be a string, integer, or null")
    if request.get("jsonrpc") != "2.0":
        raise _invalid("Invalid request: 'jsonrpc' must be exactly '2.0'", request_id)
    method = request.get("method")
    if not isinstance(method, str):
        raise _invalid("Invalid Request", request_id, problem="a request has a method")
    for face in faces:
        if method in face.words.methods or method in face.words.unsupported:
            operation = face.words.methods.get(method)
            streams = method in face.words.streams
            return Call(request_id, face, method, operation, request.get("params", {}), streams)
    raise UnreadableError(RefusedError(Fault.METHOD_NOT_FOUND, "Method not found"), request_id)


def method_in(beginning: bytes) -> str | None:
    """Return the method of a request of which this has come; None where it does not show yet.

    The members before it are read one by one, so that a member of the parameters is not taken for
    it.
    """
    text = beginning.decode("utf-8", "ignore")
    decoder = json.JSONDecoder()
    end = 0
    try:
        while (key := _KEY.match(text, end)) is not None:
            value, end = decoder.raw_decode(text, key.end())
            if key["name"] == "method":
                return value if isinstance(value, str) else None
    except (ValueError, RecursionError):
        pass
    return None


def _is_shallow(request: dict[str, object]) -> bool:
    """Walk down level by level: what can be read is not always shallow enough to be written."""
    level: list[dict[str, object] | list[object]] = [request]
    for _ in range(DEEPEST):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, dict | list)
        ]
        if not level:
            return True
    return False


def _invalid(
    text: str, request_id: str | int | None = None, *, problem: str = ""
) -> UnreadableError:
    return UnreadableError(RefusedError(Fault.INVALID_REQUEST, text, problem=problem), request_id)
