"""The launcher starts, watches and stops the real servers, and says why when it cannot."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

from tests.interop.lines import LINES
from tests.interop.raw import Face
from tests.interop.servers import SERVERS, STOP_SECONDS, Server, ServerError, running, wait_until

pytestmark = pytest.mark.interop


def refuses_connections(url: str) -> bool:
    """Whether nobody listens at the address any more."""
    address = httpx.URL(url)
    try:
        socket.create_connection((address.host, address.port or 0), timeout=2.0).close()
    except ConnectionRefusedError:
        return True
    return False


@pytest.mark.parametrize(
    ("line", "mode"),
    [
        pytest.param(*server, marks=[pytest.mark.soak] if LINES[server[0]].soak else [])
        for server in SERVERS
    ],
)
def test_no_server_is_left_behind(line: str, mode: str) -> None:
    with running(line, mode) as server:
        assert not refuses_connections(server.url)
    assert refuses_connections(server.url)


def test_work_that_cannot_be_cancelled_does_not_hold_up_the_stop() -> None:
    with running("a2a-sdk-1.3", "1.0-only") as server:
        with httpx.Client(trust_env=False) as client:
            face = Face(server, "1.0", client)
            face.send(face.message("stubborn 60"), at_once=True)
        left = time.monotonic()
    assert time.monotonic() - left < STOP_SECONDS + 2.0


def test_a_server_ends_with_its_launcher() -> None:
    program = (
        "import os, signal, sys\n"
        f"sys.path.insert(0, {str(Path(__file__).parents[2])!r})\n"
        "from tests.interop.servers import running\n"
        "with running('a2a-sdk-1.3', '1.0-only') as server:\n"
        "    print(server.url, flush=True)\n"
        "    signal.pause()\n"
    )
    command = [sys.executable, "-c", program]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as launcher:  # noqa: S603
        assert launcher.stdout is not None
        url = launcher.stdout.readline().strip()
        os.kill(launcher.pid, signal.SIGKILL)
    wait_until(lambda: refuses_connections(url) or None, "end of the orphaned server")


def test_a_missing_environment_is_an_error_that_says_what_to_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A2A_DELEGATE_INTEROP_DIR", str(tmp_path))
    with (
        pytest.raises(ServerError, match=r"not installed .*; run tests/interop/install\.py"),
        running("a2a-sdk-1.3", "dual"),
    ):
        pass


def test_a_stale_environment_is_an_error_that_says_what_to_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a2a-sdk-0.3").mkdir()
    (tmp_path / "a2a-sdk-0.3" / ".stamp").write_text("of another requirements file\n")
    monkeypatch.setenv("A2A_DELEGATE_INTEROP_DIR", str(tmp_path))
    with (
        pytest.raises(ServerError, match=r"out of date .*; run tests/interop/install\.py"),
        running("a2a-sdk-0.3", "0.3-only"),
    ):
        pass


def test_an_unknown_server_is_an_error_that_names_the_known_ones() -> None:
    with pytest.raises(ServerError, match=r"a2a-sdk-1\.3 dual"), running("a2a-sdk-0.3", "dual"):
        pass


def test_a_server_that_cannot_start_shows_its_standard_error() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with (
            pytest.raises(ServerError, match="did not say READY") as caught,
            running("a2a-sdk-0.3", "0.3-only", port=port),
        ):
            pass
    assert any("Address already in use" in note for note in caught.value.__notes__)


@pytest.mark.parametrize(
    ("program", "complaint"),
    [
        ("exec sleep 60", "did not say READY"),
        ("echo READY http://127.0.0.1:9; exec sleep 60", "no card of"),
    ],
)
def test_a_server_that_hangs_at_the_start_is_given_up_and_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str, complaint: str
) -> None:
    python = tmp_path / "a2a-sdk-1.3" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f"#!/bin/sh\necho $$ >{tmp_path}/pid\necho looking around >&2\n{program}\n")
    python.chmod(0o755)
    monkeypatch.setenv("A2A_DELEGATE_INTEROP_DIR", str(tmp_path))
    LINES["a2a-sdk-1.3"].stamp.write_text(LINES["a2a-sdk-1.3"].digest())
    with (
        pytest.raises(ServerError, match=complaint) as caught,
        running("a2a-sdk-1.3", "1.0-only", start_within=0.5),
    ):
        pass
    assert any("looking around" in note for note in caught.value.__notes__)
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def kill(server: Server) -> None:
    """Kill it, and wait until it is dead; its launcher is still the one to reap it."""
    os.kill(server.pid, signal.SIGKILL)
    os.waitid(os.P_PID, server.pid, os.WEXITED | os.WNOWAIT)


def test_a_server_that_ends_during_the_block_is_an_error() -> None:
    with (
        pytest.raises(ServerError, match="ended by itself, status -9"),
        running("a2a-sdk-1.3", "1.0-only") as server,
    ):
        kill(server)
