"""An outcome for a person: the answer on standard output, everything else on standard error."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from a2a_delegate.cli.exit_status import ExitStatus
from a2a_delegate.cli.terminal import write_answer
from a2a_delegate.errors import UsageError
from a2a_delegate.model.part import DataPart, FilePart
from a2a_delegate.outcome import AuthRequired, CancelReceipt, Completed, InputRequired, Running

if TYPE_CHECKING:
    from collections.abc import Sequence

    from a2a_delegate.cli.next_step import Way
    from a2a_delegate.cli.saved import Saved
    from a2a_delegate.cli.terminal import Screen
    from a2a_delegate.errors import DelegateError
    from a2a_delegate.outcome import DelegateResult

_GOOD, _ASKS, _BAD = "green", "yellow", "bold red"

# How the library's sentence says it is Python; on the command line it is an option.
_OPTIONS = (
    (re.compile(r'allowed_origins=\("([^"]*)",\)'), r"--allow-origin \1"),
    (re.compile(r'watch="(\w+)"'), r"--watch \1"),
)


def report(
    result: DelegateResult, screen: Screen, way: Way, saved: Saved, *, explain: bool
) -> OSError | None:
    """Tell an outcome; return what kept the answer from being written, None for nothing.

    A plain success says nothing but the answer and the files that were saved, except on a terminal
    and where `explain` asks.
    """
    lost = None
    if isinstance(result, Completed):
        answer = _answer(result)
        lost = None if answer is None else write_answer(answer)
    plain = isinstance(result, Completed) and not result.late
    if explain or not plain:
        screen.say(in_options(result.explain()), style=_style_of(result, plain=plain))
    elif screen.is_terminal:
        screen.say(f"{result.status}; effect: {result.effect}", style=_GOOD)
    for line in _further(result, saved):
        screen.say(line)
    _say_next_step(result, screen, way)
    return lost


def _style_of(result: DelegateResult, *, plain: bool) -> str:
    """Return how an explained outcome looks on a terminal: a question, or work, is no failure."""
    if plain:
        return ""
    return _ASKS if isinstance(result, InputRequired | AuthRequired | Running) else _BAD


def report_receipt(
    receipt: CancelReceipt, result: DelegateResult, screen: Screen, way: Way, *, explain: bool
) -> OSError | None:
    """Tell the receipt of a cancel by handle; the outcome besides where it is not confirmed."""
    lost = write_answer(str(receipt))
    plain = receipt is CancelReceipt.CONFIRMED
    if explain or not plain:
        good = plain or receipt is CancelReceipt.NOT_NEEDED
        screen.say(in_options(result.explain()), style="" if good else _BAD)
    _say_next_step(result, screen, way)
    return lost


def _say_next_step(result: DelegateResult, screen: Screen, way: Way) -> None:
    line = way.next_step(result)
    if line is not None:
        screen.say(line)


def report_refusal(error: DelegateError, screen: Screen) -> None:
    """Tell why nothing was delegated."""
    what = "wrong usage" if isinstance(error, UsageError) else "nothing was sent"
    screen.say(f"{what}: {in_options(str(error))}", style=_BAD)


def written(
    status: ExitStatus, lost: OSError | None, screen: Screen, *, what: str = "answer"
) -> ExitStatus:
    """Return the exit status, and tell what kept the answer from being written: no success then."""
    if lost is None:
        return status
    screen.say(f"the {what} could not be written: {lost.strerror or lost}", style=_BAD)
    return ExitStatus.FAILED if status is ExitStatus.COMPLETED else status


def in_options(sentence: str) -> str:
    """Return a sentence of the library with its advice in the words of the command line."""
    for written, option in _OPTIONS:
        sentence = written.sub(option, sentence)
    return sentence


def _answer(result: Completed) -> str | None:
    """Return the text of the answer; where it has only data, that as JSON, one value a line."""
    if result.output is not None:
        return result.output
    if result.data:
        return "\n".join(json.dumps(value, ensure_ascii=False) for value in result.data)
    return None


def _further(result: DelegateResult, saved: Saved) -> list[str]:
    """Return what else a person needs in order to go on."""
    told = [f"saved: {path}" for path in saved.paths]
    if isinstance(result, InputRequired | AuthRequired) and result.question.text:
        told.append(f"question:\n{result.question.text}")
    if isinstance(result, Completed) and _answer(result) is None:
        empty = not (result.artifacts or result.files)
        told.append("the answer is empty" if empty else "the answer has no text")
    partial = _made_so_far(result)
    if partial:
        told.append(f"made so far:\n{partial}")
    left_out = _left_out(result)
    if left_out:
        told.append(f"not shown here: {', '.join(left_out)}; --json shows them")
    files = sum(part.content is not None for part in result.files)
    if files and not saved.asked:
        told.append(f"not shown here: {_counted(files, 'file')}; --save DIR saves them")
    return told


def _left_out(result: DelegateResult) -> list[str]:
    """Name the parts of the artifacts that are neither in the text nor files to be saved."""
    parts = [part for artifact in result.artifacts for part in artifact.parts]
    shown_data = isinstance(result, Completed) and result.output is None
    counts = {
        "data part": 0 if shown_data else _count(parts, DataPart),
        "file URL": sum(isinstance(part, FilePart) and part.url is not None for part in parts),
    }
    return [_counted(count, kind) for kind, count in counts.items() if count]


def _made_so_far(result: DelegateResult) -> str:
    """Return the text that the task had made when it ended otherwise than it should."""
    if isinstance(result, Completed):
        return ""
    return "\n\n".join(artifact.text for artifact in result.artifacts if artifact.text)


def _count(parts: Sequence[object], kind: type) -> int:
    return sum(isinstance(part, kind) for part in parts)


def _counted(count: int, kind: str) -> str:
    return f"{count} {kind}{'s'[: count > 1]}"
