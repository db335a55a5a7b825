"""The HTTP client for callers who bring none."""

from __future__ import annotations

import functools
import os
import urllib.request
from http.cookiejar import CookieJar
from typing import TYPE_CHECKING, Any

import httpx

from a2a_delegate.errors import UsageError

if TYPE_CHECKING:
    import ssl
    from collections.abc import Mapping
    from http.cookiejar import Cookie

CONNECT_SECONDS = 10.0
"""How long one attempt may take to connect, TLS included, before another one begins."""

IDLE_SECONDS = 2.0
"""How long an idle connection is kept.

A peer that closes one as the next send arrives leaves an outcome that nobody can tell. Servers
close theirs after 5 seconds and more, so ours go well before (httpx itself keeps them for 5).
"""

_IDLE_CONNECTIONS = 20
_TIMEOUT = httpx.Timeout(None, connect=CONNECT_SECONDS)
_LIMITS = httpx.Limits(
    max_connections=None,
    max_keepalive_connections=_IDLE_CONNECTIONS,
    keepalive_expiry=IDLE_SECONDS,
)

MAX_COOKIES = 50
MAX_COOKIE_CHARACTERS = 4096
"""How many cookies are kept, and how long one may be: what RFC 6265 (6.1) asks for at least."""

_DEFAULTS = frozenset({"host", "user-agent"})

_ENVIRONMENT = frozenset(
    {"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR"}
)
_HINTS: Mapping[type[BaseException], str] = {
    ImportError: "a proxy by SOCKS needs the extra of httpx: pip install 'httpx[socks]'",
    FileNotFoundError: "there is no such file of certificates",
    ValueError: "it knows no such kind of proxy",
    httpx.InvalidURL: "the address of a proxy is none",
}


def own_client() -> httpx.AsyncClient:
    """Make a client for one delegate, who closes it.

    HTTP/1.1, no redirects, as many connections as there are calls (a peer may hold a send open for
    as long as it works), proxies and certificates from the environment as httpx reads them. All
    clients of the process share one TLS context: each would take 10 to 20 ms to make its own.

    Raises UsageError where the environment names a proxy or certificates that httpx cannot use.
    """
    try:
        return _client()
    except (ImportError, OSError, ValueError, httpx.InvalidURL) as problem:
        # What stands in the environment may hold a password, so it is not shown.
        named = ", ".join(sorted(name for name in os.environ if name.upper() in _ENVIRONMENT))
        raise UsageError(
            f"httpx cannot use what stands in the environment ({named or 'nothing is set'}): "
            f"{_HINTS.get(type(problem), type(problem).__name__)}"
        ) from problem


def _client() -> httpx.AsyncClient:
    # A client that is given its transport looks for no proxies.
    if urllib.request.getproxies().keys() - {"no"}:
        return httpx.AsyncClient(
            verify=_tls_context(),
            follow_redirects=False,
            timeout=_TIMEOUT,
            limits=_LIMITS,
            cookies=_FewCookies(),
        )
    return _DirectClient(httpx.AsyncHTTPTransport(verify=_tls_context(), limits=_LIMITS))


class _DirectClient(httpx.AsyncClient):
    """A client that has nothing of its own but cookies: what it is given, its transport gets.

    Of a small request httpx spends a fourth on what a client may have besides: defaults to merge,
    redirects to follow, hooks to call. A request that needs any of it goes by way of httpx.
    """

    def __init__(self, transport: httpx.AsyncHTTPTransport) -> None:
        super().__init__(
            transport=transport, follow_redirects=False, timeout=_TIMEOUT, cookies=_FewCookies()
        )
        self._direct = transport
        self._agent = self.headers["User-Agent"]

    def build_request(
        self, method: str, url: httpx.URL | str, *, content: Any = None, **options: Any
    ) -> httpx.Request:
        """Build a request; a stream with headers of its own is taken as it is given."""
        if (
            not isinstance(url, httpx.URL)
            or not isinstance(content, httpx.AsyncByteStream)
            or options.keys() != {"headers", "extensions"}
            or not _DEFAULTS.isdisjoint([name.lower() for name in options["headers"]])
            or self.cookies
        ):
            return super().build_request(method, url, content=content, **options)
        headers = {
            "Host": url.netloc.decode("ascii"),
            "User-Agent": self._agent,
            **options["headers"],
        }
        return httpx.Request(
            method, url, headers=headers, stream=content, extensions=options["extensions"]
        )

    async def send(
        self, request: httpx.Request, *, stream: bool = False, auth: Any = None, **options: Any
    ) -> httpx.Response:
        """Send a request; one whose reply is read as it comes goes straight to the transport."""
        if auth is not None or not stream or self.is_closed:
            return await super().send(request, stream=stream, auth=auth, **options)
        response = await self._direct.handle_async_request(request)
        response.request = request
        if "set-cookie" in response.headers:
            self.cookies.extract_cookies(response)
        return response


class _FewCookies(CookieJar):
    """Keeps what a load balancer needs; a peer may set another cookie with every reply."""

    def set_cookie(self, cookie: Cookie) -> None:
        """Keep a cookie where there is room for it; the newer one of two with one name."""
        if len(cookie.name) + len(cookie.value or "") > MAX_COOKIE_CHARACTERS:
            return
        named = (cookie.domain, cookie.path, cookie.name)
        if len(self) < MAX_COOKIES or any(
            (one.domain, one.path, one.name) == named for one in self
        ):
            super().set_cookie(cookie)


@functools.cache
def _tls_context() -> ssl.SSLContext:
    return httpx.create_ssl_context()
