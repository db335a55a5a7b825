"""`a2a-delegate peer`: a scripted peer that another process delegates to."""

from __future__ import annotations

import json
import signal
import ssl
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import httpx
import pytest
import trustme

from a2a_delegate.testing.catalogue import BEHAVIOURS
from tests.cli.command import PATIENCE, environment, finish, invoke, run, start

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FLAKY = """
[peer]
name = "Flaky"
versions = ["1.0", "0.3"]

[[send]]
call = 1
does = "CutReply"
at = 30
by = "rst"

[[cancel]]
call = 1
does = "LyingCancel"
"""


@pytest.fixture
def flaky(tmp_path: Path) -> Path:
    path = tmp_path / "flaky.toml"
    path.write_text(FLAKY)
    return path


@contextmanager
def serving(*words: str) -> Iterator[tuple[subprocess.Popen[bytes], bytes]]:
    """Start the command, and give it with the line that it prints."""
    process = start("peer", *words)
    assert process.stdout is not None
    try:
        yield process, process.stdout.readline()
    finally:
        process.kill()
        process.communicate(timeout=PATIENCE)


def stopped(
    process: subprocess.Popen[bytes], number: signal.Signals = signal.SIGINT
) -> tuple[int, bytes, str]:
    """End the command by a signal, and return its status and what it had still to say."""
    process.send_signal(number)
    done = finish(process)
    return done.status, done.out, done.err


@pytest.mark.spec("PEER-1")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_peer_is_served_until_a_signal_and_the_truth_is_told(
    flaky: Path, number: signal.Signals
) -> None:
    with serving(str(flaky)) as (process, line):
        url = line.decode().strip()
        sent = run("send", url, "slow 0.1")
        assert (sent.status, sent.out) == (0, b"result of slow 0.1\n")
        status, out, err = stopped(process, number)
    assert (status, out) == (0, b"")
    lines = err.splitlines()
    assert lines[0].startswith("#1 card: ")
    assert lines[1] == "#2 send 1.0: CutReply(at=30, by=rst)"
    assert lines[2] == "#2 send 1.0 'slow 0.1': work begun, 30 bytes of HTTP 200, reset"
    assert lines[3].startswith("#3 list 1.0: ")
    assert lines[3].endswith(" bytes of HTTP 200, kept open")
    truth = lines[lines.index(f"{number.name}: closing the port") :]
    assert truth[1] == "the ground truth:"
    assert truth[2].endswith(", 1 sends and 0 cancels; work was begun 1 times")
    assert " 'slow 0.1': completed; message " in truth[3]
    assert truth[4:] == ["  never used: cancel: LyingCancel"]


@pytest.mark.spec("PEER-2")
def test_with_json_the_address_and_the_truth_are_objects(flaky: Path) -> None:
    with serving("--json", str(flaky), "--version", "0.3") as (process, line):
        address = json.loads(line)
        assert address == {"url": address["url"], "versions": ["0.3"], "error": None}
        sent = run("send", address["url"], "hi", "--json")
        assert sent.status == 6
        assert json.loads(sent.out)["status"] == "unknown"
        status, out, err = stopped(process)
    assert (status, out) == (0, b"")
    truth = json.loads(err.splitlines()[-1])
    assert list(truth["runs"].values()) == [1]
    (task,) = truth["tasks"]
    assert (task["text"], task["state"], task["cancel_requests"]) == ("hi", "completed", 0)
    assert truth["unused"] == ["cancel: LyingCancel"]
    assert truth["open"] == 0
    assert (truth["sends"], truth["cancels"]) == (1, 0)


@pytest.mark.spec("PEER-1", "PEER-2", "SCEN-4")
@pytest.mark.parametrize("words", [(), ("--json",)])
def test_what_was_streamed_is_told(tmp_path: Path, words: tuple[str, ...]) -> None:
    path = tmp_path / "streaming.toml"
    path.write_text("[peer]\nstreaming = true\n[[send]]\ndoes = 'StopStream'\nafter = 2\n")
    message = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "task"}]}
    call = {"jsonrpc": "2.0", "id": 1, "method": "SendStreamingMessage"}
    with serving(str(path), *words) as (process, line):
        url = json.loads(line)["url"] if words else line.decode().strip()
        reply = httpx.post(
            f"{url}/rpc",
            json={**call, "params": {"message": message}},
            headers={"A2A-Version": "1.0"},
            timeout=PATIENCE,
        )
        assert reply.text.count("data: ") == 2
        _, _, err = stopped(process)
    lines = err.splitlines()
    assert lines[0] == "#1 send 1.0: StopStream(after=2)"
    assert lines[1].startswith("#1 send 1.0 'task': work begun, 2 events, ")
    if words:
        truth = json.loads(lines[-1])
        assert truth["streams"] == [{"events": 2, "end": "ended by the peer"}]
        assert truth["subscriptions"] == 0


@pytest.mark.spec("PEER-1")
def test_what_a_client_says_harms_neither_the_terminal_nor_the_log() -> None:
    with serving() as (process, line):
        url = line.decode().strip()
        hostile = "\x1b[31m\n\u202e" + "x" * 10_000
        assert run("send", url, hostile).status == 0
        httpx.get(f"{url}/\x1b[31m".replace("\x1b", "%1b"))
        httpx.post(f"{url}/rpc", content=b"junk")
        _, _, err = stopped(process)
    assert "\x1b" not in err
    assert "\u202e" not in err
    assert max(map(len, err.splitlines())) <= 220


