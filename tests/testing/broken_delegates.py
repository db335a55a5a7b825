"""An honest delegate of a function, and delegates that break one rule each."""

from __future__ import annotations

import uuid
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import anyio

from a2a_delegate import (
    INHERIT,
    JSON,
    Cancelled,
    CancelReceipt,
    Completed,
    Delegate,
    DelegateCapabilities,
    DelegateRequest,
    DelegateResult,
    DelegationHandle,
    DispatchOnly,
    Effect,
    Failed,
    InputRequired,
    Intent,
    Message,
    Observer,
    Rejected,
    Role,
    Sent,
    Settled,
    Signal,
    TaskFailedError,
    TextPart,
    delegate_from,
)
from a2a_delegate.testing import DelegateUnderTest

if TYPE_CHECKING:
    from collections.abc import Callable

    from a2a_delegate import CancelToken

ID = "function"
DATA: JSON = {"n": 3}


def function_under_test(wrap: Callable[[Delegate], Delegate] | None = None) -> DelegateUnderTest:
    """Make a delegate of a function that does what the first word says, and wrap it."""
    begun: list[str] = []

    async def work(request: DelegateRequest) -> DelegateResult | JSON:
        begun.append(request.prompt)
        word, _, rest = request.prompt.partition(" ")
        match word:
            case "wait":
                seconds, _, text = rest.partition(" ")
                await anyio.sleep(float(seconds))
                return text
            case "fail":
                raise RuntimeError("it cannot be done")
            case "data":
                return DATA
            case "ask":
                question = Message("q", Role.AGENT, (TextPart("which city?"),))
                return InputRequired(delegate_id=ID, effect=Effect.RAN, question=question)
            case "refuse":
                error = TaskFailedError(task_id=None, state="rejected", text="not my job")
                return Rejected(delegate_id=ID, effect=Effect.NOT_STARTED, error=error)
            case _:
                return rest

    honest = delegate_from(work, id=ID)
    return DelegateUnderTest(
        delegate=honest if wrap is None else wrap(honest),
        completes=lambda text: DelegateRequest(f"say {text}"),
        takes=lambda seconds, text: DelegateRequest(f"wait {seconds} {text}"),
        fails=(DelegateRequest("fail"), "it cannot be done"),
        gives_data=(DelegateRequest("data"), DATA),
        asks=(DelegateRequest("ask"), "which city?"),
        refuses=DelegateRequest("refuse"),
        ran=lambda text: sum(text in prompt for prompt in begun),
    )


class Wrapped(DispatchOnly):
    """Breaks nothing; what is derived from it overrides one method."""

    capabilities = DelegateCapabilities()

    def __init__(self, inner: Delegate) -> None:
        self.inner = inner
        self.id = inner.id

    def changed(self, result: DelegateResult) -> DelegateResult:
        """Return what the caller and its observer are given instead of this outcome."""
        return result

    async def dispatch(
        self,
        request: DelegateRequest | str,
        *,
        cancel: CancelToken | None = None,
        observer: Observer | None = None,
    ) -> DelegateResult:
        given: list[DelegateResult] = []

        def relay(signal: Signal) -> None:
            if isinstance(signal, Settled):
                given.append(self.changed(signal.result))
                signal = Settled(given[0])
            if observer is not None:
                observer(signal)

        result = await self.inner.dispatch(
            request, cancel=cancel, observer=None if observer is None else relay
        )
        return given[0] if given else self.changed(result)


class LosesTheText(Wrapped):
    def changed(self, result: DelegateResult) -> DelegateResult:
        return replace(result, output=None) if isinstance(result, Completed) else result


class LosesTheData(Wrapped):
    def changed(self, result: DelegateResult) -> DelegateResult:
        return replace(result, data=()) if isinstance(result, Completed) else result


class CompletesWhatFailed(Wrapped):
    def changed(self, result: DelegateResult) -> DelegateResult:
        if not isinstance(result, Failed):
            return result
        return Completed(delegate_id=self.id, effect=result.effect, output=str(result.error))


class HidesTheFailuresText(Wrapped):
    def changed(self, result: DelegateResult) -> DelegateResult:
        error = TaskFailedError(task_id=None, state="failed")
        return replace(result, error=error) if isinstance(result, Failed) else result


class RaisesWhatFailed(Wrapped):
    def changed(self, result: DelegateResult) -> DelegateResult:
        if isinstance(result, Failed):
            raise result.error
        return result


