"""Traces that go on at the peer, and records that break no call."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import pytest
from opentelemetry.sdk.trace import TracerProvider

from a2a_delegate import DelegateRequest, delegate_from, open_delegation
from a2a_delegate.observers import LoggingObserver
from a2a_delegate.testing import DropAfterAccepting, Operation, ScriptedPeer
from tests.reports.staging import VERSIONS, changed, delegate_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from opentelemetry import trace

    from a2a_delegate import DelegateResult
    from tests.reports.staging import Json

pytestmark = [pytest.mark.anyio, pytest.mark.virtual_time]

TRACER = TracerProvider(shutdown_on_exit=False).get_tracer("tests")


def traces(peer: ScriptedPeer) -> set[str | None]:
    """Return the trace ids that the peer was told, None for a request without one."""
    told = [one.headers.get("traceparent") for one in peer.truth.requests]
    return {None if one is None else one.split("-")[1] for one in told}


def trace_id(span: trace.Span) -> str:
    return f"{span.get_span_context().trace_id:032x}"


# -- traces ----------------------------------------------------------------------------------------


@pytest.mark.report("O6")
@VERSIONS
async def test_every_request_of_a_delegation_belongs_to_the_callers_trace(version: str) -> None:
    peer = ScriptedPeer((version,))
    peer.script(Operation.SEND, DropAfterAccepting())
    with TRACER.start_as_current_span("orchestrator") as span:
        async with delegate_of(peer) as delegate:
            await delegate.dispatch("slow 3")
            await delegate.dispatch(DelegateRequest("stuck", timeout=3))
    asked = {one.operation for one in peer.truth.requests} - {None}
    listed = {Operation.LIST} if version == "1.0" else set()
    assert asked == {Operation.CARD, Operation.SEND, Operation.GET, Operation.CANCEL} | listed
    assert traces(peer) == {trace_id(span)}


@pytest.mark.report("O6")
@VERSIONS
async def test_a_delegation_that_runs_beside_its_caller_stays_in_its_trace(version: str) -> None:
    peer = ScriptedPeer((version,))
    async with delegate_of(peer) as delegate:
        with TRACER.start_as_current_span("orchestrator") as span:
            async with open_delegation(delegate, "slow 3") as delegation:
                pass
            assert delegation.handle is not None
            await delegate.resume(delegation.handle, wait=False)
    assert traces(peer) == {None, trace_id(span)}
    posts = [one for one in peer.truth.requests if one.method == "POST"]
    assert all("traceparent" in one.headers for one in posts)


@pytest.mark.report("O6")
@VERSIONS
async def test_without_a_trace_nothing_is_made_up(version: str) -> None:
    peer = ScriptedPeer((version,))
    async with delegate_of(peer) as delegate:
        await delegate.dispatch("slow 3")
    assert traces(peer) == {None}


@pytest.mark.report("O7")
@VERSIONS
@pytest.mark.parametrize("hops", [1, 3])
async def test_a_trace_goes_on_through_the_agents_between(version: str, hops: int) -> None:
    peer = ScriptedPeer((version,))
    async with delegate_of(peer) as last:
        delegate: Any = last
        for hop in range(hops):

            async def pass_on(request: DelegateRequest, to: Any = delegate) -> DelegateResult:
                with TRACER.start_as_current_span("gateway"):
                    result: DelegateResult = await to.dispatch(request.prompt)
                    return result

            delegate = delegate_from(pass_on, id=f"hop-{hop}")
        with TRACER.start_as_current_span("orchestrator") as span:
            result = await delegate.dispatch("slow 3")
    assert result.status == "completed"
    assert traces(peer) == {None, trace_id(span)}


# -- records ---------------------------------------------------------------------------------------


class Records(logging.Handler):
    """Formats every record, and fails on all if it is broken."""

    def __init__(self, *, broken: bool) -> None:
        super().__init__()
        self.lines: list[str] = []
        self._broken = broken

    def emit(self, record: logging.LogRecord) -> None:
        if self._broken:
            raise AttributeError(record.msg)
        self.lines.append(self.format(record))


@pytest.fixture
def logger() -> Iterator[logging.Logger]:
    """Give a logger that lets everything through, and clear it again."""
    talkative = logging.getLogger("tests.reports")
    talkative.setLevel(logging.DEBUG)
    talkative.propagate = False
    yield talkative
    talkative.handlers.clear()


def hostile(task: Json) -> None:
    """Make a task of what a logging helper trips over."""
    task["metadata"] = {"%s %d {x}": [None, {"deep": "\ud800"}]}
    task["history"] = None
    for artifact in task.get("artifacts") or ():
        artifact["name"] = "%(name)s\n{0}"


@pytest.mark.report("R26")
@VERSIONS
@pytest.mark.parametrize("broken", [False, True])
@pytest.mark.parametrize("prompt", ["work", "hello", "ask", "fail", "data", "file", "slow 3", "%s"])
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
async def test_a_log_at_its_most_talkative_changes_no_outcome(
    logger: logging.Logger,
    version: str,
    prompt: str,
    broken: bool,  # noqa: FBT001 - an example
) -> None:
    records = Records(broken=broken)
    logger.addHandler(records)
    peer = ScriptedPeer((version,))
    if prompt != "hello":
        for operation in (Operation.SEND, Operation.GET):
            peer.always(operation, changed(hostile))
    async with delegate_of(peer) as delegate:
        quiet = await delegate.dispatch(prompt)
        told = await delegate.dispatch(prompt, observer=LoggingObserver(logger))
    assert (told.status, told.effect) == (quiet.status, quiet.effect)
    assert bool(records.lines) is not broken
    assert all(line.isprintable() for line in records.lines)
