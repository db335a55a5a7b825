"""What the caller sends along: headers and authentication, bound to origins and never shown."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeAlias

import httpx

from a2a_delegate.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator

AuthProvider: TypeAlias = Callable[[str | None, str], httpx.Auth | None]
"""Asked before each request: (principal, origin) -> how to authenticate, None for not at all.

The principal is None for a request that names none, and for that of a card; an origin reads
`https://agent.example`. What it returns may be a fresh object or always the same; keeping tokens is
its own affair.
"""

PROTOCOL_HEADERS = frozenset(
    {
        "a2a-extensions",
        "a2a-version",
        "accept",
        "accept-encoding",
        "content-encoding",
        "content-length",
        "content-type",
        "transfer-encoding",
    }
)
"""Headers that say how the protocol is spoken: of these, the caller's own are left out."""

_HEADERS_OF_HTTP = frozenset(
    {
        "connection",
        "cookie",
        "expect",
        "host",
        "keep-alive",
        "proxy-authorization",
        "te",
        "trailer",
        "upgrade",
    }
)
"""Headers by which HTTP itself is spoken; a key in one of them would break the request."""

_NAME = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_VALUE = r"(?:[!-~](?:[\t -~]*[!-~])?)?"


class Credentials:
    """The caller's headers and authentication for one peer, on bound origins only.

    `headers` may add any header and change none of `PROTOCOL_HEADERS`. `auth` is an `httpx.Auth`,
    or an AuthProvider. Raises UsageError for a header that HTTP cannot carry; the error names the
    header and never its value.
    """

    __slots__ = ("_auth", "headers")

    def __init__(
        self,
        headers: Mapping[str, str] | None = None,
        auth: httpx.Auth | AuthProvider | None = None,
    ) -> None:
        if headers is not None and not isinstance(headers, Mapping):
            raise UsageError(f"headers must be a mapping of names; got {type(headers).__name__}")
        for name, value in (headers or {}).items():
            _check_header(name, value)
        self.headers: Mapping[str, str] = {
            name: value
            for name, value in (headers or {}).items()
            if name.lower() not in PROTOCOL_HEADERS
        }
        if auth is not None and not isinstance(auth, httpx.Auth) and not callable(auth):
            raise UsageError(
                f"auth must be an httpx.Auth or a callable of (principal, origin); "
                f"got {type(auth).__name__}"
            )
        self._auth = auth

    def __repr__(self) -> str:
        return f"<Credentials of {len(self.headers)} headers{', auth' if self._auth else ''}>"

    def auth_for(self, principal: str | None, origin: str) -> httpx.Auth | None:
        """Return how requests to an origin authenticate; the origin must have been checked."""
        if self._auth is None or isinstance(self._auth, httpx.Auth):
            return self._auth
        return _Provided(self._auth, principal, origin)


class BearerAuth(httpx.Auth):
    """Authenticates by a token: `Authorization: Bearer ...` (RFC 6750).

    Give it as `auth`, or return it from an AuthProvider; the token goes where that one says and is
    never shown. Raises UsageError for a token that HTTP cannot carry, or that holds spaces: the
    word Bearer is added here.
    """

    def __init__(self, token: str) -> None:
        _check_header("Authorization", token)
        if not token or " " in token or "\t" in token:
            raise UsageError("a bearer token is one word; give it without the word Bearer before")
        self._value = f"Bearer {token}"

    def __repr__(self) -> str:
        return "<BearerAuth>"

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        """Send the token along."""
        request.headers["Authorization"] = self._value
        yield request


class ApiKeyAuth(httpx.Auth):
    """Authenticates by a key in a header, as an agent's card names it: `X-API-Key` if it does not.

    As with BearerAuth the key goes where the caller bound it and is never shown. Raises UsageError
    for a header or a key that HTTP cannot carry, and for a header that the protocol speaks by.
    """

    def __init__(self, key: str, *, header: str = "X-API-Key") -> None:
        _check_header(header, key)
        if not key:
            raise UsageError("an API key is not empty")
        if header.lower() in PROTOCOL_HEADERS | _HEADERS_OF_HTTP:
            raise UsageError(f"{header} is a header that the protocol speaks by; it holds no key")
        self._header, self._key = header, key

    def __repr__(self) -> str:
        return f"<ApiKeyAuth by {self._header}>"

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        """Send the key along."""
        request.headers[self._header] = self._key
        yield request


class _Provided(httpx.Auth):
    """Asks the provider as late as the request is sent, so that its errors end that request."""

    def __init__(self, provider: AuthProvider, principal: str | None, origin: str) -> None:
        self._provider = provider
        self._principal = principal
        self._origin = origin

    async def async_auth_flow(
        self, request: httpx.Request
    ) -> AsyncGenerator[httpx.Request, httpx.Response]:
        """Run the flow of what the provider gives."""
        auth = self._provider(self._principal, self._origin)
        if auth is not None and not isinstance(auth, httpx.Auth):
            raise UsageError(
                f"an auth provider returns an httpx.Auth or None; got {type(auth).__name__}"
            )
        flow = (httpx.Auth() if auth is None else auth).async_auth_flow(request)
        try:
            asked = await anext(flow)
            while True:
                response = yield asked
                asked = await flow.asend(response)
        except StopAsyncIteration:
            return
        finally:
            await flow.aclose()


def _check_header(name: object, value: object) -> None:
    if not isinstance(name, str) or not re.fullmatch(_NAME, name):
        raise UsageError(f"{name!r} is no name of a header")
    if not isinstance(value, str) or not re.fullmatch(_VALUE, value):
        raise UsageError(
            f"the value of header {name!r} must be printable ASCII without spaces around it"
        )
