"""An end that a stream has shown: it stays, and the task is asked for what was missed."""

from __future__ import annotations

import pytest

from a2a_delegate.lifecycle.commands import LetGo
from a2a_delegate.lifecycle.operations import FaultKind, MessageReply, TaskReply
from a2a_delegate.lifecycle.plan import Timing
from a2a_delegate.lifecycle.table import Phase
from a2a_delegate.model.message import Message, Role
from a2a_delegate.model.part import TextPart
from a2a_delegate.outcome import (
    Cancelled,
    CancelReceipt,
    Completed,
    Effect,
    Failed,
    Rejected,
    Unknown,
)
from a2a_delegate.signals import ArtifactChunk, CancelSent, Progress, StateSeen, TerminalChanged
from tests.lifecycle.replies import (
    ANSWER,
    NEWER,
    OLDER,
    TASK,
    TROUBLE,
    fault,
    known,
    piece,
    status,
    streaming,
    task,
    with_artifacts,
)
from tests.lifecycle.story import CANCEL, GET, LIST, SEND, SUBSCRIBE, Story

STREAM = streaming(NEWER)


def ended(word: str = "completed", text: str | None = None, *pieces: str) -> Story:
    """Send, and be shown on the stream that the task has ended."""
    story = Story(STREAM).sends().shows(TaskReply(task("working")))
    for one in pieces:
        story.shows(piece(one))
    return story.shows(status(word, text))


@pytest.mark.spec("STREAM-6")
def test_an_end_seen_on_a_stream_is_confirmed_by_a_look() -> None:
    story = ended()
    assert (story.phase, story.asks) == (Phase.CONFIRMING, ["get"])
    assert story.let_go == [LetGo(1)]
    assert story.result_of("completed").output == ANSWER


@pytest.mark.spec("STREAM-6", "STATE-8")
def test_what_was_missed_is_taken_from_the_task() -> None:
    story = ended("completed", None, "Hel", "rld")
    result = story.result_of(with_artifacts("completed", "Hello world", "and more"))
    assert result.output == "Hello world\n\nand more"
    assert [one.artifact.text for one in story.told(ArtifactChunk)][2:] == [
        "Hello world",
        "and more",
    ]


@pytest.mark.spec("STREAM-6")
@pytest.mark.parametrize("word", ["completed", "failed", "rejected", "canceled"])
def test_each_end_is_confirmed(word: str) -> None:
    result = ended(word).ends(word, name=GET).result
    kinds = {"completed": Completed, "failed": Failed, "rejected": Rejected}
    assert isinstance(result, kinds.get(word, Cancelled))
    assert not result.late
    if isinstance(result, (Failed, Rejected)):
        assert TROUBLE in str(result.error)


@pytest.mark.spec("STREAM-6", "STATE-4", "LAW-3")
def test_the_first_end_stays_though_the_look_shows_another() -> None:
    story = ended("completed", None, "the work").ends("failed")
    assert isinstance(story.result, Completed)
    assert story.result.output == "the work"
    assert story.told(TerminalChanged) == [TerminalChanged(TASK, "completed", "failed")]
    assert story.ends("canceled", number=1).told(TerminalChanged)[1:] == [
        TerminalChanged(TASK, "completed", "canceled")
    ]


@pytest.mark.spec("STREAM-6", "STATE-4")
def test_the_first_of_two_ends_on_one_stream_stays() -> None:
    story = ended("failed", "it broke").shows(status("completed"))
    result = story.ends("completed", name=GET).result
    assert isinstance(result, Failed)
    assert "it broke" in str(result.error)


@pytest.mark.spec("STREAM-6", "STATE-9")
def test_the_words_of_the_end_stay_where_the_task_has_none() -> None:
    bare = TaskReply(task("canceled"))
    assert bare.task.status.message is None
    result = ended("canceled", "enough").ends(bare, name=GET).result
    assert result.message is not None
    assert result.message.text == "enough"


@pytest.mark.spec("STREAM-6")
def test_the_words_of_the_task_come_before_those_of_the_stream() -> None:
    result = ended("failed", "something").ends("failed", name=GET).result
    assert isinstance(result, Failed)
    assert str(result.error).endswith(TROUBLE)
    assert result.message is not None
    assert result.message.text == TROUBLE


# -- the task cannot be had ----------------------------------------------------------------------


@pytest.mark.spec("STREAM-6")
@pytest.mark.parametrize("kind", [FaultKind.TASK_NOT_FOUND, FaultKind.DENIED])
def test_what_the_stream_gave_stands_where_the_task_is_gone(kind: FaultKind) -> None:
    story = ended("completed", None, "Hello", " world").ends(fault(kind, "get"), name=GET)
    assert isinstance(story.result, Completed)
    assert story.result.output == "Hello world"
    assert [made.text for made in story.result.artifacts] == ["Hello world"]
    assert story.result.effect is Effect.RAN
    assert story.told(CancelSent) == []


