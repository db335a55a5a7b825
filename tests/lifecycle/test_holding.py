"""A send that is in flight when nobody wants it any more: held, let go, and judged at its end."""

from __future__ import annotations

import pytest

from a2a_delegate.errors import (
    A2ARequestError,
    LostReplyError,
    PeerUnreachableError,
)
from a2a_delegate.lifecycle.commands import LetGo
from a2a_delegate.lifecycle.table import Phase
from a2a_delegate.outcome import (
    Cancelled,
    CancelReceipt,
    Completed,
    Effect,
    Failed,
    Rejected,
    Unknown,
)
from tests.lifecycle.replies import (
    OLDER,
)
from tests.lifecycle.story import SEND, Story


@pytest.mark.spec("REC-1", "OUT-12")
def test_a_send_that_has_not_left_is_stopped_at_once() -> None:
    story = Story().starts().caller_cancels()
    assert story.let_go == [LetGo(1, unless_left=True)]
    story.ends("not-sent")
    assert isinstance(story.result, Cancelled)
    assert story.result.receipt is CancelReceipt.NOT_NEEDED
    assert story.result.effect is Effect.NOT_STARTED
    assert story.result.handle is None


@pytest.mark.spec("REC-1")
def test_a_body_that_leaves_while_the_cancel_is_on_its_way_is_held() -> None:
    story = Story().starts().caller_cancels().body_leaves()
    assert story.phase is Phase.HOLDING
    assert story.wait == pytest.approx(0.5)


@pytest.mark.spec("REC-1")
def test_a_transport_that_is_deaf_before_the_body_left_is_waited_for_a_moment_only() -> None:
    story = Story(deadline=1.0).starts().time_comes().time_comes()
    assert story.now == pytest.approx(1.5)
    assert isinstance(story.result, Failed)
    assert isinstance(story.result.error, PeerUnreachableError)
    assert story.result.error.phase == "deadline"
    assert story.let_go == [LetGo(1, unless_left=True), LetGo(1)]


@pytest.mark.spec("REC-1")
def test_a_send_that_has_left_is_held_for_the_grace_and_then_let_go() -> None:
    story = Story(OLDER).sends().caller_cancels()
    assert (story.phase, story.let_go) == (Phase.HOLDING, [])
    assert story.wait == pytest.approx(0.5)
    story.time_comes()
    assert (story.phase, story.let_go) == (Phase.RELEASING, [LetGo(1)])
    story.ends("lost")
    assert isinstance(story.result, Cancelled)
    assert story.result.receipt is CancelReceipt.UNREACHED
    assert story.result.effect is Effect.MAY_HAVE_RUN


@pytest.mark.spec("REC-1", "OUT-11")
def test_a_send_that_never_ends_is_the_reason_also_where_no_list_is() -> None:
    story = Story(deadline=1.0).sends().time_comes().time_comes().time_comes()
    assert story.asks == ["list"]
    result = story.ends("no list").result
    assert isinstance(result, Unknown)
    assert isinstance(result.cause, LostReplyError)
    assert (result.cause.method, result.cause.phase) == ("send", "deadline")


@pytest.mark.spec("REC-1", "IDEM-3")
def test_an_id_ends_the_hold_and_the_task_is_cancelled() -> None:
    for when in (0, 1):
        story = Story(OLDER).sends().caller_cancels()
        for _ in range(when):
            story.time_comes()
        assert story.id_shows().asks == ["cancel"]


@pytest.mark.spec("REC-1", "LAW-2")
@pytest.mark.parametrize("end", ["completed", "message", "failed"])
def test_an_answer_ends_the_hold_and_is_late(end: str) -> None:
    result = Story(OLDER).sends().caller_cancels().later(0.3).ends(end).result
    assert result.late
    assert result.status == ("failed" if end == "failed" else "completed")


@pytest.mark.spec("REC-1", "LAW-2")
@pytest.mark.parametrize("end", ["working", "input-required", "lost, id shown"])
def test_a_task_that_has_not_ended_is_cancelled_when_it_shows_in_the_hold(end: str) -> None:
    assert Story(OLDER).sends().caller_cancels().ends(end).asks == ["cancel"]


@pytest.mark.spec("REC-1", "OUT-19")
def test_a_refusal_in_the_hold_proves_that_nothing_began() -> None:
    for end in ("refused", "busy"):
        cancelled = Story().sends().caller_cancels().ends(end).result
        assert isinstance(cancelled, Cancelled)
        assert cancelled.effect is Effect.NOT_STARTED
        assert cancelled.receipt is CancelReceipt.NOT_NEEDED
        rejected = Story(deadline=1.0).sends().time_comes().ends(end).result
        assert isinstance(rejected, Rejected)
        assert rejected.late


@pytest.mark.spec("REC-1", "OUT-19")
def test_an_error_in_the_hold_is_late_and_proves_nothing() -> None:
    result = Story(OLDER, deadline=1.0).sends().time_comes().ends("error").result
    assert isinstance(result, Failed)
    assert isinstance(result.error, A2ARequestError)
    assert result.late
    assert result.effect is Effect.MAY_HAVE_RUN


@pytest.mark.spec("OUT-11")
def test_a_deadline_with_a_deaf_transport_and_no_list_is_unknown() -> None:
    story = Story(OLDER, deadline=1.0).sends()
    while not story.settled:
        story.time_comes()
    assert story.now == pytest.approx(2.0)
    assert isinstance(story.result, Unknown)
    assert isinstance(story.result.cause, LostReplyError)
    assert story.result.cause.phase == "deadline"
    assert story.let_go == [LetGo(1)]


@pytest.mark.spec("REC-1")
def test_the_send_goes_on_beside_the_cancel_of_a_task_that_is_known() -> None:
    story = Story(OLDER).sends().id_shows().caller_cancels()
    assert story.let_go == []
    story.ends("completed", name=SEND)
    assert isinstance(story.result, Completed)
