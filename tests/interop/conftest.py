"""Each real server is started once a run, when a test first asks for it."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

# Before their first import: else their assertions say nothing when they fail.
pytest.register_assert_rewrite("tests.interop.behaviours", "tests.interop.raw")

from tests.interop.peers import FACES, Peer  # noqa: E402  # see above
from tests.interop.servers import Server, running  # noqa: E402
from tests.interop.table import PAGE, Table  # noqa: E402
from tests.interop.ways import WAYS, Way  # noqa: E402

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


@pytest.fixture(scope="session")
def table() -> Iterator[Table]:
    """The page of the cells, which is written at the end if that was asked for."""
    table = Table(tuple(FACES.values()))
    if PAGE.exists():
        table.read(PAGE.read_text(encoding="utf-8"))
    yield table
    if table.writes:
        PAGE.write_text(table.page(), encoding="utf-8")


@pytest.fixture
def peer_of(server_of: Callable[[str, str], Server], table: Table) -> Callable[..., Peer]:
    """Give the peer behind a face, by the face's name and the way, if it is another than usual."""

    def of(name: str, way: Way = WAYS[0]) -> Peer:
        face = FACES[name]
        return Peer(face, way, server_of(face.line.name, face.mode), table)

    return of


@pytest.fixture
def peer(request: pytest.FixtureRequest, peer_of: Callable[..., Peer]) -> Peer:
    """One of the peers that `on` names."""
    return peer_of(*request.param)
