"""docs/interop.md names exactly the servers, the behaviours and the quirks of the suite.

What stands in its cells is held by the tests that fill them, where the servers are.
"""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest

from tests.interop.behaviours import Behaviour
from tests.interop.lines import LINES
from tests.interop.peers import FACES
from tests.interop.quirks import QUIRKS, quirk_of
from tests.interop.table import PAGE, Table
from tests.interop.ways import WAYS, Way


@pytest.fixture
def table() -> Table:
    """The table that the page shows."""
    table = Table(tuple(FACES.values()), writes=False)
    table.read(PAGE.read_text(encoding="utf-8"))
    return table


def test_every_cell_is_filled_and_none_is_left_over(table: Table) -> None:
    assert set(table.cells) == {
        (behaviour, face.name, way)
        for behaviour in Behaviour
        for face in FACES.values()
        for way in face.ways
        if behaviour.is_tried(way)
    }


def test_the_page_is_what_its_cells_and_the_quirks_make_of_it(table: Table) -> None:
    assert PAGE.read_text(encoding="utf-8") == table.page()


def test_a_cell_that_is_not_what_was_seen_is_told(table: Table) -> None:
    table.hold(Behaviour.COMPLETE, "a2a-sdk-1.3", WAYS[0], "completed")
    with pytest.raises(AssertionError, match=r"docs/interop\.md"):
        table.hold(Behaviour.COMPLETE, "a2a-sdk-1.3", WAYS[0], "failed")


def test_every_behaviour_has_one_test() -> None:
    sources = [path.read_text("utf-8") for path in Path(__file__).parent.glob("test_deleg*.py")]
    shown = re.findall(r"(?:shows|holds)\(\s*Behaviour\.(\w+)", "".join(sources))
    assert sorted(shown) == sorted(behaviour.name for behaviour in Behaviour)


def test_every_quirk_is_one_of_faces_that_there_are_and_changes_something() -> None:
    for quirk in QUIRKS:
        assert quirk.changes
        assert set(quirk.faces) <= set(FACES)
    assert len({quirk.name for quirk in QUIRKS}) == len(QUIRKS)
    for face in FACES.values():
        for way, behaviour in itertools.product(face.ways, Behaviour):
            quirk_of(face.name, way, behaviour)  # raises where there are two


def test_outcomes_that_differ_by_the_way_are_told_apart_and_read_again() -> None:
    face = FACES["a2a-sdk-1.3"]
    written = Table((face,), writes=True)
    for behaviour, others in zip(Behaviour, itertools.cycle(ways_among(face.ways)), strict=False):
        for way in face.ways:
            cell = "failed, late" if way in others else "completed"
            written.hold(behaviour, face.name, way, cell)
    read = Table((face,), writes=False)
    read.read(written.page())
    assert read.cells == {
        (behaviour, name, way): cell
        for (behaviour, name, way), cell in written.cells.items()
        if behaviour.is_tried(way)
    }


def ways_among(ways: tuple[Way, ...]) -> list[tuple[Way, ...]]:
    """Every choice of some of them, of none and of all."""
    sizes = range(len(ways) + 1)
    return [chosen for size in sizes for chosen in itertools.combinations(ways, size)]


def test_every_server_has_a_face_an_agent_and_a_pinned_release() -> None:
    assert {face.line for face in FACES.values()} == set(LINES.values())
    for line in LINES.values():
        assert line.agent.is_file()
        assert re.fullmatch(r"\d+(\.\d+)+\w*", line.version)
        assert line.digest()


def test_no_pinned_file_names_a_registry() -> None:
    for path in (path for line in LINES.values() for path in line.pins):
        text = path.read_text(encoding="utf-8")
        assert '"resolved"' not in text
        assert "--index-url" not in text
        assert "--pre" not in text
