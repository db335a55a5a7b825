"""A request as it came over a wire."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from a2a_delegate.testing.truth import headers_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    import h11


class PortArrival:
    """A request as it came over a wire: its head, and as much of its body as was waited for."""

    on_a_port = True

    def __init__(self, head: h11.Request, endpoint: str) -> None:
        self.method = head.method.decode("ascii", "replace")
        self.target = head.target.decode("ascii", "replace")
        self.headers: Mapping[str, str] = headers_of(
            {name.decode("latin-1"): value.decode("latin-1") for name, value in head.headers}
        )
        self.endpoint = endpoint
        self.is_whole = False
        self._operation: str | None = None
        self._body = bytearray()
        self._first = 0
        self._look_at = 1

    def add(self, piece: bytes) -> None:
        """Take in what came of its body."""
        self._body += piece
        self._first = self._first or len(piece)

    @property
    def came(self) -> bytes:
        """What has come of the body."""
        return bytes(self._body)

    @property
    def size(self) -> int:
        """How much of the body has come."""
        return len(self._body)

    def is_worth_a_look(self, most: int) -> bool:
        """Whether so much has come since the last look that another may show more, up to `most`.

        However small the pieces are in which a body comes, few looks are taken at it.
        """
        if not self._look_at <= self.size <= most:
            return False
        self._look_at = 2 * self.size
        return True

    def tell(self, operation: str) -> None:
        """Take note of what it asks for, where that is known before all of it has come."""
        self._operation = operation

    def foretold(self) -> str | None:
        """Return what it asks for, where that was told."""
        return self._operation

    def content(self) -> bytes | None:
        """Return the body where all of it has come."""
        return self.came if self.is_whole else None

    async def chunks(self) -> AsyncIterator[bytes]:
        """Give what came first, and then the rest."""
        body = self.came
        for piece in (body[: self._first], body[self._first :]):
            if piece:
                yield piece

    def patience(self, phase: str) -> float:
        """Return how long the client waits, which nobody here knows: it leaves."""
        del phase
        return float("inf")


def path_of(target: str) -> str:
    """Return the decoded path of a request's target, empty where it has none."""
    try:
        return unquote(urlsplit(target).path)
    except ValueError:
        return ""
