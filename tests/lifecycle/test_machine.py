"""The three verbs, the order of what is told, and which cause counts."""

from __future__ import annotations

import pytest

from a2a_delegate.errors import UsageError
from a2a_delegate.lifecycle.commands import LetGo, Perform, Settle, Tell
from a2a_delegate.lifecycle.observations import (
    BodyLeft,
    CancelRequested,
    Returned,
    Started,
    TimePassed,
)
from a2a_delegate.lifecycle.plan import Timing
from a2a_delegate.lifecycle.table import Phase
from a2a_delegate.outcome import (
    Cancelled,
    CancelReceipt,
    Completed,
    Effect,
    Failed,
    TimedOut,
)
from a2a_delegate.signals import Intent, Sent, TerminalChanged
from tests.lifecycle.replies import OLDER, TASK
from tests.lifecycle.story import CANCEL, GET, SEND, Story


@pytest.mark.spec("LAW-9", "METH-2")
def test_the_intent_is_told_before_anything_is_sent() -> None:
    story = Story().starts()
    intent, perform = story.commands
    assert isinstance(intent, Tell)
    assert isinstance(intent.signal, Intent)
    assert isinstance(perform, Perform)
    assert perform.operation.name is SEND


def test_each_command_is_given_once() -> None:
    story = Story().starts()
    assert story.machine.commands() == []


def test_nothing_is_waited_for_while_a_send_has_no_deadline() -> None:
    assert Story().sends().due is None


def test_the_deadline_is_waited_for_from_the_beginning() -> None:
    story = Story(deadline=9.0)
    assert story.due == 9.0
    assert story.starts().due == 9.0


@pytest.mark.parametrize("early", [TimePassed(), BodyLeft()])
def test_a_machine_that_was_not_started_says_so(early: TimePassed | BodyLeft) -> None:
    with pytest.raises(UsageError, match="begins with Started, once"):
        Story().tell(early)


def test_a_machine_starts_once() -> None:
    with pytest.raises(UsageError, match="begins with Started, once"):
        Story().starts().tell(Started())


@pytest.mark.spec("LAW-5", "OUT-12")
def test_a_cancel_before_the_start_sends_nothing() -> None:
    reason = object()
    story = Story().caller_cancels(reason)
    assert story.commands == []
    story.starts()
    assert story.asked == []
    assert isinstance(story.result, Cancelled)
    assert story.result.reason is reason
    assert story.result.effect is Effect.NOT_STARTED
    assert story.result.receipt is CancelReceipt.NOT_NEEDED
    assert story.result.handle is None


@pytest.mark.spec("LAW-5", "OUT-11")
def test_a_deadline_that_has_passed_before_the_start_sends_nothing() -> None:
    story = Story(deadline=0.0).starts()
    assert story.asked == []
    assert isinstance(story.result, Failed)
    assert story.result.effect is Effect.NOT_STARTED


@pytest.mark.spec("LAW-3")
def test_the_first_cause_stays() -> None:
    story = Story(OLDER, deadline=5.0).follows().caller_cancels("enough")
    story.tell(CancelRequested("sibling", "another"))
    while not story.settled:
        story.time_comes()
    assert isinstance(story.result, Cancelled)
    assert (story.result.by, story.result.reason) == ("caller", "enough")


@pytest.mark.spec("LAW-3")
def test_a_sibling_is_named_as_the_cause() -> None:
    story = Story(OLDER).follows().tell(CancelRequested("sibling"))
    story.ends("canceled", name=CANCEL)
    assert isinstance(story.result, Cancelled)
    assert story.result.by == "sibling"


@pytest.mark.spec("LAW-3")
def test_a_deadline_that_passed_unseen_comes_before_a_later_cancel() -> None:
    story = Story(OLDER, deadline=0.5).follows().later(0.7).caller_cancels()
    story.ends("canceled", name=CANCEL)
    assert isinstance(story.result, TimedOut)


@pytest.mark.spec("LAW-2", "LAW-3")
def test_an_answer_that_meets_a_deadline_that_passed_unseen_is_late() -> None:
    story = Story(OLDER, deadline=0.5).sends().later(0.7).ends("completed")
    assert isinstance(story.result, Completed)
    assert story.result.late


@pytest.mark.spec("LAW-5")
def test_nothing_is_repeated_once_a_deadline_has_passed_unseen() -> None:
    for end in ("not-sent", "busy", "version refused", "context refused"):
        story = Story(fallback=OLDER, deadline=0.5).starts()
        if end != "not-sent":
            story.body_leaves()
        story.later(0.5).ends(end)
        assert story.settled
        assert story.asked == ["send"]


