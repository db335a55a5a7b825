"""Bodies that are watched: by streams, by hooks, and by authentications that read them."""

from __future__ import annotations

import gzip
import hashlib
from typing import TYPE_CHECKING

import httpx
import pytest

from a2a_delegate.bindings.body import WatchedBody, WatchedRequest
from a2a_delegate.bindings.carriage import Answer, Bounds, Carrier, Errand
from a2a_delegate.bindings.exchange import Exchange, SealedError
from a2a_delegate.lifecycle.operations import Lost, NotSent, Unreadable
from tests.bindings.loopback import Line, closed_port, peer, reply

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator

    from a2a_delegate.bindings.carriage import Carried

pytestmark = pytest.mark.anyio

BODY = b'{"jsonrpc":"2.0","id":"r-1"}'
DIGEST = 'WWW-Authenticate: Digest realm="r", nonce="n", qop="auth", algorithm=MD5\r\n'


async def carry(
    url: str, auth: httpx.Auth | None, exchange: Exchange, *, body: bytes | None = BODY
) -> Carried:
    async with httpx.AsyncClient() as client:
        carrier = Carrier(client, bounds=Bounds(10_000))
        errand = Errand(name="send", url=httpx.URL(url), headers={}, body=body, auth=auth)
        return await carrier.carry(errand, exchange)


async def answer(line: Line) -> None:
    while True:
        await line.hear()
        await line.say(reply(b"{}"))


async def challenge(line: Line) -> None:
    """Ask for credentials, until some come."""
    while True:
        heard = await line.hear()
        if heard.header("Authorization"):
            await line.say(reply(b"{}"))
        else:
            await line.say(reply(b"who?", status="401 Unauthorized", headers=DIGEST))


class Signs(httpx.Auth):
    """Signs the body, as the request signatures of clouds do."""

    requires_request_body = True

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        request.headers["X-Digest"] = hashlib.sha256(request.content).hexdigest()
        yield request


class Copies(httpx.Auth):
    """Sends a request of its own making in place of ours."""

    def __init__(self, *, streamed: bool = False) -> None:
        self._streamed = streamed

    async def async_auth_flow(
        self, request: httpx.Request
    ) -> AsyncGenerator[httpx.Request, httpx.Response]:
        body = WatchedBody(request.content, Exchange()) if self._streamed else request.content
        yield httpx.Request("POST", request.url, headers={"X-Copy": "1"}, content=body)


class AsksForAToken(httpx.Auth):
    """Gets a token elsewhere first, and reads the answer."""

    requires_response_body = True

    def __init__(self, url: str) -> None:
        self._url = url

    async def async_auth_flow(
        self, request: httpx.Request
    ) -> AsyncGenerator[httpx.Request, httpx.Response]:
        response = yield httpx.Request("POST", self._url, data={"grant": "me"})
        await response.aread()
        request.headers["Authorization"] = response.text
        yield request


class Reads(httpx.Auth):
    """Reads every answer."""

    requires_response_body = True

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        response = yield request
        self.read = response.content


async def test_a_body_can_leave_more_than_once_and_whole_each_time() -> None:
    exchange = Exchange()
    body = WatchedBody(BODY, exchange)
    assert not exchange.body_left
    for _ in range(2):
        assert [chunk async for chunk in body] == [BODY]
    assert exchange.body_left


async def test_a_sealed_body_gives_nothing() -> None:
    exchange = Exchange()
    exchange.seal()
    chunks = aiter(aiter(WatchedBody(BODY, exchange)))
    with pytest.raises(SealedError):
        await anext(chunks)
    with pytest.raises(StopAsyncIteration):
        await anext(chunks)


async def taken(request: httpx.Request, way: str) -> bytes:
    if way == "content":
        return request.content
    return request.read() if way == "read" else await request.aread()


@pytest.mark.spec("CARR-14")
async def test_whoever_reads_the_content_in_place_of_the_stream_is_seen_too() -> None:
    plain = httpx.Request("POST", "http://h.example/", headers={"A": "1"}, content=BODY)
    for way in ("content", "read", "aread"):
        exchange = Exchange()
        request = WatchedRequest(plain, BODY, exchange)
        assert request.headers["A"] == "1"
        assert (exchange.body_left, await taken(request, way), exchange.body_left) == (
            False,
            BODY,
            True,
        )
        assert isinstance(request.stream, WatchedBody)


@pytest.mark.spec("CARR-14")
async def test_a_hook_that_reads_the_body_can_and_it_counts_as_leaving() -> None:
    async def log(request: httpx.Request) -> None:
        seen.append(await request.aread())

    seen: list[bytes] = []
    exchange = Exchange()
    async with httpx.AsyncClient(event_hooks={"request": [log]}) as client:
        carrier = Carrier(client, bounds=Bounds(100))
        url = httpx.URL(f"http://127.0.0.1:{await closed_port()}/")
        carried = await carrier.carry(Errand(name="send", url=url, headers={}, body=BODY), exchange)
    assert seen == [BODY]
    assert isinstance(carried, Lost)


