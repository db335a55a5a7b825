"""What reading streams of events costs, against httpx-sse and against the parser of a2a-sdk.

    python benchmarks/streams.py decoding [--pairs 9] [--events 100000] [--size 200] [--large 64]
                                          [--at-most 1] [--no-sdk] [--json]

`decoding`: many small events, and one of many MiB, out of the memory of a process that has one way
to read them (stream_reader.py). a2a-sdk's runs in an environment of its own, made by
`tests/interop/install.py a2a-sdk-1.3` (`--no-sdk` leaves it out); httpx-sse is installed by
`pip install --group benchmarks`. `decoded` is the stream cut into events; `read` is each event's
JSON and the event of A2A in it as well, where httpx-sse, which knows nothing of A2A, stops at JSON.

All ways take turns, so that what else happens on the machine falls on each of them; ratios are
medians over the pairs of turns. The memory is the most that Python held at once for the large
event, in sizes of it, and for one of a quarter of its size: alike where it grows in proportion.
The exit status is 1 where decoding costs more than `--at-most` of the faster of the others, or
where the memory grows faster than the event.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import json
import os
import platform
import statistics
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from dispatch import SDK, running
from stream_reader import Order

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator

MEBIBYTE: Final = 1024 * 1024
READER: Final = str(Path(__file__).parent / "stream_reader.py")
LINEAR: Final = 1.2
"""The memory of a large event, in sizes of it, may be that many times that of a smaller one."""

Readers: TypeAlias = "dict[str, subprocess.Popen[bytes]]"


@contextlib.contextmanager
def running_readers(*, with_sdk: bool) -> Iterator[Readers]:
    """Run one process a way."""
    programs = {"delegate": sys.executable, "httpx-sse": sys.executable}
    if with_sdk:
        programs["a2a-sdk"] = str(SDK)
    with contextlib.ExitStack() as stack:
        yield {
            way: stack.enter_context(running(program, READER, way))
            for way, program in programs.items()
        }


def carried_out(reader: subprocess.Popen[bytes], order: Order) -> float:
    """Give a reader an order, and return its answer."""
    if reader.stdin is None or reader.stdout is None:
        raise TypeError("the reader was started without pipes")
    reader.stdin.write(json.dumps(asdict(order)).encode() + b"\n")
    reader.stdin.flush()
    # Nothing else happens here meanwhile, so that nothing disturbs it.
    return float(reader.stdout.readline())


def compared(readers: Readers, order: Order, pairs: int) -> dict[str, object]:
    """Let the ways take turns with an order, and sum the pairs of turns up."""
    spent: dict[str, list[float]] = {way: [] for way in readers}
    for reader in readers.values():
        carried_out(reader, order)  # not counted: it imports
    for number in range(pairs):
        for way in readers if number % 2 else reversed(readers):
            spent[way].append(carried_out(readers[way], order))
    ratios = {
        to: [ours / theirs for ours, theirs in zip(spent["delegate"], others, strict=True)]
        for to, others in spent.items()
        if to != "delegate"
    }
    return {
        "seconds": {way: round(statistics.median(all_of), 4) for way, all_of in spent.items()},
        "ratio": {to: round(statistics.median(all_of), 3) for to, all_of in ratios.items()},
        "least": {to: round(min(all_of), 3) for to, all_of in ratios.items()},
        "most": {to: round(max(all_of), 3) for to, all_of in ratios.items()},
    }


def memory_of(readers: Readers, size: int) -> dict[str, float]:
    """Return the memory that one event takes, in sizes of it."""
    order = Order(events=1, size=size, memory=True)
    return {way: round(carried_out(reader, order) / size, 2) for way, reader in readers.items()}


def measure_decoding(options: argparse.Namespace) -> list[dict[str, object]]:
    """Run all comparisons of decoding, and say which targets are met."""
    if importlib.util.find_spec("httpx_sse") is None:
        sys.exit("no httpx-sse: run pip install --group benchmarks")
    if not options.no_sdk and not SDK.exists():
        sys.exit("no a2a-sdk: run python tests/interop/install.py a2a-sdk-1.3, or give --no-sdk")
    large = options.large * MEBIBYTE
    streams = {
        f"{options.events} events of {options.size} bytes": (options.events, options.size),
        f"one event of {options.large} MiB": (1, large),
    }
    measured: list[dict[str, object]] = []
    with running_readers(with_sdk=not options.no_sdk) as readers:
        for name, (events, size) in streams.items():
            for read in (False, True):
                order = Order(events=events, size=size, read=read)
                facts = compared(readers, order, options.pairs)
                ratio: dict[str, float] = facts["ratio"]  # type: ignore[assignment]
                met = read or max(ratio.values()) <= options.at_most
                measured.append(
                    {"stream": name, "way": "read" if read else "decoded", **facts, "met": met}
                )
        memory, smaller = memory_of(readers, large), memory_of(readers, large // 4)
    met = memory["delegate"] <= LINEAR * smaller["delegate"]
    facts = {"sizes_of_the_event": memory, "of_a_quarter_of_it": smaller, "met": met}
    return [*measured, {"stream": f"one event of {options.large} MiB", "way": "memory", **facts}]


def sentence_of(facts: dict[str, object]) -> str:
    """Say it in a line."""
    said = f"{facts['stream']}, {facts['way']}: "
    if facts["way"] == "memory":
        return (
            f"{said}{listed(facts['sizes_of_the_event'])} times its size; "
            f"of a quarter of it {listed(facts['of_a_quarter_of_it'])}"
        )
    ratios = [
        f"{ratio} of {to} ({facts['least'][to]} to {facts['most'][to]})"  # type: ignore[index]
        for to, ratio in facts["ratio"].items()  # type: ignore[attr-defined]
    ]
    return f"{said}{' and '.join(ratios)}; seconds of CPU: {listed(facts['seconds'])}"


def listed(figures: object) -> str:
    """List figures by their names."""
    return ", ".join(f"{name} {value}" for name, value in figures.items())  # type: ignore[attr-defined]


def options_of(arguments: list[str]) -> argparse.Namespace:
    """Read the options."""
    parser = argparse.ArgumentParser(description="What reading streams of events costs.")
    what = parser.add_subparsers(required=True, metavar="WHAT")
    decoding = what.add_parser("decoding", help="CPU and memory of decoders, on streams in memory")
    decoding.add_argument("--pairs", type=int, default=9)
    decoding.add_argument("--events", type=int, default=100_000, help="small events in a stream")
    decoding.add_argument("--size", type=int, default=200, help="bytes of a small event")
    decoding.add_argument("--large", type=int, default=64, help="MiB of the large event")
    decoding.add_argument(
        "--at-most",
        type=float,
        default=1.0,
        help="the target, in costs of the faster of the others",
    )
    decoding.add_argument("--no-sdk", action="store_true", help="leave a2a-sdk's parser out")
    decoding.add_argument("--json", action="store_true", help="one JSON object a line")
    decoding.set_defaults(measure=measure_decoding)
    return parser.parse_args(arguments)


def main() -> None:
    """Measure, report, and say by the exit status whether the targets are met."""
    options = options_of(sys.argv[1:])
    machine = {"cores": os.cpu_count(), "python": platform.python_version()}
    measured = options.measure(options)
    for facts in measured:
        print(json.dumps(facts | machine) if options.json else sentence_of(facts), flush=True)
    sys.exit(not all(facts["met"] for facts in measured))


if __name__ == "__main__":
    main()
