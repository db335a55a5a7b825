"""Replies as peers really write them: which states end a task, and what is never an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import anyio
import pydantic
import pytest

from a2a_delegate import (
    A2ARequestError,
    AuthRequired,
    Cancelled,
    Completed,
    DataPart,
    DelegateRequest,
    Effect,
    EvidenceFailed,
    Failed,
    FilePart,
    InputRequired,
    InvalidReplyError,
    OutputMismatchError,
    Progress,
    Rejected,
    TaskFailedError,
    TextPart,
    TimedOut,
    Unknown,
    UsageError,
)
from a2a_delegate.testing import (
    Honest,
    Operation,
    OtherTask,
    Redirect,
    Respond,
    Rewrite,
    ScriptedPeer,
    WorkState,
    WrongId,
)
from tests.reports.staging import (
    VERSIONS,
    Notes,
    agent_message,
    changed,
    delegate_of,
    remade,
    requests_of,
    sends,
    state_word,
    text_part,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from a2a_delegate import DelegateResult, Signal
    from a2a_delegate.testing import Behaviour
    from tests.reports.staging import Json

pytestmark = [pytest.mark.anyio, pytest.mark.virtual_time]


async def dispatched(
    peer: ScriptedPeer, prompt: str = "work", notes: Notes | None = None, **config: Any
) -> DelegateResult:
    """Delegate once, with the card found first."""
    async with delegate_of(peer, **config) as delegate:
        return await delegate.dispatch(prompt, observer=notes)


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


# -- failures --------------------------------------------------------------------------------------

TRACE = "psycopg2.errors.UndefinedTable: SELECT secret FROM users"


@pytest.mark.report("R12", "R13")
@VERSIONS
@pytest.mark.parametrize("state", [WorkState.FAILED, WorkState.REJECTED])
@pytest.mark.parametrize("operation", [Operation.SEND, Operation.GET])
@pytest.mark.parametrize("place", ["status", "artifact", "history"])
async def test_a_failure_is_an_error_with_its_text_and_never_an_output(
    version: str, state: WorkState, operation: Operation, place: str
) -> None:
    def fail(task: Json) -> None:
        task["status"] = {"state": state_word(version, state)}
        if place == "status":
            task["status"]["message"] = agent_message(version, TRACE)
        elif place == "artifact":
            task["artifacts"] = [{"artifactId": "a", "parts": [text_part(version, TRACE)]}]
        else:
            task["history"] = [*task.get("history", ()), agent_message(version, TRACE)]

    peer = ScriptedPeer((version,))
    peer.script(operation, changed(fail))
    result = await dispatched(peer, "stuck", timeout=20)
    assert isinstance(result, Failed if state is WorkState.FAILED else Rejected)
    assert isinstance(result.error, TaskFailedError)
    assert (result.error.state, result.error.text) == (state.value, TRACE)
    assert not hasattr(result, "output")
    with pytest.raises(TaskFailedError):
        result.raise_for_status()


@pytest.mark.report("R14")
@VERSIONS
@pytest.mark.parametrize("challenge", [{}, {"www-authenticate": "Bearer"}], ids=repr)
@pytest.mark.parametrize(
    "body",
    [b"", b"<html>login</html>", '{"error": "invalid_token"}', b"\xff\xfe", '{"detail": ["x"]}'],
    ids=repr,
)
async def test_a_401_is_shown_as_a_401_whatever_its_body(
    version: str, challenge: dict[str, str], body: Any
) -> None:
    peer = ScriptedPeer((version,), lists=False)
    peer.script(Operation.SEND, Respond(401, challenge, body))
    result = await dispatched(peer)
    assert isinstance(result, Failed | Rejected)
    assert isinstance(result.error, A2ARequestError)
    assert result.error.status == 401
    assert isinstance(result, Rejected) is bool(challenge)
    assert result.safe_to_retry is bool(challenge)


STATUSES = (200, 400, 401, 404, 409, 429, 500, 503)


@pytest.mark.report("P24", "P25", "L20")
@VERSIONS
@pytest.mark.parametrize(
    ("error", "code"),
    [
        ({"code": -32001, "message": "Task not found"}, -32001),
        ({"code": -32004, "message": "no"}, -32004),
        ({"code": -32603}, -32603),
        ({"code": -32005, "message": None}, -32005),
        ({"code": "-32001", "message": "as a string"}, -32001),
        ({"code": -32007.0, "message": "as a float"}, -32007),
        ({"message": "no code"}, None),
        ({"code": True, "message": "no number"}, None),
        ({"code": "E_FAIL", "message": 5}, None),
        ({}, None),
    ],
)
async def test_an_error_object_counts_whatever_the_http_status(
    version: str, error: Json, code: int | None
) -> None:
    peer = ScriptedPeer((version,), lists=False)
    body: Any = {"jsonrpc": "2.0", "id": None, "error": error}
    async with delegate_of(peer) as delegate:
        for status in STATUSES:
            peer.script(Operation.SEND, Respond(status, body=body, accepts=True))
            result = await delegate.dispatch("work")
            assert isinstance(result, Failed)
            assert isinstance(result.error, A2ARequestError)
            assert (result.error.code, result.error.status) == (code, status)
            assert result.effect is Effect.MAY_HAVE_RUN
    assert peer.truth.sends == len(STATUSES)


@pytest.mark.report("P26")
@VERSIONS
@pytest.mark.parametrize("status", [429, 503, 500, 502])
@pytest.mark.parametrize("asked", ["120", "Wed, 21 Oct 2037 07:28:00 GMT"])
async def test_an_error_keeps_its_status_and_when_to_come_again(
    version: str, status: int, asked: str
) -> None:
    peer = ScriptedPeer((version,), lists=False)
    peer.always(Operation.SEND, Respond(status, {"retry-after": asked}, "busy"))
    result = await dispatched(peer, timeout=60)
    assert isinstance(result, Failed | Rejected)
    assert isinstance(result.error, A2ARequestError)
    assert (result.error.status, result.error.message) == (status, "busy")
    assert result.error.retry_after is not None
    assert result.error.retry_after >= 120
    # Only a limiter answers before the agent begins.
    assert result.safe_to_retry is (status == 429)
    assert peer.truth.sends == 1


@pytest.mark.report("P27")
@VERSIONS
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize(
    "target", ["https://peer.example/rpc/", "https://elsewhere.example/", "/", ""]
)
async def test_a_redirect_is_not_followed_and_said(version: str, status: int, target: str) -> None:
    peer = ScriptedPeer((version,), lists=False)
    peer.script(Operation.SEND, Redirect(status, target))
    result = await dispatched(peer, client={"follow_redirects": True})
    assert isinstance(result, Failed | Rejected)
    assert isinstance(result.error, A2ARequestError)
    assert result.error.status == status
    # 307 and 308 promise that nothing was done; a 303 says that something was.
    assert result.safe_to_retry is (status in {307, 308})
    assert {one.url for one in requests_of(peer, Operation.SEND)} == {peer.url}
    assert peer.truth.sends == 1


# -- what is no answer to a send -------------------------------------------------------------------


def resulting(result: object) -> Rewrite:
    """Give the honest reply with this result."""
    return remade(lambda _: result)


NO_ANSWER = [
    Respond(202, accepts=True),
    Respond(204, accepts=True),
    Respond(200, accepts=True),
    Respond(201, body="ok", accepts=True),
    Respond(200, body={}, accepts=True),
    Respond(200, body=[], accepts=True),
    Respond(200, body=b"null", accepts=True),
    Respond(200, body={"result": {}}, accepts=True),
    Respond(200, body="<html>hello</html>", accepts=True),
    Respond(200, body=b"\xff\xfe\x00", accepts=True),
    WrongId(),
    Rewrite(lambda reply: {**reply, "id": None}),
    Rewrite(lambda reply: {**reply, "jsonrpc": "1.0"}),
    Rewrite(lambda reply: {"jsonrpc": "2.0", "id": reply["id"]}),
    *map(resulting, ({}, None, [], "ok", 7, True, {"ok": True}, {"task": None}, {"message": {}})),
]


@pytest.mark.report("R6", "P13", "P14", "P15", "P23")
@VERSIONS
@pytest.mark.parametrize("answer", NO_ANSWER, ids=range(len(NO_ANSWER)))
async def test_a_reply_that_is_no_answer_is_unknown_with_its_bytes(
    version: str, answer: Behaviour
) -> None:
    peer = ScriptedPeer((version,), lists=False)
    peer.script(Operation.SEND, answer)
    result = await dispatched(peer)
    assert isinstance(result, Unknown)
    assert isinstance(result.cause, InvalidReplyError)
    assert (result.effect, result.safe_to_retry) == (Effect.MAY_HAVE_RUN, False)
    sent_back = answer.content if isinstance(answer, Respond) else b"jsonrpc"
    assert sent_back in result.evidence
    assert (peer.truth.sends, sum(peer.truth.runs.values())) == (1, 1)


@pytest.mark.report("R6", "P13", "P14", "P15", "P23")
@pytest.mark.parametrize("answer", NO_ANSWER, ids=range(len(NO_ANSWER)))
async def test_a_task_behind_a_reply_that_is_no_answer_is_found(answer: Behaviour) -> None:
    peer = ScriptedPeer()
    peer.script(Operation.SEND, answer)
    result = await dispatched(peer)
    assert isinstance(result, Completed)
    assert result.output == "result of work"
    assert (peer.truth.sends, sum(peer.truth.runs.values())) == (1, 1)


# -- one shape or the other ------------------------------------------------------------------------

SHAPES: dict[str, Callable[[Json], Any]] = {
    "flat": lambda task: task,
    "wrapped": lambda task: {"task": task},
    "flat with kind": lambda task: {**task, "kind": "task"},
    "wrapped with kind": lambda task: {"task": {**task, "kind": "task"}},
    "kind null": lambda task: {**task, "kind": None},
}


@pytest.mark.report("R4", "R5", "R10", "P14")
@VERSIONS
@pytest.mark.parametrize("make", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("operation", [Operation.SEND, Operation.GET])
async def test_a_task_is_read_flat_or_wrapped_with_kind_or_without(
    version: str, make: Callable[[Json], Any], operation: Operation
) -> None:
    peer = ScriptedPeer((version,), lists=False)
    peer.script(operation, remade(make))
    result = await dispatched(peer, "slow 1")
    assert isinstance(result, Completed)
    assert result.output == "result of slow 1"


@pytest.mark.report("R4", "R8")
@pytest.mark.parametrize(("spoken", "written"), [("1.0", "0.3"), ("0.3", "1.0")])
async def test_an_answer_in_the_words_of_the_other_version_is_understood(
    spoken: str, written: str
) -> None:
    def other(task: Json) -> Json:
        text = [text_part(written, "done")]
        state = state_word(written, WorkState.COMPLETED)
        made = {"id": task["id"], "contextId": "c", "status": {"state": state}}
        made["artifacts"] = [{"artifactId": "a", "parts": text}]
        return {"task": made} if written == "1.0" else {**made, "kind": "task"}

    peer = ScriptedPeer((spoken,), lists=False)
    peer.script(Operation.SEND, remade(other))
    result = await dispatched(peer)
    assert isinstance(result, Completed)
    assert result.output == "done"


@pytest.mark.report("P16")
@VERSIONS
async def test_a_task_beside_a_message_is_asked_for(version: str) -> None:
    peer = ScriptedPeer((version,), lists=False)
    message = agent_message(version, "I will see to it")
    peer.script(Operation.SEND, remade(lambda task: {"task": task, "message": message}))
    result = await dispatched(peer)
    assert isinstance(result, Completed)
    assert result.output == "result of work"


@pytest.mark.report("R10")
@VERSIONS
async def test_what_is_written_is_strictly_of_its_version(version: str) -> None:
    peer = ScriptedPeer((version,))
    request = DelegateRequest(
        "read", parts=(DataPart({"n": 1}), FilePart(content=b"x", media_type="text/plain"))
    )
    async with delegate_of(peer) as delegate:
        await delegate.dispatch(request)
    (message,) = sends(peer)
    parts = message["parts"]
    if version == "1.0":
        assert message["role"] == "ROLE_USER"
        assert not any("kind" in one for one in (message, *parts))
    else:
        assert (message["role"], message["kind"]) == ("user", "message")
        assert [one["kind"] for one in parts] == ["text", "data", "file"]


def _add_everywhere(value: Any) -> Any:
    if isinstance(value, dict):
        grown = {name: _add_everywhere(member) for name, member in value.items()}
        return {**grown, "createdAt": "2026-01-01T00:00:00", "x_unknown": {"deep": [1, None]}}
    return [_add_everywhere(one) for one in value] if isinstance(value, list) else value


@pytest.mark.report("R11")
@VERSIONS
@pytest.mark.parametrize("operation", [Operation.SEND, Operation.GET])
async def test_unknown_members_are_ignored_wherever_they_stand(
    version: str, operation: Operation
) -> None:
    peer = ScriptedPeer((version,), lists=False)
    peer.script(operation, Rewrite(_add_everywhere))
    result = await dispatched(peer, "slow 1")
    assert isinstance(result, Completed)
    assert result.output == "result of slow 1"


@pytest.mark.report("P22")
@VERSIONS
@pytest.mark.parametrize(
    "timestamp",
    [
        "2026-11-30T12:20:31.25",
        "2026-11-30T12:20:31+02:00",
        "2026-11-30T12:20:31.123456789Z",
        "2026-11-30",
        "yesterday",
        "",
        None,
        1764504000,
        {"seconds": 1},
    ],
    ids=repr,
)
async def test_a_timestamp_can_spoil_no_task(version: str, timestamp: object) -> None:
    def stamp(task: Json) -> None:
        task["status"]["timestamp"] = timestamp

    peer = ScriptedPeer((version,), lists=False)
    peer.script(Operation.SEND, changed(stamp))
    peer.script(Operation.GET, changed(stamp))
    result = await dispatched(peer, "slow 1")
    assert isinstance(result, Completed)
    assert result.output == "result of slow 1"


@pytest.mark.report("R24", "R8")
@VERSIONS
@pytest.mark.parametrize(
    "media_type",
    [
        "application/json",
        "application/a2a+json",
        "application/problem+json; charset=utf-8",
        "text/plain",
        "text/html",
        "text/event-stream",
        "application/octet-stream",
        None,
    ],
)
@pytest.mark.parametrize("kind", ["answer", "error"])
async def test_a_body_is_read_by_what_it_holds_and_not_by_its_label(
    version: str, media_type: str | None, kind: str
) -> None:
    peer = ScriptedPeer((version,))
    label = {} if media_type is None else {"content-type": media_type}
    if kind == "error":
        body: Any = {"jsonrpc": "2.0", "id": None, "error": {"code": -32601, "message": "no"}}
        peer.script(Operation.SEND, Respond(400, label, body))
        result = await dispatched(peer)
        assert isinstance(result, Rejected)
        return
    peer.always(Operation.GET, Honest())
    async with delegate_of(peer, client={"event_hooks": {"response": [relabel(label)]}}) as it:
        result = await it.dispatch("slow 1")
    assert isinstance(result, Completed)


def relabel(label: dict[str, str]) -> Callable[[Any], Any]:
    """Make a hook of httpx's client that changes the content type of each response."""

    async def change(response: Any) -> None:
        response.headers.pop("content-type", None)
        response.headers.update(label)

    return change


