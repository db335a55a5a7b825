"""Carrying one request, for the tests of the carriage."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, TypeAlias

import anyio
import httpx

from a2a_delegate.bindings.carriage import Bounds, Carrier, Errand
from a2a_delegate.wire.cut_reply import TaskIdScan

if TYPE_CHECKING:
    from a2a_delegate.bindings.carriage import Carried
    from a2a_delegate.bindings.exchange import Exchange
    from tests.bindings.loopback import Line

NewClient: TypeAlias = Callable[[], httpx.AsyncClient]

BODY = b'{"jsonrpc":"2.0","id":"r-1","method":"SendMessage"}'
WHOLE = b'{"jsonrpc":"2.0","id":"r-1","result":{"task":{"id":"task-7","status":{"state":"x"}}}}'
SHOWS_THE_ID = WHOLE[:60]


def errand(url: str, *, scan: TaskIdScan | None = None) -> Errand:
    return Errand(name="send", url=httpx.URL(url), headers={"X-Ours": "1"}, body=BODY, scan=scan)


class Carry(Protocol):
    """Carries one errand by a client of its own."""

    async def __call__(self, url: str, exchange: Exchange, *, limit: int = ...) -> Carried: ...


async def carry_by(
    client: httpx.AsyncClient, url: str, exchange: Exchange, *, limit: int = 1_000_000
) -> Carried:
    async with client:
        carrier = Carrier(client, bounds=Bounds(limit))
        scan = TaskIdScan(request_id="r-1")
        with anyio.fail_after(5):
            return await carrier.carry(errand(url, scan=scan), exchange)


async def hang_up(line: Line) -> None:
    """Return, which closes the connection."""
