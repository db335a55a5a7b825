"""What gets which behaviour: by the number of a request, by its prompt, and the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx
import pytest

from a2a_delegate.errors import UsageError
from a2a_delegate.testing import Honest, Operation, Respond, RpcError, ScriptedPeer
from tests.testing.plain_wire import request, wire_to
from tests.testing.speaking import Speaker

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

pytestmark = pytest.mark.anyio


async def code_of(speaker: Speaker) -> object:
    return (await speaker.get("nowhere"))["code"]


@pytest.mark.spec("PORT-12")
async def test_a_request_is_scripted_by_its_number() -> None:
    peer = ScriptedPeer()
    peer.script(Operation.GET, RpcError(-3), RpcError(-4), call=3)
    peer.script(Operation.GET, RpcError(-1), call=1)
    peer.script(Operation.GET, RpcError(-5))
    peer.always(Operation.GET, RpcError(-9))
    async with peer.client() as client:
        speaker = Speaker(peer, client)
        assert [await code_of(speaker) for _ in range(6)] == [-1, -9, -3, -4, -5, -9]
    assert peer.pending == ()


@pytest.mark.spec("PORT-12")
async def test_a_number_is_scripted_once_and_before_it_comes() -> None:
    peer = ScriptedPeer()
    peer.script(Operation.GET, Honest(), RpcError(-2), call=2)
    async with peer.client() as client:
        await code_of(Speaker(peer, client))
    for call in (0, 1, 2, 3):
        with pytest.raises(UsageError, match=f"get number {call} cannot be scripted: 1 have come"):
            peer.script(Operation.GET, Honest(), call=call)
    with pytest.raises(UsageError, match="cannot be scripted"):
        peer.script(Operation.CARD, Honest(), Honest(), call=0)
    assert peer.pending == ((Operation.GET, Honest()), (Operation.GET, RpcError(-2)))


@pytest.mark.spec("PORT-12")
@pytest.mark.parametrize("version", ["1.0", "0.3"])
async def test_a_request_is_scripted_by_the_prompt_that_it_is_about(version: str) -> None:
    peer = ScriptedPeer((version,))
    for operation in (Operation.SEND, Operation.GET, Operation.CANCEL):
        peer.always(operation, RpcError(-1))
        peer.always(operation, RpcError(-2, accepts=True), prompt="slow 9")
    peer.script(Operation.SEND, RpcError(-3))
    async with peer.client() as client:
        speaker = Speaker(peer, client, version)
        codes = [(await speaker.send(text))["error"]["code"] for text in ("hi", "slow 9", "slow")]
        assert codes == [-3, -2, -1]
        task = peer.truth.tasks[0]
        assert task.text == "slow 9"
        assert (await speaker.get(task.id))["code"] == -2
        assert (await speaker.cancel(task.id))["code"] == -2
        for nowhere in ("nowhere", ""):
            assert (await speaker.get(nowhere))["code"] == -1
        junk = await speaker.call("send", {"message": 7})
        assert junk["error"]["code"] == -1


@pytest.mark.spec("PORT-12")
async def test_a_streamed_body_and_one_on_a_port_tell_their_prompt_too() -> None:
    peer = ScriptedPeer()
    peer.always(Operation.SEND, Respond(418), prompt="hi")
    params = {"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hi"}]}}
    whole = request("send", params)

    class Body(httpx.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            yield whole.partition(b"\r\n\r\n")[2]

    async with peer.client() as client, peer.serve() as url, wire_to(url) as wire:
        assert (await client.post(peer.url, content=Body())).status_code == 418
        await wire.say(whole)
        assert (await wire.hear_reply()).startswith(b"HTTP/1.1 418 ")


def test_a_card_and_a_list_belong_to_no_prompt() -> None:
    for operation in (Operation.CARD, Operation.LIST):
        with pytest.raises(UsageError, match=f"a request of {operation} belongs to no prompt"):
            ScriptedPeer().always(operation, Honest(), prompt="hi")
