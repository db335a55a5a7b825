"""The command `a2a-delegate`, of the extra `cli`; without the extra it says how to install it."""

from __future__ import annotations

import os
import signal
import sys
from typing import NoReturn

_NEEDS = ("rich", "typer")

_INTERRUPTED = 130
"""A shell's exit status for a program that Ctrl-C ended."""

_HOW_TO_INSTALL = """\
The command a2a-delegate needs packages that are not installed here ({missing}).
Install its extra with: pip install 'a2a-delegate[cli]'
"""


def main() -> None:
    """Run the command with the arguments of the process, and exit with its status.

    Without the packages of the extra it says how to install them, and the status is 2. A Ctrl-C
    that comes before anything was begun ends it without a word.
    """
    # The imports take longest of all that happens before the first byte leaves. An exception would
    # not do there: the interpreter makes others of it, and in a callback of its own it drops it.
    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)
    try:
        from a2a_delegate.cli.app import app  # noqa: PLC0415 - the extra may not be installed
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] not in _NEEDS:
            raise
        if sys.stderr is not None:
            sys.stderr.write(_HOW_TO_INSTALL.format(missing=missing.name))
        sys.exit(2)
    finally:
        signal.signal(signal.SIGINT, before)
    app(prog_name="a2a-delegate")


def _leave(number: int, frame: object) -> NoReturn:
    del number, frame
    os._exit(_INTERRUPTED)
