"""Every error of the package, in one tree, grouped by what the caller does next.

::

    DelegateError
    ├── UsageError                         fix your call
    │   ├── DelegateCapabilityError        this delegate does not offer that
    │   └── DelegateCapabilityMismatchError
    ├── InvalidAgentCardError              choose another peer, or mend its card
    ├── A2AProtocolMismatchError
    ├── UnsafeEndpointError
    ├── PeerUnreachableError               nothing was sent: repeat when the peer is up
    ├── A2ARequestError                    the peer answered, and said no
    ├── TaskFailedError                    the peer worked, and failed
    ├── InvalidReplyError                  something came that is no answer
    ├── LostReplyError                     no answer came, though the request left
    ├── OutputMismatchError                the answer is not of the type that you asked for
    ├── UnknownEffectError                 look again before you repeat
    ├── DelegationPausedError              answer the peer, or wait
    ├── DelegationCancelledError
    └── DelegationTimeoutError

Facts are attributes; the sentence is made from them, so no caller needs to read text.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

if TYPE_CHECKING:
    from collections.abc import Callable

_SHOWN = 500
"""Characters of a peer's text that a sentence shows; peers put whole stack traces there."""


def shown(text: object, limit: int = _SHOWN) -> str:
    """Make a peer's text fit for one line of a log or a terminal: printable and bounded."""
    line = "".join(ch if ch.isprintable() else " " for ch in str(text)[: limit + 1])
    return line if len(line) <= limit else line[: limit - 1] + "…"


def public_url(url: str) -> str:
    """Return `url` without user information and query: the parts in which secrets are kept."""
    if "//" not in url:
        # Typed without a scheme: what stands before an @ is user information all the same.
        authority, slash, rest = url.partition("/")
        url = authority.rpartition("@")[2] + slash + rest
    try:
        parts = urlsplit(url)
        host = parts.netloc.rpartition("@")[2]
        return shown(urlunsplit((parts.scheme, host, parts.path, "…" if parts.query else "", "")))
    except ValueError:
        return "(an address that cannot be read)"


def _revive(
    kind: type[DelegateError], args: tuple[object, ...], facts: dict[str, object]
) -> DelegateError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(facts)
    return error


class DelegateError(Exception):
    """The root: whatever this package raises, or puts into an outcome, is one of these."""

    def __reduce__(
        self,
    ) -> tuple[
        Callable[..., DelegateError],
        tuple[type[DelegateError], tuple[object, ...], dict[str, object]],
    ]:
        """Pickle by facts: the constructors take keywords, which the default cannot replay."""
        return _revive, (type(self), self.args, dict(self.__dict__))


class UsageError(DelegateError):
    """The call itself is wrong; nothing was sent. The sentence says what to change."""


class DelegateCapabilityError(UsageError):
    """A delegate was asked for something that its `capabilities` do not claim."""

    def __init__(self, *, delegate_id: str, capability: str) -> None:
        self.delegate_id = delegate_id
        self.capability = capability
        super().__init__(
            f"delegate {delegate_id!r} does not offer {capability!r}; see its capabilities"
        )


class DelegateCapabilityMismatchError(UsageError):
    """A delegate claims a capability and has no method for it; found when it is wired."""

    def __init__(self, *, delegate_id: str, capability: str) -> None:
        self.delegate_id = delegate_id
        self.capability = capability
        super().__init__(
            f"delegate {delegate_id!r} claims {capability!r} but has no working method for it"
        )


class CardProblem(StrEnum):
    """What is wrong with an agent card; the reason beside it says it in a sentence."""

    NOT_A_CARD = "not-a-card"
    NO_USABLE_INTERFACE = "no-usable-interface"
    BAD_URL = "bad-url"
    EXTENSION_REQUIRED = "extension-required"


class InvalidAgentCardError(DelegateError):
    """What stands at the address is no agent card that can be used.

    `url` was asked, `reason` says what is wrong with the answer, `status` is the HTTP status
    where one came, `problem` tells the cases apart for a program.
    """

    def __init__(
        self,
        *,
        url: str,
        reason: str,
        status: int | None = None,
        problem: CardProblem = CardProblem.NOT_A_CARD,
    ) -> None:
        self.url = public_url(url)
        self.reason = shown(reason)
        self.status = status
        self.problem = problem
        answer = "" if status is None else f" (HTTP {status})"
        super().__init__(f"no usable agent card at {self.url}{answer}: {self.reason}")


class A2AProtocolMismatchError(DelegateError):
    """The peer offers no protocol version that is spoken here; compared on major.minor.

    `theirs` lists what the card offers, `ours` what this package speaks today.
    """

    def __init__(self, *, url: str, theirs: tuple[str, ...], ours: tuple[str, ...]) -> None:
        self.url = public_url(url)
        self.theirs = tuple(shown(one, 40) for one in theirs)
        self.ours = ours
        super().__init__(
            f"{self.url} offers {', '.join(self.theirs) or 'no version'}; "
            f"this client speaks {', '.join(ours)}"
        )


