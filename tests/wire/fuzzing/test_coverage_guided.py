"""A search for what breaks a reader, led by the branches that each input takes (atheris)."""

from __future__ import annotations

import re
import secrets
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pytest

from tests.wire.fuzzing.corpus import beginnings
from tests.wire.fuzzing.targets import PLANTED, TARGETS
from tests.wire.json_values import NAMES, WORDS

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [
    pytest.mark.soak,
    pytest.mark.timeout(900),
    pytest.mark.spec("WIRE-4", "GATE-3"),
]

PROGRAM: Final = "tests.wire.fuzzing.coverage_guided"
IN_A_SHELL: Final = ("/bin/sh", "-c", '"$@"; exit $?', "sh")
"""Between us and the search: Linux counts the memory of whoever starts a program as its peak."""

SECONDS: Final = 60
LONGER: Final = {"event-stream": 600, "event-reader": 600}
"""Seconds for those that read what a peer may send for days, of any length."""

LONGEST_INPUT: Final = 64 * 1024
MEGABYTES: Final = 512
"""What the whole process may hold, the interpreter and everything that was found included."""

SECONDS_OF_ONE: Final = 10
FEWEST: Final = 1_000
"""Inputs that a search tries at least, if it is one; it makes thousands a second."""

FEWEST_BRANCHES: Final = 15


@dataclass(frozen=True)
class Search:
    """What one search has come to: its last words, and the inputs that broke the reader."""

    status: int
    said: str
    broken_by: dict[str, bytes]

    def __str__(self) -> str:
        """Tell all that repeats it."""
        shown = [f"{name}: {body!r}" for name, body in self.broken_by.items()]
        return "\n".join([f"exit status {self.status}", *shown, *self.said.splitlines()[-40:]])

    def number(self, words: str) -> int:
        """Return a number from what libFuzzer says."""
        found = re.findall(words, self.said)
        assert found, str(self)
        return int(found[-1])


def dictionary() -> str:
    """Write the names and words of the protocol as libFuzzer reads them."""
    words = {word.encode("utf-8", "surrogatepass") for word in NAMES + WORDS if word}
    return "".join(
        '"' + "".join(f"\\x{byte:02X}" for byte in b'"' + word + b'"') + '"\n'
        for word in sorted(words)
    )


def search(target: str, folder: Path, root: Path, *, seed: int, seconds: int) -> Search:
    """Let a process of its own search for inputs that break a target."""
    corpus, broken, names = folder / "corpus", folder / "broken", folder / "names.dict"
    corpus.mkdir()
    broken.mkdir()
    names.write_text(dictionary())
    for number, body in enumerate(beginnings(target)):
        (corpus / str(number)).write_bytes(body[:LONGEST_INPUT])
    done = subprocess.run(  # noqa: S603 - our own interpreter and program
        [
            *IN_A_SHELL,
            *(sys.executable, "-m", PROGRAM, target),
            f"-seed={seed}",
            f"-max_total_time={seconds}",
            f"-max_len={LONGEST_INPUT}",
            f"-timeout={SECONDS_OF_ONE}",
            f"-rss_limit_mb={MEGABYTES}",
            f"-dict={names}",
            f"-artifact_prefix={broken}/",
            str(corpus),
        ],
        cwd=root,
        capture_output=True,
        timeout=seconds + 120,
        check=False,
    )
    # The reader's own traceback last, where it is seen.
    said = (done.stderr + done.stdout).decode(errors="replace")
    kept = {path.name: path.read_bytes() for path in sorted(broken.iterdir())}
    return Search(done.returncode, said, kept)


@pytest.mark.parametrize("target", TARGETS)
def test_no_input_that_new_branches_lead_to_breaks_a_reader(
    target: str,
    tmp_path: Path,
    pytestconfig: pytest.Config,
    capsys: pytest.CaptureFixture[str],
) -> None:
    seed = 1 + secrets.randbelow(2**31 - 1)
    seconds = LONGER.get(target, SECONDS)
    with capsys.disabled():
        print(f"\n{target}: searching for {seconds} s with -seed={seed}")  # noqa: T201
    found = search(target, tmp_path, pytestconfig.rootpath, seed=seed, seconds=seconds)
    assert found.status == 0, str(found)
    assert found.broken_by == {}, str(found)
    assert found.number(r"Done (\d+) runs") >= FEWEST
    # Branches of ours were watched, and not only the input.
    assert found.number(r"cov: (\d+)") >= FEWEST_BRANCHES


@pytest.mark.parametrize("target", PLANTED)
def test_a_planted_fault_is_found_and_shown(
    target: str, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    for body in beginnings(target):
        PLANTED[target](body)  # not one of those that the search begins with
    found = search(target, tmp_path, pytestconfig.rootpath, seed=1, seconds=SECONDS)
    assert found.status != 0, str(found)
    (body,) = found.broken_by.values()
    with pytest.raises(AssertionError):
        PLANTED[target](body)
    assert repr(body) in str(found)
    assert "an id of one character" in str(found)
