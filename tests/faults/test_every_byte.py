"""Every reply of a peer on a real port, cut at every byte of it, by FIN and by RST.

A part of the positions is played here, drawn with a seed that is printed; all of them by the soak.
`A2A_DELEGATE_SEED` draws others.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import anyio
import pytest

from a2a_delegate.testing import Close, Operation
from tests.faults.cut import Cut, Stage, tasks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

pytestmark = pytest.mark.exhaustive

SEED: Final = os.environ.get("A2A_DELEGATE_SEED", "20")
DRAWN: Final = 12
"""Positions of a reply that are played besides the marked ones, each time."""
AT_ONCE: Final = 8
"""Delegations that go on at one time."""
PATIENCE: Final = 30.0
SHOWN: Final = 10
LOOPS: Final = ("asyncio", "trio")
SPOKEN: Final = (
    *((version, "JSONRPC") for version in ("1.0", "0.3", "0.2")),
    *((version, "HTTP+JSON") for version in ("1.0", "0.3")),
)
REPLIES: Final = [
    pytest.param(loop, version, binding, operation, id=f"{version}-{binding}-{operation}-{loop}")
    for loop in LOOPS
    for version, binding in SPOKEN
    for operation in Operation
    # Only 1.0 can list, so nobody else is asked to; and nobody subscribes where nothing streams.
    if operation is not Operation.SUBSCRIBE
    if version == "1.0" or operation is not Operation.LIST
]


@dataclass
class Sweep:
    """Plays one kind of reply of one version, cut in many places, on one loop."""

    version: str
    binding: str
    operation: Operation
    outcomes: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    async def marks(self) -> tuple[int, int]:
        """Return where the head of the whole reply ends, and where all of it does."""
        stage = await self._play(self._cut())
        reply = next(one.reply for one in stage.over if one.request.operation is self.operation)
        return reply.index(b"\r\n\r\n") + 4, len(reply)

    async def play(self, positions: Iterable[int]) -> None:
        """Play a cut at each of these positions, by FIN and by RST."""
        limiter = anyio.CapacityLimiter(AT_ONCE)
        before = tasks()

        async def play(cut: Cut) -> None:
            async with limiter:
                await self._play(cut)

        async with anyio.create_task_group() as group:
            for at in positions:
                for by in Close:
                    group.start_soon(play, self._cut(at, by))
        if tasks() != before:
            self.wrong.append(f"{tasks() - before} tasks were left")

    def _cut(self, at: int | None = None, by: Close = Close.FIN) -> Cut:
        return Cut((self.version,), self.operation, at, by, self.binding)

    async def _play(self, cut: Cut) -> Stage:
        stage = Stage(cut)
        with anyio.fail_after(PATIENCE):
            await stage.play()
        settled = stage.record.settled
        self.outcomes["no card" if settled is None else settled.status] += 1
        self.wrong += [f"{cut}: {one}" for one in stage.complaints()]
        return stage

    def tell(self, record_property: Callable[[str, object], None]) -> None:
        """Tell how many were played, and what came of them."""
        record_property("cases", self.outcomes.total())
        record_property("outcomes", ", ".join(f"{n} {one}" for one, n in self.outcomes.items()))

    def check(self) -> None:
        """Fail with what the judge said."""
        shown = "\n".join(self.wrong[:SHOWN])
        assert not self.wrong, f"{len(self.wrong)} complaints, seed {SEED}:\n{shown}"


@pytest.mark.spec("LAW-4", "BYTES-1")
@pytest.mark.timeout(180)
@pytest.mark.parametrize(("loop", "version", "binding", "operation"), REPLIES)
def test_no_byte_at_which_a_reply_is_cut_makes_an_outcome_lie(
    loop: str,
    version: str,
    binding: str,
    operation: Operation,
    record_property: Callable[[str, object], None],
) -> None:
    sweep = Sweep(version, binding, operation)

    async def main() -> None:
        head, whole = await sweep.marks()
        source = random.Random(f"{SEED} {version} {binding} {operation} {loop}")  # noqa: S311 - no secret
        drawn = source.sample(range(whole), DRAWN)
        await sweep.play(sorted({0, head - 1, head, whole - 1, whole}.union(drawn)))

    anyio.run(main, backend=loop)
    sweep.tell(record_property)
    record_property("seed", SEED)
    sweep.check()
    assert sweep.outcomes.total() > 2 * DRAWN


@pytest.mark.soak
@pytest.mark.spec("LAW-4", "BYTES-1")
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize(("loop", "version", "binding", "operation"), REPLIES)
def test_no_byte_of_all_makes_an_outcome_lie(
    loop: str,
    version: str,
    binding: str,
    operation: Operation,
    record_property: Callable[[str, object], None],
) -> None:
    sweep = Sweep(version, binding, operation)

    async def main() -> None:
        _, whole = await sweep.marks()
        await sweep.play(range(whole + 1))
        assert sweep.outcomes.total() == 2 * (whole + 1) + 1

    anyio.run(main, backend=loop)
    sweep.tell(record_property)
    sweep.check()
