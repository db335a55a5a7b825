"""Tasks and their states: which ends, which asks, and what an unknown word is shown as."""

from __future__ import annotations

import pytest

from a2a_delegate.model.task import TaskState, TaskStatus


@pytest.mark.spec("STATE-1", "STATE-2", "STATE-3")
def test_each_state_ends_or_asks_or_goes_on() -> None:
    ends = {state.value for state in TaskState if state.is_terminal}
    asks = {state.value for state in TaskState if state.is_interrupted}
    assert ends == {"completed", "failed", "canceled", "rejected"}
    assert asks == {"input-required", "auth-required"}
    assert not TaskState.UNKNOWN.is_terminal


@pytest.mark.spec("STATE-3")
def test_a_state_is_named_by_its_word_and_an_unknown_one_by_the_peers() -> None:
    assert TaskStatus(TaskState.WORKING, "TASK_STATE_WORKING").name == "working"
    assert TaskStatus(TaskState.UNKNOWN, "pondering").name == "pondering"
    assert TaskStatus(TaskState.UNKNOWN).name == "unknown"
