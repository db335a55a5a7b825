"""What a person sees, and what a peer's text can do to a terminal."""

from __future__ import annotations

import io
import re
import signal
import sys
from typing import TYPE_CHECKING

import pytest

from a2a_delegate.cli.terminal import Screen, on_one_line, visible, write_answer
from a2a_delegate.testing import Hang, Operation, UnknownState
from tests.cli.command import run
from tests.cli.pseudo_terminal import Terminal

if TYPE_CHECKING:
    from tests.cli.peer_on_a_port import PeerOnAPort

HOSTILE = "\x1b]0;pwned\x07\x1b[2J\x9b31m\u202edrawkcab\r\x08"
RAW = (b"\x1b]0;pwned", b"\x1b[2J", "\x9b31m".encode(), "\u202e".encode(), b"\x07", b"\x08")
COLOUR = re.compile(rb"\x1b\[[0-9;]*(?:3[0-7]|9[0-7])[0-9;]*m")
HIDE_CURSOR, SHOW_CURSOR = b"\x1b[?25l", b"\x1b[?25h"


def words_of(seen: bytes) -> str:
    """Return what was written without what moves the cursor or paints."""
    return re.sub(rb"\x1b\[[0-9;?]*[A-Za-z]", b"", seen).decode()


@pytest.mark.spec("CLI-15", "CLI-16")
def test_a_person_sees_how_it_goes_and_then_the_answer(peer: PeerOnAPort) -> None:
    with Terminal("send", peer.origin, "stuck", "--poll-interval", "0.05") as terminal:
        terminal.read_until(b"looking for the agent's card")
        terminal.read_until(b"working on it")
        peer.do(lambda it: it.finish(it.truth.tasks[0].id, text=f"done {HOSTILE}"))
        assert terminal.finish() == 0
    told = words_of(terminal.seen)
    assert re.search(r"working · working on it · \d+\.\d s", told)
    assert r"done \x1b]0;pwned\x07\x1b[2J\x9b31m\u202edrawkcab\r\x08" in told
    assert "completed; effect: ran" in told
    assert not [raw for raw in RAW if raw in terminal.seen]
    assert COLOUR.search(terminal.seen)
    assert terminal.seen.rindex(SHOW_CURSOR) > terminal.seen.rindex(HIDE_CURSOR)


@pytest.mark.spec("CLI-16")
def test_a_hostile_state_is_shown_and_does_nothing(peer: PeerOnAPort) -> None:
    peer.do(lambda it: it.always(Operation.GET, UnknownState(f"evil {HOSTILE}")))
    with Terminal("send", peer.origin, "stuck", "--poll-interval", "0.05") as terminal:
        terminal.read_until(rb"evil \x1b]0;pwned\x07")
        terminal.process.send_signal(signal.SIGTERM)
        assert terminal.finish() == 5
    assert not [raw for raw in RAW if raw in terminal.seen]


@pytest.mark.spec("CLI-15")
def test_no_colour_is_used_where_none_is_wanted(peer: PeerOnAPort) -> None:
    with Terminal("send", peer.origin, "fail", env={"NO_COLOR": "1"}) as terminal:
        assert terminal.finish() == 1
    assert "it failed" in words_of(terminal.seen)
    assert not COLOUR.search(terminal.seen)


@pytest.mark.spec("CLI-15")
def test_a_dumb_terminal_gets_lines_and_no_control_codes(peer: PeerOnAPort) -> None:
    with Terminal("send", peer.origin, "fail", env={"TERM": "dumb"}) as terminal:
        assert terminal.finish() == 1
    assert b"it failed" in terminal.seen
    assert b"\x1b" not in terminal.seen


@pytest.mark.spec("CLI-5")
def test_a_pipe_gets_no_control_codes_even_where_colour_is_forced(peer: PeerOnAPort) -> None:
    done = run("send", peer.origin, "fail", env={"FORCE_COLOR": "1", "TERM": "xterm-256color"})
    assert done.status == 1
    assert "\x1b" not in done.err


