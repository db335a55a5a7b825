from __future__ import annotations

import base64
from typing import TYPE_CHECKING

import pytest
from hypothesis import given

from a2a_delegate.model.part import DataPart, FilePart, Part, TextPart, UnknownPart
from a2a_delegate.wire.reading_parts import read_parts
from tests.wire.json_values import json_values

if TYPE_CHECKING:
    from a2a_delegate.model.json_value import JSON

PACKED = base64.b64encode(b"\xfb\xff\xfe hello").decode()  # "+//+IGhlbGxv"


def only(value: object) -> Part:
    (part,) = read_parts([value])
    return part


@pytest.mark.parametrize(
    ("value", "part"),
    [
        # 1.0: by member
        ({"text": "hi"}, TextPart("hi")),
        ({"text": ""}, TextPart("")),
        (
            {"text": "hi", "mediaType": "text/plain", "filename": "f", "metadata": {"a": 1}},
            TextPart("hi", "text/plain", "f", {"a": 1}),
        ),
        ({"text": "hi", "filename": "", "mediaType": ""}, TextPart("hi")),
        ({"data": {"a": 1}}, DataPart({"a": 1})),
        ({"data": None}, DataPart(None)),
        ({"data": [1, 2.0, None]}, DataPart([1, 2.0, None])),
        ({"data": 3.0, "mediaType": "application/json"}, DataPart(3.0, "application/json")),
        ({"raw": "aGk=", "mediaType": "text/plain"}, FilePart(b"hi", media_type="text/plain")),
        ({"raw": ""}, FilePart(b"")),
        (
            {"url": "https://f.example/x", "filename": "x"},
            FilePart(url="https://f.example/x", filename="x"),
        ),
        # 0.3: by kind
        ({"kind": "text", "text": "hi"}, TextPart("hi")),
        ({"kind": "data", "data": {"a": 1}}, DataPart({"a": 1})),
        (
            {
                "kind": "file",
                "file": {"bytes": "aGk=", "name": "n", "mimeType": "text/plain"},
                "metadata": {"a": 1},
            },
            FilePart(b"hi", None, "n", "text/plain", {"a": 1}),
        ),
        ({"kind": "file", "file": {"uri": "ftp://f/x"}}, FilePart(url="ftp://f/x")),
        ({"kind": "file", "file": {"fileWithUri": "u:x"}}, FilePart(url="u:x")),
        ({"kind": "file", "file": {"fileWithBytes": "aGk="}}, FilePart(b"hi")),
        ({"kind": "file", "file": {"file_with_bytes": "aGk="}}, FilePart(b"hi")),
        ({"kind": "file", "file": {"bytes": "aGk=", "uri": "u:x"}}, FilePart(b"hi")),
        ({"kind": "file", "file": {"bytes": "", "uri": "u:x"}}, FilePart(url="u:x")),
        ({"kind": "file", "file": {"bytes": ""}}, FilePart(b"")),
        ({"kind": "file", "raw": "aGk="}, FilePart(b"hi")),
        # 0.1, and what servers make of it
        ({"type": "text", "text": "hi"}, TextPart("hi")),
        ({"type": "data", "data": {"a": 1}}, DataPart({"a": 1})),
        ({"kind": None, "text": "hi", "metadata": None}, TextPart("hi")),
        ({"kind": "", "text": "hi"}, TextPart("hi")),
        ({"kind": 7, "text": "hi"}, TextPart("hi")),
        ({"type": "paragraph", "text": "hi"}, TextPart("hi")),
        ({"file": {"bytes": "aGk="}}, FilePart(b"hi")),
        ({"text": {"text": "hi"}}, TextPart("hi")),
        # servers that print defaults: what says something goes first
        ({"text": "", "url": "u:x"}, FilePart(url="u:x")),
        ({"text": "", "raw": "", "url": "", "data": {"a": 1}}, DataPart({"a": 1})),
        ({"text": "", "data": None}, TextPart("")),
        ({"text": None, "data": None}, DataPart(None)),
        ({"text": None, "raw": None, "url": "u:x", "data": None}, FilePart(url="u:x")),
        ({"text": "hi", "media_type": "text/x"}, TextPart("hi", "text/x")),
    ],
)
@pytest.mark.spec("METH-6", "GEN-1")
def test_a_part_is_read_in_every_shape_seen(value: object, part: Part) -> None:
    assert only(value) == part


@pytest.mark.parametrize(
    "value",
    [
        None,
        "text",
        7,
        [],
        {},
        {"metadata": {"a": 1}},
        {"kind": "text"},
        {"kind": "text", "text": 7},
        {"text": {"text": 7}},
        {"kind": "data", "text": "hi"},
        {"kind": "file"},
        {"kind": "file", "file": "x"},
        {"kind": "file", "file": {}},
        {"kind": "file", "file": {"bytes": 7}},
        {"kind": "file", "file": {"mimeType": "image/png", "data": "aGk="}},
        {"type": "form", "form": {"schema": {}}},
        {"url": 7},
        {"raw": 7},
    ],
)
@pytest.mark.spec("WIRE-8")
def test_what_is_not_understood_is_kept_as_it_came(value: object) -> None:
    part = only(value)
    assert isinstance(part, UnknownPart)
    assert part.raw is value


@pytest.mark.parametrize(
    "text",
    [PACKED, "-__-IGhlbGxv", " +//+IGhl\r\nbGxv\n", "+//+\tIGhlbGxv"],
    ids=["standard", "url-safe", "in-lines", "with-tab"],
)
def test_base64_is_read_in_either_alphabet_and_in_lines(text: str) -> None:
    assert only({"raw": text}) == FilePart(b"\xfb\xff\xfe hello")


@pytest.mark.parametrize(
    "text", ["not_base64_content", "aGk", "a", "a===", "+/_-", "aGk=aGk=", "äö==", "<base64>", "="]
)
@pytest.mark.spec("WIRE-8")
def test_what_is_no_base64_never_becomes_bytes(text: str) -> None:
    value: JSON = {"kind": "file", "file": {"bytes": text}}
    assert only(value) == UnknownPart(value)


@pytest.mark.parametrize(
    ("metadata", "part"),
    [
        ({"data_part_compat": True}, DataPart(7)),
        ({"data_part_compat": True, "a": 1}, DataPart(7, metadata={"a": 1})),
        ({"data_part_compat": 1}, DataPart({"value": 7}, metadata={"data_part_compat": 1})),
        ({}, DataPart({"value": 7}, metadata={})),
        (None, DataPart({"value": 7})),
    ],
)
@pytest.mark.spec("WIRE-1")
def test_a_wrapped_value_is_unwrapped_only_where_it_is_marked(
    metadata: object, part: DataPart
) -> None:
    assert only({"kind": "data", "data": {"value": 7}, "metadata": metadata}) == part


def test_a_mark_without_an_object_changes_nothing() -> None:
    marked = {"kind": "data", "data": [7], "metadata": {"data_part_compat": True}}
    assert only(marked) == DataPart([7], metadata={"data_part_compat": True})


def test_what_is_no_list_holds_no_parts() -> None:
    values: list[object] = [None, {}, "x", 7, []]
    assert [read_parts(value) for value in values] == [()] * 5


@given(json_values)
@pytest.mark.spec("WIRE-8")
def test_no_value_makes_the_reader_raise(value: object) -> None:
    assert len(read_parts([value, value])) == 2