class AnswersItsOwnQuestions(Wrapped):
    def changed(self, result: DelegateResult) -> DelegateResult:
        if not isinstance(result, InputRequired):
            return result
        return Completed(delegate_id=self.id, effect=Effect.RAN, output=result.question.text)


class FailsWhatIsRefused(Wrapped):
    def changed(self, result: DelegateResult) -> DelegateResult:
        if not isinstance(result, Rejected):
            return result
        return Failed(delegate_id=self.id, effect=Effect.MAY_HAVE_RUN, error=result.error)


class RefusesWithEffect(Wrapped):
    def changed(self, result: DelegateResult) -> DelegateResult:
        return replace(result, effect=Effect.RAN) if isinstance(result, Rejected) else result


class DeniesThatItRan(Wrapped):
    def changed(self, result: DelegateResult) -> DelegateResult:
        if not isinstance(result, Completed):
            return result
        return replace(result, effect=Effect.NOT_STARTED)


class IsAlwaysLate(Wrapped):
    def changed(self, result: DelegateResult) -> DelegateResult:
        return replace(result, late=True) if isinstance(result, Completed) else result


class RemembersItsAnswers(Wrapped):
    def __init__(self, inner: Delegate) -> None:
        super().__init__(inner)
        self.answers: dict[object, DelegateResult] = {}

    async def dispatch(self, request: DelegateRequest | str, **options: Any) -> DelegateResult:
        prompt = request if isinstance(request, str) else request.prompt
        if prompt not in self.answers:
            self.answers[prompt] = await super().dispatch(request, **options)
        return self.answers[prompt]


class MixesUpItsCallers(Wrapped):
    latest: DelegateRequest | str = ""

    async def dispatch(self, request: DelegateRequest | str, **options: Any) -> DelegateResult:
        self.latest = request
        await anyio.sleep(0.01)
        return await super().dispatch(self.latest, **options)


class TakesNoStrings(Wrapped):
    async def dispatch(self, request: DelegateRequest | str, **options: Any) -> DelegateResult:
        assert not isinstance(request, str)
        return await super().dispatch(request, **options)


class CannotBePickled(Wrapped):
    def changed(self, result: DelegateResult) -> DelegateResult:
        message = Message("m", Role.AGENT, (), metadata={"self": self})  # type: ignore[dict-item]
        return replace(result, message=message)


class SaysThatItIsAnother(Wrapped):
    def changed(self, result: DelegateResult) -> DelegateResult:
        return replace(result, delegate_id="another")


class IgnoresTheToken(Wrapped):
    async def dispatch(
        self,
        request: DelegateRequest | str,
        *,
        cancel: CancelToken | None = None,
        observer: Observer | None = None,
    ) -> DelegateResult:
        del cancel
        return await super().dispatch(request, observer=observer)


class BeginsUnderACancelledToken(Wrapped):
    async def dispatch(
        self,
        request: DelegateRequest | str,
        *,
        cancel: CancelToken | None = None,
        observer: Observer | None = None,
    ) -> DelegateResult:
        live = None if cancel is None or cancel.cancelled else cancel
        return await super().dispatch(request, cancel=live, observer=observer)


class CopiesTheReason(Wrapped):
    def changed(self, result: DelegateResult) -> DelegateResult:
        if not isinstance(result, Cancelled):
            return result
        return replace(result, reason=repr(result.reason))


class ServesATokenOnce(Wrapped):
    def __init__(self, inner: Delegate) -> None:
        super().__init__(inner)
        self.served: list[CancelToken] = []

    async def dispatch(
        self,
        request: DelegateRequest | str,
        *,
        cancel: CancelToken | None = None,
        observer: Observer | None = None,
    ) -> DelegateResult:
        live = None if cancel in self.served else cancel
        self.served += [] if cancel is None else [cancel]
        return await super().dispatch(request, cancel=live, observer=observer)


class ListensForEver(Wrapped):
    async def dispatch(
        self,
        request: DelegateRequest | str,
        *,
        cancel: CancelToken | None = None,
        observer: Observer | None = None,
    ) -> DelegateResult:
        result = await super().dispatch(request, cancel=cancel, observer=observer)
        if cancel is not None and not cancel.cancelled:
            cancel.subscribe(self._stop)
        return result

    def _stop(self) -> None:
        raise RuntimeError("what is over is stopped")


class SwallowsTheCancellation(Wrapped):
    async def dispatch(self, request: DelegateRequest | str, **options: Any) -> DelegateResult:
        try:
            return await super().dispatch(request, **options)
        except anyio.get_cancelled_exc_class():
            return Cancelled(delegate_id=self.id, effect=Effect.RAN, by="caller")


