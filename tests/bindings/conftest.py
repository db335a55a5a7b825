"""Fixtures of the tests of the carriage."""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx
import pytest

from a2a_delegate.peer.own_client import own_client
from tests.bindings.carrying import Carry, NewClient, carry_by

if TYPE_CHECKING:
    from a2a_delegate.bindings.carriage import Carried
    from a2a_delegate.bindings.exchange import Exchange


@pytest.fixture(params=[httpx.AsyncClient, own_client], ids=["given", "own"])
def new_client(request: pytest.FixtureRequest) -> NewClient:
    """Make a client: one as callers bring it, or ours."""
    make: NewClient = request.param
    return make


@pytest.fixture
def carry(new_client: NewClient) -> Carry:
    """Carry one errand by a new client."""

    async def by_a_new_client(url: str, exchange: Exchange, *, limit: int = 1_000_000) -> Carried:
        return await carry_by(new_client(), url, exchange, limit=limit)

    return by_a_new_client
