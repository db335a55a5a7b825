from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from a2a_delegate.errors import A2AProtocolMismatchError, CardProblem, InvalidAgentCardError
from a2a_delegate.model.card import (
    AgentCapabilities,
    AgentCard,
    AgentExtension,
    AgentInterface,
    AgentSkill,
    Binding,
    ProtocolVersion,
)
from a2a_delegate.wire.card_interfaces import is_address
from a2a_delegate.wire.card_reader import card_from, read_card
from tests.wire.json_values import json_objects, json_values

if TYPE_CHECKING:
    from collections.abc import Mapping

URL = "https://agent.example/"
RPC = "https://agent.example/rpc"
V02, V03, V10 = ProtocolVersion.V0_2, ProtocolVersion.V0_3, ProtocolVersion.V1_0

NEW = {
    "name": "Agent",
    "description": "Answers.",
    "version": "7",
    "supportedInterfaces": [
        {"url": RPC, "protocolBinding": "JSONRPC", "protocolVersion": "1.0", "tenant": "acme"},
        {"url": "agent.example:443", "protocolBinding": "GRPC", "protocolVersion": "1.0"},
    ],
    "capabilities": {
        "streaming": True,
        "pushNotifications": True,
        "extendedAgentCard": True,
        "extensions": [
            {
                "uri": "https://e.example/x",
                "required": True,
                "description": "d",
                "params": {"a": 1},
            }
        ],
    },
    "defaultInputModes": ["text/plain"],
    "defaultOutputModes": ["text/plain", "application/json"],
    "skills": [
        {"id": "s", "name": "S", "description": "d", "tags": ["t"], "examples": ["do"], "x": 1}
    ],
    "unknown": {"member": 1},
}
OLD = {
    "name": "Agent",
    "url": RPC,
    "protocolVersion": "0.3.0",
    "capabilities": {},
    "skills": [],
    "defaultInputModes": [],
}


def read(card: Mapping[str, object]) -> AgentCard:
    return read_card(json.dumps(card).encode(), url=URL)


def interfaces(card: Mapping[str, object]) -> list[tuple[str, str, str]]:
    return [(one.url, one.binding.value, one.version.value) for one in read(card).interfaces]


def listing(*entries: object, **members: object) -> dict[str, object]:
    return {"name": "Agent", "supportedInterfaces": list(entries), **members}


def entry(url: object = RPC, binding: object = "JSONRPC", version: object = "1.0") -> object:
    return {"url": url, "protocolBinding": binding, "protocolVersion": version}


def test_a_1_0_card_is_read_whole() -> None:
    assert read(NEW) == AgentCard(
        name="Agent",
        interfaces=(
            AgentInterface(RPC, Binding.JSONRPC, V10, "acme"),
            AgentInterface("agent.example:443", Binding.GRPC, V10),
        ),
        description="Answers.",
        version="7",
        capabilities=AgentCapabilities(
            streaming=True,
            push_notifications=True,
            extended_agent_card=True,
            extensions=(AgentExtension("https://e.example/x", True, "d", {"a": 1}),),  # noqa: FBT003
        ),
        default_input_modes=("text/plain",),
        default_output_modes=("text/plain", "application/json"),
        skills=(AgentSkill("s", "S", "d", ("t",), ("do",)),),
        source=URL,
    )


@pytest.mark.spec("CARD-5", "CARD-6")
def test_a_0_3_card_offers_its_url_first_and_then_all_the_others() -> None:
    more = [
        {"url": "https://agent.example/v1", "transport": "HTTP+JSON"},
        {"url": "https://agent.example/x", "transport": "SOAP"},
        None,
        {"url": "grpc.agent.example:50051", "transport": "grpc"},
        {"url": RPC, "protocolBinding": "jsonrpc"},
    ]
    card = read({**OLD, "additionalInterfaces": more})
    assert card.interfaces == (
        AgentInterface(RPC, Binding.JSONRPC, V03),
        AgentInterface("https://agent.example/v1", Binding.HTTP_JSON, V03),
        AgentInterface("grpc.agent.example:50051", Binding.GRPC, V03),
        AgentInterface(RPC, Binding.JSONRPC, V03),
    )
    assert any("SOAP" in note for note in card.notes)


