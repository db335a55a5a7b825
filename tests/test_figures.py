from __future__ import annotations

from typing import TYPE_CHECKING

from tests import figures

if TYPE_CHECKING:
    import pytest


def test_the_figures_that_tests_tell_stand_at_the_end(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        def test_it(record_property):
            record_property("cases", 17)

        def test_another(): ...
        """
    )
    result = pytester.runpytest_inprocess(plugins=[figures])
    result.stdout.fnmatch_lines(["*= figures =*", "*::test_it: cases 17"])


def test_a_run_without_figures_tells_none(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_it(): ...")
    result = pytester.runpytest_inprocess(plugins=[figures])
    result.stdout.no_fnmatch_line("*= figures =*")
