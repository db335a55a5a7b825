"""The command `card`: what a card says, and what of it would be used."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from a2a_delegate.cli.card_view import Looked, card_object, card_text, judge
from a2a_delegate.errors import UsageError
from a2a_delegate.testing import Hang, Operation, Respond
from a2a_delegate.wire.card_reader import card_from
from tests.cli.command import invoke, run

if TYPE_CHECKING:
    from tests.cli.peer_on_a_port import PeerOnAPort

SOURCE = "https://agent.example"
MEMBERS = {
    "url",
    "usable",
    "name",
    "description",
    "version",
    "interfaces",
    "capabilities",
    "default_input_modes",
    "default_output_modes",
    "skills",
    "notes",
    "error",
}


def interface(
    version: str = "1.0", binding: str = "JSONRPC", url: str = f"{SOURCE}/rpc", **others: str
) -> dict[str, str]:
    return {"url": url, "protocolBinding": binding, "protocolVersion": version, **others}


def looked_at(
    *interfaces: dict[str, str], allowed: tuple[str, ...] = (), **others: object
) -> Looked:
    """Let the gate judge a card with these interfaces, found at the typed address."""
    card = {
        "name": "Agent",
        "capabilities": {},
        "skills": [],
        "supportedInterfaces": list(interfaces),
        **others,
    }
    return judge(SOURCE, card_from(card, url=SOURCE), allowed_origins=allowed)


def text_of(looked: Looked) -> str:
    assert looked.card is not None
    return card_text(looked.card, looked.why_not)


@pytest.mark.spec("CLI-21")
def test_a_card_is_shown_with_the_interface_that_would_be_used(peer: PeerOnAPort) -> None:
    done = run("card", peer.origin)
    assert (done.status, done.err) == (0, "")
    assert (
        done.out.decode()
        == f"""\
Scripted peer 1.0.0
A scripted peer of a2a_delegate.testing

Interfaces
  used JSONRPC 1.0 {peer.origin}/rpc

Capabilities
  streaming: no
  push notifications: no
  extended card: no

Skills
  Scripted work: Does what the first word of the message says [test]
