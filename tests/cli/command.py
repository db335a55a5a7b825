"""The command as users run it, in a process of its own and always bounded; and in this process."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from typer.testing import CliRunner

from a2a_delegate.cli.app import app
from tests import installed_package

if TYPE_CHECKING:
    from collections.abc import Mapping

PATIENCE = 15.0
"""Seconds that a command may take at most."""

COMMAND = (sys.executable, "-W", "error", "-m", "a2a_delegate")

# What would make programs write colours or other letters than the test asks for.
_NOT_INHERITED = frozenset(
    {"FORCE_COLOR", "NO_COLOR", "PY_COLORS", "COLUMNS", "GITHUB_ACTIONS", "PYTHONIOENCODING"}
)


@dataclass(frozen=True, slots=True)
class Done:
    """A command that has ended."""

    status: int
    out: bytes
    err: str


def environment(changes: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return an environment in which the package under test is found, with these changes."""
    inherited = {name: value for name, value in os.environ.items() if name not in _NOT_INHERITED}
    found = {"PYTHONPATH": str(installed_package.root().parent), "PYTHONUTF8": "1", "NO_PROXY": "*"}
    return {**inherited, **found, **(changes or {})}


def run(
    *words: str,
    stdin: bytes = b"",
    env: Mapping[str, str] | None = None,
    command: tuple[str, ...] = COMMAND,
) -> Done:
    """Run the command to its end, with its output in pipes."""
    done = subprocess.run(  # noqa: S603 - words of this test
        [*command, *words],
        input=stdin,
        capture_output=True,
        env=environment(env),
        timeout=PATIENCE,
        check=False,
    )
    return Done(done.returncode, done.stdout, done.stderr.decode())


def invoke(*words: str, stdin: bytes = b"", env: Mapping[str, str] | None = None) -> Done:
    """Run the command in this process, where that makes no difference: it takes a tenth as long."""
    done = CliRunner().invoke(app, words, input=stdin, env=env, catch_exceptions=False)
    return Done(done.exit_code, done.stdout_bytes, done.stderr)


def start(*words: str, env: Mapping[str, str] | None = None) -> subprocess.Popen[bytes]:
    """Start the command, with its output in pipes; the caller ends it by `finish`."""
    return subprocess.Popen(  # noqa: S603 - words of this test
        [*COMMAND, *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(env),
    )


def finish(process: subprocess.Popen[bytes]) -> Done:
    """Wait for the command to end by itself, and see to it that it does end."""
    try:
        out, err = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
        process.wait(PATIENCE)
    return Done(process.returncode, out, err.decode())
