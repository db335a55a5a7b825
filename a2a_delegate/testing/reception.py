"""What the peer does about each operation, and what it answers; still without HTTP."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, TypeAlias

from a2a_delegate.testing.acts import (
    Finished,
    IgnoredCancel,
    LyingCancel,
    OtherTask,
    RefusedCancel,
    Subscription,
    Unstreamed,
)
from a2a_delegate.testing.behaviours import Operation
from a2a_delegate.testing.envelope import UnreadableError
from a2a_delegate.testing.face import Head, Json
from a2a_delegate.testing.pages import select
from a2a_delegate.testing.requests import Fault, Objection, RefusedError
from a2a_delegate.testing.streams import Audience, Streamed, as_event, follow, subscribed
from a2a_delegate.testing.work import (
    OPENING,
    Artifact,
    Message,
    Task,
    TextPart,
    View,
    WorkState,
)

if TYPE_CHECKING:
    from a2a_delegate.testing.agent import Agent, Outcome
    from a2a_delegate.testing.clock import PeerClock
    from a2a_delegate.testing.entrance import Entrance
    from a2a_delegate.testing.envelope import Call
    from a2a_delegate.testing.face import Face, Listing
    from a2a_delegate.testing.layering import Behaviour
    from a2a_delegate.testing.streams import Showing

Render: TypeAlias = Callable[[], Json]

_HEAD: Final = Head()


@dataclass(frozen=True, slots=True)
class Answer:
    """What was made of a request: how to write the reply, and the task that it has to wait for."""

    render: Render
    blocks_on: Task | None = None
    head: Head = _HEAD


Begun: TypeAlias = Answer | Streamed
"""What was made of a request."""


@dataclass(frozen=True, slots=True)
class _Taken:
    """What became of a message; `seen` of the plan's events a stream of it does not show."""

    outcome: Outcome
    seen: int
    is_new: bool = False
    is_repeat: bool = False


@dataclass(frozen=True, slots=True)
class ContextRules:
    """What a peer makes of a context id that the client invented (A2A 1.0 section 3.4.1)."""

    keeps: bool
    refuses: bool


