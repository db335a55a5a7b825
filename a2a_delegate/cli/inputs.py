"""What is typed: prompt, data, files and handles, read before anything else, within bounds."""

from __future__ import annotations

import json
import mimetypes
import sys
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NoReturn

from a2a_delegate.errors import UsageError, shown
from a2a_delegate.model.part import DataPart, FilePart
from a2a_delegate.outcome import DelegationHandle

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
    return word if word != "-" else _standard_input("the prompt")


def read_handle(word: str) -> DelegationHandle:
    """Read a handle: JSON, `@FILE` with JSON in it, or `-` for standard input.

    The object that `--json` printed for an outcome will do: its handle is taken. Raises UsageError
    for anything else.
    """
    if word == "-":
        value = _value(_standard_input("HANDLE"), what="HANDLE")
    else:
        value = _given(word, what="HANDLE")
    if isinstance(value, dict) and "handle" in value:
        if value["handle"] is None:
            raise UsageError("HANDLE: this outcome has none, because nothing of it was sent")
        if value.get("status") == "completed" and value.get("task_id", "") is None:
            raise UsageError(
                "HANDLE: the agent answered with a message and made no task: it is over, and there "
                "is nothing to come back to"
            )
        value = value["handle"]
    try:
        return DelegationHandle.from_json(json.dumps(value))
    except (UsageError, RecursionError) as problem:
        # What to do about it is said in Python there.
        reason = shown(problem, 400).partition("; pass ")[0]
        raise UsageError(f"HANDLE: {reason}; give one as this command tells it") from None


def read_parts(data: Sequence[str], files: Sequence[Path]) -> tuple[Part, ...]:
    """Make the data parts, then the file parts, in the order in which they were given.

    Data is JSON, or `@FILE` with JSON in it. A file goes by its bytes, under its name without
    folders, and its media type is guessed from the name. Raises UsageError.
    """
    parts: list[Part] = [DataPart(_given(word, what="--data")) for word in data]
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


def _standard_input(what: str) -> str:
    if sys.stdin is None:
        raise UsageError(f"{what}: there is no standard input to read")
    return _text(_bounded(sys.stdin.buffer, what=what, limit=MAX_BYTES), what=what)


def _given(word: str, *, what: str) -> JSON:
    """Read JSON that was typed, or that is in the file whose name was."""
    if not word.startswith("@"):
        return _value(word, what=what)
    path = Path(word[1:])
    text = _text(read_bounded(path, what=what, limit=MAX_BYTES), what=f"{what}: {shown(path)}")
    return _value(text, what=f"{what}: {shown(path)}")


def _value(text: str, *, what: str) -> JSON:
    try:
        value: JSON = json.loads(text, parse_constant=_refuse_constant)
    except json.JSONDecodeError as problem:
        quotes = "text needs quotes of its own, as in '\"text\"', and " if what == "--data" else ""
        raise UsageError(
            f"{what}: not JSON at character {problem.pos}: {problem.msg}; "
            f"{quotes}a file stands as @FILE"
        ) from None
    except (ValueError, RecursionError) as problem:
        raise UsageError(f"{what}: {shown(problem, 200)}") from None
    return value


def _refuse_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is no JSON")
