"""Replies as peers really write them: what is an answer, and what never is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from a2a_delegate import (
    Completed,
    DataPart,
    DelegateRequest,
    Effect,
    EvidenceFailed,
    FilePart,
    InvalidReplyError,
    Rejected,
    TextPart,
    Unknown,
    UsageError,
)
from a2a_delegate.testing import (
    Honest,
    Operation,
    OtherTask,
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
    dispatched,
    remade,
    sends,
    state_word,
    text_part,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from a2a_delegate import Signal
    from a2a_delegate.testing import Behaviour
    from tests.reports.staging import Json

pytestmark = [pytest.mark.anyio, pytest.mark.virtual_time]


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
