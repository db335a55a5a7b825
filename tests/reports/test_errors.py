"""Failures, errors and redirects: shown as what they are, and as no more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from a2a_delegate import (
    A2ARequestError,
    Effect,
    Failed,
    Rejected,
    TaskFailedError,
)
from a2a_delegate.testing import (
    Operation,
    Redirect,
    Respond,
    ScriptedPeer,
    WorkState,
)
from tests.reports.staging import (
    VERSIONS,
    agent_message,
    changed,
    delegate_of,
    dispatched,
    requests_of,
    state_word,
    text_part,
)

if TYPE_CHECKING:
    from tests.reports.staging import Json

pytestmark = [pytest.mark.anyio, pytest.mark.virtual_time]


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
