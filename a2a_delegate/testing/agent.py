"""The agent behind the peer: what it makes of a message, and what it has begun so far.

The first word of the text says what is to be done:

===========  =====================================================================
word         what the agent does
===========  =====================================================================
`hello`      answers with a bare message; there is no task
`slow N`     works for N seconds, then completes with one text artifact
`chunks N`   makes one text artifact in N pieces, 0.1 s apart, each after a word of progress
`stuck`      works until it is cancelled or `ScriptedPeer.finish` ends it
`ask`        asks a question (input-required), and goes on as the answer says
`auth`       asks for credentials (auth-required), and goes on as the answer says
`fail`       fails, with a text
`reject`     rejects the task before it begins
`data`       completes with a data artifact and a text artifact
`file`       completes with two files and a text artifact
`history`    completes; its answer stands only in the history
`empty`      completes, with nothing to show
other words  completes at once with one text artifact
===========  =====================================================================

The answer to a question says so too, for the same task; there `hello` is one of the other words.
"""

from __future__ import annotations

import re
import zlib
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias

import anyio

from a2a_delegate.testing.work import (
    Artifact,
    Became,
    DataPart,
    Event,
    FilePart,
    Made,
    Message,
    Part,
    Said,
    Task,
    TextPart,
    WorkState,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Outcome: TypeAlias = Task | Message
"""What became of a message: a task, or the agent's bare answer."""

_SECONDS = re.compile(r"\d+(\.\d+)?", re.ASCII)
_PIECES = re.compile(r"[1-9]\d{0,4}", re.ASCII)
_BETWEEN_PIECES: Final = 0.1


@dataclass(slots=True)
class Ids:
    """Ids that look like UUIDs and come out the same in every run; another name gives others."""

    name: str
    counter: Counter[int] = field(default_factory=Counter)

    def task(self) -> str:
        """Make the id of a task."""
        return self._next(0x7A5C)

    def context(self) -> str:
        """Make the id of a context."""
        return self._next(0xC0C0)

    def message(self) -> str:
        """Make the id of a message of the agent."""
        return self._next(0x3E55)

    def artifact(self) -> str:
        """Make the id of an artifact."""
        return self._next(0xA27F)

    def _next(self, kind: int) -> str:
        self.counter[kind] += 1
        peer = zlib.crc32(self.name.encode("utf-8", "surrogatepass"))
        return f"{peer:08x}-{kind:04x}-4000-8000-{self.counter[kind]:012x}"


class Agent:
    """Does what messages ask for, and remembers every run of it."""

    def __init__(self, name: str, *, recognises_repeats: bool) -> None:
        self.name = name
        self.ids = Ids(name)
        self.tasks: dict[str, Task] = {}
        self.runs: Counter[str] = Counter()
        self._recognises_repeats = recognises_repeats
        self._outcomes: dict[str, Outcome] = {}

    def repeated(self, message: Message) -> Outcome | None:
        """Return what this message became when it came before, if this agent recognises that."""
        return self._outcomes.get(message.message_id) if self._recognises_repeats else None

    def begin(self, message: Message, context_id: str, now: float) -> Outcome:
        """Take up new work. It runs again when the message is a repeat: servers do that."""
        word, _ = _command(message.text)
        if word != "reject":  # a rejection comes before the work: nothing ran
            self.runs[message.message_id] += 1
        outcome: Outcome
        if word == "hello":
            outcome = self._say(f"hello from {self.name}", context_id, None)
        else:
            outcome = Task(self.ids.task(), context_id, len(self.tasks), message)
            self.tasks[outcome.task_id] = outcome
            said = _placed(message, outcome)
            outcome.add(
                Said(now, said),
                Became(now, WorkState.SUBMITTED),
                *self._plan(message.text, outcome, now),
            )
        self._outcomes[message.message_id] = outcome
        return outcome

    def follow_up(self, task: Task, message: Message, now: float) -> Outcome:
        """Take a further message into a task that has not ended; an answer says how it goes on."""
        self.runs[message.message_id] += 1
        waited = task.view(now).state.is_settled
        said = Said(now, _placed(message, task))
        if waited:
            task.add(said, *self._plan(message.text, task, now))
        else:
            task.plan.insert(task.position(now), said)
        self._outcomes[message.message_id] = task
        return task

    def cancel(self, task: Task, now: float) -> None:
        """Stop the work."""
        task.add(Became(now, WorkState.CANCELED))

    def finish(self, task: Task, state: WorkState, text: str | None, now: float) -> None:
        """Let the work come to this state, whatever was planned."""
        if state is WorkState.COMPLETED:
            said = f"result of {task.first.text}" if text is None else text
            task.add(*self._completion(now, said))
            return
        message = None if text is None else self._say(text, task.context_id, task.task_id)
        task.add(Became(now, state, message))

    async def settled(self, task: Task) -> None:
        """Wait until the task has ended or waits for its caller."""
        while not task.view(now := anyio.current_time()).state.is_settled:
            changed = anyio.Event()
            task.waiters.add(changed)
            try:
                with anyio.move_on_after(task.next_event(now) - now):
                    await changed.wait()
            finally:
                task.waiters.discard(changed)

    def _plan(self, asked: str, task: Task, now: float) -> tuple[Event, ...]:
        word, argument = _command(asked)
        if (said := _SAYS.get(word)) is not None:
            return (self._saying(task, now, *said),)
        text = f"result of {asked}"
        match word:
            case "slow":
                end = now + (float(argument) if _SECONDS.fullmatch(argument) else 1.0)
                working = self._saying(task, now, *_SAYS["stuck"])
                return working, *self._completion(end, text)
            case "chunks":
                pieces = int(argument) if _PIECES.fullmatch(argument) else 3
                return tuple(self._in_pieces(task, now, pieces))
            case "history":
                answer = self._saying(task, now, WorkState.WORKING, text)
                return answer, Became(now, WorkState.COMPLETED)
            case "empty":
                return (Became(now, WorkState.COMPLETED),)
            case _:
                return self._completion(now, text, **_MAKES.get(word, {}))

    def _in_pieces(self, task: Task, now: float, pieces: int) -> Iterator[Event]:
        yield Became(now, WorkState.WORKING)
        artifact_id = self.ids.artifact()
        for number in range(1, pieces + 1):
            at = now + (number - 1) * _BETWEEN_PIECES
            yield self._saying(task, at, WorkState.WORKING, f"piece {number} of {pieces}")
            text = f"{' ' if number > 1 else ''}chunk {number}"
            artifact = Artifact(artifact_id, "result", (TextPart(text),))
            yield Made(at, artifact, append=number > 1, last=number == pieces)
        yield Became(now + pieces * _BETWEEN_PIECES, WorkState.COMPLETED)

    def _saying(self, task: Task, at: float, state: WorkState, text: str) -> Event:
        return Became(at, state, self._say(text, task.context_id, task.task_id))

    def _completion(self, at: float, text: str, **others: tuple[Part, ...]) -> tuple[Event, ...]:
        made = {**others, "result": (TextPart(text),)}
        artifacts = [Artifact(self.ids.artifact(), name, parts) for name, parts in made.items()]
        return *(Made(at, artifact) for artifact in artifacts), Became(at, WorkState.COMPLETED)

    def _say(self, text: str, context_id: str, task_id: str | None) -> Message:
        parts = (TextPart(text),)
        return Message(self.ids.message(), parts, context_id, task_id, by_agent=True)


_SAYS: Mapping[str, tuple[WorkState, str]] = {
    "stuck": (WorkState.WORKING, "working on it"),
    "ask": (WorkState.INPUT_REQUIRED, "which city?"),
    "auth": (WorkState.AUTH_REQUIRED, "need a token"),
    "fail": (WorkState.FAILED, "it failed"),
    "reject": (WorkState.REJECTED, "not my job"),
}
_MAKES: Mapping[str, Mapping[str, tuple[Part, ...]]] = {
    "data": {
        "data": (
            DataPart(
                {"city": "Rome", "n": 3, "list": [1, None, "x"]}, media_type="application/json"
            ),
        )
    },
    "file": {
        "files": (
            FilePart(base64="aGkA/w==", filename="a.bin", media_type="application/octet-stream"),
            FilePart(url="http://127.0.0.1/x.png", filename="x.png", media_type="image/png"),
        )
    },
}


def _command(text: str) -> tuple[str, str]:
    word, argument, *_ = [*text.split(maxsplit=2), "", ""]
    return word, argument


def _placed(message: Message, task: Task) -> Message:
    """Return the message as servers store it: with the ids of the task that it belongs to."""
    return Message(
        message.message_id,
        message.parts,
        task.context_id,
        task.task_id,
        message.by_agent,
        message.metadata,
        message.extensions,
        message.reference_task_ids,
    )
