"""Every kind of fault, at every operation: what the peer or the network does, and who is lying.

A fault is data. It says in which situation it shows (what is asked of the delegate, the words of
the message, what befalls the other operations) and what the scripted peer or the wire does to the
operation in question.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from a2a_delegate.testing import (
    Delay,
    DropAfterAccepting,
    DropBeforeReading,
    DropWhileReading,
    Endless,
    Hang,
    Honest,
    IgnoredCancel,
    LyingCancel,
    Operation,
    OtherTask,
    RefuseConnection,
    RefusedCancel,
    Respond,
    Rewrite,
    RpcError,
)
from a2a_delegate.testing.behaviours import core
from tests.faults.errands import Errand
from tests.faults.kinds import MAX_REPLY_BYTES, Kind, kinds
from tests.faults.wire import Manners

if TYPE_CHECKING:
    from collections.abc import Iterator

    from a2a_delegate.testing import Behaviour
    from a2a_delegate.testing.acts import JsonValue

SEND, GET, LIST, CANCEL = Operation.SEND, Operation.GET, Operation.LIST, Operation.CANCEL
OPERATIONS: Final = (SEND, GET, LIST, CANCEL)


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault at one operation, and the situation in which it shows.

    `once`: what the next requests get, one each; `always`: what all that follow get. `others`: what
    befalls other operations, so that this one is asked for at all. `lies`: the peer says that it
    never began, and did (no client can know); `deaf`: something does not end when it is told to.
    `prompt` are the words of the message: of the errand's own, else of the one that it is about.
    """

    name: str
    operation: Operation
    once: tuple[Behaviour, ...] = ()
    always: Behaviour | None = None
    errand: Errand = Errand.HAND_OVER
    prompt: str = "slow 0.5"
    others: tuple[tuple[Operation, Behaviour], ...] = ()
    manners: Manners = field(default_factory=Manners)
    options: tuple[tuple[str, bool], ...] = ()
    """What kind of peer it is: options of ScriptedPeer."""
    meanwhile: str = ""
    """What became of the task before the errand began, if anything."""
    lies: bool = False
    deaf: bool = False

    def __str__(self) -> str:
        about = "" if self.errand is Errand.HAND_OVER else f"{self.errand}, "
        return f"{about}{self.operation}: {self.name}"


# -- at which operation --------------------------------------------------------------------------

_LOST_REPLY: Final = ((SEND, DropAfterAccepting()),)
_NOT_FOUND: Final = -32001
_UNREAD: Final = ((SEND, Hang(accepts=False)),)
"""An answer that never comes: whoever stops then stops the task that it goes to."""

_SITUATIONS: Final = (
    Fault("", SEND),
    Fault("", GET),
    Fault("", LIST, others=_LOST_REPLY),
    Fault("", CANCEL, prompt="stuck"),
    Fault("", SEND, errand=Errand.ANSWER),
    Fault("", GET, errand=Errand.ANSWER, others=_LOST_REPLY),
    Fault("", CANCEL, errand=Errand.ANSWER, prompt="stuck", others=_UNREAD),
    Fault("", GET, errand=Errand.RESUME),
    Fault("", CANCEL, errand=Errand.RESUME, prompt="stuck"),
    Fault("", LIST, errand=Errand.RESUME_LOST),
    Fault("", GET, errand=Errand.RESUME_LOST),
    Fault("", CANCEL, errand=Errand.RESUME_LOST, prompt="stuck"),
    Fault("", GET, errand=Errand.LOOK),
    Fault("", LIST, errand=Errand.LOOK_LOST),
    Fault("", GET, errand=Errand.LOOK_LOST),
    Fault("", GET, errand=Errand.STOP, prompt="stuck"),
    Fault("", CANCEL, errand=Errand.STOP, prompt="stuck"),
    Fault("", LIST, errand=Errand.STOP_LOST, prompt="stuck"),
    Fault("", CANCEL, errand=Errand.STOP_LOST, prompt="stuck"),
)
"""Each errand, and the operations that it uses."""


def _placed(situation: Fault) -> Iterator[Fault]:
    operation = situation.operation
    for kind in kinds():
        if not _matters(kind, operation):
            continue
        # Only an answer to the send says that the work did not begin.
        lies = operation is SEND and (kind.lies or _denies_task(kind, situation.errand))
        once = replace(situation, name=kind.name, once=(kind.behaviour,), lies=lies, deaf=kind.deaf)
        yield once
        if _repeats(kind.behaviour, operation):
            yield replace(once, name=f"{kind.name}, always", once=(), always=kind.behaviour)
    yield from _network(situation)


def _denies_task(kind: Kind, errand: Errand) -> bool:
    """Whether the peer says that it has no task to go on with, and went on with it."""
    act = kind.behaviour
    denies = isinstance(act, RpcError) and act.code == _NOT_FOUND and act.accepts
    return denies and errand is Errand.ANSWER


def _matters(kind: Kind, operation: Operation) -> bool:
    """Whether this differs from a kind that there is anyway: a look has no effect to begin."""
    accepts = getattr(kind.behaviour, "accepts", False)
    return operation in {SEND, CANCEL} or not accepts or isinstance(kind.behaviour, Hang | Endless)


def _repeats(behaviour: Behaviour, operation: Operation) -> bool:
    """Whether a fault that stays is met again: there is one cancel, and one send as a rule."""
    if operation in {GET, LIST}:
        return not isinstance(behaviour, Honest)
    unread = isinstance(core(behaviour), RefuseConnection | DropBeforeReading)
    busy = isinstance(behaviour, Respond) and behaviour.status == HTTPStatus.TOO_MANY_REQUESTS
    return operation is SEND and (unread or busy)


