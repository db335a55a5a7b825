"""What a scripted peer can do with one request, once: the acts.

They differ in the one thing that a client has to get right, *how far the peer came*:

=====================  ==========  ===========  =============================================
act                    body read   work begun   what the client sees
=====================  ==========  ===========  =============================================
`RefuseConnection`     no          no           a connection that never came about
`DropBeforeReading`    no          no           a connection lost as the request begins
`DropWhileReading`     in part     no           a connection lost with the request under way
`Redirect`             yes         no           a 3xx answer
`Respond`, `RpcError`  yes         as told      this answer
`RawReply`             yes         as told      these bytes, in place of an HTTP reply
`Hang`                 yes         as told      nothing
`DropAfterAccepting`   yes         yes          nothing, or the beginning of the reply
`Endless`              yes         as told      a reply of any size
`Unstreamed`           yes         yes          JSON in place of a stream
the others             yes         yes          a reply that is false or changed
=====================  ==========  ===========  =============================================

Every act is a frozen value, so a script reads as a list of facts and can be compared, printed and
generated. What can be laid around them is in `behaviours`.
"""

from __future__ import annotations

import json
import socket
import ssl
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

import httpx

from a2a_delegate.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

JsonValue: TypeAlias = "dict[str, JsonValue] | list[JsonValue] | str | float | bool | None"


class Refusal(Enum):
    """Where a connection fails. All of them come before the first byte of the request."""

    DNS = (httpx.ConnectError, socket.gaierror, "[Errno -2] Name or service not known")
    CONNECT = (httpx.ConnectError, ConnectionRefusedError, "[Errno 111] Connection refused")
    TLS = (
        httpx.ConnectError,
        ssl.SSLCertVerificationError,
        "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed",
    )
    CONNECT_TIMEOUT = (httpx.ConnectTimeout, TimeoutError, "")
    POOL_TIMEOUT = (httpx.PoolTimeout, TimeoutError, "")

    def __init__(self, kind: type[httpx.TransportError], cause: type[OSError], text: str) -> None:
        self.kind = kind
        self.cause = cause
        self.text = text

    def __repr__(self) -> str:
        return str(self)

    def error(self, request: httpx.Request) -> httpx.TransportError:
        """Make the exception that httpx raises for this; its cause is the operating system's."""
        error = self.kind(self.text, request=request)
        error.__cause__ = self.cause(self.text)
        return error


class Close(StrEnum):
    """How a peer on a port ends a connection: in order (FIN), or by a reset (RST)."""

    FIN = "fin"
    RST = "rst"


class Loss(Enum):
    """How httpx reports a connection that is lost.

    The word says nothing about what the peer did: each of these can follow a request that was
    never read as well as one that was carried out. On a port, where only what is done to the
    connection can be chosen, `DISCONNECTED` closes it, the errors reset it, and the timeouts leave
    it open in silence until the client or the port is closed.
    """

    DISCONNECTED = (httpx.RemoteProtocolError, "Server disconnected without sending a response.")
    READ_ERROR = (httpx.ReadError, "")
    READ_TIMEOUT = (httpx.ReadTimeout, "")
    WRITE_ERROR = (httpx.WriteError, "")
    WRITE_TIMEOUT = (httpx.WriteTimeout, "")

    def __init__(self, kind: type[httpx.TransportError], text: str) -> None:
        self.kind = kind
        self.text = text

    def __repr__(self) -> str:
        return str(self)

    def error(self, request: httpx.Request) -> httpx.TransportError:
        """Make the exception that httpx raises for this."""
        return self.kind(self.text, request=request)


@dataclass(frozen=True, slots=True)
class Honest:
    """Do the work and tell the truth: what every request gets that no script speaks of."""


@dataclass(frozen=True, slots=True)
class RefuseConnection:
    """Never accept the connection: proof, for the client, that nothing ran.

    Not on a port: there a connection stands before anybody knows what will be asked over it.
    """

    phase: Refusal = Refusal.CONNECT


