"""Messages, their parts, and the digest of what they say."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from a2a_delegate.errors import UsageError
from a2a_delegate.model.artifact import Artifact
from a2a_delegate.model.message import Message, Role, digest_of
from a2a_delegate.model.part import DataPart, FilePart, TextPart, UnknownPart, data_of, text_of

SAID = Message("m-1", Role.USER, (TextPart("sum it "), DataPart({"b": 1, "a": 2}), TextPart("up")))


def test_the_text_of_a_message_is_its_text_parts_without_a_gap() -> None:
    assert SAID.text == str(SAID) == "sum it up"
    assert Artifact("a", SAID.parts).text == "sum it up"
    assert Message("m", Role.AGENT, ()).text == ""


def test_text_and_data_are_taken_in_order_and_other_parts_left_out() -> None:
    parts = (
        UnknownPart({"odd": True}),
        DataPart(None),
        TextPart("a"),
        FilePart(url="https://files.example/x"),
        DataPart([1]),
        TextPart("b"),
    )
    assert text_of(parts) == "ab"
    assert data_of(parts) == (None, [1])


def test_a_file_is_its_bytes_or_a_url_and_shows_no_bytes() -> None:
    for facts in ({}, {"content": b"x", "url": "https://files.example/x"}):
        with pytest.raises(UsageError, match="exactly one of content and url"):
            FilePart(**facts)  # type: ignore[arg-type]
    assert FilePart(content=b"").content == b"", "an empty file is a file"
    assert "secret" not in repr(FilePart(content=b"secret"))


def test_the_digest_is_of_what_is_said_and_not_of_the_ids() -> None:
    again = replace(SAID, message_id="m-2", context_id="c", task_id="t", role=Role.AGENT)
    assert digest_of(again) == digest_of(SAID)
    assert len(digest_of(SAID)) == 64


@pytest.mark.parametrize(
    "other",
    [
        replace(SAID, parts=SAID.parts[:2]),
        replace(SAID, parts=(TextPart("sum it up"), SAID.parts[1])),
        replace(SAID, parts=(SAID.parts[0], DataPart({"b": 1, "a": 3}), SAID.parts[2])),
        replace(SAID, parts=(TextPart("sum it ", media_type="text/html"), *SAID.parts[1:])),
        replace(SAID, metadata={"tone": "dry"}),
    ],
)
def test_another_wording_has_another_digest(other: Message) -> None:
    assert digest_of(other) != digest_of(SAID)


def test_the_order_of_names_does_not_change_the_digest() -> None:
    turned = replace(SAID, parts=(SAID.parts[0], DataPart({"a": 2, "b": 1}), SAID.parts[2]))
    assert digest_of(turned) == digest_of(SAID)


@given(st.binary(), st.binary())
def test_files_count_by_their_bytes(one: bytes, other: bytes) -> None:
    first, second = (
        digest_of(Message("m", Role.USER, (FilePart(content=content),))) for content in (one, other)
    )
    assert (first == second) == (one == other)


def test_a_part_of_another_kind_with_the_same_words_is_another_part() -> None:
    text, data = (Message("m", Role.USER, (part,)) for part in (TextPart("x"), DataPart("x")))
    assert digest_of(text) != digest_of(data)
