"""Messages: one turn of either side (A2A 1.0 section 4.1.4)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from a2a_delegate.model.part import text_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from a2a_delegate.model.json_value import JSON
    from a2a_delegate.model.part import Part


class Role(StrEnum):
    """Who speaks. A role that is neither is read as the agent's: we know our own messages."""

    USER = "user"
    AGENT = "agent"


@dataclass(frozen=True, slots=True)
class Message:
    """One message. Ids are empty where the peer left them out; `str()` is its text."""

    message_id: str
    role: Role
    parts: tuple[Part, ...]
    context_id: str | None = None
    task_id: str | None = None
    reference_task_ids: tuple[str, ...] = ()
    extensions: tuple[str, ...] = ()
    metadata: Mapping[str, JSON] | None = None

    @property
    def text(self) -> str:
        """The text parts, joined without a gap."""
        return text_of(self.parts)

    def __str__(self) -> str:
        """Return the text."""
        return self.text
