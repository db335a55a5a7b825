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

from a2a_delegate.delegate import Delegate, check_capabilities
from a2a_delegate.testing.checks_of_handles import HandleChecks
from a2a_delegate.testing.checks_of_outcomes import OutcomeChecks
from a2a_delegate.testing.checks_of_signals import SignalChecks
from a2a_delegate.testing.checks_of_stopping import StoppingChecks
from a2a_delegate.testing.delegate_under_test import Checks, DelegateUnderTest, mark, must

__all__ = ["DelegateSuite", "DelegateUnderTest"]


class ClaimChecks(Checks):
    """What a delegate says of itself, and whether it is so."""

    @mark.spec("DEL-25")
    async def test_it_has_a_name_and_whatever_it_claims(self) -> None:
        """Look at it as whoever wires delegates does."""
        async with self._made() as made:
            must(isinstance(made.delegate, Delegate), "a method of Delegate is missing")
            check_capabilities(made.delegate)


class DelegateSuite(OutcomeChecks, StoppingChecks, SignalChecks, HandleChecks, ClaimChecks):
    """Every check; subclass it under a name that pytest collects, and write `make`.

    `short`, `long` and `patience` are seconds that a subclass may change: before work is stopped,
    of the work that is stopped, and the most that a check waits for anything.
    """
