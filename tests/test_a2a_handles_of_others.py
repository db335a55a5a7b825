"""Whose a handle is: a stranger's is refused, and its principal's credentials go with it."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from a2a_delegate import (
    A2ADelegate,
    A2ADelegateConfig,
    Completed,
    DelegateRequest,
    DelegationHandle,
    UnsafeEndpointError,
    UsageError,
)
from a2a_delegate.testing import ScriptedPeer
from tests.begun_tasks import handle_of
from tests.faults.play import card_of
from tests.runtime.staging import delegate_to

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

pytestmark = [pytest.mark.anyio, pytest.mark.virtual_time]


async def refuse_everything(
    delegate: A2ADelegate, handle: DelegationHandle, error: type[Exception], match: str
) -> None:
    with pytest.raises(error, match=match):
        await delegate.resume(handle)
    with pytest.raises(error, match=match):
        await delegate.resume(handle, wait=False)
    with pytest.raises(error, match=match):
        await delegate.cancel(handle)
    with pytest.raises(error, match=match):
        await delegate.dispatch(DelegateRequest("answer", continues=handle))


@pytest.mark.spec("HAND-6")
@pytest.mark.parametrize(
    ("fact", "match"),
    [
        ({"delegate_id": "somebody else"}, "somebody else"),
        ({"tenant": "another"}, "another tenant"),
        ({"version": "9.9"}, "no interface of A2A"),
        ({"binding": "CARRIER-PIGEON"}, "no interface of A2A"),
        ({"binding": "GRPC"}, "not spoken"),
    ],
)
async def test_the_handle_of_somebody_else_is_refused(fact: dict[str, Any], match: str) -> None:
    peer = ScriptedPeer()
    handle = await handle_of(peer, "stuck")
    before = len(peer.truth.requests)
    async with delegate_to(peer) as delegate:
        await refuse_everything(delegate, replace(handle, **fact), UsageError, match)
    assert len(peer.truth.requests) == before


@pytest.mark.spec("HAND-7")
@pytest.mark.parametrize(
    "endpoint",
    [
        "https://elsewhere.example/rpc",
        "http://peer.example/rpc",
        "https://peer.example:8443/rpc",
        "https://user@peer.example/rpc",
        "file:///etc/passwd",
        "not a url",
    ],
)
async def test_a_handle_to_an_origin_that_is_not_bound_is_refused(endpoint: str) -> None:
    peer = ScriptedPeer()
    handle = await handle_of(peer, "stuck")
    before = len(peer.truth.requests)
    async with delegate_to(peer) as delegate:
        stolen = replace(handle, endpoint=endpoint)
        await refuse_everything(delegate, stolen, UnsafeEndpointError, ".")
    assert len(peer.truth.requests) == before


@pytest.mark.spec("HAND-6")
async def test_what_is_no_handle_is_refused() -> None:
    peer = ScriptedPeer()
    handle: Any = json.loads((await handle_of(peer, "work 1")).to_json())
    async with delegate_to(peer) as delegate:
        with pytest.raises(UsageError, match="wait is True or False"):
            await delegate.resume(handle, wait="no")  # type: ignore[arg-type]
        with pytest.raises(UsageError, match="DelegationHandle"):
            await delegate.resume(handle)
        with pytest.raises(UsageError, match="DelegationHandle"):
            await delegate.cancel(handle)
    with pytest.raises(UsageError, match="DelegationHandle"):
        DelegateRequest("answer", continues=handle)


@pytest.mark.spec("HAND-6")
async def test_an_answer_goes_to_the_principal_of_its_question() -> None:
    peer = ScriptedPeer()
    async with delegate_to(peer) as delegate:
        asked = await delegate.dispatch(DelegateRequest("ask", principal="alice"))
        assert asked.handle is not None
        assert asked.handle.principal == "alice"
        for another in (None, "bob"):
            with pytest.raises(UsageError, match="another principal"):
                await delegate.dispatch(
                    DelegateRequest("this", continues=asked.handle, principal=another)
                )
        answered = await delegate.dispatch(
            DelegateRequest("this", continues=asked.handle, principal="alice")
        )
    assert isinstance(answered, Completed)


class Named(httpx.Auth):
    """Names the principal, as a token would."""

    def __init__(self, principal: str | None) -> None:
        self._principal = principal

    def auth_flow(self, request: httpx.Request) -> Any:
        request.headers["Authorization"] = f"Bearer of {self._principal}"
        yield request


@asynccontextmanager
async def delegate_for_principals(
    peer: ScriptedPeer, seen: list[str]
) -> AsyncGenerator[A2ADelegate, None]:
    async def take_down(request: httpx.Request) -> None:
        seen.append(request.headers["Authorization"])

    async with (
        httpx.AsyncClient(
            transport=peer.transport(), trust_env=False, event_hooks={"request": [take_down]}
        ) as client,
        A2ADelegate(
            "peer",
            card_of(peer.versions),
            client=client,
            auth=lambda principal, _: Named(principal),
            config=A2ADelegateConfig(),
        ) as delegate,
    ):
        yield delegate


@pytest.mark.spec("HAND-8")
async def test_every_request_for_a_handle_authenticates_as_its_principal() -> None:
    peer, seen = ScriptedPeer(), list[str]()
    async with delegate_for_principals(peer, seen) as delegate:
        asked = await delegate.dispatch(DelegateRequest("ask", principal="alice"))
        assert asked.handle is not None
        await delegate.resume(asked.handle, wait=False)
        await delegate.dispatch(DelegateRequest("2", continues=asked.handle, principal="alice"))
        await delegate.cancel(asked.handle)
    assert len(seen) >= 4
    assert set(seen) == {"Bearer of alice"}
