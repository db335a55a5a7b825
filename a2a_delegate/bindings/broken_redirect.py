"""A redirect that httpx cannot read, and so raises before it hands out the reply.

httpx builds the request that a redirect asks for even where it is not to follow it. An address that
it cannot parse ends the call there, and the reply with the status that matters is gone: a 307 says
that nothing has run. What the transport saw before tells the status.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

TRACE_EXTENSION = "trace"
"""The httpx extension that a transport of httpcore tells its steps to."""

_BEGUN = "send_request_headers.started"
_HEAD_READ = "receive_response_headers.complete"


class HeadTrace:
    """Remembers the status of a reply, told the steps of its request.

    httpcore promises neither the names of the steps nor what they tell; where they are others, no
    status is seen, and the error stays as httpx raised it.
    """

    __slots__ = ("_status",)

    def __init__(self) -> None:
        self._status: int | None = None

    async def __call__(self, step: str, told: Mapping[str, object]) -> None:
        """Take one step."""
        if step.endswith(_BEGUN):
            # An authentication may have asked before, and what was said then says nothing now.
            self._status = None
        elif step.endswith(_HEAD_READ):
            head = told.get("return_value")
            if isinstance(head, tuple):
                self._status = next((one for one in head if isinstance(one, int)), None)

    @property
    def redirect(self) -> int | None:
        """The status of the last reply, where that is a redirect (RFC 9110 section 15.4)."""
        return self._status if self._status and 300 <= self._status < 400 else None  # noqa: PLR2004
