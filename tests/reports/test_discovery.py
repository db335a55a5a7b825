"""Finding an agent: where its card is, and which address is used."""

from __future__ import annotations

import httpx
import pytest
import respx

from a2a_delegate import (
    A2ADelegate,
    CardProblem,
    Completed,
    InvalidAgentCardError,
    UnsafeEndpointError,
    fetch_agent_card,
)
from a2a_delegate.testing import (
    Operation,
    Redirect,
    ScriptedPeer,
)
from tests.reports.cards import at, card_of, found, shows
from tests.reports.staging import (
    CARD,
    OLD_CARD,
    ORIGIN,
    TLS,
    VERSIONS,
    card_place,
    delegate_of,
    requests_of,
)

pytestmark = [pytest.mark.anyio, pytest.mark.virtual_time]


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
