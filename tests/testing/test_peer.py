"""The scripted peer as a server: its card, its versions, its address, its ground truth."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

import anyio
import httpx
import pytest

from a2a_delegate.errors import UsageError
from a2a_delegate.testing import (
    Delay,
    DropBeforeReading,
    DropWhileReading,
    Endless,
    Hang,
    Honest,
    Operation,
    RefuseConnection,
    Respond,
    RpcError,
    ScriptedPeer,
    WorkState,
)
from tests.testing.speaking import METHODS, Reply, Speaker

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from a2a_delegate.testing import Behaviour

pytestmark = [pytest.mark.anyio, pytest.mark.virtual_time]

CARD_URL = "https://peer.example/.well-known/agent-card.json"
BOTH = ("1.0", "0.3")


# The card


async def test_the_card_stands_at_the_origin_and_only_there() -> None:
    peer = ScriptedPeer()
    async with peer.client() as client:
        assert (await client.get(CARD_URL)).json() == peer.card()
        assert (await client.post(CARD_URL)).status_code == 405
        for path in ("/.well-known/agent.json", "/rpc/.well-known/agent-card.json", "/"):
            missing = await client.get(f"https://peer.example{path}")
            assert (missing.status_code, missing.text) == (404, "Not Found")
        assert (await client.get(peer.url)).status_code == 405


async def test_a_card_that_is_known_is_not_sent_again() -> None:
    peer = ScriptedPeer()
    async with peer.client() as client:
        tag = (await client.get(CARD_URL)).headers["etag"]
        for known in (tag, f'"old", {tag}', tag.removeprefix("W/"), "*"):
            again = await client.get(CARD_URL, headers={"If-None-Match": known})
            assert (again.status_code, again.content) == (304, b"")
            assert again.headers["etag"] == tag
        for unknown in ('"old"', ""):
            whole = await client.get(CARD_URL, headers={"If-None-Match": unknown})
            assert whole.status_code == 200


@pytest.mark.parametrize("versions", [("1.0",), BOTH, ("0.3", "1.0")])
def test_interfaces_stand_in_the_order_of_the_versions(versions: tuple[str, ...]) -> None:
    peer = ScriptedPeer(versions, url="http://localhost:9/a?b", name="N", tenant="t")
    card = peer.card()
    assert card["name"] == "N"
    assert card["supportedInterfaces"] == [
        {"url": "http://localhost:9/a?b", "protocolBinding": "JSONRPC", "protocolVersion": version}
        | ({"tenant": "t"} if version == "1.0" else {})
        for version in versions
    ]
    assert ("protocolVersion" in card) == ("0.3" in versions)


def test_a_card_of_0_3_is_of_0_3_only() -> None:
    card = ScriptedPeer(("0.3",)).card()
    assert card["protocolVersion"] == "0.3.0"
    assert card["url"] == "https://peer.example/rpc"
    assert "supportedInterfaces" not in card


async def test_a_card_of_0_2_stands_at_the_old_path_and_only_there() -> None:
    peer = ScriptedPeer(("0.2",))
    async with peer.client() as client:
        assert (await client.get(CARD_URL)).status_code == 404
        card = (await client.get("https://peer.example/.well-known/agent.json")).json()
    assert card == peer.card()
    assert (card["url"], card["protocolVersion"]) == ("https://peer.example/rpc", "0.2.6")
    assert {
        "preferredTransport",
        "additionalInterfaces",
        "supportedInterfaces",
    } & card.keys() == set()
    asked = [request.operation for request in peer.truth.requests]
    assert asked == [None, Operation.CARD]


def test_a_card_of_0_2_beside_1_0_lists_both() -> None:
    card = ScriptedPeer(("0.2", "1.0"), tenant="t").card()
    versions = [one["protocolVersion"] for one in card["supportedInterfaces"]]  # type: ignore[attr-defined]
    assert versions == ["0.2", "1.0"]
    assert card["protocolVersion"] == "0.2.6"


@pytest.mark.parametrize("versions", [(), ("0.1",), ("1.0", "1.0"), "1.0", ("1.0", "2.0")])
def test_versions_that_no_peer_speaks_are_refused(versions: tuple[str, ...]) -> None:
    with pytest.raises(UsageError, match=r"versions are some of 1\.0, 0\.3, 0\.2"):
        ScriptedPeer(versions)


def test_two_versions_with_the_same_methods_do_not_share_a_url() -> None:
    with pytest.raises(UsageError, match=r"0\.2 and 0\.3 have the same methods"):
        ScriptedPeer(("0.3", "0.2"))


@pytest.mark.parametrize(
    "url", ["", "/rpc", "ftp://peer.example/", "https://", "https://peer.example:x/"]
)
def test_an_address_that_leads_nowhere_is_refused(url: str) -> None:
    with pytest.raises(UsageError, match="absolute http or https URL"):
        ScriptedPeer(url=url)


# Its versions: the table of a2a-sdk


@pytest.mark.parametrize(
    ("versions", "method", "header", "code"),
    [
        (("1.0",), "1.0", "1.0", None),
        (("1.0",), "1.0", "1.1", None),
        (("1.0",), "1.0", "1.0.1", None),
        (("1.0",), "1.0", "v1", None),
        (("1.0",), "1.0", None, -32009),
        (("1.0",), "1.0", "", -32009),
        (("1.0",), "1.0", "0.3", -32009),
        (("1.0",), "1.0", "10", -32009),
        (("1.0",), "1.0", "banana", -32009),
        (("1.0",), "0.3", None, -32601),
        (("1.0",), "0.3", "1.0", -32601),
        (("0.3",), "0.3", None, None),
        (("0.3",), "0.3", "0.3", None),
        (("0.3",), "0.3", "1.0", None),
        (("0.3",), "0.3", "banana", None),
        (("0.3",), "1.0", "1.0", -32601),
        (("0.3",), "1.0", None, -32601),
        (("0.2",), "0.2", None, None),
        (("0.2",), "0.2", "0.3", None),
        (("0.2",), "0.2", "banana", None),
        (("0.2",), "1.0", "1.0", -32600),
        (("0.2",), "1.0", None, -32600),
        (("1.0", "0.2"), "0.2", None, None),
        (("1.0", "0.2"), "1.0", "1.0", None),
        (("1.0", "0.2"), "1.0", None, -32009),
        (BOTH, "1.0", "1.0", None),
        (BOTH, "1.0", None, -32009),
        (BOTH, "1.0", "0.3", -32009),
        (BOTH, "0.3", None, None),
        (BOTH, "0.3", "", None),
        (BOTH, "0.3", "0.3", None),
        (BOTH, "0.3", "0.2.6", None),
        (BOTH, "0.3", "1.0", -32603),
        (BOTH, "0.3", "banana", -32603),
    ],
)
async def test_versions_are_told_apart_as_a2a_sdk_does(
    versions: tuple[str, ...], method: str, header: str | None, code: int | None
) -> None:
    peer = ScriptedPeer(versions)
    async with peer.client() as client:
        speaker = Speaker(peer, client, method)
        name = METHODS[method]["send"]
        call = {"jsonrpc": "2.0", "id": 1, "method": name}
        body = {**call, "params": {"message": speaker.message("task", "m")}}
        headers = {} if header is None else {"A2A-Version": header}
        reply = (await client.post(peer.url, json=body, headers=headers)).json()
    assert reply.get("error", {}).get("code") == code
    # All of these refusals come before the work.
    assert peer.truth.runs["m"] == (code is None)
    spoken = method in versions
    (request,) = peer.truth.requests
    assert request.version == (method if spoken else None)
    assert request.operation is (Operation.SEND if spoken else None)


@pytest.mark.parametrize(
    ("version", "method", "code"),
    [
        ("1.0", "SendStreamingMessage", -32004),
        ("1.0", "SubscribeToTask", -32004),
        ("1.0", "GetExtendedAgentCard", -32004),
        ("1.0", "CreateTaskPushNotificationConfig", -32003),
        ("1.0", "TeleportTask", -32601),
        ("0.3", "message/stream", -32004),
        ("0.3", "tasks/resubscribe", -32004),
        ("0.3", "tasks/pushNotificationConfig/set", -32003),
        ("0.3", "agent/getAuthenticatedExtendedCard", -32603),
        ("0.3", "tasks/teleport", -32601),
        ("0.2", "message/stream", -32004),
        ("0.2", "tasks/pushNotificationConfig/set", -32003),
        ("0.2", "agent/getAuthenticatedExtendedCard", -32600),
        ("0.2", "tasks/teleport", -32600),
    ],
)
async def test_what_the_card_does_not_offer_is_refused(
    version: str, method: str, code: int
) -> None:
    peer = ScriptedPeer((version,))
    async with peer.client() as client:
        reply = await Speaker(peer, client, version).call(method, {})
    assert reply["error"]["code"] == code
    (request,) = peer.truth.requests
    streams = {method: operation for operation, method in METHODS[version].items()}
    named = {"stream": Operation.SEND, "subscribe": Operation.SUBSCRIBE}
    assert request.operation is named.get(streams.get(method, ""))
    assert request.stream is None


async def test_a_tenant_is_asked_of_every_request_of_1_0() -> None:
    peer = ScriptedPeer(BOTH, tenant="acme")
    async with peer.client() as client:
        speaker = Speaker(peer, client)
        message = speaker.message("task", "m")
        calls: list[tuple[str, dict[str, object]]] = [
            ("send", {"message": message}),
            ("get", {"id": "x"}),
            ("list", {}),
            ("cancel", {"id": "x"}),
        ]
        for tenant in ({}, {"tenant": "other"}):
            for operation, params in calls:
                reply = await speaker.call(operation, {**params, **tenant})
                assert reply["error"]["code"] == -32602
        assert peer.truth.runs["m"] == 0
        reply = await speaker.call("send", {"message": message, "tenant": "acme"})
        assert "result" in reply
        assert "result" in await Speaker(peer, client, "0.3").send("task")


# Its address


async def test_the_transport_leads_to_nobody_else() -> None:
    peer = ScriptedPeer()
    async with peer.client() as client:
        for url in (
            "https://other.example/rpc",
            "http://peer.example/rpc",
            "https://peer.example:444/rpc",
        ):
            with pytest.raises(httpx.ConnectError):
                await client.post(url, json={}, headers={"Authorization": "secret"})
    assert peer.truth.requests[0].url == "https://other.example/rpc"
    assert not any(request.body_read for request in peer.truth.requests)


async def test_many_clients_reach_one_peer() -> None:
    peer = ScriptedPeer(url="http://127.0.0.1:8000/")
    async with peer.client() as one:
        await Speaker(peer, one).send("task")
    async with httpx.AsyncClient(transport=peer.transport()) as other:
        assert (await Speaker(peer, other).list())["totalSize"] == 1


# What is asked for, when the body must not be touched


class Counted(httpx.AsyncByteStream):
    """A body whose opening is seen."""

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.opened = 0

    async def __aiter__(self) -> AsyncIterator[bytes]:
        self.opened += 1
        yield self.content


GET = b'{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"x"}}'
HEADERS = {"A2A-Version": "1.0"}


async def test_a_streamed_body_is_read_before_its_script_is_chosen() -> None:
    peer = ScriptedPeer()
    peer.script(Operation.SEND, RefuseConnection())
    peer.script(Operation.GET, Delay(2, Respond(418)))
    async with peer.client() as client:
        start = anyio.current_time()
        reply = await client.post(peer.url, content=Counted(GET), headers=HEADERS)
        assert reply.status_code == 418
        assert anyio.current_time() - start == pytest.approx(2)
    assert peer.pending == ((Operation.SEND, RefuseConnection()),)


@pytest.mark.parametrize(
    "behaviour",
    [RefuseConnection(), DropBeforeReading(), Delay(1), Delay(1, Delay(1, before_reading=True))],
    ids=repr,
)
async def test_a_streamed_body_cannot_be_refused_unread(behaviour: Behaviour) -> None:
    peer = ScriptedPeer()
    peer.script(Operation.GET, behaviour)
    async with peer.client() as client:
        request = client.build_request("POST", peer.url, content=Counted(GET), headers=HEADERS)
        if behaviour == Delay(1):
            assert (await client.send(request)).status_code == 200
        else:
            with pytest.raises(UsageError, match=r"streams its body.*a2a_operation"):
                await client.send(request)
    assert peer.truth.open == 0


async def test_a_client_may_say_what_its_streamed_body_asks() -> None:
    peer = ScriptedPeer()
    peer.always(Operation.GET, RefuseConnection())
    async with peer.client() as client:
        body = Counted(GET)
        with pytest.raises(httpx.ConnectError):
            await client.post(peer.url, content=body, extensions={"a2a_operation": Operation.GET})
        assert body.opened == 0
        # What it says is no fact about the request; the body is.
        reply = await client.post(
            peer.url,
            content=body,
            headers=HEADERS,
            extensions={"a2a_operation": "send"},
        )
        assert reply.json()["error"]["code"] == -32001
        for nonsense in ("fly", 3, ["get"]):
            with pytest.raises(UsageError):
                await client.post(peer.url, content=body, extensions={"a2a_operation": nonsense})
    assert peer.truth.requests[1].operation is Operation.GET


async def test_a_drop_while_reading_a_streamed_body_runs_nothing() -> None:
    peer = ScriptedPeer()
    peer.script(Operation.GET, DropWhileReading())
    async with peer.client() as client:
        with pytest.raises(httpx.WriteError):
            await client.post(peer.url, content=Counted(GET), headers=HEADERS)
    assert peer.truth.requests[0].body_read


class Guarded(httpx.Request):
    """A request that watches who takes its content."""

    @property
    def content(self) -> bytes:
        raise AssertionError("nobody may ask")


async def test_a_request_that_watches_its_content_is_not_asked_for_it() -> None:
    peer = ScriptedPeer()
    async with peer.client() as client:
        request = Guarded("POST", peer.url, headers=HEADERS, stream=Counted(GET))
        assert (await client.send(request)).json()["error"]["code"] == -32001


async def test_a_body_may_come_from_a_plain_iterator() -> None:
    class Once(httpx.AsyncByteStream):
        def __init__(self) -> None:
            self.pieces = [GET[:9], b"", GET[9:]]

        def __aiter__(self) -> AsyncIterator[bytes]:
            return self

        async def __anext__(self) -> bytes:
            if not self.pieces:
                raise StopAsyncIteration
            return self.pieces.pop(0)

    peer = ScriptedPeer()
    async with peer.client() as client:
        request = client.build_request("POST", peer.url, content=b"", headers=HEADERS)
        request.stream = Once()
        assert (await client.send(request)).json()["error"]["code"] == -32001
    assert peer.truth.requests[0].content == GET


@pytest.mark.parametrize("body", [b"{", b"[]"])
async def test_an_error_to_a_body_without_an_id_has_none(body: bytes) -> None:
    peer = ScriptedPeer()
    peer.script(Operation.GET, RpcError(-1))
    async with peer.client() as client:
        reply = await client.post(
            peer.url, content=Counted(body), extensions={"a2a_operation": "get"}
        )
    assert reply.json()["id"] is None


async def test_a_body_that_will_not_go_fails_as_it_says() -> None:
    class Sealed(httpx.AsyncByteStream):
        def __aiter__(self) -> AsyncIterator[bytes]:
            return self

        async def __anext__(self) -> bytes:
            raise PermissionError("sealed")

    peer = ScriptedPeer()
    async with peer.client() as client:
        with pytest.raises(PermissionError, match="sealed"):
            await client.post(peer.url, content=Sealed())
    assert not peer.truth.requests[0].body_read
    assert peer.truth.open == 0


async def test_a_body_for_other_clients_is_refused() -> None:
    peer = ScriptedPeer()
    request = httpx.Request("POST", peer.url, content=iter([b"{}"]))
    with pytest.raises(UsageError, match=r"httpx\.AsyncClient"):
        await peer.transport().handle_async_request(request)


# Timeouts


@pytest.mark.parametrize(
    ("behaviour", "error"),
    [
        (Honest(), httpx.ReadTimeout),
        (Hang(), httpx.ReadTimeout),
        (Delay(5), httpx.ReadTimeout),
        (Delay(5, Endless(10)), httpx.ReadTimeout),
        (Delay(5, before_reading=True), httpx.WriteTimeout),
        (Delay(5, DropWhileReading()), httpx.WriteTimeout),
        (Delay(5, DropBeforeReading()), httpx.WriteTimeout),
        (Delay(5, RefuseConnection()), httpx.ConnectTimeout),
    ],
    ids=repr,
)
async def test_the_timeouts_of_a_request_are_kept(
    behaviour: Behaviour, error: type[Exception]
) -> None:
    peer = ScriptedPeer()
    peer.script(Operation.SEND, behaviour)
    start = anyio.current_time()
    async with peer.client(timeout=2) as client:
        with pytest.raises(httpx.TimeoutException) as caught:
            await Speaker(peer, client).send("slow 10", "m")
    assert type(caught.value) is error
    assert anyio.current_time() - start == pytest.approx(2)
    assert peer.truth.open == 0
    await anyio.sleep(10)
    ran = error is httpx.ReadTimeout
    assert [task.state for task in peer.truth.tasks] == [WorkState.COMPLETED] * ran


# Its ground truth


async def test_requests_are_kept_as_they_came() -> None:
    peer = ScriptedPeer()
    start = anyio.current_time()
    async with peer.client() as client:
        await anyio.sleep(3)
        client.cookies.set("a", "b")
        reply = await Speaker(peer, client).post("get", {"id": "x"})
        assert reply.request.headers["A2A-Version"] == "1.0"
        await client.get(CARD_URL)
        await client.post(peer.url, content=b"\xff")
    get, card, garbage = peer.truth.requests
    assert (get.method, get.url, get.operation, get.version) == (
        "POST",
        peer.url,
        Operation.GET,
        "1.0",
    )
    assert get.headers["a2a-version"] == "1.0"
    assert get.headers["cookie"] == "a=b"
    assert get.body == json.loads(reply.request.content)
    assert get.content == reply.request.content
    assert get.when == pytest.approx(start + 3)
    assert (card.method, card.operation, card.version) == ("GET", Operation.CARD, None)
    assert (card.body_read, card.body) == (False, None)
    assert (garbage.operation, garbage.body, garbage.content) == (None, None, b"\xff")
    with pytest.raises(TypeError):
        get.headers["x"] = "y"  # type: ignore[index]


async def test_the_truth_is_read_at_the_moment_of_reading() -> None:
    peer = ScriptedPeer()
    truth = peer.truth
    runs = truth.runs
    async with peer.client(timeout=None) as client:
        async with anyio.create_task_group() as group:
            group.start_soon(Speaker(peer, client).send, "slow 2", "m")
            await anyio.sleep(1)
            (before,) = truth.tasks
            assert truth.open == 1
        (after,) = truth.tasks
        assert truth.open == 0
    assert (before.state, before.ended) == (WorkState.WORKING, None)
    assert after.state is WorkState.COMPLETED
    assert (before.message_id, before.text) == ("m", "slow 2")
    assert dict(runs) == {}
    assert runs["m"] == 0
    assert "m" not in runs
    assert repr(truth.runs) == "Runs({'m': 1})"
    assert (len(truth.runs), "m" in truth.runs) == (1, True)


async def test_a_reply_that_nobody_closes_stays_open() -> None:
    peer = ScriptedPeer()
    async with peer.client() as client:
        request = client.build_request("POST", peer.url, content=GET)
        response = await client.send(request, stream=True)
        assert peer.truth.open == 1
        await response.aclose()
        assert peer.truth.open == 0


def test_the_truth_can_be_read_when_the_loop_is_gone() -> None:
    peer = ScriptedPeer()
    assert list(peer.truth.tasks) == []

    async def main() -> None:
        async with peer.client() as client:
            await Speaker(peer, client).send("task", "m")
            await Speaker(peer, client).send("stuck", immediate=True)

    anyio.run(main)
    assert [task.state for task in peer.truth.tasks] == [WorkState.COMPLETED, WorkState.WORKING]
    assert peer.truth.runs["m"] == 1


# Cancellation that is asyncio's own


def test_a_deaf_request_ignores_the_cancellation_of_its_asyncio_task() -> None:
    peer = ScriptedPeer()
    peer.script(Operation.SEND, Hang(deaf=True))

    async def main() -> None:
        async with peer.client() as client:
            task: asyncio.Task[Reply] = asyncio.create_task(Speaker(peer, client).send("task", "m"))
            await asyncio.sleep(0.01)
            for _ in range(3):
                task.cancel()
                await asyncio.sleep(0.01)
            assert not task.done()
            assert peer.truth.open == 1
            peer.release()
            assert "result" in await task

    asyncio.run(main())
    assert peer.truth.open == 0
    assert peer.truth.runs["m"] == 1


def test_a_request_whose_asyncio_task_is_cancelled_is_not_open() -> None:
    peer = ScriptedPeer()

    async def main() -> None:
        async with peer.client() as client:
            task: asyncio.Task[Reply] = asyncio.create_task(
                Speaker(peer, client).send("stuck", "m")
            )
            await asyncio.sleep(0.01)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(main())
    assert peer.truth.open == 0
    assert peer.truth.runs["m"] == 1
