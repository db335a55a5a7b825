"""Files that come back, written by `--save` where one was named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from a2a_delegate.testing import Operation, Rewrite
from tests.cli.begun import begin
from tests.cli.command import COMMAND, invoke, run

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cli.peer_on_a_port import PeerOnAPort

pytestmark = pytest.mark.spec("CLI-31")

CONTENT = b"hi\x00\xff"
"""What the scripted agent puts into the file `a.bin`, beside one at a URL."""


def names_in(directory: Path) -> list[str]:
    """Return what a directory holds, by name."""
    return sorted(path.name for path in directory.iterdir())


def files_called(*names: str) -> Callable[[Any], Any]:
    """Return a change of a reply that gives its task files of these names."""

    def change(body: Any) -> Any:
        parts = [{"raw": "eA==", "filename": name} for name in names]
        task = body["result"].get("task", body["result"])
        task.setdefault("artifacts", []).append({"artifactId": "files", "parts": parts})
        return body

    return change


def test_the_files_are_written_and_their_paths_told(peer: PeerOnAPort, tmp_path: Path) -> None:
    directory = tmp_path / "new" / "one"
    done = run("send", peer.origin, "file", "--save", str(directory))
    assert (done.status, done.out) == (0, b"result of file\n")
    assert done.err == (
        f"saved: {directory / 'a.bin'}\nnot shown here: 1 file URL; --json shows them\n"
    )
    assert (directory / "a.bin").read_bytes() == CONTENT
    assert names_in(directory) == ["a.bin"]


def test_json_has_their_paths_and_standard_error_nothing(
    peer: PeerOnAPort, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = invoke("send", peer.origin, "file", "--save", ".", "--json")
    assert (done.status, done.err, json.loads(done.out)["files"]) == (0, "", ["a.bin"])
    again = invoke("send", peer.origin, "file", "--save", "./", "--json")
    assert json.loads(again.out)["files"] == ["a-2.bin"]
    assert Path("a.bin").read_bytes() == Path("a-2.bin").read_bytes() == CONTENT


def test_names_that_a_peer_made_up_reach_neither_disk_nor_terminal(
    peer: PeerOnAPort, tmp_path: Path
) -> None:
    hostile = files_called("../../up", "/etc/x", "a\x1b[31m\n.txt", ".hidden")
    peer.do(lambda it: it.script(Operation.SEND, Rewrite(hostile)))
    done = run("send", peer.origin, "hi", "--save", str(tmp_path / "in"))
    names = [line.removeprefix(f"saved: {tmp_path / 'in'}/") for line in done.err.splitlines()]
    assert names == ["up", "x", "a[31m .txt", "hidden"]
    assert names_in(tmp_path / "in") == sorted(names)
    assert names_in(tmp_path) == ["in"]


def test_resume_saves_as_well(peer: PeerOnAPort, tmp_path: Path) -> None:
    handle = begin(peer, "slow 0.3")
    peer.do(lambda it: it.always(Operation.GET, Rewrite(files_called("r.txt"))))
    done = invoke("resume", handle.to_json(), "--save", str(tmp_path), "--poll-interval", "0.05")
    assert done.status == 0
    assert f"saved: {tmp_path / 'r.txt'}\n" in done.err
    assert (tmp_path / "r.txt").read_bytes() == b"x"


def test_what_a_failed_task_made_is_saved_too(peer: PeerOnAPort, tmp_path: Path) -> None:
    peer.do(lambda it: it.script(Operation.SEND, Rewrite(files_called("half.txt"))))
    done = invoke("send", peer.origin, "fail", "--save", str(tmp_path))
    assert done.status == 1
    assert f"saved: {tmp_path / 'half.txt'}\n" in done.err


@pytest.mark.parametrize("form", [(), ("--json",)])
@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ("file", "file is no directory"),
        ("file/below", "file/below is no directory"),
        ("", "must be a path"),
        ("x" * 300, "File name too long"),
    ],
)
def test_a_directory_that_cannot_be_is_told_of_before_anything_is_sent(
    peer: PeerOnAPort, tmp_path: Path, wrong: str, told: str, form: tuple[str, ...]
) -> None:
    (tmp_path / "file").write_bytes(b"")
    directory = str(tmp_path / wrong) if wrong else ""
    done = invoke("send", peer.origin, "hi", "--save", directory, *form)
    said = json.loads(done.out)["error"]["message"] if form else done.err
    assert (done.status, told in said, "--save: " in said) == (2, True, True)
    assert peer.do(lambda it: it.truth.requests) == ()


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_files_that_cannot_be_written_are_no_success(
    peer: PeerOnAPort, tmp_path: Path, form: tuple[str, ...]
) -> None:
    # An agent's large file, and a disk that takes no more.
    peer.do(lambda it: it.script(Operation.SEND, Rewrite(files_called("a", "b"))))
    shell = ("/bin/sh", "-c", 'ulimit -f 0; exec "$0" "$@"', *COMMAND)
    done = run("send", peer.origin, "hi", "--save", str(tmp_path), *form, command=shell)
    assert done.status == 1
    assert done.err.endswith("the files could not be written: File too large\n")
    assert b"result of hi" in done.out or form
    assert names_in(tmp_path) == []
    if form:
        assert json.loads(done.out)["files"] == []


def test_without_it_nothing_is_written_and_the_files_are_told_of(
    peer: PeerOnAPort, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = invoke("send", peer.origin, "file")
    assert done.err == (
        "not shown here: 1 file URL; --json shows them\n"
        "not shown here: 1 file; --save DIR saves them\n"
    )
    assert json.loads(invoke("send", peer.origin, "file", "--json").out)["files"] == []
    assert names_in(tmp_path) == []
