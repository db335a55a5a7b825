"""The two streams of a command: the answer on one, all that is told about it on the other.

What a peer wrote never reaches a terminal as control sequences: neither those that move the cursor
or paint (ECMA-48), nor those that turn the order of letters round (Unicode's bidi controls).
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import re
import sys
from typing import TYPE_CHECKING, TextIO

from rich.console import Console, Group
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.console import RenderableType

_FRAMES_PER_SECOND = 8.0
_ROWS = 12
"""Rows of a terminal for text that is still growing."""

# C0 but tab and line feed, DEL and C1; marks, embeddings, overrides and isolates of direction; the
# separators that some terminals take for line breaks; lone surrogates; the invisible tag letters.
_CONTROLS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)


def visible(text: str) -> str:
    r"""Spell control characters out, as in `\x1b`; tabs and line breaks stay."""
    return _CONTROLS.sub(_escaped, text.replace("\r\n", "\n"))


def _escaped(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode("ascii")


def on_one_line(text: str, limit: int) -> str:
    """Return the beginning of a text as one line without control characters."""
    words = " ".join(text[: limit * 4].split())
    return visible(words if len(words) <= limit else words[: limit - 1] + "…")


def write_answer(text: str) -> OSError | None:
    """Write the answer to standard output, and return what kept it from arriving there.

    On a terminal its control characters are spelled out; elsewhere it goes as it is. What the
    encoding cannot carry is spelled out everywhere. A line break is added where none stands at its
    end.
    """
    stream = sys.stdout
    if stream is None:
        return OSError("standard output is closed")
    if stream.isatty():
        text = visible(text)
    if hasattr(stream, "reconfigure"):
        # A lone surrogate, or a letter outside the locale's encoding, is no reason to fail.
        stream.reconfigure(errors="backslashreplace")
    try:
        _write_whole(stream, text if text.endswith("\n") else f"{text}\n")
        stream.flush()
    except OSError as problem:
        silence(stream)
        return problem
    return None


def _write_whole(stream: TextIO, text: str) -> None:
    """Write all of a text. Raises OSError."""
    raw: object = getattr(stream, "buffer", None)
    if not isinstance(raw, io.RawIOBase):
        stream.write(text)
        return
    # PYTHONUNBUFFERED: what the stream takes is written once, and a part of it counts as all.
    left = memoryview(text.replace("\n", os.linesep).encode(stream.encoding, "backslashreplace"))
    while left:
        written = raw.write(left)
        if written is None:
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        left = left[written:]


def silence(stream: TextIO) -> None:
    """Let what is still buffered go nowhere, or the interpreter complains about it at its end."""
    with contextlib.suppress(OSError, ValueError), open(os.devnull, "wb") as nowhere:  # noqa: PTH123
        os.dup2(nowhere.fileno(), stream.fileno())


class Screen:
    """Standard error: lines of text, and on a terminal what grows and how it goes below them.

    `hide` goes over all text first; whoever knows secrets sets it. Without a terminal nothing but
    the lines is written.
    """

    def __init__(self) -> None:
        self.hide: Callable[[str], str] = str
        self._live: Live | None = None
        self._console: Console | None = None
        stream = sys.stderr
        if stream is not None and stream.isatty():
            console = Console(stderr=True, markup=False, emoji=False, highlight=False)
            # TERM=dumb: no line can be taken back there, so none is written.
            usable = console.is_terminal and not console.is_dumb_terminal
            self._console = console if usable else None

    @property
    def is_terminal(self) -> bool:
        """Whether somebody may be watching."""
        return self._console is not None

    def say(self, text: str, *, style: str = "") -> None:
        """Write lines of text. A standard error that is gone is nobody's loss."""
        told = visible(self.hide(text))
        stream = sys.stderr
        if stream is None:
            return
        try:
            if self._console is not None:
                self._console.print(Text(told, style=style), soft_wrap=True)
            else:
                stream.write(f"{told}\n")
                stream.flush()
        except OSError:
            silence(stream)

    @contextlib.contextmanager
    def showing(self, line: Callable[[], str], text: Callable[[], str] = str) -> Iterator[None]:
        """Show the end of `text` and below it `line`, anew several times a second, in the block."""
        console = self._console
        if console is None:
            yield
            return
        spinner = Spinner("dots" if console.encoding.startswith("utf") else "line")

        def frame() -> RenderableType:
            told = visible(self.hide(line()))
            spinner.update(text=Text(told, no_wrap=True, overflow="ellipsis"))
            words = Text(visible(self.hide(text())))
            rows = max(1, min(_ROWS, console.height - 2))
            return Group(*words.wrap(console, console.width)[-rows:], spinner)

        live = Live(
            get_renderable=frame,
            console=console,
            refresh_per_second=_FRAMES_PER_SECOND,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._live = live
        try:
            with live:
                yield
        finally:
            self._live = None

    def close(self) -> None:
        """Take the line of progress away, so that the terminal is left as it was."""
        if self._live is not None:
            self._live.stop()
