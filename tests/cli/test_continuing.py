"""Answers on the command line: `send --continue`, and the commands that are proposed."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from a2a_delegate import (
    AuthRequired,
    Cancelled,
    CancelReceipt,
    Completed,
    DelegationHandle,
    Effect,
    InputRequired,
    Message,
    Role,
    Running,
    TextPart,
    TimedOut,
    Unknown,
)
from a2a_delegate.cli.next_step import Way
from a2a_delegate.errors import LostReplyError
from a2a_delegate.testing import DropAfterAccepting, Operation
from tests.cli.command import invoke, run
from tests.cli.test_outcome_json import HANDLE
from tests.cli.test_send import MEMBERS

if TYPE_CHECKING:
    from a2a_delegate import DelegateResult
    from tests.cli.peer_on_a_port import PeerOnAPort

QUESTION = Message("q", Role.AGENT, (TextPart("which?"),))
LOST = LostReplyError(method="send", phase="read")
OLD = replace(HANDLE, version="0.3", task_id=None)


def proposed(err: str) -> list[str]:
    """Return the words of the one command that standard error proposes."""
    (line,) = re.findall(r"^to .*: a2a-delegate (.*)$", err, re.MULTILINE)
    return shlex.split(line)


@pytest.mark.spec("CLI-6", "CLI-28", "CLI-30")
def test_the_proposed_command_answers_the_question(peer: PeerOnAPort) -> None:
    asked = run("send", peer.origin, "ask")
    assert asked.status == 4
    words = ["Rome" if word == "YOUR ANSWER" else word for word in proposed(asked.err)]
    before = peer.do(lambda it: len(it.truth.requests))
    answered = run(*words)
    assert (answered.status, answered.out, answered.err) == (0, b"result of Rome\n", "")
    made = peer.do(lambda it: [one.operation for one in it.truth.requests[before:]])
    assert Operation.CARD not in made
    assert len(peer.do(lambda it: it.truth.tasks)) == 1


@pytest.mark.spec("CLI-30")
def test_an_answer_goes_on_with_the_task_under_the_delegates_own_id(peer: PeerOnAPort) -> None:
    asked = json.loads(invoke("send", peer.origin, "ask", "--json").out)
    handle = json.dumps({**asked["handle"], "delegate_id": "my own", "principal": "alice"})
    done = invoke("send", peer.origin, "Rome", "--continue", handle, "--json")
    told = json.loads(done.out)
    assert (done.status, done.err, set(told)) == (0, "", MEMBERS)
    assert told["task_id"] == asked["task_id"]
    assert told["handle"]["message_id"] != asked["handle"]["message_id"]
    assert (told["handle"]["delegate_id"], told["handle"]["principal"]) == ("my own", "alice")


@pytest.mark.spec("CLI-25", "CLI-30")
def test_a_question_can_be_piped_into_its_answer(peer: PeerOnAPort) -> None:
    asked = invoke("send", peer.origin, "ask", "--json").out
    done = invoke("send", peer.origin, "Rome", "--continue", "-", stdin=asked)
    assert (done.status, done.out) == (0, b"result of Rome\n")


@pytest.mark.spec("CLI-3", "CLI-30")
def test_what_answers_nothing_is_refused_before_anything_is_sent(peer: PeerOnAPort) -> None:
    asked = json.loads(invoke("send", peer.origin, "ask", "--json").out)["handle"]
    no_task = {name: fact for name, fact in asked.items() if name != "task_id"}
    before = peer.do(lambda it: len(it.truth.requests))
    for words, status, told in (
        (("-", "--continue", "-"), 2, "standard input is read once"),
        (("Rome", "--continue", "nothing"), 2, "HANDLE: not JSON"),
        (("Rome", "--continue", json.dumps(no_task)), 2, "knows no task: resume it first"),
        (("Rome", "--continue", json.dumps(asked), "--context-id", "c"), 2, "another one than"),
    ):
        done = invoke("send", peer.origin, *words)
        assert (done.status, done.out) == (status, b"")
        assert told in done.err
    for nothing in ("", " ", "agent.example"):
        # As from a variable of the shell that is not set: it binds no origin.
        done = invoke("send", nothing, "Rome", "--continue", json.dumps(asked))
        assert (done.status, done.out) == (2, b"")
        assert "is no URL of an agent" in done.err
    done = invoke("send", "https://agent.example", "Rome", "--continue", json.dumps(asked))
    assert done.status == 3
    assert f"--allow-origin {peer.origin}" in done.err
    assert peer.do(lambda it: len(it.truth.requests)) == before


@pytest.mark.spec("CLI-11", "CLI-30")
def test_an_answer_whose_reply_is_lost_and_not_found_is_unknown(old_peer: PeerOnAPort) -> None:
    asked = invoke("send", old_peer.origin, "ask", "--json").out
    old_peer.do(lambda it: it.script(Operation.SEND, DropAfterAccepting()))
    done = invoke(
        "send", old_peer.origin, "Rome", "--continue", "-", "--poll-interval", "0.05", stdin=asked
    )
    assert (done.status, done.out) == (0, b"result of Rome\n"), "found in the task's history"
    assert max(old_peer.do(lambda it: dict(it.truth.runs)).values()) == 1


# -- what is proposed ------------------------------------------------------------------------------


GIVEN: dict[str, Any] = {"delegate_id": "d", "effect": Effect.RAN, "handle": HANDLE}


def stopped(kind: type, receipt: CancelReceipt) -> DelegateResult:
    if kind is Cancelled:
        return Cancelled(by="caller", receipt=receipt, **GIVEN)
    return TimedOut(last_state="working", receipt=receipt, **GIVEN)


IN_JSON = shlex.quote(HANDLE.to_json())


@pytest.mark.spec("CLI-28")
@pytest.mark.parametrize(
    ("result", "line"),
    [
        (
            InputRequired(question=QUESTION, **GIVEN),
            f"to answer: a2a-delegate send https://a.example 'YOUR ANSWER' --continue {IN_JSON}",
        ),
        (
            AuthRequired(question=QUESTION, **GIVEN),
            f"to wait until it has them: a2a-delegate resume {IN_JSON} --auth-required wait",
        ),
        (
            Running(last_state="working", **GIVEN),
            f"to go on: a2a-delegate resume {IN_JSON}",
        ),
        (
            Unknown(cause=LOST, **GIVEN),
            f"to go on: a2a-delegate resume {IN_JSON}",
        ),
        *(
            (
                stopped(kind, receipt),
                f"to look what became of it: a2a-delegate resume {IN_JSON} --no-wait",
            )
            for kind in (Cancelled, TimedOut)
            for receipt in (
                CancelReceipt.REQUESTED,
                CancelReceipt.REFUSED,
                CancelReceipt.UNREACHED,
            )
        ),
        (stopped(Cancelled, CancelReceipt.CONFIRMED), None),
        (stopped(TimedOut, CancelReceipt.NOT_NEEDED), None),
        (Completed(**GIVEN), None),
        (Unknown(delegate_id="d", effect=Effect.MAY_HAVE_RUN, cause=LOST), None),
    ],
    ids=lambda value: getattr(value, "status", ""),
)
def test_each_outcome_that_is_not_over_has_its_command(
    result: DelegateResult, line: str | None
) -> None:
    assert Way("https://a.example", with_headers=False).next_step(result) == line


@pytest.mark.spec("CLI-27", "CLI-28")
def test_the_command_names_the_agent_where_headers_went_along_or_its_card_may_help() -> None:
    lost = Unknown(delegate_id="d", effect=Effect.MAY_HAVE_RUN, cause=LOST, handle=HANDLE)
    line = Way("https://card.example?key=s3cret", with_headers=True).next_step(lost)
    assert line == (
        f"to go on with the same headers: a2a-delegate resume {IN_JSON} --url https://a.example"
    )
    old = replace(lost, handle=OLD)
    line = Way("https://card.example/agent", with_headers=False).next_step(old)
    assert line == (
        f"to go on: a2a-delegate resume {shlex.quote(OLD.to_json())} "
        "--url https://card.example/agent"
    )
    line = Way("", with_headers=False).next_step(old)
    assert line == f"to go on: a2a-delegate resume {shlex.quote(OLD.to_json())}"


@pytest.mark.spec("CLI-16", "CLI-28")
def test_what_a_peer_put_into_a_handle_is_quoted_for_the_shell_and_inert() -> None:
    hostile = replace(HANDLE, task_id="'; rm -rf / #\x1b[2J\u202e")
    running = Running(delegate_id="d", effect=Effect.RAN, last_state="x", handle=hostile)
    line = Way("", with_headers=False).next_step(running)
    assert line is not None
    assert line.isascii()
    assert "\x1b" not in line
    words = shlex.split(line.partition(": ")[2])
    assert words[:2] == ["a2a-delegate", "resume"]
    assert DelegationHandle.from_json(words[2]) == hostile
