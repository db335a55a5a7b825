"""The model and the errors, made by hand and taken apart; type-checked and never run."""

from __future__ import annotations

from typing import assert_never, assert_type

from a2a_delegate import (
    A2AProtocolMismatchError,
    A2ARequestError,
    AgentCapabilities,
    AgentCard,
    AgentExtension,
    AgentInterface,
    AgentSkill,
    Artifact,
    Binding,
    CardProblem,
    DataPart,
    DelegateCapabilityError,
    DelegateCapabilityMismatchError,
    DelegateError,
    DelegationCancelledError,
    DelegationPausedError,
    DelegationTimeoutError,
    FilePart,
    InvalidAgentCardError,
    InvalidReplyError,
    LostReplyError,
    Message,
    OutputMismatchError,
    Part,
    PeerUnreachableError,
    ProtocolVersion,
    Role,
    Task,
    TaskFailedError,
    TaskState,
    TaskStatus,
    TextPart,
    UnknownEffectError,
    UnknownPart,
    UnsafeEndpointError,
    UsageError,
)


def card_by_hand() -> AgentCard:
    return AgentCard(
        "Research",
        (AgentInterface("https://a.example/rpc", Binding.JSONRPC, ProtocolVersion.V1_0),),
        capabilities=AgentCapabilities(
            streaming=True, extensions=(AgentExtension("https://x.example/e", required=True),)
        ),
        skills=(AgentSkill("search", "Search", tags=("web",)),),
    )


def task_by_hand() -> Task:
    message = Message("m", Role.USER, (TextPart("a"),))
    status = TaskStatus(TaskState.WORKING, message=message)
    assert_type(status.state.is_terminal, bool)
    assert_type(str(message), str)
    return Task("t", status, artifacts=(Artifact("a", (DataPart(1),)),), history=(message,))


def content(part: Part) -> object:
    match part:
        case TextPart(text):
            return text
        case DataPart(data):
            return data
        case FilePart(content=inline, url=url):
            assert_type(inline, bytes | None)
            assert_type(url, str | None)
            return inline or url
        case UnknownPart(raw):
            return raw
        case _:
            assert_never(part)


def facts(error: DelegateError) -> object:  # noqa: C901, PLR0911, PLR0912 - one case each
    match error:
        case DelegateCapabilityError() | DelegateCapabilityMismatchError():
            assert_type(error.delegate_id, str)
            return error.capability
        case UsageError():
            return str(error)
        case InvalidAgentCardError():
            assert_type(error.url, str)
            assert_type(error.status, int | None)
            assert_type(error.problem, CardProblem)
            return error.reason
        case A2AProtocolMismatchError():
            assert_type(error.theirs, tuple[str, ...])
            return error.ours
        case UnsafeEndpointError():
            return error.url, error.reason
        case PeerUnreachableError():
            assert_type(error.phase, str)
            return error.url
        case A2ARequestError():
            assert_type(error.code, int | None)
            assert_type(error.retry_after, float | None)
            return error.method, error.status, error.reason, error.message, error.task_id
        case TaskFailedError():
            assert_type(error.task_id, str | None)
            return error.state, error.text
        case InvalidReplyError():
            return error.method, error.reason, error.status
        case LostReplyError():
            return error.method, error.phase, error.reason
        case OutputMismatchError():
            assert_type(error.problems, tuple[str, ...])
            return error.model
        case UnknownEffectError() | DelegationPausedError():
            return error.result
        case DelegationCancelledError() | DelegationTimeoutError():
            return error.result
        case _:
            return None
