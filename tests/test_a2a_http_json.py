"""A delegation over HTTP+JSON, from the card to the outcome, as it is over JSON-RPC."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from a2a_delegate import (
    A2ADelegate,
    A2ADelegateConfig,
    A2ARequestError,
    ArtifactChunk,
    CancelReceipt,
    Completed,
    DataPart,
    DelegateRequest,
    DelegationHandle,
    Downgraded,
    Effect,
    Failed,
    FilePart,
    IdKnown,
    InputRequired,
    Intent,
    Recovered,
    Rejected,
    TimedOut,
    Unknown,
    UsageError,
)
from a2a_delegate.testing import (
    DropAfterAccepting,
    DropBeforeReading,
    Operation,
    Respond,
    ScriptedPeer,
    WorkState,
)
from a2a_delegate.wire.card_reader import read_card
from tests.runtime.staging import Notes, requests_of

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

pytestmark = [pytest.mark.anyio, pytest.mark.virtual_time]

REST = ("HTTP+JSON",)
VERSION = pytest.mark.parametrize("version", ["1.0", "0.3"])
WATCHES = pytest.mark.parametrize("streaming", [False, True], ids=["poll", "stream"])


@asynccontextmanager
async def delegate_to(peer: ScriptedPeer, **config: Any) -> AsyncGenerator[A2ADelegate, None]:
    """Make a delegate of the peer by the card that it shows."""
    card = read_card(json.dumps(peer.card()).encode(), url="https://peer.example")
    async with (
        peer.client() as client,
        A2ADelegate("peer", card, client=client, config=A2ADelegateConfig(**config)) as delegate,
    ):
        yield delegate


def paths(peer: ScriptedPeer) -> list[str]:
    return [f"{one.method} {one.url.split('example')[1]}" for one in peer.truth.requests]


@VERSION
@WATCHES
@pytest.mark.spec("REST-2", "DLG-1")
async def test_a_task_is_handed_over_and_followed_to_its_end(
    version: str, *, streaming: bool
) -> None:
    peer, notes = ScriptedPeer((version,), bindings=REST, streaming=streaming), Notes()
    async with delegate_to(peer) as delegate:
        result = await delegate.dispatch("slow 8", observer=notes)
    assert isinstance(result, Completed)
    assert result.effect is Effect.RAN
    assert result.handle is not None
    assert (result.handle.binding, result.handle.version) == ("HTTP+JSON", version)
    assert peer.truth.sends == 1
    assert len(paths(peer)) >= 2
    verb = "stream" if streaming else "send"
    root = "/v1" if version == "0.3" else ""
    assert paths(peer)[0].endswith(f"{root}/message:{verb}")
    assert f"{root}/tasks/{result.handle.task_id}" in paths(peer)[-1]
    assert {one.headers["a2a-version"] for one in peer.truth.requests} == {version}


@VERSION
@pytest.mark.spec("REST-2", "CARR-10")
async def test_what_is_shown_of_the_work_is_shown_as_it_comes(version: str) -> None:
    peer, notes = ScriptedPeer((version,), bindings=REST, streaming=True), Notes()
    async with delegate_to(peer) as delegate:
        result = await delegate.dispatch("chunks 3", observer=notes)
    assert isinstance(result, Completed)
    assert result.output
    assert len(notes.of(ArtifactChunk)) >= 3


@VERSION
@pytest.mark.spec("REST-2")
async def test_a_question_is_answered_by_the_same_way(version: str) -> None:
    peer = ScriptedPeer((version,), bindings=REST)
    async with delegate_to(peer) as delegate:
        asked = await delegate.dispatch("ask")
        assert isinstance(asked, InputRequired)
        result = await delegate.dispatch(DelegateRequest("blue", continues=asked.handle))
    assert isinstance(result, Completed)
    assert peer.truth.sends == 2


PARTS = {
    "1.0": (
        "parts",
        [
            {"text": "look at"},
            {"data": {"data": {"n": [1, None]}}},
            {"raw": "AP8=", "filename": "a.bin", "mediaType": "application/x"},
            {"url": "https://f.example/a", "mediaType": "image/png"},
        ],
    ),
    "0.3": (
        "content",
        [
            {"text": "look at"},
            {"data": {"data": {"data": {"n": [1, None]}}}},
            {"file": {"fileWithBytes": "AP8=", "name": "a.bin", "mimeType": "application/x"}},
            {"file": {"fileWithUri": "https://f.example/a", "mimeType": "image/png"}},
        ],
    ),
}


@VERSION
@pytest.mark.spec("REST-2", "METH-7", "BIND-7")
async def test_parts_of_every_kind_arrive_as_they_are(version: str) -> None:
    parts = (
        DataPart({"data": {"n": [1, None]}}),
        FilePart(b"\x00\xff", filename="a.bin", media_type="application/x"),
        FilePart(url="https://f.example/a", media_type="image/png"),
    )
    peer = ScriptedPeer((version,), bindings=REST)
    async with delegate_to(peer) as delegate:
        result = await delegate.dispatch(DelegateRequest("look at", parts=parts))
    assert isinstance(result, Completed)
    (send,) = requests_of(peer, Operation.SEND)
    assert isinstance(send.body, dict)
    assert send.body["message"][PARTS[version][0]] == PARTS[version][1]


WORDS = ["hello", "slow 1", "data", "file", "history", "empty", "fail", "reject", "ask", "auth"]


@VERSION
@WATCHES
@pytest.mark.parametrize("prompt", WORDS)
@pytest.mark.spec("REST-2")
async def test_both_bindings_give_one_outcome(
    version: str, prompt: str, *, streaming: bool
) -> None:
    told = []
    for bindings in (REST, ("JSONRPC",)):
        peer = ScriptedPeer((version,), bindings=bindings, streaming=streaming)
        async with delegate_to(peer) as delegate:
            result = await delegate.dispatch(prompt)
        told.append(
            (
                result.status,
                result.effect,
                [one.parts for one in result.artifacts],
                result.message and result.message.parts,
                getattr(result, "output", None),
                getattr(result, "data", None),
                str(getattr(result, "error", "")),
            )
        )
    assert told[0] == told[1]


@VERSION
@WATCHES
@pytest.mark.spec("REST-2")
async def test_at_its_deadline_a_task_is_stopped(version: str, *, streaming: bool) -> None:
    peer = ScriptedPeer((version,), bindings=REST, streaming=streaming)
    async with delegate_to(peer, timeout=5) as delegate:
        result = await delegate.dispatch("stuck")
    assert isinstance(result, TimedOut)
    assert result.receipt is CancelReceipt.CONFIRMED
    assert [task.state for task in peer.truth.tasks] == [WorkState.CANCELED]


@VERSION
@pytest.mark.spec("REST-2", "HAND-1")
async def test_another_delegate_takes_a_handle_up(version: str) -> None:
    peer = ScriptedPeer((version,), bindings=REST)
    async with delegate_to(peer) as delegate:
        asked = await delegate.dispatch("ask")
        assert isinstance(asked, InputRequired)
        assert asked.handle is not None
        spelled = DelegationHandle.from_json(asked.handle.to_json())
    async with delegate_to(peer) as other:
        again = await other.resume(spelled, wait=False)
        assert isinstance(again, InputRequired)
        assert await other.cancel(spelled) is CancelReceipt.CONFIRMED
    assert [task.state for task in peer.truth.tasks] == [WorkState.CANCELED]
    assert paths(peer)[-1].split("/")[-1].startswith(f"{asked.handle.task_id}")
    assert any(path.endswith(f"{asked.handle.task_id}:cancel") for path in paths(peer))


@pytest.mark.spec("REST-2", "CARD-8")
async def test_a_tenant_goes_along_in_the_path() -> None:
    peer = ScriptedPeer(("1.0",), bindings=REST, tenant="a/b c")
    peer.script(Operation.SEND, DropAfterAccepting())
    async with delegate_to(peer, timeout=5) as delegate:
        result = await delegate.dispatch("stuck")
    assert isinstance(result, TimedOut)
    assert result.receipt is CancelReceipt.CONFIRMED
    assert all("/a%2Fb%20c/" in path for path in paths(peer))
    assert {one.operation for one in peer.truth.requests} >= {
        Operation.SEND,
        Operation.LIST,
        Operation.GET,
        Operation.CANCEL,
    }


@pytest.mark.spec("REST-2", "GATE-5")
async def test_a_lost_reply_is_looked_up_by_a_list() -> None:
    peer, notes = ScriptedPeer(("1.0",), bindings=REST), Notes()
    peer.script(Operation.SEND, DropAfterAccepting())
    async with delegate_to(peer) as delegate:
        result = await delegate.dispatch("slow 3", observer=notes)
    assert isinstance(result, Completed)
    assert len(notes.of(Recovered)) == 1
    assert peer.truth.sends == 1


@pytest.mark.spec("REST-2", "IDEM-7")
async def test_a_lost_reply_of_0_3_is_unknown_at_once() -> None:
    peer = ScriptedPeer(("0.3",), bindings=REST)
    peer.script(Operation.SEND, DropAfterAccepting())
    async with delegate_to(peer) as delegate:
        result = await delegate.dispatch("work")
    assert isinstance(result, Unknown)
    assert result.effect is Effect.MAY_HAVE_RUN
    assert len(peer.truth.requests) == 1


@VERSION
@pytest.mark.spec("REST-2")
async def test_a_send_that_never_left_is_tried_again(version: str) -> None:
    peer = ScriptedPeer((version,), bindings=REST)
    peer.script(Operation.SEND, DropBeforeReading())
    async with delegate_to(peer) as delegate:
        result = await delegate.dispatch("work")
    assert isinstance(result, Completed)
    assert peer.truth.sends == 1


@pytest.mark.parametrize(
    ("respond", "kind", "effect"),
    [
        (Respond(400, body=b'{"code":-32009,"message":"no"}'), Rejected, Effect.NOT_STARTED),
        (Respond(415, body=b"no"), Rejected, Effect.NOT_STARTED),
        (Respond(415, body=b'{"message":"no"}'), Failed, Effect.MAY_HAVE_RUN),
        (Respond(404, body=b'{"message":"Task not found"}'), Failed, Effect.MAY_HAVE_RUN),
        (Respond(422, body=b'{"message":"no"}'), Failed, Effect.MAY_HAVE_RUN),
        (Respond(500, body=b'{"message":"no"}'), Failed, Effect.MAY_HAVE_RUN),
    ],
)
@pytest.mark.spec("REST-2", "WIRE-18")
async def test_a_refusal_proves_what_it_can_and_no_more(
    respond: Respond, kind: type[object], effect: Effect
) -> None:
    peer = ScriptedPeer(("0.3",), bindings=REST)
    peer.script(Operation.SEND, respond)
    async with delegate_to(peer) as delegate:
        result = await delegate.dispatch("work")
    assert isinstance(result, kind)
    assert result.effect is effect
    with pytest.raises(A2ARequestError):
        result.raise_for_status()
    assert len(requests_of(peer, Operation.SEND)) == 1


@pytest.mark.parametrize(
    ("bindings", "used"),
    [(("JSONRPC", "HTTP+JSON"), "JSONRPC"), (("HTTP+JSON", "JSONRPC"), "HTTP+JSON")],
)
@pytest.mark.spec("CARD-7", "GATE-7")
async def test_the_order_of_the_card_decides(bindings: tuple[str, str], used: str) -> None:
    peer = ScriptedPeer(("1.0",), bindings=bindings)
    async with delegate_to(peer) as delegate:
        result = await delegate.dispatch("work")
    assert result.handle is not None
    assert result.handle.binding == used


@pytest.mark.spec("REST-2", "DLG-3")
async def test_a_downgrade_goes_by_the_next_version() -> None:
    peer, notes = ScriptedPeer(("1.0", "0.3"), bindings=REST), Notes()
    peer.script(Operation.SEND, Respond(400, body=b'{"code":-32009,"message":"no"}'))
    async with delegate_to(peer, allow_downgrade=True) as delegate:
        result = await delegate.dispatch("work", observer=notes)
    assert isinstance(result, Completed)
    assert len(notes.of(Downgraded)) == 1
    assert result.handle is not None
    assert (result.handle.binding, result.handle.version) == ("HTTP+JSON", "0.3")


@pytest.mark.spec("HAND-1")
async def test_a_handle_of_a_binding_that_is_not_spoken_is_refused() -> None:
    peer = ScriptedPeer(("0.3",), bindings=REST)
    async with delegate_to(peer) as delegate:
        result = await delegate.dispatch("work")
        assert result.handle is not None
        before = len(peer.truth.requests)
        with pytest.raises(UsageError, match=r"0\.3 over GRPC is not spoken"):
            await delegate.resume(replace(result.handle, binding="GRPC"))
    assert len(peer.truth.requests) == before


@VERSION
@pytest.mark.parametrize(
    ("verbs", "tried"),
    [(("POST",), ["POST"]), (("GET",), ["POST", "GET"]), (("POST", "GET"), ["POST"])],
)
@pytest.mark.spec("REST-2", "BIND-9")
async def test_a_task_is_watched_by_whichever_verb_the_peer_has(
    version: str, verbs: tuple[str, ...], tried: list[str]
) -> None:
    peer, notes = (
        ScriptedPeer((version,), bindings=REST, streaming=True, subscribe_verbs=verbs),
        Notes(),
    )
    async with (
        delegate_to(peer, watch="stream") as first,
        delegate_to(peer, watch="stream") as second,
        anyio.create_task_group() as group,
    ):
        group.start_soon(partial(first.dispatch, "slow 9", observer=notes))
        await anyio.sleep(1)
        (began,), (known,) = notes.of(Intent), notes.of(IdKnown)
        assert began.handle is not None
        result = await second.resume(replace(began.handle, task_id=known.task_id))
    assert isinstance(result, Completed)
    assert [one.method for one in peer.truth.requests if ":subscribe" in one.url] == tried
