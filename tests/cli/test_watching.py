"""Text that grows before a person's eyes, and the choice of how a task is followed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from a2a_delegate.cli.growing_text import GrowingText
from a2a_delegate.model.artifact import Artifact
from a2a_delegate.model.part import TextPart
from a2a_delegate.signals import ArtifactChunk
from tests.cli.begun import begin
from tests.cli.command import run
from tests.cli.peer_on_a_port import PeerOnAPort
from tests.cli.pseudo_terminal import Terminal

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def streaming_peer() -> Iterator[PeerOnAPort]:
    with PeerOnAPort(streaming=True) as running:
        yield running


def streams_at(peer: PeerOnAPort) -> int:
    return peer.do(lambda it: sum(one.stream is not None for one in it.truth.requests))


def chunk(name: str, text: str, *, append: bool = False) -> ArtifactChunk:
    return ArtifactChunk("task-1", Artifact(name, (TextPart(text),)), append)


@pytest.mark.spec("CLI-34")
def test_a_person_sees_the_text_grow_and_then_the_answer_alone(streaming_peer: PeerOnAPort) -> None:
    with Terminal("send", streaming_peer.origin, "chunks 30") as terminal:
        terminal.read_until(b"chunk 1 chunk 2")
        grown = terminal.seen
        assert terminal.finish() == 0
    assert b"chunk 30" not in grown
    answer = " ".join(f"chunk {number}" for number in range(1, 31))
    written = re.sub(rb"\x1b\[[0-9;?]*[A-Za-z]", b"", terminal.seen).decode()
    assert answer in " ".join(written.splitlines())


@pytest.mark.spec("CLI-34")
def test_a_pipe_gets_the_answer_alone(streaming_peer: PeerOnAPort) -> None:
    done = run("send", streaming_peer.origin, "chunks 2")
    assert (done.status, done.out, done.err) == (0, b"chunk 1 chunk 2\n", "")


@pytest.mark.spec("CLI-34")
@pytest.mark.parametrize(("way", "first"), [("auto", 1), ("stream", 1), ("poll", 0)])
def test_a_task_is_followed_as_it_was_asked_for(
    streaming_peer: PeerOnAPort, way: str, first: int
) -> None:
    done = run("send", streaming_peer.origin, "chunks 2", "--watch", way, "--poll-interval", "0.05")
    assert done.out == b"chunk 1 chunk 2\n"
    assert streams_at(streaming_peer) == first


@pytest.mark.spec("CLI-34")
def test_a_stream_that_the_card_does_not_offer_is_refused_in_the_words_of_the_command(
    peer: PeerOnAPort,
) -> None:
    done = run("send", peer.origin, "hi", "--watch", "stream")
    assert done.status == 2
    assert "--watch stream needs a card that offers streaming" in done.err
    assert peer.do(lambda it: it.truth.sends) == 0


@pytest.mark.spec("CLI-34")
def test_what_is_taken_up_by_handle_may_be_streamed_as_well(streaming_peer: PeerOnAPort) -> None:
    handle = begin(streaming_peer, "stuck")
    before = streams_at(streaming_peer)
    done = run("resume", handle.to_json(), "--watch", "stream", "--timeout", "1")
    assert done.status == 5
    assert streams_at(streaming_peer) == before + 1


def test_an_artifact_that_is_shown_anew_takes_the_place_of_what_it_was() -> None:
    text = GrowingText()
    for one in (chunk("a", "Hello"), chunk("b", "other"), chunk("a", ", world", append=True)):
        text.take(one)
    assert text.end == "Hello, world\n\nother"
    text.take(chunk("a", "Bye"))
    assert text.end == "Bye\n\nother"


def test_of_endless_text_the_end_is_kept() -> None:
    text = GrowingText()
    for number in range(20_000):
        text.take(chunk("a", f"{number:05} ", append=True))
        text.take(chunk(f"artifact {number}", "x" * 9))
    assert len(text.end) == 16_000
    assert text.end.endswith("x")
