"""The ways to an agent that a card lists, in either version's shape, and whether one can be used.

1.0 lists `supportedInterfaces`; 0.2 and 0.3 have `url` with `preferredTransport`, and
`additionalInterfaces`. Dual servers publish both in one document, and then 1.0's list wins where
something in it can be used (the rule of both SDKs, CARD-4).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from a2a_delegate.model.card import AgentInterface, Binding, ProtocolVersion
from a2a_delegate.model.frozen import dataclass
from a2a_delegate.wire.reading_parts import text_or_none

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from a2a_delegate.model.json_value import JSON

# Compiled when the first card comes.
_VERSION = r"(?s)[vV]?([0-9]{1,3}\.[0-9]{1,3})(?:[.+-].*)?"
_HOST_PORT = r"(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]):[0-9]{1,5}"
# What no URL may hold. Parsers disagree about a backslash and drop line breaks, so one of them
# would look at another host than the one that is called; braces are a template's.
_NO_URL = r"[\x00-\x20\x7f\\{}<>\"^`|\ud800-\udfff]"
_BINDINGS = {binding.value.upper(): binding for binding in Binding}


@dataclass(frozen=True, slots=True)
class Candidate:
    """One listed way; what is not known of it is None, and `*_word` says how it was spelled."""

    url: str | None
    binding: Binding | None
    version: ProtocolVersion | None
    binding_word: str
    version_word: str
    tenant: str | None = None
    assumed: str = ""
    """What had to be assumed to read it, for the card's notes."""

    @property
    def interface(self) -> AgentInterface | None:
        """The interface, where all of it is known and the address is one."""
        if self.url is None or self.binding is None or self.version is None:
            return None
        if not is_address(self.url, self.binding):
            return None
        return AgentInterface(self.url, self.binding, self.version, self.tenant)


def listed(card: Mapping[str, JSON]) -> list[Candidate]:
    """Return what `supportedInterfaces` lists; entries that are no objects count for nothing."""
    version = card.get("protocolVersion")
    return [
        _listed(entry, card_version=version) for entry in _objects(card.get("supportedInterfaces"))
    ]


def legacy(card: Mapping[str, JSON]) -> list[Candidate]:
    """Return `url` with its transport, then `additionalInterfaces` (0.3 section 5.6)."""
    word = card.get("protocolVersion")
    assumed = "" if word else "no protocolVersion: read as 0.2"
    found = []
    url = text_or_none(card.get("url"))
    if url is not None:
        transport = card.get("preferredTransport")
        found.append(_candidate(url, transport or "JSONRPC", word or "0.2", assumed=assumed))
    for entry in _objects(card.get("additionalInterfaces")):
        spelled = entry.get("transport") or entry.get("protocolBinding")
        found.append(_candidate(entry.get("url"), spelled, word or "0.2", assumed=assumed))
    return found


def is_address(url: str, binding: Binding) -> bool:
    """Whether requests can go there: absolute http(s), or host:port for gRPC (1.0)."""
    if re.search(_NO_URL, url):
        return False
    if binding is Binding.GRPC and re.fullmatch(_HOST_PORT, url):
        return True
    try:
        parts = urlsplit(url)
        _ = parts.port  # raises for one that is none
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname)


def _listed(entry: Mapping[str, JSON], *, card_version: JSON) -> Candidate:
    spelled = entry.get("protocolBinding")
    own = entry.get("protocolVersion")
    assumed = []
    if spelled is None and entry.get("transport") is not None:
        spelled = entry.get("transport")
        assumed.append("an interface names its binding `transport`")
    version = own or card_version or "1.0"
    if not own:
        assumed.append(f"an interface without protocolVersion: read as {version!s:.20}")
    return _candidate(
        entry.get("url"),
        spelled,
        version,
        tenant=text_or_none(entry.get("tenant")),
        assumed="; ".join(assumed),
    )


def _candidate(
    url: JSON, binding: JSON, version: JSON, *, tenant: str | None = None, assumed: str = ""
) -> Candidate:
    return Candidate(
        url=text_or_none(url),
        binding=_BINDINGS.get(binding.upper()) if isinstance(binding, str) else None,
        version=_version(version),
        binding_word=f"{binding!s:.40}",
        version_word=f"{version!s:.40}",
        tenant=tenant,
        assumed=assumed,
    )


def _version(word: JSON) -> ProtocolVersion | None:
    """Read major.minor; a patch never matters, and a JSON number 1.0 is taken for "1.0"."""
    if isinstance(word, float):
        word = str(word)
    match = re.fullmatch(_VERSION, word) if isinstance(word, str) else None
    try:
        return None if match is None else ProtocolVersion(match[1])
    except ValueError:
        return None


def _objects(value: JSON) -> Iterator[Mapping[str, JSON]]:
    items = value if isinstance(value, list) else []
    return (item for item in items if isinstance(item, dict))
