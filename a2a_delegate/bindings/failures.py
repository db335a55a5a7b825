"""What a failed request means: the one place where errors of the libraries below are read.

The exchange decides, not the exception: no byte of the body left, so the peer never began; or some
did, and nobody can say. The exception only tells at which step it happened.
"""

from __future__ import annotations

import contextlib
import errno
import ssl
import traceback
from typing import TYPE_CHECKING

import httpx

from a2a_delegate.bindings.exchange import SealedError
from a2a_delegate.errors import LostReplyError, PeerUnreachableError
from a2a_delegate.lifecycle.operations import Lost, NotSent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from a2a_delegate.bindings.exchange import Exchange

_LINKS = 10
"""How far a chain of causes is followed."""

CLOSED = "the httpx client is closed; it must stay open as long as the delegate is used"


def failed(
    problem: Exception,
    *,
    exchange: Exchange,
    name: str,
    url: str,
    task_id: str | None = None,
    answered: bool = False,
) -> NotSent | Lost:
    """Say what an exception means for the request that it ended.

    `answered`: it had no body, and its reply had begun. `name` is the word of the operation, `url`
    where it went, `task_id` an id that the incomplete reply showed. The exception is the
    `__cause__` of the error; see `_chained`.
    """
    reason = _reason(problem)
    if exchange.body_left or answered:
        lost = LostReplyError(method=name, phase=_phase_of_loss(problem), reason=reason)
        _chained(lost, problem)
        return Lost(lost, evidence=exchange.evidence, task_id=task_id)
    unreachable = PeerUnreachableError(phase=_phase_before(problem), url=url, reason=reason)
    _chained(unreachable, problem)
    return NotSent(unreachable)


def may_pass(problem: BaseException | None) -> bool:
    """Tell whether the same request may fare better soon: the network failed, and not the call."""
    return (
        isinstance(problem, httpx.NetworkError | httpx.TimeoutException | httpx.RemoteProtocolError)
        and _phase_before(problem) != "tls"
    )


def spoke(problem: BaseException | None) -> bool:
    """Tell whether the peer did send something, though nothing that can be used as HTTP.

    httpx has one exception for a peer that hangs up in silence and for one that answers with
    garbage; only the latter is made of what the parser found. And since the URL that is asked has
    been read before, a URL that is invalid stands in a redirect of the peer's.
    """
    return isinstance(problem, httpx.RemoteProtocolError | httpx.InvalidURL) and any(
        isinstance(link, httpx.InvalidURL) or type(link).__module__.startswith("h11")
        for link in _chain(problem)
    )


def _chained(error: Exception, problem: Exception) -> None:
    # The parser quotes the header that it refuses, and a header may be a credential.
    if not isinstance(problem, httpx.LocalProtocolError):
        _lighten(problem)
        error.__cause__ = problem


def _lighten(problem: BaseException) -> None:
    """Let an error say what happened and where, and hold no more of the request than its address.

    It may be kept for long in an outcome, and what it holds may be shown: the body may be large,
    and headers are secret.
    """
    if problem.__traceback__ is not None:
        # The frame of whoever caught it, which is still at work.
        problem.__traceback__ = problem.__traceback__.tb_next
    for link in _chain(problem):
        traceback.clear_frames(link.__traceback__)
        if isinstance(link, httpx.RequestError):
            with contextlib.suppress(RuntimeError):  # it knows of none
                link.request = httpx.Request(link.request.method, link.request.url)


def _reason(problem: Exception) -> str:
    if isinstance(problem, httpx.LocalProtocolError):
        return "a header or the address cannot be sent as HTTP"
    if isinstance(problem, SealedError):
        return "the delegation had ended before the request left"
    words: list[str] = []
    for link in _chain(problem):
        text = _text_of(link)
        if text and not any(text in more for more in words):
            words.append(text)
    return ": ".join(words) or type(problem).__name__


def _text_of(problem: BaseException) -> str:
    try:
        return str(problem)
    except Exception:  # noqa: BLE001 - an error of somebody else's, whose text is none
        return ""


def _phase_before(problem: BaseException) -> str:
    if isinstance(problem, httpx.PoolTimeout) or _out_of_files(problem):
        return "queue"
    if isinstance(problem, httpx.WriteError | httpx.WriteTimeout | SealedError):
        return "write"
    # Both loops hide the error of a handshake behind one of a stream, but keep it as its context.
    if isinstance(problem, httpx.ConnectError) and any(
        isinstance(link, ssl.SSLError) for link in _chain(problem)
    ):
        return "tls"
    return "connect"


def _out_of_files(problem: BaseException) -> bool:
    """Tell whether it was this machine that had no room for one more connection.

    Whoever tries several addresses puts the errors of all of them into a group.
    """
    return any(
        isinstance(one, OSError) and one.errno in {errno.EMFILE, errno.ENFILE}
        for link in _chain(problem)
        for one in (link.exceptions if isinstance(link, BaseExceptionGroup) else (link,))
    )


def _phase_of_loss(problem: Exception) -> str:
    return "write" if isinstance(problem, httpx.WriteError | httpx.WriteTimeout) else "read"


def _chain(problem: BaseException) -> Iterator[BaseException]:
    link: BaseException | None = problem
    for _ in range(_LINKS):
        if link is None:
            return
        yield link
        link = link.__cause__ or link.__context__
