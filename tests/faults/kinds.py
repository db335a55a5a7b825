"""What can happen to any request, whatever it asks for: on its way, in its reply, in an error."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from a2a_delegate.testing import (
    Delay,
    DropAfterAccepting,
    DropBeforeReading,
    DropWhileReading,
    Endless,
    Hang,
    Honest,
    Loss,
    Redirect,
    Refusal,
    RefuseConnection,
    Respond,
    Rewrite,
    RpcError,
    UnknownState,
    WrongId,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from a2a_delegate.testing import Behaviour

MAX_REPLY_BYTES: Final = 64 * 1024
HTML: Final = b"<html><body><h1>It does not work</h1></body></html>"
ELSEWHERE: Final = "https://elsewhere.example/rpc"


@dataclass(frozen=True, slots=True)
class Kind:
    """What can happen to a request, before it is placed at an operation.

    `lies`: the peer says that it never began, and did (no client can know); `deaf`: something does
    not end when it is told to.
    """

    name: str
    behaviour: Behaviour
    lies: bool = False
    deaf: bool = False


# -- what can happen to any request --------------------------------------------------------------

_CUTS: Final = (1, 20, 200, 410, 10**6)
"""Bytes of a reply that come before it is cut: within its head, before and after the id of its
task stands there (servers write their members in different orders), and none missing."""


def _carriage() -> Iterator[Kind]:
    yield Kind("honest", Honest())
    for phase in Refusal:
        yield Kind(f"connection refused ({phase.name})", RefuseConnection(phase))
    for loss in Loss:
        yield Kind(f"dropped before reading ({loss.name})", DropBeforeReading(loss))
        yield Kind(f"dropped while reading ({loss.name})", DropWhileReading(loss))
        yield Kind(f"dropped after accepting ({loss.name})", DropAfterAccepting(loss=loss))
    for size in _CUTS:
        yield Kind(f"dropped after {size} bytes of the reply", DropAfterAccepting(size))
    yield Kind("dropped after the head", DropAfterAccepting(headers_sent=True))
    yield Kind("late by 0.3 s", Delay(0.3))
    yield Kind("late by 4 s", Delay(4.0))
    yield Kind("late by 40 s", Delay(40.0))
    yield Kind("read 0.3 s late", Delay(0.3, before_reading=True))
    yield Kind("read 4 s late", Delay(4.0, before_reading=True))
    yield Kind("lost after 0.3 s", Delay(0.3, DropAfterAccepting()))
    yield Kind("refused after 0.3 s", Delay(0.3, RefuseConnection()))
    yield Kind("hangs, accepted", Hang())
    yield Kind("hangs, not accepted", Hang(accepts=False))
    yield Kind("deaf, accepted", Hang(deaf=True), deaf=True)
    yield Kind("deaf, not accepted", Hang(accepts=False, deaf=True), deaf=True)


def _answers() -> Iterator[Kind]:
    yield Kind("under a wrong id", WrongId())
    yield Kind("in an unknown state", UnknownState("TASK_STATE_PONDERING"))
    yield Kind("with its own id first", Rewrite(lambda reply: dict(sorted(reply.items()))))
    yield Kind("with blanks after it", Endless(2_000))
    yield Kind("without end, after the reply", Endless(MAX_REPLY_BYTES * 4))
    yield Kind("without end, all blank", Endless(MAX_REPLY_BYTES * 4, accepts=False))
    yield Kind("not JSON-RPC 2.0", Rewrite(lambda reply: {**reply, "jsonrpc": "1.0"}))
    yield Kind("without a result", Rewrite(lambda reply: {**reply, "result": {}}))
    yield Kind("with a null result", Rewrite(lambda reply: {**reply, "result": None}))
    yield Kind("a list", Rewrite(lambda reply: [reply]))
    for body in (b"", b"\xff\xfe", b"[" * 5_000, b'{"jsonrpc": "2.0"', b'"word"'):
        for accepts in (True, False):
            what = f"the body {body[:9]!r}, {_accepted(accepts)}"
            yield Kind(what, Respond(200, body=body, accepts=accepts))


# -- statuses without a JSON-RPC error object ----------------------------------------------------

_PROOF_STATUSES: Final = frozenset({307, 308, 405, 413, 415, 429})
"""Those that say that the peer never began (401 with `WWW-Authenticate` does, too)."""

_PLAIN_STATUSES: Final = (
    *(202, 204, 301, 302, 307, 308),
    *(400, 401, 403, 404, 405, 408, 409, 410, 413, 415, 422, 429),
    *(500, 502, 503, 504),
)

_PAGES: Final = frozenset({404, 413, 502})
"""Those that come with a page for people as well."""


def _accepted(accepts: bool) -> str:  # noqa: FBT001 - a word for it
    return "accepted" if accepts else "not accepted"


def _statuses() -> Iterator[Kind]:
    for status in _PLAIN_STATUSES:
        for accepts in (True, False):
            lies = accepts and status in _PROOF_STATUSES
            name = f"HTTP {status}, {_accepted(accepts)}"
            headers = {"location": ELSEWHERE} if status in {301, 302, 307, 308} else {}
            yield Kind(name, Respond(status, headers, accepts=accepts), lies=lies)
            if status in _PAGES:
                page = Respond(status, {"content-type": "text/html"}, HTML, accepts=accepts)
                yield Kind(f"{name}, a page", page, lies=lies)
    for accepts in (True, False):
        gate = Respond(401, {"www-authenticate": "Bearer"}, accepts=accepts)
        yield Kind(f"HTTP 401 with a challenge, {_accepted(accepts)}", gate, lies=accepts)
        for word in ("0.4", "7200", "Wed, 21 Oct 2015 07:28:00 GMT", "soon"):
            later = {"retry-after": word}
            name = f"HTTP 429, Retry-After {word}, {_accepted(accepts)}"
            yield Kind(name, Respond(429, later, accepts=accepts), lies=accepts)
        name = f"HTTP 503, Retry-After 0.4, {_accepted(accepts)}"
        yield Kind(name, Respond(503, {"retry-after": "0.4"}, accepts=accepts))
        page = Respond(200, {"content-type": "text/html"}, HTML, accepts=accepts)
        yield Kind(f"HTTP 200, a page, {_accepted(accepts)}", page)
    for status in (301, 302, 307, 308):
        yield Kind(f"redirected ({status})", Redirect(status, ELSEWHERE))


# -- JSON-RPC error objects ----------------------------------------------------------------------

_PROOF_CODES: Final = frozenset({-32700, -32601, -32008, -32009})
_CODES: Final = (-32700, -32600, -32601, -32602, -32603, *range(-32009, -32000), -32050, 7)


def _errors() -> Iterator[Kind]:
    for code in _CODES:
        for accepts in (True, False):
            lies = accepts and code in _PROOF_CODES
            name = f"error {code}, {_accepted(accepts)}"
            yield Kind(name, RpcError(code, "no", accepts=accepts), lies=lies)
    for accepts in (True, False):
        for code in (-32600, -32603):
            text = "A2A version 1.0 is not supported"
            named = RpcError(code, text, accepts=accepts)
            yield Kind(f"error {code} for the version, {_accepted(accepts)}", named, lies=accepts)
        for status in (400, 401, 403, 404, 429, 500):
            beside = RpcError(-32603, "no", status=status, accepts=accepts)
            yield Kind(f"error -32603 under HTTP {status}, {_accepted(accepts)}", beside)
        nameless = RpcError(-32603, "no", accepts=accepts, with_id=False)
        yield Kind(f"error -32603 without an id, {_accepted(accepts)}", nameless)


def kinds() -> Iterator[Kind]:
    """Return every kind."""
    return itertools.chain(_carriage(), _answers(), _statuses(), _errors())
