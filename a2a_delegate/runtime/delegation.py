"""A delegation that runs beside its caller: updates while it goes on, the outcome at the end."""

from __future__ import annotations

import uuid
from collections import deque
from typing import TYPE_CHECKING, Self, TypeAlias

import anyio

from a2a_delegate.delegate import CancelToken, as_request, check_capabilities
from a2a_delegate.errors import UsageError
from a2a_delegate.model.part import FilePart, TextPart
from a2a_delegate.runtime.owner import Bell, OwnedTask
from a2a_delegate.signals import (
    ArtifactChunk,
    Intent,
    Progress,
    Settled,
    Signal,
    StateSeen,
    handle_after,
)

if TYPE_CHECKING:
    from types import TracebackType

    from a2a_delegate.delegate import Delegate, DelegateRequest
    from a2a_delegate.model.part import Part
    from a2a_delegate.outcome import DelegateResult, DelegationHandle

Update: TypeAlias = StateSeen | Progress | ArtifactChunk
"""What a reader is shown while the peer works: states, status texts, artifacts."""

_KEPT_UPDATES = 1024
_KEPT_WEIGHT = 8 * 1024 * 1024
"""Characters and bytes of them that are kept; the newest one is kept whatever it has."""
_UPDATES_AHEAD = 64
"""How many updates a stream may be ahead of its reader."""
_WEIGHT_OF_OTHERS = 4096
"""What a part counts that has no length of its own."""
_INTENT_PATIENCE = 1.0
"""Seconds that a delegate of somebody else has to tell its Intent, which comes before any I/O."""


class Delegation:
    """One delegation under way. `open_delegation` makes it.

    `id` is its own name in this process; `handle` is there from before the first byte, and holds
    the peer's task id as soon as that is known. Iterate over it for updates: a reader that is
    slower than the peer holds its stream back; of what comes by asking it misses the oldest, and
    artifacts as they were before, but never the outcome. One reader at a time.
    """

    def __init__(self, delegate: Delegate, request: DelegateRequest) -> None:
        self.id = uuid.uuid4().hex
        self.handle: DelegationHandle | None = None
        self._delegate = delegate
        self._request = request
        self._token = CancelToken()
        self._updates: deque[Update] = deque()
        self._bell = Bell()
        self._room = Bell()
        self._intent_told = False
        self._reading = False
        self._paced = False
        self._awaited = False
        self._weight = 0
        self._task: OwnedTask | None = None
        self._scope_deadline = float("inf")
        self._result: DelegateResult | None = None
        self._error_told = False

    def __repr__(self) -> str:
        """Show what is known, and no content."""
        state = "settled" if self._result is not None else "running"
        return f"<Delegation {self.id} to {self._delegate.id!r}, {state}>"

    async def cancel(self, reason: object = None) -> DelegateResult:
        """Stop it, at the peer too, and return the outcome: an answer that came first counts."""
        self._token.cancel(reason)
        return await self.result()

    async def result(self) -> DelegateResult:
        """Wait for the outcome. Raises UsageError where the request was refused as misuse.

        From now on no update is waited for.
        """
        task = self._started()
        self._awaited = True
        self._set_paced(paced=False)
        while not task.finished:
            await task.wait()
        if task.error is not None:
            self._error_told = True
            raise task.error
        if self._result is None:
            raise UsageError("the event loop ended before the delegation had begun")
        return self._result

    def __aiter__(self) -> Self:
        """Iterate over the updates, from the first one that is still kept."""
        return self

    async def __anext__(self) -> Update:
        """Return the next update; the iteration ends when the delegation has settled.

        Raises UsageError where another reader waits: the bell wakes one.
        """
        task = self._started()
        if self._reading:
            raise UsageError("a delegation has one reader at a time, and another one is waiting")
        self._reading = True
        self._set_paced(paced=not self._awaited)
        try:
            while not self._updates:
                if task.finished:
                    raise StopAsyncIteration
                await self._bell.wait()
            update = self._take_first()
        finally:
            self._reading = False
        self._room.ring()
        return update

    def _set_paced(self, *, paced: bool) -> None:
        """Let the reader's pace be that of the stream, or not."""
        self._paced = paced
        self._room.ring()

    async def _ready_for_more(self) -> None:
        while self._paced and len(self._updates) >= _UPDATES_AHEAD:
            await self._room.wait()

    def _started(self) -> OwnedTask:
        if self._task is None:
            raise UsageError("a delegation is used inside `async with open_delegation(...)`")
        return self._task

    async def _run(self) -> None:
        # The scope around the block is not around this task; its deadline is brought along.
        with anyio.CancelScope(deadline=self._scope_deadline):
            self._result = await self._delegate.dispatch(
                self._request, cancel=self._token, observer=_Watcher(self)
            )

    def _observe(self, signal: Signal) -> None:
        self.handle = handle_after(signal, self.handle)
        match signal:
            case Intent():
                self._intent_told = True
            case StateSeen() | Progress():
                self._keep(signal)
            case ArtifactChunk():
                self._supersede(signal)
                self._keep(signal)
            case Settled(result):
                # Told also where the dispatch itself ends as cancelled and returns nothing.
                self._result = result
            case _:
                return
        self._bell.ring()

    def _supersede(self, chunk: ArtifactChunk) -> None:
        """Let go of what shows the same artifact as it was before: a peer may show it a lot."""
        name = chunk.artifact.artifact_id
        if chunk.append or not name:
            return
        old = [
            one
            for one in self._updates
            if isinstance(one, ArtifactChunk) and one.artifact.artifact_id == name
        ]
        for one in old:
            self._updates.remove(one)
            self._weight -= _weight_of(one)

    def _keep(self, update: Update) -> None:
        """Keep an update for the reader, and let the oldest go where nobody takes them."""
        self._updates.append(update)
        self._weight += _weight_of(update)
        while len(self._updates) > _KEPT_UPDATES or (
            self._weight > _KEPT_WEIGHT and len(self._updates) > 1
        ):
            self._take_first()

    def _take_first(self) -> Update:
        update = self._updates.popleft()
        self._weight -= _weight_of(update)
        return update

    async def _begin(self) -> None:
        if self._task is not None:
            raise UsageError("this delegation has begun; call open_delegation for each one")
        self._scope_deadline = anyio.current_effective_deadline()
        self._task = task = OwnedTask(self._run, self._bell.ring)
        patience = anyio.current_time() + _INTENT_PATIENCE
        try:
            while not (self._intent_told or task.finished) and anyio.current_time() < patience:
                await self._bell.wait(patience)
        except GeneratorExit:
            # The loop is gone: nothing can be waited for any more.
            raise
        except BaseException:
            # The block is never entered, so nobody else would stop it.
            with anyio.CancelScope(shield=True):
                await self._end()
            raise
        self._raise_untold()

    async def _end(self) -> None:
        task = self._started()
        if not task.finished:
            self._token.cancel("the block of the delegation was left")
        await task.join(lambda: None)

    def _raise_untold(self) -> None:
        """Raise what the dispatch raised, such as UsageError, unless it has been."""
        task = self._started()
        if task.error is not None and not self._error_told:
            self._error_told = True
            raise task.error