@pytest.mark.spec("CARR-14")
async def test_an_authentication_that_signs_the_body_does_not_make_it_leave() -> None:
    exchange = Exchange()
    carried = await carry(f"http://127.0.0.1:{await closed_port()}/", Signs(), exchange)
    assert isinstance(carried, NotSent)
    assert not exchange.body_left


@pytest.mark.spec("CARR-14")
async def test_a_signed_body_goes_out_watched() -> None:
    exchange = Exchange()
    async with peer(answer) as there:
        carried = await carry(there.url, Signs(), exchange)
    assert isinstance(carried, Answer)
    (heard,) = there.heard
    assert heard.header("X-Digest") == hashlib.sha256(BODY).hexdigest()
    assert heard.header("Content-Length") == str(len(BODY))
    assert heard.body == BODY
    assert exchange.body_left


@pytest.mark.spec("CARR-14")
async def test_a_challenge_is_met_with_the_same_body_again() -> None:
    exchange = Exchange()
    async with peer(challenge) as there:
        carried = await carry(there.url, httpx.DigestAuth("me", "pass"), exchange)
    assert isinstance(carried, Answer)
    assert (carried.status, exchange.http_status) == (200, 200)
    assert [heard.body for heard in there.heard] == [BODY, BODY]
    assert exchange.evidence == b"{}"


@pytest.mark.spec("CARR-8", "CARR-14")
@pytest.mark.parametrize("encoding", ["", "Content-Encoding: gzip\r\n"])
async def test_the_body_of_a_challenge_is_bounded_as_any_other(encoding: str) -> None:
    async def talk(line: Line) -> None:
        await line.hear()
        body = gzip.compress(b"0" * 1_000_000) if encoding else b"0" * 1_000_000
        headers = DIGEST + encoding
        await line.say(reply(body, status="401 Unauthorized", headers=headers))

    exchange = Exchange()
    async with peer(talk) as there:
        carried = await carry(there.url, httpx.DigestAuth("me", "pass"), exchange)
    assert isinstance(carried, Unreadable)
    assert carried.error.status == 401


@pytest.mark.spec("CARR-14")
async def test_a_copy_that_an_authentication_makes_is_watched_as_ours() -> None:
    for streamed in (False, True):
        exchange = Exchange()
        async with peer(answer) as there:
            carried = await carry(there.url, Copies(streamed=streamed), exchange)
        assert isinstance(carried, Answer)
        assert there.heard[0].header("X-Copy") == "1"
        assert exchange.body_left


@pytest.mark.spec("CARR-14")
async def test_a_request_to_a_token_endpoint_is_not_ours() -> None:
    async def tokens(line: Line) -> None:
        await line.hear()
        await line.say(reply(gzip.compress(b"tok-1"), headers="Content-Encoding: gzip\r\n"))

    nobody, exchange = await closed_port(), Exchange()
    async with peer(tokens) as token_endpoint:
        auth = AsksForAToken(token_endpoint.url)
        carried = await carry(f"http://127.0.0.1:{nobody}/", auth, exchange)
        assert isinstance(carried, NotSent)
        assert not exchange.body_left
        async with peer(answer) as there:
            assert isinstance(await carry(there.url, auth, Exchange()), Answer)
    assert there.heard[0].header("Authorization") == "tok-1"


async def test_an_answer_that_the_authentication_has_read_is_still_ours() -> None:
    auth = Reads()
    async with peer(answer) as there:
        carried = await carry(there.url, auth, Exchange())
    assert isinstance(carried, Answer)
    assert (carried.body, auth.read) == (b"{}", b"{}")


@pytest.mark.spec("CARR-8")
@pytest.mark.parametrize("auth", [None, Signs()])
async def test_a_reply_that_came_without_a_network_is_bounded_too(auth: httpx.Auth | None) -> None:
    transport = httpx.MockTransport(lambda _: httpx.Response(200, content=b"0" * 101))
    async with httpx.AsyncClient(transport=transport) as client:
        for limit, kind in ((101, Answer), (100, Unreadable)):
            carrier = Carrier(client, bounds=Bounds(limit))
            url = httpx.URL("http://h.example/")
            errand = Errand(name="send", url=url, headers={}, body=BODY, auth=auth)
            assert isinstance(await carrier.carry(errand, Exchange()), kind)


async def test_a_request_without_a_body_authenticates_as_well() -> None:
    exchange = Exchange()
    async with peer(challenge) as there:
        for auth in (httpx.DigestAuth("me", "pass"), AsksForAToken(there.url)):
            carried = await carry(there.url, auth, exchange, body=None)
            assert isinstance(carried, Answer)
    assert not exchange.body_left
