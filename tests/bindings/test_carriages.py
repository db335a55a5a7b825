from __future__ import annotations

import httpx
import pytest

from a2a_delegate.bindings.carriage import Bounds
from a2a_delegate.bindings.carriages import carriages
from a2a_delegate.errors import UsageError
from a2a_delegate.wire.spoken import SPOKEN_BINDINGS


@pytest.mark.anyio
@pytest.mark.spec("GATE-7")
async def test_every_binding_that_is_spoken_is_carried_and_no_other() -> None:
    async with httpx.AsyncClient() as client:
        assert tuple(carriages(client, bounds=Bounds(1))) == SPOKEN_BINDINGS


def test_nothing_is_carried_over_what_is_no_client() -> None:
    with pytest.raises(UsageError, match=r"httpx\.AsyncClient"):
        carriages(object(), bounds=Bounds(1))  # type: ignore[arg-type]
