"""Six delegations and how each one ended: run by `scripts/demo`, which installs what it needs.

Four go to a real agent on a2a-sdk 1.3, two to a scripted peer whose replies are lost. Each is shown
with the lines of code that made it, taken from this file. The exit status is 0 only where every
outcome is the expected one.
"""

from __future__ import annotations

import inspect
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from a2a_delegate import (
    A2ADelegate,
    A2ADelegateConfig,
    connect,
    fetch_agent_card,
    open_delegation,
)
from a2a_delegate.cli.terminal import visible
from a2a_delegate.testing import DropAfterAccepting, Operation, ScriptedPeer

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from tests.interop.servers import running

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from a2a_delegate import DelegateResult

PATIENCE = 60.0
"""Seconds that the whole demo may take."""


# -- the six delegations; what stands between the marks is shown --------------------------------


async def quick(delegate: A2ADelegate) -> DelegateResult:
    """Delegate a task that is done at once."""
    return await delegate.dispatch("quick")


async def slow(delegate: A2ADelegate) -> DelegateResult:
    """Watch a task that takes three seconds."""
    async with open_delegation(delegate, "slow 3") as delegation:
        async for update in delegation:
            show_update(update)
        return await delegation.result()


async def cancelled(delegate: A2ADelegate) -> DelegateResult:
    """Cancel a long task after a second, at the agent too."""
    async with open_delegation(delegate, "slow 60") as delegation:
        await anyio.sleep(1)
        return await delegation.cancel("the user left")


async def asking(delegate: A2ADelegate) -> DelegateResult:
    """Delegate a task that needs an answer first."""
    return await delegate.dispatch("ask")


async def recovered(peer: ScriptedPeer) -> DelegateResult:
    """Lose the first reply: the task is found again, and not sent twice."""
    peer.script(Operation.SEND, DropAfterAccepting())
    async with peer.client() as client:
        card = await fetch_agent_card(peer.url, client=client)
        delegate = A2ADelegate("scripted", card, client=client, config=BRISK)
        return await delegate.dispatch("task", observer=show_signal)


async def unknown(peer: ScriptedPeer) -> DelegateResult:
    """Lose the reply of a peer that cannot list (A2A 0.3): nobody can know."""
    peer.script(Operation.SEND, DropAfterAccepting())
    async with peer.client() as client:
        card = await fetch_agent_card(peer.url, client=client)
        delegate = A2ADelegate("scripted", card, client=client, config=BRISK)
        return await delegate.dispatch("task")


BRISK = A2ADelegateConfig(poll_interval=0.3, timeout=20)


# -- showing them -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Expected:
    """How a delegation must end for the demo to have shown what it says."""

    status: str
    effect: str


def show_update(update: object) -> None:
    """Print a state, a status text or an artifact as it comes."""
    facts = [getattr(update, name, "") for name in ("state", "message", "artifact")]
    text = next((getattr(fact, "text", fact) for fact in facts if fact), "")
    print(f"   … {type(update).__name__}: {visible(str(text))}")


def show_signal(signal: object) -> None:
    """Print which fact the delegation tells, in a word."""
    print(f"   … {type(signal).__name__}")


def emphasis(text: str) -> str:
    """Make a heading stand out, where it is a terminal that shows it."""
    return f"\033[1m{text}\033[0m" if sys.stdout.isatty() else text


def show_code(function: Callable[..., object]) -> None:
    """Print the lines that make the delegation, from the source itself."""
    source = inspect.getsource(function)
    _, _, body = source.partition('"""\n')
    print(textwrap.indent(textwrap.dedent(body).rstrip(), "   | "))


def show_outcome(result: DelegateResult, expected: Expected) -> bool:
    """Print the outcome, its effect and its evidence; return whether it is the expected one."""
    print(emphasis(f"   {result.status}, effect {result.effect}"), end="")
    print(f", {'safe' if result.safe_to_retry else 'not safe'} to retry")
    for name in ("output", "question", "receipt", "cause"):
        fact = getattr(result, name, None)
        if fact is not None:
            print(f"   {name}: {visible(str(fact))}")
    print("   evidence:")
    print(textwrap.indent(visible(result.explain()), "     "))
    as_expected = Expected(result.status, str(result.effect)) == expected
    if not as_expected:
        print(f"   EXPECTED {expected.status}, effect {expected.effect}")
    return as_expected


async def show(
    number: int, function: Callable[..., Awaitable[DelegateResult]], to: object, expected: Expected
) -> bool:
    """Show one delegation from its code to its outcome."""
    print(emphasis(f"\n{number}. {inspect.getdoc(function)}"))
    show_code(function)
    return show_outcome(await function(to), expected)


async def main(url: str) -> bool:
    """Delegate everything, one after the other; return whether all ended as expected."""
    with anyio.fail_after(PATIENCE):
        async with connect(url, config=BRISK) as delegate:
            print(f"a real agent, on a2a-sdk 1.3, at {url}")
            ended = [
                await show(1, quick, delegate, Expected("completed", "ran")),
                await show(2, slow, delegate, Expected("completed", "ran")),
                await show(3, cancelled, delegate, Expected("cancelled", "ran")),
                await show(4, asking, delegate, Expected("input-required", "ran")),
            ]
        print("\na scripted peer, in this process")
        lossy, old = ScriptedPeer(versions=("1.0",)), ScriptedPeer(versions=("0.3",))
        ended.append(await show(5, recovered, lossy, Expected("completed", "ran")))
        print(f"   the peer's own count of runs: {sorted(lossy.truth.runs.values())}")
        ended.append(await show(6, unknown, old, Expected("unknown", "may-have-run")))
        print(f"   the peer's own count of runs: {sorted(old.truth.runs.values())}")
        once = [sum(peer.truth.runs.values()) for peer in (lossy, old)] == [1, 1]
    return all(ended) and once


if __name__ == "__main__":
    with running("a2a-sdk-1.3", "1.0-only") as server:
        good = anyio.run(main, server.url)
    print("\nAll six ended as expected." if good else "\nNot all six ended as expected.")
    sys.exit(0 if good else 1)