@dataclass(frozen=True, slots=True)
class DropBeforeReading:
    """Accept the connection and lose it before a byte of the body is taken. Nothing ran.

    On a port the bytes have come by then, because what is asked stands in them; the agent has not
    seen one of them, and the client cannot know that.
    """

    loss: Loss = Loss.DISCONNECTED


@dataclass(frozen=True, slots=True)
class DropWhileReading:
    """Take the first chunk of the body and lose the connection. Nothing ran; no client knows."""

    loss: Loss = Loss.WRITE_ERROR


@dataclass(frozen=True, slots=True)
class DropAfterAccepting:
    """Begin the work, then lose the connection after `bytes_sent` bytes of the honest reply's body.

    With 0 nothing is sent, not even a status line, unless `headers_sent`. From the length of the
    whole reply on, nothing is cut.
    """

    bytes_sent: int = 0
    headers_sent: bool = field(default=False, kw_only=True)
    loss: Loss = field(default=Loss.DISCONNECTED, kw_only=True)

    def __post_init__(self) -> None:
        """Refuse a negative length (`UsageError`)."""
        if self.bytes_sent < 0:
            raise UsageError(f"bytes_sent counts from 0, not {self.bytes_sent}")


@dataclass(frozen=True, slots=True)
class Respond:
    """Answer with this status, these headers and this body, instead of the honest reply.

    `body` is sent as it is when bytes, as UTF-8 when text, and as JSON otherwise. `accepts` says
    whether the work was begun first.
    """

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | JsonValue = b""
    accepts: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        """Refuse what is no final HTTP status, and freeze the headers (`UsageError`)."""
        if not 200 <= self.status <= 599:  # noqa: PLR2004 - the range of final statuses, RFC 9110 15
            raise UsageError(f"a final HTTP status is between 200 and 599, not {self.status}")
        object.__setattr__(self, "headers", MappingProxyType(dict(self.headers)))

    @property
    def content(self) -> bytes:
        """The body as bytes."""
        match self.body:
            case bytes():
                return self.body
            case str():
                return self.body.encode()
            case _:
                return json.dumps(self.body).encode()


@dataclass(frozen=True, slots=True)
class RawReply:
    """Put these bytes on the wire in place of an HTTP reply, and end the connection. Port only.

    `accepts` says whether the work was begun first.
    """

    content: bytes
    by: Close = Close.FIN
    accepts: bool = field(default=True, kw_only=True)


@dataclass(frozen=True, slots=True)
class RpcError:
    """Answer with this JSON-RPC error object, under the request's id or none (`with_id=False`).

    Over HTTP+JSON it takes the form that errors have there, with the status of its code unless a
    `status` is given; a list as `data` becomes the details, an object the metadata of the reason.
    `accepts` says whether the work was begun first, as when an agent raises after its effect.
    """

    code: int
    message: str = ""
    data: JsonValue = None
    status: int = field(default=200, kw_only=True)
    accepts: bool = field(default=False, kw_only=True)
    with_id: bool = field(default=True, kw_only=True)


@dataclass(frozen=True, slots=True)
class WrongId:
    """Give the honest reply under the id of some other request; over JSON-RPC only."""


@dataclass(frozen=True, slots=True)
class Hang:
    """Read the request and never answer it.

    `accepts` says whether the work was begun. A `deaf` one does not even end when the request is
    cancelled, as some transports do not; on a port it is the peer that takes no notice of a client
    that leaves. `ScriptedPeer.release` ends both kinds: an accepted request is then answered, any
    other one loses its connection.
    """

    accepts: bool = True
    deaf: bool = False


@dataclass(frozen=True, slots=True)
class OtherTask:
    """Answer a get with the body of another task, one that nobody asked for."""


