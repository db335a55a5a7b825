"""What is told while a delegation goes on, and what is kept of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from a2a_delegate.lifecycle.observations import Returned
from a2a_delegate.lifecycle.operations import (
    TaskReply,
)
from a2a_delegate.model.artifact import Artifact
from a2a_delegate.model.message import Message, Role
from a2a_delegate.model.part import TextPart
from a2a_delegate.outcome import (
    Completed,
    Effect,
)
from a2a_delegate.signals import ArtifactChunk, AttemptFailed, Progress, StateSeen
from tests.lifecycle.replies import ANSWER, ENDINGS, OLDER, TASK, attempt, task
from tests.lifecycle.story import CANCEL, GET, Story


def test_each_state_is_told_once() -> None:
    story = Story().sends().ends("submitted")
    for end in ("submitted", "working", "working", "pondering", "working", "completed"):
        story.time_comes().ends(end)
    states = [seen.state for seen in story.told(StateSeen)]
    assert states == ["submitted", "working", "pondering", "working", "completed"]


@pytest.mark.spec("STATE-9")
def test_progress_is_told_where_it_comes_and_never_relied_on() -> None:
    working = task("working")
    said = Message("p", Role.AGENT, (TextPart("half way"),))
    speaks = TaskReply(replace(working, status=replace(working.status, message=said)))
    story = Story().sends().ends(speaks)
    story.time_comes().ends(speaks).time_comes().ends("working").time_comes().ends("completed")
    assert story.told(Progress) == [Progress(TASK, said)]
    assert isinstance(story.result, Completed)
    assert story.result.output == ANSWER


def shows(*artifacts: Artifact) -> TaskReply:
    return TaskReply(replace(task("working"), artifacts=artifacts))


def named(name: str, text: str) -> Artifact:
    return Artifact(name, (TextPart(text),))


def test_an_artifact_is_told_when_it_is_new_or_shows_other_content() -> None:
    story = Story().sends().ends(shows(named("a", "1")))
    for reply in (
        shows(named("a", "1")),
        shows(named("a", "1"), named("b", "2")),
        shows(named("a", "3"), named("b", "2")),
        shows(),
    ):
        story.time_comes().ends(reply)
    chunks = [chunk.artifact for chunk in story.told(ArtifactChunk)]
    assert chunks == [named("a", "1"), named("b", "2"), named("a", "3")]


def test_artifacts_without_ids_are_told_apart_by_their_places() -> None:
    story = Story().sends()
    for _ in range(2):
        story.ends(shows(named("", "1"), named("", "2"))).time_comes()
    assert len(story.told(ArtifactChunk)) == 2


@pytest.mark.spec("OUT-10")
def test_artifacts_that_were_shown_are_not_lost_where_the_end_shows_none() -> None:
    story = Story().sends().ends(shows(named("a", "the work"))).time_comes()
    bare = TaskReply(replace(task("completed"), artifacts=()))
    assert story.result_of(bare).output == "the work"
    assert story.result.artifacts == (named("a", "the work"),)


@pytest.mark.spec("OUT-10")
def test_artifacts_are_kept_for_every_outcome() -> None:
    story = Story(OLDER).sends().ends(shows(named("a", "a part"))).caller_cancels()
    assert story.ends("canceled").result.artifacts == (named("a", "a part"),)


@pytest.mark.spec("OUT-16")
def test_every_request_that_ended_is_an_attempt_and_failures_are_told() -> None:
    story = Story().follows().time_comes().ends("error").time_comes().ends("completed")
    told = [(one.number, one.operation) for one in story.result.attempts]
    assert told == [(1, "send"), (2, "get"), (3, "get")]
    (failed,) = story.told(AttemptFailed)
    assert failed.attempt == story.result.attempts[1]


@pytest.mark.spec("OUT-16")
def test_of_a_long_poll_the_first_and_the_last_attempts_are_kept() -> None:
    story = Story().follows()
    for _ in range(100):
        story.time_comes().ends("working")
    attempts = story.time_comes().ends("completed").result.attempts
    assert len(attempts) == 64
    assert [one.number for one in attempts[:3]] == [1, 2, 3]
    assert attempts[-1].number == 102


@pytest.mark.spec("OUT-16")
def test_requests_that_end_after_the_outcome_and_those_that_never_do_are_attempts_too() -> None:
    story = Story(OLDER).follows().time_comes().caller_cancels().ends("canceled", name=CANCEL)
    assert [one.number for one in story.result.attempts] == [1, 3]
    story.ends("lost", name=GET)
    ending = ENDINGS["lost"]
    never = attempt(4, GET, ending, body_left=False)
    whole = story.machine.completed(story.result, [never])
    assert [one.number for one in whole.attempts] == [1, 2, 3, 4]
    assert replace(whole, attempts=story.result.attempts) == story.result, "and nothing else"


@pytest.mark.spec("OUT-16")
def test_attempts_stand_in_the_order_in_which_they_were_made() -> None:
    story = Story(OLDER).follows().time_comes().caller_cancels()
    story.ends("working", name=CANCEL).ends("lost", number=2).time_comes().ends("canceled")
    assert [one.number for one in story.result.attempts] == [1, 2, 3, 4]


@pytest.mark.spec("OUT-16", "LAW-10")
def test_an_outcome_of_work_in_this_process_stands_as_it_is() -> None:
    made = Completed(delegate_id="inner", effect=Effect.RAN)
    story = Story(OLDER, in_process=True).sends().id_shows().tell(Returned(made))
    assert story.ends("completed").machine.completed(story.result, []) is story.result


def test_why_a_request_is_let_go_is_told_by_the_cause() -> None:
    assert Story(OLDER).follows().caller_cancels().machine.stop == "cancel"
    assert Story(OLDER, deadline=0.5).follows().time_comes().machine.stop == "deadline"
    assert Story(OLDER).follows().machine.stop == "deadline", "the time of a get is over"
