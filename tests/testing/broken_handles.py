"""A delegate of an agent that keeps the rules of handles, and ones that break one rule each."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from a2a_delegate import (
    A2ADelegate,
    CancelReceipt,
    Completed,
    Delegate,
    DelegateCapabilities,
    DelegateRequest,
    DelegateResult,
    DelegationHandle,
    Effect,
    InputRequired,
    Intent,
    Running,
    UsageError,
    fetch_agent_card,
)
from a2a_delegate.testing import DelegateUnderTest, ScriptedPeer
from tests.testing.broken_delegates import Wrapped

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Sequence


@asynccontextmanager
async def agent_under_test(
    versions: Sequence[str] = ("1.0",), wrap: Callable[[Delegate], Delegate] | None = None
) -> AsyncGenerator[DelegateUnderTest, None]:
    """Make a delegate of a scripted peer, found by its card, and wrap it."""
    peer = ScriptedPeer(versions)

    def ran(text: str) -> int:
        truth = peer.truth
        return sum(truth.runs[task.message_id] for task in truth.tasks if text in task.text)

    async with peer.client() as client:
        card = await fetch_agent_card("https://peer.example", client=client)
        async with A2ADelegate("peer", card, client=client) as delegate:
            yield DelegateUnderTest(
                delegate=delegate if wrap is None else wrap(delegate),
                completes=lambda text: f"say {text}",
                takes=lambda seconds, text: f"slow {seconds} {text}",
                fails=("fail", "it failed"),
                gives_data=("data", {"city": "Rome", "n": 3, "list": [1, None, "x"]}),
                asks=("ask", "which city?"),
                answers=lambda text: text,
                refuses="reject",
                ran=ran,
            )


class WithHandles(Wrapped):
    """Breaks nothing; what is derived from it overrides one method."""

    capabilities = DelegateCapabilities(cancel=True, resume=True, follow_up=True)

    async def resume(self, handle: DelegationHandle, **options: Any) -> DelegateResult:
        return await self.inner.resume(handle, **options)

    async def cancel(self, handle: DelegationHandle, reason: object = None) -> CancelReceipt:
        return await self.inner.cancel(handle, reason)


class ResumesAnotherAnswer(WithHandles):
    async def resume(self, handle: DelegationHandle, **options: Any) -> DelegateResult:
        result = await super().resume(handle, **options)
        return replace(result, output="another") if isinstance(result, Completed) else result


class SaysThatAllGoesOn(WithHandles):
    async def resume(self, handle: DelegationHandle, **options: Any) -> DelegateResult:
        result = await super().resume(handle, **options)
        if options.get("wait", True) or not isinstance(result, Completed):
            return result
        return Running(delegate_id=self.id, effect=Effect.RAN, last_state="working")


class CancelsWhatHasEnded(WithHandles):
    async def cancel(self, handle: DelegationHandle, reason: object = None) -> CancelReceipt:
        await super().cancel(handle, reason)
        return CancelReceipt.CONFIRMED


class WaitsAtALook(WithHandles):
    async def resume(self, handle: DelegationHandle, **options: Any) -> DelegateResult:
        return await super().resume(handle, **{**options, "wait": True})


class StopsAtALook(WithHandles):
    async def resume(self, handle: DelegationHandle, **options: Any) -> DelegateResult:
        result = await super().resume(handle, **options)
        if isinstance(result, Running):
            await self.cancel(handle)
        return result


class DeniesWhatItSees(WithHandles):
    async def resume(self, handle: DelegationHandle, **options: Any) -> DelegateResult:
        result = await super().resume(handle, **options)
        return replace(result, effect=Effect.MAY_HAVE_RUN) if _goes_on(result) else result


class ForgetsTheState(WithHandles):
    async def resume(self, handle: DelegationHandle, **options: Any) -> DelegateResult:
        result = await super().resume(handle, **options)
        return replace(result, last_state="") if isinstance(result, Running) else result


class ResumesByBeginningAnew(WithHandles):
    latest: DelegateRequest | str = ""

    async def dispatch(self, request: DelegateRequest | str, **options: Any) -> DelegateResult:
        self.latest = request
        return await super().dispatch(request, **options)

    async def resume(self, handle: DelegationHandle, **options: Any) -> DelegateResult:
        if not options.pop("wait", True):
            return await super().resume(handle, wait=False, **options)
        _refuse(handle, self.id)
        return await super().dispatch(self.latest, **options)


class ResumesInSilence(WithHandles):
    async def resume(self, handle: DelegationHandle, **options: Any) -> DelegateResult:
        return await super().resume(handle, **{**options, "observer": None})


class CancelsInWordOnly(WithHandles):
    async def cancel(self, handle: DelegationHandle, reason: object = None) -> CancelReceipt:
        del reason
        seen = await self.inner.resume(handle, wait=False)
        return CancelReceipt.CONFIRMED if _goes_on(seen) else CancelReceipt.NOT_NEEDED


class DoubtsItsCancels(WithHandles):
    async def cancel(self, handle: DelegationHandle, reason: object = None) -> CancelReceipt:
        receipt = await super().cancel(handle, reason)
        return CancelReceipt.UNREACHED if receipt is CancelReceipt.CONFIRMED else receipt


class ResumesForStrangers(WithHandles):
    async def resume(self, handle: DelegationHandle, **options: Any) -> DelegateResult:
        return await super().resume(replace(handle, delegate_id=self.id), **options)


class CancelsForStrangers(WithHandles):
    async def cancel(self, handle: DelegationHandle, reason: object = None) -> CancelReceipt:
        return await super().cancel(replace(handle, delegate_id=self.id), reason)


class AnswersForStrangers(WithHandles):
    async def dispatch(self, request: DelegateRequest | str, **options: Any) -> DelegateResult:
        if isinstance(request, DelegateRequest) and request.continues is not None:
            mine = replace(request.continues, delegate_id=self.id)
            request = replace(request, continues=mine)
        return await super().dispatch(request, **options)


class RefusesTooLate(WithHandles):
    async def resume(self, handle: DelegationHandle, **options: Any) -> DelegateResult:
        if handle.delegate_id != self.id and options.get("observer") is not None:
            options["observer"](Intent(handle))
        return await super().resume(handle, **options)


class BeginsBeforeItRefuses(WithHandles):
    async def dispatch(self, request: DelegateRequest | str, **options: Any) -> DelegateResult:
        if isinstance(request, DelegateRequest) and request.continues is not None:
            await self.inner.dispatch(replace(request, continues=None))
        return await super().dispatch(request, **options)


class AnswersWithNewWork(WithHandles):
    async def dispatch(self, request: DelegateRequest | str, **options: Any) -> DelegateResult:
        if isinstance(request, DelegateRequest) and request.continues is not None:
            _refuse(request.continues, self.id)
            request = replace(request, continues=None)
        return await super().dispatch(request, **options)


class ForgetsItsQuestions(WithHandles):
    async def resume(self, handle: DelegationHandle, **options: Any) -> DelegateResult:
        result = await super().resume(handle, **options)
        if not isinstance(result, InputRequired):
            return result
        return Running(delegate_id=self.id, effect=Effect.RAN, last_state="input-required")


def _goes_on(result: DelegateResult) -> bool:
    return isinstance(result, Running)


def _refuse(handle: DelegationHandle, delegate_id: str) -> None:
    if handle.delegate_id != delegate_id:
        raise UsageError("the handle of another delegate")


BROKEN_WITH_HANDLES: dict[Any, set[str]] = {
    ResumesAnotherAnswer: {"DEL-26", "DEL-29"},
    SaysThatAllGoesOn: {"DEL-26"},
    CancelsWhatHasEnded: {"DEL-27"},
    WaitsAtALook: {"DEL-28"},
    StopsAtALook: {"DEL-28"},
    DeniesWhatItSees: {"DEL-28"},
    ForgetsTheState: {"DEL-28"},
    ResumesByBeginningAnew: {"DEL-29"},
    ResumesInSilence: {"DEL-29"},
    CancelsInWordOnly: {"DEL-30"},
    DoubtsItsCancels: {"DEL-30"},
    ResumesForStrangers: {"DEL-31"},
    CancelsForStrangers: {"DEL-31"},
    AnswersForStrangers: {"DEL-31"},
    RefusesTooLate: {"DEL-31"},
    BeginsBeforeItRefuses: {"DEL-31"},
    AnswersWithNewWork: {"DEL-32"},
    ForgetsItsQuestions: {"DEL-33"},
}
"""Delegates that break a rule of handles, and all that the suite must say against them."""
