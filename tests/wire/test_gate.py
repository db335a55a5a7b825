from __future__ import annotations

import pytest

from a2a_delegate.errors import (
    A2AProtocolMismatchError,
    CardProblem,
    InvalidAgentCardError,
    UnsafeEndpointError,
)
from a2a_delegate.model.card import (
    AgentCapabilities,
    AgentCard,
    AgentExtension,
    AgentInterface,
    Binding,
    ProtocolVersion,
)
from a2a_delegate.wire.gate import Agreement, agree

V02, V03, V10 = ProtocolVersion.V0_2, ProtocolVersion.V0_3, ProtocolVersion.V1_0
RPC, REST, GRPC = Binding.JSONRPC, Binding.HTTP_JSON, Binding.GRPC


def interface(
    version: ProtocolVersion, binding: Binding = RPC, host: str = "agent.example"
) -> AgentInterface:
    return AgentInterface(f"https://{host}/{binding.lower()}/{version}", binding, version)


def card(*interfaces: AgentInterface, extensions: tuple[AgentExtension, ...] = ()) -> AgentCard:
    return AgentCard(
        name="Agent",
        interfaces=interfaces,
        capabilities=AgentCapabilities(extensions=extensions),
        source="https://agent.example/",
    )


def bound(url: str) -> None:
    """Bind one host, as a caller's origin rules do."""
    if not url.startswith("https://agent.example/"):
        raise UnsafeEndpointError(url=url, reason="not bound")


NEW, OLD, OLDEST = interface(V10), interface(V03), interface(V02)
NEW_REST, OLD_REST = interface(V10, REST), interface(V03, REST)
NEW_GRPC, OLD_GRPC = interface(V10, GRPC), interface(V03, GRPC)
OLDEST_REST = interface(V02, REST)
NEW_AWAY, OLD_AWAY = interface(V10, host="away.example"), interface(V03, host="away.example")


@pytest.mark.parametrize(
    ("interfaces", "agreement"),
    [
        ([NEW], Agreement(NEW)),
        ([OLD], Agreement(OLD)),
        ([NEW, OLD], Agreement(NEW, downgrade=OLD)),
        ([OLD, NEW], Agreement(OLD, lookup=NEW, downgrade=NEW)),
        ([OLDEST], Agreement(OLDEST)),
        ([OLDEST, OLD], Agreement(OLDEST, downgrade=OLD)),
        ([OLDEST, OLD, NEW], Agreement(OLDEST, lookup=NEW, downgrade=OLD)),
        ([NEW_REST], Agreement(NEW_REST)),
        ([OLD_REST], Agreement(OLD_REST)),
        ([NEW_REST, NEW], Agreement(NEW_REST, detours=(NEW,))),
        ([NEW_REST, NEW_GRPC, OLD, NEW], Agreement(NEW_REST, downgrade=OLD, detours=(NEW,))),
        ([OLD_REST, NEW_GRPC, OLD, NEW_REST], Agreement(OLD_REST, NEW_REST, NEW_REST, (OLD,))),
        ([OLD, NEW_REST, NEW], Agreement(OLD, lookup=NEW_REST, downgrade=NEW_REST)),
        (
            [OLDEST_REST, NEW_GRPC, OLDEST, OLD_REST],
            Agreement(OLDEST_REST, downgrade=OLD_REST, detours=(OLDEST,)),
        ),
        ([NEW, NEW], Agreement(NEW)),
        ([NEW, NEW, OLD, OLD], Agreement(NEW, downgrade=OLD)),
    ],
)
@pytest.mark.spec("CARD-7", "GATE-5", "GATE-6", "GATE-7", "GATE-8")
def test_the_first_that_is_spoken_is_used(
    interfaces: list[AgentInterface], agreement: Agreement
) -> None:
    assert agree(card(*interfaces), is_bound=bound) == agreement


@pytest.mark.spec("CARD-9")
def test_the_address_is_the_one_declared_byte_for_byte() -> None:
    odd = AgentInterface("HTTPS://agent.example:443//a/../b?x=%7e#f", RPC, V10, "tenant")
    agreement = agree(card(odd), is_bound=lambda _: None)
    assert agreement.interface is odd


