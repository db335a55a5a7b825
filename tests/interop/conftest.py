"""Each real server is started once a run, when a test first asks for it."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from tests.interop.servers import Server, running

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture(scope="session")
def server_of(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Callable[[str, str], Server]]:
    """Give the server of a line and a mode."""
    with ExitStack() as stack:
        started: dict[tuple[str, str], Server] = {}

        def start(line: str, mode: str) -> Server:
            if (line, mode) not in started:
                folder = tmp_path_factory.mktemp(f"{line}-{mode}")
                started[line, mode] = stack.enter_context(running(line, mode, directory=folder))
            return started[line, mode]

        yield start
