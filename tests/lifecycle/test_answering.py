"""Answering a question: the message goes on with a task that is known, and may still be lost."""

from __future__ import annotations

from dataclasses import replace

import pytest

from a2a_delegate.errors import A2ARequestError
from a2a_delegate.lifecycle.operations import CancelTask, Fault, FaultKind, GetTask, TaskReply
from a2a_delegate.lifecycle.plan import Question
from a2a_delegate.lifecycle.table import Phase
from a2a_delegate.outcome import (
    AuthRequired,
    Cancelled,
    CancelReceipt,
    Completed,
    Effect,
    Failed,
    InputRequired,
    Rejected,
    TimedOut,
    Unknown,
)
from a2a_delegate.signals import Recovered
from tests.lifecycle.replies import (
    ANSWERING,
    FOREIGN,
    OURS,
    QUESTION_ID,
    TASK,
    asking,
    fault,
    shown,
)
from tests.lifecycle.story import CANCEL, GET, SEND, Story

TAKEN = OURS.message_id


def answers(*, deadline: float | None = None, question_id: str | None = QUESTION_ID) -> Story:
    """Send an answer to the question that the task asked."""
    route = replace(ANSWERING, answers=Question(TASK, question_id, "message-0"))
    return Story(route, deadline=deadline).sends()


# -- the question that was answered --------------------------------------------------------------


@pytest.mark.spec("HAND-9")
def test_the_question_that_was_answered_is_not_asked_again() -> None:
    story = answers().ends("input-required")
    assert story.phase is Phase.FOLLOWING
    assert isinstance(story.time_comes().ends("completed").result, Completed)


@pytest.mark.spec("HAND-9")
def test_another_question_is_a_new_one() -> None:
    result = answers().ends(asking("words-2")).result
    assert isinstance(result, InputRequired)
    assert result.handle is not None
    assert result.handle.question_id == "words-2"


@pytest.mark.spec("HAND-9")
def test_the_same_question_is_a_new_one_once_the_task_has_gone_on() -> None:
    story = answers().ends("input-required").time_comes().ends("working").time_comes()
    assert isinstance(story.ends("input-required").result, InputRequired)


@pytest.mark.spec("HAND-9")
def test_questions_without_ids_are_told_apart_by_what_they_say_and_when() -> None:
    first = Story().sends().ends(asking("", at=1)).result
    assert first.handle is not None
    asked = first.handle.question_id
    assert asked
    assert not answers(question_id=asked).ends(asking("", at=1)).settled
    assert answers(question_id=asked).ends(asking("", at=2)).settled
    assert answers(question_id=asked).ends(asking("", text="and then?", at=1)).settled


@pytest.mark.spec("HAND-9")
def test_a_question_that_says_nothing_is_waited_out() -> None:
    first = Story().sends().ends(asking("", text="")).result
    assert first.handle is not None
    assert first.handle.question_id is None
    story = answers(question_id=None).ends(asking("", text=""))
    assert not story.settled
    assert story.time_comes().ends("working").time_comes().ends(asking("", text="")).settled


@pytest.mark.spec("HAND-9")
def test_a_question_whose_words_have_moved_into_the_history_is_an_old_one() -> None:
    story = answers().ends(asking("", "message-0", QUESTION_ID, TAKEN, text="", at=1))
    assert not story.settled
    assert isinstance(story.time_comes().ends("completed").result, Completed)


@pytest.mark.spec("HAND-9")
@pytest.mark.parametrize("history", [(), ("message-0", "rewritten")])
def test_a_question_without_words_is_an_old_one_also_where_the_history_is_hidden(
    history: tuple[str, ...],
) -> None:
    story = answers().ends(asking("", *history, text="", at=1))
    assert not story.settled
    story.time_comes().ends("working").time_comes()
    assert isinstance(story.ends(asking("", *history, text="", at=2)).result, InputRequired)


@pytest.mark.spec("HAND-9", "OUT-17")
def test_a_first_question_without_words_is_asked() -> None:
    asked = Story().sends().ends(asking("", TAKEN, text="", at=1)).result
    assert isinstance(asked, InputRequired)
    assert str(asked.question) == ""


@pytest.mark.spec("HAND-9")
def test_a_question_that_stands_in_the_history_after_our_message_is_a_new_one() -> None:
    asked = asking("", "message-0", TAKEN, QUESTION_ID, text="", at=1)
    assert isinstance(answers().ends(asked).result, InputRequired)


def test_the_peer_may_make_a_new_task_of_the_answer() -> None:
    story = answers().ends("foreign")
    result = story.result
    assert isinstance(result, Completed)
    assert result.handle is not None
    assert result.handle.task_id == FOREIGN


# -- refused -------------------------------------------------------------------------------------


