"""The commands, from the words of the shell to the exit status."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeVar

import anyio

from a2a_delegate.cli.card_view import Looked, card_object, card_text, judge
from a2a_delegate.cli.delegating import Errand, Refused, call_off, delegate, look, take_up
from a2a_delegate.cli.exit_status import (
    ExitStatus,
    status_of,
    status_of_receipt,
    status_of_refusal,
)
from a2a_delegate.cli.headers import Hiding, read_headers
from a2a_delegate.cli.inputs import read_handle, read_parts, read_prompt
from a2a_delegate.cli.interruption import interruptible
from a2a_delegate.cli.kept_handle import KeptHandle
from a2a_delegate.cli.next_step import Way
from a2a_delegate.cli.outcome_json import hidden, outcome_object, spell
from a2a_delegate.cli.progress import Telling, both
from a2a_delegate.cli.report import report, report_receipt, report_refusal, written
from a2a_delegate.cli.saved import Saved, make_directory, save_files
from a2a_delegate.cli.terminal import Screen, write_answer
from a2a_delegate.delegate import DelegateRequest, check_seconds
from a2a_delegate.errors import UnsafeEndpointError, UsageError
from a2a_delegate.lifecycle.verdict import receipt_of
from a2a_delegate.peer.origins import BoundOrigins, origin_of
from a2a_delegate.runtime.config import A2ADelegateConfig

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from pathlib import Path

    from a2a_delegate.delegate import CancelToken, Observer
    from a2a_delegate.outcome import DelegateResult, DelegationHandle

    Attended = Callable[[CancelToken, Observer], Awaitable["T"]]

T = TypeVar("T")

_LOOKING, _SENDING, _ASKING = "looking for the agent's card", "sending", "asking the agent"


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """What every command that talks to an agent is given, as it was typed.

    `url` is empty where only a handle says where to go; `headers` are `Name: value`; `timeout` is
    in seconds, 0 for no bound; `save` the directory for the files, None to leave them.
    """

    url: str
    json: bool
    headers: Sequence[str]
    timeout: float
    allowed_origins: tuple[str, ...]
    extensions: tuple[str, ...] = ()
    explain: bool = False
    save: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Following:
    """How a task is followed, as it was typed; times in seconds."""

    watch: Literal["auto", "stream", "poll"]
    poll_interval: float
    auth_required: Literal["return", "wait"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What `send` delegates and how, as it was typed."""

    prompt: str
    data: Sequence[str]
    files: Sequence[Path]
    continues: str | None
    context_id: str | None
    allow_downgrade: bool
    save_handle: Path | None = None


def show_card(call: Call) -> ExitStatus:
    """Print an agent's card, and what of it would be used; return the exit status."""
    screen = Screen()
    try:
        errand = _errand(call, screen)
        telling = _telling(screen, opening=_LOOKING, errand=_LOOKING)
        found = _attended(lambda token, _: look(errand, token), telling, screen)
        if isinstance(found, Refused):
            looked = Looked(call.url, error=found.error)
        else:
            looked = judge(
                call.url,
                found,
                allowed_origins=call.allowed_origins,
                extensions=call.extensions,
            )
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
    return written(status, lost, screen)


def send_request(call: Call, work: Work, following: Following) -> ExitStatus:
    """Delegate the work, print its outcome and return the exit status."""
    screen = Screen()
    kept = KeptHandle(work.save_handle)
    outcome: DelegateResult | Refused
    try:
        errand = _errand(call, screen)
        config = _config(call, following, allow_downgrade=work.allow_downgrade)
        request = _request(work)
        make_directory(call.save)
        opening = _LOOKING if request.continues is None else _SENDING
        with kept:
            outcome = _attended(
                lambda token, observer: delegate(
                    errand, request, token, config=config, observer=both(kept.observe, observer)
                ),
                _telling(screen, opening=opening, errand=_SENDING),
                screen,
                stopping=_cancelling(config),
                way=_way(call),
            )
    except UsageError as error:
        outcome = Refused(error)
    return written(_finished(outcome, call, screen), kept.lost, screen, what="handle")


def resume_handle(call: Call, word: str, following: Following, *, wait: bool) -> ExitStatus:
    """Take up what a handle stands for, print its outcome and return the exit status."""
    screen = Screen()
    handle: DelegationHandle | None = None
    outcome: DelegateResult | Refused
    try:
        handle = read_handle(word)
        errand = _errand_of(handle, call, screen)
        config, taken_up = _config(call, following), handle
        make_directory(call.save)
        outcome = _attended(
            lambda token, observer: take_up(
                errand, taken_up, token, config=config, observer=observer, wait=wait
            ),
            _telling(screen, opening=_ASKING, errand=_ASKING),
            screen,
            stopping=_cancelling(config) if wait else "looking no further; the task is left alone",
            way=_way(call),
        )
    except UsageError as error:
        outcome = Refused(error, begun=True, handle=handle)
    return _finished(outcome, call, screen)


