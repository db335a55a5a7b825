"""Which version and binding is spoken, and that it is said."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from a2a_delegate import (
    A2AProtocolMismatchError,
    A2ARequestError,
    Binding,
    CardProblem,
    Completed,
    Downgraded,
    Effect,
    InvalidAgentCardError,
    ProtocolVersion,
    Rejected,
)
from a2a_delegate.testing import (
    Operation,
    Respond,
    RpcError,
    ScriptedPeer,
)
from tests.reports.cards import card_of, found, shows
from tests.reports.staging import (
    ORIGIN,
    VERSIONS,
    Notes,
    delegate_of,
    requests_of,
)

if TYPE_CHECKING:
    from a2a_delegate.testing import Behaviour
    from tests.reports.staging import Json

pytestmark = [pytest.mark.anyio, pytest.mark.virtual_time]


def of_version(word: object, **interface: Any) -> Json:
    """Write a 1.0 card whose one interface is of this version."""
    one = {"url": f"{ORIGIN}/rpc", "protocolBinding": "JSONRPC", "protocolVersion": word}
    members = {name: value for name, value in (one | interface).items() if value is not ...}
    return card_of("1.0", supportedInterfaces=[members])


@pytest.mark.report("P2")
@VERSIONS
@pytest.mark.parametrize("binding", ["JSONRPC", "jsonrpc", "JsonRpc"])
async def test_a_binding_is_known_in_any_case_of_letters(version: str, binding: str) -> None:
    card = of_version("1.0", protocolBinding=binding)
    if version == "0.3":
        card = card_of(version, preferredTransport=binding)
    assert (await found(shows(card, version))).interfaces[0].binding is Binding.JSONRPC


@pytest.mark.report("P2")
@pytest.mark.parametrize("binding", ["json-rpc", "JSON-RPC", "SOAP", "", None, 7])
async def test_a_binding_that_is_unknown_is_named_and_not_taken_for_a_version(
    binding: object,
) -> None:
    with pytest.raises(InvalidAgentCardError, match="binding") as caught:
        await found(shows(of_version("1.0", protocolBinding=binding)))
    assert caught.value.problem is CardProblem.NO_USABLE_INTERFACE


@pytest.mark.report("P3", "P4", "D16")
@pytest.mark.parametrize(
    "word", ["2.0", "1.1", "0.4", "0.1", "0.1.0", "1", "v2", "latest", "2025-06-18", "one.zero"]
)
@pytest.mark.parametrize("shape", ["1.0", "0.3"])
async def test_a_version_that_is_not_spoken_is_refused_by_name_before_anything_is_sent(
    word: str, shape: str
) -> None:
    card = of_version(word) if shape == "1.0" else card_of("0.3", protocolVersion=word)
    peer = shows(card, shape)
    with pytest.raises(A2AProtocolMismatchError) as caught:
        async with delegate_of(peer):
            raise AssertionError
    assert word in caught.value.theirs[0]
    assert {"0.3", "1.0"} <= set(caught.value.ours)
    assert ORIGIN in caught.value.url
    assert not requests_of(peer, Operation.SEND)


@pytest.mark.report("P5", "P6")
@pytest.mark.parametrize("word", ["1.0", "v1.0", "V1.0", "1.0.0", "1.0.7", "1.0-rc1", 1.0])
async def test_a_version_is_known_by_its_major_and_minor(word: object) -> None:
    peer = shows(of_version(word))
    async with delegate_of(peer) as delegate:
        result = await delegate.dispatch("work")
    assert isinstance(result, Completed)
    (request,) = requests_of(peer, Operation.SEND)
    assert request.headers["a2a-version"] == "1.0"


@pytest.mark.report("P4", "D14")
@pytest.mark.parametrize(
    ("word", "version"),
    [
        ("0.3", "0.3"),
        ("0.3.0", "0.3"),
        ("v0.3.9", "0.3"),
        ("0.2", "0.2"),
        ("0.2.6", "0.2"),
        (..., "0.2"),
        (None, "0.2"),
        ("", "0.2"),
    ],
    ids=repr,
)
async def test_an_old_version_is_known_and_a_card_that_tells_none_is_of_0_2(
    word: object, version: str
) -> None:
    peer = shows(card_of("0.3", protocolVersion=word), version)
    async with delegate_of(peer) as delegate:
        result = await delegate.dispatch("work")
    assert isinstance(result, Completed)
    assert result.handle is not None
    assert result.handle.version == version


@pytest.mark.report("P5")
@pytest.mark.parametrize("word", [..., None, ""], ids=repr)
async def test_an_interface_that_tells_no_version_is_read_as_1_0_and_noted(word: object) -> None:
    card = await found(shows(of_version(word)))
    assert card.interfaces[0].version is ProtocolVersion.V1_0
    assert any("protocolVersion" in note for note in card.notes)


SAYS_1_0, SAYS_0_3 = card_of("1.0"), card_of("0.3")
SAYS_NOTHING = card_of("0.3", protocolVersion=...)


@pytest.mark.report("D13", "D14")
@pytest.mark.parametrize(
    ("card", "speaks"), [(SAYS_1_0, "0.3"), (SAYS_0_3, "1.0"), (SAYS_NOTHING, "1.0")], ids=range(3)
)
async def test_a_peer_that_does_not_speak_what_its_card_says_is_told_apart(
    card: Json, speaks: str
) -> None:
    peer = shows(card, speaks)
    async with delegate_of(peer, allow_downgrade=True) as delegate:
        result = await delegate.dispatch("work")
    assert isinstance(result, Rejected)
    assert isinstance(result.error, A2ARequestError)
    assert (result.error.code, result.effect) == (-32601, Effect.NOT_STARTED)
    assert not peer.truth.runs
    posts = [one for one in peer.truth.requests if one.method == "POST"]
    assert len(posts) == 1, "no other version is guessed"


NOT_SPOKEN = [
    RpcError(-32009, "version not supported"),
    RpcError(-32009, "version not supported", status=400),
    RpcError(-32601, "Method not found"),
    RpcError(-32601, "Method not found", status=404),
    RpcError(-32600, "A2A version 1.0 is not supported"),
    RpcError(-32603, "A2A version '1.0' is not supported by this handler"),
]


@pytest.mark.report("D13", "D15", "D16")
@pytest.mark.parametrize("refusal", NOT_SPOKEN, ids=repr)
@pytest.mark.parametrize("allowed", [True, False])
async def test_an_older_version_is_spoken_where_that_is_allowed_and_told(
    refusal: Behaviour,
    allowed: bool,  # noqa: FBT001 - an example
) -> None:
    peer, notes = ScriptedPeer(("1.0", "0.3")), Notes()
    peer.script(Operation.SEND, refusal)
    async with delegate_of(peer, allow_downgrade=allowed) as delegate:
        result = await delegate.dispatch("work", observer=notes)
    if allowed:
        assert isinstance(result, Completed)
        assert result.handle is not None
        assert result.handle.version == "0.3"
        assert notes.of(Downgraded) == [Downgraded(refused="1.0", spoken="0.3")]
    else:
        assert isinstance(result, Rejected)
        assert result.safe_to_retry
        assert not peer.truth.runs
        assert notes.of(Downgraded) == []


@pytest.mark.report("D16")
@VERSIONS
async def test_the_version_that_is_spoken_is_told_by_every_outcome(version: str) -> None:
    peer = ScriptedPeer((version,))
    async with delegate_of(peer) as delegate:
        result = await delegate.dispatch("slow 1")
    assert result.handle is not None
    assert result.handle.version == version
    assert {one.version for one in result.attempts} == {version}
    assert f"({version})" in result.explain()


@pytest.mark.report("D17")
@pytest.mark.parametrize("versions", [("1.0", "0.3"), ("0.3", "1.0")], ids="+".join)
@pytest.mark.parametrize("trouble", [*NOT_SPOKEN[:2], Respond(404), Respond(405)], ids=repr)
async def test_no_version_changes_within_a_task(
    versions: tuple[str, ...], trouble: Behaviour
) -> None:
    peer, notes = ScriptedPeer(versions), Notes()
    async with delegate_of(peer, allow_downgrade=True) as delegate:
        # The peer is upgraded between two polls: its card offers something else from now on.
        peer.always(Operation.CARD, Respond(200, body=card_of(versions[1])))
        peer.script(Operation.GET, trouble, trouble)
        result = await delegate.dispatch("slow 4", observer=notes)
    assert isinstance(result, Completed)
    assert {one.version for one in peer.truth.requests if one.method == "POST"} == {versions[0]}
    assert notes.of(Downgraded) == []
