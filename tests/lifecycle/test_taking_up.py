"""Taking up what was handed over before: by its handle alone, in any process."""

from __future__ import annotations

from dataclasses import replace

import pytest

from a2a_delegate.errors import A2ARequestError
from a2a_delegate.lifecycle.operations import FaultKind, ListTasks
from a2a_delegate.lifecycle.plan import Mission
from a2a_delegate.lifecycle.table import Phase
from a2a_delegate.outcome import (
    Cancelled,
    CancelReceipt,
    Completed,
    Effect,
    InputRequired,
    Rejected,
    Running,
    TimedOut,
    Unknown,
)
from a2a_delegate.signals import CancelSent, IdKnown, Intent, Recovered
from tests.lifecycle.replies import (
    CONTEXT,
    NEWER,
    OLDER,
    OURS,
    QUESTION_ID,
    TASK,
    fault,
    known,
    shown,
)
from tests.lifecycle.story import CANCEL, GET, Story


def taken_up(*, deadline: float | None = None) -> Story:
    return Story(known(OLDER), mission=Mission.TAKE_UP, deadline=deadline)


def lost() -> Story:
    """Take up what was sent and never answered."""
    return Story(NEWER, mission=Mission.TAKE_UP)


def looked_at(*, deadline: float | None = None) -> Story:
    return Story(known(OLDER), mission=Mission.LOOK, deadline=deadline)


# -- with waiting --------------------------------------------------------------------------------


@pytest.mark.spec("HAND-1")
def test_a_task_that_is_known_is_asked_for_and_nothing_is_sent() -> None:
    story = taken_up().starts()
    assert story.asked == ["get"]
    assert story.told(Intent) == [Intent(known(OLDER).intent)]
    assert story.told(IdKnown) == []


@pytest.mark.spec("HAND-1")
def test_it_is_followed_to_its_end() -> None:
    result = taken_up().starts().ends("working").time_comes().ends("completed").result
    assert isinstance(result, Completed)
    assert result.effect is Effect.RAN
    assert result.handle is not None
    assert result.handle.task_id == TASK


@pytest.mark.spec("HAND-1")
def test_its_question_is_handed_to_whoever_took_it_up() -> None:
    assert isinstance(taken_up().starts().ends("input-required").result, InputRequired)


@pytest.mark.spec("HAND-2")
def test_at_the_deadline_the_task_is_stopped() -> None:
    story = taken_up(deadline=5.0).starts().ends("working").later(5.0)
    story.time_comes()
    assert story.told(CancelSent) == [CancelSent(TASK)]
    result = story.ends("canceled", name=CANCEL).result
    assert isinstance(result, TimedOut)
    assert result.receipt is CancelReceipt.CONFIRMED


@pytest.mark.spec("HAND-2")
def test_when_the_caller_cancels_the_task_is_stopped() -> None:
    story = taken_up().starts().ends("working").caller_cancels("enough")
    result = story.ends("canceled", name=CANCEL).result
    assert isinstance(result, Cancelled)
    assert result.reason == "enough"


@pytest.mark.spec("HAND-3")
def test_what_is_stopped_by_its_handle_is_looked_at_first() -> None:
    story = taken_up().caller_cancels().starts()
    assert story.asks == ["get"]
    assert story.ends("working").asks == ["cancel"]


@pytest.mark.spec("HAND-3")
@pytest.mark.parametrize("end", ["completed", "failed", "rejected", "canceled"])
def test_a_task_that_has_ended_is_not_cancelled(end: str) -> None:
    story = taken_up().caller_cancels().starts().ends(end)
    assert story.settled
    assert "cancel" not in story.asked


@pytest.mark.spec("HAND-3")
@pytest.mark.parametrize("failure", ["lost", "error", "gone"])
def test_a_task_that_cannot_be_looked_at_is_cancelled_all_the_same(failure: str) -> None:
    assert taken_up().caller_cancels().starts().ends(failure).asks == ["cancel"]


@pytest.mark.spec("HAND-3")
def test_the_look_before_a_cancel_leaves_time_for_the_cancel() -> None:
    story = taken_up().caller_cancels().starts()
    assert story.wait == pytest.approx(1.0)
    assert story.time_comes().asks == ["cancel"]


@pytest.mark.spec("HAND-3")
def test_what_is_found_and_stopped_is_looked_at_first_too() -> None:
    story = lost().caller_cancels().starts()
    assert story.ends("page, ours").asks == ["get"]
    assert isinstance(story.ends("completed").result, Completed)
    assert "cancel" not in story.asked


@pytest.mark.spec("HAND-4")
def test_what_was_never_answered_is_looked_for_again() -> None:
    story = lost().starts()
    assert list(story.performed.values()) == [ListTasks(context_id=CONTEXT)]
    story.ends("page, ours")
    assert story.told(Recovered) == [Recovered(TASK)]
    assert isinstance(story.ends("completed").result, Completed)


@pytest.mark.spec("HAND-4")
def test_what_is_found_nowhere_stays_unknown() -> None:
    story = lost().starts().ends("page, none")
    story.time_comes().ends("page, none").time_comes()
    result = story.ends("page, none").result
    assert isinstance(result, Unknown)
    assert result.effect is Effect.MAY_HAVE_RUN
    assert "no task that carries the message" in str(result.cause)


