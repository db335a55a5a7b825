"""Writes specs/lifecycle.md and specs/verdicts.md from the code, so that they cannot be wrong.

`scripts/specs` runs it; `tests/lifecycle/test_pages.py` holds the pages to what it would write.
"""

from __future__ import annotations

import argparse
import inspect
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from a2a_delegate.lifecycle import guards, steps, table
from a2a_delegate.lifecycle.operations import FaultKind
from a2a_delegate.lifecycle.table import TABLE, Event, Phase
from a2a_delegate.outcome import Cancelled, Failed, Rejected, TimedOut, Unknown
from tests.lifecycle.replies import NEWER, OLDER, STATES, fault
from tests.lifecycle.story import Story

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from a2a_delegate.lifecycle.operations import Reply
    from a2a_delegate.outcome import DelegateResult

RENEW: Final = "scripts/specs"
MADE: Final = f"<!-- Made from the code by {RENEW}; do not edit it here. -->"


_INTRODUCTION = """\
A delegation is in one phase at a time. What is observed becomes an event; the rules of the phase
for that event are tried in order, and the first that holds says where it leads and what is done on
the way. What follows from it is in [laws.md](laws.md).
"""
_READING = """\
How a send ends, and what is said of it where nothing better comes afterwards: a list finds nothing,
whatever is repeated ends in the same way, and no other request is answered. In the last two columns
the cause came while the send was in flight, and its end within the grace. `pondering` stands for
any word that is no known state.
"""


def pages() -> dict[str, str]:
    """Return the text of each page that is made, by its name in specs/."""
    return {"lifecycle.md": lifecycle_page(), "verdicts.md": verdicts_page()}


def stale(folder: Path) -> list[str]:
    """Return the names of the pages in `folder` that are not what the code makes of them."""
    return [
        name
        for name, text in pages().items()
        if not (folder / name).exists() or (folder / name).read_text(encoding="utf-8") != text
    ]


# -- the lifecycle -------------------------------------------------------------------------------


def lifecycle_page() -> str:
    """Draw the phases, and list every rule of the table in the words of its guard and action."""
    return "\n".join([*_head(), *_diagram(), *_overview(), *_rules()]) + "\n"


def _head() -> Iterator[str]:
    yield "# The lifecycle of a delegation\n"
    yield f"{MADE}\n"
    yield _INTRODUCTION
    yield "| phase | what is true |\n|---|---|"
    for phase, words in _what_is_true().items():
        yield f"| {phase.value} | {words} |"
    yield ""


def _what_is_true() -> dict[Phase, str]:
    """Take the sentence of each phase from the theory above the table."""
    theory = re.findall(r"(?ms)^- ([A-Z_]+): (.*?)\n(?=- |\n)", table.__doc__ or "")
    return {Phase[name]: " ".join(words.split()) for name, words in theory}


def _diagram() -> Iterator[str]:
    yield "```mermaid\nstateDiagram-v2"
    yield f"    [*] --> {_node(Phase.PREPARED)}"
    for phase, cells in TABLE.items():
        edges: dict[Phase, list[str]] = {}
        for event, rules in cells.items():
            for target in dict.fromkeys(rule.to for rule in rules):
                edges.setdefault(target, []).append(event.value)
        for target, events in edges.items():
            if target is not phase:
                yield f"    {_node(phase)} --> {_node(target)}: {', '.join(events)}"
    yield f"    {_node(Phase.SETTLED)} --> [*]\n```\n"


def _node(phase: Phase) -> str:
    return phase.name.lower()


def _overview() -> Iterator[str]:
    yield "Where each event leads. An empty cell changes nothing; of several the first that holds"
    yield "is taken.\n"
    phases = [phase for phase in Phase if TABLE.get(phase)]
    yield f"| event | {' | '.join(phase.value for phase in phases)} |"
    yield "|---" * (len(phases) + 1) + "|"
    for event in Event:
        cells = [TABLE[phase].get(event, ()) for phase in phases]
        targets = [", ".join(dict.fromkeys(rule.to.value for rule in rules)) for rules in cells]
        yield f"| {event.value} | {' | '.join(targets)} |"
    yield ""


