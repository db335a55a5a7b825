"""Every kind of fault, at every operation: what the peer or the network does, and who is lying.

A fault is data. It says in which situation it shows (the words of the message, what befalls the
other operations) and what the scripted peer or the wire does to the operation in question.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from a2a_delegate.testing import (
    Delay,
    DropAfterAccepting,
    DropBeforeReading,
    DropWhileReading,
    Endless,
    Hang,
    Honest,
    IgnoredCancel,
    Loss,
    LyingCancel,
    Operation,
    OtherTask,
    Redirect,
    Refusal,
    RefuseConnection,
    RefusedCancel,
    Respond,
    Rewrite,
    RpcError,
    UnknownState,
    WrongId,
)
from a2a_delegate.testing.behaviours import core
from tests.faults.wire import Manners

if TYPE_CHECKING:
    from collections.abc import Iterator

    from a2a_delegate.testing import Behaviour

SEND, GET, LIST, CANCEL = Operation.SEND, Operation.GET, Operation.LIST, Operation.CANCEL
OPERATIONS: Final = (SEND, GET, LIST, CANCEL)

MAX_REPLY_BYTES: Final = 64 * 1024
HTML: Final = b"<html><body><h1>It does not work</h1></body></html>"
ELSEWHERE: Final = "https://elsewhere.example/rpc"


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault at one operation, and the situation in which it shows.

    `once`: what the next requests get, one each; `always`: what all that follow get. `others`: what
    befalls other operations, so that this one is asked for at all. `lies`: the peer says that it
    never began, and did (no client can know); `deaf`: something does not end when it is told to.
    """

    name: str
    operation: Operation
    once: tuple[Behaviour, ...] = ()
    always: Behaviour | None = None
    prompt: str = "slow 0.5"
    others: tuple[tuple[Operation, Behaviour], ...] = ()
    manners: Manners = field(default_factory=Manners)
    options: tuple[tuple[str, bool], ...] = ()
    """What kind of peer it is: options of ScriptedPeer."""
    lies: bool = False
    deaf: bool = False

    def __str__(self) -> str:
        return f"{self.operation}: {self.name}"


@dataclass(frozen=True, slots=True)
class _Kind:
    """A fault before it is placed at an operation."""

    name: str
    behaviour: Behaviour
    lies: bool = False
    deaf: bool = False


# -- what can happen to any request --------------------------------------------------------------

_CUTS: Final = (1, 20, 200, 410, 10**6)
"""Bytes of a reply that come before it is cut: within its head, before and after the id of its
task stands there (servers write their members in different orders), and none missing."""


def _carriage() -> Iterator[_Kind]:
    yield _Kind("honest", Honest())
    for phase in Refusal:
        yield _Kind(f"connection refused ({phase.name})", RefuseConnection(phase))
    for loss in Loss:
        yield _Kind(f"dropped before reading ({loss.name})", DropBeforeReading(loss))
        yield _Kind(f"dropped while reading ({loss.name})", DropWhileReading(loss))
        yield _Kind(f"dropped after accepting ({loss.name})", DropAfterAccepting(loss=loss))
    for size in _CUTS:
        yield _Kind(f"dropped after {size} bytes of the reply", DropAfterAccepting(size))
    yield _Kind("dropped after the head", DropAfterAccepting(headers_sent=True))
    yield _Kind("late by 0.3 s", Delay(0.3))
    yield _Kind("late by 4 s", Delay(4.0))
    yield _Kind("late by 40 s", Delay(40.0))
    yield _Kind("read 0.3 s late", Delay(0.3, before_reading=True))
    yield _Kind("read 4 s late", Delay(4.0, before_reading=True))
    yield _Kind("lost after 0.3 s", Delay(0.3, DropAfterAccepting()))
    yield _Kind("refused after 0.3 s", Delay(0.3, RefuseConnection()))
    yield _Kind("hangs, accepted", Hang())
    yield _Kind("hangs, not accepted", Hang(accepts=False))
    yield _Kind("deaf, accepted", Hang(deaf=True), deaf=True)
    yield _Kind("deaf, not accepted", Hang(accepts=False, deaf=True), deaf=True)


