"""CPU of delegations that complete at the first reply, against bare httpx and against a2a-sdk.

    python benchmarks/dispatch.py [--callers 1 100 1000] [--pairs 9] [--loop asyncio|trio] [--json]

One agent in a process of its own on loopback; counted is the CPU of the calling process alone, user
and system. The bare POST writes the request and reads the answer, as a caller without a delegate
does by hand; `--bare same-bytes` is stricter: ready bytes are posted, and nobody reads the answer.
With many callers bare httpx is a client as anyone makes it, but for its timeout, which would end
calls. The client of a2a-sdk runs in a process and an environment of its own, made by
`tests/interop/install.py a2a-sdk-1.3`; `--no-sdk` leaves it out.

All ways take turns, so that what else happens on the machine falls on each of them, and the ratios
are medians over the pairs of turns. With many callers each turn begins with a call of each that is
not counted: it connects. The exit status is 1 where the ratio to bare httpx is over the target.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import json
import os
import platform
import statistics
import subprocess
import sys
import time
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

import anyio
import httpx

from a2a_delegate import A2ADelegate, connect, fetch_agent_card

if sys.platform != "win32":
    import resource

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator

TARGETS: Final = {1: 1.15, 1000: 0.3}
"""The most that a delegation may cost, in bare POSTs of as many callers; none for other numbers."""

TURN: Final = 10
"""Calls of a lone caller before the other way has its turn."""

EACH: Final = 3
"""Calls that each of many makes in a turn."""

PROMPT: Final = "Summarise the three newest papers on the delegation of tasks between agents."
HERE: Final = Path(__file__).parent
SDK: Final = HERE.parent / ".interop" / "a2a-sdk-1.3" / "bin" / "python"
_HEADERS: Final = {
    "A2A-Version": "1.0",
    "Accept": "application/json",
    "Accept-Encoding": "identity",
    "Content-Type": "application/json",
}


class Way(Protocol):
    """One way to call the agent."""

    async def cpu_of(self, callers: int, each: int) -> float:
        """Return the seconds of CPU that so many callers spend on so many calls each."""
        ...


@dataclass(frozen=True, slots=True)
class Here:
    """A way in this process."""

    call: Callable[[], Awaitable[None]]

    async def cpu_of(self, callers: int, each: int) -> float:
        """Return the seconds of CPU that this process spends on them."""
        if callers > 1:
            await self._calls(callers, 1)
            gc.collect()
        began = time.process_time()
        await self._calls(callers, each)
        return time.process_time() - began

    async def _calls(self, callers: int, each: int) -> None:
        async def caller() -> None:
            for _ in range(each):
                await self.call()

        if callers == 1:
            await caller()
            return
        async with anyio.create_task_group() as tasks:
            for _ in range(callers):
                tasks.start_soon(caller)


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """A way in another process, which is told on its standard input."""

    process: subprocess.Popen[bytes]

    async def cpu_of(self, callers: int, each: int) -> float:
        """Return the seconds of CPU that the other process spends on them."""
        if self.process.stdin is None or self.process.stdout is None:
            raise TypeError("the process was started without pipes")
        self.process.stdin.write(f"{callers} {each}\n".encode())
        self.process.stdin.flush()
        # Nothing else happens here meanwhile, so that nothing disturbs it.
        return float(self.process.stdout.readline())


@dataclass(slots=True)
class Pair:
    """Microseconds of CPU for one call, each way."""

    spent: dict[str, float] = field(default_factory=dict)

    def ratio(self, to: str) -> float:
        """Return what a delegation costs in calls of another way."""
        return self.spent["delegate"] / self.spent[to]


@contextlib.contextmanager
def running(*command: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run a program of ours in a process of its own."""
    with subprocess.Popen(  # noqa: S603 - our own program
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        try:
            yield process
        finally:
            process.terminate()


@contextlib.contextmanager
def running_agent(*options: str, program: str = "completing_agent.py") -> Iterator[str]:
    """Run the agent; give its URL."""
    with running(sys.executable, str(HERE / program), *options) as process:
        if process.stdout is None:
            raise TypeError("the agent was started without a pipe")
        yield process.stdout.readline().decode().strip()


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


@contextlib.asynccontextmanager
async def delegate_of(url: str, *, client: str) -> AsyncGenerator[A2ADelegate]:
    """Give a delegate with a client of its own, as `connect` makes it, or with one of ours."""
    if client == "own":
        async with connect(url) as delegate:
            yield delegate
        return
    async with httpx.AsyncClient(timeout=None) as given:  # noqa: S113 - the delegate has its own
        card = await fetch_agent_card(url, client=given)
        async with A2ADelegate("benchmark", card, client=given) as delegate:
            yield delegate


def bare_post(client: httpx.AsyncClient, url: str, bare: str) -> Callable[[], Awaitable[None]]:
    """Return the call that a delegation is compared with."""
    endpoint, body = f"{url}/rpc", json.dumps(a_send(), separators=(",", ":")).encode()

    async def by_hand() -> None:
        response = await client.post(endpoint, json=a_send(), headers=_HEADERS)
        response.raise_for_status()
        if response.json()["result"]["task"]["status"]["state"] != "TASK_STATE_COMPLETED":
            raise ValueError("the agent answered something else")

    async def same_bytes() -> None:
        response = await client.post(endpoint, content=body, headers=_HEADERS)
        response.raise_for_status()

    return by_hand if bare == "by-hand" else same_bytes


async def one_pair(ways: dict[str, Way], *, callers: int, calls: int) -> Pair:
    """Make that many calls each way, in short turns: what disturbs one disturbs the others."""
    gc.collect()
    each = TURN if callers == 1 else EACH
    turns = max(calls // (callers * each), 1)
    spent = dict.fromkeys(ways, 0.0)
    for turn in range(turns):
        for name in ways if turn % 2 else reversed(ways):
            spent[name] += await ways[name].cpu_of(callers, each)
    made = turns * callers * each
    return Pair({name: seconds / made * 1e6 for name, seconds in spent.items()})


async def measure(
    url: str, sdk: Way | None, options: argparse.Namespace
) -> list[dict[str, object]]:
    """Run the pairs one after the other, for each number of callers."""
    async with (
        httpx.AsyncClient(timeout=None) as bare,  # noqa: S113 - it would end calls that wait
        delegate_of(url, client=options.client) as delegate,
    ):

        async def dispatch() -> None:
            (await delegate.dispatch(PROMPT)).raise_for_status()

        ways: dict[str, Way] = {
            "httpx": Here(bare_post(bare, url, options.bare)),
            "delegate": Here(dispatch),
        }
        if sdk is not None:
            ways["a2a-sdk"] = sdk
        for way in ways.values():
            await way.cpu_of(1, 100)
        return [
            facts_of(
                [
                    await one_pair(ways, callers=callers, calls=options.calls)
                    for _ in range(options.pairs)
                ],
                callers,
                options,
            )
            for callers in options.callers
        ]


def facts_of(pairs: list[Pair], callers: int, options: argparse.Namespace) -> dict[str, object]:
    """Sum the pairs up."""
    target = TARGETS.get(callers) if options.at_most is None else options.at_most
    ratios = {to: [pair.ratio(to) for pair in pairs] for to in pairs[0].spent if to != "delegate"}
    return {
        "benchmark": "dispatch",
        "callers": callers,
        "loop": options.loop,
        "client": options.client,
        "bare": options.bare,
        "pairs": len(pairs),
        "microseconds": {
            name: round(statistics.median(pair.spent[name] for pair in pairs), 1)
            for name in pairs[0].spent
        },
        "ratio": {to: round(statistics.median(all_of), 3) for to, all_of in ratios.items()},
        "least": {to: round(min(all_of), 3) for to, all_of in ratios.items()},
        "most": {to: round(max(all_of), 3) for to, all_of in ratios.items()},
        "at_most": target,
        "met": target is None or statistics.median(ratios["httpx"]) <= target,
        "cores": os.cpu_count(),
        "python": platform.python_version(),
    }


def sentence_of(facts: dict[str, object]) -> str:
    """Say it in a line."""
    microseconds = facts["microseconds"]
    ratios = [
        f"{ratio} of {to} ({facts['least'][to]} to {facts['most'][to]})"  # type: ignore[index]
        for to, ratio in facts["ratio"].items()  # type: ignore[attr-defined]
    ]
    spent = ", ".join(
        f"{name} {value}"
        for name, value in microseconds.items()  # type: ignore[attr-defined]
    )
    return (
        f"{facts['callers']} callers: {' and '.join(ratios)}; microseconds of CPU: {spent}; "
        f"{facts['loop']}, {facts['client']} client, {facts['bare']}, {facts['pairs']} pairs"
    )


def options_of(arguments: list[str]) -> argparse.Namespace:
    """Read the options."""
    parser = argparse.ArgumentParser(description="CPU of a delegation against other ways to call.")
    parser.add_argument("--callers", type=int, nargs="+", default=[1], help="callers at once")
    parser.add_argument("--pairs", type=int, default=9)
    parser.add_argument("--calls", type=int, default=300, help="calls each way in a pair, at least")
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
    parser.add_argument("--no-sdk", action="store_true", help="leave a2a-sdk's client out")
    parser.add_argument("--at-most", type=float, help="the target, for any number of callers")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    return parser.parse_args(arguments)


def allow_files() -> None:
    """Let this process and the agent hold as many connections as the system allows."""
    if sys.platform != "win32":
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def main() -> None:
    """Measure, report, and say by the exit status whether the targets are met."""
    options = options_of(sys.argv[1:])
    if not options.no_sdk and not SDK.exists():
        sys.exit("no a2a-sdk: run python tests/interop/install.py a2a-sdk-1.3, or give --no-sdk")
    allow_files()
    with contextlib.ExitStack() as stack:
        url = stack.enter_context(running_agent())
        sdk = None
        if not options.no_sdk:
            command = (str(SDK), str(HERE / "sdk_caller.py"), url, PROMPT)
            sdk = Elsewhere(stack.enter_context(running(*command)))
        measured = anyio.run(measure, url, sdk, options, backend=options.loop)
    for facts in measured:
        print(json.dumps(facts) if options.json else sentence_of(facts), flush=True)
    sys.exit(not all(facts["met"] for facts in measured))


if __name__ == "__main__":
    main()
