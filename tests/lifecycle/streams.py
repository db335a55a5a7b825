"""Streams in the model: what they can show, what that means for the truth, and what must follow.

Each event is one of the peer's task as it is then, in any state, whole or by its status alone; or a
piece of what the task makes; or an event of another task; or, where there is no task, a message.
The piece is the whole artifact and replaces what was there, so that it changes something once only;
how pieces are put together stands in `test_assembly`. Left out are also words of progress, other
contexts and what comes after settling: stories hold those.

A store may lag behind the stream, or say another thing: once a status has shown an end, gets and
cancels can also show an older state (`older`) or another end (`another`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from a2a_delegate.lifecycle.observations import Streamed
from a2a_delegate.lifecycle.operations import (
    ArtifactUpdate,
    MessageReply,
    StatusUpdate,
    SubscribeToTask,
    TaskReply,
)
from a2a_delegate.lifecycle.plan import Mission
from a2a_delegate.model.artifact import Artifact
from a2a_delegate.model.message import Message, Role
from a2a_delegate.model.part import TextPart
from tests.lifecycle.ledger import GET, MOMENT, SEND, SUBSCRIBE, latest, note_question, note_state
from tests.lifecycle.replies import (
    ANSWER,
    CONTEXT,
    ENDS,
    FOREIGN,
    STATE_OF,
    STATES,
    TASK,
    asking,
    task,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from a2a_delegate.lifecycle.operations import StreamEvent
    from tests.lifecycle.ledger import Ledger
    from tests.lifecycle.world import Flight, World

EVENTS: Final[Mapping[str, StreamEvent]] = {
    **{f"task, {state}": TaskReply(task(state)) for state in STATES},
    **{f"status, {state}": StatusUpdate(TASK, task(state).status, CONTEXT) for state in STATES},
    "task, input-required, new": asking("words-2"),
    "status, input-required, new": StatusUpdate(TASK, asking("words-2").task.status, CONTEXT),
    "piece": ArtifactUpdate(TASK, Artifact("made", (TextPart(ANSWER),)), size=10),
    "another's": StatusUpdate(FOREIGN, task("completed").status),
    "said": MessageReply(Message("reply-1", Role.AGENT, (TextPart(ANSWER),))),
}
OVER: Final = ("over", "cut")
"""How a stream ends that has shown something."""
LAGGING: Final = ("working, older", "input-required, older")
MOST_BARREN: Final = 5


def events(world: World, flight: Flight, states: tuple[str, ...]) -> Iterator[str]:
    """Yield what a request can show next, if it is a stream, in these states."""
    if not flight.streams or world.ledger.result is not None:
        return
    if flight.name is SEND:
        if not flight.left or world.fate.name not in {"OPEN", "RAN"}:
            return
        if not world.ledger.id_told:
            yield "said"
    another = world.setup.plan.route.answers is not None and "input-required" in states
    for state in (*states, "input-required, new") if another else states:
        yield f"task, {state}"
        yield f"status, {state}"
    yield "piece"
    if world.ledger.id_told:
        yield "another's"


def subscription_ends(flight: Flight, states: tuple[str, ...]) -> tuple[str, ...]:
    """Return how a subscription can end that has shown nothing; a task alone may answer it."""
    if flight.let_go or flight.deaf:
        return ("lost",)
    single = tuple(state for state in ("working", "input-required", "completed") if state in states)
    return (*single, "no stream", "gone", "error", "lost", "foreign")


def disagreeing(ledger: Ledger) -> tuple[str, ...]:
    """Return what a get or a cancel can show against what a stream has shown."""
    if not ledger.end_seen or ledger.result is not None:
        return ()
    return (*LAGGING, "failed, another" if ledger.end_seen == "canceled" else "canceled, another")


def event_of(world: World, flight: Flight, label: str) -> tuple[Streamed, str]:
    """Fix the truth by what a stream is about to show; return it, and what it is judged as."""
    told = Streamed(flight.number, flight.name, EVENTS[label])
    ledger, (kind, _, word) = world.ledger, label.partition(", ")
    flight.showed, ledger.watched = True, not flight.let_go
    if kind == "another's":
        return told, label
    if kind == "said":
        world.note_fate("ANSWERED")
        return told, "message"
    flight.id_shown = ledger.id_told = True
    world.note_fate("RAN", STATE_OF.get(word, ""))
    ledger.refused_gets, ledger.barren = 0, 0
    if kind == "piece":
        ledger.piece_shown = ledger.began_shown = True
        return told, label
    asks = note_question(world, word)
    ledger.asked_again, ledger.asked_on_stream = kind == "task" and asks, asks
    if kind == "task" or word not in ENDS:
        note_state(ledger, STATE_OF[word])
    elif not (ledger.end_seen or (ledger.cancelled and word == "canceled")):
        ledger.began_shown = ledger.began_shown or word != "rejected"
        ledger.end_seen, ledger.end_seen_at = word, world.now
        ledger.end_seen_late = bool(ledger.cause)
    return told, word if kind == "task" else label


# -- what must follow ----------------------------------------------------------------------------


def check_subscription(world: World, operation: SubscribeToTask) -> None:
    """Judge a subscription when it is asked for."""
    ledger, plan = world.ledger, world.setup.plan
    assert operation == SubscribeToTask(TASK)
    assert plan.route.streams, "a peer that does not stream is not subscribed to"
    assert not ledger.unstreamed
    assert not ledger.no_stream, "nobody can subscribe"
    assert plan.mission is not Mission.LOOK, "one look subscribes to nothing"
    assert ledger.id_told
    assert not ledger.cause, "law 5: nothing is subscribed to after the cause"
    assert not ledger.cancelled
    assert not ledger.owes_get, "a stream that is over is followed by a get"
    assert world.now >= ledger.asked_until - MOMENT, "Retry-After is kept"
    live = [one for one in world.flights.values() if one.streams and not one.let_go]
    assert not live, "at most one stream is watched"
    ledger.barren += 1
    assert ledger.barren <= MOST_BARREN, "a stream that shows nothing is given up"
    if ledger.subscribed_at is not None:
        paused = world.now - ledger.subscribed_at
        assert paused >= plan.timing.poll_interval / 2 - MOMENT, "no pause between subscriptions"
    ledger.subscribed_at = world.now


def check_watching(world: World, label: str) -> None:
    """Judge where a delegation stands that has not settled."""
    ledger, timing = world.ledger, world.setup.plan.timing
    due = world.machine.next_deadline()
    live = [one for one in world.flights.values() if not one.let_go]
    streams = [one for one in live if one.streams]
    asks = any(one.name is GET for one in live)
    assert len(streams) <= 1, "at most one stream is watched"
    receipt = ledger.cancelled and label == "status, canceled"
    assert not receipt or ledger.end_seen, "our own cancel is confirmed, and it is waited for"
    soon = asks or (due is not None and due <= max(world.now + 0.01, ledger.asked_until) + MOMENT)
    if ledger.end_seen:
        assert not streams, "the end was seen, and the stream is watched on"
        assert soon or ledger.asked_once, "law 2: an end that was seen is not asked for"
        ledger.asked_once = True
        assert not (label == "gone" and ledger.watched), "a task that is gone is waited for"
        assert due is not None, "confirming has no bound"
        longest = max(timing.recovery_timeout, timing.cancel_grace)
        assert due <= ledger.end_seen_at + longest + MOMENT, "confirming takes too long"
    elif not (ledger.cause or ledger.cancelled):
        over = label in OVER and ledger.watched and ledger.id_told
        assert not over or soon, "law 4: the task is not asked for after its stream"
        asked = label.startswith("status, ") and ledger.asked_on_stream and ledger.watched
        assert not asked or soon, "a question was thrown away"
        assert not asked or not streams, "a question was seen, and the stream is watched on"
        if streams and not asks and (ledger.state_shown or ledger.piece_shown):
            latest_poll = max(world.now + max(timing.poll_interval_max, 0.01), ledger.asked_until)
            assert due is not None, "a stream is trusted alone"
            assert due <= latest_poll + MOMENT, "a stream is trusted too long"
        if streams and streams[0].name is SUBSCRIBE and not asks:
            since = streams[0].began
            looked = ledger.last_get is not None and ledger.last_get > since
            soon_after = since + max(timing.poll_interval, 0.01)
            assert looked or (due or 0.0) <= soon_after + MOMENT, "what came before is missed"


def check_confirmed(world: World, label: str) -> None:
    """Judge by what a delegation settles of which a stream has shown the end."""
    ledger, timing = world.ledger, world.setup.plan.timing
    if label in ENDS or label.endswith(", another"):
        return
    if label == "gone":
        assert ledger.watched, "a refusal that says nothing any more"
        return
    longest = max(timing.recovery_timeout, timing.cancel_grace)
    bounds = [ledger.end_seen_at + longest]
    if ledger.cause:
        bounds.append(max(ledger.end_seen_at, ledger.cause_at) + timing.cancel_grace)
        bounds.append(latest(world))
    assert not label, "the task was given up too soon"
    assert world.now >= min(bounds) - 2 * MOMENT, "the task was given up too soon"