# -- what a get can show ---------------------------------------------------------------------------


@pytest.mark.report("P20", "P21")
@VERSIONS
@pytest.mark.parametrize(
    "answer",
    [
        OtherTask(),
        WrongId(),
        remade(lambda task: {**task, "id": "another"}),
        remade(lambda task: {**task, "id": None}),
        remade(lambda _: {}),
        remade(lambda _: None),
        remade(lambda _: []),
        remade(lambda task: {"task": {"id": task["id"]}}),
        remade(lambda _: {"messageId": "m", "parts": [{"kind": "text", "text": "done"}]}),
        Respond(200),
        Respond(204),
        Respond(200, body="<html>"),
    ],
    ids=range(12),
)
async def test_a_get_that_shows_nothing_of_our_task_is_asked_again(
    version: str, answer: Behaviour
) -> None:
    peer = ScriptedPeer((version,))
    peer.script(Operation.GET, answer, answer, answer, answer)
    result = await dispatched(peer, "slow 1")
    assert isinstance(result, Completed)
    assert result.output == "result of slow 1"


# -- ids, metadata and onlookers -------------------------------------------------------------------


@pytest.mark.report("R17", "R18")
@VERSIONS
async def test_a_first_send_never_names_a_task_and_a_finished_one_is_never_used_again(
    version: str,
) -> None:
    peer = ScriptedPeer((version,))
    async with delegate_of(peer) as delegate:
        first = await delegate.dispatch("work")
        assert first.handle is not None
        second = await delegate.dispatch(
            DelegateRequest("more", context_id=first.handle.context_id)
        )
    assert isinstance(second, Completed)
    assert not any("taskId" in message for message in sends(peer))
    first_task, second_task = peer.truth.tasks
    assert first_task.id != second_task.id
    assert first_task.context_id == second_task.context_id


