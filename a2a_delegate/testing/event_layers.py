"""What the layers of a behaviour make of the events of a stream, one after the other."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias

from a2a_delegate.testing.requests import Fault, RefusedError
from a2a_delegate.testing.stream_behaviours import (
    EventKind,
    EventOrder,
    GreedyFirstChunk,
    InsertBytes,
    InsertEvent,
    Intruder,
    PadEvent,
    Pings,
    Stop,
    StopStream,
    WithoutEvents,
)
from a2a_delegate.testing.streams import Pause, Shown, as_event
from a2a_delegate.testing.work import Became, Made, Message, Task, TextPart, WorkState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from a2a_delegate.testing.face import Json
    from a2a_delegate.testing.layering import Around
    from a2a_delegate.testing.streams import Audience, Streamed

PING: Final = b": ping"


@dataclass(frozen=True, slots=True)
class Written:
    """Bytes that stand in a stream as they are."""

    content: bytes


Item: TypeAlias = Shown | Written | Pause
"""What goes through the layers."""


@dataclass(frozen=True, slots=True)
class Stage:
    """What a layer has to know beside the events.

    `told` puts an event as the act would have it; `cut` takes note that the stream breaks off;
    `line_end` is that of the stream.
    """

    streamed: Streamed
    told: Callable[[Shown], Shown]
    cut: Callable[[], None]
    line_end: bytes


def laid(items: Iterator[Item], layers: Iterable[Around], stage: Stage) -> Iterator[Item]:
    """Let all layers, the innermost first, have their way with the events of a stream."""
    for one in layers:
        match one:
            case StopStream():
                items = _stopped(items, one, stage)
            case Pings(every=every):
                items = _with_pings(items, every, stage)
            case EventOrder(order=order):
                items = _in_order(items, order)
            case WithoutEvents(kind=kind):
                items = _without(items, kind)
            case InsertEvent(after=after, what=what):
                items = _inserted(items, after, partial(_intruder, what, stage))
            case InsertBytes(after=after, content=content):
                items = _inserted(items, after, partial(Written, content))
            case PadEvent():
                items = _padded(items, one)
            case GreedyFirstChunk():
                items = _greedy(items, stage)
            case _:
                pass
    return items


def _stopped(items: Iterator[Item], stop: StopStream, stage: Stage) -> Iterator[Item]:
    left = stop.after
    while left:
        item = next(items, None)
        if item is None:
            break
        yield item
        left -= isinstance(item, Shown)
    if stop.how is Stop.CUT:
        stage.cut()
    while stop.how is Stop.SILENCE:
        yield Pause()


def _with_pings(items: Iterator[Item], every: float, stage: Stage) -> Iterator[Item]:
    clock = stage.streamed.audience.clock
    due = clock.now() + every
    for item in items:
        if not isinstance(item, Pause):
            yield item
            continue
        while due <= clock.now():
            yield Written(PING + 2 * stage.line_end)
            due += every
        yield replace(item, until=min(item.until, due))


def _in_order(items: Iterator[Item], order: tuple[int, ...]) -> Iterator[Item]:
    came: list[Item] = []
    wanted = list(order)
    for item in items:
        if not isinstance(item, Shown) or len(came) == max(order):
            yield item
            continue
        came.append(item)
        while wanted and wanted[0] <= len(came):
            yield came[wanted.pop(0) - 1]
    # What was waited for in vain does not keep back what has come.
    yield from (came[number - 1] for number in wanted if number <= len(came))


def _without(items: Iterator[Item], kind: EventKind) -> Iterator[Item]:
    return (item for item in items if not (isinstance(item, Shown) and item.kind is kind))


def _inserted(items: Iterator[Item], after: int, make: Callable[[], Item]) -> Iterator[Item]:
    left = after
    while left:
        item = next(items, None)
        if item is None:
            break
        yield item
        left -= isinstance(item, Shown)
    yield make()
    yield from items


def _padded(items: Iterator[Item], pad: PadEvent) -> Iterator[Item]:
    number = 0
    for item in items:
        if isinstance(item, Shown):
            number += 1
            yield replace(item, size=pad.size) if number == pad.number else item
        else:
            yield item


def _greedy(items: Iterator[Item], stage: Stage) -> Iterator[Item]:
    task = stage.streamed.task
    for item in items:
        if (
            isinstance(item, Shown)
            and task is not None
            and isinstance(item.event, Made)
            and item.event.append is False
        ):
            yield _with_all_pieces(item.event, task, stage)
        else:
            yield item


def _with_all_pieces(first: Made, task: Task, stage: Stage) -> Shown:
    artifact_id = first.artifact.artifact_id
    made = [event.artifact for event in task.plan if isinstance(event, Made)]
    pieces = [one.parts for one in made if one.artifact_id == artifact_id]
    whole = replace(first.artifact, parts=tuple(part for parts in pieces for part in parts))
    event = replace(first, artifact=whole)
    return stage.told(stage.streamed.audience.update(task, event))


def _intruder(what: Intruder, stage: Stage) -> Item:
    audience = stage.streamed.audience
    own = stage.streamed.task or _stranger()
    now = audience.clock.now()
    match what:
        case Intruder.OTHER_TASK:
            return audience.update(_stranger(), Became(now, WorkState.COMPLETED))
        case Intruder.WRONG_ID:
            wrong = replace(audience, request_id=f"not-{audience.request_id}")
            return wrong.update(own, Became(now, WorkState.FAILED))
        case Intruder.MESSAGE:
            parts = (TextPart("by the way"),)
            said = Message("by-the-way", parts, own.context_id, own.task_id, by_agent=True)
            return audience.message(said)
        case Intruder.WORKING:
            return audience.update(own, Became(now, WorkState.WORKING))
        case Intruder.ERROR | Intruder.ERROR_FRAME:
            shown = as_event(_broken(audience))
            return replace(shown, name="error" if what is Intruder.ERROR_FRAME else "")
        case Intruder.UNPARSABLE:
            return Written(b'data: {"jsonrpc": "2.0", "id' + 2 * stage.line_end)


def _stranger() -> Task:
    message = Message("another-message", (TextPart("for somebody else"),))
    return Task("another-task", "another-context", 0, message)


def _broken(audience: Audience) -> Json:
    error = RefusedError(Fault.INTERNAL, "the stream broke")
    return audience.face.refusal(audience.request_id, error)
