"""What is seen of one request while it travels.

Exceptions do not tell whether a request left: a connect error and a reset after the last byte
can look alike. So the body itself is watched as the transport pulls it, and it can be sealed,
after which no byte of it leaves any more, whatever the transport still does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class SealedError(Exception):
    """The transport pulled a body that had been sealed; nothing of it was handed over."""


def _ignore(_: str) -> None:
    """Take an id that nobody waits for."""


def _nothing() -> None:
    """Take the news that nobody waits for."""


@dataclass(slots=True)
class Exchange:
    """One attempt of one request: filled by whoever carries it, read by whoever judges it.

    `on_left` is called once, as the first byte of the body is about to be handed over; `on_id`
    as soon as the reply shows a task id, which may be long before the reply is complete.
    """

    on_left: Callable[[], None] = _nothing
    on_id: Callable[[str], None] = _ignore
    body_left: bool = False
    sealed: bool = False
    http_status: int | None = None

    def leave(self) -> None:
        """Record that the body goes now. Raises SealedError when it may not go any more."""
        if self.sealed:
            raise SealedError
        if not self.body_left:
            self.body_left = True
            self.on_left()

    def seal(self) -> bool:
        """Let no byte leave from now on; return whether any has left before."""
        self.sealed = True
        return self.body_left