@pytest.mark.spec("HAND-10")
def test_a_task_that_the_peer_does_not_know_was_not_gone_on_with() -> None:
    result = answers().ends(fault(FaultKind.TASK_NOT_FOUND)).result
    assert isinstance(result, Rejected)
    assert result.effect is Effect.NOT_STARTED
    unasked = Story().sends().ends(fault(FaultKind.TASK_NOT_FOUND))
    assert not unasked.settled, "of a new message agent code may say so after hours"


@pytest.mark.spec("HAND-10")
@pytest.mark.parametrize("kind", [FaultKind.OTHER, FaultKind.UNSUPPORTED, FaultKind.DENIED])
def test_any_error_where_the_task_had_ended_before_is_a_refusal(kind: FaultKind) -> None:
    story = answers().ends(fault(kind))
    assert story.asks == ["get"]
    result = story.ends(shown("completed", "message-0", "words")).result
    assert isinstance(result, Rejected)
    assert result.effect is Effect.NOT_STARTED


@pytest.mark.spec("HAND-10", "HAND-12")
def test_a_task_that_we_stopped_ourselves_has_not_ended_before() -> None:
    story = answers().caller_cancels().ends("error")
    assert story.asks == ["cancel"]
    result = story.ends(shown("canceled", "message-0"), name=CANCEL).result
    assert isinstance(result, Cancelled)
    assert result.receipt is CancelReceipt.CONFIRMED
    assert result.effect is Effect.MAY_HAVE_RUN


@pytest.mark.spec("HAND-10", "HAND-12")
def test_at_the_deadline_what_the_peer_said_of_the_answer_stands() -> None:
    story = answers(deadline=1.0).time_comes().ends("error")
    result = story.ends(shown("canceled", "message-0"), name=CANCEL).result
    assert isinstance(result, Failed)
    assert result.effect is Effect.MAY_HAVE_RUN
    assert result.late
    story = answers(deadline=1.0).time_comes().ends("error").ends("not cancelable", name=CANCEL)
    result = story.ends(shown("completed", "message-0", QUESTION_ID), name=GET).result
    assert isinstance(result, Rejected)
    assert result.effect is Effect.NOT_STARTED


@pytest.mark.spec("HAND-10")
def test_a_task_that_ended_with_our_answer_is_the_answer() -> None:
    story = answers().ends("error").ends(shown("completed", "message-0", TAKEN))
    assert isinstance(story.result, Completed)
    assert story.told(Recovered) == [Recovered(TASK)]


@pytest.mark.spec("HAND-10")
@pytest.mark.parametrize(
    "shows",
    [
        pytest.param(shown("completed", "message-0"), id="the first message only"),
        pytest.param(shown("completed", "renamed-1", QUESTION_ID, "renamed-2"), id="other ids"),
        pytest.param(shown("completed"), id="none"),
    ],
)
def test_a_history_that_may_be_cut_or_renamed_proves_nothing(shows: TaskReply) -> None:
    result = answers().ends("error").ends(shows).result
    assert isinstance(result, Failed)
    assert result.effect is Effect.MAY_HAVE_RUN


@pytest.mark.spec("HAND-10")
def test_the_error_of_a_gateway_is_no_refusal() -> None:
    gateway = Fault(FaultKind.OTHER, A2ARequestError(method="send", status=504, message="late"))
    result = answers().ends(gateway).ends(shown("completed", "message-0", QUESTION_ID)).result
    assert isinstance(result, Failed)
    assert result.effect is Effect.MAY_HAVE_RUN


@pytest.mark.spec("HAND-10")
def test_without_a_history_an_ended_task_proves_nothing() -> None:
    result = answers().ends("error").ends("completed").result
    assert isinstance(result, Failed)
    assert result.effect is Effect.MAY_HAVE_RUN


@pytest.mark.spec("HAND-10")
def test_an_error_while_the_task_goes_on_is_looked_into_and_stands() -> None:
    story = answers().ends("error").ends("working")
    story.time_comes().ends("working").time_comes().ends("working")
    result = story.result
    assert isinstance(result, Failed)
    assert result.effect is Effect.MAY_HAVE_RUN
    assert story.asked == ["send", "get", "get", "get"]


# -- lost ----------------------------------------------------------------------------------------


@pytest.mark.spec("HAND-11", "REC-2")
def test_after_a_lost_reply_the_task_itself_is_asked_for() -> None:
    story = answers().ends("lost")
    assert story.performed[2] == GetTask(TASK)
    assert story.ends(shown("working", "message-0", TAKEN)).phase is Phase.FOLLOWING
    assert story.told(Recovered) == [Recovered(TASK)]
    assert isinstance(story.time_comes().ends("completed").result, Completed)


