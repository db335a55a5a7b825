"""What the commands do on the event loop: look at a card, delegate, take up, call off."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import anyio

from a2a_delegate.a2a import A2ADelegate, identifier
from a2a_delegate.delegate import CancelToken
from a2a_delegate.errors import DelegateError, DelegationCancelledError, UsageError
from a2a_delegate.model.card import AgentCapabilities, AgentCard
from a2a_delegate.outcome import Cancelled, CancelReceipt, Effect, Failed, Unknown
from a2a_delegate.peer.own_client import own_client
from a2a_delegate.peer.places import places_of
from a2a_delegate.runtime.card_lookup import CARD_TIMEOUT, fetch_agent_card
from a2a_delegate.runtime.plans import interface_of
from a2a_delegate.wire.spoken import dialect_for, lists_tasks

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping

    from a2a_delegate.delegate import DelegateRequest, Observer
    from a2a_delegate.outcome import DelegateResult, DelegationHandle
    from a2a_delegate.runtime.config import A2ADelegateConfig

_LEAST = 0.001
"""Seconds that are always left for a delegation, so that its deadline is one."""


@dataclass(frozen=True, slots=True)
class Refused:
    """Nothing was delegated: the call was wrong, or there is no peer that can be used.

    `begun` says that it was about work which had been begun before: refused is then only to ask
    what became of it, by `handle` where one could be read.
    """

    error: DelegateError
    begun: bool = False
    handle: DelegationHandle | None = None

    @property
    def result(self) -> DelegateResult:
        """The outcome that this amounts to; of work that was begun before nothing is known."""
        if self.begun:
            named = "" if self.handle is None else self.handle.delegate_id
            return Unknown(
                delegate_id=named,
                effect=Effect.MAY_HAVE_RUN,
                handle=self.handle,
                cause=self.error,
            )
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
    """One thing to do at one address; `timeout` in seconds for all of it, None for no bound.

    `url` is what was typed; empty where only a handle says where to go.
    """

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
    try:
        # An answer needs no card, and is bound to what was typed all the same.
        places_of(errand.url)
        async with _agent(errand, token, handle=request.continues, config=config) as agent:
            return await agent.dispatch(request, cancel=token, observer=observer)
    except DelegateError as error:
        return Refused(error)


async def take_up(
    errand: Errand,
    handle: DelegationHandle,
    token: CancelToken,
    *,
    config: A2ADelegateConfig,
    observer: Observer,
    wait: bool,
) -> DelegateResult | Refused:
    """Take up what a handle stands for, or without `wait` look at it once."""
    try:
        async with _agent(errand, token, handle=handle, config=config) as agent:
            return await agent.resume(handle, wait=wait, cancel=token, observer=observer)
    except DelegateError as error:
        return Refused(error, begun=True, handle=handle)


async def call_off(
    errand: Errand,
    handle: DelegationHandle,
    token: CancelToken,
    *,
    config: A2ADelegateConfig,
    observer: Observer,
) -> DelegateResult | Refused:
    """Stop what a handle stands for; `receipt_of` says of the outcome what came of that.

    As `A2ADelegate.cancel` does it, but with the evidence. Of `token` only the search for a card
    takes notice: nothing can stop the stopping, which is bounded.
    """
    stopping = CancelToken()
    stopping.cancel()
    try:
        async with _agent(errand, token, handle=handle, config=config) as agent:
            result = await agent.resume(handle, cancel=stopping, observer=observer)
    except DelegateError as error:
        return Refused(error, begun=True, handle=handle)
    # What the first look found ended is late only for us: no cancel was asked for.
    asked = any(attempt.operation == "cancel" for attempt in result.attempts)
    return result if asked else replace(result, late=False)


def needs_card(handle: DelegationHandle) -> bool:
    """Whether only a card can tell of a way to look the delegation up.

    That is so without a task id where the handle's own version cannot list (0.3, 0.2): another
    interface of the agent may. Everything else is asked where the handle says.
    """
    if handle.task_id is not None:
        return False
    try:
        interface = interface_of(handle)
    except UsageError:
        return False  # it is refused, whatever a card says
    return not lists_tasks(interface.version, interface.binding)


@contextlib.asynccontextmanager
async def _agent(
    errand: Errand,
    token: CancelToken,
    *,
    handle: DelegationHandle | None,
    config: A2ADelegateConfig,
) -> AsyncGenerator[A2ADelegate, None]:
    """Make a delegate of the agent; what its card takes of the timeout is not left for the rest.

    With a handle the card says no more than that does, so requests go where it was made; the
    origin that is bound is that of the typed URL, else the handle's.
    """
    began, left = anyio.current_time(), errand.timeout
    async with own_client() as client:
        streams = config.watch == "stream"
        card = None if handle is None else _card_by_hand(handle, errand.url, streams=streams)
        if card is None or (errand.url and handle is not None and needs_card(handle)):
            card = await fetch_agent_card(
                errand.url,
                client=client,
                timeout=CARD_TIMEOUT if left is None else min(CARD_TIMEOUT, left),
                cancel=token,
                headers=errand.headers,
            )
        if left is not None:
            left = max(left - (anyio.current_time() - began), _LEAST)
        async with A2ADelegate(
            identifier(card.name) if handle is None else handle.delegate_id,
            card,
            client=client,
            headers=errand.headers,
            config=replace(config, timeout=left),
        ) as agent:
            yield agent


def _card_by_hand(handle: DelegationHandle, typed: str, *, streams: bool) -> AgentCard:
    """Make the card that says no more than the handle does, and bind what was typed.

    Whether the agent offers streams no handle tells; whoever asks for them knows.

    Raises UsageError for a handle that cannot be used here and for what is no URL,
    UnsafeEndpointError for a URL with user information.
    """
    if typed:
        places_of(typed)
    interface = interface_of(handle)
    if dialect_for(interface.version, interface.binding) is None:
        named = f"A2A {interface.version} over {interface.binding}"
        raise UsageError(f"{named}, which the handle names, is not spoken")
    return AgentCard(
        handle.delegate_id,
        (interface,),
        capabilities=AgentCapabilities(streaming=streams),
        source=typed.strip() or None,
    )
