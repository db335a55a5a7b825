"""Where requests may go: what the caller bound, however hostile the spelling."""

from __future__ import annotations

import string

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from a2a_delegate.errors import UnsafeEndpointError, UsageError
from a2a_delegate.peer.origins import BoundOrigins, Origin, origin_of, parse_url

pytestmark = pytest.mark.spec("CARR-16")

BOUND = BoundOrigins("https://good.example/agents/x", ["http://localhost:8000"])


@pytest.mark.parametrize(
    "url",
    [
        "https://good.example",
        "https://good.example/",
        "https://good.example:443/rpc?x=1#y",
        "HTTPS://GOOD.EXAMPLE/rpc",
        "https://good.example/a@b",
        "https://good.example?next=a@b",
        "http://localhost:8000/rpc",
        "http://LocalHost:8000/rpc",
        "http://127.0.0.1:8000/rpc",
        "http://127.8.9.10:8000/rpc",
        "http://[::1]:8000/rpc",
        "http://[0:0:0:0:0:0:0:1]:8000/rpc",
    ],
)
def test_a_bound_origin_is_known_in_every_spelling(url: str) -> None:
    BOUND.check(url)


@pytest.mark.parametrize(
    "url",
    [
        # other origins
        "https://evil.example/rpc",
        "https://good.example.evil.example/",
        "https://evilgood.example/",
        "https://good.example:8443/",
        "https://good.example./",
        "http://good.example/",
        "http://good.example:443/",
        "https://localhost:8000/",
        "http://localhost/",
        "http://localhost.:8000/",
        "http://localhost.evil.example:8000/",
        "http://169.254.169.254/latest/meta-data",
        # this machine, in spellings that are no loopback address
        "http://0.0.0.0:8000/",
        "http://[::]:8000/",
        "http://[::ffff:127.0.0.1]:8000/",
        "http://2130706433:8000/",
        "http://127.1:8000/",
        "http://0x7f.0.0.1:8000/",
        "http://0177.0.0.1:8000/",
        "http://[fe80::1%25eth0]:8000/",
        # two readings
        "https://good.example@evil.example/",
        "https://good.example:443@evil.example/",
        "https://evil.example\\@good.example/",
        "https://good.example\\@evil.example/",
        "https://user@good.example/",
        "https://user:pass@good.example/",
        "https://@good.example/",
        "https:\\\\good.example/",
        "https://good.example\t/",
        "https://good.exa\nmple/",
        "https://good.example /",
        " https://good.example/",
        "https://good.example/\u2028",
        "https://good.example/\ud800",
        "https://%67ood.example/",
        "https://good%2eexample/",
        "https://g\u1d0f\u1d0fd.example/",
        "https://\uff47ood.example/",
        "https://good.example:99999/",
        "https://good.example:0/",
        "https://good.example:-1/",
        "https://good.example:x/",
        "https://[::1/",
        "https://[good.example]/",
        "https://1.2.3.999/",
        # no address at all
        "",
        "/rpc",
        "//good.example/rpc",
        "good.example/rpc",
        "good.example:443/rpc",
        "https:good.example/rpc",
        "https:///rpc",
        "https://:443/rpc",
        "https://",
        "ftp://good.example/",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "ws://good.example/",
        "https://" + "a" * 70_000,
    ],
)
def test_every_other_address_is_refused(url: str) -> None:
    with pytest.raises(UnsafeEndpointError):
        BOUND.check(url)


def test_the_refusal_says_how_to_allow_a_foreign_origin() -> None:
    with pytest.raises(UnsafeEndpointError, match="evil") as refusal:
        BOUND.check("https://EVIL.example:443/rpc?token=s3cret")
    assert 'allowed_origins=("https://evil.example",)' in str(refusal.value)
    assert "https://good.example, http://localhost:8000" in str(refusal.value)
    assert "s3cret" not in str(refusal.value)


def test_what_the_refusal_says_to_allow_is_then_allowed() -> None:
    for url in ("https://evil.example:8443/rpc", "http://[2001:db8::1]:81/", "http://0.0.0.0:8000"):
        with pytest.raises(UnsafeEndpointError) as refusal:
            BOUND.check(url)
        proposal = refusal.value.reason.split('allowed_origins=("')[1].split('"')[0]
        BoundOrigins(None, [proposal]).check(url)


def test_plain_http_where_https_was_typed_is_called_by_its_name() -> None:
    with pytest.raises(UnsafeEndpointError, match="plain http"):
        BOUND.check("http://good.example/rpc")


def test_plain_http_is_bound_where_the_caller_wrote_it() -> None:
    BoundOrigins("http://plain.example").check("http://plain.example/rpc")
    BoundOrigins("https://plain.example", ["http://plain.example"]).check("http://plain.example/")
    with pytest.raises(UnsafeEndpointError, match="is not one that you bound"):
        BoundOrigins("http://plain.example").check("https://plain.example/")


def test_an_address_to_listen_at_is_called_by_its_name() -> None:
    for url in ("http://0.0.0.0:8000/", "http://[::]:8000/"):
        with pytest.raises(UnsafeEndpointError, match="listen at"):
            BOUND.check(url)
    BoundOrigins("http://0.0.0.0:8000").check("http://0.0.0.0:8000/rpc")


def test_without_an_origin_nothing_is_bound() -> None:
    with pytest.raises(UnsafeEndpointError, match="nothing"):
        BoundOrigins(None).check("https://good.example/")


@pytest.mark.parametrize(
    "origin",
    [
        "*",
        "",
        "good.example",
        "https://good.example/rpc",
        "https://good.example?x",
        "https://good.example#x",
        "https://*.example\\",
        "https://u:s3cret@good.example",
        "ftp://good.example",
    ],
)
def test_what_is_no_bare_origin_cannot_be_allowed(origin: str) -> None:
    with pytest.raises(UsageError) as refusal:
        BoundOrigins(None, [origin])
    assert "s3cret" not in str(refusal.value)


def test_a_typed_address_that_cannot_be_used_is_refused() -> None:
    with pytest.raises(UnsafeEndpointError, match="user information"):
        BoundOrigins("https://u:s3cret@good.example")


def test_bound_origins_show_themselves_without_paths() -> None:
    assert repr(BOUND) == "BoundOrigins(https://good.example, http://localhost:8000)"


def test_an_origin_reads_as_it_is_typed() -> None:
    assert str(origin_of("https://Good.Example:443/x")) == "https://good.example"
    assert str(origin_of(httpx.URL("http://[::1]:80"))) == "http://[::1]"
    assert (
        str(origin_of("https://b\u00fccher.example:8443")) == "https://xn--bcher-kva.example:8443"
    )


PIECES = st.sampled_from(
    [*"/\\@:?#[]%.", "good.example", "evil.example", "https:", "http:", "localhost", ":8000", "443"]
)


@given(st.lists(PIECES, max_size=12).map("".join) | st.text(string.printable, max_size=40))
def test_whatever_is_let_through_goes_to_a_bound_host(url: str) -> None:
    try:
        BOUND.check(url)
    except UnsafeEndpointError:
        return
    # What httpx would connect to, and not only what we have read.
    sent_to = httpx.URL(url)
    assert (sent_to.scheme, sent_to.raw_host, sent_to.port) in {
        ("https", b"good.example", None),
        ("http", b"localhost", 8000),
    }
    assert not sent_to.userinfo


def test_a_parsed_address_is_what_httpx_will_use() -> None:
    parsed, origin = parse_url("https://good.example/a%2Fb/?q=1")
    assert str(parsed) == "https://good.example/a%2Fb/?q=1"
    assert origin == Origin("https", "good.example", 443)
