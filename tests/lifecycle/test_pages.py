"""The pages that are made from the code say what the code does, today."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from a2a_delegate.lifecycle.table import Event, Phase
from tests.lifecycle.pages import RENEW, pages, stale

if TYPE_CHECKING:
    from pathlib import Path


def test_the_pages_are_current(pytestconfig: pytest.Config) -> None:
    assert stale(pytestconfig.rootpath / "specs") == [], f"run {RENEW}"


def test_a_page_that_is_not_current_is_found(tmp_path: Path) -> None:
    assert stale(tmp_path) == ["lifecycle.md", "verdicts.md"]
    for name, text in pages().items():
        (tmp_path / name).write_text(text.replace("settled", "done", 1), encoding="utf-8")
    assert stale(tmp_path) == ["lifecycle.md"], "verdicts.md does not hold that word"


@pytest.mark.spec("OUT-2", "OUT-4", "OUT-11", "OUT-12")
def test_the_verdicts_say_it_for_every_end_and_cause() -> None:
    verdicts = pages()["verdicts.md"]
    rows = [line for line in verdicts.splitlines() if line.startswith("| error: ")]
    proven = [row for row in rows if "Rejected" in row]
    assert len(rows) == 32
    assert len(proven) == 20
    assert all(row.count("not-started") == 3 for row in proven)
    assert all(row.count("may-have-run") == 3 for row in rows if row not in proven)


def test_every_phase_and_event_is_on_the_page() -> None:
    page = pages()["lifecycle.md"]
    for phase in Phase:
        assert f"| {phase.value} | " in page
        assert f"## {phase.value.capitalize()}" in page
    for event in Event:
        assert f"| {event.value} | " in page
