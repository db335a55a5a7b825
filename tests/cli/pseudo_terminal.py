"""The command on a pseudo-terminal: what a person would see, byte by byte."""

from __future__ import annotations

import errno
import fcntl
import os
import pty
import select
import struct
import subprocess
import termios
from typing import TYPE_CHECKING

from tests.cli.command import COMMAND, PATIENCE, environment

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self

_COLUMNS = 120


class Terminal:
    """A command whose streams are all one terminal. Use it in a `with` block."""

    def __init__(self, *words: str, env: Mapping[str, str] | None = None) -> None:
        self.seen = b""
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, _COLUMNS, 0, 0))
        try:
            self.process = subprocess.Popen(  # noqa: S603 - words of this test
                [*COMMAND, *words],
                stdin=theirs,
                stdout=theirs,
                stderr=theirs,
                env=environment({"TERM": "xterm-256color", **(env or {})}),
            )
        finally:
            os.close(theirs)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait(PATIENCE)
        os.close(self._ours)

    def read_until(self, text: bytes) -> None:
        """Read until this text has been shown."""
        while text not in self.seen:
            assert self._read(), f"the terminal never showed {text!r}: {self.seen!r}"

    def finish(self) -> int:
        """Read until the command has ended, and return its exit status."""
        while self._read():
            pass
        return self.process.wait(PATIENCE)

    def _read(self) -> bool:
        """Read what comes next; False at the end."""
        ready, _, _ = select.select([self._ours], [], [], PATIENCE)
        assert ready, f"the command went silent: {self.seen!r}"
        try:
            chunk = os.read(self._ours, 65_536)
        except OSError as problem:
            # Linux reports the end of a terminal so.
            assert problem.errno == errno.EIO  # noqa: PT017 - an end, not what is tested
            return False
        self.seen += chunk
        return bool(chunk)
