"""What must be true of every end: the verdict tables of the design, said once more from outside."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from a2a_delegate.lifecycle.plan import Mission
from a2a_delegate.outcome import (
    AuthRequired,
    Cancelled,
    Completed,
    Effect,
    Failed,
    InputRequired,
    Rejected,
    TimedOut,
    Unknown,
)
from tests.lifecycle.ledger import CANCELED, PROOFS, latest
from tests.lifecycle.replies import ANSWER, ASKS, ENDS, QUESTION, STATE_OF, TASK, TROUBLE
from tests.lifecycle.streams import check_confirmed

if TYPE_CHECKING:
    from a2a_delegate.outcome import DelegateResult
    from tests.lifecycle.ledger import Ledger
    from tests.lifecycle.world import World


class Verdict(NamedTuple):
    """What an outcome must say."""

    status: str
    effect: Effect
    late: bool = False
    by: str = ""
    receipt: str = ""


def check_end(world: World, result: DelegateResult, label: str) -> None:
    """Compare an outcome with the truth, and with what the tables of the design make of it."""
    ledger = world.ledger
    expected = expected_verdict(world, label)
    told = Verdict(
        result.status,
        result.effect,
        result.late,
        result.by if isinstance(result, Cancelled) else "",
        str(result.receipt) if isinstance(result, (Cancelled, TimedOut)) else "",
    )
    assert told == expected, f"{told} instead of {expected}"
    _check_effect(world, result, label)
    _check_content(world, result, label)
    in_process = world.setup.plan.in_process
    assert (result.handle is None) == (in_process or not ledger.ever_left)
    if result.handle is not None:
        assert result.handle.task_id == (TASK if ledger.id_told else None)
    assert len(result.attempts) == min(ledger.ended, 64) or label == "returned"
    if ledger.cause and not ledger.stalled:
        assert world.now <= latest(world), "law 5: cleanup took too long"
    end = STATE_OF.get(label, "")
    ledger.first_end = end if end in ENDS else ""
    if label in CANCELED:
        ledger.first_end = "canceled"
    if ledger.end_seen:
        check_confirmed(world, label)
        ledger.first_end = ledger.end_seen


def _check_effect(world: World, result: DelegateResult, label: str) -> None:
    """No lie: what is said of the run agrees with what became of the body."""
    fate = world.fate.name
    if result.effect is Effect.NOT_STARTED:
        rejected = "rejected" in {STATE_OF.get(label), world.ledger.end_seen}
        refused = rejected and not world.ledger.began_shown
        assert refused or fate in {"KEPT", "REFUSED"}, "not-started, and it may have run"
    if result.effect is Effect.RAN:
        assert fate in {"RAN", "ANSWERED"}, "ran, and nothing shows it"


def _check_content(world: World, result: DelegateResult, label: str) -> None:
    ledger = world.ledger
    if isinstance(result, Completed):
        assert label == "returned" or world.state == "completed" or world.fate.name == "ANSWERED"
        shown = not ledger.end_seen or label == "completed" or ledger.piece_shown
        made = ANSWER if shown else None
        assert result.output == ("made here" if label == "returned" else made)
    elif isinstance(result, (InputRequired, AuthRequired)):
        assert world.state == result.status
        assert str(result.question) == QUESTION
    elif isinstance(result, (Failed, Rejected)) and ledger.id_told:
        assert TROUBLE in str(result.error)
    elif isinstance(result, TimedOut):
        unseen = "working" if world.setup.plan.in_process else "unknown"
        assert result.last_state == (ledger.state_before_cancel or unseen)
    elif isinstance(result, Unknown):
        # Only a reply to the send is evidence; what came of it is kept.
        came = {"lost": b'{"res', "unreadable": b"<html>"}
        assert result.evidence == came.get(ledger.send_end.partition(",")[0], b"")


def expected_verdict(world: World, label: str) -> Verdict:
    """Say what the outcome must be if the machine settles now, by the model's own memory."""
    ledger = world.ledger
    late = bool(ledger.cause)
    if label in {"message", "returned"}:
        return Verdict("completed", Effect.RAN, late)
    if not ledger.id_told:
        return _stopped(world, label) if ledger.cancelled else _without_id(world, label)
    if ledger.end_seen:
        return _ended(ledger, ledger.end_seen, late=ledger.end_seen_late)
    state, looks = STATE_OF.get(label, ""), world.setup.plan.mission is Mission.LOOK
    if state in ENDS and not (state == "canceled" and ledger.cancelled):
        verdict = _ended(ledger, state, late=late)
    elif state in ASKS and ledger.asked_again and not ledger.cancelled and (looks or not late):
        verdict = Verdict(state, Effect.RAN)
    elif looks:
        verdict = _looked(world, label)
    else:
        verdict = _stopped(world, label)
    return verdict


