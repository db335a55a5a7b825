"""The ground truth: what really happened at the peer, whatever it told its clients.

An outcome is honest when it agrees with this. `not-started` demands `runs[message_id] == 0`,
a completed task demands one whose `state` is completed, and nothing was left behind when `open`
is 0 and no task is still working that nobody waits for.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING

from a2a_delegate.testing.behaviours import Operation

if TYPE_CHECKING:
    from a2a_delegate.testing.agent import Agent
    from a2a_delegate.testing.clock import PeerClock
    from a2a_delegate.testing.work import WorkState


@dataclass(frozen=True, slots=True)
class TaskFact:
    """One task as it truly is. `started` and `ended` are moments of the event loop's clock.

    `message_id` and `text` are those of the message that began it; `cancel_requests` counts the
    cancels that named it, obeyed or not. A task that was rejected never ran.
    """

    id: str
    context_id: str
    message_id: str
    text: str
    state: WorkState
    started: float
    ended: float | None
    cancel_requests: int


class StreamEnd(StrEnum):
    """How a stream stands, or who ended it; its `str()` says it."""

    OPEN = "open"
    PEER = "ended by the peer"
    CLIENT = "left by the client"


@dataclass(frozen=True, slots=True)
class StreamFact:
    """One stream of events: how many the peer gave, the last one perhaps in part, and who ended it.

    `closed` is a moment of the event loop's clock, None while it is open.
    """

    events: int
    end: StreamEnd
    closed: float | None


@dataclass(slots=True)
class StreamEntry:
    """A stream in the ledger, filled in while it goes on."""

    events: int = 0
    end: StreamEnd = StreamEnd.OPEN
    closed: float | None = None

    def close(self, end: StreamEnd, now: float) -> None:
        """Take note of its end; the first one counts."""
        if self.end is StreamEnd.OPEN:
            self.end, self.closed = end, now

    def fact(self) -> StreamFact:
        """Return what is known so far."""
        return StreamFact(self.events, self.end, self.closed)


@dataclass(frozen=True, slots=True)
class RequestFact:
    """One request that a client made of the peer, answered or not.

    `operation` is None for what is none of ours; `version` is the one whose method name was used
    (None for the card); header names are in lower case. `body_read` says whether a byte of the
    body was taken from the client, `body` is its JSON value once all of it was read (else None),
    `content` whatever was read. `when` is a moment of the event loop's clock. `stream` is None
    where none was opened.
    """

    method: str
    url: str
    operation: Operation | None
    version: str | None
    headers: Mapping[str, str] = field(repr=False)
    body: object
    content: bytes
    body_read: bool
    when: float
    stream: StreamFact | None = None


@dataclass(slots=True)
class Entry:
    """One line of the ledger, filled in while the request goes on; numbered from 1."""

    method: str
    url: str
    headers: Mapping[str, str]
    when: float
    number: int = 0
    operation: Operation | None = None
    version: str | None = None
    content: bytes = b""
    complete: bool = False
    ran: bool = False
    open: bool = True
    stream: StreamEntry | None = None

    def fact(self) -> RequestFact:
        """Return what is known so far."""
        body: object = None
        if self.complete:
            try:
                body = json.loads(self.content)
            except (ValueError, RecursionError):
                body = None
        return RequestFact(
            method=self.method,
            url=self.url,
            operation=self.operation,
            version=self.version,
            headers=self.headers,
            body=body,
            content=self.content,
            body_read=bool(self.content),
            when=self.when,
            stream=None if self.stream is None else self.stream.fact(),
        )


class Runs(Mapping[str, int]):
    """How often each message ran. A message that never ran reads 0 and is not among the keys."""

    def __init__(self, counts: Mapping[str, int]) -> None:
        self._counts = dict(counts)

    def __getitem__(self, message_id: str) -> int:
        return self._counts.get(message_id, 0)

    def __contains__(self, message_id: object) -> bool:
        return message_id in self._counts

    def __iter__(self) -> Iterator[str]:
        return iter(self._counts)

    def __len__(self) -> int:
        return len(self._counts)

    def __repr__(self) -> str:
        return f"Runs({self._counts!r})"


@dataclass(frozen=True, slots=True)
class GroundTruth:
    """What really happened at a peer. Every property is a snapshot of the moment it is read."""

    _agent: Agent
    _clock: PeerClock
    _ledger: list[Entry] = field(default_factory=list)

    @property
    def runs(self) -> Runs:
        """How often the work of each message was begun, by message id; 0 for any other id."""
        return Runs(self._agent.runs)

    @property
    def tasks(self) -> tuple[TaskFact, ...]:
        """Every task, oldest first. A bare message as the answer makes none."""
        now = self._clock.now()
        return tuple(
            TaskFact(
                id=task.task_id,
                context_id=task.context_id,
                message_id=task.first.message_id,
                text=task.first.text,
                state=task.view(now).state,
                started=task.plan[0].at,
                ended=task.ended(now),
                cancel_requests=task.cancel_requests,
            )
            for task in self._agent.tasks.values()
        )

    @property
    def requests(self) -> tuple[RequestFact, ...]:
        """Every request, in the order in which they came."""
        return tuple(entry.fact() for entry in self._ledger)

    @property
    def open(self) -> int:
        """How many requests are going on: neither failed nor with their reply closed."""
        return sum(entry.open for entry in self._ledger)

    @property
    def sends(self) -> int:
        """How many sends arrived, at least in part; one whose body was not read did not."""
        return self._arrived(Operation.SEND)

    @property
    def subscriptions(self) -> int:
        """How many subscriptions arrived, at least in part."""
        return self._arrived(Operation.SUBSCRIBE)

    @property
    def cancels(self) -> int:
        """How many cancels arrived, at least in part."""
        return self._arrived(Operation.CANCEL)

    def _arrived(self, operation: Operation) -> int:
        return sum(
            entry.operation is operation and (entry.complete or bool(entry.content))
            for entry in self._ledger
        )


def headers_of(pairs: Mapping[str, str]) -> Mapping[str, str]:
    """Freeze the headers of a request, with their names in lower case."""
    return MappingProxyType({name.lower(): value for name, value in pairs.items()})