@pytest.mark.spec("PEER-3")
def test_a_peer_speaks_tls_with_a_certificate(tmp_path: Path) -> None:
    authority = trustme.CA()
    both = tmp_path / "both.pem"
    certificate = authority.issue_cert("127.0.0.1")
    both.write_bytes(certificate.private_key_and_cert_chain_pem.bytes())
    trusting = ssl.create_default_context()
    authority.configure_trust(trusting)
    with serving("--certfile", str(both)) as (process, line):
        url = line.decode().strip()
        assert url.startswith("https://127.0.0.1:")
        card = httpx.get(f"{url}/.well-known/agent-card.json", verify=trusting)
        assert card.status_code == 200
        with pytest.raises(httpx.ConnectError):
            httpx.get(url)
        _, _, err = stopped(process)
    assert "a connection without a request: no TLS handshake: " in err


@pytest.mark.spec("PEER-3")
def test_who_lets_other_machines_in_is_told_so() -> None:
    with serving("--host", "0.0.0.0") as (process, line):  # noqa: S104 - that is the example
        assert line.startswith(b"http://127.0.0.1:")
        _, _, err = stopped(process)
    assert err.splitlines()[0] == "it listens to other machines too, and does what anybody asks"
    for host in ("localhost", "127.0.0.1"):
        with serving("--host", host) as (process, _):
            assert "other machines" not in stopped(process)[2]


@pytest.mark.spec("PEER-3")
def test_requests_that_hang_do_not_keep_it(tmp_path: Path) -> None:
    hanging = tmp_path / "hanging.toml"
    hanging.write_text('[[send]]\ndoes = "Hang"\ndeaf = true\n')
    with serving(str(hanging)) as (process, line):
        url = line.decode().strip()
        sender = start("send", url, "stuck")
        assert process.stderr is not None
        for told in process.stderr:
            if b"Hang(deaf=true)" in told:
                break
        status, _, err = stopped(process)
        sender.kill()
        sender.communicate(timeout=PATIENCE)
    assert status == 0
    assert "work begun, no byte sent, ended with the port" in err


@pytest.mark.spec("PEER-4")
@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("nowhere.toml",), "cannot read the scenario nowhere.toml: No such file"),
        (("--port", "70000"), "cannot listen at 127.0.0.1:70000"),
        (("--version", "2.0"), "versions are some of 1.0, 0.3, 0.2"),
        (("--keyfile", "key.pem"), "a key needs its certificate"),
        (("--certfile", "none.pem"), "cannot use the certificate none.pem"),
    ],
)
def test_what_cannot_be_served_is_told_in_a_sentence(words: tuple[str, ...], told: str) -> None:
    done = invoke("peer", *words)
    assert (done.status, done.out) == (2, b"")
    assert done.err.startswith("wrong usage: ")
    assert told in done.err
    spelled = invoke("peer", *words, "--json")
    assert spelled.status == 2
    answer = json.loads(spelled.out)
    assert (answer["url"], answer["versions"]) == (None, [])
    assert answer["error"]["type"] == "UsageError"
    assert told in answer["error"]["message"]


@pytest.mark.spec("PEER-4")
def test_a_wrong_scenario_is_told_with_its_place(flaky: Path) -> None:
    flaky.write_text(FLAKY.replace("CutReply", "CutRelpy"))
    done = invoke("peer", str(flaky))
    assert done.status == 2
    assert "line 8, send, rule 1: does: there is no behaviour 'CutRelpy'; known are" in done.err


@pytest.mark.spec("PEER-5")
def test_every_behaviour_is_listed_with_its_parameters() -> None:
    told = invoke("peer", "--list").out.decode()
    for name in BEHAVIOURS:
        assert f"\n{name}\n" in f"\n{told}" or f"\n{name} (for " in f"\n{told}"
    assert "\n    at = a whole number; needed\n    by = fin, rst; else fin\n" in told
    assert "LyingCancel (for cancel)\n" in told
    listed = json.loads(invoke("peer", "--list", "--json").out)["behaviours"]
    assert [one["name"] for one in listed] == list(BEHAVIOURS)
    cut = next(one for one in listed if one["name"] == "CutReply")
    assert cut["parameters"][0] == {
        "name": "at",
        "is": "a whole number",
        "needed": True,
        "default": None,
    }


def test_the_scenario_of_the_help_is_one(tmp_path: Path) -> None:
    told = invoke("peer", "--help").out.decode()
    shown = told[told.index("[peer]") : told.index("Tables are")]
    path = tmp_path / "shown.toml"
    path.write_text(shown)
    with serving(str(path)) as (process, line):
        assert line.startswith(b"http://")
        assert stopped(process)[0] == 0


def test_the_address_that_cannot_be_written_ends_it() -> None:
    shell = f"exec {sys.executable} -m a2a_delegate peer >&-"
    done = subprocess.run(  # noqa: S603 - words of this test
        ["/bin/sh", "-c", shell],
        capture_output=True,
        env=environment(),
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 1
    assert b"the answer could not be written" in done.stderr


def test_no_other_command_imports_the_twins() -> None:
    code = (
        "import sys; from a2a_delegate.cli import app; "
        "assert not [one for one in sys.modules if one.startswith('a2a_delegate.testing')]"
    )
    done = run(command=(sys.executable, "-c", code))
    assert (done.status, done.err) == (0, "")
