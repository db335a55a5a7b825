"""The scripted peer over HTTP+JSON on a port, for a plain client and for a delegate."""

from __future__ import annotations

import ssl

import anyio
import httpx
import pytest

from a2a_delegate import Completed, connect
from a2a_delegate.errors import UsageError
from a2a_delegate.testing import (
    CutReply,
    EarlyReply,
    Opening,
    Operation,
    Respond,
    ScriptedPeer,
    Subscription,
    WrongId,
)
from tests.testing.hearing import hear, hear_send
from tests.testing.plain_wire import PATIENCE, until, wire_to
from tests.testing.speaking_http_json import HttpJsonSpeaker

pytestmark = pytest.mark.anyio

HTTP_JSON = ("HTTP+JSON",)
TLS = ssl.create_default_context()  # each client would make one of its own, which takes time


@pytest.mark.spec("BARE-1", "PORT-1")
@pytest.mark.parametrize("bindings", [HTTP_JSON, ("HTTP+JSON", "JSONRPC")])
@pytest.mark.parametrize("versions", [("1.0",), ("0.3",), ("0.3", "1.0")])
async def test_a_delegate_finds_it_and_delegates_without_an_envelope(
    versions: tuple[str, ...], bindings: tuple[str, ...]
) -> None:
    peer = ScriptedPeer(versions, bindings=bindings)
    with anyio.fail_after(PATIENCE):
        async with peer.serve() as url, connect(url) as delegate:
            result = await delegate.dispatch("data")
    assert isinstance(result, Completed)
    assert result.output == "result of data"
    calls = [one for one in peer.truth.requests if one.operation is Operation.SEND]
    assert [httpx.URL(one.url).path.split("/")[1] for one in calls] == ["rest"]


@pytest.mark.spec("BARE-7", "PORT-2")
@pytest.mark.parametrize("version", ["1.0", "0.3"])
async def test_a_stream_comes_over_a_port_and_is_cut_there(version: str) -> None:
    peer = ScriptedPeer((version,), bindings=HTTP_JSON, streaming=True)
    async with peer.serve() as url, httpx.AsyncClient(timeout=PATIENCE, verify=TLS) as client:
        speaker = HttpJsonSpeaker(peer, client, version)
        heard = await hear_send(speaker, "chunks 2", url=f"{url}/rpc")
        peer.script(Operation.SUBSCRIBE, CutReply(400, then=Subscription(Opening.SNAPSHOT)))
        await hear_send(speaker, "stuck", leave_after=2, url=f"{url}/rpc")
        cut = await hear(speaker, "subscribe", {"id": peer.truth.tasks[1].id}, url=f"{url}/rpc")
        await until(lambda: peer.truth.open == 0)
    assert heard.kinds == ["task", *["status"] * 2, "artifact", "status", "artifact", "status"]
    assert cut.ending == "RemoteProtocolError"
    assert peer.truth.subscriptions == 1


@pytest.mark.spec("BARE-4", "BYTES-8")
async def test_a_reply_comes_before_the_body_has_because_the_place_says_what_is_asked() -> None:
    peer = ScriptedPeer(bindings=HTTP_JSON)
    peer.script(Operation.SEND, EarlyReply(Respond(413)))
    head = b"POST /rest/message:send HTTP/1.1\r\nHost: x\r\nContent-Length: 999999\r\n\r\n"
    async with peer.serve() as url, wire_to(url) as wire:
        await wire.say(head + b"{")
        assert (await wire.hear_until(b"\r\n\r\n")).startswith(b"HTTP/1.1 413")
    assert peer.truth.requests[0].operation is Operation.SEND
    assert peer.truth.tasks == ()


@pytest.mark.spec("BARE-4", "PORT-8")
async def test_what_means_nothing_there_is_told_at_the_end_of_the_block() -> None:
    peer = ScriptedPeer(bindings=HTTP_JSON)
    peer.script(Operation.GET, WrongId())

    async def ask() -> None:
        async with peer.serve() as url, httpx.AsyncClient(timeout=PATIENCE, verify=TLS) as client:
            reply = await client.get(f"{url}/rest/tasks/x")
            assert reply.status_code == 500

    with pytest.raises(UsageError, match=r"over HTTP\+JSON a reply names no request"):
        await ask()
