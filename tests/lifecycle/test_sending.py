"""The verdict on a send that the peer may have taken."""

from __future__ import annotations

import pytest

from a2a_delegate.errors import (
    InvalidReplyError,
    LostReplyError,
)
from a2a_delegate.lifecycle.faults import PROVEN
from a2a_delegate.lifecycle.operations import FaultKind, TaskPage
from a2a_delegate.lifecycle.table import Phase
from a2a_delegate.outcome import (
    AuthRequired,
    Completed,
    Effect,
    Failed,
    InputRequired,
    Unknown,
)
from a2a_delegate.signals import AttemptFailed, IdKnown
from tests.lifecycle.replies import (
    ANSWER,
    OLDER,
    OURS,
    QUESTION,
    TASK,
    fault,
)
from tests.lifecycle.story import Story

OTHERS = sorted(set(FaultKind) - PROVEN, key=str)


@pytest.mark.spec("OUT-4", "IDEM-1")
@pytest.mark.parametrize("kind", OTHERS)
def test_any_other_error_may_have_come_after_the_effect(kind: FaultKind) -> None:
    error = fault(kind)
    story = Story(OLDER).sends().ends(error)
    assert isinstance(story.result, Failed)
    assert story.result.error is error.error
    assert story.result.effect is Effect.MAY_HAVE_RUN
    assert story.asked == ["send"]


@pytest.mark.spec("OUT-4")
def test_after_such_an_error_the_peer_is_asked_for_the_task() -> None:
    story = Story().sends().ends("error")
    assert story.asks == ["list"]
    story.ends("page, ours").ends("completed")
    assert isinstance(story.result, Completed)


@pytest.mark.spec("OUT-5", "IDEM-1", "LAW-4")
def test_a_lost_reply_is_unknown_and_never_repeated() -> None:
    story = Story(OLDER).sends().ends("lost")
    assert isinstance(story.result, Unknown)
    assert isinstance(story.result.cause, LostReplyError)
    assert story.result.effect is Effect.MAY_HAVE_RUN
    assert story.result.evidence == b'{"res'
    assert story.result.handle is not None
    assert story.result.handle.message_id == OURS.message_id
    assert story.asked == ["send"]


@pytest.mark.spec("IDEM-3", "LAW-4", "OUT-5")
def test_an_id_in_a_cut_reply_is_taken_and_asked_for() -> None:
    for end in ("lost, id shown", "unreadable, id shown"):
        story = Story(OLDER).sends().ends(end)
        assert story.asks == ["get"]
        assert story.told(IdKnown) == [IdKnown(TASK)]
        assert story.result_of("completed").output == ANSWER


@pytest.mark.spec("IDEM-3")
def test_the_id_is_known_from_the_first_byte_that_shows_it() -> None:
    story = Story(OLDER).sends().id_shows()
    assert story.told(IdKnown) == [IdKnown(TASK)]
    assert story.ends("lost").asks == ["get"]


@pytest.mark.spec("OUT-6", "LAW-7")
def test_what_was_not_understood_is_kept_and_is_no_answer() -> None:
    story = Story(OLDER).sends().ends("unreadable")
    assert isinstance(story.result, Unknown)
    assert isinstance(story.result.cause, InvalidReplyError)
    assert story.result.evidence == b"<html>"
    assert story.result.effect is Effect.MAY_HAVE_RUN


@pytest.mark.spec("OUT-6", "LAW-7")
def test_a_reply_of_the_wrong_kind_is_not_understood() -> None:
    story = Story(OLDER).sends().ends(TaskPage(()))
    assert isinstance(story.result, Unknown)
    assert "a list of tasks came" in str(story.result.cause)
    (failed,) = story.told(AttemptFailed)
    assert failed.error is story.result.cause


@pytest.mark.spec("OUT-6")
def test_a_reply_that_shows_another_task_than_before_is_not_understood() -> None:
    story = Story(OLDER).sends().id_shows().ends("foreign")
    assert story.asks == ["get"]
    assert story.told(IdKnown) == [IdKnown(TASK)]


@pytest.mark.spec("LAW-1", "OUT-5")
def test_a_body_that_was_seen_to_leave_counts_whatever_the_transport_says_at_the_end() -> None:
    story = Story(OLDER).sends().ends("not-sent", body_left=False)
    assert isinstance(story.result, Unknown)
    assert story.result.effect is Effect.MAY_HAVE_RUN


@pytest.mark.spec("LAW-1")
def test_an_attempt_that_says_so_is_a_second_witness_that_the_body_left() -> None:
    for end in ("lost", "unreadable", "error"):
        story = Story(OLDER).starts().ends(end)
        assert story.result.effect is Effect.MAY_HAVE_RUN
        assert story.result.handle is not None


@pytest.mark.spec("LAW-1")
def test_what_an_earlier_attempt_came_to_says_nothing_of_the_last_one() -> None:
    """The first send was refused for its rate; the second left, and its transport is deaf."""
    story = Story(OLDER, deadline=3.0).sends().ends("busy").time_comes().body_leaves()
    while not story.settled:
        story.time_comes()
    assert isinstance(story.result, Unknown)
    assert story.result.effect is Effect.MAY_HAVE_RUN


# -- answers -------------------------------------------------------------------------------------


@pytest.mark.spec("OUT-7", "METH-5")
def test_a_message_is_a_complete_answer() -> None:
    story = Story().sends().later(500.0).ends("message")
    assert isinstance(story.result, Completed)
    assert story.result.output == ANSWER
    assert story.result.message is not None
    assert story.result.effect is Effect.RAN
    assert story.result.handle is not None
    assert story.result.handle.task_id is None


@pytest.mark.spec("OUT-8")
def test_a_task_that_has_ended_in_the_first_reply_is_the_outcome() -> None:
    story = Story().sends().ends("completed")
    assert isinstance(story.result, Completed)
    assert story.asked == ["send"]


@pytest.mark.spec("OUT-17")
def test_a_question_is_an_outcome_with_a_handle() -> None:
    story = Story().sends().ends("input-required")
    assert isinstance(story.result, InputRequired)
    assert story.result.question.text == QUESTION
    assert story.result.handle is not None
    assert (story.result.handle.task_id, story.result.handle.question_id) == (TASK, "words")
    assert story.asked == ["send"], "the task is left to wait"


@pytest.mark.spec("OUT-17")
def test_a_peer_that_needs_credentials_is_an_outcome_of_its_own() -> None:
    assert isinstance(Story().sends().ends("auth-required").result, AuthRequired)


@pytest.mark.spec("OUT-8", "LAW-4", "STATE-3")
@pytest.mark.parametrize("state", ["submitted", "working", "pondering"])
def test_a_task_in_any_other_state_is_followed(state: str) -> None:
    story = Story().sends().ends(state)
    assert story.phase is Phase.FOLLOWING
    assert not story.settled
