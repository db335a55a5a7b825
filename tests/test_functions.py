"""Functions as delegates: the same laws and the same outcomes as over a network."""

from __future__ import annotations

import asyncio
import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, get_args

import anyio
import pytest

from a2a_delegate import (
    ArtifactChunk,
    AuthRequired,
    Cancelled,
    CancelReceipt,
    CancelSent,
    CancelToken,
    Completed,
    Delegate,
    DelegateRequest,
    DelegateResult,
    Effect,
    Failed,
    IdKnown,
    InputRequired,
    Intent,
    Message,
    Rejected,
    Role,
    Running,
    Sent,
    Settled,
    StateSeen,
    TaskFailedError,
    TextPart,
    TimedOut,
    TransportStuck,
    Unknown,
    UsageError,
    delegate_from,
)
from a2a_delegate.testing import ScriptedPeer
from tests.runtime.staging import Notes, delegate_to
from tests.virtual_time import VirtualTimeLoop

if TYPE_CHECKING:
    from a2a_delegate import FunctionDelegate

pytestmark = [pytest.mark.anyio, pytest.mark.virtual_time, pytest.mark.spec("FUN-1")]


async def shout(request: DelegateRequest) -> str:
    """Say it louder."""
    return request.prompt.upper()


async def work_for_ever(_: DelegateRequest) -> None:
    """Never end."""
    await anyio.sleep_forever()


def returning(value: Any) -> FunctionDelegate:
    async def function(_: DelegateRequest) -> Any:
        return value

    return delegate_from(function, id="function")


async def test_text_that_a_function_returns_is_the_output() -> None:
    delegate = delegate_from(shout, id="shout")
    assert isinstance(delegate, Delegate)
    assert repr(delegate) == "<FunctionDelegate 'shout'>"
    result = await delegate.dispatch("louder")
    assert isinstance(result, Completed)
    assert (result.output, result.data, result.effect) == ("LOUDER", (), Effect.RAN)
    assert (result.delegate_id, result.handle, result.late) == ("shout", None, False)
    assert [one.operation for one in result.attempts] == ["send"]
    assert result.attempts[0].version == "in-process"
    assert "in-process" in result.explain()


@pytest.mark.parametrize("value", [{"n": 1}, [1, None], 7, 1.5, True, False, 0, [], {}])
async def test_any_other_json_value_is_data(value: object) -> None:
    result = await returning(value).dispatch("work")
    assert isinstance(result, Completed)
    assert (result.output, result.data) == (None, (value,))


@pytest.mark.parametrize("nothing", [None, ""])
async def test_nothing_is_nothing(nothing: object) -> None:
    result = await returning(nothing).dispatch("work")
    assert isinstance(result, Completed)
    assert (result.output, result.data) == (None, ())


@pytest.mark.parametrize("value", [math.nan, {1, 2}, object(), {"a": b"bytes"}])
async def test_what_is_no_json_is_a_failure_that_says_so(value: object) -> None:
    result = await returning(value).dispatch("work")
    assert isinstance(result, Failed)
    assert isinstance(result.error, TaskFailedError)
    assert "JSON" in str(result.error)
    assert isinstance(result.error.__cause__, UsageError)


async def test_a_failure_that_cannot_be_told_is_one_all_the_same() -> None:
    class MuteError(Exception):
        def __str__(self) -> str:
            raise ZeroDivisionError

    async def function(_: DelegateRequest) -> str:
        raise MuteError

    result = await delegate_from(function, id="x").dispatch("work")
    assert isinstance(result, Failed)
    assert isinstance(result.error, TaskFailedError)
    assert result.error.text == "MuteError"


async def test_an_outcome_that_a_function_returns_stands_as_it_is() -> None:
    refusal = Rejected(
        delegate_id="inner",
        effect=Effect.NOT_STARTED,
        error=TaskFailedError(task_id=None, state="rejected", text="not my job"),
    )
    seen = Notes()
    result = await returning(refusal).dispatch("work", observer=seen)
    assert result == replace(refusal, delegate_id="function")
    assert seen.of(Settled) == [Settled(result)]


