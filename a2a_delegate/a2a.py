"""A2A agents as delegates: wiring only."""

from __future__ import annotations

import contextlib
import copy
import re
from http import HTTPStatus
from typing import TYPE_CHECKING

import anyio

from a2a_delegate.bindings.jsonrpc import JsonRpcBinding
from a2a_delegate.delegate import (
    INHERIT,
    CancelToken,
    DelegateCapabilities,
    DelegateRequest,
    DispatchOnly,
    as_request,
    check_listeners,
)
from a2a_delegate.errors import A2ARequestError, DelegateError, UsageError
from a2a_delegate.lifecycle.operations import SendMessage
from a2a_delegate.lifecycle.plan import Plan, Route
from a2a_delegate.model.card import ProtocolVersion
from a2a_delegate.model.message import Message, Role, digest_of
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
from a2a_delegate.signals import AttemptFailed, ContextSubstituted, Downgraded, Signal
from a2a_delegate.wire.gate import agree

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping, Sequence
    from types import TracebackType
    from typing import Self

    import httpx

    from a2a_delegate.delegate import Observer
    from a2a_delegate.model.card import AgentCard, AgentInterface
    from a2a_delegate.outcome import DelegateResult
    from a2a_delegate.peer.credentials import AuthProvider
    from a2a_delegate.runtime.owner import OwnedTask
    from a2a_delegate.wire.gate import Agreement


class A2ADelegate(DispatchOnly):
    """One A2A agent as a delegate. An async context manager; `connect` makes one from a URL.

    `card` decides the interface: refusals (version, binding, origin, required extension) are
    raised here, once. `client` carries every request and is neither changed nor closed. `auth` is
    an `httpx.Auth`, or a provider `(principal, origin) -> httpx.Auth`; it and `headers` go to the
    bound origins only. `observers` are told the signals of every delegation.
    """

    capabilities = DelegateCapabilities()

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
        if not isinstance(id, str) or not id:
            raise UsageError(f"a delegate needs a non-empty string as its id; got {id!r}")
        self.id = id
        self.card = card
        self.config = config if config is not None else A2ADelegateConfig()
        self._timing = self.config.timing
        self._client, self._auth, self._headers = client, auth, headers
        self._agreement, self._peer = self._agree(card)
        self._clock = Clock()
        self._observers = (self._notice, *observers)
        self._keeps_contexts = True
        self._lookup: CardLookup | None = None
        self._card_doubted = False
        self._left_behind: list[OwnedTask] = []
        self._loop: object = None
        self._closed = False

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
        self._check(asked)
        check_listeners(cancel, observer)
        await anyio.lowlevel.checkpoint_if_cancelled()
        timeout = self.config.timeout if asked.timeout is INHERIT else asked.timeout
        deadline = nearer_deadline(
            now=self._clock.now(), timeout=timeout, cleanup=self._timing.cleanup
        )
        if self._card_doubted:
            await self._look_at_card_again(deadline, cancel)
        # Each delegation speaks through a peer of its own: a downgrade of one leaves the others.
        peer = copy.copy(self._peer)
        driver = Driver(
            self._plan(asked, peer, deadline),
            peer,
            clock=self._clock,
            observers=self._observers if observer is None else (*self._observers, observer),
            token=cancel,
        )
        try:
            return await driver.run()
        finally:
            self._left_behind = [one for one in self._left_behind if not one.finished]
            self._left_behind += driver.left_behind

    def _check(self, asked: DelegateRequest) -> None:
        if self._closed:
            raise UsageError(f"delegate {self.id!r} is closed")
        if asked.arguments is not None:
            raise UsageError("arguments are for tools and functions; give an agent parts or data")
        loop = anyio.lowlevel.current_token()
        if self._loop not in (None, loop):
            raise UsageError("a delegate serves one event loop; make one for each")
        self._loop = loop

    def _notice(self, signal: Signal) -> None:
        """Learn from one delegation what the next ones should know."""
        match signal:
            case ContextSubstituted():
                # From here on a look-up by context would prove nothing.
                self._keeps_contexts = False
            case Downgraded(refused) if self._peer.version == refused:
                self._peer.downgrade()
            case AttemptFailed(attempt, A2ARequestError() as error) if attempt.operation == "send":
                self._card_doubted = self._card_doubted or _doubts_card(error)
            case _:
                pass

    # -- the card --------------------------------------------------------------------------------

    def _agree(self, card: AgentCard) -> tuple[Agreement, Peer]:
        # A card made by hand was not found anywhere: the interface that is chosen was typed.
        typed = card.source or agree(card, is_bound=_is_typed).interface.url
        origins = BoundOrigins(typed, self.config.allowed_origins)
        agreement = agree(card, is_bound=origins.check)
        binding = JsonRpcBinding(self._client, max_reply_bytes=self.config.max_reply_bytes)
        peer = Peer(
            agreement, binding=binding, origins=origins, headers=self._headers, auth=self._auth
        )
        return agreement, peer

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
                self.card = card

    # -- the plan --------------------------------------------------------------------------------

    def _plan(self, asked: DelegateRequest, peer: Peer, deadline: float | None) -> Plan:
        message_id = self._clock.new_id()
        older = self._agreement.downgrade if self.config.allow_downgrade else None
        fallback = None
        if older is not None and older.version != peer.version:
            fallback = self._route(asked, message_id, older, looks_up=False)
        return Plan(
            delegate_id=self.id,
            route=self._route(asked, message_id, peer.interface, looks_up=peer.can_look_up),
            timing=self._timing,
            deadline=deadline,
            fallback=fallback,
        )

    def _route(
        self,
        asked: DelegateRequest,
        message_id: str,
        interface: AgentInterface,
        *,
        looks_up: bool,
    ) -> Route:
        """Say how the message goes by one interface; ids of ours go where they can be listed."""
        lists = interface.version is ProtocolVersion.V1_0
        own_context = lists and asked.context_id is None and self.config.client_context_ids
        message = Message(
            message_id,
            Role.USER,
            asked.message_parts,
            context_id=self._clock.new_id() if own_context else asked.context_id,
            metadata=asked.metadata,
        )
        intent = DelegationHandle(
            delegate_id=self.id,
            endpoint=interface.url,
            version=interface.version.value,
            binding=interface.binding.value,
            message_id=message_id,
            body_digest=digest_of(message),
            sent_at=self._clock.utc(),
            context_id=message.context_id,
            tenant=interface.tenant,
        )
        return Route(
            intent,
            SendMessage(message, asked.accepted_output_modes),
            looks_up=looks_up,
            by_context=lists and self._keeps_contexts and message.context_id is not None,
            own_context=own_context,
        )


def _is_typed(_: str) -> None:
    """Bind every address: the caller wrote them all."""


def _doubts_card(error: A2ARequestError) -> bool:
    """Whether an error says that the version or the endpoint of the card is gone."""
    gone = {HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED, HTTPStatus.GONE}
    gone |= {HTTPStatus.TEMPORARY_REDIRECT, HTTPStatus.PERMANENT_REDIRECT}
    if error.code is None:
        return error.status in gone
    return error.code in _VERSION_SHAPED


_VERSION_SHAPED = frozenset({-32009, -32601})
"""What peers answer when they do not speak the version, or do not know its methods."""


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
