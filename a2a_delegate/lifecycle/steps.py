"""Actions: the small pure steps that the rules of the table take on the way."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from a2a_delegate.errors import InvalidReplyError, LostReplyError
from a2a_delegate.lifecycle import search, verdict
from a2a_delegate.lifecycle.commands import LetGo, Switch
from a2a_delegate.lifecycle.desk import Desk, Search
from a2a_delegate.lifecycle.evidence import asked_pause
from a2a_delegate.lifecycle.operations import CancelTask, GetTask, OperationName
from a2a_delegate.lifecycle.watching import get_now, look_once_more, soon
from a2a_delegate.model.task import TaskState
from a2a_delegate.outcome import CancelReceipt
from a2a_delegate.signals import CancelSent, Downgraded, Recovered, Rerouted, TerminalChanged

if TYPE_CHECKING:
    from a2a_delegate.lifecycle.plan import Route
    from a2a_delegate.model.task import Task

_CUT = "what the task made is larger than is kept, and the task cannot be had"
_SEND_PAUSE = 0.5
_SEND_PAUSE_MAX = 5.0


# -- sending -----------------------------------------------------------------------------------


def send(desk: Desk) -> None:
    """Hand the message over."""
    desk.seen.sends += 1
    desk.perform(desk.seen.route.send)


def wait_to_send(desk: Desk) -> None:
    """Wait before the repeat: what the peer asks for, else full jitter within what is left."""
    ceiling = min(_SEND_PAUSE * 2 ** (desk.seen.sends - 1), _SEND_PAUSE_MAX)
    if desk.seen.plan.deadline is not None:
        ceiling = min(ceiling, desk.seen.plan.deadline - desk.now)
    desk.wake_at = desk.now + max(asked_pause(desk.seen.error), ceiling * desk.chance())


def downgrade(desk: Desk) -> None:
    """Speak the fallback from now on, and hand the same message over by it."""
    refused = desk.seen.route.intent
    spoken = desk.seen.plan.fallback or desk.seen.route
    desk.seen.downgraded = True
    desk.outbox.append(Switch(spoken.intent))
    desk.tell(Downgraded(refused.version, spoken.intent.version, spoken.intent))
    _send_by(desk, spoken)


def detour(desk: Desk) -> None:
    """Hand the message over by the next way: by this one the peer cannot be reached."""
    seen = desk.seen
    way, route = seen.plan.detours[seen.detours], seen.route
    seen.detours += 1
    # What was learned of the message by the way before, such as a context that is refused, stays.
    intent = replace(route.intent, endpoint=way.url, binding=way.binding.value, tenant=way.tenant)
    desk.outbox.append(Switch(intent))
    desk.tell(Rerouted(intent))
    _send_by(desk, replace(route, intent=intent))


def send_without_context(desk: Desk) -> None:
    """Hand the message over once more without the context id that we chose."""
    route = desk.seen.route
    bare = replace(
        route,
        intent=replace(route.intent, context_id=None),
        send=replace(route.send, message=replace(route.send.message, context_id=None)),
        by_context=False,
        own_context=False,
    )
    _send_by(desk, bare)


def send_unstreamed(desk: Desk) -> None:
    """Hand the message over once more, and ask for no stream of it."""
    route = desk.seen.route
    _send_by(desk, replace(route, send=replace(route.send, streamed=False), streams=False))


def _send_by(desk: Desk, route: Route) -> None:
    desk.seen.route = route
    send(desk)


# -- stopping a send ---------------------------------------------------------------------------


def hold(desk: Desk) -> None:
    """Keep the transport a little: only the reply can show the id."""
    desk.bound_at = desk.now + desk.timing.recovery_grace


def release(desk: Desk) -> None:
    """Stop the transport; its end completes the evidence."""
    desk.bound_at = desk.now + desk.timing.release
    desk.let_go(OperationName.SEND)


def release_unless_left(desk: Desk) -> None:
    """Stop the transport at once, if really nothing has left."""
    desk.bound_at = desk.now + desk.timing.release
    desk.outbox.append(LetGo(desk.flight[OperationName.SEND], unless_left=True))


# -- looking up --------------------------------------------------------------------------------


def look_up(desk: Desk) -> None:
    """Ask the peer what became of it: the bound is that of recovery, or of cleaning up."""
    stopping = desk.seen.cause is not None
    bound = desk.timing.cancel_grace if stopping else desk.timing.recovery_timeout
    desk.bound_at = desk.now + bound
    search_on(desk)


def search_on(desk: Desk) -> None:
    """Ask for the next page of this round, or for the task that our message answers."""
    desk.wake_at = None
    route = desk.seen.route
    if route.answers is not None:
        desk.perform(GetTask(route.answers.task_id))
        return
    desk.search.page += 1
    desk.perform(search.query(route, route.send.message, desk.search.next_page))


def wait_for_next_round(desk: Desk) -> None:
    """Wait, and then ask from the first page again: a task may be listed a little late."""
    desk.wake_at = desk.now + desk.round_pause
    desk.search = Search(round=desk.search.round + 1)


def hurry_look_up(desk: Desk) -> None:
    """Go on within the bound of cleaning up: this round, or a last one, decides."""
    end = desk.now + desk.timing.cancel_grace
    desk.bound_at = end if desk.bound_at is None else min(desk.bound_at, end)
    if OperationName.LIST not in desk.flight:
        search_on(desk)


def _adopted(desk: Desk) -> None:
    (task_id,) = desk.search.found
    desk.tell(Recovered(task_id))
    for signal in desk.seen.learn_id(task_id):
        desk.tell(signal)


def adopt(desk: Desk) -> None:
    """Take the task that was found, and ask for it: a listed snapshot is never the outcome."""
    _adopted(desk)
    get_now(desk)


def adopt_and_cancel(desk: Desk) -> None:
    """Take the task that was found, and stop it."""
    _adopted(desk)
    cancel_peer(desk)


# -- stopping a task ---------------------------------------------------------------------------


def cancel_peer(desk: Desk) -> None:
    """Ask the peer to stop, in one bound with the gets that verify it."""
    seen = desk.seen
    if seen.task_id is not None and seen.route.send.streamed:
        # Of a single answer its end still matters; a stream shows nothing that the gets do not.
        desk.let_go(OperationName.SEND)
    for name in (OperationName.GET, OperationName.LIST, OperationName.SUBSCRIBE):
        desk.let_go(name)
    seen.state_before_cancel = seen.task.status.name if seen.task is not None else ""
    desk.bound_at = desk.stopping_ends
    # Beside a cancel that hangs the task is asked for, in the second half of the bound.
    desk.wake_at = (desk.now + desk.bound_at) / 2
    seen.cancel_sent = True
    desk.tell(CancelSent(seen.target))
    desk.perform(CancelTask(seen.target))


def give_up_task(desk: Desk) -> None:
    """Stop the task too when it cannot be asked for any more: nobody waits for it from now on."""
    desk.seen.gone = desk.seen.get_error
    cancel_peer(desk)


def look_after_cancel(desk: Desk) -> None:
    """Ask what has become of the task since the peer answered the cancel."""
    # A get that went out before cannot say.
    desk.let_go(OperationName.GET)
    look_once_more(desk)


def watch_stopping(desk: Desk) -> None:
    """Ask again soon, after the peer answered the cancel or a get, and the task has not ended."""
    if desk.ended not in {OperationName.CANCEL, OperationName.GET}:
        return
    pause = soon(desk)
    if OperationName.GET not in desk.flight:
        desk.wake_at = desk.now + pause


# -- settling ----------------------------------------------------------------------------------


def settle_without_answer(desk: Desk) -> None:
    """Settle: no task is known, and none will be."""
    desk.settle(verdict.without_answer(desk.seen))


def settle_ambiguous(desk: Desk) -> None:
    """Settle: several tasks carry our message."""
    desk.settle(verdict.ambiguous(desk.seen, len(desk.search.found)))


def settle_message(desk: Desk) -> None:
    """Settle with a message, the whole answer."""
    desk.settle(verdict.message_answer(desk.seen, desk.said))


def settle_returned(desk: Desk) -> None:
    """Settle with the outcome that work in this process made; only the lateness is ours to add."""
    late = desk.returned.late or desk.seen.cause is not None
    desk.settle(replace(desk.returned, late=late))


def settle_ended(desk: Desk) -> None:
    """Settle with the end of the task."""
    _settle_end(desk, desk.shown)


def settle_confirmed(desk: Desk) -> None:
    """Settle with the end that was seen first, and with what the task itself shows."""
    ended, later = _as_ended(desk), desk.shown.status.name
    if later != ended.status.name:
        desk.tell(TerminalChanged(ended.id, ended.status.name, later))
    _settle_end(desk, ended)


def settle_end_seen(desk: Desk) -> None:
    """Settle with what a stream has shown: the task itself cannot be had any more."""
    seen, task = desk.seen, _as_ended(desk)
    if seen.made.is_cut and task.status.state is TaskState.COMPLETED:
        # Half an answer is none.
        seen.first_end = task.status.name
        missing = InvalidReplyError(method="get", reason=_CUT)
        desk.settle(verdict.unknown(seen, seen.get_error or missing))
    else:
        _settle_end(desk, task)


def _as_ended(desk: Desk) -> Task:
    """Return the task as it was seen to end; every snapshot since has kept that end."""
    return desk.seen.task or desk.shown


def _settle_end(desk: Desk, task: Task) -> None:
    desk.seen.first_end = task.status.name
    desk.settle(verdict.task_ended(desk.seen, task))


def settle_paused(desk: Desk) -> None:
    """Settle with the question of the task."""
    desk.settle(verdict.paused(desk.seen, desk.shown))


def settle_running(desk: Desk) -> None:
    """Settle: one look was asked for, and the task goes on."""
    desk.settle(verdict.running(desk.seen, desk.shown))


def settle_unseen(desk: Desk) -> None:
    """Settle: one look was asked for, and it showed nothing."""
    failure = desk.seen.get_error or LostReplyError(method="get", phase="deadline")
    desk.settle(verdict.unknown(desk.seen, failure))


def settle_unstopped(desk: Desk) -> None:
    """Settle: nobody waits for the look any more; the task was not asked to stop."""
    desk.settle(verdict.stopped(desk.seen, CancelReceipt.UNREACHED))


def settle_stopped(desk: Desk) -> None:
    """Settle by the cause and the receipt: the bound passed, or a last look showed no end."""
    desk.settle(verdict.stopped(desk.seen, desk.seen.receipt or CancelReceipt.UNREACHED))


def settle_cancelled(desk: Desk) -> None:
    """Settle: a stream shows that the task was cancelled, by us."""
    desk.seen.first_end = TaskState.CANCELED.value
    desk.settle(verdict.stopped(desk.seen, CancelReceipt.CONFIRMED))


def tell_of_change(desk: Desk) -> None:
    """Tell of another end than the first one; it changes nothing."""
    task, first = desk.shown, desk.seen.first_end or ""
    desk.tell(TerminalChanged(task.id, first, task.status.name))


def nothing(_: Desk) -> None:
    """Do nothing on the way."""
