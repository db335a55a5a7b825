"""Where the answer of a task stands: servers put it in different places."""

from __future__ import annotations

from dataclasses import replace

import pytest

from a2a_delegate.lifecycle import answer
from a2a_delegate.model.artifact import Artifact
from a2a_delegate.model.message import Message, Role
from a2a_delegate.model.part import DataPart, FilePart, Part, TextPart
from a2a_delegate.model.task import Task, TaskState, TaskStatus

OURS = "ours"


def says(text: str, *, role: Role = Role.AGENT, message_id: str = "m") -> Message:
    return Message(message_id, role, (TextPart(text),))


def asks(text: str, *, message_id: str = "u") -> Message:
    return says(text, role=Role.USER, message_id=message_id)


def made(*parts: Part) -> Artifact:
    return Artifact("a", parts)


def done(
    *artifacts: Artifact, status: Message | None = None, history: tuple[Message, ...] = ()
) -> Task:
    return Task("t", TaskStatus(TaskState.COMPLETED, message=status), None, artifacts, history)


def text(task: Task) -> str | None:
    return answer.text(task, ours=OURS)


@pytest.mark.spec("OUT-9")
def test_parts_of_one_artifact_are_joined_without_a_gap_and_artifacts_by_a_blank_line() -> None:
    task = done(made(TextPart("one"), TextPart("two")), made(TextPart("three")))
    assert text(task) == "onetwo\n\nthree"


@pytest.mark.spec("OUT-9")
def test_the_artifacts_come_before_the_status_and_the_status_before_the_history() -> None:
    history = (asks("q", message_id=OURS), says("in the history"))
    everywhere = done(made(TextPart("made")), status=says("status"), history=history)
    assert text(everywhere) == "made"
    assert text(replace(everywhere, artifacts=())) == "status"
    assert text(done(history=history)) == "in the history"


@pytest.mark.spec("OUT-9")
def test_nothing_is_said_twice_and_nothing_is_an_empty_string() -> None:
    assert text(done()) is None
    assert text(done(made(TextPart("")))) is None
    assert text(done(made(TextPart("")), made(TextPart("words")))) == "words"
    assert text(done(status=says(""), history=(says("words"),))) == "words"


@pytest.mark.spec("OUT-9")
def test_the_history_answers_after_our_own_message() -> None:
    history = (asks("first"), says("to somebody"), asks("q", message_id=OURS), says("to us"))
    assert text(done(history=history)) == "to us"
    assert text(done(history=history[:3])) is None


@pytest.mark.spec("OUT-9")
def test_the_agents_last_word_counts_also_where_others_have_spoken_after_us() -> None:
    history = (asks("q", message_id=OURS), says("so far"), asks("and?"), says("the end"))
    assert text(done(history=history)) == "the end"


@pytest.mark.spec("OUT-9")
def test_where_ours_is_not_shown_the_history_answers_after_the_last_question() -> None:
    history = (asks("first"), says("to somebody"), asks("ours, under another id"), says("to us"))
    assert text(done(history=history)) == "to us"
    assert text(done(history=history[:3])) is None
    assert text(done(history=(says("unasked"),))) == "unasked"


@pytest.mark.spec("OUT-9")
def test_our_own_message_in_the_status_is_no_answer() -> None:
    assert text(done(status=asks("q", message_id=OURS))) is None


@pytest.mark.spec("OUT-9")
def test_data_is_taken_from_the_first_place_that_has_some() -> None:
    one, two = DataPart({"n": 1}), DataPart([2])
    status = Message("s", Role.AGENT, (TextPart("words"), two))
    assert answer.data(done(made(one), made(two), status=status), ours=OURS) == ({"n": 1}, [2])
    assert answer.data(done(made(TextPart("words")), status=status), ours=OURS) == ([2],)
    assert answer.data(done(), ours=OURS) == ()


@pytest.mark.spec("OUT-9")
def test_files_are_neither_text_nor_data() -> None:
    task = done(made(FilePart(content=b"bytes")))
    assert text(task) is None
    assert answer.data(task, ours=OURS) == ()


def test_the_last_words_are_the_status_and_then_the_history() -> None:
    task = done(status=says("status"), history=(asks("q", message_id=OURS), says("history")))
    assert [one.text for one in answer.words_of(task, ours=OURS)] == ["status", "history"]
