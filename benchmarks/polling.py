"""Many delegations that poll a slow peer at once: when the last of them ends.

    python benchmarks/polling.py [--delegations 1000] [--work 12] [--latency 0.2] [--json]

An agent in a process of its own takes its time for every reply, and for every task; each delegation
looks at its task once a second. A pool that is too narrow for the latency, or one so wide that it
keeps the processor busy, lets the looks fall behind. The exit status is 1 where the last delegation
ends after `--within` seconds, or where one does not complete.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import json
import os
import platform
import statistics
import sys
import time

import anyio
from dispatch import PROMPT, allow_files, running_agent

from a2a_delegate import A2ADelegateConfig, connect


async def measure(url: str, delegations: int) -> dict[str, object]:
    """Run the delegations, and tell when they ended."""
    config = A2ADelegateConfig(poll_interval=1.0, poll_interval_max=1.0)
    statuses: collections.Counter[str] = collections.Counter()
    ended: list[float] = []
    async with connect(url, config=config) as delegate:
        began, spent = time.perf_counter(), time.process_time()

        async def one() -> None:
            result = await delegate.dispatch(PROMPT)
            statuses[result.status] += 1
            ended.append(time.perf_counter() - began)

        async with anyio.create_task_group() as tasks:
            for _ in range(delegations):
                tasks.start_soon(one)
        return {
            "benchmark": "polling",
            "delegations": delegations,
            "statuses": dict(statuses),
            "last_seconds": round(max(ended), 2),
            "median_seconds": round(statistics.median(ended), 2),
            "cpu_seconds": round(time.process_time() - spent, 2),
            "cores": os.cpu_count(),
            "python": platform.python_version(),
        }


def main() -> None:
    """Measure, report, and say by the exit status whether the target is met."""
    parser = argparse.ArgumentParser(description="How late many delegations of a slow peer end.")
    parser.add_argument("--delegations", type=int, default=1_000)
    parser.add_argument("--work", type=float, default=12.0, help="seconds that a task takes")
    parser.add_argument("--latency", type=float, default=0.2, help="seconds that a reply takes")
    parser.add_argument("--within", type=float, default=16.0, help="the target, in seconds")
    parser.add_argument("--loop", choices=("asyncio", "trio"), default="asyncio")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    options = parser.parse_args()
    allow_files()
    with contextlib.ExitStack() as stack:
        url = stack.enter_context(
            running_agent("--work", str(options.work), "--latency", str(options.latency))
        )
        facts = anyio.run(measure, url, options.delegations, backend=options.loop)
    completed = facts["statuses"] == {"completed": options.delegations}
    met = completed and float(str(facts["last_seconds"])) <= options.within
    facts |= {"loop": options.loop, "within": options.within, "met": met}
    if options.json:
        print(json.dumps(facts))
    else:
        print(
            f"the last of {facts['delegations']} delegations of {options.work:g} seconds of work "
            f"ended after {facts['last_seconds']} seconds (half of them after "
            f"{facts['median_seconds']}), {facts['cpu_seconds']} of them CPU; {options.loop}, "
            f"{facts['statuses']}"
        )
    sys.exit(not met)


if __name__ == "__main__":
    main()
