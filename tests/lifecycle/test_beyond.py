"""Beyond the depth of the enumeration: long random lives in the same world, judged the same way."""

from __future__ import annotations

from dataclasses import replace

import hypothesis
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from a2a_delegate.lifecycle.plan import Timing
from tests.lifecycle.judge import ANSWERS
from tests.lifecycle.replies import ENDS
from tests.lifecycle.world import SENT, TAKEN_UP, Move, World, setup

pytestmark = [pytest.mark.exhaustive, pytest.mark.timeout(600), pytest.mark.spec("LAW-12")]

seconds = st.sampled_from((0.0, 0.001, 0.05, 0.5, 2.0, 7.0))
deadlines = st.one_of(st.none(), st.floats(0.0, 5.0), st.floats(5.0, 400.0))


class LongLife(RuleBasedStateMachine):
    """One delegation under any timing, with jitter from anywhere, held up at any time."""

    world: World

    @initialize(
        kind=st.sampled_from((*SENT, *TAKEN_UP)),
        deadline=deadlines,
        poll_interval=seconds.filter(bool),
        grown=st.sampled_from((1.0, 3.0, 30.0)),
        grace=seconds,
        recovery=seconds,
        timeout=seconds,
        chances=st.lists(st.floats(0.0, 1.0, exclude_max=True), min_size=1, max_size=8),
        stalls=st.booleans(),
    )
    def begin(  # noqa: PLR0917 - hypothesis passes them by name
        self,
        kind: str,
        deadline: float | None,
        poll_interval: float,
        grown: float,
        grace: float,
        recovery: float,
        timeout: float,
        chances: list[float],
        *,
        stalls: bool,
    ) -> None:
        timing = Timing(
            poll_interval=poll_interval,
            poll_interval_max=poll_interval * grown,
            cancel_grace=grace,
            recovery_grace=recovery,
            recovery_timeout=timeout,
        )
        drawn = 0

        def chance() -> float:
            nonlocal drawn
            drawn += 1
            return chances[drawn % len(chances)]

        prepared = replace(setup(kind, deadline, timing), chance=chance, stalls=stalls)
        self.world = World(prepared)

    def possible(self) -> list[Move]:
        return list(self.world.moves())

    @precondition(lambda self: self.possible())
    @rule(pick=st.integers(0, 10_000))
    def anything_happens(self, pick: int) -> None:
        moves = self.possible()
        self.world.apply(moves[pick % len(moves)])

    @precondition(lambda self: any(_goes_on(move) for move in self.possible()))
    @rule(pick=st.integers(0, 10_000))
    def something_happens_that_is_no_answer(self, pick: int) -> None:
        moves = [move for move in self.possible() if _goes_on(move)]
        self.world.apply(moves[pick % len(moves)])

    @precondition(lambda self: Move("time") in self.possible())
    @rule()
    def time_passes(self) -> None:
        self.world.apply(Move("time"))

    @precondition(lambda self: not self.possible())
    @rule()
    def nothing_is_left(self) -> None:
        assert self.world.ledger.result is not None

    def teardown(self) -> None:
        """Nothing more is told but time: a cause must come to an end, without anybody's help."""
        if not hasattr(self, "world"):
            return
        for _ in range(1_000):
            if not (self.world.ledger.cause and Move("time") in self.possible()):
                break
            self.world.apply(Move("time"))
        assert not self.world.started or not self.world.ledger.cause or self.world.ledger.result


def _goes_on(move: Move) -> bool:
    ends = move.what == "show" and move.label.partition(", ")[2] in ENDS
    return (
        not ends
        and move.label not in {*ANSWERS, "said"}
        and move.what not in {"cancel", "cancel, leave", "return"}
    )


TestLongLives = LongLife.TestCase
TestLongLives.settings = hypothesis.settings(stateful_step_count=60)
