"""Looking for an agent's card, inside a bound that no transport can stretch.

The search itself is `peer.discovery`'s. It runs in a task of its own, like every request of a
delegation, because a transport may ignore that it is cancelled: whoever waits for the card goes on
in time all the same.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, cast

import anyio

from a2a_delegate.delegate import check_listeners, check_seconds
from a2a_delegate.errors import DelegationCancelledError, PeerUnreachableError, shown
from a2a_delegate.peer.discovery import MAX_CARD_BYTES, CardSource
from a2a_delegate.runtime.owner import Bell, OwnedTask, loop_time, uninterrupted

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    import httpx

    from a2a_delegate.delegate import CancelToken
    from a2a_delegate.model.card import AgentCard
    from a2a_delegate.peer.credentials import AuthProvider

CARD_TIMEOUT = 30.0
"""Seconds that finding a card may take."""

RELEASE = 0.5
"""Seconds that a transport which was told to stop may take to do so."""


async def fetch_agent_card(
    base_url: str,
    *,
    client: httpx.AsyncClient,
    timeout: float | None = CARD_TIMEOUT,  # noqa: ASYNC109 - one deadline over several requests
    cancel: CancelToken | None = None,
    headers: Mapping[str, str] | None = None,
    auth: httpx.Auth | AuthProvider | None = None,
    max_bytes: int = MAX_CARD_BYTES,
) -> AgentCard:
    """Find an agent's card and read it.

    `base_url` is what a person types: the address of the agent, with or without a path, or the
    full URL of its card. It is kept in `card.source`: credentials may go to its origin. `timeout`
    in seconds bounds everything, None or 0 for no bound; a transport that does not stop when it is
    told to is left behind half a second later. `headers` and `auth` go with the request, as does
    what `client` has of its own; redirects are not followed.

    Raises UsageError for what is no address, UnsafeEndpointError for one with user information;
    PeerUnreachableError (phase `card`) when nothing answers in time; InvalidAgentCardError for any
    answer that is no usable card, A2AProtocolMismatchError for a card of unknown versions. When
    `cancel` is cancelled: its reason, unchanged, where that is an exception, else
    DelegationCancelledError, with the reason still in the token. A token that was cancelled before
    sends nothing.
    """
    source = CardSource(base_url, client=client, headers=headers, auth=auth, max_bytes=max_bytes)
    return await CardLookup(source).find(timeout=timeout, cancel=cancel)


class CardLookup:
    """One agent's card, found once and looked at again when something changed.

    `left_behind` holds the tasks of searches that did not stop when they were told to.
    """

    def __init__(self, source: CardSource) -> None:
        self._source = source
        self.left_behind: list[OwnedTask] = []

    async def find(
        self,
        *,
        timeout: float | None = CARD_TIMEOUT,  # noqa: ASYNC109 - one deadline over several requests
        cancel: CancelToken | None = None,
    ) -> AgentCard:
        """Find the card and read it; raises as `fetch_agent_card` does."""
        if timeout is not None:
            check_seconds("timeout", timeout, zero=True)
        check_listeners(cancel, None)
        await anyio.lowlevel.checkpoint_if_cancelled()
        if cancel is not None and cancel.cancelled:
            raise _cancelled(cancel)
        search = _Search()
        ends = loop_time() + timeout if timeout else None
        await self._run(search, self._source.look, ends, cancel)
        if search.card is not None:
            return search.card
        if search.stopped == "cancel" and cancel is not None:
            raise _cancelled(cancel)
        if search.stopped == "deadline" or search.error is None:
            # Without an error and without a card it is the end of an asyncio loop, for all tasks.
            reason = f"no answer within {timeout:g} seconds" if search.stopped else "it was cut off"
            raise PeerUnreachableError(phase="card", url=self._source.typed, reason=reason)
        raise search.take_error()

    async def find_changed(
        self, *, deadline: float | None, cancel: CancelToken | None = None
    ) -> AgentCard | None:
        """Ask whether the card has changed; None where it has not, or nobody could say in time.

        `deadline` is on the loop's clock; it takes at most `CARD_TIMEOUT` in any case.
        """
        search, now = _Search(), loop_time()
        ends = now + CARD_TIMEOUT if deadline is None else min(now + CARD_TIMEOUT, deadline)
        if ends <= now or (cancel is not None and cancel.cancelled):
            return None
        await self._run(search, self._source.look_again, ends, cancel)
        if search.error is not None and not isinstance(search.error, Exception):
            raise search.take_error()  # meant for the whole program
        return search.card

    async def _run(
        self,
        search: _Search,
        look: Callable[..., Awaitable[AgentCard | None]],
        ends: float | None,
        cancel: CancelToken | None,
    ) -> None:
        """Search until that ends, the deadline falls, the token or the caller's task is cancelled.

        Whatever ends it, it returns at most `RELEASE` later, and leaves no task that can be
        stopped. The caller's own cancellation goes on after that.
        """
        patience = min(anyio.current_effective_deadline(), math.inf if ends is None else ends)

        async def work() -> None:
            search.card = await look(deadline=patience)

        bell = Bell()
        undo = cancel.subscribe(bell.ring) if cancel is not None else None
        task = OwnedTask(work, bell.ring)
        try:
            while not task.finished and search.stopped is None:
                await bell.wait(ends)
                if cancel is not None and cancel.cancelled:
                    search.stopped = "cancel"
                elif ends is not None and loop_time() >= ends:
                    search.stopped = "deadline"
            await _stop(task, lambda wait: wait())
        except GeneratorExit:
            # The loop is gone: nothing can be waited for any more.
            raise
        except BaseException:
            with anyio.CancelScope(shield=True):
                await _stop(task, uninterrupted)
            raise
        finally:
            if undo is not None:
                undo()
            search.error, task.error = task.error, None
            self.left_behind = [one for one in (*self.left_behind, task) if not one.finished]


@dataclass(slots=True, eq=False, repr=False)
class _Search:
    """What came of one search: the card, the error, or why it was stopped before either."""

    card: AgentCard | None = None
    error: BaseException | None = None
    stopped: Literal["cancel", "deadline"] | None = None

    def take_error(self) -> BaseException:
        """Return the error and forget it: its traceback leads here, and would keep both alive."""
        error, self.error = self.error, None
        return cast("BaseException", error)


async def _stop(
    task: OwnedTask, wait: Callable[[Callable[[], Awaitable[None]]], Awaitable[object]]
) -> None:
    """Tell a task to stop, and wait for that no longer than a transport may take."""
    task.cancel()
    ends = loop_time() + RELEASE
    while not task.finished and loop_time() < ends:
        await wait(lambda: task.wait(ends))


def _cancelled(cancel: CancelToken) -> BaseException:
    if isinstance(cancel.reason, BaseException):
        return cancel.reason
    why = "" if cancel.reason is None else f": {shown(cancel.reason)}"
    return DelegationCancelledError(
        f"the search for the agent card was cancelled{why}", result=None
    )
