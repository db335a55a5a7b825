"""The lifecycle of one delegation: phases, events, and one table of what follows.

Theory
======

A *phase* says what is true of the one message that is handed over:

- PREPARED: the intent is told, nothing is in flight; a first or repeated send will start.
- SENDING: a send is in flight; its body may have left.
- HOLDING: we want to stop, the body has left and no id is known. The transport is kept a little
  longer, because the reply is the only place that can show the id.
- RELEASING: the transport was told to stop. Only when it has, the evidence is complete: between
  the order and its delivery the body could still leave.
- LOOKING_UP: the transport is gone, no id is known; the peer is asked by list.
- FOLLOWING: the id is known; the peer is asked by get until the task ends or asks.
- STOPPING: we want to stop and the id is known: cancel, then get, in one bound.
- SETTLED: the outcome is fixed; nothing changes it.

Beside the phase stand the *evidence*, which accumulates and is never taken back, and the *cause*
(the caller's cancel or the deadline), of which the first one latches. An *event* is what an
observation means once the evidence has taken it in. A cell of the table holds rules that are
tried in order; the first whose guard holds gives the next phase and what is done on the way. An
empty cell means that the event changes nothing in that phase.

Two proofs follow from the shape of the table. *At most one run by our doing*: a send is
performed by three rules only (START and TIMER in PREPARED, and the two repeats on REFUSED in
SENDING), and each is reached only from nothing sent, or through an event that proves that the
attempt before did not begin (NOT_SENT, REFUSED, BUSY). *No answer is thrown away*: in every phase
in which a request can be in flight, MESSAGE and ENDED lead to SETTLED with that answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from a2a_delegate.lifecycle import steps
from a2a_delegate.lifecycle.desk import Desk


class Phase(Enum):
    """What is true of the message that is handed over."""

    PREPARED = "prepared"
    SENDING = "sending"
    HOLDING = "holding"
    RELEASING = "releasing"
    LOOKING_UP = "looking-up"
    FOLLOWING = "following"
    STOPPING = "stopping"
    SETTLED = "settled"


class Event(Enum):
    """What an observation means, once the evidence has taken it in."""

    START = "start"
    TIMER = "timer"
    """The moment that the phase set for its next step."""
    BOUND = "bound"
    """The bound of the phase, or of the request that it waits for."""
    DEADLINE = "deadline"
    CANCEL = "cancel"
    BODY_LEFT = "body-left"
    ID_SEEN = "id-seen"
    MESSAGE = "message"
    RETURNED = "returned"
    """Work in this process returned an outcome of its own."""
    ENDED = "ended"
    """A task in a terminal state, from whichever request."""
    PAUSED = "paused"
    """A task that waits for its caller."""
    WORKING = "working"
    """A task in any other state."""
    NOT_SENT = "not-sent"
    REFUSED = "refused"
    """An error answer to the send that proves that the peer never began."""
    BUSY = "busy"
    """A rate limit that answers the send before the agent begins."""
    FAULT = "fault"
    """Any other error answer to the send."""
    LOST = "lost"
    UNREADABLE = "unreadable"
    MORE_PAGES = "more-pages"
    SEARCHED = "searched"
    """One round of the look-up is over."""
    NO_LIST = "no-list"
    """The peer does not list."""
    GET_FAILED = "get-failed"
    GET_REFUSED = "get-refused"
    CANCEL_REFUSED = "cancel-refused"
    CANCEL_FAILED = "cancel-failed"


Guard: TypeAlias = Callable[[Desk], bool]
Action: TypeAlias = Callable[[Desk], None]


@dataclass(frozen=True, slots=True)
class Rule:
    """Where an event leads, when its guard holds, and what is done on the way."""

    to: Phase
    do: Action = steps.nothing
    when: Guard = steps.always


_P = Phase
_E = Event

_ANSWERS: Mapping[Event, tuple[Rule, ...]] = {
    _E.MESSAGE: (Rule(_P.SETTLED, steps.settle_message),),
    _E.RETURNED: (Rule(_P.SETTLED, steps.settle_returned),),
    _E.ENDED: (Rule(_P.SETTLED, steps.settle_ended),),
}
"""Law 2: an answer settles from every phase, before any cause."""

_WITHOUT_ID: tuple[Rule, ...] = (
    Rule(_P.FOLLOWING, steps.get_now, steps.id_known),
    Rule(_P.LOOKING_UP, steps.look_up, steps.can_look_up),
    Rule(_P.SETTLED, steps.settle_without_answer),
)
"""The send is over without an answer, and nobody wants to stop."""

_STOP_WITHOUT_ID: tuple[Rule, ...] = (
    Rule(_P.STOPPING, steps.cancel_peer, steps.id_known),
    Rule(_P.LOOKING_UP, steps.look_up, steps.can_look_up),
    Rule(_P.SETTLED, steps.settle_without_answer),
)
"""The send is over without an answer, and we want to stop."""

_STOP_SENDING: tuple[Rule, ...] = (
    Rule(_P.STOPPING, steps.cancel_peer, steps.id_known),
    Rule(_P.HOLDING, steps.hold, steps.body_left),
    Rule(_P.RELEASING, steps.release_unless_left),
)

_STOP_KNOWN: tuple[Rule, ...] = (Rule(_P.STOPPING, steps.cancel_peer),)

_REFUSED_WHILE_STOPPING: tuple[Rule, ...] = (Rule(_P.SETTLED, steps.settle_without_answer),)

_HELD: Mapping[Event, tuple[Rule, ...]] = {
    **_ANSWERS,
    _E.PAUSED: _STOP_KNOWN,
    _E.WORKING: _STOP_KNOWN,
    _E.NOT_SENT: _STOP_WITHOUT_ID,
    _E.REFUSED: _REFUSED_WHILE_STOPPING,
    _E.BUSY: _REFUSED_WHILE_STOPPING,
    _E.FAULT: _STOP_WITHOUT_ID,
    _E.LOST: _STOP_WITHOUT_ID,
    _E.UNREADABLE: _STOP_WITHOUT_ID,
}
"""We want to stop and the send is still in flight: how it ends decides."""

_ID_APPEARS: tuple[Rule, ...] = (
    Rule(_P.STOPPING, steps.cancel_peer, steps.id_known_while_stopping),
    Rule(_P.FOLLOWING, steps.get_now, steps.id_known),
)
"""A send that was left behind shows the id after all."""

_SEARCHED: tuple[Rule, ...] = (
    Rule(_P.STOPPING, steps.adopt_and_cancel, steps.found_one_while_stopping),
    Rule(_P.FOLLOWING, steps.adopt, steps.found_one),
    Rule(_P.SETTLED, steps.settle_ambiguous, steps.found_several),
    Rule(_P.LOOKING_UP, steps.wait_for_next_round, steps.another_round),
    Rule(_P.SETTLED, steps.settle_without_answer),
)

TABLE: Mapping[Phase, Mapping[Event, tuple[Rule, ...]]] = {
    _P.PREPARED: {
        _E.START: (Rule(_P.SENDING, steps.send),),
        _E.TIMER: (Rule(_P.SENDING, steps.send),),
        _E.CANCEL: (Rule(_P.SETTLED, steps.settle_without_answer),),
        _E.DEADLINE: (Rule(_P.SETTLED, steps.settle_without_answer),),
    },
    _P.SENDING: {
        **_ANSWERS,
        _E.BODY_LEFT: (Rule(_P.SENDING),),
        _E.ID_SEEN: (Rule(_P.SENDING),),
        _E.PAUSED: (Rule(_P.SETTLED, steps.settle_paused),),
        _E.WORKING: (Rule(_P.FOLLOWING, steps.wait_to_poll),),
        _E.NOT_SENT: (
            Rule(_P.PREPARED, steps.wait_to_send, steps.may_send_again),
            Rule(_P.SETTLED, steps.settle_without_answer),
        ),
        _E.REFUSED: (
            Rule(_P.SENDING, steps.downgrade, steps.may_downgrade),
            Rule(_P.SENDING, steps.send_without_context, steps.context_refused),
            Rule(_P.SETTLED, steps.settle_without_answer),
        ),
        _E.BUSY: (
            Rule(_P.PREPARED, steps.wait_to_send, steps.may_send_again),
            Rule(_P.SETTLED, steps.settle_without_answer),
        ),
        _E.FAULT: _WITHOUT_ID,
        _E.LOST: _WITHOUT_ID,
        _E.UNREADABLE: _WITHOUT_ID,
        _E.CANCEL: _STOP_SENDING,
        _E.DEADLINE: _STOP_SENDING,
    },
    _P.HOLDING: {
        **_HELD,
        _E.ID_SEEN: _STOP_KNOWN,
        _E.BOUND: (Rule(_P.RELEASING, steps.release),),
    },
    _P.RELEASING: {
        **_HELD,
        _E.BODY_LEFT: (Rule(_P.HOLDING, steps.hold),),
        _E.ID_SEEN: (Rule(_P.RELEASING),),
        _E.BOUND: _STOP_WITHOUT_ID,
    },
    _P.LOOKING_UP: {
        **_ANSWERS,
        _E.PAUSED: (
            Rule(_P.STOPPING, steps.cancel_peer, steps.has_cause),
            Rule(_P.SETTLED, steps.settle_paused),
        ),
        _E.WORKING: (
            Rule(_P.STOPPING, steps.cancel_peer, steps.has_cause),
            Rule(_P.FOLLOWING, steps.wait_to_poll),
        ),
        _E.ID_SEEN: _ID_APPEARS,
        _E.LOST: _ID_APPEARS,
        _E.UNREADABLE: _ID_APPEARS,
        _E.MORE_PAGES: (Rule(_P.LOOKING_UP, steps.next_page),),
        _E.SEARCHED: _SEARCHED,
        _E.NO_LIST: (Rule(_P.SETTLED, steps.settle_without_answer),),
        _E.TIMER: (Rule(_P.LOOKING_UP, steps.next_round),),
        _E.BOUND: (*_SEARCHED[:3], Rule(_P.SETTLED, steps.settle_without_answer)),
        _E.CANCEL: (Rule(_P.LOOKING_UP, steps.hurry_look_up),),
        _E.DEADLINE: (Rule(_P.LOOKING_UP, steps.hurry_look_up),),
    },
    _P.FOLLOWING: {
        **_ANSWERS,
        _E.PAUSED: (Rule(_P.SETTLED, steps.settle_paused),),
        _E.WORKING: (Rule(_P.FOLLOWING, steps.wait_to_poll),),
        _E.TIMER: (Rule(_P.FOLLOWING, steps.get_now),),
        _E.BOUND: (Rule(_P.FOLLOWING, steps.give_up_get),),
        _E.GET_FAILED: (Rule(_P.FOLLOWING, steps.wait_to_poll),),
        _E.GET_REFUSED: (
            Rule(_P.SETTLED, steps.settle_gone, steps.refused_thrice),
            Rule(_P.FOLLOWING, steps.wait_to_poll),
        ),
        _E.CANCEL: _STOP_KNOWN,
        _E.DEADLINE: _STOP_KNOWN,
    },
    _P.STOPPING: {
        **_ANSWERS,
        _E.PAUSED: (
            Rule(_P.SETTLED, steps.settle_stopped, steps.receipt_is_final),
            Rule(_P.STOPPING, steps.watch_stopping),
        ),
        _E.WORKING: (
            Rule(_P.SETTLED, steps.settle_stopped, steps.receipt_is_final),
            Rule(_P.STOPPING, steps.watch_stopping),
        ),
        _E.TIMER: (Rule(_P.STOPPING, steps.next_stopping_step),),
        _E.CANCEL_REFUSED: (Rule(_P.STOPPING, steps.look_once_more),),
        _E.CANCEL_FAILED: (Rule(_P.STOPPING, steps.look_once_more),),
        _E.GET_FAILED: (
            Rule(_P.SETTLED, steps.settle_stopped, steps.receipt_is_final),
            Rule(_P.STOPPING, steps.watch_stopping),
        ),
        _E.GET_REFUSED: (
            Rule(_P.SETTLED, steps.settle_stopped, steps.receipt_is_final),
            Rule(_P.STOPPING, steps.watch_stopping),
        ),
        _E.BOUND: (Rule(_P.SETTLED, steps.settle_stopped),),
    },
    _P.SETTLED: {
        _E.ENDED: (Rule(_P.SETTLED, steps.compare_ends),),
    },
}
"""Every event not named in a phase changes nothing there."""
