"""Which states end a task, and what an ended one holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import anyio
import pydantic
import pytest

from a2a_delegate import (
    AuthRequired,
    Cancelled,
    Completed,
    Effect,
    Failed,
    InputRequired,
    InvalidReplyError,
    OutputMismatchError,
    Progress,
    Rejected,
    TimedOut,
    Unknown,
)
from a2a_delegate.testing import (
    Operation,
    ScriptedPeer,
    WorkState,
)
from tests.reports.staging import (
    VERSIONS,
    Notes,
    agent_message,
    changed,
    delegate_of,
    dispatched,
    requests_of,
    state_word,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.reports.staging import Json

pytestmark = [pytest.mark.anyio, pytest.mark.virtual_time]


# -- which states end a task -----------------------------------------------------------------------

ENDS = {
    WorkState.COMPLETED: Completed,
    WorkState.FAILED: Failed,
    WorkState.CANCELED: Cancelled,
    WorkState.REJECTED: Rejected,
    WorkState.INPUT_REQUIRED: InputRequired,
    WorkState.AUTH_REQUIRED: AuthRequired,
}


def spellings(state: WorkState) -> list[str]:
    """Return what peers have been seen to write for a state, of whichever version."""
    dashed = state.value
    plain = dashed.replace("-", "_")
    words = [dashed, plain, plain.upper(), f"TASK_STATE_{plain.upper()}", f"task_state_{plain}"]
    words += [dashed.title(), f" {dashed}"]
    if state is WorkState.CANCELED:
        words += ["cancelled", "CANCELLED", "TASK_STATE_CANCELLED"]
    return list(dict.fromkeys(words))


SPELLED = [pytest.param(state, word, id=word) for state in ENDS for word in spellings(state)]


def in_state(word: str) -> Callable[[Json], None]:
    """Make a change that puts a task in the state of this word."""

    def change(task: Json) -> None:
        task["status"] = {"state": word}

    return change


GOING_ON = [
    "TASK_STATE_SUBMITTED",
    "submitted",
    "TASK_STATE_WORKING",
    "Working",
    "TASK_STATE_PAUSED",
    "TASK_STATE_UNSPECIFIED",
    "unknown",
    "queued",
    "in_progress",
    "finished",
    "3",
]


@pytest.mark.report("R8", "R28", "P17")
@VERSIONS
@pytest.mark.parametrize("state", ENDS)
@pytest.mark.parametrize("operation", [Operation.SEND, Operation.GET])
async def test_every_state_that_ends_or_pauses_is_known_in_every_spelling(
    version: str, state: WorkState, operation: Operation
) -> None:
    words, peer = spellings(state), ScriptedPeer((version,))
    peer.script(operation, *[changed(in_state(word)) for word in words])
    async with delegate_of(peer, timeout=30) as delegate:
        for word in words:
            result = await delegate.dispatch("stuck")
            assert isinstance(result, ENDS[state]), word
    assert peer.truth.sends == len(words)


@pytest.mark.report("R1", "R27", "R28", "P17")
@VERSIONS
@pytest.mark.parametrize("word", GOING_ON)
async def test_any_other_state_is_no_answer_and_is_asked_about_until_the_deadline(
    version: str, word: str
) -> None:
    peer = ScriptedPeer((version,))
    peer.script(Operation.SEND, changed(in_state(word)))
    peer.always(Operation.GET, changed(in_state(word)))
    began = anyio.current_time()
    result = await dispatched(peer, "stuck", timeout=9)
    assert isinstance(result, TimedOut)
    known = word.lower().removeprefix("task_state_")
    assert result.last_state == (known if known in {"submitted", "working"} else word)
    assert anyio.current_time() - began <= 9 + 0.5 + 2 * 2.0
    assert peer.truth.tasks[0].state is WorkState.CANCELED


@pytest.mark.report("R1")
@VERSIONS
@pytest.mark.parametrize("state", [WorkState.SUBMITTED, WorkState.WORKING])
@pytest.mark.parametrize("artifacts", [None, []])
async def test_a_first_snapshot_that_is_no_end_is_followed_to_the_end(
    version: str, state: WorkState, artifacts: list[object] | None
) -> None:
    def begin(task: Json) -> None:
        task["status"] = {"state": state_word(version, state)}
        task["artifacts"] = artifacts

    peer = ScriptedPeer((version,))
    peer.script(Operation.SEND, changed(begin))
    peer.script(Operation.GET, changed(begin), changed(begin))
    result = await dispatched(peer, "work")
    assert isinstance(result, Completed)
    assert result.output == "result of work"
    assert len(requests_of(peer, Operation.GET)) == 3


@pytest.mark.report("P17", "P18", "P19")
@VERSIONS
@pytest.mark.parametrize(
    "status",
    [None, {}, {"state": None}, {"state": 99}, {"state": ""}, {"state": []}, "completed", 3, []],
    ids=repr,
)
async def test_a_status_that_cannot_be_read_is_asked_for_again(
    version: str, status: object
) -> None:
    def spoil(task: Json) -> None:
        task["status"] = status

    peer = ScriptedPeer((version,), lists=False)
    peer.script(Operation.SEND, changed(spoil))
    peer.script(Operation.GET, changed(spoil))
    result = await dispatched(peer)
    assert isinstance(result, Completed)
    assert peer.truth.sends == 1


@pytest.mark.report("P19")
@VERSIONS
@pytest.mark.parametrize("task_id", [None, "", 7, {}, ["x"]], ids=repr)
@pytest.mark.parametrize("lists", [True, False])
async def test_a_task_without_an_id_is_looked_up_and_never_taken_for_an_answer(
    version: str,
    task_id: object,
    lists: bool,  # noqa: FBT001 - an example
) -> None:
    def unname(task: Json) -> None:
        task["id"] = task_id

    peer = ScriptedPeer((version,), lists=lists)
    peer.script(Operation.SEND, changed(unname))
    result = await dispatched(peer)
    if version == "1.0" and lists:
        assert isinstance(result, Completed)
    else:
        assert isinstance(result, Unknown)
        assert isinstance(result.cause, InvalidReplyError)
        assert result.effect is Effect.MAY_HAVE_RUN
        assert b'"id"' in result.evidence
    assert peer.truth.sends == 1


# -- what a completed task holds -------------------------------------------------------------------


@pytest.mark.report("R2")
@VERSIONS
@pytest.mark.parametrize("nothing", [None, [], {}], ids=repr)
async def test_members_that_hold_nothing_spoil_no_task(version: str, nothing: object) -> None:
    def empty(task: Json) -> None:
        task["status"] = {**task["status"], "message": nothing, "timestamp": nothing}
        task.update(history=nothing, metadata=nothing, contextId=nothing)
        for artifact in task.get("artifacts") or ():
            artifact.update(metadata=nothing, extensions=nothing, name=nothing)

    peer = ScriptedPeer((version,))
    peer.script(Operation.SEND, changed(empty))
    result = await dispatched(peer)
    assert isinstance(result, Completed)
    assert result.output == "result of work"


@pytest.mark.report("R2")
@VERSIONS
@pytest.mark.parametrize("parts", [None, [], [None], [{}], [{"kind": "hologram"}], "x"], ids=repr)
async def test_an_artifact_without_parts_that_are_understood_is_no_crash(
    version: str, parts: object
) -> None:
    def empty(task: Json) -> None:
        task["artifacts"] = [{"artifactId": "a", "parts": parts}]

    peer = ScriptedPeer((version,))
    peer.script(Operation.SEND, changed(empty))
    result = await dispatched(peer)
    assert isinstance(result, Completed)
    assert (result.output, result.data) == (None, ())


@pytest.mark.report("R15")
@VERSIONS
async def test_a_bare_completed_is_enough(version: str) -> None:
    result = await dispatched(ScriptedPeer((version,)), "empty")
    assert isinstance(result, Completed)
    assert (result.output, result.data, result.artifacts) == (None, (), ())


@pytest.mark.report("R16")
@VERSIONS
async def test_a_completed_answer_is_not_delegated_again(version: str) -> None:
    peer = ScriptedPeer((version,))
    result = await dispatched(peer, "work")
    await anyio.sleep(3600)
    assert isinstance(result, Completed)
    assert (peer.truth.sends, len(peer.truth.tasks)) == (1, 1)


class Report(pydantic.BaseModel):
    status: Literal["done"]
    city: str


@pytest.mark.report("R21", "R22")
@VERSIONS
@pytest.mark.parametrize(
    "content",
    [
        {"data": {"status": "submitted", "task_id": "x"}},
        {"text": '{"status": "submitted", "task_id": "x"}'},
        {"text": "Agent is starting up, please wait."},
    ],
    ids=repr,
)
async def test_what_a_completed_payload_must_be_is_the_callers_to_say(
    version: str, content: Json
) -> None:
    def answer(task: Json) -> None:
        part = content if version == "1.0" else {**content, "kind": next(iter(content))}
        task["artifacts"] = [{"artifactId": "a", "parts": [part]}]

    peer = ScriptedPeer((version,))
    peer.script(Operation.SEND, changed(answer))
    result = await dispatched(peer)
    assert isinstance(result, Completed)
    with pytest.raises(OutputMismatchError):
        result.parse(Report)
    # An id within a payload is the agent's own affair, and is not asked for.
    assert not requests_of(peer, Operation.GET)
    assert peer.truth.sends == 1


@pytest.mark.report("R25")
@VERSIONS
async def test_an_echoed_history_stays_out_of_the_output(version: str) -> None:
    def echo(task: Json) -> None:
        filler = [agent_message(version, "x" * 1_000, f"h-{n}") for n in range(17)]
        task["history"] = [*filler, *task.get("history", ())]

    peer = ScriptedPeer((version,))
    peer.script(Operation.SEND, changed(echo))
    result = await dispatched(peer)
    assert isinstance(result, Completed)
    assert result.output == "result of work"
    assert "xxx" not in f"{result}{result.explain()}"


@pytest.mark.report("R25")
@VERSIONS
@pytest.mark.parametrize("echoes", [0, 1, 17])
async def test_an_answer_that_stands_only_in_the_history_is_the_last_one_after_ours(
    version: str, echoes: int
) -> None:
    def echo(task: Json) -> None:
        before = [agent_message(version, "old words", f"h-{n}") for n in range(echoes)]
        task["history"] = [*before, *task["history"]]

    peer = ScriptedPeer((version,))
    peer.script(Operation.SEND, changed(echo))
    peer.always(Operation.GET, changed(echo))
    result = await dispatched(peer, "history")
    assert isinstance(result, Completed)
    assert result.output == "result of history"


@pytest.mark.report("R29", "M10")
@VERSIONS
@pytest.mark.parametrize("state", [WorkState.INPUT_REQUIRED, WorkState.AUTH_REQUIRED])
async def test_a_question_keeps_its_text_and_its_id(version: str, state: WorkState) -> None:
    def ask(task: Json) -> None:
        message = agent_message(version, "which city?", "q-1")
        task["status"] = {"state": state_word(version, state), "message": message}

    peer = ScriptedPeer((version,))
    peer.script(Operation.GET, changed(ask))
    result = await dispatched(peer, "stuck")
    assert isinstance(result, InputRequired | AuthRequired)
    assert (str(result.question), result.question.message_id) == ("which city?", "q-1")
    assert result.handle is not None
    assert result.handle.question_id == "q-1"
    assert "which city?" in str(result)


@pytest.mark.report("R29")
@VERSIONS
async def test_status_messages_keep_their_ids(version: str) -> None:
    def tell(task: Json) -> None:
        word = state_word(version, WorkState.WORKING)
        task["status"] = {"state": word, "message": agent_message(version, "half", "s-1")}

    def end(task: Json) -> None:
        task["status"]["message"] = agent_message(version, "whole", "s-2")

    peer, notes = ScriptedPeer((version,)), Notes()
    peer.script(Operation.GET, changed(tell), changed(end))
    result = await dispatched(peer, "slow 1.5", notes)
    assert isinstance(result, Completed)
    assert [(one.message.message_id, str(one.message)) for one in notes.of(Progress)] == [
        ("s-1", "half")
    ]
    assert result.message is not None
    assert result.message.message_id == "s-2"
