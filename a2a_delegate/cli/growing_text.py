"""The text of a task's artifacts while it grows, as much of it as a person looks at."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from a2a_delegate.signals import ArtifactChunk

_KEPT = 16_000
"""Characters of the end that are kept of each artifact, and of all of them together."""


class GrowingText:
    """Puts together the text of all artifacts, in the order in which they began.

    Only the end is kept: this is for looking on, and the whole answer comes at the end.
    """

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def take(self, chunk: ArtifactChunk) -> None:
        """Take what has been added to an artifact, or what it is now."""
        name = chunk.artifact.artifact_id
        before = self._texts.get(name, "") if chunk.append else ""
        if name not in self._texts and len(self._texts) >= _KEPT:
            return
        self._texts[name] = (before + chunk.artifact.text)[-_KEPT:]

    @property
    def end(self) -> str:
        """The end of it, artifacts set apart by a blank line."""
        return "\n\n".join(filter(None, self._texts.values()))[-_KEPT:]
