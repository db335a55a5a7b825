"""What the agents do, the same on every SDK line.

The first word of a message chooses:

| message      | what happens                                                                    |
|--------------|---------------------------------------------------------------------------------|
| `quick`      | a task that completes at once, artifact `quick done`                            |
| `hello`      | a bare message `hello to you`, no task                                          |
| `slow N`     | a task that works N seconds, a status update at least every 0.5 s, `slow done`  |
| `chunks N`   | a task that makes its artifact in N pieces, one each 0.2 s: `piece 1. piece 2. ` |
| `ask`        | input-required with a question; the follow-up completes with `answer: <text>`   |
| `fail`       | the task fails with `it failed`                                                 |
| `reject`     | the task is rejected with `not my job`                                          |
| `raise`      | the agent's code raises                                                         |
| `stubborn N` | a task that works N seconds; a cancel is refused and the work goes on           |
| `deaf N`     | the same, but a cancel gets no answer at all                                    |
| `data`       | a task that completes with the data part `{"answer": 42, "words": ["a", "b"]}`  |
| other        | a task that completes with the same text as its artifact                        |
"""

from __future__ import annotations

import asyncio
import math
import re
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from typing import TYPE_CHECKING, Final, Protocol

from journal import Event, Turn

if TYPE_CHECKING:
    from collections.abc import Coroutine, Mapping

    from journal import Journal

STATUS_INTERVAL: Final = 0.5
"""Seconds between two status updates of `slow`, at most."""

PIECE_INTERVAL: Final = 0.2
"""Seconds that `chunks` works on each piece; it publishes a status update before."""


class Command(Enum):
    """What a message asks for; the value is its first word, `None` where no word says it."""

    QUICK = "quick"
    HELLO = "hello"
    SLOW = "slow"
    ASK = "ask"
    FAIL = "fail"
    REJECT = "reject"
    RAISE = "raise"
    STUBBORN = "stubborn"
    DEAF = "deaf"
    DATA = "data"
    CHUNKS = "chunks"
    ANSWER = None
    ECHO = ""


_TIMED = re.compile(r"(slow|stubborn|deaf|chunks)\s+(\d{1,4}(?:\.\d{1,3})?)\s*")
_PLAIN: Final = frozenset(Command) - {
    Command.SLOW,
    Command.STUBBORN,
    Command.DEAF,
    Command.CHUNKS,
    Command.ANSWER,
}


class State(StrEnum):
    """How a turn ends, as the agent tells it; the values stand in the journal."""

    MESSAGE = "message"
    COMPLETED = "completed"
    INPUT_REQUIRED = "input-required"
    FAILED = "failed"
    REJECTED = "rejected"


class CancelAnswer(Enum):
    """What the cancel hook does with a request to cancel."""

    STOP = "stop"
    REFUSE = "refuse"
    IGNORE = "ignore"


@dataclass(frozen=True, slots=True)
class Ending:
    """The last words of a turn: the state, its text, and the artifact that goes before it."""

    state: State
    text: str | None = None
    artifact: str | dict[str, object] | None = None


_ENDINGS: Final[Mapping[Command, Ending]] = {
    Command.QUICK: Ending(State.COMPLETED, artifact="quick done"),
    Command.HELLO: Ending(State.MESSAGE, text="hello to you"),
    Command.SLOW: Ending(State.COMPLETED, artifact="slow done"),
    Command.ASK: Ending(State.INPUT_REQUIRED, text="Which colour?"),
    Command.FAIL: Ending(State.FAILED, text="it failed"),
    Command.REJECT: Ending(State.REJECTED, text="not my job"),
    Command.STUBBORN: Ending(State.COMPLETED, artifact="stubborn done"),
    Command.DEAF: Ending(State.COMPLETED, artifact="deaf done"),
    Command.CHUNKS: Ending(State.COMPLETED),
    Command.DATA: Ending(State.COMPLETED, artifact={"answer": 42, "words": ["a", "b"]}),
}
"""How the commands end whose end does not depend on the message."""


