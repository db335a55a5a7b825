from __future__ import annotations

import pytest
from hypothesis import given

from a2a_delegate.wire.result import EVIDENCE
from a2a_delegate.wire.saying import text_in, text_of
from tests.wire.json_values import json_values


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("no", "no"),
        (None, ""),
        ([{"message": "no"}], ""),
        ({"message": "a", "detail": "b", "title": "c"}, "a"),
        ({"detail": "b", "title": "c"}, "b"),
        ({"title": "c"}, "c"),
        ({"error": "d"}, "d"),
        ({"error": {"message": "a"}, "message": "b"}, "a"),
        ({"message": {"parts": []}, "error": "d"}, "d"),
        ({}, ""),
    ],
)
@pytest.mark.spec("WIRE-3")
def test_servers_say_why_in_several_ways(value: object, said: str) -> None:
    assert text_in(value) == said


@given(value=json_values)
@pytest.mark.spec("WIRE-4")
def test_any_value_says_a_text_if_an_empty_one(value: object) -> None:
    assert isinstance(text_in(value), str)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b" Not Found\n", "Not Found"),
        (b"<!DOCTYPE html><html>", ""),
        (b"\xff", "\ufffd"),
        (b"x" * (EVIDENCE + 1), "x" * EVIDENCE),
    ],
)
@pytest.mark.spec("WIRE-3")
def test_a_body_of_plain_text_is_what_it_says_but_a_page_says_nothing(
    body: bytes, said: str
) -> None:
    assert text_of(body) == said
