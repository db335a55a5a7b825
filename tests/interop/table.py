"""docs/interop.md: what the suite saw at each real server, and what each quirk is.

Each test that fills a cell holds the page to what it saw. To write the page anew:

    A2A_DELEGATE_INTEROP_TABLE=write .venv/bin/python -m pytest -m interop tests/interop
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tests.interop.behaviours import Behaviour
from tests.interop.quirks import QUIRKS, quirk_of
from tests.interop.ways import WAYS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tests.interop.peers import Face
    from tests.interop.ways import Way

PAGE: Final = Path(__file__).parents[2] / "docs" / "interop.md"

HEAD: Final = """\
# Interoperability

What a delegation comes to at servers that others wrote, each with a small agent of ours on it.
Every cell is the outcome that `tests/interop` saw: `result.status`, the receipt of a cancel, and
the effect where it is not `ran`. Each was compared with the agent's own journal: by our doing no
message ran twice. A number leads to the quirk below that made the outcome another one than usual.
`as 0.3` is a server that speaks 1.0 as well, at the same URL.

Each was met by every binding that it offers, and by each of them with `watch="stream"` and with
`watch="poll"`. Where a cell says nothing of them, the outcome was the same by all these ways; else
each outcome has the ways before it that came to it.

This page is written by the suite, and each of its tests fails if its cell here is another one:

    A2A_DELEGATE_INTEROP_TABLE=write .venv/bin/python -m pytest -m interop tests/interop
"""

_BETWEEN: Final = "; "
_MARK: Final = re.compile(r" \[\d+\]$")


@dataclass(slots=True)
class Table:
    """The cells, by row, column and way."""

    faces: Sequence[Face]
    cells: dict[tuple[Behaviour, str, Way], str] = field(default_factory=dict)
    writes: bool = field(default_factory=lambda: bool(os.environ.get("A2A_DELEGATE_INTEROP_TABLE")))

    def hold(self, behaviour: Behaviour, face: str, way: Way, cell: str) -> None:
        """Compare a cell of the page with what was seen, or keep it for the page."""
        if self.writes:
            self.cells[behaviour, face, way] = cell
        else:
            page = self.cells.get((behaviour, face, way))
            assert page == cell, "docs/interop.md says something else; look, then write it anew"

    def read(self, page: str) -> None:
        """Take the cells of a page."""
        titles = {behaviour.value: behaviour for behaviour in Behaviour}
        faces = {face.name: face for face in self.faces}
        columns: list[str] = []
        for line in page.splitlines():
            first, *rest = [cell.strip() for cell in line[1:-1].split("|")]
            if first == "behaviour":
                columns = rest
            elif first in titles:
                for name, cell in zip(columns, rest, strict=True):
                    self._read(titles[first], faces[name], cell)

    def _read(self, behaviour: Behaviour, face: Face, cell: str) -> None:
        for outcome in cell.split(_BETWEEN):
            words, _, text = outcome.rpartition(": ")
            for way in _tried(behaviour, face):
                if text and (not words or any(map(way.is_called, words.split(", ")))):
                    self.cells[behaviour, face.name, way] = _MARK.sub("", text)

    def page(self) -> str:
        """The whole page."""
        return "\n".join([HEAD, *self._sections(), *_quirk_lines()]) + "\n"

    def _sections(self) -> Iterator[str]:
        for title, soak in (
            ("## At every full run (`scripts/test --full`)", False),
            ("## At every soak (`scripts/soak`)", True),
        ):
            faces = [face for face in self.faces if face.line.soak is soak]
            yield title + "\n"
            yield from _versions(faces)
            yield ""
            yield from self._rows(faces)
            yield ""

    def _rows(self, faces: list[Face]) -> Iterator[str]:
        yield _row("behaviour", [face.name for face in faces])
        yield _row("---", ["---"] * len(faces))
        for behaviour in Behaviour:
            yield _row(behaviour.value, [self._cell(behaviour, face) for face in faces])

    def _cell(self, behaviour: Behaviour, face: Face) -> str:
        outcomes: dict[str, list[Way]] = {}
        for way in _tried(behaviour, face):
            cell = self.cells.get((behaviour, face.name, way), "")
            quirk = quirk_of(face.name, way, behaviour)
            mark = f" [{QUIRKS.index(quirk) + 1}]" if cell and quirk else ""
            outcomes.setdefault(cell + mark, []).append(way)
        if len(outcomes) == 1:
            return next(iter(outcomes))
        told = [
            f"{_called(ways, _tried(behaviour, face))}: {text}" for text, ways in outcomes.items()
        ]
        return _BETWEEN.join(told)


def _tried(behaviour: Behaviour, face: Face) -> list[Way]:
    return [way for way in face.ways if behaviour.is_tried(way)]


def _called(ways: list[Way], among: list[Way]) -> str:
    """These ways in as few words as tell them from the others."""
    for word in dict.fromkeys(word for way in ways for word in (way.watch, way.binding)):
        if [way for way in among if way.is_called(word)] == ways:
            return word
    return ", ".join(map(str, ways))


def _row(first: str, rest: list[str]) -> str:
    return f"| {' | '.join([first, *rest])} |"


def _versions(faces: list[Face]) -> Iterator[str]:
    for line, face in {face.line: face for face in faces}.items():
        yield f"- `{line.name}`: {line.package} {line.version}, over {' and '.join(face.bindings)}"


def _quirk_lines() -> Iterator[str]:
    yield "## Quirks\n"
    yield "What a server does differently, and what we do about it.\n"
    for number, quirk in enumerate(QUIRKS, start=1):
        rows = ", ".join(f'"{behaviour.value}"' for behaviour in quirk.changes)
        where = ", ".join(quirk.faces) + (
            f"; by {_called(list(quirk.ways), list(WAYS))}" if quirk.ways != WAYS else ""
        )
        yield f"{number}. **{quirk.name}** ({where}; {rows}): {quirk.sentence}"
