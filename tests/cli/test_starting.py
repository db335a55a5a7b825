"""Starting the command: its help, its version, and what it says where its packages are missing."""

from __future__ import annotations

import re
import sys

import pytest

from a2a_delegate.cli import main
from tests.cli.command import COMMAND, run

RUN_MAIN = "import sys; sys.modules[{missing!r}] = None; from a2a_delegate.cli import main; main()"
HEAVY = {"anyio", "httpx", "pydantic", "rich", "tenacity", "typer"}


def python(code: str) -> tuple[str, ...]:
    return (sys.executable, "-c", code)


@pytest.mark.spec("CLI-1")
@pytest.mark.parametrize("missing", ["typer", "rich"])
def test_without_the_extra_the_command_says_how_to_install_it(missing: str) -> None:
    done = run("send", "http://x", "hi", command=python(RUN_MAIN.format(missing=missing)))
    assert (done.status, done.out) == (2, b"")
    assert "pip install 'a2a-delegate[cli]'" in done.err
    assert missing in done.err
    assert "Traceback" not in done.err


@pytest.mark.spec("CLI-1")
def test_main_says_how_to_install_the_extra_and_takes_nothing_else_for_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["a2a-delegate", "--version"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 0
    monkeypatch.delitem(sys.modules, "a2a_delegate.cli.app")
    monkeypatch.setitem(sys.modules, "typer", None)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert "pip install 'a2a-delegate[cli]'" in capsys.readouterr().err
    monkeypatch.undo()
    monkeypatch.delitem(sys.modules, "a2a_delegate.cli.app")
    monkeypatch.setitem(sys.modules, "a2a_delegate.cli.commands", None)
    with pytest.raises(ModuleNotFoundError):
        main()


@pytest.mark.parametrize("name", ["typer", "httpx", "a2a_delegate.outcome"])
def test_a_ctrl_c_while_the_packages_are_imported_is_no_traceback(name: str) -> None:
    code = (
        "import os, signal, sys\n"
        "class Interrupting:\n"
        "    def find_spec(self, name, *_):\n"
        f"        if name == {name!r}:\n"
        "            try: os.kill(os.getpid(), signal.SIGINT)\n"
        "            finally: raise RuntimeError('some code makes others of an exception')\n"
        "sys.meta_path.insert(0, Interrupting())\n"
        "from a2a_delegate.cli import main\n"
        "main()\n"
    )
    done = run("send", "http://h.example", "hi", command=python(code))
    assert (done.status, done.out, done.err) == (130, b"", "")


@pytest.mark.spec("CLI-1")
def test_another_module_that_is_missing_is_not_taken_for_the_extra() -> None:
    done = run("--help", command=python(RUN_MAIN.format(missing="httpx")))
    assert done.status == 1
    assert "a2a-delegate[cli]" not in done.err
    assert "ModuleNotFoundError" in done.err


@pytest.mark.spec("CLI-1")
def test_importing_the_command_imports_no_library() -> None:
    code = "import sys, a2a_delegate.cli; print(*{name.partition('.')[0] for name in sys.modules})"
    done = run(command=python(code))
    assert done.status == 0
    assert HEAVY.isdisjoint(done.out.decode().split())


@pytest.mark.spec("CLI-2")
@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ("--help",),
            ["in seconds", "6  unknown: it may have run", "card", "send", "resume", "cancel"],
        ),
        (
            ("send", "--help"),
            [
                "git diff | a2a-delegate send",
                "4  the agent asks for input",
                "--timeout SECONDS",
                "effect       not-started (repeating is safe)",
                "env:VARIABLE or @FILE",
                "Ctrl-C, or SIGTERM, cancels at the agent",
            ],
        ),
        (("card", "-h"), ["jq .interfaces", "--allow-origin ORIGIN"]),
        (
            ("resume", "-h"),
            [
                "--no-wait",
                "cancelled at the agent",
                "7  the task goes on",
                "--json | a2a-delegate resume -",
            ],
        ),
        (("cancel", "-h"), ["not-needed   0  it had ended", "unreached    6", "requested    7"]),
    ],
    ids=lambda value: value[0],
)
def test_help_teaches(words: tuple[str, ...], told: list[str]) -> None:
    done = run(*words, env={"COLUMNS": "80"})
    assert (done.status, done.err) == (0, "")
    text = done.out.decode()
    assert [one for one in told if one not in text] == []
    assert "\x1b" not in text


@pytest.mark.spec("CLI-2")
def test_help_claims_nothing_that_is_not_there() -> None:
    text = run("--help").out.decode()
    assert not re.search(r"\b(list|show|fan-out|check|record|console)\b", text)


@pytest.mark.spec("CLI-9")
@pytest.mark.parametrize(
    "words", [("--help",), ("--version",), ("send", "-h"), ("card", "-h", "--json")]
)
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_help_that_cannot_be_written_is_no_success(words: tuple[str, ...], unbuffered: str) -> None:
    shell = ("/bin/sh", "-c", 'exec "$0" "$@" > /dev/full', *COMMAND)
    done = run(*words, command=shell, env={"PYTHONUNBUFFERED": unbuffered})
    assert done.err == "the answer could not be written: No space left on device\n"
    assert done.status == 1


def test_a_ctrl_c_that_is_ignored_stays_so() -> None:
    # As of a job that a shell runs in the background.
    code = (
        "import signal\n"
        "signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "from a2a_delegate.cli import main\n"
        "try: main()\n"
        "finally: print(signal.getsignal(signal.SIGINT).name)"
    )
    assert run("--version", command=python(code)).out.endswith(b"SIG_IGN\n")


def test_the_version_is_shown() -> None:
    done = run("--version")
    assert done.status == 0
    assert re.fullmatch(rb"a2a-delegate (\d+\.\d+\.\d+\S*|0\+unknown)\n", done.out)


def test_no_words_at_all_show_the_help() -> None:
    done = run(command=COMMAND)
    assert done.status == 2
    assert "Usage: a2a-delegate" in done.err + done.out.decode()