class Replies(Protocol):
    """What an agent can tell its caller during a turn; each SDK line has its own."""

    async def open_task(self) -> None:
        """Make the turn a task."""

    async def working(self, text: str) -> None:
        """Publish a status update."""

    async def piece(self, text: str, *, first: bool, last: bool) -> None:
        """Publish the next piece of the artifact."""

    async def end(self, ending: Ending) -> None:
        """Publish the artifact, if any, and the state; for `State.MESSAGE` a bare message."""


class AgentBugError(Exception):
    """What the command `raise` raises: a fault in the agent's own code."""


@dataclass(frozen=True, slots=True)
class Agent:
    """Deals with turns, and keeps the journal of what it did."""

    journal: Journal
    _running: dict[str, Turn] = field(default_factory=dict)

    async def perform(self, turn: Turn, replies: Replies) -> None:
        """Do what the turn says; raises `AgentBugError` for `raise`."""
        self.journal.write(Event.EXECUTE, turn)
        self._running[turn.task_id] = turn
        event, state = Event.RAISED, None
        try:
            ending = await _work(turn, replies)
            event, state = Event.DONE, ending.state
        except asyncio.CancelledError:
            event = Event.CANCELLED
            raise
        finally:
            del self._running[turn.task_id]
            self.journal.write(event, turn, state=state)
        # After the journal: whoever sees the end of the task finds it there.
        await replies.end(ending)

    def cancel_asked(self, task_id: str, context_id: str) -> CancelAnswer:
        """Record that a cancel came, and say what to do about it."""
        turn = self._running.get(task_id)
        if turn is None:  # a task that waits for an answer: nothing runs
            nobody = Turn("", task_id, context_id, "", follow_up=False)
            self.journal.write(Event.CANCEL_ASKED, nobody)
            return CancelAnswer.STOP
        self.journal.write(Event.CANCEL_ASKED, turn)
        match _command(turn.text)[0]:
            case Command.STUBBORN:
                return CancelAnswer.REFUSE
            case Command.DEAF:
                return CancelAnswer.IGNORE
            case _:
                return CancelAnswer.STOP


def _command(text: str) -> tuple[Command, float]:
    """The command of a first message and its number; `ECHO` where it is none or malformed."""
    if timed := _TIMED.fullmatch(text):
        return Command(timed[1]), float(timed[2])
    word, *_ = text.split(maxsplit=1) or [""]
    return next((c for c in _PLAIN if c.value == word), Command.ECHO), 0.0


async def _work(turn: Turn, replies: Replies) -> Ending:
    command, seconds = (Command.ANSWER, 0.0) if turn.follow_up else _command(turn.text)
    if command not in {Command.HELLO, Command.ANSWER}:
        await replies.open_task()
    match command:
        case Command.SLOW:
            await _slow(seconds, replies)
        case Command.CHUNKS:
            await _chunks(int(seconds), replies)
        case Command.STUBBORN | Command.DEAF:
            await _uncancellable(asyncio.sleep(seconds))
        case Command.RAISE:
            raise AgentBugError("a fault in the agent's code")
        case Command.ANSWER:
            return Ending(State.COMPLETED, artifact=f"answer: {turn.text}")
        case Command.ECHO:
            return Ending(State.COMPLETED, artifact=turn.text)
        case _:
            pass
    return _ENDINGS[command]


async def _slow(seconds: float, replies: Replies) -> None:
    steps = max(1, math.ceil(seconds / STATUS_INTERVAL))
    await replies.working(f"step 0 of {steps}")
    for step in range(1, steps + 1):
        await asyncio.sleep(seconds / steps)
        await replies.working(f"step {step} of {steps}")


async def _chunks(count: int, replies: Replies) -> None:
    for number in range(1, count + 1):
        await replies.working(f"at piece {number} of {count}")
        await asyncio.sleep(PIECE_INTERVAL)
        await replies.piece(f"piece {number}. ", first=number == 1, last=number == count)


async def _uncancellable(work: Coroutine[object, object, None]) -> None:
    """Wait for `work` however often the waiting is cancelled.

    Only the end of the event loop, which cancels the inner task too, gets through.
    """
    inner = asyncio.create_task(work)
    while not inner.done():
        try:
            await asyncio.shield(inner)
        except asyncio.CancelledError:
            if inner.done():
                raise