@pytest.mark.spec("STREAM-6")
@pytest.mark.parametrize("end", ["lost", "error", "not-sent", "unreadable", "foreign", "message"])
def test_a_look_that_fails_is_repeated_for_a_while_and_then_the_stream_counts(end: str) -> None:
    story = ended("completed", None, "Hello")
    began = story.now
    for _ in range(30):
        if story.settled:
            break
        story = story.ends(end, name=GET) if story.asks == ["get"] else story.time_comes()
    assert story.now - began == pytest.approx(5.0)
    assert isinstance(story.result, Completed)
    assert story.result.output == "Hello"
    assert 5 <= story.asked.count("get") <= 15


@pytest.mark.spec("STREAM-6")
def test_a_look_that_hangs_does_not_hold_the_answer_back_for_long() -> None:
    story = ended("completed", None, "Hello").time_comes()
    assert story.now == pytest.approx(5.0)
    assert isinstance(story.result, Completed)
    assert LetGo(2) in story.let_go


@pytest.mark.spec("STREAM-6")
def test_a_pause_that_the_peer_asks_for_is_kept() -> None:
    story = ended().ends(fault(FaultKind.OTHER, "get", retry_after=3.0), name=GET)
    assert story.wait == pytest.approx(3.0)
    assert isinstance(story.time_comes().ends("completed", name=GET).result, Completed)
    story = ended().ends(fault(FaultKind.OTHER, "get", retry_after=77.0), name=GET)
    assert story.wait == pytest.approx(5.0)
    assert isinstance(story.time_comes().result, Completed)


@pytest.mark.spec("STREAM-6", "LAW-4")
@pytest.mark.parametrize("word", ["working", "submitted", "pondering", "input-required"])
def test_an_older_look_takes_nothing_back(word: str) -> None:
    story = ended("completed", "done", "Hello", " world")
    story.ends(with_artifacts(word, "Hello"), name=GET)
    assert (story.phase, story.asks) == (Phase.CONFIRMING, [])
    assert story.time_comes().asks == ["get"]
    story.ends("gone", name=GET)
    assert isinstance(story.result, Completed)
    assert story.result.output == "Hello world"
    assert story.result.message is not None
    assert story.result.message.text == "done"
    assert story.result.handle is not None
    assert story.result.handle.question_id is None
    assert [seen.state for seen in story.told(StateSeen)] == ["working", "completed"]
    assert story.told(Progress) == []


@pytest.mark.spec("STREAM-6")
def test_a_task_that_shows_its_end_a_little_late_is_waited_for() -> None:
    story = ended("completed", None, "Hel")
    pauses = []
    for _ in range(3):
        story.ends("working", name=GET)
        pauses.append(story.wait)
        story.time_comes()
    assert pauses == pytest.approx([0.05, 0.1, 0.2])
    assert story.result_of("completed").output == ANSWER


@pytest.mark.spec("STREAM-6", "OUT-14")
def test_the_distance_between_two_gets_holds_here_too() -> None:
    story = Story(STREAM).sends().shows(status("working")).time_comes()
    story.later(0.004).shows(status("completed"))
    assert story.asks == []
    assert story.wait == pytest.approx(0.006)
    assert story.time_comes().asks == ["get"]


# -- what else comes meanwhile -------------------------------------------------------------------


@pytest.mark.spec("STREAM-6")
@pytest.mark.parametrize("end", ["over", "cut", "lost"])
def test_whatever_the_connection_does_after_the_end_the_end_counts(end: str) -> None:
    """peers.md S14: the final event, and then the connection breaks."""
    story = ended("completed", None, "Hello").ends(end, name=SEND)
    assert story.phase is Phase.CONFIRMING
    assert story.ends("gone", name=GET).result.status == "completed"


@pytest.mark.spec("STREAM-6", "STATE-8")
def test_what_the_stream_still_shows_counts() -> None:
    story = ended("completed", None, "Hello").shows(piece(" world")).shows(status("working"))
    story.ends("gone", name=GET)
    assert isinstance(story.result, Completed)
    assert story.result.output == "Hello world"


@pytest.mark.spec("STREAM-6", "STREAM-8")
def test_a_whole_task_on_the_stream_confirms_as_well() -> None:
    story = ended("completed").shows(TaskReply(task("completed")))
    assert isinstance(story.result, Completed)
    assert story.result.output == ANSWER


