"""What the caller sends along, and what nobody gets to see."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import httpx
import pytest

from a2a_delegate.errors import UsageError
from a2a_delegate.peer.credentials import (
    PROTOCOL_HEADERS,
    ApiKeyAuth,
    BearerAuth,
    Credentials,
)

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from a2a_delegate.peer.credentials import AuthProvider

ORIGIN = "https://h.example"


def test_headers_may_be_any_but_those_of_the_protocol() -> None:
    mine = {"X-Api-Key": "k", "Authorization": "Bearer t", "Host": "h", "X-Empty": ""}
    theirs = {name.title(): "mine" for name in PROTOCOL_HEADERS}
    assert Credentials({**mine, **theirs}).headers == mine


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("", "x"),
        ("a b", "x"),
        ("a:", "x"),
        ("é", "x"),
        ("a\r\nb", "x"),
        (1, "x"),
        ("key", "s3cret\r\nX: y"),
        ("key", "s3cret\x00"),
        ("key", "s3crét"),
        ("key", " s3cret"),
        ("key", "s3cret\n"),
        ("key", b"s3cret"),
        ("key", None),
    ],
)
def test_a_header_that_http_cannot_carry_is_refused_without_its_value(
    name: object, value: object
) -> None:
    with pytest.raises(UsageError) as refusal:
        Credentials({name: value})  # type: ignore[dict-item]
    assert "s3cret" not in str(refusal.value)


def test_headers_that_are_no_mapping_are_refused_and_not_shown() -> None:
    with pytest.raises(UsageError, match="headers must be a mapping") as refusal:
        Credentials([("key", "s3cret")])  # type: ignore[arg-type]
    assert "s3cret" not in str(refusal.value)


def test_an_authentication_that_is_none_is_refused() -> None:
    with pytest.raises(UsageError, match="auth must be"):
        Credentials(auth="token")  # type: ignore[arg-type]


@pytest.mark.spec("CARR-18")
def test_credentials_do_not_show_themselves() -> None:
    credentials = Credentials({"Authorization": "Bearer s3cret"}, httpx.BasicAuth("me", "s3cret"))
    assert repr(credentials) == "<Credentials of 1 headers, auth>"
    assert repr(Credentials()) == "<Credentials of 0 headers>"


def test_an_authentication_is_given_as_it_is() -> None:
    auth = httpx.BasicAuth("me", "pass")
    assert Credentials(auth=auth).auth_for(None, ORIGIN) is auth
    assert Credentials().auth_for(None, ORIGIN) is None


@pytest.mark.anyio
@pytest.mark.spec("CARR-18")
async def test_a_provider_is_asked_for_each_request_by_principal_and_origin() -> None:
    def provide(principal: str | None, origin: str) -> httpx.Auth | None:
        asked.append((principal, origin))
        return httpx.BasicAuth("me", "pass") if principal else None

    asked: list[tuple[str | None, str]] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request.headers.get("authorization"))
        return httpx.Response(200)

    seen: list[str | None] = []
    transport = httpx.MockTransport(answer)
    credentials = Credentials(auth=provide)
    async with httpx.AsyncClient(transport=transport) as client:
        await client.get(ORIGIN, auth=credentials.auth_for("alice", ORIGIN))
        await client.get(ORIGIN, auth=credentials.auth_for(None, ORIGIN))
    assert asked == [("alice", ORIGIN), (None, ORIGIN)]
    assert seen == ["Basic bWU6cGFzcw==", None]


class Twice(httpx.Auth):
    """Asks again when it is refused."""

    async def async_auth_flow(
        self, request: httpx.Request
    ) -> AsyncGenerator[httpx.Request, httpx.Response]:
        response = yield request
        if response.status_code == 401:
            request.headers["Authorization"] = "second"
            yield request


@pytest.mark.anyio
async def test_what_a_provider_gives_runs_its_whole_flow() -> None:
    transport = httpx.MockTransport(
        lambda request: httpx.Response(200 if "authorization" in request.headers else 401)
    )
    auth = Credentials(auth=lambda _principal, _origin: Twice()).auth_for(None, ORIGIN)
    async with httpx.AsyncClient(transport=transport) as client:
        assert (await client.get(ORIGIN, auth=auth)).status_code == 200


def headers_by(auth: httpx.Auth) -> httpx.Headers:
    request = next(auth.sync_auth_flow(httpx.Request("POST", ORIGIN, headers={"X-Key": "old"})))
    return request.headers


@pytest.mark.spec("CARR-23")
def test_a_token_and_a_key_go_into_their_headers() -> None:
    assert headers_by(BearerAuth("tok|en~1="))["Authorization"] == "Bearer tok|en~1="
    assert headers_by(ApiKeyAuth("k 1"))["X-API-Key"] == "k 1"
    assert headers_by(ApiKeyAuth("k1", header="x-key")).get_list("X-Key") == ["k1"]


@pytest.mark.spec("CARR-23")
def test_no_secret_is_shown() -> None:
    shown = [repr(BearerAuth("s3cret")), repr(ApiKeyAuth("s3cret")), str(ApiKeyAuth("s3cret"))]
    assert shown == ["<BearerAuth>", "<ApiKeyAuth by X-API-Key>", "<ApiKeyAuth by X-API-Key>"]


@pytest.mark.spec("CARR-23")
@pytest.mark.parametrize(
    "make",
    [
        lambda: BearerAuth(""),
        lambda: BearerAuth("Bearer s3cret"),
        lambda: BearerAuth("s3cret\r\nX-Evil: 1"),
        lambda: BearerAuth("s3crét"),
        lambda: BearerAuth(b"s3cret"),  # type: ignore[arg-type]
        lambda: ApiKeyAuth(""),
        lambda: ApiKeyAuth(" s3cret"),
        lambda: ApiKeyAuth(None),  # type: ignore[arg-type]
        lambda: ApiKeyAuth("s3cret", header="X Key"),
        lambda: ApiKeyAuth("s3cret", header="Content-Type"),
        lambda: ApiKeyAuth("s3cret", header="host"),
        lambda: ApiKeyAuth("s3cret", header="Cookie"),
    ],
)
def test_what_no_header_can_carry_is_refused_and_not_shown(
    make: Callable[[], httpx.Auth],
) -> None:
    with pytest.raises(UsageError) as refusal:
        make()
    assert "s3cr" not in str(refusal.value)


@pytest.mark.anyio
async def test_a_provider_that_returns_a_bare_token_is_told_what_to_return() -> None:
    transport = httpx.MockTransport(lambda _: httpx.Response(200))
    provide = cast("AuthProvider", lambda _principal, _origin: "s3cret")
    auth = Credentials(auth=provide).auth_for(None, ORIGIN)
    async with httpx.AsyncClient(transport=transport) as client:
        with pytest.raises(UsageError, match=r"returns an httpx\.Auth or None; got str$"):
            await client.get(ORIGIN, auth=auth)
