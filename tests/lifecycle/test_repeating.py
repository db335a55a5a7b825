"""When a message is handed over again: only where nothing of it began."""

from __future__ import annotations

from dataclasses import replace

import pytest

from a2a_delegate.errors import (
    PeerUnreachableError,
)
from a2a_delegate.lifecycle.commands import Perform, Switch, Tell
from a2a_delegate.lifecycle.faults import PROVEN, VERSION_SHAPED
from a2a_delegate.lifecycle.operations import FaultKind, NotSent, SendMessage, TaskReply
from a2a_delegate.lifecycle.table import Phase
from a2a_delegate.outcome import (
    Cancelled,
    CancelReceipt,
    Effect,
    Failed,
    Rejected,
    Unknown,
)
from a2a_delegate.signals import ContextSubstituted, Downgraded, Rerouted
from tests.lifecycle.replies import (
    ASIDE,
    BARE,
    CONTEXT,
    ENDINGS,
    NEWER,
    OLDER,
    OURS,
    fault,
    task,
)
from tests.lifecycle.story import Story


def sent_by(story: Story) -> list[SendMessage]:
    return [one for one in story.performed.values() if isinstance(one, SendMessage)]


# -- nothing left --------------------------------------------------------------------------------


@pytest.mark.spec("OUT-1", "IDEM-2")
def test_a_peer_that_cannot_be_reached_is_tried_three_times() -> None:
    story = Story().starts()
    for _ in range(2):
        story.ends("not-sent").time_comes()
    story.ends("not-sent")
    assert story.asked == ["send", "send", "send"]
    assert isinstance(story.result, Failed)
    assert isinstance(story.result.error, PeerUnreachableError)
    assert story.result.error.phase == "connect"
    assert story.result.effect is Effect.NOT_STARTED
    assert story.result.handle is None
    assert len(story.result.attempts) == 3


@pytest.mark.spec("OUT-1")
def test_the_pauses_between_attempts_are_drawn_from_zero_up_and_grow() -> None:
    for chance, pauses in ((0.0, [0.0, 0.0]), (0.5, [0.25, 0.5]), (0.999, [0.4995, 0.999])):
        story = Story(chance=chance).starts()
        for pause in pauses:
            assert story.ends("not-sent").wait == pytest.approx(pause)
            story.time_comes()


@pytest.mark.spec("OUT-1", "LAW-5")
def test_a_pause_is_drawn_from_what_the_deadline_leaves() -> None:
    story = Story(chance=0.9, deadline=0.1).starts().ends("not-sent")
    assert story.wait == pytest.approx(0.09)
    assert story.time_comes().asks == ["send"]


@pytest.mark.spec("OUT-1", "OUT-11")
def test_a_deadline_in_a_pause_leaves_the_last_error() -> None:
    story = Story(deadline=1.0).starts().ends("not-sent").later(2.0).time_comes()
    assert isinstance(story.result, Failed)
    unreachable = ENDINGS["not-sent"]
    assert isinstance(unreachable, NotSent)
    assert story.result.error is unreachable.error


@pytest.mark.spec("OUT-1", "OUT-3")
def test_rate_limits_do_not_use_up_the_attempts_to_reach_the_peer() -> None:
    story = Story()
    story.starts()
    for _ in range(3):
        story.body_leaves().ends("busy").time_comes()
    for _ in range(2):
        assert story.ends("not-sent").phase is Phase.PREPARED
        story.time_comes()
    assert story.ends("not-sent").settled
    assert story.result.effect is Effect.NOT_STARTED
    assert story.result.handle is not None, "a body has left once"


# -- a refusal that proves it --------------------------------------------------------------------


@pytest.mark.spec("OUT-2", "IDEM-2")
@pytest.mark.parametrize("kind", sorted(PROVEN - {FaultKind.RATE_LIMITED}, key=str))
def test_a_refusal_that_precedes_execution_is_rejected_and_not_started(kind: FaultKind) -> None:
    refusal = fault(kind)
    story = Story().sends().ends(refusal)
    assert isinstance(story.result, Rejected)
    assert story.result.error is refusal.error
    assert story.result.effect is Effect.NOT_STARTED
    assert story.result.handle is not None, "a body has left"
    assert story.asked == ["send"]


