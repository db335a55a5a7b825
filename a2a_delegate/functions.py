"""Delegates made of functions in this process: the same laws, the same outcomes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias, cast, get_args

import anyio

from a2a_delegate.delegate import (
    INHERIT,
    DelegateCapabilities,
    DelegateRequest,
    DispatchOnly,
    as_request,
    check_id,
    check_listeners,
    check_seconds,
)
from a2a_delegate.errors import DelegateCapabilityError, UsageError
from a2a_delegate.lifecycle.observations import Returned
from a2a_delegate.lifecycle.operations import (
    CancelTask,
    Operation,
    Reply,
    SendMessage,
    TaskReply,
)
from a2a_delegate.lifecycle.plan import Plan, Route, Timing
from a2a_delegate.model.artifact import Artifact
from a2a_delegate.model.json_value import JSON, canonical
from a2a_delegate.model.message import Message, Role
from a2a_delegate.model.part import DataPart, TextPart
from a2a_delegate.model.task import Task, TaskState, TaskStatus
from a2a_delegate.outcome import (
    AuthRequired,
    Cancelled,
    Completed,
    DelegateResult,
    DelegationHandle,
    Effect,
    Failed,
    InputRequired,
    Rejected,
    TimedOut,
    Unknown,
)
from a2a_delegate.runtime.clock import Clock
from a2a_delegate.runtime.deadlines import nearer_deadline
from a2a_delegate.runtime.driver import Driver
from a2a_delegate.runtime.owner import OwnedTask

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from a2a_delegate.bindings.exchange import Exchange
    from a2a_delegate.delegate import CancelToken, Observer
    from a2a_delegate.model.card import AgentInterface

Returnable: TypeAlias = "DelegateResult | JSON | dict[str, Any] | list[Any]"
"""What a function may return: text, data, or an outcome of its own.

