"""Files that are sent to an agent and come back, in every version."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from a2a_delegate import Completed, DelegateRequest, FilePart, ProtocolVersion, Role
from a2a_delegate.lifecycle.operations import SendMessage
from a2a_delegate.model.message import Message
from a2a_delegate.testing import Operation, Rewrite, ScriptedPeer
from a2a_delegate.wire.dialect import DIALECTS
from a2a_delegate.wire.reading_parts import read_parts
from tests.runtime.staging import delegate_to, requests_of
from tests.wire.json_values import json_values

if TYPE_CHECKING:
    from pathlib import Path

VERSIONS = pytest.mark.parametrize("version", ["1.0", "0.3", "0.2"])

WORDS = st.none() | st.text(min_size=1)
# An empty object says nothing, and is left out.
METADATA = st.none() | st.dictionaries(st.text(), json_values, min_size=1, max_size=2)
NAMED = {"filename": WORDS, "media_type": WORDS, "metadata": METADATA}
FILES = st.builds(FilePart, content=st.binary(), **NAMED) | st.builds(
    FilePart, url=st.text(min_size=1), **NAMED
)


@pytest.mark.spec("FILE-1")
@VERSIONS
@given(files=st.lists(FILES, max_size=3))
def test_a_file_is_read_as_it_was_written(version: str, files: list[FilePart]) -> None:
    dialect = DIALECTS[ProtocolVersion(version)]
    message = Message("m", Role.USER, tuple(files))
    written: Any = dialect.encode(SendMessage(message), tenant=None).params["message"]
    assert read_parts(written["parts"]) == tuple(files)


@pytest.mark.spec("FILE-1")
@pytest.mark.anyio
@VERSIONS
async def test_a_file_that_an_agent_hands_back_is_the_one_that_was_sent(
    version: str, tmp_path: Path
) -> None:
    peer = ScriptedPeer((version,))
    sent = (
        FilePart(bytes(range(256)), filename="all.bin", media_type="application/x-all"),
        FilePart(url="https://files.example/a%20b", filename="a b.png", media_type="image/png"),
    )

    def hand_back(body: Any) -> Any:
        (asked,) = requests_of(peer, Operation.SEND)
        parts = asked.body["params"]["message"]["parts"][1:]  # type: ignore[index]
        task = body["result"].get("task", body["result"])
        task["artifacts"] = [{"artifactId": "back", "parts": parts}]
        return body

    peer.script(Operation.SEND, Rewrite(hand_back))
    async with delegate_to(peer) as delegate:
        result = await delegate.dispatch(DelegateRequest("turn it", parts=sent))
    assert isinstance(result, Completed)
    assert result.files == sent
    (path,) = result.save(tmp_path)
    assert (path.name, path.read_bytes()) == ("all.bin", bytes(range(256)))


@pytest.mark.spec("FILE-2")
@pytest.mark.anyio
@VERSIONS
async def test_no_url_is_fetched_that_nobody_asked_for(version: str, tmp_path: Path) -> None:
    peer = ScriptedPeer((version,))

    def point_here(body: Any) -> Any:
        part: dict[str, Any] = {"url": peer.url, "filename": "x.png"}
        if version != "1.0":
            part = {"kind": "file", "file": {"uri": peer.url, "name": "x.png"}}
        task = body["result"].get("task", body["result"])
        task["artifacts"] = [{"artifactId": "far", "parts": [part]}]
        return body

    peer.script(Operation.SEND, Rewrite(point_here))
    sent = FilePart(url=peer.url, filename="mine")
    async with delegate_to(peer) as delegate:
        result = await delegate.dispatch(DelegateRequest("look", parts=(sent,)))
        assert result.save(tmp_path) == ()
    assert [(one.url, one.filename) for one in result.files] == [(peer.url, "x.png")]
    assert {one.operation for one in peer.truth.requests} <= {Operation.SEND, Operation.GET}