@pytest.mark.parametrize("transport", [None, "", "JSONRPC", "JsonRpc"])
@pytest.mark.spec("CARD-5")
def test_a_missing_transport_means_jsonrpc(transport: object) -> None:
    assert interfaces({**OLD, "preferredTransport": transport}) == [(RPC, "JSONRPC", "0.3")]


@pytest.mark.spec("CARD-6")
def test_a_main_transport_of_another_kind_leaves_the_additional_ones() -> None:
    more = [{"url": "https://agent.example/rest", "transport": "HTTP+JSON"}]
    card = {**OLD, "preferredTransport": "SOAP", "additionalInterfaces": more}
    assert interfaces(card) == [("https://agent.example/rest", "HTTP+JSON", "0.3")]


@pytest.mark.spec("CARD-4")
def test_the_list_of_1_0_wins_over_what_stands_beside_it() -> None:
    blended = {**OLD, "url": "https://other.example/", **listing(entry())}
    assert interfaces(blended) == [(RPC, "JSONRPC", "1.0")]


@pytest.mark.parametrize(
    "entries",
    [[], [None], [entry(version="9.9")], [entry(binding="SOAP")], [entry(url="/rpc")], None, {}],
)
@pytest.mark.spec("CARD-4")
def test_a_list_without_anything_usable_leaves_the_url(entries: object) -> None:
    assert interfaces({**OLD, "supportedInterfaces": entries}) == [(RPC, "JSONRPC", "0.3")]


@pytest.mark.spec("GATE-2")
def test_what_cannot_be_used_is_left_out_and_noted() -> None:
    card = read(listing(entry(version="1.2"), entry(binding="MCP"), entry(url="{BASE}"), entry()))
    assert [one.version for one in card.interfaces] == [V10]
    left_out = [note for note in card.notes if note.startswith("an interface is left out")]
    assert len(left_out) == 3


@pytest.mark.parametrize(
    ("word", "version"),
    [
        ("1.0", V10),
        ("1.0.0", V10),
        ("1.0.7", V10),
        ("1.0-rc1", V10),
        ("v1.0", V10),
        (1.0, V10),
        ("0.3", V03),
        ("0.3.0", V03),
        (0.3, V03),
        ("0.2", V02),
        ("0.2.6", V02),
    ],
)
@pytest.mark.spec("GATE-2", "CARD-11", "CARD-7")
def test_a_version_is_read_by_major_and_minor(word: object, version: ProtocolVersion) -> None:
    for card in (listing(entry(version=word)), {**OLD, "protocolVersion": word}):
        assert [one.version for one in read(card).interfaces] == [version]


@pytest.mark.parametrize(
    "word", ["0.1", "0.1.0", "1.1", "2.0", "10.0", "1.00", "1", 1, 2.5, "latest", "1,0", True]
)
@pytest.mark.spec("GATE-1", "GATE-2")
def test_an_unknown_version_is_refused_by_name(word: object) -> None:
    for card in (listing(entry(version=word)), {**OLD, "protocolVersion": word}):
        with pytest.raises(A2AProtocolMismatchError) as refusal:
            read(card)
        assert refusal.value.theirs == (str(word),)
        assert refusal.value.ours == ("0.2", "0.3", "1.0")


@pytest.mark.parametrize("missing", [None, "", 0, []])
@pytest.mark.spec("CARD-11")
def test_a_card_without_a_version_is_of_0_2(missing: object) -> None:
    card = read({**OLD, "protocolVersion": missing})
    assert [one.version for one in card.interfaces] == [V02]
    assert "no protocolVersion: read as 0.2" in card.notes


@pytest.mark.parametrize(
    ("card_version", "version"), [("0.3.0", V03), ("1.0", V10), (None, V10), ("", V10)]
)
@pytest.mark.spec("GATE-2")
def test_an_interface_without_a_version_has_the_cards(
    card_version: object, version: ProtocolVersion
) -> None:
    card = read(listing({"url": RPC, "protocolBinding": "JSONRPC"}, protocolVersion=card_version))
    assert [one.version for one in card.interfaces] == [version]
    assert any("without protocolVersion" in note for note in card.notes)


@pytest.mark.spec("GATE-2")
def test_a_binding_named_transport_is_read() -> None:
    card = read(listing({"url": RPC, "transport": "JSONRPC", "protocolVersion": "1.0"}))
    assert [one.binding for one in card.interfaces] == [Binding.JSONRPC]
    assert any("`transport`" in note for note in card.notes)


