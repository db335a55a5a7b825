"""The seam: requests that are checked when built, tokens, and what delegates claim."""

from __future__ import annotations

import asyncio
import dataclasses
import math
import threading
from typing import TYPE_CHECKING, Any

import anyio
import anyio.from_thread
import anyio.to_thread
import pytest

from a2a_delegate import (
    INHERIT,
    Cancelled,
    CancelReceipt,
    CancelToken,
    DataPart,
    Delegate,
    DelegateCapabilities,
    DelegateCapabilityError,
    DelegateCapabilityMismatchError,
    DelegateRequest,
    DelegationHandle,
    DispatchOnly,
    FilePart,
    TextPart,
    UsageError,
    check_capabilities,
    delegate_from,
    open_delegation,
)
from a2a_delegate.delegate import check_seconds
from a2a_delegate.testing import ScriptedPeer
from tests.runtime.staging import delegate_to
from tests.virtual_time import VirtualTimeLoop

if TYPE_CHECKING:
    from collections.abc import Callable

    from a2a_delegate import DelegateResult, Observer

pytestmark = [pytest.mark.anyio, pytest.mark.virtual_time]


# -- requests --------------------------------------------------------------------------------------


@pytest.mark.spec("REQ-1")
def test_a_prompt_becomes_the_first_text_part() -> None:
    file = FilePart(url="https://files.example/a.pdf", media_type="application/pdf")
    request = DelegateRequest("read this", parts=[file, DataPart({"n": 1})])  # type: ignore[arg-type]
    assert request.message_parts == (TextPart("read this"), file, DataPart({"n": 1}))
    assert DelegateRequest(parts=(file,)).message_parts == (file,)
    assert request.timeout is INHERIT
    assert repr(INHERIT) == "INHERIT"


@pytest.mark.spec("REQ-1")
def test_a_request_is_frozen_and_compares_by_its_facts() -> None:
    request = DelegateRequest("work", metadata={"n": 1}, accepted_output_modes=("text/plain",))
    assert request == DelegateRequest(
        "work", metadata={"n": 1}, accepted_output_modes=("text/plain",)
    )
    with pytest.raises(dataclasses.FrozenInstanceError):
        request.prompt = "other"  # type: ignore[misc]


text: Any = TextPart
data: Any = DataPart
file: Any = FilePart
WRONG: Any = [
    ({}, "a prompt, parts or arguments"),
    ({"prompt": 5}, "prompt must be text"),
    ({"prompt": "\ud800"}, "prompt must be text that UTF-8 can carry"),
    ({"parts": ("text",)}, "parts are TextPart, DataPart or FilePart; got str"),
    ({"parts": (text("\udfff"),)}, "a text part must be text"),
    ({"parts": (text(5),)}, "a text part must be text"),
    ({"parts": (text("x", media_type="\ud800"),)}, "media_type must be text"),
    ({"parts": (file(url="\ud800"),)}, "url must be text"),
    ({"parts": (file(content=b"x", filename=7),)}, "filename must be text"),
    ({"parts": (file(content="text"),)}, "the content of a file is bytes; got str"),
    ({"parts": "text"}, "parts must be a tuple; got 'text'"),
    ({"parts": 5}, "parts must be a tuple"),
    ({"parts": {"a": 1}}, "parts must be a tuple"),
    ({"parts": (data(math.nan),)}, "JSON"),
    ({"parts": (data([{"a": {1: "x"}}]),)}, "the names in it must be strings"),
    ({"parts": (text("x", metadata={"n": object()}),)}, "JSON"),
    ({"parts": (text("x", metadata=["n"]),)}, "must be a mapping; got list"),
    ({"arguments": {"n": math.inf}}, "JSON"),
    ({"arguments": {None: 1}}, "arguments is not a JSON value"),
    ({"prompt": "x", "metadata": "n"}, "metadata must be a mapping; got str"),
    ({"prompt": "x", "metadata": {"n": {1, 2}}}, "JSON"),
    ({"prompt": "x", "context_id": ""}, "context_id must not be empty"),
    ({"prompt": "x", "context_id": 5}, "context_id must be text"),
    ({"prompt": "x", "accepted_output_modes": "text/plain"}, "must be a tuple"),
    ({"prompt": "x", "accepted_output_modes": (5,)}, "accepted_output_modes must be text"),
    ({"prompt": "x", "timeout": 0}, "timeout must be a finite number of seconds"),
    ({"prompt": "x", "timeout": -1}, "timeout must be"),
    ({"prompt": "x", "timeout": math.inf}, "timeout must be"),
    ({"prompt": "x", "timeout": math.nan}, "timeout must be"),
    ({"prompt": "x", "timeout": True}, "timeout must be"),
    ({"prompt": "x", "timeout": 10**400}, "timeout must be"),
    ({"prompt": "x", "timeout": "5"}, "timeout must be"),
]
"""Facts that no request is made of; untyped, as a caller without a type checker writes them."""


