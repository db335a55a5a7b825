"""Cards as people publish them, and what comes of delegating to their agents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from a2a_delegate import (
    A2ADelegate,
    A2ADelegateConfig,
    A2ARequestError,
    AgentCapabilities,
    AgentCard,
    AgentInterface,
    Binding,
    CardProblem,
    Completed,
    Failed,
    InvalidAgentCardError,
    PeerUnreachableError,
    ProtocolVersion,
    Rejected,
    UsageError,
    fetch_agent_card,
)
from a2a_delegate.testing import (
    Operation,
    Refusal,
    RefuseConnection,
    Respond,
    ScriptedPeer,
)
from tests.reports.cards import card_of, found, shows
from tests.reports.staging import (
    CARD,
    OLD_CARD,
    ORIGIN,
    VERSIONS,
    changed,
    delegate_of,
    requests_of,
    text_part,
)

if TYPE_CHECKING:
    from tests.reports.staging import Json

pytestmark = [pytest.mark.anyio, pytest.mark.virtual_time]


@pytest.mark.report("D20", "D24", "P9", "P10")
@pytest.mark.parametrize(
    "document",
    [
        {},
        [],
        b"null",
        b"",
        b"\xff\xfe{",
        b'{"name": "\xff"}',
        "<html><title>Home</title></html>",
        "not found",
        {"name": "A"},
        {"name": "", "url": f"{ORIGIN}/rpc"},
        {"name": "A", "url": f"{ORIGIN}/rpc"},
        {"error": "no such page"},
        b"[" * 100_000,
    ],
    ids=range(13),
)
async def test_a_document_that_is_no_card_is_refused_where_it_is_found(document: Any) -> None:
    with pytest.raises(InvalidAgentCardError) as caught:
        await found(shows(document))
    assert (caught.value.problem, caught.value.status) == (CardProblem.NOT_A_CARD, 200)


@pytest.mark.report("D11", "P7")
@pytest.mark.parametrize(
    ("card", "version"),
    [
        (card_of("1.0"), "1.0"),
        (card_of("1.0", url=None), "1.0"),
        (card_of("1.0", url=""), "1.0"),
        (card_of("0.3"), "0.3"),
        (card_of("0.3", supportedInterfaces=None), "0.3"),
        (card_of("0.3", supportedInterfaces=[]), "0.3"),
        (card_of("0.3", supportedInterfaces=[None, {}, {"url": 5}]), "0.3"),
        (card_of("0.3", preferredTransport=...), "0.3"),
        (card_of("0.3", additionalInterfaces=None), "0.3"),
        (card_of("0.3", supportedInterfaces=card_of("1.0")["supportedInterfaces"]), "1.0"),
    ],
    ids=range(10),
)
async def test_a_card_of_either_shape_offers_what_it_says(card: Json, version: str) -> None:
    peer = shows(card, version)
    async with delegate_of(peer) as delegate:
        result = await delegate.dispatch("work")
    assert isinstance(result, Completed)
    assert [one.version for one in requests_of(peer, Operation.SEND)] == [version]


ODDITIES: dict[str, Json] = {
    "no capabilities": {"capabilities": ...},
    "capabilities null": {"capabilities": None},
    "capabilities a list": {"capabilities": ["streaming"]},
    "streaming a word": {"capabilities": {"streaming": "yes"}},
    "skills null": {"skills": None},
    "skills missing": {"skills": ...},
    "skills an object": {"skills": {"a": {}}},
    "skills of nothing": {"skills": [None, {}, 5, {"id": 7, "tags": "x"}]},
    "description null": {"description": None},
    "version missing": {"version": ...},
    "version a number": {"version": 2},
    "modes null": {"defaultInputModes": None, "defaultOutputModes": "text"},
    "snake case": {"default_input_modes": ["text"], "protocol_version": "9"},
    "provider null": {"provider": None, "documentationUrl": 5, "iconUrl": {}},
    "security null": {"securitySchemes": None, "security": "none"},
    "signatures junk": {"signatures": [1]},
    "unknown": {"x-vendor": {"deep": [None]}},
}


@pytest.mark.report("D21", "D28", "P8")
@VERSIONS
@pytest.mark.parametrize("changes", ODDITIES.values(), ids=ODDITIES)
async def test_what_no_call_needs_may_be_missing_or_odd(version: str, changes: Json) -> None:
    peer = shows(card_of(version, **changes), version)
    async with delegate_of(peer) as delegate:
        card = delegate.card
        result = await delegate.dispatch("work")
    assert isinstance(result, Completed)
    # Whatever stood there, a card that was found has every attribute, each of its type.
    assert isinstance(card.capabilities, AgentCapabilities)
    assert isinstance(card.capabilities.streaming, bool)
    for text in (card.name, card.description, card.version):
        assert isinstance(text, str)
    for modes in (card.default_input_modes, card.default_output_modes):
        assert all(isinstance(mode, str) for mode in modes)
    assert all(isinstance(skill.tags, tuple) for skill in card.skills)


@pytest.mark.report("D12")
@pytest.mark.parametrize("version", [ProtocolVersion.V0_3, ProtocolVersion.V1_0])
async def test_a_card_made_by_hand_is_used_as_one_that_was_found(version: ProtocolVersion) -> None:
    peer = ScriptedPeer((version.value,))
    interface = AgentInterface(f"{ORIGIN}/rpc", Binding.JSONRPC, version)
    async with (
        peer.client() as client,
        A2ADelegate("x", AgentCard("A", (interface,)), client=client) as delegate,
    ):
        result = await delegate.dispatch("work")
    assert isinstance(result, Completed)


@pytest.mark.report("D24")
@VERSIONS
@pytest.mark.parametrize("status", [403, 404, 405, 410, 500, 501])
async def test_a_good_card_before_a_dead_endpoint_is_a_typed_outcome(
    version: str, status: int
) -> None:
    peer = ScriptedPeer((version,))
    for operation in (Operation.SEND, Operation.LIST):
        peer.always(operation, Respond(status, body="<html>nginx</html>"))
    async with delegate_of(peer) as delegate:
        result = await delegate.dispatch("work")
    assert isinstance(result, Failed | Rejected)
    assert isinstance(result.error, A2ARequestError)
    assert result.error.status == status
    assert result.safe_to_retry is (status == 405)
    assert not peer.truth.runs
    assert peer.truth.sends == 1


@pytest.mark.report("D25")
@pytest.mark.parametrize("phase", Refusal)
async def test_a_host_that_does_not_exist_was_never_reached(phase: Refusal) -> None:
    peer = ScriptedPeer()
    peer.always(Operation.CARD, RefuseConnection(phase))
    with pytest.raises(PeerUnreachableError) as caught:
        await found(peer)
    assert (caught.value.phase, caught.value.url) == ("card", CARD)


@pytest.mark.report("D25")
@pytest.mark.parametrize("typed", ["", "peer.example", "the research agent", "ftp://x", "https://"])
async def test_what_is_no_address_of_an_agent_is_refused_before_anything_is_asked(
    typed: str,
) -> None:
    peer = ScriptedPeer()
    with pytest.raises(UsageError):
        await found(peer, typed)
    assert peer.truth.requests == ()


@pytest.mark.report("D25")
@VERSIONS
@pytest.mark.parametrize("prompt", ["slow 1", "file"])
async def test_no_address_in_an_answer_is_ever_called(version: str, prompt: str) -> None:
    links = "see https://elsewhere.example/a2a and http://169.254.169.254/latest"

    def link(task: Json) -> None:
        task["url"] = "https://elsewhere.example/rpc"
        for artifact in task.get("artifacts", ()):
            artifact["parts"] = [*artifact["parts"], text_part(version, links)]

    peer = ScriptedPeer((version,))
    for operation in (Operation.SEND, Operation.GET):
        peer.always(operation, changed(link))
    async with delegate_of(peer) as delegate:
        result = await delegate.dispatch(prompt)
    assert isinstance(result, Completed)
    assert links in (result.output or "")
    assert {one.url for one in peer.truth.requests} - {CARD, OLD_CARD} == {f"{ORIGIN}/rpc"}


@pytest.mark.report("D26")
@pytest.mark.parametrize(
    "versions", [("1.0",), ("0.3",), ("1.0", "0.3"), ("0.3", "1.0")], ids="+".join
)
async def test_defaults_on_both_sides_talk_to_each_other(versions: tuple[str, ...]) -> None:
    peer = ScriptedPeer(versions)
    async with (
        peer.client() as client,
        A2ADelegate("x", await fetch_agent_card(ORIGIN, client=client), client=client) as delegate,
    ):
        assert delegate.config == A2ADelegateConfig()
        result = await delegate.dispatch("slow 3")
    assert isinstance(result, Completed)
    assert {one.version for one in result.attempts} == {versions[0]}


@pytest.mark.report("S28")
@VERSIONS
@pytest.mark.parametrize(
    "capabilities", [{"streaming": False}, {"streaming": None}, {"streaming": "yes"}, {}, None, ...]
)
async def test_no_stream_is_asked_of_an_agent_whose_card_offers_none(
    version: str, capabilities: Any
) -> None:
    peer = shows(card_of(version, capabilities=capabilities), version)
    async with delegate_of(peer) as delegate:
        assert isinstance(await delegate.dispatch("slow 3"), Completed)
    posts = [one for one in peer.truth.requests if one.method == "POST"]
    assert {one.operation for one in posts} == {Operation.SEND, Operation.GET}
    assert not any("event-stream" in one.headers["accept"] for one in posts)
