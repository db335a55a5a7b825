"""What the scripted agent does, as a client of each version sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import pytest

from a2a_delegate.errors import UsageError
from a2a_delegate.testing import ScriptedPeer, WorkState
from tests.testing.speaking import Speaker, state, texts

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

pytestmark = [pytest.mark.anyio, pytest.mark.virtual_time]


@pytest.fixture(params=["1.0", "0.3", "0.2"])
async def speaker(request: pytest.FixtureRequest) -> AsyncIterator[Speaker]:
    peer = ScriptedPeer((request.param,))
    async with peer.client(timeout=None) as client:
        yield Speaker(peer, client, request.param)


async def test_hello_is_answered_by_a_message_and_makes_no_task(speaker: Speaker) -> None:
    reply = await speaker.send("hello", "greeting")
    message = reply["result"].get("message", reply["result"])
    assert message["parts"][0]["text"] == "hello from Scripted peer"
    assert speaker.peer.truth.tasks == ()
    assert speaker.peer.truth.runs["greeting"] == 1


@pytest.mark.parametrize("text", ["task", "Summarise the three newest papers", ""])
async def test_any_other_text_is_done_at_once(speaker: Speaker, text: str) -> None:
    task = await speaker.sent_task(text, immediate=True)
    assert state(task) == "completed"
    assert texts(task) == [f"result of {text}"]


async def test_a_message_without_text_is_work_too(speaker: Speaker) -> None:
    part = {"data": {"a": 1}} if speaker.version == "1.0" else {"kind": "data", "data": {"a": 1}}
    task = await speaker.sent_task("", parts=[part])
    assert state(task) == "completed"
    shown = task["history"][0]["parts"]
    assert shown == [part]


async def test_every_kind_of_part_stands_in_the_history_as_it_was_sent() -> None:
    peer = ScriptedPeer()
    parts = [
        {"text": "task", "mediaType": "text/markdown", "metadata": {"a": 1}},
        {"data": None, "filename": "nothing.json"},
        {"raw": "aGk=", "mediaType": "text/plain"},
        {"url": "https://files.example/x", "filename": "x"},
    ]
    async with peer.client() as client:
        task = await Speaker(peer, client).sent_task("", parts=parts)
    assert task["history"][0]["parts"] == parts


async def test_a_blocking_send_waits_for_slow_work(speaker: Speaker) -> None:
    start = anyio.current_time()
    task = await speaker.sent_task("slow 5")
    assert anyio.current_time() - start == pytest.approx(5)
    assert state(task) == "completed"
    assert texts(task) == ["result of slow 5"]


async def test_slow_work_goes_through_its_states_by_itself(speaker: Speaker) -> None:
    task = await speaker.sent_task("slow 2.5", immediate=True)
    assert state(task) == "submitted"
    assert "timestamp" not in task["status"]
    seen = await speaker.get(task["id"])
    assert state(seen) == "working"
    assert "artifacts" not in seen
    await anyio.sleep(2.4)
    assert state(await speaker.get(task["id"])) == "working"
    await anyio.sleep(0.2)
    done = await speaker.get(task["id"])
    assert state(done) == "completed"
    assert "message" not in done["status"]
    assert [len(done["history"]), done["history"][1]["parts"][0]["text"]] == [2, "working on it"]
    (fact,) = speaker.peer.truth.tasks
    assert fact.ended is not None
    assert fact.ended - fact.started == pytest.approx(2.5)


async def test_stuck_work_never_ends_by_itself(speaker: Speaker) -> None:
    task = await speaker.sent_task("stuck", immediate=True)
    await anyio.sleep(80_000)
    assert state(await speaker.get(task["id"])) == "working"
    with anyio.move_on_after(1_000) as scope:
        await speaker.send("stuck")
    assert scope.cancelled_caught


async def test_slow_without_a_number_takes_a_second(speaker: Speaker) -> None:
    start = anyio.current_time()
    await speaker.send("slow down, please")
    assert anyio.current_time() - start == pytest.approx(1)


@pytest.mark.parametrize(
    ("word", "question", "waiting"),
    [
        ("ask", "which city?", "input-required"),
        ("auth", "need a token", "auth-required"),
    ],
)
async def test_a_question_ends_the_wait_and_its_answer_completes_the_task(
    speaker: Speaker, word: str, question: str, waiting: str
) -> None:
    asked = await speaker.sent_task(word, message_id="first")
    assert state(asked) == waiting
    assert asked["status"]["message"]["parts"][0]["text"] == question
    done = await speaker.sent_task("Rome", message_id="second", taskId=asked["id"])
    assert done["id"] == asked["id"]
    assert state(done) == "completed"
    assert texts(done) == ["result of Rome"]
    said = [message["parts"][0]["text"] for message in done["history"]]
    assert said == [word, question, "Rome"]
    assert dict(speaker.peer.truth.runs) == {"first": 1, "second": 1}


async def test_an_answer_says_how_its_task_goes_on(speaker: Speaker) -> None:
    asked = await speaker.sent_task("ask")
    again = await speaker.sent_task("ask", taskId=asked["id"])
    assert state(again) == "input-required"
    assert again["status"]["message"]["messageId"] != asked["status"]["message"]["messageId"]
    working = await speaker.sent_task("slow 3", immediate=True, taskId=asked["id"])
    assert state(working) == "working"
    await anyio.sleep(3)
    done = await speaker.get(asked["id"])
    assert state(done) == "completed"
    assert texts(done) == ["result of slow 3"]


async def test_a_message_into_running_work_stands_in_its_history(speaker: Speaker) -> None:
    task = await speaker.sent_task("slow 3", immediate=True)
    await anyio.sleep(1)
    more = await speaker.sent_task("and quickly", immediate=True, taskId=task["id"])
    assert state(more) == "working"
    assert more["history"][-1]["parts"][0]["text"] == "and quickly"
    await anyio.sleep(3)
    done = await speaker.get(task["id"])
    assert state(done) == "completed"
    assert texts(done) == ["result of slow 3"]


@pytest.mark.parametrize(
    ("word", "end", "text"), [("fail", "failed", "it failed"), ("reject", "rejected", "not my job")]
)
async def test_failures_say_why(speaker: Speaker, word: str, end: str, text: str) -> None:
    task = await speaker.sent_task(word, message_id="m")
    assert state(task) == end
    assert task["status"]["message"]["parts"][0]["text"] == text
    assert "artifacts" not in task
    # A task that is rejected never ran.
    assert speaker.peer.truth.runs["m"] == (word == "fail")


async def test_an_answer_may_stand_in_the_history_alone(speaker: Speaker) -> None:
    task = await speaker.sent_task("history")
    assert state(task) == "completed"
    assert "artifacts" not in task
    assert "message" not in task["status"]
    assert task["history"][-1]["parts"][0]["text"] == "result of history"
    assert task["history"][-1]["role"] in {"agent", "ROLE_AGENT"}


async def test_a_task_may_complete_with_nothing(speaker: Speaker) -> None:
    task = await speaker.sent_task("empty")
    assert state(task) == "completed"
    assert "artifacts" not in task
    assert "message" not in task["status"]
    assert len(task["history"]) == 1


async def test_files_come_in_content_and_by_address(speaker: Speaker) -> None:
    content, address = (await speaker.sent_task("file"))["artifacts"][0]["parts"]
    if speaker.version == "1.0":
        assert content == {
            "raw": "aGkA/w==",
            "filename": "a.bin",
            "mediaType": "application/octet-stream",
        }
        assert address["url"] == "http://127.0.0.1/x.png"
    else:
        assert content["file"]["bytes"] == "aGkA/w=="
        assert address["file"]["uri"] == "http://127.0.0.1/x.png"


async def test_a_cancel_stops_the_work(speaker: Speaker) -> None:
    task = await speaker.sent_task("slow 10", immediate=True)
    await anyio.sleep(1)
    assert state(await speaker.cancel(task["id"])) == "canceled"
    await anyio.sleep(20)
    seen = await speaker.get(task["id"])
    assert state(seen) == "canceled"
    assert "artifacts" not in seen
    (fact,) = speaker.peer.truth.tasks
    assert fact.state is WorkState.CANCELED
    assert fact.cancel_requests == 1
    assert fact.ended == pytest.approx(fact.started + 1)


async def test_a_cancel_answers_the_send_that_waits(speaker: Speaker) -> None:
    shown = []

    async def wait() -> None:
        shown.append(await speaker.sent_task("stuck"))

    async with anyio.create_task_group() as group:
        group.start_soon(wait)
        await anyio.sleep(1)
        await speaker.cancel(speaker.peer.truth.tasks[0].id)
    assert [state(task) for task in shown] == ["canceled"]


async def test_a_request_that_is_cancelled_does_not_stop_the_work(speaker: Speaker) -> None:
    with anyio.move_on_after(1):
        await speaker.send("slow 3", "abandoned")
    assert speaker.peer.truth.open == 0
    (before,) = speaker.peer.truth.tasks
    await anyio.sleep(3)
    (after,) = speaker.peer.truth.tasks
    assert (before.state, after.state) == (WorkState.WORKING, WorkState.COMPLETED)
    assert speaker.peer.truth.runs["abandoned"] == 1


async def test_what_has_ended_is_not_cancelled(speaker: Speaker) -> None:
    task = await speaker.sent_task("task")
    refused = await speaker.cancel(task["id"])
    if speaker.version == "0.2":  # a2a-sdk 0.2 writes it over the end
        assert state(refused) == "canceled"
    else:
        assert refused["code"] == -32002
        assert speaker.peer.truth.tasks[0].state is WorkState.COMPLETED
    assert speaker.peer.truth.tasks[0].cancel_requests == 1


async def test_an_unknown_task_is_not_found(speaker: Speaker) -> None:
    assert (await speaker.get("nowhere"))["code"] == -32001
    assert (await speaker.cancel("nowhere"))["code"] == -32001
    reply = await speaker.send("task", "lost", taskId="nowhere")
    assert reply["error"]["code"] == -32001
    assert speaker.peer.truth.runs["lost"] == 0


async def test_a_message_to_a_finished_task_is_refused(speaker: Speaker) -> None:
    task = await speaker.sent_task("task")
    reply = await speaker.send("more", "late", taskId=task["id"])
    assert reply["error"]["code"] == (-32004 if speaker.version == "1.0" else -32602)
    assert speaker.peer.truth.runs["late"] == 0


async def test_a_message_under_a_foreign_context_is_refused(speaker: Speaker) -> None:
    task = await speaker.sent_task("ask")
    reply = await speaker.send("Rome", taskId=task["id"], contextId="elsewhere")
    assert reply["error"]["code"] == -32602
    assert state(await speaker.get(task["id"])) == "input-required"


async def test_the_same_message_twice_runs_twice(speaker: Speaker) -> None:
    first = await speaker.sent_task("task", message_id="again")
    second = await speaker.sent_task("task", message_id="again")
    assert first["id"] != second["id"]
    assert speaker.peer.truth.runs["again"] == 2


@pytest.mark.parametrize("version", ["1.0", "0.3"])
@pytest.mark.parametrize("text", ["task", "hello", "slow 5"])
async def test_a_peer_may_recognise_repeats(version: str, text: str) -> None:
    peer = ScriptedPeer((version,), recognises_repeats=True)
    async with peer.client(timeout=None) as client:
        speaker = Speaker(peer, client, version)
        first = await speaker.send(text, "again", immediate=True)
        await anyio.sleep(10)
        second = await speaker.send(text, "again", immediate=True)
    if text == "slow 5":
        task = second["result"].get("task", second["result"])
        assert state(task) == "completed"
        assert task["id"] == first["result"].get("task", first["result"])["id"]
    else:
        assert first["result"] == second["result"]
    assert peer.truth.runs["again"] == 1
    assert peer.truth.sends == 2


async def test_a_repeated_answer_is_recognised_as_well() -> None:
    peer = ScriptedPeer(recognises_repeats=True)
    async with peer.client() as client:
        speaker = Speaker(peer, client)
        task = await speaker.sent_task("ask")
        for _ in range(2):
            done = await speaker.sent_task("Rome", message_id="answer", taskId=task["id"])
            assert state(done) == "completed"
    assert peer.truth.runs["answer"] == 1


@pytest.mark.parametrize(
    "end", ["completed", "failed", "rejected", "canceled", "input-required", "auth-required"]
)
async def test_a_test_can_bring_work_to_any_end(speaker: Speaker, end: str) -> None:
    shown = []

    async def wait() -> None:
        shown.append(await speaker.sent_task("stuck"))

    async with anyio.create_task_group() as group:
        group.start_soon(wait)
        await anyio.sleep(1)
        speaker.peer.finish(speaker.peer.truth.tasks[0].id, end, text="by hand")
    (task,) = shown
    assert state(task) == end
    if end == "completed":
        assert texts(task) == ["by hand"]
    else:
        assert task["status"]["message"]["parts"][0]["text"] == "by hand"


async def test_an_end_without_a_text_is_the_agents_own(speaker: Speaker) -> None:
    await speaker.send("slow 90", immediate=True)
    await speaker.send("slow 90", immediate=True)
    completed, failed = (fact.id for fact in speaker.peer.truth.tasks)
    speaker.peer.finish(completed)
    speaker.peer.finish(failed, "failed")
    assert texts(await speaker.get(completed)) == ["result of slow 90"]
    assert "message" not in (await speaker.get(failed))["status"]


async def test_an_end_may_be_changed_as_bad_servers_do(speaker: Speaker) -> None:
    task = await speaker.sent_task("task")
    speaker.peer.finish(task["id"], "failed", text="after all")
    assert state(await speaker.get(task["id"])) == "failed"


async def test_only_what_there_is_can_be_finished(speaker: Speaker) -> None:
    with pytest.raises(UsageError, match="no task 'nowhere'"):
        speaker.peer.finish("nowhere")
    task = await speaker.sent_task("task")
    with pytest.raises(UsageError, match="'done' is no state"):
        speaker.peer.finish(task["id"], "done")


async def test_the_history_is_as_long_as_asked_for(speaker: Speaker) -> None:
    task = await speaker.sent_task("slow 1")
    everything = 2
    # 0 means none in 1.0 (section 3.2.4) and all on servers of 0.3; those of 0.2 do not count.
    shown = {"1.0": (0, 1, 2), "0.3": (everything, 1, 2), "0.2": (everything,) * 3}
    for length, count in zip((0, 1, 9), shown[speaker.version], strict=True):
        seen = await speaker.get(task["id"], historyLength=length)
        assert len(seen.get("history", [])) == count
    assert len((await speaker.get(task["id"]))["history"]) == everything


async def test_context_ids_of_the_client_are_kept(speaker: Speaker) -> None:
    task = await speaker.sent_task("task", contextId="ours")
    assert task["contextId"] == "ours"
    assert task["history"][0]["contextId"] == "ours"
    assert speaker.peer.truth.tasks[0].context_id == "ours"


@pytest.mark.parametrize("version", ["1.0", "0.3"])
async def test_a_peer_may_put_its_own_context_id_in_place_of_ours(version: str) -> None:
    peer = ScriptedPeer((version,), keeps_context_ids=False)
    async with peer.client() as client:
        task = await Speaker(peer, client, version).sent_task("task", contextId="ours")
    assert task["contextId"] != "ours"
    assert peer.truth.tasks[0].context_id == task["contextId"]


@pytest.mark.parametrize("version", ["1.0", "0.3"])
async def test_a_peer_may_refuse_our_context_id(version: str) -> None:
    peer = ScriptedPeer((version,), refuses_context_ids=True)
    async with peer.client() as client:
        speaker = Speaker(peer, client, version)
        reply = await speaker.send("task", "m", contextId="ours")
        assert reply["error"]["code"] == -32602
        assert peer.truth.runs["m"] == 0
        assert state(await speaker.sent_task("task", message_id="m")) == "completed"


@pytest.mark.parametrize("version", ["1.0", "0.3", "0.2"])
async def test_a_peer_may_hold_a_send_that_wants_to_return_at_once(version: str) -> None:
    peer = ScriptedPeer((version,), always_blocks=True)
    async with peer.client(timeout=None) as client:
        speaker, start = Speaker(peer, client, version), anyio.current_time()
        task = await speaker.sent_task("slow 3", immediate=True)
        assert state(task) == "completed"
        assert anyio.current_time() - start == pytest.approx(3)
        assert state(await speaker.sent_task("ask", immediate=True)) == "input-required"


async def test_ids_come_out_the_same_in_every_run(speaker: Speaker) -> None:
    async def ids(name: str) -> list[str]:
        peer = ScriptedPeer((speaker.version,), name=name)
        async with peer.client() as client:
            other = Speaker(peer, client, speaker.version)
            tasks = [await other.sent_task("task") for _ in range(2)]
        return [task[key] for task in tasks for key in ("id", "contextId")]

    once = await ids("a")
    assert once == await ids("a")
    assert len(set(once)) == 4
    assert not set(once) & set(await ids("b"))
