"""Where calls come in at a peer: how they are read and refused there, whatever they ask for."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Protocol

from a2a_delegate.testing.envelope import UnreadableError, method_in, parse
from a2a_delegate.testing.face import Head

if TYPE_CHECKING:
    from collections.abc import Sequence

    from a2a_delegate.testing.acts import RpcError
    from a2a_delegate.testing.behaviours import Operation
    from a2a_delegate.testing.envelope import Call
    from a2a_delegate.testing.face import Face, Json


class Entrance(Protocol):
    """One way in for calls, in one binding or at one place of it."""

    @property
    def face(self) -> Face:
        """The version in which it is answered what cannot be read."""
        ...

    @property
    def has_ids(self) -> bool:
        """Whether a reply names the request that it answers."""
        ...

    def identify(self, body: bytes | None) -> tuple[Operation | None, str | None] | None:
        """Say which operation is asked for, and in which version.

        None where that takes a body, and there is none yet.
        """
        ...

    def foretell(self, beginning: bytes) -> Operation | None:
        """Say which operation is asked for, when this much of the body has come."""
        ...

    def parse(self, body: bytes) -> Call:
        """Return the call. Raises UnreadableError, and nothing else."""
        ...

    def error(self, act: RpcError, body: bytes) -> tuple[Head, Json]:
        """Write a made-up error."""
        ...


class JsonRpc:
    """The one place of JSON-RPC, for all versions that are spoken there: an `Entrance`."""

    has_ids = True

    def __init__(self, faces: Sequence[Face]) -> None:
        self._faces = faces
        self.face = faces[0]

    def identify(self, body: bytes | None) -> tuple[Operation | None, str | None] | None:
        """Read it off the method in the body."""
        if body is None:
            return None
        try:
            call = self.parse(body)
        except UnreadableError:
            return None, None
        return call.operation, call.face.words.version

    def foretell(self, beginning: bytes) -> Operation | None:
        """Read it off the method, where it has come."""
        method = method_in(beginning) or ""
        known = (face.words.methods.get(method) for face in self._faces)
        return next(filter(None, known), None)

    def parse(self, body: bytes) -> Call:
        """Return the call in the envelope."""
        return parse(body, self._faces)

    def error(self, act: RpcError, body: bytes) -> tuple[Head, Json]:
        """Write an error object, under the id of the request or none."""
        error: Json = {"code": act.code, "message": act.message}
        if act.data is not None:
            error["data"] = act.data
        request_id = _id_of(body) if act.with_id else None
        return Head(act.status), {"jsonrpc": "2.0", "id": request_id, "error": error}


def _id_of(content: bytes) -> object:
    try:
        request = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return request.get("id") if isinstance(request, dict) else None
