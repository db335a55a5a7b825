"""Every public report has the tests that the table names, and every such test its report."""

from __future__ import annotations

import ast
import re
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from tests.reports.reports import Report, read

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

REFERENCE = re.compile(r"[\w.-]+/[\w.-]+#[1-9][0-9]*")


def played(text: str) -> Iterator[str]:
    """Yield the ids of the reports that the tests of a module are marked with."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("mark.report"):
            assert node.args, f"line {node.lineno}: the marker report takes ids"
            for argument in node.args:
                assert isinstance(argument, ast.Constant), f"line {node.lineno}: no literal id"
                yield str(argument.value)


def faults_of(reports: list[Report], sources: Mapping[str, str]) -> list[str]:
    """Return one sentence for every gap between the table and the modules that play it."""
    faults = [
        f"{name} stands in the table {times} times"
        for name, times in Counter(report.id for report in reports).items()
        if times > 1
    ]
    told = {(report.id, module) for report in reports for module in report.modules}
    tested = {(name, module) for module, text in sources.items() for name in played(text)}
    faults += [f"{name} is not tested by {module}" for name, module in sorted(told - tested)]
    faults += [f"{name} does not name {module}" for name, module in sorted(tested - told)]
    return faults


def test_the_table_and_the_tests_agree(pytestconfig: pytest.Config) -> None:
    folder = pytestconfig.rootpath / "tests" / "reports"
    sources = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("test_*.py")}
    del sources["test_reports.py"]
    page = pytestconfig.rootpath / "docs" / "reports.md"
    reports = list(read(page.read_text(encoding="utf-8")))
    assert len(reports) > 150
    assert faults_of(reports, sources) == []
    for report in reports:
        assert report.modules or report.waits_for, report
        assert report.says.endswith("."), report
        if not report.id.startswith("P"):  # those are probes of ours, and no reports
            assert REFERENCE.fullmatch(report.reference), report


TABLE = """
| id | report | what happens here | where |
|---|---|---|---|
| L1 | a/b#1 | It is found. | test_a.py, test_b.py |
| L2 | a/b#2 | It is told. | waits for streams |
| L3 | a/b#3 | Half of it is. | test_a.py, waits for streams |
"""
SOURCES = {
    "test_a.py": "@pytest.mark.report('L1', 'L3')\ndef test_it(): ...",
    "test_b.py": "@pytest.mark.report('L1')\ndef test_it(): ...",
}


def test_a_table_is_read_row_by_row() -> None:
    assert list(read(TABLE)) == [
        Report("L1", "a/b#1", "It is found.", frozenset({"test_a.py", "test_b.py"})),
        Report("L2", "a/b#2", "It is told.", frozenset(), "streams"),
        Report("L3", "a/b#3", "Half of it is.", frozenset({"test_a.py"}), "streams"),
    ]
    with pytest.raises(ValueError, match="L4"):
        list(read("| L4 | a/b#4 | no end"))


def test_a_table_and_tests_that_agree_have_no_fault() -> None:
    assert faults_of(list(read(TABLE)), SOURCES) == []


@pytest.mark.parametrize(
    ("table", "sources", "fault"),
    [
        (TABLE + "| L1 | a/b#1 | Twice. | waits for MCP |\n", SOURCES, "L1 stands in the table 2"),
        (TABLE, {**SOURCES, "test_b.py": ""}, "L1 is not tested by test_b.py"),
        (TABLE, {**SOURCES, "test_c.py": "pytest.mark.report('L9')"}, "L9 does not name test_c.py"),
        (TABLE, {**SOURCES, "test_c.py": "mark.report('L2')"}, "L2 does not name test_c.py"),
    ],
)
def test_a_gap_between_table_and_tests_is_named(
    table: str, sources: Mapping[str, str], fault: str
) -> None:
    assert any(fault in found for found in faults_of(list(read(table)), sources))
