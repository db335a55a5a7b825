"""Six delegations: the code, how each goes, what comes of it, and why that can be believed.

`scripts/demo` makes the environments and runs this. Four go to an agent on a2a-sdk 1.3, a real
server in a process of its own; two to a scripted peer that loses the reply to the send. Each is
compared with what the other side really did. The exit status is 0 only where every outcome is the
expected one, 1 where one is not, 2 where the agent cannot be started.
"""

from __future__ import annotations

import ast
import functools
import inspect
import sys
import textwrap
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
from rich.console import Console
from rich.syntax import Syntax
from rich.text import Text

from a2a_delegate import (
    A2ADelegate,
    A2ADelegateConfig,
    ArtifactChunk,
    AttemptFailed,
    CancelSent,
    CancelToken,
    DelegateResult,
    IdKnown,
    Observer,
    Progress,
    Recovered,
    Sent,
    Signal,
    StateSeen,
    connect,
    fetch_agent_card,
    open_delegation,
)
from a2a_delegate.cli.terminal import visible
from a2a_delegate.testing import DropAfterAccepting, Operation, ScriptedPeer

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from tests.interop.servers import Server, ServerError, running

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping

OFTEN = A2ADelegateConfig(poll_interval=0.3, timeout=10)


# --- the delegations: what stands in these functions is what the demo shows


async def quick(url: str, observer: Observer) -> DelegateResult:
    """Delegate a task that is done at once."""
    async with connect(url, config=OFTEN) as agent:
        return await agent.dispatch("quick", observer=observer)


async def slow(url: str, observer: Observer) -> DelegateResult:
    """Delegate a task that takes its time, and read on as it goes."""
    async with connect(url, config=OFTEN) as agent, open_delegation(agent, "slow 2") as delegation:
        async for update in delegation:
            observer(update)
        return await delegation.result()


async def cancelled(url: str, observer: Observer) -> DelegateResult:
    """Delegate a task of a minute, and stop it when it is under way."""
    token = CancelToken()

    def stop_at_work(signal: Signal) -> None:
        observer(signal)
        if isinstance(signal, StateSeen) and signal.state == "working":
            token.cancel("a better idea")

    async with connect(url, config=OFTEN) as agent:
        return await agent.dispatch("slow 60", cancel=token, observer=stop_at_work)


async def asks(url: str, observer: Observer) -> DelegateResult:
    """Delegate a task that needs an answer from its caller."""
    async with connect(url, config=OFTEN) as agent:
        return await agent.dispatch("ask", observer=observer)


async def recovered(peer: ScriptedPeer, observer: Observer) -> DelegateResult:
    """Lose the reply of a peer that can list its tasks."""
    peer.script(Operation.SEND, DropAfterAccepting())  # it begins the work, and its reply is lost
    async with peer.client() as client:
        card = await fetch_agent_card(peer.url, client=client)
        async with A2ADelegate("lossy", card, client=client, config=OFTEN) as agent:
            return await agent.dispatch("slow 1", observer=observer)


async def unknown(peer: ScriptedPeer, observer: Observer) -> DelegateResult:
    """Lose the reply of a peer that cannot be asked for it: 0.3 has no list."""
    peer.script(Operation.SEND, DropAfterAccepting())  # it begins the work, and its reply is lost
    async with peer.client() as client:
        card = await fetch_agent_card(peer.url, client=client)
        async with A2ADelegate("lossy", card, client=client, config=OFTEN) as agent:
            return await agent.dispatch("slow 1", observer=observer)


# --- what is expected of them


@dataclass(frozen=True, slots=True)
class Demonstration:
    """One delegation, and what must come of it.

    `expected` names attributes of the outcome and what they read; `record` tells what the other
    side really did about a message, and `recorded` what it must have done.
    """

    heading: str
    run: functools.partial[Coroutine[Any, Any, DelegateResult]]
    expected: Mapping[str, str]
    record: Callable[[str], str]
    recorded: str

    @property
    def code(self) -> str:
        """The lines of the function below its docstring."""
        source = inspect.getsource(self.run.func)
        (function,) = ast.parse(source).body
        docstring = getattr(function, "body", [function])[0]
        below = "\n".join(source.splitlines()[docstring.end_lineno :])
        return textwrap.dedent(below).strip("\n")

    def wrong(self, result: DelegateResult, record: str) -> list[str]:
        """Say what is not as expected."""
        facts = {name: str(getattr(result, name, None)) for name in self.expected}
        facts["record"] = record
        wanted = {**self.expected, "record": self.recorded}
        return [
            f"{name} is {facts[name]!r} and should be {value!r}"
            for name, value in wanted.items()
            if facts[name] != value
        ]


def on_the_server(server: Server) -> list[Demonstration]:
    """Make the four that go to the real agent."""

    def record(message_id: str, *, last: str = "done") -> str:
        server.wait_for(last, message_id, within=5.0)
        return ", ".join(str(event["event"]) for event in server.events_of(message_id))

    return [
        Demonstration(
            "A quick task",
            functools.partial(quick, server.url),
            {"status": "completed", "effect": "ran", "output": "quick done"},
            record,
            "execute, done",
        ),
        Demonstration(
            "A slow task, with its progress",
            functools.partial(slow, server.url),
            {"status": "completed", "effect": "ran", "output": "slow done"},
            record,
            "execute, done",
        ),
        Demonstration(
            "A task that its caller cancels",
            functools.partial(cancelled, server.url),
            {
                "status": "cancelled",
                "effect": "ran",
                "by": "caller",
                "receipt": "confirmed",
                "reason": "a better idea",
            },
            functools.partial(record, last="cancelled"),
            "execute, cancel-asked, cancelled",
        ),
        Demonstration(
            "A task that asks",
            functools.partial(asks, server.url),
            {"status": "input-required", "effect": "ran", "question": "Which colour?"},
            record,
            "execute, done",
        ),
    ]


