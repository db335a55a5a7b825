"""The demo shows its six outcomes, and fails when one is not what it should be."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from a2a_delegate import delegate_from
from scripts import demo

if TYPE_CHECKING:
    from a2a_delegate import DelegateRequest, DelegateResult, Observer

pytestmark = pytest.mark.interop

ROOT = Path(__file__).parents[2]

OUTCOMES = (
    'completed, "quick done" - effect: ran, not safe to retry',
    'completed, "slow done" - effect: ran, not safe to retry',
    "cancelled - effect: ran, not safe to retry",
    'input-required, "Which colour?" - effect: ran, not safe to retry',
    'completed, "result of slow 1" - effect: ran, not safe to retry',
    "unknown - effect: may-have-run, not safe to retry",
)


def run_demo(**environment: str) -> subprocess.CompletedProcess[str]:
    """Run the Python part of the demo, with its output in a pipe."""
    return subprocess.run(  # noqa: S603 - our own interpreter and program
        [sys.executable, "-W", "error", str(ROOT / "scripts" / "demo.py")],
        env={**os.environ, "PYTHONIOENCODING": "utf-8", **environment},
        capture_output=True,
        encoding="utf-8",
        timeout=45,
        check=False,
    )


@pytest.mark.timeout(60)
def test_the_demo_shows_six_outcomes_with_code_and_evidence_and_ends_well() -> None:
    ended = run_demo()
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert ended.stderr == ""
    shown = [line.strip() for line in ended.stdout.splitlines()]
    assert [line for line in shown if line in OUTCOMES] == list(OUTCOMES)
    assert shown.count("evidence:") == 6
    assert [line[:2] for line in shown if line[1:3] == ". "] == ["1.", "2.", "3.", "4.", "5.", "6."]
    assert 'return await agent.dispatch("quick", observer=observer)' in shown
    assert any("the peer lists a task with our message" in line for line in shown)
    assert shown[-1].startswith("All 6 outcomes were as expected")
    assert "\x1b" not in ended.stdout, "a pipe is no terminal"


def test_the_demo_says_what_to_run_where_its_agent_is_not_installed(tmp_path: Path) -> None:
    ended = run_demo(A2A_DELEGATE_INTEROP_DIR=str(tmp_path))
    assert ended.returncode == 2
    assert "run tests/interop/install.py a2a-sdk-1.3" in ended.stderr


async def says(text: str, observer: Observer) -> DelegateResult:
    """Delegate to a function that says something."""

    async def function(_: DelegateRequest) -> str:
        return text

    return await delegate_from(function, id="function").dispatch("anything", observer=observer)


def demonstration(text: str, *, record: str = "ran once") -> demo.Demonstration:
    """One that expects `fine`."""
    expected = {"status": "completed", "output": "fine"}
    run = partial(says, text)
    return demo.Demonstration("A function", run, expected, lambda _: record, "ran once")


@pytest.mark.anyio
async def test_an_outcome_that_is_not_as_expected_is_told_and_counts(
    capsys: pytest.CaptureFixture[str],
) -> None:
    page = demo.Page()
    assert await demo.show(1, demonstration("fine"), page)
    assert "NOT AS EXPECTED" not in capsys.readouterr().out
    assert not await demo.show(2, demonstration("wrong"), page)
    assert "output is 'wrong' and should be 'fine'" in capsys.readouterr().out
    assert not await demo.show(3, demonstration("fine", record="ran twice"), page)
    assert "record is 'ran twice' and should be 'ran once'" in capsys.readouterr().out


@pytest.mark.anyio
async def test_what_a_peer_says_cannot_steer_the_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    await demo.show(1, demonstration("\x1b[2J\x9b31mred\u202e"), demo.Page())
    shown = capsys.readouterr().out
    assert not {"\x1b", "\x9b", "\u202e"} & set(shown)
    assert r"\x1b[2J" in shown


def test_the_code_that_is_shown_is_the_code_that_runs() -> None:
    shown = demonstration("fine").code
    assert shown.startswith("async def function(_: DelegateRequest) -> str:\n    return text\n")
    assert shown.endswith('.dispatch("anything", observer=observer)')
