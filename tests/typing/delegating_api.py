"""Delegating, with every option; type-checked and never run."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_type

import httpx

from a2a_delegate import (
    INHERIT,
    A2ADelegate,
    A2ADelegateConfig,
    AgentCard,
    ApiKeyAuth,
    AuthProvider,
    BearerAuth,
    CancelToken,
    DataPart,
    DelegateRequest,
    DelegateResult,
    FilePart,
    Observer,
    Part,
    TextPart,
    __version__,
    connect,
    fetch_agent_card,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from a2a_delegate import Nothing  # type: ignore[attr-defined]  # noqa: F401

assert_type(__version__, str)


async def the_short_way() -> str:
    async with connect("https://research.example") as delegate:
        assert_type(delegate, A2ADelegate)
        assert_type(delegate.id, str)
        assert_type(delegate.card, AgentCard)
        assert_type(delegate.config, A2ADelegateConfig)
        result = await delegate.dispatch("Summarise the three newest papers on X")
        assert_type(result, DelegateResult)
        return result.raise_for_status().output or ""


async def every_option(client: httpx.AsyncClient, auth: httpx.Auth, observer: Observer) -> None:
    config = A2ADelegateConfig(
        timeout=None,
        poll_interval=0.5,
        poll_interval_max=10,
        cancel_grace=1.0,
        recovery_grace=0.0,
        recovery_timeout=3.0,
        client_context_ids=False,
        max_reply_bytes=1024,
        allowed_origins=("https://other.example",),
        allow_downgrade=True,
        watch="poll",
    )
    token = CancelToken()
    async with connect(
        "https://research.example",
        id="research",
        auth=auth,
        headers={"X-Team": "blue"},
        config=config,
        observers=[observer],
        cancel=token,
    ) as delegate:
        await delegate.dispatch("find X", cancel=token, observer=observer)

    card = await fetch_agent_card(
        "https://research.example", client=client, timeout=5, cancel=token, auth=auth
    )
    assert_type(card, AgentCard)
    async with A2ADelegate("research", card, client=client, config=config) as own:
        await own.aclose()

    A2ADelegateConfig(30)  # type: ignore[call-arg]
    A2ADelegateConfig(watch="push")  # type: ignore[arg-type]
    A2ADelegate("research", card)  # type: ignore[call-arg]


def provider(principal: str | None, origin: str) -> httpx.Auth | None:
    if principal is None:
        return ApiKeyAuth("key", header="X-Key") if origin else BearerAuth("token")
    return httpx.BasicAuth(principal, "secret")


BearerAuth()  # type: ignore[call-arg]
ApiKeyAuth("key", "X-Key")  # type: ignore[call-arg]


auth_provider: AuthProvider = provider


def requests(parts: Sequence[Part], ready_made: dict[str, int]) -> list[DelegateRequest]:
    request = DelegateRequest(
        "look at this",
        parts=(TextPart("a"), DataPart({"n": [1, None]}), FilePart(content=b"%PDF"), *parts),
        arguments=ready_made,
        context_id="c-1",
        metadata={"trace": "t-1"},
        accepted_output_modes=("application/json",),
        timeout=30,
    )
    request.prompt = "another"  # type: ignore[misc]
    DelegateRequest("a", (TextPart("b"),))  # type: ignore[call-arg]
    DelegateRequest(7)  # type: ignore[arg-type]
    return [request, DelegateRequest("a", timeout=None), DelegateRequest("a", timeout=INHERIT)]