class Opening(StrEnum):
    """What a stream that was subscribed to begins with.

    `SNAPSHOT` is the task as it is, then what follows (A2A 1.0, and servers of 0.3 such as a2akit
    and @a2a-js/sdk). `UPDATES` is what happens next; what happened before is lost (a2a-sdk 0.3).
    `SILENCE` is nothing, ever (a2a-sdk 0.2).
    """

    SNAPSHOT = "snapshot"
    UPDATES = "updates"
    SILENCE = "silence"


class Finished(StrEnum):
    """What a subscription to a task that has ended gets.

    `REFUSAL` is an error as JSON (A2A 1.0), `ERROR_EVENT` the same as the event of a stream
    (a2a-sdk 0.3), `CUT` the head of a stream and then a lost connection (a2a-sdk 0.3 over
    HTTP+JSON), `SNAPSHOT` the task as the only event (@a2a-js/sdk 0.3, fasta2a).
    """

    REFUSAL = "refusal"
    ERROR_EVENT = "error-event"
    CUT = "cut"
    SNAPSHOT = "snapshot"


@dataclass(frozen=True, slots=True)
class Subscription:
    """Answer a subscription as servers in use do; each version has its own way by default.

    `opening` is how the stream of a task begins that goes on, also of one that waits for its
    caller: that stream then stays open. `finished` is what comes of a task that has ended.
    """

    opening: Opening = Opening.SNAPSHOT
    finished: Finished = Finished.REFUSAL


@dataclass(frozen=True, slots=True)
class Unstreamed:
    """Answer a call for a stream with JSON, as if it asked for none.

    A send is answered with the task at once, or once it has settled where the peer `waits`; a
    subscription with the task as it is. What asks for no stream is answered honestly.
    """

    waits: bool = False


@dataclass(frozen=True, slots=True)
class LyingCancel:
    """Answer a cancel with a canceled task, while the work goes on to its end."""


@dataclass(frozen=True, slots=True)
class RefusedCancel:
    """Refuse a cancel (-32002), while the work goes on."""


@dataclass(frozen=True, slots=True)
class IgnoredCancel:
    """Answer a cancel with the task as it is, and do nothing about it."""


@dataclass(frozen=True, slots=True)
class UnknownState:
    """Give the honest reply, with every task in it in the state `word`."""

    word: str


@dataclass(frozen=True, slots=True)
class Endless:
    """Stream a reply body of `size` bytes: the honest reply, filled up with blanks.

    What follows the honest reply is white space, so a client that takes `size` bytes understands
    it. With `accepts=False` there is nothing but blanks. No length is announced.
    """

    size: int
    accepts: bool = field(default=True, kw_only=True)

    def __post_init__(self) -> None:
        """Refuse a negative size (`UsageError`)."""
        if self.size < 0:
            raise UsageError(f"size counts bytes from 0, not {self.size}")


@dataclass(frozen=True, slots=True)
class Redirect:
    """Send the client elsewhere, without doing anything."""

    status: int
    location: str

    def __post_init__(self) -> None:
        """Refuse a status that is no redirect (`UsageError`)."""
        if not 300 <= self.status <= 399:  # noqa: PLR2004 - RFC 9110 15.4
            raise UsageError(f"a redirect has a status from 300 to 399, not {self.status}")


@dataclass(frozen=True, slots=True)
class Rewrite:
    """Give the honest reply after `change`, a function of its parsed JSON body.

    For lies that have no name here: `Rewrite(lambda reply: {**reply, "jsonrpc": "1.0"})`.
    """

    change: Callable[[dict[str, JsonValue]], JsonValue]


Act: TypeAlias = (
    Honest
    | RefuseConnection
    | DropBeforeReading
    | DropWhileReading
    | DropAfterAccepting
    | Respond
    | RawReply
    | RpcError
    | WrongId
    | Hang
    | OtherTask
    | Subscription
    | Unstreamed
    | LyingCancel
    | RefusedCancel
    | IgnoredCancel
    | UnknownState
    | Endless
    | Redirect
    | Rewrite
)
"""What can be done with a request, at once."""

Unread: TypeAlias = RefuseConnection | DropBeforeReading
"""The acts that come before the first byte of the body is taken."""
