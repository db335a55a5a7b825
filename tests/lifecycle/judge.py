"""What must be true of every command and every state: the laws, said once more from outside.

`ends` judges the outcomes, and `ledger` is what the model remembers to judge by.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from a2a_delegate.lifecycle.commands import LetGo, Perform, Settle, Switch, Tell
from a2a_delegate.lifecycle.operations import (
    CancelTask,
    GetTask,
    ListTasks,
    SendMessage,
    SubscribeToTask,
)
from a2a_delegate.lifecycle.plan import Mission
from a2a_delegate.signals import (
    AttemptFailed,
    CancelSent,
    Downgraded,
    IdKnown,
    Intent,
    Recovered,
    Rerouted,
    Sent,
    Settled,
    TerminalChanged,
)
from tests.lifecycle import streams
from tests.lifecycle.ends import check_end
from tests.lifecycle.ledger import GET, MOMENT, SEND, latest
from tests.lifecycle.replies import ENDS, STATE_OF, TASK

if TYPE_CHECKING:
    from collections.abc import Sequence

    from a2a_delegate.lifecycle.commands import Command
    from a2a_delegate.lifecycle.operations import Operation
    from a2a_delegate.signals import Signal
    from tests.lifecycle.ledger import Ledger
    from tests.lifecycle.world import World

ANSWERS: Final = {label for label, state in STATE_OF.items() if state in ENDS} | {
    "message",
    "returned",
    "canceled, a lie",
    "canceled, another",
    "failed, another",
}


def check_command(world: World, commands: Sequence[Command], place: int, label: str) -> None:
    """Judge one of the commands that follow one observation; those before it are carried out."""
    ledger = world.ledger
    before = commands[place - 1] if place else None
    match commands[place]:
        case Tell(signal):
            _check_signal(world, signal, label, before)
        case Perform(number, operation):
            _check_perform(world, number, operation, before)
        case LetGo(number):
            assert not world.flights[number].for_good, "nothing is told to stop twice"
        case Switch():
            plan = world.setup.plan
            assert plan.fallback is not None or plan.detours, "no other way"
        case Settle(result):
            assert place == len(commands) - 1, "the outcome is the last that is said"
            assert all(one.let_go for one in world.flights.values()), "something is left running"
            check_end(world, result, label)
            ledger.result = result


def check_after_settling(ledger: Ledger, commands: Sequence[Command], label: str) -> None:
    """Nothing changes an outcome; another end of the task is told."""
    end = STATE_OF.get(label, "")
    changed = end in ENDS and ledger.first_end not in {"", end}
    told = TerminalChanged(TASK, ledger.first_end, end)
    assert list(commands) == ([Tell(told)] if changed else []), "another end is told, and no more"


def _check_signal(world: World, signal: Signal, label: str, before: Command | None) -> None:
    ledger = world.ledger
    assert ledger.intent_told or isinstance(signal, Intent), "the intent is told first"
    match signal:
        case Intent(handle):
            assert not ledger.intent_told
            assert (handle is None) is world.setup.plan.in_process
            ledger.intent_told = True
        case Sent(number):
            assert number == ledger.sends
        case Recovered(task_id):
            assert task_id == TASK
            shown = label.endswith(", ours") and world.setup.plan.route.answers is not None
            assert shown or ledger.found == {TASK}, "one match is adopted, and nothing else"
            ledger.id_told = True
        case IdKnown(task_id):
            assert task_id == TASK
            assert not ledger.id_signalled, "the first id stays"
            ledger.id_signalled = True
        case Downgraded():
            assert isinstance(before, Switch)
            assert label == "version refused"
            assert not ledger.downgraded, "a downgrade of a downgrade"
            ledger.downgraded = True
        case Rerouted():
            assert isinstance(before, Switch)
            assert label == "not-sent", "another way only with proof that nothing left"
            assert not ledger.cause
            assert ledger.detours < len(world.setup.plan.detours), "each way is tried once"
            ledger.detours += 1
        case AttemptFailed():
            assert label not in ANSWERS
        case TerminalChanged(first=first, later=later) if ledger.end_seen:
            assert first == ledger.end_seen
            assert label == f"{later}, another"
        case Settled() | TerminalChanged():
            raise AssertionError("told by the shell, and only after settling")
        case _:
            pass


def _check_perform(world: World, number: int, operation: Operation, before: Command | None) -> None:
    ledger = world.ledger
    assert number == ledger.performed + 1, "each request has a number of its own"
    ledger.performed = number
    assert ledger.intent_told, "law 9: the intent before the first byte"
    assert ledger.state_shown not in ENDS, "a task seen terminal is left alone"
    only = not ledger.end_seen or isinstance(operation, GetTask)
    assert only, "a task that was seen to end is asked for, and no more"
    busy = [one for one in world.flights.values() if one.name is operation.name and not one.let_go]
    assert not busy, "at most one request of a kind"
    match operation:
        case GetTask(task_id):
            assert task_id == TASK
            _check_get(world)
        case CancelTask(task_id):
            assert task_id == TASK
            assert ledger.id_told or world.setup.plan.route.answers is not None
            assert not ledger.cancelled, "one cancel"
            looked = ledger.last_get is not None
            assert looked or not ledger.listed_as_ended, "a task listed as ended is looked at"
            assert world.setup.plan.mission is not Mission.LOOK, "a look stops nothing"
            ledger.gone = not ledger.cause and ledger.refused_gets >= 3
            assert ledger.cause or ledger.gone, "no task is stopped without a reason"
            assert before == Tell(CancelSent(TASK))
            ledger.cancelled, ledger.state_before_cancel = True, ledger.state_shown
        case ListTasks():
            _check_list(world, operation)
        case SendMessage():
            _check_send(world, operation)
        case SubscribeToTask():
            streams.check_subscription(world, operation)


def _check_send(world: World, send: SendMessage) -> None:
    """Law 1: a send is repeated only with proof that the peer never began."""
    ledger = world.ledger
    assert world.fate.name in {"KEPT", "REFUSED"}, "a second run by our doing"
    assert not ledger.id_told
    assert not ledger.cause, "law 5: nothing is begun after the cause"
    ledger.sends += 1
    assert ledger.sends <= 12
    assert ledger.unsent < 3, "a peer that cannot be reached is tried three times"
    assert world.now >= ledger.asked_until - MOMENT, "Retry-After is kept"
    ledger.unstreamed = ledger.unstreamed or ledger.send_end == "no method"
    assert send.streamed is (world.setup.plan.route.streams and not ledger.unstreamed)
    if ledger.send_end == "context refused":
        assert not ledger.context_dropped, "the context is left out once"
        ledger.context_dropped = True
    assert send.message.message_id == "message-1"
    if ledger.context_dropped or ledger.downgraded:
        assert send.message.context_id is None
    ledger.send_end = ""


def _check_get(world: World) -> None:
    ledger, now, plan = world.ledger, world.now, world.setup.plan
    assert ledger.last_get is None or now - ledger.last_get >= 0.01 - MOMENT, "10 ms between gets"
    ledger.owes_get = False
    if ledger.end_seen:
        pass  # an end that was seen is confirmed at once, and after a cause as well
    elif not ledger.id_told and not ledger.cancelled:
        assert plan.route.answers is not None, "nobody knows what to ask for"
        ledger.rounds_of_gets += 1
        assert ledger.rounds_of_gets <= 3
        assert not ledger.cause, "a task is not looked for after the cause"
    elif not ledger.cancelled:
        assert now >= ledger.asked_until - MOMENT, "Retry-After is kept"
        before = plan.mission is Mission.TAKE_UP or ledger.listed_as_ended
        first = before and ledger.last_get is None
        assert first or not ledger.cause, "a task is not followed after the cause"
    if plan.mission is Mission.LOOK:
        assert ledger.last_get is None, "one look"
    ledger.last_get = now


def _check_list(world: World, operation: ListTasks) -> None:
    ledger = world.ledger
    assert world.setup.plan.route.looks_up, "a peer that cannot list is not asked to"
    assert not ledger.id_told
    assert ledger.ever_left, "nothing to look for"
    if operation.page_token:
        assert operation.page_token == ledger.page_token
        ledger.pages += 1
    else:
        ledger.rounds, ledger.pages = ledger.rounds + 1, 1
    assert ledger.rounds <= (1 if world.setup.plan.mission is Mission.LOOK else 3)
    assert ledger.pages <= 3
    if ledger.cause and not operation.page_token:
        ledger.rounds_after_cause += 1
        assert ledger.rounds_after_cause == 1, "one look-up after the cause"


# -- every state -------------------------------------------------------------------------------


def check_state(world: World, label: str) -> None:
    """Judge where the machine stands after one observation."""
    ledger = world.ledger
    unsealed = [
        one for one in world.flights.values() if one.name is SEND and not (one.left or one.let_go)
    ]
    if ledger.result is not None:
        assert not unsealed, "after settling a body could still leave"
        assert world.machine.next_deadline() is None
        return
    assert label not in ANSWERS, "law 2: an answer was thrown away"
    if world.started:
        streams.check_watching(world, label)
    asked = label in STATE_OF and ledger.asked_again
    assert not asked or ledger.cause or ledger.cancelled, "a question was thrown away"
    due, deadline = world.machine.next_deadline(), world.setup.plan.deadline
    for flight in world.flights.values():
        if flight.name is GET and not (flight.let_go or ledger.stalled):
            assert due is not None, "a get has no bound"
            assert due <= flight.began + 30.0 + MOMENT, "a get may take 30 s"
    if label == "busy, later" and not (world.flights or ledger.cancelled):
        in_time = deadline is None or ledger.asked_until < deadline
        assert in_time, "a pause that the deadline does not leave is not begun"
    # A send alone is waited for without a moment to be woken at.
    sending = any(one.name is SEND and not one.let_go for one in world.flights.values())
    assert not world.started or sending or due is not None, "a dead end"
    if ledger.cause and world.started:
        assert due is not None, "law 5: cleanup has no bound"
        assert ledger.stalled or due <= latest(world), "law 5: cleanup takes too long"
