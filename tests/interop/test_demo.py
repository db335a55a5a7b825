"""The demo, as a newcomer runs it: six delegations, each with its expected end."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.interop, pytest.mark.timeout(120)]

DEMO = Path(__file__).resolve().parents[2] / "scripts" / "demo.py"


def test_the_demo_shows_six_outcomes_and_each_is_the_expected_one() -> None:
    ran = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-W", "error", str(DEMO)],
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert ran.stderr == ""
    told = [line.strip() for line in ran.stdout.splitlines() if ", effect " in line]
    assert told == [
        "completed, effect ran, not safe to retry",
        "completed, effect ran, not safe to retry",
        "cancelled, effect ran, not safe to retry",
        "input-required, effect ran, not safe to retry",
        "completed, effect ran, not safe to retry",
        "unknown, effect may-have-run, not safe to retry",
    ]
    assert 'return await delegate.dispatch("quick")' in ran.stdout
    assert ran.stdout.count("the peer's own count of runs: [1]") == 2
    assert "\033" not in ran.stdout, "no control codes where it is no terminal"
