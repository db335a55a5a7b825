"""What an outcome holds beside its status."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from a2a_delegate.errors import TaskFailedError
from a2a_delegate.lifecycle.operations import MessageReply, TaskReply
from a2a_delegate.lifecycle.verdict import receipt_of
from a2a_delegate.model.artifact import Artifact
from a2a_delegate.model.message import Message, Role
from a2a_delegate.model.part import DataPart, TextPart
from a2a_delegate.outcome import Cancelled, CancelReceipt, Completed, Effect, Failed, Rejected
from tests.lifecycle.replies import ANSWER, CONTEXT, OLDER, TASK, TROUBLE, task
from tests.lifecycle.story import Story

if TYPE_CHECKING:
    from a2a_delegate.model.task import Task


def ended(shown: Task) -> Story:
    return Story().sends().ends(TaskReply(shown))


@pytest.mark.spec("OUT-8", "OUT-9")
def test_a_failed_task_says_why_in_its_error_and_nowhere_else() -> None:
    result = ended(task("failed")).result
    assert isinstance(result, Failed)
    assert isinstance(result.error, TaskFailedError)
    assert (result.error.task_id, result.error.state) == (TASK, "failed")
    assert result.error.text == TROUBLE
    assert result.effect is Effect.RAN
    assert not hasattr(result, "output")


@pytest.mark.spec("OUT-9")
def test_a_failed_task_without_a_status_message_says_why_in_its_artifacts() -> None:
    silent = replace(task("failed").status, message=None)
    trace = Artifact("log", (TextPart("disk full"),))
    result = ended(replace(task("failed"), status=silent, artifacts=(trace,))).result
    assert isinstance(result, Failed)
    assert "disk full" in str(result.error)
    assert isinstance(ended(replace(task("failed"), status=silent)).result, Failed)


@pytest.mark.spec("OUT-8")
def test_a_rejected_task_that_never_worked_was_not_started() -> None:
    for story in (ended(task("rejected")), Story().sends().ends("submitted").time_comes()):
        if not story.settled:
            story.ends("rejected")
        assert isinstance(story.result, Rejected)
        assert story.result.effect is Effect.NOT_STARTED
        assert TROUBLE in str(story.result.error)


@pytest.mark.spec("OUT-8")
@pytest.mark.parametrize("before", ["working", "pondering"])
def test_a_rejected_task_that_had_begun_ran(before: str) -> None:
    result = Story().sends().ends(before).time_comes().ends("rejected").result
    assert isinstance(result, Rejected)
    assert result.effect is Effect.RAN


@pytest.mark.spec("OUT-8")
def test_a_rejected_task_with_artifacts_ran() -> None:
    made = Artifact("a", (TextPart("half"),))
    assert ended(replace(task("rejected"), artifacts=(made,))).result.effect is Effect.RAN


@pytest.mark.spec("OUT-18")
def test_a_task_that_the_peer_canceled_is_cancelled_by_the_peer() -> None:
    result = Story().follows().time_comes().ends("canceled").result
    assert isinstance(result, Cancelled)
    assert (result.by, result.receipt, result.late) == ("peer", CancelReceipt.NOT_NEEDED, False)
    assert result.effect is Effect.RAN


@pytest.mark.spec("OUT-18", "LAW-2")
def test_a_task_that_was_canceled_before_our_cancel_went_out_is_the_peers_doing() -> None:
    result = Story(OLDER).sends().caller_cancels().ends("canceled").result
    assert isinstance(result, Cancelled)
    assert (result.by, result.late) == ("peer", True)


@pytest.mark.spec("OUT-7")
def test_a_message_with_data_only_completes_without_output() -> None:
    data = Message("m", Role.AGENT, (DataPart({"n": 1}),))
    result = Story().sends().ends(MessageReply(data)).result
    assert isinstance(result, Completed)
    assert (result.output, result.data, result.message) == (None, ({"n": 1},), data)


@pytest.mark.spec("OUT-9")
def test_a_completed_task_without_any_words_has_no_output() -> None:
    result = ended(replace(task("completed"), artifacts=())).result
    assert isinstance(result, Completed)
    assert (result.output, result.message) == (None, None)


@pytest.mark.spec("OUT-15")
def test_the_handle_holds_all_that_was_learned() -> None:
    handle = Story().sends().ends("completed").result.handle
    assert handle is not None
    assert (handle.task_id, handle.context_id, handle.question_id) == (TASK, CONTEXT, None)
    assert handle.delegate_id == "peer"


@pytest.mark.spec("OUT-15")
def test_the_handle_of_a_task_without_a_context_keeps_ours() -> None:
    handle = ended(replace(task("completed"), context_id=None)).result.handle
    assert handle is not None
    assert handle.context_id == CONTEXT


def test_the_last_words_of_the_peer_come_with_every_outcome() -> None:
    result = ended(task("failed")).result
    assert result.message is not None
    assert result.message.text == TROUBLE
    assert ended(task("completed")).result.message is None
    said = Story().sends().ends("message").result.message
    assert said is not None
    assert said.text == ANSWER


@pytest.mark.spec("HAND-3")
@pytest.mark.parametrize("receipt", CancelReceipt)
def test_what_a_stop_came_to_is_its_receipt(receipt: CancelReceipt) -> None:
    stopped = Cancelled(delegate_id="peer", effect=Effect.RAN, by="caller", receipt=receipt)
    assert receipt_of(stopped) is receipt
    assert receipt_of(replace(stopped, by="peer")) is CancelReceipt.CONFIRMED


@pytest.mark.spec("HAND-3")
def test_what_ended_otherwise_needed_no_stop() -> None:
    assert receipt_of(ended(task("completed")).result) is CancelReceipt.NOT_NEEDED
