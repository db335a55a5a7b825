"""Headers on the command line: where their values come from, and where they never go."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from a2a_delegate.cli.headers import Hiding, read_headers
from a2a_delegate.errors import UsageError
from a2a_delegate.testing import Operation, Respond, RpcError
from tests.cli.command import Done, invoke, run

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.peer_on_a_port import PeerOnAPort

SECRET = "s3cr3t-t0ken"


def shows_the_secret(done: Done) -> bool:
    return SECRET.encode() in done.out or SECRET in done.err


@pytest.mark.spec("CLI-17")
def test_values_stand_on_the_line_in_the_environment_or_in_a_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TOKEN", SECRET)
    file = tmp_path / "the token"
    file.write_text(f"{SECRET}\r\n")
    given = [
        "X-Plain:  a: b ",
        "X-Variable: env:TOKEN",
        f"X-File: @{file}",
        "Authorization: Bearer env:TOKEN",
        f"Proxy-Authorization: Basic @{file}",
        "X-At: a@b",
    ]
    assert read_headers(given) == {
        "X-Plain": "a: b",
        "X-Variable": SECRET,
        "X-File": SECRET,
        "Authorization": f"Bearer {SECRET}",
        "Proxy-Authorization": f"Basic {SECRET}",
        "X-At": "a@b",
    }


@pytest.mark.spec("CLI-17", "CLI-18")
@pytest.mark.parametrize(
    ("given", "told"),
    [
        ([SECRET], "--header number 1 is not of the form"),
        (["A: b", f"Bearer {SECRET}: x"], "--header number 2 is not of the form"),
        ([f": {SECRET}"], "not of the form"),
        ([f"X-A: {SECRET}", f"x-a: {SECRET}"], "'x-a' is given twice"),
        (["X-A:"], "'X-A' has no value"),
        ([f"Content-Type: {SECRET}"], "is the protocol's own"),
        ([f"a2a-version: {SECRET}"], "is the protocol's own"),
        (["X-A: env:NO_SUCH_VARIABLE"], "'NO_SUCH_VARIABLE' is not set"),
        (["X-A: @/no/such/file"], "cannot read /no/such/file: No such file"),
        (["X-A: @/dev/zero"], "larger than the 65536 bytes"),
    ],
)
def test_a_header_that_cannot_be_read_is_refused_without_its_value(
    given: list[str], told: str
) -> None:
    with pytest.raises(UsageError) as caught:
        read_headers(given)
    assert told in str(caught.value)
    assert SECRET not in str(caught.value)


@pytest.mark.spec("CLI-17")
def test_a_file_that_is_no_text_is_no_value(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="holds more than ASCII"):
        read_headers([f"X-A: @{file}"])
    file.write_bytes(b"\n")
    with pytest.raises(UsageError, match="has no value"):
        read_headers([f"X-A: @{file}"])


@pytest.mark.spec("CLI-17", "CLI-18")
def test_headers_go_with_every_request_and_into_no_output(peer: PeerOnAPort) -> None:
    done = run(
        "send",
        peer.origin,
        "ask",
        "-H",
        "Authorization: Bearer env:TOKEN",
        env={"TOKEN": SECRET},
    )
    assert done.status == 4
    assert not shows_the_secret(done)
    sent = peer.do(lambda it: [one.headers.get("authorization") for one in it.truth.requests])
    assert sent == [f"Bearer {SECRET}"] * 2


@pytest.mark.spec("CLI-18")
@pytest.mark.parametrize("form", [(), ("--json",)])
def test_a_peer_that_quotes_a_header_cannot_make_it_shown(
    old_peer: PeerOnAPort, form: tuple[str, ...]
) -> None:
    echo = f"no such key: Authorization: Bearer {SECRET}"
    header = ("--header", f"Authorization: Bearer {SECRET}")
    old_peer.do(lambda it: it.always(Operation.SEND, RpcError(-32602, echo)))
    done = invoke("send", old_peer.origin, "hi", *header, *form)
    assert done.status == 6
    assert not shows_the_secret(done)
    assert "[header Authorization]" in done.out.decode() + done.err
    old_peer.do(lambda it: it.always(Operation.CARD, Respond(403, {}, echo)))
    for command in (("send", old_peer.origin, "hi"), ("card", old_peer.origin)):
        done = invoke(*command, *header, *form)
        assert done.status == 3
        assert not shows_the_secret(done)
        assert "[header Authorization]" in done.out.decode() + done.err


@pytest.mark.spec("CLI-18")
def test_the_answer_is_not_changed(peer: PeerOnAPort) -> None:
    header = ("-H", f"X-Team: {SECRET}")
    assert invoke("send", peer.origin, SECRET, *header).out == f"result of {SECRET}\n".encode()
    told = json.loads(invoke("send", peer.origin, SECRET, *header, "--json").out)
    assert told["output"] == f"result of {SECRET}"


@pytest.mark.spec("CLI-3", "CLI-18")
def test_words_left_over_from_a_header_that_was_not_quoted_are_not_shown(
    peer: PeerOnAPort,
) -> None:
    done = invoke("send", peer.origin, "hi", "-H", "Authorization:", "Bearer", SECRET)
    assert done.status == 2
    assert "2 more words than the command takes" in done.err
    assert not shows_the_secret(done)
    done = invoke("card", peer.origin, SECRET)
    assert done.status == 2
    assert not shows_the_secret(done)


@pytest.mark.spec("CLI-18")
def test_a_value_that_http_cannot_carry_is_refused_by_name(peer: PeerOnAPort) -> None:
    done = invoke("send", peer.origin, "hi", "-H", f"X-A: {SECRET}\u20ac")
    assert done.status == 2
    assert "'X-A'" in done.err
    assert not shows_the_secret(done)


@pytest.mark.spec("CLI-18")
def test_only_what_may_be_a_secret_is_hidden() -> None:
    hide = Hiding({"A": "short", "B": "Bearer long-enough", "C": "long-enough-too"})
    assert hide("short long-enough long-enough-too") == "short [header B] [header C]"
    assert hide("Bearer long-enough") == "[header B]"
    assert Hiding({})("all of it") == "all of it"
    assert "long" not in repr(hide)
