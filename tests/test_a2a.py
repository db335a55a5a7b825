"""A2A agents as delegates: options, wiring, and what reaches the wire."""

from __future__ import annotations

import asyncio
import math
from typing import Any

import httpx
import pytest

from a2a_delegate import (
    A2ADelegate,
    A2ADelegateConfig,
    A2AProtocolMismatchError,
    AgentCard,
    AgentInterface,
    Binding,
    Completed,
    DataPart,
    DelegateRequest,
    DelegationHandle,
    Effect,
    Failed,
    FilePart,
    InvalidAgentCardError,
    PeerUnreachableError,
    ProtocolVersion,
    Settled,
    Unknown,
    UnknownPart,
    UsageError,
)
from a2a_delegate.testing import (
    DropAfterAccepting,
    Operation,
    ScriptedPeer,
)
from tests.faults.play import card_of
from tests.runtime.staging import Notes, delegate_to, requests_of
from tests.virtual_time import VirtualTimeLoop

pytestmark = [pytest.mark.anyio, pytest.mark.virtual_time]

VERSIONS = pytest.mark.parametrize("versions", [("1.0",), ("0.3",), ("0.2",)], ids="+".join)
URL = "https://peer.example/rpc"


# -- the configuration -----------------------------------------------------------------------------

WRONG: Any = [
    ("timeout", 0),
    ("timeout", -1.0),
    ("timeout", math.inf),
    ("timeout", math.nan),
    ("timeout", "5"),
    ("timeout", True),
    ("poll_interval", 0),
    ("poll_interval", None),
    ("poll_interval_max", -1),
    ("cancel_grace", 0),
    ("cancel_grace", math.inf),
    ("recovery_grace", -0.1),
    ("recovery_timeout", math.nan),
    ("recovery_timeout", "1"),
    ("client_context_ids", 1),
    ("client_context_ids", 0),
    ("client_context_ids", None),
    ("allow_downgrade", "yes"),
    ("watch", "push"),
    ("watch", None),
    ("watch", ["auto"]),
    ("max_reply_bytes", 0),
    ("max_reply_bytes", 1.5),
    ("max_reply_bytes", True),
    ("max_event_bytes", 0),
    ("stream_idle_timeout", 0),
    ("stream_idle_timeout", None),
    ("extensions", "https://e.example/x"),
    ("extensions", ("https://e.example/a, b",)),
    ("extensions", ("https://e.example/\r\nX: y",)),
    ("extensions", ("",)),
    ("allowed_origins", "https://rpc.example"),
    ("allowed_origins", 5),
    ("allowed_origins", (5,)),
]
"""Options that no delegate has; untyped, as a caller without a type checker writes them."""


@pytest.mark.spec("DLG-1")
@pytest.mark.parametrize(("option", "value"), WRONG)
def test_a_wrong_option_is_refused_by_its_name(option: str, value: object) -> None:
    options: Any = {option: value}
    with pytest.raises(UsageError, match=option):
        A2ADelegateConfig(**options)


@pytest.mark.spec("DLG-1")
@pytest.mark.parametrize("origin", ["rpc.example", "https://rpc.example/path", "ftp://rpc.example"])
def test_an_allowed_origin_that_is_none_is_refused(origin: str) -> None:
    with pytest.raises(UsageError, match="origin"):
        A2ADelegateConfig(allowed_origins=(origin,))


@pytest.mark.spec("DLG-1")
def test_poll_intervals_that_shrink_are_refused() -> None:
    with pytest.raises(UsageError, match="poll_interval_max must not be less"):
        A2ADelegateConfig(poll_interval=40)


@pytest.mark.spec("DLG-1")
def test_the_defaults_are_those_that_are_documented() -> None:
    config, origins = A2ADelegateConfig(), ["https://rpc.example"]
    assert (config.timeout, config.poll_interval, config.poll_interval_max) == (600, 1, 30)
    assert (config.cancel_grace, config.recovery_grace, config.recovery_timeout) == (2, 0.5, 5)
    assert (config.client_context_ids, config.allow_downgrade, config.watch) == (
        True,
        False,
        "auto",
    )
    assert (config.max_reply_bytes, config.allowed_origins) == (32 * 1024 * 1024, ())
    assert (config.max_event_bytes, config.stream_idle_timeout) == (8 * 1024 * 1024, 60)
    assert A2ADelegateConfig(timeout=None, recovery_grace=0, recovery_timeout=0).timeout is None
    listed = A2ADelegateConfig(allowed_origins=origins)  # type: ignore[arg-type]
    assert listed.allowed_origins == ("https://rpc.example",)
    with pytest.raises(AttributeError):
        config.timeout = 5  # type: ignore[misc]


# -- the delegate ----------------------------------------------------------------------------------


