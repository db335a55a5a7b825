"""Cookies, as far as agents need them: a load balancer that sends a caller to one and the same."""

from __future__ import annotations

from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import TYPE_CHECKING

import httpx

if TYPE_CHECKING:
    from http.cookiejar import Cookie

MAX_COOKIES = 50
MAX_COOKIE_CHARACTERS = 4096
"""How many cookies are kept, and how long one may be: what RFC 6265 (6.1) asks for at least."""


def few_cookies() -> httpx.Cookies:
    """Make an empty set of cookies that a peer cannot fill the memory by."""
    return httpx.Cookies(_FewCookies())


def no_cookies() -> CookieJar:
    """Make a jar that keeps and sends nothing."""
    return CookieJar(DefaultCookiePolicy(allowed_domains=()))


class _FewCookies(CookieJar):
    """Keeps what a load balancer needs; a peer may set another cookie with every reply."""

    def set_cookie(self, cookie: Cookie) -> None:
        """Keep a cookie where there is room for it; the newer one of two with one name.

        One that no header can carry back (RFC 6265 4.1.1) would fail every request from then on.
        """
        text = f"{cookie.name}={cookie.value or ''}"
        if len(text) > MAX_COOKIE_CHARACTERS or not (text.isascii() and text.isprintable()):
            return
        named = (cookie.domain, cookie.path, cookie.name)
        if len(self) < MAX_COOKIES or any(
            (one.domain, one.path, one.name) == named for one in self
        ):
            super().set_cookie(cookie)
