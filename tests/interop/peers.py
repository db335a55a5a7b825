"""The faces of the real servers, and one of them as the suite sees it."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pytest

from a2a_delegate import ProtocolVersion
from tests.interop.behaviours import Behaviour, Ended
from tests.interop.delegating import QUICKLY, Told, delegate_to
from tests.interop.lines import LINES, Line
from tests.interop.quirks import quirk_of

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

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


def _face(name: str, mode: str, version: ProtocolVersion) -> Face:
    return Face(name, LINES[name.partition(" ")[0]], mode, version)


_V1_0, _V0_3, _V0_2 = ProtocolVersion.V1_0, ProtocolVersion.V0_3, ProtocolVersion.V0_2

FACES: Final = {
    face.name: face
    for face in (
        _face("a2a-sdk-1.3", "1.0-only", _V1_0),
        _face("a2a-sdk-1.3 as 0.3", "dual", _V0_3),
        _face("a2a-sdk-0.3", "0.3-only", _V0_3),
        _face("a2a-sdk-0.2", "0.2-only", _V0_2),
        _face("js-sdk-1.3", "1.0-only", _V1_0),
        _face("js-sdk-1.3 as 0.3", "dual", _V0_3),
        _face("js-sdk-0.3", "0.3-only", _V0_3),
        _face("fasta2a-2.1", "1.0-only", _V1_0),
        _face("google-adk-2", "1.0-only", _V1_0),
        _face("agent-framework-1", "1.0-only", _V1_0),
        _face("strands-1", "0.3-only", _V0_3),
        _face("a2akit-0.0", "0.3-only", _V0_3),
    )
}


def params(*names: str) -> list[object]:
    """These faces as parameters, or all; those of `scripts/soak` are marked."""
    return [
        pytest.param(FACES[name], id=name, marks=[pytest.mark.soak] * FACES[name].line.soak)
        for name in names or FACES
    ]


@dataclass(frozen=True, slots=True)
class Peer:
    """A running server behind one of its faces."""

    face: Face
    server: Server
    table: Table

    @asynccontextmanager
    async def delegate(
        self, *, url: str | None = None, config: A2ADelegateConfig = QUICKLY
    ) -> AsyncGenerator[A2ADelegate]:
        """A delegate from the real card; `url` leads there instead of to the server."""
        version = self.face.version
        async with delegate_to(self.server.url, version, url=url, config=config) as delegate:
            yield delegate

    async def dispatch(
        self,
        request: DelegateRequest | str,
        *,
        told: Told | None = None,
        cancel: CancelToken | None = None,
        url: str | None = None,
    ) -> Ended:
        """Hand one message over, and give what came of it."""
        told = told or Told()
        async with self.delegate(url=url) as delegate:
            result = await delegate.dispatch(request, cancel=cancel, observer=told)
        return self.ended(told, result)

    def ended(self, told: Told, result: DelegateResult, *, note: str = "") -> Ended:
        """What came of the one delegation that was observed."""
        return Ended(self.server, told.message_id, result, note)

    def shows(self, behaviour: Behaviour, ended: Ended, usual: Expected) -> None:
        """Hold the end to what is expected of this face here, and the table to it."""
        quirk = quirk_of(self.face.name, behaviour)
        (usual if quirk is None else quirk.changes[behaviour]).check(ended)
        self.table.hold(behaviour, self.face.name, ended.cell())
