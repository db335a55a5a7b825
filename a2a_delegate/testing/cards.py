"""The card of a scripted peer, in the shape of its versions."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from a2a_delegate.testing.places import JSONRPC, endpoint

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from a2a_delegate.testing.face import Json


def card_path(versions: Sequence[str]) -> str:
    """Return where the card stands, on the peer's origin: that of 0.2 has a path of its own."""
    return f"/.well-known/{'agent' if list(versions) == ['0.2'] else 'agent-card'}.json"


def card(
    versions: Sequence[str],
    bindings: Sequence[str],
    *,
    url: str,
    name: str,
    tenant: str | None,
    streaming: bool,
) -> Json:
    """Write the card: of one version, or of several in one as a2a-sdk 1.3 blends them."""
    common = _common(name, streaming=streaming)
    endpoints = {binding: endpoint(url, binding) for binding in bindings}
    if list(versions) == ["0.2"]:
        return common | _v0_2(url)
    if list(versions) == ["0.3"]:
        return common | _v0_3(endpoints, "0.3.0")
    blended: Json = common
    blended["supportedInterfaces"] = [
        _interface(version, binding, endpoints[binding], tenant)
        for version in versions
        for binding in bindings
        if version != "0.2" or binding == JSONRPC
    ]
    if "0.3" in versions:
        blended |= _v0_3(endpoints, "0.3")
    if "0.2" in versions:
        blended |= _v0_2(url)
    return blended


def etag(content: bytes) -> str:
    """Make the weak validator that a2a-sdk sends with its cards."""
    return f'W/"{hashlib.sha256(content).hexdigest()}"'


def matches(if_none_match: str, tag: str) -> bool:
    """Say whether a conditional request names this card (RFC 9110 13.1.2: weak comparison)."""
    named = {value.strip().removeprefix("W/") for value in if_none_match.split(",")}
    return "*" in named or tag.removeprefix("W/") in named


def to_bytes(value: object) -> bytes:
    """Write JSON as servers do: compact, and in UTF-8 rather than escaped."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    # A lone surrogate came in escaped and has no UTF-8 of its own: `\\ud800` is its JSON again.
    return text.encode("utf-8", "backslashreplace")


def _common(name: str, *, streaming: bool) -> Json:
    return {
        "name": name,
        "description": "A scripted peer of a2a_delegate.testing",
        "version": "1.0.0",
        "capabilities": {"streaming": streaming, "pushNotifications": False},
        "defaultInputModes": ["text/plain"],
        "defaultOutputModes": ["text/plain", "application/json"],
        "skills": [
            {
                "id": "scripted",
                "name": "Scripted work",
                "description": "Does what the first word of the message says",
                "tags": ["test"],
                "examples": ["slow 3"],
            }
        ],
    }


def _interface(version: str, binding: str, url: str, tenant: str | None) -> Json:
    interface: Json = {"url": url, "protocolBinding": binding, "protocolVersion": version}
    return interface if tenant is None or version != "1.0" else {**interface, "tenant": tenant}


def _v0_2(url: str) -> Json:
    return {"url": url, "protocolVersion": "0.2.6"}


def _v0_3(endpoints: Mapping[str, str], version: str) -> Json:
    """Write the members of 0.3; beside those of 1.0, only what is not the main one is listed."""
    main = next(iter(endpoints))
    listed = [
        {"transport": binding, "url": url}
        for binding, url in endpoints.items()
        if version == "0.3.0" or binding != main
    ]
    members: Json = {"url": endpoints[main], "preferredTransport": main, "protocolVersion": version}
    return {**members, "additionalInterfaces": listed} if listed else members
