"""What `--save-handle` does: the handle is in a file before the first byte leaves, and stays."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from a2a_delegate.errors import UsageError
from a2a_delegate.signals import Settled, handle_after

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType
    from typing import Self

    from a2a_delegate.outcome import DelegationHandle
    from a2a_delegate.signals import Signal


class KeptHandle:
    """Keeps the newest handle of one delegation in a file; without a path it keeps none.

    Entering makes the file, so that one that cannot be made is told of before anything is sent
    (UsageError). Leaving removes it where nothing was sent. `lost` is what kept a handle from
    being written.
    """

    def __init__(self, path: Path | None) -> None:
        self.lost: OSError | None = None
        self._path = path
        self._handle: DelegationHandle | None = None

    def __enter__(self) -> Self:
        """Make the file, over nothing that is there."""
        if self._path is not None:
            try:
                self._path.touch(exist_ok=False)
            except FileExistsError:
                raise UsageError(
                    "--save-handle: the file is there, and may hold the only way back to another "
                    "delegation"
                ) from None
            except OSError as problem:
                raise UsageError(f"--save-handle: {problem.strerror or problem}") from None
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Remove the file where there is no handle: nothing was sent."""
        if self._path is not None and self._handle is None:
            self._path.unlink(missing_ok=True)

    def observe(self, signal: Signal) -> None:
        """Write each new handle; an outcome that has none takes it back."""
        if isinstance(signal, Settled) and signal.result.handle is None:
            self._handle = None
            return
        handle = handle_after(signal, self._handle)
        if self._path is None or handle is None or handle == self._handle:
            return
        self._handle = handle
        try:
            _replace(self._path, f"{handle.to_json()}\n")
        except OSError as problem:
            self.lost = problem


def _replace(path: Path, text: str) -> None:
    """Write a file so that whoever reads it, or survives a crash, has the old text or the new."""
    beside = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        with beside.open("x", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
