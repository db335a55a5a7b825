"""The seam: what a delegate is, what it is asked, and how it is told to stop."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from enum import Enum
from typing import TYPE_CHECKING, Final, Literal, Protocol, TypeAlias, runtime_checkable

import anyio

from a2a_delegate.errors import (
    DelegateCapabilityError,
    DelegateCapabilityMismatchError,
    UsageError,
)
from a2a_delegate.model.frozen import dataclass
from a2a_delegate.model.json_value import JSON, canonical
from a2a_delegate.model.part import DataPart, FilePart, Part, TextPart
from a2a_delegate.outcome import DelegationHandle
from a2a_delegate.signals import Signal

if TYPE_CHECKING:
    from a2a_delegate.outcome import CancelReceipt, DelegateResult

Observer: TypeAlias = Callable[[Signal], None]
"""A plain callable, told the signals in order on the event loop. It must not block."""


class _Inherit(Enum):
    INHERIT = "inherit"

    def __repr__(self) -> str:
        return self.name


INHERIT: Final = _Inherit.INHERIT
"""The request takes the delegate's own timeout."""


def check_seconds(name: str, value: object, *, zero: bool = False) -> None:
    """Refuse what is no finite number of seconds above zero (`zero`: or zero itself).

    Raises UsageError. A bool is a number in Python and never a time.
    """
    seconds = math.nan
    if isinstance(value, int | float) and not isinstance(value, bool):
        with contextlib.suppress(OverflowError):
            seconds = float(value)
    if not math.isfinite(seconds) or seconds < 0 or (seconds == 0 and not zero):
        least = "zero or more" if zero else "more than zero"
        raise UsageError(f"{name} must be a finite number of seconds, {least}; got {value!r}")


@dataclass(frozen=True, slots=True)
class DelegateRequest:
    """One piece of work to hand over. Checked when built: UsageError says what is wrong.

    `prompt` and `parts` go to agents: the prompt becomes the first text part. `arguments` go to
    tools and functions; an agent has no place for them and its delegate refuses them.
    `continues` is the handle of the question that this answers, in its task; `context_id` goes on
    in a conversation at the peer with new work; without either each delegation has its own.
    `principal` names for whom it is done: it chooses the credentials, and is kept in the handle.
    `metadata` goes with the message. `accepted_output_modes` are media types. `timeout` is in
    seconds, None for none, `INHERIT` for the delegate's own. One request may be dispatched many
    times: each dispatch makes a message id of its own.
    """

    prompt: str = ""
    parts: tuple[Part, ...] = field(default=(), kw_only=True)
    arguments: Mapping[str, JSON] | None = field(default=None, kw_only=True)
    continues: DelegationHandle | None = field(default=None, kw_only=True)
    context_id: str | None = field(default=None, kw_only=True)
    metadata: Mapping[str, JSON] | None = field(default=None, kw_only=True)
    accepted_output_modes: tuple[str, ...] = field(default=(), kw_only=True)
    timeout: float | Literal[_Inherit.INHERIT] | None = field(default=INHERIT, kw_only=True)
    principal: str | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        _check_text("prompt", self.prompt)
        for name in ("parts", "accepted_output_modes"):
            object.__setattr__(self, name, _checked_tuple(name, getattr(self, name)))
        if not (self.prompt or self.parts or self.arguments is not None):
            raise UsageError("a request needs a prompt, parts or arguments")
        for part in self.parts:
            _check_part(part)
        for name in ("arguments", "metadata"):
            _check_mapping(name, getattr(self, name))
        for name in ("context_id", "principal"):
            _check_name(name, getattr(self, name))
        if self.continues is not None:
            _check_question(self.continues, self.context_id)
        for mode in self.accepted_output_modes:
            _check_text("accepted_output_modes", mode)
        if self.timeout is not None and self.timeout is not INHERIT:
            check_seconds("timeout", self.timeout)

    @property
    def message_parts(self) -> tuple[Part, ...]:
        """The prompt, where there is one, as a text part, and then the parts."""
        return (TextPart(self.prompt), *self.parts) if self.prompt else self.parts


def _check_question(handle: object, context_id: str | None) -> None:
    if not isinstance(handle, DelegationHandle):
        raise UsageError(f"continues is a DelegationHandle; got {type(handle).__name__}")
    if handle.task_id is None:
        raise UsageError(
            "continues needs the handle of a question; this one knows no task: resume it first"
        )
    if context_id is not None and context_id != handle.context_id:
        raise UsageError(
            "context_id is another one than that of the task which continues; leave it out"
        )


