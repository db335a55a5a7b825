"""The handle that `--save-handle` keeps: there before the first byte, and after a kill."""

from __future__ import annotations

import json
import signal
from typing import TYPE_CHECKING, Any

import pytest

from a2a_delegate import DelegationHandle
from a2a_delegate.cli.kept_handle import KeptHandle
from a2a_delegate.signals import IdKnown, Intent
from a2a_delegate.testing import Hang, Operation, Rewrite
from tests.cli.command import finish, invoke, run, start
from tests.cli.test_report import HANDLE

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.peer_on_a_port import PeerOnAPort

pytestmark = pytest.mark.spec("CLI-35")


def test_a_killed_command_leaves_the_handle_of_what_it_began(
    peer: PeerOnAPort, tmp_path: Path
) -> None:
    kept = tmp_path / "task.json"
    process = start(
        "send", peer.origin, "stuck", "--poll-interval", "0.05", "--save-handle", str(kept)
    )
    peer.wait_until(lambda truth: any(one.operation is Operation.GET for one in truth.requests))
    process.kill()
    finish(process)
    (task,) = peer.do(lambda it: it.truth.tasks)
    assert DelegationHandle.from_json(kept.read_text()).task_id == task.id
    peer.do(lambda it: it.finish(task.id, text="in the end"))
    assert run("resume", f"@{kept}").out == b"in the end\n"


def test_it_is_there_while_nothing_but_the_request_is_known(
    peer: PeerOnAPort, tmp_path: Path
) -> None:
    kept = tmp_path / "task.json"
    peer.do(lambda it: it.always(Operation.SEND, Hang()))
    process = start("send", peer.origin, "hi", "--save-handle", str(kept))
    peer.wait_until(lambda truth: truth.sends == 1)
    told = DelegationHandle.from_json(kept.read_text())
    process.send_signal(signal.SIGKILL)
    finish(process)
    (sent,) = peer.do(lambda it: [one for one in it.truth.requests if one.body])
    assert told.task_id is None
    assert told.message_id in json.dumps(sent.body)


def test_it_holds_the_handle_that_the_outcome_has(peer: PeerOnAPort, tmp_path: Path) -> None:
    kept = tmp_path / "task.json"
    done = invoke("send", peer.origin, "hi", "--json", "--save-handle", str(kept))
    assert json.loads(kept.read_text()) == json.loads(done.out)["handle"]
    assert [path.name for path in tmp_path.iterdir()] == ["task.json"]


def test_a_file_that_is_there_is_never_written_over(peer: PeerOnAPort, tmp_path: Path) -> None:
    kept = tmp_path / "task.json"
    kept.write_text("the only way back")
    done = invoke("send", peer.origin, "hi", "--save-handle", str(kept))
    assert (done.status, kept.read_text()) == (2, "the only way back")
    assert "--save-handle: the file is there" in done.err
    assert peer.do(lambda it: it.truth.sends) == 0


def test_a_file_that_cannot_be_made_is_told_of_before_anything_is_sent(
    peer: PeerOnAPort, tmp_path: Path
) -> None:
    done = invoke("send", peer.origin, "hi", "--save-handle", str(tmp_path / "no" / "task.json"))
    assert (done.status, done.err) == (2, "wrong usage: --save-handle: No such file or directory\n")
    assert peer.do(lambda it: it.truth.requests) == ()


def test_where_nothing_was_sent_no_file_is_left(tmp_path: Path) -> None:
    kept = tmp_path / "task.json"
    done = invoke("send", "http://127.0.0.1:1", "hi", "--save-handle", str(kept))
    assert (done.status, kept.exists()) == (3, False)


def test_an_endpoint_that_is_never_reached_leaves_none_either(
    peer: PeerOnAPort, tmp_path: Path
) -> None:
    kept = tmp_path / "task.json"
    nowhere = "http://127.0.0.1:1/rpc"

    def elsewhere(body: Any) -> Any:
        for one in body["supportedInterfaces"]:
            one["url"] = nowhere
        return body

    peer.do(lambda it: it.always(Operation.CARD, Rewrite(elsewhere)))
    allowed = ("--allow-origin", "http://127.0.0.1:1", "--timeout", "10")
    done = invoke("send", peer.origin, "hi", "--json", *allowed, "--save-handle", str(kept))
    told = json.loads(done.out)
    assert (told["status"], told["effect"]) == ("failed", "not-started")
    assert (told["handle"], kept.exists()) == (None, False)


def test_a_handle_that_cannot_be_written_is_told_and_ends_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    with KeptHandle(folder / "task.json") as kept:
        kept.observe(Intent(HANDLE))
        (folder / "task.json").unlink()
        folder.rmdir()
        kept.observe(IdKnown("t-1"))
    assert isinstance(kept.lost, FileNotFoundError)
