"""What a run went through, in figures: told at its end, because the note of an item needs them.

A test tells a figure by pytest's `record_property(name, value)`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """List the figures of the tests that passed."""
    told = [
        f"{report.nodeid}: {name} {value}"
        for report in terminalreporter.getreports("passed")
        for name, value in report.user_properties
    ]
    if told:
        terminalreporter.section("figures")
        for line in sorted(told):
            terminalreporter.write_line(line)
