"""What streams show: ends and states, words and chunks, each once and for what it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from a2a_delegate import (
    AuthRequired,
    Cancelled,
    Completed,
    Effect,
    Failed,
    InputRequired,
    Progress,
    Rejected,
    Settled,
    StateSeen,
    TaskFailedError,
    TerminalChanged,
)
from a2a_delegate.testing import (
    EventOrder,
    Gathered,
    GreedyFirstChunk,
    Hang,
    InsertEvent,
    Intruder,
    Operation,
    Respond,
    Stop,
    StopStream,
    UnknownState,
)
from tests.reports.staging import requests_of, runs
from tests.reports.streaming import (
    EVENTS,
    THREE,
    WAYS,
    Way,
    assert_all_was_seen,
    cuts,
    rewritten,
    said_in,
    spelled,
    statuses_rewritten,
    streaming_peer,
    subscriptions,
    text_told,
    update_shown,
    watched,
)

if TYPE_CHECKING:
    from a2a_delegate.testing import Behaviour
    from tests.reports.staging import Json

pytestmark = [pytest.mark.anyio, pytest.mark.virtual_time]


# -- the end ---------------------------------------------------------------------------------------


@pytest.mark.report("S14")
@WAYS
@pytest.mark.parametrize(
    "gets",
    [None, Respond(500), Respond(404), Respond(401), Hang()],
    ids=["get", "500", "404", "401", "silence"],
)
@pytest.mark.parametrize("how", Stop)
async def test_an_end_counts_whatever_the_connection_does_after_it(
    way: Way, how: Stop, gets: Behaviour | None
) -> None:
    peer = streaming_peer(way)
    peer.script(Operation.SEND, StopStream(EVENTS, how))
    if gets is not None:
        peer.always(Operation.GET, gets)
    result, notes = await watched(peer)
    assert isinstance(result, Completed)
    assert result.output == text_told(notes) == THREE
    assert result.effect is Effect.RAN
    assert notes.time_of(Settled) <= 0.3 + 5 + 0.1, "within `recovery_timeout`"
    assert not cuts(notes)
    assert not subscriptions(peer)
    assert peer.truth.cancels == 0
    assert peer.truth.open == 0


FAILURES = {"fail": (Failed, "it failed"), "reject": (Rejected, "not my job")}


@pytest.mark.report("R12", "R13", "S14")
@WAYS
@pytest.mark.parametrize("how", [Stop.END, Stop.CUT, Stop.SILENCE])
@pytest.mark.parametrize("gets", [None, Respond(500)], ids=["get", "500"])
@pytest.mark.parametrize("prompt", FAILURES)
async def test_a_failure_that_a_stream_shows_is_one(
    way: Way, how: Stop, gets: Behaviour | None, prompt: str
) -> None:
    kind, text = FAILURES[prompt]
    peer = streaming_peer(way)
    peer.script(Operation.SEND, StopStream(2, how))
    if gets is not None:
        peer.always(Operation.GET, gets)
    result, notes = await watched(peer, prompt)
    assert isinstance(result, kind)
    assert isinstance(result, Failed | Rejected)
    assert isinstance(result.error, TaskFailedError)
    assert text in str(result.error)
    assert not result.artifacts
    assert text_told(notes) == ""
    assert (peer.truth.sends, peer.truth.cancels) == (1, 0)


@pytest.mark.report("S14", "P36")
@WAYS
@pytest.mark.parametrize("how", Stop)
async def test_a_message_alone_is_the_answer_whatever_its_stream_does_then(
    way: Way, how: Stop
) -> None:
    peer = streaming_peer(way)
    peer.script(Operation.SEND, StopStream(1, how))
    result, notes = await watched(peer, "hello")
    assert isinstance(result, Completed)
    assert result.output == "hello from Scripted peer"
    assert notes.time_of(Settled) < 0.1
    assert not cuts(notes)
    assert peer.truth.open == 0


@pytest.mark.report("R13")
@WAYS
async def test_a_rejection_after_work_was_seen_is_no_proof_that_nothing_ran(way: Way) -> None:
    peer = streaming_peer(way)

    def reject(said: Json) -> None:
        if str(said["state"]).lower().endswith("completed"):
            said["state"] = spelled(way, "rejected")

    for operation in (Operation.SEND, Operation.GET):
        peer.always(operation, statuses_rewritten(reject))
    result, _ = await watched(peer)
    assert isinstance(result, Rejected)
    assert (result.effect, result.safe_to_retry) == (Effect.RAN, False)


SPELLINGS = {
    "completed": "completed",
    "TASK_STATE_COMPLETED": "completed",
    "COMPLETED": "completed",
    "failed": "failed",
    "TASK_STATE_FAILED": "failed",
    "canceled": "cancelled",
    "cancelled": "cancelled",
    "TASK_STATE_CANCELED": "cancelled",
    "TASK_STATE_CANCELLED": "cancelled",
    "input-required": "input-required",
    "input_required": "input-required",
    "TASK_STATE_INPUT_REQUIRED": "input-required",
    "auth-required": "auth-required",
    "TASK_STATE_AUTH_REQUIRED": "auth-required",
}


@pytest.mark.report("R8", "R28")
@WAYS
@pytest.mark.parametrize(("word", "status"), SPELLINGS.items())
async def test_a_state_in_a_stream_has_its_outcome_in_every_spelling(
    way: Way, word: str, status: str
) -> None:
    peer = streaming_peer(way)

    def respell(said: Json) -> None:
        if str(said["state"]).lower().endswith("completed"):
            said.update(state=word, message=said_in(way, "so it is"))

    for operation in (Operation.SEND, Operation.GET):
        peer.always(operation, statuses_rewritten(respell))
    result, _ = await watched(peer)
    assert result.status == status
    if isinstance(result, InputRequired | AuthRequired):
        assert result.question.text == "so it is"
    if isinstance(result, Cancelled):
        assert result.by == "peer"
    assert (peer.truth.sends, runs(peer)) == (1, 1)


@pytest.mark.report("R28")
@WAYS
@pytest.mark.parametrize("word", ["paused", "", "TASK_STATE_UNSPECIFIED", "unknown"])
async def test_a_state_that_nobody_knows_is_no_end_of_a_stream(way: Way, word: str) -> None:
    peer = streaming_peer(way)
    peer.script(Operation.SEND, UnknownState(word))
    result, notes = await watched(peer, "slow 3")
    assert isinstance(result, Completed)
    assert result.output == text_told(notes) == "result of slow 3"
    assert requests_of(peer, Operation.GET)


@pytest.mark.report("R15")
@WAYS
@pytest.mark.parametrize("how", [Stop.END, Stop.CUT])
async def test_a_bare_completed_in_a_stream_is_enough(way: Way, how: Stop) -> None:
    peer = streaming_peer(way)
    peer.script(Operation.SEND, StopStream(2, how))
    result, _ = await watched(peer, "empty")
    assert isinstance(result, Completed)
    assert result.output is None


# -- chunks and words ------------------------------------------------------------------------------


@pytest.mark.report("S21")
@WAYS
@pytest.mark.parametrize(
    "order",
    [
        GreedyFirstChunk(),
        EventOrder((1, 2, 3, 4, 4)),
        EventOrder((1, 2, 3, 4, 5, 6, 6)),
        EventOrder((1, 2, 3, 4, 5, 6, 4, 6, 7, 8)),
        EventOrder((1, 2, 3, 6, 4, 8)),
        EventOrder((1, 2, 3, 8, 9)),
    ],
    ids=repr,
)
async def test_chunks_are_one_artifact_in_which_nothing_stands_twice(
    way: Way, order: Behaviour
) -> None:
    peer = streaming_peer(way)
    peer.script(Operation.SEND, order)
    result, notes = await watched(peer)
    assert isinstance(result, Completed)
    assert result.output == text_told(notes) == THREE
    assert [one.text for one in result.artifacts] == [THREE]


@pytest.mark.report("S22")
@WAYS
@pytest.mark.parametrize("where", ["working", "completed", "all"])
async def test_the_same_text_as_a_status_and_as_an_artifact_is_one_answer(
    way: Way, where: str
) -> None:
    peer = streaming_peer(way)

    def say(said: Json) -> None:
        if where == "all" or str(said["state"]).lower().endswith(where):
            said["message"] = said_in(way, "result of slow 1")

    for operation in (Operation.SEND, Operation.GET):
        peer.always(operation, statuses_rewritten(say))
    result, notes = await watched(peer, "slow 1")
    assert isinstance(result, Completed)
    assert result.output == text_told(notes) == "result of slow 1"
    assert len(result.artifacts) == 1


@pytest.mark.report("S29", "R29")
@WAYS
async def test_words_of_a_status_are_progress_with_their_ids_and_no_output(way: Way) -> None:
    peer, ids = streaming_peer(way), list[str]()

    def note(held: Json) -> None:
        update = update_shown(held, "status")
        if update is not None and "message" in update["status"]:
            ids.append(update["status"]["message"]["messageId"])

    peer.script(Operation.SEND, rewritten(note))
    result, notes = await watched(peer)
    assert_all_was_seen(result, notes)
    told = notes.of(Progress)
    assert [one.message.text for one in told] == [f"piece {n} of 3" for n in (1, 2, 3)]
    assert [one.message.message_id for one in told] == ids
    assert len(set(ids)) == 3
    assert {one.task_id for one in told} == {peer.truth.tasks[0].id}


@pytest.mark.report("S29")
@WAYS
async def test_a_message_beside_a_task_is_progress_and_no_answer(way: Way) -> None:
    peer = streaming_peer(way)
    peer.script(Operation.SEND, InsertEvent(2, Intruder.MESSAGE))
    result, notes = await watched(peer)
    assert_all_was_seen(result, notes)
    assert notes.of(Progress)[0].message.text == "by the way"


@pytest.mark.report("R29")
@WAYS
async def test_a_question_that_a_stream_shows_keeps_its_id(way: Way) -> None:
    peer, ids = streaming_peer(way), set[str]()

    def note(said: Json) -> None:
        if "message" in said:
            ids.add(said["message"]["messageId"])

    for operation in (Operation.SEND, Operation.GET):
        peer.always(operation, statuses_rewritten(note))
    result, _ = await watched(peer, "ask")
    assert isinstance(result, InputRequired)
    assert {result.question.message_id} == ids
    assert result.question.text == "which city?"
    assert result.handle is not None
    assert result.handle.question_id in ids


# -- after the end ---------------------------------------------------------------------------------


@pytest.mark.report("P35", "R16")
@WAYS
@pytest.mark.parametrize(
    "late",
    [
        InsertEvent(EVENTS, Intruder.WORKING),
        InsertEvent(EVENTS, Intruder.MESSAGE),
        InsertEvent(EVENTS, Intruder.ERROR),
        InsertEvent(EVENTS, Intruder.ERROR_FRAME),
        EventOrder((*range(1, EVENTS + 1), EVENTS)),
        EventOrder((*range(1, EVENTS + 1), 1, 3, 4)),
    ],
    ids=repr,
)
@pytest.mark.parametrize("together", [True, False])
async def test_what_comes_after_the_end_changes_nothing(
    way: Way,
    late: Behaviour,
    together: bool,  # noqa: FBT001 - an example
) -> None:
    peer = streaming_peer(way)
    peer.script(Operation.SEND, Gathered(0, late) if together else late)
    result, notes = await watched(peer)
    assert isinstance(result, Completed)
    assert result.output == text_told(notes) == THREE
    assert [one.state for one in notes.of(StateSeen)] == ["submitted", "working", "completed"]
    assert not notes.of(TerminalChanged)
    assert len(notes.of(Settled)) == 1
    assert (peer.truth.sends, runs(peer), peer.truth.cancels) == (1, 1, 0)