class SettlesNothingWhenCancelled(Wrapped):
    async def dispatch(
        self,
        request: DelegateRequest | str,
        *,
        cancel: CancelToken | None = None,
        observer: Observer | None = None,
    ) -> DelegateResult:
        kept: list[Signal] = []
        result = await super().dispatch(request, cancel=cancel, observer=kept.append)
        for signal in kept:
            if observer is not None:
                try:
                    observer(signal)
                except RuntimeError:
                    break
        return result


class IgnoresTheTimeout(Wrapped):
    async def dispatch(self, request: DelegateRequest | str, **options: Any) -> DelegateResult:
        if isinstance(request, DelegateRequest):
            request = replace(request, timeout=INHERIT)
        return await super().dispatch(request, **options)


class TimesOutTooEarly(Wrapped):
    async def dispatch(self, request: DelegateRequest | str, **options: Any) -> DelegateResult:
        if isinstance(request, DelegateRequest) and request.timeout is not INHERIT:
            request = replace(request, timeout=0.01)
        return await super().dispatch(request, **options)


class HidesFromScopesAround(Wrapped):
    async def dispatch(self, request: DelegateRequest | str, **options: Any) -> DelegateResult:
        with anyio.CancelScope(shield=True):
            result = await super().dispatch(request, **options)
        return result  # noqa: RET504 - to a type checker the scope may have swallowed something


class ChangesWhatIsTold(Wrapped):
    """Breaks nothing; what is derived from it says which signals take the place of one."""

    def instead(self, signal: Signal) -> list[Signal]:
        return [signal]

    async def dispatch(
        self,
        request: DelegateRequest | str,
        *,
        cancel: CancelToken | None = None,
        observer: Observer | None = None,
    ) -> DelegateResult:
        def relay(signal: Signal) -> None:
            for one in self.instead(signal):
                if observer is not None:
                    observer(one)

        return await super().dispatch(request, cancel=cancel, observer=relay)


class SettlesTwice(ChangesWhatIsTold):
    def instead(self, signal: Signal) -> list[Signal]:
        return [signal, signal] if isinstance(signal, Settled) else [signal]


class NeverSettles(ChangesWhatIsTold):
    def instead(self, signal: Signal) -> list[Signal]:
        return [] if isinstance(signal, Settled) else [signal]


class TellsNoIntent(ChangesWhatIsTold):
    def instead(self, signal: Signal) -> list[Signal]:
        return [] if isinstance(signal, Intent) else [signal]


class SendsBeforeItsIntent(ChangesWhatIsTold):
    def instead(self, signal: Signal) -> list[Signal]:
        return [Sent(1), signal] if isinstance(signal, Intent) else [signal]


class SettlesWithAnotherOutcome(ChangesWhatIsTold):
    def instead(self, signal: Signal) -> list[Signal]:
        return [Settled(replace(signal.result))] if isinstance(signal, Settled) else [signal]


class TellsEveryObserverAll(Wrapped):
    def __init__(self, inner: Delegate) -> None:
        super().__init__(inner)
        self.observers: list[Observer] = []

    async def dispatch(
        self,
        request: DelegateRequest | str,
        *,
        cancel: CancelToken | None = None,
        observer: Observer | None = None,
    ) -> DelegateResult:
        if observer is not None:
            self.observers.append(observer)

        def tell_all(signal: Signal) -> None:
            for one in self.observers:
                one(signal)

        return await super().dispatch(request, cancel=cancel, observer=tell_all)


class LetsObserversRaise(Wrapped):
    async def dispatch(
        self,
        request: DelegateRequest | str,
        *,
        cancel: CancelToken | None = None,
        observer: Observer | None = None,
    ) -> DelegateResult:
        problems: list[Exception] = []

        def relay(signal: Signal) -> None:
            try:
                if observer is not None and not problems:
                    observer(signal)
            except RuntimeError as problem:
                problems.append(problem)

        result = await super().dispatch(request, cancel=cancel, observer=relay)
        if problems:
            raise problems[0]
        return result


class KeepsObserversThatRaise(Wrapped):
    async def dispatch(
        self,
        request: DelegateRequest | str,
        *,
        cancel: CancelToken | None = None,
        observer: Observer | None = None,
    ) -> DelegateResult:
        def relay(signal: Signal) -> None:
            try:
                if observer is not None:
                    observer(signal)
            except RuntimeError:
                return

        return await super().dispatch(request, cancel=cancel, observer=relay)


