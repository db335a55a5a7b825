"""Every public name, used as a user would and type-checked; never run."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal, assert_never, assert_type

import anyio
import httpx
import pydantic

from a2a_delegate import (
    INHERIT,
    JSON,
    A2ADelegate,
    A2ADelegateConfig,
    A2AProtocolMismatchError,
    A2ARequestError,
    AgentCapabilities,
    AgentCard,
    AgentExtension,
    AgentInterface,
    AgentSkill,
    ApiKeyAuth,
    Artifact,
    ArtifactChunk,
    Attempt,
    AttemptFailed,
    AttemptOutcome,
    AuthProvider,
    AuthRequired,
    BearerAuth,
    Binding,
    Cancelled,
    CancelReceipt,
    CancelSent,
    CancelToken,
    CardProblem,
    Completed,
    ContextSubstituted,
    DataPart,
    Delegate,
    DelegateCapabilities,
    DelegateCapabilityError,
    DelegateCapabilityMismatchError,
    DelegateError,
    DelegateRequest,
    DelegateResult,
    Delegation,
    DelegationCancelledError,
    DelegationHandle,
    DelegationPausedError,
    DelegationTimeoutError,
    DispatchOnly,
    Downgraded,
    Effect,
    EvidenceFailed,
    Failed,
    FilePart,
    FunctionDelegate,
    IdKnown,
    InputRequired,
    Intent,
    InvalidAgentCardError,
    InvalidReplyError,
    LostReplyError,
    Message,
    Observer,
    OutputMismatchError,
    PacingObserver,
    Part,
    PeerUnreachableError,
    Progress,
    ProtocolVersion,
    Recovered,
    Rejected,
    Role,
    Running,
    Sent,
    Settled,
    Signal,
    StateSeen,
    StreamCut,
    Task,
    TaskFailedError,
    TaskState,
    TaskStatus,
    TerminalChanged,
    TextPart,
    TimedOut,
    TransportStuck,
    Unknown,
    UnknownEffectError,
    UnknownPart,
    UnsafeEndpointError,
    Update,
    UsageError,
    __version__,
    check_capabilities,
    connect,
    delegate_from,
    fetch_agent_card,
    open_delegation,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from a2a_delegate import Nothing  # type: ignore[attr-defined]  # noqa: F401

assert_type(__version__, str)


# -- delegating ------------------------------------------------------------------------------------


async def the_short_way() -> str:
    async with connect("https://research.example") as delegate:
        assert_type(delegate, A2ADelegate)
        assert_type(delegate.id, str)
        assert_type(delegate.card, AgentCard)
        assert_type(delegate.config, A2ADelegateConfig)
        result = await delegate.dispatch("Summarise the three newest papers on X")
        assert_type(result, DelegateResult)
        return result.raise_for_status().output or ""


async def every_option(client: httpx.AsyncClient, auth: httpx.Auth, observer: Observer) -> None:
    config = A2ADelegateConfig(
        timeout=None,
        poll_interval=0.5,
        poll_interval_max=10,
        cancel_grace=1.0,
        recovery_grace=0.0,
        recovery_timeout=3.0,
        client_context_ids=False,
        max_reply_bytes=1024,
        allowed_origins=("https://other.example",),
        allow_downgrade=True,
        watch="poll",
    )
    token = CancelToken()
    async with connect(
        "https://research.example",
        id="research",
        auth=auth,
        headers={"X-Team": "blue"},
        config=config,
        observers=[observer],
        cancel=token,
    ) as delegate:
        await delegate.dispatch("find X", cancel=token, observer=observer)

    card = await fetch_agent_card(
        "https://research.example", client=client, timeout=5, cancel=token, auth=auth
    )
    assert_type(card, AgentCard)
    async with A2ADelegate("research", card, client=client, config=config) as own:
        await own.aclose()

    A2ADelegateConfig(30)  # type: ignore[call-arg]
    A2ADelegateConfig(watch="push")  # type: ignore[arg-type]
    A2ADelegate("research", card)  # type: ignore[call-arg]


def provider(principal: str | None, origin: str) -> httpx.Auth | None:
    if principal is None:
        return ApiKeyAuth("key", header="X-Key") if origin else BearerAuth("token")
    return httpx.BasicAuth(principal, "secret")


BearerAuth()  # type: ignore[call-arg]
ApiKeyAuth("key", "X-Key")  # type: ignore[call-arg]


auth_provider: AuthProvider = provider


def requests(parts: Sequence[Part], ready_made: dict[str, int]) -> list[DelegateRequest]:
    request = DelegateRequest(
        "look at this",
        parts=(TextPart("a"), DataPart({"n": [1, None]}), FilePart(content=b"%PDF"), *parts),
        arguments=ready_made,
        context_id="c-1",
        metadata={"trace": "t-1"},
        accepted_output_modes=("application/json",),
        timeout=30,
    )
    request.prompt = "another"  # type: ignore[misc]
    DelegateRequest("a", (TextPart("b"),))  # type: ignore[call-arg]
    DelegateRequest(7)  # type: ignore[arg-type]
    return [request, DelegateRequest("a", timeout=None), DelegateRequest("a", timeout=INHERIT)]


# -- the outcome -----------------------------------------------------------------------------------


def told(result: DelegateResult) -> str:  # noqa: PLR0911 - one case for each outcome
    match result:
        case Completed(output=text, data=data):
            assert_type(text, str | None)
            assert_type(data, tuple[JSON, ...])
            return text or repr(data)
        case Failed(error=error) | Rejected(error=error):
            assert_type(error, DelegateError)
            return str(error)
        case Cancelled(by=by, reason=reason, receipt=receipt):
            assert_type(by, Literal["caller", "sibling", "peer"])
            assert_type(reason, object)
            assert_type(receipt, CancelReceipt)
            return by
        case TimedOut(last_state=state, receipt=receipt):
            assert_type(receipt, CancelReceipt)
            return state
        case InputRequired(question=question) | AuthRequired(question=question):
            assert_type(question, Message)
            return question.text
        case Running(last_state=state):
            return state
        case Unknown(cause=cause, evidence=evidence, handle=handle):
            assert_type(cause, DelegateError)
            assert_type(evidence, bytes)
            assert_type(handle, DelegationHandle | None)
            return str(cause)
        case _:
            assert_never(result)


def told_by_status(result: DelegateResult) -> str:
    if result.status == "completed":
        assert_type(result, Completed)
        return result.output or ""
    if result.status == "unknown":
        assert_type(result, Unknown)
        return str(result.cause)
    return result.status


def not_every_case(result: DelegateResult) -> None:
    match result:
        case Completed() | Failed() | Rejected() | Cancelled() | TimedOut():
            pass
        case _:
            assert_never(result)  # type: ignore[arg-type]


def in_common(result: DelegateResult) -> None:
    assert_type(result.delegate_id, str)
    assert_type(result.effect, Effect)
    assert_type(result.handle, DelegationHandle | None)
    assert_type(result.attempts, tuple[Attempt, ...])
    assert_type(result.artifacts, tuple[Artifact, ...])
    assert_type(result.message, Message | None)
    assert_type(result.late, bool)
    assert_type(result.safe_to_retry, bool)
    assert_type(result.explain(), str)
    assert_type(result.raise_for_status(), Completed)
    assert_type(result.files, tuple[FilePart, ...])
    assert_type(result.save("here"), tuple[Path, ...])
    assert_type(result.save(Path("here")), tuple[Path, ...])
    for attempt in result.attempts:
        assert_type(attempt.outcome, AttemptOutcome)
        assert_type(attempt.started_at, datetime)
        assert_type(attempt.http_status, int | None)


class City(pydantic.BaseModel):
    """What an answer should hold."""

    name: str


def parsed(completed: Completed) -> None:
    assert_type(completed.parse(City), City)
    assert_type(completed.parse(list[City]), list[City])
    assert_type(completed.parse(int), int)


async def kept_for_later(result: DelegateResult, delegate: Delegate) -> None:
    if result.handle is not None:
        text = result.handle.to_json()
        assert_type(text, str)
        handle = DelegationHandle.from_json(text)
        assert_type(handle.task_id, str | None)
        assert_type(handle.sent_at, datetime)
        assert_type(await delegate.resume(handle, wait=False), DelegateResult)
        assert_type(await delegate.cancel(handle, "no longer needed"), CancelReceipt)


# -- signals ---------------------------------------------------------------------------------------


def shown(signal: Signal) -> str:  # noqa: C901, PLR0911, PLR0912 - one case each
    match signal:
        case Intent(handle):
            assert_type(handle, DelegationHandle | None)
            return "intent"
        case Sent(attempt):
            return str(attempt)
        case IdKnown(task_id) | Recovered(task_id) | CancelSent(task_id):
            return task_id
        case StateSeen(task_id, state):
            return f"{task_id} is {state}"
        case Progress(_, message):
            return message.text
        case ArtifactChunk(_, artifact, append):
            assert_type(append, bool)
            return artifact.text
        case StreamCut(task_id, cut):
            assert_type(cut, DelegateError | None)
            return task_id
        case AttemptFailed(failed, error):
            assert_type(failed, Attempt)
            return str(error)
        case ContextSubstituted(ours, theirs):
            return f"{ours} -> {theirs}"
        case EvidenceFailed(observer, problem):
            return f"{observer}: {problem}"
        case Downgraded(refused, spoken):
            return f"{refused} -> {spoken}"
        case TransportStuck(operation):
            return operation
        case TerminalChanged(_, first, later):
            return f"{first} -> {later}"
        case Settled(result):
            assert_type(result, DelegateResult)
            return result.status
        case _:
            assert_never(signal)


class Paced:
    def __call__(self, signal: Signal) -> None: ...

    async def ready_for_more(self) -> None: ...


async def listened(delegate: Delegate) -> list[Signal]:
    heard: list[Signal] = []
    await delegate.dispatch("a", observer=heard.append)
    await delegate.dispatch("a", observer=lambda signal: print(shown(signal)))  # noqa: T201
    await delegate.dispatch("a", observer=len)  # type: ignore[arg-type]
    paced: PacingObserver = Paced()
    await delegate.dispatch("a", observer=Paced())
    await paced.ready_for_more()
    return heard


async def read(delegate: Delegate) -> None:
    async with open_delegation(delegate, "find X") as delegation:
        assert_type(delegation, Delegation)
        assert_type(delegation.id, str)
        assert_type(delegation.handle, DelegationHandle | None)
        async for update in delegation:
            assert_type(update, Update)
            match update:
                case StateSeen() | Progress() | ArtifactChunk():
                    continue
                case _:
                    assert_never(update)
        assert_type(await delegation.result(), DelegateResult)
        assert_type(await delegation.cancel("enough"), DelegateResult)


async def stopped(delegate: Delegate) -> None:
    token = CancelToken()
    assert_type(token.cancelled, bool)
    assert_type(token.reason, object)
    undo = token.subscribe(lambda: None)
    undo()
    async with anyio.create_task_group() as group:
        group.start_soon(delegate.dispatch, "a")
        group.start_soon(token.wait)
        token.cancel(ValueError("changed my mind"))


# -- delegates of one's own ------------------------------------------------------------------------


async def shout(request: DelegateRequest) -> str:
    return request.prompt.upper()


async def count(request: DelegateRequest) -> JSON:
    return {"words": len(request.prompt.split())}


async def lengths(request: DelegateRequest) -> dict[str, list[int]]:
    return {"words": [len(word) for word in request.prompt.split()]}


async def ask(request: DelegateRequest) -> DelegateResult:
    question = Message("q", Role.AGENT, (TextPart(f"what is {request.prompt}?"),))
    return InputRequired(delegate_id="ask", effect=Effect.RAN, question=question)


async def no_answer(request: DelegateRequest) -> set[str]:
    return {request.prompt}


def shouted(request: DelegateRequest) -> str:
    return request.prompt


def of_functions() -> list[FunctionDelegate]:
    delegate_from(no_answer, id="no answer")  # type: ignore[arg-type]
    delegate_from(shouted, id="not asynchronous")  # type: ignore[arg-type]
    return [
        delegate_from(shout, id="shout", timeout=5, cancel_grace=1),
        delegate_from(count, id="count"),
        delegate_from(lengths, id="lengths"),
        delegate_from(ask, id="ask"),
    ]


class Whole:
    """A delegate by its methods alone."""

    def __init__(self) -> None:
        self.id = "whole"
        self.capabilities = DelegateCapabilities(cancel=True, resume=True)

    async def dispatch(
        self,
        request: DelegateRequest | str,
        *,
        cancel: CancelToken | None = None,
        observer: Observer | None = None,
    ) -> DelegateResult:
        del request, cancel, observer
        return Completed(delegate_id=self.id, effect=Effect.RAN, output="done")

    async def resume(
        self,
        handle: DelegationHandle,
        *,
        wait: bool = True,
        cancel: CancelToken | None = None,
        observer: Observer | None = None,
    ) -> DelegateResult:
        del wait, cancel, observer
        return Running(delegate_id=self.id, effect=Effect.RAN, handle=handle, last_state="working")

    async def cancel(self, handle: DelegationHandle, reason: object = None) -> CancelReceipt:
        del handle, reason
        return CancelReceipt.CONFIRMED


class WithoutHandles(DispatchOnly):
    """A delegate that cannot be asked later."""

    capabilities = DelegateCapabilities()

    def __init__(self) -> None:
        self.id = "part"

    async def dispatch(
        self,
        request: DelegateRequest | str,
        *,
        cancel: CancelToken | None = None,
        observer: Observer | None = None,
    ) -> DelegateResult:
        del cancel, observer
        text = request if isinstance(request, str) else request.prompt
        error = TaskFailedError(task_id=None, state="failed", text=text)
        return Failed(delegate_id=self.id, effect=Effect.MAY_HAVE_RUN, error=error)


class NoDelegate:
    """Lacks all but a name."""

    id = "none"


async def roster(client: httpx.AsyncClient, card: AgentCard) -> list[Delegate]:
    check_capabilities(NoDelegate())  # type: ignore[arg-type]
    delegates: list[Delegate] = [
        Whole(),
        WithoutHandles(),
        A2ADelegate("agent", card, client=client),
        *of_functions(),
    ]
    for delegate in delegates:
        check_capabilities(delegate)
    return delegates


# -- the model -------------------------------------------------------------------------------------


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


# -- errors ----------------------------------------------------------------------------------------


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
