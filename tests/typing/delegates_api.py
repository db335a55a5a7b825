"""Delegates of one's own, beside ours; type-checked and never run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2a_delegate import (
    JSON,
    A2ADelegate,
    AgentCard,
    CancelReceipt,
    CancelToken,
    Completed,
    Delegate,
    DelegateCapabilities,
    DelegateRequest,
    DelegateResult,
    DelegationHandle,
    DispatchOnly,
    Effect,
    Failed,
    FunctionDelegate,
    InputRequired,
    Message,
    Observer,
    Role,
    Running,
    TaskFailedError,
    TextPart,
    check_capabilities,
    delegate_from,
)

if TYPE_CHECKING:
    import httpx


async def shout(request: DelegateRequest) -> str:
    return request.prompt.upper()


async def count(request: DelegateRequest) -> JSON:
    return {"words": len(request.prompt.split())}


async def lengths(request: DelegateRequest) -> dict[str, list[int]]:
    return {"words": [len(word) for word in request.prompt.split()]}


async def ask(request: DelegateRequest) -> DelegateResult:
    question = Message("q", Role.AGENT, (TextPart(f"what is {request.prompt}?"),))
    return InputRequired(delegate_id="ask", effect=Effect.RAN, question=question)


async def no_answer(request: DelegateRequest) -> set[str]:
    return {request.prompt}


def shouted(request: DelegateRequest) -> str:
    return request.prompt


def of_functions() -> list[FunctionDelegate]:
    delegate_from(no_answer, id="no answer")  # type: ignore[arg-type]
    delegate_from(shouted, id="not asynchronous")  # type: ignore[arg-type]
    return [
        delegate_from(shout, id="shout", timeout=5, cancel_grace=1),
        delegate_from(count, id="count"),
        delegate_from(lengths, id="lengths"),
        delegate_from(ask, id="ask"),
    ]


class Whole:
    """A delegate by its methods alone."""

    def __init__(self) -> None:
        self.id = "whole"
        self.capabilities = DelegateCapabilities(cancel=True, resume=True)

    async def dispatch(
        self,
        request: DelegateRequest | str,
        *,
        cancel: CancelToken | None = None,
        observer: Observer | None = None,
    ) -> DelegateResult:
        del request, cancel, observer
        return Completed(delegate_id=self.id, effect=Effect.RAN, output="done")

    async def resume(
        self,
        handle: DelegationHandle,
        *,
        wait: bool = True,
        cancel: CancelToken | None = None,
        observer: Observer | None = None,
    ) -> DelegateResult:
        del wait, cancel, observer
        return Running(delegate_id=self.id, effect=Effect.RAN, handle=handle, last_state="working")

    async def cancel(self, handle: DelegationHandle, reason: object = None) -> CancelReceipt:
        del handle, reason
        return CancelReceipt.CONFIRMED


class WithoutHandles(DispatchOnly):
    """A delegate that cannot be asked later."""

    capabilities = DelegateCapabilities()

    def __init__(self) -> None:
        self.id = "part"

    async def dispatch(
        self,
        request: DelegateRequest | str,
        *,
        cancel: CancelToken | None = None,
        observer: Observer | None = None,
    ) -> DelegateResult:
        del cancel, observer
        text = request if isinstance(request, str) else request.prompt
        error = TaskFailedError(task_id=None, state="failed", text=text)
        return Failed(delegate_id=self.id, effect=Effect.MAY_HAVE_RUN, error=error)


class NoDelegate:
    """Lacks all but a name."""

    id = "none"


async def roster(client: httpx.AsyncClient, card: AgentCard) -> list[Delegate]:
    check_capabilities(NoDelegate())  # type: ignore[arg-type]
    delegates: list[Delegate] = [
        Whole(),
        WithoutHandles(),
        A2ADelegate("agent", card, client=client),
        *of_functions(),
    ]
    for delegate in delegates:
        check_capabilities(delegate)
    return delegates
