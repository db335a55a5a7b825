"""Signals: frozen facts, all of them in one union, in an order that makes sense."""

from __future__ import annotations

import dataclasses
from typing import get_args

import pytest

from a2a_delegate import signals
from a2a_delegate.outcome import Completed, Effect
from a2a_delegate.signals import (
    ArtifactChunk,
    AttemptFailed,
    CancelSent,
    Downgraded,
    IdKnown,
    Intent,
    Progress,
    Recovered,
    Sent,
    Settled,
    Signal,
    StateSeen,
    TerminalChanged,
    handle_after,
)
from tests.lifecycle.replies import OLDER, TASK
from tests.lifecycle.story import CANCEL, GET, Story


def test_the_union_holds_every_signal() -> None:
    classes = {
        value
        for value in vars(signals).values()
        if isinstance(value, type) and dataclasses.is_dataclass(value)
    }
    assert set(get_args(Signal)) == classes


def test_a_handle_is_kept_as_the_signals_tell_it() -> None:
    told = OLDER.intent
    newer = dataclasses.replace(told, version="1.0")
    done = Completed(delegate_id="peer", effect=Effect.RAN)
    assert handle_after(IdKnown(TASK), None) is None
    assert handle_after(Intent(told), None) is told
    assert handle_after(IdKnown(TASK), told) == dataclasses.replace(told, task_id=TASK)
    assert handle_after(Downgraded("1.0", "0.3", newer), told) is newer
    assert handle_after(Downgraded("1.0", "0.3"), told) is told
    assert handle_after(Settled(dataclasses.replace(done, handle=newer)), told) is newer
    assert handle_after(Settled(done), told) is told
    assert handle_after(Sent(1), told) is told


@pytest.mark.parametrize("kind", get_args(Signal))
def test_signals_are_frozen_and_documented(kind: type[Signal]) -> None:
    assert (kind.__doc__ or "").strip()
    field = dataclasses.fields(kind)[0].name
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(object.__new__(kind), field, None)


def kinds(story: Story) -> list[type[object]]:
    return [type(signal) for signal in story.signals]


def test_a_delegation_is_told_in_the_order_in_which_it_happens() -> None:
    story = Story(OLDER).sends().ends("submitted").time_comes().ends("error")
    story.time_comes().ends("working").time_comes().ends("completed")
    assert kinds(story) == [
        *(Intent, Sent, IdKnown, StateSeen),
        *(AttemptFailed, StateSeen, StateSeen, ArtifactChunk),
    ]


def test_a_recovery_is_told_before_the_id_that_it_brings() -> None:
    story = Story().sends().ends("lost").ends("page, ours").ends("completed")
    assert kinds(story) == [
        *(Intent, Sent, AttemptFailed, Recovered, IdKnown, StateSeen, ArtifactChunk),
    ]


def test_a_downgrade_is_told_between_the_refusal_and_the_next_send() -> None:
    story = Story(fallback=OLDER).sends().ends("version refused").body_leaves()
    assert kinds(story) == [Intent, Sent, AttemptFailed, Downgraded, Sent]


def test_a_cancel_is_told_and_so_is_another_end_that_comes_after_the_first() -> None:
    story = Story(OLDER).follows().time_comes().caller_cancels().ends("canceled", name=CANCEL)
    story.ends("completed", name=GET)
    assert kinds(story)[-3:] == [CancelSent, StateSeen, TerminalChanged]
    assert story.told(CancelSent) == [CancelSent(TASK)]


def test_a_question_is_progress_too() -> None:
    assert len(Story().sends().ends("input-required").told(Progress)) == 1
