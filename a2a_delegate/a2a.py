"""A2A agents as delegates: wiring only."""

from __future__ import annotations

import contextlib
import functools
import re
from typing import TYPE_CHECKING

import anyio

from a2a_delegate.bindings.carriages import Carriages
from a2a_delegate.delegate import (
    INHERIT,
    CancelToken,
    DelegateCapabilities,
    as_request,
    check_id,
    check_listeners,
)
from a2a_delegate.errors import A2ARequestError, DelegateError, UsageError
from a2a_delegate.lifecycle.verdict import receipt_of
from a2a_delegate.outcome import DelegationHandle
from a2a_delegate.peer.discovery import CardSource
from a2a_delegate.peer.origins import BoundOrigins
from a2a_delegate.peer.own_client import own_client
from a2a_delegate.peer.peer import Peer
from a2a_delegate.runtime.card_lookup import CardLookup
from a2a_delegate.runtime.clock import Clock
from a2a_delegate.runtime.config import A2ADelegateConfig
from a2a_delegate.runtime.deadlines import nearer_deadline
from a2a_delegate.runtime.driver import Driver
from a2a_delegate.runtime.plans import Planner, interface_of
from a2a_delegate.signals import AttemptFailed, ContextSubstituted, Downgraded, Signal
from a2a_delegate.wire.fault_table import says_gone
from a2a_delegate.wire.gate import agree

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping, Sequence
    from types import TracebackType
    from typing import Self

    import httpx

    from a2a_delegate.delegate import DelegateRequest, Observer
    from a2a_delegate.lifecycle.plan import Plan
    from a2a_delegate.model.card import AgentCard
    from a2a_delegate.outcome import CancelReceipt, DelegateResult
    from a2a_delegate.peer.credentials import AuthProvider
    from a2a_delegate.runtime.owner import OwnedTask
    from a2a_delegate.wire.gate import Agreement


