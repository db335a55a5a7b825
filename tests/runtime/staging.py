"""A delegate over a scripted peer, with or without a network between them."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
import httpx

from a2a_delegate import A2ADelegate, A2ADelegateConfig
from tests.faults.play import card_of
from tests.faults.wire import Manners, Wire

T = TypeVar("T")

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from a2a_delegate import Observer, Signal
    from a2a_delegate.testing import Operation, RequestFact, ScriptedPeer


@asynccontextmanager
async def delegate_over(
    transport: httpx.AsyncBaseTransport,
    versions: tuple[str, ...],
    *,
    observers: Sequence[Observer] = (),
    **config: Any,
) -> AsyncGenerator[A2ADelegate, None]:
    """Make a delegate whose requests go by a transport; the card is a scripted peer's."""
    card, options = card_of(versions), A2ADelegateConfig(**config)
    async with (
        httpx.AsyncClient(transport=transport, trust_env=False) as client,
        A2ADelegate("peer", card, client=client, config=options, observers=observers) as delegate,
    ):
        yield delegate


@asynccontextmanager
async def delegate_to(
    peer: ScriptedPeer, *, manners: Manners | None = None, **config: Any
) -> AsyncGenerator[A2ADelegate, None]:
    """Make a delegate of a peer; with `manners` its requests take a moment for each step."""
    transport = peer.transport()
    if manners is not None:
        transport = Wire(transport, manners)
    async with delegate_over(transport, peer.versions, **config) as delegate:
        yield delegate


@dataclass
class Notes:
    """An observer that takes down every signal, with its time from the first one on."""

    signals: list[Signal] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    began: float | None = None

    def __call__(self, signal: Signal) -> None:
        now = anyio.current_time()
        self.began = now if self.began is None else self.began
        self.signals.append(signal)
        self.times.append(now - self.began)

    @property
    def kinds(self) -> list[str]:
        """The names of the signals, in order."""
        return [type(signal).__name__ for signal in self.signals]

    def of(self, kind: type[T]) -> list[T]:
        """Return the signals of one kind."""
        return [signal for signal in self.signals if isinstance(signal, kind)]

    def time_of(self, kind: type[Signal]) -> float:
        """Return when the first of a kind was told."""
        at = next(n for n, signal in enumerate(self.signals) if isinstance(signal, kind))
        return self.times[at]


def requests_of(peer: ScriptedPeer, operation: Operation) -> list[RequestFact]:
    """Return the requests of one operation, as the peer saw them."""
    return [one for one in peer.truth.requests if one.operation is operation]
