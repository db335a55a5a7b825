"""The HTTP client for callers who bring none."""

from __future__ import annotations

import functools
import os
import urllib.request
from typing import TYPE_CHECKING, Any

import httpx

from a2a_delegate.errors import UsageError
from a2a_delegate.peer.cookies import no_cookies
from a2a_delegate.peer.lanes import IDLE_SECONDS, Lanes

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Mapping

    from a2a_delegate.peer.lanes import Lane

CONNECT_SECONDS = 10.0
"""How long one attempt may take to connect, TLS included, before another one begins."""

_TIMEOUT = httpx.Timeout(None, connect=CONNECT_SECONDS)
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

    HTTP/1.1, no redirects, connections as `peer.lanes` has them, proxies and certificates from the
    environment as httpx reads them. All clients of the process share one TLS context: each would
    take 10 to 20 ms to make its own.

    Raises UsageError where the environment names a proxy or certificates that httpx cannot use.
    """
    try:
        return _OwnClient(Lanes(_way_out()))
    except (ImportError, OSError, ValueError, httpx.InvalidURL) as problem:
        # What stands in the environment may hold a password, so it is not shown.
        named = ", ".join(sorted(name for name in os.environ if name.upper() in _ENVIRONMENT))
        raise UsageError(
            f"httpx cannot use what stands in the environment ({named or 'nothing is set'}): "
            f"{_HINTS.get(type(problem), type(problem).__name__)}"
        ) from problem


def _way_out() -> Callable[[httpx.URL], Lane]:
    """Return how lanes are opened: directly, or by the proxies of the environment."""
    context = _tls_context()
    if urllib.request.getproxies().keys() - {"no"}:
        _Proxied()  # it raises what is wrong with them
        return lambda _: _Proxied()
    # Not before it is needed: with httpcore comes trio, wherever it is installed.
    from a2a_delegate.peer.connection import Connection  # noqa: PLC0415 - as said above

    return lambda url: Connection(url, context)


class _OwnClient(httpx.AsyncClient):
    """A client that has nothing of its own: what it is given, its lanes get.

    Of a small request httpx spends a fourth on what a client may have besides: defaults to merge,
    redirects to follow, hooks to call.
    """

    def __init__(self, lanes: Lanes) -> None:
        super().__init__(
            transport=lanes, follow_redirects=False, timeout=_TIMEOUT, cookies=no_cookies()
        )
        self._lanes = lanes
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
        """Send a request; one whose reply is read as it comes goes straight to the lanes."""
        if not stream or self.is_closed:
            return await super().send(request, stream=stream, auth=auth, **options)
        if auth is None:
            return await self._lanes.handle_async_request(request)
        return await self._authenticated(request, auth)

    async def _authenticated(self, request: httpx.Request, auth: httpx.Auth) -> httpx.Response:
        """Run an authentication's flow; httpx would look at redirects in between, and may fail."""
        flow = auth.async_auth_flow(request)
        try:
            asked = await anext(flow)
            while True:
                response = await self._lanes.handle_async_request(asked)
                try:
                    asked = await flow.asend(response)
                    await response.aread()
                except StopAsyncIteration:
                    return response
                except BaseException:
                    await response.aclose()
                    raise
        finally:
            await flow.aclose()


class _Proxied:
    """A lane by way of the proxies of the environment: a client of httpx's that holds one call."""

    def __init__(self) -> None:
        self._client = httpx.AsyncClient(
            verify=_tls_context(),
            follow_redirects=False,
            timeout=_TIMEOUT,
            limits=httpx.Limits(keepalive_expiry=IDLE_SECONDS),
            cookies=no_cookies(),
        )

    @property
    def is_whole(self) -> bool:
        """Whether it can be kept: its own pool drops what is broken."""
        return True

    @property
    def is_reusable(self) -> bool:
        """Whether it can take another call: its own pool connects where it has to."""
        return True

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Carry one call."""
        return await self._client.send(request, stream=True, auth=None, follow_redirects=False)

    async def aclose(self) -> None:
        """Close it, whatever is on its way."""
        await self._client.aclose()


@functools.cache
def _tls_context() -> ssl.SSLContext:
    return httpx.create_ssl_context()