def _rules() -> Iterator[str]:
    for phase, cells in TABLE.items():
        yield f"## {phase.value.capitalize()}\n"
        yield "| event | when | leads to | what is done |\n|---|---|---|---|"
        for event, rules in cells.items():
            for place, rule in enumerate(rules):
                name = event.value if place == 0 else ""
                when = "" if rule.when is guards.always else _sentence(rule.when)
                done = "" if rule.do is steps.nothing else _sentence(rule.do)
                yield f"| {name} | {when} | {rule.to.value} | {done} |"
        yield ""


def _sentence(function: Callable[..., object]) -> str:
    """Return the first line of a docstring, as it reads in a cell."""
    line = inspect.getdoc(function) or ""
    words = line.partition("\n")[0].removeprefix("Whether ").rstrip(".")
    return words[:1].lower() + words[1:]


# -- the verdicts --------------------------------------------------------------------------------

Cause = Literal["none", "caller", "deadline"]

_DEADLINE = 600.0
_ENDS: dict[str, Reply | str | None] = {
    "no byte of the body left": "not-sent",
    "no end at all": None,
    "lost": "lost",
    "lost, and a task id in what came": "lost, id shown",
    "not understood": "unreadable",
    "not understood, and a task id in it": "unreadable, id shown",
    "a message": "message",
    **{f"a task, {state}": state for state in STATES},
    **{f"error: {kind.value}": fault(kind) for kind in FaultKind},
}


def verdicts_page() -> str:
    """Drive the machine through every end of a send, and say what comes of it."""
    return "\n".join([*_verdicts_head(), *_verdicts(lists=False), *_verdicts(lists=True)]) + "\n"


def _verdicts_head() -> Iterator[str]:
    yield "# The verdict on a send\n"
    yield f"{MADE}\n"
    yield _READING


def _verdicts(*, lists: bool) -> Iterator[str]:
    can = "that lists its tasks" if lists else "that cannot list its tasks"
    yield f"## At a peer {can}\n"
    yield "| the send ended | no cause | the caller cancelled | the deadline passed |"
    yield "|---|---|---|---|"
    for name, end in _ENDS.items():
        told = [_verdict(end, cause, lists=lists) for cause in ("none", "caller", "deadline")]
        yield f"| {name} | {' | '.join(told)} |"
    yield ""


def _verdict(end: Reply | str | None, cause: Cause, *, lists: bool) -> str:
    """Tell one story to its end."""
    if end is None and cause == "none":
        return "waited for"
    story = Story(NEWER if lists else OLDER, deadline=_DEADLINE if cause == "deadline" else None)
    story.starts()
    if end != "not-sent":
        story.body_leaves()
    if cause == "caller":
        story.caller_cancels()
    elif cause == "deadline":
        story.time_comes()
    if end is not None:
        story.ends(end)
    while not story.settled:
        if story.phase is Phase.FOLLOWING:
            return "followed" if story.asks == [] else "asked for, and followed"
        _nothing_better(story, end)
    before = "" if "list" not in story.asked else "looked up; "
    return before + _words(story.result)


def _nothing_better(story: Story, end: Reply | str | None) -> None:
    """Let what was asked for come to nothing."""
    if story.asks == ["list"]:
        story.ends("page, none")
    elif story.asks == ["send"] and end is not None:
        if end != "not-sent":
            story.body_leaves()
        story.ends(end)
    else:
        story.time_comes()


def _words(result: DelegateResult) -> str:
    inner = ""
    if isinstance(result, (Failed, Rejected)):
        inner = f"({type(result.error).__name__})"
    elif isinstance(result, Unknown):
        inner = f"({type(result.cause).__name__})"
    elif isinstance(result, Cancelled) and result.by == "peer":
        inner = "(by the peer)"
    elif isinstance(result, (Cancelled, TimedOut)):
        inner = f"({result.receipt})"
    late = ", late" if result.late else ""
    return f"{type(result).__name__}{inner}, {result.effect}{late}"


def main() -> int:
    """Write the pages, or with --check say which are stale."""
    parser = argparse.ArgumentParser(prog=RENEW, description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail where stale")
    folder = Path(__file__).parents[2] / "specs"
    if parser.parse_args().check:
        found = stale(folder)
        for name in found:
            sys.stderr.write(f"specs/{name} is stale: run {RENEW}\n")
        return bool(found)
    for name, text in pages().items():
        (folder / name).write_text(text, encoding="utf-8")
        sys.stdout.write(f"specs/{name}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