class UnsafeEndpointError(DelegateError):
    """An address that the caller did not bind: nothing, and no credential, goes there."""

    def __init__(self, *, url: str, reason: str) -> None:
        self.url = public_url(url)
        self.reason = reason
        super().__init__(f"refused to talk to {self.url}: {reason}")


class PeerUnreachableError(DelegateError):
    """No byte of the request reached the peer.

    `phase`: `card`, `queue`, `connect`, `tls`, `write` or `deadline`; the library's own error,
    where there is one, is the `__cause__`.
    """

    def __init__(self, *, phase: str, url: str, reason: str = "") -> None:
        self.phase = phase
        self.url = public_url(url)
        self.reason = shown(reason)
        why = f": {self.reason}" if reason else ""
        super().__init__(f"{self.url} could not be reached ({phase}){why}")


class A2ARequestError(DelegateError):
    """The peer answered a request with an error.

    `method` is the operation, `status` the HTTP status, `code` the JSON-RPC code, `reason` the
    `google.rpc.ErrorInfo` reason, `message` the peer's words, `retry_after` seconds; each None
    where the peer said nothing. `task_id` is the task that the request named, None where it named
    none.
    """

    def __init__(
        self,
        *,
        method: str,
        status: int | None = None,
        code: int | None = None,
        reason: str | None = None,
        message: str = "",
        retry_after: float | None = None,
        task_id: str | None = None,
    ) -> None:
        self.method = method
        self.status = status
        self.code = code
        self.reason = None if reason is None else shown(reason, 100)
        self.message = shown(message)
        self.retry_after = retry_after
        self.task_id = task_id
        facts = [f"HTTP {status}" if status is not None else "", str(code) if code else ""]
        where = ", ".join([fact for fact in (*facts, self.reason or "") if fact])
        words = f": {self.message}" if message else ""
        super().__init__(f"{method} was answered with an error ({where or 'no code'}){words}")


class InvalidReplyError(DelegateError):
    """Bytes came that are no answer to the request; they are kept in the outcome's evidence."""

    def __init__(self, *, method: str, reason: str, status: int | None = None) -> None:
        self.method = method
        self.reason = shown(reason)
        self.status = status
        answer = "" if status is None else f" (HTTP {status})"
        super().__init__(f"the reply to {method}{answer} was not understood: {self.reason}")


_LOSSES = {
    "write": "the line was cut before all of it had",
    "read": "the line was cut before a complete answer came",
    "idle": "the stream that came fell silent",
    "deadline": "the deadline passed before a complete answer came",
    "cancel": "it was cancelled before a complete answer came",
    "resume": "no answer to it is known",
}


class LostReplyError(DelegateError):
    """The request left, or part of it, and no complete answer came back.

    `phase`: `write` (cut while it was being sent), `read` (cut before or within the reply),
    `idle` (a stream fell silent), `deadline` or `cancel` (we stopped waiting), `resume` (it was
    lost before, and not found again).
    """

    def __init__(self, *, method: str, phase: str, reason: str = "") -> None:
        self.method = method
        self.phase = phase
        self.reason = shown(reason)
        how = _LOSSES.get(phase, "no complete answer came")
        why = f": {self.reason}" if reason else ""
        super().__init__(f"the {method} left, and {how}{why}")


class TaskFailedError(DelegateError):
    """The peer's task ended as failed or rejected; `text` is what the peer says about it."""

    def __init__(self, *, task_id: str | None, state: str, text: str = "") -> None:
        self.task_id = task_id
        self.state = state
        self.text = text
        words = f": {shown(text)}" if text else ""
        task = "(no id)" if task_id is None else shown(task_id, 200)
        super().__init__(f"the peer's task {task} ended as {state}{words}")


class OutputMismatchError(DelegateError):
    """A completed answer does not validate as the model that was asked for.

    `model` is its name, `problems` one sentence each.
    """

    def __init__(self, *, model: str, problems: tuple[str, ...]) -> None:
        self.model = model
        self.problems = problems
        super().__init__(f"the answer is no {model}: {'; '.join(problems[:3])}")


class _StoppedError(DelegateError):
    """Shared by what `raise_for_status` raises for an outcome that is no answer.

    `result` is that outcome, so that an `except` clause has the handle and the evidence.
    """

    def __init__(self, sentence: str, *, result: object) -> None:
        self.result = result
        super().__init__(sentence)


class UnknownEffectError(_StoppedError):
    """The request may have run and nobody can say; do not repeat it before looking."""


class DelegationPausedError(_StoppedError):
    """The task goes on, or waits for an answer or for credentials."""


class DelegationCancelledError(_StoppedError):
    """The delegation was stopped by the caller, a sibling or the peer."""


class DelegationTimeoutError(_StoppedError):
    """The deadline passed while the peer still worked."""
