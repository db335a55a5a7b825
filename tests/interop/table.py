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

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tests.interop.peers import Face

PAGE: Final = Path(__file__).parents[2] / "docs" / "interop.md"

HEAD: Final = """\
# Interoperability

What a delegation comes to at servers that others wrote, each with a small agent of ours on it.
Every cell is the outcome that `tests/interop` saw: `result.status`, the receipt of a cancel, and
the effect where it is not `ran`. Each was compared with the agent's own journal: by our doing no
message ran twice. A number leads to the quirk below that made the outcome another one than usual.
`as 0.3` is a server that speaks 1.0 as well, at the same URL.

This page is written by the suite, and each of its tests fails if its cell here is another one:

    A2A_DELEGATE_INTEROP_TABLE=write .venv/bin/python -m pytest -m interop tests/interop
"""

_MARK: Final = re.compile(r" \[\d+\]$")


@dataclass(slots=True)
class Table:
    """The cells, by row and column."""

    faces: Sequence[Face]
    cells: dict[tuple[Behaviour, str], str] = field(default_factory=dict)
    writes: bool = field(default_factory=lambda: bool(os.environ.get("A2A_DELEGATE_INTEROP_TABLE")))

    def hold(self, behaviour: Behaviour, face: str, cell: str) -> None:
        """Compare a cell of the page with what was seen, or keep it for the page."""
        if self.writes:
            self.cells[behaviour, face] = cell
        else:
            page = self.cells.get((behaviour, face))
            assert page == cell, "docs/interop.md says something else; look, then write it anew"

    def read(self, page: str) -> None:
        """Take the cells of a page."""
        titles = {behaviour.value: behaviour for behaviour in Behaviour}
        columns: list[str] = []
        for line in page.splitlines():
            first, *rest = [cell.strip() for cell in line[1:-1].split("|")]
            if first == "behaviour":
                columns = rest
            elif first in titles:
                cells = zip(columns, rest, strict=True)
                self.cells |= {
                    (titles[first], face): _MARK.sub("", cell) for face, cell in cells if cell
                }

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
            yield _row(behaviour.value, [self._cell(behaviour, face.name) for face in faces])

    def _cell(self, behaviour: Behaviour, face: str) -> str:
        cell = self.cells.get((behaviour, face), "")
        quirk = quirk_of(face, behaviour)
        return f"{cell} [{QUIRKS.index(quirk) + 1}]" if cell and quirk else cell


def _row(first: str, rest: list[str]) -> str:
    return f"| {' | '.join([first, *rest])} |"


def _versions(faces: list[Face]) -> Iterator[str]:
    lines = {face.line.name: face.line for face in faces}.values()
    for line in lines:
        yield f"- `{line.name}`: {line.package} {line.version}"


def _quirk_lines() -> Iterator[str]:
    yield "## Quirks\n"
    yield "What a server does differently, and what we do about it.\n"
    for number, quirk in enumerate(QUIRKS, start=1):
        rows = ", ".join(f'"{behaviour.value}"' for behaviour in quirk.changes)
        yield f"{number}. **{quirk.name}** ({', '.join(quirk.faces)}; {rows}): {quirk.sentence}"