@pytest.mark.spec("DLG-1")
@pytest.mark.parametrize("name", ["", None, 5])
async def test_a_delegate_needs_a_name(name: Any) -> None:
    async with ScriptedPeer().client() as client:
        with pytest.raises(UsageError, match="non-empty string"):
            A2ADelegate(name, card_of(("1.0",)), client=client)


@pytest.mark.spec("DLG-2")
async def test_a_card_is_refused_when_the_delegate_is_made() -> None:
    unspoken = AgentInterface(URL, Binding.GRPC, ProtocolVersion.V1_0)
    async with ScriptedPeer().client() as client:
        with pytest.raises(InvalidAgentCardError, match=r"GRPC 1\.0 is not spoken"):
            A2ADelegate("x", AgentCard("A", (unspoken,)), client=client)
        with pytest.raises(A2AProtocolMismatchError, match=r"speaks 0\.2, 0\.3, 1\.0"):
            A2ADelegate("x", AgentCard("A", ()), client=client)


async def test_what_is_no_configuration_is_refused() -> None:
    wrong: Any = {"timeout": 5}
    async with ScriptedPeer().client() as client:
        card = AgentCard("A", (AgentInterface(URL, Binding.JSONRPC, ProtocolVersion.V1_0),))
        with pytest.raises(UsageError, match="config is an A2ADelegateConfig; got dict"):
            A2ADelegate("x", card, client=client, config=wrong)


@pytest.mark.spec("DLG-7")
async def test_a_card_made_by_hand_binds_the_origin_of_the_interface_that_is_chosen() -> None:
    peer = ScriptedPeer(("0.3",))
    own = AgentInterface(URL, Binding.JSONRPC, ProtocolVersion.V0_3)
    unspoken = AgentInterface("https://elsewhere.example/", Binding.GRPC, ProtocolVersion.V1_0)
    newer = AgentInterface("https://third.example/", Binding.JSONRPC, ProtocolVersion.V1_0)
    peer.script(Operation.SEND, DropAfterAccepting())
    async with peer.client() as client:
        delegate = A2ADelegate("x", AgentCard("A", (unspoken, own, newer)), client=client)
        # The third one could be looked at, and nobody bound it.
        assert isinstance(await delegate.dispatch("work"), Unknown)
        assert isinstance(await delegate.dispatch("work"), Completed)
    assert {one.url for one in peer.truth.requests} == {URL}


@pytest.mark.spec("DLG-8")
async def test_no_secret_is_shown() -> None:
    async with ScriptedPeer().client(headers={"x-key": "secret"}) as client:
        delegate = A2ADelegate(
            "peer",
            card_of(("1.0",)),
            client=client,
            auth=httpx.BasicAuth("user", "secret"),
            headers={"authorization": "Bearer secret"},
        )
        assert repr(delegate) == "<A2ADelegate 'peer' at <Peer at https://peer.example, A2A 1.0>>"


@VERSIONS
async def test_the_simplest_delegation_completes(versions: tuple[str, ...]) -> None:
    peer, notes = ScriptedPeer(versions), Notes()
    async with delegate_to(peer) as delegate:
        result = await delegate.dispatch("work", observer=notes)
    assert isinstance(result, Completed)
    assert (result.output, result.effect, result.late) == ("result of work", Effect.RAN, False)
    assert (result.delegate_id, result.safe_to_retry) == ("peer", False)
    assert result.handle is not None
    assert result.handle == DelegationHandle.from_json(result.handle.to_json())
    assert (result.handle.endpoint, result.handle.version) == (URL, versions[0])
    assert (result.handle.binding, result.handle.task_id) == ("JSONRPC", peer.truth.tasks[0].id)
    assert peer.truth.runs == {result.handle.message_id: 1}
    assert notes.signals[-1] == Settled(result)


@pytest.mark.spec("DLG-8")
async def test_the_callers_own_client_is_neither_changed_nor_closed() -> None:
    peer = ScriptedPeer()
    client = peer.client(
        headers={"x-mine": "1"}, cookies={"c": "2"}, timeout=3, follow_redirects=True
    )
    before = (dict(client.headers), dict(client.cookies), client.timeout, client.event_hooks)
    async with A2ADelegate("peer", card_of(("1.0",)), client=client) as delegate:
        await delegate.dispatch("work")
    assert not client.is_closed
    assert (
        dict(client.headers),
        dict(client.cookies),
        client.timeout,
        client.event_hooks,
    ) == before
    assert client.follow_redirects
    await client.aclose()


