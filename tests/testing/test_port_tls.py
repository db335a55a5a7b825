"""The scripted peer over TLS: with a certificate, and with whoever cannot cope with it."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING

import anyio
import httpx
import pytest
import trustme
from cryptography.hazmat.primitives import serialization

from a2a_delegate import (
    A2ADelegate,
    A2ADelegateConfig,
    Completed,
    PeerUnreachableError,
    UsageError,
    fetch_agent_card,
)
from a2a_delegate.testing import (
    Close,
    CloseDelimited,
    ConnectionRefused,
    CutReply,
    Dribble,
    Hang,
    Happening,
    Operation,
    Respond,
    ScriptedPeer,
)
from tests.testing.plain_wire import PATIENCE, Wire, request, until, wire_to

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.anyio

AUTHORITY = trustme.CA()
CERTIFICATE = AUTHORITY.issue_cert("localhost", "127.0.0.1", "::1")


def trusting() -> ssl.SSLContext:
    """Make a client's context that trusts our authority, and nobody else."""
    context = ssl.create_default_context()
    AUTHORITY.configure_trust(context)
    return context


def serving() -> ssl.SSLContext:
    """Make a server's context with our certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    CERTIFICATE.configure_cert(context)
    return context


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    certfile, keyfile = tmp_path / "cert.pem", tmp_path / "key.pem"
    certfile.write_bytes(CERTIFICATE.cert_chain_pems[0].bytes())
    keyfile.write_bytes(CERTIFICATE.private_key_pem.bytes())
    return certfile, keyfile


@pytest.mark.spec("PORT-10")
@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "::1"])
async def test_a_peer_with_a_certificate_is_delegated_to(
    files: tuple[Path, Path], host: str
) -> None:
    peer = ScriptedPeer()
    certfile, keyfile = files
    config = A2ADelegateConfig(timeout=PATIENCE, poll_interval=0.02)
    async with (
        peer.serve(host, certfile=certfile, keyfile=keyfile) as url,
        httpx.AsyncClient(verify=trusting()) as client,
    ):
        assert url.startswith("https://")
        card = await fetch_agent_card(url, client=client)
        async with A2ADelegate("peer", card, client=client, config=config) as delegate:
            assert isinstance(await delegate.dispatch("slow 0.05"), Completed)
    assert list(peer.truth.runs.values()) == [1]


@pytest.mark.spec("PORT-10")
async def test_a_certificate_and_its_key_may_be_one_file(tmp_path: Path) -> None:
    one = tmp_path / "both.pem"
    one.write_bytes(CERTIFICATE.private_key_and_cert_chain_pem.bytes())
    async with (
        ScriptedPeer().serve(certfile=str(one)) as url,
        httpx.AsyncClient(verify=trusting()) as client,
    ):
        assert (await client.get(f"{url}/.well-known/agent-card.json")).status_code == 200


@pytest.mark.spec("PORT-10")
@pytest.mark.parametrize("by", list(Close))
async def test_what_a_wire_can_do_is_done_below_tls(by: Close) -> None:
    """The bytes are counted as the client reads them; the end comes without a word of TLS."""
    peer = ScriptedPeer()
    whole = b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello"
    for at in (0, 1, 25, len(whole)):
        peer.script(Operation.CARD, CutReply(at, by, Dribble(9, 0.001, Respond(body=b"hello"))))
        async with peer.serve(tls=serving()) as url:
            port = int(url.rpartition(":")[2])
            with anyio.fail_after(PATIENCE):
                stream = await anyio.connect_tcp(
                    "127.0.0.1",
                    port,
                    tls=True,
                    ssl_context=trusting(),
                    tls_standard_compatible=True,
                )
                wire = Wire(stream)
                await wire.say(request("card"))
                # Without a `close_notify` every end is a truncation.
                assert await wire.hear_the_end() == (whole[:at], "rst")
                await anyio.aclose_forcefully(stream)


@pytest.mark.spec("PORT-10")
async def test_a_body_that_ends_with_its_connection_can_be_cut_unseen() -> None:
    """The truncation attack, over a connection whose client does not insist on a farewell."""
    peer = ScriptedPeer()
    peer.always(Operation.CARD, CutReply(80, then=CloseDelimited(Respond(body=b"x" * 100))))
    async with (
        peer.serve(tls=serving()) as url,
        httpx.AsyncClient(verify=trusting()) as client,
    ):
        seen = await client.get(f"{url}/.well-known/agent-card.json")
    assert seen.status_code == 200
    assert 0 < len(seen.content) < 100


@pytest.mark.spec("PORT-11")
async def test_a_handshake_that_fails_is_told_and_never_a_request() -> None:
    peer = ScriptedPeer()
    told: list[Happening] = []
    distrusting = ssl.create_default_context()
    old = ssl.create_default_context()
    old.maximum_version = ssl.TLSVersion.TLSv1_2
    new = serving()
    new.minimum_version = ssl.TLSVersion.TLSv1_3
    async with peer.serve(tls=new, observer=told.append) as url:
        for context in (distrusting, old):
            async with httpx.AsyncClient(verify=context) as client:
                with pytest.raises(PeerUnreachableError) as raised:
                    await fetch_agent_card(url, client=client, timeout=PATIENCE)
                assert raised.value.phase in {"tls", "card"}
        await until(lambda: len(told) >= 2)
    assert all(isinstance(one, ConnectionRefused) for one in told)
    assert peer.truth.requests == ()


@pytest.mark.spec("PORT-11")
async def test_plain_text_at_a_tls_port_and_tls_at_a_plain_one_come_to_nothing() -> None:
    peer = ScriptedPeer()
    told: list[Happening] = []
    async with (
        peer.serve(tls=serving(), observer=told.append) as secure,
        peer.serve(observer=told.append) as plain,
        httpx.AsyncClient(verify=trusting()) as client,
    ):
        for url in (secure.replace("https", "http"), plain.replace("http", "https")):
            with pytest.raises(PeerUnreachableError):
                await fetch_agent_card(url, client=client, timeout=PATIENCE)
        async with wire_to(secure) as wire:
            await wire.say(request("card"))
            came, _ = await wire.hear_the_end()
            assert b"HTTP" not in came
        assert (await client.get(f"{secure}/.well-known/agent-card.json")).status_code == 200
        assert (await client.get(f"{plain}/.well-known/agent-card.json")).status_code == 200
    reasons = [one.reason for one in told if isinstance(one, ConnectionRefused)]
    assert any("no TLS handshake: HTTP_REQUEST" in reason for reason in reasons)
    assert len(peer.truth.requests) == 2


@pytest.mark.spec("PORT-11", "PORT-7")
async def test_a_client_that_says_nothing_is_left_with_the_block() -> None:
    peer = ScriptedPeer()
    peer.always(Operation.CARD, Hang(deaf=True))
    with anyio.fail_after(PATIENCE):
        async with peer.serve(tls=serving()) as url:
            stream = await anyio.connect_tcp("127.0.0.1", int(url.rpartition(":")[2]))
            await stream.send(b"\x16\x03\x01")
            await anyio.sleep(0.01)
        with pytest.raises((anyio.EndOfStream, anyio.BrokenResourceError)):
            await stream.receive()
        await stream.aclose()


@pytest.mark.spec("PORT-10")
async def test_a_certificate_that_cannot_be_used_is_refused(
    files: tuple[Path, Path], tmp_path: Path
) -> None:
    certfile, keyfile = files
    key = serialization.load_pem_private_key(keyfile.read_bytes(), None)
    locked = tmp_path / "locked.pem"
    locked.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.TraditionalOpenSSL,
            serialization.BestAvailableEncryption(b"word"),
        )
    )
    peer = ScriptedPeer()
    for certificate, its_key in (
        (tmp_path / "none.pem", None),
        (certfile, None),
        (keyfile, keyfile),
        (certfile, locked),
    ):
        with pytest.raises(UsageError, match="cannot use the certificate"):
            peer.serve(certfile=certificate, keyfile=its_key)
    with pytest.raises(UsageError, match="a key needs its certificate"):
        peer.serve(keyfile=keyfile)
    with pytest.raises(UsageError, match="not both"):
        peer.serve(certfile=certfile, keyfile=keyfile, tls=serving())
