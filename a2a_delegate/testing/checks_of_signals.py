"""Checks of what a delegate tells while it works, to observers and to readers of a delegation."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, get_args

import anyio

from a2a_delegate.outcome import Cancelled, Completed
from a2a_delegate.runtime.delegation import Update, open_delegation
from a2a_delegate.signals import Intent, Settled, Signal
from a2a_delegate.testing.delegate_under_test import Checks, expected, mark, must

if TYPE_CHECKING:
    from collections.abc import Iterator

    from a2a_delegate.outcome import DelegateResult

_SIGNALS = get_args(Signal)
_UPDATES = get_args(Update)


class SignalChecks(Checks):
    """What a delegate tells while it works."""

    @mark.spec("DEL-19")
    async def test_intent_is_told_first_and_the_outcome_last_and_once(self) -> None:
        """Listen to one delegation from its beginning to its end."""
        async with self._made() as made:
            told: list[Signal] = []
            result = await made.delegate.dispatch(made.completes("mint"), observer=told.append)
            strange = [signal for signal in told if not isinstance(signal, _SIGNALS)]
            must(not strange, f"these are no signals: {strange!r}")
            kinds = [type(signal) for signal in told]
            must(kinds[:1] == [Intent], f"told first: {kinds[:1]}")
            must(kinds[-1:] == [Settled], f"told last: {kinds[-1:]}")
            must(kinds.count(Intent) == 1, f"Intent was told {kinds.count(Intent)} times")
            must(kinds.count(Settled) == 1, f"Settled was told {kinds.count(Settled)} times")
            settled = told[-1]
            same = isinstance(settled, Settled) and settled.result is result
            must(same, "Settled told another outcome than the one that was returned")

    @mark.spec("DEL-20")
    async def test_each_observer_hears_of_its_own_delegation(self) -> None:
        """Listen to two that go on at once."""
        async with self._made() as made:
            results: dict[str, DelegateResult] = {}
            told: dict[str, list[Signal]] = {"basil": [], "thyme": []}

            async def one(text: str) -> None:
                request = made.takes(self.short, text)
                results[text] = await made.delegate.dispatch(request, observer=told[text].append)

            async with anyio.create_task_group() as group:
                for text in told:
                    group.start_soon(one, text)
            for text, signals in told.items():
                ends = [signal.result for signal in signals if isinstance(signal, Settled)]
                mixed = [end for end in ends if end is not results[text]]
                must(not mixed, f"the observer of {text!r} was told the end of another")

    @mark.spec("DEL-21")
    async def test_an_observer_that_raises_harms_nobody_and_is_dropped(self) -> None:
        """Raise at the first signal, and look that the answer comes all the same."""
        async with self._made() as made:
            calls: list[Signal] = []

            def observer(signal: Signal) -> None:
                calls.append(signal)
                raise RuntimeError("an observer of the suite that raises")

            with _unraisable_errors_kept_quiet():
                result = await made.delegate.dispatch(made.completes("sage"), observer=observer)
            expected(result, Completed)
            must(len(calls) == 1, f"it was called {len(calls)} times instead of once")

    @mark.spec("DEL-22")
    async def test_an_opened_delegation_gives_updates_and_the_outcome(self) -> None:
        """Read one to its end."""
        async with self._made() as made:
            request = made.takes(self.short, "dill")
            async with open_delegation(made.delegate, request) as delegation:
                handle = delegation.handle
                updates = [update async for update in delegation]
                result = await delegation.result()
            expected(result, Completed)
            must(await delegation.result() is result, "the outcome is another at a second look")
            strange = [update for update in updates if not isinstance(update, _UPDATES)]
            must(not strange, f"these are no updates: {strange!r}")
            if result.handle is not None:
                must(handle is not None, "the outcome has a handle, and the beginning had none")

    @mark.spec("DEL-23")
    async def test_leaving_an_opened_delegation_early_stops_its_work(self) -> None:
        """Leave the block while the work goes on, and look at the outcome from outside."""
        async with self._made() as made:
            request = made.takes(self.long, "chives")
            async with open_delegation(made.delegate, request) as delegation:
                await anyio.sleep(self.short)
            expected(await delegation.result(), Cancelled)

    @mark.spec("DEL-24")
    async def test_cancelling_an_opened_delegation_gives_the_reason_back(self) -> None:
        """Cancel it by its own method."""
        async with self._made() as made:
            reason = object()
            request = made.takes(self.long, "parsley")
            async with open_delegation(made.delegate, request) as delegation:
                await anyio.sleep(self.short)
                cancelled = expected(await delegation.cancel(reason), Cancelled)
            must(cancelled.reason is reason, "the reason is not the caller's own object")


@contextmanager
def _unraisable_errors_kept_quiet() -> Iterator[None]:
    # The error of an observer is shown there, and pytest would make a warning of it.
    hook, sys.unraisablehook = sys.unraisablehook, lambda _: None
    try:
        yield
    finally:
        sys.unraisablehook = hook