@pytest.mark.spec("REQ-2")
@pytest.mark.parametrize(("facts", "complaint"), WRONG)
def test_a_wrong_request_is_refused_when_it_is_built(facts: dict[str, Any], complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        DelegateRequest(**facts)


@pytest.mark.spec("REQ-2")
@pytest.mark.parametrize(
    "facts",
    [
        {"arguments": {}},
        {"arguments": {"n": [1, None, "x"]}},
        {"prompt": "", "parts": (TextPart(""),)},
        {"prompt": "x", "timeout": None},
        {"prompt": "x", "timeout": 0.001},
        {"prompt": "x", "context_id": "c"},
        {"parts": (FilePart(content=b"\xff"),)},
        {"parts": (DataPart(None),)},
    ],
)
def test_a_right_request_is_built(facts: dict[str, Any]) -> None:
    DelegateRequest(**facts)


@pytest.mark.spec("REQ-2")
@pytest.mark.parametrize("request_", [None, 5, b"work", ["work"], TextPart("work")])
async def test_what_is_no_request_is_refused_by_every_delegate(request_: Any) -> None:
    async def work(request: DelegateRequest) -> str:
        return request.prompt

    peer, made = ScriptedPeer(), delegate_from(work, id="function")
    async with delegate_to(peer) as remote:
        for delegate in (remote, made):
            with pytest.raises(UsageError, match="a request is a DelegateRequest or text"):
                await delegate.dispatch(request_)
            with pytest.raises(UsageError, match="a request is a DelegateRequest or text"):
                open_delegation(delegate, request_)
            with pytest.raises(UsageError, match="a prompt, parts or arguments"):
                await delegate.dispatch("")
    assert peer.truth.requests == ()


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"cancel": "stop"}, "cancel is a CancelToken"),
        ({"observer": 5}, "an observer is a callable"),
    ],
)
async def test_what_is_no_token_and_no_observer_is_refused(
    options: dict[str, Any], complaint: str
) -> None:
    async def work(request: DelegateRequest) -> str:
        return request.prompt

    peer, made = ScriptedPeer(), delegate_from(work, id="function")
    async with delegate_to(peer) as remote:
        for delegate in (remote, made):
            with pytest.raises(UsageError, match=complaint):
                await delegate.dispatch("work", **options)
    assert peer.truth.requests == ()


@pytest.mark.parametrize("value", [0, 0.0])
def test_zero_seconds_are_none_unless_that_is_said(value: float) -> None:
    check_seconds("wait", value, zero=True)
    with pytest.raises(UsageError, match="more than zero"):
        check_seconds("wait", value)
    with pytest.raises(UsageError, match="zero or more"):
        check_seconds("wait", -1, zero=True)


# -- tokens ----------------------------------------------------------------------------------------


