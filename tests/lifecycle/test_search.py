"""Finding a task again whose first reply was lost: bounded, read-only, and only on a match."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from a2a_delegate.lifecycle.commands import LetGo
from a2a_delegate.lifecycle.faults import NOT_LISTING
from a2a_delegate.lifecycle.operations import (
    FaultKind,
    ListTasks,
    MessageReply,
    TaskPage,
    TaskReply,
)
from a2a_delegate.lifecycle.plan import Timing
from a2a_delegate.lifecycle.search import is_ours, query
from a2a_delegate.lifecycle.table import Phase
from a2a_delegate.model.message import Message, Role
from a2a_delegate.model.part import DataPart, TextPart
from a2a_delegate.outcome import (
    Cancelled,
    CancelReceipt,
    Completed,
    Effect,
    Failed,
    TimedOut,
    Unknown,
)
from a2a_delegate.signals import IdKnown, Recovered
from tests.lifecycle.replies import (
    BARE,
    CONTEXT,
    NEWER,
    NOW_UTC,
    OLDER,
    OURS,
    TASK,
    fault,
    task,
)
from tests.lifecycle.story import GET, LIST, SEND, Story


def lost(*, deadline: float | None = None, timing: Timing | None = None) -> Story:
    """Send, lose the reply, and begin to look."""
    story = Story(deadline=deadline, timing=timing).sends().ends("lost")
    assert story.phase is Phase.LOOKING_UP
    return story


def lists(story: Story) -> list[ListTasks]:
    return [one for one in story.performed.values() if isinstance(one, ListTasks)]


# -- what is asked -------------------------------------------------------------------------------


@pytest.mark.spec("REC-2", "IDEM-4")
def test_the_list_is_asked_for_by_our_own_context() -> None:
    assert lists(lost()) == [ListTasks(context_id=CONTEXT)]


@pytest.mark.spec("REC-2")
def test_without_a_context_of_ours_the_list_is_asked_for_since_the_send() -> None:
    for route in (
        replace(NEWER, by_context=False),
        replace(NEWER, send=replace(NEWER.send, message=BARE)),
    ):
        assert query(route, route.send.message) == ListTasks(since=NOW_UTC - timedelta(minutes=2))


@pytest.mark.spec("REC-2")
def test_after_the_context_was_left_out_the_list_is_asked_for_since_the_send() -> None:
    story = Story().sends().ends("context refused").body_leaves().ends("lost")
    assert lists(story) == [ListTasks(since=NOW_UTC - timedelta(minutes=2))]


@pytest.mark.spec("REC-2")
def test_the_first_moment_of_all_has_none_before_it() -> None:
    first = datetime.min.replace(tzinfo=UTC)
    route = replace(NEWER, intent=replace(NEWER.intent, sent_at=first), by_context=False)
    assert query(route, route.send.message) == ListTasks(since=first)


# -- what is a match -----------------------------------------------------------------------------


def listed(*history: Message, context: str | None = CONTEXT) -> bool:
    return is_ours(replace(task("working", history=history), context_id=context), OURS)


@pytest.mark.spec("REC-4", "IDEM-5")
def test_a_task_with_our_message_id_in_its_history_is_ours() -> None:
    other = replace(OURS, message_id="another")
    assert listed(OURS)
    assert listed(other, OURS, other)
    assert listed(replace(OURS, context_id=None))
    assert listed(OURS, context=None)


@pytest.mark.spec("REC-4", "IDEM-5")
def test_anything_less_is_not_ours() -> None:
    assert not listed()
    assert not listed(replace(OURS, message_id="another"))
    assert not listed(replace(OURS, role=Role.AGENT)), "an agent may quote an id"
    assert not listed(OURS, context="another"), "filters are not trusted"
    assert not listed(replace(OURS, parts=(TextPart("do something else"),)))


@pytest.mark.spec("REC-4")
def test_a_history_that_keeps_no_text_is_no_contradiction() -> None:
    assert listed(replace(OURS, parts=()))
    assert listed(replace(OURS, parts=(DataPart({"x": 1}),)))


# -- what follows --------------------------------------------------------------------------------


@pytest.mark.spec("REC-4", "LAW-4", "IDEM-6")
def test_one_match_is_adopted_and_asked_for_before_anything_is_believed() -> None:
    ended = TaskPage((task("completed", history=(OURS,)),))
    story = lost().ends(ended)
    assert story.told(Recovered) == [Recovered(TASK)]
    assert story.told(IdKnown) == [IdKnown(TASK)]
    assert story.asks == ["get"]
    assert isinstance(story.ends("completed").result, Completed)


@pytest.mark.spec("REC-4", "IDEM-6")
def test_several_matches_are_ambiguous_and_none_is_touched() -> None:
    story = lost().ends("page, two")
    assert isinstance(story.result, Unknown)
    assert "2 tasks at the peer carry this message" in str(story.result.cause)
    assert story.result.effect is Effect.MAY_HAVE_RUN
    assert set(story.asked) == {"send", "list"}


@pytest.mark.spec("REC-4", "IDEM-6")
def test_matches_on_different_pages_are_several_and_one_on_both_is_one() -> None:
    again = TaskPage((task("working", task_id="task-2", history=(OURS,)),))
    assert isinstance(lost().ends("page, ours and more").ends(again).result, Unknown)
    assert lost().ends("page, ours and more").ends("page, ours").asks == ["get"]


@pytest.mark.spec("REC-2", "IDEM-6", "IDEM-4")
def test_three_rounds_without_a_match_are_unknown_and_never_not_started() -> None:
    story = lost()
    times = [story.now]
    for _ in range(2):
        story.ends("page, none").time_comes()
        times.append(story.now)
    story.ends("page, none")
    assert times == pytest.approx([0.0, 1.0, 3.0])
    assert isinstance(story.result, Unknown)
    assert story.result.effect is Effect.MAY_HAVE_RUN
    assert story.asked == ["send", "list", "list", "list"]


@pytest.mark.spec("REC-2", "IDEM-4")
def test_a_round_has_three_pages_at_most() -> None:
    story = lost()
    for _ in range(3):
        assert not story.settled
        story.ends("page, more")
    assert [one.page_token for one in lists(story)] == ["", "next", "next"]
    assert story.asks == []
    story.time_comes()
    assert lists(story)[-1].page_token == "", "each round begins at the first page"


@pytest.mark.spec("REC-2")
def test_a_round_that_the_bound_does_not_leave_is_not_begun() -> None:
    story = lost(timing=Timing(poll_interval=3.0)).ends("page, none").time_comes()
    assert isinstance(story.ends("page, none").result, Unknown)
    assert len(lists(story)) == 2


@pytest.mark.spec("REC-2")
def test_there_are_three_rounds_at_most_however_short_the_interval() -> None:
    story = lost(timing=Timing(poll_interval=0.01))
    for _ in range(2):
        story.ends("page, none").time_comes()
    assert story.ends("page, none").settled


@pytest.mark.spec("REC-2")
def test_a_list_that_hangs_ends_at_the_bound() -> None:
    story = lost().time_comes()
    assert story.now == pytest.approx(5.0)
    assert isinstance(story.result, Unknown)
    assert story.let_go == [LetGo(2)]


@pytest.mark.spec("REC-4")
def test_what_was_found_before_the_bound_counts() -> None:
    assert lost().ends("page, ours and more").time_comes().asks == ["get"]
    assert isinstance(lost().ends("page, two and more").time_comes().result, Unknown)


@pytest.mark.spec("REC-5", "IDEM-7")
@pytest.mark.parametrize("kind", sorted(NOT_LISTING, key=str))
def test_a_peer_that_does_not_list_ends_the_look_up_at_once(kind: FaultKind) -> None:
    story = lost().ends(fault(kind, "list"))
    assert isinstance(story.result, Unknown)
    assert len(lists(story)) == 1


@pytest.mark.spec("REC-5")
def test_what_was_found_before_the_peer_stopped_listing_counts() -> None:
    assert lost().ends("page, ours and more").ends("no list").asks == ["get"]


@pytest.mark.spec("REC-2")
@pytest.mark.parametrize("end", ["error", "lost", "not-sent", "unreadable", "completed", "message"])
def test_a_list_that_fails_is_a_round_without_a_match(end: str) -> None:
    story = lost().ends(end)
    assert story.phase is Phase.LOOKING_UP
    assert story.time_comes().ends("page, ours").asks == ["get"]


@pytest.mark.spec("LAW-4")
def test_a_task_or_a_message_in_place_of_a_list_is_no_answer() -> None:
    message = MessageReply(Message("m", Role.AGENT, (TextPart("done"),)))
    for reply in (TaskReply(task("completed")), message):
        story = lost().ends(reply)
        assert not story.settled
        assert story.told(IdKnown) == []


@pytest.mark.spec("IDEM-7")
def test_a_peer_that_cannot_list_is_not_asked_to() -> None:
    story = Story(OLDER).sends().ends("lost")
    assert isinstance(story.result, Unknown)
    assert story.asked == ["send"]


@pytest.mark.spec("OUT-4", "REC-2")
def test_an_error_of_the_peer_stays_the_reason_where_nothing_is_found() -> None:
    story = Story().sends().ends("error").ends("no list")
    assert isinstance(story.result, Failed)
    assert story.result.effect is Effect.MAY_HAVE_RUN


# -- under a cause -------------------------------------------------------------------------------


@pytest.mark.spec("REC-3")
def test_a_cancel_between_two_rounds_brings_the_last_one_forward() -> None:
    story = lost().ends("page, none").later(0.2).caller_cancels()
    assert story.asks == ["list"]
    assert story.wait == pytest.approx(2.0)
    story.ends("page, none")
    assert isinstance(story.result, Cancelled)
    assert story.result.receipt is CancelReceipt.UNREACHED
    assert story.result.effect is Effect.MAY_HAVE_RUN


@pytest.mark.spec("REC-3")
def test_a_cancel_in_a_round_lets_it_end_within_the_grace() -> None:
    story = lost().later(0.2).caller_cancels()
    assert story.asks == []
    assert story.wait == pytest.approx(2.0)
    assert story.ends("page, ours").asks == ["cancel"]
    assert isinstance(story.ends("canceled").result, Cancelled)


@pytest.mark.spec("REC-3")
def test_a_cancel_late_in_the_look_up_does_not_stretch_its_bound() -> None:
    story = lost(timing=Timing(poll_interval=2.0)).ends("page, none").later(4.0).caller_cancels()
    assert story.wait == pytest.approx(1.0)


@pytest.mark.spec("REC-3", "LAW-5")
def test_after_the_hold_one_look_up_is_made_within_the_grace_and_what_is_found_is_stopped() -> None:
    story = Story(deadline=1.0).sends().time_comes().time_comes().ends("lost")
    assert story.now == pytest.approx(1.5)
    assert story.asks == ["list"]
    assert story.wait == pytest.approx(2.0)
    story.later(1.0).ends("page, ours")
    assert story.told(Recovered) == [Recovered(TASK)]
    assert story.asks == ["cancel"]
    assert isinstance(story.ends("canceled").result, TimedOut)


@pytest.mark.spec("REC-3", "LAW-5")
def test_everything_together_takes_no_longer_than_the_bound_of_cleaning_up() -> None:
    story = Story(deadline=1.0).sends()
    for _ in range(3):
        story.time_comes()
    assert story.phase is Phase.LOOKING_UP
    assert story.later(2.0).ends("page, ours", name=LIST).asks == ["cancel"]
    while not story.settled:
        story.time_comes()
    assert story.now == pytest.approx(1.0 + 4.5 - 0.5), "and half a second for the last transport"


@pytest.mark.spec("REC-4", "OUT-12")
def test_several_matches_after_a_cancel_are_a_cancel_that_reached_nobody() -> None:
    story = lost().caller_cancels().ends("page, two")
    assert isinstance(story.result, Cancelled)
    assert story.result.receipt is CancelReceipt.UNREACHED
    assert story.result.effect is Effect.MAY_HAVE_RUN


@pytest.mark.spec("REC-4", "OUT-11")
def test_several_matches_after_the_deadline_are_ambiguous() -> None:
    story = lost(deadline=0.5).time_comes().ends("page, two")
    assert isinstance(story.result, Unknown)
    assert "2 tasks" in str(story.result.cause)


# -- a send that was left behind -----------------------------------------------------------------


def deaf() -> Story:
    """Cancel, and be left with a transport that does not stop, and a look-up."""
    story = Story().sends().caller_cancels().time_comes().time_comes()
    assert story.phase is Phase.LOOKING_UP
    return story


@pytest.mark.spec("LAW-2", "REC-3")
@pytest.mark.parametrize("end", ["completed", "message"])
def test_an_answer_of_a_send_that_was_left_behind_counts(end: str) -> None:
    result = deaf().ends(end, name=SEND).result
    assert isinstance(result, Completed)
    assert result.late


@pytest.mark.spec("REC-3", "IDEM-3")
@pytest.mark.parametrize("end", ["working", "input-required", "lost, id shown"])
def test_a_task_of_a_send_that_was_left_behind_is_cancelled(end: str) -> None:
    story = deaf().ends(end, name=SEND)
    assert story.asks == ["cancel"]
    assert LetGo(2) in story.let_go, "the look-up is over"


@pytest.mark.spec("REC-3", "IDEM-3")
def test_an_id_of_a_send_that_was_left_behind_is_cancelled() -> None:
    assert deaf().id_shows().asks == ["cancel"]


@pytest.mark.spec("REC-3")
@pytest.mark.parametrize("end", ["lost", "unreadable", "error"])
def test_nothing_new_of_a_send_that_was_left_behind_lets_the_look_up_go_on(end: str) -> None:
    story = deaf()
    due = story.due
    assert story.ends(end, name=SEND).due == due
    assert story.phase is Phase.LOOKING_UP


@pytest.mark.spec("REC-3")
@pytest.mark.parametrize("end", ["refused", "busy"])
def test_a_refusal_of_a_send_that_was_left_behind_ends_the_look_up(end: str) -> None:
    result = deaf().ends(end, name=SEND).result
    assert isinstance(result, Cancelled)
    assert result.effect is Effect.NOT_STARTED


def test_a_list_that_was_let_go_says_nothing_any_more() -> None:
    story = deaf().id_shows()
    due = story.due
    assert story.ends("page, two", number=2).due == due
    assert story.asks == []
    assert story.ends("completed", number=3).settled
    assert story.told(Recovered) == []


def test_the_look_that_follows_a_match_has_a_bound_of_its_own() -> None:
    story = lost().ends("page, ours")
    assert story.wait == pytest.approx(30.0)
    assert story.performed[3].name is GET


@pytest.mark.spec("REC-4")
def test_a_task_is_ours_by_its_message_and_not_by_its_place() -> None:
    others = tuple(
        task("working", task_id=f"{n}", history=(replace(BARE, message_id=f"m{n}"),))
        for n in range(9)
    )
    story = lost().ends(TaskPage((*others, task("working", history=(BARE,)), *others)))
    assert story.told(Recovered) == [Recovered(TASK)]