@pytest.mark.spec("HAND-4")
def test_where_no_list_is_it_stays_unknown_and_nothing_is_asked() -> None:
    result = Story(OLDER, mission=Mission.TAKE_UP).starts().result
    assert isinstance(result, Unknown)
    assert result.attempts == ()
    assert "cannot be asked for tasks by list" in str(result.cause)


@pytest.mark.spec("HAND-4")
def test_a_list_that_is_refused_is_the_reason() -> None:
    result = lost().starts().ends("no list").result
    assert isinstance(result, Unknown)
    assert isinstance(result.cause, A2ARequestError)


@pytest.mark.spec("HAND-4")
def test_a_list_that_failed_before_another_came_is_no_reason() -> None:
    story = lost().starts().ends("lost").time_comes().ends("page, none").time_comes()
    result = story.ends("page, none").result
    assert isinstance(result, Unknown)
    assert "no task that carries the message" in str(result.cause)


def test_a_rejection_that_is_met_later_is_no_proof_that_nothing_began() -> None:
    result = taken_up().starts().ends("rejected").result
    assert isinstance(result, Rejected)
    assert result.effect is Effect.RAN


# -- one look ------------------------------------------------------------------------------------


@pytest.mark.spec("HAND-5")
@pytest.mark.parametrize("state", ["working", "submitted", "pondering"])
def test_one_look_at_a_task_that_goes_on(state: str) -> None:
    story = looked_at().starts().ends(state)
    result = story.result
    assert isinstance(result, Running)
    assert result.last_state == state
    assert story.asked == ["get"]


@pytest.mark.spec("HAND-5")
def test_one_look_at_a_task_that_ended_or_asks() -> None:
    assert isinstance(looked_at().starts().ends("completed").result, Completed)
    assert isinstance(looked_at().starts().ends("input-required").result, InputRequired)


@pytest.mark.spec("HAND-5")
@pytest.mark.parametrize("failure", ["lost", "error", "gone"])
def test_a_look_that_shows_nothing_is_not_repeated(failure: str) -> None:
    story = looked_at().starts().ends(failure)
    result = story.result
    assert isinstance(result, Unknown)
    assert result.effect is Effect.RAN
    assert story.asked == ["get"]


@pytest.mark.spec("HAND-5")
def test_a_look_that_hangs_is_bounded() -> None:
    story = looked_at().starts()
    assert story.wait == pytest.approx(30.0)
    assert isinstance(story.time_comes().result, Unknown)


@pytest.mark.spec("HAND-5")
def test_a_look_never_stops_a_task() -> None:
    cancelled = looked_at().starts().caller_cancels().result
    assert isinstance(cancelled, Cancelled)
    assert cancelled.receipt is CancelReceipt.UNREACHED
    story = looked_at(deadline=1.0).starts().later(1.0).time_comes()
    assert isinstance(story.result, TimedOut)
    assert story.asked == ["get"]
    story = looked_at(deadline=1.0).starts().later(2.0).ends("working")
    assert isinstance(story.result, Running)


@pytest.mark.spec("HAND-5")
def test_a_look_that_nobody_wants_any_more_is_not_taken() -> None:
    assert looked_at().caller_cancels().starts().asked == []
    assert looked_at(deadline=0.0).starts().asked == []


@pytest.mark.spec("HAND-5")
def test_a_look_without_an_id_is_one_look_up_and_one_get() -> None:
    story = Story(NEWER, mission=Mission.LOOK).starts().ends("page, ours")
    assert isinstance(story.ends("working").result, Running)
    assert story.asked == ["list", "get"]


@pytest.mark.spec("HAND-5")
def test_a_look_up_of_one_look_has_one_round() -> None:
    story = Story(NEWER, mission=Mission.LOOK).starts().ends("page, none")
    assert isinstance(story.result, Unknown)
    assert story.asked == ["list"]


@pytest.mark.spec("HAND-5")
def test_a_cancel_ends_the_look_up_of_one_look() -> None:
    story = Story(NEWER, mission=Mission.LOOK).starts().caller_cancels()
    assert isinstance(story.result, Cancelled)
    assert story.asked == ["list"]


# -- a question that was answered meanwhile ------------------------------------------------------


def test_a_question_that_our_message_answered_is_no_new_one() -> None:
    answered = shown("input-required", QUESTION_ID, OURS.message_id)
    assert isinstance(looked_at().starts().ends(answered).result, Running)
    asked_since = shown("input-required", OURS.message_id, QUESTION_ID)
    assert isinstance(looked_at().starts().ends(asked_since).result, InputRequired)


def test_a_task_that_is_gone_is_given_up_as_ever() -> None:
    story = taken_up().starts()
    for _ in range(2):
        story.ends("gone").time_comes()
    story.later(1.0).ends("gone")
    assert story.phase is Phase.STOPPING
    assert story.performed[max(story.performed)].name is CANCEL
    story.ends(fault(FaultKind.TASK_NOT_FOUND), name=CANCEL).ends("gone", name=GET)
    assert isinstance(story.result, Unknown)
    assert replace(story.result, attempts=()).effect is Effect.RAN
