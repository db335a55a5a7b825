"""The command `cancel` against a peer on a port."""

from __future__ import annotations

import json
import signal
from typing import TYPE_CHECKING

import pytest

from a2a_delegate.testing import (
    DropAfterAccepting,
    Hang,
    IgnoredCancel,
    Operation,
    RefusedCancel,
    Respond,
    WorkState,
)
from tests.cli.begun import begin
from tests.cli.command import COMMAND, finish, invoke, run, start
from tests.cli.test_send import MEMBERS

if TYPE_CHECKING:
    from a2a_delegate.testing import Behaviour
    from tests.cli.peer_on_a_port import PeerOnAPort


def state_of(peer: PeerOnAPort) -> WorkState:
    (task,) = peer.do(lambda it: it.truth.tasks)
    return task.state


@pytest.mark.spec("CLI-29", "CLI-5")
def test_a_task_that_was_stopped_is_the_word_confirmed_alone(peer: PeerOnAPort) -> None:
    handle = begin(peer, "stuck").to_json()
    done = run("cancel", handle)
    assert (done.status, done.out, done.err) == (0, b"confirmed\n", "")
    assert state_of(peer) is WorkState.CANCELED
    again = invoke("cancel", handle)
    assert (again.status, again.out) == (0, b"confirmed\n")


@pytest.mark.spec("CLI-29")
def test_the_evidence_is_told_where_that_is_asked_for(peer: PeerOnAPort) -> None:
    done = invoke("cancel", begin(peer, "stuck").to_json(), "--explain")
    assert (done.status, done.out) == (0, b"confirmed\n")
    assert "2. cancel (1.0): answered, HTTP 200" in done.err


@pytest.mark.spec("CLI-29")
@pytest.mark.parametrize(
    ("prompt", "status"), [("work", "completed"), ("fail", "failed"), ("reject", "rejected")]
)
def test_a_task_that_had_ended_is_left_alone_and_how_it_ended_is_told(
    peer: PeerOnAPort, prompt: str, status: str
) -> None:
    ended = invoke("send", peer.origin, prompt, "--json").out
    done = invoke("cancel", "-", stdin=ended)
    assert (done.status, done.out) == (0, b"not-needed\n")
    assert status in done.err
    assert "late" not in done.err, "it was not cancelled, so nothing came after a cancel"
    told = json.loads(invoke("cancel", "-", "--json", stdin=ended).out)
    assert (told["status"], told["receipt"]) == (status, "not-needed")
    assert peer.do(lambda it: it.truth.cancels) == 0


@pytest.mark.spec("CLI-29", "CLI-7")
@pytest.mark.parametrize(
    ("behaviour", "receipt", "status"),
    [
        (RefusedCancel(), "refused", 1),
        (IgnoredCancel(), "requested", 7),
        (Respond(500), "unreached", 6),
    ],
    ids=["refused", "requested", "unreached"],
)
def test_every_other_receipt_has_its_status_and_says_how_to_look_again(
    peer: PeerOnAPort, behaviour: Behaviour, receipt: str, status: int
) -> None:
    handle = begin(peer, "stuck").to_json()
    peer.do(lambda it: it.always(Operation.CANCEL, behaviour))
    plain = invoke("cancel", handle)
    assert (plain.status, plain.out) == (status, f"{receipt}\n".encode())
    assert f"cancel at the peer: {receipt}" in plain.err
    assert "to look what became of it: a2a-delegate resume '" in plain.err
    spelled = invoke("cancel", handle, "--json")
    told = json.loads(spelled.out)
    assert (spelled.status, spelled.err, set(told)) == (status, "", MEMBERS)
    assert (told["status"], told["receipt"]) == ("cancelled", receipt)
    assert state_of(peer) is WorkState.WORKING


@pytest.mark.spec("CLI-29")
def test_a_delegation_whose_task_nobody_knows_is_not_reached(old_peer: PeerOnAPort) -> None:
    old_peer.do(lambda it: it.script(Operation.SEND, DropAfterAccepting()))
    lost = invoke("send", old_peer.origin, "work", "--json")
    assert lost.status == 6
    done = invoke("cancel", "-", stdin=lost.out)
    assert (done.status, done.out) == (6, b"unreached\n")


@pytest.mark.spec("CLI-29")
def test_a_signal_during_a_cancel_does_not_end_it(peer: PeerOnAPort) -> None:
    handle = begin(peer, "stuck").to_json()
    peer.do(lambda it: it.always(Operation.CANCEL, Hang()))
    before = peer.do(lambda it: len(it.truth.requests))
    process = start("cancel", handle)
    peer.wait_until(
        lambda truth: any(one.operation is Operation.CANCEL for one in truth.requests[before:])
    )
    process.send_signal(signal.SIGINT)
    done = finish(process)
    # The agent stopped, and only its reply hung: a look shows it.
    assert (done.status, done.out) == (0, b"confirmed\n")
    assert done.err.startswith("SIGINT: already cancelling, which takes at most 4.5 s; once more")


@pytest.mark.spec("CLI-9")
def test_a_receipt_that_cannot_be_written_is_no_success(peer: PeerOnAPort) -> None:
    shell = ("/bin/sh", "-c", 'exec "$0" "$@" > /dev/full', *COMMAND)
    done = run("cancel", begin(peer, "stuck").to_json(), command=shell)
    assert done.status == 1
    assert done.err == "the answer could not be written: No space left on device\n"