class A2ADelegate:
    """One A2A agent as a delegate. An async context manager; `connect` makes one from a URL.

    `card` decides the interface: refusals (version, binding, origin, required extension) are
    raised here, once. `client` carries every request and is neither changed nor closed. `auth` is
    an `httpx.Auth`, or a provider `(principal, origin) -> httpx.Auth`; it and `headers` go to the
    bound origins only. `observers` are told the signals of every delegation.
    """

    def __init__(
        self,
        id: str,  # noqa: A002 - the word of the seam
        card: AgentCard,
        *,
        client: httpx.AsyncClient,
        auth: httpx.Auth | AuthProvider | None = None,
        headers: Mapping[str, str] | None = None,
        config: A2ADelegateConfig | None = None,
        observers: Sequence[Observer] = (),
    ) -> None:
        check_id(id)
        self.id = id
        self.card = card
        self.config = config if config is not None else A2ADelegateConfig()
        if not isinstance(self.config, A2ADelegateConfig):
            raise UsageError(f"config is an A2ADelegateConfig; got {type(config).__name__}")
        self._timing = self.config.timing
        self._client, self._auth, self._headers = client, auth, headers
        self._agreement, self._peer = self._agree(card)
        self._streams = self._may_stream(card)
        self._clock = Clock()
        self._planner = Planner(id, self.config, self._clock)
        self._observers = tuple(observers)
        self._lost_contexts: set[tuple[str, str | None, str | None]] = set()
        self._lookup: CardLookup | None = None
        self._card_doubted = False
        self._left_behind: list[OwnedTask] = []
        self._loop: object = None
        self._closed = False

    @property
    def capabilities(self) -> DelegateCapabilities:
        """What it offers; progress comes as it happens where the card offers streams."""
        return DelegateCapabilities(cancel=True, resume=True, follow_up=True, stream=self._streams)

    def __repr__(self) -> str:
        """Name the delegate and its peer; no header and no credential."""
        return f"<A2ADelegate {self.id!r} at {self._peer!r}>"

    async def __aenter__(self) -> Self:
        """Return the delegate itself."""
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close it."""
        await self.aclose()

    async def aclose(self) -> None:
        """Refuse further work, and wait, bounded, for requests that ignored their cancellation."""
        self._closed = True
        ends = self._clock.now() + self._timing.release
        with anyio.CancelScope(shield=True):
            lookups = [] if self._lookup is None else self._lookup.left_behind
            for task in (*self._left_behind, *lookups):
                if not task.finished:
                    await task.wait(ends)

    async def dispatch(
        self,
        request: DelegateRequest | str,
        *,
        cancel: CancelToken | None = None,
        observer: Observer | None = None,
    ) -> DelegateResult:
        """Hand the work over and wait for the outcome; see `Delegate.dispatch`."""
        asked = as_request(request)
        if asked.arguments is not None:
            raise UsageError("arguments are for tools and functions; give an agent parts or data")
        check_listeners(cancel, observer)
        peer = None if asked.continues is None else self._peer_of(asked.continues)
        if peer is not None and peer.principal != asked.principal:
            raise UsageError("the task that continues is another principal's")
        await self._begin()
        timeout = self.config.timeout if asked.timeout is INHERIT else asked.timeout
        deadline = self._deadline(timeout)
        if peer is None and self._card_doubted:
            await self._look_at_card_again(deadline, cancel)
        # Each delegation speaks through a peer of its own: a downgrade of one leaves the others.
        peer = peer or self._peer.serving(asked.principal)
        plan = self._planner.hand_over(
            asked,
            peer,
            deadline=deadline,
            keeps_contexts=peer.identity not in self._lost_contexts,
            fallback=self._agreement.downgrade if self.config.allow_downgrade else None,
            detours=self._agreement.detours,
            streams=self._streams,
        )
        return await self._drive(plan, peer, cancel, observer)

    async def resume(
        self,
        handle: DelegationHandle,
        *,
        wait: bool = True,
        cancel: CancelToken | None = None,
        observer: Observer | None = None,
    ) -> DelegateResult:
        """Take up a delegation by its handle; see `Delegate.resume`.

        The endpoint, version and principal are the handle's, whatever the card says today.
        """
        if not isinstance(wait, bool):
            raise UsageError(f"wait is True or False; got {wait!r}")
        check_listeners(cancel, observer)
        peer = self._peer_of(handle)
        await self._begin()
        plan = self._taken_up(handle, peer, deadline=self._deadline(self.config.timeout), wait=wait)
        return await self._drive(plan, peer, cancel, observer)

    async def cancel(self, handle: DelegationHandle, reason: object = None) -> CancelReceipt:
        """Stop a delegation by its handle, and say what came of it; see `Delegate.cancel`.

        The task is looked at first, since one that has ended must not be cancelled; all in all it
        takes at most `recovery_grace` and twice `cancel_grace`.
        """
        peer = self._peer_of(handle)
        await self._begin()
        stop = CancelToken()
        stop.cancel(reason)
        plan = self._taken_up(handle, peer, deadline=None, wait=True)
        return receipt_of(await self._drive(plan, peer, stop, None))

    async def _begin(self) -> None:
        """Refuse what a closed delegate or another loop's is asked, and what nobody waits for."""
        if self._closed:
            raise UsageError(f"delegate {self.id!r} is closed")
        loop = anyio.lowlevel.current_token()
        if self._loop not in (None, loop):
            raise UsageError("a delegate serves one event loop; make one for each")
        self._loop = loop
        await anyio.lowlevel.checkpoint_if_cancelled()

    def _deadline(self, timeout: float | None) -> float | None:
        return nearer_deadline(now=self._clock.now(), timeout=timeout, cleanup=self._timing.cleanup)

    def _peer_of(self, handle: DelegationHandle) -> Peer:
        """Return the peer that a handle is for, pinned to where its task lives.

        A handle is text that may come from anywhere: UsageError for another delegate's or tenant's,
        UnsafeEndpointError for an origin that is not bound.
        """
        if not isinstance(handle, DelegationHandle):
            raise UsageError(f"a handle is a DelegationHandle; got {type(handle).__name__}")
        if handle.delegate_id != self.id:
            raise UsageError(f"the handle is one of {handle.delegate_id!r}, not of {self.id!r}")
        agreed = self._agreement
        used = agreed.interface, agreed.lookup, agreed.downgrade, *agreed.detours
        if handle.tenant not in [one.tenant for one in used if one is not None]:
            raise UsageError("the handle is one of another tenant")
        return self._peer.pinned(interface_of(handle)).serving(handle.principal)

    def _taken_up(
        self, handle: DelegationHandle, peer: Peer, *, deadline: float | None, wait: bool
    ) -> Plan:
        keeps_contexts = peer.identity not in self._lost_contexts
        return self._planner.take_up(
            handle,
            peer,
            deadline=deadline,
            keeps_contexts=keeps_contexts,
            wait=wait,
            streams=self._streams,
        )

    async def _drive(
        self, plan: Plan, peer: Peer, cancel: CancelToken | None, observer: Observer | None
    ) -> DelegateResult:
        told: list[Observer] = [functools.partial(self._notice, peer), *self._observers]
        if observer is not None:
            told.append(observer)
        driver = Driver(plan, peer, clock=self._clock, observers=told, token=cancel)
        try:
            return await driver.run()
        finally:
            self._left_behind = [one for one in self._left_behind if not one.finished]
            self._left_behind += driver.left_behind

    def _notice(self, peer: Peer, signal: Signal) -> None:
        """Learn from one delegation what the next ones should know."""
        match signal:
            case ContextSubstituted():
                # From here on a look-up by context would prove nothing.
                self._lost_contexts.add(peer.identity)
            case Downgraded(refused, handle=handle) if self._peer.version == refused and handle:
                self._peer.switch(interface_of(handle))
            case AttemptFailed(attempt, A2ARequestError() as error) if attempt.operation == "send":
                self._card_doubted = self._card_doubted or says_gone(error)
            case _:
                pass

    # -- the card --------------------------------------------------------------------------------

    def _agree(self, card: AgentCard) -> tuple[Agreement, Peer]:
        # A card made by hand was not found anywhere: the interface that is chosen was typed.
        spoken = self.config.extensions
        typed = card.source or agree(card, is_bound=_is_typed, extensions=spoken).interface.url
        origins = BoundOrigins(typed, self.config.allowed_origins)
        agreement = agree(card, is_bound=origins.check, extensions=spoken)
        peer = Peer(
            agreement,
            bindings=Carriages(self._client, bounds=self.config.bounds),
            origins=origins,
            headers=self._headers,
            auth=self._auth,
            extensions=spoken,
        )
        return agreement, peer

    def _may_stream(self, card: AgentCard) -> bool:
        """Whether tasks are watched by stream. Raises UsageError where that is asked and cannot be.

        Streams are asked for only where the card offers them (METH-13).
        """
        offered = card.capabilities.streaming
        if self.config.watch == "stream" and not offered:
            raise UsageError('watch="stream" needs a card that offers streaming; this one does not')
        return offered and self.config.watch != "poll"

    async def _look_at_card_again(self, deadline: float | None, cancel: CancelToken | None) -> None:
        """Ask whether the card has changed: a peer said that its version or endpoint is gone.

        Within the delegation's own deadline; whatever comes of it, the send follows and says more.
        """
        self._card_doubted = False
        if self._lookup is None:
            return
        card = await self._lookup.find_changed(deadline=deadline, cancel=cancel)
        if card is not None:
            with contextlib.suppress(DelegateError):  # then the card that we have stays
                self._agreement, self._peer = self._agree(card)
                self._streams = self._may_stream(card)
                self.card = card