@pytest.mark.spec("CXL-1")
def test_the_first_cancel_latches() -> None:
    token, reason = CancelToken(), object()
    assert (token.cancelled, token.reason) == (False, None)
    assert repr(token) == "<CancelToken not cancelled>"
    token.cancel(reason)
    token.cancel("later")
    assert token.cancelled
    assert token.reason is reason
    assert repr(token) == "<CancelToken cancelled>"


@pytest.mark.spec("CXL-1")
def test_a_cancel_without_a_reason_latches_too() -> None:
    token = CancelToken()
    token.cancel()
    token.cancel("later")
    assert token.reason is None


def test_listeners_are_called_once_each_and_in_order() -> None:
    token, heard = CancelToken(), []

    def listener(name: str) -> Callable[[], None]:
        return lambda: heard.append(name)

    for name in ("a", "b", "c"):
        token.subscribe(listener(name))
    undo = token.subscribe(listener("undone"))
    undo()
    undo()
    token.cancel()
    token.cancel()
    assert heard == ["a", "b", "c"]
    late = token.subscribe(listener("late"))
    assert heard == ["a", "b", "c", "late"]
    late()


def test_one_listener_that_listens_twice_is_called_twice() -> None:
    token, heard = CancelToken(), []

    def listen() -> None:
        heard.append(1)

    token.subscribe(listen)
    undo = token.subscribe(listen)
    undo()
    token.cancel()
    assert heard == [1]


def test_a_listener_may_undo_another_while_it_is_called() -> None:
    token, heard = CancelToken(), []
    undoing: list[Callable[[], None]] = []

    def first() -> None:
        heard.append("first")
        undoing[0]()

    token.subscribe(first)
    undoing.append(token.subscribe(lambda: heard.append("second")))
    token.cancel()
    assert heard[0] == "first"


async def test_a_token_is_waited_for() -> None:
    token, start = CancelToken(), anyio.current_time()
    async with anyio.create_task_group() as group:
        group.start_soon(token.wait)
        group.start_soon(token.wait)
        await anyio.sleep(3)
        token.cancel()
    await token.wait()
    assert anyio.current_time() - start == pytest.approx(3)


async def test_a_wait_that_is_given_up_leaves_no_listener() -> None:
    token = Counting()
    with anyio.move_on_after(1):
        await token.wait()
    assert token.listening == 0


class Counting(CancelToken):
    """A token that counts who listens."""

    __slots__ = ("listening",)

    def __init__(self) -> None:
        super().__init__()
        self.listening = 0

    def subscribe(self, listener: Callable[[], None]) -> Callable[[], None]:
        undo = super().subscribe(listener)
        self.listening += 1

        def counted() -> None:
            self.listening -= 1
            undo()

        return counted


@pytest.mark.spec("CXL-1")
async def test_one_token_stops_many_calls_and_keeps_none_of_them() -> None:
    peer, token, reason = ScriptedPeer(), Counting(), object()
    results: list[DelegateResult] = []

    async def call(delegate: Delegate) -> None:
        results.append(await delegate.dispatch("stuck", cancel=token))

    async with delegate_to(peer) as delegate, anyio.create_task_group() as group:
        for _ in range(5):
            group.start_soon(call, delegate)
        await anyio.sleep(2)
        assert token.listening == 5
        token.cancel(reason)
    assert token.listening == 0
    for result in results:
        assert isinstance(result, Cancelled)
        assert (result.reason, result.receipt) == (reason, CancelReceipt.CONFIRMED)
    assert [task.state for task in peer.truth.tasks] == ["canceled"] * 5


@pytest.mark.spec("CXL-4")
async def test_a_token_that_was_cancelled_before_sends_nothing() -> None:
    peer, token = ScriptedPeer(), Counting()
    token.cancel("before")
    async with delegate_to(peer) as delegate:
        result = await delegate.dispatch("stuck", cancel=token)
    assert isinstance(result, Cancelled)
    assert (result.reason, result.receipt) == ("before", CancelReceipt.NOT_NEEDED)
    assert result.handle is None
    assert peer.truth.requests == ()
    assert token.listening == 0


