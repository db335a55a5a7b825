"""Outcomes as a person is told them."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from a2a_delegate.cli.next_step import Way
from a2a_delegate.cli.progress import Telling
from a2a_delegate.cli.report import in_options, report
from a2a_delegate.cli.saved import Saved
from a2a_delegate.cli.terminal import Screen
from a2a_delegate.errors import A2ARequestError, LostReplyError
from a2a_delegate.model.artifact import Artifact
from a2a_delegate.model.message import Message, Role
from a2a_delegate.model.part import DataPart, FilePart, TextPart
from a2a_delegate.outcome import (
    Attempt,
    AttemptOutcome,
    Cancelled,
    CancelReceipt,
    Completed,
    DelegateResult,
    DelegationHandle,
    Effect,
    Failed,
    TimedOut,
)
from a2a_delegate.signals import (
    ArtifactChunk,
    AttemptFailed,
    CancelSent,
    Downgraded,
    IdKnown,
    Intent,
    Progress,
    Recovered,
    Sent,
    Signal,
    StateSeen,
    TransportStuck,
)

if TYPE_CHECKING:
    from collections.abc import Callable

WHEN = datetime(2026, 1, 2, tzinfo=UTC)
HANDLE = DelegationHandle("d", "https://a.example", "1.0", "JSONRPC", "m", "0" * 64, WHEN)


def told(result: DelegateResult, capsys: pytest.CaptureFixture[str]) -> tuple[str, str]:
    """Report an outcome where no terminal is; return what went out and what was said about it."""
    way = Way("https://a.example", with_headers=False)
    assert report(result, Screen(), way, Saved(), explain=False) is None
    out, err = capsys.readouterr()
    return out, err


def telling_of(clock: Callable[[], float], said: list[str] | None = None) -> Telling:
    """Begin to tell how a send goes; `said` takes the lines that stay."""
    kept: list[str] = [] if said is None else said
    return Telling(
        clock=clock, say=kept.append, opening="looking for the agent's card", errand="sending"
    )


@pytest.mark.spec("CLI-4")
def test_an_answer_of_data_only_is_json_one_value_a_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    parts = (DataPart({"a": "ü"}), DataPart([1]))
    result = Completed(
        delegate_id="d",
        effect=Effect.RAN,
        data=({"a": "ü"}, [1]),
        artifacts=(Artifact("a", parts),),
    )
    assert told(result, capsys) == ('{"a": "ü"}\n[1]\n', "")


@pytest.mark.spec("CLI-4")
def test_an_answer_without_text_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    empty = Completed(delegate_id="d", effect=Effect.RAN)
    assert told(empty, capsys) == ("", "the answer is empty\n")
    files = Artifact("a", (FilePart(b"x"),))
    only_files = Completed(delegate_id="d", effect=Effect.RAN, artifacts=(files,))
    said = Message("m", Role.AGENT, (FilePart(b"x"),))
    in_a_message = Completed(delegate_id="d", effect=Effect.RAN, message=said)
    assert told(in_a_message, capsys) == told(only_files, capsys)
    assert told(only_files, capsys) == (
        "",
        "the answer has no text\nnot shown here: 1 file; --save DIR saves them\n",
    )


@pytest.mark.spec("CLI-4")
def test_what_a_failed_task_made_is_told_of(capsys: pytest.CaptureFixture[str]) -> None:
    made = Artifact("a", (TextPart("half"), TextPart("of it"), DataPart(1)))
    error = A2ARequestError(method="send")
    failed = Failed(delegate_id="d", effect=Effect.RAN, error=error, artifacts=(made,))
    said = told(failed, capsys)[1]
    assert "made so far:\nhalfof it\n" in said
    assert "not shown here: 1 data part; --json" in said


@pytest.mark.spec("CLI-6")
@pytest.mark.parametrize("receipt", CancelReceipt)
def test_the_command_to_go_on_with_is_told_where_something_may_still_be_at_the_peer(
    capsys: pytest.CaptureFixture[str], receipt: CancelReceipt
) -> None:
    over = receipt in (CancelReceipt.CONFIRMED, CancelReceipt.NOT_NEEDED)
    for result in (
        Cancelled(delegate_id="d", effect=Effect.RAN, by="caller", receipt=receipt, handle=HANDLE),
        TimedOut(
            delegate_id="d", effect=Effect.RAN, last_state="x", receipt=receipt, handle=HANDLE
        ),
    ):
        assert ("a2a-delegate resume '{" in told(result, capsys)[1]) is not over


@pytest.mark.spec("CLI-20")
def test_advice_is_in_the_words_of_the_command_line() -> None:
    assert in_options('if so, allow it with allowed_origins=("https://a.example:8",)') == (
        "if so, allow it with --allow-origin https://a.example:8"
    )


@pytest.mark.spec("CLI-15")
@pytest.mark.parametrize(
    ("signals", "line"),
    [
        ([], "looking for the agent's card · 1.5 s"),
        ([Intent(None)], "sending · 1.5 s"),
        ([Intent(None), Sent(1)], "sent, waiting for the reply · 1.5 s"),
        ([IdKnown("t")], "begun · 1.5 s"),
        (
            [
                StateSeen("t", "working"),
                Progress("t", Message("m", Role.AGENT, (TextPart("half\nway\x1b"),))),
            ],
            r"working · half way\x1b · 1.5 s",
        ),
        (
            [
                StateSeen("t", "working"),
                ArtifactChunk("t", Artifact("a", (TextPart("so far"),))),
                ArtifactChunk("t", Artifact("b", (DataPart(1),))),
            ],
            "working · 1.5 s",
        ),
        (
            [
                Intent(None),
                AttemptFailed(
                    Attempt(1, "send", WHEN, 0.1, None, AttemptOutcome.LOST, True, "1.0"),  # noqa: FBT003
                    LostReplyError(method="send", phase="read"),
                ),
            ],
            (
                "sending · send: the send left, and the line was cut before a complete answer came"
                " · 1.5 s"
            ),
        ),
        (
            [StateSeen("t", "working"), Recovered("t")],
            "working · the reply was lost, the task was found · 1.5 s",
        ),
        ([CancelSent("t")], "cancelling, the peer was asked to stop · 1.5 s"),
    ],
)
def test_the_line_of_progress_says_what_is_known(signals: list[Signal], line: str) -> None:
    times = iter([10.0, 11.5])
    telling = telling_of(lambda: next(times))
    for signal in signals:
        telling.observe(signal)
    assert telling.line() == line


@pytest.mark.spec("CLI-28")
def test_the_handle_is_kept_with_what_is_learned_of_it() -> None:
    telling = telling_of(lambda: 0.0)
    kept = []
    older = replace(HANDLE, version="0.3")
    told = (IdKnown("t-0"), Intent(HANDLE), Downgraded("1.0", "0.3", older), IdKnown("t-1"))
    for signal in told:
        telling.observe(signal)
        kept.append(telling.handle)
    assert kept == [None, HANDLE, older, replace(older, task_id="t-1")]


def test_what_must_not_be_missed_is_said_and_stays() -> None:
    said: list[str] = []
    telling = telling_of(lambda: 0.0, said)
    telling.observe(Downgraded("1.0", "0.3"))
    telling.observe(TransportStuck("send"))
    assert said == [
        "the peer refused version 1.0; 0.3 is spoken instead",
        "a request (send) ignored its end and was left behind",
    ]