def _is_typed(_: str) -> None:
    """Bind every address: the caller wrote them all."""


@contextlib.asynccontextmanager
async def connect(
    url: str,
    *,
    id: str | None = None,  # noqa: A002 - the word of the seam
    auth: httpx.Auth | AuthProvider | None = None,
    headers: Mapping[str, str] | None = None,
    config: A2ADelegateConfig | None = None,
    observers: Sequence[Observer] = (),
    cancel: CancelToken | None = None,
) -> AsyncGenerator[A2ADelegate, None]:
    """Find an agent by its URL and make a delegate of it, for one `async with` block.

    `url` is the agent's address or that of its card; requests and credentials go to its origin
    and to `config.allowed_origins` only. `id` defaults to the card's name made an identifier. The
    client is made and closed here; to bring your own use `fetch_agent_card` and `A2ADelegate`.

    Raises, once, here: PeerUnreachableError (phase `card`), InvalidAgentCardError,
    A2AProtocolMismatchError, UnsafeEndpointError, and UsageError for a wrong argument.
    """
    async with own_client() as client:
        lookup = CardLookup(CardSource(url, client=client, headers=headers, auth=auth))
        card = await lookup.find(cancel=cancel)
        delegate = A2ADelegate(
            id if id is not None else identifier(card.name),
            card,
            client=client,
            auth=auth,
            headers=headers,
            config=config,
            observers=observers,
        )
        delegate._lookup = lookup  # noqa: SLF001 - only this wiring knows where the card came from
        async with delegate:
            yield delegate


def identifier(name: str) -> str:
    """Make an id of a card's name: lower case, words joined by hyphens, `agent` for no words."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:64] or "agent"
