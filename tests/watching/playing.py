"""Plays a scenario over one way to a scripted peer, and says what came of it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

import anyio
import httpx

from a2a_delegate import A2ADelegate, A2ADelegateConfig, CancelToken, DelegateRequest
from a2a_delegate.runtime.card_lookup import fetch_agent_card
from a2a_delegate.testing import ScriptedPeer

if TYPE_CHECKING:
    from a2a_delegate import DelegateResult, Signal
    from tests.watching.scenarios import Scenario

Watch = Literal["stream", "poll"]


class Way(NamedTuple):
    """A version over a binding, watched in one of two ways."""

    version: str
    binding: str
    watch: Watch

    def __str__(self) -> str:
        return f"{self.version} {self.binding} {self.watch}"


INTERFACES: Final = (
    ("1.0", "JSONRPC"),
    ("1.0", "HTTP+JSON"),
    ("0.3", "JSONRPC"),
    ("0.3", "HTTP+JSON"),
    ("0.2", "JSONRPC"),
)
WATCHED: Final[tuple[Watch, ...]] = ("stream", "poll")
WAYS: Final = [Way(*interface, watch) for interface in INTERFACES for watch in WATCHED]


@dataclass(frozen=True, slots=True)
class Played:
    """What the caller was told, and what was asked of the peer."""

    result: DelegateResult
    signals: tuple[Signal, ...]
    asked: Counter[str]
    runs: int
    left_open: int
    text: str
    """The text of the artifacts, put together from the chunks that were told."""

    @property
    def outcome(self) -> tuple[str, str, str | None]:
        """The words of the outcome."""
        output = self.result.output if self.result.status == "completed" else None
        return self.result.status, self.result.effect.value, output


async def play(scenario: Scenario, way: Way) -> Played:
    """Play a scenario to its end, on the loop's own (virtual) clock."""
    peer = ScriptedPeer((way.version,), bindings=(way.binding,), streaming=True, **scenario.options)
    for operation, behaviour in scenario.once:
        peer.script(operation, behaviour)
    for operation, behaviour in scenario.always.items():
        peer.always(operation, behaviour)
    config = A2ADelegateConfig(watch=way.watch, timeout=scenario.timeout, max_event_bytes=1_000_000)
    signals: list[Signal] = []
    token = CancelToken()
    async with httpx.AsyncClient(transport=peer.transport(), trust_env=False) as client:
        card = await fetch_agent_card(peer.url, client=client)
        async with (
            A2ADelegate("peer", card, client=client, config=config) as delegate,
            anyio.create_task_group() as group,
        ):
            if scenario.cancel_at is not None:
                group.start_soon(_cancel, token, scenario.cancel_at)
            result = await delegate.dispatch(
                DelegateRequest(scenario.prompt), cancel=token, observer=signals.append
            )
            group.cancel_scope.cancel()
        peer.release()
        await anyio.sleep(1)
        left_open = peer.truth.open
    asked = Counter(str(one.operation) for one in peer.truth.requests if one.operation != "card")
    runs = sum(peer.truth.runs.values())
    return Played(result, tuple(signals), asked, runs, left_open, _text_of(signals))


async def _cancel(token: CancelToken, at: float) -> None:
    await anyio.sleep(at)
    token.cancel("enough")


def _text_of(signals: list[Signal]) -> str:
    texts: dict[str, str] = {}
    for signal in signals:
        artifact = getattr(signal, "artifact", None)
        if artifact is not None:
            before = texts.get(artifact.artifact_id, "") if getattr(signal, "append", False) else ""
            texts[artifact.artifact_id] = before + artifact.text
    return "\n\n".join(filter(None, texts.values()))
