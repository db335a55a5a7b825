"""Watching again after a stream is over: how soon, how often, and when no more."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from a2a_delegate.errors import InvalidReplyError
from a2a_delegate.lifecycle.faults import NOT_STREAMING
from a2a_delegate.lifecycle.observations import Streamed
from a2a_delegate.lifecycle.operations import (
    FaultKind,
    MessageReply,
    SubscribeToTask,
    TaskReply,
)
from a2a_delegate.lifecycle.plan import Mission, Timing
from a2a_delegate.lifecycle.table import Phase
from a2a_delegate.model.message import Message, Role
from a2a_delegate.model.part import TextPart
from a2a_delegate.outcome import Completed, InputRequired, Running
from a2a_delegate.signals import ArtifactChunk, AttemptFailed, StreamCut
from tests.lifecycle.replies import (
    ANSWER,
    ANSWERING,
    NEWER,
    OURS,
    TASK,
    fault,
    known,
    piece,
    shown,
    status,
    streaming,
    task,
    with_artifacts,
)
from tests.lifecycle.story import GET, SEND, SUBSCRIBE, Story

if TYPE_CHECKING:
    from a2a_delegate.lifecycle.operations import StreamEvent

STREAM = streaming(NEWER)
WORKING = TaskReply(task("working"))


def cut(*, chance: float = 0.5, timing: Timing | None = None) -> Story:
    """Send, be shown a task that works, and lose the stream."""
    story = Story(STREAM, chance=chance, timing=timing).sends()
    return story.shows(WORKING).later(5.0).ends("cut")


def taken_up(mission: Mission = Mission.TAKE_UP) -> Story:
    return Story(known(STREAM), mission=mission).starts()


def refused_until_nothing_is_subscribed(story: Story, end: str = "lost") -> list[float]:
    """Let each subscription fail and each get show that it works; return the pauses between."""
    pauses, last = [], story.now
    for _ in range(20):
        if story.asks == ["subscribe"]:
            pauses.append(story.now - last)
            last = story.now
            story.ends(end, name=SUBSCRIBE)
        elif story.asks == ["get"]:
            story.ends("working", name=GET)
        else:
            story.time_comes()
    return pauses


@pytest.mark.spec("STREAM-3")
def test_after_the_look_that_follows_a_stream_the_task_is_subscribed_to_at_once() -> None:
    story = cut().ends("working")
    assert story.performed[3] == SubscribeToTask(TASK)
    assert story.asks == ["subscribe"]


@pytest.mark.spec("STREAM-3", "STATE-10")
@pytest.mark.parametrize("chance", [0.0, 0.999])
def test_subscriptions_that_show_nothing_come_ever_later(chance: float) -> None:
    story = cut(chance=chance, timing=Timing(poll_interval_max=10.0)).ends("working")
    pauses = refused_until_nothing_is_subscribed(story)
    drawn = 0.5 + chance / 2
    steady = [0.0, 2.0 * drawn, 4.0 * drawn, 8.0 * drawn, 10.0 * drawn]
    assert pauses == pytest.approx(steady, abs=0.02)


@pytest.mark.spec("STREAM-4")
@pytest.mark.parametrize("end", ["lost", "not-sent", "unreadable", "error", "cut", "over", "gone"])
def test_after_five_that_showed_nothing_the_task_is_only_asked_for(end: str) -> None:
    story = cut().ends("working")
    refused_until_nothing_is_subscribed(story, end)
    assert story.asked.count("subscribe") == 5
    for _ in range(30):
        if story.time_comes().asks:
            assert story.asks == ["get"]
            story.ends("working")
    assert story.asked.count("subscribe") == 5
    while not story.asks:
        story.time_comes()
    assert isinstance(story.ends("completed").result, Completed)


@pytest.mark.spec("STREAM-4")
@pytest.mark.parametrize(
    "event", [status("pondering"), status("working", "half way"), piece("Hello")], ids=str
)
def test_a_subscription_that_shows_news_begins_the_count_anew(event: StreamEvent) -> None:
    """peers.md S3: three subscriptions fail, and the fourth works."""
    story = cut().ends("working")
    for _ in range(3):
        story.ends("lost", name=SUBSCRIBE)
        while story.asks != ["subscribe"]:
            story = story.ends("working") if story.asks == ["get"] else story.time_comes()
    story.shows(WORKING, name=SUBSCRIBE)
    story.shows(event, name=SUBSCRIBE).later(60.0)
    story.ends("cut", name=SUBSCRIBE).ends("working")
    assert story.asks == ["subscribe"]
    refused_until_nothing_is_subscribed(story)
    assert story.asked.count("subscribe") == 9


@pytest.mark.spec("STREAM-4")
def test_a_subscription_that_shows_what_was_known_shows_no_news() -> None:
    story = cut().ends("working")
    for _ in range(5):
        while story.asks != ["subscribe"]:
            story = story.ends("working") if story.asks == ["get"] else story.time_comes()
        story.shows(WORKING, name=SUBSCRIBE).shows(status("working"), name=SUBSCRIBE)
        story.ends("over", name=SUBSCRIBE)
    assert story.ends("working").wait == pytest.approx(1.0), "from here on it is polled"


@pytest.mark.spec("STREAM-3")
def test_a_peer_that_shows_something_and_hangs_up_is_not_asked_without_a_pause() -> None:
    story = cut(chance=0.0).ends("working")
    for turn in range(20):
        assert story.asks == ["subscribe"]
        story.later(0.02).shows(piece(f"{turn}"), name=SUBSCRIBE).ends("over", name=SUBSCRIBE)
        story.later(0.02).ends("working").time_comes()
    assert story.now > 5.0 + 20 * 0.4


@pytest.mark.spec("STREAM-3")
def test_a_stream_that_was_open_long_enough_is_followed_by_the_next_at_once() -> None:
    """peers.md S2 and S27: idle streams are closed in good order, by whoever is in between."""
    story = cut().ends("working")
    for _ in range(4):
        assert story.asks == ["subscribe"]
        story.time_comes().ends("working").later(300.0).ends("over", name=SUBSCRIBE)
        story.ends("working")
    assert len(story.told(StreamCut)) == 5


@pytest.mark.spec("STREAM-3", "OUT-16")
def test_days_of_subscriptions_are_kept_in_bounded_memory() -> None:
    story = cut().ends("working")
    for turn in range(200):
        story.time_comes().ends("working", name=GET).later(300.0)
        story.shows(piece(f"{turn}", append=False), name=SUBSCRIBE).ends("cut", name=SUBSCRIBE)
        assert story.ends("working").asks == ["subscribe"]
    result = story.shows(TaskReply(task("completed")), name=SUBSCRIBE).result
    assert len(result.attempts) == 64
    assert [one.number for one in result.attempts[:3]] == [1, 2, 3]


@pytest.mark.spec("STREAM-4", "TURN-3")
@pytest.mark.parametrize("kind", sorted(NOT_STREAMING, key=str))
def test_a_peer_that_lets_nobody_subscribe_is_asked_at_once_and_then_polled(
    kind: FaultKind,
) -> None:
    story = cut().ends("working").ends(fault(kind, "subscribe"))
    assert story.asks == []
    assert story.wait == pytest.approx(0.01), "between two gets"
    assert story.time_comes().asks == ["get"]
    assert story.ends("working").wait == pytest.approx(1.0)
    for _ in range(5):
        assert story.time_comes().asks == ["get"]
        story.ends("working")


@pytest.mark.spec("STREAM-4")
def test_what_a_stream_that_was_let_go_shows_does_not_begin_the_count_anew() -> None:
    story = cut().ends("working").later(1.0).shows(status("input-required"), name=SUBSCRIBE)
    let_go = max(story.performed) - 1
    story.ends("working", name=GET)
    while story.asks != ["subscribe"]:
        story.time_comes()
    story.ends("no stream").later(1.0).tell(Streamed(let_go, SUBSCRIBE, piece("more")))
    for _ in range(6):
        while not story.asks:
            story.time_comes()
        assert story.asks == ["get"]
        story.ends("working")


@pytest.mark.spec("TURN-3")
def test_a_subscription_that_is_refused_because_the_task_has_ended_is_followed_by_a_look() -> None:
    story = cut().ends("working").later(1.0).ends("no stream", name=SUBSCRIBE)
    assert story.asks == ["get"]
    assert story.result_of("completed").output == ANSWER


@pytest.mark.spec("TURN-3")
def test_a_task_that_has_ended_or_asks_is_never_subscribed_to() -> None:
    for end in ("completed", "failed", "rejected", "canceled", "input-required"):
        story = cut().ends(end)
        assert story.settled
        assert "subscribe" not in story.asked


@pytest.mark.spec("TURN-3", "STREAM-3")
@pytest.mark.parametrize("end", ["lost", "gone"])
def test_a_task_that_could_not_be_asked_for_is_not_subscribed_to_at_once(end: str) -> None:
    story = cut().ends(end)
    assert story.asks == []
    assert story.wait == pytest.approx(0.75)
    assert story.time_comes().asks == ["subscribe"]


@pytest.mark.spec("STREAM-3")
def test_after_a_look_that_failed_the_pause_counts_from_then() -> None:
    story = cut().ends("working").later(300.0).ends("over", name=SUBSCRIBE).ends("lost")
    assert story.wait == pytest.approx(1.5)


@pytest.mark.spec("STREAM-3", "OUT-14")
def test_a_pause_that_the_peer_asked_for_holds_for_the_subscription_too() -> None:
    story = cut().ends(fault(FaultKind.OTHER, "get", retry_after=77.0))
    assert story.wait == pytest.approx(77.0)
    assert story.time_comes().asks == ["subscribe"]


@pytest.mark.spec("STREAM-3")
def test_a_pause_that_a_refused_subscription_asks_for_holds_for_the_look_too() -> None:
    story = cut().ends("working")
    story.ends(fault(FaultKind.RATE_LIMITED, "subscribe", retry_after=77.0), name=SUBSCRIBE)
    assert story.asks == []
    assert story.wait == pytest.approx(77.0)
    assert story.time_comes().asks == ["get"]
    assert story.ends("working").asks == ["subscribe"]


@pytest.mark.spec("STREAM-3")
def test_of_two_pauses_that_the_peer_asked_for_the_longer_one_holds() -> None:
    story = cut().ends("working").time_comes()
    assert story.asks == ["get"]
    story.ends(fault(FaultKind.RATE_LIMITED, "get", retry_after=99.0))
    story.ends(fault(FaultKind.RATE_LIMITED, "subscribe", retry_after=7.0), name=SUBSCRIBE)
    assert story.wait == pytest.approx(99.0)


@pytest.mark.spec("STREAM-3", "OUT-13")
def test_a_task_that_is_gone_is_given_up_though_its_peer_streams() -> None:
    story = cut()
    for _ in range(30):
        if story.asks == ["get"]:
            story.ends("gone", name=GET)
        elif story.asks == ["subscribe"]:
            story.ends("gone", name=SUBSCRIBE)
        elif story.asks == ["cancel"]:
            break
        else:
            story.time_comes()
    assert story.asks == ["cancel"]
    assert story.asked.count("get") == 3
    assert story.now > 5.0 + 1.5, "three times running is no matter of a moment"


# -- what a subscription shows --------------------------------------------------------------------


@pytest.mark.spec("STREAM-5", "STATE-10")
def test_soon_after_a_subscription_the_task_is_asked_for() -> None:
    """Some servers lose what happened before they took the subscription in."""
    story = cut().ends("working")
    assert story.wait == pytest.approx(1.0)
    story.shows(WORKING, name=SUBSCRIBE).time_comes()
    assert story.asks == ["get"]
    story.ends(with_artifacts("working", "what was missed"), name=GET)
    assert [chunk.artifact.text for chunk in story.told(ArtifactChunk)] == ["what was missed"]
    assert story.wait == pytest.approx(10.0), "and slowly from then on"


@pytest.mark.spec("STREAM-1", "STREAM-5")
def test_beside_the_next_stream_the_poll_begins_anew() -> None:
    story = Story(STREAM).sends().shows(WORKING)
    for _ in range(3):
        story.time_comes().ends("working", name=GET)
    story.later(1.0).ends("cut", name=SEND).ends("working").time_comes().ends("working", name=GET)
    assert story.wait == pytest.approx(10.0)


@pytest.mark.spec("STREAM-5")
def test_what_is_taken_up_is_looked_at_and_then_subscribed_to() -> None:
    story = taken_up()
    assert story.asked == ["get"]
    assert story.ends("working").asks == ["subscribe"]
    story.shows(WORKING, name=SUBSCRIBE).shows(piece("Hello"), name=SUBSCRIBE)
    assert isinstance(story.shows(TaskReply(task("completed")), name=SUBSCRIBE).result, Completed)


@pytest.mark.spec("STREAM-5")
def test_one_look_subscribes_to_nothing() -> None:
    story = taken_up(Mission.LOOK).ends("working")
    assert isinstance(story.result, Running)
    assert story.asked == ["get"]


@pytest.mark.spec("STREAM-5")
def test_what_was_found_again_is_looked_at_and_then_subscribed_to() -> None:
    story = Story(STREAM, mission=Mission.TAKE_UP).starts()
    assert story.ends("page, ours").ends("working").asks == ["subscribe"]


@pytest.mark.spec("STREAM-5")
def test_an_answer_whose_task_is_found_to_go_on_is_subscribed_to() -> None:
    story = Story(streaming(ANSWERING)).sends().ends("lost")
    assert story.ends(shown("working", OURS.message_id)).asks == ["subscribe"]


@pytest.mark.spec("STREAM-5")
def test_a_subscription_that_is_answered_by_a_task_alone_is_as_good_as_a_look() -> None:
    assert isinstance(taken_up().ends("working").ends("completed").result, Completed)
    story = taken_up().ends("working")
    for _ in range(4):
        story.ends("working", name=SUBSCRIBE)
        assert story.time_comes().asks == ["subscribe"]
    assert story.ends("working", name=SUBSCRIBE).time_comes().asks == ["get"]


@pytest.mark.spec("STREAM-5", "OUT-14")
@pytest.mark.parametrize("end", ["foreign", "message"])
def test_another_answer_to_a_subscription_is_none(end: str) -> None:
    story = taken_up().ends("working").later(1.0).ends(end)
    (failed,) = story.told(AttemptFailed)
    assert isinstance(failed.error, InvalidReplyError)
    assert story.asks == ["get"]
    assert story.told(StreamCut) == []


@pytest.mark.spec("STREAM-8")
def test_a_message_in_a_subscription_is_progress() -> None:
    said = Message("note-1", Role.AGENT, (TextPart("half way"),))
    story = taken_up().ends("working").shows(MessageReply(said), name=SUBSCRIBE)
    assert story.phase is Phase.FOLLOWING


@pytest.mark.spec("STREAM-7")
def test_a_question_in_a_subscription_is_asked_for() -> None:
    story = taken_up().ends("working").later(1.0).shows(status("input-required"), name=SUBSCRIBE)
    assert story.asks == ["get"]
    assert story.ends("cut", number=2).commands == [], "we let it go ourselves"
    assert isinstance(story.ends("input-required", name=GET).result, InputRequired)


@pytest.mark.spec("STREAM-1", "STREAM-5")
def test_at_most_one_stream_is_watched() -> None:
    story = cut().ends("working")
    for _ in range(12):
        story.time_comes()
        if story.asks == ["get"]:
            story.ends("working", name=GET)
    assert story.asked.count("subscribe") == 1
    story.later(0.1).shows(status("input-required"), name=SUBSCRIBE).ends("working", name=GET)
    while story.asks != ["subscribe"]:
        story.time_comes()
    assert [one.number for one in story.let_go] == [3]


@pytest.mark.spec("STREAM-10")
def test_nothing_is_subscribed_to_after_the_cause() -> None:
    story = cut().ends("working").later(0.1).ends("lost", name=SUBSCRIBE)
    story.ends("working").caller_cancels()
    assert story.asks == ["cancel"]
    while not story.settled:
        assert "subscribe" not in story.time_comes().asks
    story = Story(known(STREAM), mission=Mission.TAKE_UP, deadline=3.0).starts()
    story.now = 3.0
    assert story.ends("working").asks == ["cancel"]