def _answers() -> Iterator[_Kind]:
    yield _Kind("under a wrong id", WrongId())
    yield _Kind("in an unknown state", UnknownState("TASK_STATE_PONDERING"))
    yield _Kind("with its own id first", Rewrite(lambda reply: dict(sorted(reply.items()))))
    yield _Kind("with blanks after it", Endless(2_000))
    yield _Kind("without end, after the reply", Endless(MAX_REPLY_BYTES * 4))
    yield _Kind("without end, all blank", Endless(MAX_REPLY_BYTES * 4, accepts=False))
    yield _Kind("not JSON-RPC 2.0", Rewrite(lambda reply: {**reply, "jsonrpc": "1.0"}))
    yield _Kind("without a result", Rewrite(lambda reply: {**reply, "result": {}}))
    yield _Kind("with a null result", Rewrite(lambda reply: {**reply, "result": None}))
    yield _Kind("a list", Rewrite(lambda reply: [reply]))
    for body in (b"", b"\xff\xfe", b"[" * 5_000, b'{"jsonrpc": "2.0"', b'"word"'):
        for accepts in (True, False):
            what = f"the body {body[:9]!r}, {_accepted(accepts)}"
            yield _Kind(what, Respond(200, body=body, accepts=accepts))


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


def _statuses() -> Iterator[_Kind]:
    for status in _PLAIN_STATUSES:
        for accepts in (True, False):
            lies = accepts and status in _PROOF_STATUSES
            name = f"HTTP {status}, {_accepted(accepts)}"
            headers = {"location": ELSEWHERE} if status in {301, 302, 307, 308} else {}
            yield _Kind(name, Respond(status, headers, accepts=accepts), lies=lies)
            if status in _PAGES:
                page = Respond(status, {"content-type": "text/html"}, HTML, accepts=accepts)
                yield _Kind(f"{name}, a page", page, lies=lies)
    for accepts in (True, False):
        gate = Respond(401, {"www-authenticate": "Bearer"}, accepts=accepts)
        yield _Kind(f"HTTP 401 with a challenge, {_accepted(accepts)}", gate, lies=accepts)
        for word in ("0.4", "7200", "Wed, 21 Oct 2015 07:28:00 GMT", "soon"):
            later = {"retry-after": word}
            name = f"HTTP 429, Retry-After {word}, {_accepted(accepts)}"
            yield _Kind(name, Respond(429, later, accepts=accepts), lies=accepts)
        name = f"HTTP 503, Retry-After 0.4, {_accepted(accepts)}"
        yield _Kind(name, Respond(503, {"retry-after": "0.4"}, accepts=accepts))
        page = Respond(200, {"content-type": "text/html"}, HTML, accepts=accepts)
        yield _Kind(f"HTTP 200, a page, {_accepted(accepts)}", page)
    for status in (301, 302, 307, 308):
        yield _Kind(f"redirected ({status})", Redirect(status, ELSEWHERE))


# -- JSON-RPC error objects ----------------------------------------------------------------------

_PROOF_CODES: Final = frozenset({-32700, -32601, -32008, -32009})
_CODES: Final = (-32700, -32600, -32601, -32602, -32603, *range(-32009, -32000), -32050, 7)


def _errors() -> Iterator[_Kind]:
    for code in _CODES:
        for accepts in (True, False):
            lies = accepts and code in _PROOF_CODES
            name = f"error {code}, {_accepted(accepts)}"
            yield _Kind(name, RpcError(code, "no", accepts=accepts), lies=lies)
    for accepts in (True, False):
        for code in (-32600, -32603):
            text = "A2A version 1.0 is not supported"
            named = RpcError(code, text, accepts=accepts)
            yield _Kind(f"error {code} for the version, {_accepted(accepts)}", named, lies=accepts)
        for status in (400, 401, 403, 404, 429, 500):
            beside = RpcError(-32603, "no", status=status, accepts=accepts)
            yield _Kind(f"error -32603 under HTTP {status}, {_accepted(accepts)}", beside)
        nameless = RpcError(-32603, "no", accepts=accepts, with_id=False)
        yield _Kind(f"error -32603 without an id, {_accepted(accepts)}", nameless)


# -- the wire's own ------------------------------------------------------------------------------


