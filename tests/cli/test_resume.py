"""The command `resume` against a peer on a port, and the handles that it takes."""

from __future__ import annotations

import json
import re
import shlex
import signal
import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from a2a_delegate import DelegationHandle
from a2a_delegate.testing import (
    Delay,
    DropAfterAccepting,
    Hang,
    Honest,
    IgnoredCancel,
    Operation,
    Respond,
    WorkState,
)
from tests.cli.begun import begin
from tests.cli.command import PATIENCE, environment, finish, invoke, run, start
from tests.cli.peer_on_a_port import PeerOnAPort
from tests.cli.pseudo_terminal import Terminal
from tests.cli.test_send import MEMBERS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from a2a_delegate.testing import GroundTruth

QUICKLY = ("--poll-interval", "0.05")
_WITH_A_PASSWORD = json.dumps(
    {
        "delegate_id": "d",
        "endpoint": "https://u:s3cret@a.example/",
        "version": "1.0",
        "binding": "JSONRPC",
        "message_id": "m",
        "body_digest": "d",
        "sent_at": "2026-01-01T00:00:00+00:00",
    }
)
HEADER = ("-H", "Authorization: Bearer s3cr3t-t0ken")


def state_of(peer: PeerOnAPort) -> WorkState:
    (task,) = peer.do(lambda it: it.truth.tasks)
    return task.state


def requests(peer: PeerOnAPort) -> list[Operation | None]:
    return peer.do(lambda it: [one.operation for one in it.truth.requests])


def is_asked_for(before: int) -> Callable[[GroundTruth], bool]:
    """Make a condition: the task was asked for since there were so many requests."""

    def is_true(truth: GroundTruth) -> bool:
        return any(one.operation is Operation.GET for one in truth.requests[before:])

    return is_true


# -- the outcome -----------------------------------------------------------------------------------


@pytest.mark.spec("CLI-23", "CLI-4", "CLI-5")
def test_the_answer_is_told_as_by_send_and_nothing_is_sent_anew(peer: PeerOnAPort) -> None:
    handle = begin(peer, "slow 0.3")
    before = len(requests(peer))
    done = run("resume", handle.to_json(), *QUICKLY)
    assert (done.status, done.out, done.err) == (0, b"result of slow 0.3\n", "")
    assert set(requests(peer)[before:]) == {Operation.GET}, "no card is looked for"


@pytest.mark.spec("CLI-7", "CLI-23")
def test_json_is_the_object_of_send_under_the_delegates_own_id(peer: PeerOnAPort) -> None:
    handle = replace(begin(peer, "data"), delegate_id="my own name")
    done = invoke("resume", handle.to_json(), "--json")
    told = json.loads(done.out)
    assert (done.status, done.err, set(told)) == (0, "", MEMBERS)
    assert told["data"] == [{"city": "Rome", "n": 3, "list": [1, None, "x"]}]
    assert DelegationHandle.from_json(json.dumps(told["handle"])) == handle


@pytest.mark.spec("CLI-10", "CLI-24")
def test_one_look_at_a_task_that_goes_on_exits_with_7_and_stops_nothing(
    peer: PeerOnAPort,
) -> None:
    handle = begin(peer, "stuck")
    before = len(requests(peer))
    done = invoke("resume", handle.to_json(), "--no-wait")
    assert (done.status, done.out) == (7, b"")
    assert "the task goes on: working" in done.err
    assert requests(peer)[before:] == [Operation.GET]
    spelled = invoke("resume", handle.to_json(), "--no-wait", "--json")
    told = json.loads(spelled.out)
    assert (spelled.status, told["status"], told["effect"]) == (7, "running", "ran")
    assert told["error"]["facts"] == {"last_state": "working"}
    assert state_of(peer) is WorkState.WORKING


@pytest.mark.spec("CLI-24")
def test_one_look_at_a_task_that_has_ended_is_its_outcome(peer: PeerOnAPort) -> None:
    handle = begin(peer, "stuck")
    peer.do(lambda it: it.finish(it.truth.tasks[0].id, state="failed", text="no luck"))
    done = invoke("resume", handle.to_json(), "--no-wait")
    assert (done.status, done.out) == (1, b"")
    assert "no luck" in done.err


@pytest.mark.spec("CLI-14", "CLI-23")
def test_at_its_timeout_the_task_is_cancelled(peer: PeerOnAPort) -> None:
    handle = begin(peer, "stuck")
    done = invoke("resume", handle.to_json(), "--timeout", "0.5", *QUICKLY, "--json")
    told = json.loads(done.out)
    assert (done.status, told["status"], told["receipt"]) == (5, "timed-out", "confirmed")
    assert state_of(peer) is WorkState.CANCELED