def _network(situation: Fault) -> Iterator[Fault]:
    """Say what the wire does of its own."""
    operation = situation.operation
    wire = Manners(operation.value, deaf=1.0)
    yield replace(situation, name="deaf for 1 s while connecting", manners=wire, deaf=True)
    wire = Manners(operation.value, deaf=20.0)
    yield replace(situation, name="deaf for 20 s while connecting", manners=wire, deaf=True)
    wire = Manners(operation.value, stuck=30.0)
    too_much = Endless(MAX_REPLY_BYTES * 4)
    yield replace(situation, name="stuck in closing", always=too_much, manners=wire)


# -- what is none of these kinds -----------------------------------------------------------------

_WORDS: Final = ("data", "history", "empty", "fail", "reject", "ask", "auth")
_OPTIONS: Final = (
    ("lists", False),
    ("keeps_context_ids", False),
    ("refuses_context_ids", True),
    ("recognises_repeats", True),
)
_CANCELS: Final = (
    ("a lying cancel", LyingCancel()),
    ("a refused cancel", RefusedCancel()),
    ("an ignored cancel", IgnoredCancel()),
    ("a lying cancel, 0.3 s late", Delay(0.3, LyingCancel())),
    ("a refused cancel, 1.9 s late", Delay(1.9, RefusedCancel())),
)


def _handed_over() -> Iterator[Fault]:
    """Say what an agent does with a message, a new one or an answer."""
    for errand in (Errand.HAND_OVER, Errand.ANSWER):
        words = ("hello", *_WORDS) if errand is Errand.HAND_OVER else ("this", *_WORDS)
        for word in words:
            said = Fault(f"nothing ({word})", SEND, errand=errand, prompt=word)
            yield said
            yield replace(said, name=f"lost reply ({word})", once=(DropAfterAccepting(),))
            name = f"one failing get ({word})"
            yield replace(said, name=name, operation=GET, once=(Respond(500),))
        yield Fault("nothing, and the work never ends", GET, errand=errand, prompt="stuck")
    for option in _OPTIONS:
        peer = Fault(f"a peer with {option[0]}={option[1]}", SEND, options=(option,))
        yield peer
        lost = replace(peer, name=f"lost reply of {peer.name}", once=(DropAfterAccepting(),))
        yield lost
        yield replace(lost, name=f"{lost.name} (stuck)", prompt="stuck")


def _answered() -> Iterator[Fault]:
    """Say what answers alone can meet: a question that stays, and a task that has ended."""
    for prompt in ("slow 0.5", "ask", "stuck", "this"):
        stale = Fault(f"the old question ({prompt})", SEND, (_STALE,), None, Errand.ANSWER, prompt)
        yield stale
        name = f"{stale.name}, after a lost reply"
        yield replace(stale, name=name, operation=GET, others=_LOST_REPLY)
    for state in ("completed", "failed", "canceled", "working"):
        ended = Fault(f"nothing ({state} before)", SEND, errand=Errand.ANSWER, meanwhile=state)
        yield ended
        for name, once in (
            ("lost reply", DropAfterAccepting()),
            ("lost on its way", DropWhileReading()),
            ("an error", RpcError(-32603, "no")),
            ("hangs", Hang(accepts=False)),
        ):
            yield replace(ended, name=f"{name} ({state} before)", once=(once,))


def _stale(reply: dict[str, JsonValue]) -> JsonValue:
    """Show the task as it was when it asked: that stands in its history now."""
    result = reply.get("result")
    if not isinstance(result, dict):
        return reply
    task = result.get("task", result)
    if not isinstance(task, dict) or not isinstance(history := task.get("history"), list):
        return reply
    questions = [
        one
        for one in history
        if isinstance(one, dict) and one.get("role") in {"ROLE_AGENT", "agent"}
    ]
    spoken = "TASK_STATE_" in str(task["status"])
    state = "TASK_STATE_INPUT_REQUIRED" if spoken else "input-required"
    task["status"] = {"state": state, "message": questions[0]}
    task.pop("artifacts", None)
    return reply


_STALE: Final = Rewrite(_stale)


def _taken_up() -> Iterator[Fault]:
    """Say how the task may stand that is taken up, looked at or stopped."""
    for errand in Errand:
        if errand.sends:
            continue
        operation = LIST if errand.lost else GET
        for word in _WORDS:
            yield Fault(f"nothing ({word})", operation, errand=errand, prompt=word)
            yield Fault(f"one failure ({word})", operation, (Respond(500),), None, errand, word)
        for state in ("completed", "failed", "canceled"):
            name = f"nothing ({state} before)"
            yield Fault(name, operation, errand=errand, prompt="stuck", meanwhile=state)
        for option in _OPTIONS if errand.lost else ():
            name = f"a peer with {option[0]}={option[1]}"
            yield Fault(name, operation, errand=errand, options=(option,))


def _stopped() -> Iterator[Fault]:
    """Say how a peer may treat a cancel."""
    for errand in Errand:
        if errand.looks:
            continue
        for name, behaviour in _CANCELS:
            for prompt in ("stuck", "slow 0.5"):
                yield Fault(f"{name} ({prompt})", CANCEL, (behaviour,), None, errand, prompt)


def _wrong_task() -> Iterator[Fault]:
    for errand in Errand:
        others = _LOST_REPLY if errand is Errand.ANSWER else ()
        task = Fault("the body of another task", GET, errand=errand, others=others)
        yield replace(task, once=(OtherTask(),))
        yield replace(task, name=f"{task.name}, always", always=OtherTask())


FAULTS: Final[tuple[Fault, ...]] = (
    *itertools.chain.from_iterable(map(_placed, _SITUATIONS)),
    *_handed_over(),
    *_answered(),
    *_taken_up(),
    *_stopped(),
    *_wrong_task(),
)
