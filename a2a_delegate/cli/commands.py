"""The commands, from the words of the shell to the exit status."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import anyio

from a2a_delegate.cli.card_view import Looked, card_object, card_text, judge
from a2a_delegate.cli.delegating import Errand, Refused, delegate, look
from a2a_delegate.cli.exit_status import ExitStatus, status_of, status_of_refusal
from a2a_delegate.cli.headers import Hiding, read_headers
from a2a_delegate.cli.inputs import read_parts, read_prompt
from a2a_delegate.cli.interruption import interruptible
from a2a_delegate.cli.outcome_json import hidden, outcome_object, spell
from a2a_delegate.cli.progress import Telling
from a2a_delegate.cli.report import report, report_lost, report_refusal
from a2a_delegate.cli.terminal import Screen, write_answer
from a2a_delegate.delegate import DelegateRequest, check_seconds
from a2a_delegate.errors import UsageError
from a2a_delegate.peer.origins import BoundOrigins
from a2a_delegate.runtime.config import A2ADelegateConfig

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from pathlib import Path

    from a2a_delegate.delegate import CancelToken, Observer
    from a2a_delegate.outcome import DelegateResult

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """What every command that talks to an agent is given, as it was typed.

    `headers` are `Name: value`; `timeout` is in seconds, 0 for no bound.
    """

    url: str
    json: bool
    headers: Sequence[str]
    timeout: float
    allowed_origins: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What `send` delegates and how, as it was typed; times in seconds."""

    prompt: str
    data: Sequence[str]
    files: Sequence[Path]
    context_id: str | None
    poll_interval: float
    allow_downgrade: bool


def show_card(call: Call) -> ExitStatus:
    """Print an agent's card, and what of it would be used; return the exit status."""
    screen = Screen()
    try:
        errand = _errand(call, screen)
        found = _attended(lambda token, _: look(errand, token), screen, cleanup=0.0)
        if isinstance(found, Refused):
            looked = Looked(call.url, error=found.error)
        else:
            looked = judge(call.url, found, allowed_origins=call.allowed_origins)
    except UsageError as error:
        looked = Looked(call.url, error=error)
    return _shown(looked, call, screen)


def _shown(looked: Looked, call: Call, screen: Screen) -> ExitStatus:
    """Tell what came of looking at a card, in the form that was asked for."""
    lost = None
    if call.json:
        lost = write_answer(spell(hidden(card_object(looked), screen.hide)))
    else:
        if looked.card is not None:
            lost = write_answer(screen.hide(card_text(looked.card, looked.why_not)))
        if looked.error is not None:
            report_refusal(looked.error, screen)
    status = ExitStatus.COMPLETED if looked.error is None else status_of_refusal(looked.error)
    return _written(status, lost, screen)


def send_request(call: Call, work: Work, *, explain: bool) -> ExitStatus:
    """Delegate the work, print its outcome and return the exit status."""
    screen = Screen()
    outcome: DelegateResult | Refused
    try:
        errand = _errand(call, screen)
        config = A2ADelegateConfig(
            poll_interval=work.poll_interval,
            poll_interval_max=max(work.poll_interval, A2ADelegateConfig().poll_interval_max),
            allowed_origins=call.allowed_origins,
            allow_downgrade=work.allow_downgrade,
        )
        request = _request(work)
        outcome = _attended(
            lambda token, observer: delegate(
                errand, request, token, config=config, observer=observer
            ),
            screen,
            cleanup=config.timing.cleanup,
        )
    except UsageError as error:
        outcome = Refused(error)
    return _finished(outcome, call, screen, explain=explain)


def _errand(call: Call, screen: Screen) -> Errand:
    """Check what was typed, before anything is sent. Raises UsageError."""
    headers = read_headers(call.headers)
    screen.hide = Hiding(headers)
    check_seconds("timeout", call.timeout, zero=True)
    BoundOrigins(None, call.allowed_origins)
    return Errand(url=call.url, headers=headers, timeout=call.timeout or None)


def _request(work: Work) -> DelegateRequest:
    """Read what is to be sent. Raises UsageError."""
    prompt, parts = read_prompt(work.prompt), read_parts(work.data, work.files)
    if not prompt and not parts:
        raise UsageError("there is nothing to send: give a PROMPT, --data or --file")
    return DelegateRequest(prompt, parts=parts, context_id=work.context_id)


def _attended(
    work: Callable[[CancelToken, Observer], Awaitable[T]], screen: Screen, *, cleanup: float
) -> T:
    """Do the work on an event loop, showing how it goes, until a signal says otherwise."""
    telling = Telling(clock=time.monotonic, say=screen.say)

    def stop(name: str) -> None:
        telling.stopping()
        bound = f", which takes at most {cleanup:g} s" if cleanup else ""
        screen.say(f"{name}: cancelling{bound}; once more ends at once")

    def leave() -> None:
        screen.say("ended at once: whether the agent stopped is not known, it may still be working")
        screen.close()

    async def attend() -> T:
        return await interruptible(
            lambda token: work(token, telling.observe), on_first=stop, on_second=leave
        )

    with screen.showing(telling.line):
        return anyio.run(attend)


def _finished(
    outcome: DelegateResult | Refused, call: Call, screen: Screen, *, explain: bool
) -> ExitStatus:
    """Tell an outcome in the form that was asked for."""
    lost = None
    if isinstance(outcome, Refused):
        result, status = outcome.result, status_of_refusal(outcome.error)
    else:
        result, status = outcome, status_of(outcome)
    if call.json:
        lost = write_answer(spell(outcome_object(result, hide=screen.hide)))
    elif isinstance(outcome, Refused):
        report_refusal(outcome.error, screen)
    else:
        lost = report(outcome, screen, explain=explain)
    return _written(status, lost, screen)


def _written(status: ExitStatus, lost: OSError | None, screen: Screen) -> ExitStatus:
    """Return the status that is left when the answer could not be written: never a success."""
    if lost is None:
        return status
    report_lost(lost, screen)
    return ExitStatus.FAILED if status is ExitStatus.COMPLETED else status
