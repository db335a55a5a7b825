"""What importing a2a_delegate costs, against importing the libraries that it stands on.

    python benchmarks/imports.py [--pairs 15] [--at-most 1.15] [--json]

Each figure is the CPU time, user and system, of a fresh interpreter that runs one import and ends.
A pair is one of ours and one of theirs, one right after the other and each first in turn, so that
a busy machine slows both; the ratio is the median over the pairs. The exit status is 1 where one
is over `--at-most`. Needs a system with `wait4`, and the package installed.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
from typing import NamedTuple

LIBRARIES = "import httpx, pydantic, anyio, tenacity"
OURS = {
    "the package alone": "import a2a_delegate",
    "all of it": "from a2a_delegate import A2ADelegate, Completed, DelegateRequest, connect",
}
LEAST_PAIRS = 9
"""With fewer, a median over the pairs cannot be trusted."""


class Figures(NamedTuple):
    """What one import came to: medians, in seconds of CPU time."""

    statement: str
    seconds: float
    libraries_seconds: float
    ratio: float


def cpu_seconds(statement: str) -> float:
    """Run one statement in a fresh interpreter, isolated from the environment's settings."""
    command = [sys.executable, "-I", "-c", statement]
    _, status, usage = os.wait4(os.posix_spawn(command[0], command, os.environ), 0)
    if status:
        raise SystemExit(f"{statement!r} failed; is the package installed in {sys.executable}?")
    return usage.ru_utime + usage.ru_stime


def compare(statement: str, pairs: int) -> Figures:
    """Measure one of ours beside theirs, pair by pair."""
    ours: list[float] = []
    theirs: list[float] = []
    cpu_seconds(statement)  # writes the bytecode, as an installation does
    cpu_seconds(LIBRARIES)
    for number in range(pairs):
        if number % 2:
            ours.append(cpu_seconds(statement))
            theirs.append(cpu_seconds(LIBRARIES))
        else:
            theirs.append(cpu_seconds(LIBRARIES))
            ours.append(cpu_seconds(statement))
    ratios = [one / other for one, other in zip(ours, theirs, strict=True)]
    return Figures(
        statement, statistics.median(ours), statistics.median(theirs), statistics.median(ratios)
    )


def pairs_argument(text: str) -> int:
    """Read a number of pairs."""
    pairs = int(text)
    if pairs < LEAST_PAIRS:
        raise argparse.ArgumentTypeError(f"at least {LEAST_PAIRS} pairs")
    return pairs


def main() -> int:
    """Measure, print, and say by the exit status whether the target is met."""
    parser = argparse.ArgumentParser(description="Compare the CPU time of imports.")
    parser.add_argument("--pairs", type=pairs_argument, default=15, help="default: %(default)s")
    parser.add_argument("--at-most", type=float, default=1.15, help="default: %(default)s")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    asked = parser.parse_args()
    figures = {name: compare(statement, asked.pairs) for name, statement in OURS.items()}
    if asked.json:
        facts = {name: one._asdict() for name, one in figures.items()}
        print(json.dumps({"pairs": asked.pairs, "at_most": asked.at_most, "imports": facts}))
    else:
        print(f"CPU of a fresh Python {sys.version.split()[0]}, medians of {asked.pairs} pairs,")
        print(f"against {LIBRARIES!r}; at most {asked.at_most}:")
        for name, one in figures.items():
            ours, theirs = one.seconds * 1_000, one.libraries_seconds * 1_000
            print(f"{name:<18} {one.ratio:.2f}  ({ours:.0f} ms against {theirs:.0f} ms)")
    return 0 if all(one.ratio <= asked.at_most for one in figures.values()) else 1


if __name__ == "__main__":
    raise SystemExit(main())