async def test_an_outcome_that_is_passed_on_keeps_the_handle_of_who_can_resume_it() -> None:
    async with delegate_to(ScriptedPeer()) as inner:

        async def function(_: DelegateRequest) -> DelegateResult:
            return await inner.dispatch("ask")

        result = await delegate_from(function, id="outer").dispatch("work")
    assert isinstance(result, InputRequired)
    assert result.delegate_id == "outer"
    assert result.handle is not None
    assert result.handle.delegate_id == inner.id


ERROR = TaskFailedError(task_id=None, state="failed")
QUESTION = Message("q", Role.AGENT, ())
OWN_FIELDS: dict[type, dict[str, Any]] = {
    Completed: {},
    Failed: {"error": ERROR},
    Rejected: {"error": ERROR},
    Cancelled: {"by": "peer"},
    TimedOut: {"last_state": "working", "receipt": CancelReceipt.REFUSED},
    InputRequired: {"question": QUESTION},
    AuthRequired: {"question": QUESTION},
    Running: {"last_state": "working"},
    Unknown: {"cause": ERROR},
}
NO_END = [(Running, effect) for effect in Effect]
CONTRADICTIONS = [
    (Completed, Effect.NOT_STARTED),
    (Completed, Effect.MAY_HAVE_RUN),
    (Rejected, Effect.MAY_HAVE_RUN),
    (TimedOut, Effect.MAY_HAVE_RUN),
    (InputRequired, Effect.NOT_STARTED),
    (InputRequired, Effect.MAY_HAVE_RUN),
    (AuthRequired, Effect.NOT_STARTED),
    (AuthRequired, Effect.MAY_HAVE_RUN),
    (Unknown, Effect.NOT_STARTED),
]


@pytest.mark.spec("FUN-4")
@pytest.mark.parametrize("effect", Effect)
@pytest.mark.parametrize("kind", get_args(DelegateResult))
async def test_an_outcome_that_cannot_be_is_the_functions_failure(
    kind: Any, effect: Effect
) -> None:
    made = kind(delegate_id="function", effect=effect, **OWN_FIELDS[kind])
    result = await returning(made).dispatch("work")
    if (kind, effect) not in (*NO_END, *CONTRADICTIONS):
        assert result == made
        return
    assert isinstance(result, Failed)
    assert (result.effect, result.safe_to_retry) == (Effect.RAN, False)
    assert isinstance(result.error, TaskFailedError)
    assert kind.__name__ in str(result.error)
    assert isinstance(result.error.__cause__, UsageError)


async def test_what_a_function_raises_is_a_failure_with_its_cause() -> None:
    problem = ValueError("the disk is full")

    async def function(_: DelegateRequest) -> str:
        raise problem

    result = await delegate_from(function, id="x").dispatch("work")
    assert isinstance(result, Failed)
    assert result.effect is Effect.RAN
    assert isinstance(result.error, TaskFailedError)
    assert result.error.text == "ValueError: the disk is full"
    assert result.error.__cause__ is problem
    with pytest.raises(TaskFailedError):
        result.raise_for_status()


async def test_an_error_without_words_is_shown_by_its_name() -> None:
    async def function(_: DelegateRequest) -> str:
        raise ZeroDivisionError

    result = await delegate_from(function, id="x").dispatch("work")
    assert isinstance(result, Failed)
    assert "ZeroDivisionError" in str(result.error)


async def test_a_usage_error_of_the_functions_own_is_its_failure() -> None:
    async def function(_: DelegateRequest) -> str:
        raise UsageError("of the function's own")

    result = await delegate_from(function, id="x").dispatch("work")
    assert isinstance(result, Failed)


