"""What every test shares: both event loops, real or virtual time, and no skips."""

from __future__ import annotations

import hypothesis
import pytest
import trio.testing

from tests import installed_package
from tests.figures import pytest_terminal_summary
from tests.no_skips import pytest_make_collect_report, pytest_runtest_makereport
from tests.parts import VARIABLE, keep_part
from tests.virtual_time import VirtualTimeLoop

__all__ = [
    "pytest_make_collect_report",
    "pytest_runtest_makereport",
    "pytest_terminal_summary",
]

# The tiers repeat themselves exactly, so that a red one is red for a reason in the change;
# the search for new examples is what `scripts/soak` is for (--hypothesis-profile=soak).
hypothesis.settings.register_profile("repeatable", derandomize=True, deadline=None)
hypothesis.settings.register_profile("soak", max_examples=5_000, deadline=None, print_blob=True)
hypothesis.settings.load_profile("repeatable")


def pytest_report_header() -> str:
    """Say which package is tested: the checkout's or the wheel's."""
    return f"a2a_delegate: {installed_package.root()}"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Refuse virtual time for less than a module: the module's fixtures would not share it.

    And keep the real servers together, and of all tests the part that was asked for.
    """
    keep_part(config, items)
    for item in items:
        module = item.getparent(pytest.Module)
        marked = item.get_closest_marker("virtual_time")
        if item.get_closest_marker("interop"):
            # Where the suite runs on several cores, the servers are started by one of them.
            item.add_marker(pytest.mark.xdist_group("real servers"))
        if marked and module and not module.get_closest_marker("virtual_time"):
            message = f"{item.nodeid}: virtual_time marks whole modules; set it as pytestmark"
            raise pytest.UsageError(message)


@pytest.fixture(name="pytester")
def whole_pytester(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """Let the suites that tests run inside be whole, whatever part of this one is run."""
    monkeypatch.delenv(VARIABLE, raising=False)
    return pytester


# Of the module's scope: hypothesis refuses fixtures of a narrower one, and a module may have
# asynchronous fixtures of its own.
@pytest.fixture(scope="module", params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, object]]:
    """Run each asynchronous test on asyncio and on trio, in the time that its module chose.

    `pytestmark = pytest.mark.virtual_time` chooses the clock that jumps. It starts at 0 and goes
    on from test to test on trio, so a test compares times with one that it read itself.
    """
    if not request.node.get_closest_marker("virtual_time"):
        return request.param, {}
    if request.param == "asyncio":
        return "asyncio", {"loop_factory": VirtualTimeLoop}
    return "trio", {"clock": trio.testing.MockClock(autojump_threshold=0)}
