"""The side-effect journal: what the agent's own code really did.

A test compares it with what a peer or a client says. One JSON object a line, written in one piece,
so that a reader in another process sees whole lines only.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


class Event(StrEnum):
    """What the journal tells; every `EXECUTE` is followed by one of the next three."""

    EXECUTE = "execute"
    """The agent's code began a turn."""
    DONE = "done"
    """Its work ended by itself; `state` says with what. Written before the peer can know."""
    CANCELLED = "cancelled"
    """Its work was stopped."""
    RAISED = "raised"
    """Its code raised an exception."""
    CANCEL_ASKED = "cancel-asked"
    """Its cancel hook was called, whatever it answered."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One message that an agent has to deal with."""

    message_id: str
    task_id: str
    context_id: str
    text: str
    follow_up: bool
    """Whether it belongs to a task that waits for an answer."""


@dataclass(frozen=True, slots=True)
class Journal:
    """An append-only file of events."""

    path: Path

    def write(self, event: Event, turn: Turn, *, state: str | None = None) -> None:
        """Append one line; `time` is in seconds since the epoch."""
        line = {
            "event": event,
            "message_id": turn.message_id,
            "task_id": turn.task_id,
            "context_id": turn.context_id,
            "text": turn.text,
            "time": time.time(),
        }
        if state is not None:
            line["state"] = state
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
