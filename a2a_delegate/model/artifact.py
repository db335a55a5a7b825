"""Artifacts: what a task has made (A2A 1.0 section 4.1.7)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2a_delegate.model.frozen import dataclass
from a2a_delegate.model.part import text_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from a2a_delegate.model.json_value import JSON
    from a2a_delegate.model.part import Part


@dataclass(frozen=True, slots=True)
class Artifact:
    """One artifact; `artifact_id` is empty where the peer gave none."""

    artifact_id: str
    parts: tuple[Part, ...]
    name: str | None = None
    description: str | None = None
    extensions: tuple[str, ...] = ()
    metadata: Mapping[str, JSON] | None = None

    @property
    def text(self) -> str:
        """The text parts, joined without a gap."""
        return text_of(self.parts)
