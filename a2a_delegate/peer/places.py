"""Where an agent card may be, given what a person types (CARD-1, CARD-2)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from a2a_delegate.errors import UnsafeEndpointError, UsageError, public_url
from a2a_delegate.peer.origins import parse_url

if TYPE_CHECKING:
    import httpx

WELL_KNOWN = ("/.well-known/agent-card.json", "/.well-known/agent.json")
"""The path of 0.3 and 1.0, then that of 0.2, which some servers of 0.3 still use."""

_LOCAL = r"(?i)localhost\b|127\.|\[::1\]"
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


def places_of(typed: str) -> tuple[httpx.URL, ...]:
    """Return the addresses to look for a card at, in order, all on the origin that was typed.

    The full URL of a card (its path ends in `.json`) is the only one. Else the card is looked for
    below the typed path, where agents that share a host have it, and then at the host's root. A
    query stays, a fragment goes. Raises UsageError for what is no address and says what to type,
    and UnsafeEndpointError for one with user information.
    """
    if not isinstance(typed, str):
        raise UsageError(f"the URL of an agent is text; got {type(typed).__name__}")
    url = _parsed(typed.strip())
    # The raw path: an encoded slash is no slash.
    raw, mark, query = url.raw_path.decode("ascii").partition("?")
    path = raw.rstrip("/")
    if path.endswith(".json"):
        paths: tuple[str, ...] = (path,)
    else:
        base = path.removesuffix("/.well-known")
        bases = (base, "") if base else ("",)
        paths = tuple(one + well_known for one in bases for well_known in WELL_KNOWN)
    return tuple(
        url.copy_with(raw_path=f"{one}{mark}{query}".encode("ascii"), fragment=None)
        for one in paths
    )


def _parsed(typed: str) -> httpx.URL:
    if not _SCHEME.match(typed):
        bare = typed.lstrip("/") or "agent.example"
        example = f"{'http' if re.match(_LOCAL, bare) else 'https'}://{bare}"
        raise UsageError(
            f"{public_url(typed)!r} is no URL of an agent: type it with its scheme, such as "
            f"{public_url(example)!r}"
        )
    try:
        return parse_url(typed)[0]
    except UnsafeEndpointError as problem:
        if "@" in typed:
            raise
        raise UsageError(f"{public_url(typed)!r} is no URL of an agent: {problem.reason}") from None
