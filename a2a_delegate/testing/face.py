"""How a peer shows itself in one version of the protocol: what it reads, what it writes.

Each version has a face of its own, written from the specification and checked in the tests
against recorded replies of real servers. Nothing here is shared with the client's dialects.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from a2a_delegate.testing.acts import Subscription
    from a2a_delegate.testing.behaviours import Operation
    from a2a_delegate.testing.requests import (
        Fault,
        ListParams,
        Objection,
        RefusedError,
        SendParams,
        TaskParams,
    )
    from a2a_delegate.testing.work import Became, Made, Message, Task, View, WorkState

Json: TypeAlias = dict[str, object]
"""A JSON object."""


@dataclass(frozen=True, slots=True)
class Head:
    """What stands before the body of a reply."""

    status: int = 200
    media_type: str = "application/json"


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The fixed words of one version.

    `methods` and `unsupported` are the names of what it knows: the operations of this peer, and
    what it does not offer, with the answer to that. `objections` are its errors for what cannot
    be carried out. Where `cancels_the_ended`, a cancel makes of a task that has ended one that was
    canceled; else it is refused.

    The methods in `streams` are answered with a stream, or with `no_streams` where the peer has
    none. `subscription` is what becomes of a subscription of which no script speaks. Where it
    `refuses_in_stream`, the stream of a call that is refused begins, and holds the error. Where it
    `needs_ids`, a request without one is refused.
    """

    version: str
    methods: Mapping[str, Operation]
    streams: frozenset[str]
    unsupported: Mapping[str, tuple[Fault, str]]
    states: Mapping[WorkState, str]
    objections: Mapping[Objection, tuple[Fault, str]]
    no_streams: tuple[Fault, str]
    subscription: Subscription
    refuses_in_stream: bool = False
    cancels_the_ended: bool = False
    needs_ids: bool = False


class Face(Protocol):
    """One version, as the peer speaks it. The readers raise RefusedError."""

    words: Vocabulary

    @property
    def listing(self) -> Listing | None:
        """How it lists tasks, if it can."""
        ...

    def check_header(self, value: str) -> None:
        """Look at the `A2A-Version` header, which is empty when there is none."""
        ...

    def read_send(self, params: Json) -> SendParams:
        """Read the parameters of a send."""
        ...

    def read_task(self, params: Json) -> TaskParams:
        """Read the parameters of a get or a cancel."""
        ...

    def sent(self, outcome: View | Message, history_length: int | None) -> Json:
        """Write the result of a send."""
        ...

    def task(self, view: View, history_length: int | None) -> Json:
        """Write the result of a get or a cancel."""
        ...

    def update(self, task: Task, event: Became | Made) -> Json:
        """Write what an event of a stream shows of this task."""
        ...

    def reply(self, request_id: object, result: object) -> Json:
        """Write the envelope of a result."""
        ...

    def refusal(self, request_id: object, error: RefusedError) -> Json:
        """Write the envelope of an error."""
        ...

    def head(self, answered: Operation | RefusedError | None) -> Head:
        """Say how the answer to an operation, or its refusal, goes out over HTTP."""
        ...


class Listing(Protocol):
    """The part of a face that lists tasks; versions before 1.0 have none."""

    def read_list(self, params: Json) -> ListParams:
        """Read the parameters of a list. Raises RefusedError."""
        ...

    def page(self, views: Sequence[View], params: ListParams, *, total: int, token: str) -> Json:
        """Write the result of a list."""
        ...
