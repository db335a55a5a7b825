"""Delegating to the real servers, and what was told on the way."""

from __future__ import annotations

import time
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeVar

import httpx

from a2a_delegate import (
    A2ADelegate,
    A2ADelegateConfig,
    AgentCapabilities,
    AgentCard,
    AgentInterface,
    Attempt,
    Binding,
    Intent,
    StateSeen,
    fetch_agent_card,
)

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from a2a_delegate import DelegateResult, ProtocolVersion, Signal
    from tests.interop.servers import Server
    from tests.interop.ways import Way

S = TypeVar("S")

QUICKLY = A2ADelegateConfig(timeout=10.0, poll_interval=0.1, poll_interval_max=0.3)
"""Looks at tasks more often than anybody should outside of tests."""


def watching(way: Way) -> A2ADelegateConfig:
    """How a way is gone. Beside a stream a task is looked at every two seconds, so not at all."""
    if not way.streams:
        return replace(QUICKLY, watch="poll")
    return replace(QUICKLY, watch="stream", poll_interval=0.2, poll_interval_max=2.0)


@dataclass(slots=True)
class Told:
    """An observer that keeps the signals."""

    signals: list[Signal] = field(default_factory=list)

    def __call__(self, signal: Signal) -> None:
        self.signals.append(signal)

    def all(self, kind: type[S]) -> list[S]:
        """The signals of one kind, in order."""
        return [signal for signal in self.signals if isinstance(signal, kind)]

    @property
    def message_id(self) -> str:
        """The id of the message of the one delegation that was observed."""
        (intent,) = self.all(Intent)
        assert intent.handle is not None
        return intent.handle.message_id


@dataclass(slots=True)
class Reacting(Told):
    """Keeps the signals, and does something at the first one that `when` is true of."""

    when: Callable[[Signal], bool] = field(kw_only=True)
    then: Callable[[], object] = field(kw_only=True)
    reacted: bool = False

    def __call__(self, signal: Signal) -> None:
        self.signals.append(signal)
        if not self.reacted and self.when(signal):
            self.reacted = True
            self.then()


def at_work(signal: Signal) -> bool:
    """Whether the peer shows for the first time that it works."""
    return isinstance(signal, StateSeen) and signal.state == "working"


@dataclass(slots=True)
class Stopwatch:
    """Measures one block."""

    began: float = field(default_factory=time.monotonic)

    @property
    def seconds(self) -> float:
        """Seconds since it was made."""
        return time.monotonic() - self.began


def interface(
    url: str, version: ProtocolVersion, binding: Binding = Binding.JSONRPC
) -> AgentInterface:
    """An interface, written by hand."""
    return AgentInterface(url, binding, version)


def speaking(
    card: AgentCard, version: ProtocolVersion, binding: Binding, *, via: str | None = None
) -> AgentCard:
    """The card with this interface first; `via` is the origin that leads there instead."""

    def is_other(one: AgentInterface) -> bool:
        return (one.version, one.binding) != (version, binding)

    ordered = tuple(sorted(card.interfaces, key=is_other))
    assert not is_other(ordered[0]), f"the card offers no {binding} {version}"
    if via is None:
        return replace(card, interfaces=ordered)
    moved = [replace(one, url=via + httpx.URL(one.url).path) for one in ordered]
    return replace(card, interfaces=tuple(moved), source=None)


@asynccontextmanager
async def delegate_to(
    base_url: str,
    version: ProtocolVersion,
    binding: Binding = Binding.JSONRPC,
    *,
    via: str | None = None,
    config: A2ADelegateConfig = QUICKLY,
) -> AsyncGenerator[A2ADelegate]:
    """A delegate of a running server, from its real card; see `speaking`."""
    async with httpx.AsyncClient(trust_env=False, timeout=5.0) as client:
        card = await fetch_agent_card(base_url, client=client)
        chosen = speaking(card, version, binding, via=via)
        async with A2ADelegate("tested", chosen, client=client, config=config) as delegate:
            yield delegate


@asynccontextmanager
async def delegate_by_hand(
    *interfaces: AgentInterface, config: A2ADelegateConfig = QUICKLY
) -> AsyncGenerator[A2ADelegate]:
    """A delegate by a card made by hand: what it says is the caller's word, true or not."""
    capabilities = AgentCapabilities(streaming=config.watch == "stream")
    card = AgentCard("made by hand", interfaces, capabilities=capabilities)
    async with (
        httpx.AsyncClient(trust_env=False, timeout=5.0) as client,
        A2ADelegate("tested", card, client=client, config=config) as delegate,
    ):
        yield delegate


def operations(result: DelegateResult) -> list[str]:
    """What was asked of the peer, in order."""
    return [attempt.operation for attempt in result.attempts]


def sends(result: DelegateResult) -> list[Attempt]:
    """The attempts to hand the message over."""
    return [attempt for attempt in result.attempts if attempt.operation == "send"]


def spoken(result: DelegateResult, *, by: Callable[[Attempt], bool] = bool) -> set[str]:
    """The versions that were spoken, in all requests or in some of them."""
    return {attempt.version for attempt in result.attempts if by(attempt)}


def journal(server: Server, message: str) -> list[object]:
    """What the agent's own code did about a message, named by its id or its text."""
    return [event["event"] for event in server.events_of(message)]
