"""Ctrl-C and SIGTERM: the first one stops the work at the peer, the second one stops us."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING, TypeVar

import anyio

from a2a_delegate.delegate import CancelToken

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from anyio.abc import TaskStatus

T = TypeVar("T")

STOPPING = (signal.SIGINT, signal.SIGTERM)
"""The signals that ask a process to end."""

_KILLED = 128
"""A shell's exit status for a process that a signal ended is this and the signal's number."""


async def interruptible(
    work: Callable[[CancelToken], Awaitable[T]],
    *,
    on_first: Callable[[str], None],
    on_second: Callable[[], None],
) -> T:
    """Do the work with a token that the first signal cancels; the second ends the process at once.

    `on_first` is told the signal's name, `on_second` is the last thing that is called. Where the
    event loop takes no signals (Windows) Ctrl-C cancels the work's task instead.
    """
    token = CancelToken()

    async def listen(*, task_status: TaskStatus[None]) -> None:
        try:
            with anyio.open_signal_receiver(*STOPPING) as arriving:
                task_status.started()
                async for number in arriving:
                    if token.cancelled:
                        on_second()
                        # Nothing may delay it now: neither a transport nor a cleanup of ours.
                        os._exit(_KILLED + number)
                    on_first(number.name)
                    token.cancel(number.name)
        except NotImplementedError:
            task_status.started()

    async with anyio.create_task_group() as group:
        await group.start(listen)
        result = await work(token)
        group.cancel_scope.cancel()
    return result
