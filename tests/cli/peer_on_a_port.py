"""A scripted peer on a port of this machine, for commands in processes of their own."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Self, TypeVar

import anyio
from anyio.from_thread import start_blocking_portal

from a2a_delegate.testing import GroundTruth, ScriptedPeer

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

T = TypeVar("T")

PATIENCE = 10.0
"""Seconds that a test waits for the peer at most."""


class PeerOnAPort:
    """A ScriptedPeer of these versions that is served by an event loop in a thread of its own.

    What the peer is told and asked goes through `do`, because it belongs to that loop.
    """

    def __init__(self, *versions: str, streaming: bool = False) -> None:
        self._peer = ScriptedPeer(versions or ("1.0",), streaming=streaming)
        self._served = ExitStack()

    def __enter__(self) -> Self:
        self._portal = self._served.enter_context(start_blocking_portal())
        port = self._portal.wrap_async_context_manager(self._peer.serve())
        self.origin = self._served.enter_context(port)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._served.__exit__(kind, error, trace)

    def do(self, action: Callable[[ScriptedPeer], T]) -> T:
        """Do something with the peer on its own loop, and return what it returns."""
        return self._portal.call(action, self._peer)

    def wait_until(self, is_true: Callable[[GroundTruth], bool]) -> None:
        """Wait until something is true of the ground truth."""

        async def watch() -> None:
            with anyio.fail_after(PATIENCE):
                while not is_true(self._peer.truth):  # noqa: ASYNC110 - it has no event
                    await anyio.sleep(0.002)

        self._portal.call(watch)
