"""What the suite for delegates must know of the one under test, and what its checks share."""

from __future__ import annotations

from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar

import anyio
import pytest

from a2a_delegate.delegate import DelegateRequest
from a2a_delegate.model.frozen import dataclass

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterator
    from contextlib import AbstractAsyncContextManager

    from a2a_delegate.delegate import Delegate
    from a2a_delegate.model.json_value import JSON
    from a2a_delegate.outcome import DelegateResult

Request: TypeAlias = "DelegateRequest | str"
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class DelegateUnderTest:
    """A delegate, and how to ask it for what the checks need.

    - `completes(text)`: a request whose answer holds this text.
    - `takes(seconds, text)`: one that completes so, after so many seconds of work.
    - `fails`: a request whose work fails, and a text that the failure tells.
    - `gives_data`: a request whose answer holds data, and the value.
    - `asks`: a request upon which it asks, and a text that the question holds.
    - `answers(text)`: an answer to that question, upon which it completes with this text; the
      suite fills in what it `continues`.
    - `refuses`: a request that it refuses before it begins.
    - `ran(text)`: the ground truth: how often work was begun on requests with this text. It may
      have counted before; a check looks at what was added.

    Checks of what is None are skipped; with `ran`, the others look whether an outcome is true.
    """

    delegate: Delegate
    completes: Callable[[str], Request]
    takes: Callable[[float, str], Request]
    fails: tuple[Request, str]
    gives_data: tuple[Request, JSON] | None = None
    asks: tuple[Request, str] | None = None
    answers: Callable[[str], Request] | None = None
    refuses: Request | None = None
    ran: Callable[[str], int] | None = None

    @contextmanager
    def must_run(self, text: str, *, times: int) -> Iterator[None]:
        """Fail unless work with this text is begun so often in the block, where that is known."""
        before = 0 if self.ran is None else self.ran(text)
        yield
        if self.ran is not None:
            ran = self.ran(text) - before
            must(ran == times, f"the work was begun {ran} times instead of {times}")


class Checks:
    """What all checks share: the hook, and the times, in seconds, that a subclass may change.

    `short` is waited before work is stopped, `long` is the work that is stopped, and nothing that
    a check waits for may take longer than `patience`.
    """

    pytestmark = pytest.mark.anyio

    short: float = 0.2
    long: float = 30.0
    patience: float = 10.0

    def make(self) -> AbstractAsyncContextManager[DelegateUnderTest]:
        """Return a context in which there is a delegate to test; each check enters one anew."""
        raise NotImplementedError(f"write `make` in {type(self).__name__}")

    @asynccontextmanager
    async def _made(self) -> AsyncGenerator[DelegateUnderTest, None]:
        with anyio.fail_after(self.patience):
            async with self.make() as made:
                yield made

    async def _soon(self, action: Callable[[], object]) -> None:
        await anyio.sleep(self.short)
        action()


def must(holds: object, sentence: str) -> None:
    """Fail the test with this sentence unless `holds`; `python -O` does not take it away."""
    __tracebackhide__ = True
    if not holds:
        pytest.fail(sentence)


def expected(result: DelegateResult, *kinds: type[T]) -> T:
    """Return the outcome if it is of one of these kinds; else fail the test with its evidence."""
    __tracebackhide__ = True
    if not isinstance(result, kinds):
        names = " or ".join(kind.__name__ for kind in kinds)
        pytest.fail(f"the outcome is no {names}, but:\n{result.explain()}")
    return result


def with_timeout(request: Request, timeout: float) -> DelegateRequest:
    """Return the request with this timeout."""
    asked = DelegateRequest(request) if isinstance(request, str) else request
    return replace(asked, timeout=timeout)


class _Mark:
    """Names the statements of `specs/delegate.md` that a check holds a delegate to.

    It is not pytest's marker: that one would have to be registered by everybody who runs the suite.
    """

    def spec(self, *ids: str) -> Callable[[T], T]:
        """Return a decorator that keeps the ids with the check."""

        def keep(check: T) -> T:
            vars(check)["statements"] = ids
            return check

        return keep


mark: Final = _Mark()