def _network(situation: Fault) -> Iterator[Fault]:
    operation = situation.operation
    wire = Manners(operation.value, deaf=1.0)
    yield replace(situation, name="deaf for 1 s while connecting", manners=wire, deaf=True)
    wire = Manners(operation.value, deaf=20.0)
    yield replace(situation, name="deaf for 20 s while connecting", manners=wire, deaf=True)
    wire = Manners(operation.value, stuck=30.0)
    too_much = Endless(MAX_REPLY_BYTES * 4)
    yield replace(situation, name="stuck in closing", always=too_much, manners=wire)


# -- at which operation --------------------------------------------------------------------------


def _kinds() -> Iterator[_Kind]:
    return itertools.chain(_carriage(), _answers(), _statuses(), _errors())


_SITUATIONS: Final = {
    SEND: Fault("", SEND),
    GET: Fault("", GET),
    LIST: Fault("", LIST, others=((SEND, DropAfterAccepting()),)),
    CANCEL: Fault("", CANCEL, prompt="stuck"),
}


def _placed(operation: Operation) -> Iterator[Fault]:
    situation = _SITUATIONS[operation]
    for kind in _kinds():
        if not _matters(kind, operation):
            continue
        # Only an answer to the send says that the work did not begin.
        lies = kind.lies and operation is SEND
        once = replace(situation, name=kind.name, once=(kind.behaviour,), lies=lies, deaf=kind.deaf)
        yield once
        if _repeats(kind.behaviour, operation):
            yield replace(once, name=f"{kind.name}, always", once=(), always=kind.behaviour)
    yield from _network(situation)


def _matters(kind: _Kind, operation: Operation) -> bool:
    """Whether this differs from a kind that there is anyway: a look has no effect to begin."""
    accepts = getattr(kind.behaviour, "accepts", False)
    return operation in {SEND, CANCEL} or not accepts or isinstance(kind.behaviour, Hang | Endless)


def _repeats(behaviour: Behaviour, operation: Operation) -> bool:
    """Whether a fault that stays is met again: there is one cancel, and one send as a rule."""
    if operation in {GET, LIST}:
        return not isinstance(behaviour, Honest)
    unread = isinstance(core(behaviour), RefuseConnection | DropBeforeReading)
    busy = isinstance(behaviour, Respond) and behaviour.status == HTTPStatus.TOO_MANY_REQUESTS
    return operation is SEND and (unread or busy)


_WORDS: Final = ("hello", "data", "history", "empty", "fail", "reject", "ask", "auth")


def _special() -> Iterator[Fault]:
    for word in _WORDS:
        yield Fault(f"nothing ({word})", SEND, prompt=word)
        yield Fault(f"lost reply ({word})", SEND, once=(DropAfterAccepting(),), prompt=word)
        yield Fault(f"one failing get ({word})", GET, once=(Respond(500),), prompt=word)
    yield Fault("nothing, and the work never ends", GET, prompt="stuck")
    yield Fault("the body of another task", GET, once=(OtherTask(),))
    yield Fault("the body of another task, always", GET, always=OtherTask())
    for name, behaviour in (
        ("a lying cancel", LyingCancel()),
        ("a refused cancel", RefusedCancel()),
        ("an ignored cancel", IgnoredCancel()),
        ("a lying cancel, 0.3 s late", Delay(0.3, LyingCancel())),
        ("a refused cancel, 1.9 s late", Delay(1.9, RefusedCancel())),
    ):
        for prompt in ("stuck", "slow 0.5"):
            yield Fault(f"{name} ({prompt})", CANCEL, (behaviour,), prompt=prompt)
    for option, value in (
        ("lists", False),
        ("keeps_context_ids", False),
        ("refuses_context_ids", True),
        ("recognises_repeats", True),
    ):
        peer = Fault(f"a peer with {option}={value}", SEND, options=((option, value),))
        yield peer
        lost = (DropAfterAccepting(),)
        yield replace(peer, name=f"lost reply of {peer.name}", once=lost)
        yield replace(peer, name=f"lost reply of {peer.name} (stuck)", once=lost, prompt="stuck")


FAULTS: Final[tuple[Fault, ...]] = (
    *itertools.chain.from_iterable(map(_placed, OPERATIONS)),
    *_special(),
)
