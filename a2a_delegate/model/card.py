"""Agent cards: what a peer says about itself (A2A 1.0 section 4.4, 0.3 section 5.5)."""

from __future__ import annotations

from dataclasses import field
from enum import StrEnum
from typing import TYPE_CHECKING

from a2a_delegate.model.frozen import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from a2a_delegate.model.json_value import JSON


class Binding(StrEnum):
    """How requests are carried; the words of the specification."""

    JSONRPC = "JSONRPC"
    HTTP_JSON = "HTTP+JSON"
    GRPC = "GRPC"


class ProtocolVersion(StrEnum):
    """A2A versions on the wire, by major.minor; a patch never matters (1.0 section 3.6)."""

    V0_2 = "0.2"
    V0_3 = "0.3"
    V1_0 = "1.0"


@dataclass(frozen=True, slots=True)
class AgentInterface:
    """One way to reach an agent. `url` is used byte for byte; `tenant` goes with each request."""

    url: str
    binding: Binding
    version: ProtocolVersion
    tenant: str | None = None


@dataclass(frozen=True, slots=True)
class AgentExtension:
    """An extension that an agent declares; one with `required` must be spoken by the client."""

    uri: str
    required: bool = False
    description: str | None = None
    params: Mapping[str, JSON] | None = None


@dataclass(frozen=True, slots=True)
class AgentCapabilities:
    """What an agent offers beyond sending and asking."""

    streaming: bool = False
    push_notifications: bool = False
    extended_agent_card: bool = False
    extensions: tuple[AgentExtension, ...] = ()


@dataclass(frozen=True, slots=True)
class AgentSkill:
    """A thing that an agent can do, in its own words: text from outside, never instructions."""

    id: str
    name: str
    description: str = ""
    tags: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AgentCard:
    """A card that can be used.

    `interfaces` are those with a known version, a known binding and an absolute URL, in the
    card's order. `source` is the URL that the caller typed: its origin is where credentials may
    go; None for a card made by hand. `notes` say what was tolerated in reading it.
    """

    name: str
    interfaces: tuple[AgentInterface, ...]
    description: str = ""
    version: str = ""
    capabilities: AgentCapabilities = field(default_factory=AgentCapabilities)
    default_input_modes: tuple[str, ...] = ()
    default_output_modes: tuple[str, ...] = ()
    skills: tuple[AgentSkill, ...] = ()
    source: str | None = None
    notes: tuple[str, ...] = ()
