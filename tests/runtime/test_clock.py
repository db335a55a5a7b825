"""The one source of time, chance and ids."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta

import anyio
import pytest

from a2a_delegate.runtime.clock import Clock

pytestmark = [pytest.mark.anyio, pytest.mark.virtual_time]


async def test_now_is_the_loops_time() -> None:
    clock, start = Clock(), anyio.current_time()
    await anyio.sleep(90)
    assert clock.now() - start == pytest.approx(90)


def test_the_calendar_is_in_utc() -> None:
    told = Clock().utc()
    assert told.tzinfo is UTC
    assert abs(datetime.now(UTC) - told) < timedelta(minutes=1)


def test_chance_is_spread_below_one() -> None:
    drawn = [Clock().chance() for _ in range(100)]
    assert all(0 <= one < 1 for one in drawn)
    assert len(set(drawn)) > 90


def test_ids_are_fresh_uuids() -> None:
    made = [Clock().new_id() for _ in range(100)]
    assert len(set(made)) == 100
    assert all(str(uuid.UUID(one)) == one and uuid.UUID(one).version == 4 for one in made)
