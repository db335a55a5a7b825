"""211 documents that people published as agent cards, and the right verdict on each."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from a2a_delegate.errors import A2AProtocolMismatchError, InvalidAgentCardError
from a2a_delegate.wire.card_reader import read_card
from a2a_delegate.wire.gate import agree

CARDS = Path(__file__).parents[1] / "data" / "cards"

with (CARDS / "expected.csv").open(encoding="utf-8", newline="") as table:
    ROWS = list(csv.DictReader(table))

# On these another fair client may differ. The words of the notes that call them doubtful, and why
# they are decided as they are.
DECIDED = {
    "is close to a known one": (
        "a binding is one of three words: `json-rpc`, `REST` or an enum's name may mean another "
        "wire, and the next interface or the url may be a better one"
    ),
    "under another spelling": (
        "snake_case or plural versions are not read: such a document follows no version of the "
        "card, so it is taken as the oldest family, and the gate asks no more of it"
    ),
    "placeholder host": "an address that cannot be reached is found out by calling it",
    "url points at an MCP endpoint": (
        "a path tells nothing: the first reply does, and the message is then provably not begun"
    ),
    "says 1.0 but only has the old url": (
        "the version is what the card says most plainly; a wrong one is refused by the peer before "
        "anything runs, and the downgrade is there for it"
    ),
    "thin A2A shape": "one member in A2A's own type is enough beside a name and an address",
    "skills missing": "no call needs skills, and servers leave out an empty list",
    "skills not a list of objects": "no call needs skills",
    "name and url only": (
        "web pages, tools and packages have a name and a url as well; a message is sent to nobody "
        "on that evidence"
    ),
    "too little A2A shape": "without an address there is nothing to call, whatever it is",
    "url template": "a template has no host; filling it in would be a guess",
    "gave nothing usable, fell back to url": (
        "the url of 0.3 is still the card's own word for where it answers"
    ),
    "interface without protocolVersion": (
        "the card's own version is the nearest thing said; without one the list itself is 1.0's"
    ),
    "HTTP+JSON was not in every 0.2.x": (
        "the card names it, and so it is read; but which 0.2 it is nobody can tell, nor what a "
        "body holds there, so the gate takes the next interface or refuses it by name"
    ),
    "other faults too": "the version is refused first: it explains the other faults",
    "port 0": "a port is a number; whether something answers there is found out by calling",
    "top-level protocolVersion 1.2": "an interface's own version goes before the card's",
}


def verdict(number: str) -> tuple[str, str, str]:
    """Return (verdict, family, bindings) in the words of the table."""
    try:
        card = read_card((CARDS / "cards" / f"{number}.json").read_bytes(), url="https://x.example")
    except InvalidAgentCardError as refusal:
        return f"refuse-{refusal.problem}", "", ""
    except A2AProtocolMismatchError:
        return "refuse-version", "", ""
    family = card.interfaces[0].version
    bindings = [one.binding.lower() for one in card.interfaces if one.version is family]
    return "accept", family.value, " ".join(dict.fromkeys(bindings))


def test_all_of_them_are_here() -> None:
    assert len(ROWS) == 211
    assert sum(row["verdict"] == "accept" for row in ROWS) == 115


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["n"])
@pytest.mark.spec("GATE-1", "GATE-2", "CARD-4", "CARD-5", "CARD-6", "CARD-10", "CARD-11")
def test_the_verdict_is_the_right_one(row: dict[str, str]) -> None:
    assert verdict(row["n"]) == (row["verdict"], row["family"], row["bindings"])


def test_every_doubt_has_been_decided() -> None:
    doubtful = [row for row in ROWS if row["note"].startswith("doubtful")]
    reasons = {row["n"]: [words for words in DECIDED if words in row["note"]] for row in doubtful}
    assert [number for number, found in reasons.items() if not found] == []
    assert {words for found in reasons.values() for words in found} == set(DECIDED)


@pytest.mark.parametrize(
    "row", [row for row in ROWS if row["verdict"] == "accept"], ids=lambda row: row["n"]
)
@pytest.mark.spec("CARD-7", "GATE-4")
def test_the_gate_uses_what_is_spoken_and_names_what_is_not(row: dict[str, str]) -> None:
    card = read_card((CARDS / "cards" / f"{row['n']}.json").read_bytes(), url="https://x.example")
    agreed = agree(card, is_bound=lambda _: None).interface
    assert agreed.version.value == row["family"]
    assert agreed.binding.value.lower() == row["bindings"].split()[0]


def test_every_card_that_offers_http_json_is_here() -> None:
    assert len([row for row in ROWS if "http+json" in row["bindings"].split()]) == 13


@pytest.mark.parametrize(("number", "theirs"), [("134", "0.1.0"), ("137", "0.1")])
@pytest.mark.spec("GATE-4", "WIRE-15")
def test_a_card_of_0_1_is_refused_by_its_version(number: str, theirs: str) -> None:
    with pytest.raises(A2AProtocolMismatchError) as refusal:
        read_card((CARDS / "cards" / f"{number}.json").read_bytes(), url="https://x.example")
    sentence = f"https://x.example offers {theirs}; this client speaks 0.2, 0.3, 1.0"
    assert str(refusal.value) == sentence
