"""Words that the parser refuses itself: a sentence for a person, one object for a program."""

from __future__ import annotations

import json
import sys

import pytest

from a2a_delegate.cli import main
from tests.cli.command import invoke, run

WRONG = {
    "a missing argument": (("send",), "Missing argument 'URL'"),
    "an unknown option": (("send", "http://a.example", "hi", "--frob"), "No such option: --frob"),
    "a time that is none": (
        ("send", "http://a.example", "hi", "--timeout", "soon"),
        "Invalid value for '--timeout'",
    ),
    "an option without its value": (("card", "http://a.example", "--header"), "--header"),
    "a port that is none": (("peer", "--port", "x"), "Invalid value for '--port'"),
    "words left over": (("card", "http://a.example", "one", "two"), "2 more words"),
    "an unknown command": (("frob",), "No such command 'frob'"),
    "a missing command": ((), "No such option: --json"),
}


@pytest.mark.spec("CLI-3", "CLI-7", "CLI-8", "PEER-2")
@pytest.mark.parametrize(("words", "complaint"), WRONG.values(), ids=WRONG)
def test_what_the_parser_refuses_is_one_object_where_json_was_asked_for(
    words: tuple[str, ...], complaint: str
) -> None:
    # After an option that lacks its value, `--json` would be taken for it.
    first, rest = words[:1], words[1:]
    done = invoke(*first, "--json", *rest)
    assert (done.status, done.err) == (2, "")
    told = json.loads(done.out)
    assert told["error"]["type"] == "UsageError"
    assert complaint in told["error"]["message"]
    if first == ("card",):
        assert told["usable"] is False
    elif first == ("peer",):
        assert told["url"] is None
    else:
        assert (told["status"], told["effect"]) == ("failed", "not-started")


@pytest.mark.spec("CLI-3")
@pytest.mark.parametrize("after", [(), ("--", "--json")], ids=["not named", "no option any more"])
def test_without_json_it_is_a_sentence_on_standard_error(after: tuple[str, ...]) -> None:
    done = invoke("send", "http://a.example", "--frob", *after)
    assert (done.status, done.out) == (2, b"")
    assert done.err.startswith("Usage: ")
    assert "Error: No such option: --frob" in done.err


@pytest.mark.spec("CLI-7")
def test_words_that_can_be_parsed_go_the_usual_way() -> None:
    done = invoke("send", "http://a.example", "hi", "--timeout", "-1", "--json")
    assert done.status == 2
    assert "timeout" in json.loads(done.out)["error"]["message"]
    helped = invoke("send", "--json", "--help")
    assert helped.status == 0
    assert helped.out.startswith(b"Usage: ")


@pytest.mark.spec("CLI-7")
def test_the_installed_command_does_so_too() -> None:
    done = run("send", "--json", "--frob")
    assert (done.status, done.err) == (2, "")
    assert json.loads(done.out)["error"]["message"] == "No such option: --frob"


@pytest.mark.spec("CLI-9")
def test_a_refusal_that_cannot_be_written_is_told_of(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["a2a-delegate", "send", "--json"])
    monkeypatch.setattr(sys, "stdout", None)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert "could not be written" in capsys.readouterr().err
