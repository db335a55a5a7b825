"""The observers that come with the package, as a user's type checker sees them. Never run."""

from __future__ import annotations

import logging
from typing import assert_type

from a2a_delegate import Delegate, Observer, connect
from a2a_delegate.observers import LoggingObserver


async def write_records(delegate: Delegate) -> None:
    """Give one to a delegate, to `connect`, and to one dispatch."""
    observer: Observer = LoggingObserver()
    assert_type(LoggingObserver(logging.getLogger("mine")), LoggingObserver)
    async with connect("https://research.example", observers=[LoggingObserver(), observer]):
        await delegate.dispatch("work", observer=LoggingObserver())
    LoggingObserver("mine")  # type: ignore[arg-type]