@pytest.mark.spec("OUT-2")
def test_a_refusal_before_the_body_was_read_is_rejected_without_a_handle() -> None:
    story = Story().starts().ends("refused", body_left=False)
    assert isinstance(story.result, Rejected)
    assert story.result.handle is None


@pytest.mark.spec("LAW-1")
def test_a_refusal_beside_a_task_proves_nothing() -> None:
    for end in ("refused", "busy", "version refused", "context refused"):
        story = Story(fallback=OLDER).sends().id_shows().ends(end)
        assert story.asked == ["send", "get"]


@pytest.mark.spec("OUT-3")
def test_a_rate_limit_is_waited_out() -> None:
    story = Story().sends().ends("busy, later")
    assert story.wait == pytest.approx(1.7)
    assert story.time_comes().asks == ["send"]
    assert story.body_leaves().ends("completed").result.effect is Effect.RAN


@pytest.mark.spec("OUT-3", "LAW-5")
def test_a_rate_limit_that_the_deadline_does_not_leave_is_a_rejection_at_once() -> None:
    for deadline in (1.0, 1.7):
        story = Story(deadline=deadline).sends().ends("busy, later")
        assert isinstance(story.result, Rejected)
        assert story.result.effect is Effect.NOT_STARTED


@pytest.mark.spec("OUT-3")
def test_a_rate_limit_that_stays_is_a_rejection_after_ten_sends() -> None:
    story = Story().starts()
    for _ in range(9):
        story.body_leaves().ends("busy").time_comes()
    story.body_leaves().ends("busy")
    assert isinstance(story.result, Rejected)
    assert len(sent_by(story)) == 10


@pytest.mark.spec("OUT-3")
@pytest.mark.parametrize("asked", [float("nan"), float("inf"), -5.0, 0.0, None])
def test_a_pause_that_is_no_time_is_no_pause(asked: float | None) -> None:
    story = Story().sends().ends(fault(FaultKind.RATE_LIMITED, retry_after=asked))
    assert 0.0 <= story.wait < 0.5


@pytest.mark.spec("OUT-12")
def test_a_cancel_while_a_rate_limit_is_waited_out_needs_nothing() -> None:
    story = Story().sends().ends("busy, later").caller_cancels()
    assert isinstance(story.result, Cancelled)
    assert story.result.receipt is CancelReceipt.NOT_NEEDED
    assert story.result.effect is Effect.NOT_STARTED


@pytest.mark.spec("OUT-5")
def test_a_repeat_that_never_left_takes_nothing_of_the_refusal_before_it() -> None:
    story = Story(deadline=5.0).sends().ends("busy").time_comes().later(5.0).time_comes()
    result = story.ends("not-sent").result
    assert isinstance(result, Rejected)
    assert result.effect is Effect.NOT_STARTED
    lost = Story(deadline=5.0).sends().ends("busy").time_comes().body_leaves().later(5.0)
    assert isinstance(lost.time_comes().time_comes().ends("lost").ends("no list").result, Unknown)


@pytest.mark.spec("OUT-11", "OUT-19")
def test_a_deadline_while_a_rate_limit_is_waited_out_is_a_rejection_that_is_not_late() -> None:
    story = Story(deadline=5.0).sends().ends("busy, later").later(9.0).time_comes()
    assert isinstance(story.result, Rejected)
    assert not story.result.late


# -- other ways ----------------------------------------------------------------------------------


@pytest.mark.spec("GATE-8")
def test_a_peer_that_cannot_be_reached_is_sent_to_by_the_next_way_at_once() -> None:
    story = Story(detours=(ASIDE,)).starts().ends("not-sent")
    switch, told, perform = story.commands[-3:]
    aside = replace(NEWER.intent, endpoint=ASIDE.url, binding="HTTP+JSON")
    assert (switch, told) == (Switch(aside), Tell(Rerouted(aside)))
    assert isinstance(perform, Perform)
    assert perform.operation == NEWER.send
    story.body_leaves().ends("completed")
    assert story.result.handle is not None
    assert story.result.handle.endpoint == ASIDE.url