def check_id(name: object) -> None:
    """Refuse what is no usable id of a delegate. Raises UsageError."""
    if not isinstance(name, str) or not name:
        raise UsageError(f"a delegate needs a non-empty string as its id; got {name!r}")


def as_request(request: DelegateRequest | str) -> DelegateRequest:
    """Return the request that a call means; text is a prompt. Raises UsageError for other types."""
    if isinstance(request, str):
        return DelegateRequest(request)
    asked: object = request
    if not isinstance(asked, DelegateRequest):
        raise UsageError(f"a request is a DelegateRequest or text; got {type(asked).__name__}")
    return asked


def check_listeners(cancel: object, observer: object) -> None:
    """Refuse what is no token and no observer. Raises UsageError, before anything is sent."""
    if cancel is not None and not isinstance(cancel, CancelToken):
        raise UsageError(f"cancel is a CancelToken; got {type(cancel).__name__}")
    if observer is not None and not callable(observer):
        raise UsageError(f"an observer is a callable of one signal; got {type(observer).__name__}")


def _check_text(name: str, value: object) -> None:
    try:
        text = isinstance(value, str) and value.encode() is not None
    except UnicodeEncodeError:
        text = False
    if not text:
        raise UsageError(f"{name} must be text that UTF-8 can carry")


def _check_name(name: str, value: object) -> None:
    if value is not None:
        _check_text(name, value)
    if value == "":
        raise UsageError(f"{name} must not be empty; leave it out where there is none")


def _check_part(part: object) -> None:
    if isinstance(part, TextPart):
        _check_text("a text part", part.text)
    elif isinstance(part, DataPart):
        _check_json("the data of a part", part.data)
    elif isinstance(part, FilePart):
        content: object = part.content
        if not isinstance(content, bytes | None):
            raise UsageError(f"the content of a file is bytes; got {type(content).__name__}")
    else:
        raise UsageError(f"parts are TextPart, DataPart or FilePart; got {type(part).__name__}")
    for name in ("media_type", "filename", "url"):
        value = getattr(part, name, None)
        if value is not None:
            _check_text(name, value)
    _check_mapping("the metadata of a part", part.metadata)


def _checked_tuple(name: str, value: object) -> tuple[object, ...]:
    # A string is a tuple of its letters to Python, and a slip of the pen to us.
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise UsageError(f"{name} must be a tuple; got {value!r}")
    return tuple(value)


def _check_mapping(name: str, value: object) -> None:
    if isinstance(value, Mapping):
        _check_json(name, dict(value))
    elif value is not None:
        raise UsageError(f"{name} must be a mapping; got {type(value).__name__}")


def _check_json(name: str, value: object) -> None:
    try:
        canonical(value)
    except UsageError as problem:
        raise UsageError(f"{name} is {problem}") from None


@dataclass(frozen=True, slots=True)
class DelegateCapabilities:
    """What a delegate really offers beyond `dispatch`.

    `cancel` and `resume`: by handle, also in another process. `follow_up`: an answer to its
    question continues the same task. `stream`: progress arrives as it happens.
    `recognises_repeats`: the peer runs a repeated message once.
    """

    cancel: bool = False
    resume: bool = False
    follow_up: bool = False
    stream: bool = False
    recognises_repeats: bool = False


