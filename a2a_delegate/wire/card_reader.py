"""Agent cards as people publish them: which can be used, and why the others cannot."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from a2a_delegate.errors import A2AProtocolMismatchError, CardProblem, InvalidAgentCardError
from a2a_delegate.model.card import (
    AgentCapabilities,
    AgentCard,
    AgentExtension,
    AgentSkill,
    ProtocolVersion,
)
from a2a_delegate.wire.card_interfaces import legacy, listed
from a2a_delegate.wire.json_text import NotJSONError, kind_of, parse
from a2a_delegate.wire.reading import texts
from a2a_delegate.wire.reading_parts import object_or_none, text_or_none

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from a2a_delegate.model.json_value import JSON
    from a2a_delegate.wire.card_interfaces import Candidate

SPOKEN_VERSIONS = tuple(version.value for version in ProtocolVersion)
"""The versions that are spoken; an interface of another one cannot be used."""


def read_card(body: bytes, *, url: str, status: int | None = None) -> AgentCard:
    """Read a card from the bytes of an answer; `url` was asked and is kept as its source.

    `interfaces` holds what can be used: a known version, a known binding, an absolute address.
    What a call does not need may be missing or of a wrong type; `notes` says what was tolerated.

    Raises InvalidAgentCardError, whose `problem` tells the cases apart, and
    A2AProtocolMismatchError where only unknown versions are offered. Nothing else, for any bytes.
    """
    try:
        value = parse(body)
    except NotJSONError as problem:
        _refuse(url, CardProblem.NOT_A_CARD, str(problem), status)
    return card_from(value, url=url, status=status)


def card_from(value: object, *, url: str, status: int | None = None) -> AgentCard:
    """Read a card from a JSON value, as `read_card` does."""
    card = object_or_none(value)
    if card is None:
        _refuse(url, CardProblem.NOT_A_CARD, f"the document is {kind_of(value)}", status)
    name = text_or_none(card.get("name"))
    if name is None:
        _refuse(url, CardProblem.NOT_A_CARD, "the document has no name", status)
    _require_shape(card, url, status)
    candidates = listed(card)
    usable = [found for found in candidates if found.interface is not None]
    if not usable:
        fallback = legacy(card)
        candidates += fallback
        usable = [found for found in fallback if found.interface is not None]
    if not usable:
        _refuse_candidates(candidates, url, status)
    return AgentCard(
        name=name,
        interfaces=tuple(found.interface for found in usable if found.interface is not None),
        description=text_or_none(card.get("description")) or "",
        version=text_or_none(card.get("version")) or "",
        capabilities=_capabilities(card),
        default_input_modes=texts(card.get("defaultInputModes")),
        default_output_modes=texts(card.get("defaultOutputModes")),
        skills=_skills(card.get("skills")),
        source=url,
        notes=tuple(_notes(card, candidates, usable)),
    )


def _refuse(url: str, problem: CardProblem, reason: str, status: int | None) -> NoReturn:
    raise InvalidAgentCardError(url=url, reason=reason, status=status, problem=problem) from None


def _require_shape(card: Mapping[str, JSON], url: str, status: int | None) -> None:
    """Refuse what only looks like a card: many documents have a name, and many a url as well.

    A card has an address, and besides one member that only A2A has, or one that A2A types in its
    own way: an object of capabilities, a list of skills.
    """
    ours = bool(card.get("protocolVersion")) or any(
        isinstance(card.get(name), kind) for name, kind in _ONLY_OURS.items()
    )
    capabilities = isinstance(card.get("capabilities"), dict)
    skills = any(True for _ in _objects(card.get("skills")))
    places = ("supportedInterfaces", "additionalInterfaces")
    if text_or_none(card.get("url")) is None and not any(card.get(name) for name in places):
        if ours or (capabilities and skills):
            reason = "the card names no address: neither url nor supportedInterfaces"
            _refuse(url, CardProblem.NO_USABLE_INTERFACE, reason, status)
        reason = "the document has a name and no more of a card"
        _refuse(url, CardProblem.NOT_A_CARD, reason, status)
    if not (ours or capabilities or skills):
        reason = "the document has a name and an address and no more of a card"
        _refuse(url, CardProblem.NOT_A_CARD, reason, status)


def _refuse_candidates(candidates: Sequence[Candidate], url: str, status: int | None) -> NoReturn:
    """Say what is wrong with all of them: the version first, then the binding, then the address."""
    known = [found for found in candidates if found.version is not None]
    if candidates and not known:
        theirs = tuple(dict.fromkeys(found.version_word for found in candidates))
        raise A2AProtocolMismatchError(url=url, theirs=theirs, ours=SPOKEN_VERSIONS)
    bound = [found for found in known if found.binding is not None]
    if not bound:
        words = ", ".join(dict.fromkeys(found.binding_word for found in known)) or "none"
        reason = f"no interface has a known binding: {words}"
        _refuse(url, CardProblem.NO_USABLE_INTERFACE, reason, status)
    urls = ", ".join(dict.fromkeys(repr(found.url) for found in bound))
    reason = f"no interface has an absolute http or https address: {urls}"
    _refuse(url, CardProblem.BAD_URL, reason, status)


def _capabilities(card: Mapping[str, JSON]) -> AgentCapabilities:
    stated = object_or_none(card.get("capabilities")) or {}
    extended = (
        stated.get("extendedAgentCard"),
        card.get("supportsAuthenticatedExtendedCard"),  # 0.2, 0.3
        card.get("supportsExtendedAgentCard"),  # drafts of 1.0
    )
    return AgentCapabilities(
        streaming=stated.get("streaming") is True,
        push_notifications=stated.get("pushNotifications") is True,
        extended_agent_card=any(flag is True for flag in extended),
        extensions=tuple(_extension(entry) for entry in _objects(stated.get("extensions"))),
    )


def _extension(entry: Mapping[str, JSON]) -> AgentExtension:
    return AgentExtension(
        uri=text_or_none(entry.get("uri")) or "",
        required=entry.get("required") is True,
        description=text_or_none(entry.get("description")),
        params=object_or_none(entry.get("params")),
    )


def _skills(value: JSON) -> tuple[AgentSkill, ...]:
    return tuple(
        AgentSkill(
            id=text_or_none(entry.get("id")) or "",
            name=text_or_none(entry.get("name")) or "",
            description=text_or_none(entry.get("description")) or "",
            tags=texts(entry.get("tags")),
            examples=texts(entry.get("examples")),
        )
        for entry in _objects(value)
    )


def _notes(
    card: Mapping[str, JSON], candidates: Sequence[Candidate], usable: Sequence[Candidate]
) -> list[str]:
    notes = [found.assumed for found in candidates if found.assumed]
    notes += [
        f"an interface is left out: {found.binding_word} {found.version_word} at {found.url!r:.120}"
        for found in candidates
        if found not in usable and found.interface is None
    ]
    if not isinstance(card.get("capabilities"), dict):
        notes.append(f"capabilities is {kind_of(card.get('capabilities'))}: read as none")
    if not isinstance(card.get("skills"), list):
        notes.append(f"skills is {kind_of(card.get('skills'))}: read as none")
    return list(dict.fromkeys(notes))


def _objects(value: JSON) -> list[Mapping[str, JSON]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


_ONLY_OURS: Mapping[str, type] = {
    "supportedInterfaces": list,
    "additionalInterfaces": list,
    "preferredTransport": str,
    "defaultInputModes": list,
    "defaultOutputModes": list,
}
