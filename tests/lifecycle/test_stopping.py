"""A task that is known and not wanted any more: cancelled, looked after, and never left alone."""

from __future__ import annotations

import pytest

from a2a_delegate.lifecycle.commands import LetGo
from a2a_delegate.lifecycle.operations import (
    FaultKind,
)
from a2a_delegate.outcome import (
    Cancelled,
    CancelReceipt,
    Completed,
    Effect,
    TimedOut,
)
from a2a_delegate.signals import CancelSent
from tests.lifecycle.replies import OLDER, TASK, fault
from tests.lifecycle.story import CANCEL, GET, Story


def stopped() -> Story:
    """Follow a task with a look in flight, and cancel."""
    return Story(OLDER).follows().time_comes().caller_cancels("enough")


@pytest.mark.spec("CANC-4")
def test_stopping_lets_the_look_go_and_cancels_at_the_peer() -> None:
    story = stopped()
    assert story.let_go == [LetGo(2)]
    assert story.asks == ["cancel"]
    assert story.told(CancelSent) == [CancelSent(TASK)]


@pytest.mark.spec("CANC-1", "OUT-12")
def test_a_canceled_task_confirms_our_cancel() -> None:
    result = stopped().ends("canceled").result
    assert isinstance(result, Cancelled)
    assert (result.by, result.reason, result.receipt) == (
        "caller",
        "enough",
        CancelReceipt.CONFIRMED,
    )
    assert result.effect is Effect.RAN
    assert not result.late


@pytest.mark.spec("CANC-1", "OUT-11")
def test_a_cancel_that_was_only_taken_is_looked_after_until_the_bound() -> None:
    story = Story(OLDER, deadline=1.0).follows().time_comes().ends("pondering", name=CANCEL)
    looks = []
    while not story.settled:
        story.time_comes()
        if story.asks == ["get"]:
            looks.append(story.now - 1.0)
            story.ends("pondering")
    assert looks == pytest.approx([0.05, 0.15, 0.35, 0.75, 1.55])
    assert story.now == pytest.approx(3.0)
    assert isinstance(story.result, TimedOut)
    assert story.result.receipt is CancelReceipt.REQUESTED
    assert story.result.last_state == "working", "the state before our cancel"


@pytest.mark.spec("CANC-1", "LAW-2")
@pytest.mark.parametrize("end", ["completed", "failed", "rejected"])
def test_an_end_that_won_the_race_is_the_outcome(end: str) -> None:
    for name in (CANCEL, GET):
        story = stopped()
        if name is GET:
            story.ends("working", name=CANCEL).time_comes()
        result = story.ends(end, name=name).result
        assert result.status == end
        assert result.late


@pytest.mark.spec("LAW-2")
def test_an_answer_of_the_look_that_was_let_go_counts_too() -> None:
    result = stopped().ends("completed", number=2).result
    assert isinstance(result, Completed)
    assert result.late


@pytest.mark.spec("CANC-1", "CANC-3")
@pytest.mark.parametrize("end", ["not cancelable", "gone", "no list", "version refused"])
def test_a_refused_cancel_is_checked_by_a_look_before_it_counts(end: str) -> None:
    story = stopped().later(0.3).ends(end, name=CANCEL)
    assert story.asks == ["get"]
    story.ends("working")
    assert isinstance(story.result, Cancelled)
    refused = end != "version refused"
    assert story.result.receipt is (CancelReceipt.REFUSED if refused else CancelReceipt.UNREACHED)


@pytest.mark.spec("CANC-1", "CANC-3")
def test_a_cancel_that_is_refused_because_the_task_was_canceled_is_confirmed() -> None:
    result = stopped().later(0.3).ends("not cancelable", name=CANCEL).ends("canceled").result
    assert isinstance(result, Cancelled)
    assert result.receipt is CancelReceipt.CONFIRMED


@pytest.mark.spec("CANC-1")
@pytest.mark.parametrize("end", ["error", "lost", "not-sent", "unreadable", "foreign", "busy"])
def test_a_cancel_that_fails_is_unreached_after_a_look(end: str) -> None:
    story = stopped().later(0.3).ends(end, name=CANCEL).ends("working")
    assert isinstance(story.result, Cancelled)
    assert story.result.receipt is CancelReceipt.UNREACHED


@pytest.mark.spec("CANC-1")
@pytest.mark.parametrize("end", ["error", "gone", "lost", "input-required"])
def test_a_look_that_brings_nothing_lets_the_refusal_count(end: str) -> None:
    story = stopped().later(0.3).ends("not cancelable", name=CANCEL).ends(end)
    assert isinstance(story.result, Cancelled)
    assert story.result.receipt is CancelReceipt.REFUSED


@pytest.mark.spec("CANC-1")
def test_a_refusal_counts_at_the_bound_where_the_look_hangs() -> None:
    story = stopped().later(0.3).ends("not cancelable", name=CANCEL)
    story.time_comes()
    assert isinstance(story.result, Cancelled)
    assert story.result.receipt is CancelReceipt.REFUSED