async def test_a_function_that_leaves_the_program_does_so_by_its_caller() -> None:
    async def function(_: DelegateRequest) -> str:
        raise SystemExit(3)

    with pytest.raises(SystemExit):
        await delegate_from(function, id="x").dispatch("work")


async def test_a_function_gets_the_whole_request() -> None:
    requests: list[DelegateRequest] = []

    async def function(request: DelegateRequest) -> None:
        requests.append(request)

    asked = DelegateRequest("work", arguments={"n": 1}, parts=(TextPart("x"),), metadata={"m": 2})
    await delegate_from(function, id="x").dispatch(asked)
    assert requests == [asked]
    await delegate_from(function, id="x").dispatch(DelegateRequest(arguments={}))
    assert requests[1].arguments == {}


async def test_signals_tell_what_happens_in_order() -> None:
    seen = Notes()
    await delegate_from(shout, id="shout").dispatch("louder", observer=seen)
    assert seen.kinds == ["Intent", "Sent", "IdKnown", "StateSeen", "ArtifactChunk", "Settled"]
    assert seen.signals[0] == Intent(None)
    assert [type(one) for one in seen.signals][1:5] == [Sent, IdKnown, StateSeen, ArtifactChunk]


# -- stopping it -----------------------------------------------------------------------------------


@pytest.mark.spec("FUN-2")
async def test_a_cancel_stops_the_function() -> None:
    stopped: list[float] = []

    async def function(_: DelegateRequest) -> None:
        try:
            await anyio.sleep_forever()
        finally:
            stopped.append(anyio.current_time())

    token, seen, start = CancelToken(), Notes(), anyio.current_time()
    async with anyio.create_task_group() as group:
        group.start_soon(cancel_at, token, 3.0)
        result = await delegate_from(function, id="x").dispatch("w", cancel=token, observer=seen)
    assert isinstance(result, Cancelled)
    assert (result.by, result.reason, result.receipt) == (
        "caller",
        "enough",
        CancelReceipt.CONFIRMED,
    )
    assert stopped == [pytest.approx(start + 3)]
    assert len(seen.of(CancelSent)) == 1


async def cancel_at(token: CancelToken, seconds: float) -> None:
    await anyio.sleep(seconds)
    token.cancel("enough")


@pytest.mark.spec("FUN-2")
async def test_a_cancel_before_the_call_runs_nothing() -> None:
    ran: list[str] = []

    async def function(request: DelegateRequest) -> None:
        ran.append(request.prompt)

    token = CancelToken()
    token.cancel()
    result = await delegate_from(function, id="x").dispatch("w", cancel=token)
    assert isinstance(result, Cancelled)
    assert (result.effect, result.receipt) == (Effect.NOT_STARTED, CancelReceipt.NOT_NEEDED)
    assert ran == []


@pytest.mark.spec("FUN-2")
@pytest.mark.parametrize("limit", ["of the delegate", "of the request", "of the scope"])
async def test_a_deadline_stops_the_function(limit: str) -> None:
    own = 4.0 if limit == "of the delegate" else 50.0
    request = DelegateRequest("w", timeout=4) if limit == "of the request" else DelegateRequest("w")
    delegate, start = delegate_from(work_for_ever, id="x", timeout=own), anyio.current_time()
    with anyio.fail_after(4 * 4 / 3 if limit == "of the scope" else 60):
        result = await delegate.dispatch(request)
    assert isinstance(result, TimedOut)
    assert (result.last_state, result.receipt) == ("working", CancelReceipt.CONFIRMED)
    assert anyio.current_time() - start == pytest.approx(4, abs=0.01)


