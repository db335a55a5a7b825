"""From a URL to a delegate, and the card that is looked at again when it seems wrong."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio
import httpx
import pytest
import respx

from a2a_delegate import (
    A2ADelegate,
    A2ADelegateConfig,
    Cancelled,
    CancelToken,
    Completed,
    DelegateRequest,
    Effect,
    Failed,
    InvalidAgentCardError,
    UsageError,
    connect,
)
from a2a_delegate.a2a import identifier
from a2a_delegate.runtime.card_lookup import RELEASE
from a2a_delegate.testing import (
    Delay,
    Hang,
    Operation,
    Respond,
    RpcError,
    ScriptedPeer,
)
from tests.runtime.staging import Notes, delegate_to, requests_of

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator


pytestmark = [pytest.mark.anyio, pytest.mark.virtual_time]

VERSIONS = pytest.mark.parametrize("versions", [("1.0",), ("0.3",)], ids="+".join)
BOTH = ("1.0", "0.3")
CARD_URL = "https://peer.example/.well-known/agent-card.json"


@asynccontextmanager
async def connected(
    peer: ScriptedPeer, url: str = "https://peer.example", **options: Any
) -> AsyncGenerator[A2ADelegate, None]:
    """Connect by a URL, with respx leading every request of the client to the peer."""
    transport = peer.transport()

    async def lead(request: httpx.Request) -> httpx.Response:
        carried = httpx.Request(
            request.method,
            request.url,
            headers=request.headers,
            content=await request.aread(),
        )
        response = await transport.handle_async_request(carried)
        return httpx.Response(
            response.status_code, headers=response.headers, content=await response.aread()
        )

    with respx.mock(assert_all_called=False) as router:
        router.route().mock(side_effect=lead)
        async with connect(url, **options) as delegate:
            yield delegate


def cards(peer: ScriptedPeer) -> list[str | None]:
    """Return the validators of the requests for a card."""
    return [one.headers.get("if-none-match") for one in requests_of(peer, Operation.CARD)]


@pytest.mark.spec("DLG-2")
@VERSIONS
async def test_connect_finds_the_card_and_makes_the_delegate(versions: tuple[str, ...]) -> None:
    peer = ScriptedPeer(versions)
    async with connected(peer) as delegate:
        assert delegate.id == "scripted-peer"
        assert delegate.card.source == "https://peer.example"
        result = await delegate.dispatch("work")
    assert isinstance(result, Completed)
    assert len(cards(peer)) == 1
    with pytest.raises(UsageError, match="closed"):
        await delegate.dispatch("work")


@pytest.mark.spec("DLG-2")
async def test_connect_passes_on_what_it_is_given() -> None:
    peer, notes = ScriptedPeer(), Notes()
    options: Any = {
        "id": "mine",
        "headers": {"x-mine": "1"},
        "auth": httpx.BasicAuth("u", "p"),
        "config": A2ADelegateConfig(timeout=7),
        "observers": [notes],
    }
    async with connected(peer, CARD_URL, **options) as delegate:
        assert (delegate.id, delegate.config.timeout) == ("mine", 7)
        await delegate.dispatch("work")
    assert notes.kinds[-1] == "Settled"
    assert {one.headers["x-mine"] for one in peer.truth.requests} == {"1"}
    assert {one.headers["authorization"][:5] for one in peer.truth.requests} == {"Basic"}


@pytest.mark.spec("DLG-2")
async def test_connect_refuses_what_is_no_card() -> None:
    peer = ScriptedPeer()
    peer.always(Operation.CARD, Respond(200, body={}))
    with pytest.raises(InvalidAgentCardError):
        async with connected(peer):
            raise AssertionError
    with pytest.raises(UsageError):
        async with connected(ScriptedPeer(), id=""):
            raise AssertionError
    token = CancelToken()
    token.cancel(ZeroDivisionError())
    with pytest.raises(ZeroDivisionError):
        async with connected(ScriptedPeer(), cancel=token):
            raise AssertionError


@pytest.mark.parametrize(
    ("name", "made"),
    [
        ("Research Agent (v2)", "research-agent-v2"),
        ("  --  ", "agent"),
        ("Ünïcode", "n-code"),
        ("", "agent"),
        ("a" * 100, "a" * 64),
    ],
)
def test_a_name_is_made_an_identifier(name: str, made: str) -> None:
    assert identifier(name) == made


_GONE = [
    Respond(404),
    Respond(405),
    Respond(410),
    Respond(307, {"location": "https://peer.example/new"}),
    RpcError(-32601, "Method not found"),
    RpcError(-32009, "version not supported"),
]


@pytest.mark.spec("DLG-4")
@pytest.mark.parametrize("refusal", _GONE, ids=repr)
async def test_a_card_is_looked_at_again_after_its_endpoint_or_version_is_gone(
    refusal: Respond | RpcError,
) -> None:
    peer = ScriptedPeer()
    peer.script(Operation.SEND, refusal)
    async with connected(peer, config=A2ADelegateConfig(poll_interval=0.1)) as delegate:
        await delegate.dispatch("work")
        assert len(cards(peer)) == 1, "not within the delegation that found it out"
        second = await delegate.dispatch("work")
        third = await delegate.dispatch("work")
    assert [second.status, third.status] == ["completed", "completed"]
    asked = cards(peer)
    assert len(asked) == 2
    assert asked[0] is None
    assert asked[1] is not None


@pytest.mark.spec("DLG-4")
@pytest.mark.parametrize("refusal", [Respond(500), Respond(403), RpcError(-32602)], ids=repr)
async def test_a_card_is_not_doubted_for_other_errors(refusal: Respond | RpcError) -> None:
    peer = ScriptedPeer()
    peer.script(Operation.SEND, refusal)
    async with connected(peer, config=A2ADelegateConfig(poll_interval=0.1)) as delegate:
        await delegate.dispatch("work")
        await delegate.dispatch("work")
    assert len(cards(peer)) == 1


@pytest.mark.spec("DLG-4")
async def test_a_card_that_has_changed_is_used() -> None:
    peer = ScriptedPeer(BOTH)
    before, after = (json.dumps(ScriptedPeer((one,)).card()) for one in BOTH)
    peer.script(Operation.SEND, Respond(404))
    peer.script(Operation.CARD, Respond(200, {"etag": '"1"'}, before), Respond(200, {}, after))
    async with connected(peer, config=A2ADelegateConfig(poll_interval=0.1)) as delegate:
        assert (await delegate.dispatch("work")).status == "failed"
        assert (await delegate.dispatch("work")).status == "completed"
        assert delegate.card.interfaces[0].version == "0.3"
    assert [one.version for one in requests_of(peer, Operation.SEND)] == ["1.0", "0.3"]
    assert cards(peer) == [None, '"1"']


@pytest.mark.spec("DLG-4")
@pytest.mark.parametrize("trouble", [Respond(500), Respond(200, body={}), Respond(404)], ids=repr)
async def test_a_card_that_cannot_be_had_again_leaves_the_one_that_was(trouble: Respond) -> None:
    peer = ScriptedPeer()
    peer.script(Operation.SEND, RpcError(-32601, "Method not found"))
    async with connected(peer) as delegate:
        await delegate.dispatch("work")
        peer.script(Operation.CARD, trouble, trouble, trouble, trouble)
        second = await delegate.dispatch("work")
    assert second.status == "completed"


@pytest.mark.spec("DLG-4", "DEAD-1")
async def test_looking_at_the_card_again_is_inside_the_deadline() -> None:
    peer = ScriptedPeer()
    peer.script(Operation.SEND, RpcError(-32601, "Method not found"))
    async with connected(peer) as delegate:
        await delegate.dispatch("work")
        peer.script(Operation.CARD, Delay(100))
        start = anyio.current_time()
        result = await delegate.dispatch(DelegateRequest("work", timeout=3))
    assert anyio.current_time() - start == pytest.approx(3, abs=0.1)
    assert isinstance(result, Failed)
    assert result.effect is Effect.NOT_STARTED


@pytest.mark.spec("DLG-4", "CXL-4")
async def test_a_cancel_while_looking_at_the_card_again_sends_nothing() -> None:
    peer, token, reason = ScriptedPeer(), CancelToken(), ValueError("enough")
    peer.script(Operation.SEND, RpcError(-32601, "Method not found"))
    async with connected(peer) as delegate:
        await delegate.dispatch("work")
        peer.script(Operation.CARD, Delay(100))
        async with anyio.create_task_group() as group:

            async def cancel() -> None:
                await anyio.sleep(1)
                token.cancel(reason)

            group.start_soon(cancel)
            result = await delegate.dispatch("work", cancel=token)
    assert isinstance(result, Cancelled)
    assert result.reason is reason
    assert peer.truth.sends == 1


@pytest.mark.spec("DLG-4", "CARR-20")
async def test_a_deaf_transport_holds_no_dispatch_up_while_the_card_is_looked_at() -> None:
    peer = ScriptedPeer()
    peer.script(Operation.SEND, RpcError(-32601, "Method not found"))
    async with connected(peer) as delegate:
        await delegate.dispatch("work")
        peer.script(Operation.CARD, Hang(deaf=True))
        start = anyio.current_time()
        result = await delegate.dispatch(DelegateRequest("work", timeout=3))
        assert anyio.current_time() - start == pytest.approx(3 + RELEASE)
        peer.release()
    assert isinstance(result, Failed)
    assert result.effect is Effect.NOT_STARTED


@pytest.mark.spec("DLG-4")
async def test_a_delegate_of_a_given_card_has_nowhere_to_look_again() -> None:
    peer = ScriptedPeer()
    peer.script(Operation.SEND, RpcError(-32601, "Method not found"))
    async with delegate_to(peer) as delegate:
        await delegate.dispatch("work")
        assert (await delegate.dispatch("work")).status == "completed"
    assert cards(peer) == []
