"""Finding an agent: cards as people publish them, the version that is spoken, the address used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import httpx
import pytest
import respx

from a2a_delegate import (
    A2ADelegate,
    A2ADelegateConfig,
    A2AProtocolMismatchError,
    A2ARequestError,
    AgentCapabilities,
    AgentCard,
    AgentInterface,
    Binding,
    CardProblem,
    Completed,
    Downgraded,
    Effect,
    Failed,
    InvalidAgentCardError,
    PeerUnreachableError,
    ProtocolVersion,
    Rejected,
    UnsafeEndpointError,
    UsageError,
    fetch_agent_card,
)
from a2a_delegate.testing import (
    Operation,
    Redirect,
    Refusal,
    RefuseConnection,
    Respond,
    RpcError,
    ScriptedPeer,
)
from tests.reports.staging import (
    CARD,
    OLD_CARD,
    ORIGIN,
    VERSIONS,
    Notes,
    card_place,
    changed,
    delegate_of,
    requests_of,
    text_part,
)

if TYPE_CHECKING:
    from a2a_delegate.testing import Behaviour
    from tests.reports.staging import Json

pytestmark = [pytest.mark.anyio, pytest.mark.virtual_time]

TLS = httpx.create_ssl_context()
"""Made once: each client would take its own time to make one."""


def card_of(version: str, /, **changes: Any) -> Json:
    """Write the card of a scripted peer, with some members changed; Ellipsis leaves one out."""
    card = {**ScriptedPeer((version,)).card(), **changes}
    return {name: value for name, value in card.items() if value is not ...}


def at(version: str, url: object) -> Json:
    """Write a card whose one interface is at this address."""
    if version == "1.0":
        interface = {"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
        return card_of(version, supportedInterfaces=[interface])
    return card_of(version, url=url, additionalInterfaces=...)


def shows(card: Any, *versions: str) -> ScriptedPeer:
    """Make a peer of these versions that shows this card."""
    peer = ScriptedPeer(versions or ("1.0",))
    peer.always(Operation.CARD, Respond(200, body=card))
    return peer


async def found(peer: ScriptedPeer, typed: str = ORIGIN) -> AgentCard:
    async with peer.client() as client:
        return await fetch_agent_card(typed, client=client)


# -- addresses -------------------------------------------------------------------------------------


@pytest.mark.report("D1", "P1")
@VERSIONS
@pytest.mark.parametrize(
    "url",
    [
        "/rpc",
        "/a2a/agent",
        "rpc",
        "//peer.example/rpc",
        "peer.example/rpc",
        "peer:80/rpc",
        "ws://peer.example/rpc",
        "file:///etc/passwd",
        "https://",
        "https:///rpc",
        "https://peer.example:port/rpc",
        "https://{host}/rpc",
        "https://peer.example\\@elsewhere.example/",
        " https://peer.example/rpc",
        "",
        None,
        8080,
    ],
    ids=repr,
)
async def test_an_address_that_is_none_is_named_when_the_card_is_found(
    version: str, url: object
) -> None:
    with pytest.raises(InvalidAgentCardError) as caught:
        await found(shows(at(version, url), version))
    assert caught.value.problem in {CardProblem.BAD_URL, CardProblem.NO_USABLE_INTERFACE}
    assert caught.value.url == card_place(version)
    if isinstance(url, str) and url and "\\" not in url:
        assert url in caught.value.reason


INSIDE = [
    "http://localhost:8000/",
    "http://127.0.0.1:8000/rpc",
    "http://[::1]:8080/",
    "http://[::]:8080/invoke",
    "http://0.0.0.0:8000/",
    "http://10.0.0.5/rpc",
    "http://agent.internal:9000/",
    "https://peer.example:8443/rpc",
    "https://www.peer.example/rpc",
    "https://peer.example./rpc",
]
"""Where an agent listens behind its proxy, and where nobody who typed `peer.example` meant."""


@pytest.mark.report("D2", "D3", "D4", "P11")
@VERSIONS
@pytest.mark.parametrize("url", INSIDE)
async def test_an_address_that_was_not_typed_is_refused_with_the_way_to_allow_it(
    version: str, url: str
) -> None:
    peer = shows(at(version, url), version)
    with pytest.raises(UnsafeEndpointError) as caught:
        async with delegate_of(peer):
            raise AssertionError
    assert caught.value.url == url
    origin = url.split("/", 3)[:3]
    allowed = "/".join(origin)
    assert f'allowed_origins=("{allowed}",)' in caught.value.reason
    async with delegate_of(peer, allowed_origins=(allowed,)) as delegate:
        assert delegate.card.interfaces[0].url == url
    assert not requests_of(peer, Operation.SEND)


@pytest.mark.report("D2", "D4")
@VERSIONS
@pytest.mark.parametrize(
    ("typed", "url", "same"),
    [
        ("http://localhost:8000", "http://127.0.0.1:8000/rpc", True),
        ("http://127.0.0.1:8000", "http://localhost:8000/rpc", True),
        ("http://[::1]:8000", "http://127.0.0.2:8000/rpc", True),
        ("http://localhost:8000", "http://localhost:9000/rpc", False),
        ("http://localhost:8000", "https://localhost:8000/rpc", False),
        ("http://localhost:8000", "http://0.0.0.0:8000/", False),
        ("http://127.0.0.1:8000", "http://[::]:8000/", False),
        ("http://localhost:8000", "http://localhost.peer.example:8000/", False),
    ],
)
@respx.mock
async def test_the_names_of_this_machine_are_one_origin_and_those_to_listen_at_are_none(
    version: str,
    typed: str,
    url: str,
    same: bool,  # noqa: FBT001 - an example
) -> None:
    respx.get(url__startswith=f"{typed}/.well-known/").respond(json=at(version, url))
    async with httpx.AsyncClient(verify=TLS) as client:
        card = await fetch_agent_card(typed, client=client)
        if same:
            A2ADelegate("x", card, client=client)
            return
        with pytest.raises(UnsafeEndpointError, match="allowed_origins"):
            A2ADelegate("x", card, client=client)


@pytest.mark.report("D5")
@VERSIONS
async def test_plain_http_behind_https_is_refused_by_name(version: str) -> None:
    peer = shows(at(version, "http://peer.example/rpc"), version)
    with pytest.raises(UnsafeEndpointError, match="plain http"):
        async with delegate_of(peer, headers={"authorization": "Bearer secret"}):
            raise AssertionError
    assert not requests_of(peer, Operation.SEND)


@pytest.mark.report("D6")
@VERSIONS
@pytest.mark.parametrize(
    "path", ["/rpc", "/rpc/", "/", "", "/a/b/", "/a2a?tenant=1", "/a%2Fb", "/rpc;v=1", "/RPC"]
)
async def test_the_address_of_a_card_is_used_byte_for_byte(version: str, path: str) -> None:
    peer = ScriptedPeer((version,), url=f"{ORIGIN}{path}")
    async with delegate_of(peer) as delegate:
        result = await delegate.dispatch("slow 1")
    assert isinstance(result, Completed)
    calls = [one for one in peer.truth.requests if one.method == "POST"]
    assert {one.url.rstrip("/") if not path else one.url for one in calls} == {f"{ORIGIN}{path}"}


@pytest.mark.report("D6")
@pytest.mark.parametrize("typed", [CARD, OLD_CARD, f"{ORIGIN}/a/card.json", f"{ORIGIN}/c.json?v=2"])
@respx.mock
async def test_the_full_address_of_a_card_is_asked_as_it_is_and_alone(typed: str) -> None:
    respx.get(typed).respond(json=card_of("1.0"))
    others = respx.route().respond(404)
    async with httpx.AsyncClient(verify=TLS) as client:
        card = await fetch_agent_card(typed, client=client)
    assert card.source == typed
    assert not others.called


@pytest.mark.report("D8")
@pytest.mark.parametrize("serving", range(4))
@respx.mock
async def test_a_card_is_sought_below_the_typed_path_and_then_at_the_root(serving: int) -> None:
    root = (CARD, OLD_CARD)
    places = [*(one.replace(ORIGIN, f"{ORIGIN}/agents/a") for one in root), *root]
    for number, place in enumerate(places):
        if number == serving:
            respx.get(place).respond(json=card_of("1.0"))
        else:
            respx.get(place).respond(404)
    async with httpx.AsyncClient(verify=TLS) as client:
        await fetch_agent_card(f"{ORIGIN}/agents/a", client=client)
    assert [str(call.request.url) for call in respx.calls] == places[: serving + 1]


@pytest.mark.report("D9")
@VERSIONS
@pytest.mark.parametrize("status", [401, 404, 405])
@respx.mock
async def test_the_old_place_is_tried_where_nothing_is_at_the_new_one(
    version: str, status: int
) -> None:
    respx.get(CARD).respond(status)
    respx.get(OLD_CARD).respond(json=card_of(version))
    async with httpx.AsyncClient(verify=TLS) as client:
        card = await fetch_agent_card(ORIGIN, client=client)
    assert card.interfaces[0].version == version


@pytest.mark.report("D9", "D18", "D29")
@pytest.mark.parametrize("status", [302, 400, 403, 410, 418, 429, 500, 501, 502, 503, 504])
@respx.mock
async def test_any_other_refusal_is_shown_and_not_sought_around(status: int) -> None:
    respx.get(CARD).respond(status, text="the card broke: no url")
    old = respx.get(OLD_CARD).respond(json=card_of("1.0"))
    async with httpx.AsyncClient(verify=TLS) as client:
        with pytest.raises(InvalidAgentCardError) as caught:
            await fetch_agent_card(ORIGIN, client=client)
    assert not old.called
    assert (caught.value.status, caught.value.url) == (status, CARD)
    assert f"(HTTP {status})" in str(caught.value)
    assert "the card broke: no url" in str(caught.value)


# -- documents -------------------------------------------------------------------------------------


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


# -- redirects of the card -------------------------------------------------------------------------


@pytest.mark.report("P12")
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("follows", [True, False])
@pytest.mark.parametrize(
    ("target", "named"),
    [
        (f"{CARD}/", ORIGIN),
        ("https://elsewhere.example/card", "https://elsewhere.example"),
        ("http://peer.example/card", "http://peer.example"),
        ("/moved", ORIGIN),
    ],
)
async def test_a_card_that_has_moved_is_not_followed_and_its_new_place_is_named(
    status: int,
    follows: bool,  # noqa: FBT001 - an example
    target: str,
    named: str,
) -> None:
    peer = ScriptedPeer()
    peer.always(Operation.CARD, Redirect(status, target))
    async with peer.client(follow_redirects=follows) as client:
        with pytest.raises(InvalidAgentCardError) as caught:
            await fetch_agent_card(ORIGIN, client=client)
    assert caught.value.status == status
    assert f"it redirects to {named}," in caught.value.reason
    assert len(peer.truth.requests) == 1


# -- versions --------------------------------------------------------------------------------------


def of_version(word: object, **interface: Any) -> Json:
    """Write a 1.0 card whose one interface is of this version."""
    one = {"url": f"{ORIGIN}/rpc", "protocolBinding": "JSONRPC", "protocolVersion": word}
    members = {name: value for name, value in (one | interface).items() if value is not ...}
    return card_of("1.0", supportedInterfaces=[members])


@pytest.mark.report("P2")
@VERSIONS
@pytest.mark.parametrize("binding", ["JSONRPC", "jsonrpc", "JsonRpc"])
async def test_a_binding_is_known_in_any_case_of_letters(version: str, binding: str) -> None:
    card = of_version("1.0", protocolBinding=binding)
    if version == "0.3":
        card = card_of(version, preferredTransport=binding)
    assert (await found(shows(card, version))).interfaces[0].binding is Binding.JSONRPC


@pytest.mark.report("P2")
@pytest.mark.parametrize("binding", ["json-rpc", "JSON-RPC", "SOAP", "", None, 7])
async def test_a_binding_that_is_unknown_is_named_and_not_taken_for_a_version(
    binding: object,
) -> None:
    with pytest.raises(InvalidAgentCardError, match="binding") as caught:
        await found(shows(of_version("1.0", protocolBinding=binding)))
    assert caught.value.problem is CardProblem.NO_USABLE_INTERFACE


@pytest.mark.report("P3", "P4", "D16")
@pytest.mark.parametrize(
    "word", ["2.0", "1.1", "0.4", "0.1", "0.1.0", "1", "v2", "latest", "2025-06-18", "one.zero"]
)
@pytest.mark.parametrize("shape", ["1.0", "0.3"])
async def test_a_version_that_is_not_spoken_is_refused_by_name_before_anything_is_sent(
    word: str, shape: str
) -> None:
    card = of_version(word) if shape == "1.0" else card_of("0.3", protocolVersion=word)
    peer = shows(card, shape)
    with pytest.raises(A2AProtocolMismatchError) as caught:
        async with delegate_of(peer):
            raise AssertionError
    assert word in caught.value.theirs[0]
    assert {"0.3", "1.0"} <= set(caught.value.ours)
    assert ORIGIN in caught.value.url
    assert not requests_of(peer, Operation.SEND)


@pytest.mark.report("P5", "P6")
@pytest.mark.parametrize("word", ["1.0", "v1.0", "V1.0", "1.0.0", "1.0.7", "1.0-rc1", 1.0])
async def test_a_version_is_known_by_its_major_and_minor(word: object) -> None:
    peer = shows(of_version(word))
    async with delegate_of(peer) as delegate:
        result = await delegate.dispatch("work")
    assert isinstance(result, Completed)
    (request,) = requests_of(peer, Operation.SEND)
    assert request.headers["a2a-version"] == "1.0"


@pytest.mark.report("P4", "D14")
@pytest.mark.parametrize(
    ("word", "version"),
    [
        ("0.3", "0.3"),
        ("0.3.0", "0.3"),
        ("v0.3.9", "0.3"),
        ("0.2", "0.2"),
        ("0.2.6", "0.2"),
        (..., "0.2"),
        (None, "0.2"),
        ("", "0.2"),
    ],
    ids=repr,
)
async def test_an_old_version_is_known_and_a_card_that_tells_none_is_of_0_2(
    word: object, version: str
) -> None:
    peer = shows(card_of("0.3", protocolVersion=word), version)
    async with delegate_of(peer) as delegate:
        result = await delegate.dispatch("work")
    assert isinstance(result, Completed)
    assert result.handle is not None
    assert result.handle.version == version


@pytest.mark.report("P5")
@pytest.mark.parametrize("word", [..., None, ""], ids=repr)
async def test_an_interface_that_tells_no_version_is_read_as_1_0_and_noted(word: object) -> None:
    card = await found(shows(of_version(word)))
    assert card.interfaces[0].version is ProtocolVersion.V1_0
    assert any("protocolVersion" in note for note in card.notes)


SAYS_1_0, SAYS_0_3 = card_of("1.0"), card_of("0.3")
SAYS_NOTHING = card_of("0.3", protocolVersion=...)


@pytest.mark.report("D13", "D14")
@pytest.mark.parametrize(
    ("card", "speaks"), [(SAYS_1_0, "0.3"), (SAYS_0_3, "1.0"), (SAYS_NOTHING, "1.0")], ids=range(3)
)
async def test_a_peer_that_does_not_speak_what_its_card_says_is_told_apart(
    card: Json, speaks: str
) -> None:
    peer = shows(card, speaks)
    async with delegate_of(peer, allow_downgrade=True) as delegate:
        result = await delegate.dispatch("work")
    assert isinstance(result, Rejected)
    assert isinstance(result.error, A2ARequestError)
    assert (result.error.code, result.effect) == (-32601, Effect.NOT_STARTED)
    assert not peer.truth.runs
    posts = [one for one in peer.truth.requests if one.method == "POST"]
    assert len(posts) == 1, "no other version is guessed"


NOT_SPOKEN = [
    RpcError(-32009, "version not supported"),
    RpcError(-32009, "version not supported", status=400),
    RpcError(-32601, "Method not found"),
    RpcError(-32601, "Method not found", status=404),
    RpcError(-32600, "A2A version 1.0 is not supported"),
    RpcError(-32603, "A2A version '1.0' is not supported by this handler"),
]


@pytest.mark.report("D13", "D15", "D16")
@pytest.mark.parametrize("refusal", NOT_SPOKEN, ids=repr)
@pytest.mark.parametrize("allowed", [True, False])
async def test_an_older_version_is_spoken_where_that_is_allowed_and_told(
    refusal: Behaviour,
    allowed: bool,  # noqa: FBT001 - an example
) -> None:
    peer, notes = ScriptedPeer(("1.0", "0.3")), Notes()
    peer.script(Operation.SEND, refusal)
    async with delegate_of(peer, allow_downgrade=allowed) as delegate:
        result = await delegate.dispatch("work", observer=notes)
    if allowed:
        assert isinstance(result, Completed)
        assert result.handle is not None
        assert result.handle.version == "0.3"
        assert notes.of(Downgraded) == [Downgraded(refused="1.0", spoken="0.3")]
    else:
        assert isinstance(result, Rejected)
        assert result.safe_to_retry
        assert not peer.truth.runs
        assert notes.of(Downgraded) == []


@pytest.mark.report("D16")
@VERSIONS
async def test_the_version_that_is_spoken_is_told_by_every_outcome(version: str) -> None:
    peer = ScriptedPeer((version,))
    async with delegate_of(peer) as delegate:
        result = await delegate.dispatch("slow 1")
    assert result.handle is not None
    assert result.handle.version == version
    assert {one.version for one in result.attempts} == {version}
    assert f"({version})" in result.explain()


@pytest.mark.report("D17")
@pytest.mark.parametrize("versions", [("1.0", "0.3"), ("0.3", "1.0")], ids="+".join)
@pytest.mark.parametrize("trouble", [*NOT_SPOKEN[:2], Respond(404), Respond(405)], ids=repr)
async def test_no_version_changes_within_a_task(
    versions: tuple[str, ...], trouble: Behaviour
) -> None:
    peer, notes = ScriptedPeer(versions), Notes()
    async with delegate_of(peer, allow_downgrade=True) as delegate:
        # The peer is upgraded between two polls: its card offers something else from now on.
        peer.always(Operation.CARD, Respond(200, body=card_of(versions[1])))
        peer.script(Operation.GET, trouble, trouble)
        result = await delegate.dispatch("slow 4", observer=notes)
    assert isinstance(result, Completed)
    assert {one.version for one in peer.truth.requests if one.method == "POST"} == {versions[0]}
    assert notes.of(Downgraded) == []
