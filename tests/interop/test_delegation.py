"""Delegations to real servers that go as they should, or end as the agent says.

Each outcome is compared with the journal of the agent: what its own code really did.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import pytest
from pydantic import BaseModel

from a2a_delegate import (
    ArtifactChunk,
    CancelReceipt,
    Completed,
    DelegateRequest,
    Effect,
    Failed,
    InputRequired,
    Progress,
    Rejected,
    StateSeen,
    TaskFailedError,
    TimedOut,
    connect,
)
from tests.interop.delegating import (
    FACES,
    QUICKLY,
    Face,
    Told,
    delegate_to,
    journal,
    operations,
    sends,
    spoken,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.interop.servers import Server

pytestmark = [pytest.mark.interop, pytest.mark.anyio]


@pytest.fixture(params=FACES)
def face(request: pytest.FixtureRequest) -> Face:
    """Every server in every version that it speaks."""
    return FACES[request.param]


@pytest.fixture
def server(face: Face, server_of: Callable[[str, str], Server]) -> Server:
    """The running server of the face."""
    return server_of(face.line, face.mode)


def assert_ran_once(server: Server, told: Told, *, end: str) -> dict[str, object]:
    """The agent began on the message once, and its work ended so; give the end of it."""
    done = server.wait_for("done", told.message_id)
    assert done["state"] == end
    assert server.runs(told.message_id) == 1
    return done


@pytest.mark.parametrize(("line", "mode"), sorted({face[:2] for face in FACES.values()}))
async def test_an_address_is_all_that_it_takes(
    server_of: Callable[[str, str], Server], line: str, mode: str
) -> None:
    server, told = server_of(line, mode), Told()
    async with connect(server.url, config=QUICKLY, observers=[told]) as delegate:
        assert delegate.id == "interop-agent"
        result = await delegate.dispatch("quick")
    assert isinstance(result, Completed)
    assert result.output == "quick done"
    assert spoken(result) == {"0.3" if mode == "0.3-only" else "1.0"}
    assert_ran_once(server, told, end="completed")


async def test_a_task_completes_with_its_artifact(face: Face, server: Server) -> None:
    told = Told()
    async with delegate_to(server, face.version) as delegate:
        result = await delegate.dispatch("quick", observer=told)
    assert isinstance(result, Completed)
    assert (result.output, result.effect, result.late) == ("quick done", Effect.RAN, False)
    assert [chunk.artifact for chunk in told.all(ArtifactChunk)] == list(result.artifacts)
    assert spoken(result) == {face.version}
    done = assert_ran_once(server, told, end="completed")
    assert result.handle is not None
    assert result.handle.task_id == done["task_id"]


async def test_a_bare_message_is_the_whole_answer(face: Face, server: Server) -> None:
    told = Told()
    async with delegate_to(server, face.version) as delegate:
        result = await delegate.dispatch("hello", observer=told)
    assert isinstance(result, Completed)
    assert (result.output, result.effect) == ("hello to you", Effect.RAN)
    assert operations(result) == ["send"]
    assert result.handle is not None
    assert result.handle.task_id is None
    assert_ran_once(server, told, end="message")


class Answer(BaseModel):
    """What the command `data` gives."""

    answer: int
    words: list[str]


async def test_data_comes_as_data_and_parses(face: Face, server: Server) -> None:
    told = Told()
    async with delegate_to(server, face.version) as delegate:
        result = await delegate.dispatch("data", observer=told)
    assert isinstance(result, Completed)
    assert result.output is None
    assert result.data == ({"answer": 42, "words": ["a", "b"]},)
    assert result.parse(Answer) == Answer(answer=42, words=["a", "b"])
    assert_ran_once(server, told, end="completed")


async def test_any_letter_arrives_and_comes_back(face: Face, server: Server) -> None:
    text = 'Größe \u2028 42 "\\" \U0001f600 \x7f'
    told = Told()
    async with delegate_to(server, face.version) as delegate:
        result = await delegate.dispatch(text, observer=told)
    assert isinstance(result, Completed)
    assert result.output == text
    assert_ran_once(server, told, end="completed")


async def test_the_send_returns_at_once_and_the_task_is_asked_for(
    face: Face, server: Server
) -> None:
    told = Told()
    async with delegate_to(server, face.version) as delegate:
        result = await delegate.dispatch("slow 1", observer=told)
    assert isinstance(result, Completed)
    assert result.output == "slow done"
    (send,) = sends(result)
    assert send.seconds < 0.7, "the send was held until the work was done"
    assert operations(result).count("get") >= 1
    assert [seen.state for seen in told.all(StateSeen)] == ["submitted", "working", "completed"]
    said = [progress.message.text for progress in told.all(Progress)]
    assert {"step 0 of 2", "step 1 of 2"} & set(said)
    assert_ran_once(server, told, end="completed")


async def test_a_failure_has_the_words_of_the_peer(face: Face, server: Server) -> None:
    told = Told()
    async with delegate_to(server, face.version) as delegate:
        result = await delegate.dispatch("fail", observer=told)
    assert isinstance(result, Failed)
    assert isinstance(result.error, TaskFailedError)
    assert (result.error.text, result.effect) == ("it failed", Effect.RAN)
    assert_ran_once(server, told, end="failed")


async def test_a_task_that_is_rejected_and_never_worked_is_not_started(
    face: Face, server: Server
) -> None:
    told = Told()
    async with delegate_to(server, face.version) as delegate:
        result = await delegate.dispatch("reject", observer=told)
    assert isinstance(result, Rejected)
    assert isinstance(result.error, TaskFailedError)
    assert result.error.text == "not my job"
    # The peer's word: it began no work. Its code was entered once, to say so.
    assert (result.effect, result.safe_to_retry) == (Effect.NOT_STARTED, True)
    assert "working" not in [seen.state for seen in told.all(StateSeen)]
    assert_ran_once(server, told, end="rejected")


async def test_a_question_comes_with_the_handle_that_its_answer_needs(
    face: Face, server: Server
) -> None:
    told = Told()
    async with delegate_to(server, face.version) as delegate:
        result = await delegate.dispatch("ask", observer=told)
    assert isinstance(result, InputRequired)
    assert (result.question.text, result.effect) == ("Which colour?", Effect.RAN)
    done = assert_ran_once(server, told, end="input-required")
    assert result.handle is not None
    assert result.handle.task_id == done["task_id"]
    assert result.handle.context_id == done["context_id"]
    assert result.handle.question_id == result.question.message_id != ""


async def test_code_that_raises_is_never_a_success(face: Face, server: Server) -> None:
    told = Told()
    async with delegate_to(server, face.version) as delegate:
        result = await delegate.dispatch(DelegateRequest("raise", timeout=1.0), observer=told)
    if face.line == "a2a-sdk-1.3":
        # It writes down that the task failed, and no words: the exception's text stays inside.
        assert isinstance(result, Failed)
        assert isinstance(result.error, TaskFailedError)
    else:
        # 0.3.26 leaves such a task open for ever. Nothing runs in it, so its cancel is confirmed.
        assert isinstance(result, TimedOut)
        assert result.receipt is CancelReceipt.CONFIRMED
    assert result.effect is Effect.RAN
    server.wait_for("raised", told.message_id)
    assert server.runs(told.message_id) == 1
    assert "done" not in journal(server, told.message_id)


async def test_many_at_once_get_each_its_own_answer_and_run_once(
    face: Face, server: Server
) -> None:
    told = {f"number {number} of {face.version}": Told() for number in range(20)}
    outputs: dict[str, str | None] = {}

    async with delegate_to(server, face.version) as delegate:

        async def ask(text: str) -> None:
            result = await delegate.dispatch(text, observer=told[text])
            assert isinstance(result, Completed)
            outputs[text] = result.output

        async with anyio.create_task_group() as group:
            for text in told:
                group.start_soon(ask, text)
    assert outputs == {text: text for text in told}
    assert [server.runs(one.message_id) for one in told.values()] == [1] * len(told)
