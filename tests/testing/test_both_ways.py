"""What a behaviour does in process it does on a port, and the ground truth is the same."""

from __future__ import annotations

import json
import re
import ssl
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio
import httpx
import pytest

from a2a_delegate.testing import (
    Compressed,
    Delay,
    Dribble,
    DropAfterAccepting,
    DropBeforeReading,
    DropWhileReading,
    Endless,
    Hang,
    Honest,
    IgnoredCancel,
    LyingCancel,
    Operation,
    OtherTask,
    Redirect,
    RefusedCancel,
    Respond,
    Rewrite,
    RpcError,
    ScriptedPeer,
    UnknownState,
    WrongId,
)
from a2a_delegate.testing.behaviours import operations_of
from a2a_delegate.testing.cards import card_path
from tests.testing.plain_wire import PATIENCE, until
from tests.testing.speaking_http_json import SPEAKERS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from _pytest.mark.structures import ParameterSet

    from a2a_delegate.testing import Behaviour
    from tests.testing.speaking import Reply, Speaker

pytestmark = pytest.mark.anyio

TLS = ssl.create_default_context()  # each client would make one of its own, which takes time
_TIME = re.compile(rb'"timestamp":"[^"]*"')
BEHAVIOURS: list[Behaviour] = [
    Honest(),
    DropBeforeReading(),
    DropWhileReading(),
    DropAfterAccepting(),
    DropAfterAccepting(headers_sent=True),
    DropAfterAccepting(40),
    DropAfterAccepting(10**6),
    Respond(503, {"Retry-After": "2"}, b"\xffbusy"),
    Respond(503, accepts=True),
    Respond(204),
    RpcError(-32603, "boom", {"a": 1}, status=500, accepts=True),
    RpcError(-32603, with_id=False),
    WrongId(),
    Hang(),
    Hang(accepts=False),
    OtherTask(),
    LyingCancel(),
    RefusedCancel(),
    IgnoredCancel(),
    UnknownState("PONDERING"),
    Endless(10),
    Endless(100_000),
    Endless(100_000, accepts=False),
    Redirect(307, "https://elsewhere.example/"),
    Rewrite(lambda reply: [reply]),
    Delay(0.01, Dribble(50, 0.0, Compressed(then=Rewrite(lambda reply: {**reply, "x": 1})))),
]


@asynccontextmanager
async def way_to(
    peer: ScriptedPeer, *, on_a_port: bool
) -> AsyncIterator[tuple[httpx.AsyncClient, str]]:
    if not on_a_port:
        async with peer.client(timeout=None) as client:
            yield client, "https://peer.example"
        return
    async with peer.serve() as url, httpx.AsyncClient(timeout=PATIENCE, verify=TLS) as client:
        yield client, url


async def seen_of(
    speaker: Speaker, origin: str, operation: Operation, peer: ScriptedPeer
) -> object:
    """Ask for one operation, and return what came of it, without what differs in every run."""
    client, version = speaker.client, speaker.version
    if operation is Operation.CARD:
        asked = client.build_request("GET", f"{origin}{card_path([version])}")
    else:
        task = peer.truth.tasks[0].id
        wait = {"returnImmediately": True} if version == "1.0" else {"blocking": False}
        params: Reply = {"id": task}
        if operation is Operation.SEND:
            params = {"message": speaker.message("slow 9", "m"), "configuration": wait}
        if operation is Operation.LIST:
            params = {}
        asked = speaker.request(operation, params, at=origin, call_id=7)
    try:
        reply = await client.send(asked)
    except httpx.TransportError:
        return "lost"
    body = _TIME.sub(b"", reply.content).replace(origin.encode(), b"ORIGIN").rstrip()
    kept = ("content-type", "content-encoding", "location", "retry-after")
    size = len(reply.content) if operation is not Operation.CARD else None
    return reply.status_code, body, size, [reply.headers.get(name) for name in kept]


async def soon_after(peer: ScriptedPeer, asked: int, scope: anyio.CancelScope) -> None:
    """Give up a tenth of a second after the peer had so many requests: nothing comes by then."""
    await until(lambda: len(peer.truth.requests) == asked)
    scope.deadline = anyio.current_time() + 0.1


async def played(
    behaviour: Behaviour,
    version: str,
    operation: Operation,
    *,
    on_a_port: bool,
    binding: str = "JSONRPC",
) -> tuple[Any, ...]:
    """Play one request, and return all that can be told of it afterwards."""
    peer = ScriptedPeer((version,), bindings=(binding,))
    speaking = SPEAKERS[binding]
    async with way_to(peer, on_a_port=on_a_port) as (client, origin):
        async with peer.client() as near:
            await speaking(peer, near, version).send("slow 9", "first", immediate=True)
        peer.script(operation, behaviour)
        seen: object = "nothing"
        asked = len(peer.truth.requests) + 1
        with anyio.move_on_after(PATIENCE) as scope:
            async with anyio.create_task_group() as tasks:
                if isinstance(behaviour, Hang):
                    tasks.start_soon(soon_after, peer, asked, scope)
                speaker = speaking(peer, client, version)
                seen = await seen_of(speaker, origin, operation, peer)
        await until(lambda: peer.truth.open == 0)
    fact = peer.truth.requests[-1]
    return (
        seen,
        dict(peer.truth.runs),
        [(one.state, one.cancel_requests) for one in peer.truth.tasks],
        (fact.method, fact.operation, fact.version, json.dumps(fact.body), fact.body_read),
        (peer.truth.sends, peer.truth.cancels),
    )


SPOKEN = [("1.0", "JSONRPC"), ("0.3", "JSONRPC"), ("0.2", "JSONRPC")]
WITHOUT_ENVELOPE = [("1.0", "HTTP+JSON"), ("0.3", "HTTP+JSON")]


def cases(spoken: list[tuple[str, str]]) -> list[ParameterSet]:
    """Lay every behaviour on every operation that it is for; without ids there is no wrong one."""
    return [
        pytest.param(
            behaviour,
            operation,
            version,
            binding,
            id=f"{version}-{binding}-{operation}-{behaviour}",
        )
        for behaviour in BEHAVIOURS
        for operation in Operation
        for version, binding in spoken
        if operation in operations_of(type(behaviour))
        and not (isinstance(behaviour, WrongId) and binding == "HTTP+JSON")
    ]


@pytest.mark.spec("PORT-2")
@pytest.mark.parametrize(
    ("behaviour", "operation", "version", "binding"), cases(SPOKEN + WITHOUT_ENVELOPE)
)
async def test_a_behaviour_means_the_same_in_process_and_on_a_port(
    behaviour: Behaviour, operation: Operation, version: str, binding: str
) -> None:
    near = await played(behaviour, version, operation, on_a_port=False, binding=binding)
    far = await played(behaviour, version, operation, on_a_port=True, binding=binding)
    assert near == far


@pytest.mark.spec("BARE-4")
@pytest.mark.parametrize(("behaviour", "operation", "version", "binding"), cases(WITHOUT_ENVELOPE))
async def test_a_behaviour_has_the_same_effect_in_every_binding(
    behaviour: Behaviour, operation: Operation, version: str, binding: str
) -> None:
    _, *truth = await played(behaviour, version, operation, on_a_port=False)
    _, *same = await played(behaviour, version, operation, on_a_port=False, binding=binding)
    # Of the request itself only what was asked, and in which version, is the same.
    for facts in (truth, same):
        facts[2] = facts[2][1:3]
    assert truth == same
