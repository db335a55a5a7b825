"""The one source of time, randomness and ids."""

from __future__ import annotations

import os
import random
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from a2a_delegate.model.frozen import dataclass
from a2a_delegate.runtime.owner import loop_time

if TYPE_CHECKING:
    from collections.abc import Callable


def _utc() -> datetime:
    return datetime.now(UTC)


def _new_id() -> str:
    # Some servers take UUIDs only, as message and as context ids. This is version 4 of RFC 9562,
    # spelled here in 2.6 microseconds; `str(uuid.uuid4())` takes 6.4, and a delegation needs two.
    chance = os.urandom(16).hex()
    variant = "89ab"[int(chance[16], 16) % 4]
    return f"{chance[:8]}-{chance[8:12]}-4{chance[13:16]}-{variant}{chance[17:20]}-{chance[20:]}"


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
