"""How a task is followed: pauses between requests, and where its answer stands."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import anyio
import pytest

from a2a_delegate import (
    A2ARequestError,
    Completed,
    Effect,
    Failed,
    FilePart,
    InputRequired,
    Rejected,
    TimedOut,
)
from a2a_delegate.testing import (
    Operation,
    RefuseConnection,
    Respond,
    Rewrite,
    ScriptedPeer,
)
from tests.runtime.staging import delegate_to, requests_of

pytestmark = [pytest.mark.anyio, pytest.mark.virtual_time]

VERSIONS = pytest.mark.parametrize("versions", [("1.0",), ("0.3",)], ids="+".join)


# -- pauses ----------------------------------------------------------------------------------------


def gaps(peer: ScriptedPeer, operation: Operation) -> list[float]:
    """Return the pauses between the requests of one operation."""
    times = [one.when for one in requests_of(peer, operation)]
    return [later - earlier for earlier, later in pairwise(times)]


@pytest.mark.spec("PAUSE-1")
@VERSIONS
async def test_a_busy_peer_is_asked_again_when_it_says(versions: tuple[str, ...]) -> None:
    peer = ScriptedPeer(versions)
    busy = Respond(429, {"retry-after": "7"})
    peer.script(Operation.SEND, busy, busy)
    async with delegate_to(peer) as delegate:
        result = await delegate.dispatch("work")
    assert isinstance(result, Completed)
    assert all(7 <= gap <= 12.1 for gap in gaps(peer, Operation.SEND))
    assert max(peer.truth.runs.values()) == 1


@pytest.mark.spec("PAUSE-1")
@pytest.mark.parametrize("asked", ["100", "60.5"])
async def test_a_pause_beyond_the_deadline_is_a_refusal_at_once(asked: str) -> None:
    peer, start = ScriptedPeer(), anyio.current_time()
    peer.always(Operation.SEND, Respond(429, {"retry-after": asked}))
    async with delegate_to(peer, timeout=60) as delegate:
        result = await delegate.dispatch("work")
    assert isinstance(result, Rejected)
    assert isinstance(result.error, A2ARequestError)
    assert (result.error.status, result.error.retry_after) == (429, float(asked))
    assert result.effect is Effect.NOT_STARTED
    assert anyio.current_time() == start


@pytest.mark.spec("PAUSE-1")
async def test_a_busy_peer_is_not_asked_for_ever() -> None:
    peer = ScriptedPeer()
    peer.always(Operation.SEND, Respond(429, {"retry-after": "1"}))
    async with delegate_to(peer) as delegate:
        result = await delegate.dispatch("work")
    assert isinstance(result, Rejected)
    assert len(requests_of(peer, Operation.SEND)) == 10


@pytest.mark.spec("PAUSE-1")
@pytest.mark.parametrize("status", [429, 503])
async def test_a_get_waits_as_long_as_the_peer_says(status: int) -> None:
    peer = ScriptedPeer()
    peer.script(Operation.GET, Respond(status, {"retry-after": "45"}))
    async with delegate_to(peer) as delegate:
        result = await delegate.dispatch("slow 3")
    assert isinstance(result, Completed)
    assert [round(gap, 6) for gap in gaps(peer, Operation.GET)] == [45]


@pytest.mark.spec("PAUSE-1")
async def test_a_repeat_after_a_connection_that_failed_waits_with_jitter() -> None:
    pauses: set[float] = set()
    for _ in range(5):
        peer = ScriptedPeer()
        peer.always(Operation.SEND, RefuseConnection())
        async with delegate_to(peer) as delegate:
            result = await delegate.dispatch("work")
        assert isinstance(result, Failed)
        first, second = gaps(peer, Operation.SEND)
        assert 0 <= first <= 0.5
        assert 0 <= second <= 1.0
        pauses |= {first, second}
    assert len(pauses) > 5


@pytest.mark.spec("PAUSE-2")
async def test_polls_grow_with_jitter_up_to_the_most() -> None:
    peer = ScriptedPeer()
    async with delegate_to(peer, poll_interval=0.5, poll_interval_max=6, timeout=100) as delegate:
        result = await delegate.dispatch("stuck")
    assert isinstance(result, TimedOut)
    send, *polls = [one.when for one in peer.truth.requests][:12]
    assert polls[0] - send == pytest.approx(0.5)
    steady = 0.5
    for earlier, later in pairwise(polls):
        steady = min(steady * 1.5, 6)
        assert steady / 2 <= later - earlier <= steady


@pytest.mark.spec("PAUSE-2")
async def test_no_poll_interval_is_below_the_floor() -> None:
    peer = ScriptedPeer()
    tiny = 1e-6
    async with delegate_to(
        peer, timeout=0.5, poll_interval=tiny, poll_interval_max=tiny
    ) as delegate:
        await delegate.dispatch("stuck")
    pauses = gaps(peer, Operation.GET)
    assert min(pauses) >= 0.01 - 1e-9
    assert len(pauses) <= 60


# -- where the answer stands -----------------------------------------------------------------------


@VERSIONS
@pytest.mark.spec("DLG-10")
@pytest.mark.parametrize(
    ("prompt", "output", "data"),
    [
        ("hello", "hello from Scripted peer", ()),  # a message
        ("work", "result of work", ()),  # an artifact
        ("data", "result of data", ({"city": "Rome", "n": 3, "list": [1, None, "x"]},)),
        ("history", "result of history", ()),  # only in the history
        ("empty", None, ()),
    ],
)
async def test_the_answer_is_found_where_the_peer_put_it(
    versions: tuple[str, ...], prompt: str, output: str | None, data: tuple[object, ...]
) -> None:
    async with delegate_to(ScriptedPeer(versions)) as delegate:
        result = await delegate.dispatch(prompt)
    assert isinstance(result, Completed)
    assert (result.output, result.data) == (output, data)


@VERSIONS
@pytest.mark.spec("DLG-10")
async def test_an_answer_in_the_status_message_is_found(versions: tuple[str, ...]) -> None:
    def move(reply: dict[str, Any]) -> dict[str, Any]:
        task = reply["result"].get("task", reply["result"])
        (artifact,) = task.pop("artifacts")
        role = "ROLE_AGENT" if versions == ("1.0",) else "agent"
        message = {"messageId": "m", "role": role, "parts": artifact["parts"], "kind": "message"}
        task["status"]["message"] = message
        return reply

    peer = ScriptedPeer(versions)
    peer.script(Operation.SEND, Rewrite(move))
    async with delegate_to(peer) as delegate:
        result = await delegate.dispatch("work")
    assert isinstance(result, Completed)
    assert result.output == "result of work"
    assert result.message is not None
    assert result.message.text == "result of work"


@VERSIONS
@pytest.mark.spec("DLG-10")
async def test_files_come_as_artifacts(versions: tuple[str, ...]) -> None:
    async with delegate_to(ScriptedPeer(versions)) as delegate:
        result = await delegate.dispatch("file")
    assert isinstance(result, Completed)
    parts = [part for one in result.artifacts for part in one.parts]
    files = [(part.content, part.url) for part in parts if isinstance(part, FilePart)]
    assert files == [(b"hi\x00\xff", None), (None, "http://127.0.0.1/x.png")]


@VERSIONS
async def test_a_question_is_handed_over_with_its_handle(versions: tuple[str, ...]) -> None:
    peer = ScriptedPeer(versions)
    async with delegate_to(peer) as delegate:
        result = await delegate.dispatch("ask")
    assert isinstance(result, InputRequired)
    assert str(result.question) == "which city?"
    assert result.handle is not None
    assert result.handle.question_id == result.question.message_id
    assert peer.truth.cancels == 0
