"""The HTTP client for callers who bring none."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import httpx

if TYPE_CHECKING:
    import ssl

CONNECT_SECONDS = 10.0
"""How long one attempt may take to connect, TLS included, before another one begins."""

IDLE_SECONDS = 2.0
"""How long an idle connection is kept.

A peer that closes one as the next send arrives leaves an outcome that nobody can tell. Servers
close theirs after 5 seconds and more, so ours go well before (httpx itself keeps them for 5).
"""

_IDLE_CONNECTIONS = 20


def own_client() -> httpx.AsyncClient:
    """Make a client for one delegate, who closes it.

    HTTP/1.1, no redirects, as many connections as there are calls (a peer may hold a send open for
    as long as it works), proxies and certificates from the environment as httpx reads them. All
    clients of the process share one TLS context: each would take 10 to 20 ms to make its own.
    """
    return httpx.AsyncClient(
        verify=_tls_context(),
        http1=True,
        http2=False,
        follow_redirects=False,
        timeout=httpx.Timeout(None, connect=CONNECT_SECONDS),
        limits=httpx.Limits(
            max_connections=None,
            max_keepalive_connections=_IDLE_CONNECTIONS,
            keepalive_expiry=IDLE_SECONDS,
        ),
    )


@functools.cache
def _tls_context() -> ssl.SSLContext:
    return httpx.create_ssl_context()