def on_scripted_peers() -> list[Demonstration]:
    """Make the two whose reply is lost."""
    listing, silent = ScriptedPeer(("1.0",)), ScriptedPeer(("0.3",))

    def record_of(peer: ScriptedPeer) -> Callable[[str], str]:
        return lambda message_id: f"runs of this message: {peer.truth.runs[message_id]}"

    return [
        Demonstration(
            "A lost reply of a peer that lists its tasks (1.0): found again",
            functools.partial(recovered, listing),
            {"status": "completed", "effect": "ran", "output": "result of slow 1"},
            record_of(listing),
            "runs of this message: 1",
        ),
        Demonstration(
            "A lost reply of a peer that cannot list (0.3): unknown",
            functools.partial(unknown, silent),
            {"status": "unknown", "effect": "may-have-run", "safe_to_retry": "False"},
            record_of(silent),
            "runs of this message: 1",
        ),
    ]


# --- how it is shown


@dataclass(frozen=True, slots=True)
class Page:
    """Where the demo is shown: with colours on a terminal, plain elsewhere."""

    console: Console = field(
        default_factory=lambda: Console(markup=False, emoji=False, highlight=False)
    )

    def say(self, text: str = "", *, indent: int = 0, style: str = "") -> None:
        """Write lines. What a peer may have written in them cannot steer the terminal."""
        told = textwrap.indent(visible(text), " " * indent)
        self.console.print(Text(told, style=style), soft_wrap=True)

    def show_code(self, code: str) -> None:
        """Write lines of Python."""
        coloured = Syntax("", "python", theme="ansi_dark", background_color="default")
        lines = coloured.highlight(textwrap.indent(code, " " * 4))
        lines.rstrip()
        self.console.print(lines, soft_wrap=True)

    def show_outcome(self, result: DelegateResult) -> None:
        """Write what came of a delegation, and the evidence for it."""
        answer = getattr(result, "output", None) or getattr(result, "question", None)
        said = f', "{answer}"' if answer else ""
        good = result.status in {"completed", "input-required"}
        self.say(
            f"{result.status}{said} - effect: {result.effect}, "
            f"{'safe' if result.safe_to_retry else 'not safe'} to retry",
            indent=2,
            style="bold green" if good else "bold yellow",
        )
        self.say("evidence:", indent=2)
        self.say(result.explain(), indent=4, style="dim")


@dataclass(slots=True)
class Progression:
    """An observer that shows each signal as it comes, with the seconds since the beginning."""

    page: Page
    began: float = field(default_factory=time.monotonic)

    def __call__(self, signal: Signal) -> None:
        """Show one signal."""
        told = _told(signal)
        if told is not None:
            self.page.say(f"{time.monotonic() - self.began:5.2f} s  {told}", indent=2, style="cyan")


def _told(signal: Signal) -> str | None:
    told: str | None = None
    match signal:
        case Sent(attempt):
            told = "the message leaves" + (f", attempt {attempt}" if attempt > 1 else "")
        case IdKnown(task_id):
            told = f"the task is known: {task_id}"
        case StateSeen(state=state):
            told = f"the task is {state}"
        case Progress(message=message):
            told = f'the peer says "{message.text}"'
        case ArtifactChunk(artifact=artifact):
            told = f'an artifact: "{artifact.text}"'
        case AttemptFailed(error=error):
            told = str(error)
        case Recovered():
            told = "the peer lists a task with our message: found again"
        case CancelSent():
            told = "the peer is asked to stop"
        case _:
            pass
    return told


async def show(number: int, demonstration: Demonstration, page: Page) -> bool:
    """Run one and show it; return whether all was as expected."""
    page.say(f"\n{number}. {demonstration.heading}", style="bold")
    page.say()
    page.show_code(demonstration.code)
    page.say()
    result = await demonstration.run(Progression(page))
    page.show_outcome(result)
    message_id = "" if result.handle is None else result.handle.message_id
    record = demonstration.record(message_id)
    page.say(f"what the other side really did - {record}", indent=2)
    wrong = demonstration.wrong(result, record)
    for sentence in wrong:
        page.say(f"NOT AS EXPECTED: {sentence}", indent=2, style="bold red")
    return not wrong


async def show_all(server: Server, page: Page) -> int:
    """Show all six; return how many were not as expected."""
    demonstrations = [*on_the_server(server), *on_scripted_peers()]
    met = [await show(number, one, page) for number, one in enumerate(demonstrations, start=1)]
    return met.count(False)


def _source() -> list[str]:
    return Path(__file__).read_text(encoding="utf-8").splitlines()


def main() -> int:
    """Run the demo; return the exit status."""
    page, began = Page(), time.monotonic()
    page.say("Six delegations: four to an agent on a2a-sdk 1.3, two to a peer that loses replies.")
    page.say("The code of each is its own source; in it stands")
    page.say()
    page.show_code(next(line for line in _source() if line.startswith("OFTEN = ")))
    try:
        with running("a2a-sdk-1.3", "1.0-only") as server:
            failed = anyio.run(show_all, server, page)
    except ServerError as problem:
        sys.stderr.write(f"The agent could not be started: {problem}\n")
        return 2
    page.say()
    seconds = time.monotonic() - began
    if failed:
        page.say(f"{failed} of 6 outcomes were not as expected.", style="bold red")
        return 1
    page.say(f"All 6 outcomes were as expected, in {seconds:.1f} s.", style="bold green")
    return 0


if __name__ == "__main__":
    sys.exit(main())
