"""Parts: the pieces that messages and artifacts are made of (A2A 1.0 section 4.1.6)."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, TypeAlias

from a2a_delegate.errors import UsageError
from a2a_delegate.model.frozen import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from a2a_delegate.model.json_value import JSON


@dataclass(frozen=True, slots=True)
class TextPart:
    """A piece of text."""

    text: str
    media_type: str | None = None
    filename: str | None = None
    metadata: Mapping[str, JSON] | None = None


@dataclass(frozen=True, slots=True)
class DataPart:
    """A JSON value. Versions before 1.0 carry objects only; the dialect wraps other values."""

    data: JSON
    media_type: str | None = None
    filename: str | None = None
    metadata: Mapping[str, JSON] | None = None


@dataclass(frozen=True, slots=True)
class FilePart:
    """A file, by its bytes or by a URL: exactly one of both. A URL is never fetched unasked."""

    content: bytes | None = field(default=None, repr=False)
    url: str | None = None
    filename: str | None = None
    media_type: str | None = None
    metadata: Mapping[str, JSON] | None = None

    def __post_init__(self) -> None:
        if (self.content is None) == (self.url is None):
            msg = "a file part needs exactly one of content and url"
            raise UsageError(msg)


@dataclass(frozen=True, slots=True)
class UnknownPart:
    """A received part that no dialect understands, kept as it came."""

    raw: JSON


Part: TypeAlias = TextPart | DataPart | FilePart | UnknownPart
"""A piece of a message or an artifact. An UnknownPart is only received, never sent."""


def text_of(parts: Iterable[Part]) -> str:
    """Join the text parts without a gap: chunks of one text arrive as parts of their own."""
    return "".join([part.text for part in parts if isinstance(part, TextPart)])


def data_of(parts: Iterable[Part]) -> tuple[JSON, ...]:
    """Return the values of the data parts, in order."""
    return tuple([part.data for part in parts if isinstance(part, DataPart)])
