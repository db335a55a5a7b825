"""Ctrl-C and SIGTERM, sent to the command while it works."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import threading
from typing import TYPE_CHECKING

import anyio
import pytest

from a2a_delegate.cli.interruption import interruptible
from a2a_delegate.testing import Hang, IgnoredCancel, Operation
from tests.cli.command import finish, invoke, start

if TYPE_CHECKING:
    from a2a_delegate.delegate import CancelToken
    from a2a_delegate.testing import GroundTruth
    from tests.cli.peer_on_a_port import PeerOnAPort

QUICKLY = ("--poll-interval", "0.05")


def is_followed(truth: GroundTruth) -> bool:
    """Whether the client knows the task, and asks for it."""
    return any(one.operation is Operation.GET for one in truth.requests)


@pytest.mark.spec("CLI-12")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_cancels_at_the_peer_and_tells_the_receipt(
    peer: PeerOnAPort, number: signal.Signals
) -> None:
    process = start("send", peer.origin, "stuck", *QUICKLY)
    peer.wait_until(is_followed)
    process.send_signal(number)
    done = finish(process)
    (fact,) = peer.do(lambda it: it.truth.tasks)
    assert (fact.state, fact.cancel_requests) == ("canceled", 1)
    assert (done.status, done.out) == (5, b"")
    first, *rest = done.err.splitlines()
    assert first == f"{number.name}: cancelling, which takes at most 4.5 s; once more ends at once"
    outcome = f"cancelled by the caller ({number.name}); cancel at the peer: confirmed"
    assert outcome in rest
    assert peer.do(lambda it: it.truth.open) == 0


@pytest.mark.spec("CLI-7", "CLI-12")
def test_json_tells_a_cancel_with_its_receipt(peer: PeerOnAPort) -> None:
    process = start("send", peer.origin, "stuck", *QUICKLY, "--json")
    peer.wait_until(is_followed)
    process.send_signal(signal.SIGINT)
    done = finish(process)
    told = json.loads(done.out)
    assert (done.status, told["status"], told["receipt"]) == (5, "cancelled", "confirmed")
    assert told["error"]["facts"] == {"by": "caller", "reason": "SIGINT"}


@pytest.mark.spec("CLI-12")
def test_an_answer_that_comes_after_the_cancel_is_still_the_answer(peer: PeerOnAPort) -> None:
    peer.do(lambda it: it.always(Operation.CANCEL, IgnoredCancel()))
    process = start("send", peer.origin, "stuck", *QUICKLY)
    peer.wait_until(is_followed)
    process.send_signal(signal.SIGINT)
    peer.wait_until(lambda truth: truth.cancels == 1)
    peer.do(lambda it: it.finish(it.truth.tasks[0].id, text="here it is"))
    done = finish(process)
    assert (done.status, done.out) == (0, b"here it is\n")
    assert "late: after a cancel" in done.err


@pytest.mark.spec("CLI-7", "CLI-8", "CLI-12")
@pytest.mark.parametrize("form", [(), ("--json",)])
def test_a_cancel_while_the_card_is_looked_for_sends_nothing(
    peer: PeerOnAPort, form: tuple[str, ...]
) -> None:
    peer.do(lambda it: it.always(Operation.CARD, Hang()))
    process = start("send", peer.origin, "hi", *form)
    peer.wait_until(lambda truth: len(truth.requests) == 1)
    process.send_signal(signal.SIGINT)
    done = finish(process)
    assert done.status == 5
    assert peer.do(lambda it: it.truth.sends) == 0
    if form:
        told = json.loads(done.out)
        assert (told["status"], told["effect"]) == ("cancelled", "not-started")
        assert (told["receipt"], told["handle"]) == ("not-needed", None)
    else:
        assert done.out == b""
        assert "nothing was sent" in done.err


@pytest.mark.spec("CLI-13")
@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=str
)
def test_the_second_signal_ends_at_once(
    peer: PeerOnAPort, number: signal.Signals, status: int
) -> None:
    peer.do(lambda it: it.always(Operation.CANCEL, Hang()))
    process = start("send", peer.origin, "stuck", *QUICKLY)
    peer.wait_until(is_followed)
    process.send_signal(signal.SIGINT)
    peer.wait_until(lambda truth: any(one.operation is Operation.CANCEL for one in truth.requests))
    process.send_signal(number)
    done = finish(process)
    assert (done.status, done.out) == (status, b"")
    assert "it may still be working" in done.err
    assert "Traceback" not in done.err


@pytest.mark.spec("CLI-12")
def test_a_signal_in_this_process_is_taken_while_the_command_works_and_given_back(
    peer: PeerOnAPort,
) -> None:
    def interrupt() -> None:
        peer.wait_until(is_followed)
        os.kill(os.getpid(), signal.SIGTERM)

    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    thread = threading.Thread(target=interrupt)
    thread.start()
    done = invoke("send", peer.origin, "stuck", *QUICKLY)
    thread.join(10)
    assert done.status == 5
    assert "cancel at the peer: confirmed" in done.err
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before


class LoopWithoutSignals(asyncio.SelectorEventLoop):
    """An event loop as Windows has it."""

    def add_signal_handler(self, *_: object) -> None:
        """Refuse, as loops there do."""
        raise NotImplementedError


def test_where_the_loop_takes_no_signals_the_work_goes_on_without() -> None:
    told: list[str] = []

    async def work(token: CancelToken) -> bool:
        await anyio.lowlevel.checkpoint()
        return token.cancelled

    async def attend() -> bool:
        return await interruptible(work, on_first=told.append, on_second=told.clear)

    assert anyio.run(attend, backend_options={"loop_factory": LoopWithoutSignals}) is False
    assert told == []
