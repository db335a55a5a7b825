"""The trace that goes along, written by OpenTelemetry itself."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from opentelemetry import baggage, context, propagate, trace
from opentelemetry.propagators.textmap import (
    CarrierT,
    Getter,
    Setter,
    TextMapPropagator,
    default_getter,
    default_setter,
)
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator

from a2a_delegate import A2ADelegate, Completed, fetch_agent_card
from a2a_delegate.bindings.trace_context import trace_context
from a2a_delegate.testing import ScriptedPeer

if TYPE_CHECKING:
    from collections.abc import Iterator

    import httpx
    from opentelemetry.context import Context

TRACER = TracerProvider(shutdown_on_exit=False).get_tracer("tests")


def parent_of(span: trace.Span) -> str:
    seen = span.get_span_context()
    return f"00-{seen.trace_id:032x}-{seen.span_id:016x}-{seen.trace_flags:02x}"


def test_without_an_active_trace_nothing_goes_along() -> None:
    assert trace_context() == {}


@pytest.mark.spec("CARR-22")
def test_the_active_trace_goes_along_with_its_state() -> None:
    state = trace.TraceState([("vendor", "of-ours")])
    ids = RandomIdGenerator()
    remote = trace.SpanContext(
        ids.generate_trace_id(), ids.generate_span_id(), is_remote=True, trace_state=state
    )
    token = context.attach(trace.set_span_in_context(trace.NonRecordingSpan(remote)))
    try:
        with TRACER.start_as_current_span("outer") as span:
            assert trace_context() == {
                "traceparent": parent_of(span),
                "tracestate": "vendor=of-ours",
            }
    finally:
        context.detach(token)


@pytest.mark.spec("CARR-22")
def test_baggage_is_the_callers_own_and_goes_nowhere() -> None:
    token = context.attach(baggage.set_baggage("customer", "s3cret"))
    try:
        assert trace_context() == {}
        with TRACER.start_as_current_span("outer"):
            assert trace_context().keys() == {"traceparent"}
    finally:
        context.detach(token)


class Propagator(TextMapPropagator):
    """Writes what it is told to, or fails."""

    def __init__(self, headers: dict[str, object] | None) -> None:
        self._headers = headers

    def extract(
        self,
        carrier: CarrierT,
        context: Context | None = None,
        getter: Getter[CarrierT] = default_getter,
    ) -> Context:
        raise NotImplementedError(carrier, context, getter)

    def inject(
        self,
        carrier: CarrierT,
        context: Context | None = None,
        setter: Setter[CarrierT] = default_setter,
    ) -> None:
        if self._headers is None:
            raise LookupError(f"no exporter in {context}")
        for name, value in self._headers.items():
            setter.set(carrier, name, value)  # type: ignore[arg-type]

    @property
    def fields(self) -> set[str]:
        return set()


@pytest.fixture
def propagator() -> Iterator[object]:
    before = propagate.get_global_textmap()
    yield propagate.set_global_textmap
    propagate.set_global_textmap(before)


@pytest.mark.spec("CARR-22")
@pytest.mark.parametrize(
    "written",
    [
        None,
        {"tracestate": "alone"},
        {"traceparent": ""},
        {"traceparent": "a\r\nX-Evil: 1"},
        {"traceparent": " a"},
        {"traceparent": "é"},
        {"traceparent": b"00-1-2-01"},
        {"traceparent": 1},
    ],
    ids=repr,
)
@pytest.mark.usefixtures("propagator")
def test_a_propagator_that_fails_or_writes_no_header_changes_nothing(
    written: dict[str, object] | None,
) -> None:
    propagate.set_global_textmap(Propagator(written))
    assert trace_context() == {}


@pytest.mark.usefixtures("propagator")
def test_a_state_that_is_no_header_is_left_out() -> None:
    propagate.set_global_textmap(Propagator({"traceparent": "00-1", "tracestate": "a\n"}))
    assert trace_context() == {"traceparent": "00-1"}


@pytest.mark.anyio
@pytest.mark.spec("CARR-22")
@pytest.mark.parametrize("mine", [None, "00-mine"])
async def test_every_request_of_a_delegation_and_of_its_card_carries_the_trace(
    mine: str | None,
) -> None:
    async def note(request: httpx.Request) -> None:
        seen.append(request.headers.get_list("traceparent"))

    seen: list[list[str]] = []
    headers = {} if mine is None else {"TraceParent": mine}
    client = ScriptedPeer().client()
    client.event_hooks = {"request": [note]}
    async with client:
        with TRACER.start_as_current_span("outer") as span:
            card = await fetch_agent_card("https://peer.example", client=client, headers=headers)
            async with A2ADelegate("it", card, client=client, headers=headers) as delegate:
                result = await delegate.dispatch("quick")
    assert isinstance(result, Completed)
    assert len(seen) >= 2
    assert all(one == [mine or parent_of(span)] for one in seen)


@pytest.mark.parametrize(
    ("before", "environment"),
    [("", {}), ("import opentelemetry.trace", {"OTEL_PROPAGATORS": "of-nobody"})],
)
def test_where_opentelemetry_is_not_used_or_set_up_wrongly_nothing_goes_along(
    before: str, environment: dict[str, str]
) -> None:
    # In a process of its own: this one has loaded it.
    script = (
        f"import sys\n{before}\n"
        "loaded = set(sys.modules)\n"
        "from a2a_delegate.bindings.trace_context import trace_context\n"
        "assert trace_context() == trace_context() == {}\n"
        "new = set(sys.modules) - loaded\n"
        f"assert {bool(before)} or not any('opentelemetry' in one for one in new), new\n"
    )
    subprocess.run(  # noqa: S603 - our own interpreter and script
        [sys.executable, "-c", script], check=True, timeout=15, env=environment, capture_output=True
    )
