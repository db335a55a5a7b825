"""What a tier promises is run or is red: a skipped test, class or module counts as failed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Generator

SENTENCE = """\
{node} was skipped: {reason}
A skip of what a tier promises is a failure, on every platform. Make the test run here, mark it
`interop` or `soak` where it belongs to another tier, or delete it."""


def _reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    """Return what the skip said for itself: the third of (path, line, reason)."""
    return str(report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr)


def _fail(report: pytest.TestReport | pytest.CollectReport) -> None:
    report.longrepr = SENTENCE.format(node=report.nodeid, reason=_reason(report))
    report.outcome = "failed"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn a test that skips into one that fails; an expected failure is left as it is."""
    report = yield
    if report.skipped and not hasattr(report, "wasxfail"):
        _fail(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Turn a module that skips itself into an error."""
    report = yield
    if report.skipped:
        _fail(report)
    return report