@pytest.mark.spec("DLG-7")
@VERSIONS
async def test_headers_cookies_hooks_and_auth_go_with_every_request(
    versions: tuple[str, ...],
) -> None:
    peer, hooked = ScriptedPeer(versions), []

    async def hook(request: httpx.Request) -> None:
        hooked.append(request.method)

    asked: list[tuple[str | None, str]] = []

    def provider(principal: str | None, origin: str) -> httpx.Auth:
        asked.append((principal, origin))
        return httpx.BasicAuth("user", "pass")

    client = peer.client(
        headers={"x-client": "1"}, cookies={"c": "2"}, event_hooks={"request": [hook]}
    )
    async with (
        client,
        A2ADelegate(
            "peer",
            card_of(versions),
            client=client,
            auth=provider,
            headers={"x-mine": "3", "A2A-Version": "9.9"},
        ) as delegate,
    ):
        await delegate.dispatch(DelegateRequest("stuck", timeout=1.5))
    operations = [request.operation for request in peer.truth.requests]
    assert operations == [Operation.SEND, Operation.GET, Operation.CANCEL]
    for request in peer.truth.requests:
        assert request.headers["x-client"] == "1"
        assert request.headers["cookie"] == "c=2"
        assert request.headers["x-mine"] == "3"
        assert request.headers["authorization"].startswith("Basic ")
        named = None if versions == ("0.2",) else versions[0]  # 0.2 has no such header
        assert request.headers.get("a2a-version") == named
    assert hooked == ["POST"] * 3
    assert asked == [(None, "https://peer.example")] * 3


@pytest.mark.spec("DLG-9")
async def test_a_closed_delegate_refuses_and_sends_nothing() -> None:
    peer = ScriptedPeer()
    async with delegate_to(peer) as delegate:
        await delegate.aclose()
        await delegate.aclose()
        with pytest.raises(UsageError, match="'peer' is closed"):
            await delegate.dispatch("work")
    assert peer.truth.requests == ()


@pytest.mark.spec("DLG-9")
async def test_a_delegate_refuses_arguments() -> None:
    async with delegate_to(ScriptedPeer()) as delegate:
        with pytest.raises(UsageError, match="arguments are for tools"):
            await delegate.dispatch(DelegateRequest("x", arguments={}))


@pytest.mark.spec("DLG-9")
def test_a_second_event_loop_is_refused() -> None:
    peer = ScriptedPeer()
    delegate = A2ADelegate("peer", card_of(("1.0",)), client=peer.client())

    async def dispatch() -> str:
        return (await delegate.dispatch("work")).status

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as first:
        assert first.run(dispatch()) == "completed"
        assert first.run(dispatch()) == "completed"
    with (
        asyncio.Runner(loop_factory=VirtualTimeLoop) as second,
        pytest.raises(UsageError, match="one event loop"),
    ):
        second.run(dispatch())
    assert peer.truth.sends == 2


@pytest.mark.spec("DLG-9")
async def test_what_the_version_cannot_say_is_raised_before_a_byte_leaves() -> None:
    peer, notes = ScriptedPeer(("0.3",)), Notes()
    async with delegate_to(peer) as delegate:
        part: Any = UnknownPart({"kind": "hologram"})
        with pytest.raises(UsageError, match="parts are"):
            await delegate.dispatch(DelegateRequest(parts=(part,)))
    assert (peer.truth.sends, notes.signals) == (0, [])


@pytest.mark.spec("DLG-8")
async def test_a_client_that_is_closed_has_sent_nothing() -> None:
    peer = ScriptedPeer()
    client = peer.client()
    await client.aclose()
    result = await A2ADelegate("peer", card_of(("1.0",)), client=client).dispatch("work")
    assert isinstance(result, Failed)
    assert isinstance(result.error, PeerUnreachableError)
    assert result.effect is Effect.NOT_STARTED
    assert "closed" in str(result.error)


# -- what reaches the wire -------------------------------------------------------------------------


@VERSIONS
async def test_parts_modes_and_metadata_reach_the_wire(versions: tuple[str, ...]) -> None:
    peer = ScriptedPeer(versions)
    request = DelegateRequest(
        "read",
        parts=(
            DataPart({"n": 1}),
            FilePart(content=b"\x00\xff", filename="a.bin", media_type="application/x"),
            FilePart(url="https://files.example/a"),
        ),
        metadata={"trace": "1"},
        accepted_output_modes=("application/json", "text/plain"),
    )
    async with delegate_to(peer) as delegate:
        await delegate.dispatch(request)
    body: Any = requests_of(peer, Operation.SEND)[0].body
    message, configuration = body["params"]["message"], body["params"]["configuration"]
    assert configuration["acceptedOutputModes"] == ["application/json", "text/plain"]
    assert message["metadata"] == {"trace": "1"}
    if versions == ("1.0",):
        assert [sorted(part) for part in message["parts"]] == [
            ["text"],
            ["data"],
            ["filename", "mediaType", "raw"],
            ["url"],
        ]
        assert configuration["returnImmediately"] is True
    else:
        assert [part["kind"] for part in message["parts"]] == ["text", "data", "file", "file"]
        assert configuration["blocking"] is False