@pytest.mark.spec("STREAM-6", "LAW-2")
def test_a_message_after_the_end_does_not_take_its_place() -> None:
    said = MessageReply(Message("note", Role.AGENT, (TextPart("bye"),)))
    story = ended("completed", None, "Hello").shows(said).ends("gone", name=GET)
    assert isinstance(story.result, Completed)
    assert (story.result.output, story.result.message) == ("Hello", None)


@pytest.mark.spec("STREAM-6")
def test_a_look_that_was_let_go_confirms_as_well() -> None:
    story = Story(STREAM).sends().shows(status("working")).time_comes().later(1.0)
    story.shows(status("completed"))
    assert story.let_go == [LetGo(1), LetGo(2)]
    assert story.ends("gone", number=2).phase is Phase.CONFIRMING, "but its refusal says nothing"
    story = Story(STREAM).sends().shows(status("working")).time_comes().later(1.0)
    assert isinstance(
        story.shows(status("completed")).ends("completed", number=2).result, Completed
    )


@pytest.mark.spec("STREAM-6")
def test_an_older_look_that_was_let_go_does_not_disturb_the_next_one() -> None:
    story = Story(STREAM).sends().shows(status("working")).time_comes().later(1.0)
    due = story.shows(status("completed")).due
    assert story.ends("working", number=2).due == due
    assert story.commands == []


@pytest.mark.spec("STREAM-6", "CANC-2", "LAW-3")
def test_a_cancel_while_confirming_cancels_nothing_and_hurries() -> None:
    story = ended("completed", None, "Hello").later(1.0).caller_cancels()
    assert story.asks == []
    assert story.wait == pytest.approx(2.0)
    assert isinstance(story.time_comes().result, Completed)
    assert not story.result.late, "the end was seen before"
    story = ended("completed", None, "Hello").later(4.0).caller_cancels()
    assert story.wait == pytest.approx(1.0), "and never puts it off"


@pytest.mark.spec("STREAM-6", "LAW-5")
def test_a_deadline_while_confirming_hurries_too() -> None:
    story = Story(STREAM, deadline=3.0).sends().shows(status("completed", "done"))
    story.now = 2.9
    story.ends("working", name=GET)
    while not story.settled:
        story.time_comes()
    assert story.now <= 3.0 + 2.0 + 1e-9
    assert isinstance(story.result, Completed)
    assert (story.result.output, story.result.late) == ("done", False)


# -- an end that comes after the cause -----------------------------------------------------------


@pytest.mark.spec("STREAM-6", "LAW-2")
@pytest.mark.parametrize("waits", [0, 1, 2])
def test_an_end_seen_in_the_grace_is_the_answer_and_late(waits: int) -> None:
    story = Story(STREAM).sends().caller_cancels()
    for _ in range(waits):
        story.time_comes()
    assert story.phase is (Phase.HOLDING, Phase.RELEASING, Phase.LOOKING_UP)[waits]
    story.shows(status("completed", "done"))
    assert (story.phase, story.asks) == (Phase.CONFIRMING, ["get"])
    if waits == 2:
        assert LetGo(2) in story.let_go, "nothing has to be looked up"
    result = story.ends("completed", name=GET).result
    assert isinstance(result, Completed)
    assert result.late
    assert story.told(CancelSent) == []


@pytest.mark.spec("STREAM-6", "LAW-2")
def test_an_end_seen_while_the_task_is_stopped_is_the_answer_whatever_the_cancel_says() -> None:
    for receipt in ("canceled", "not cancelable", "working"):
        story = Story(STREAM).sends().shows(piece("Hello")).caller_cancels()
        assert story.phase is Phase.STOPPING
        story.shows(status("completed")).ends(receipt, name=CANCEL)
        while not story.settled:
            story = story.ends("gone", name=GET) if "get" in story.asks else story.time_comes()
        assert isinstance(story.result, Completed)
        assert (story.result.output, story.result.late) == ("Hello", True)


@pytest.mark.spec("STREAM-6", "LAW-2", "CANC-1")
def test_canceled_after_our_own_cancel_is_the_receipt() -> None:
    story = Story(STREAM).sends().shows(piece("Hello")).caller_cancels("enough")
    result = story.shows(status("canceled")).result
    assert isinstance(result, Cancelled)
    assert (result.by, result.reason, result.receipt) == (
        "caller",
        "enough",
        CancelReceipt.CONFIRMED,
    )
    assert "get" not in story.asked
    assert story.ends("completed", number=2).told(TerminalChanged)


