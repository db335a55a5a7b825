"""What is sent: read within bounds, and refused with a reason."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from a2a_delegate.cli import inputs
from a2a_delegate.cli.inputs import media_type, read_bounded, read_parts, read_prompt
from a2a_delegate.errors import UsageError
from a2a_delegate.model.part import DataPart, FilePart
from tests.cli.command import invoke

pytestmark = pytest.mark.spec("CLI-19")


@pytest.mark.parametrize(
    ("word", "value"),
    [("null", None), (" [1] ", [1]), ('"text"', "text"), ("1e400", float("inf")), ("{}", {})],
)
def test_data_is_json(word: str, value: object) -> None:
    assert read_parts([word], []) == (DataPart(value),)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("word", "told"),
    [
        ("text", "not JSON at character 0"),
        ("", "not JSON at character 0"),
        ("NaN", "NaN is no JSON"),
        ("[" * 100_000, "--data: "),
        ("1" * 5_000, "--data: "),
        ("@/no/such/file", "--data: cannot read /no/such/file"),
        ("@", "--data: cannot read"),
        ("@/dev/zero", "--data: /dev/zero: larger than the"),
        ("@nul\0l", "it is no name of a file"),
    ],
)
def test_what_is_no_json_is_refused(word: str, told: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_parts([word], [])
    assert told in str(caught.value)


def test_a_file_of_data_that_is_no_text_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "values"
    file.write_bytes(b'"\xff"')
    with pytest.raises(UsageError, match="not UTF-8 at byte 1"):
        read_parts([f"@{file}"], [])


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("a.png", "image/png"),
        ("a.txt", "text/plain"),
        ("a.tar.gz", "application/gzip"),
        ("a.txt.Z", "application/octet-stream"),
        ("a", "application/octet-stream"),
    ],
)
def test_media_types_are_guessed_by_name(name: str, kind: str) -> None:
    assert media_type(name) == kind


def test_all_files_together_are_bounded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(inputs, "MAX_BYTES", 10)
    six, four, five = tmp_path / "six", tmp_path / "four", tmp_path / "five"
    for path, size in ((six, 6), (four, 4), (five, 5)):
        path.write_bytes(b"x" * size)
    kept = read_parts([], [six, four])
    assert [part.content for part in kept if isinstance(part, FilePart)] == [b"x" * 6, b"x" * 4]
    with pytest.raises(UsageError, match="larger than the 4 bytes that it may have"):
        read_parts([], [six, five])


def test_a_device_without_end_is_read_no_further_than_the_bound() -> None:
    with pytest.raises(UsageError, match="larger than the 100 bytes"):
        read_bounded(Path("/dev/zero"), what="--file", limit=100)


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="Is a directory"):
        read_parts([], [tmp_path])


def test_a_prompt_that_is_no_text_is_refused() -> None:
    done = invoke("send", "http://127.0.0.1:1", "-", stdin=b"\xff")
    assert done.status == 2
    assert done.err == "wrong usage: the prompt: not UTF-8 at byte 0\n"


def test_a_prompt_from_a_standard_input_that_is_closed_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(UsageError, match="no standard input"):
        read_prompt("-")


def test_words_that_are_no_text_are_refused_in_one_line() -> None:
    # How Python spells bytes of the command line that are no UTF-8.
    for words in (("\udcff",), ("hi", "--context-id", "\udcff"), ("hi", "--data", '"\udcff"')):
        done = invoke("send", "http://127.0.0.1:1", *words)
        assert (done.status, done.err.count("\n")) == (2, 1), done.err
        assert done.err.startswith("wrong usage: ")
