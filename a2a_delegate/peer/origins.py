"""Where requests and credentials may go: the origins that the caller bound, and no others.

A card is text from outside. It names the addresses to send work to, so it could name a stranger's,
or one inside the caller's own network. What counts is what the caller typed or allowed (CARD-18).
Origins are read with httpx's own parser, so what is compared is what would be connected to.
"""

from __future__ import annotations

import ipaddress
import re
from typing import TYPE_CHECKING

import httpx

from a2a_delegate.errors import UnsafeEndpointError, UsageError, public_url, shown
from a2a_delegate.model.frozen import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable

_DEFAULT_PORTS = {"http": 80, "https": 443}
_LAST_PORT = 65535
_AUTHORITY_END = re.compile("[/?#]")


@dataclass(frozen=True, slots=True)
class Origin:
    """Scheme, host and port (RFC 6454), as they are connected to.

    `host` is in lower case, in its ASCII form, and an IPv6 address is in its shortest form. A
    trailing dot stays: it is another name to TLS and to servers.
    """

    scheme: str
    host: str
    port: int

    @property
    def is_loopback(self) -> bool:
        """Whether it is this machine by name or address; `0.0.0.0` and `[::]` name no host."""
        if self.host == "localhost":
            return True
        try:
            address = ipaddress.ip_address(self.host)
        except ValueError:
            return False
        if isinstance(address, ipaddress.IPv4Address):
            return address.is_loopback
        return address == ipaddress.IPv6Address("::1")

    @property
    def is_wildcard(self) -> bool:
        """Whether it is an address to listen at, which nobody can be called at."""
        return self.host in {"0.0.0.0", "::"}  # noqa: S104 - compared, not bound

    def is_same_as(self, other: Origin) -> bool:
        """Compare, all loopback names with one scheme and port being one origin."""
        if self == other:
            return True
        return (
            (self.scheme, self.port) == (other.scheme, other.port)
            and self.is_loopback
            and other.is_loopback
        )

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port == _DEFAULT_PORTS[self.scheme] else f":{self.port}"
        return f"{self.scheme}://{host}{port}"


def parse_url(url: str) -> tuple[httpx.URL, Origin]:
    """Read an absolute http or https URL, and its origin.

    Raises UnsafeEndpointError for anything else, and for what one reader of URLs could take for
    another host than the next: user information, backslashes, white space, control characters.
    """
    if any(ch.isspace() or not ch.isprintable() or ch == "\\" for ch in url):
        raise UnsafeEndpointError(
            url=url, reason="it contains white space, control characters or a backslash"
        )
    try:
        parsed = httpx.URL(url)
        host = parsed.raw_host.decode("ascii")
        port = parsed.port
    except (httpx.InvalidURL, ValueError) as problem:
        raise UnsafeEndpointError(
            url=url, reason=f"it is no valid URL: {shown(problem, 100)}"
        ) from problem
    if parsed.scheme not in _DEFAULT_PORTS or not host:
        raise UnsafeEndpointError(url=url, reason="it is no absolute http or https URL")
    # The text is asked as well: an empty name before the @ leaves no trace in what was parsed.
    if parsed.userinfo or "@" in _AUTHORITY_END.split(url.partition("//")[2], maxsplit=1)[0]:
        raise UnsafeEndpointError(
            url=url, reason="it holds user information; give credentials by auth or headers"
        )
    if port is None:
        port = _DEFAULT_PORTS[parsed.scheme]
    if not 0 < port <= _LAST_PORT:
        raise UnsafeEndpointError(url=url, reason="its port is out of range")
    if ":" in host:
        host = str(ipaddress.ip_address(host))
    return parsed, Origin(parsed.scheme, host, port)


def origin_of(url: httpx.URL | str) -> Origin:
    """Return the origin of an absolute http or https URL. Raises UnsafeEndpointError."""
    return parse_url(str(url))[1]


class BoundOrigins:
    """The origins that one delegate's requests and credentials may go to.

    `typed` is the URL that the caller typed to find the peer, None where there is none; `allowed`
    are further origins, such as `https://rpc.example`. Raises UsageError for one that is no bare
    origin, and UnsafeEndpointError for a `typed` that cannot be used. Plain http is bound only
    where the caller wrote it so, because the scheme is part of an origin.
    """

    def __init__(self, typed: str | None, allowed: Iterable[str] = ()) -> None:
        typed_origins = () if typed is None else (parse_url(typed)[1],)
        self._origins = (*typed_origins, *(_bare_origin(text) for text in allowed))

    def __repr__(self) -> str:
        return f"BoundOrigins({', '.join(map(str, self._origins))})"

    def check(self, url: str) -> None:
        """Raise UnsafeEndpointError for a URL whose origin is not bound, or that is none."""
        _, origin = parse_url(url)
        if not any(origin.is_same_as(bound) for bound in self._origins):
            raise UnsafeEndpointError(url=url, reason=self._why_not(origin))

    def _why_not(self, origin: Origin) -> str:
        how = f'allow it with allowed_origins=("{origin}",)'
        if origin.is_wildcard:
            return (
                f"{origin.host} is an address to listen at and not to call; the peer's card needs "
                f"its public address, or {how}"
            )
        if origin.scheme == "http" and ("https", origin.host) in {
            (bound.scheme, bound.host) for bound in self._origins
        }:
            return f"plain http would show to all what was bound to https; if that is meant, {how}"
        bound = ", ".join(map(str, self._origins)) or "nothing"
        return f"its origin is not one that you bound ({bound}); if you trust it, {how}"


def _bare_origin(text: str) -> Origin:
    try:
        parsed, origin = parse_url(text)
    except UnsafeEndpointError as problem:
        raise UsageError(
            f"{public_url(text)!r} is no origin to allow, such as 'https://rpc.example': "
            f"{problem.reason}"
        ) from problem
    if parsed.path not in {"", "/"} or parsed.query or parsed.fragment:
        raise UsageError(
            f"an allowed origin has no path: write {str(origin)!r} in place of {public_url(text)!r}"
        )
    return origin
