"""The files of an outcome, and how they are written to disk."""

from __future__ import annotations

import contextlib
import mimetypes
import os
from pathlib import Path
from typing import TYPE_CHECKING

from a2a_delegate.errors import UsageError, shown
from a2a_delegate.model.file_names import numbered, safe_name
from a2a_delegate.model.part import FilePart

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from a2a_delegate.model.artifact import Artifact
    from a2a_delegate.model.message import Message


def files_of(
    artifacts: Sequence[Artifact], message: Message | None
) -> Iterator[tuple[FilePart, str]]:
    """Yield the file parts of artifacts and message, each with the name that it is saved under.

    A file that the message only repeats is left out. The names are safe; several may be alike.
    """
    seen = set()
    for place, artifact in enumerate(artifacts, 1):
        names = (artifact.name or "", artifact.artifact_id, f"artifact-{place}")
        for part in artifact.parts:
            if isinstance(part, FilePart):
                seen.add(_identity(part))
                yield part, _name(part, names)
    for part in () if message is None else message.parts:
        if isinstance(part, FilePart) and _identity(part) not in seen:
            yield part, _name(part, ("message",))


def made_directory(directory: str | os.PathLike[str]) -> Path:
    """Return the path of a directory, which is made where it is missing, and its parents too.

    Raises UsageError for what is no path and for a path on which something else stands, OSError
    where the system refuses.
    """
    given = os.fspath(directory) if isinstance(directory, str | os.PathLike) else None
    # "" would be the current directory: more often a variable that is not set than a wish.
    if not isinstance(given, str) or not given:
        raise UsageError(f"a directory to save in must be a path, not {shown(repr(directory), 80)}")
    path = Path(given)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except ValueError:
        raise UsageError(f"{shown(repr(given), 200)} cannot be the name of a directory") from None
    except (FileExistsError, NotADirectoryError):
        raise UsageError(
            f"{shown(path, 200)} is no directory: nothing can be saved in it"
        ) from None
    return path


def save(
    directory: str | os.PathLike[str], artifacts: Sequence[Artifact], message: Message | None
) -> tuple[Path, ...]:
    """Write each file that came with its bytes, and return the paths; all are written or none.

    Raises what `made_directory` does, and OSError for a file that cannot be written.
    """
    room = _Room(made_directory(directory))
    paths = []
    with contextlib.ExitStack() as undoing:
        for part, name in files_of(artifacts, message):
            if part.content is not None:
                paths.append(room.write(name, part.content, undoing))
        undoing.pop_all()
    return tuple(paths)


class _Room:
    """A directory in which no file is ever written over: neither an older one, nor one of ours."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._taken: set[str] = set()
        # Where to go on counting: a peer that gives one name to all must not cost the square.
        self._next: dict[str, int] = {}

    def write(self, name: str, content: bytes, undoing: contextlib.ExitStack) -> Path:
        """Write a file under this name, or with the first number that is free."""
        number = self._next.get(name.casefold(), 1)
        while True:
            tried = name if number == 1 else numbered(name, number)
            number += 1
            # "A" and "a" are one file for other systems, to which all may be copied.
            if tried.casefold() in self._taken:
                continue
            path = self._path / tried
            try:
                # Exclusive: it fails on whatever is there, and so follows no link.
                with path.open("xb") as stream:
                    undoing.callback(_remove, path)
                    stream.write(content)
            except FileExistsError:
                continue
            self._taken.add(tried.casefold())
            self._next[name.casefold()] = number
            return path


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink()


def _identity(part: FilePart) -> tuple[object, ...]:
    return (part.content, part.url, part.filename, part.media_type)


def _name(part: FilePart, others: Sequence[str]) -> str:
    """Return the safe form of the file's own name, else of the first other one that has any.

    Names that were not meant for files get the extension of the media type, where it has one.
    """
    own = safe_name(part.filename or "")
    if own:
        return own
    name = next(filter(None, map(safe_name, others)))
    if mimetypes.guess_type(name) == (None, None):
        kind = (part.media_type or "").partition(";")[0].strip().lower()
        name = safe_name(f"{name}{mimetypes.guess_extension(kind) or ''}")
    return name
