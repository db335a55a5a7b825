"""The gate: which of a card's interfaces is used, decided once, before anything is sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2a_delegate.errors import (
    A2AProtocolMismatchError,
    CardProblem,
    InvalidAgentCardError,
    UnsafeEndpointError,
)
from a2a_delegate.model.frozen import dataclass
from a2a_delegate.wire.card_reader import SPOKEN_VERSIONS
from a2a_delegate.wire.spoken import dialect_for, lists_tasks

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from a2a_delegate.model.card import AgentCard, AgentInterface


@dataclass(frozen=True, slots=True)
class Agreement:
    """The interface that is used, and what else the same card offers beside it.

    `lookup` is a 1.0 interface that can list tasks where the agreed one cannot (0.2, 0.3): it is
    only ever looked at. `downgrade` is the interface of another version to try, once and only where
    the caller allows it, when the peer turns out not to speak the agreed one. `detours` are the
    others of the same version, in the card's order: for a peer that cannot be reached (1.0 section
    5.2).
    """

    interface: AgentInterface
    lookup: AgentInterface | None = None
    downgrade: AgentInterface | None = None
    detours: tuple[AgentInterface, ...] = ()


def agree(
    card: AgentCard, *, is_bound: Callable[[str], None], extensions: Collection[str] = ()
) -> Agreement:
    """Pick the first interface, in the card's order, whose version is spoken over its binding.

    Of a version that is not spoken at all a card has none: `card_reader` leaves it out.

    `is_bound` takes an interface's URL and raises UnsafeEndpointError where the caller did not
    bind its origin. `extensions` are the URIs of those that the caller speaks.

    Raises A2AProtocolMismatchError (no interface at all), InvalidAgentCardError (none that is
    spoken, or a required extension that is not spoken, BIND-4), UnsafeEndpointError.
    """
    spoken = [one for one in card.interfaces if dialect_for(one.version, one.binding)]
    if not spoken:
        _refuse_interfaces(card)
    _refuse_extensions(card, extensions)
    chosen = spoken[0]
    is_bound(chosen.url)
    others = list(_bound(spoken[1:], is_bound))
    return Agreement(
        interface=chosen,
        lookup=None if _lists(chosen) else next((one for one in others if _lists(one)), None),
        downgrade=next((one for one in others if one.version is not chosen.version), None),
        detours=tuple(
            dict.fromkeys(one for one in others if one.version is chosen.version and one != chosen)
        ),
    )


def _lists(interface: AgentInterface) -> bool:
    return lists_tasks(interface.version, interface.binding)


def _bound(
    interfaces: Collection[AgentInterface], is_bound: Callable[[str], None]
) -> Iterator[AgentInterface]:
    """Leave out what the caller did not bind: a second way is no reason to refuse the first."""
    for interface in interfaces:
        try:
            is_bound(interface.url)
        except UnsafeEndpointError:
            continue
        yield interface


def _refuse_interfaces(card: AgentCard) -> None:
    """Name what is missing: any version, in a card made by hand, else how they are carried."""
    url = _url(card)
    if not card.interfaces:
        raise A2AProtocolMismatchError(url=url, theirs=(), ours=SPOKEN_VERSIONS)
    offered = dict.fromkeys(f"{one.binding} {one.version}" for one in card.interfaces)
    verb = "is" if len(offered) == 1 else "are"
    reason = f"{' and '.join(offered)} {verb} not spoken"
    raise InvalidAgentCardError(url=url, reason=reason, problem=CardProblem.NO_USABLE_INTERFACE)


def _refuse_extensions(card: AgentCard, spoken: Collection[str]) -> None:
    missing = [
        one.uri or "one without a URI"
        for one in card.capabilities.extensions
        if one.required and one.uri not in spoken
    ]
    if missing:
        raise InvalidAgentCardError(
            url=_url(card),
            reason=f"the agent requires extensions that are not spoken: {', '.join(missing)}",
            problem=CardProblem.EXTENSION_REQUIRED,
        )


def _url(card: AgentCard) -> str:
    return card.source or next((one.url for one in card.interfaces), "")
