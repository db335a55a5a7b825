"""One remote agent as an object: which interface is asked, and what goes along."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from typing import TYPE_CHECKING

import httpx
import pytest

from a2a_delegate.bindings.carriage import Bounds
from a2a_delegate.bindings.carriages import Carriages
from a2a_delegate.bindings.exchange import Exchange
from a2a_delegate.errors import UnsafeEndpointError, UsageError
from a2a_delegate.lifecycle.operations import (
    CancelTask,
    Fault,
    FaultKind,
    GetTask,
    ListTasks,
    Lost,
    NotSent,
    SendMessage,
    SubscribeToTask,
    TaskPage,
    TaskReply,
    Unreadable,
)
from a2a_delegate.model.card import AgentInterface, Binding, ProtocolVersion
from a2a_delegate.model.message import Message, Role
from a2a_delegate.model.part import TextPart
from a2a_delegate.model.task import TaskState
from a2a_delegate.peer.origins import BoundOrigins
from a2a_delegate.peer.peer import Peer
from a2a_delegate.testing.acts import (
    DropAfterAccepting,
    DropBeforeReading,
    RefuseConnection,
    Respond,
)
from a2a_delegate.testing.behaviours import Operation as Asked
from a2a_delegate.testing.peer import ScriptedPeer
from a2a_delegate.wire.gate import Agreement

if TYPE_CHECKING:
    from collections.abc import Mapping

    from a2a_delegate.lifecycle.operations import Operation
    from a2a_delegate.peer.credentials import AuthProvider

pytestmark = pytest.mark.anyio

URL = "https://peer.example/rpc"
V1 = AgentInterface(URL, Binding.JSONRPC, ProtocolVersion.V1_0)
V03 = AgentInterface(URL, Binding.JSONRPC, ProtocolVersion.V0_3)


def make(
    client: httpx.AsyncClient,
    agreement: Agreement,
    *,
    headers: Mapping[str, str] | None = None,
    auth: httpx.Auth | AuthProvider | None = None,
) -> Peer:
    return Peer(
        agreement,
        bindings=Carriages(client, bounds=Bounds(1_000_000)),
        origins=BoundOrigins("https://peer.example", ["https://lists.example"]),
        headers=headers,
        auth=auth,
    )


def at(peer: ScriptedPeer, version: ProtocolVersion, binding: Binding) -> AgentInterface:
    url = peer.url if binding is Binding.JSONRPC else peer.http_json_url
    return AgentInterface(url, binding, version)


def send(text: str) -> SendMessage:
    return SendMessage(Message(f"m-{text}", Role.USER, (TextPart(text),)))


@pytest.mark.parametrize("version", [ProtocolVersion.V1_0, ProtocolVersion.V0_3])
@pytest.mark.parametrize("binding", [Binding.JSONRPC, Binding.HTTP_JSON])
async def test_a_task_is_sent_asked_for_and_cancelled(
    version: ProtocolVersion, binding: Binding
) -> None:
    scripted = ScriptedPeer((version,), bindings=(binding,))
    async with scripted.client() as client:
        peer = make(client, Agreement(at(scripted, version, binding)))
        sent = await peer.perform(send("slow 60"), Exchange())
        assert isinstance(sent, TaskReply)
        got = await peer.perform(GetTask(sent.task.id), Exchange())
        assert isinstance(got, TaskReply)
        assert got.task.id == sent.task.id
        cancelled = await peer.perform(CancelTask(sent.task.id), Exchange())
        assert isinstance(cancelled, TaskReply)
        assert cancelled.task.status.state is TaskState.CANCELED
        missing = await peer.perform(GetTask("no-such-task"), Exchange())
        assert isinstance(missing, Fault)
        assert missing.kind is FaultKind.TASK_NOT_FOUND


@pytest.mark.spec("WIRE-19")
@pytest.mark.parametrize(
    ("operation", "task_id"),
    [
        (GetTask("t-1"), "t-1"),
        (CancelTask("t-1"), "t-1"),
        (SubscribeToTask("t-1"), "t-1"),
        (SendMessage(Message("m", Role.USER, (TextPart("go on"),), task_id="t-1")), "t-1"),
        (send("begin"), None),
        (ListTasks(), None),
    ],
    ids=lambda value: type(value).__name__,
)
async def test_an_error_answer_says_which_task_was_asked_about(
    operation: Operation, task_id: str | None
) -> None:
    scripted = ScriptedPeer(streaming=True)
    scripted.always(Asked(operation.name), Respond(500, body="no"))
    async with scripted.client() as client:
        answer = await make(client, Agreement(V1)).perform(operation, Exchange())
    assert isinstance(answer, Fault)
    assert answer.error.task_id == task_id


@pytest.mark.spec("GATE-5", "GATE-7")
async def test_each_interface_is_asked_by_the_binding_that_it_has() -> None:
    scripted = ScriptedPeer(("0.3", "1.0"), bindings=("JSONRPC", "HTTP+JSON"))
    old = at(scripted, ProtocolVersion.V0_3, Binding.JSONRPC)
    new = at(scripted, ProtocolVersion.V1_0, Binding.HTTP_JSON)
    async with scripted.client() as client:
        peer = make(client, Agreement(old, lookup=new, downgrade=new))
        await peer.perform(send("slow 60"), Exchange())
        assert isinstance(await peer.perform(ListTasks(), Exchange()), TaskPage)
        assert peer.way_of(ListTasks()) == ("1.0", new.url)
        peer.switch(new)
        await peer.perform(send("hello"), Exchange())
    asked = [(one.method, one.url.removeprefix(new.url)) for one in scripted.truth.requests]
    assert asked[0] == ("POST", old.url)
    assert asked[1][0] == "GET"
    assert asked[1][1].startswith("/tasks?pageSize=100")
    assert asked[2] == ("POST", "/message:send")


async def test_an_agent_of_1_0_lists_its_tasks() -> None:
    scripted = ScriptedPeer(("1.0",))
    async with scripted.client() as client:
        peer = make(client, Agreement(V1))
        assert peer.can_look_up
        await peer.perform(send("slow 60"), Exchange())
        page = await peer.perform(ListTasks(), Exchange())
    assert isinstance(page, TaskPage)
    assert len(page.tasks) == 1


async def test_an_agent_of_0_3_is_listed_over_its_other_interface() -> None:
    scripted = ScriptedPeer(("0.3", "1.0"))
    async with scripted.client() as client:
        peer = make(client, Agreement(V03, lookup=V1))
        assert (peer.version, peer.can_look_up) == (ProtocolVersion.V0_3, True)
        assert peer.way_of(ListTasks()) == ("1.0", V1.url)
        assert peer.way_of(send("slow 60")) == ("0.3", V03.url)
        await peer.perform(send("slow 60"), Exchange())
        page = await peer.perform(ListTasks(), Exchange())
    assert isinstance(page, TaskPage)
    assert len(page.tasks) == 1


async def test_an_agent_of_0_3_alone_cannot_be_listed() -> None:
    scripted = ScriptedPeer(("0.3",))
    async with scripted.client() as client:
        peer = make(client, Agreement(V03))
        assert not peer.can_look_up
        exchange = Exchange()
        with pytest.raises(UsageError):
            await peer.perform(ListTasks(), exchange)
    assert not exchange.body_left


class Mirror(httpx.AsyncBaseTransport):
    """Keeps every request, and answers that the task is not there."""

    def __init__(self) -> None:
        self.requests: list[httpx.Request] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        body = json.loads(await request.aread())
        self.requests.append(request)
        error = {"code": -32001, "message": "no such task"}
        return httpx.Response(200, json={"jsonrpc": "2.0", "id": body["id"], "error": error})


OPERATIONS: list[Operation] = [send("hello"), GetTask("t-1"), CancelTask("t-1")]


@pytest.mark.spec("CARR-18")
@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
async def test_the_callers_headers_go_along_and_change_nothing_of_the_protocol(
    operation: Operation,
) -> None:
    mirror = Mirror()
    headers = {"X-Api-Key": "k", "content-type": "text/plain", "a2a-version": "9", "ACCEPT": "x"}
    async with httpx.AsyncClient(transport=mirror) as client:
        for agreement, version in ((Agreement(V1), "1.0"), (Agreement(V03), "0.3")):
            await make(client, agreement, headers=headers).perform(operation, Exchange())
            sent = mirror.requests[-1].headers
            assert sent["X-Api-Key"] == "k"
            assert sent.get_list("Content-Type") == ["application/json"]
            assert sent.get_list("A2A-Version") == [version]
            assert sent.get_list("Accept") == ["application/json"]
            assert sent.get_list("Accept-Encoding") == ["identity"]


@pytest.mark.spec("CARR-18")
@pytest.mark.parametrize("operation", [*OPERATIONS, ListTasks()], ids=lambda one: one.name)
async def test_the_authentication_goes_along_for_the_origin_that_is_asked(
    operation: Operation,
) -> None:
    def provide(principal: str | None, origin: str) -> httpx.Auth:
        asked.append((principal, origin))
        return httpx.BasicAuth("me", "pass")

    asked: list[tuple[str | None, str]] = []
    mirror = Mirror()
    elsewhere = AgentInterface("https://lists.example/v1", Binding.JSONRPC, ProtocolVersion.V1_0)
    async with httpx.AsyncClient(transport=mirror) as client:
        peer = make(client, Agreement(V03, lookup=elsewhere), auth=provide)
        await peer.perform(operation, Exchange())
    origin = "https://lists.example" if isinstance(operation, ListTasks) else "https://peer.example"
    assert asked == [(None, origin)]
    (request,) = mirror.requests
    assert str(request.url).startswith(origin)
    assert request.headers["Authorization"].startswith("Basic ")


@pytest.mark.spec("CARR-18")
async def test_a_request_authenticates_for_the_principal_that_it_is_made_for() -> None:
    def provide(principal: str | None, origin: str) -> httpx.Auth | None:
        assert origin == "https://peer.example"
        return None if principal is None else httpx.BasicAuth(principal, "pass")

    mirror = Mirror()
    async with httpx.AsyncClient(transport=mirror) as client:
        nobody = make(client, Agreement(V1), auth=provide)
        alice, bob = nobody.serving("alice"), nobody.serving("alice").serving("bob")
        for peer in (alice, nobody, bob, bob.serving(None)):
            await peer.perform(GetTask("t-1"), Exchange())
    sent = [request.headers.get("Authorization") for request in mirror.requests]
    assert sent == [basic("alice"), None, basic("bob"), None]


def basic(name: str) -> str:
    return "Basic " + base64.b64encode(f"{name}:pass".encode()).decode()


@pytest.mark.spec("CARR-12")
async def test_a_provider_that_fails_has_sent_nothing() -> None:
    def provide(principal: str | None, origin: str) -> httpx.Auth:
        raise LookupError(f"no token for {principal} at {origin}")

    exchange = Exchange()
    async with httpx.AsyncClient(transport=Mirror()) as client:
        reply = await make(client, Agreement(V1), auth=provide).perform(send("x"), exchange)
    assert isinstance(reply, NotSent)
    assert isinstance(reply.error.__cause__, LookupError)
    assert not exchange.body_left


@pytest.mark.parametrize("part", ["interface", "lookup", "downgrade", "detours"])
@pytest.mark.spec("CARR-16")
async def test_an_interface_on_a_foreign_origin_makes_no_peer(part: str) -> None:
    foreign = AgentInterface("https://evil.example/rpc", Binding.JSONRPC, ProtocolVersion.V1_0)
    agreement = {
        "interface": Agreement(foreign),
        "lookup": Agreement(V03, lookup=foreign),
        "downgrade": Agreement(V03, downgrade=foreign),
        "detours": Agreement(V1, detours=(foreign,)),
    }[part]
    async with httpx.AsyncClient() as client:
        with pytest.raises(UnsafeEndpointError, match=r"evil\.example"):
            make(client, agreement)


async def test_a_downgrade_happens_once_and_changes_the_words() -> None:
    mirror = Mirror()
    async with httpx.AsyncClient(transport=mirror) as client:
        peer = make(client, Agreement(V1, downgrade=V03))
        assert (peer.version, peer.can_look_up) == (ProtocolVersion.V1_0, True)
        peer.switch(V03)
        assert (peer.version, peer.can_look_up) == (ProtocolVersion.V0_3, False)
        peer.switch(V1)
        assert peer.version is ProtocolVersion.V0_3
        await peer.perform(GetTask("t-1"), Exchange())
    (request,) = mirror.requests
    assert request.headers["A2A-Version"] == "0.3"
    assert json.loads(request.content)["method"] == "tasks/get"


async def test_after_a_change_to_a_version_that_lists_it_lists_there() -> None:
    async with httpx.AsyncClient(transport=Mirror()) as client:
        peer = make(client, Agreement(V03, lookup=V1, downgrade=V1))
        peer.switch(V1)
        assert (peer.version, peer.can_look_up) == (ProtocolVersion.V1_0, True)


async def test_a_peer_never_goes_where_nobody_agreed_on() -> None:
    async with httpx.AsyncClient(transport=Mirror()) as client:
        peer = make(client, Agreement(V1))
        peer.switch(V03)
        assert peer.interface is V1


async def test_a_peer_that_cannot_be_reached_by_one_way_is_asked_by_another() -> None:
    aside = AgentInterface("https://lists.example/rpc", Binding.JSONRPC, ProtocolVersion.V1_0)
    mirror = Mirror()
    async with httpx.AsyncClient(transport=mirror) as client:
        peer = make(client, Agreement(V1, detours=(aside,)))
        peer.switch(aside)
        for operation in (GetTask("t-1"), ListTasks()):
            await peer.perform(operation, Exchange())
    assert [str(one.url) for one in mirror.requests] == [aside.url, aside.url]


async def test_a_pinned_peer_asks_exactly_the_interface_that_it_is_pinned_to() -> None:
    older = AgentInterface("https://peer.example/old", Binding.JSONRPC, ProtocolVersion.V0_3, "t-9")
    mirror = Mirror()
    async with httpx.AsyncClient(transport=mirror) as client:
        today = make(client, Agreement(V1, downgrade=V03))
        pinned = today.pinned(older)
        for operation in (*OPERATIONS, ListTasks()):
            await pinned.perform(operation, Exchange())
        await today.perform(GetTask("t-1"), Exchange())
    assert (pinned.interface, pinned.version, pinned.endpoint) == (older, older.version, older.url)
    pinned.switch(V03)
    assert pinned.interface is older
    assert [(str(one.url), one.headers["A2A-Version"]) for one in mirror.requests] == [
        *[(older.url, "0.3")] * len(OPERATIONS),
        # It cannot list: where the card of today can, the task is looked for.
        (V1.url, "1.0"),
        (V1.url, "1.0"),
    ]
    today.switch(V03)
    assert today.interface is V03


async def test_a_peer_pinned_to_what_lists_lists_there() -> None:
    newer = AgentInterface("https://peer.example/new", Binding.JSONRPC, ProtocolVersion.V1_0)
    async with httpx.AsyncClient(transport=Mirror()) as client:
        pinned = make(client, Agreement(V03)).pinned(newer)
        alone = make(client, Agreement(V03)).pinned(V03)
    assert pinned.way_of(ListTasks()) == ("1.0", newer.url)
    assert (pinned.can_look_up, alone.can_look_up) == (True, False)


async def test_a_pinned_peer_stays_with_the_principal() -> None:
    mirror = Mirror()
    async with httpx.AsyncClient(transport=mirror) as client:
        peer = make(client, Agreement(V1), auth=lambda who, _: httpx.BasicAuth(who or "", "pass"))
        await peer.serving("alice").pinned(V03).perform(GetTask("t-1"), Exchange())
    assert mirror.requests[0].headers["Authorization"] == basic("alice")


@pytest.mark.parametrize(
    ("interface", "refusal"),
    [
        (replace(V1, url="https://evil.example/rpc"), UnsafeEndpointError),
        (replace(V1, binding=Binding.GRPC), UsageError),
    ],
)
@pytest.mark.spec("CARR-16")
async def test_a_peer_is_not_pinned_to_what_is_not_bound_or_not_spoken(
    interface: AgentInterface, refusal: type[Exception]
) -> None:
    async with httpx.AsyncClient(transport=Mirror()) as client:
        with pytest.raises(refusal):
            make(client, Agreement(V1)).pinned(interface)


async def test_a_version_that_is_not_spoken_over_a_binding_pins_no_peer() -> None:
    async with httpx.AsyncClient(transport=Mirror()) as client:
        with pytest.raises(UsageError, match=r"A2A 0\.3 over GRPC is not spoken here"):
            make(client, Agreement(V1)).pinned(replace(V03, binding=Binding.GRPC))


async def test_the_interface_is_told_as_the_card_spells_it() -> None:
    spelled = AgentInterface(
        "HTTPS://Peer.Example:443/rpc/?x", Binding.JSONRPC, ProtocolVersion.V1_0, tenant="acme"
    )
    mirror = Mirror()
    async with httpx.AsyncClient(transport=mirror) as client:
        peer = make(client, Agreement(spelled))
        await peer.perform(GetTask("t-1"), Exchange())
    assert peer.interface is spelled
    assert peer.endpoint == spelled.url
    (request,) = mirror.requests
    assert request.url.raw_path == b"/rpc/?x"
    assert json.loads(request.content)["params"]["tenant"] == "acme"


@pytest.mark.spec("CARR-18")
async def test_a_peer_does_not_show_what_the_caller_sends_along() -> None:
    async with httpx.AsyncClient() as client:
        peer = make(
            client,
            Agreement(V1),
            headers={"Authorization": "Bearer s3cret"},
            auth=httpx.BasicAuth("me", "s3cret"),
        )
    assert repr(peer) == "<Peer at https://peer.example, A2A 1.0>"


@pytest.mark.spec("CARR-1", "CARR-3")
@pytest.mark.parametrize(
    ("behaviour", "kind", "body_left"),
    [
        (RefuseConnection(), NotSent, False),
        (DropBeforeReading(), NotSent, False),
        (DropAfterAccepting(), Lost, True),
        (Respond(200, body="<html>"), Unreadable, True),
        (Respond(204), Unreadable, True),
    ],
    ids=lambda value: type(value).__name__,
)
async def test_the_exchange_says_what_the_scripted_peer_knows(
    behaviour: RefuseConnection | DropBeforeReading | DropAfterAccepting | Respond,
    kind: type,
    *,
    body_left: bool,
) -> None:
    scripted = ScriptedPeer()
    scripted.script(Asked.SEND, behaviour)
    exchange = Exchange()
    async with scripted.client() as client:
        reply = await make(client, Agreement(V1)).perform(send("quick"), exchange)
    assert isinstance(reply, kind)
    assert exchange.body_left is body_left
    if not body_left:
        assert not scripted.truth.runs