class Reception:
    """Lets the agent act on requests, wherever they came in and in which version."""

    def __init__(
        self,
        agent: Agent,
        clock: PeerClock,
        contexts: ContextRules,
        *,
        always_blocks: bool,
        streaming: bool,
    ) -> None:
        self._agent = agent
        self._clock = clock
        self._contexts = contexts
        self._always_blocks = always_blocks
        self._streaming = streaming

    def prompt_of(self, entrance: Entrance, body: bytes) -> str | None:
        """Return the text of the message, or of the first one of the task, that a body is about."""
        try:
            call = entrance.parse(body)
            params = call.params if isinstance(call.params, dict) else {}
            if call.operation is Operation.SEND:
                return call.face.read_send(params).message.text
            task = self._agent.tasks.get(call.face.read_task(params).task_id)
        except (UnreadableError, RefusedError):
            return None
        return None if task is None else task.first.text

    def accept(
        self, entrance: Entrance, body: bytes, version_header: str, manner: Behaviour
    ) -> Begun:
        """Do what a request asks, in the manner of a behaviour that is about one operation."""
        try:
            call = entrance.parse(body)
        except UnreadableError as error:
            face, refused = entrance.face, error.refusal
            return _fixed(face.refusal(error.request_id, refused), face.head(refused))
        try:
            begun = self._carry_out(call, version_header, manner)
            head = call.face.head(call.operation)
            return replace(begun, head=head) if isinstance(begun, Answer) else begun
        except RefusedError as error:
            refusal = call.face.refusal(call.request_id, error)
            if isinstance(error, _ObjectionError) and _refuses_in_stream(call, manner):
                return Streamed(self._audience(call), iter([as_event(refusal)]))
            return _fixed(refusal, call.face.head(error))

    def _carry_out(self, call: Call, version_header: str, manner: Behaviour) -> Begun:
        face = call.face
        # 0.2 and 0.3 require an id of every method (a2a-sdk); 1.0 carries out a notification too.
        if face.words.needs_ids and call.request_id is None:
            raise RefusedError(Fault.INVALID_PARAMS, "", field="id", problem="Field required")
        face.check_header(version_header)
        if not isinstance(call.params, dict):
            problem = "params must be an object"
            raise RefusedError(Fault.INVALID_PARAMS, "Invalid params", problem=problem)
        if call.streams and not self._streaming:
            raise RefusedError(*face.words.no_streams)
        match call.operation:
            case Operation.SEND:
                return self._send(call, call.params, manner)
            case Operation.SUBSCRIBE:
                return self._subscribe(call, call.params, manner)
            case Operation.GET:
                return self._get(call, call.params, manner)
            case Operation.LIST if face.listing is not None:
                return self._list(call, call.params, face.listing)
            case Operation.CANCEL:
                return self._cancel(call, call.params, manner)
            case _:
                not_found = Fault.METHOD_NOT_FOUND, "Method not found"
                raise RefusedError(*face.words.unsupported.get(call.method, not_found))

    def _send(self, call: Call, params: Json, manner: Behaviour) -> Begun:
        face = call.face
        sent = face.read_send(params)
        taken = self._taken_up(face, sent.message, self._clock.now())
        immediate = sent.immediate and not self._always_blocks
        if call.streams:
            if not isinstance(manner, Unstreamed):
                return self._shown(call, taken, sent.history_length)
            immediate = not manner.waits
        outcome = taken.outcome
        if isinstance(outcome, Message):
            return _fixed(face.reply(call.request_id, face.sent(outcome, None)))
        task = outcome

        def write(view: View) -> Json:
            return face.reply(call.request_id, face.sent(view, sent.history_length))

        view = task.view(self._clock.now())
        if immediate:
            shows_opening = taken.is_new and not view.state.is_settled
            return _fixed(write(task.opening() if shows_opening else view))
        return Answer(lambda: write(task.view(self._clock.now())), blocks_on=task)

    def _taken_up(self, face: Face, message: Message, now: float) -> _Taken:
        """Let the agent act on a message."""
        repeated = self._agent.repeated(message)
        if repeated is not None:
            seen = repeated.position(now) if isinstance(repeated, Task) else 0
            return _Taken(repeated, seen, is_repeat=True)
        if message.task_id is None:
            begun = self._agent.begin(message, self._context(face, message), now)
            return _Taken(begun, OPENING, is_new=True)
        task = self._open_task(face, message, message.task_id, now)
        seen = task.position(now) + 1  # with the message itself
        return _Taken(self._agent.follow_up(task, message, now), seen)

    def _shown(self, call: Call, taken: _Taken, history_length: int | None) -> Streamed:
        audience, outcome = self._audience(call), taken.outcome
        if isinstance(outcome, Message):
            return Streamed(audience, iter([audience.message(outcome)]))
        first = outcome.until(taken.seen)
        showing: Showing = iter([audience.task(first, history_length)])
        if not (taken.is_repeat and first.state.is_settled):
            showing = itertools.chain(showing, follow(audience, outcome, taken.seen))
        return Streamed(audience, showing, outcome)

    def _subscribe(self, call: Call, params: Json, manner: Behaviour) -> Begun:
        face, audience = call.face, self._audience(call)
        task = self._task(face, face.read_task(params).task_id)
        view = task.view(self._clock.now())
        if isinstance(manner, Unstreamed):
            return _fixed(face.reply(call.request_id, face.sent(view, None)))
        way = _way(face, manner)
        if not view.state.is_terminal:
            return Streamed(audience, subscribed(audience, task, way.opening), task)
        if way.finished is Finished.CUT:
            return Streamed(audience, iter(()), task, breaks=True)
        if way.finished is Finished.SNAPSHOT:
            return Streamed(audience, iter([audience.task(view, None)]), task)
        raise _objection(face, Objection.FINISHED, view)

    def _audience(self, call: Call) -> Audience:
        return Audience(call.face, call.request_id, self._clock)

    def _open_task(self, face: Face, message: Message, task_id: str, now: float) -> Task:
        task = self._agent.tasks.get(task_id)
        if task is None:
            raise _objection(face, Objection.UNKNOWN_TO_SEND, task_id=task_id)
        view = task.view(now)
        if message.context_id not in {None, view.context_id}:
            raise _objection(face, Objection.OTHER_CONTEXT, view, theirs=message.context_id)
        if view.state.is_terminal:
            raise _objection(face, Objection.FINISHED, view)
        return task

    def _context(self, face: Face, message: Message) -> str:
        if message.context_id is not None:
            if self._contexts.refuses:
                raise _objection(face, Objection.NO_CONTEXT, theirs=message.context_id)
            if self._contexts.keeps:
                return message.context_id
        return self._agent.ids.context()

    def _task(self, face: Face, task_id: str) -> Task:
        task = self._agent.tasks.get(task_id)
        if task is None:
            raise _objection(face, Objection.UNKNOWN, task_id=task_id)
        return task

    def _get(self, call: Call, params: Json, manner: Behaviour) -> Answer:
        asked = call.face.read_task(params)
        task = self._task(call.face, asked.task_id)
        now = self._clock.now()
        view = self._foreign(task, now) if isinstance(manner, OtherTask) else task.view(now)
        return _fixed(call.face.reply(call.request_id, call.face.task(view, asked.history_length)))

    def _foreign(self, task: Task, now: float) -> View:
        for other in reversed(self._agent.tasks.values()):
            if other is not task:
                return other.view(now)
        ids = self._agent.ids
        artifact = Artifact(ids.artifact(), "result", (TextPart("result for somebody else"),))
        state = WorkState.COMPLETED
        return View(ids.task(), ids.context(), state, now, None, (), (artifact,))

    def _list(self, call: Call, params: Json, listing: Listing) -> Answer:
        asked = listing.read_list(params)
        views, total, token = select(self._agent.tasks.values(), asked, self._clock)
        page = listing.page(views, asked, total=total, token=token)
        return _fixed(call.face.reply(call.request_id, page))

    def _cancel(self, call: Call, params: Json, manner: Behaviour) -> Answer:
        face = call.face
        task = self._task(face, face.read_task(params).task_id)
        task.cancel_requests += 1
        now = self._clock.now()
        view = task.view(now)
        if isinstance(manner, LyingCancel):
            view = replace(view, state=WorkState.CANCELED, since=now, message=None)
        elif isinstance(manner, RefusedCancel) or (
            view.state.is_terminal and not face.words.cancels_the_ended
        ):
            raise _objection(face, Objection.NOT_CANCELABLE, view)
        elif not isinstance(manner, IgnoredCancel):
            self._agent.cancel(task, now)
            view = task.view(now)
        return _fixed(face.reply(call.request_id, face.task(view, None)))


