"""The seam between a peer and what carries its calls: words go out, a result comes back.

A dialect knows words and a binding knows how they travel; neither knows the other. Whoever calls
holds both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Protocol, TypeAlias

from a2a_delegate.bindings.carriage import NOBODY
from a2a_delegate.lifecycle.operations import (
    Fault,
    Lost,
    NotSent,
    OperationName,
    StreamEnd,
    StreamEvent,
    Unreadable,
)
from a2a_delegate.model.frozen import dataclass
from a2a_delegate.wire.reading import Unclear
from a2a_delegate.wire.result import WireResult

if TYPE_CHECKING:
    import httpx

    from a2a_delegate.bindings.carriage import Identity
    from a2a_delegate.bindings.exchange import Exchange
    from a2a_delegate.wire.words import Words

ReadsEvent: TypeAlias = Callable[[object], StreamEvent | Unclear]
"""Reads one event of a stream, any JSON value, in the words of a dialect."""

CallReply: TypeAlias = WireResult | StreamEnd | Fault | Unreadable | NotSent | Lost


@dataclass(frozen=True, slots=True)
class Call:
    """One request: the words of a dialect, and where they go.

    `url` is the interface's, absolute and of a bound origin. `headers` name the version, and are
    the caller's own otherwise. With `read_event` the answer is asked for as a stream of events;
    those that come are told to the exchange, and a peer may answer by a single result all the same.
    """

    words: Words
    name: OperationName
    url: httpx.URL
    headers: Mapping[str, str] = field(repr=False)
    auth: httpx.Auth | None = field(default=None, repr=False)
    identity: Identity = NOBODY
    read_event: ReadsEvent | None = None


class Carriage(Protocol):
    """One way to carry calls."""

    async def call(self, call: Call, exchange: Exchange) -> CallReply:
        """Carry one call, once.

        Raises UsageError for words that cannot be carried; whatever the network or the peer does is
        in what it returns, and cancellation passes through with the exchange filled so far.
        """
        ...
