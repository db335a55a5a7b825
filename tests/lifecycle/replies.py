"""What the peer and the network of the model can say: every kind of end that a request has.

A label names a reply. What a label *means* for the truth stands in `world`, so that no test reads
the truth off a reply.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from a2a_delegate.errors import (
    A2ARequestError,
    InvalidReplyError,
    LostReplyError,
    PeerUnreachableError,
)
from a2a_delegate.lifecycle.operations import (
    ArtifactUpdate,
    Fault,
    FaultKind,
    Lost,
    MessageReply,
    NotSent,
    OperationName,
    SendMessage,
    StatusUpdate,
    StreamEnd,
    TaskPage,
    TaskReply,
    Unreadable,
)
from a2a_delegate.lifecycle.plan import Question, Route
from a2a_delegate.model.artifact import Artifact
from a2a_delegate.model.card import AgentInterface, Binding, ProtocolVersion
from a2a_delegate.model.message import Message, Role
from a2a_delegate.model.part import TextPart
from a2a_delegate.model.task import Task, TaskState, TaskStatus
from a2a_delegate.outcome import Attempt, AttemptOutcome, DelegationHandle

if TYPE_CHECKING:
    from collections.abc import Mapping

    from a2a_delegate.lifecycle.operations import Reply

TASK: Final = "task-1"
FOREIGN: Final = "task-9"
CONTEXT: Final = "context-1"
ANSWER: Final = "the answer"
TROUBLE: Final = "it broke"
QUESTION: Final = "which one?"
QUESTION_ID: Final = "words"
RETRY_AFTER: Final = 1.7
NOW_UTC: Final = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)

OURS: Final = Message("message-1", Role.USER, (TextPart("do it"),), context_id=CONTEXT)
BARE: Final = Message("message-1", Role.USER, (TextPart("do it"),))


def handle_for(message: Message, *, version: str = "1.0") -> DelegationHandle:
    return DelegationHandle(
        delegate_id="peer",
        endpoint="https://peer.example/a2a",
        version=version,
        binding="JSONRPC",
        message_id=message.message_id,
        body_digest="0" * 64,
        sent_at=NOW_UTC,
        context_id=message.context_id,
    )


def known(route: Route) -> Route:
    """Return the route of what was handed over before, and whose task is known."""
    return replace(route, intent=replace(route.intent, task_id=TASK), own_context=False)


NEWER: Final = Route(
    handle_for(OURS),
    SendMessage(OURS),
    looks_up=True,
    by_context=True,
    own_context=True,
)
ASIDE: Final = AgentInterface("https://aside.example/rest", Binding.HTTP_JSON, ProtocolVersion.V1_0)
OLDER: Final = Route(handle_for(BARE, version="0.3"), SendMessage(BARE))


def streaming(route: Route) -> Route:
    """Return the route to a peer that shows its work as a stream of events."""
    return replace(route, send=replace(route.send, streamed=True), streams=True)


ANSWERING: Final = replace(
    OLDER,
    send=SendMessage(replace(BARE, task_id=TASK)),
    answers=Question(TASK, QUESTION_ID, "message-0"),
)
"""Our message answers the question that the task shows in its interrupted states."""


def task(word: str, *, task_id: str = TASK, history: tuple[Message, ...] = ()) -> Task:
    """Return a task as an honest peer shows it in that state."""
    state = TaskState(word) if word in _WORDS else TaskState.UNKNOWN
    said = {"failed": TROUBLE, "rejected": TROUBLE}.get(word)
    said = QUESTION if state.is_interrupted else said
    words = None if said is None else Message(QUESTION_ID, Role.AGENT, (TextPart(said),))
    made = Artifact("made", (TextPart(ANSWER),))
    return Task(
        task_id,
        TaskStatus(state, word, words),
        context_id=CONTEXT,
        artifacts=(made,) if word == "completed" else (),
        history=history,
    )


def shown(word: str, *history: str) -> TaskReply:
    """Return a task in that state, with messages of these ids in its history."""
    said = tuple(
        Message(
            one,
            Role.AGENT if one == QUESTION_ID else Role.USER,
            (TextPart("do it" if one == OURS.message_id else one),),
        )
        for one in history
    )
    return TaskReply(task(word, history=said))


def status(word: str, text: str | None = None, *, task_id: str = TASK) -> StatusUpdate:
    """Return the event of a stream by which a task gets into that state, saying so or not."""
    words = None if text is None else Message(f"says {text}", Role.AGENT, (TextPart(text),))
    state = TaskState(word) if word in _WORDS else TaskState.UNKNOWN
    return StatusUpdate(task_id, TaskStatus(state, word, words), CONTEXT)


def piece(
    text: str, *, append: bool = True, name: str = "made", task_id: str = TASK, size: int = 10
) -> ArtifactUpdate:
    """Return the event of a stream that shows an artifact, or more of it."""
    return ArtifactUpdate(task_id, Artifact(name, (TextPart(text),)), append, CONTEXT, size)


def with_artifacts(word: str, *texts: str) -> TaskReply:
    """Return a task that shows artifacts: the first is called made, the others by their places."""
    made = [
        Artifact(f"made {place}" if place else "made", (TextPart(text),))
        for place, text in enumerate(texts)
    ]
    return TaskReply(replace(task(word), artifacts=tuple(made)))


def asking(
    question_id: str, *history: str, text: str = QUESTION, at: int | None = None
) -> TaskReply:
    """Return a task that asks under that id, at that second of the peer's clock."""
    moment = None if at is None else NOW_UTC + timedelta(seconds=at)
    asked = Message(question_id, Role.AGENT, (TextPart(text),)) if text else None
    status = TaskStatus(TaskState.INPUT_REQUIRED, "input-required", asked, moment)
    return TaskReply(replace(shown("input-required", *history).task, status=status))


