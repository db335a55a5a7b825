"""Every reader of a peer's bytes, under bytes of any kind: own errors only, and bounded."""

from __future__ import annotations

import json
import tracemalloc
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from a2a_delegate.wire import proto_family, v0_2, v0_3, v1_0
from tests.wire.fuzzing.corpus import beginnings
from tests.wire.fuzzing.targets import OPERATIONS, TARGETS, check_result
from tests.wire.json_values import NAMES, WORDS, json_objects, json_values

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn

    from a2a_delegate.lifecycle.operations import Operation
    from a2a_delegate.wire.dialect import Dialect

pytestmark = pytest.mark.spec("WIRE-4", "GATE-3")
DIALECTS = [v0_2.DIALECT, v0_3.DIALECT, proto_family.V0_3, v1_0.DIALECT]
PIECES = [
    *(json.dumps(word).encode() for word in NAMES + WORDS),
    *(b"{", b"}", b"[", b"]", b":", b",", b'"', b"\\", b"\\u", b"null", b"true", b"NaN"),
    *(b"\n", b"\r", b"\r\n", b"\n\n", b"data:", b"data: ", b"event: error\n", b": ping\n"),
    *(b"-1", b"1e999", b"9" * 400, b'"\\ud800"', b"\xff", b"\x00", b"\xef\xbb\xbf", b"[" * 120),
]


@st.composite
def spoiled(draw: DrawFn, target: str) -> bytes:
    """Draw what a real peer sent, with a few bytes of it lost, doubled or exchanged."""
    body = draw(st.sampled_from(beginnings(target)))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(body)))
        end = draw(st.integers(start, min(len(body), start + 40)))
        piece = draw(st.sampled_from([b"", body[start:end] * 2, *PIECES]) | st.binary(max_size=4))
        body = body[:start] + piece + body[end:]
    return body if draw(st.booleans()) else body[: draw(st.integers(0, len(body)))]


@pytest.mark.parametrize("target", TARGETS)
def test_what_real_peers_sent_breaks_no_reader(target: str) -> None:
    for body in beginnings(target):
        TARGETS[target](body)


@pytest.mark.parametrize("target", TARGETS)
@given(body=st.binary(max_size=200))
def test_no_bytes_break_a_reader(target: str, body: bytes) -> None:
    TARGETS[target](body)


@pytest.mark.parametrize("target", TARGETS)
@given(value=json_values | json_objects)
def test_no_json_breaks_a_reader(target: str, value: object) -> None:
    TARGETS[target](json.dumps(value).encode())


@pytest.mark.parametrize("target", TARGETS)
@given(data=st.data())
def test_no_spoiled_reply_breaks_a_reader(target: str, data: st.DataObject) -> None:
    TARGETS[target](data.draw(spoiled(target)))


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda one: one.version)
@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda one: one.name)
def test_a_reader_does_not_descend_with_a_value(dialect: Dialect, operation: Operation) -> None:
    # Deeper than the parser lets anything through, and than Python can recurse.
    for member in ("result", "task", "message", "status", "parts", "history", "metadata", "data"):
        value: object = {member: "leaf"}
        for _ in range(20_000):
            value = (
                {member: value, "id": "t", "parts": [value]}
                if member == "parts"
                else {member: value}
            )
        check_result(dialect, operation, value)
        dialect.decode_event({"taskId": "t", "artifact": value, "status": value})


# What costs most for its bytes: (the beginning, what is repeated, the end) of a value for a target.
LARGE = {
    "dialect-0.2": (b'{"messageId":"m","parts":[', b'{"kind":"data","data":{}}', b"]}"),
    "dialect-0.3": (b'{"id":"t","status":{"state":"x"},"artifacts":[', b"{}", b"]}"),
    "dialect-0.3-proto": (b'{"id":"t","status":{"state":"x"},"artifacts":[', b"{}", b"]}"),
    "dialect-1.0": (b'{"tasks":[', b'{"id":"t","status":{"state":"x"}}', b"]}"),
    "envelope": (b'{"jsonrpc":"2.0","id":"r1","result":{"messageId":"m","parts":[', b"0", b"]}}"),
    "http-json": (b'{"messageId":"m","content":[', b"0", b"]}"),
    "fault-table": (b'{"code":-32600,"data":[', b'{"loc":["x","method"]}', b"]}"),
    "card": (
        b'{"name":"n","capabilities":{},"url":"https://agent.example","supportedInterfaces":[',
        b'{"url":"x"}',
        b"]}",
    ),
    "json": (b"[", b"{}", b"]"),
    "cut-reply": (b'{"result":{"artifacts":[', b"{}", b'],"id":"t"}}'),
    "cut-body": (b'{"artifacts":[', b"{}", b'],"id":"t","kind":"task"}'),
    "event-stream": (b"", b"\n\ndata:\n\n", b""),
    "event-reader": (b'{"taskId":"t","artifact":{"parts":[', b"0", b"]}}"),
}
SIZE = 64 * 1024
DEAREST = 100
"""Bytes of memory for one of JSON: an empty object in an artifact of its own costs most, 60."""


@pytest.mark.parametrize("target", TARGETS)
def test_a_large_value_costs_memory_in_proportion(target: str) -> None:
    start, item, end = LARGE[target]
    body = start + b",".join([item] * (SIZE // (len(item) + 1))) + end
    TARGETS[target](body)  # what is made once and kept is no cost of this one
    tracemalloc.start()
    try:
        TARGETS[target](body)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < DEAREST * len(body)
