"""What stands behind all the ways to one peer, and what one of its requests shows of itself."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

import anyio

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

    from a2a_delegate.testing.agent import Agent
    from a2a_delegate.testing.behaviours import Operation
    from a2a_delegate.testing.clock import PeerClock
    from a2a_delegate.testing.face import Json
    from a2a_delegate.testing.places import Places
    from a2a_delegate.testing.reception import Reception
    from a2a_delegate.testing.script import Script
    from a2a_delegate.testing.truth import Entry


class Arrival(Protocol):
    """A request as it comes to the peer, over whatever it comes; header names in lower case."""

    @property
    def method(self) -> str:
        """The method of HTTP."""
        ...

    @property
    def target(self) -> str:
        """What is asked for: the path and the query, as they stand in the URL."""
        ...

    @property
    def headers(self) -> Mapping[str, str]:
        """Its headers."""
        ...

    @property
    def endpoint(self) -> str:
        """The URL of the peer's endpoint, as this client can reach it."""
        ...

    @property
    def on_a_port(self) -> bool:
        """Whether there is a wire under it."""
        ...

    @property
    def is_whole(self) -> bool:
        """Whether `chunks` gives all of the body, once it is taken to its end."""
        ...

    def foretold(self) -> str | None:
        """Return the operation that it says it asks for, where it says so beside its body."""
        ...

    def content(self) -> bytes | None:
        """Return the body where it is known without being taken."""
        ...

    def chunks(self) -> AsyncIterator[bytes]:
        """Take the body, piece by piece."""
        ...

    def patience(self, phase: str) -> float:
        """Return how many seconds the client waits while it connects, writes or reads."""
        ...


@dataclass(slots=True, eq=False)
class Backstage:
    """What the requests of one peer share.

    `target` is the path of its endpoint as it stands in a URL; `places` are what stands where, and
    `card` writes the card for an endpoint's URL. `hanging` are the requests that
    wait to be released; of these, the `overtaking` also go on when a later one ends. The `branches`
    are for one port each, and differ in who hangs there.
    """

    target: str
    places: Places
    card: Callable[[str], Json]
    script: Script
    reception: Reception
    agent: Agent
    clock: PeerClock
    ledger: list[Entry] = field(default_factory=list)
    hanging: set[anyio.Event] = field(default_factory=set)
    overtaking: dict[anyio.Event, tuple[Entry, Operation | None]] = field(default_factory=dict)
    branches: list[Backstage] = field(default_factory=list)

    def branch(self) -> Backstage:
        """Return the same for one more way to the peer; what hangs there is known apart."""
        branch = replace(self, hanging=set(), branches=[])
        self.branches.append(branch)
        return branch

    def enter(self, entry: Entry) -> None:
        """Write a request into the ledger."""
        entry.number = len(self.ledger) + 1
        self.ledger.append(entry)

    def end(self, entry: Entry) -> None:
        """Take note that a request is over."""
        entry.open = False
        for go_on, (waiting, by) in self.overtaking.items():
            if _overtakes(entry, waiting, by):
                go_on.set()

    async def overtaken(self, entry: Entry, by: Operation | None) -> None:
        """Wait until a later request has ended, or all that hang are released."""
        later = self.ledger[entry.number :]
        if any(_overtakes(one, entry, by) for one in later if not one.open):
            return
        go_on = anyio.Event()
        self.hanging.add(go_on)
        self.overtaking[go_on] = entry, by
        try:
            await go_on.wait()
        finally:
            self.hanging.discard(go_on)
            del self.overtaking[go_on]

    def release(self) -> None:
        """Let every request that hangs go on."""
        for stage in (self, *self.branches):
            for released in list(stage.hanging):
                released.set()


def _overtakes(one: Entry, other: Entry, by: Operation | None) -> bool:
    return one.number > other.number and by in {None, one.operation}
