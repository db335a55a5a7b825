"""What a stream shows of a piece of work as it goes on, still without bytes.

Nothing runs in the background here either. A stream is a plain iterator that looks at the plan of
its task: it gives what has come, and a `Pause` where there is nothing more yet. Who takes from it
waits until the pause is over, and takes on.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import anyio

from a2a_delegate.testing.acts import Opening
from a2a_delegate.testing.stream_behaviours import EventKind
from a2a_delegate.testing.work import Became, Made, Said

if TYPE_CHECKING:
    from collections.abc import Iterator

    from a2a_delegate.testing.clock import PeerClock
    from a2a_delegate.testing.face import Face, Json
    from a2a_delegate.testing.work import Message, Task, View


@dataclass(frozen=True, slots=True)
class Pause:
    """Nothing more is known before this moment of the loop's clock, unless the task changes."""

    until: float = math.inf
    task: Task | None = None

    async def over(self) -> None:
        """Wait until it is over; it may end early, and then another one follows."""
        changed = anyio.Event()
        waiters = set() if self.task is None else self.task.waiters
        waiters.add(changed)
        try:
            with anyio.move_on_after(self.until - anyio.current_time()):
                await changed.wait()
        finally:
            waiters.discard(changed)


@dataclass(frozen=True, slots=True)
class Shown:
    """One event: what it shows, and the reply in whose form it goes out.

    `event` is that of the plan which it shows, where it shows one. `name` is that of the event
    itself; its data is filled up to `size` bytes.
    """

    kind: EventKind
    envelope: object
    event: Became | Made | None = None
    name: str = ""
    size: int = 0


Showing: TypeAlias = "Iterator[Shown | Pause]"
"""What a stream shows, and the pauses between."""


@dataclass(frozen=True, slots=True)
class Audience:
    """For whom a stream is: the version that is spoken, and the id of the request."""

    face: Face
    request_id: object
    clock: PeerClock

    def message(self, message: Message) -> Shown:
        """Show a message of the agent."""
        return Shown(EventKind.MESSAGE, self._reply(self.face.sent(message, None)))

    def task(self, view: View, history_length: int | None) -> Shown:
        """Show the task."""
        return Shown(EventKind.TASK, self._reply(self.face.sent(view, history_length)))

    def update(self, task: Task, event: Became | Made) -> Shown:
        """Show what happened to a task."""
        kind = EventKind.ARTIFACT
        if isinstance(event, Became):
            kind = EventKind.END if event.state.is_settled else EventKind.PROGRESS
        return Shown(kind, self._reply(self.face.update(task, event)), event)

    def _reply(self, result: Json) -> Json:
        return self.face.reply(self.request_id, result)


@dataclass(frozen=True, slots=True)
class Streamed:
    """What was made of a request for a stream; `task` is None where there is none to follow.

    One that `breaks` is not ended but lost.
    """

    audience: Audience
    showing: Showing
    task: Task | None = None
    breaks: bool = False


def as_event(refusal: Json) -> Shown:
    """Show an error; a2a-sdk's adapter leaves out here the `data` that is null."""
    error = refusal.get("error")
    if isinstance(error, dict):
        told = {name: value for name, value in error.items() if value is not None}
        refusal = {**refusal, "error": told}
    return Shown(EventKind.ERROR, refusal)


def follow(audience: Audience, task: Task, position: int) -> Showing:
    """Show what comes of a task from this place in its plan on, up to its end or a question."""
    while True:
        now = audience.clock.now()
        while position < len(task.plan) and task.plan[position].at <= now:
            event = task.plan[position]
            position += 1
            if isinstance(event, Said):
                continue
            shown = audience.update(task, event)
            yield shown
            if shown.kind is EventKind.END:
                return
        coming = task.plan[position].at if position < len(task.plan) else math.inf
        yield Pause(coming, task)


def subscribed(audience: Audience, task: Task, opening: Opening) -> Showing:
    """Show a task that has not ended to one who comes later."""
    now = audience.clock.now()
    if opening is Opening.SILENCE:
        while True:
            yield Pause()
    if opening is Opening.SNAPSHOT:
        yield audience.task(task.view(now), None)
    yield from follow(audience, task, task.position(now))
