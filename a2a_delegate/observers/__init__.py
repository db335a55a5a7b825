"""Observers that write down what they are told: give one to a delegate, or to one dispatch.

::

    from a2a_delegate.observers import LoggingObserver

    async with connect("https://research.example", observers=[LoggingObserver()]) as delegate:
        ...
"""

from __future__ import annotations

from a2a_delegate.observers.log_records import LoggingObserver

__all__ = ["LoggingObserver"]
