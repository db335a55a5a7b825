"""Delegations to real servers that go as they should, or end as the agent says.

Each outcome is compared with the journal of the agent: what its own code really did.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import anyio
import pytest
from pydantic import BaseModel

from a2a_delegate import (
    ArtifactChunk,
    Completed,
    DelegateRequest,
    Effect,
    Failed,
    IdKnown,
    InputRequired,
    Progress,
    Rejected,
    StateSeen,
    connect,
    open_delegation,
)
from tests.interop.behaviours import IN_PIECES, Behaviour, Ended, Expected
from tests.interop.delegating import (
    QUICKLY,
    Reacting,
    Stopwatch,
    Told,
    operations,
    sends,
    spoken,
)
from tests.interop.peers import everywhere, on
from tests.interop.ways import LOOPS, WAYS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from a2a_delegate import DelegateResult, Update
    from tests.interop.peers import Peer

pytestmark = [pytest.mark.interop, pytest.mark.anyio]


@on(ways=WAYS[:1], loops=LOOPS)
async def test_an_address_is_all_that_it_takes(peer: Peer) -> None:
    told = Told()
    async with connect(peer.server.url, config=QUICKLY, observers=[told]) as delegate:
        assert delegate.capabilities.stream
        offered = [one for one in delegate.card.interfaces if one.version is peer.face.version]
        spoken_or_not = peer.face.bindings + peer.face.unspoken
        assert {one.binding for one in offered} == set(spoken_or_not)
        result = await delegate.dispatch("quick")
    assert isinstance(result, Completed)
    assert (result.output or "").strip() == "quick done"
    assert peer.server.runs(told.message_id) == 1


@everywhere
async def test_a_task_completes_with_its_artifact(peer: Peer) -> None:
    told = Told()
    ended = await peer.dispatch("quick", told=told)
    peer.shows(Behaviour.COMPLETE, ended, Expected(Completed, "quick done"))
    shown = [chunk.artifact.text for chunk in told.all(ArtifactChunk)]
    assert shown == [artifact.text for artifact in ended.result.artifacts]
    assert spoken(ended.result) == {peer.face.version}
    assert ended.result.handle is not None
    done = peer.server.wait_for("done", ended.message_id)
    assert ended.result.handle.task_id == done["task_id"]


@everywhere
async def test_a_bare_message_is_the_whole_answer(peer: Peer) -> None:
    ended = await peer.dispatch("hello")
    is_task = ended.result.handle is not None and ended.result.handle.task_id is not None
    ended = replace(ended, note="a task" if is_task else "")
    peer.shows(Behaviour.MESSAGE, ended, Expected(Completed, "hello to you"))


class Answer(BaseModel):
    """What the command `data` gives."""

    answer: int
    words: list[str]


@everywhere
async def test_data_comes_as_data_and_parses(peer: Peer) -> None:
    ended = await peer.dispatch("data")
    data = {"data": ({"answer": 42, "words": ["a", "b"]},), "output": None}
    peer.shows(Behaviour.DATA, ended, Expected(Completed, facts=data))
    assert isinstance(ended.result, Completed)
    assert ended.result.parse(Answer) == Answer(answer=42, words=["a", "b"])


@everywhere
async def test_any_letter_arrives_and_comes_back(peer: Peer) -> None:
    text = 'Größe \u2028 42 "\\" \U0001f600 \x7f'
    ended = await peer.dispatch(text)
    peer.shows(Behaviour.TEXT, ended, Expected(Completed, text))


@everywhere
async def test_a_task_is_known_at_once_and_followed_to_its_end(peer: Peer) -> None:
    watch, known = Stopwatch(), list[float]()
    told = Reacting(
        when=lambda signal: isinstance(signal, IdKnown), then=lambda: known.append(watch.seconds)
    )
    ended = await peer.dispatch("slow 1", told=told)
    ended = replace(ended, note="the send was held" if known[0] > 0.8 else "")
    peer.shows(Behaviour.AT_ONCE, ended, Expected(Completed, "slow done"))
    (send,) = sends(ended.result)
    if peer.way.streams:
        # Nothing but the stream told of the end: the first slow look would come later.
        assert send.seconds > 0.8
        assert operations(ended.result) == ["send", "get"]


@on("a2a-sdk-1.3", "js-sdk-0.3")
async def test_states_and_words_are_told_while_the_agent_works(peer: Peer) -> None:
    told = Told()
    ended = await peer.dispatch("slow 1", told=told)
    states = [seen.state for seen in told.all(StateSeen)]
    assert states[-2:] == ["working", "completed"]
    said = [progress.message.text for progress in told.all(Progress)]
    steps = ["step 0 of 2", "step 1 of 2", "step 2 of 2"]
    if peer.way.streams:
        assert said == steps
    else:
        assert set(steps) & set(said)
        assert operations(ended.result).count("get") > 1


def grown(updates: Sequence[Update]) -> Iterator[str]:
    """The text of the one artifact after each update that shows it, as its reader has it."""
    text = ""
    for update in updates:
        if isinstance(update, ArtifactChunk):
            text = text + update.artifact.text if update.append else update.artifact.text
            yield text


@everywhere
async def test_an_artifact_comes_in_pieces_and_is_whole_at_the_end(peer: Peer) -> None:
    async with peer.delegate() as delegate, open_delegation(delegate, "chunks 5") as delegation:
        updates = [update async for update in delegation]
        result = await delegation.result()
    texts = list(grown(updates))
    assert isinstance(result, Completed)
    assert texts[-1] == result.output
    assert result.handle is not None
    grew = len(texts) > 1 and IN_PIECES.startswith(texts[0].strip())
    if peer.way.streams and not grew:
        # Whatever it is called, it comes while it is made.
        said = [one.message.text.strip() for one in updates if isinstance(one, Progress)]
        pieces = re.findall(r"piece \d\.", IN_PIECES)
        assert [text for text in said if text in pieces] == pieces
    note = "as it was made" if grew else ""
    ended = Ended(peer.server, result.handle.message_id, result, note)
    came = Expected(Completed, IN_PIECES, note="as it was made")
    peer.shows(Behaviour.CHUNKS, ended, came)


@everywhere
async def test_a_failure_has_the_words_of_the_peer(peer: Peer) -> None:
    ended = await peer.dispatch("fail")
    peer.shows(Behaviour.FAIL, ended, Expected(Failed, "it failed"))


@everywhere
async def test_a_task_that_is_rejected_and_never_worked_is_not_started(peer: Peer) -> None:
    ended = await peer.dispatch("reject")
    # The peer's word: it began no work. Its code was entered once, to say so.
    usual = Expected(Rejected, "not my job", effect=Effect.NOT_STARTED)
    peer.shows(Behaviour.REJECT, ended, usual)


@everywhere
async def test_code_that_raises_is_never_a_success(peer: Peer) -> None:
    ended = await peer.dispatch(DelegateRequest("raise", timeout=1.0))
    assert not isinstance(ended.result, Completed)
    peer.shows(Behaviour.RAISE, ended, Expected(Failed, work="raised"))


@everywhere
async def test_a_question_comes_with_the_handle_that_its_answer_needs(peer: Peer) -> None:
    ended = await peer.dispatch("ask")
    peer.shows(Behaviour.ASK, ended, Expected(InputRequired, "Which colour?"))
    done = peer.server.wait_for("done", ended.message_id)
    assert ended.result.handle is not None
    assert ended.result.handle.task_id == done["task_id"]
    assert ended.result.handle.context_id == done["context_id"]


@everywhere
async def test_an_answer_continues_the_task_of_its_question(peer: Peer) -> None:
    asked = await peer.dispatch("ask")
    told = Told()
    async with peer.delegate() as delegate:
        request = DelegateRequest("blue", continues=asked.result.handle)
        result = await delegate.dispatch(request, observer=told)
    peer.shows(Behaviour.ANSWER, peer.ended(told, result), Expected(Completed, "answer: blue"))


@everywhere
async def test_many_at_once_get_each_its_own_answer_and_run_once(peer: Peer) -> None:
    told = {f"number {number} of {peer.face.name}": Told() for number in range(20)}
    results: dict[str, DelegateResult] = {}

    async with peer.delegate() as delegate:

        async def ask(text: str) -> None:
            results[text] = await delegate.dispatch(text, observer=told[text])

        async with anyio.create_task_group() as group:
            for text in told:
                group.start_soon(ask, text)
    for text, one in told.items():
        peer.shows(Behaviour.MANY, peer.ended(one, results[text]), Expected(Completed, text))
