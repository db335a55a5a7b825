"""Goes through every interleaving of the model to a depth, each state once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from a2a_delegate.lifecycle.evidence import asked_pause
from a2a_delegate.lifecycle.operations import OperationName
from a2a_delegate.lifecycle.table import TABLE, Event, Phase, Rule
from tests.lifecycle.world import World

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

    from a2a_delegate.lifecycle.desk import Desk
    from a2a_delegate.lifecycle.table import Cells
    from tests.lifecycle.world import Flight, Move, Setup

Cell: TypeAlias = tuple[Phase, Event, int]
"""A rule of the table, by its place."""

CELLS = frozenset(
    (phase, event, place)
    for phase, cells in TABLE.items()
    for event, rules in cells.items()
    for place in range(len(rules))
)


def recording(fired: set[Cell]) -> dict[Phase, Cells]:
    """Return the table, with rules that note in `fired` that they were followed."""

    def noting(cell: Cell, rule: Rule) -> Rule:
        def do(desk: Desk) -> None:
            fired.add(cell)
            rule.do(desk)

        return replace(rule, do=do)

    return {
        phase: {
            event: tuple(noting((phase, event, at), rule) for at, rule in enumerate(rules))
            for event, rules in cells.items()
        }
        for phase, cells in TABLE.items()
    }


@dataclass(slots=True)
class Report:
    """How much was gone through.

    `states` that differ, `steps` between them, each judged; `ends`: steps that settled;
    `interleavings`: the sequences of moves that these stand for; `closed`: no state was left whose
    moves were not tried.
    """

    states: int = 0
    steps: int = 0
    ends: int = 0
    interleavings: int = 0
    closed: bool = True

    @classmethod
    def total(cls, reports: Iterable[Report]) -> Report:
        """Add up what several setups were gone through for."""
        total = cls()
        for one in reports:
            total.states += one.states
            total.steps += one.steps
            total.ends += one.ends
            total.interleavings += one.interleavings
            total.closed = total.closed and one.closed
        return total

    def __str__(self) -> str:
        return (
            f"{self.interleavings:,} interleavings: {self.states:,} states, "
            f"{self.steps:,} steps judged, {self.ends:,} ends"
        )


class BrokenLawError(AssertionError):
    """A law does not hold; says by which moves."""


def explore(setup: Setup, depth: int) -> Report:
    """Try every sequence of at most `depth` moves."""
    report = Report()
    root = World(setup)
    numbers: dict[Hashable, int] = {key_of(root): 0}
    edges: list[list[int]] = []
    paths: list[tuple[Move, ...]] = [()]
    level = [root]
    for _ in range(depth):
        following: list[World] = []
        for world in level:
            targets: list[int] = []
            path = paths[len(edges)]
            for move in world.moves():
                after = world.fork()
                _apply(after, move, path)
                report.steps += 1
                report.ends += world.ledger.result is None and after.ledger.result is not None
                key = key_of(after)
                if move.what == "again" and key != key_of(world):
                    raise BrokenLawError(f"law 3: a second cause changed something after {path}")
                if key not in numbers:
                    numbers[key] = len(numbers)
                    following.append(after)
                    paths.append((*path, move))
                targets.append(numbers[key])
            edges.append(targets)
        level = following
    report.states, report.closed = len(numbers), not level
    report.interleavings = _sequences(edges, depth)
    return report


def _apply(world: World, move: Move, path: tuple[Move, ...]) -> None:
    try:
        world.apply(move)
    except AssertionError as broken:
        steps = "; ".join(" ".join(map(str, one)) for one in (*path, move))
        raise BrokenLawError(f"{broken} [{world.setup.name}: {steps}]") from broken


def _sequences(edges: list[list[int]], depth: int) -> int:
    """Count the sequences of moves that end, or that are cut at the depth."""
    level, total = {0: 1}, 0
    for _ in range(depth):
        following: dict[int, int] = {}
        for number, ways in level.items():
            targets = edges[number] if number < len(edges) else []
            total += ways if not targets else 0
            for target in targets:
                following[target] = following.get(target, 0) + ways
        level = following
    return total + sum(level.values())


def key_of(world: World) -> Hashable:
    """Return what the future of a world depends on, and its judge; times are told from now.

    Left out are what only grows (attempts, numbers of requests and of sends that are not counted
    against anything), and how long ago something was once it is too long ago to matter.
    """
    desk: Desk = world.machine._desk  # noqa: SLF001 - the model compares whole states
    seen, search, now = desk.seen, desk.search, world.now

    def ahead(at: float | None) -> float | None:
        return None if at is None else round(at - now, 6)

    deadline = None if seen.cause else ahead(seen.plan.deadline)
    ledger = world.ledger
    flights = tuple(sorted(_flight_key(world, one) for one in world.flights.values()))
    if ledger.result is not None:
        return (flights, world.fate, world.state, world.lied, seen.first_end, ledger.first_end)
    return (
        world.machine.phase,
        world.started,
        ahead(desk.wake_at),
        ahead(desk.bound_at),
        deadline,
        tuple(sorted(desk.flight)),
        desk.stopped_send in desk.flight.values(),
        desk.last_get is not None and max(ahead(desk.last_get) or 0.0, -0.01),
        (search.found, search.page, search.next_page, search.round),
        (min(desk.polls, 3), desk.barren, desk.owes_get),
        max(ahead(desk.paused_until) or 0.0, 0.0),
        desk.subscribed_at is not None and max(ahead(desk.subscribed_at) or 0.0, -2.0),
        (seen.end_seen and seen.end_seen.name, seen.end_is_late),
        tuple((name, one.streamed, one.ahead.left) for name, one in seen.made._by_name.items()),  # noqa: SLF001
        min(desk.stopping_polls, 6),
        seen.cause and (seen.cause.by, ahead(seen.cause.at)),
        (
            seen.ever_left,
            seen.unproven,
            seen.unsent,
            seen.downgraded,
            seen.detours,
            min(seen.sends, 12),
        ),
        (seen.route.send.message.context_id, seen.route.looks_up, seen.task_id),
        seen.route.send.streamed,
        (seen.state_before_cancel, seen.cancel_sent, seen.receipt, seen.first_end, seen.began),
        seen.task and seen.task.status.name,
        None if seen.task_id else (type(seen.error), seen.fault and seen.fault.kind),
        None if seen.task_id else (seen.fault_is_late, ledger.send_end, ledger.send_end_late),
        seen.reply_bytes,
        (type(seen.get_error), asked_pause(seen.get_error), asked_pause(seen.error)),
        seen.refused_gets,
        (type(seen.gone), seen.artifacts, seen.progress_seen, seen.answer),
        flights,
        (world.fate, world.state, world.lied),
        (ledger.cause, ledger.cause and ahead(ledger.cause_at), ledger.stalled),
        (ledger.ever_left, ledger.id_told, ledger.id_signalled, ledger.sends),
        (ledger.unsent, ledger.downgraded, ledger.context_dropped, ledger.rounds_after_cause),
        (ledger.rounds, ledger.pages, ledger.page_token, ledger.found),
        max(ahead(ledger.asked_until) or 0.0, 0.0),
        ledger.last_get is not None and max(ahead(ledger.last_get) or 0.0, -0.01),
        (ledger.refused_gets, ledger.gone, ledger.cancelled, ledger.receipt, ledger.looked),
        (ledger.state_shown, ledger.state_before_cancel, ledger.began_shown, ledger.first_end),
        (ledger.refused, ledger.listed_as_ended, search.ended),
        (ledger.end_seen, ledger.end_seen and ahead(ledger.end_seen_at), ledger.end_seen_late),
        (ledger.asked_once, ledger.piece_shown, ledger.owes_get, ledger.barren),
        ledger.subscribed_at is not None and max(ahead(ledger.subscribed_at) or 0.0, -2.0),
        (ledger.no_stream, ledger.unstreamed),
        (seen.moved_on, ledger.moved_on, ledger.refused_before, ledger.rounds_of_gets),
        ledger.send_end.partition(",")[0] if seen.reply_bytes else None,
    )


def _flight_key(world: World, one: Flight) -> tuple[object, ...]:
    live_get = one.name is OperationName.GET and not one.let_go
    unlooked = one.name is OperationName.SUBSCRIBE and not one.let_go
    unlooked = unlooked and (world.ledger.last_get or -1.0) <= one.began
    return (
        one.name,
        (one.let_go, one.for_good, one.deaf, one.left, one.id_shown, one.returned),
        (one.streams, one.showed),
        round(one.began - world.now, 6) if live_get or unlooked else 0.0,
        one.number > world.ledger.looks_after,
    )