@pytest.mark.spec("CLI-23")
def test_a_task_that_waits_for_credentials_is_watched_until_they_are_there(
    peer: PeerOnAPort,
) -> None:
    asked = invoke("send", peer.origin, "auth", "--json")
    assert asked.status == 4
    before = len(requests(peer))
    waiting = start("resume", asked.out.decode(), "--auth-required", "wait", *QUICKLY)
    peer.wait_until(is_asked_for(before))
    peer.do(lambda it: it.finish(it.truth.tasks[0].id, text="let in"))
    done = finish(waiting)
    assert (done.status, done.out) == (0, b"let in\n")


# -- signals ---------------------------------------------------------------------------------------


@pytest.mark.spec("CLI-12", "CLI-23")
def test_a_signal_cancels_at_the_peer_and_says_so(peer: PeerOnAPort) -> None:
    handle = begin(peer, "stuck")
    before = len(requests(peer))
    process = start("resume", handle.to_json(), *QUICKLY)
    peer.wait_until(is_asked_for(before))
    process.send_signal(signal.SIGINT)
    done = finish(process)
    assert (done.status, done.out) == (5, b"")
    assert done.err.startswith("SIGINT: cancelling, which takes at most 4.5 s; once more ends")
    assert "cancelled by the caller (SIGINT); cancel at the peer: confirmed" in done.err
    assert state_of(peer) is WorkState.CANCELED


@pytest.mark.spec("CLI-24")
def test_a_signal_during_one_look_stops_nothing_and_says_so(peer: PeerOnAPort) -> None:
    handle = begin(peer, "stuck")
    before = len(requests(peer))
    peer.do(lambda it: it.always(Operation.GET, Hang()))
    process = start("resume", handle.to_json(), "--no-wait")
    peer.wait_until(is_asked_for(before))
    process.send_signal(signal.SIGTERM)
    done = finish(process)
    assert done.status == 5
    assert done.err.startswith("SIGTERM: looking no further; the task is left alone; once more")
    assert "cancel at the peer: unreached" in done.err
    assert Operation.CANCEL not in requests(peer)[before:]
    assert state_of(peer) is WorkState.WORKING


@pytest.mark.spec("CLI-15", "CLI-23")
def test_a_person_sees_that_the_agent_is_asked(peer: PeerOnAPort) -> None:
    handle = begin(peer, "stuck")
    peer.do(lambda it: it.script(Operation.GET, Delay(0.4, Honest())))
    with Terminal("resume", handle.to_json(), *QUICKLY) as terminal:
        terminal.read_until(b"asking the agent")
        terminal.read_until(b"working on it")
        peer.do(lambda it: it.finish(it.truth.tasks[0].id, text="done"))
        assert terminal.finish() == 0
    assert b"looking for the agent's card" not in terminal.seen
    assert b"sending" not in terminal.seen


# -- what a handle may look like -------------------------------------------------------------------


@pytest.mark.spec("CLI-25")
def test_a_handle_stands_on_the_line_in_a_file_or_in_a_pipe(
    peer: PeerOnAPort, tmp_path: Path
) -> None:
    handle = begin(peer, "work").to_json()
    file = tmp_path / "handle.json"
    file.write_text(f"{handle}\n")
    for word, stdin in ((handle, b""), (f"@{file}", b""), ("-", handle.encode())):
        done = invoke("resume", word, stdin=stdin)
        assert (done.status, done.out) == (0, b"result of work\n"), done.err


@pytest.mark.spec("CLI-25")
def test_what_send_prints_as_json_can_be_piped_into_resume(old_peer: PeerOnAPort) -> None:
    script = (
        '"$0" -m a2a_delegate send "$1" auth --json'
        ' | "$0" -m a2a_delegate resume - --no-wait --json'
    )
    done = run(sys.executable, old_peer.origin, command=("/bin/sh", "-c", script))
    assert done.status == 4
    assert json.loads(done.out)["status"] == "auth-required"


@pytest.mark.spec("CLI-3", "CLI-25")
@pytest.mark.parametrize(
    ("word", "told"),
    [
        ("", "HANDLE: not JSON at character 0"),
        ("{", "HANDLE: not JSON at character 1"),
        ("[" * 100_000, "HANDLE: "),
        ('{"a": ' * 900 + "1" + "}" * 900, "HANDLE: not a delegation handle"),
        ("[]", "HANDLE: not a delegation handle (no JSON object); give one as"),
        ("{}", "delegate_id must be text"),
        ('{"status": "failed", "handle": null}', "has none, because nothing of it was sent"),
        ('{"status": "completed", "task_id": null, "handle": {}}', "made no task"),
        (_WITH_A_PASSWORD, "user information"),
        ('{"handle": {"delegate_id": "x"}}', "endpoint must be text"),
        ("@/no/such/file", "HANDLE: cannot read /no/such/file: No such file"),
        ("@/dev/zero", "larger than the"),
    ],
    ids=lambda value: value[:20],
)
@pytest.mark.parametrize("command", ["resume", "cancel"])
def test_what_is_no_handle_is_wrong_usage(command: str, word: str, told: str) -> None:
    plain = invoke(command, word)
    assert (plain.status, plain.out) == (2, b"")
    assert plain.err.startswith("wrong usage: HANDLE: ")
    assert told in plain.err
    assert plain.err.count("\n") == 1
    spelled = invoke(command, word, "--json")
    error = json.loads(spelled.out)
    assert (spelled.status, spelled.err, set(error)) == (2, "", MEMBERS)
    assert error["error"]["type"] == "UsageError"


