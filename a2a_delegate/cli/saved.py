"""What `--save` does: the directory before anything is sent, the files after the outcome."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from a2a_delegate import saving
from a2a_delegate.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from a2a_delegate.outcome import DelegateResult


@dataclass(frozen=True, slots=True)
class Saved:
    """The files that were written, in order, and what kept all of them from it, None for nothing.

    `asked` says whether they were to be written at all.
    """

    asked: bool = False
    paths: tuple[Path, ...] = ()
    lost: OSError | None = None


def make_directory(directory: str | None) -> None:
    """Make the directory, so that one in which nothing can be saved is told of before the work.

    Raises UsageError.
    """
    if directory is None:
        return
    try:
        saving.made_directory(directory)
    except (UsageError, OSError) as problem:
        reason = getattr(problem, "strerror", None) or str(problem)
        raise UsageError(f"--save: {reason}") from None


def save_files(result: DelegateResult, directory: str | None) -> Saved:
    """Write the files of an outcome into the directory, where there is one to write into."""
    if directory is None:
        return Saved()
    try:
        return Saved(asked=True, paths=result.save(directory))
    except OSError as problem:
        return Saved(asked=True, lost=problem)