def _weight_of(update: Update) -> int:
    """Return about how much an update holds."""
    if isinstance(update, StateSeen):
        return len(update.state)
    held = update.message if isinstance(update, Progress) else update.artifact
    return sum(map(_weight_of_part, held.parts))


def _weight_of_part(part: Part) -> int:
    match part:
        case TextPart(text=text):
            return len(text)
        case FilePart(content=bytes() as content):
            return len(content)
        case _:
            return _WEIGHT_OF_OTHERS


class _Watcher:
    """The observer of one delegation, which holds its stream back for the reader."""

    def __init__(self, delegation: Delegation) -> None:
        self._delegation = delegation

    def __call__(self, signal: Signal) -> None:
        self._delegation._observe(signal)  # noqa: SLF001 - a part of it

    async def ready_for_more(self) -> None:
        await self._delegation._ready_for_more()  # noqa: SLF001 - a part of it


class open_delegation:  # noqa: N801 - it is called like a function
    """Start a delegation and hand it out at once: `async with open_delegation(d, "...") as it:`.

    Leaving the block before the outcome cancels, at the peer too, bounded by the delegate's own
    cleanup. Raises DelegateCapabilityMismatchError for a delegate that claims what it has not, and
    on entering the UsageError of a request that the delegate refuses.
    """

    def __init__(self, delegate: Delegate, request: DelegateRequest | str) -> None:
        check_capabilities(delegate)
        self._delegation = Delegation(delegate, as_request(request))

    async def __aenter__(self) -> Delegation:
        """Start it; the handle is there when this returns."""
        await self._delegation._begin()  # noqa: SLF001 - one class in two halves
        return self._delegation

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop what still runs, and wait for its cleanup."""
        await self._delegation._end()  # noqa: SLF001 - one class in two halves
        if kind is None:
            self._delegation._raise_untold()  # noqa: SLF001 - as above