@pytest.mark.spec("LAW-5")
def test_a_task_that_shows_up_at_the_deadline_is_stopped_at_once() -> None:
    story = Story(OLDER, deadline=0.5).sends().later(0.5).ends("working")
    assert story.asks == ["cancel"]


@pytest.mark.spec("LAW-2")
def test_a_question_that_meets_the_deadline_is_cancelled() -> None:
    story = Story(OLDER, deadline=0.5).sends().later(0.5).ends("input-required")
    assert story.asks == ["cancel"]


@pytest.mark.spec("LAW-2")
def test_an_answer_before_any_cause_is_not_late() -> None:
    result = Story().sends().ends("message").result
    assert isinstance(result, Completed)
    assert not result.late


@pytest.mark.spec("LAW-6")
def test_settling_lets_go_of_everything_and_waits_for_nothing() -> None:
    story = Story(OLDER).sends().id_shows().caller_cancels().ends("completed", name=SEND)
    assert [type(command) for command in story.commands[-2:]] == [LetGo, Settle]
    assert story.due is None
    assert story.phase is Phase.SETTLED


@pytest.mark.spec("LAW-6")
def test_a_transport_that_was_told_to_stop_is_not_told_again() -> None:
    story = Story(OLDER).sends().caller_cancels().time_comes().time_comes()
    assert story.settled
    assert story.let_go == [LetGo(1)]


@pytest.mark.spec("STATE-4")
def test_another_end_after_the_first_is_told_and_changes_nothing() -> None:
    story = Story(OLDER).follows().time_comes().caller_cancels()
    story.ends("canceled", name=CANCEL)
    before = story.result
    story.ends("completed", name=GET)
    assert story.told(TerminalChanged) == [TerminalChanged(TASK, "canceled", "completed")]
    assert story.result is before
    assert story.phase is Phase.SETTLED


@pytest.mark.parametrize("end", ["working", "lost", "foreign", "canceled"])
def test_nothing_else_is_told_after_settling(end: str) -> None:
    story = Story(OLDER).follows().time_comes().caller_cancels()
    story.ends("canceled", name=CANCEL).ends(end, name=GET)
    assert story.commands == []
    assert story.tell(TimePassed()).commands == []
    assert story.caller_cancels().commands == []


def test_an_end_that_comes_after_a_cancel_that_nobody_confirmed_changes_nothing() -> None:
    story = Story(OLDER).follows().time_comes().caller_cancels()
    while not story.settled:
        story.time_comes()
    assert story.ends("completed", number=2).commands == []


def test_sent_is_told_once_for_each_body_that_leaves() -> None:
    story = Story(OLDER).sends().ends("busy").time_comes().body_leaves()
    assert [sent.attempt for sent in story.told(Sent)] == [1, 2]


# -- work in this process ------------------------------------------------------------------------


def work_here(*, deadline: float | None = None) -> Story:
    return Story(OLDER, in_process=True, deadline=deadline).sends().id_shows()


MADE = Completed(delegate_id="peer", effect=Effect.RAN, output="made here")


@pytest.mark.spec("LAW-10")
def test_work_in_this_process_has_no_handle() -> None:
    story = work_here()
    assert story.told(Intent) == [Intent(None)]
    assert story.ends("completed").result.handle is None


@pytest.mark.spec("LAW-10")
def test_what_work_in_this_process_returns_is_the_outcome_as_it_stands() -> None:
    assert work_here().tell(Returned(MADE)).result == MADE


@pytest.mark.spec("LAW-2", "LAW-10")
def test_work_in_this_process_that_returns_after_a_cancel_is_late() -> None:
    result = work_here().caller_cancels().tell(Returned(MADE)).result
    assert isinstance(result, Completed)
    assert result.late


@pytest.mark.spec("LAW-10")
def test_work_in_this_process_is_cancelled_like_a_task_and_was_working() -> None:
    story = work_here(deadline=3.0).time_comes()
    assert story.asks == ["cancel"]
    story.ends("canceled", name=SEND)
    assert isinstance(story.result, TimedOut)
    assert story.result.last_state == "working"
    assert story.result.receipt is CancelReceipt.CONFIRMED


def test_the_bounds_of_a_plan_follow_from_its_timing() -> None:
    timing = Timing(cancel_grace=2.0, recovery_grace=0.5)
    assert timing.cleanup == 4.5
    assert timing.release == 0.5