class HasAHandleTooLate(Wrapped):
    def changed(self, result: DelegateResult) -> DelegateResult:
        return replace(
            result,
            handle=DelegationHandle(
                delegate_id=self.id,
                endpoint="",
                version="",
                binding="",
                message_id=str(uuid.uuid4()),
                body_digest="",
                sent_at=datetime.now(UTC),
            ),
        )


class HasNoName(Wrapped):
    def __init__(self, inner: Delegate) -> None:
        super().__init__(inner)
        self.id = ""

    def changed(self, result: DelegateResult) -> DelegateResult:
        return replace(result, delegate_id="")


class ClaimsWhatItHasNot(Wrapped):
    capabilities = DelegateCapabilities(resume=True)


class LacksAMethod:
    """A delegate that is none: it has no `cancel`."""

    capabilities = DelegateCapabilities()

    def __init__(self, inner: Delegate) -> None:
        self.inner = inner
        self.id = inner.id
        self.resume = inner.resume
        self.dispatch = inner.dispatch


class ResumesNothingInSilence(Wrapped):
    async def resume(self, handle: DelegationHandle, **options: Any) -> DelegateResult:
        del options
        return Completed(delegate_id=self.id, effect=Effect.RAN, handle=handle)


class CancelsNothingInSilence(Wrapped):
    async def cancel(self, handle: DelegationHandle, reason: object = None) -> CancelReceipt:
        del handle, reason
        return CancelReceipt.CONFIRMED


HONEST: tuple[Any, ...] = (Wrapped, ChangesWhatIsTold)
"""Delegates that break no rule; the suite must have nothing against them."""

OPENED = {"DEL-22", "DEL-23", "DEL-24"}
"""What fails where `open_delegation` refuses the delegate."""

BROKEN: dict[Any, set[str]] = {
    LosesTheText: {"DEL-1", "DEL-8", "DEL-9", "DEL-17"},
    IsAlwaysLate: {"DEL-1"},
    LosesTheData: {"DEL-2"},
    CompletesWhatFailed: {"DEL-3"},
    HidesTheFailuresText: {"DEL-3"},
    RaisesWhatFailed: {"DEL-3", "DEL-6", "DEL-10"},
    AnswersItsOwnQuestions: {"DEL-4"},
    FailsWhatIsRefused: {"DEL-5"},
    RefusesWithEffect: {"DEL-5"},
    DeniesThatItRan: {"DEL-6"},
    RemembersItsAnswers: {"DEL-7"},
    MixesUpItsCallers: {"DEL-8"},
    TakesNoStrings: {"DEL-9"},
    CannotBePickled: {"DEL-10"},
    SaysThatItIsAnother: {"DEL-10"},
    BeginsUnderACancelledToken: {"DEL-11"},
    CopiesTheReason: {"DEL-11", "DEL-12", "DEL-24"},
    IgnoresTheToken: {"DEL-11", "DEL-12", "DEL-13", "DEL-23", "DEL-24"},
    ServesATokenOnce: {"DEL-13"},
    ListensForEver: {"DEL-14"},
    SwallowsTheCancellation: {"DEL-15"},
    SettlesNothingWhenCancelled: {"DEL-15"},
    IgnoresTheTimeout: {"DEL-16"},
    TimesOutTooEarly: {"DEL-17"},
    HidesFromScopesAround: {"DEL-15", "DEL-18"},
    SettlesTwice: {"DEL-15", "DEL-19"},
    NeverSettles: {"DEL-15", "DEL-19"},
    TellsNoIntent: {"DEL-19"},
    SendsBeforeItsIntent: {"DEL-19"},
    SettlesWithAnotherOutcome: {"DEL-19", "DEL-20"},
    TellsEveryObserverAll: {"DEL-20"},
    LetsObserversRaise: {"DEL-21"},
    KeepsObserversThatRaise: {"DEL-21"},
    HasAHandleTooLate: {"DEL-22"},
    HasNoName: {"DEL-25", *OPENED},
    ClaimsWhatItHasNot: {"DEL-25", "DEL-26", "DEL-28", "DEL-29", "DEL-33", *OPENED},
    LacksAMethod: {"DEL-25", "DEL-27"},
    ResumesNothingInSilence: {"DEL-26"},
    CancelsNothingInSilence: {"DEL-27"},
}
"""Delegates that break a rule each, and all that the suite must say against them."""
