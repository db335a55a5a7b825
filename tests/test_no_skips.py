from __future__ import annotations

import pytest

from tests import no_skips


def run(pytester: pytest.Pytester, source: str, *args: str) -> pytest.RunResult:
    pytester.makepyfile(source)
    return pytester.runpytest_inprocess(*args, plugins=[no_skips])


@pytest.mark.parametrize(
    ("source", "outcome"),
    [
        pytest.param(
            "@pytest.mark.skip(reason='no server')\ndef test_it(): ...", "errors", id="mark"
        ),
        pytest.param(
            "@pytest.mark.skipif(True, reason='no server')\ndef test_it(): ...", "errors", id="if"
        ),
        pytest.param("def test_it():\n    pytest.skip('no server')", "failed", id="call"),
        pytest.param(
            "import unittest\ndef test_it():\n    raise unittest.SkipTest('no server')",
            "failed",
            id="unittest",
        ),
    ],
)
def test_a_skipped_test_is_red_and_says_why(
    pytester: pytest.Pytester, source: str, outcome: str
) -> None:
    result = run(pytester, f"import pytest\n{source}")
    assert result.parseoutcomes() == {outcome: 1}
    result.stdout.fnmatch_lines(["*was skipped: *no server*", "A skip of what a tier promises*"])
    assert result.ret == pytest.ExitCode.TESTS_FAILED


def test_a_module_that_skips_itself_is_an_error(pytester: pytest.Pytester) -> None:
    source = "import pytest\npytest.importorskip('no_such_module_anywhere')"
    result = run(pytester, source)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*was skipped: *no_such_module_anywhere*"])
    assert result.ret != pytest.ExitCode.OK


def test_an_expected_failure_and_a_deselected_test_stay_what_they_are(
    pytester: pytest.Pytester,
) -> None:
    source = """
        import pytest

        @pytest.mark.xfail(strict=True)
        def test_known():
            raise AssertionError

        def test_other():
            pytest.skip("never reached")
    """
    result = run(pytester, source, "-k", "known")
    result.assert_outcomes(xfailed=1, deselected=1)
    assert result.ret == pytest.ExitCode.OK
