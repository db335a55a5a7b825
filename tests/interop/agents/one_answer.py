"""For frameworks whose agent gives one answer a turn, if in pieces: no state of its own choice."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from commands import Agent, Ending, State

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from journal import Turn


class RefusalError(Exception):
    """How such an agent fails or rejects: it raises, and the framework makes of it what it will."""


@dataclass(slots=True)
class _Told:
    """`Replies` that hands on what such an agent can tell, as it comes."""

    queue: asyncio.Queue[str | Ending | None] = field(default_factory=asyncio.Queue)
    pieces: list[str] = field(default_factory=list)

    async def open_task(self) -> None:
        """Nothing to do: the framework opens it."""

    async def working(self, text: str) -> None:
        """Nothing to do: the framework has no word for it."""

    async def piece(self, text: str, *, first: bool, last: bool) -> None:  # noqa: ARG002
        """Tell the piece, and keep it for the whole."""
        self.pieces.append(text)
        self.queue.put_nowait(text)

    async def end(self, ending: Ending) -> None:
        """Tell the end, with the whole answer where it came in pieces."""
        whole = "".join(self.pieces) or ending.artifact
        self.queue.put_nowait(replace(ending, artifact=whole))


async def answer_of(agent: Agent, turn: Turn) -> AsyncGenerator[str | Ending]:
    """Deal with a turn: give the pieces of its answer as they are made, and its end at last."""
    told = _Told()
    work = asyncio.create_task(agent.perform(turn, told))
    work.add_done_callback(lambda _: told.queue.put_nowait(None))
    try:
        while (said := await told.queue.get()) is not None:
            yield said
        await work
    finally:
        work.cancel()


async def ending_of(agent: Agent, turn: Turn) -> Ending:
    """Deal with a turn, and give its end."""
    told = _Told()
    await agent.perform(turn, told)
    while not isinstance(ending := told.queue.get_nowait(), Ending):
        pass
    return ending


def words_of(ending: Ending) -> str:
    """The answer as text; raises `RefusalError` for a turn that failed or was rejected."""
    if ending.state in {State.FAILED, State.REJECTED}:
        raise RefusalError(ending.text)
    value = ending.text if ending.artifact is None else ending.artifact
    return value if isinstance(value, str) else json.dumps(value)
