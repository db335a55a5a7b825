"""What is seen of one request while it travels.

Exceptions do not tell whether a request left: a connect error and a reset after the last byte
can look alike. So the body itself is watched as the transport pulls it, and it can be sealed,
after which no byte of it leaves any more, whatever the transport still does.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from a2a_delegate.lifecycle.operations import StreamEvent

EVIDENCE_BYTES = 64 * 1024
"""How much of a reply is kept to show what came."""


class SealedError(Exception):
    """The transport pulled a body that had been sealed; nothing of it was handed over."""


def _ignore(_: str) -> None:
    """Take an id that nobody waits for."""


def _nothing() -> None:
    """Take the news that nobody waits for."""


def _unseen(_: StreamEvent) -> None:
    """Take an event that nobody waits for."""


async def _at_once() -> None:
    """Hold nothing back."""


@dataclass(slots=True, eq=False, repr=False)
class Exchange:
    """One attempt of one request: filled by whoever carries it, read by whoever judges it.

    `on_left` is called once, as the first byte of the body is about to be handed over; `on_id`
    as soon as the reply shows a task id, which may be long before the reply is complete; `on_event`
    for each event of a stream, and `pace` is awaited after it, by which a slow reader holds the
    stream back. `shown`: an event has come.
    `evidence` is what has come of the reply so far; it is here, and not only in what the carrier
    returns, because a carrier that is cancelled returns nothing.
    """

    on_left: Callable[[], None] = _nothing
    on_id: Callable[[str], None] = _ignore
    on_event: Callable[[StreamEvent], None] = _unseen
    pace: Callable[[], Awaitable[None]] = _at_once
    body_left: bool = False
    sealed: bool = False
    http_status: int | None = None
    shown: bool = False
    _seen: bytearray = field(default_factory=bytearray, init=False)

    def leave(self) -> None:
        """Record that the body goes now. Raises SealedError when it may not go any more."""
        if self.sealed:
            raise SealedError
        if not self.body_left:
            self.body_left = True
            self.on_left()

    def show(self, event: StreamEvent) -> None:
        """Take an event of the stream that the reply is."""
        self.shown = True
        self.on_event(event)

    @property
    def evidence(self) -> bytes:
        """The first bytes of the reply, as received, at most `EVIDENCE_BYTES`."""
        return bytes(self._seen)

    def see(self, chunk: bytes) -> None:
        """Keep a piece of the reply as evidence, as far as there is room."""
        room = EVIDENCE_BYTES - len(self._seen)
        if room > 0:
            self._seen += chunk[:room]

    def seal(self) -> bool:
        """Let no byte leave from now on; return whether any has left before."""
        self.sealed = True
        return self.body_left
