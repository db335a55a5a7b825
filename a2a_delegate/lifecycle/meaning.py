"""What a request shows, and how it ends, means for the delegation: from observation to event.

What is learned goes into the evidence by `learning`; the event says which rules of the table apply.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from a2a_delegate.lifecycle.evidence import asked_pause
from a2a_delegate.lifecycle.faults import GONE, NOT_CANCELLING, NOT_LISTING, NOT_STREAMING
from a2a_delegate.lifecycle.learning import failure_of, learn_end, learn_event
from a2a_delegate.lifecycle.operations import (
    Fault,
    FaultKind,
    Lost,
    MessageReply,
    NotSent,
    OperationName,
    Reply,
    StreamEnd,
    TaskPage,
    TaskReply,
)
from a2a_delegate.lifecycle.search import PAGES, is_ours
from a2a_delegate.lifecycle.table import Event, Phase
from a2a_delegate.outcome import CancelReceipt
from a2a_delegate.signals import StreamCut

if TYPE_CHECKING:
    from a2a_delegate.lifecycle.desk import Desk
    from a2a_delegate.lifecycle.observations import Ended, Streamed
    from a2a_delegate.model.task import Task


def event_of_stream(desk: Desk, phase: Phase, streamed: Streamed) -> Event | None:
    """Take what a stream shows, also one that was let go and has not stopped yet."""
    seen = desk.seen
    answered, ended, known = seen.answer, seen.end_seen, seen.task
    desk.ended = None
    news = False
    for signal in learn_event(seen, streamed):
        desk.tell(signal)
        news = True
    if news and streamed.number == desk.stream:
        desk.barren = 0
    if seen.answer is not answered and seen.answer is not None:
        desk.said = seen.answer
        return Event.MESSAGE
    if seen.end_seen is not ended:
        return Event.END_SEEN
    if seen.task is known or seen.task is None:
        return Event.WORKING if news and seen.task_id is not None else None
    if isinstance(streamed.event, TaskReply):
        desk.shown = seen.task
        return _state_event(desk, phase, seen.task)
    # A stream that was let go may show its question again, and nobody may wait for it.
    asks = streamed.number == desk.stream and seen.cause is None
    return Event.QUESTION_SEEN if asks and seen.awaits_caller(seen.task) else Event.WORKING


def event_of_end(desk: Desk, phase: Phase, ended: Ended) -> Event | None:
    """Take how a request ended; what we let go of ourselves says nothing by failing."""
    seen, reply = desk.seen, ended.reply
    current = desk.flight.get(ended.name) == ended.number
    desk.ended = ended.name if current else None
    if current:
        del desk.flight[ended.name]
    failed = failure_of(seen, ended) is not None
    for signal in learn_end(seen, ended, current=current):
        desk.tell(signal)
    if failed:
        # While a task is followed, a stream that we let go says nothing when it ends.
        over = phase is Phase.FOLLOWING and ended.number == desk.stopped_send
        return _failure(desk, phase, ended.name, reply) if current and not over else None
    if isinstance(reply, TaskReply):
        desk.shown = reply.task
        if desk.ended is OperationName.CANCEL:
            seen.receipt = CancelReceipt.REQUESTED
        return _state_event(desk, phase, reply.task)
    if isinstance(reply, MessageReply):
        desk.said = reply.message
        return Event.MESSAGE
    return _page_event(desk, reply) if current and isinstance(reply, TaskPage) else None


def _failure(desk: Desk, phase: Phase, name: OperationName, reply: Reply) -> Event:
    """Say what an end without an answer means."""
    if isinstance(reply, StreamEnd) and phase is Phase.FOLLOWING:
        return _stream_over(desk, reply)
    kind = reply.kind if isinstance(reply, Fault) else None
    match name:
        case OperationName.SEND:
            event = _send_event(desk, reply)
        case OperationName.LIST:
            event = Event.NO_LIST if kind in NOT_LISTING else Event.SEARCHED
        case OperationName.SUBSCRIBE:
            if isinstance(reply, Fault):
                asked = desk.now + asked_pause(reply.error)
                desk.paused_until = max(desk.paused_until, asked)
            event = Event.NO_STREAM if kind in NOT_STREAMING else Event.STREAM_OVER
        case OperationName.GET:
            event = _get_event(desk, phase, kind)
        case OperationName.CANCEL:
            refused = kind in NOT_CANCELLING
            receipt = CancelReceipt.REFUSED if refused else CancelReceipt.UNREACHED
            desk.seen.receipt = receipt
            event = Event.CANCEL_REFUSED if refused else Event.CANCEL_FAILED
        case _:
            assert_never(name)
    return event


def _get_event(desk: Desk, phase: Phase, kind: FaultKind | None) -> Event:
    if phase is Phase.LOOKING_UP:
        # Refused once says little of a task that was there; the rounds are bounded anyway.
        return Event.SEARCHED
    seen, gone = desk.seen, kind in GONE
    seen.refused_gets = seen.refused_gets + 1 if gone else 0
    return Event.GET_REFUSED if gone else Event.GET_FAILED


def _stream_over(desk: Desk, end: StreamEnd) -> Event:
    desk.tell(StreamCut(desk.seen.target, end.error))
    return Event.STREAM_OVER


def _send_event(desk: Desk, reply: Reply) -> Event:
    seen = desk.seen
    match reply:
        case Fault(kind=FaultKind.RATE_LIMITED) if seen.unbegun:
            return Event.BUSY
        case Fault():
            return Event.REFUSED if seen.unbegun else Event.FAULT
        case NotSent():
            # Of a body that was seen to leave and a word that it did not, the first is safe.
            return Event.LOST if seen.unproven else Event.NOT_SENT
        case Lost():
            return Event.LOST
        case _:
            return Event.UNREADABLE


def _state_event(desk: Desk, phase: Phase, task: Task) -> Event:
    state = task.status.state
    if phase is Phase.LOOKING_UP and desk.seen.task_id is None:
        # The task that was answered, without our answer; one that has ended never shows it.
        return Event.NO_LIST if state.is_terminal else Event.SEARCHED
    if state.is_terminal:
        return Event.ENDED
    return Event.PAUSED if desk.seen.awaits_caller(task) else Event.WORKING


def _page_event(desk: Desk, page: TaskPage) -> Event:
    search, ours = desk.search, desk.seen.ours
    here = [task for task in page.tasks if is_ours(task, ours)]
    search.found = tuple(dict.fromkeys((*search.found, *(task.id for task in here))))
    search.ended = search.ended or any(task.status.state.is_terminal for task in here)
    search.next_page = page.next_page_token
    more = bool(search.next_page) and search.page < PAGES
    return Event.MORE_PAGES if more else Event.SEARCHED
