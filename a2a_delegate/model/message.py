"""Messages: one turn of either side (A2A 1.0 section 4.1.4)."""

from __future__ import annotations

import hashlib
from enum import StrEnum
from typing import TYPE_CHECKING

from a2a_delegate.model.frozen import dataclass
from a2a_delegate.model.json_value import sha256
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


def digest_of(message: Message) -> str:
    """Return the SHA-256 of what a message says, without its ids, in hexadecimal.

    Two messages with one digest ask for the same work. Files count by the SHA-256 of their bytes.
    """
    said = [_canonical_part(part) for part in message.parts]
    metadata = None if message.metadata is None else dict(message.metadata)
    return sha256([said, metadata])


def _canonical_part(part: Part) -> JSON:
    content = getattr(part, "content", None)
    facts = {name: getattr(part, name) for name in part.__slots__}
    if content is not None:
        facts["content"] = hashlib.sha256(content).hexdigest()
    if facts.get("metadata") is not None:
        facts["metadata"] = dict(facts["metadata"])
    return {"kind": type(part).__name__, **facts}
