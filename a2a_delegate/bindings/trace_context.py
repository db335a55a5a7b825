"""The trace that a request belongs to, as W3C Trace Context spells it.

OpenTelemetry is asked where the program has loaded it already; nothing here depends on it.
"""

from __future__ import annotations

import functools
import importlib
import sys
from typing import TYPE_CHECKING, TypeGuard

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_API = "opentelemetry.trace"
_NONE: Mapping[str, str] = {}


def trace_context() -> Mapping[str, str]:
    """Return `traceparent`, and `tracestate` where there is one, of the trace that is active here.

    Empty without an active trace, and for whatever a propagator does wrong: no request fails by
    it. What else a propagator writes, such as baggage, is the caller's own and goes to no peer.
    """
    if _API not in sys.modules or (inject := _injector()) is None:
        return _NONE
    written: dict[str, str] = {}
    try:
        inject(written)
        parent, state = written.get("traceparent"), written.get("tracestate")
        if not _is_header(parent):
            return _NONE
        headers = {"traceparent": parent}
        if _is_header(state):
            headers["tracestate"] = state
    except Exception:  # noqa: BLE001 - somebody else's code, configured by the environment
        return _NONE
    return headers


def _is_header(value: object) -> TypeGuard[str]:
    """Whether HTTP can carry it."""
    return (
        isinstance(value, str)
        and value != ""
        and value.isascii()
        and value.isprintable()
        and value == value.strip()
    )


@functools.cache
def _injector() -> Callable[[dict[str, str]], None] | None:
    """Load what writes the headers; once, because it fails slowly where it is configured wrong."""
    try:
        inject: Callable[[dict[str, str]], None] = importlib.import_module(
            "opentelemetry.propagate"
        ).inject
    except Exception:  # noqa: BLE001 - as above
        return None
    return inject
