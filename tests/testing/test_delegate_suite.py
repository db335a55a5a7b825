"""The suite for delegates, run over both backends, and over delegates that break one rule each."""

from __future__ import annotations

import subprocess
import sys
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest

import a2a_delegate.testing
from a2a_delegate.testing import DelegateSuite, DelegateUnderTest
from tests.testing.broken_delegates import BROKEN, HONEST, function_under_test
from tests.testing.broken_handles import BROKEN_WITH_HANDLES, WithHandles, agent_under_test

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Sequence

    from a2a_delegate import Delegate

pytestmark = pytest.mark.virtual_time


class A2ADelegateSuite(DelegateSuite):
    """Over a scripted peer, found by its card."""

    versions: Sequence[str]

    @asynccontextmanager
    async def make(self) -> AsyncGenerator[DelegateUnderTest, None]:
        async with agent_under_test(self.versions) as made:
            yield made


class TestA2ADelegateOf10(A2ADelegateSuite):
    versions = ("1.0",)


class TestA2ADelegateOf03(A2ADelegateSuite):
    versions = ("0.3",)


class TestA2ADelegateOfBoth(A2ADelegateSuite):
    versions = ("0.3", "1.0")


class TestFunctionDelegate(DelegateSuite):
    @asynccontextmanager
    async def make(self) -> AsyncGenerator[DelegateUnderTest, None]:
        yield function_under_test()


class TestDelegateOfAllTests(DelegateSuite):
    """One for all checks and both loops, as that of a server that is started once."""

    everybodys = function_under_test()

    @asynccontextmanager
    async def make(self) -> AsyncGenerator[DelegateUnderTest, None]:
        yield self.everybodys


EVERY_BROKEN = {**BROKEN, **BROKEN_WITH_HANDLES}
CHECKS = {
    statement: name
    for name in dir(DelegateSuite)
    if name.startswith("test_")
    for statement in getattr(DelegateSuite, name).statements
}


async def said_against(kind: Callable[[Delegate], Delegate]) -> set[str]:
    """Run every check over a delegate of this kind, and return those that fail."""
    has_handles = isinstance(kind, type) and issubclass(kind, WithHandles)

    class Suite(DelegateSuite):
        @asynccontextmanager
        async def make(self) -> AsyncGenerator[DelegateUnderTest, None]:
            if not has_handles:
                yield function_under_test(kind)
                return
            async with agent_under_test(wrap=kind) as made:
                yield made

    failed = set()
    for statement, name in CHECKS.items():
        try:
            await getattr(Suite(), name)()
        except (Exception, BaseExceptionGroup, pytest.fail.Exception):  # noqa: BLE001 - any will do
            failed.add(statement)
    return failed


@pytest.mark.anyio
@pytest.mark.parametrize("kind", [*HONEST, WithHandles])
async def test_an_honest_delegate_has_nothing_against_it(
    kind: Callable[[Delegate], Delegate],
) -> None:
    assert await said_against(kind) == set()


@pytest.mark.anyio
@pytest.mark.parametrize(("kind", "rules"), EVERY_BROKEN.items())
async def test_a_broken_delegate_fails_the_checks_of_its_rule_and_no_other(
    kind: Callable[[Delegate], Delegate], rules: set[str]
) -> None:
    assert await said_against(kind) == rules


def test_each_check_fails_for_some_broken_delegate() -> None:
    assert set().union(*EVERY_BROKEN.values()) == CHECKS.keys()


A_USERS_TESTS = """
from contextlib import asynccontextmanager

import anyio

from a2a_delegate import delegate_from
from a2a_delegate.testing import DelegateSuite, DelegateUnderTest


async def work(request):
    word, _, rest = request.prompt.partition(" ")
    if word == "fail":
        raise ValueError("it cannot be done")
    if word == "wait":
        seconds, _, rest = rest.partition(" ")
        await anyio.sleep(float(seconds))
    return rest


class TestMine(DelegateSuite):
    short = 0.02
    patience = 4.0

    @asynccontextmanager
    async def make(self):
        yield DelegateUnderTest(
            delegate=delegate_from(work, id="mine"),
            completes=lambda text: f"say {text}",
            takes=lambda seconds, text: f"wait {seconds} {text}",
            fails=("fail", "it cannot be done"),
        )


class TestForgotten(DelegateSuite):
    pass
"""
NOT_GIVEN = {"DEL-2", "DEL-4", "DEL-5"}


def test_it_runs_in_a_strict_project_of_somebody_else(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_mine=A_USERS_TESTS)
    strict = ("-W", "error", "--strict-markers", "--strict-config", "-p", "no:cacheprovider")
    mine = pytester.runpytest_inprocess(*strict, "-k", "TestMine")
    skipped = 2 * len(NOT_GIVEN)
    mine.assert_outcomes(
        passed=2 * len(CHECKS) - skipped, skipped=skipped, deselected=2 * len(CHECKS)
    )


def test_it_says_what_is_to_be_written(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_mine=A_USERS_TESTS)
    forgotten = pytester.runpytest_inprocess("-x", "-k", "TestForgotten")
    forgotten.stdout.fnmatch_lines(["*NotImplementedError: write `make` in TestForgotten*"])


def run(program: str) -> str:
    """Run a program, and return what it prints."""
    done = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    return done.stdout.strip()


def test_what_the_package_offers_testers_needs_no_pytest() -> None:
    assert run("import sys, a2a_delegate.testing; print('pytest' in sys.modules)") == "False"
    star = "import sys; sys.modules['pytest'] = None; from a2a_delegate.testing import *"
    assert run(f"{star}; print(ScriptedPeer.__name__)") == "ScriptedPeer"


@pytest.mark.parametrize("name", ["DelegateSuite", "DelegateUnderTest"])
@pytest.mark.parametrize(
    ("missing", "told"),
    [
        ("pytest", "{name} needs pytest; install it with: pip install pytest"),
        ("pickle", "import of pickle halted; None in sys.modules"),
    ],
)
def test_without_pytest_the_suite_says_so(name: str, missing: str, told: str) -> None:
    program = f"""
import sys, a2a_delegate.testing
sys.modules[{missing!r}] = None
try:
    from a2a_delegate.testing import {name}
except ModuleNotFoundError as error:
    print(error)
"""
    assert run(program) == told.format(name=name)


@pytest.mark.parametrize("name", ["Nothing", "delegate_suites"])
def test_what_the_package_does_not_offer_is_an_attribute_error(name: str) -> None:
    with pytest.raises(AttributeError, match=f"'{name}'"):
        getattr(a2a_delegate.testing, name)


def test_all_that_the_package_offers_is_there() -> None:
    assert all(hasattr(a2a_delegate.testing, name) for name in a2a_delegate.testing.__all__)
