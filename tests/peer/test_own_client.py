"""The client for callers who bring none."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import anyio
import httpx
import pytest

from a2a_delegate.bindings.carriage import Answer, Bounds, Carrier, Errand
from a2a_delegate.bindings.exchange import Exchange
from a2a_delegate.errors import UsageError
from a2a_delegate.lifecycle.operations import Lost, NotSent
from a2a_delegate.peer.cookies import MAX_COOKIE_CHARACTERS, MAX_COOKIES
from a2a_delegate.peer.lanes import IDLE_SECONDS
from a2a_delegate.peer.own_client import CONNECT_SECONDS, own_client
from tests.bindings.loopback import Heard, Line, closed_port, peer, reply

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

pytestmark = pytest.mark.anyio

HEADERS = {"Content-Type": "application/json", "Accept": "application/json"}


@pytest.fixture(autouse=True)
def without_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def errand(url: str, **options: object) -> Errand:
    return Errand("send", httpx.URL(url), **{"headers": HEADERS, "body": b"{}", **options})  # type: ignore[arg-type]


async def carry(client: httpx.AsyncClient, errand: Errand, exchange: Exchange) -> object:
    with anyio.fail_after(5):
        return await Carrier(client, bounds=Bounds(1_000)).carry(errand, exchange)


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


async def answer(line: Line) -> None:
    """Answer every request with success."""
    while True:
        await line.hear()
        await line.say(reply(b"{}"))


def names_of(heard: Heard) -> list[str]:
    """The names of a request's headers, in lower case."""
    return [one.partition(b":")[0].decode().lower() for one in heard.head.split(b"\r\n")[1:]]


async def test_a_request_arrives_as_httpx_would_send_it() -> None:
    async with peer(answer) as there, own_client() as ours, httpx.AsyncClient() as theirs:
        for client in (ours, theirs):
            assert isinstance(await carry(client, errand(there.url), Exchange()), Answer)
    mine, other = there.heard
    assert mine.body == other.body == b"{}"
    assert mine.head.split(b"\r\n")[0] == other.head.split(b"\r\n")[0]
    for name in ("host", "user-agent", "content-type", "content-length", "accept"):
        assert mine.header(name) == other.header(name) is not None
    assert "transfer-encoding" not in names_of(mine)


@pytest.mark.parametrize("name", ["Host", "host", "User-Agent", "user-agent"])
async def test_a_header_of_the_caller_replaces_the_one_that_goes_anyway(name: str) -> None:
    async with peer(answer) as there, own_client() as client:
        sent = errand(there.url, headers={**HEADERS, name: "theirs.example"})
        assert isinstance(await carry(client, sent, Exchange()), Answer)
    (heard,) = there.heard
    assert heard.header(name) == "theirs.example"
    assert names_of(heard).count(name.lower()) == 1


async def test_cookies_are_kept_as_load_balancers_need_it() -> None:
    async def talk(line: Line) -> None:
        await line.hear()
        await line.say(reply(b"{}", headers="Set-Cookie: stick=to-me; Path=/\r\n"))
        await answer(line)

    async with peer(talk) as there, own_client() as client:
        for _ in range(3):
            assert isinstance(await carry(client, errand(there.url), Exchange()), Answer)
    assert [heard.header("cookie") for heard in there.heard] == [None, "stick=to-me", "stick=to-me"]


@pytest.mark.parametrize("cookie", ["ключ=1", "a=\u00ff", "a=1\t2", "\u2028=1"])
async def test_a_cookie_that_no_header_carries_back_harms_no_request(cookie: str) -> None:
    async def talk(line: Line) -> None:
        await line.hear()
        kept = "Set-Cookie: stick=to-me; Path=/\r\n"
        await line.say(reply(b"{}", headers=f"Set-Cookie: {cookie}; Path=/\r\n{kept}"))
        await answer(line)

    async with peer(talk) as there, own_client() as client:
        for _ in range(2):
            assert isinstance(await carry(client, errand(there.url), Exchange()), Answer)
    assert "stick=to-me" in (there.heard[1].header("cookie") or "")


async def test_a_peer_that_sets_ever_more_cookies_fills_no_memory() -> None:
    async def talk(line: Line) -> None:
        for number in range(3):
            await line.hear()
            names = [f"c{number}x{one}" for one in range(MAX_COOKIES)]
            cookies = [f"{name}={number}" for name in (*names, "c0x0")]
            cookies.append("big=" + "x" * MAX_COOKIE_CHARACTERS)
            set_all = "".join(f"Set-Cookie: {one}; Path=/\r\n" for one in cookies)
            await line.say(reply(b"{}", headers=set_all))
        await answer(line)

    async with peer(talk) as there, own_client() as client:
        for _ in range(4):
            assert isinstance(await carry(client, errand(there.url), Exchange()), Answer)
    sent = [(heard.header("cookie") or "").split("; ") for heard in there.heard[1:]]
    assert [len(cookies) for cookies in sent] == [MAX_COOKIES] * 3
    assert "c0x0=2" in sent[-1]


