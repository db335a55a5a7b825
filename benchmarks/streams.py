"""What reading streams of events costs, against httpx-sse and against the parser of a2a-sdk.

    python benchmarks/streams.py decoding [--pairs 9] [--events 100000] [--size 200] [--large 64]
                                          [--at-most 1] [--no-sdk] [--json]
    python benchmarks/streams.py open [--streams 100 1000] [--pairs 5] [--rate 1000] [--seconds 5]
                                      [--loop asyncio|trio] [--at-most 2] [--no-sdk] [--json]

`decoding`: many small events, and one of many MiB, out of the memory of a process that has one way
to read them (stream_reader.py). a2a-sdk's runs in an environment of its own, made by
`tests/interop/install.py a2a-sdk-1.3` (`--no-sdk` leaves it out); httpx-sse is installed by
`pip install --group benchmarks`. `decoded` is the stream cut into events; `read` is each event's
JSON and the event of A2A in it as well, where httpx-sse, which knows nothing of A2A, stops at JSON.

`open`: many streams at once in one process (open_streams.py), each followed to its end, at an agent
in a process of its own (streaming_agent.py) whose streams show `--rate` events a second in all. The
delegate follows with `watch="stream"` and tells an observer each; it asks for the task beside a
stream every 30 seconds, which takes part from `--seconds 30` on, confirms the end by another get,
and gives an outcome. The others read events and no more: httpx-sse over a bare client, with their
JSON, and a2a-sdk's client. CPU is that of the following process: of one stream until all are open,
of one event from then until the first stream has shown its last piece, and of one stream after
that. `late` is by how much a task that sleeps 10 ms wakes up too late while the events come, `busy`
the same without what other processes are to blame for, `held` the bytes that Python holds for a
stream. A stream that does not complete, or leaves a socket or a task behind, ends the program.

All ways take turns, so that what else happens on the machine falls on each of them; ratios are
medians over the pairs of turns. The memory is the most that Python held at once for the large
event, in sizes of it, and for one of a quarter of its size: alike where it grows in proportion.
The exit status is 1 where decoding costs more than `--at-most` of the faster of the others, or
where the memory grows faster than the event; and where an event of an open stream costs more than
`--at-most` of what httpx-sse takes for it, or a stream holds 100 KiB more than there.
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
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import open_streams
import stream_reader
from dispatch import HERE, SDK, allow_files, running, running_agent

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator

MEBIBYTE: Final = 1024 * 1024
LINEAR: Final = 1.2
"""The memory of a large event, in sizes of it, may be that many times that of a smaller one."""
OWN: Final = 100 * 1024
"""Bytes that an open stream may hold beyond what it holds with httpx-sse."""

OPENED_A_SECOND: Final = 150
"""Streams that any way opens in a second, also on a busy machine."""

Readers: TypeAlias = "dict[str, subprocess.Popen[bytes]]"


@contextlib.contextmanager
def running_readers(program: str, *arguments: str, with_sdk: bool) -> Iterator[Readers]:
    """Run one process a way."""
    pythons = {"delegate": sys.executable, "httpx-sse": sys.executable}
    if with_sdk:
        pythons["a2a-sdk"] = str(SDK)
    with contextlib.ExitStack() as stack:
        yield {
            way: stack.enter_context(running(python, str(HERE / program), way, *arguments))
            for way, python in pythons.items()
        }


def carried_out(
    reader: subprocess.Popen[bytes], order: stream_reader.Order | open_streams.Order
) -> Any:
    """Give a reader an order, and return its answer."""
    if reader.stdin is None or reader.stdout is None:
        raise TypeError("the reader was started without pipes")
    reader.stdin.write(json.dumps(asdict(order)).encode() + b"\n")
    reader.stdin.flush()
    # Nothing else happens here meanwhile, so that nothing disturbs it.
    answer = reader.stdout.readline()
    if not answer:
        sys.exit("a reader has ended without an answer; what it says stands above")
    return json.loads(answer)


def in_turns(
    readers: Readers, order: stream_reader.Order | open_streams.Order, pairs: int
) -> dict[str, list[Any]]:
    """Let the ways take turns with an order, and return their answers."""
    answers: dict[str, list[Any]] = {way: [] for way in readers}
    for reader in readers.values():
        carried_out(reader, order)  # not counted: it imports
    for number in range(pairs):
        for way in readers if number % 2 else reversed(readers):
            answers[way].append(carried_out(readers[way], order))
    return answers


def compared(spent: dict[str, list[float]]) -> dict[str, object]:
    """Sum the pairs of turns up."""
    ratios = {
        to: [ours / theirs for ours, theirs in zip(spent["delegate"], others, strict=True)]
        for to, others in spent.items()
        if to != "delegate"
    }
    return {
        "microseconds": {
            way: round(statistics.median(all_of) * 1e6) for way, all_of in spent.items()
        },
        "ratio": {to: round(statistics.median(all_of), 3) for to, all_of in ratios.items()},
        "least": {to: round(min(all_of), 3) for to, all_of in ratios.items()},
        "most": {to: round(max(all_of), 3) for to, all_of in ratios.items()},
    }


def check_installed(options: argparse.Namespace) -> None:
    """End the program where something to compare with is missing."""
    if importlib.util.find_spec("httpx_sse") is None:
        sys.exit("no httpx-sse: run pip install --group benchmarks")
    if not options.no_sdk and not SDK.exists():
        sys.exit("no a2a-sdk: run python tests/interop/install.py a2a-sdk-1.3, or give --no-sdk")


def memory_of(readers: Readers, size: int) -> dict[str, float]:
    """Return the memory that one event takes, in sizes of it."""
    order = stream_reader.Order(events=1, size=size, memory=True)
    return {way: round(carried_out(reader, order) / size, 2) for way, reader in readers.items()}


def measure_decoding(options: argparse.Namespace) -> list[dict[str, object]]:
    """Run all comparisons of decoding, and say which targets are met."""
    large = options.large * MEBIBYTE
    streams = {
        f"{options.events} events of {options.size} bytes": (options.events, options.size),
        f"one event of {options.large} MiB": (1, large),
    }
    measured: list[dict[str, object]] = []
    with running_readers("stream_reader.py", with_sdk=not options.no_sdk) as readers:
        for name, (events, size) in streams.items():
            for read in (False, True):
                order = stream_reader.Order(events=events, size=size, read=read)
                facts = compared(in_turns(readers, order, options.pairs))
                ratio: dict[str, float] = facts["ratio"]  # type: ignore[assignment]
                met = read or max(ratio.values()) <= options.at_most
                measured.append(
                    {"stream": name, "way": "read" if read else "decoded", **facts, "met": met}
                )
        memory, smaller = memory_of(readers, large), memory_of(readers, large // 4)
    met = memory["delegate"] <= LINEAR * smaller["delegate"]
    facts = {"sizes_of_the_event": memory, "of_a_quarter_of_it": smaller, "met": met}
    return [*measured, {"stream": f"one event of {options.large} MiB", "way": "memory", **facts}]


def measure_open(options: argparse.Namespace) -> list[dict[str, object]]:
    """Follow streams that are open at once, for each number of them; say which targets are met."""
    allow_files()
    measured: list[dict[str, object]] = []
    for streams in options.streams:
        pause = streams / options.rate
        pieces = max(round(options.seconds / pause), 2)
        rest = 1 + streams / OPENED_A_SECOND
        agent = (
            *(f"--events={pieces}", f"--pause={pause}"),
            *(f"--together={streams}", f"--rest={rest}"),
        )
        with (
            running_agent(*agent, program="streaming_agent.py") as url,
            running_readers(
                *("open_streams.py", url, str(pieces), f"--loop={options.loop}"),
                with_sdk=not options.no_sdk and options.loop == "asyncio",
            ) as readers,
        ):
            order = open_streams.Order(streams=streams)
            answers = in_turns(readers, order, options.pairs)
            order = open_streams.Order(streams=streams, held=True)
            held = {way: carried_out(reader, order)["held"] for way, reader in readers.items()}
        stream = {"stream": f"{streams} open streams"}
        for way in ("opening", "event", "ending"):
            facts = compared({one: [it[way] for it in all_of] for one, all_of in answers.items()})
            ratio: dict[str, float] = facts["ratio"]  # type: ignore[assignment]
            met = way != "event" or ratio["httpx-sse"] <= options.at_most
            measured.append({**stream, "way": way, **facts, "met": met})
        for way in ("late", "busy"):
            late = {one: lateness([it[way] for it in all_of]) for one, all_of in answers.items()}
            measured.append({**stream, "way": way, "milliseconds": late, "met": True})
        kibibytes = {way: round(size / 1024, 1) for way, size in held.items()}
        met = held["delegate"] - held["httpx-sse"] <= OWN
        measured.append({**stream, "way": "held", "kibibytes": kibibytes, "met": met})
    return measured


def lateness(turns: list[list[float]]) -> list[float]:
    """Sum turns up: the medians of their medians and of their 99th percentiles, and the most."""
    half, nearly_all, most = zip(*turns, strict=True)
    seconds = (statistics.median(half), statistics.median(nearly_all), max(most))
    return [round(one * 1e3, 1) for one in seconds]


def sentence_of(facts: dict[str, object]) -> str:
    """Say it in a line."""
    said = f"{facts['stream']}, {facts['way']}: "
    if facts["way"] == "memory":
        return (
            f"{said}{listed(facts['sizes_of_the_event'])} times its size; "
            f"of a quarter of it {listed(facts['of_a_quarter_of_it'])}"
        )
    if facts["way"] in {"late", "busy"}:
        return f"{said}{listed(facts['milliseconds'])} ms (median, 99th percentile, most)"
    if facts["way"] == "held":
        return f"{said}{listed(facts['kibibytes'])} KiB for a stream"
    ratios = [
        f"{ratio} of {to} ({facts['least'][to]} to {facts['most'][to]})"  # type: ignore[index]
        for to, ratio in facts["ratio"].items()  # type: ignore[attr-defined]
    ]
    return f"{said}{' and '.join(ratios)}; microseconds of CPU: {listed(facts['microseconds'])}"


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
    decoding.set_defaults(measure=measure_decoding)
    many = what.add_parser("open", help="what following many streams at once takes")
    many.add_argument("--streams", type=int, nargs="+", default=[100, 1_000], help="open at once")
    many.add_argument("--pairs", type=int, default=5)
    many.add_argument("--rate", type=float, default=1_000.0, help="events a second in all")
    many.add_argument("--seconds", type=float, default=5.0, help="how long the streams go on")
    many.add_argument(
        "--loop",
        choices=("asyncio", "trio"),
        default="asyncio",
        help="the event loop; a2a-sdk's client runs on asyncio only",
    )
    many.set_defaults(measure=measure_open)
    for one, at_most, of in ((decoding, 1.0, "the faster of the others"), (many, 2.0, "httpx-sse")):
        one.add_argument(
            "--at-most", type=float, default=at_most, help=f"the target, in costs of {of}"
        )
        one.add_argument("--no-sdk", action="store_true", help="leave a2a-sdk out")
        one.add_argument("--json", action="store_true", help="one JSON object a line")
    return parser.parse_args(arguments)


def main() -> None:
    """Measure, report, and say by the exit status whether the targets are met."""
    options = options_of(sys.argv[1:])
    check_installed(options)
    machine = {"cores": os.cpu_count(), "python": platform.python_version()}
    measured = options.measure(options)
    for facts in measured:
        print(json.dumps(facts | machine) if options.json else sentence_of(facts), flush=True)
    sys.exit(not all(facts["met"] for facts in measured))


if __name__ == "__main__":
    main()