@pytest.mark.spec("STREAM-6")
def test_canceled_by_the_peer_is_its_own_doing_though_a_cause_comes_after_it() -> None:
    story = ended("canceled").caller_cancels()
    result = story.ends("canceled", name=GET).result
    assert isinstance(result, Cancelled)
    assert (result.by, result.late) == ("peer", False)


@pytest.mark.spec("STREAM-6", "LAW-5")
def test_confirming_late_in_a_stop_stays_within_the_bound() -> None:
    """The hold, the look-up and the cancel have taken all but a moment of the time."""
    story = Story(STREAM).sends().caller_cancels().time_comes().time_comes()
    assert (story.phase, story.asks) == (Phase.LOOKING_UP, ["list"])
    story.later(1.9).ends("page, ours", name=LIST)
    assert story.phase is Phase.STOPPING
    while story.now < 3.9:
        due = story.due
        assert due is not None
        story = story.time_comes() if due < 3.9 else story.later(3.9 - story.now)
    story.shows(status("completed", "done"), name=SEND)
    assert story.due == pytest.approx(0.5 + 2 * 2.0 - 0.5)
    assert isinstance(story.time_comes().result, Completed)


@pytest.mark.spec("STREAM-6", "OUT-13")
def test_an_end_seen_while_a_task_that_is_gone_is_stopped_is_the_answer() -> None:
    story = Story(streaming(OLDER)).sends().shows(status("working"))
    for _ in range(3):
        story.time_comes().ends("gone", name=GET)
    story.later(0.1).shows(status("completed", "done")).ends("gone", name=GET)
    assert isinstance(story.result, Completed)
    assert not story.result.late


@pytest.mark.spec("STREAM-6", "OUT-13")
def test_the_receipt_of_a_task_that_is_gone_stays_why_it_was_given_up() -> None:
    story = Story(streaming(OLDER)).sends().shows(status("working"))
    for _ in range(3):
        story.time_comes().ends("gone", name=GET)
    assert isinstance(story.shows(status("canceled")).result, Unknown)


@pytest.mark.spec("STREAM-6", "OUT-8")
def test_a_task_rejected_on_a_stream_never_began_unless_it_showed_something() -> None:
    rejected = Story(STREAM).sends().shows(status("rejected", "not mine")).ends("gone", name=GET)
    assert isinstance(rejected.result, Rejected)
    assert rejected.result.effect is Effect.NOT_STARTED
    for event in (status("working"), piece("Hello")):
        story = Story(STREAM).sends().shows(event).shows(status("rejected"))
        assert story.ends("rejected", name=GET).result.effect is Effect.RAN


@pytest.mark.spec("STREAM-6")
def test_an_end_seen_by_who_subscribes_is_confirmed_the_same_way() -> None:
    timing = Timing(recovery_timeout=1.0, cancel_grace=3.0)
    story = Story(known(STREAM), timing=timing).starts()
    story.body_leaves().shows(status("working")).ends("over").ends("working", name=GET)
    story.later(1.0).shows(status("completed", "done"), name=SUBSCRIBE)
    assert (story.phase, story.asks) == (Phase.CONFIRMING, ["get"])
    assert story.wait == pytest.approx(3.0), "the longer of recovering and cleaning up"
    assert isinstance(story.ends("gone", name=GET).result, Completed)


@pytest.mark.spec("STREAM-12")
@pytest.mark.parametrize("beyond", ["appended", "replaced", "replaced, then appended"])
def test_half_an_answer_is_none_where_the_task_cannot_be_had(beyond: str) -> None:
    story = Story(STREAM, kept_bytes=10).sends().shows(TaskReply(task("working")))
    story.shows(piece("whole", size=5))
    story.shows(piece(" and more", append=beyond == "appended", size=19))
    if beyond == "replaced, then appended":
        story.shows(piece("tail", size=4))
    story.shows(status("completed")).ends(fault(FaultKind.TASK_NOT_FOUND), name=GET)
    assert isinstance(story.result, Unknown)
    assert story.result.effect is Effect.RAN


@pytest.mark.spec("STREAM-12")
def test_the_task_itself_completes_what_the_stream_was_too_large_for() -> None:
    story = Story(STREAM, kept_bytes=10).sends().shows(piece("far more than that", size=18))
    story.shows(status("completed"))
    whole = with_artifacts("completed", "far more than that")
    assert story.result_of(whole).output == "far more than that"


@pytest.mark.spec("STREAM-12")
def test_a_failure_is_one_whatever_was_not_kept() -> None:
    story = Story(STREAM, kept_bytes=10).sends().shows(piece("far more than that", size=18))
    story.shows(status("failed", TROUBLE)).ends(fault(FaultKind.TASK_NOT_FOUND), name=GET)
    assert isinstance(story.result, Failed)
