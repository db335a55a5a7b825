"""What becomes of a streamed send that is stopped, and of one at a peer that does not stream."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from a2a_delegate.errors import A2ARequestError
from a2a_delegate.lifecycle.commands import LetGo
from a2a_delegate.lifecycle.operations import FaultKind, SendMessage, TaskReply
from a2a_delegate.lifecycle.plan import Question
from a2a_delegate.lifecycle.table import Phase
from a2a_delegate.outcome import Cancelled, Rejected, TimedOut
from a2a_delegate.signals import Downgraded
from tests.lifecycle.replies import (
    ANSWERING,
    NEWER,
    OLDER,
    OURS,
    QUESTION_ID,
    TASK,
    fault,
    piece,
    status,
    streaming,
    task,
)
from tests.lifecycle.story import CANCEL, Story

if TYPE_CHECKING:
    from a2a_delegate.lifecycle.operations import StreamEvent

STREAM = streaming(NEWER)


def streams(*, deadline: float | None = None) -> Story:
    """Send to a peer that streams, and be shown a task that works."""
    return Story(STREAM, deadline=deadline).sends().shows(TaskReply(task("working")))


# -- nobody waits any more -----------------------------------------------------------------------


@pytest.mark.spec("STREAM-10", "CANC-4")
def test_a_cancel_lets_the_stream_go_and_tells_the_peer_by_name() -> None:
    story = streams().shows(piece("Hello")).caller_cancels()
    assert story.let_go == [LetGo(1)]
    assert story.asks == ["cancel"]
    result = story.ends("cut", number=1).ends("canceled", name=CANCEL).result
    assert isinstance(result, Cancelled)
    assert [made.text for made in result.artifacts] == ["Hello"]


@pytest.mark.spec("STREAM-10", "LAW-5")
@pytest.mark.parametrize("end", ["over", "cut"])
def test_nothing_is_asked_for_when_a_stream_ends_at_the_deadline(end: str) -> None:
    story = streams(deadline=3.0)
    story.now = 3.0
    story.ends(end)
    assert story.asks == ["cancel"]
    while not story.settled:
        story.time_comes()
    assert isinstance(story.result, TimedOut)
    assert story.result.last_state == "working"


@pytest.mark.spec("STREAM-10", "LAW-5")
@pytest.mark.parametrize("event", [status("working"), status("input-required"), piece("x")])
def test_nothing_is_begun_when_a_stream_shows_something_at_the_deadline(event: StreamEvent) -> None:
    story = streams(deadline=3.0)
    story.now = 3.0
    assert story.shows(event).asks == ["cancel"]


@pytest.mark.spec("STREAM-10", "LAW-5")
def test_nothing_is_subscribed_to_when_a_task_alone_comes_at_the_deadline() -> None:
    story = Story(STREAM, deadline=3.0).sends()
    story.now = 3.0
    assert story.ends("working").asks == ["cancel"]


@pytest.mark.spec("STREAM-10", "CANC-1")
def test_a_stream_that_was_let_go_does_not_put_off_the_look_after_a_cancel() -> None:
    story = streams().caller_cancels().ends("working", name=CANCEL)
    due = story.due
    assert story.wait == pytest.approx(0.05)
    assert story.shows(status("working", "still here")).due == due


@pytest.mark.spec("STREAM-10", "REC-1")
@pytest.mark.parametrize("event", [status("working"), status("auth-required"), piece("x")])
def test_an_event_in_the_grace_shows_what_to_cancel(event: StreamEvent) -> None:
    for waits in (0, 1):
        story = Story(STREAM).sends().caller_cancels()
        for _ in range(waits):
            story.time_comes()
        assert story.phase is (Phase.RELEASING if waits else Phase.HOLDING)
        assert story.shows(event).asks == ["cancel"]


@pytest.mark.spec("STREAM-10", "REC-1")
def test_a_stream_that_is_over_in_the_grace_and_showed_no_task_is_looked_up() -> None:
    story = Story(STREAM).sends().caller_cancels().ends("over")
    assert story.asks == ["list"]
    story = Story(STREAM).sends().caller_cancels().time_comes()
    assert story.phase is Phase.RELEASING
    assert story.ends("cut").asks == ["list"], "it has stopped: no need to wait for the bound"


@pytest.mark.spec("STREAM-10")
def test_a_stream_that_was_left_behind_still_shows_the_id() -> None:
    story = Story(STREAM).sends().caller_cancels().time_comes().time_comes()
    assert story.phase is Phase.LOOKING_UP
    assert story.shows(status("working")).asks == ["cancel"]


@pytest.mark.spec("STREAM-10")
def test_the_stream_of_an_answer_that_is_being_stopped_may_bring_the_end() -> None:
    route = replace(streaming(ANSWERING), answers=Question(TASK, QUESTION_ID, "message-0"))
    story = Story(route).sends().caller_cancels().time_comes().time_comes()
    assert (story.phase, story.asks) == (Phase.STOPPING, ["cancel"])
    story.shows(status("input-required")).shows(status("working")).shows(status("canceled"))
    assert isinstance(story.result, Cancelled)
    assert str(story.result.receipt) == "confirmed"


# -- a peer that does not stream -----------------------------------------------------------------


@pytest.mark.spec("STREAM-11", "LAW-1")
def test_a_peer_that_does_not_know_streams_is_sent_the_message_without_one() -> None:
    story = Story(STREAM).sends().ends(fault(FaultKind.METHOD_NOT_FOUND))
    assert story.asks == ["send"]
    assert story.performed[2] == SendMessage(OURS)
    assert story.body_leaves().ends("working").asks == [], "nor subscribed to"
    assert story.wait == pytest.approx(1.0)
    for _ in range(3):
        assert story.time_comes().asks == ["get"]
        story.ends("working")


@pytest.mark.spec("STREAM-11")
def test_it_is_sent_once_more_and_not_again() -> None:
    story = Story(STREAM).sends().ends(fault(FaultKind.METHOD_NOT_FOUND))
    result = story.body_leaves().ends(fault(FaultKind.METHOD_NOT_FOUND)).result
    assert isinstance(result, Rejected)
    assert story.asked == ["send", "send"]


@pytest.mark.spec("STREAM-11", "VER-1")
def test_without_a_stream_comes_before_another_version() -> None:
    story = Story(STREAM, fallback=streaming(OLDER)).sends()
    story.ends(fault(FaultKind.METHOD_NOT_FOUND)).body_leaves()
    story.ends(fault(FaultKind.METHOD_NOT_FOUND)).body_leaves()
    assert len(story.told(Downgraded)) == 1
    story.ends(fault(FaultKind.METHOD_NOT_FOUND)).body_leaves()
    sends = [one for one in story.performed.values() if isinstance(one, SendMessage)]
    assert [one.streamed for one in sends] == [True, False, True, False]
    assert isinstance(story.ends(fault(FaultKind.METHOD_NOT_FOUND)).result, Rejected)


@pytest.mark.spec("STREAM-11", "LAW-5")
def test_nothing_is_sent_once_more_after_the_cause() -> None:
    story = Story(STREAM).sends().caller_cancels().ends(fault(FaultKind.METHOD_NOT_FOUND))
    assert story.asked == ["send"]
    story = Story(STREAM, deadline=1.0).sends().later(1.0)
    story.ends(fault(FaultKind.METHOD_NOT_FOUND))
    assert story.asked == ["send"]


@pytest.mark.spec("STREAM-11")
def test_any_other_refusal_of_a_streamed_send_is_one_of_the_send() -> None:
    result = Story(STREAM).sends().ends(fault(FaultKind.UNAUTHENTICATED)).result
    assert isinstance(result, Rejected)
    assert isinstance(result.error, A2ARequestError)
    story = Story(STREAM).sends().ends(fault(FaultKind.UNSUPPORTED))
    assert story.asks == ["list"], "agent code can say so too"