class CancelToken:
    """Tells delegations to stop. One token may serve many; the first cancel latches.

    Make it anywhere. `cancel` may be called from a callback of the event loop; from another
    thread go through `anyio.from_thread.run_sync(token.cancel)`.
    """

    __slots__ = ("_listeners", "_reason", "_set")

    def __init__(self) -> None:
        self._set = False
        self._reason: object = None
        self._listeners: dict[object, Callable[[], None]] = {}

    def __repr__(self) -> str:
        """Show the state, never the reason: it is the caller's own object."""
        return f"<CancelToken {'cancelled' if self._set else 'not cancelled'}>"

    @property
    def cancelled(self) -> bool:
        """Whether `cancel` was called."""
        return self._set

    @property
    def reason(self) -> object:
        """The object of the first `cancel`; it reaches the outcome unchanged, never a peer."""
        return self._reason

    def cancel(self, reason: object = None) -> None:
        """Stop what listens to this token. Later calls change nothing."""
        if self._set:
            return
        self._set = True
        self._reason = reason
        # Only callbacks that set events made before: no anyio call works inside a loop callback.
        for listener in tuple(self._listeners.values()):
            listener()

    def subscribe(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call `listener` once at the cancel, at once if it has been; return what undoes this.

        The listener must not block and must not raise.
        """
        if self._set:
            listener()
            return _nothing
        key = object()
        self._listeners[key] = listener

        def undo() -> None:
            self._listeners.pop(key, None)

        return undo

    async def wait(self) -> None:
        """Wait until the token is cancelled."""
        event = anyio.Event()
        undo = self.subscribe(event.set)
        try:
            await event.wait()
        finally:
            undo()


def _nothing() -> None:
    """Undo nothing."""


@runtime_checkable
class Delegate(Protocol):
    """One agent, tool or function that work can be handed to.

    Three methods, one interface over all backends. A delegate that claims a capability has the
    method for it; a call of one that it does not claim raises DelegateCapabilityError.
    """

    @property
    def id(self) -> str:
        """The name that a roster and outcomes know it by."""
        ...

    @property
    def capabilities(self) -> DelegateCapabilities:
        """What it offers beyond `dispatch`."""
        ...

    async def dispatch(
        self,
        request: DelegateRequest | str,
        *,
        cancel: CancelToken | None = None,
        observer: Observer | None = None,
    ) -> DelegateResult:
        """Hand the work over and wait for the outcome.

        What happens at the peer and on the way is an outcome, never an exception. Raises UsageError
        for a wrong call, and the caller's own cancellation after the cleanup.

        Whoever writes a delegate owes its callers this as well (`delegate_from` gives it for an
        async function, and `a2a_delegate.testing.DelegateSuite` checks it): the observer is told
        `Intent` first and `Settled` last and once, with the outcome that is returned, also when
        the caller's cancellation goes on; an observer that raises is dropped; a cancelled token,
        the request's timeout and a surrounding anyio deadline end the work within a small bound,
        the last of them with an outcome before that deadline.
        """
        ...

    async def resume(
        self,
        handle: DelegationHandle,
        *,
        wait: bool = True,
        cancel: CancelToken | None = None,
        observer: Observer | None = None,
    ) -> DelegateResult:
        """Take up a delegation by its handle, in any process, and wait for its outcome.

        It is owned as by `dispatch`: at the delegate's own timeout from now, or at the caller's
        cancel, the task is stopped at the peer. With `wait` false one look is taken: `Running` for
        a task that goes on; nothing is stopped. A handle without a task id (of an `Unknown`) is
        looked up again. Raises UsageError for a handle of somebody else, UnsafeEndpointError for
        one to an origin that is not bound, DelegateCapabilityError where not claimed.
        """
        ...

    async def cancel(self, handle: DelegationHandle, reason: object = None) -> CancelReceipt:
        """Stop a delegation by its handle, in any process, bounded; return what came of that.

        `not-needed` where it had ended otherwise. `reason` is never sent. Raises as `resume` does.
        """
        ...


@runtime_checkable
class PacingObserver(Protocol):
    """An observer that may hold a stream back: its events are read no faster than it takes them.

    Nothing else waits for it: the outcome comes as soon as it can be had by asking.
    """

    def __call__(self, signal: Signal, /) -> object:
        """Take a signal, as every observer does; it must not block."""
        ...

    async def ready_for_more(self) -> None:
        """Return when more may be told; it is awaited after each event of a stream."""
        ...


class DispatchOnly:
    """Gives a delegate without handles the two methods that say so.

    Inherit from it and write `id`, `capabilities` and `dispatch`.
    """

    id: str

    async def resume(
        self,
        handle: DelegationHandle,
        *,
        wait: bool = True,
        cancel: CancelToken | None = None,
        observer: Observer | None = None,
    ) -> DelegateResult:
        """Raise DelegateCapabilityError."""
        del handle, wait, cancel, observer
        raise DelegateCapabilityError(delegate_id=self.id, capability="resume")

    async def cancel(self, handle: DelegationHandle, reason: object = None) -> CancelReceipt:
        """Raise DelegateCapabilityError."""
        del handle, reason
        raise DelegateCapabilityError(delegate_id=self.id, capability="cancel")


def check_capabilities(delegate: Delegate) -> None:
    """Refuse a delegate that claims what it has no method for; for whoever wires delegates.

    Raises DelegateCapabilityMismatchError, or UsageError where the id is no usable name.
    """
    check_id(delegate.id)
    for name in ("resume", "cancel"):
        method = getattr(type(delegate), name, None)
        missing = method is None or method is getattr(DispatchOnly, name)
        if getattr(delegate.capabilities, name) and missing:
            raise DelegateCapabilityMismatchError(delegate_id=delegate.id, capability=name)
