"""Parts as peers really send them: both versions, older spellings, and what nobody knows."""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING, TypeAlias

from a2a_delegate.model.part import DataPart, FilePart, TextPart, UnknownPart

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from a2a_delegate.model.json_value import JSON
    from a2a_delegate.model.part import Part

    _Object: TypeAlias = Mapping[str, JSON]

WRAPPED_DATA = "data_part_compat"
"""Metadata that the SDKs of four languages set on a 0.3 data part whose value is no object.

0.3 allows objects only, so the value stands in the member `value` of one.
"""

_STANDARD_ALPHABET = bytes.maketrans(b"-_", b"+/")


def read_parts(value: object) -> tuple[Part, ...]:
    """Read a list of parts; what is no list holds none."""
    return tuple([_read_part(item) for item in value]) if isinstance(value, list) else ()


def text_or_none(value: object) -> str | None:
    """Return a text that says something: some peers print defaults, so "" stands for absent."""
    return value if isinstance(value, str) and value else None


def object_or_none(value: object) -> Mapping[str, JSON] | None:
    """Return an object, or None for what is none."""
    return value if isinstance(value, dict) else None


def _read_part(value: JSON) -> Part:
    """Read one part; what is not understood is kept as it came.

    A known `kind` (0.2, 0.3) or `type` (0.1) decides, else the members do (1.0 section 4.1.6).
    """
    if not isinstance(value, dict):
        return UnknownPart(value)
    kind = value.get("kind") or value.get("type")
    read = _BY_KIND.get(kind) if isinstance(kind, str) else None
    return (read or _reader_by_members(value))(value) or UnknownPart(value)


def _reader_by_members(value: _Object) -> Callable[[_Object], Part | None]:
    # Peers that print defaults send every member: one that says something goes first.
    for name, read in _BY_MEMBER.items():
        if value.get(name) not in (None, ""):
            return read
    # Presence decides here: in 1.0 null is data like any other value.
    for name, read in _BY_MEMBER.items():
        if name in value and (name == "data" or value[name] is not None):
            return read
    return _nothing


def _nothing(_: _Object) -> None:
    """Make nothing of a part in which no member is known."""


def _text(value: _Object) -> TextPart | None:
    text = value.get("text")
    if isinstance(text, dict):  # published replies nest it once more
        text = text.get("text")
    if not isinstance(text, str):
        return None
    return TextPart(
        text,
        text_or_none(value.get("mediaType") or value.get("media_type")),
        text_or_none(value.get("filename")),
        object_or_none(value.get("metadata")),
    )


def _data(value: _Object) -> DataPart | None:
    if "data" not in value:
        return None
    data = value["data"]
    metadata = object_or_none(value.get("metadata"))
    if metadata and metadata.get(WRAPPED_DATA) is True and isinstance(data, dict):
        data = data.get("value")
        metadata = {name: item for name, item in metadata.items() if name != WRAPPED_DATA} or None
    return DataPart(
        data,
        text_or_none(value.get("mediaType") or value.get("media_type")),
        text_or_none(value.get("filename")),
        metadata,
    )


def _file(value: _Object) -> FilePart | None:
    inner = value.get("file")
    file: _Object = inner if isinstance(inner, dict) else value
    raw = _first(file, "raw", "bytes", "fileWithBytes", "file_with_bytes")
    url = None if raw else text_or_none(_first(file, "url", "uri", "fileWithUri", "file_with_uri"))
    content = None if url else _bytes(raw)
    if content is None and url is None:
        return None
    return FilePart(
        content,
        url,
        text_or_none(_first(file, "filename", "name")),
        text_or_none(_first(file, "mediaType", "mimeType", "media_type", "mime_type")),
        object_or_none(value.get("metadata")),
    )


def _first(value: _Object, *names: str) -> JSON:
    """Return the first of the members that says something, else one that stands empty."""
    empty: JSON = None
    for name in names:
        member = value.get(name)
        if member:
            return member
        empty = empty if member is None else member
    return empty


def _bytes(raw: JSON) -> bytes | None:
    """Read base64 of either alphabet, padded, also in lines; None for anything else.

    Without padding a plain word would pass for base64 and become bytes that nobody sent.
    """
    if not isinstance(raw, str):
        return None
    try:
        packed = b"".join(raw.encode("ascii").split())
        if b"+" not in packed and b"/" not in packed:
            packed = packed.translate(_STANDARD_ALPHABET)
        return base64.b64decode(packed, validate=True)
    except (UnicodeEncodeError, binascii.Error):
        return None


_BY_KIND: dict[str, Callable[[_Object], Part | None]] = {
    "text": _text,
    "file": _file,
    "data": _data,
}
_BY_MEMBER: dict[str, Callable[[_Object], Part | None]] = {
    "text": _text,
    "raw": _file,
    "url": _file,
    "file": _file,
    "data": _data,
}
