"""Combinations of many things in which every two values of different things meet once at least."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import random
    from collections.abc import Hashable, Mapping, Sequence

_TRIED = 20
"""Rows that are drawn for each that is taken: the one with the most new pairs."""


def pairwise(things: Mapping[str, Sequence[Any]], chance: random.Random) -> list[dict[str, Any]]:
    """Return rows that hold every pair of values of two things, found greedily by chance."""
    left = {
        ((one, a), (other, b))
        for one, other in itertools.combinations(things, 2)
        for a in things[one]
        for b in things[other]
    }
    rows = []
    while left:
        # Each row begins with a pair that is still missing, so this comes to an end.
        start = dict(min(left, key=repr))
        drawn = [
            {name: start.get(name, chance.choice(values)) for name, values in things.items()}
            for _ in range(_TRIED)
        ]
        best = max(drawn, key=lambda row: len(left & _pairs_of(row)))
        left -= _pairs_of(best)
        rows.append(best)
    return rows


def _pairs_of(
    row: Mapping[str, Hashable],
) -> set[tuple[tuple[str, Hashable], tuple[str, Hashable]]]:
    return set(itertools.combinations(row.items(), 2))
