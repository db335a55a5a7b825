"""What belongs to one origin, tenant or principal, seen from the other end of real sockets."""

from __future__ import annotations

import json
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

import anyio
import httpx
import pytest

from a2a_delegate import AgentInterface, ApiKeyAuth, BearerAuth, fetch_agent_card
from a2a_delegate.bindings.carriage import Bounds
from a2a_delegate.bindings.carriages import Carriages
from a2a_delegate.bindings.exchange import Exchange
from a2a_delegate.lifecycle.operations import GetTask, ListTasks
from a2a_delegate.model.card import Binding, ProtocolVersion
from a2a_delegate.peer.origins import BoundOrigins
from a2a_delegate.peer.own_client import own_client
from a2a_delegate.peer.peer import Peer
from a2a_delegate.testing.cards import card
from a2a_delegate.wire.gate import Agreement
from tests.bindings.loopback import Line, Loopback, peer, reply

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from a2a_delegate.peer.credentials import AuthProvider

pytestmark = [pytest.mark.anyio, pytest.mark.spec("CARR-24")]


def setting(cookie: str) -> Callable[[Line], Awaitable[object]]:
    """Answer every request that the task is not there, and set a cookie."""

    async def talk(line: Line) -> None:
        while True:
            heard = await line.hear()
            error = {"code": -32001, "message": "no such task"}
            body = {"jsonrpc": "2.0", "id": json.loads(heard.body)["id"], "error": error}
            await line.say(
                reply(json.dumps(body).encode(), headers=f"Set-Cookie: {cookie}; Path=/\r\n")
            )

    return talk


def at(there: Loopback, version: str, tenant: str | None = None) -> AgentInterface:
    return AgentInterface(there.url, Binding.JSONRPC, ProtocolVersion(version), tenant)


def make(
    client: httpx.AsyncClient,
    agreement: Agreement,
    *others: Loopback,
    auth: httpx.Auth | AuthProvider | None = None,
) -> Peer:
    return Peer(
        agreement,
        bindings=Carriages(client, bounds=Bounds(10_000)),
        origins=BoundOrigins(agreement.interface.url, [one.url[: -len("/rpc")] for one in others]),
        auth=auth,
    )


def sent(there: Loopback, header: str) -> list[str | None]:
    return [heard.header(header) for heard in there.heard]


async def test_the_token_of_one_origin_never_reaches_another() -> None:
    async with AsyncExitStack() as stack:
        one = await stack.enter_async_context(peer(setting("c=one")))
        other = await stack.enter_async_context(peer(setting("c=other")))
        client = await stack.enter_async_context(own_client())
        agreement = Agreement(at(one, "0.3"), lookup=at(other, "1.0"))
        asks = make(client, agreement, other, auth=lambda _, origin: BearerAuth(f"for-{origin}"))
        for _ in range(2):
            await asks.perform(GetTask("t-1"), Exchange())
            await asks.perform(ListTasks(), Exchange())
    for there in (one, other):
        assert sent(there, "authorization") == [f"Bearer for-{there.url[: -len('/rpc')]}"] * 2
    # Both are ports of one machine, which is one host to a plain jar of cookies.
    assert sent(one, "cookie") == [None, "c=one"]
    assert sent(other, "cookie") == [None, "c=other"]


async def test_what_one_principal_has_never_goes_out_for_another() -> None:
    async with peer(setting("session=of-the-first")) as there, own_client() as client:
        nobody = make(
            client,
            Agreement(at(there, "1.0")),
            auth=lambda principal, _: ApiKeyAuth(principal) if principal else None,
        )
        for principal in ("alice", "bob", None, "alice"):
            await nobody.serving(principal).perform(GetTask("t-1"), Exchange())
    # Not even by the same connection: some servers take that for the identity.
    assert [len(line.heard) for line in there.lines] == [2, 1, 1]
    assert sent(there, "x-api-key") == ["alice", "alice", "bob", None]
    assert sent(there, "cookie") == [None, "session=of-the-first", None, None]


async def test_what_one_tenant_has_never_goes_out_for_another() -> None:
    async with peer(setting("session=of-the-first")) as there, own_client() as client:
        for tenant in ("red", "blue", None, "red"):
            asks = make(client, Agreement(at(there, "1.0", tenant)))
            await asks.perform(GetTask("t-1"), Exchange())
    assert [len(line.heard) for line in there.lines] == [2, 1, 1]
    assert sent(there, "cookie") == [None, "session=of-the-first", None, None]


@pytest.mark.parametrize("given", [False, True])
async def test_the_card_is_asked_for_with_the_credentials_of_its_origin(*, given: bool) -> None:
    async def talk(line: Line) -> None:
        await line.hear()
        told = card(["1.0"], ["JSONRPC"], url=there.url, name="it", tenant=None, streaming=False)
        await line.say(reply(json.dumps(told).encode()))

    asked: list[tuple[str | None, str]] = []

    def provide(principal: str | None, origin: str) -> httpx.Auth:
        asked.append((principal, origin))
        return BearerAuth("tok-1")

    async with peer(talk) as there:
        base = there.url[: -len("/rpc")]
        async with httpx.AsyncClient() if given else own_client() as client:
            with anyio.fail_after(5):
                await fetch_agent_card(base, client=client, auth=provide)
    assert sent(there, "authorization") == ["Bearer tok-1"]
    assert asked == [(None, base)]