def _ended(ledger: Ledger, state: str, *, late: bool) -> Verdict:
    """Say what an end of the task comes to that is no receipt."""
    if state == "canceled":
        return Verdict("cancelled", Effect.RAN, late, "peer", "not-needed")
    begun = state != "rejected" or ledger.began_shown
    return Verdict(state, Effect.RAN if begun else Effect.NOT_STARTED, late)


def _looked(world: World, label: str) -> Verdict:
    """Say what one look comes to that shows no end and no question."""
    if world.ledger.get_ended:
        return Verdict("running" if label in STATE_OF else "unknown", Effect.RAN)
    if world.ledger.cause == "deadline":
        return Verdict("timed-out", Effect.RAN, receipt="unreached")
    if world.ledger.cause:
        return Verdict("cancelled", Effect.RAN, by="caller", receipt="unreached")
    return Verdict("unknown", Effect.RAN)


def _stopped(world: World, label: str) -> Verdict:
    ledger = world.ledger
    assert ledger.cancelled, "the peer was not told that nobody waits"
    effect = Effect.RAN if ledger.id_told else Effect.MAY_HAVE_RUN
    if not ledger.id_told and (ledger.refused_before or ledger.send_end in PROOFS):
        effect = Effect.NOT_STARTED
    state = STATE_OF.get(label, "")
    confirmed = label in CANCELED or state == "canceled"
    receipt = "confirmed" if confirmed else ledger.receipt or "unreached"
    if state in ENDS and not confirmed:
        # The task that was answered: that it ended says nothing of our answer.
        receipt = "not-needed"
    if label and receipt in {"refused", "unreached"}:
        assert ledger.looked, "the peer was not asked after it answered the cancel"
    if ledger.gone:
        return Verdict("unknown", effect)
    if ledger.cause == "deadline" and not ledger.id_told:
        return _unanswered(ledger, effect)
    if ledger.cause == "deadline":
        return Verdict("timed-out", effect, receipt=receipt)
    return Verdict("cancelled", effect, by="caller", receipt=receipt)


def _without_id(world: World, label: str) -> Verdict:
    ledger, plan = world.ledger, world.setup.plan
    kept = world.fate.name in {"KEPT", "REFUSED"}
    effect = Effect.NOT_STARTED if kept else Effect.MAY_HAVE_RUN
    if not kept and not (plan.mission is Mission.LOOK and ledger.cause):
        lists = plan.route.looks_up and not _fallen_back(world)
        assert ledger.rounds or not lists, "the peer was not asked"
        assert ledger.rounds_of_gets or plan.route.answers is None, "the peer was not asked"
    if label == "completed, before" and ledger.send_end != "error":
        # It never ran, and nothing that we were shown proves it.
        kept, effect = False, Effect.MAY_HAVE_RUN
    if ledger.cause == "caller":
        receipt = "not-needed" if kept else "unreached"
        return Verdict("cancelled", effect, by="caller", receipt=receipt)
    if not ledger.cause and ledger.send_end == "no method":
        assert ledger.unstreamed, "the peer was not asked without a stream"
    if not ledger.cause and ledger.send_end == "not-sent":
        assert ledger.sends >= 3, "the peer was given up too soon"
    if len(ledger.found) > 1:
        return Verdict("unknown", effect)
    return _unanswered(ledger, effect)


def _unanswered(ledger: Ledger, effect: Effect) -> Verdict:
    """Say what the end of the send comes to where no task is known."""
    kept = effect is Effect.NOT_STARTED
    if kept and (ledger.refused or ledger.refused_before):
        late = ledger.send_end_late and ledger.send_end not in {"", "not-sent"}
        return Verdict("rejected", effect, late)
    if ledger.send_end == "error":
        return Verdict("failed", effect, ledger.send_end_late)
    return Verdict("failed" if kept else "unknown", effect)


def _fallen_back(world: World) -> bool:
    return world.ledger.sends > 1 and world.setup.plan.fallback is not None