_WORDS = {state.value for state in TaskState}

STATES: Final = (
    "submitted",
    "working",
    "pondering",  # a word that no version knows
    "input-required",
    "auth-required",
    "completed",
    "failed",
    "rejected",
    "canceled",
)
ENDS: Final = frozenset({"completed", "failed", "rejected", "canceled"})
ASKS: Final = frozenset({"input-required", "auth-required"})


def fault(
    kind: FaultKind,
    method: str = "send",
    *,
    message: str = "no",
    retry_after: float | None = None,
) -> Fault:
    return Fault(kind, A2ARequestError(method=method, message=message, retry_after=retry_after))


def _lost(task_id: str | None = None) -> Lost:
    return Lost(LostReplyError(method="send", phase="read"), b'{"res', task_id)


def _unreadable(task_id: str | None = None) -> Unreadable:
    return Unreadable(InvalidReplyError(method="send", reason="no answer"), b"<html>", task_id)


def _page(*ids: str, more: str = "", state: str = "working") -> TaskPage:
    found = [task(state, task_id=one, history=(BARE,)) for one in ids]
    other = Message("message-9", Role.USER, (TextPart("else"),))
    return TaskPage((task("working", task_id=FOREIGN, history=(other,)), *found), more)


ENDINGS: Mapping[str, Reply] = {
    "not-sent": NotSent(PeerUnreachableError(phase="connect", url="https://peer.example/a2a")),
    "lost": _lost(),
    "lost, id shown": _lost(TASK),
    "unreadable": _unreadable(),
    "unreadable, id shown": _unreadable(TASK),
    "message": MessageReply(Message("reply-1", Role.AGENT, (TextPart(ANSWER),))),
    "refused": fault(FaultKind.UNAUTHENTICATED),
    "version refused": fault(FaultKind.VERSION_NOT_SUPPORTED),
    "context refused": fault(FaultKind.PARSE_ERROR, message="this contextId is not taken"),
    "busy": fault(FaultKind.RATE_LIMITED),
    "busy, later": fault(FaultKind.RATE_LIMITED, retry_after=RETRY_AFTER),
    "error": fault(FaultKind.OTHER),
    "error, later": fault(FaultKind.OTHER, "get", retry_after=RETRY_AFTER),
    "gone": fault(FaultKind.TASK_NOT_FOUND, "get"),
    "not cancelable": fault(FaultKind.TASK_NOT_CANCELABLE, "cancel"),
    "foreign": TaskReply(task("completed", task_id=FOREIGN)),
    "page, none": _page(),
    "page, ours": _page(TASK),
    "page, ours, ended": _page(TASK, state="completed"),
    "page, two": _page(TASK, "task-2"),
    "page, more": _page(more="next"),
    "page, ours and more": _page(TASK, more="next"),
    "page, two and more": _page(TASK, "task-2", more="next"),
    "no list": fault(FaultKind.UNSUPPORTED, "list"),
    "over": StreamEnd(),
    "cut": StreamEnd(LostReplyError(method="send", phase="read")),
    "no stream": fault(FaultKind.UNSUPPORTED, "subscribe"),
    "no method": fault(FaultKind.METHOD_NOT_FOUND),
    **{state: TaskReply(task(state)) for state in STATES},
    **{f"{state}, ours": shown(state, OURS.message_id) for state in STATES},
    "completed, before": shown("completed", "message-0", QUESTION_ID),
    "input-required, new": asking("words-2"),
    "input-required, new, ours": asking("words-2", OURS.message_id),
    **{f"{state}, older": TaskReply(task(state)) for state in ("working", "input-required")},
    **{f"{state}, another": TaskReply(task(state)) for state in ("failed", "canceled")},
}

STATE_OF: Mapping[str, str] = {
    **{state: state for state in STATES},
    **{f"{state}, ours": state for state in STATES},
    "completed, before": "completed",
    "input-required, new": "input-required",
    "input-required, new, ours": "input-required",
}
"""The state that a label shows, where it shows one; a lie shows none, nor a store that lags."""

_OUTCOMES = {
    NotSent: AttemptOutcome.NOT_SENT,
    Lost: AttemptOutcome.LOST,
    Unreadable: AttemptOutcome.NOT_UNDERSTOOD,
    Fault: AttemptOutcome.REFUSED,
}


def attempt(number: int, name: OperationName, reply: Reply, *, body_left: bool) -> Attempt:
    return Attempt(
        number=number,
        operation=name.value,
        started_at=NOW_UTC,
        seconds=0.1,
        http_status=200,
        outcome=_OUTCOMES.get(type(reply), AttemptOutcome.ANSWERED),
        body_left=body_left,
        version="1.0",
    )
