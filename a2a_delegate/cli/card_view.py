"""An agent card for a person and for a program: what it says, and what of it would be used."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from a2a_delegate.cli.outcome_json import error_object
from a2a_delegate.cli.report import in_options
from a2a_delegate.cli.terminal import on_one_line, visible
from a2a_delegate.errors import DelegateError, UnsafeEndpointError, public_url
from a2a_delegate.peer.origins import BoundOrigins
from a2a_delegate.wire.gate import agree
from a2a_delegate.wire.spoken import SPOKEN_BINDINGS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from a2a_delegate.model.card import AgentCard, AgentInterface, AgentSkill
    from a2a_delegate.model.json_value import JSON
    from a2a_delegate.wire.gate import Agreement

_LINE = 200
_DESCRIPTION = 500
_LISTED = 50
"""Entries of one list that a person is shown; `--json` has them all."""


@dataclass(frozen=True, slots=True)
class Looked:
    """What came of looking at a card: `card` where there is one, `error` where it is not usable.

    `why_not` says of each interface, in the card's order, why it is not the one that is used; the
    one that is used has None.
    """

    url: str
    card: AgentCard | None = None
    error: DelegateError | None = None
    why_not: tuple[str | None, ...] = ()


def judge(
    url: str, card: AgentCard, *, allowed_origins: Sequence[str], extensions: Sequence[str] = ()
) -> Looked:
    """Let the gate decide about a card as it would for a delegation.

    Raises UsageError for an origin that is none.
    """
    origins = BoundOrigins(card.source, allowed_origins)
    agreement: Agreement | None = None
    error: DelegateError | None = None
    try:
        agreement = agree(card, is_bound=origins.check, extensions=extensions)
    except DelegateError as refusal:
        error = refusal
    why_not = tuple(_why_not(one, agreement, origins) for one in card.interfaces)
    return Looked(url, card, error, why_not)


def _why_not(
    interface: AgentInterface, agreement: Agreement | None, origins: BoundOrigins
) -> str | None:
    if agreement is not None and interface is agreement.interface:
        return None
    if interface.binding not in SPOKEN_BINDINGS:
        return f"{interface.binding} is not spoken ({' and '.join(SPOKEN_BINDINGS)} are)"
    try:
        origins.check(interface.url)
    except UnsafeEndpointError as refusal:
        return in_options(refusal.reason)
    return _second_to(interface, agreement)


def _second_to(interface: AgentInterface, agreement: Agreement | None) -> str:
    """Say what an interface is good for that could be used, were it not for another one."""
    if agreement is None:
        return "the card is refused"
    uses = []
    if interface is agreement.lookup:
        uses.append("it is only asked what became of a lost reply")
    if interface is agreement.downgrade:
        uses.append("send --allow-downgrade tries it once where the used one is refused")
    if interface in agreement.detours:
        uses.append("it is tried where that cannot be reached")
    return "; ".join(["an earlier one is used", *uses])


def card_object(looked: Looked) -> dict[str, JSON]:
    """Return what `card --json` prints; without a card its facts are null and its lists empty."""
    card = looked.card
    interfaces: list[JSON] = (
        [] if card is None else list(map(_interface, card.interfaces, looked.why_not))
    )
    return {
        "url": public_url(looked.url),
        "usable": looked.error is None,
        "name": None if card is None else card.name,
        "description": None if card is None else card.description,
        "version": None if card is None else card.version,
        "interfaces": interfaces,
        "capabilities": None if card is None else _capabilities(card),
        "default_input_modes": [] if card is None else list(card.default_input_modes),
        "default_output_modes": [] if card is None else list(card.default_output_modes),
        "skills": [] if card is None else [_skill(one) for one in card.skills],
        "notes": [] if card is None else list(card.notes),
        "error": None if looked.error is None else error_object(looked.error),
    }


def _interface(interface: AgentInterface, why_not: str | None) -> JSON:
    return {
        "url": interface.url,
        "binding": str(interface.binding),
        "version": str(interface.version),
        "tenant": interface.tenant,
        "used": why_not is None,
        "why_not": why_not,
    }


def _capabilities(card: AgentCard) -> dict[str, JSON]:
    stated = card.capabilities
    return {
        "streaming": stated.streaming,
        "push_notifications": stated.push_notifications,
        "extended_agent_card": stated.extended_agent_card,
        "extensions": [
            {"uri": one.uri, "required": one.required, "description": one.description}
            for one in stated.extensions
        ],
    }


def _skill(skill: AgentSkill) -> dict[str, JSON]:
    return {
        "id": skill.id,
        "name": skill.name,
        "description": skill.description,
        "tags": list(skill.tags),
        "examples": list(skill.examples),
    }


def card_text(card: AgentCard, why_not: Sequence[str | None]) -> str:
    """Return a card as a person reads it: bounded, one fact a line, and inert on a terminal.

    `why_not` is what `judge` says of its interfaces.
    """
    lines = [on_one_line(f"{card.name} {card.version}".strip(), _LINE)]
    if card.description:
        lines.append(visible(_capped(card.description, _DESCRIPTION)))
    lines += _section("Interfaces", _interface_lines(card, why_not))
    lines += _section("Capabilities", _capability_lines(card))
    lines += _section("Skills", [_skill_line(one) for one in card.skills])
    lines += _section("Notes", [on_one_line(note, _LINE) for note in card.notes])
    return "\n".join(lines)


def _capped(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def _section(title: str, lines: Sequence[str]) -> Iterator[str]:
    if not lines:
        return
    yield f"\n{title}"
    for line in lines[:_LISTED]:
        yield f"  {line}"
    if len(lines) > _LISTED:
        yield f"  … and {len(lines) - _LISTED} more"


def _interface_lines(card: AgentCard, why_not: Sequence[str | None]) -> list[str]:
    lines = []
    # Cards of 0.3 often list their main interface once more.
    first = dict(reversed([*zip(card.interfaces, why_not, strict=True)]))
    for interface in dict.fromkeys(card.interfaces):
        reason = first[interface]
        mark = "used    " if reason is None else "not used"
        told = f"{mark}  {interface.binding} {interface.version}  {interface.url}"
        if interface.tenant is not None:
            told += f"  tenant {interface.tenant}"
        lines.append(on_one_line(told, _LINE))
        if reason is not None:
            lines.append(f"          {on_one_line(reason, _LINE)}")
    return lines


def _capability_lines(card: AgentCard) -> list[str]:
    stated = card.capabilities
    offered = {
        "streaming": stated.streaming,
        "push notifications": stated.push_notifications,
        "extended card": stated.extended_agent_card,
    }
    lines = [f"{name}: {'yes' if there else 'no'}" for name, there in offered.items()]
    for one in stated.extensions:
        need = "required" if one.required else "optional"
        lines.append(on_one_line(f"extension, {need}: {one.uri}", _LINE))
    return lines


def _skill_line(skill: AgentSkill) -> str:
    told = f"{skill.name or skill.id}: {skill.description}" if skill.description else skill.name
    tags = f" [{', '.join(skill.tags)}]" if skill.tags else ""
    return on_one_line(f"{told or skill.id}{tags}", _LINE)
