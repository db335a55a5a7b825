"""The table of public reports in docs/reports.md, as values."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_ROW = re.compile(r"\| (?P<id>[A-Z][0-9]+) \| (?P<cells>.*) \|")
_WAITS = "waits for "


@dataclass(frozen=True, slots=True)
class Report:
    """One row: its id, the public reference, what happens here, who tests it, what it waits for."""

    id: str
    reference: str
    says: str
    modules: frozenset[str]
    waits_for: str = ""


def read(page: str) -> Iterator[Report]:
    """Yield the reports of a page, in order. Raises ValueError for a row that is none."""
    for line in page.splitlines():
        match = _ROW.fullmatch(line)
        if match is not None:
            reference, says, where = (cell.strip() for cell in match["cells"].split(" | "))
            named = [name.strip() for name in where.split(",")]
            waiting = [name.removeprefix(_WAITS) for name in named if name.startswith(_WAITS)]
            modules = frozenset(name for name in named if not name.startswith(_WAITS))
            yield Report(match["id"], reference, says, modules, ", ".join(waiting))
        elif re.match(r"\| [A-Z][0-9]", line):
            raise ValueError(line)
