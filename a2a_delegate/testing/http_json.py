"""HTTP+JSON at a peer: from the method and the path of a request to the call in it.

What JSON-RPC says in an envelope is said here by the place: which operation, of which task. The
ids in a path are percent-encoded, and a colon that is not belongs to the place (`tasks/a:cancel`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final, Protocol
from urllib.parse import parse_qsl, unquote

from a2a_delegate.testing.envelope import Call, UnreadableError, load
from a2a_delegate.testing.face import Face, Head
from a2a_delegate.testing.requests import Fault, RefusedError, wrong

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from a2a_delegate.testing.acts import RpcError
    from a2a_delegate.testing.behaviours import Operation
    from a2a_delegate.testing.face import Json

NOT_FOUND: Final = 404
NOT_ALLOWED: Final = 405

_NUMBERS: Final = frozenset({"historyLength", "pageSize"})
_FLAGS: Final[Mapping[str, bool]] = {"true": True, "false": False}


@dataclass(frozen=True, slots=True)
class Route:
    """What a request asks for at one place: `method` is a name of the face's vocabulary."""

    verb: str
    path: str
    method: str


@dataclass(frozen=True, slots=True)
class Failure:
    """How an error looks over HTTP."""

    status: int
    body: Json


class HttpJsonFace(Face, Protocol):
    """A version over HTTP+JSON; `takes_tenants` says that its paths may begin with one."""

    routes: Sequence[Route]
    takes_tenants: bool

    def failure(self, code: int, text: str, data: object) -> Failure:
        """Write an error of this code of JSON-RPC; `data` is what such an error holds."""
        ...


@dataclass(frozen=True, slots=True)
class Routed:
    """A place that was found: an `Entrance`. `given` is what the path and the query say."""

    face: HttpJsonFace
    route: Route
    given: Json
    has_ids = False

    @property
    def operation(self) -> Operation | None:
        """What is asked for here."""
        return self.face.words.methods.get(self.route.method)

    def identify(self, body: bytes | None) -> tuple[Operation | None, str | None]:
        """Say what is asked for here, whatever the body says."""
        del body
        return self.operation, self.face.words.version

    def foretell(self, beginning: bytes) -> Operation | None:
        """Say what is asked for here, whatever has come of the body."""
        del beginning
        return self.operation

    def parse(self, body: bytes) -> Call:
        """Return the call. Raises UnreadableError."""
        params = load(body) if self.route.verb == "POST" and body.strip() else {}
        if not isinstance(params, dict):
            raise UnreadableError(
                RefusedError(Fault.INVALID_REQUEST, "Invalid Request", problem="not an object")
            )
        tenant = self.given.get("tenant")
        if tenant is not None and params.get("tenant") not in {None, "", tenant}:
            raise UnreadableError(wrong("tenant", "Field must be the tenant of the path."))
        method = self.route.method
        streams = method in self.face.words.streams
        return Call(None, self.face, method, self.operation, {**params, **self.given}, streams)

    def error(self, act: RpcError, body: bytes) -> tuple[Head, Json]:
        """Write the error that is to be answered; its status is by the table unless it is said."""
        del body
        failure = self.face.failure(act.code, act.message, act.data)
        return Head(failure.status if act.status == Head().status else act.status), failure.body


class HttpJson:
    """Every place below one URL, in all versions that are spoken there."""

    def __init__(self, faces: Sequence[HttpJsonFace], tenant: str | None) -> None:
        self._places = [
            (re.compile(prefix + _pattern(route.path)), face, route)
            for face in faces
            for prefix in ("", *(("(?P<tenant>[^/]+)/",) if face.takes_tenants and tenant else ()))
            for route in face.routes
        ]

    def find(self, verb: str, place: str, query: str) -> Routed | int:
        """Return what is found at a place, encoded as it stands in the URL; or a status."""
        found = NOT_FOUND
        for pattern, face, route in self._places:
            if (match := pattern.fullmatch(place)) is None:
                continue
            if route.verb == verb:
                said = {name: unquote(value) for name, value in match.groupdict().items()}
                asked = _asked(query) if verb == "GET" else {}
                return Routed(face, route, {**asked, **said})
            found = NOT_ALLOWED
        return found


def subscribing(verbs: Sequence[str], path: str, method: str) -> Iterator[Route]:
    """Yield the routes of a subscription: one for each of these verbs."""
    return (Route(verb, path, method) for verb in verbs)


@cache
def _pattern(path: str) -> str:
    return re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>[^/]+)", re.escape(path))


def _asked(query: str) -> Json:
    """Read the parameters of a query; what is not of its type stays text, and is refused later."""
    asked: Json = {}
    for name, value in parse_qsl(query, keep_blank_values=True):
        if name in _NUMBERS and re.fullmatch(r"-?\d{1,9}", value, re.ASCII):
            asked[name] = int(value)
        else:
            asked[name] = _FLAGS.get(value, value) if name == "includeArtifacts" else value
    return asked