Dictionaries and lists are invariant: without the last two, one of numbers would be no JSON value.
"""

_OUTCOMES = get_args(DelegateResult)

_EFFECTS: Mapping[type, frozenset[Effect]] = {
    Completed: frozenset({Effect.RAN}),
    Failed: frozenset(Effect),
    Rejected: frozenset({Effect.NOT_STARTED, Effect.RAN}),
    Cancelled: frozenset(Effect),
    TimedOut: frozenset({Effect.NOT_STARTED, Effect.RAN}),
    InputRequired: frozenset({Effect.RAN}),
    AuthRequired: frozenset({Effect.RAN}),
    Unknown: frozenset({Effect.MAY_HAVE_RUN, Effect.RAN}),
}
"""The ends of a dispatch, each with the effects that it can have. `Running` is no end."""


def delegate_from(
    function: Callable[[DelegateRequest], Awaitable[Returnable]],
    *,
    id: str,  # noqa: A002 - the word of the seam
    timeout: float | None = None,
    cancel_grace: float = 2.0,
) -> FunctionDelegate:
    """Make a delegate of an async function in this process.

    The function takes the DelegateRequest. A string that it returns is the output, any other JSON
    value is data. A DelegateResult is the outcome as it stands, under this delegate's id; its
    handle, where it has one, is still that of the delegate it names, who can resume it. What the
    function raises is `Failed` with the exception as the cause of its TaskFailedError, and so is an
    outcome that cannot be: `Running`, which is no end, and one that contradicts its own effect,
    such as a `Completed` that never started.

    At a cancel or the deadline the function is cancelled, and has `cancel_grace` seconds to end.
    `timeout` is in seconds, None for none.
    """
    return FunctionDelegate(function, id=id, timeout=timeout, cancel_grace=cancel_grace)


class FunctionDelegate(DispatchOnly):
    """A function as a delegate; `delegate_from` makes it. It claims no capability."""

    capabilities = DelegateCapabilities()

    def __init__(
        self,
        function: Callable[[DelegateRequest], Awaitable[Returnable]],
        *,
        id: str,  # noqa: A002 - the word of the seam
        timeout: float | None,
        cancel_grace: float,
    ) -> None:
        if not callable(function):
            raise UsageError(f"a delegate is made of an async function; got {function!r}")
        check_id(id)
        if timeout is not None:
            check_seconds("timeout", timeout)
        check_seconds("cancel_grace", cancel_grace)
        self.id = id
        self._function = function
        self._timeout = timeout
        self._timing = Timing(cancel_grace=cancel_grace)
        self._clock = Clock()

    def __repr__(self) -> str:
        """Name the delegate."""
        return f"<FunctionDelegate {self.id!r}>"

    async def dispatch(
        self,
        request: DelegateRequest | str,
        *,
        cancel: CancelToken | None = None,
        observer: Observer | None = None,
    ) -> DelegateResult:
        """Call the function and wait for the outcome; see `Delegate.dispatch`."""
        asked = as_request(request)
        if asked.continues is not None:
            raise DelegateCapabilityError(delegate_id=self.id, capability="follow_up")
        check_listeners(cancel, observer)
        await anyio.lowlevel.checkpoint_if_cancelled()
        work = _Work(self.id, self._function, asked, self._clock.new_id())
        driver = Driver(
            self._plan(asked, work.task_id),
            work,
            clock=self._clock,
            observers=() if observer is None else (observer,),
            token=cancel,
        )
        work.report = driver.post
        result = await driver.run()
        if isinstance(result, Failed) and result.error.__cause__ is None:
            result.error.__cause__ = work.error
        return result

    def _plan(self, asked: DelegateRequest, task_id: str) -> Plan:
        timeout = self._timeout if asked.timeout is INHERIT else asked.timeout
        message = Message(task_id, Role.USER, asked.message_parts)
        intent = DelegationHandle(
            delegate_id=self.id,
            endpoint="",
            version="",
            binding="",
            message_id=task_id,
            body_digest="",
            sent_at=self._clock.utc(),
        )
        return Plan(
            delegate_id=self.id,
            route=Route(intent, SendMessage(message)),
            timing=self._timing,
            deadline=nearer_deadline(
                now=self._clock.now(), timeout=timeout, cleanup=self._timing.cleanup
            ),
            in_process=True,
        )


class _Work:
    """One call of the function, as something that takes a message and can be cancelled."""

    def __init__(
        self,
        delegate_id: str,
        function: Callable[[DelegateRequest], Awaitable[Returnable]],
        request: DelegateRequest,
        task_id: str,
    ) -> None:
        self.task_id = task_id
        self._delegate_id = delegate_id
        self.report: Callable[[Returned], None] = lambda _: None
        self._function = function
        self._request = request
        self._call: OwnedTask | None = None
        self._returned: Returnable = None
        self._ended = False

    def way_of(self, _: Operation) -> tuple[str, str]:
        """Name the only way there is."""
        return "in-process", ""

    def switch(self, _: AgentInterface) -> None:
        """Change nothing: there is one way to a function."""

    async def perform(self, operation: Operation, exchange: Exchange) -> Reply:
        """Call the function and wait for it, look how far it is, or cancel it."""
        if isinstance(operation, SendMessage):
            exchange.leave()
            exchange.on_id(self.task_id)
            self._call = OwnedTask(self._run)
            # When this request is let go, it ends no sooner than the function: one that ignores
            # its cancellation is seen as a transport that is stuck.
            await self._call.join(self._call.cancel)
            if not isinstance(self._call.error, Exception | None):
                # Not the function's failure: somebody wants to leave the program.
                raise self._call.error
        elif isinstance(operation, CancelTask) and self._call is not None:
            self._call.cancel()
            await anyio.lowlevel.checkpoint()
        return TaskReply(self._snapshot())

    async def _run(self) -> None:
        returned = await self._function(self._request)
        if isinstance(returned, _OUTCOMES):
            _check_outcome(returned)
            # Who was asked is this delegate, whoever else had a hand in it.
            returned = replace(returned, delegate_id=self._delegate_id)
        elif not isinstance(returned, str):
            canonical(returned)
        self._returned, self._ended = returned, True

    def _snapshot(self) -> Task:
        call = self._call
        if call is None or not call.finished:
            return Task(self.task_id, TaskStatus(TaskState.WORKING))
        if call.error is not None:
            words = Message("", Role.AGENT, (TextPart(_told(call.error)),))
            return Task(self.task_id, TaskStatus(TaskState.FAILED, message=words))
        if not self._ended:
            return Task(self.task_id, TaskStatus(TaskState.CANCELED))
        if isinstance(self._returned, _OUTCOMES):
            self.report(Returned(self._returned))
        artifacts = _artifacts(self._returned)
        return Task(self.task_id, TaskStatus(TaskState.COMPLETED), artifacts=artifacts)

    @property
    def error(self) -> BaseException | None:
        """What the function raised."""
        return None if self._call is None else self._call.error


def _check_outcome(result: DelegateResult) -> None:
    """Refuse an outcome that contradicts itself: a caller repeats, or does not, by its effect."""
    effects = _EFFECTS.get(type(result))
    if effects is None:
        raise UsageError(f"a function ends its work: {type(result).__name__} is no end")
    if result.effect not in effects:
        raise UsageError(
            f"{type(result).__name__} with the effect {result.effect!s} cannot be; "
            f"it has {' or '.join(sorted(effects))}"
        )


def _told(error: BaseException) -> str:
    name = type(error).__name__
    try:
        return f"{name}: {error}".removesuffix(": ")
    except Exception:  # noqa: BLE001 - the function failed, whether or not its error can say so
        return name


def _artifacts(returned: Returnable) -> tuple[Artifact, ...]:
    if returned is None or isinstance(returned, _OUTCOMES):
        return ()
    part = TextPart(returned) if isinstance(returned, str) else DataPart(cast("JSON", returned))
    return (Artifact("result", (part,)),)