def cancel_handle(call: Call, word: str) -> ExitStatus:
    """Stop what a handle stands for, print the receipt and return the exit status."""
    screen = Screen()
    handle: DelegationHandle | None = None
    outcome: DelegateResult | Refused
    try:
        handle = read_handle(word)
        errand = _errand_of(handle, call, screen)
        config, stopped = _config_of_cancel(call), handle
        outcome = _attended(
            lambda token, observer: call_off(
                errand, stopped, token, config=config, observer=observer
            ),
            _telling(screen, opening=_ASKING, errand=_ASKING),
            screen,
            stopping=f"already {_cancelling(config)}",
            way=_way(call),
        )
    except UsageError as error:
        outcome = Refused(error, begun=True, handle=handle)
    if isinstance(outcome, Refused):
        return _finished(outcome, call, screen)
    return _receipted(outcome, call, screen)


def _errand(call: Call, screen: Screen) -> Errand:
    """Check what was typed, before anything is sent. Raises UsageError."""
    headers = read_headers(call.headers)
    screen.hide = Hiding(headers)
    check_seconds("timeout", call.timeout, zero=True)
    BoundOrigins(None, call.allowed_origins)
    return Errand(url=call.url, headers=headers, timeout=call.timeout or None)


def _errand_of(handle: DelegationHandle, call: Call, screen: Screen) -> Errand:
    """Check what was typed with a handle, before anything is sent. Raises UsageError.

    A handle is data, from a file or another process: where the user's secrets may go it does not
    say (law 8).
    """
    errand = _errand(call, screen)
    if errand.headers and not call.url:
        try:
            there = str(origin_of(handle.endpoint))
        except UnsafeEndpointError:
            there = "URL"
        raise UsageError(
            "a handle alone does not say where your headers may go: "
            f"add --url {there} if that is the agent that you mean"
        )
    return errand


def _config(
    call: Call, following: Following, *, allow_downgrade: bool = False
) -> A2ADelegateConfig:
    """Make the configuration. Raises UsageError."""
    slowest = A2ADelegateConfig().poll_interval_max
    return A2ADelegateConfig(
        watch=following.watch,
        poll_interval=following.poll_interval,
        poll_interval_max=max(following.poll_interval, slowest),
        allowed_origins=call.allowed_origins,
        extensions=call.extensions,
        allow_downgrade=allow_downgrade,
        auth_required=following.auth_required,
    )


def _config_of_cancel(call: Call) -> A2ADelegateConfig:
    return A2ADelegateConfig(allowed_origins=call.allowed_origins, extensions=call.extensions)


def _way(call: Call) -> Way:
    return Way(call.url, with_headers=bool(call.headers))


def _cancelling(config: A2ADelegateConfig) -> str:
    return f"cancelling, which takes at most {config.timing.cleanup:g} s"


def _request(work: Work) -> DelegateRequest:
    """Read what is to be sent. Raises UsageError."""
    if work.prompt == work.continues == "-":
        raise UsageError("standard input is read once: give the prompt or the handle otherwise")
    prompt, parts = read_prompt(work.prompt), read_parts(work.data, work.files)
    if not prompt and not parts:
        raise UsageError("there is nothing to send: give a PROMPT, --data or --file")
    handle = None if work.continues is None else read_handle(work.continues)
    return DelegateRequest(
        prompt,
        parts=parts,
        continues=handle,
        context_id=work.context_id,
        principal=None if handle is None else handle.principal,
    )


def _telling(screen: Screen, *, opening: str, errand: str) -> Telling:
    return Telling(clock=time.monotonic, say=screen.say, opening=opening, errand=errand)


def _attended(
    work: Attended[T],
    telling: Telling,
    screen: Screen,
    *,
    stopping: str = "cancelling",
    way: Way | None = None,
) -> T:
    """Do the work on an event loop, showing how it goes, until a signal says otherwise.

    `stopping` is said at the first signal; `way` helps to say at the second how to go on.
    """

    def stop(name: str) -> None:
        telling.stopping()
        screen.say(f"{name}: {stopping}; once more ends at once")

    def leave() -> None:
        screen.say("ended at once: whether the agent stopped is not known, it may still be working")
        if way is not None and telling.handle is not None:
            screen.say(way.to_look_again(telling.handle, waiting=False))
        screen.close()

    async def attend() -> T:
        return await interruptible(
            lambda token: work(token, telling.observe), on_first=stop, on_second=leave
        )

    with screen.showing(telling.line, telling.text):
        return anyio.run(attend)


def _finished(outcome: DelegateResult | Refused, call: Call, screen: Screen) -> ExitStatus:
    """Save its files and tell an outcome in the form that was asked for."""
    lost, saved = None, Saved()
    if isinstance(outcome, Refused):
        result, status = outcome.result, status_of_refusal(outcome.error)
    else:
        result, status = outcome, status_of(outcome)
        saved = save_files(outcome, call.save)
    if call.json:
        lost = write_answer(spell(outcome_object(result, hide=screen.hide, files=saved.paths)))
    elif isinstance(outcome, Refused):
        report_refusal(outcome.error, screen)
    else:
        lost = report(outcome, screen, _way(call), saved, explain=call.explain)
    return written(written(status, saved.lost, screen, what="files"), lost, screen)


def _receipted(outcome: DelegateResult, call: Call, screen: Screen) -> ExitStatus:
    """Tell what came of a cancel, in the form that was asked for."""
    receipt = receipt_of(outcome)
    if call.json:
        told = outcome_object(outcome, hide=screen.hide) | {"receipt": str(receipt)}
        lost = write_answer(spell(told))
    else:
        lost = report_receipt(receipt, outcome, screen, _way(call), explain=call.explain)
    return written(status_of_receipt(receipt), lost, screen)
