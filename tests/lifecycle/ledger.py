"""What the model remembers of one delegation, to judge it by; it asks the machine nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from a2a_delegate.lifecycle.operations import OperationName
from tests.lifecycle.replies import ASKS, RETRY_AFTER, STATE_OF, TASK

if TYPE_CHECKING:
    from a2a_delegate.outcome import DelegateResult
    from tests.lifecycle.world import Flight, World

SEND, GET, LIST, CANCEL, SUBSCRIBE = OperationName
MOMENT: Final = 1e-6
"""Seconds that adding up times may be off by."""
PROOFS: Final = frozenset(
    {"refused", "busy", "busy, later", "version refused", "context refused", "gone", "no method"}
)
CANCELED: Final = frozenset({"canceled", "canceled, a lie", "status, canceled"})
"""After our own cancel: it did what it was asked to."""


@dataclass(slots=True)
class Ledger:
    """What the model remembers of one delegation, to judge it by."""

    cause: str = ""
    cause_at: float = 0.0
    intent_told: bool = False
    ever_left: bool = False
    id_told: bool = False
    id_signalled: bool = False
    sends: int = 0
    unsent: int = 0
    downgraded: bool = False
    detours: int = 0
    context_dropped: bool = False
    performed: int = 0
    ended: int = 0
    rounds: int = 0
    pages: int = 0
    rounds_after_cause: int = 0
    page_token: str = ""
    found: frozenset[str] = frozenset()
    last_get: float | None = None
    asked_until: float = 0.0
    refused_gets: int = 0
    gone: bool = False
    cancelled: bool = False
    receipt: str = ""
    looks_after: int = 0
    """The last request that was made before the peer answered the cancel."""
    looked: bool = False
    """A get that went out after that has ended."""
    state_shown: str = ""
    state_before_cancel: str = ""
    began_shown: bool = False
    moved_on: bool = False
    """The task was shown in a state in which it asks nothing."""
    asked_again: bool = False
    """What was shown last asks, and more than was answered."""
    refused_before: bool = False
    """The task that was answered is shown to have ended before the answer, which was refused."""
    rounds_of_gets: int = 0
    get_ended: bool = False
    listed_as_ended: bool = False
    send_end: str = ""
    send_end_late: bool = False
    refused: bool = False
    """The last send whose body left was refused; a repeat of it may still be under way."""
    first_end: str = ""
    end_seen: str = ""
    """The end that a stream has shown, by the status alone, before the task itself did."""
    end_seen_at: float = 0.0
    end_seen_late: bool = False
    asked_once: bool = False
    """The task was asked for since, or is about to be."""
    asked_on_stream: bool = False
    """What a stream has shown last asks, and more than was answered."""
    piece_shown: bool = False
    watched: bool = False
    """What was told last came from a request that had not been let go."""
    owes_get: bool = False
    """A stream is over, and the task has not been asked for since."""
    subscribed_at: float | None = None
    barren: int = 0
    no_stream: bool = False
    unstreamed: bool = False
    """The message was handed over without a stream, because the peer knows none."""
    stalled: bool = False
    """The loop was held up; no bound holds any more, and everything else does."""
    result: DelegateResult | None = None


def note_state(ledger: Ledger, state: str) -> None:
    """Remember a state of our task that was shown."""
    ledger.state_shown = state
    ledger.began_shown = ledger.began_shown or state not in {"submitted", "rejected"}


def note_question(world: World, label: str) -> bool:
    """Remember whether the task goes on; return whether it asks more than was answered."""
    ledger, asks = world.ledger, STATE_OF[label] in ASKS
    answers = world.setup.plan.route.answers is not None
    new = not answers or ledger.moved_on or label.startswith("input-required, new")
    ledger.moved_on = ledger.moved_on or not asks
    return asks and new


def note_cause(world: World, by: str) -> None:
    """Law 3: the first cause latches."""
    if not world.ledger.cause and world.ledger.result is None:
        world.ledger.cause, world.ledger.cause_at = by, world.now


def note_id(world: World) -> None:
    world.ledger.id_told = True


def note_end(world: World, flight: Flight, label: str) -> None:
    ledger = world.ledger
    if ledger.result is not None:
        return
    ledger.ended += 1
    ledger.watched = not flight.let_go
    if flight.streams and not flight.let_go:
        ledger.owes_get = ledger.id_told and label not in STATE_OF
        ledger.no_stream = ledger.no_stream or label == "no stream"
    _note_snapshot(world, flight, label)
    if flight.name is SEND:
        _note_send(ledger, flight, label, world.now)
    elif flight.name is GET:
        _note_get(ledger, flight, label, world.now)
    elif flight.name is LIST and not flight.let_go:
        ledger.found |= {TASK} if "ours" in label or "two" in label else set()
        ledger.found |= {"task-2"} if "two" in label else set()
        ledger.listed_as_ended = ledger.listed_as_ended or label == "page, ours, ended"
        ledger.page_token = "next" if "more" in label else ""
    elif flight.name is CANCEL and not flight.let_go:
        receipts = {"not cancelable": "refused", "gone": "refused"}
        taken = "requested" if label in STATE_OF else "unreached"
        ledger.receipt, ledger.looks_after = receipts.get(label, taken), ledger.performed


def _note_snapshot(world: World, flight: Flight, label: str) -> None:
    ledger, state = world.ledger, STATE_OF.get(label, "")
    if state and adopts(world, flight, label):
        ledger.id_told = True
        note_state(ledger, state)
        ledger.asked_again = note_question(world, label)
    elif state:
        ledger.asked_again = False
        before = label == "completed, before" and ledger.send_end == "error"
        ledger.refused_before = ledger.refused_before or before
    elif label.endswith((", older", ", another")):
        ledger.began_shown = True


def _note_send(ledger: Ledger, flight: Flight, label: str, now: float) -> None:
    ledger.id_told = ledger.id_told or label in {"lost, id shown", "unreadable, id shown"}
    ledger.send_end, ledger.send_end_late = label, bool(ledger.cause)
    # A repeat that we stop ourselves says nothing; one that the network stops does.
    ledger.refused = label in PROOFS or (
        ledger.refused and label == "not-sent" and bool(ledger.cause)
    )
    ledger.unsent += label == "not-sent"
    if not flight.showed:
        ledger.asked_until = now + RETRY_AFTER if label == "busy, later" else 0.0


def adopts(world: World, flight: Flight, label: str) -> bool:
    """Whether a snapshot is one of our task; the task that we answered must show our answer."""
    known = world.ledger.id_told or world.setup.plan.route.answers is None
    return known or flight.name is SEND or label.endswith(", ours")


def _note_get(ledger: Ledger, flight: Flight, label: str, now: float) -> None:
    ledger.get_ended = True
    if label in STATE_OF:
        ledger.refused_gets = 0
    elif not flight.let_go:
        ledger.refused_gets = ledger.refused_gets + 1 if label == "gone" else 0
    if not flight.let_go:
        ledger.asked_until = now + RETRY_AFTER if label == "error, later" else 0.0
    if ledger.receipt and flight.number > ledger.looks_after:
        ledger.looked = True


def latest(world: World) -> float:
    """Return when a delegation with a cause has settled; the transport gets `release` after it."""
    timing = world.setup.plan.timing
    bound = timing.recovery_grace + 2 * timing.cancel_grace - timing.release
    return world.ledger.cause_at + bound + MOMENT
