"""The artifacts of a task, put together from what streams and snapshots show of them.

A stream sends an artifact in pieces, by id, with append or to replace (A2A 1.0 section 4.2.2 names
the members, and no text says more: the SDKs agree on what is done here). Pieces can be missed or
come twice, so the final word is the task's own.
"""

from __future__ import annotations

import dataclasses
from dataclasses import replace
from typing import TYPE_CHECKING

from a2a_delegate.model.part import TextPart, text_of
from a2a_delegate.signals import ArtifactChunk

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from a2a_delegate.lifecycle.operations import ArtifactUpdate
    from a2a_delegate.model.artifact import Artifact
    from a2a_delegate.model.part import Part
    from a2a_delegate.model.task import Task


@dataclasses.dataclass(slots=True, eq=False)
class _Growing:
    """One artifact: what was said of it last, and its parts so far."""

    said: Artifact
    parts: list[Part]
    size: int = 0


class Assembly:
    """The artifacts so far. `limit` is how many bytes of pieces are kept.

    What comes beyond it is told and not kept: then only the task itself can show it.
    """

    __slots__ = ("_by_name", "_limit", "_whole")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._by_name: dict[str, _Growing] = {}
        self._whole: tuple[Artifact, ...] | None = ()

    @property
    def artifacts(self) -> tuple[Artifact, ...]:
        """The artifacts, in the order in which they were first shown."""
        if self._whole is None:
            self._whole = tuple(
                [replace(one.said, parts=tuple(one.parts)) for one in self._by_name.values()]
            )
        return self._whole

    def add(self, update: ArtifactUpdate) -> ArtifactChunk:
        """Take one piece from a stream; more of an artifact that is not known begins it."""
        said = update.artifact
        name = said.artifact_id or _named_by(0)
        known = self._by_name.get(name)
        append = update.append and known is not None
        if known is None or not append:
            known = self._by_name[name] = _Growing(said, [])
        if update.size <= self._room():
            known.parts.extend(said.parts)
            known.size += update.size
        self._whole = None
        return ArtifactChunk(update.task_id, said, append=append)

    def _room(self) -> int:
        return self._limit - sum(one.size for one in self._by_name.values())

    def show(self, task: Task, *, streaming: bool) -> Iterator[ArtifactChunk]:
        """Take a snapshot, and say what is new in it.

        One without artifacts takes nothing back: they may have been purged. `streaming`: pieces may
        have come meanwhile that it does not hold yet, so what goes on from it stays.
        """
        if not task.artifacts or task.artifacts == self.artifacts:
            return
        before, self._by_name = self._by_name, dict(self._by_name) if streaming else {}
        whole: tuple[Artifact, ...] | None = None if streaming else task.artifacts
        for name, shown in _named(task.artifacts):
            known = before.get(name)
            if known is not None and streaming and _rest(known.parts, shown.parts) is not None:
                continue
            self._by_name[name] = _Growing(shown, list(shown.parts))
            rest = None if known is None else _rest(shown.parts, known.parts)
            if known is None or rest is None:
                yield ArtifactChunk(task.id, shown)
            elif rest or shown != replace(known.said, parts=shown.parts):
                yield ArtifactChunk(task.id, replace(shown, parts=rest), append=True)
        self._whole = whole

    def copy(self) -> Assembly:
        """Return one that goes on alone."""
        twin = Assembly(self._limit)
        twin._whole = self._whole
        twin._by_name = {
            name: _Growing(one.said, one.parts.copy(), one.size)
            for name, one in self._by_name.items()
        }
        return twin


def _named(artifacts: tuple[Artifact, ...]) -> Iterator[tuple[str, Artifact]]:
    """Tell artifacts apart by their ids, and by their places where the peer gave none."""
    for place, one in enumerate(artifacts):
        yield one.artifact_id or _named_by(place), one


def _named_by(place: int) -> str:
    return f"#{place}"


def _rest(longer: Sequence[Part], shorter: Sequence[Part]) -> tuple[Part, ...] | None:
    """Return what the one has beyond the other; None where it is no continuation of it.

    Text is compared as a whole: peers put its pieces together as they like.
    """
    if all(isinstance(part, TextPart) for part in (*longer, *shorter)):
        text, begin = text_of(longer), text_of(shorter)
        if not text.startswith(begin):
            return None
        return (TextPart(text[len(begin) :]),) if len(text) > len(begin) else ()
    if list(longer[: len(shorter)]) != list(shorter):
        return None
    return tuple(longer[len(shorter) :])
