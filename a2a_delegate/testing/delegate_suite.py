"""One suite of tests for every `Delegate`: ours are held to it, and yours can be.

Say how the delegate is made and how it is asked for what the checks need, and run pytest. The
plugin that runs asynchronous tests comes with anyio::

    from contextlib import asynccontextmanager

    from a2a_delegate.testing import DelegateSuite, DelegateUnderTest

    class TestMyDelegate(DelegateSuite):
        @asynccontextmanager
        async def make(self):
            async with my_agent() as agent:
                yield DelegateUnderTest(
                    delegate=MyDelegate(agent),
                    completes=lambda text: f"say {text}",
                    takes=lambda seconds, text: f"wait {seconds}, then say {text}",
                    fails=("do the impossible", "it cannot be done"),
                )

Each check is one test, on every event loop that the fixture `anyio_backend` names; by default these
are asyncio and, where it is installed, trio. Bound a delegate that may ignore its cancellation by
a plugin such as pytest-timeout: no check can end it.
"""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from a2a_delegate.delegate import Delegate, check_capabilities
from a2a_delegate.errors import DelegateCapabilityError
from a2a_delegate.outcome import CancelReceipt, Completed, DelegationHandle
from a2a_delegate.testing.checks_of_outcomes import OutcomeChecks
from a2a_delegate.testing.checks_of_signals import SignalChecks
from a2a_delegate.testing.checks_of_stopping import StoppingChecks
from a2a_delegate.testing.delegate_under_test import (
    Checks,
    DelegateUnderTest,
    expected,
    mark,
    must,
)

__all__ = ["DelegateSuite", "DelegateUnderTest"]


class ClaimChecks(Checks):
    """What a delegate says of itself, and whether it is so."""

    @mark.spec("DEL-25")
    async def test_it_has_a_name_and_whatever_it_claims(self) -> None:
        """Look at it as whoever wires delegates does."""
        async with self._made() as made:
            must(isinstance(made.delegate, Delegate), "a method of Delegate is missing")
            check_capabilities(made.delegate)

    @mark.spec("DEL-26")
    async def test_resume_is_refused_or_works_as_it_claims(self) -> None:
        """Resume a delegation that has ended, or be refused."""
        async with self._made() as made:
            delegate = made.delegate
            ended = expected(await delegate.dispatch(made.completes("iris")), Completed)
            handle = ended.handle or _some_handle(delegate)
            if delegate.capabilities.resume:
                again = expected(await delegate.resume(handle, wait=False), Completed)
                must(again.output == ended.output, f"another answer: {again.output!r}")
                return
            with pytest.raises(DelegateCapabilityError) as refusal:
                await delegate.resume(handle)
            must(refusal.value.capability == "resume", f"refused: {refusal.value.capability!r}")

    @mark.spec("DEL-27")
    async def test_cancel_is_refused_or_works_as_it_claims(self) -> None:
        """Cancel a delegation that has ended by its handle, or be refused."""
        async with self._made() as made:
            delegate = made.delegate
            ended = expected(await delegate.dispatch(made.completes("lily")), Completed)
            handle = ended.handle or _some_handle(delegate)
            if delegate.capabilities.cancel:
                receipt = await delegate.cancel(handle)
                ends = {CancelReceipt.NOT_NEEDED, CancelReceipt.REFUSED}
                must(receipt in ends, f"it had ended, and the receipt says {receipt!r}")
                return
            with pytest.raises(DelegateCapabilityError) as refusal:
                await delegate.cancel(handle)
            must(refusal.value.capability == "cancel", f"refused: {refusal.value.capability!r}")


class DelegateSuite(OutcomeChecks, StoppingChecks, SignalChecks, ClaimChecks):
    """Every check; subclass it under a name that pytest collects, and write `make`.

    `short`, `long` and `patience` are seconds that a subclass may change: before work is stopped,
    of the work that is stopped, and the most that a check waits for anything.
    """


def _some_handle(delegate: Delegate) -> DelegationHandle:
    """Make a handle for a delegate whose outcomes have none."""
    return DelegationHandle(
        delegate_id=delegate.id,
        endpoint="",
        version="",
        binding="",
        message_id="m",
        body_digest="",
        sent_at=datetime.now(UTC),
    )
