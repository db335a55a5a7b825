from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from a2a_delegate.errors import UsageError
from a2a_delegate.wire.json_text import (
    MAX_CONTAINERS,
    MAX_DEPTH,
    MAX_VALUES,
    NotJSONError,
    kind_of,
    parse,
    write,
)
from tests.wire.json_values import json_values


@given(json_values)
def test_what_is_written_is_read_back(value: object) -> None:
    assert parse(write(value)) == value


@pytest.mark.spec("WIRE-4")
@given(st.binary(max_size=60))
def test_any_bytes_are_json_or_refused_by_name(body: bytes) -> None:
    try:
        value = parse(body)
    except NotJSONError:
        return
    write(value)  # so it holds no number that is not finite


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "an empty body"),
        (b" \r\n", "an empty body"),
        (b"\xef\xbb\xbf", "an empty body"),
        (b"<html>", "not JSON at character 0"),
        (b'{"a":1} {"b":2}', "not JSON at character 8"),
        (b'{"a":', "not JSON at character 5"),
        (b'{"a":"\x01"}', "not JSON at character 6"),
        (b'"\xff"', "not UTF-8 at byte 1"),
        ('"ü"'.encode("latin-1"), "not UTF-8 at byte 1"),
        (json.dumps({"a": 1}).encode("utf-16"), "not UTF-8 at byte 0"),
    ],
)
@pytest.mark.spec("WIRE-4")
def test_what_is_no_json_is_told_apart(body: bytes, reason: str) -> None:
    with pytest.raises(NotJSONError) as refusal:
        parse(body)
    assert str(refusal.value) == reason


@pytest.mark.spec("WIRE-4")
def test_a_byte_order_mark_is_tolerated() -> None:
    assert parse(b'\xef\xbb\xbf{"a":1}') == {"a": 1}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("NaN", "NaN"),
        ("Infinity", "Infinity"),
        ("-Infinity", "-Infinity"),
        ("1e999", "1e999"),
        ("-1e999", "-1e999"),
        ("1e308", 1e308),
        ("1e-999", 0.0),
        ("9" * 309, int("9" * 309)),
        ("9" * 310, "9" * 310),
        ("9" * 5_000, "9" * 5_000),
        ("3", 3),
        ("3.0", 3.0),
    ],
)
@pytest.mark.spec("WIRE-4")
def test_a_number_that_is_none_comes_as_text(text: str, value: object) -> None:
    read = parse(f"[{text}]".encode())
    assert read == [value]
    assert type(read) is list
    assert type(read[0]) is type(value)


def test_lone_surrogates_survive_both_ways() -> None:
    assert parse(rb'"\ud800"') == "\ud800"
    assert parse(write({"a\udfff": "\ud800"})) == {"a\udfff": "\ud800"}


def test_of_a_name_that_stands_twice_the_last_counts() -> None:
    assert parse(b'{"id":"a","id":"b"}') == {"id": "b"}


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
@pytest.mark.spec("WIRE-4")
def test_depth_is_bounded_exactly(opening: str, closing: str) -> None:
    def nested(depth: int) -> bytes:
        return (opening * depth + "1" + closing * depth).encode()

    parse(nested(MAX_DEPTH))
    with pytest.raises(NotJSONError, match="deeper than 100 levels"):
        parse(nested(MAX_DEPTH + 1))
    with pytest.raises(NotJSONError, match="deeper than 100 levels"):
        parse((opening * 200_000).encode())


def test_brackets_within_strings_are_no_depth() -> None:
    text = '[{"\\"' * 200 + "\\"
    assert parse(json.dumps({"a": text, "b": [{}] * 200}).encode()) == {"a": text, "b": [{}] * 200}


def array_of(count: int, value: bytes) -> bytes:
    return b"[" + b",".join([value] * count) + b"]"


@pytest.mark.parametrize("value", [b"1", b'""', b'"a,b,[{"', b'"\\""'])
@pytest.mark.spec("WIRE-4")
def test_the_number_of_values_is_bounded_exactly(value: bytes) -> None:
    parse(array_of(MAX_VALUES, value))
    with pytest.raises(NotJSONError, match=f"more than {MAX_VALUES} values"):
        parse(array_of(MAX_VALUES + 1, value))


@pytest.mark.spec("WIRE-4")
def test_the_number_of_objects_and_arrays_is_bounded_exactly() -> None:
    parse(array_of(MAX_CONTAINERS - 1, b"{}"))
    with pytest.raises(NotJSONError, match=f"more than {MAX_CONTAINERS} objects and arrays"):
        parse(array_of(MAX_CONTAINERS, b"{}"))


@pytest.mark.spec("WIRE-4")
def test_what_stands_within_a_text_is_no_value() -> None:
    text = ",[{" * MAX_VALUES
    assert parse(json.dumps([text]).encode()) == [text]


@pytest.mark.parametrize("value", [b"{}", b'""', b'{"":1}', b"[" * 9 + b"]" * 9])
def test_a_reply_that_is_refused_for_its_size_costs_little(value: bytes) -> None:
    body = array_of(32 * 1024 * 1024 // (len(value) + 1), value)
    started = time.process_time()
    with pytest.raises(NotJSONError, match="more than"):
        parse(body)
    # To read it takes half a minute.
    assert time.process_time() - started < 5


@pytest.mark.parametrize("hostile", [b'"' + b'\\"' * 400_000, b'\\"' * 400_000, b'"' * 800_000])
def test_unfinished_strings_cost_no_more_than_their_length(hostile: bytes) -> None:
    started = time.process_time()
    with pytest.raises(NotJSONError):
        parse(b"[" * 50 + b"{" * 60 + hostile)
    # Quadratic scanning of this many quotes takes minutes.
    assert time.process_time() - started < 5


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {1, 2}, b"bytes"])
@pytest.mark.spec("WIRE-2")
def test_what_json_cannot_carry_is_not_written(value: object) -> None:
    with pytest.raises(UsageError, match="not a JSON value"):
        write([value])


@pytest.mark.spec("WIRE-2")
def test_a_value_without_an_end_is_not_written() -> None:
    endless: list[object] = []
    for _ in range(100_000):
        endless = [endless]
    with pytest.raises(UsageError, match="not a JSON value"):
        write(endless)


def test_types_are_named_for_sentences() -> None:
    values: list[object] = [None, True, 1, 1.5, "", [], {}]
    kinds = {kind_of(value) for value in values}
    assert kinds == {"null", "a boolean", "a number", "a string", "an array", "an object"}
