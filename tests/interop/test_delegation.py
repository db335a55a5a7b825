"""Delegations to real servers that go as they should, or end as the agent says.

Each outcome is compared with the journal of the agent: what its own code really did.
"""

from __future__ import annotations

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
    InputRequired,
    Progress,
    Rejected,
    StateSeen,
    connect,
)
from tests.interop.behaviours import Behaviour, Expected
from tests.interop.delegating import QUICKLY, Told, operations, sends, spoken

if TYPE_CHECKING:
    from collections.abc import Callable

    from a2a_delegate import DelegateResult
    from tests.interop.peers import Peer

pytestmark = [pytest.mark.interop, pytest.mark.anyio]


async def test_an_address_is_all_that_it_takes(peer: Peer) -> None:
    told = Told()
    async with connect(peer.server.url, config=QUICKLY, observers=[told]) as delegate:
        result = await delegate.dispatch("quick")
    assert isinstance(result, Completed)
    assert (result.output or "").strip() == "quick done"
    assert peer.server.runs(told.message_id) == 1


async def test_a_task_completes_with_its_artifact(peer: Peer) -> None:
    told = Told()
    ended = await peer.dispatch("quick", told=told)
    peer.shows(Behaviour.COMPLETE, ended, Expected(Completed, "quick done"))
    shown = [chunk.artifact for chunk in told.all(ArtifactChunk)]
    assert shown == list(ended.result.artifacts)
    assert spoken(ended.result) == {peer.face.version}
    assert ended.result.handle is not None
    done = peer.server.wait_for("done", ended.message_id)
    assert ended.result.handle.task_id == done["task_id"]


async def test_a_bare_message_is_the_whole_answer(peer: Peer) -> None:
    ended = await peer.dispatch("hello")
    is_task = ended.result.handle is not None and ended.result.handle.task_id is not None
    ended = replace(ended, note="a task" if is_task else "")
    peer.shows(Behaviour.MESSAGE, ended, Expected(Completed, "hello to you"))


class Answer(BaseModel):
    """What the command `data` gives."""

    answer: int
    words: list[str]


async def test_data_comes_as_data_and_parses(peer: Peer) -> None:
    ended = await peer.dispatch("data")
    data = {"data": ({"answer": 42, "words": ["a", "b"]},), "output": None}
    peer.shows(Behaviour.DATA, ended, Expected(Completed, facts=data))
    assert isinstance(ended.result, Completed)
    assert ended.result.parse(Answer) == Answer(answer=42, words=["a", "b"])


async def test_any_letter_arrives_and_comes_back(peer: Peer) -> None:
    text = 'Größe \u2028 42 "\\" \U0001f600 \x7f'
    ended = await peer.dispatch(text)
    peer.shows(Behaviour.TEXT, ended, Expected(Completed, text))


async def test_the_send_returns_at_once_and_the_task_is_asked_for(peer: Peer) -> None:
    ended = await peer.dispatch("slow 1.5")
    (send,) = sends(ended.result)
    ended = replace(ended, note="the send was held" if send.seconds > 1.2 else "")
    peer.shows(Behaviour.AT_ONCE, ended, Expected(Completed, "slow done"))


async def test_states_and_words_are_told_while_the_agent_works(
    peer_of: Callable[[str], Peer],
) -> None:
    told = Told()
    ended = await peer_of("a2a-sdk-1.3").dispatch("slow 1", told=told)
    states = [seen.state for seen in told.all(StateSeen)]
    assert states == ["submitted", "working", "completed"]
    said = [progress.message.text for progress in told.all(Progress)]
    assert {"step 0 of 2", "step 1 of 2"} & set(said)
    assert operations(ended.result).count("get") >= 1


async def test_a_failure_has_the_words_of_the_peer(peer: Peer) -> None:
    ended = await peer.dispatch("fail")
    peer.shows(Behaviour.FAIL, ended, Expected(Failed, "it failed"))


async def test_a_task_that_is_rejected_and_never_worked_is_not_started(peer: Peer) -> None:
    ended = await peer.dispatch("reject")
    # The peer's word: it began no work. Its code was entered once, to say so.
    usual = Expected(Rejected, "not my job", effect=Effect.NOT_STARTED)
    peer.shows(Behaviour.REJECT, ended, usual)


async def test_code_that_raises_is_never_a_success(peer: Peer) -> None:
    ended = await peer.dispatch(DelegateRequest("raise", timeout=1.0))
    assert not isinstance(ended.result, Completed)
    peer.shows(Behaviour.RAISE, ended, Expected(Failed, work="raised"))


async def test_a_question_comes_with_the_handle_that_its_answer_needs(peer: Peer) -> None:
    ended = await peer.dispatch("ask")
    peer.shows(Behaviour.ASK, ended, Expected(InputRequired, "Which colour?"))
    done = peer.server.wait_for("done", ended.message_id)
    assert ended.result.handle is not None
    assert ended.result.handle.task_id == done["task_id"]
    assert ended.result.handle.context_id == done["context_id"]


async def test_an_answer_continues_the_task_of_its_question(peer: Peer) -> None:
    asked = await peer.dispatch("ask")
    told = Told()
    async with peer.delegate() as delegate:
        request = DelegateRequest("blue", continues=asked.result.handle)
        result = await delegate.dispatch(request, observer=told)
    peer.shows(Behaviour.ANSWER, peer.ended(told, result), Expected(Completed, "answer: blue"))


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
