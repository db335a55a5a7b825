"""The one source of time, randomness and ids."""

from __future__ import annotations

import random
import uuid
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from a2a_delegate.model.frozen import dataclass
from a2a_delegate.runtime.owner import loop_time

if TYPE_CHECKING:
    from collections.abc import Callable


def _utc() -> datetime:
    return datetime.now(UTC)


def _new_id() -> str:
    # Some servers take UUIDs only, as message and as context ids.
    return str(uuid.uuid4())


@dataclass(frozen=True, slots=True)
class Clock:
    """What the shell reads: the event loop's time, the calendar, chance and fresh ids.

    `now` is in seconds on the event loop's clock, `utc` the calendar, `chance` gives numbers in
    [0, 1), `new_id` a fresh UUID.
    """

    now: Callable[[], float] = loop_time
    utc: Callable[[], datetime] = _utc
    chance: Callable[[], float] = random.random
    new_id: Callable[[], str] = _new_id
