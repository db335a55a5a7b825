"""A task that is known: asked for until it ends, with patience, and never too often."""

from __future__ import annotations

from dataclasses import replace

import pytest

from a2a_delegate.errors import A2ARequestError, InvalidReplyError
from a2a_delegate.lifecycle.commands import LetGo
from a2a_delegate.lifecycle.faults import GONE
from a2a_delegate.lifecycle.operations import (
    FaultKind,
    GetTask,
    MessageReply,
    TaskPage,
    TaskReply,
)
from a2a_delegate.lifecycle.plan import Timing
from a2a_delegate.lifecycle.table import Phase
from a2a_delegate.model.message import Message, Role
from a2a_delegate.model.part import TextPart
from a2a_delegate.outcome import (
    Completed,
    Effect,
    InputRequired,
    Unknown,
)
from a2a_delegate.signals import AttemptFailed, CancelSent
from tests.lifecycle.replies import ANSWER, OLDER, OURS, QUESTION_ID, TASK, asking, fault, task
from tests.lifecycle.story import Story


def test_the_first_look_comes_after_the_poll_interval() -> None:
    story = Story().follows()
    assert story.asked == ["send"]
    assert story.wait == pytest.approx(1.0)
    assert story.time_comes().performed[2] == GetTask(TASK)


@pytest.mark.spec("OUT-14")
@pytest.mark.parametrize("chance", [0.0, 0.5, 0.999])
def test_the_pauses_grow_with_jitter_up_to_their_maximum(chance: float) -> None:
    story = Story(timing=Timing(poll_interval_max=4.0), chance=chance).follows()
    pauses = []
    for _ in range(8):
        pauses.append(story.wait)
        story.time_comes().ends("working")
    steady = [1.0, 1.5, 2.25, 3.375, 4.0, 4.0, 4.0, 4.0]
    drawn = [1.0, *(pause * (0.5 + chance / 2) for pause in steady[1:])]
    assert pauses == pytest.approx(drawn)
    assert max(pauses) <= 4.0


@pytest.mark.spec("OUT-14")
def test_growth_has_an_end_even_after_days() -> None:
    story = Story(timing=Timing(poll_interval_max=30.0), chance=0.999).follows()
    for _ in range(200):
        story.time_comes().ends("working")
    assert story.wait == pytest.approx(30.0, rel=0.01)
    assert len(story.time_comes().ends("completed").result.attempts) == 64


@pytest.mark.spec("OUT-14")
def test_two_looks_are_ten_milliseconds_apart_at_least() -> None:
    tiny = Timing(poll_interval=1e-6, poll_interval_max=1e-6)
    story = Story(timing=tiny).follows().time_comes().ends("working")
    assert story.wait == pytest.approx(0.01)


@pytest.mark.spec("OUT-14")
@pytest.mark.parametrize("end", ["error", "lost", "not-sent", "unreadable", "foreign", "busy"])
def test_a_look_that_fails_is_repeated(end: str) -> None:
    story = Story().follows().time_comes().ends(end)
    assert story.phase is Phase.FOLLOWING
    assert isinstance(story.time_comes().ends("completed").result, Completed)


@pytest.mark.spec("OUT-14")
def test_a_look_is_repeated_after_what_the_peer_asks_for() -> None:
    for kind in (FaultKind.RATE_LIMITED, FaultKind.OTHER, FaultKind.TASK_NOT_FOUND):
        story = Story().follows().time_comes().ends(fault(kind, "get", retry_after=77.0))
        assert story.wait == pytest.approx(77.0)


@pytest.mark.spec("OUT-14")
def test_what_the_peer_asked_for_holds_for_one_look_only() -> None:
    for end in ("foreign", "lost", "working"):
        story = Story().follows().time_comes().ends(fault(FaultKind.OTHER, retry_after=77.0))
        assert story.time_comes().ends(end).wait < 3.0


@pytest.mark.spec("OUT-14")
def test_another_tasks_body_is_no_answer() -> None:
    story = Story().follows().time_comes().ends("foreign")
    (failed,) = story.told(AttemptFailed)
    assert isinstance(failed.error, InvalidReplyError)
    assert "another task" in str(failed.error)
    assert not story.settled


def test_other_kinds_of_reply_are_no_answer_either() -> None:
    message = Message("m", Role.AGENT, (TextPart(ANSWER),))
    for reply in (MessageReply(message), TaskPage((task("completed"),))):
        story = Story().follows().time_comes().ends(reply)
        assert story.phase is Phase.FOLLOWING
        assert len(story.told(AttemptFailed)) == 1


@pytest.mark.spec("OUT-14")
def test_a_look_that_hangs_is_given_up_after_thirty_seconds_and_repeated() -> None:
    story = Story().follows().time_comes()
    assert story.wait == pytest.approx(30.0)
    story.time_comes()
    assert story.let_go == [LetGo(2)]
    assert story.time_comes().asks == ["get"]


@pytest.mark.spec("LAW-2")
def test_a_look_that_was_given_up_still_brings_an_answer() -> None:
    story = Story().follows().time_comes().time_comes()
    assert isinstance(story.ends("completed", number=2).result, Completed)


