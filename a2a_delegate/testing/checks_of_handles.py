"""Checks of handles: what is taken up, stopped and answered by them, and whose they are."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import anyio
import pytest

from a2a_delegate.delegate import as_request
from a2a_delegate.errors import DelegateCapabilityError, UsageError
from a2a_delegate.outcome import (
    Cancelled,
    CancelReceipt,
    Completed,
    DelegationHandle,
    Effect,
    InputRequired,
    Running,
)
from a2a_delegate.runtime.delegation import open_delegation
from a2a_delegate.signals import Intent, Settled
from a2a_delegate.testing.delegate_under_test import Checks, expected, mark, must

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable

    from a2a_delegate.delegate import Delegate
    from a2a_delegate.runtime.delegation import Delegation
    from a2a_delegate.signals import Signal
    from a2a_delegate.testing.delegate_under_test import DelegateUnderTest

_WORK = 10
"""How many times `short` the work takes that is looked at and then left to end."""


class HandleChecks(Checks):
    """What a delegate does with handles. Of what it does not claim, only that it is refused.

    Every handle has been through JSON before it is used, as if another process did.
    """

    @mark.spec("DEL-26")
    async def test_resume_is_refused_or_gives_what_has_ended(self) -> None:
        """Resume a delegation that has ended, with and without waiting, or be refused."""
        async with self._made() as made:
            delegate = made.delegate
            ended = expected(await delegate.dispatch(made.completes("iris")), Completed)
            handle = _kept(ended.handle, delegate)
            for wait in (True, False):
                resumed = delegate.resume(handle, wait=wait)
                if not delegate.capabilities.resume:
                    await _must_be_refused(resumed, "resume")
                    continue
                again = expected(await resumed, Completed)
                must(again.output == ended.output, f"another answer: {again.output!r}")

    @mark.spec("DEL-27")
    async def test_cancel_is_refused_or_leaves_alone_what_has_ended(self) -> None:
        """Cancel a delegation that has ended by its handle, or be refused."""
        async with self._made() as made:
            delegate = made.delegate
            ended = expected(await delegate.dispatch(made.completes("lily")), Completed)
            cancelled = delegate.cancel(_kept(ended.handle, delegate))
            if not delegate.capabilities.cancel:
                await _must_be_refused(cancelled, "cancel")
                return
            receipt = await cancelled
            ends = {CancelReceipt.NOT_NEEDED, CancelReceipt.REFUSED}
            must(receipt in ends, f"it had ended, and the receipt says {receipt!r}")

    @mark.spec("DEL-28")
    async def test_a_look_at_work_that_goes_on_says_so_and_stops_nothing(self) -> None:
        """Look once from beside, and let whoever dispatched it have the answer."""
        async with self._made() as made:
            delegate = made.delegate
            if not delegate.capabilities.resume:
                return
            with made.must_run("walnuts", times=1):
                async with self._going_on(made, "walnuts", self.short * _WORK) as (began, handle):
                    running = expected(await delegate.resume(handle, wait=False), Running)
                    result = await began.result()
            must(running.last_state, "the last state is empty")
            must(running.effect is Effect.RAN, f"it goes on, and yet: {running.effect}")
            output = expected(result, Completed).output or ""
            must("walnuts" in output, f"no such text in {output!r}")

    @mark.spec("DEL-29")
    async def test_work_that_goes_on_is_taken_up_and_not_begun_anew(self) -> None:
        """Resume from beside, and compare the answer, the signals and the truth."""
        async with self._made() as made:
            delegate = made.delegate
            if not delegate.capabilities.resume:
                return
            told: list[Signal] = []
            with made.must_run("almonds", times=1):
                async with self._going_on(made, "almonds", self.short * _WORK) as (_, handle):
                    result = await delegate.resume(handle, observer=told.append)
            output = expected(result, Completed).output or ""
            must("almonds" in output, f"no such text in {output!r}")
            kinds = [type(signal) for signal in told]
            must(kinds[:1] == [Intent], f"told first: {kinds[:1]}")
            must(told[-1:] == [Settled(result)], f"told last: {told[-1:]}")

    @mark.spec("DEL-30")
    async def test_work_that_goes_on_is_stopped_by_its_handle(self) -> None:
        """Cancel from beside, and look at what whoever dispatched it was given."""
        async with self._made() as made:
            delegate = made.delegate
            if not delegate.capabilities.cancel:
                return
            async with self._going_on(made, "hazels", self.long) as (began, handle):
                receipt = await delegate.cancel(handle, "an object that is nobody else's")
                stopping = {CancelReceipt.CONFIRMED, CancelReceipt.REQUESTED}
                must(receipt in stopping, f"it was at work, and the receipt says {receipt!r}")
                expected(await began.result(), Cancelled)
            if delegate.capabilities.resume:
                expected(await delegate.resume(handle, wait=False), Cancelled)

    @mark.spec("DEL-31")
    async def test_the_handle_of_another_delegate_is_refused(self) -> None:
        """Give it a handle of its own under another name, wherever it claims to take one."""
        async with self._made() as made:
            delegate = made.delegate
            told: list[Signal] = []
            ended = expected(await delegate.dispatch(made.completes("tulips")), Completed)
            mine = _kept(ended.handle, delegate)
            foreign = replace(mine, delegate_id=f"not {delegate.id}", task_id=mine.task_id or "t")
            offers = delegate.capabilities
            if offers.resume:
                for wait in (True, False):
                    resumed = delegate.resume(foreign, wait=wait, observer=told.append)
                    await _must_be_misuse(resumed, "resume")
            if offers.cancel:
                await _must_be_misuse(delegate.cancel(foreign), "cancel")
            if offers.follow_up:
                answer = replace(as_request(made.completes("roses")), continues=foreign)
                answered = delegate.dispatch(answer, observer=told.append)
                with made.must_run("roses", times=0):
                    await _must_be_misuse(answered, "continues")
            must(not told, f"it was refused, and these were told before: {told!r}")

    @mark.spec("DEL-32")
    async def test_an_answer_goes_on_with_the_task_of_its_question(self) -> None:
        """Answer a question, and compare the ids and the text; or be refused, and begin nothing."""
        async with self._made() as made:
            delegate = made.delegate
            if not delegate.capabilities.follow_up:
                handle = replace(_kept(None, delegate), task_id="t")
                answer = replace(as_request(made.completes("violets")), continues=handle)
                with made.must_run("violets", times=0):
                    await _must_be_refused(delegate.dispatch(answer), "follow_up")
                return
            if made.asks is None or made.answers is None:
                pytest.skip("no request upon which it asks, or no answer to that")
            asked = expected(await delegate.dispatch(made.asks[0]), InputRequired)
            handle = _kept(asked.handle, delegate)
            answer = replace(as_request(made.answers("violets")), continues=handle)
            result = expected(await delegate.dispatch(answer), Completed)
            must("violets" in (result.output or ""), f"no such text in {result.output!r}")
            after = _kept(result.handle, delegate)
            must(after.task_id == handle.task_id, f"another task: {after.task_id!r}")
            must(after.message_id != handle.message_id, "the answer has the id of the request")

    @mark.spec("DEL-33")
    async def test_a_question_that_nobody_answered_is_still_there(self) -> None:
        """Ask for the delegation again, with and without waiting."""
        async with self._made() as made:
            delegate = made.delegate
            if not delegate.capabilities.resume:
                return
            if made.asks is None:
                pytest.skip("no request upon which it asks")
            request, text = made.asks
            asked = expected(await delegate.dispatch(request), InputRequired)
            handle = _kept(asked.handle, delegate)
            for wait in (False, True):
                again = expected(await delegate.resume(handle, wait=wait), InputRequired)
                must(text in again.question.text, f"no {text!r} in {again.question.text!r}")

    @asynccontextmanager
    async def _going_on(
        self, made: DelegateUnderTest, text: str, seconds: float
    ) -> AsyncGenerator[tuple[Delegation, DelegationHandle], None]:
        """Give a delegation that is under way, and its handle as another process has it."""
        async with open_delegation(made.delegate, made.takes(seconds, text)) as delegation:
            await anyio.sleep(self.short)
            must(delegation.handle is not None, "it is under way, and there is no handle")
            yield delegation, _kept(delegation.handle, made.delegate)


async def _must_be_refused(call: Awaitable[object], capability: str) -> None:
    __tracebackhide__ = True
    with pytest.raises(DelegateCapabilityError) as refusal:
        await call
    must(refusal.value.capability == capability, f"refused: {refusal.value.capability!r}")


async def _must_be_misuse(call: Awaitable[object], what: str) -> None:
    __tracebackhide__ = True
    try:
        got = await call
    except UsageError:
        return
    pytest.fail(f"{what} takes the handle of another delegate, and gives {got!r}")


def _kept(handle: DelegationHandle | None, delegate: Delegate) -> DelegationHandle:
    """Return a handle as it comes back from JSON; one is made where an outcome has none."""
    if handle is not None:
        return DelegationHandle.from_json(handle.to_json())
    return DelegationHandle(
        delegate_id=delegate.id,
        endpoint="",
        version="",
        binding="",
        message_id="m",
        body_digest="",
        sent_at=datetime.now(UTC),
    )
