"""The faces of the real servers, and one of them as the suite sees it."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal

import pytest

from a2a_delegate import Binding, ProtocolVersion
from tests.interop.behaviours import Behaviour, Ended
from tests.interop.delegating import Told, delegate_to, watching
from tests.interop.lines import LINES, Line
from tests.interop.quirks import quirk_of
from tests.interop.ways import LOOPS, WAYS, Way

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from a2a_delegate import (
        A2ADelegate,
        A2ADelegateConfig,
        CancelToken,
        DelegateRequest,
        DelegateResult,
    )
    from tests.interop.behaviours import Expected
    from tests.interop.servers import Server
    from tests.interop.table import Table


@dataclass(frozen=True, slots=True)
class Face:
    """One server in one of the versions that it speaks: a column of the table."""

    name: str
    line: Line
    mode: str
    version: ProtocolVersion
    bindings: tuple[Binding, ...]
    unspoken: tuple[Binding, ...] = ()
    """What else its card offers; a quirk says what is wrong with it."""

    @property
    def ways(self) -> tuple[Way, ...]:
        """The ways to it."""
        return tuple(way for way in WAYS if way.binding in self.bindings)


def _face(
    name: str, mode: str, version: ProtocolVersion, *bindings: Literal[Binding.HTTP_JSON]
) -> Face:
    line = LINES[name.partition(" ")[0]]
    return Face(name, line, mode, version, (Binding.JSONRPC, *bindings))


_V1_0, _V0_3, _V0_2 = ProtocolVersion.V1_0, ProtocolVersion.V0_3, ProtocolVersion.V0_2
_REST: Final = Binding.HTTP_JSON

FACES: Final = {
    face.name: face
    for face in (
        _face("a2a-sdk-1.3", "1.0-only", _V1_0, _REST),
        _face("a2a-sdk-1.3 as 0.3", "dual", _V0_3, _REST),
        _face("a2a-sdk-0.3", "0.3-only", _V0_3, _REST),
        _face("a2a-sdk-0.2", "0.2-only", _V0_2),
        _face("js-sdk-1.3", "1.0-only", _V1_0, _REST),
        _face("js-sdk-1.3 as 0.3", "dual", _V0_3, _REST),
        _face("js-sdk-0.3", "0.3-only", _V0_3, _REST),
        _face("fasta2a-2.1", "1.0-only", _V1_0),
        _face("google-adk-2", "1.0-only", _V1_0),
        _face("agent-framework-1", "1.0-only", _V1_0),
        _face("strands-1", "0.3-only", _V0_3),
        replace(_face("a2akit-0.0", "0.3-only", _V0_3), unspoken=(_REST,)),
    )
}


def on(
    *names: str, ways: Sequence[Way] = WAYS, loops: Sequence[str] = LOOPS
) -> pytest.MarkDecorator:
    """Run a test at these faces, or at all, by these ways; those of `scripts/soak` are marked."""
    params = [
        pytest.param(
            (name, way),
            loop,
            id=f"{name}-{way}-{loop}".replace(" ", "_"),
            marks=[pytest.mark.soak] * FACES[name].line.soak,
        )
        for name in names or FACES
        for way in FACES[name].ways
        if way in ways
        for loop in (way.loops if loops is LOOPS else loops)
    ]
    return pytest.mark.parametrize(("peer", "anyio_backend"), params, indirect=["peer"])


everywhere: Final = on()
"""By every way to every face: what fills a row of the table."""


@dataclass(frozen=True, slots=True)
class Peer:
    """A running server behind one of its faces, met by one way."""

    face: Face
    way: Way
    server: Server
    table: Table

    @property
    def config(self) -> A2ADelegateConfig:
        """How it is delegated to."""
        return watching(self.way)

    @asynccontextmanager
    async def delegate(
        self, *, via: str | None = None, config: A2ADelegateConfig | None = None
    ) -> AsyncGenerator[A2ADelegate]:
        """A delegate from the real card; `via` leads there instead of the server's own origin."""
        speaks = self.face.version, self.way.binding
        config = config or self.config
        async with delegate_to(self.server.url, *speaks, via=via, config=config) as delegate:
            yield delegate

    async def dispatch(
        self,
        request: DelegateRequest | str,
        *,
        told: Told | None = None,
        cancel: CancelToken | None = None,
        via: str | None = None,
    ) -> Ended:
        """Hand one message over, and give what came of it."""
        told = told or Told()
        async with self.delegate(via=via) as delegate:
            result = await delegate.dispatch(request, cancel=cancel, observer=told)
        return self.ended(told, result)

    def ended(self, told: Told, result: DelegateResult, *, note: str = "") -> Ended:
        """What came of the one delegation that was observed."""
        return Ended(self.server, told.message_id, result, note)

    def shows(self, behaviour: Behaviour, ended: Ended, usual: Expected) -> None:
        """Hold the end to what is expected of this face here, and the table to it."""
        quirk = quirk_of(self.face.name, self.way, behaviour)
        expected = usual if quirk is None else quirk.changes[behaviour]
        expected.check(ended)
        self.holds(behaviour, expected.cell or ended.cell())

    def holds(self, behaviour: Behaviour, cell: str) -> None:
        """Hold the table to what was seen."""
        self.table.hold(behaviour, self.face.name, self.way, cell)