@pytest.mark.spec("GATE-8")
def test_a_context_that_was_refused_by_one_way_is_not_tried_by_another() -> None:
    story = Story(detours=(ASIDE,)).sends().ends("context refused").ends("not-sent")
    assert [one.message.context_id for one in sent_by(story)] == [CONTEXT, None, None]


@pytest.mark.spec("GATE-8")
def test_each_way_is_tried_once_and_the_last_one_again() -> None:
    story = Story(detours=(ASIDE,)).starts().ends("not-sent").ends("not-sent")
    assert story.phase is Phase.PREPARED
    story.time_comes().ends("not-sent")
    assert isinstance(story.result, Failed)
    assert len(story.told(Rerouted)) == 1


@pytest.mark.spec("GATE-8")
def test_nobody_goes_another_way_for_a_cancelled_message() -> None:
    story = Story(detours=(ASIDE,)).starts().caller_cancels().ends("not-sent", body_left=False)
    assert isinstance(story.result, Cancelled)
    assert story.told(Rerouted) == []


# -- other versions, other contexts --------------------------------------------------------------


@pytest.mark.spec("VER-1", "VER-2", "VER-3")
@pytest.mark.parametrize("kind", [FaultKind.VERSION_NOT_SUPPORTED, FaultKind.METHOD_NOT_FOUND])
def test_a_refused_version_is_followed_by_the_older_one_once(kind: FaultKind) -> None:
    story = Story(fallback=OLDER).sends().ends(fault(kind))
    downgrade, _, perform = story.commands[-3:]
    assert downgrade == Switch(OLDER.intent)
    assert isinstance(perform, Perform)
    assert perform.operation == OLDER.send
    assert story.told(Downgraded) == [Downgraded("1.0", "0.3")]
    story.body_leaves().ends(fault(kind))
    assert isinstance(story.result, Rejected)
    assert story.result.handle is not None
    assert story.result.handle.version == "0.3"


@pytest.mark.spec("VER-2")
def test_without_a_fallback_a_refused_version_is_a_rejection() -> None:
    assert isinstance(Story().sends().ends("version refused").result, Rejected)


@pytest.mark.spec("VER-1")
def test_no_other_refusal_is_answered_with_another_version() -> None:
    for kind in PROVEN - VERSION_SHAPED:
        story = Story(fallback=OLDER).sends().ends(fault(kind))
        assert story.told(Downgraded) == []


@pytest.mark.spec("IDEM-7", "VER-3")
def test_the_older_version_is_not_asked_for_a_list() -> None:
    story = Story(fallback=OLDER).sends().ends("version refused").body_leaves().ends("lost")
    assert isinstance(story.result, Unknown)
    assert "list" not in story.asked


@pytest.mark.spec("REC-6", "METH-2")
def test_a_refused_context_is_left_out_once() -> None:
    story = Story().sends().ends("context refused")
    first, second = sent_by(story)
    assert (first.message, second.message) == (OURS, BARE)
    assert first.message.message_id == second.message.message_id
    story.body_leaves().ends("context refused")
    assert isinstance(story.result, Rejected)
    assert story.result.handle is not None
    assert story.result.handle.context_id is None


@pytest.mark.spec("REC-6")
def test_a_context_that_the_caller_chose_is_never_left_out() -> None:
    story = Story(replace(NEWER, own_context=False)).sends().ends("context refused")
    assert isinstance(story.result, Rejected)
    assert len(sent_by(story)) == 1


@pytest.mark.spec("REC-6", "LAW-1")
def test_an_error_that_names_the_context_and_proves_nothing_repeats_nothing() -> None:
    story = Story().sends().ends(fault(FaultKind.OTHER, message="contextId is not taken"))
    assert len(sent_by(story)) == 1


@pytest.mark.spec("IDEM-8")
def test_a_task_under_another_context_is_followed_and_told() -> None:
    story = Story().sends()
    for word in ("working", "completed"):
        story.ends(TaskReply(replace(task(word), context_id="theirs")))
        assert story.told(ContextSubstituted) == [ContextSubstituted(CONTEXT, "theirs")]
        if not story.settled:
            story.time_comes()
    assert story.result.handle is not None
    assert story.result.handle.context_id == "theirs"