@pytest.mark.spec("CLI-13", "CLI-15")
def test_the_second_ctrl_c_leaves_the_terminal_as_it_was(peer: PeerOnAPort) -> None:
    peer.do(lambda it: it.always(Operation.CANCEL, Hang()))
    with Terminal("send", peer.origin, "stuck", "--poll-interval", "0.05") as terminal:
        terminal.read_until(b"working on it")
        terminal.process.send_signal(signal.SIGINT)
        terminal.read_until(b"the peer was asked to stop")
        terminal.process.send_signal(signal.SIGINT)
        assert terminal.finish() == 130
    assert "SIGINT: cancelling, which takes at most 4.5 s" in words_of(terminal.seen)
    assert terminal.seen.rindex(SHOW_CURSOR) > terminal.seen.rindex(HIDE_CURSOR)


@pytest.mark.spec("CLI-7", "CLI-15")
def test_json_on_a_terminal_is_laid_out_for_reading(peer: PeerOnAPort) -> None:
    with Terminal("send", peer.origin, "hi", "--json") as terminal:
        assert terminal.finish() == 0
    assert '{\r\n  "status": "completed",\r\n' in words_of(terminal.seen)


@pytest.mark.spec("CLI-16")
@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("tab\tand\nline", "tab\tand\nline"),
        ("line\r\nline", "line\nline"),
        ("over\rwritten", r"over\rwritten"),
        ("\x00\x1b\x7f\x9b", r"\x00\x1b\x7f\x9b"),
        (
            "\u061c\u200e\u200f\u202a\u202e\u2066\u2069",
            r"\u061c\u200e\u200f\u202a\u202e\u2066\u2069",
        ),
        ("\u2028\u2029\ud800\U000e0041", r"\u2028\u2029\ud800\U000e0041"),
        ("Grüße, 東京, 👩\u200d👧, क\u094d\u200cष, \xa0\xad", None),
    ],
)
def test_control_characters_are_spelled_out_and_letters_are_left(
    text: str, shown: str | None
) -> None:
    assert visible(text) == (text if shown is None else shown)


@pytest.mark.spec("CLI-16")
def test_one_line_is_one_line_and_bounded() -> None:
    assert on_one_line(" a\r\n\tb\x1b ", 20) == r"a b\x1b"
    assert on_one_line("x" * 1_000_000, 10) == "x" * 9 + "…"


class FakeTerminal(io.StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self) -> bool:
        """Say so."""
        return True


@pytest.mark.spec("CLI-15", "CLI-16")
def test_the_line_of_progress_is_inert_hides_secrets_and_goes_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stream = FakeTerminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm-256color")
    screen = Screen()
    screen.hide = lambda text: text.replace("s3cret", "[hidden]")
    assert screen.is_terminal
    with screen.showing(lambda: f"s3cret [red]words[/red] {HOSTILE}"):
        screen.say(f"a [bold]line[/bold] with s3cret {HOSTILE}", style="red")
        screen.close()
    written = stream.getvalue()
    assert "a [bold]line[/bold] with [hidden] " in written
    assert "[hidden] [red]words[/red]" in written
    assert "s3cret" not in written
    assert not [raw for raw in RAW if raw.decode() in written]


@pytest.mark.spec("CLI-16")
def test_an_answer_on_a_terminal_is_inert(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = FakeTerminal()
    monkeypatch.setattr(sys, "stdout", stream)
    assert write_answer(f"an answer {HOSTILE}") is None
    assert stream.getvalue() == f"an answer {visible(HOSTILE)}\n"


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_terminal_without_the_letters_of_an_answer_shows_it_all_the_same(
    peer: PeerOnAPort, encoding: str
) -> None:
    env = {"PYTHONUTF8": "0", "PYTHONIOENCODING": encoding}
    with Terminal("send", peer.origin, "€ \u202e", env=env) as terminal:
        assert terminal.finish() == 0
    assert rb"result of \u20ac \u202e" in terminal.seen


@pytest.mark.spec("CLI-9")
def test_an_answer_for_a_standard_output_that_is_none_is_not_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    assert "closed" in str(write_answer("lost"))


def test_a_standard_error_that_is_gone_is_nobodys_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    screen = Screen()
    screen.say("to nobody")
    with screen.showing(lambda: "never asked"):
        screen.close()
    assert not screen.is_terminal


@pytest.mark.spec("CLI-9")
def test_streams_that_are_full_are_told_of_or_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    with open("/dev/full", "w", encoding="utf-8") as full:  # noqa: PTH123 - a device
        monkeypatch.setattr(sys, "stdout", full)
        monkeypatch.setattr(sys, "stderr", full)
        problem = write_answer("lost")
        Screen().say("lost as well")
    assert problem is not None
    assert problem.strerror == "No space left on device"