@pytest.mark.spec("GATE-4")
def test_a_card_without_a_version_that_is_spoken_is_refused_and_ours_are_named() -> None:
    # A card that was read has one: the reader leaves out, and refuses, what it does not know.
    with pytest.raises(A2AProtocolMismatchError) as refusal:
        agree(card(), is_bound=bound)
    assert (refusal.value.theirs, refusal.value.ours) == ((), ("0.2", "0.3", "1.0"))
    assert refusal.value.url == "https://agent.example/"


@pytest.mark.parametrize(
    ("interfaces", "reason"),
    [
        ([NEW_GRPC], "GRPC 1.0 is not spoken"),
        ([OLD_GRPC, NEW_GRPC], "GRPC 0.3 and GRPC 1.0 are not spoken"),
    ],
)
@pytest.mark.spec("GATE-4")
def test_what_is_not_spoken_is_refused_by_version_and_binding(
    interfaces: list[AgentInterface], reason: str
) -> None:
    with pytest.raises(InvalidAgentCardError) as refusal:
        agree(card(*interfaces), is_bound=bound)
    assert refusal.value.problem is CardProblem.NO_USABLE_INTERFACE
    assert refusal.value.reason == reason


@pytest.mark.spec("CARD-18")
def test_an_interface_that_is_not_bound_is_refused_even_beside_one_that_is() -> None:
    with pytest.raises(UnsafeEndpointError) as refusal:
        agree(card(NEW_AWAY, NEW), is_bound=bound)
    assert refusal.value.url == NEW_AWAY.url


@pytest.mark.parametrize(
    ("interfaces", "agreement"),
    [
        ([NEW, OLD_AWAY], Agreement(NEW)),
        ([OLD, NEW_AWAY], Agreement(OLD)),
        ([NEW, OLD_AWAY, OLD], Agreement(NEW, downgrade=OLD)),
        ([OLD, NEW_AWAY, NEW], Agreement(OLD, lookup=NEW, downgrade=NEW)),
    ],
)
@pytest.mark.spec("CARD-18", "GATE-5", "GATE-6")
def test_a_second_way_that_is_not_bound_is_not_offered(
    interfaces: list[AgentInterface], agreement: Agreement
) -> None:
    assert agree(card(*interfaces), is_bound=bound) == agreement


REQUIRED = AgentExtension("https://e.example/required", required=True)
OPTIONAL = AgentExtension("https://e.example/optional")


@pytest.mark.spec("BIND-4")
def test_a_required_extension_is_named() -> None:
    wants = card(NEW, extensions=(OPTIONAL, REQUIRED, AgentExtension("", required=True)))
    with pytest.raises(InvalidAgentCardError) as refusal:
        agree(wants, is_bound=bound)
    assert refusal.value.problem is CardProblem.EXTENSION_REQUIRED
    assert refusal.value.reason.endswith("https://e.example/required, one without a URI")
    assert OPTIONAL.uri not in str(refusal.value)


@pytest.mark.spec("BIND-4")
def test_a_required_extension_that_the_caller_speaks_is_no_obstacle() -> None:
    wants = card(NEW, extensions=(OPTIONAL, REQUIRED))
    assert agree(wants, is_bound=bound, extensions=(REQUIRED.uri,)) == Agreement(NEW)
    with pytest.raises(InvalidAgentCardError):
        agree(wants, is_bound=bound, extensions=(OPTIONAL.uri,))


@pytest.mark.spec("BIND-4")
def test_an_optional_extension_is_no_obstacle() -> None:
    assert agree(card(NEW, extensions=(OPTIONAL,)), is_bound=bound) == Agreement(NEW)


def test_a_card_made_by_hand_is_named_by_its_interface() -> None:
    with pytest.raises(InvalidAgentCardError) as refusal:
        agree(AgentCard(name="Agent", interfaces=(NEW_GRPC,)), is_bound=bound)
    assert refusal.value.url == NEW_GRPC.url
    with pytest.raises(A2AProtocolMismatchError) as nothing:
        agree(AgentCard(name="Agent", interfaces=()), is_bound=bound)
    assert nothing.value.url == ""
