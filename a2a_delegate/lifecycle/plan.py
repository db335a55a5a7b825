"""What a delegation is about to do: fixed before it starts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2a_delegate.model.frozen import dataclass

if TYPE_CHECKING:
    from a2a_delegate.lifecycle.operations import SendMessage
    from a2a_delegate.outcome import DelegationHandle


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds that the rules are made of; `design` names in the delegate's configuration."""

    poll_interval: float = 1.0
    poll_interval_max: float = 30.0
    cancel_grace: float = 2.0
    recovery_grace: float = 0.5
    recovery_timeout: float = 5.0

    @property
    def cleanup(self) -> float:
        """The most that cleaning up after a cancel or a deadline may take."""
        return self.recovery_grace + 2 * self.cancel_grace

    @property
    def release(self) -> float:
        """How long a transport that was told to stop may take to do so."""
        return self.cancel_grace / 4


@dataclass(frozen=True, slots=True)
class Route:
    """One way to the peer.

    `intent` is the handle before anything is known; `send` the message in this route's form
    (context ids of ours go only to peers that can list). `looks_up`: the peer can be asked for
    tasks by list; `by_context`: and our own context id goes with the message.
    """

    intent: DelegationHandle
    send: SendMessage
    looks_up: bool = False
    by_context: bool = False
    own_context: bool = False
    """The context id of the message is one that we chose; a peer may refuse it."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A delegation before it starts. `deadline` is on the clock that `now` comes from."""

    delegate_id: str
    route: Route
    timing: Timing
    deadline: float | None = None
    fallback: Route | None = None
    in_process: bool = False
    """Work in this process: no handle, nothing to look up."""
