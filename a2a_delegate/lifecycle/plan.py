"""What a delegation is about to do: fixed before it starts."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from a2a_delegate.model.frozen import dataclass

if TYPE_CHECKING:
    from a2a_delegate.lifecycle.operations import SendMessage
    from a2a_delegate.model.card import AgentInterface
    from a2a_delegate.outcome import DelegationHandle


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds that the rules are made of, by the names of the delegate's configuration."""

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


class Mission(Enum):
    """What a delegation is to do."""

    HAND_OVER = "hand-over"
    """Send the message, and follow what comes of it."""
    TAKE_UP = "take-up"
    """Follow what was handed over before, and own it from now on."""
    LOOK = "look"
    """Look once at what was handed over before: nothing is stopped, nothing waited for."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question that the message answers: the task that asks, and what tells it from the next.

    `asked_of` is the id of our earlier message, the one that the question came upon.
    """

    task_id: str
    question_id: str | None = None
    asked_of: str = ""


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
    answers: Question | None = None
    """The message goes on with a task that waits for it; no id of a new task is to be learned."""
    streams: bool = False
    """The task may be subscribed to: the peer shows its work to whoever subscribes, unharmed."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A delegation before it starts. `deadline` is on the clock that `now` comes from.

    Where it is not to hand over, the route's intent is the handle as it was kept, and the message
    in its send only names what is looked for.
    """

    delegate_id: str
    route: Route
    timing: Timing
    deadline: float | None = None
    fallback: Route | None = None
    detours: tuple[AgentInterface, ...] = ()
    """Others of the same version, in their order: for a peer that cannot be reached by one."""
    in_process: bool = False
    """Work in this process: no handle, nothing to look up."""
    mission: Mission = Mission.HAND_OVER
    waits_for_auth: bool = False
    """A task that needs credentials is watched on: they may reach it by another way."""
    kept_bytes: int = 32 * 1024 * 1024
    """How much is kept of the pieces of artifacts that a stream shows."""
