"""Signals and updates, as observers and readers get them; type-checked and never run."""

from __future__ import annotations

from typing import assert_never, assert_type

import anyio

from a2a_delegate import (
    ArtifactChunk,
    Attempt,
    AttemptFailed,
    CancelSent,
    CancelToken,
    ContextSubstituted,
    Delegate,
    DelegateError,
    DelegateResult,
    Delegation,
    DelegationHandle,
    Downgraded,
    EvidenceFailed,
    IdKnown,
    Intent,
    PacingObserver,
    Progress,
    Recovered,
    Rerouted,
    Sent,
    Settled,
    Signal,
    StateSeen,
    StreamCut,
    TerminalChanged,
    TransportStuck,
    Update,
    open_delegation,
)


def shown(signal: Signal) -> str:  # noqa: C901, PLR0911, PLR0912 - one case each
    match signal:
        case Intent(handle):
            assert_type(handle, DelegationHandle | None)
            return "intent"
        case Sent(attempt):
            return str(attempt)
        case IdKnown(task_id) | Recovered(task_id) | CancelSent(task_id):
            return task_id
        case StateSeen(task_id, state):
            return f"{task_id} is {state}"
        case Progress(_, message):
            return message.text
        case ArtifactChunk(_, artifact, append):
            assert_type(append, bool)
            return artifact.text
        case StreamCut(task_id, cut):
            assert_type(cut, DelegateError | None)
            return task_id
        case AttemptFailed(failed, error):
            assert_type(failed, Attempt)
            return str(error)
        case ContextSubstituted(ours, theirs):
            return f"{ours} -> {theirs}"
        case EvidenceFailed(observer, problem):
            return f"{observer}: {problem}"
        case Downgraded(refused, spoken):
            return f"{refused} -> {spoken}"
        case Rerouted(handle):
            return handle.endpoint
        case TransportStuck(operation):
            return operation
        case TerminalChanged(_, first, later):
            return f"{first} -> {later}"
        case Settled(result):
            assert_type(result, DelegateResult)
            return result.status
        case _:
            assert_never(signal)


class Paced:
    def __call__(self, signal: Signal) -> None: ...

    async def ready_for_more(self) -> None: ...


async def listened(delegate: Delegate) -> list[Signal]:
    heard: list[Signal] = []
    await delegate.dispatch("a", observer=heard.append)
    await delegate.dispatch("a", observer=lambda signal: print(shown(signal)))  # noqa: T201
    await delegate.dispatch("a", observer=len)  # type: ignore[arg-type]
    paced: PacingObserver = Paced()
    await delegate.dispatch("a", observer=Paced())
    await paced.ready_for_more()
    return heard


async def read(delegate: Delegate) -> None:
    async with open_delegation(delegate, "find X") as delegation:
        assert_type(delegation, Delegation)
        assert_type(delegation.id, str)
        assert_type(delegation.handle, DelegationHandle | None)
        async for update in delegation:
            assert_type(update, Update)
            match update:
                case StateSeen() | Progress() | ArtifactChunk():
                    continue
                case _:
                    assert_never(update)
        assert_type(await delegation.result(), DelegateResult)
        assert_type(await delegation.cancel("enough"), DelegateResult)


async def stopped(delegate: Delegate) -> None:
    token = CancelToken()
    assert_type(token.cancelled, bool)
    assert_type(token.reason, object)
    undo = token.subscribe(lambda: None)
    undo()
    async with anyio.create_task_group() as group:
        group.start_soon(delegate.dispatch, "a")
        group.start_soon(token.wait)
        token.cancel(ValueError("changed my mind"))
