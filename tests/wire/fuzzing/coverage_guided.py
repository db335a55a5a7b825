"""Search for bytes that break a reader, led by the branches that each input takes.

Run in the soak, one process a target, because libFuzzer ends the process that it runs in::

    python -m tests.wire.fuzzing.coverage_guided TARGET [OPTIONS AND FOLDERS OF LIBFUZZER]

An input that breaks it is printed and kept (`-artifact_prefix`). It is played again where its file
stands in the place of the folders.
"""

from __future__ import annotations

import sys

import atheris

# Only what is imported within is watched: the standard library would drown it.
with atheris.instrument_imports(include=["a2a_delegate.wire"]):
    from tests.wire.fuzzing.targets import PLANTED, TARGETS


def main() -> None:
    """Search until libFuzzer's own limits end the process: with 0 where nothing was found."""
    program, target, *options = sys.argv
    atheris.Setup([program, *options], (TARGETS | PLANTED)[target])
    atheris.Fuzz()


if __name__ == "__main__":
    main()
