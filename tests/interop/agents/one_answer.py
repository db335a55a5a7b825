"""For frameworks whose agent gives one answer a turn: no progress, no state of its own choice."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from commands import Agent, Ending, State

if TYPE_CHECKING:
    from journal import Turn


class RefusalError(Exception):
    """How such an agent fails or rejects: it raises, and the framework makes of it what it will."""


@dataclass(slots=True)
class _Kept:
    """`Replies` that keeps the end, and nothing else."""

    endings: list[Ending] = field(default_factory=list)

    async def open_task(self) -> None:
        """Nothing to do: the framework opens it."""

    async def working(self, text: str) -> None:
        """Nothing to do: the framework has no word for it."""

    async def end(self, ending: Ending) -> None:
        """Keep it."""
        self.endings.append(ending)


async def ending_of(agent: Agent, turn: Turn) -> Ending:
    """Deal with a turn, and give its end."""
    kept = _Kept()
    await agent.perform(turn, kept)
    (ending,) = kept.endings
    return ending


def words_of(ending: Ending) -> str:
    """The answer as text; raises `RefusalError` for a turn that failed or was rejected."""
    if ending.state in {State.FAILED, State.REJECTED}:
        raise RefusalError(ending.text)
    value = ending.text if ending.artifact is None else ending.artifact
    return value if isinstance(value, str) else json.dumps(value)
