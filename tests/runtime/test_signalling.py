"""Observers harm nobody: whatever they raise, wherever they are told, the outcome stands."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

import anyio
import pytest

from a2a_delegate import (
    A2ADelegate,
    EvidenceFailed,
    IdKnown,
    Intent,
    Sent,
    Settled,
    StateSeen,
    fetch_agent_card,
)
from a2a_delegate.testing import ScriptedPeer

if TYPE_CHECKING:
    from a2a_delegate import DelegateResult, Observer, Signal

pytestmark = [pytest.mark.anyio, pytest.mark.virtual_time]


class Raising:
    """An observer that raises at one kind of signal, and keeps all that it is told."""

    def __init__(self, kind: type, problem: BaseException) -> None:
        self.kind = kind
        self.problem = problem
        self.told: list[Signal] = []

    def __call__(self, signal: Signal) -> None:
        self.told.append(signal)
        if isinstance(signal, self.kind):
            raise self.problem


async def delegated(*observers: Observer, own: Observer | None = None) -> DelegateResult:
    peer = ScriptedPeer(versions=("1.0",))
    async with peer.client() as client:
        card = await fetch_agent_card(peer.url, client=client)
        async with A2ADelegate("peer", card, client=client, observers=observers) as delegate:
            return await delegate.dispatch("work", observer=own)


@pytest.fixture
def unraised(monkeypatch: pytest.MonkeyPatch) -> list[BaseException | None]:
    shown: list[BaseException | None] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda args: shown.append(args.exc_value))
    return shown


async def test_an_error_of_an_observer_is_shown_by_the_hook_that_python_has(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "unraisablehook", sys.__unraisablehook__)
    result = await delegated(own=Raising(Intent, ValueError("of the observer")))
    assert result.status == "completed"
    assert capsys.readouterr().err.count("ValueError: of the observer") == 1


async def test_a_hook_that_fails_itself_harms_no_delegation(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(_: object) -> None:
        raise TypeError("of the hook")

    monkeypatch.setattr(sys, "unraisablehook", fails)
    result = await delegated(own=Raising(Intent, ValueError("of the observer")))
    assert result.status == "completed"
    assert "of the hook" in capsys.readouterr().err


async def test_an_observer_that_raised_is_told_nothing_more(
    unraised: list[BaseException | None],
) -> None:
    raising, other = Raising(Sent, ValueError("no")), Raising(type(None), ValueError())
    result = await delegated(raising, own=other)
    assert result.status == "completed"
    assert isinstance(raising.told[-1], Sent)
    failures = [signal for signal in other.told if isinstance(signal, EvidenceFailed)]
    assert failures == [EvidenceFailed(raising, raising.problem)]
    assert unraised == [raising.problem]


async def test_several_observers_that_raise_harm_nobody(
    unraised: list[BaseException | None],
) -> None:
    first, second = Raising(object, ValueError("first")), Raising(object, ValueError("second"))
    result = await delegated(first, second, first)
    assert result.status == "completed"
    assert unraised == [first.problem, second.problem]
    assert len(first.told) == len(second.told) == 1


@pytest.mark.parametrize("kind", [Intent, Sent, IdKnown, StateSeen, Settled])
async def test_an_interrupt_in_an_observer_goes_on_and_leaves_nobody_waiting(kind: type) -> None:
    with anyio.fail_after(60), pytest.raises(KeyboardInterrupt):
        await delegated(own=Raising(kind, KeyboardInterrupt()))


@pytest.mark.parametrize("kind", [Intent, Sent, IdKnown, StateSeen, Settled])
@pytest.mark.parametrize(
    "problem", [asyncio.CancelledError(), SystemExit(3), GeneratorExit(), pytest.fail.Exception()]
)
async def test_what_an_observer_raises_need_be_no_exception(
    kind: type, problem: BaseException, unraised: list[BaseException | None]
) -> None:
    result = await delegated(own=Raising(kind, problem))
    assert result.status == "completed"
    assert unraised == [problem]
