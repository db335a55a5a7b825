"""Cards to publish at a scripted peer, good ones and others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from a2a_delegate import fetch_agent_card
from a2a_delegate.testing import Operation, Respond, ScriptedPeer
from tests.reports.staging import ORIGIN

if TYPE_CHECKING:
    from a2a_delegate import AgentCard
    from tests.reports.staging import Json


def card_of(version: str, /, **changes: Any) -> Json:
    """Write the card of a scripted peer, with some members changed; Ellipsis leaves one out."""
    card = {**ScriptedPeer((version,)).card(), **changes}
    return {name: value for name, value in card.items() if value is not ...}


def at(version: str, url: object) -> Json:
    """Write a card whose one interface is at this address."""
    if version == "1.0":
        interface = {"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
        return card_of(version, supportedInterfaces=[interface])
    return card_of(version, url=url, additionalInterfaces=...)


def shows(card: Any, *versions: str) -> ScriptedPeer:
    """Make a peer of these versions that shows this card."""
    peer = ScriptedPeer(versions or ("1.0",))
    peer.always(Operation.CARD, Respond(200, body=card))
    return peer


async def found(peer: ScriptedPeer, typed: str = ORIGIN) -> AgentCard:
    """Find a peer's card, as `fetch_agent_card` does."""
    async with peer.client() as client:
        return await fetch_agent_card(typed, client=client)
