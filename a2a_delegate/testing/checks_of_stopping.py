"""Checks of stopping: the caller's cancel in each of its forms, and the deadline."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio

from a2a_delegate.delegate import CancelToken
from a2a_delegate.outcome import (
    Cancelled,
    CancelReceipt,
    Completed,
    Effect,
    TimedOut,
    Unknown,
)
from a2a_delegate.signals import Settled
from a2a_delegate.testing.delegate_under_test import Checks, expected, mark, must, with_timeout

if TYPE_CHECKING:
    from a2a_delegate.outcome import DelegateResult
    from a2a_delegate.signals import Signal


class StoppingChecks(Checks):
    """What a delegate does when it is told to stop, or when its time is over."""

    @mark.spec("DEL-11")
    async def test_a_token_cancelled_before_the_call_lets_nothing_begin(self) -> None:
        """Dispatch under a token that is cancelled already."""
        async with self._made() as made:
            token, reason = CancelToken(), object()
            token.cancel(reason)
            with made.must_run("leeks", times=0):
                result = await made.delegate.dispatch(made.completes("leeks"), cancel=token)
            cancelled = expected(result, Cancelled)
            must(cancelled.by == "caller", f"cancelled by the {cancelled.by}")
            must(cancelled.reason is reason, "the reason is not the caller's own object")
            must(cancelled.effect is Effect.NOT_STARTED, f"nothing began: {cancelled.effect}")
            must(cancelled.receipt is CancelReceipt.NOT_NEEDED, f"receipt: {cancelled.receipt}")

    @mark.spec("DEL-12")
    async def test_a_token_cancelled_during_the_work_stops_it(self) -> None:
        """Cancel while the work goes on, with a reason that nobody else can make."""
        async with self._made() as made:
            token, reason = CancelToken(), object()
            request = made.takes(self.long, "onions")
            async with anyio.create_task_group() as group:
                group.start_soon(self._soon, lambda: token.cancel(reason))
                result = await made.delegate.dispatch(request, cancel=token)
            cancelled = expected(result, Cancelled)
            must(cancelled.by == "caller", f"cancelled by the {cancelled.by}")
            must(cancelled.reason is reason, "the reason is not the caller's own object")
            must(isinstance(cancelled.receipt, CancelReceipt), f"{cancelled.receipt!r}")
            must(not cancelled.safe_to_retry, "it was at work, so a repeat is not safe")

    @mark.spec("DEL-13")
    async def test_one_token_stops_every_delegation_that_it_serves(self) -> None:
        """Let one token serve two, and cancel it once."""
        async with self._made() as made:
            token = CancelToken()
            results: list[DelegateResult] = []

            async def one(text: str) -> None:
                request = made.takes(self.long, text)
                results.append(await made.delegate.dispatch(request, cancel=token))

            async with anyio.create_task_group() as group:
                group.start_soon(one, "carrots")
                group.start_soon(one, "parsnips")
                group.start_soon(self._soon, token.cancel)
            for result in results:
                expected(result, Cancelled)

    @mark.spec("DEL-14")
    async def test_a_token_that_is_never_cancelled_changes_nothing(self) -> None:
        """Complete under a token, and cancel it when all is over."""
        async with self._made() as made:
            token = CancelToken()
            result = await made.delegate.dispatch(made.completes("garlic"), cancel=token)
            expected(result, Completed)
            token.cancel("too late")
            expected(await made.delegate.dispatch(made.completes("garlic")), Completed)

    @mark.spec("DEL-15")
    async def test_a_plain_cancellation_goes_on_after_the_cleanup(self) -> None:
        """Cancel the scope around the call; look that it goes through, and that it was settled."""
        async with self._made() as made:
            told: list[Signal] = []
            returned: list[DelegateResult] = []
            async with anyio.create_task_group() as group:
                group.start_soon(self._soon, group.cancel_scope.cancel)
                request = made.takes(self.long, "turnips")
                returned.append(await made.delegate.dispatch(request, observer=told.append))
            must(not returned, f"the cancellation was swallowed, and this came back: {returned!r}")
            settled = [signal for signal in told if isinstance(signal, Settled)]
            must(len(settled) == 1, f"Settled was told {len(settled)} times before the end")
            expected(settled[0].result, Cancelled)

    @mark.spec("DEL-16")
    async def test_the_deadline_gives_an_outcome_in_time(self) -> None:
        """Let the request's own timeout pass while the work goes on."""
        async with self._made() as made:
            request = with_timeout(made.takes(self.long, "radishes"), self.short)
            began = anyio.current_time()
            late = expected(await made.delegate.dispatch(request), TimedOut, Unknown)
            # The suite's own bound is a deadline too, and must not stand in for the request's.
            seconds = anyio.current_time() - began
            must(seconds < self.patience / 2, f"it took {seconds} s instead of {self.short}")
            must(not late.safe_to_retry, "it was at work, so a repeat is not safe")
            if isinstance(late, TimedOut):
                must(isinstance(late.receipt, CancelReceipt), f"receipt: {late.receipt!r}")
                must(late.last_state, "the last state is empty")

    @mark.spec("DEL-17")
    async def test_a_timeout_longer_than_the_work_changes_nothing(self) -> None:
        """Give the work more time than it takes."""
        async with self._made() as made:
            request = with_timeout(made.takes(self.short, "beets"), self.long)
            completed = expected(await made.delegate.dispatch(request), Completed)
            must("beets" in (completed.output or ""), f"no such text in {completed.output!r}")

    @mark.spec("DEL-18")
    async def test_the_deadline_of_a_scope_around_gives_an_outcome_before_it(self) -> None:
        """Put the call into `fail_after`, and look that it returns before that fails."""
        async with self._made() as made:
            results: list[DelegateResult] = []
            with anyio.move_on_after(self.patience / 4):
                results.append(await made.delegate.dispatch(made.takes(self.long, "celery")))
            must(results, "the scope's deadline came before an outcome")
            expected(results[0], TimedOut, Unknown)