@pytest.mark.report("M12")
@VERSIONS
async def test_metadata_goes_across_both_ways_unchanged(version: str) -> None:
    ours: Json = {"trace": {"depth": 2, "path": ["a", "b"]}, "n": 1.5, "none": None, "é": "ü"}
    theirs = {"cost": {"tokens": 7}, "note": "ü"}

    def tell(task: Json) -> None:
        for artifact in task["artifacts"]:
            artifact["metadata"] = theirs
            artifact["parts"][0]["metadata"] = theirs

    peer = ScriptedPeer((version,))
    peer.script(Operation.SEND, changed(tell))
    async with delegate_of(peer) as delegate:
        result = await delegate.dispatch(DelegateRequest("work", metadata=ours))
    assert sends(peer)[0]["metadata"] == ours
    assert isinstance(result, Completed)
    (artifact,) = result.artifacts
    assert artifact.metadata == theirs
    (part,) = artifact.parts
    assert isinstance(part, TextPart)
    assert part.metadata == theirs


@pytest.mark.report("M12")
@pytest.mark.parametrize(
    "value", [float("nan"), float("-inf"), b"bytes", {1: "key"}, "\ud800", object()], ids=range(6)
)
def test_metadata_that_would_not_arrive_as_it_is_is_refused_at_once(value: Any) -> None:
    with pytest.raises(UsageError, match="metadata"):
        DelegateRequest("work", metadata={"x": [value]})


@pytest.mark.report("R26")
@VERSIONS
@pytest.mark.parametrize("prompt", ["work", "hello", "ask", "fail", "data", "slow 3"])
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
async def test_an_onlooker_that_crashes_breaks_no_call(version: str, prompt: str) -> None:
    def crash(signal: Signal) -> None:
        raise AttributeError(signal)

    peer, notes = ScriptedPeer((version,)), Notes()
    async with delegate_of(peer, observers=[notes]) as delegate:
        calm = await delegate.dispatch(prompt)
        result = await delegate.dispatch(prompt, observer=crash)
    assert (result.status, result.effect) == (calm.status, calm.effect)
    assert [one.observer for one in notes.of(EvidenceFailed)] == [crash]