@pytest.mark.spec("CXL-2")
async def test_a_token_is_cancelled_from_an_observer() -> None:
    peer, token = ScriptedPeer(), CancelToken()
    async with delegate_to(peer) as delegate:
        result = await delegate.dispatch(
            "stuck", cancel=token, observer=lambda _: token.cancel("at the first signal")
        )
    assert isinstance(result, Cancelled)
    assert result.reason == "at the first signal"
    assert peer.truth.sends == 0


@pytest.mark.spec("CXL-2")
async def test_a_token_is_cancelled_from_another_thread() -> None:
    peer, token = ScriptedPeer(), CancelToken()
    here = threading.get_ident()

    def work() -> None:
        assert threading.get_ident() != here
        anyio.from_thread.run_sync(token.cancel, "from a thread")

    async with delegate_to(peer) as delegate, anyio.create_task_group() as group:
        group.start_soon(anyio.to_thread.run_sync, work)
        result = await delegate.dispatch(DelegateRequest("stuck", timeout=None), cancel=token)
    assert isinstance(result, Cancelled)
    assert result.reason == "from a thread"


@pytest.mark.spec("CXL-2")
def test_a_token_that_is_waited_for_is_cancelled_from_a_callback() -> None:
    async def main() -> float:
        token = CancelToken()
        asyncio.get_running_loop().call_later(7, token.cancel)
        await token.wait()
        return asyncio.get_running_loop().time()

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        assert runner.run(main()) == 7


# -- claims ----------------------------------------------------------------------------------------


class Plain(DispatchOnly):
    """A delegate of somebody's own, that claims what it is told to."""

    def __init__(self, name: object, capabilities: DelegateCapabilities | None = None) -> None:
        self.id = name  # type: ignore[assignment]
        self.capabilities = capabilities or DelegateCapabilities()

    async def dispatch(
        self,
        request: DelegateRequest | str,
        *,
        cancel: CancelToken | None = None,
        observer: Observer | None = None,
    ) -> DelegateResult:
        raise NotImplementedError(request, cancel, observer)


class Resuming(Plain):
    """One that has a method for what it claims."""

    async def resume(
        self,
        handle: DelegationHandle,
        *,
        wait: bool = True,
        cancel: CancelToken | None = None,
        observer: Observer | None = None,
    ) -> DelegateResult:
        raise NotImplementedError(handle, wait, cancel, observer)


@pytest.mark.spec("CAP-1")
def test_a_claim_without_its_method_is_refused() -> None:
    for name in ("resume", "cancel"):
        claims = DelegateCapabilities(**{name: True})
        with pytest.raises(DelegateCapabilityMismatchError, match=name) as caught:
            check_capabilities(Plain("plain", claims))
        assert (caught.value.delegate_id, caught.value.capability) == ("plain", name)
    check_capabilities(Resuming("resuming", DelegateCapabilities(resume=True)))
    check_capabilities(Plain("plain", DelegateCapabilities(stream=True)))


@pytest.mark.spec("CAP-1")
@pytest.mark.parametrize("name", ["", None, 5])
def test_a_delegate_without_a_name_is_refused(name: object) -> None:
    with pytest.raises(UsageError, match="non-empty string"):
        check_capabilities(Plain(name))


@pytest.mark.spec("CAP-1")
async def test_what_is_not_claimed_is_refused_and_no_silent_nothing() -> None:
    async def work(request: DelegateRequest) -> str:
        return request.prompt

    peer, made = ScriptedPeer(), delegate_from(work, id="function")
    async with delegate_to(peer) as remote:
        handle = (await remote.dispatch("work")).handle
        check_capabilities(remote)
    assert handle is not None
    assert made.capabilities == DelegateCapabilities()
    check_capabilities(made)
    with pytest.raises(DelegateCapabilityError, match="resume"):
        await made.resume(handle)
    with pytest.raises(DelegateCapabilityError, match="cancel"):
        await made.cancel(handle, "reason")
