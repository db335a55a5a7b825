"""Where a card may be, given what a person types."""

from __future__ import annotations

import pytest

from a2a_delegate.errors import UnsafeEndpointError, UsageError
from a2a_delegate.peer.places import places_of

NEW, OLD = "/.well-known/agent-card.json", "/.well-known/agent.json"


def shown(typed: str) -> list[str]:
    return [str(place) for place in places_of(typed)]


@pytest.mark.spec("CARD-1", "CARD-2")
@pytest.mark.parametrize(
    "typed", ["https://h.example", "https://h.example/", "https://h.example//"]
)
def test_a_host_has_its_card_in_the_new_place_or_in_the_old(typed: str) -> None:
    assert shown(typed) == ["https://h.example" + NEW, "https://h.example" + OLD]


@pytest.mark.spec("CARD-2")
@pytest.mark.parametrize(
    "typed", ["https://h.example/a/b", "https://h.example/a/b/", "https://h.example/a/b///"]
)
def test_below_a_path_comes_before_the_root(typed: str) -> None:
    assert shown(typed) == [
        "https://h.example/a/b" + NEW,
        "https://h.example/a/b" + OLD,
        "https://h.example" + NEW,
        "https://h.example" + OLD,
    ]


@pytest.mark.spec("CARD-2")
@pytest.mark.parametrize(
    "typed",
    [
        "https://h.example/.well-known/agent-card.json",
        "https://h.example/.well-known/agent.json",
        "https://h.example/cards/mine.json?version=2",
        "http://localhost:8000/a/.well-known/agent-card.json",
    ],
)
def test_the_full_url_of_a_card_is_the_only_place(typed: str) -> None:
    assert shown(typed) == [typed]


def test_a_slash_behind_the_full_url_of_a_card_is_a_slip() -> None:
    assert shown(f"https://h.example/a{NEW}/") == [f"https://h.example/a{NEW}"]


def test_the_folder_of_cards_stands_for_its_host() -> None:
    assert shown("https://h.example/a/.well-known/") == shown("https://h.example/a")


def test_a_query_stays_and_a_fragment_goes() -> None:
    assert shown("https://h.example/?tenant=t#skills") == [
        f"https://h.example{NEW}?tenant=t",
        f"https://h.example{OLD}?tenant=t",
    ]


def test_an_encoded_slash_stays_one() -> None:
    assert shown("https://h.example/a%2Fb")[0] == f"https://h.example/a%2Fb{NEW}"


def test_spaces_around_are_a_slip() -> None:
    assert shown(" https://h.example\n") == shown("https://h.example")


@pytest.mark.parametrize(
    ("typed", "example"),
    [
        ("h.example/a", "'https://h.example/a'"),
        ("h.example:8443", "'https://h.example:8443'"),
        ("//h.example", "'https://h.example'"),
        ("localhost:8000", "'http://localhost:8000'"),
        ("127.0.0.1:8000", "'http://127.0.0.1:8000'"),
        ("", "'https://agent.example'"),
        ("/", "'https://agent.example'"),
        ("mailto:a", "'https://mailto:a'"),
    ],
)
def test_an_address_without_a_scheme_is_answered_with_one_to_type(typed: str, example: str) -> None:
    with pytest.raises(UsageError) as refusal:
        places_of(typed)
    assert f"such as {example}" in str(refusal.value)


@pytest.mark.parametrize(
    "typed", ["ftp://h.example", "https://", "https://h.example:99999", "https://h.exa mple/"]
)
def test_what_is_no_address_is_refused(typed: str) -> None:
    with pytest.raises(UsageError, match="is no URL of an agent"):
        places_of(typed)


@pytest.mark.parametrize("typed", [None, 5, b"https://h.example"])
def test_what_is_no_text_is_refused(typed: object) -> None:
    with pytest.raises(UsageError, match="the URL of an agent is text"):
        places_of(typed)  # type: ignore[arg-type]


def test_credentials_in_an_address_are_refused_and_not_shown() -> None:
    with pytest.raises(UnsafeEndpointError, match="user information") as refusal:
        places_of("https://me:s3cret@h.example")
    assert "s3cret" not in str(refusal.value)


@pytest.mark.parametrize(
    "typed", ["me:s3cret@h.example/a", "s3cret@h.example/a", "me:s3cret@x@h.example/a"]
)
def test_credentials_in_an_address_without_a_scheme_are_not_shown(typed: str) -> None:
    with pytest.raises(UsageError, match=r"such as 'https://h\.example/a'") as refusal:
        places_of(typed)
    assert "s3cret" not in str(refusal.value)
