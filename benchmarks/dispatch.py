"""CPU of one delegation that completes at the first reply, against a bare httpx POST.

    python benchmarks/dispatch.py [--pairs 9] [--calls 300] [--loop asyncio|trio] [--json]

The bare POST writes the request and reads the answer, as a caller without a delegate does by hand;
`--bare same-bytes` is stricter: ready bytes are posted, and nobody reads the answer.
One caller, one agent in a process of its own on loopback. Within each pair both ways take turns of
ten calls, so that what else happens on the machine falls on both. Counted is the CPU of this
process alone, user and system. The exit status is 1 where the median of the pairs' ratios is over
`--at-most`.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import json
import statistics
import subprocess
import sys
import time
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import anyio
import httpx

from a2a_delegate import A2ADelegate, connect, fetch_agent_card

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator

TARGET: Final = 1.15
"""The most that a delegation may cost, in bare POSTs."""

WARM_UP: Final = 100
TURN: Final = 10
"""Calls one way before the other way has its turn."""

PROMPT: Final = "Summarise the three newest papers on the delegation of tasks between agents."
_HEADERS: Final = {
    "A2A-Version": "1.0",
    "Accept": "application/json",
    "Accept-Encoding": "identity",
    "Content-Type": "application/json",
}


@dataclass(frozen=True, slots=True)
class Pair:
    """Microseconds of CPU for one call, both ways."""

    bare: float
    delegate: float

    @property
    def ratio(self) -> float:
        """What a delegation costs in bare POSTs."""
        return self.delegate / self.bare


@contextlib.contextmanager
def running_agent() -> Iterator[str]:
    """Run the agent in a process of its own; give its URL."""
    program = Path(__file__).with_name("completing_agent.py")
    with subprocess.Popen(  # noqa: S603 - our own program
        [sys.executable, str(program)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        try:
            if process.stdout is None:
                raise TypeError("the agent was started without a pipe")
            yield process.stdout.readline().decode().strip()
        finally:
            process.terminate()


def a_send() -> dict[str, object]:
    """Write by hand the request that the delegate writes, with fresh ids."""
    message = {
        "messageId": str(uuid.uuid4()),
        "role": "ROLE_USER",
        "parts": [{"text": PROMPT}],
        "contextId": str(uuid.uuid4()),
    }
    params = {"message": message, "configuration": {"returnImmediately": True}}
    return {"jsonrpc": "2.0", "id": str(uuid.uuid4()), "method": "SendMessage", "params": params}


async def cpu_of(call: Callable[[], Awaitable[None]], calls: int) -> float:
    """Return the seconds of CPU that this process spends on some calls, one after the other."""
    began = time.process_time()
    for _ in range(calls):
        await call()
    return time.process_time() - began


async def one_pair(
    bare: Callable[[], Awaitable[None]], delegate: Callable[[], Awaitable[None]], *, calls: int
) -> Pair:
    """Make that many calls each way, in short turns: what disturbs the one disturbs the other."""
    gc.collect()
    spent = {bare: 0.0, delegate: 0.0}
    for turn in range(calls // TURN):
        for call in (bare, delegate) if turn % 2 else (delegate, bare):
            spent[call] += await cpu_of(call, TURN)
    made = calls // TURN * TURN
    return Pair(spent[bare] / made * 1e6, spent[delegate] / made * 1e6)


@contextlib.asynccontextmanager
async def delegate_of(url: str, *, client: str) -> AsyncGenerator[A2ADelegate]:
    """Give a delegate with a client of its own, as `connect` makes it, or with one of ours."""
    if client == "own":
        async with connect(url) as delegate:
            yield delegate
        return
    async with httpx.AsyncClient() as given:
        card = await fetch_agent_card(url, client=given)
        async with A2ADelegate("benchmark", card, client=given) as delegate:
            yield delegate


async def measure(url: str, *, client: str, bare: str, pairs: int, calls: int) -> list[Pair]:
    """Run the pairs one after the other."""
    endpoint, body = f"{url}/rpc", json.dumps(a_send(), separators=(",", ":")).encode()
    async with (
        httpx.AsyncClient() as bare_client,
        delegate_of(url, client=client) as delegate,
    ):

        async def by_hand() -> None:
            response = await bare_client.post(endpoint, json=a_send(), headers=_HEADERS)
            response.raise_for_status()
            if response.json()["result"]["task"]["status"]["state"] != "TASK_STATE_COMPLETED":
                raise ValueError("the agent answered something else")

        async def same_bytes() -> None:
            response = await bare_client.post(endpoint, content=body, headers=_HEADERS)
            response.raise_for_status()

        post = by_hand if bare == "by-hand" else same_bytes

        async def dispatch() -> None:
            (await delegate.dispatch(PROMPT)).raise_for_status()

        for call in (post, dispatch):
            await cpu_of(call, WARM_UP)
        return [await one_pair(post, dispatch, calls=calls) for _ in range(pairs)]


def main() -> None:
    """Measure, report, and say by the exit status whether the target is met."""
    parser = argparse.ArgumentParser(description="CPU of a delegation against a bare POST.")
    parser.add_argument("--pairs", type=int, default=9)
    parser.add_argument("--calls", type=int, default=300, help="calls each way in a pair")
    parser.add_argument("--loop", choices=("asyncio", "trio"), default="asyncio")
    parser.add_argument(
        "--client",
        choices=("own", "given"),
        default="own",
        help="whose httpx client the delegate uses: its own, as with connect(), or one of yours",
    )
    parser.add_argument(
        "--bare",
        choices=("by-hand", "same-bytes"),
        default="by-hand",
        help="what it is compared with: a POST that writes the request and reads the answer, as a "
        "caller without a delegate does, or one of ready bytes whose answer nobody reads",
    )
    parser.add_argument("--at-most", type=float, default=TARGET)
    parser.add_argument("--json", action="store_true", help="one JSON object")
    arguments = parser.parse_args()

    async def run() -> list[Pair]:
        return await measure(
            url,
            client=arguments.client,
            bare=arguments.bare,
            pairs=arguments.pairs,
            calls=arguments.calls,
        )

    with running_agent() as url:
        measured = anyio.run(run, backend=arguments.loop)
    ratios = [pair.ratio for pair in measured]
    facts = {
        "benchmark": "dispatch",
        "loop": arguments.loop,
        "client": arguments.client,
        "bare": arguments.bare,
        "pairs": len(measured),
        "calls": arguments.calls,
        "bare_us": round(statistics.median(pair.bare for pair in measured), 1),
        "delegate_us": round(statistics.median(pair.delegate for pair in measured), 1),
        "ratio": round(statistics.median(ratios), 3),
        "ratio_min": round(min(ratios), 3),
        "ratio_max": round(max(ratios), 3),
        "at_most": arguments.at_most,
    }
    if arguments.json:
        print(json.dumps(facts))
    else:
        print(
            f"{facts['ratio']} of a bare POST ({facts['ratio_min']} to {facts['ratio_max']}; "
            f"{facts['delegate_us']} against {facts['bare_us']} microseconds of CPU, "
            f"{arguments.loop}, {arguments.client} client, "
            f"{len(measured)} pairs of {arguments.calls} calls)"
        )
    sys.exit(statistics.median(ratios) > arguments.at_most)


if __name__ == "__main__":
    main()
