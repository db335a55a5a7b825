"""What is sent: prompt, data and files, read before anything else happens, within bounds."""

from __future__ import annotations

import json
import mimetypes
import sys
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NoReturn

from a2a_delegate.errors import UsageError, shown
from a2a_delegate.model.part import DataPart, FilePart

if TYPE_CHECKING:
    from collections.abc import Sequence

    from a2a_delegate.model.json_value import JSON
    from a2a_delegate.model.part import Part

MAX_BYTES = 32 * 1024 * 1024
"""Bytes that a prompt, a value or all files together may have: files travel inside the JSON."""

_UNKNOWN_TYPE = "application/octet-stream"
_PACKED_TYPES = {"gzip": "application/gzip", "bzip2": "application/x-bzip2"}


def read_prompt(word: str) -> str:
    """Return the prompt, from standard input where the word is `-`, without changing a byte of it.

    Raises UsageError for what is no UTF-8, or is too large.
    """
    if word != "-":
        return word
    if sys.stdin is None:
        raise UsageError("the prompt: there is no standard input to read")
    body = _bounded(sys.stdin.buffer, what="the prompt", limit=MAX_BYTES)
    return _text(body, what="the prompt")


def read_parts(data: Sequence[str], files: Sequence[Path]) -> tuple[Part, ...]:
    """Make the data parts, then the file parts, in the order in which they were given.

    Data is JSON, or `@FILE` with JSON in it. A file goes by its bytes, under its name without
    folders, and its media type is guessed from the name. Raises UsageError.
    """
    parts: list[Part] = [DataPart(_value(word)) for word in data]
    left = MAX_BYTES
    for path in files:
        content = read_bounded(path, what="--file", limit=left)
        left -= len(content)
        parts.append(FilePart(content, filename=path.name, media_type=media_type(path.name)))
    return tuple(parts)


def media_type(name: str) -> str:
    """Guess the media type of a file by its name; what cannot be guessed is plain bytes."""
    kind, packing = mimetypes.guess_type(name)
    if packing is not None:
        return _PACKED_TYPES.get(packing, _UNKNOWN_TYPE)
    return kind or _UNKNOWN_TYPE


def read_bounded(path: Path, *, what: str, limit: int) -> bytes:
    """Read a file, a pipe too, of at most `limit` bytes. Raises UsageError, beginning `what`."""
    try:
        with path.open("rb") as stream:
            return _bounded(stream, what=f"{what}: {shown(path)}", limit=limit)
    except (OSError, ValueError) as problem:
        # ValueError: a name with a null character in it.
        reason = getattr(problem, "strerror", None) or "it is no name of a file"
        raise UsageError(f"{what}: cannot read {shown(path)}: {reason}") from None


def _bounded(stream: BinaryIO, *, what: str, limit: int) -> bytes:
    body = stream.read(limit + 1)
    if len(body) > limit:
        raise UsageError(f"{what}: larger than the {limit} bytes that it may have")
    return body


def _text(body: bytes, *, what: str) -> str:
    try:
        return body.decode()
    except UnicodeDecodeError as problem:
        raise UsageError(f"{what}: not UTF-8 at byte {problem.start}") from None


def _value(word: str) -> JSON:
    what, text = "--data", word
    if word.startswith("@"):
        path = Path(word[1:])
        what = f"--data: {shown(path)}"
        text = _text(read_bounded(path, what="--data", limit=MAX_BYTES), what=what)
    try:
        value: JSON = json.loads(text, parse_constant=_refuse_constant)
    except json.JSONDecodeError as problem:
        raise UsageError(
            f"{what}: not JSON at character {problem.pos}: {problem.msg}; text needs quotes of its "
            "own, as in '\"text\"', and a file stands as @FILE"
        ) from None
    except (ValueError, RecursionError) as problem:
        raise UsageError(f"{what}: {shown(problem, 200)}") from None
    return value


def _refuse_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is no JSON")
