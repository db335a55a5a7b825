"""The client for callers who bring none."""

from __future__ import annotations

import subprocess
import sys

import httpx
import pytest

from a2a_delegate.peer.own_client import CONNECT_SECONDS, IDLE_SECONDS, own_client
from tests.bindings.loopback import Line, peer, reply

pytestmark = pytest.mark.anyio


async def test_it_follows_nothing_and_has_no_limit_of_time_but_for_connecting() -> None:
    async with own_client() as client:
        assert client.follow_redirects is False
        assert client.timeout == httpx.Timeout(None, connect=CONNECT_SECONDS)
        assert client.trust_env


def test_idle_connections_end_before_those_of_usual_servers() -> None:
    # uvicorn and httpx itself keep theirs for 5 seconds.
    assert IDLE_SECONDS <= 2.0


def test_all_clients_of_a_process_share_one_tls_context() -> None:
    # In a process of its own: another test may have made the context already.
    script = (
        "import httpx\n"
        "made = []\n"
        "make = httpx.create_ssl_context\n"
        "def counted(*args, **options):\n"
        "    made.append(1)\n"
        "    return make(*args, **options)\n"
        "httpx.create_ssl_context = counted\n"
        "from a2a_delegate.peer.own_client import own_client\n"
        "assert not made, 'an import makes nothing'\n"
        "own_client(), own_client()\n"
        "print(len(made))\n"
    )
    run = subprocess.run(  # noqa: S603 - our own interpreter and script
        [sys.executable, "-W", "ignore::ResourceWarning", "-c", script],
        capture_output=True,
        text=True,
        check=True,
        timeout=15,
    )
    assert run.stdout.strip() == "1"


async def test_it_keeps_a_connection_for_the_next_request() -> None:
    async def talk(line: Line) -> None:
        while True:
            await line.hear()
            await line.say(reply(b"{}"))

    async with peer(talk) as there, own_client() as client:
        for _ in range(3):
            assert (await client.get(there.url)).status_code == 200
    assert len(there.lines) == 1
