"""What a scripted peer can be told to do with one request: an act, and what is laid around it.

=====================  =====================================================================
laid around an act     what becomes of its reply
=====================  =====================================================================
`Delay`                comes later
`Overtaken`            comes after the reply to a later request
`Dribble`              comes in small pieces
`Compressed`           comes compressed, though nobody asked for that
`CutReply`             breaks off at any byte, the head included (on a port)
`CloseAfterReply`      leaves a connection that is closed when it is next used (on a port)
`WrongLength`          announces another length than it has (on a port)
`CloseDelimited`       announces no length: it ends with the connection (on a port)
`Chunked`              comes in chunks (on a port)
`Interim`              comes after others that are only interim (on a port)
`EarlyReply`           comes before the request was read to its end (on a port)
=====================  =====================================================================

What can be laid around an act that comes to a stream is in `stream_behaviours`.

They can be laid around each other, one of each kind: `Dribble(1, 0.1, CutReply(200))`. What needs a
port means nothing in process, where there are no bytes of a head and no connections; a request that
meets it there ends in `UsageError`.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar, get_args

from a2a_delegate.errors import UsageError
from a2a_delegate.testing import stream_behaviours
from a2a_delegate.testing.acts import (
    Close,
    Honest,
    IgnoredCancel,
    LyingCancel,
    OtherTask,
    RawReply,
    Redirect,
    RefuseConnection,
    RefusedCancel,
    Respond,
    RpcError,
    Subscription,
    UnknownState,
    Unread,
    Unstreamed,
    WrongId,
)
from a2a_delegate.testing.layering import Around

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from a2a_delegate.testing.acts import Act
    from a2a_delegate.testing.layering import Behaviour

T = TypeVar("T")


class Operation(StrEnum):
    """What a request asks for, whatever the version calls it; the key of a script.

    A streamed send is a send.
    """

    CARD = "card"
    SEND = "send"
    GET = "get"
    LIST = "list"
    CANCEL = "cancel"
    SUBSCRIBE = "subscribe"


class Moment(StrEnum):
    """When a kept-alive connection is closed, or half of it.

    `NEXT_REQUEST` is the worst one: the client has looked, found the connection open, and has sent
    a part of its next request or all of it.
    """

    AT_ONCE = "at-once"
    NEXT_REQUEST = "next-request"
    HALF = "half"


class Coding(StrEnum):
    """A content coding of HTTP (RFC 9110 8.4.1)."""

    GZIP = "gzip"
    DEFLATE = "deflate"


@dataclass(frozen=True, slots=True)
class Delay(Around):
    """Let `seconds` of the event loop's clock pass, then behave as `then`.

    The pause falls after the work was begun and just before the client would see something of it;
    the reply is made before the pause, so it may be out of date when it comes. With
    `before_reading` the pause falls before the first byte of the body is taken.
    """

    seconds: float
    then: Behaviour = field(default_factory=Honest)
    before_reading: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        """Refuse a pause that is no finite number of seconds (`UsageError`)."""
        if not (math.isfinite(self.seconds) and self.seconds >= 0):
            raise UsageError(f"Delay needs a finite number of seconds from 0, not {self.seconds}")


@dataclass(frozen=True, slots=True)
class Overtaken(Around):
    """Hold the reply back until a request that came later has ended, answered or not.

    `by` says what that request asks; None is any. Two requests are answered out of order so, each
    on a connection of its own. On one connection HTTP/1.1 knows no other order than that of the
    requests (RFC 9112 9.3.2): a client that sends both over one waits until
    `ScriptedPeer.release`.
    """

    by: Operation | None = None
    then: Behaviour = field(default_factory=Honest)


@dataclass(frozen=True, slots=True)
class Dribble(Around):
    """Send the reply in pieces of `size` bytes, one every `every` seconds of the loop's clock.

    On a port these are pieces of the whole reply, its head included; in process, of its body.
    """

    size: int
    every: float
    then: Behaviour = field(default_factory=Honest)

    def __post_init__(self) -> None:
        """Refuse pieces of nothing, and pauses that are no finite number (`UsageError`)."""
        if self.size < 1 or not (math.isfinite(self.every) and self.every >= 0):
            raise UsageError(
                f"Dribble needs a size from 1 and seconds from 0, not {self.size}, {self.every}"
            )


@dataclass(frozen=True, slots=True)
class Compressed(Around):
    """Compress the body of the reply, whatever the client said that it accepts.

    Around an `Endless` it is a bomb: a thousand bytes for each that is sent.
    """

    coding: Coding = Coding.GZIP
    then: Behaviour = field(default_factory=Honest)


@dataclass(frozen=True, slots=True)
class CutReply(Around):
    """End the connection after `at` bytes of the whole reply, its head included. Port only.

    With 0 nothing is sent. From the length of the reply on, all of it comes first.
    """

    at: int
    by: Close = Close.FIN
    then: Behaviour = field(default_factory=Honest)

    def __post_init__(self) -> None:
        """Refuse a negative length (`UsageError`)."""
        if self.at < 0:
            raise UsageError(f"at counts bytes from 0, not {self.at}")


@dataclass(frozen=True, slots=True)
class CloseAfterReply(Around):
    """Answer as if the connection were kept alive, and close it `moment`. Port only.

    What comes over the connection afterwards is neither answered nor acted on, whatever it asks.
    With `HALF` the peer only stops sending and goes on taking what comes; `by` says nothing then.
    """

    moment: Moment = Moment.AT_ONCE
    by: Close = Close.FIN
    then: Behaviour = field(default_factory=Honest)


@dataclass(frozen=True, slots=True)
class WrongLength(Around):
    """Announce a body of `off_by` bytes more than it has, or less where negative. Port only.

    After one that is too short for its announcement the connection is closed. What is left over of
    one that is too long stays on the connection, where the client may take it for the next reply.
    """

    off_by: int
    then: Behaviour = field(default_factory=Honest)

    def __post_init__(self) -> None:
        """Refuse the right length (`UsageError`)."""
        if self.off_by == 0:
            raise UsageError("WrongLength needs a length that is wrong, not off by 0")


@dataclass(frozen=True, slots=True)
class CloseDelimited(Around):
    """Announce no length: the body ends where the connection does. Port only.

    Cut, it looks whole: HTTP/1.0 could not tell, and no client can.
    """

    then: Behaviour = field(default_factory=Honest)


@dataclass(frozen=True, slots=True)
class Chunked(Around):
    """Send the body in chunks of `size` bytes (RFC 9112 7.1). Port only."""

    size: int = 64
    then: Behaviour = field(default_factory=Honest)

    def __post_init__(self) -> None:
        """Refuse chunks of nothing (`UsageError`): such a one is the end."""
        if self.size < 1:
            raise UsageError(f"Chunked needs a size from 1, not {self.size}")


@dataclass(frozen=True, slots=True)
class Interim(Around):
    """Send an interim reply of this status, `times` times, before the final one. Port only."""

    status: int = 103
    times: int = 1
    then: Behaviour = field(default_factory=Honest)

    def __post_init__(self) -> None:
        """Refuse what is no interim status, and a negative number (`UsageError`)."""
        if not 100 <= self.status <= 199 or self.times < 0:  # noqa: PLR2004 - RFC 9110 15.2
            raise UsageError(
                "Interim needs a status from 100 to 199 and times from 0, "
                f"not {self.status}, {self.times}"
            )


@dataclass(frozen=True, slots=True)
class EarlyReply(Around):
    """Answer as soon as it is known what is asked, and take no more of the body. Port only.

    The answer is a made-up one without an effect. A request that comes in one piece was read to
    its end all the same. Where the peer `drains`, it throws away what still comes, so that the
    answer arrives; else it closes, and the operating system resets the connection under a client
    that still sends. The connection is closed in both cases.
    """

    then: Respond | RpcError | Redirect = field(default_factory=lambda: Respond(413))
    drains: bool = field(default=True, kw_only=True)

    def __post_init__(self) -> None:
        """Refuse an answer that needs the request (`UsageError`)."""
        made_up = isinstance(self.then, Respond | RpcError | Redirect)
        effect = getattr(self.then, "accepts", False) or getattr(self.then, "with_id", False)
        if effect or not made_up:
            raise UsageError(
                "EarlyReply needs a Respond, a Redirect or an RpcError with_id=False, without an "
                f"effect, not {self.then}"
            )


Layer: TypeAlias = (
    Delay
    | Overtaken
    | Dribble
    | Compressed
    | CutReply
    | CloseAfterReply
    | WrongLength
    | CloseDelimited
    | Chunked
    | Interim
    | EarlyReply
    | stream_behaviours.StreamLayer
)
"""What is laid around an act, or around another one of these."""

PORT_ONLY: Final = (
    RawReply,
    CutReply,
    CloseAfterReply,
    WrongLength,
    CloseDelimited,
    Chunked,
    Interim,
    EarlyReply,
)
"""What means something on a port only."""

STREAMED: Final = frozenset({Operation.SEND, Operation.SUBSCRIBE})
"""The operations that can be answered with a stream."""

_ONLY_FOR: Mapping[type, frozenset[Operation]] = {
    OtherTask: frozenset({Operation.GET}),
    Subscription: frozenset({Operation.SUBSCRIBE}),
    Unstreamed: STREAMED,
    LyingCancel: frozenset({Operation.CANCEL}),
    RefusedCancel: frozenset({Operation.CANCEL}),
    IgnoredCancel: frozenset({Operation.CANCEL}),
    RpcError: frozenset(Operation) - {Operation.CARD},
    WrongId: frozenset(Operation) - {Operation.CARD},
    UnknownState: frozenset(Operation) - {Operation.CARD},
    **dict.fromkeys(get_args(stream_behaviours.StreamLayer), STREAMED),
}
_LAYERS: Final = get_args(Layer)
_FRAMINGS: Final = (WrongLength, CloseDelimited, Chunked)
_ENDINGS: Final = (CutReply, CloseAfterReply)


def operations_of(kind: type) -> frozenset[Operation]:
    """Return the operations for which a kind of behaviour means something."""
    return _ONLY_FOR.get(kind, frozenset(Operation))


def layers(behaviour: Behaviour) -> Iterator[Around]:
    """Yield what is laid around the act, the outermost first."""
    while isinstance(behaviour, Around):
        yield behaviour
        behaviour = behaviour.then


def layer(behaviour: Behaviour, kind: type[T]) -> T | None:
    """Return the layer of this kind, where there is one."""
    return next((one for one in layers(behaviour) if isinstance(one, kind)), None)


def core(behaviour: Behaviour) -> Act:
    """Return the act itself: what is done once all layers are taken off."""
    while isinstance(behaviour, Around):
        behaviour = behaviour.then
    return behaviour


def acts_before_reading(behaviour: Behaviour) -> bool:
    """Say whether this one acts before the body is taken, so that the body cannot name it."""
    early = any(isinstance(one, Delay) and one.before_reading for one in layers(behaviour))
    return early or isinstance(core(behaviour), Unread)


def needs_port(behaviour: Behaviour) -> str | None:
    """Name what in this behaviour means nothing in process; None where all of it does."""
    found = (type(one) for one in (*layers(behaviour), core(behaviour)))
    return next((kind.__name__ for kind in found if kind in PORT_ONLY), None)


def lies_about_ids(behaviour: Behaviour) -> bool:
    """Say whether this one names another request than the one that is answered."""
    kind, wrong = stream_behaviours.InsertEvent, stream_behaviours.Intruder.WRONG_ID
    inserted = (one.what for one in layers(behaviour) if isinstance(one, kind))
    return isinstance(core(behaviour), WrongId) or wrong in inserted


def check(operation: Operation, behaviour: Behaviour) -> None:
    """Refuse a behaviour that means nothing for this operation, or in itself (`UsageError`)."""
    repeatable = (Delay, *stream_behaviours.REPEATABLE)
    kinds = Counter(type(one) for one in layers(behaviour) if not isinstance(one, repeatable))
    for group in (*((kind,) for kind in _LAYERS), _FRAMINGS, _ENDINGS):
        if sum(kinds[kind] for kind in group) > 1:
            names = " or ".join(kind.__name__ for kind in group)
            raise UsageError(f"only one {names} can be meant, not {behaviour}")
    act = type(core(behaviour))
    if act is RawReply and kinds.keys() - {Dribble, CutReply, Overtaken}:
        raise UsageError(f"RawReply is no HTTP reply; {behaviour} would change one")
    for kind in (act, *(type(one) for one in layers(behaviour))):
        if operation not in operations_of(kind):
            allowed = ", ".join(sorted(operations_of(kind)))
            raise UsageError(f"{kind.__name__} is for {allowed}, not for {operation}")


def check_on_port(behaviour: Behaviour) -> None:
    """Refuse what cannot be done on a port (`UsageError`)."""
    if isinstance(core(behaviour), RefuseConnection):
        raise UsageError(
            "RefuseConnection cannot be done on a port: TCP has the connection before anybody "
            "knows what it asks; use DropBeforeReading, or an address at which nobody listens"
        )