@pytest.mark.spec("GATE-1")
def test_a_card_of_1_0_with_only_a_url_is_taken_at_its_word() -> None:
    assert interfaces({**OLD, "protocolVersion": "1.0"}) == [(RPC, "JSONRPC", "1.0")]


@pytest.mark.parametrize(
    ("tenant", "kept"), [("acme", "acme"), (" a/b ", " a/b "), ("", None), (None, None), (7, None)]
)
@pytest.mark.spec("CARD-8")
def test_a_tenant_is_kept_as_it_is(tenant: object, kept: str | None) -> None:
    found = {"url": RPC, "protocolBinding": "JSONRPC", "protocolVersion": "1.0", "tenant": tenant}
    assert read(listing(found)).interfaces[0].tenant == kept


@pytest.mark.parametrize(
    "url",
    [
        "https://agent.example",
        "HTTP://AGENT.example:8080/a?b#c",
        "http://127.0.0.1:0/x",
        "http://[::1]:8080/",
        "https://user:secret@agent.example/",
        "https://bücher.example/",
    ],
)
@pytest.mark.spec("GATE-2", "CARD-9")
def test_an_absolute_address_is_kept_byte_for_byte(url: str) -> None:
    assert is_address(url, Binding.JSONRPC)
    assert interfaces(listing(entry(url=url))) == [(url, "JSONRPC", "1.0")]


@pytest.mark.parametrize(
    "url",
    [
        "/rpc",
        "agent.example/rpc",
        "//agent.example/rpc",
        "agent.example:443",
        "{BASE_URL}/rpc",
        "https://{host}/rpc",
        "https:///rpc",
        "https://",
        "https:agent.example",
        "ftp://agent.example/",
        "file:///etc/passwd",
        "https://good.example\\@evil.example/",
        "https://agent.example/a b",
        "https://agent.example/\n",
        "\thttps://agent.example/",
        "https://agent.example:99999/",
        "https://agent.example:x/",
        "https://[::1/",
        "https://agent.example/\ud800",
        "local://agent",
        None,
        "",
        7,
        {},
    ],
)
@pytest.mark.spec("GATE-1", "GATE-2")
def test_what_is_no_absolute_address_is_refused(url: object) -> None:
    with pytest.raises(InvalidAgentCardError) as refusal:
        read(listing(entry(url=url)))
    assert refusal.value.problem is CardProblem.BAD_URL
    assert refusal.value.url == URL


@pytest.mark.parametrize("url", ["agent.example:443", "[::1]:443", "https://agent.example"])
@pytest.mark.spec("GATE-2")
def test_grpc_may_have_a_host_and_a_port(url: str) -> None:
    assert is_address(url, Binding.GRPC)
    assert is_address(url, Binding.JSONRPC) == url.startswith("https")


@pytest.mark.parametrize("url", ["agent.example", "agent.example:", "a b:443", ":443", "/x"])
def test_grpc_needs_both(url: str) -> None:
    assert not is_address(url, Binding.GRPC)


