"""How a peer shows itself in one version of the protocol: what it reads, what it writes.

Each version has a face of its own, written from the specification and checked in the tests
against recorded replies of real servers. Nothing here is shared with the client's dialects.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from a2a_delegate.testing.behaviours import Operation
    from a2a_delegate.testing.requests import (
        Fault,
        ListParams,
        Objection,
        RefusedError,
        SendParams,
        TaskParams,
    )
    from a2a_delegate.testing.work import Message, View, WorkState

Json: TypeAlias = dict[str, object]
"""A JSON object."""


class Face(Protocol):
    """One version, as the peer speaks it. The readers raise RefusedError."""

    @property
    def version(self) -> str:
        """Its name, as cards and headers have it."""
        ...

    @property
    def methods(self) -> Mapping[str, Operation]:
        """The names of its methods."""
        ...

    @property
    def unsupported(self) -> Mapping[str, tuple[Fault, str]]:
        """Its methods that this peer does not offer, and what is answered to them."""
        ...

    @property
    def listing(self) -> Listing | None:
        """How it lists tasks, if it can."""
        ...

    @property
    def states(self) -> Mapping[WorkState, str]:
        """Its words for the states."""
        ...

    @property
    def objections(self) -> Mapping[Objection, tuple[Fault, str]]:
        """Its errors for what cannot be carried out."""
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

    def reply(self, request_id: object, result: object) -> Json:
        """Write the envelope of a result."""
        ...

    def refusal(self, request_id: object, error: RefusedError) -> Json:
        """Write the envelope of an error."""
        ...


class Listing(Protocol):
    """The part of a face that lists tasks; versions before 1.0 have none."""

    def read_list(self, params: Json) -> ListParams:
        """Read the parameters of a list. Raises RefusedError."""
        ...

    def page(self, views: Sequence[View], params: ListParams, *, total: int, token: str) -> Json:
        """Write the result of a list."""
        ...
