"""Following a task by the stream of its send: what counts, and what is found out beside it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from a2a_delegate.errors import LostReplyError
from a2a_delegate.lifecycle.commands import LetGo
from a2a_delegate.lifecycle.operations import (
    FaultKind,
    MessageReply,
    SendMessage,
    StreamEnd,
    TaskReply,
)
from a2a_delegate.lifecycle.plan import Timing
from a2a_delegate.lifecycle.table import Phase
from a2a_delegate.model.message import Message, Role
from a2a_delegate.model.part import TextPart
from a2a_delegate.outcome import (
    Cancelled,
    Completed,
    Effect,
    Failed,
    InputRequired,
    Rejected,
    Unknown,
)
from a2a_delegate.signals import (
    AttemptFailed,
    ContextSubstituted,
    IdKnown,
    Progress,
    StateSeen,
    StreamCut,
)
from tests.lifecycle.replies import (
    ANSWER,
    ANSWERING,
    FOREIGN,
    NEWER,
    OLDER,
    OURS,
    QUESTION,
    QUESTION_ID,
    TASK,
    asking,
    fault,
    piece,
    shown,
    status,
    streaming,
    task,
)
from tests.lifecycle.story import GET, SUBSCRIBE, Story

if TYPE_CHECKING:
    from a2a_delegate.lifecycle.operations import StreamEvent

STREAM = streaming(NEWER)


def streams() -> Story:
    """Send to a peer that streams, and be shown a task that works."""
    return Story(STREAM).sends().shows(TaskReply(task("working")))


# -- beside the stream ---------------------------------------------------------------------------


@pytest.mark.spec("STREAM-1")
def test_a_streamed_send_stays_in_flight_while_its_stream_is_open() -> None:
    story = Story(STREAM).sends()
    assert story.performed[1] == SendMessage(OURS, streamed=True)
    assert story.due is None, "a send waits as long as its caller does"
    for event in (status("submitted"), status("working"), piece("Hello")):
        story.shows(event)
        assert story.phase is Phase.FOLLOWING
    assert story.asked == ["send"]
    assert story.let_go == []


@pytest.mark.spec("STREAM-1", "STATE-10")
@pytest.mark.parametrize("chance", [0.0, 0.999])
def test_beside_a_stream_the_task_is_asked_for_ten_times_more_slowly(chance: float) -> None:
    timing = Timing(poll_interval=0.5, poll_interval_max=30.0)
    story = Story(STREAM, timing=timing, chance=chance).sends().shows(status("working"))
    pauses = []
    for _ in range(5):
        pauses.append(story.wait)
        assert story.time_comes().asks == ["get"]
        story.ends("working", name=GET)
    drawn = 0.5 + chance / 2
    assert pauses == pytest.approx([5.0, 10.0 * drawn, 20.0 * drawn, 30.0 * drawn, 30.0 * drawn])


@pytest.mark.spec("STREAM-1", "STATE-10")
def test_a_peer_that_only_pings_is_found_out() -> None:
    story = streams().time_comes().ends("completed", name=GET)
    assert isinstance(story.result, Completed)
    assert story.result.output == ANSWER
    assert story.let_go == [LetGo(1)], "the stream is closed"


@pytest.mark.spec("STREAM-1")
def test_what_a_stream_shows_does_not_put_off_the_poll() -> None:
    story = streams()
    due = story.due
    for second in range(5):
        assert story.later(1.0).shows(piece(f"{second}")).due == due


@pytest.mark.spec("STREAM-1", "OUT-14")
def test_beside_a_stream_a_look_that_fails_is_repeated() -> None:
    story = streams().time_comes().ends(fault(FaultKind.OTHER, "get", retry_after=77.0), name=GET)
    assert story.wait == pytest.approx(77.0)
    story.time_comes().time_comes()
    assert story.let_go == [LetGo(3)], "thirty seconds are enough for one"
    assert story.phase is Phase.FOLLOWING


@pytest.mark.spec("STREAM-1", "OUT-13")
def test_a_task_that_is_shown_is_not_gone_whatever_a_get_says() -> None:
    for event in (TaskReply(task("working")), status("working"), piece("more")):
        story = streams()
        for _ in range(5):
            story.time_comes().ends("gone", name=GET).shows(event)
        assert story.phase is Phase.FOLLOWING


@pytest.mark.spec("OUT-13")
def test_a_task_that_is_refused_three_times_beside_a_silent_stream_is_gone() -> None:
    story = streams()
    for _ in range(3):
        story.time_comes().ends("gone", name=GET)
    assert story.asks == ["cancel"]
    assert LetGo(1) in story.let_go
    assert isinstance(story.ends("canceled").result, Unknown)


# -- what an event is ----------------------------------------------------------------------------


@pytest.mark.spec("STREAM-8", "STATE-5")
def test_a_message_alone_is_the_whole_answer() -> None:
    said = Message("reply-1", Role.AGENT, (TextPart("forty-two"),))
    story = Story(STREAM).sends().shows(MessageReply(said))
    assert isinstance(story.result, Completed)
    assert (story.result.output, story.result.message) == ("forty-two", said)
    assert story.result.handle is not None
    assert story.result.handle.task_id is None


@pytest.mark.spec("STREAM-8", "STATE-5")
def test_a_message_beside_a_task_is_progress() -> None:
    said = Message("note-1", Role.AGENT, (TextPart("half way"),))
    story = streams().shows(MessageReply(said))
    assert story.told(Progress) == [Progress(TASK, said)]
    result = story.shows(TaskReply(task("completed"))).result
    assert isinstance(result, Completed)
    assert result.output == ANSWER


@pytest.mark.spec("STREAM-8")
def test_what_a_user_says_first_is_no_answer_and_may_show_the_task() -> None:
    said = replace(OURS, message_id="under another id")
    story = Story(STREAM).sends().shows(MessageReply(said))
    assert not story.settled
    story.shows(MessageReply(replace(said, task_id=TASK)))
    assert story.told(IdKnown) == [IdKnown(TASK)]
    assert story.shows(status("completed")).asks == ["get"]


@pytest.mark.spec("STREAM-8")
def test_what_a_user_says_beside_a_task_is_no_word_of_the_peers() -> None:
    story = Story(STREAM).sends().shows(status("working")).shows(MessageReply(OURS))
    assert story.phase is Phase.FOLLOWING
    assert story.told(Progress) == []


@pytest.mark.spec("STREAM-8")
@pytest.mark.parametrize("word", ["completed", "failed", "rejected", "canceled"])
def test_a_whole_task_that_has_ended_is_the_answer(word: str) -> None:
    story = streams().shows(TaskReply(task(word)))
    assert story.asked == ["send"]
    assert story.let_go == [LetGo(1)]
    kinds = {"completed": Completed, "failed": Failed, "rejected": Rejected}
    assert isinstance(story.result, kinds.get(word, Cancelled))


@pytest.mark.spec("STREAM-8", "STATE-7")
def test_a_whole_task_that_asks_is_a_question() -> None:
    story = streams().shows(TaskReply(task("input-required")))
    assert isinstance(story.result, InputRequired)
    assert str(story.result.question) == QUESTION
    assert story.let_go == [LetGo(1)], "some servers keep the stream open, and silent"


@pytest.mark.spec("STREAM-8")
def test_a_single_answer_to_a_streamed_send_counts_as_one() -> None:
    story = Story(STREAM).sends().ends("completed")
    assert isinstance(story.result, Completed)
    story = Story(STREAM).sends().ends("working")
    assert story.asks == ["subscribe"]


@pytest.mark.spec("STATE-12")
@pytest.mark.parametrize(
    "event",
    [
        TaskReply(task("completed", task_id=FOREIGN)),
        status("completed", task_id=FOREIGN),
        piece("theirs", append=False, task_id=FOREIGN),
        TaskReply(replace(task("completed"), context_id="context-9")),
        replace(status("completed"), context_id="context-9"),
        replace(piece("theirs", append=False), context_id="context-9"),
    ],
    ids=str,
)
def test_what_is_of_another_task_or_context_counts_for_nothing(event: StreamEvent) -> None:
    story = streams()
    told, due = list(story.signals), story.due
    story.shows(event)
    assert (story.signals, story.due, story.commands) == (told, due, [])
    assert story.caller_cancels().ends("canceled").result.artifacts == ()


@pytest.mark.spec("STATE-12")
def test_an_event_without_a_context_is_one_of_the_task() -> None:
    story = streams().shows(replace(piece("Hello"), context_id=None))
    story.shows(replace(status("completed"), context_id=None)).ends("gone", name=GET)
    assert isinstance(story.result, Completed)
    assert story.result.output == "Hello"


@pytest.mark.spec("STATE-12", "IDEM-8")
def test_the_context_that_the_stream_begins_with_is_followed_and_told() -> None:
    first = TaskReply(replace(task("working"), context_id="context-9"))
    story = Story(STREAM).sends().shows(first)
    assert story.told(ContextSubstituted) == [ContextSubstituted("context-1", "context-9")]
    story.shows(replace(status("completed"), context_id="context-9"))
    assert story.phase is Phase.CONFIRMING


@pytest.mark.spec("STREAM-8", "IDEM-3")
@pytest.mark.parametrize("event", [status("working"), piece("Hello")], ids=["status", "piece"])
def test_a_stream_may_begin_in_the_middle(event: StreamEvent) -> None:
    story = Story(STREAM).sends().shows(event)
    assert story.told(IdKnown) == [IdKnown(TASK)]
    assert story.phase is Phase.FOLLOWING
    assert story.caller_cancels().asks == ["cancel"]


def test_each_state_of_a_stream_is_told_once_and_its_words_too() -> None:
    story = Story(STREAM).sends().shows(TaskReply(task("submitted")))
    for event in (status("working"), status("working", "half way"), status("working", "half way")):
        story.shows(event)
    assert [seen.state for seen in story.told(StateSeen)] == ["submitted", "working"]
    assert [said.message.text for said in story.told(Progress)] == ["half way"]


@pytest.mark.spec("STREAM-8")
def test_a_message_that_goes_on_with_a_task_may_be_answered_by_a_new_one() -> None:
    streamed, single = Story(streaming(ANSWERING)).sends(), Story(ANSWERING).sends()
    streamed.shows(TaskReply(task("working", task_id="task-2")))
    single.ends(TaskReply(task("working", task_id="task-2")))
    assert streamed.told(IdKnown) == single.told(IdKnown) == [IdKnown("task-2")]


# -- questions -----------------------------------------------------------------------------------


@pytest.mark.spec("STREAM-7", "STATE-7")
def test_a_question_seen_on_a_stream_is_asked_for() -> None:
    story = streams().shows(status("input-required"))
    assert story.asks == ["get"]
    assert story.let_go == [LetGo(1)]
    result = story.ends("input-required", name=GET).result
    assert isinstance(result, InputRequired)
    assert str(result.question) == QUESTION


@pytest.mark.spec("STREAM-7")
def test_a_question_may_be_the_first_that_a_stream_shows() -> None:
    story = Story(STREAM).sends().shows(status("auth-required"))
    assert story.asks == ["get"]
    assert story.ends("auth-required", name=GET).result.status == "auth-required"


@pytest.mark.spec("STREAM-7")
def test_a_question_that_the_task_does_not_show_is_watched_on() -> None:
    story = streams().shows(status("input-required")).ends("working", name=GET)
    assert story.asks == ["subscribe"]
    story.later(0.02).shows(status("input-required"), name=SUBSCRIBE).ends("working", name=GET)
    assert story.asks == [], "not again and again at once"
    assert story.wait > 0.4


@pytest.mark.spec("STREAM-7", "OUT-14")
def test_a_look_for_a_question_keeps_the_distance_between_two_gets() -> None:
    story = streams().time_comes().later(0.004).shows(status("input-required"))
    assert story.asks == []
    assert LetGo(2) in story.let_go, "a get that went out before cannot say"
    assert story.wait == pytest.approx(0.006)
    assert story.time_comes().asks == ["get"]


@pytest.mark.spec("STREAM-7")
def test_a_stream_that_was_let_go_for_a_question_does_not_disturb_the_look() -> None:
    story = streams().shows(status("input-required")).later(0.5)
    assert story.shows(status("input-required")).commands == []
    assert story.ends("cut", number=1).commands == []
    assert isinstance(story.ends("input-required", name=GET).result, InputRequired)


@pytest.mark.spec("STREAM-7", "LAW-4")
def test_after_an_answer_the_old_question_on_the_stream_is_none() -> None:
    old = shown("input-required", QUESTION_ID, OURS.message_id)
    story = Story(streaming(ANSWERING)).sends().shows(old)
    assert story.phase is Phase.FOLLOWING
    story.shows(status("input-required"))
    assert story.asked == ["send"], "nothing says that it is another one"
    story.shows(status("working")).shows(status("input-required", "and which colour?"))
    assert story.asks == ["get"]
    assert isinstance(story.ends(asking("words-2"), name=GET).result, InputRequired)


@pytest.mark.spec("STREAM-7")
def test_credentials_that_are_waited_for_leave_the_stream_open() -> None:
    story = Story(STREAM, waits_for_auth=True).sends().shows(status("auth-required"))
    assert (story.phase, story.asked, story.let_go) == (Phase.FOLLOWING, ["send"], [])


# -- a stream that is over -----------------------------------------------------------------------


@pytest.mark.spec("STREAM-2", "STATE-6", "LAW-4")
@pytest.mark.parametrize("end", ["over", "cut"])
def test_a_stream_that_ends_before_its_task_is_no_result(end: str) -> None:
    story = streams().shows(piece("all of it?")).ends(end)
    assert not story.settled
    assert story.asks == ["get"]
    (cut,) = story.told(StreamCut)
    assert (cut.task_id, cut.error is None) == (TASK, end == "over")
    assert story.told(AttemptFailed) == []
    result = story.result_of("completed")
    assert result.output == ANSWER


@pytest.mark.spec("STREAM-2")
def test_a_look_that_was_under_way_when_the_stream_ended_cannot_say() -> None:
    story = streams().time_comes().later(0.5).ends("over", number=1)
    assert story.let_go == [LetGo(2)]
    assert story.asks == ["get"]


@pytest.mark.spec("STREAM-2", "OUT-14")
def test_a_pause_that_the_peer_asked_for_is_kept_when_the_stream_ends() -> None:
    story = streams().time_comes().ends(fault(FaultKind.OTHER, "get", retry_after=77.0), name=GET)
    due = story.due
    assert story.later(1.0).ends("cut", number=1).due == due
    assert story.asks == []
    assert story.time_comes().asks == ["get"], "and not a subscription"


@pytest.mark.spec("STREAM-2", "OUT-5")
@pytest.mark.parametrize("end", [StreamEnd(), "cut", "lost"])
def test_a_stream_that_showed_no_task_is_a_lost_reply(end: str | StreamEnd) -> None:
    story = Story(streaming(OLDER)).sends().ends(end)
    assert isinstance(story.result, Unknown)
    assert isinstance(story.result.cause, LostReplyError)
    assert story.result.effect is Effect.MAY_HAVE_RUN
    story = Story(STREAM).sends().ends(end)
    assert story.asks == ["list"]
    story.ends("page, ours").ends("working")
    assert story.asks == ["subscribe"]


@pytest.mark.spec("STREAM-2", "IDEM-3")
def test_a_stream_that_showed_an_id_alone_is_followed_by_it() -> None:
    story = Story(STREAM).sends().id_shows().ends("cut")
    assert story.asks == ["get"]
    assert story.phase is Phase.FOLLOWING


# -- fates of other people's streams --------------------------------------------------------------


@pytest.mark.spec("STREAM-2", "STATE-6")
def test_a_stream_that_stops_after_working_leaves_the_answer_with_the_task() -> None:
    """peers.md S1 and S20: the stream ends early, and the whole answer is stored."""
    for append in (True, False):
        story = streams().shows(piece("Hel", append=append)).ends("over")
        assert story.result_of("completed").output == ANSWER


@pytest.mark.spec("STREAM-9", "STATE-9")
def test_the_same_text_as_words_and_as_artifact_is_said_once() -> None:
    """peers.md S22."""
    story = streams().shows(status("working", ANSWER)).shows(piece(ANSWER, append=False))
    story.shows(status("completed")).ends("completed", name=GET)
    assert isinstance(story.result, Completed)
    assert story.result.output == ANSWER