"""
    )


@pytest.mark.spec("CLI-22")
def test_a_card_is_one_json_object(peer: PeerOnAPort) -> None:
    done = run("card", peer.origin, "--json")
    told = json.loads(done.out)
    assert (done.status, done.err, set(told)) == (0, "", MEMBERS)
    assert told["usable"] is True
    assert told["name"] == "Scripted peer"
    assert told["interfaces"] == [
        {
            "url": f"{peer.origin}/rpc",
            "binding": "JSONRPC",
            "version": "1.0",
            "tenant": None,
            "used": True,
            "why_not": None,
        }
    ]
    assert told["skills"][0]["examples"] == ["slow 3"]
    assert told["error"] is None


@pytest.mark.spec("CLI-22")
@pytest.mark.parametrize(
    ("url", "status", "kind"),
    [
        ("http://127.0.0.1:1", 3, "PeerUnreachableError"),
        ("http://user:pass@127.0.0.1:1", 3, "UnsafeEndpointError"),
        ("agent.example", 2, "UsageError"),
    ],
)
def test_a_card_that_is_not_there_is_told_in_either_form(url: str, status: int, kind: str) -> None:
    spelled = invoke("card", url, "--json")
    told = json.loads(spelled.out)
    assert (spelled.status, spelled.err, set(told)) == (status, "", MEMBERS)
    assert (told["usable"], told["name"], told["interfaces"]) == (False, None, [])
    assert told["error"]["type"] == kind
    plain = invoke("card", url)
    assert (plain.status, plain.out) == (status, b"")
    assert plain.err.count("\n") == 1
    assert "pass" not in plain.err + spelled.out.decode()


@pytest.mark.spec("CLI-21", "CLI-22")
def test_a_card_that_cannot_be_used_is_shown_with_the_reason(peer: PeerOnAPort) -> None:
    url = "http://127.0.0.1:1/rpc"
    card = json.dumps(
        {"name": "S", "capabilities": {}, "supportedInterfaces": [interface(url=url)]}
    )
    peer.do(lambda it: it.always(Operation.CARD, Respond(200, {}, card)))
    done = invoke("card", peer.origin)
    assert done.status == 3
    assert f"not used JSONRPC 1.0 {url}" in done.out.decode()
    assert "--allow-origin http://127.0.0.1:1" in done.out.decode()
    assert "refused to talk to http://127.0.0.1:1/rpc" in done.err
    allowed = invoke("card", peer.origin, "--allow-origin", "http://127.0.0.1:1")
    assert allowed.status == 0
    assert f"  used JSONRPC 1.0 {url}" in allowed.out.decode()


@pytest.mark.spec("CLI-14")
def test_the_search_for_a_card_ends_with_its_timeout(peer: PeerOnAPort) -> None:
    peer.do(lambda it: it.always(Operation.CARD, Hang()))
    for words in (("card", peer.origin), ("send", peer.origin, "hi")):
        done = invoke(*words, "--timeout", "0.2")
        assert done.status == 3
        assert "no answer within 0.2 seconds" in done.err


@pytest.mark.spec("CLI-14")
def test_a_timeout_of_zero_is_none(peer: PeerOnAPort) -> None:
    assert invoke("card", peer.origin, "--timeout", "0").status == 0
    assert invoke("send", peer.origin, "hi", "--timeout", "0").status == 0


@pytest.mark.spec("CLI-21")
def test_every_interface_says_why_it_is_not_used() -> None:
    looked = looked_at(
        interface(binding="GRPC"),
        interface("0.2", binding="HTTP+JSON"),
        interface("0.2"),
        interface(),
        interface(),
        interface(url="https://stranger.example/"),
    )
    earlier = "an earlier one is used"
    older = "send --allow-downgrade tries it once where the used one is refused"
    stranger = "its origin is not one that you bound (https://agent.example)"
    assert looked.error is None
    assert looked.why_not == (
        "GRPC is not spoken (JSONRPC and HTTP+JSON are)",
        None,
        f"{earlier}; it is tried where that cannot be reached",
        f"{earlier}; it is only asked what became of a lost reply; {older}",
        earlier,
        f"{stranger}; if you trust it, allow it with --allow-origin https://stranger.example",
    )


@pytest.mark.spec("CLI-21")
def test_an_interface_that_a_card_lists_twice_is_shown_once() -> None:
    looked = looked_at(interface(), interface(), interface(binding="HTTP+JSON"), interface())
    told = text_of(looked)
    assert told.count("JSONRPC 1.0") == 1
    assert "  used JSONRPC 1.0" in told
    assert "not used HTTP+JSON 1.0" in told
    assert len(looked.why_not) == 4, "the card itself is told as it is, with --json"


@pytest.mark.spec("CLI-21")
def test_a_card_that_requires_what_is_not_spoken_is_refused_as_a_whole() -> None:
    extension = {"uri": "https://x.example/e", "required": True}
    looked = looked_at(interface(), capabilities={"extensions": [extension]})
    assert looked.why_not == ("the card is refused",)
    assert "https://x.example/e" in str(looked.error)
    told = card_object(looked)
    assert told["usable"] is False
    assert "  extension, required: https://x.example/e" in text_of(looked)


@pytest.mark.spec("CLI-21")
def test_what_a_card_says_is_bounded_and_inert() -> None:
    hostile = "\x1b]0;pwned\x07\u202e"
    skill = {"id": "s", "name": f"skill {hostile}", "description": "d" * 10_000, "tags": [hostile]}
    looked = looked_at(
        interface(tenant=f"t {hostile}"),
        name=f"name {hostile}",
        description=f"{hostile} {'d' * 10_000}",
        version="v" * 10_000,
        skills=[skill] * 1_000,
    )
    told = text_of(looked)
    assert len(told) < 30_000
    assert r"name \x1b]0;pwned\x07\u202e" in told
    assert r"tenant t \x1b]0;pwned" in told
    assert "… and 950 more" in told
    assert not {"\x1b", "\x07", "\u202e"} & set(told)


@pytest.mark.spec("CLI-21")
def test_skills_and_notes_are_shown_by_what_they_have() -> None:
    looked = looked_at(
        {"url": f"{SOURCE}/rpc", "protocolBinding": "JSONRPC"},
        skills=[{"id": "only-an-id"}, {"id": "a", "name": "A"}, {"id": "b", "description": "does"}],
    )
    lines = text_of(looked).splitlines()
    skills = lines.index("Skills")
    assert lines[skills + 1 : skills + 4] == ["  only-an-id", "  A", "  b: does"]
    assert lines[lines.index("Notes") + 1].startswith("  an interface without protocolVersion")


@pytest.mark.spec("CLI-3")
def test_an_origin_that_is_none_is_wrong_usage() -> None:
    with pytest.raises(UsageError, match="an allowed origin has no path"):
        looked_at(interface(), allowed=("https://x.example/path",))
    done = invoke("card", "http://127.0.0.1:1", "--allow-origin", "x.example")
    assert (done.status, done.out) == (2, b"")
