from __future__ import annotations

import httpx
import pytest

from a2a_delegate.bindings.carriage import Bounds
from a2a_delegate.bindings.carriages import Carriages
from a2a_delegate.errors import UsageError
from a2a_delegate.model.card import Binding
from a2a_delegate.wire.spoken import SPOKEN_BINDINGS


@pytest.mark.anyio
@pytest.mark.spec("GATE-7")
async def test_every_binding_that_is_spoken_is_carried_and_no_other() -> None:
    async with httpx.AsyncClient() as client:
        carriages = Carriages(client, bounds=Bounds(1))
        assert tuple(carriages) == SPOKEN_BINDINGS
        assert len(carriages) == len(SPOKEN_BINDINGS)
        for binding in SPOKEN_BINDINGS:
            assert carriages[binding] is carriages[binding], "one for all calls"
        with pytest.raises(KeyError):
            carriages[Binding.GRPC]


def test_nothing_is_carried_over_what_is_no_client() -> None:
    with pytest.raises(UsageError, match=r"httpx\.AsyncClient"):
        Carriages(object(), bounds=Bounds(1))[Binding.JSONRPC]  # type: ignore[arg-type]