async def test_an_authentication_of_the_caller_is_asked() -> None:
    async with peer(answer) as there, own_client() as client:
        sent = errand(there.url, auth=httpx.BasicAuth("me", "secret"))
        assert isinstance(await carry(client, sent, Exchange()), Answer)
    (heard,) = there.heard
    assert (heard.header("authorization") or "").startswith("Basic ")


async def test_an_authentication_that_is_challenged_asks_again_on_the_same_connection() -> None:
    async def talk(line: Line) -> None:
        while True:
            heard = await line.hear()
            if heard.header("authorization"):
                await line.say(reply(b"{}"))
            else:
                challenge = 'WWW-Authenticate: Digest realm="r", nonce="n", qop="auth"\r\n'
                await line.say(reply(b"who?", status="401 Unauthorized", headers=challenge))

    async with peer(talk) as there, own_client() as client:
        sent = errand(there.url, auth=httpx.DigestAuth("me", "secret"))
        answered = await carry(client, sent, Exchange())
        assert isinstance(answered, Answer)
        assert answered.status == 200
    assert [len(line.heard) for line in there.lines] == [2]
    assert [heard.body for heard in there.heard] == [b"{}", b"{}"]


async def test_an_authentication_that_fails_over_a_reply_ends_the_request_as_lost() -> None:
    class Fails(httpx.Auth):
        async def async_auth_flow(
            self, request: httpx.Request
        ) -> AsyncGenerator[httpx.Request, httpx.Response]:
            yield request
            raise LookupError("no key")

    async with peer(answer) as there, own_client() as client:
        lost = await carry(client, errand(there.url, auth=Fails()), Exchange())
        assert isinstance(lost, Lost)
        assert isinstance(lost.error.__cause__, LookupError)
        # The connection of the reply that nobody took is not used again.
        assert isinstance(await carry(client, errand(there.url), Exchange()), Answer)
    assert [len(line.heard) for line in there.lines] == [1, 1]


async def test_a_reply_that_is_cut_is_lost_and_its_connection_closed() -> None:
    async def talk(line: Line) -> None:
        await line.hear()
        await line.say(reply(b'{"half', length=100))

    exchange = Exchange()
    async with peer(talk) as there, own_client() as client:
        assert isinstance(await carry(client, errand(there.url), exchange), Lost)
    assert (exchange.body_left, exchange.evidence) == (True, b'{"half')


async def test_a_port_that_nobody_listens_at_is_not_sent_to() -> None:
    port, exchange = await closed_port(), Exchange()
    async with own_client() as client:
        ended = await carry(client, errand(f"http://127.0.0.1:{port}/rpc"), exchange)
    assert isinstance(ended, NotSent)
    assert not exchange.body_left


async def test_a_client_that_is_closed_sends_nothing() -> None:
    async with peer(answer) as there:
        async with own_client() as client:
            request = client.build_request("POST", there.url, content=b"{}")
        with pytest.raises(RuntimeError, match="closed"):
            await client.send(request, stream=True)
    assert there.heard == []


async def test_what_the_environment_leaves_out_goes_by_no_proxy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{await closed_port()}")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    async with peer(answer) as there, own_client() as client:
        for _ in range(2):
            assert isinstance(await carry(client, errand(there.url), Exchange()), Answer)
    assert len(there.lines) == 1


@pytest.mark.parametrize(
    ("address", "reason"),
    [("ftp://me:s3cret@h.example", "no such kind"), ("http://me:s3cret@h.example:x", "is none")],
)
def test_a_proxy_that_cannot_be_used_is_told_of_and_not_shown(
    monkeypatch: pytest.MonkeyPatch, address: str, reason: str
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", address)
    with pytest.raises(UsageError, match=f"HTTPS_PROXY.*{reason}") as refusal:
        own_client()
    assert "s3cret" not in str(refusal.value)


async def test_a_redirect_that_leads_nowhere_is_an_answer_through_a_proxy_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def talk(line: Line) -> None:
        while True:
            await line.hear()
            await line.say(
                reply(b"", status="308 Permanent Redirect", headers="Location: ht!tp://[\r\n")
            )

    async with peer(talk) as proxy:
        monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{proxy.port}")
        async with own_client() as client:
            for auth in (None, httpx.BasicAuth("me", "pass")):
                sent = errand("http://agent.example/rpc", auth=auth)
                answered = await carry(client, sent, Exchange())
                assert isinstance(answered, Answer)
                assert answered.status == 308


async def test_a_proxy_of_the_environment_carries_the_request(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with peer(answer) as proxy:
        monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{proxy.port}")
        async with own_client() as client:
            sent = errand("http://agent.example/rpc")
            assert isinstance(await carry(client, sent, Exchange()), Answer)
    (heard,) = proxy.heard
    assert heard.head.startswith(b"POST http://agent.example/rpc ")
