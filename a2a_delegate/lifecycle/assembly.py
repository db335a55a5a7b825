"""The artifacts of a task, put together from what streams and snapshots show of them.

A stream sends an artifact in pieces, by id, with append or to replace (A2A 1.0 section 4.2.2 names
the members, and no text says more: the SDKs agree on what is done here). Pieces can be missed or
come twice, so the final word is the task's own.
"""

from __future__ import annotations

import dataclasses
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING

from a2a_delegate.model.frozen import dataclass
from a2a_delegate.model.part import TextPart, text_of
from a2a_delegate.signals import ArtifactChunk

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from a2a_delegate.lifecycle.operations import ArtifactUpdate
    from a2a_delegate.model.artifact import Artifact
    from a2a_delegate.model.part import Part
    from a2a_delegate.model.task import Task


@dataclass(frozen=True, slots=True)
class _Ahead:
    """What a snapshot showed first, and the stream may show yet, in pieces of any size.

    It begins at a character of one of `runs`, where text parts that follow each other are one: a
    snapshot may be large, and what is left of it is not copied for each small piece.
    """

    runs: tuple[Part, ...] = ()
    run: int = 0
    at: int = 0

    @property
    def left(self) -> tuple[Part, ...]:
        """The parts that the stream has not shown."""
        first, *rest = self.runs[self.run :] or (None,)
        if first is None:
            return ()
        return (TextPart(first.text[self.at :]) if isinstance(first, TextPart) else first, *rest)

    def after(self, shown: Iterable[Part]) -> _Ahead | None:
        """Return what is left behind these parts; None where they are not the next of it."""
        run, at = self.run, self.at
        for part in shown:
            if isinstance(part, TextPart) and not part.text:
                continue
            first = self.runs[run] if run < len(self.runs) else None
            if isinstance(part, TextPart) and isinstance(first, TextPart):
                if not first.text.startswith(part.text, at):
                    return None
                at += len(part.text)
                if at < len(first.text):
                    continue
            elif part != first:
                return None
            run, at = run + 1, 0
        return _Ahead(self.runs, run, at) if run < len(self.runs) else _NOTHING_AHEAD


_NOTHING_AHEAD = _Ahead()


@dataclasses.dataclass(slots=True, eq=False, repr=False)
class _Growing:
    """One artifact: all that was said of it, and its parts so far, which may be more."""

    said: Artifact
    parts: list[Part]
    size: int = 0
    """How many bytes the pieces had; a snapshot is bounded by itself."""
    streamed: bool = False
    """A piece began it, and a snapshot that lacks it may be older than that."""
    cut: bool = False
    """Some of its pieces were not kept."""
    ahead: _Ahead = _NOTHING_AHEAD


class Assembly:
    """The artifacts so far. `limit` is how many bytes of pieces are kept.

    What comes beyond it is told and not kept: then only the task itself can show it.
    """

    __slots__ = ("_by_name", "_kept", "_limit", "_unstreamed", "_whole", "is_cut")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._kept = 0
        self._by_name: dict[str, _Growing] = {}
        self._unstreamed: set[str] = set()  # those that a snapshot began
        self._whole: tuple[Artifact, ...] | None = ()
        self.is_cut = False
        """Something was not kept, and the task itself has not shown all since."""

    @property
    def artifacts(self) -> tuple[Artifact, ...]:
        """The artifacts, in the order in which they were first shown."""
        if self._whole is None:
            self._whole = tuple(
                [replace(one.said, parts=tuple(one.parts)) for one in self._by_name.values()]
            )
        return self._whole

    def add(self, update: ArtifactUpdate) -> ArtifactChunk | None:
        """Take one piece from a stream, and say what is new in it.

        More of an artifact that is not known begins it.
        """
        said = update.artifact
        name = said.artifact_id or _named_by(0)
        known = self._by_name.get(name)
        if known is None or not update.append:
            return self._begin(name, known, update)
        ahead = known.ahead
        if ahead is not _NOTHING_AHEAD and (left := ahead.after(said.parts)) is not None:
            known.ahead = left
            return None
        known.ahead = _NOTHING_AHEAD
        if self._kept + update.size <= self._limit:
            known.parts.extend(said.parts)
            known.size += update.size
            self._kept += update.size
            self._whole = None
        else:
            known.cut = self.is_cut = True
        return ArtifactChunk(update.task_id, said, append=True)

    def _begin(
        self, name: str, known: _Growing | None, update: ArtifactUpdate
    ) -> ArtifactChunk | None:
        """Take a piece that begins an artifact, or begins it anew."""
        said = update.artifact
        self._whole = None
        self._unstreamed.discard(name)
        if known is not None:
            self._kept -= known.size
        if self._kept + update.size > self._limit:
            self._by_name.pop(name, None)
            self.is_cut = True
            return ArtifactChunk(update.task_id, said, append=update.append)
        self._kept += update.size
        self._by_name[name] = _growing(said, size=update.size, streamed=True)
        return _news(update.task_id, said, known)

    def show(self, task: Task, *, final: bool) -> Iterator[ArtifactChunk]:
        """Take a snapshot, and say what is new in it.

        One without artifacts takes nothing back: they may have been purged. Nor does one that is
        not `final`: it may be older than the pieces that a stream has shown.
        """
        if not task.artifacts or task.artifacts == self._whole:
            return
        shows = dict(_named(task.artifacts))
        before = self._by_name
        if final:
            self._by_name, self._kept, self._unstreamed, self.is_cut = {}, 0, set(), False
        for name in self._unstreamed - shows.keys():
            self._kept -= self._by_name.pop(name).size
        self._unstreamed &= shows.keys()
        for name, shown in shows.items():
            known = before.get(name)
            stays = None if final else known
            if stays is not None and _rest(stays.parts, shown.parts) is not None:
                continue
            chunk = _news(task.id, shown, known)
            now = _growing(shown)
            if stays is not None:
                self._kept -= stays.size
                if chunk is not None and chunk.append:
                    now.ahead = _ahead((*stays.ahead.left, *chunk.artifact.parts))
            self._by_name[name] = now
            self._unstreamed.add(name)
            if chunk is not None:
                yield chunk
        self._whole = task.artifacts if final else None


def _growing(shown: Artifact, *, size: int = 0, streamed: bool = False) -> _Growing:
    return _Growing(shown, list(shown.parts), size, streamed)


def _ahead(parts: Iterable[Part]) -> _Ahead:
    runs: list[Part] = []
    for is_text, group in groupby(parts, lambda part: isinstance(part, TextPart)):
        if not is_text:
            runs.extend(group)
        elif text := text_of(group):
            runs.append(TextPart(text))
    return _Ahead(tuple(runs)) if runs else _NOTHING_AHEAD


def _news(task_id: str, shown: Artifact, known: _Growing | None) -> ArtifactChunk | None:
    """Say what an artifact shows beyond what is known of it; None where that is nothing."""
    rest = None if known is None or known.cut else _rest(shown.parts, known.parts)
    if known is None or rest is None:
        return ArtifactChunk(task_id, shown)
    if rest or shown != replace(known.said, parts=shown.parts):
        return ArtifactChunk(task_id, replace(shown, parts=rest), append=True)
    return None


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
