"""Finding a card: every place, every refusal, one deadline."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import httpx
import pytest

from a2a_delegate.errors import (
    A2AProtocolMismatchError,
    InvalidAgentCardError,
    PeerUnreachableError,
    UnsafeEndpointError,
    UsageError,
)
from a2a_delegate.model.card import ProtocolVersion
from a2a_delegate.peer.discovery import CardSource
from tests.bindings.loopback import Line, closed_port, peer, reply

if TYPE_CHECKING:
    import respx

    from a2a_delegate.model.card import AgentCard

pytestmark = pytest.mark.anyio

BASE = "https://agent.example"
NEW, OLD = "/.well-known/agent-card.json", "/.well-known/agent.json"
CARD = {
    "name": "Researcher",
    "version": "1.2.0",
    "supportedInterfaces": [
        {"url": f"{BASE}/rpc", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
    ],
    "capabilities": {},
    "skills": [],
}


async def fetch(
    typed: str = BASE,
    *,
    auth: httpx.Auth | None = None,
    headers: dict[str, str] | None = None,
    max_bytes: int = 100_000,
) -> AgentCard:
    async with httpx.AsyncClient() as client:
        source = CardSource(typed, client=client, auth=auth, headers=headers, max_bytes=max_bytes)
        return await source.look()


class NoWait:
    """A sleep that only keeps the books."""

    def __init__(self) -> None:
        self.waits: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.waits.append(seconds)


@pytest.mark.spec("CARD-1", "CARD-3", "CARR-17")
async def test_a_card_is_read_and_remembers_what_was_typed(respx_mock: respx.MockRouter) -> None:
    route = respx_mock.get(BASE + NEW).respond(json=CARD)
    card = await fetch(f"{BASE}/#about")
    assert card.name == "Researcher"
    assert card.interfaces[0].version is ProtocolVersion.V1_0
    assert card.source == f"{BASE}/#about"
    request = route.calls.last.request
    assert request.headers["A2A-Version"] == "1.0"
    assert request.headers["Accept"] == "application/json"


@pytest.mark.spec("CARD-3")
async def test_a_card_of_the_older_shape_is_read_as_well(respx_mock: respx.MockRouter) -> None:
    old = {"name": "Old", "url": f"{BASE}/", "protocolVersion": "0.3.0", "capabilities": {}}
    respx_mock.get(BASE + NEW).respond(json=old)
    assert (await fetch()).interfaces[0].version is ProtocolVersion.V0_3


@pytest.mark.spec("CARD-1")
@pytest.mark.parametrize("status", [401, 404, 405])
async def test_a_place_without_a_card_sends_the_search_on(
    respx_mock: respx.MockRouter, status: int
) -> None:
    respx_mock.get(BASE + NEW).respond(status)
    respx_mock.get(BASE + OLD).respond(json=CARD)
    assert (await fetch()).name == "Researcher"


@pytest.mark.spec("CARD-1")
@pytest.mark.parametrize("status", [400, 403, 410, 500, 501])
async def test_any_other_refusal_ends_the_search(respx_mock: respx.MockRouter, status: int) -> None:
    respx_mock.get(BASE + NEW).respond(status, text="broken at line 7")
    old = respx_mock.get(BASE + OLD).respond(json=CARD)
    with pytest.raises(InvalidAgentCardError, match="broken at line 7") as refusal:
        await fetch()
    assert refusal.value.status == status
    assert refusal.value.url == BASE + NEW
    assert not old.called


@pytest.mark.spec("CARD-1")
async def test_which_statuses_send_the_search_on_can_be_said(
    respx_mock: respx.MockRouter,
) -> None:
    respx_mock.get(BASE + NEW).respond(401)
    async with httpx.AsyncClient() as client:
        source = CardSource(BASE, client=client, fall_back_on={404})
        with pytest.raises(InvalidAgentCardError, match="credentials"):
            await source.look()


@pytest.mark.spec("CARD-2")
async def test_below_the_typed_path_comes_before_the_root(respx_mock: respx.MockRouter) -> None:
    asked = [respx_mock.get(f"{BASE}/a/b{path}").respond(404) for path in (NEW, OLD)]
    respx_mock.get(BASE + NEW).respond(json=CARD)
    card = await fetch(f"{BASE}/a/b/")
    assert all(route.called for route in asked)
    assert card.source == f"{BASE}/a/b/"


@pytest.mark.spec("CARD-2")
async def test_the_full_url_of_a_card_is_asked_alone(respx_mock: respx.MockRouter) -> None:
    respx_mock.get(f"{BASE}/cards/mine.json").respond(404)
    with pytest.raises(InvalidAgentCardError, match="HTTP 404"):
        await fetch(f"{BASE}/cards/mine.json")


async def test_of_several_refusals_the_most_telling_is_reported(
    respx_mock: respx.MockRouter,
) -> None:
    respx_mock.get(f"{BASE}/a{NEW}").respond(404)
    respx_mock.get(f"{BASE}/a{OLD}").respond(401)
    respx_mock.get(BASE + NEW).respond(404)
    respx_mock.get(BASE + OLD).respond(405)
    with pytest.raises(InvalidAgentCardError) as refusal:
        await fetch(f"{BASE}/a")
    assert refusal.value.status == 401
    assert "3 other places" in str(refusal.value)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "empty"),
        (b"<html><body>welcome</body></html>", "JSON"),
        (b"[]", "list|array"),
        (b"{}", "no name"),
        (b"null", "null"),
        (b"\xff\xfe", "UTF-8"),
        (b'{"name": "x"}', "no more of a card"),
        (b"[" * 50_000, "JSON|deep|levels"),
    ],
)
async def test_an_answer_that_is_no_card_is_refused(
    respx_mock: respx.MockRouter, content: bytes, reason: str
) -> None:
    respx_mock.get(BASE + NEW).respond(200, content=content)
    with pytest.raises(InvalidAgentCardError, match=reason) as refusal:
        await fetch()
    assert (refusal.value.status, refusal.value.url) == (200, BASE + NEW)


async def test_a_card_of_unknown_versions_is_a_mismatch(respx_mock: respx.MockRouter) -> None:
    interface = {**CARD["supportedInterfaces"][0], "protocolVersion": "2.0"}  # type: ignore[index]
    respx_mock.get(BASE + NEW).respond(json={**CARD, "supportedInterfaces": [interface]})
    with pytest.raises(A2AProtocolMismatchError, match=r"2\.0"):
        await fetch()


async def test_a_page_of_markup_is_not_quoted(respx_mock: respx.MockRouter) -> None:
    respx_mock.get(BASE + NEW).respond(500, html="<html>sorry</html>")
    with pytest.raises(InvalidAgentCardError) as refusal:
        await fetch()
    assert "sorry" not in str(refusal.value)


@pytest.mark.spec("CARR-6", "CARR-18")
@pytest.mark.parametrize(
    ("location", "target"),
    [
        ("https://other.example/card?token=s3cret", "https://other.example,"),
        ("/elsewhere", f"{BASE},"),
        ("http://agent.example/", "http://agent.example,"),
        ("//evil.example/x", "https://evil.example,"),
        ("https://me:s3cret@evil.example/", "somewhere that cannot be read"),
    ],
)
async def test_a_redirect_is_not_followed_and_its_target_is_named(
    respx_mock: respx.MockRouter, location: str, target: str
) -> None:
    respx_mock.get(BASE + NEW).respond(302, headers={"Location": location})
    with pytest.raises(InvalidAgentCardError, match="redirects") as refusal:
        await fetch(auth=httpx.BasicAuth("me", "pass"))
    assert target in str(refusal.value)
    assert "s3cret" not in str(refusal.value)
    assert refusal.value.status == 302


@pytest.mark.spec("CARR-8")
async def test_a_card_without_an_end_is_refused() -> None:
    async def talk(line: Line) -> None:
        await line.hear()
        await line.say(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        while True:
            await line.say(b"4000\r\n" + b" " * 0x4000 + b"\r\n")

    async with peer(talk) as there:
        with pytest.raises(InvalidAgentCardError, match="larger than 100000 bytes") as refusal:
            await fetch(there.url)
    assert refusal.value.status == 200


@pytest.mark.spec("CARR-15")
async def test_nobody_there_is_told_after_a_few_attempts() -> None:
    no_wait = NoWait()
    async with httpx.AsyncClient() as client:
        typed = f"http://127.0.0.1:{await closed_port()}"
        source = CardSource(typed, client=client, sleep=no_wait)
        with pytest.raises(PeerUnreachableError, match="connect") as refusal:
            await source.look()
    assert refusal.value.phase == "card"
    assert isinstance(refusal.value.__cause__, httpx.ConnectError)
    assert len(no_wait.waits) == 2


async def test_a_handshake_that_fails_is_not_tried_again() -> None:
    async def talk(line: Line) -> None:
        await line.say(b"plain text\r\n" * 20)
        await line.closed_by_client()

    async with peer(talk) as there:
        with pytest.raises(PeerUnreachableError, match="tls") as refusal:
            await fetch(there.url.replace("http:", "https:"))
    assert refusal.value.phase == "card"
    assert len(there.lines) == 1


@pytest.mark.parametrize(
    ("said", "kind", "status"),
    [
        (b"", PeerUnreachableError, None),
        (b"SSH-2.0-OpenSSH_9.6\r\n\r\n", InvalidAgentCardError, None),
        (reply(b'{"name":', length=900), InvalidAgentCardError, 200),
    ],
)
async def test_silence_is_told_from_an_answer_that_is_none(
    said: bytes, kind: type[Exception], status: int | None
) -> None:
    async def talk(line: Line) -> None:
        await line.hear()
        await line.say(said)

    async with peer(talk) as there, httpx.AsyncClient() as client:
        source = CardSource(there.url, client=client, sleep=NoWait())
        with pytest.raises(kind) as refusal:
            await source.look()
    assert len(there.lines) == 3
    assert getattr(refusal.value, "status", None) == status
    assert refusal.value.__cause__ is not None


@pytest.mark.spec("CARR-15")
@pytest.mark.parametrize("status", [429, 502, 503, 504])
async def test_a_peer_that_is_not_ready_yet_is_asked_again(
    respx_mock: respx.MockRouter, status: int
) -> None:
    respx_mock.get(BASE + NEW).mock(
        side_effect=[
            httpx.Response(status, headers={"Retry-After": "9"}),
            httpx.Response(200, json=CARD),
        ]
    )
    no_wait = NoWait()
    async with httpx.AsyncClient() as client:
        card = await CardSource(BASE, client=client, sleep=no_wait).look()
    assert card.name == "Researcher"
    assert no_wait.waits == [9.0]


@pytest.mark.parametrize("location", ["http://h:x/", "data:text/plain,x", "http://a b\x7f/"])
async def test_a_redirect_to_no_url_is_an_answer_that_is_none(
    respx_mock: respx.MockRouter, location: str
) -> None:
    respx_mock.get(BASE + NEW).respond(302, headers={"Location": location})
    async with httpx.AsyncClient() as client:
        source = CardSource(BASE, client=client, sleep=NoWait())
        with pytest.raises(InvalidAgentCardError, match="not usable as HTTP"):
            await source.look()


@pytest.mark.parametrize("max_bytes", [0, -1, True, 1.5])
async def test_a_bound_that_is_no_number_of_bytes_is_refused(max_bytes: int) -> None:
    with pytest.raises(UsageError, match="max_bytes"):
        await fetch(max_bytes=max_bytes)


@pytest.mark.spec("CARR-18")
async def test_the_callers_headers_and_authentication_go_along(
    respx_mock: respx.MockRouter,
) -> None:
    route = respx_mock.get(BASE + NEW).respond(json=CARD)
    headers = {"X-Api-Key": "k", "a2a-version": "0.1", "accept": "text/html"}
    await fetch(headers=headers, auth=httpx.BasicAuth("me", "pass"))
    sent = route.calls.last.request.headers
    assert sent["X-Api-Key"] == "k"
    assert sent["Authorization"].startswith("Basic ")
    assert sent.get_list("A2A-Version") == ["1.0"]
    assert sent.get_list("Accept") == ["application/json"]


@pytest.mark.spec("CARR-18")
async def test_a_provider_is_asked_for_the_typed_origin(respx_mock: respx.MockRouter) -> None:
    def provide(principal: str | None, origin: str) -> httpx.Auth:
        asked.append((principal, origin))
        return httpx.BasicAuth("me", "pass")

    asked: list[tuple[str | None, str]] = []
    respx_mock.get(BASE + NEW).respond(json=CARD)
    async with httpx.AsyncClient() as client:
        await CardSource(f"{BASE}:443", client=client, auth=provide).look()
    assert asked == [(None, BASE)]


async def test_credentials_in_the_address_are_refused() -> None:
    with pytest.raises(UnsafeEndpointError):
        await fetch("https://me:pass@agent.example")


@pytest.mark.spec("CARD-12")
async def test_a_card_is_looked_at_again_only_if_it_has_changed(
    respx_mock: respx.MockRouter,
) -> None:
    headers = {"ETag": 'W/"1"', "Last-Modified": "Fri, 01 May 2026 12:00:00 GMT"}
    route = respx_mock.get(BASE + NEW)
    route.side_effect = [
        httpx.Response(200, json=CARD, headers=headers),
        httpx.Response(304),
        httpx.Response(200, json={**CARD, "name": "Changed"}),
        httpx.Response(200, json=CARD),
    ]
    async with httpx.AsyncClient() as client:
        source = CardSource(BASE, client=client)
        await source.look()
        assert await source.look_again() is None
        changed = await source.look_again()
        assert changed is not None
        assert (changed.name, changed.source) == ("Changed", BASE)
        assert await source.look_again() is not None
    conditions = [
        (call.request.headers.get("If-None-Match"), call.request.headers.get("If-Modified-Since"))
        for call in route.calls
    ]
    stated = (headers["ETag"], headers["Last-Modified"])
    # What came last had no validators, so nothing can be asked about it.
    assert conditions == [(None, None), stated, stated, (None, None)]


@pytest.mark.spec("CARD-12")
async def test_a_card_that_has_moved_is_searched_for(respx_mock: respx.MockRouter) -> None:
    respx_mock.get(BASE + NEW).mock(
        side_effect=[httpx.Response(200, json=CARD), httpx.Response(404), httpx.Response(404)]
    )
    respx_mock.get(BASE + OLD).respond(json={**CARD, "name": "Moved"})
    async with httpx.AsyncClient() as client:
        source = CardSource(BASE, client=client)
        await source.look()
        moved = await source.look_again()
    assert moved is not None
    assert moved.name == "Moved"


async def test_not_modified_is_no_answer_to_who_asked_without_condition(
    respx_mock: respx.MockRouter,
) -> None:
    respx_mock.get(BASE + NEW).mock(
        side_effect=[httpx.Response(200, json=CARD), httpx.Response(304)]
    )
    async with httpx.AsyncClient() as client:
        source = CardSource(BASE, client=client)
        await source.look()
        with pytest.raises(InvalidAgentCardError, match="HTTP 304"):
            await source.look_again()


async def test_looking_again_before_looking_is_looking(respx_mock: respx.MockRouter) -> None:
    respx_mock.get(BASE + NEW).respond(json=CARD)
    async with httpx.AsyncClient() as client:
        card = await CardSource(BASE, client=client).look_again()
    assert card is not None
    assert json.dumps(card.name) == '"Researcher"'


async def test_validators_that_are_no_header_are_not_sent(respx_mock: respx.MockRouter) -> None:
    route = respx_mock.get(BASE + NEW).respond(json=CARD, headers=[(b"ETag", b"\xe9")])
    async with httpx.AsyncClient() as client:
        source = CardSource(BASE, client=client)
        await source.look()
        await source.look_again()
    assert "If-None-Match" not in route.calls.last.request.headers