class _ObjectionError(RefusedError):
    """A well-formed request cannot be carried out."""


def _way(face: Face, manner: Behaviour) -> Subscription:
    return manner if isinstance(manner, Subscription) else face.words.subscription


def _refuses_in_stream(call: Call, manner: Behaviour) -> bool:
    """Whether the stream that was asked for begins, and holds the refusal."""
    in_stream = call.face.words.refuses_in_stream
    if not call.streams or isinstance(manner, Unstreamed):
        return False
    if call.operation is Operation.SUBSCRIBE:
        finished = _way(call.face, manner).finished
        return finished is Finished.ERROR_EVENT or (finished is not Finished.REFUSAL and in_stream)
    return in_stream


def _fixed(reply: Json, head: Head = _HEAD) -> Answer:
    return Answer(lambda: reply, head=head)


def _objection(
    face: Face,
    objection: Objection,
    view: View | None = None,
    *,
    task_id: str = "",
    theirs: str | None = None,
) -> RefusedError:
    fault, words = face.words.objections[objection]
    facts = {"task": task_id, "state": "", "context": "", "theirs": theirs}
    if view is not None:
        facts |= {"task": view.task_id, "context": view.context_id}
        facts["state"] = face.words.states[view.state]
        facts["state_of_1_0"] = f"TASK_STATE_{view.state.name}"
    return _ObjectionError(fault, words.format_map(facts))