def test_a_look_that_was_given_up_does_not_put_off_the_next_one() -> None:
    story = Story().follows().time_comes().time_comes()
    due = story.due
    assert story.later(0.1).ends("working", number=2).due == due
    assert story.time_comes().ends("working").due != due


def test_a_look_that_was_given_up_does_not_disturb_the_next_one() -> None:
    story = Story().follows().time_comes().time_comes().time_comes()
    bound = story.due
    for end in ("working", "gone"):
        assert story.ends(end, number=2).due == bound
        assert story.asks == []


# -- a task that cannot be asked for any more ----------------------------------------------------


@pytest.mark.spec("OUT-13")
@pytest.mark.parametrize("kind", sorted(GONE, key=str))
def test_three_refusals_running_end_in_unknown_and_the_peer_is_told(kind: FaultKind) -> None:
    story = Story(OLDER).follows()
    for _ in range(3):
        assert story.phase is Phase.FOLLOWING
        story.time_comes().ends(fault(kind, "get"))
    assert story.asks == ["cancel"]
    assert story.told(CancelSent) == [CancelSent(TASK)]
    story.ends("error").time_comes().ends("gone")
    assert isinstance(story.result, Unknown)
    assert isinstance(story.result.cause, A2ARequestError)
    assert story.result.effect is Effect.RAN
    assert story.result.handle is not None
    assert story.result.handle.task_id == TASK


def gone(*, deadline: float | None = None) -> Story:
    story = Story(OLDER, deadline=deadline).follows()
    for _ in range(3):
        story.time_comes().ends("gone")
    return story


@pytest.mark.spec("OUT-13")
def test_the_reason_stays_whatever_the_cancel_and_the_last_look_say() -> None:
    for end in ("canceled", "not cancelable"):
        story = gone().ends(end)
        if not story.settled:
            story.time_comes().ends("error")
        assert isinstance(story.result, Unknown)
        assert isinstance(story.result.cause, A2ARequestError)
        assert story.result.cause.method == "get"


@pytest.mark.spec("OUT-13", "LAW-5")
def test_giving_up_takes_the_grace_of_a_cancel_at_most() -> None:
    story = gone()
    began = story.now
    while not story.settled:
        story.time_comes()
    assert story.now - began == pytest.approx(2.0)


@pytest.mark.spec("OUT-13", "LAW-2")
def test_an_answer_still_counts_while_giving_up() -> None:
    result = gone().ends("completed").result
    assert isinstance(result, Completed)
    assert not result.late


@pytest.mark.spec("OUT-13", "LAW-3")
def test_a_deadline_while_giving_up_does_not_change_why() -> None:
    story = gone(deadline=10.0)
    story.now = 10.5
    while not story.settled:
        story.time_comes()
    assert isinstance(story.result, Unknown)


@pytest.mark.spec("OUT-13")
@pytest.mark.parametrize("between", ["working", "error", "lost", "foreign"])
def test_refusals_with_something_between_them_do_not_count(between: str) -> None:
    story = Story(OLDER).follows()
    for end in ("gone", "gone", between, "gone", "gone"):
        story.time_comes().ends(end)
    assert story.phase is Phase.FOLLOWING


@pytest.mark.spec("OUT-13")
def test_a_look_that_hangs_between_refusals_breaks_the_run() -> None:
    story = Story(OLDER).follows()
    for _ in range(2):
        story.time_comes().ends("gone")
    story.time_comes().time_comes()
    story.time_comes().ends("gone")
    assert story.phase is Phase.FOLLOWING


@pytest.mark.spec("OUT-13")
def test_the_end_of_a_look_that_was_given_up_is_no_refusal() -> None:
    story = Story(OLDER).follows()
    for _ in range(2):
        story.time_comes().ends("gone")
    story.time_comes().time_comes().ends("gone", number=4)
    assert story.phase is Phase.FOLLOWING


# -- a task that asks ----------------------------------------------------------------------------


@pytest.mark.spec("OUT-17")
def test_a_question_ends_the_watch_and_the_task_is_left_to_wait() -> None:
    story = Story().follows().time_comes().ends("input-required")
    assert isinstance(story.result, InputRequired)
    assert "cancel" not in story.asked


def test_a_question_without_words_is_an_empty_message_of_the_task() -> None:
    silent = replace(
        task("input-required"), status=replace(task("input-required").status, message=None)
    )
    result = Story().follows().time_comes().ends(TaskReply(silent)).result
    assert isinstance(result, InputRequired)
    assert (result.question.text, result.question.task_id) == ("", TASK)
    assert result.handle is not None
    assert result.handle.question_id is None


@pytest.mark.spec("OUT-17")
def test_a_question_may_stand_in_the_history_only() -> None:
    asked = asking("", OURS.message_id, QUESTION_ID, text="")
    result = Story().sends().ends(asked).result
    assert isinstance(result, InputRequired)
    assert result.question.message_id == QUESTION_ID