@pytest.mark.parametrize(
    ("card", "problem"),
    [
        ({}, CardProblem.NOT_A_CARD),
        ({"name": ""}, CardProblem.NOT_A_CARD),
        ({"name": 7, "url": RPC, "skills": [{}]}, CardProblem.NOT_A_CARD),
        ({"name": "A"}, CardProblem.NOT_A_CARD),
        ({"name": "A", "url": RPC}, CardProblem.NOT_A_CARD),
        ({"name": "A", "url": RPC, "capabilities": ["x"]}, CardProblem.NOT_A_CARD),
        ({"name": "A", "url": RPC, "skills": ["x"]}, CardProblem.NOT_A_CARD),
        ({"name": "A", "url": "", "skills": [{}]}, CardProblem.NOT_A_CARD),
        ({"name": "A", "capabilities": {}, "skills": ["x"]}, CardProblem.NOT_A_CARD),
        ({"name": "A", "capabilities": {}, "skills": [{}]}, CardProblem.NO_USABLE_INTERFACE),
        ({"name": "A", "protocolVersion": "1.0"}, CardProblem.NO_USABLE_INTERFACE),
        ({"name": "A", "defaultInputModes": []}, CardProblem.NO_USABLE_INTERFACE),
        ({"name": "A", "preferredTransport": "GRPC"}, CardProblem.NO_USABLE_INTERFACE),
        (listing(), CardProblem.NO_USABLE_INTERFACE),
        (listing(None, "x", 7), CardProblem.NO_USABLE_INTERFACE),
        (listing(entry(binding=None)), CardProblem.NO_USABLE_INTERFACE),
        (listing(entry(binding="REST")), CardProblem.NO_USABLE_INTERFACE),
        ({**OLD, "url": "/rpc"}, CardProblem.BAD_URL),
    ],
)
@pytest.mark.spec("GATE-1")
def test_each_way_of_being_unusable_has_its_name(
    card: Mapping[str, object], problem: CardProblem
) -> None:
    with pytest.raises(InvalidAgentCardError) as refusal:
        read_card(json.dumps(card).encode(), url=URL, status=200)
    assert (refusal.value.problem, refusal.value.status) == (problem, 200)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "an empty body"),
        (b"<html>", "not JSON at character 0"),
        (b"\xff", "not UTF-8 at byte 0"),
        (b"[" * 200, "JSON that nests deeper than 100 levels"),
        (b"[]", "the document is an array"),
        (b"null", "the document is null"),
    ],
)
@pytest.mark.spec("GATE-1", "GATE-3")
def test_what_is_no_document_of_ours_says_why(body: bytes, reason: str) -> None:
    with pytest.raises(InvalidAgentCardError) as refusal:
        read_card(body, url=URL)
    assert refusal.value.problem is CardProblem.NOT_A_CARD
    assert refusal.value.reason == reason


@pytest.mark.parametrize(
    "members",
    [
        {"skills": None},
        {"skills": "x"},
        {"skills": [None, "x"]},
        {"capabilities": ["streaming"]},
        {"capabilities": None},
        {"capabilities": {"streaming": None, "extensions": None}},
        {"capabilities": {"streaming": "yes", "extensions": ["x", None]}},
        {"defaultInputModes": None, "defaultOutputModes": "text"},
        {"description": None, "version": 7, "documentationUrl": ""},
        {"securitySchemes": [], "signatures": {}, "provider": None, "iconUrl": 7},
    ],
)
@pytest.mark.spec("CARD-10")
def test_what_no_call_needs_may_be_wrong(members: Mapping[str, object]) -> None:
    card = read({**OLD, **members})
    assert [one.url for one in card.interfaces] == [RPC]
    assert not card.capabilities.streaming
    assert card.capabilities.extensions == ()
    for name, kind in (("skills", list), ("capabilities", dict)):
        noted = any(note.startswith(f"{name} is ") for note in card.notes)
        assert noted is not isinstance(members.get(name, kind()), kind)


def test_a_skill_may_say_as_little_as_it_likes() -> None:
    (skill,) = read({**OLD, "skills": [{"tags": None, "examples": [7]}]}).skills
    assert skill == AgentSkill("", "")


@pytest.mark.parametrize(
    ("members", "offers"),
    [
        ({"capabilities": {"extendedAgentCard": True}}, True),
        ({"supportsAuthenticatedExtendedCard": True}, True),
        ({"supportsExtendedAgentCard": True}, True),
        ({"capabilities": {"extendedAgentCard": "yes"}}, False),
        ({}, False),
    ],
)
def test_the_extended_card_is_announced_in_three_ways(
    members: Mapping[str, object],
    offers: bool,  # noqa: FBT001 - a value of the table
) -> None:
    assert read({**OLD, **members}).capabilities.extended_agent_card is offers


@pytest.mark.spec("GATE-3")
def test_a_card_given_as_an_object_is_read_like_one_that_was_fetched() -> None:
    assert card_from(OLD, url=URL) == read(OLD)
    with pytest.raises(InvalidAgentCardError):
        card_from({"name": "A", 7: 8}, url=URL)


@given(
    st.binary(max_size=60).map(lambda body: (body, None))
    | (json_values | json_objects).map(lambda value: (None, value))
    | json_objects.map(lambda members: (None, {**OLD, **members}))
    | json_objects.map(lambda members: (None, {**NEW, **members}))
)
@pytest.mark.spec("GATE-3")
def test_nothing_makes_the_reader_raise_but_its_refusals(
    document: tuple[bytes | None, object],
) -> None:
    body, value = document
    try:
        card = read_card(json.dumps(value).encode() if body is None else body, url=URL)
    except (InvalidAgentCardError, A2AProtocolMismatchError):
        return
    assert card.name
    assert card.interfaces