@pytest.mark.spec("HAND-11")
def test_a_task_that_shows_our_answer_and_the_old_question_is_adopted() -> None:
    story = answers().ends("lost").ends(shown("input-required", "message-0", QUESTION_ID, TAKEN))
    assert story.phase is Phase.FOLLOWING


@pytest.mark.spec("HAND-11")
def test_a_task_that_does_not_show_our_answer_is_not_adopted() -> None:
    story = answers().ends("lost").ends("input-required")
    story.time_comes().ends("working").time_comes().ends("working")
    result = story.result
    assert isinstance(result, Unknown)
    assert result.effect is Effect.MAY_HAVE_RUN
    assert result.handle is not None
    assert result.handle.task_id is None


@pytest.mark.spec("HAND-11")
@pytest.mark.parametrize("failure", ["gone", "error", "lost"])
def test_a_look_at_it_that_fails_is_repeated(failure: str) -> None:
    story = answers().ends("lost").ends(failure)
    while not story.settled:
        story.time_comes().ends(failure)
    assert story.asked.count("get") == 3
    assert isinstance(story.result, Unknown)


@pytest.mark.spec("HAND-11")
def test_a_task_that_ended_without_our_answer_is_not_asked_for_again() -> None:
    story = answers().ends("lost").ends(shown("completed", "message-0", QUESTION_ID))
    assert isinstance(story.result, Unknown)
    assert story.result.effect is Effect.MAY_HAVE_RUN


def test_looks_at_the_task_that_was_answered_keep_their_distance() -> None:
    story = Story(ANSWERING, timing=None).sends().ends("lost").ends("working")
    assert story.wait >= 0.01


# -- stopped -------------------------------------------------------------------------------------


@pytest.mark.spec("HAND-12")
def test_a_cancel_before_the_answer_left_leaves_the_question_open() -> None:
    story = Story(ANSWERING).starts().caller_cancels().ends("not-sent")
    result = story.result
    assert isinstance(result, Cancelled)
    assert result.receipt is CancelReceipt.NOT_NEEDED
    assert story.asked == ["send"]


@pytest.mark.spec("HAND-12")
def test_a_cancel_after_the_answer_left_stops_the_task_that_was_answered() -> None:
    story = answers().caller_cancels().time_comes().ends("lost", name=SEND)
    assert story.performed[2] == CancelTask(TASK)
    result = story.ends("canceled", name=CANCEL).result
    assert isinstance(result, Cancelled)
    assert result.receipt is CancelReceipt.CONFIRMED
    assert result.effect is Effect.MAY_HAVE_RUN


@pytest.mark.spec("HAND-12")
def test_a_cancel_during_the_look_stops_the_task_that_was_answered() -> None:
    assert answers().ends("lost").caller_cancels().asks == ["cancel"]


@pytest.mark.spec("HAND-12")
def test_at_the_deadline_the_task_is_stopped_and_the_answer_is_unknown() -> None:
    story = answers(deadline=5.0).later(5.0).time_comes().time_comes().ends("lost", name=SEND)
    result = story.ends("canceled", name=CANCEL).result
    assert isinstance(result, Unknown)
    assert result.effect is Effect.MAY_HAVE_RUN


@pytest.mark.spec("HAND-12")
def test_an_end_in_the_grace_that_does_not_show_our_answer_is_not_its_outcome() -> None:
    story = answers().ends("lost").caller_cancels().ends("not cancelable", name=CANCEL)
    result = story.ends("completed", name=GET).result
    assert isinstance(result, Cancelled)
    assert result.receipt is CancelReceipt.NOT_NEEDED


@pytest.mark.spec("HAND-12")
def test_an_end_in_the_grace_that_shows_our_answer_is_the_answer() -> None:
    story = answers().ends("lost").caller_cancels().ends("not cancelable", name=CANCEL)
    result = story.ends(shown("completed", TAKEN), name=GET).result
    assert isinstance(result, Completed)
    assert result.late


@pytest.mark.spec("HAND-12")
def test_a_known_answer_at_the_deadline_is_timed_out() -> None:
    story = answers(deadline=5.0).ends("working").later(5.0).time_comes()
    assert isinstance(story.ends("canceled", name=CANCEL).result, TimedOut)


# -- credentials ---------------------------------------------------------------------------------


@pytest.mark.spec("TURN-2")
def test_a_task_that_needs_credentials_is_watched_on_where_that_was_asked_for() -> None:
    assert isinstance(Story().sends().ends("auth-required").result, AuthRequired)
    story = Story(waits_for_auth=True).sends().ends("auth-required")
    assert story.phase is Phase.FOLLOWING
    assert isinstance(story.time_comes().ends("input-required").result, InputRequired)
