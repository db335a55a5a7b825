"""The seam between versions and everything above: an operation in, words out, and back."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

from a2a_delegate.model.card import ProtocolVersion
from a2a_delegate.wire import v0_2, v0_3, v1_0
from a2a_delegate.wire.words import Words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from a2a_delegate.lifecycle.operations import (
        MessageReply,
        Operation,
        StreamEvent,
        TaskPage,
        TaskReply,
        Unreadable,
    )
    from a2a_delegate.model.message import Message
    from a2a_delegate.wire.reading import Unclear

__all__ = ["DIALECTS", "Dialect", "Words"]


class Dialect(Protocol):
    """One version of the protocol: knows its words, and nothing of how they travel."""

    @property
    def version(self) -> ProtocolVersion:
        """The version that it speaks."""

    @property
    def lists_tasks(self) -> bool:
        """Whether the version has a method that lists tasks."""

    def headers(self, extensions: Sequence[str] = ()) -> Mapping[str, str]:
        """Return what names the version and the extensions in use; it goes with every request."""

    def encode(self, operation: Operation, *, tenant: str | None) -> Words:
        """Spell an operation; raises UsageError for what the version cannot say."""

    def decode(
        self, operation: Operation, result: object
    ) -> TaskReply | MessageReply | TaskPage | Unreadable:
        """Read the result of an operation, any JSON value; never raises.

        An Unreadable has neither evidence nor HTTP status yet: `result.decoded` adds them.
        """

    def decode_event(self, value: object, *, ours: Message | None = None) -> StreamEvent | Unclear:
        """Read one event of a stream, any JSON value; never raises.

        `ours` is the message that the stream answers, where it answers one.
        """


DIALECTS: Mapping[ProtocolVersion, Dialect] = MappingProxyType(
    {
        ProtocolVersion.V0_2: v0_2.DIALECT,
        ProtocolVersion.V0_3: v0_3.DIALECT,
        ProtocolVersion.V1_0: v1_0.DIALECT,
    }
)
"""The dialects that JSON-RPC carries; `spoken.dialect_for` has those of every binding."""
