"""The outcome of a delegation: one closed union that says what happened and what is not known.

Match on the classes, or on `status`. Nine classes, and these fields in each of them:

- `delegate_id`: who was asked;
- `effect`: whether the work began at the peer, the fact that a repeat depends on;
- `handle`: all that a later process needs to ask again; None exactly when no byte left;
- `attempts`: the requests that were made, as evidence;
- `artifacts`, `message`: what the peer made, and its last words; `files` lists the files of both,
  and `save(directory)` writes them;
- `late`: the answer came after a cancel or a deadline, in the grace.
"""

from __future__ import annotations

import json
from dataclasses import MISSING, field, fields
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Literal, TypeAlias, TypeVar, assert_never
from urllib.parse import urlsplit

from a2a_delegate.errors import (
    DelegateError,
    DelegationCancelledError,
    DelegationPausedError,
    DelegationTimeoutError,
    OutputMismatchError,
    UnknownEffectError,
    UsageError,
    shown,
)
from a2a_delegate.model.frozen import dataclass

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator
    from pathlib import Path

    from a2a_delegate.model.artifact import Artifact
    from a2a_delegate.model.json_value import JSON
    from a2a_delegate.model.message import Message
    from a2a_delegate.model.part import FilePart

T = TypeVar("T")


class Effect(StrEnum):
    """Whether the peer began the work; `str()` is the word."""

    NOT_STARTED = "not-started"
    """Proven: no byte of the body left, or the peer refused before it began."""
    MAY_HAVE_RUN = "may-have-run"
    """Nobody can say."""
    RAN = "ran"
    """The peer began it."""


class CancelReceipt(StrEnum):
    """What became of our request to stop; `str()` is the word."""

    NOT_NEEDED = "not-needed"
    """Nothing was running that could have been stopped."""
    CONFIRMED = "confirmed"
    """The peer reports the task as canceled."""
    REQUESTED = "requested"
    """The peer took the request; the task had not ended when the bound passed."""
    REFUSED = "refused"
    """The peer says that it cannot stop the task, or does not know it."""
    UNREACHED = "unreached"
    """No answer to the request to stop, or no task id to stop by."""


class AttemptOutcome(StrEnum):
    """How one request ended; `str()` is the word."""

    ANSWERED = "answered"
    REFUSED = "refused"
    NOT_SENT = "not-sent"
    LOST = "lost"
    NOT_UNDERSTOOD = "not-understood"


@dataclass(frozen=True, slots=True)
class Attempt:
    """One request and how it ended.

    `number` counts from 1 over all operations of the delegation; `started_at` is our clock in UTC;
    `seconds` how long it took; `http_status` None where none came; `body_left` whether a byte of
    the body was handed to the transport; `version` the protocol version that was spoken.
    """

    number: int
    operation: str
    started_at: datetime
    seconds: float
    http_status: int | None
    outcome: AttemptOutcome
    body_left: bool
    version: str


