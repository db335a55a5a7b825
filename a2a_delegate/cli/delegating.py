"""What the commands do on the event loop: look at a card, and delegate one request."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import anyio

from a2a_delegate.a2a import A2ADelegate, identifier
from a2a_delegate.errors import DelegateError, DelegationCancelledError
from a2a_delegate.outcome import Cancelled, CancelReceipt, Effect, Failed
from a2a_delegate.peer.own_client import own_client
from a2a_delegate.runtime.card_lookup import fetch_agent_card

if TYPE_CHECKING:
    from collections.abc import Mapping

    from a2a_delegate.delegate import CancelToken, DelegateRequest, Observer
    from a2a_delegate.model.card import AgentCard
    from a2a_delegate.outcome import DelegateResult
    from a2a_delegate.runtime.config import A2ADelegateConfig

CARD_SECONDS = 30.0
"""How long the search for a card may take, where the whole may take longer."""

_LEAST = 0.001
"""Seconds that are always left for a delegation, so that its deadline is one."""


@dataclass(frozen=True, slots=True)
class Refused:
    """Nothing was delegated: the call was wrong, or there is no peer that can be used."""

    error: DelegateError

    @property
    def result(self) -> DelegateResult:
        """The outcome that this amounts to."""
        if isinstance(self.error, DelegationCancelledError):
            return Cancelled(
                delegate_id="",
                effect=Effect.NOT_STARTED,
                by="caller",
                receipt=CancelReceipt.NOT_NEEDED,
            )
        return Failed(delegate_id="", effect=Effect.NOT_STARTED, error=self.error)


@dataclass(frozen=True, slots=True, kw_only=True)
class Errand:
    """One thing to do at one address; `timeout` in seconds for all of it, None for no bound."""

    url: str
    headers: Mapping[str, str]
    timeout: float | None


async def look(errand: Errand, token: CancelToken) -> AgentCard | Refused:
    """Find the card of the agent."""
    try:
        async with own_client() as client:
            return await fetch_agent_card(
                errand.url,
                client=client,
                timeout=errand.timeout,
                cancel=token,
                headers=errand.headers,
            )
    except DelegateError as error:
        return Refused(error)


async def delegate(
    errand: Errand,
    request: DelegateRequest,
    token: CancelToken,
    *,
    config: A2ADelegateConfig,
    observer: Observer,
) -> DelegateResult | Refused:
    """Find the agent and delegate the request to it, all within the one timeout."""
    began, left = anyio.current_time(), errand.timeout
    try:
        async with own_client() as client:
            card = await fetch_agent_card(
                errand.url,
                client=client,
                timeout=CARD_SECONDS if left is None else min(CARD_SECONDS, left),
                cancel=token,
                headers=errand.headers,
            )
            if left is not None:
                left = max(left - (anyio.current_time() - began), _LEAST)
            async with A2ADelegate(
                identifier(card.name), card, client=client, headers=errand.headers, config=config
            ) as agent:
                return await agent.dispatch(
                    replace(request, timeout=left), cancel=token, observer=observer
                )
    except DelegateError as error:
        return Refused(error)
