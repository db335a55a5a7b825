"""From what a caller asks for to the plan of a delegation: its ids, its ways, its handle."""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2a_delegate.errors import UsageError
from a2a_delegate.lifecycle.operations import SendMessage
from a2a_delegate.lifecycle.plan import Mission, Plan, Question, Route
from a2a_delegate.model.card import AgentInterface, Binding, ProtocolVersion
from a2a_delegate.model.message import Message, Role, digest_of
from a2a_delegate.outcome import DelegationHandle
from a2a_delegate.wire.spoken import lists_tasks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from a2a_delegate.delegate import DelegateRequest
    from a2a_delegate.peer.peer import Peer
    from a2a_delegate.runtime.clock import Clock
    from a2a_delegate.runtime.config import A2ADelegateConfig


class Planner:
    """Plans the delegations of one delegate, each at the moment that it is asked for.

    `keeps_contexts` says of a delegation's peer whether a list by our own context proves anything.
    """

    def __init__(self, delegate_id: str, config: A2ADelegateConfig, clock: Clock) -> None:
        self._delegate_id = delegate_id
        self._config = config
        self._timing = config.timing
        self._clock = clock

    def hand_over(
        self,
        asked: DelegateRequest,
        peer: Peer,
        *,
        deadline: float | None,
        keeps_contexts: bool,
        fallback: AgentInterface | None,
        detours: Sequence[AgentInterface],
        streams: bool,
    ) -> Plan:
        """Plan to send a message with a fresh id; `fallback` is of another version, if allowed.

        `detours` are other interfaces, for a peer that cannot be reached by its own.

        `streams`: the peer's card offers to show its work, and that is wanted.
        """
        message_id = self._clock.new_id()
        second = None
        # An answer goes by the version of its question: the task lives there (TURN-1).
        if (
            fallback is not None
            and fallback.version is not peer.version
            and asked.continues is None
        ):
            second = self._route(asked, message_id, fallback, streams=streams)
        route = self._route(
            asked,
            message_id,
            peer.interface,
            looks_up=peer.can_look_up,
            keeps_contexts=keeps_contexts,
            streams=streams,
        )
        aside = () if asked.continues is not None else detours
        others = tuple(one for one in aside if one.version is peer.version)
        return self._plan(route, Mission.HAND_OVER, deadline, second, others)

    def take_up(
        self,
        handle: DelegationHandle,
        peer: Peer,
        *,
        deadline: float | None,
        keeps_contexts: bool,
        wait: bool,
        streams: bool,
    ) -> Plan:
        """Plan to take up what a handle stands for, or (without `wait`) to look at it once."""
        sent = Message(handle.message_id, Role.USER, (), context_id=handle.context_id)
        route = Route(
            handle,
            SendMessage(sent),
            looks_up=peer.can_look_up,
            by_context=keeps_contexts and handle.context_id is not None,
            answers=_question(handle.task_id, handle.answers, ""),
            streams=streams and wait and self._may_subscribe(peer.version),
        )
        return self._plan(route, Mission.TAKE_UP if wait else Mission.LOOK, deadline)

    def _plan(
        self,
        route: Route,
        mission: Mission,
        deadline: float | None,
        fallback: Route | None = None,
        detours: tuple[AgentInterface, ...] = (),
    ) -> Plan:
        return Plan(
            delegate_id=self._delegate_id,
            route=route,
            timing=self._timing,
            deadline=deadline,
            fallback=fallback,
            detours=detours,
            mission=mission,
            waits_for_auth=self._config.auth_required == "wait",
            kept_bytes=self._config.max_reply_bytes,
        )

    def _route(
        self,
        asked: DelegateRequest,
        message_id: str,
        interface: AgentInterface,
        *,
        streams: bool,
        looks_up: bool = False,
        keeps_contexts: bool = False,
    ) -> Route:
        """Say how the message goes by one interface; ids of ours go where they can be listed."""
        question = asked.continues
        context_id = asked.context_id if question is None else question.context_id
        lists = lists_tasks(interface.version, interface.binding)
        own_context = (
            self._config.client_context_ids and lists and question is None and context_id is None
        )
        message = Message(
            message_id,
            Role.USER,
            asked.message_parts,
            context_id=self._clock.new_id() if own_context else context_id,
            task_id=None if question is None else question.task_id,
            metadata=asked.metadata,
        )
        intent = DelegationHandle(
            delegate_id=self._delegate_id,
            endpoint=interface.url,
            version=interface.version.value,
            binding=interface.binding.value,
            message_id=message_id,
            body_digest=digest_of(message),
            sent_at=self._clock.utc(),
            context_id=message.context_id,
            answers=None if question is None else question.question_id or "",
            tenant=interface.tenant,
            principal=asked.principal,
        )
        return Route(
            intent,
            SendMessage(message, asked.accepted_output_modes, streamed=streams),
            looks_up=looks_up,
            by_context=lists and keeps_contexts and message.context_id is not None,
            own_context=own_context,
            streams=streams and self._may_subscribe(interface.version),
            answers=_question(
                message.task_id, intent.answers, "" if question is None else question.message_id
            ),
        )

    def _may_subscribe(self, version: ProtocolVersion) -> bool:
        """Whether a task may be subscribed to unasked.

        A server of 0.3 (a2a-sdk 0.3.26) stores each appended piece once more for every subscriber:
        watching would change the answer.
        """
        return version is ProtocolVersion.V1_0 or self._config.watch == "stream"


def _question(task_id: str | None, answers: str | None, asked_of: str) -> Question | None:
    """Return the question that a message answers; what nothing tells has an empty id."""
    if task_id is None or answers is None:
        return None
    return Question(task_id, answers or None, asked_of)


def interface_of(handle: DelegationHandle) -> AgentInterface:
    """Return the interface that a handle was made at. Raises UsageError for one that is none."""
    try:
        return AgentInterface(
            handle.endpoint,
            Binding(handle.binding),
            ProtocolVersion(handle.version),
            handle.tenant,
        )
    except ValueError as problem:
        raise UsageError(f"the handle names no interface of A2A: {problem}") from None
