"""What is made of a reply that is large, slow, encoded, or leads elsewhere."""

from __future__ import annotations

import gzip
import traceback
import zlib
from dataclasses import replace
from typing import TYPE_CHECKING

import anyio
import httpx
import pytest

from a2a_delegate.bindings.carriage import Answer, Bounds, Carrier
from a2a_delegate.bindings.exchange import EVIDENCE_BYTES, Exchange
from a2a_delegate.lifecycle.operations import Lost, Unreadable
from tests.bindings.carrying import SHOWS_THE_ID, WHOLE, Carry, NewClient, carry_by, errand
from tests.bindings.loopback import Line, peer, reply

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

pytestmark = pytest.mark.anyio


@pytest.mark.spec("CARR-8")
async def test_a_reply_over_the_limit_is_unreadable_and_its_connection_closed(carry: Carry) -> None:
    async def talk(line: Line) -> None:
        await line.hear()
        await line.say(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        while True:
            await line.say(b"4000\r\n" + SHOWS_THE_ID.ljust(0x4000) + b"\r\n")

    exchange = Exchange()
    async with peer(talk) as there:
        carried = await carry(there.url, exchange, limit=100_000)
    assert isinstance(carried, Unreadable)
    assert "larger than 100000 bytes" in str(carried.error)
    assert (carried.error.status, carried.task_id) == (200, "task-7")
    assert len(carried.evidence) == EVIDENCE_BYTES


@pytest.mark.spec("CARR-8")
async def test_a_lost_reply_does_not_stay_in_memory_with_its_error(carry: Carry) -> None:
    async def talk(line: Line) -> None:
        await line.hear()
        await line.say(reply(b"0" * 500_000, length=900_000))

    async with peer(talk) as there:
        carried = await carry(there.url, Exchange())
    assert isinstance(carried, Lost)
    assert len(carried.evidence) == EVIDENCE_BYTES
    assert held_by(carried.error) == []


@pytest.mark.spec("CARR-18")
async def test_a_request_does_not_stay_in_memory_with_the_error_that_ended_it() -> None:
    async def talk(line: Line) -> None:
        await line.hear()

    async with peer(talk) as there:
        client = httpx.AsyncClient(headers={"X-Key": "s3cret"})
        lost = await carry_by(client, there.url, Exchange())
    assert isinstance(lost, Lost)
    assert held_by(lost.error) == []
    cause = lost.error.__cause__
    assert isinstance(cause, httpx.RemoteProtocolError)
    assert (cause.request.method, str(cause.request.url)) == ("POST", there.url)
    assert "X-Key" not in cause.request.headers
    assert cause.request.content == b""


def held_by(error: BaseException) -> list[object]:
    """Return what the tracebacks of an error's causes hold: nothing is lost that they tell."""
    held: list[object] = []
    link = error.__cause__
    assert link is not None
    assert link.__traceback__ is not None
    while link is not None:
        frames = [frame for frame, _ in traceback.walk_tb(link.__traceback__)]
        held += [value for frame in frames for value in frame.f_locals.values()]
        link = link.__cause__ or link.__context__
    return held


@pytest.mark.spec("CARR-8")
async def test_a_reply_in_pieces_of_one_byte_is_kept_as_bytes_and_not_as_pieces(
    carry: Carry,
) -> None:
    async def talk(line: Line) -> None:
        await line.hear()
        await line.say(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        await line.say(b"".join(b"1\r\n%c\r\n" % byte for byte in WHOLE) + b"0\r\n\r\n")

    async with peer(talk) as there:
        carried = await carry(there.url, Exchange(), limit=len(WHOLE))
    assert isinstance(carried, Answer)
    assert carried.body == WHOLE


@pytest.mark.spec("CARR-21")
@pytest.mark.parametrize("word", ["identity", " Identity ", ""])
async def test_a_reply_that_says_that_it_is_not_encoded_is_read(carry: Carry, word: str) -> None:
    async def talk(line: Line) -> None:
        await line.hear()
        await line.say(reply(WHOLE, headers=f"Content-Encoding: {word}\r\n"))

    async with peer(talk) as there:
        carried = await carry(there.url, Exchange())
    assert isinstance(carried, Answer)
    assert carried.body == WHOLE


@pytest.mark.spec("CARR-21")
@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize(
    ("word", "content"),
    [
        ("gzip", gzip.compress(WHOLE)),
        ("gzip", gzip.compress(b"0" * 10_000_000)),
        ("X-GZIP", b"this is no gzip"),
        ("deflate", zlib.compress(WHOLE)),
        ("br", WHOLE),
        ("gzip, gzip", gzip.compress(gzip.compress(WHOLE))),
    ],
    ids=["gzip", "a bomb", "no gzip at all", "deflate", "another", "twice"],
)
async def test_an_encoded_reply_is_unreadable_and_kept_as_it_came(
    word: str, content: bytes, *, signed: bool
) -> None:
    async def talk(line: Line) -> None:
        while True:
            await line.hear()
            await line.say(reply(content, headers=f"Content-Encoding: {word}\r\n"))

    client = httpx.AsyncClient(auth=httpx.BasicAuth("me", "pass") if signed else None)
    async with peer(talk) as there, client:
        for _ in range(2):
            with anyio.fail_after(5):
                carried = await Carrier(client, bounds=Bounds(1_000_000)).carry(
                    errand(there.url), Exchange()
                )
            assert isinstance(carried, Unreadable)
            assert carried.error.reason == (
                f"its encoding is {word.lower()!r}, and none was asked for"
            )
            assert carried.evidence == content
    # What nobody understands was read to its end all the same: the connection serves on.
    assert len(there.lines) == 1


@pytest.mark.spec("CARR-6")
@pytest.mark.parametrize(
    "location", ["ht!tp://[", "http://h:x/", "data:text/plain,x", "http://[::1"]
)
@pytest.mark.parametrize("auth", [None, httpx.BasicAuth("me", "pass")])
async def test_a_redirect_is_an_answer_wherever_it_leads(
    new_client: NewClient, location: str, auth: httpx.Auth | None
) -> None:
    async def talk(line: Line) -> None:
        while True:
            await line.hear()
            await line.say(
                reply(
                    b"moved", status="307 Temporary Redirect", headers=f"Location: {location}\r\n"
                )
            )

    exchange = Exchange()
    async with peer(talk) as there, new_client() as client:
        call = replace(errand(there.url), auth=auth)
        with anyio.fail_after(5):
            carried = await Carrier(client, bounds=Bounds(1_000)).carry(call, exchange)
    assert isinstance(carried, Answer)
    assert (carried.status, exchange.http_status) == (307, 307)


@pytest.mark.spec("CARR-1", "CARR-6")
async def test_a_redirect_before_says_nothing_about_a_request_that_is_lost() -> None:
    class Insists(httpx.Auth):
        async def async_auth_flow(
            self, request: httpx.Request
        ) -> AsyncGenerator[httpx.Request, httpx.Response]:
            yield request
            yield request

    async def talk(line: Line) -> None:
        await line.hear()
        await line.say(reply(b"", status="307 Temporary Redirect"))
        await line.hear()

    exchange = Exchange()
    async with peer(talk) as there:
        carried = await carry_by(httpx.AsyncClient(auth=Insists()), there.url, exchange)
    assert isinstance(carried, Lost)


@pytest.mark.spec("CARR-6")
async def test_a_redirect_is_an_answer_and_is_not_followed() -> None:
    async def talk(line: Line) -> None:
        await line.hear()
        await line.say(
            reply(b"", status="307 Temporary Redirect", headers="Location: /elsewhere\r\n")
        )

    async with peer(talk) as there:
        client = httpx.AsyncClient(follow_redirects=True)
        carried = await carry_by(client, there.url, Exchange())
    assert isinstance(carried, Answer)
    assert carried.status == 307
    assert len(there.heard) == 1