@pytest.mark.spec("FUN-2")
async def test_what_a_function_returns_while_it_is_stopped_is_the_answer() -> None:
    async def function(_: DelegateRequest) -> str:
        try:
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.sleep(1)
        return "never"

    async def stubborn(_: DelegateRequest) -> str:
        with anyio.CancelScope(shield=True):
            await anyio.sleep(5)
        return "done"

    token = CancelToken()
    async with anyio.create_task_group() as group:
        group.start_soon(cancel_at, token, 4.0)
        first = await delegate_from(function, id="x").dispatch("w", cancel=token)
    assert isinstance(first, Cancelled)
    assert first.receipt is CancelReceipt.CONFIRMED
    token = CancelToken()
    async with anyio.create_task_group() as group:
        group.start_soon(cancel_at, token, 4.0)
        second = await delegate_from(stubborn, id="x").dispatch("w", cancel=token)
    assert isinstance(second, Completed)
    assert (second.output, second.late) == ("done", True)


@pytest.mark.spec("FUN-2")
async def test_a_function_that_ignores_its_cancel_is_left_behind() -> None:
    over: list[str] = []

    async def deaf(_: DelegateRequest) -> None:
        with anyio.CancelScope(shield=True):
            await anyio.sleep(100)
        over.append("over")

    seen, start = Notes(), anyio.current_time()
    delegate = delegate_from(deaf, id="x", timeout=2, cancel_grace=1)
    result = await delegate.dispatch("w", observer=seen)
    assert isinstance(result, TimedOut)
    assert result.receipt is CancelReceipt.REQUESTED
    assert anyio.current_time() - start <= 2 + 0.5 + 2 * 1
    assert seen.of(TransportStuck)
    assert over == []
    await anyio.sleep(100)
    assert over == ["over"]


@pytest.mark.spec("FUN-2")
def test_a_task_cancel_stops_the_function_and_goes_on() -> None:
    stopped: list[str] = []

    async def function(_: DelegateRequest) -> None:
        try:
            await anyio.sleep_forever()
        finally:
            stopped.append("stopped")

    async def main() -> None:
        call = asyncio.create_task(delegate_from(function, id="x").dispatch("w"))
        await asyncio.sleep(1)
        call.cancel()
        await asyncio.sleep(0)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert len(asyncio.all_tasks()) == 1

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        runner.run(main())
    assert stopped == ["stopped"]


async def test_calls_of_one_function_do_not_know_of_each_other() -> None:
    async def function(request: DelegateRequest) -> str:
        await anyio.sleep(float(request.prompt))
        return request.prompt

    delegate, results = delegate_from(function, id="x"), []

    async def call(prompt: str) -> None:
        results.append(await delegate.dispatch(prompt))

    async with anyio.create_task_group() as group:
        for prompt in ("3", "1", "2"):
            group.start_soon(call, prompt)
    assert [one.output for one in results if isinstance(one, Completed)] == ["1", "2", "3"]


# -- misuse ----------------------------------------------------------------------------------------


@pytest.mark.spec("FUN-3")
@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"id": ""}, "non-empty string"),
        ({"id": 5}, "non-empty string"),
        ({"id": "x", "timeout": 0}, "timeout"),
        ({"id": "x", "timeout": math.nan}, "timeout"),
        ({"id": "x", "cancel_grace": 0}, "cancel_grace"),
        ({"id": "x", "cancel_grace": "2"}, "cancel_grace"),
    ],
)
def test_wrong_options_are_refused_at_once(options: dict[str, Any], complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        delegate_from(shout, **options)


@pytest.mark.spec("FUN-3")
def test_what_cannot_be_called_makes_no_delegate() -> None:
    function: Any = "shout"
    with pytest.raises(UsageError, match="async function"):
        delegate_from(function, id="x")


@pytest.mark.spec("FUN-3")
async def test_a_function_that_is_not_async_is_a_failure_that_says_so() -> None:
    function: Any = len
    result = await delegate_from(function, id="x").dispatch("work")
    assert isinstance(result, Failed)
    plain: Any = lambda request: request.prompt  # noqa: E731 - a user's own slip
    result = await delegate_from(plain, id="x").dispatch("work")
    assert isinstance(result, Failed)
    assert "await" in str(result.error)