@dataclass(frozen=True, slots=True)
class DelegationHandle:
    """All that another process needs to ask for this delegation again. No secret, no credential.

    `body_digest` is the SHA-256 of the canonical message without its ids; `sent_at` our clock in
    UTC, just before the first byte; `question_id` tells the question that is open, `answers` the
    one that the message answers, as long as no other is open (empty where nothing tells it).
    """

    delegate_id: str
    endpoint: str
    version: str
    binding: str
    message_id: str
    body_digest: str
    sent_at: datetime
    context_id: str | None = None
    task_id: str | None = None
    question_id: str | None = None
    answers: str | None = None
    tenant: str | None = None
    principal: str | None = None

    def to_json(self) -> str:
        """Write the handle as one line of JSON; `from_json` reads it back unchanged."""
        facts = {name: getattr(self, name) for name in self.__slots__}
        facts["sent_at"] = self.sent_at.astimezone(UTC).isoformat()
        return json.dumps({name: fact for name, fact in facts.items() if fact is not None})

    @classmethod
    def from_json(cls, text: str) -> DelegationHandle:
        """Read a handle that `to_json` wrote. Raises UsageError for anything else."""
        try:
            return _read_handle(json.loads(text))
        except (TypeError, ValueError, OverflowError, RecursionError) as problem:
            reason = shown(problem, 200)
            msg = f"not a delegation handle ({reason}); pass what to_json() returned"
            raise UsageError(msg) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Outcome:
    """The fields in common, and how an outcome shows itself."""

    delegate_id: str
    effect: Effect
    handle: DelegationHandle | None = None
    attempts: tuple[Attempt, ...] = ()
    artifacts: tuple[Artifact, ...] = ()
    message: Message | None = None
    late: bool = False

    @property
    def safe_to_retry(self) -> bool:
        """Whether the same request may be sent anew without the work running twice."""
        return self.effect is Effect.NOT_STARTED

    @property
    def files(self) -> tuple[FilePart, ...]:
        """The file parts of `artifacts`, then those that only `message` has.

        One with a `url` has no bytes: nothing here fetches it.
        """
        from a2a_delegate import saving  # noqa: PLC0415 - most programs take no files

        return tuple([part for part, _ in saving.files_of(self.artifacts, self.message)])

    def save(self, directory: str | os.PathLike[str]) -> tuple[Path, ...]:
        """Write the files that came with their bytes into `directory`; return their paths in order.

        A file is named as the peer named it, else after its artifact, as near to that as is safe:
        one component, bounded, not hidden, no device. Nothing is written over, and no link at its
        place followed: a name that is taken gets a number, as in `report-2.pdf`. A file that came
        as a URL is left out and not fetched; `files` has it. The extension is the peer's word, as
        the content is: look before you open.

        The directory is made where it is missing. Raises UsageError for what can be none, OSError
        where the system refuses; no file is left behind then. It blocks while it writes, like any
        writing of files; in an event loop give large ones to a thread.
        """
        from a2a_delegate import saving  # noqa: PLC0415 - most programs take no files

        return saving.save(directory, self.artifacts, self.message)

    def explain(self) -> str:
        """Tell the verdict, what it rests on, and one line for each request, in UTC."""
        return "\n".join(_explanation(self))

    def __repr__(self) -> str:
        """Name the outcome, its effect and its ids: one bounded line without content."""
        return f"<{' '.join(_names(self))}>"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Completed(_Outcome):
    """The peer says that it is done.

    `output` is the text of the answer, None where there is none; `data` the values of its data
    parts.
    """

    status: Literal["completed"] = field(default="completed", init=False)
    output: str | None = None
    data: tuple[JSON, ...] = ()

    def parse(self, model: type[T]) -> T:
        """Validate the answer as `model`: a pydantic model or any type that pydantic knows.

        The data parts are tried in order, then the output as JSON (also inside one code fence).
        Raises OutputMismatchError with the problems of the first candidate.
        """
        import pydantic  # noqa: PLC0415 - who has models has imported it; others need not

        adapter: pydantic.TypeAdapter[T] = pydantic.TypeAdapter(model)
        name = getattr(model, "__name__", str(model))
        first: pydantic.ValidationError | None = None
        for candidate in _candidates(self.data, self.output):
            try:
                return adapter.validate_python(candidate)
            except pydantic.ValidationError as problem:
                first = first or problem
        if first is None:
            raise OutputMismatchError(model=name, problems=("it holds no JSON",))
        problems = first.errors(include_input=False, include_url=False, include_context=False)
        told = tuple(
            f"{'.'.join(map(str, one['loc'])) or 'value'}: {one['msg']}" for one in problems
        )
        raise OutputMismatchError(model=name, problems=told) from None

    def raise_for_status(self) -> Completed:
        """Return this outcome: it is the good one."""
        return self

    def __str__(self) -> str:
        """Say it in one sentence."""
        if self.output is not None:
            return f"completed: {shown(self.output, 200)}"
        return f"completed with {len(self.data)} values and no text"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Failed(_Outcome):
    """The peer says that it failed, or answered with an error, or was never reached."""

    status: Literal["failed"] = field(default="failed", init=False)
    error: DelegateError

    def raise_for_status(self) -> Completed:
        """Raise `error`."""
        raise self.error

    def __str__(self) -> str:
        """Say it in one sentence."""
        return f"failed: {self.error}"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Rejected(_Outcome):
    """The peer refused, before beginning where `effect` says not-started."""

    status: Literal["rejected"] = field(default="rejected", init=False)
    error: DelegateError

    def raise_for_status(self) -> Completed:
        """Raise `error`."""
        raise self.error

    def __str__(self) -> str:
        """Say it in one sentence."""
        return f"rejected: {self.error}"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Cancelled(_Outcome):
    """The caller, a sibling or the peer stopped it; `reason` is the caller's own object."""

    status: Literal["cancelled"] = field(default="cancelled", init=False)
    by: Literal["caller", "sibling", "peer"]
    reason: object = None
    receipt: CancelReceipt = CancelReceipt.NOT_NEEDED

    def raise_for_status(self) -> Completed:
        """Raise DelegationCancelledError."""
        raise DelegationCancelledError(str(self), result=self)

    def __str__(self) -> str:
        """Say it in one sentence."""
        why = f" ({shown(self.reason, 200)})" if isinstance(self.reason, str) else ""
        return f"cancelled by the {self.by}{why}; cancel at the peer: {self.receipt}"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class TimedOut(_Outcome):
    """The deadline passed with the task known and not ended.

    `last_state` is the state before our cancel, in the peer's own word if it is no known one.
    """

    status: Literal["timed-out"] = field(default="timed-out", init=False)
    last_state: str
    receipt: CancelReceipt

    def raise_for_status(self) -> Completed:
        """Raise DelegationTimeoutError."""
        raise DelegationTimeoutError(str(self), result=self)

    def __str__(self) -> str:
        """Say it in one sentence."""
        return (
            f"timed out while the task was {shown(self.last_state, 80)}; "
            f"cancel at the peer: {self.receipt}"
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class InputRequired(_Outcome):
    """The peer asks `question` and waits for the answer."""

    status: Literal["input-required"] = field(default="input-required", init=False)
    question: Message

    def raise_for_status(self) -> Completed:
        """Raise DelegationPausedError."""
        raise DelegationPausedError(str(self), result=self)

    def __str__(self) -> str:
        """Say it in one sentence."""
        return f"the peer asks: {shown(self.question)}"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class AuthRequired(_Outcome):
    """The peer needs credentials, which never go into a message; `question` says which."""

    status: Literal["auth-required"] = field(default="auth-required", init=False)
    question: Message

    def raise_for_status(self) -> Completed:
        """Raise DelegationPausedError."""
        raise DelegationPausedError(str(self), result=self)

    def __str__(self) -> str:
        """Say it in one sentence."""
        return f"the peer needs credentials: {shown(self.question)}"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Running(_Outcome):
    """The task goes on; only a look without waiting ends so."""

    status: Literal["running"] = field(default="running", init=False)
    last_state: str

    def raise_for_status(self) -> Completed:
        """Raise DelegationPausedError."""
        raise DelegationPausedError(str(self), result=self)

    def __str__(self) -> str:
        """Say it in one sentence."""
        return f"the task goes on: {shown(self.last_state, 80)}"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Unknown(_Outcome):
    """It was sent, and no answer can be had: it may have run.

    `cause` says why no answer can be had; `evidence` is what came of the reply to the send, as
    received and bounded; empty where no byte came.
    """

    status: Literal["unknown"] = field(default="unknown", init=False)
    cause: DelegateError
    evidence: bytes = field(default=b"", repr=False)

    def raise_for_status(self) -> Completed:
        """Raise UnknownEffectError from `cause`."""
        raise UnknownEffectError(str(self), result=self) from self.cause

    def __str__(self) -> str:
        """Say it in one sentence."""
        return f"unknown: {self.cause}"


DelegateResult: TypeAlias = (
    Completed
    | Failed
    | Rejected
    | Cancelled
    | TimedOut
    | InputRequired
    | AuthRequired
    | Running
    | Unknown
)
"""Every way in which a delegation ends: one closed union, to be matched on."""


_WORDS_OF_THE_PEER = frozenset({"context_id", "task_id", "question_id", "answers"})
"""Ids that may hold anything that JSON can carry, also halves of surrogate pairs."""


def _read_handle(facts: object) -> DelegationHandle:
    if not isinstance(facts, dict):
        raise TypeError("no JSON object")
    texts: dict[str, str] = {}
    for fact in fields(DelegationHandle):
        text = facts.get(fact.name)
        if text is None and fact.default is not MISSING:
            continue
        if not isinstance(text, str):
            raise TypeError(f"{fact.name} must be text")
        if fact.name not in _WORDS_OF_THE_PEER:
            text.encode()  # a ValueError for what UTF-8 cannot carry
        texts[fact.name] = text
    if "@" in urlsplit(texts["endpoint"]).netloc:
        # No handle of ours has one, and it would be shown where handles are.
        raise ValueError("its endpoint holds user information")
    sent_at = datetime.fromisoformat(texts.pop("sent_at"))
    if sent_at.tzinfo is None:
        raise ValueError("sent_at must say its offset from UTC")
    return DelegationHandle(sent_at=sent_at.astimezone(UTC), **texts)


def _unfenced(output: str) -> str:
    """Return what stands in the one code fence that an output is, else the output."""
    first, line_break, rest = output.strip().partition("\n")
    fenced = line_break and first.strip().lower() in {"```", "```json"} and rest.endswith("```")
    return rest.removesuffix("```") if fenced else output


def _candidates(data: tuple[JSON, ...], output: str | None) -> Iterator[JSON]:
    yield from data
    if output is not None:
        try:
            yield json.loads(_unfenced(output))
        except (ValueError, RecursionError):
            return


_ID = 80
"""Characters of an id that a `repr` shows: peers may choose longer ones than anybody can read."""


def _names(result: _Outcome) -> Iterator[str]:
    yield type(result).__name__
    yield f"effect={result.effect}"
    if isinstance(result, Failed | Rejected):
        yield f"error={type(result.error).__name__}"
    if isinstance(result, Unknown):
        yield f"cause={type(result.cause).__name__}"
    handle = result.handle
    ids: dict[str, str | None] = {"delegate": result.delegate_id}
    if handle is not None:
        ids |= {"message": handle.message_id, "task": handle.task_id, "context": handle.context_id}
    yield from [f"{name}={shown(one, _ID)!r}" for name, one in ids.items() if one is not None]
    yield f"attempts={len(result.attempts)}"
    if result.late:
        yield "late"


def _proof(result: _Outcome) -> str:
    """Say what the effect rests on; without a handle nothing left this process."""
    left = result.handle is not None
    match result.effect:
        case Effect.NOT_STARTED:
            return "the peer refused before it began" if left else "no byte of the message left"
        case Effect.MAY_HAVE_RUN:
            return "the message left, and nothing proves that the peer did not begin"
        case Effect.RAN:
            return "the peer showed a task or a message of its own" if left else "it was called"
        case _:
            assert_never(result.effect)


def _explanation(result: _Outcome) -> Iterator[str]:
    yield str(result) + (" (late: after a cancel or a deadline)" if result.late else "")
    yield f"effect: {result.effect} ({_proof(result)})"
    for one in result.attempts:
        status = "" if one.http_status is None else f", HTTP {one.http_status}"
        # A request that was answered without a body had none.
        unsent = "" if one.http_status is not None else ", no byte left"
        body = ", the body left" if one.body_left else unsent
        yield (
            f"{one.started_at:%H:%M:%S.%f}Z  {one.number}. {one.operation} ({one.version}): "
            f"{one.outcome}{status}{body}, {one.seconds:.3f} s"
        )
    handle = result.handle
    if handle is not None:
        # The id is the peer's word: it must not tell lines of its own.
        task = "not known" if handle.task_id is None else shown(handle.task_id, 200)
        yield f"message {handle.message_id}, task {task}"