@pytest.mark.spec("OUT-14", "CANC-1")
def test_the_look_after_a_refusal_waits_for_the_ten_milliseconds_too() -> None:
    story = stopped().ends("not cancelable", name=CANCEL)
    assert story.asks == []
    assert story.wait == pytest.approx(0.01)
    assert story.time_comes().asks == ["get"]


@pytest.mark.spec("CANC-1")
def test_a_snapshot_from_before_the_refusal_does_not_count_as_the_look() -> None:
    story = stopped().ends("not cancelable", name=CANCEL).ends("working", number=2)
    assert not story.settled
    story.time_comes().ends("working")
    assert isinstance(story.result, Cancelled)


@pytest.mark.spec("CANC-1")
def test_beside_a_cancel_that_hangs_the_task_is_asked_for() -> None:
    story = stopped()
    assert story.wait == pytest.approx(1.0)
    assert story.time_comes().asks == ["get"]
    assert story.let_go == [LetGo(2)], "the cancel may still be answered"
    story.ends("working", name=GET)
    assert story.wait == pytest.approx(0.05)
    assert story.time_comes().asks == ["get"]


@pytest.mark.spec("CANC-1")
def test_a_cancel_that_hung_and_was_answered_after_all_is_what_it_says() -> None:
    story = stopped().time_comes().ends("working", name=CANCEL)
    while not story.settled:
        story.time_comes()
    assert isinstance(story.result, Cancelled)
    assert story.result.receipt is CancelReceipt.REQUESTED


@pytest.mark.spec("CANC-1")
def test_a_look_beside_the_cancel_does_not_stand_in_for_the_one_after_it() -> None:
    story = stopped().time_comes()
    story.later(0.5).ends("not cancelable", name=CANCEL)
    assert story.let_go == [LetGo(2), LetGo(4)]
    assert story.asks == ["get"]
    assert not story.ends("working", number=4).settled
    assert story.ends("working").settled


@pytest.mark.spec("CANC-1", "LAW-5")
def test_a_cancel_that_hangs_to_the_end_is_unreached() -> None:
    story = stopped()
    while not story.settled:
        story.time_comes()
    assert story.now == pytest.approx(3.0)
    assert isinstance(story.result, Cancelled)
    assert story.result.receipt is CancelReceipt.UNREACHED


def test_a_snapshot_of_the_look_that_was_let_go_does_not_hurry_anything() -> None:
    story = stopped()
    due = story.due
    assert story.ends("working", number=2).due == due


@pytest.mark.spec("OUT-14")
def test_what_the_peer_asks_for_holds_while_stopping_too() -> None:
    story = stopped().ends("working", name=CANCEL).time_comes()
    story.ends(fault(FaultKind.RATE_LIMITED, "get", retry_after=1.5))
    assert story.wait == pytest.approx(1.5)


def test_what_a_look_that_was_let_go_asks_for_puts_nothing_off() -> None:
    story = stopped().ends(fault(FaultKind.OTHER, "get", retry_after=77.0), number=2)
    assert story.ends("working", name=CANCEL).wait == pytest.approx(0.05)


def test_a_cancel_that_is_answered_beside_a_look_lets_the_look_go_on() -> None:
    story = stopped().time_comes().ends("working", name=CANCEL)
    assert story.due == pytest.approx(3.0), "the bound, and no second look beside the first"


@pytest.mark.spec("CANC-2")
@pytest.mark.parametrize("end", ["completed", "failed", "rejected", "canceled"])
def test_a_task_that_has_ended_is_never_cancelled(end: str) -> None:
    story = Story(OLDER).follows().time_comes().ends(end).caller_cancels()
    assert "cancel" not in story.asked


@pytest.mark.spec("OUT-11")
def test_a_deadline_with_only_the_id_known_says_that_the_state_is_not() -> None:
    story = Story(OLDER, deadline=1.0).sends().id_shows().time_comes()
    story.ends("canceled", name=CANCEL)
    assert isinstance(story.result, TimedOut)
    assert story.result.last_state == "unknown"


@pytest.mark.spec("OUT-11")
def test_the_last_state_is_the_peers_own_word_if_it_is_no_known_one() -> None:
    story = Story(OLDER, deadline=0.5).sends().ends("pondering").time_comes()
    story.ends("canceled", name=CANCEL)
    assert isinstance(story.result, TimedOut)
    assert story.result.last_state == "pondering"


@pytest.mark.spec("LAW-5")
def test_a_cancel_gets_its_time_even_where_the_loop_was_held_up() -> None:
    story = Story(OLDER).sends().caller_cancels().later(100.0).id_shows()
    assert story.asks == ["cancel"]
    assert story.wait == pytest.approx(0.25), "half of the time that a transport has to stop"
