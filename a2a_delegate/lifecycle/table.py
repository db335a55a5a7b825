"""The lifecycle of one delegation: phases, events, and one table of what follows.

Theory
======

A *phase* says what is true of the one message that is handed over:

- PREPARED: the intent is told, nothing is in flight; a first or repeated send will start, or what
  was handed over before is taken up.
- SENDING: a send is in flight; its body may have left.
- HOLDING: we want to stop, the body has left and no id is known. The transport is kept a little
  longer, because the reply is the only place that can show the id.
- RELEASING: the transport was told to stop. Only when it has, the evidence is complete: between
  the order and its delivery the body could still leave.
- LOOKING_UP: the transport is gone, no id is known; the peer is asked by list, or for the task that
  the message answers.
- FOLLOWING: the id is known; the task is watched by a stream, with a slow poll beside it, or asked
  for by get, until it ends or asks.
- CONFIRMING: a stream has shown that the task ended, and the task is asked for: what it made may
  have been missed. What the stream has shown is the answer where the task cannot be had.
- STOPPING: the id is known and nobody waits for the task any more, for a cause or because it cannot
  be asked for: cancel, then get, in one bound.
- SETTLED: the outcome is fixed; nothing changes it.

Beside the phase stand the *evidence*, which accumulates and is never taken back, and the *cause*
(the caller's cancel or the deadline), of which the first one latches. An *event* is what an
observation means once the evidence has taken it in. A cell of the table holds rules that are
tried in order; the first whose guard holds gives the next phase and what is done on the way. An
empty cell, and a cell of which no rule holds, means that the event changes nothing there.

A deadline can have passed before anybody told so, because an event loop is never quite on time. It
latches before the observation at hand is understood, and its own event comes right after. So a
rule of a phase in which nobody wants to stop can meet a cause, and those that would begin
something, or hand over a question, ask for it.

What follows from the shape of the table:

*At most one run by our doing.* A send is performed by four rules only: START and TIMER in
PREPARED, and the two repeats on REFUSED in SENDING. START comes once, and sends only what is to be
handed over; what is taken up never enters SENDING. The others are reached only
through an event that proves that the attempt before did not begin: NOT_SENT, BUSY, REFUSED.

*No answer is thrown away.* In every phase in which a send can be in flight, MESSAGE and ENDED
settle with that answer; in every phase in which a get or a cancel can be, ENDED does.

*No dead end.* Each phase but SETTLED sets a timer when it is entered, and every rule that stays in
it leaves one set; SENDING alone has none: a send waits for its peer as long as the caller does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import TypeAlias

from a2a_delegate.lifecycle import guards, steps, watching
from a2a_delegate.lifecycle.desk import Desk
from a2a_delegate.model.frozen import dataclass


class Phase(Enum):
    """What is true of the message that is handed over."""

    PREPARED = "prepared"
    SENDING = "sending"
    HOLDING = "holding"
    RELEASING = "releasing"
    LOOKING_UP = "looking-up"
    FOLLOWING = "following"
    CONFIRMING = "confirming"
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
    END_SEEN = "end-seen"
    """A stream shows that the task has ended, and not the task itself."""
    QUESTION_SEEN = "question-seen"
    """A stream shows that the task waits for its caller, and not the task itself."""
    STREAM_OVER = "stream-over"
    """A stream is over, or could not be had, and the task goes on."""
    NO_STREAM = "no-stream"
    """The peer does not let anyone subscribe."""
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
    when: Guard = guards.always


Cells: TypeAlias = Mapping[Event, tuple[Rule, ...]]

_P = Phase
_E = Event

_CONFIRM: tuple[Rule, ...] = (Rule(_P.CONFIRMING, watching.confirm),)

_ANSWERS: Cells = {
    _E.MESSAGE: (Rule(_P.SETTLED, steps.settle_message),),
    _E.ENDED: (Rule(_P.SETTLED, steps.settle_ended),),
    _E.END_SEEN: _CONFIRM,
}
"""Law 2: an answer settles from every phase in which one can come, before any cause."""

_STOP_KNOWN: tuple[Rule, ...] = (Rule(_P.STOPPING, steps.cancel_peer),)

_LOOK_OR_LEAVE: tuple[Rule, ...] = (
    Rule(_P.LOOKING_UP, steps.look_up, guards.can_look_up),
    Rule(_P.SETTLED, steps.settle_without_answer),
)

_WITHOUT_ID: tuple[Rule, ...] = (
    Rule(_P.STOPPING, steps.cancel_peer, guards.answered_while_stopping),
    *_LOOK_OR_LEAVE,
)

_FOLLOW_OR_LOOK: tuple[Rule, ...] = (
    Rule(_P.STOPPING, steps.cancel_peer, guards.id_known_while_stopping),
    Rule(_P.FOLLOWING, watching.get_now, guards.id_known),
    *_WITHOUT_ID,
)
"""The send is over without an answer."""

_STOP_OR_LOOK: tuple[Rule, ...] = (
    Rule(_P.STOPPING, steps.cancel_peer, guards.id_known),
    *_WITHOUT_ID,
)
"""The send is over without an answer, and we want to stop."""

_STOP_SENDING: tuple[Rule, ...] = (
    Rule(_P.STOPPING, steps.cancel_peer, guards.id_known),
    Rule(_P.HOLDING, steps.hold, guards.body_left),
    Rule(_P.RELEASING, steps.release_unless_left),
)

_REFUSED: tuple[Rule, ...] = (Rule(_P.SETTLED, steps.settle_without_answer),)

_HELD: Cells = {
    **_ANSWERS,
    _E.ID_SEEN: _STOP_KNOWN,
    _E.PAUSED: _STOP_KNOWN,
    _E.WORKING: _STOP_KNOWN,
    _E.REFUSED: _REFUSED,
    _E.BUSY: _REFUSED,
    _E.FAULT: _WITHOUT_ID,
    _E.LOST: _STOP_OR_LOOK,
    _E.UNREADABLE: _STOP_OR_LOOK,
}
"""We want to stop and the send is still in flight: how it ends decides."""

_STOPS: tuple[Rule, ...] = (Rule(_P.STOPPING, steps.cancel_peer, guards.wants_to_stop),)

_ASKS: tuple[Rule, ...] = (*_STOPS, Rule(_P.SETTLED, steps.settle_paused))

_GOES_ON: tuple[Rule, ...] = (*_STOPS, Rule(_P.FOLLOWING, watching.watch))

_QUESTION: tuple[Rule, ...] = (Rule(_P.FOLLOWING, watching.ask_for_question),)

_UNSEEN: tuple[Rule, ...] = (
    Rule(_P.SETTLED, steps.settle_unseen, guards.looks_once),
    *_STOPS,
)
"""A get showed nothing. Where it was the look before a stop, the task is stopped unseen."""

_NOBODY_WAITS: tuple[Rule, ...] = (
    Rule(_P.SETTLED, steps.settle_unstopped, guards.looks_once),
    *_STOP_KNOWN,
)

_ID_APPEARS: tuple[Rule, ...] = (Rule(_P.STOPPING, steps.cancel_peer, guards.id_known),)
"""A send that was left behind shows the id after all; only a stop leaves one behind."""

_FOUND: tuple[Rule, ...] = (
    Rule(_P.FOLLOWING, steps.adopt, guards.found_one_to_look_at),
    Rule(_P.STOPPING, steps.adopt_and_cancel, guards.found_one_while_stopping),
    Rule(_P.SETTLED, steps.settle_ambiguous, guards.found_several),
)
_LAST_ROUND: tuple[Rule, ...] = (
    Rule(_P.SETTLED, steps.settle_without_answer, guards.looks_once),
    Rule(_P.STOPPING, steps.cancel_peer, guards.answered_while_stopping),
    Rule(_P.LOOKING_UP, steps.hurry_look_up),
)
_NOT_FOUND = Rule(_P.SETTLED, steps.settle_without_answer)

_REPEAT: tuple[Rule, ...] = (
    Rule(_P.PREPARED, steps.wait_to_send, guards.may_send_again),
    Rule(_P.SETTLED, steps.settle_without_answer),
)

_LAST_LOOK: tuple[Rule, ...] = (
    Rule(_P.SETTLED, steps.settle_stopped, guards.came_to_nothing),
    Rule(_P.STOPPING, steps.watch_stopping),
)

_NOT_YET: tuple[Rule, ...] = (Rule(_P.CONFIRMING, watching.confirm_again),)
_HURRY: tuple[Rule, ...] = (Rule(_P.CONFIRMING, watching.hurry_confirming),)

TABLE: Mapping[Phase, Cells] = {
    _P.PREPARED: {
        _E.START: (
            Rule(_P.SETTLED, steps.settle_without_answer, guards.unsent_with_cause),
            Rule(_P.SENDING, steps.send, guards.hands_over),
            Rule(_P.SETTLED, steps.settle_unstopped, guards.looks_with_cause),
            Rule(_P.FOLLOWING, watching.get_now, guards.id_known),
            *_LOOK_OR_LEAVE,
        ),
        _E.TIMER: (Rule(_P.SENDING, steps.send),),
        _E.CANCEL: (Rule(_P.SETTLED, steps.settle_without_answer),),
        _E.DEADLINE: (Rule(_P.SETTLED, steps.settle_without_answer),),
    },
    _P.SENDING: {
        **_ANSWERS,
        _E.RETURNED: (Rule(_P.SETTLED, steps.settle_returned),),
        _E.PAUSED: _ASKS,
        _E.WORKING: (Rule(_P.FOLLOWING, watching.watch),),
        _E.QUESTION_SEEN: _QUESTION,
        _E.NOT_SENT: (Rule(_P.SENDING, steps.detour, guards.may_detour), *_REPEAT),
        _E.REFUSED: (
            Rule(_P.SENDING, steps.send_unstreamed, guards.stream_refused),
            Rule(_P.SENDING, steps.downgrade, guards.may_downgrade),
            Rule(_P.SENDING, steps.send_without_context, guards.context_refused),
            Rule(_P.SETTLED, steps.settle_without_answer),
        ),
        _E.BUSY: _REPEAT,
        _E.FAULT: _FOLLOW_OR_LOOK,
        _E.LOST: _FOLLOW_OR_LOOK,
        _E.UNREADABLE: _FOLLOW_OR_LOOK,
        _E.CANCEL: _STOP_SENDING,
        _E.DEADLINE: _STOP_SENDING,
    },
    _P.HOLDING: {
        **_HELD,
        _E.BOUND: (Rule(_P.RELEASING, steps.release),),
    },
    _P.RELEASING: {
        **_HELD,
        _E.NOT_SENT: (Rule(_P.SETTLED, steps.settle_without_answer),),
        _E.BODY_LEFT: (Rule(_P.HOLDING, steps.hold),),
        _E.BOUND: _WITHOUT_ID,
    },
    _P.LOOKING_UP: {
        **_ANSWERS,
        _E.PAUSED: _ASKS,
        _E.WORKING: _GOES_ON,
        _E.ID_SEEN: _STOP_KNOWN,
        _E.REFUSED: _REFUSED,
        _E.BUSY: _REFUSED,
        _E.LOST: _ID_APPEARS,
        _E.UNREADABLE: _ID_APPEARS,
        _E.MORE_PAGES: (Rule(_P.LOOKING_UP, steps.search_on),),
        _E.SEARCHED: (
            *_FOUND,
            Rule(_P.LOOKING_UP, steps.wait_for_next_round, guards.another_round),
            _NOT_FOUND,
        ),
        _E.NO_LIST: (*_FOUND, _NOT_FOUND),
        _E.TIMER: (Rule(_P.LOOKING_UP, steps.search_on),),
        _E.BOUND: (*_FOUND, _NOT_FOUND),
        _E.CANCEL: _LAST_ROUND,
        _E.DEADLINE: _LAST_ROUND,
    },
    _P.FOLLOWING: {
        **_ANSWERS,
        _E.PAUSED: _ASKS,
        _E.WORKING: (Rule(_P.SETTLED, steps.settle_running, guards.looks_once), *_GOES_ON),
        _E.QUESTION_SEEN: _QUESTION,
        _E.TIMER: (
            Rule(_P.FOLLOWING, watching.subscribe, guards.subscribes_next),
            Rule(_P.FOLLOWING, watching.get_now),
        ),
        _E.BOUND: (*_UNSEEN, Rule(_P.FOLLOWING, watching.give_up_get)),
        _E.GET_FAILED: (*_UNSEEN, Rule(_P.FOLLOWING, watching.watch)),
        _E.GET_REFUSED: (
            *_UNSEEN,
            Rule(_P.STOPPING, steps.give_up_task, guards.refused_thrice),
            Rule(_P.FOLLOWING, watching.watch),
        ),
        _E.STREAM_OVER: (*_STOPS, Rule(_P.FOLLOWING, watching.ask_after_stream)),
        _E.NO_STREAM: (*_STOPS, Rule(_P.FOLLOWING, watching.give_up_streams)),
        _E.CANCEL: _NOBODY_WAITS,
        _E.DEADLINE: _NOBODY_WAITS,
    },
    _P.CONFIRMING: {
        _E.ENDED: (Rule(_P.SETTLED, steps.settle_confirmed),),
        _E.PAUSED: _NOT_YET,
        _E.WORKING: _NOT_YET,
        _E.GET_FAILED: _NOT_YET,
        _E.GET_REFUSED: (Rule(_P.SETTLED, steps.settle_end_seen),),
        _E.TIMER: (Rule(_P.CONFIRMING, watching.look_once_more),),
        _E.BOUND: (Rule(_P.SETTLED, steps.settle_end_seen),),
        _E.CANCEL: _HURRY,
        _E.DEADLINE: _HURRY,
    },
    _P.STOPPING: {
        **_ANSWERS,
        _E.END_SEEN: (
            Rule(_P.SETTLED, steps.settle_cancelled, guards.stopped_by_us),
            *_CONFIRM,
        ),
        _E.RETURNED: (Rule(_P.SETTLED, steps.settle_returned),),
        _E.PAUSED: _LAST_LOOK,
        _E.WORKING: _LAST_LOOK,
        _E.TIMER: (Rule(_P.STOPPING, watching.look_once_more),),
        _E.CANCEL_REFUSED: (Rule(_P.STOPPING, steps.look_after_cancel),),
        _E.CANCEL_FAILED: (Rule(_P.STOPPING, steps.look_after_cancel),),
        _E.GET_FAILED: _LAST_LOOK,
        _E.GET_REFUSED: _LAST_LOOK,
        _E.BOUND: (Rule(_P.SETTLED, steps.settle_stopped),),
    },
    _P.SETTLED: {
        _E.ENDED: (Rule(_P.SETTLED, steps.tell_of_change, guards.another_end),),
    },
}
"""Every event not named in a phase changes nothing there."""
