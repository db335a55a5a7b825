"""What a peer on a port tells while it goes on: one fact for each thing that happens to it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

    from a2a_delegate.testing.layering import Behaviour
    from a2a_delegate.testing.truth import RequestFact


class Parting(StrEnum):
    """What became of the connection of a request, once that was over; its `str()` says it."""

    KEPT = "kept open"
    CLOSED = "closed"
    RESET = "reset"
    HALF_CLOSED = "half closed"
    SILENT = "left in silence"
    LEFT = "left by the client"
    ENDED = "ended with the port"


@dataclass(frozen=True, slots=True)
class RequestArrived:
    """A request has come as far as it needs to, and `behaviour` is what it gets.

    `number` counts the requests of a peer from 1: it is the place in `GroundTruth.requests`.
    """

    number: int
    request: RequestFact
    behaviour: Behaviour


@dataclass(frozen=True, slots=True)
class RequestOver:
    """A request is over: whether it began work, and what went out.

    `status` is that of the reply, None where there is none. `sent` counts the bytes that went out,
    head included, and `reply` holds the first 64 KiB of them.
    `behaviour` is None for what came over a connection that was no longer served.
    """

    number: int
    request: RequestFact
    behaviour: Behaviour | None
    ran: bool
    status: int | None
    sent: int
    reply: bytes
    parting: Parting


@dataclass(frozen=True, slots=True)
class ConnectionRefused:
    """A connection came to no request: its handshake failed, or what came over it is no HTTP."""

    reason: str


Happening: TypeAlias = RequestArrived | RequestOver | ConnectionRefused
"""What an observer of a port is told."""

PortObserver: TypeAlias = "Callable[[Happening], object]"
"""A plain callable; it is called on the event loop of the peer and must not block."""