@pytest.mark.spec("CLI-26")
@pytest.mark.parametrize(
    ("fact", "status", "told"),
    [
        ({"version": "9.9"}, 2, "names no interface of A2A"),
        ({"binding": "GRPC"}, 2, "A2A 1.0 over GRPC, which the handle names, is not spoken"),
        ({"delegate_id": ""}, 2, "needs a non-empty string as its id"),
        ({"endpoint": "file:///etc/passwd"}, 3, "no absolute http or https URL"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else None,
)
@pytest.mark.parametrize("command", ["resume", "cancel"])
def test_a_handle_that_cannot_be_used_says_nothing_of_the_work(
    peer: PeerOnAPort, command: str, fact: dict[str, Any], status: int, told: str
) -> None:
    handle = replace(begin(peer, "stuck"), **fact)
    before = len(requests(peer))
    done = invoke(command, handle.to_json(), "--json")
    error = json.loads(done.out)
    assert requests(peer)[before:] == []
    assert (done.status, error["receipt"]) == (status, None)
    assert told in error["error"]["message"]
    assert (error["status"], error["effect"]) == ("unknown", "may-have-run")
    assert DelegationHandle.from_json(json.dumps(error["handle"])) == handle


@pytest.mark.spec("CLI-10", "CLI-24")
def test_a_look_that_reaches_nobody_is_unknown(peer: PeerOnAPort) -> None:
    handle = replace(begin(peer, "stuck"), endpoint="http://127.0.0.1:1/")
    done = invoke("resume", handle.to_json(), "--no-wait", "--json")
    told = json.loads(done.out)
    assert (done.status, told["status"], told["effect"]) == (6, "unknown", "ran")
    assert told["error"]["type"] == "PeerUnreachableError"


@pytest.mark.spec("CLI-26")
def test_words_that_cannot_be_parsed_say_nothing_of_the_work() -> None:
    for command in ("resume", "cancel"):
        told = json.loads(invoke(command, "--json", "--frob").out)
        assert (told["status"], told["effect"]) == ("unknown", "may-have-run")
    told = json.loads(invoke("send", "--json", "--frob").out)
    assert (told["status"], told["effect"]) == ("failed", "not-started")


# -- where requests and headers go -----------------------------------------------------------------


@pytest.mark.spec("CLI-27")
@pytest.mark.parametrize("command", ["resume", "cancel"])
def test_headers_go_nowhere_by_the_word_of_a_handle_alone(peer: PeerOnAPort, command: str) -> None:
    handle = begin(peer, "work").to_json()
    before = len(requests(peer))
    refused = invoke(command, handle, *HEADER)
    assert refused.status == 2
    assert f"add --url {peer.origin} if that is the agent" in refused.err
    assert requests(peer)[before:] == []
    assert invoke(command, handle, *HEADER, "--url", peer.origin).status == 0
    last = peer.do(lambda it: it.truth.requests[-1])
    assert last.headers["authorization"] == "Bearer s3cr3t-t0ken"


@pytest.mark.spec("CLI-27")
def test_an_endpoint_that_is_no_url_is_not_proposed(peer: PeerOnAPort) -> None:
    handle = replace(begin(peer, "work"), endpoint="file:///x")
    done = invoke("resume", handle.to_json(), *HEADER)
    assert done.status == 2
    assert "add --url URL if that is" in done.err


@pytest.mark.spec("CLI-27", "CLI-20")
@pytest.mark.parametrize("command", ["resume", "cancel"])
def test_a_handle_to_another_origin_than_the_typed_one_is_refused(
    peer: PeerOnAPort, command: str
) -> None:
    handle = begin(peer, "work").to_json()
    before = len(requests(peer))
    refused = invoke(command, handle, *HEADER, "--url", "https://agent.example")
    assert refused.status == 3
    assert f"--allow-origin {peer.origin}" in refused.err
    assert requests(peer)[before:] == []
    allowed = invoke(
        command, handle, "--url", "https://agent.example", "--allow-origin", peer.origin
    )
    assert allowed.status == 0
    assert set(requests(peer)[before:]) == {Operation.GET}, "no card is looked for"


@pytest.mark.spec("CLI-3", "CLI-27")
@pytest.mark.parametrize(
    ("url", "status", "told"),
    [
        ("agent.example", 2, "type it with its scheme"),
        ("https://user:pass@agent.example", 3, "user information"),
    ],
)
def test_a_url_that_cannot_be_used_is_told_of(
    peer: PeerOnAPort, url: str, status: int, told: str
) -> None:
    done = invoke("resume", begin(peer, "work").to_json(), "--url", url)
    assert (done.status, done.out) == (status, b"")
    assert told in done.err


@pytest.mark.spec("CLI-27")
def test_a_reply_lost_over_0_3_is_looked_up_at_the_1_0_face_of_the_typed_agent() -> None:
    with PeerOnAPort("0.3", "1.0") as peer:
        peer.do(lambda it: it.script(Operation.SEND, DropAfterAccepting()))
        peer.do(lambda it: it.always(Operation.LIST, Respond(500)))
        lost = invoke("send", peer.origin, "work", *QUICKLY, "--json")
        assert lost.status == 6
        peer.do(lambda it: it.always(Operation.LIST, Honest()))
        alone = invoke("resume", lost.out.decode())
        assert alone.status == 6
        assert "the peer cannot be asked for tasks by list" in alone.err
        found = invoke("resume", lost.out.decode(), "--url", peer.origin)
        assert (found.status, found.out) == (0, b"result of work\n")
        assert peer.do(lambda it: it.truth.sends) == 1


# -- one process after another ---------------------------------------------------------------------


FIRST = """
import sys, anyio
from a2a_delegate import Intent, IdKnown, connect

async def main(url, path):
    async with connect(url) as delegate:
        def keep(signal):
            if isinstance(signal, Intent):
                with open(path, "w") as file:
                    file.write(signal.handle.to_json())
            elif isinstance(signal, IdKnown):
                print("begun", flush=True)
        await delegate.dispatch("stuck", observer=keep)

anyio.run(main, *sys.argv[1:])
"""


@pytest.mark.spec("CLI-23")
def test_what_a_killed_process_began_another_one_resumes(peer: PeerOnAPort, tmp_path: Path) -> None:
    file = tmp_path / "handle.json"
    with subprocess.Popen(  # noqa: S603 - words of this test
        [sys.executable, "-c", FIRST, peer.origin, str(file)],
        stdout=subprocess.PIPE,
        env=environment(),
    ) as first:
        assert first.stdout is not None
        assert first.stdout.readline() == b"begun\n"
        first.kill()
        assert first.wait(PATIENCE) == -signal.SIGKILL
    assert state_of(peer) is WorkState.WORKING
    running = run("resume", f"@{file}", "--no-wait")
    assert running.status == 7, "found by its context and message id: the file knows no task"
    peer.do(lambda it: it.finish(it.truth.tasks[0].id, text="the answer"))
    done = run("resume", f"@{file}")
    assert (done.status, done.out) == (0, b"the answer\n")
    assert peer.do(lambda it: it.truth.sends) == 1


@pytest.mark.spec("CLI-13", "CLI-28")
def test_a_command_that_is_ended_at_once_says_how_to_look_again(peer: PeerOnAPort) -> None:
    peer.do(lambda it: it.always(Operation.CANCEL, IgnoredCancel()))
    process = start("send", peer.origin, "stuck", *QUICKLY)
    peer.wait_until(is_asked_for(0))
    process.send_signal(signal.SIGINT)
    peer.wait_until(lambda truth: truth.cancels == 1)
    process.send_signal(signal.SIGINT)
    done = finish(process)
    assert done.status == 130
    (line,) = re.findall(r"to look what became of it: a2a-delegate (.*)", done.err)
    again = run(*shlex.split(line))
    assert again.status == 7
    assert DelegationHandle.from_json(shlex.split(line)[1]).task_id is not None


@pytest.mark.spec("CLI-26")
def test_a_signal_while_a_card_is_looked_for_says_nothing_of_the_work(
    old_peer: PeerOnAPort,
) -> None:
    old_peer.do(lambda it: it.script(Operation.SEND, DropAfterAccepting()))
    lost = invoke("send", old_peer.origin, "work", "--json")
    old_peer.do(lambda it: it.always(Operation.CARD, Hang()))
    before = len(requests(old_peer))
    words = (lost.out.decode(), "--url", old_peer.origin, "--json")
    process = start("resume", *words)
    old_peer.wait_until(lambda truth: len(truth.requests) > before)
    process.send_signal(signal.SIGINT)
    done = finish(process)
    told = json.loads(done.out)
    assert (done.status, told["status"], told["effect"]) == (5, "unknown", "may-have-run")
    assert told["error"]["type"] == "DelegationCancelledError"
    assert told["handle"] == json.loads(lost.out)["handle"]
