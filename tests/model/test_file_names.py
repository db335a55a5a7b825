"""Names that peers give, and the names that files get."""

from __future__ import annotations

import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from a2a_delegate.model.file_names import MAX_BYTES, numbered, safe_name

pytestmark = pytest.mark.spec("FILE-4")

DEVICES = {
    *("CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"),
    *[port + digit for port in ("COM", "LPT") for digit in "0123456789¹²³"],
}


@pytest.mark.parametrize(
    "name",
    [
        "report.pdf",
        "Überblick 2026 (final).tar.gz",
        "R&D, John's.docx",
        "報告書.pdf",
        "no-extension",
        "a.b.c",
        "connect.txt",
        "COM10.txt",
        "100% ~x.csv",
    ],
)
def test_an_honest_name_stays_as_it_is(name: str) -> None:
    assert safe_name(name) == name


@pytest.mark.parametrize(
    ("wanted", "name"),
    [
        # paths of every kind
        ("../../etc/passwd", "passwd"),
        ("..\\..\\boot.ini", "boot.ini"),
        ("/etc/shadow", "shadow"),
        ("C:\\Windows\\win.ini", "win.ini"),
        ("C:evil.txt", "C_evil.txt"),
        ("\\\\server\\share\\x.txt", "x.txt"),
        ("\\\\?\\C:\\x.txt", "x.txt"),
        ("file:///etc/hosts", "hosts"),
        ("a/b\\c/d.txt", "d.txt"),
        # nothing is left
        ("", ""),
        (".", ""),
        ("..", ""),
        ("... ...", ""),
        ("a/", ""),
        ("..\u202e..", ""),
        ("\u3164\u200b\ufeff", ""),
        # what is hidden, and what looks like an option
        (".bashrc", "bashrc"),
        ("-rf", "rf"),
        (" . -x ", "x"),
        # what shows nothing, or shows something else
        ("a\x00b.txt", "ab.txt"),
        ("a\nb\tc.txt", "a b c.txt"),
        ("\x1b[31mred.txt", "[31mred.txt"),
        ("invoice\u202efdp.exe", "invoicefdp.exe"),
        ("pass\u200bword.txt", "password.txt"),
        ("tag\U000e0041.txt", "tag.txt"),
        ("half\ud800.txt", "half.txt"),
        ("a\u00a0b\u2028c.txt", "a b c.txt"),
        ("e\u200d\u0301.txt", "é.txt"),
        # Windows
        ("what?.txt", "what_.txt"),
        ('<a>:"b"|*.txt', "_a___b___.txt"),
        ("x.txt:hidden:$DATA", "x.txt_hidden_$DATA"),
        ("x.txt. . ", "x.txt"),
        ("NUL", "_NUL"),
        ("nul.txt", "_nul.txt"),
        ("Con.tar.gz", "_Con.tar.gz"),
        ("aux .txt", "_aux .txt"),
        ("com1", "_com1"),
        ("LPT².txt", "_LPT².txt"),
        ("conin$", "_conin$"),
        (".prn", "_prn"),
    ],
)
def test_a_hostile_name_becomes_the_name_of_one_plain_file(wanted: str, name: str) -> None:
    assert safe_name(wanted) == name


@pytest.mark.parametrize("letter", ["x", "é", "語", "\U0001f600"])
@pytest.mark.parametrize("extension", [".pdf", ".tar.gz", ".語語語"])
def test_a_long_name_keeps_its_extension(letter: str, extension: str) -> None:
    for length in (200, 256, 5_000):
        name = safe_name(letter * length + extension)
        assert name.endswith(letter + extension)
        assert len(numbered(name, 9_999_999).encode()) <= MAX_BYTES
        assert len(name.encode()) > 200


def test_a_device_that_only_a_cut_lays_bare_is_none_either() -> None:
    assert safe_name("nul" + " " * 300 + "x") == "_nul"


@pytest.mark.parametrize(
    ("name", "next_one"),
    [
        ("report.pdf", "report-2.pdf"),
        ("x.tar.gz", "x-2.tar.gz"),
        ("README", "README-2"),
        ("a.b.c", "a.b-2.c"),
        ("odd.a b", "odd.a b-2"),
        ("_nul.txt", "_nul-2.txt"),
    ],
)
def test_a_number_stands_before_the_extension(name: str, next_one: str) -> None:
    assert numbered(name, 2) == next_one


def faults_of(name: str) -> list[str]:
    """Say what is wrong with the name of a file; what no name can be has its own test."""
    device = name.partition(".")[0].rstrip(" ").upper()
    found = {
        "separator": set(name) & set("/\\"),
        "forbidden": set(name) & set('<>:"|?*'),
        "shows nothing": [one for one in name if not one.isprintable()],
        "begins": name[0] in ". -",
        "ends": name[-1] in ". ",
        "device": device in DEVICES,
        "not normalised": unicodedata.normalize("NFC", name) != name,
        "too long": len(name.encode()) > MAX_BYTES,
        "blank": not name.strip(),
    }
    return [fault for fault, shown in found.items() if shown]


WORDS = st.sampled_from(
    [
        "nul",
        "CON",
        "com¹",
        "..",
        "/",
        "\\",
        " ",
        ".",
        "-",
        ":",
        "\u202e",
        "\u0301",
        "e",
        ".tar",
        ".gz",
    ]
)
HOSTILE = st.text() | st.lists(WORDS | st.text(max_size=3), max_size=20).map("".join)


@given(HOSTILE, st.integers(2, 9_999_999))
def test_no_name_at_all_gets_through_as_anything_but_a_safe_one(wanted: str, number: int) -> None:
    name = safe_name(wanted)
    if name:
        assert faults_of(name) == []
        assert faults_of(numbered(name, number)) == []


@given(HOSTILE, st.integers(200, 260), st.sampled_from(["x", "é", " ", "nul."]))
def test_no_long_name_does_either(wanted: str, length: int, filling: str) -> None:
    for name in (safe_name(filling * length + wanted), safe_name(wanted + filling * length)):
        assert not name or faults_of(name) == []


@pytest.mark.parametrize("one", ["\u0301\u0316", "/", ".", " ", "x", "\u202e"])
def test_a_name_as_large_as_a_reply_takes_no_time(one: str) -> None:
    began = time.process_time()
    safe_name(one * 10_000_000)
    # Normalising all of it would take hours, for combining marks are sorted.
    assert time.process_time() - began < 5
