"""What the scripted peer streams when nothing is scripted, and what a subscription gets."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio
import pytest

from a2a_delegate.testing import (
    Delay,
    DropAfterAccepting,
    DropBeforeReading,
    Finished,
    Loss,
    Opening,
    Operation,
    Respond,
    Rewrite,
    RpcError,
    ScriptedPeer,
    StreamEnd,
    StreamFact,
    Subscription,
    UnknownState,
    Unstreamed,
    WrongId,
)
from tests.testing.hearing import Heard, bare, hear, hear_send
from tests.testing.speaking import Reply, Speaker, state, texts

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

pytestmark = [pytest.mark.anyio, pytest.mark.virtual_time]

VERSIONS = ("1.0", "0.3", "0.2")
BOTH = ("1.0", "0.3")


@asynccontextmanager
async def speaking_to(peer: ScriptedPeer, version: str = "1.0") -> AsyncIterator[Speaker]:
    async with peer.client(timeout=None) as client:
        yield Speaker(peer, client, version)


def states(heard: Heard) -> list[str]:
    """Return the states that a stream showed, in their order."""
    return [state(shown) for shown in heard.results if "status" in shown]


def is_json(heard: Heard) -> bool:
    return heard.headers["content-type"] == "application/json"


# The card


@pytest.mark.spec("STRM-1")
@pytest.mark.parametrize("versions", [("1.0",), ("0.3",), ("0.2",), BOTH])
@pytest.mark.parametrize("streaming", [False, True])
def test_the_card_offers_streams_where_there_are_some(
    versions: tuple[str, ...], *, streaming: bool
) -> None:
    card = ScriptedPeer(versions, streaming=streaming).card()
    assert card["capabilities"] == {"streaming": streaming, "pushNotifications": False}


# A streamed send


@pytest.mark.spec("STRM-2")
@pytest.mark.parametrize("version", VERSIONS)
async def test_a_stream_shows_the_task_and_then_its_work_as_it_goes_on(version: str) -> None:
    peer = ScriptedPeer((version,), streaming=True)
    async with speaking_to(peer, version) as speaker:
        heard = await hear_send(speaker, "slow 2")
    assert heard.status == 200
    assert heard.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert heard.kinds == ["task", "status", "artifact", "status"]
    assert heard.moments == [0, 0, 2, 2]
    assert states(heard) == ["submitted", "working", "completed"]
    assert [reply["id"] for reply in heard.replies] == [7] * 4
    (task,) = peer.truth.tasks
    first, *updates = heard.results
    assert {first["id"], *(one["taskId"] for one in updates)} == {task.id}
    assert {one["contextId"] for one in heard.results} == {task.context_id}
    if version != "1.0":
        assert [one.get("final") for one in updates] == [False, None, True]


@pytest.mark.spec("STRM-2")
@pytest.mark.parametrize("version", VERSIONS)
async def test_an_artifact_comes_in_pieces_that_make_up_the_one_of_the_task(version: str) -> None:
    peer = ScriptedPeer((version,), streaming=True)
    async with speaking_to(peer, version) as speaker:
        heard = await hear_send(speaker, "chunks 4")
        task = await speaker.get(peer.truth.tasks[0].id)
    pieces = [one for one in heard.results if "artifact" in one]
    assert [bool(one.get("append")) for one in pieces] == [False, True, True, True]
    assert [bool(one.get("lastChunk")) for one in pieces] == [False, False, False, True]
    assert heard.moments == [0, 0, 0, 0, 0.1, 0.1, 0.2, 0.2, 0.3, 0.3, 0.4]
    told = [part["text"] for one in pieces for part in one["artifact"]["parts"]]
    assert "".join(told) == "chunk 1 chunk 2 chunk 3 chunk 4"
    assert texts(task) == told
    assert len(task["artifacts"]) == 1
    progress = [one["status"].get("message") for one in heard.results if "status" in one]
    said = [message["parts"][0]["text"] for message in progress if message is not None]
    assert said == [f"piece {number} of 4" for number in range(1, 5)]


@pytest.mark.spec("STRM-2")
@pytest.mark.parametrize(("asked", "pieces"), [("chunks", 3), ("chunks 0", 3), ("chunks 12", 12)])
async def test_the_number_of_pieces_is_read_off_the_prompt(asked: str, pieces: int) -> None:
    peer = ScriptedPeer(streaming=True)
    async with speaking_to(peer) as speaker:
        assert (await hear_send(speaker, asked)).kinds.count("artifact") == pieces


@pytest.mark.spec("STRM-2")
@pytest.mark.parametrize("version", VERSIONS)
async def test_a_bare_message_is_all_of_its_stream(version: str) -> None:
    peer = ScriptedPeer((version,), streaming=True)
    async with speaking_to(peer, version) as speaker:
        heard = await hear_send(speaker, "hello")
    assert (heard.kinds, heard.ending) == (["message"], "closed")


@pytest.mark.spec("STRM-3")
@pytest.mark.parametrize("version", VERSIONS)
async def test_a_stream_ends_with_a_question_and_the_answers_stream_goes_on(version: str) -> None:
    peer = ScriptedPeer((version,), streaming=True)
    async with speaking_to(peer, version) as speaker:
        asked = await hear_send(speaker, "ask")
        task_id = peer.truth.tasks[0].id
        answered = await hear_send(speaker, "slow 1", message={"taskId": task_id})
    assert (states(asked), asked.ending) == (["submitted", "input-required"], "closed")
    assert states(answered) == ["input-required", "working", "completed"]
    assert answered.kinds == ["task", "status", "artifact", "status"]
    if version != "1.0":
        assert asked.results[-1]["final"] is True


@pytest.mark.spec("STRM-3")
async def test_a_message_to_a_task_at_work_shows_what_comes_from_then_on() -> None:
    peer = ScriptedPeer(streaming=True)
    async with speaking_to(peer) as speaker:
        task = await speaker.sent_task("slow 3", immediate=True)
        await anyio.sleep(1)
        heard = await hear_send(speaker, "faster", message={"taskId": task["id"]})
    assert heard.kinds == ["task", "artifact", "status"]
    assert heard.moments == [0, 2, 2]
    assert [one["parts"][0]["text"] for one in heard.results[0]["history"]][-1] == "faster"


@pytest.mark.spec("STRM-3")
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("ends", ["cancel", "finish"])
async def test_what_ends_the_task_ends_its_stream(version: str, ends: str) -> None:
    peer = ScriptedPeer((version,), streaming=True)
    heard: list[Heard] = []
    async with speaking_to(peer, version) as speaker, anyio.create_task_group() as tasks:

        async def listen() -> None:
            heard.append(await hear_send(speaker, "stuck"))

        tasks.start_soon(listen)
        await anyio.sleep(5)
        if ends == "cancel":
            await speaker.cancel(peer.truth.tasks[0].id)
        else:
            peer.finish(peer.truth.tasks[0].id, "failed", "no")
    assert states(heard[0])[-1] == ("canceled" if ends == "cancel" else "failed")
    assert (heard[0].moments[-1], heard[0].ending) == (5, "closed")


@pytest.mark.spec("STRM-3")
async def test_a_rejected_task_is_shown_as_one() -> None:
    peer = ScriptedPeer(streaming=True)
    async with speaking_to(peer) as speaker:
        heard = await hear_send(speaker, "reject")
    assert states(heard) == ["submitted", "rejected"]
    assert not peer.truth.runs


@pytest.mark.spec("STRM-3")
@pytest.mark.parametrize(("pause", "kinds"), [(0, ["task", "artifact", "status"]), (9, ["task"])])
async def test_a_repeat_that_is_recognised_shows_the_task_that_there_is(
    pause: float, kinds: list[str]
) -> None:
    peer = ScriptedPeer(streaming=True, recognises_repeats=True)
    async with speaking_to(peer) as speaker:
        message = speaker.message("slow 4", "m")
        await speaker.call(
            "send", {"message": message, "configuration": {"returnImmediately": True}}
        )
        await anyio.sleep(pause)
        heard = await hear(speaker, "stream", {"message": message})
    assert (heard.kinds, heard.ending) == (kinds, "closed")
    assert peer.truth.runs["m"] == 1


@pytest.mark.spec("STRM-4")
@pytest.mark.parametrize("version", VERSIONS)
async def test_what_cannot_be_streamed_is_refused_as_each_version_does(version: str) -> None:
    peer = ScriptedPeer((version,), streaming=True)
    async with speaking_to(peer, version) as speaker:
        unknown = await hear_send(speaker, "x", message={"taskId": "nobody's"})
        malformed = await hear(speaker, "stream", {})
    assert is_json(malformed)
    assert is_json(unknown) == (version == "1.0")
    if version != "1.0":
        (reply,) = unknown.replies
        assert reply["error"]["code"] == -32001
        assert reply["id"] == 7
    assert not peer.truth.runs


# A subscription


async def subscribed(speaker: Speaker, prompt: str = "slow 4", pause: float = 1) -> Heard:
    """Begin some work, and subscribe to it later."""
    task = await speaker.sent_task(prompt, immediate=True)
    await anyio.sleep(pause)
    with anyio.move_on_after(60):
        return await hear(speaker, "subscribe", {"id": task["id"]})
    raise AssertionError("a stream of a minute")


@pytest.mark.spec("STRM-5")
@pytest.mark.parametrize(
    ("versions", "version", "kinds"),
    [
        (("1.0",), "1.0", ["task", "artifact", "status"]),
        (("0.3",), "0.3", ["artifact", "status"]),
        (BOTH, "1.0", ["task", "artifact", "status"]),
        (BOTH, "0.3", ["task", "artifact", "status"]),
    ],
)
async def test_a_subscription_begins_as_in_the_server_of_its_version(
    versions: tuple[str, ...], version: str, kinds: list[str]
) -> None:
    peer = ScriptedPeer(versions, streaming=True)
    async with speaking_to(peer, version) as speaker:
        heard = await subscribed(speaker)
    assert heard.kinds == kinds
    assert heard.moments[-1] == 3
    assert peer.truth.subscriptions == 1


@pytest.mark.spec("STRM-5")
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("opening", "kinds"),
    [
        (Opening.SNAPSHOT, ["task", "artifact", "status"]),
        (Opening.UPDATES, ["artifact", "status"]),
    ],
)
async def test_a_script_says_how_a_subscription_begins(
    version: str, opening: Opening, kinds: list[str]
) -> None:
    peer = ScriptedPeer((version,), streaming=True)
    peer.always(Operation.SUBSCRIBE, Subscription(opening))
    async with speaking_to(peer, version) as speaker:
        assert (await subscribed(speaker)).kinds == kinds


@pytest.mark.spec("STRM-5")
async def test_what_happened_in_a_gap_is_lost_without_a_snapshot() -> None:
    peer = ScriptedPeer(streaming=True)
    peer.always(Operation.SUBSCRIBE, Subscription(Opening.UPDATES))
    async with speaking_to(peer) as speaker:
        heard = await subscribed(speaker, "chunks 4", pause=0.25)
    first = next(one for one in heard.results if "artifact" in one)
    assert (first["append"], first["artifact"]["parts"][0]["text"]) == (True, " chunk 4")


@pytest.mark.spec("STRM-5")
@pytest.mark.parametrize("version", VERSIONS)
async def test_a_silent_subscription_gives_its_head_and_then_nothing(version: str) -> None:
    peer = ScriptedPeer((version,), streaming=True)
    if version != "0.2":  # whose own way it is
        peer.always(Operation.SUBSCRIBE, Subscription(Opening.SILENCE))
    async with peer.client(timeout=30) as client:
        heard = await subscribed(Speaker(peer, client, version))
    assert (heard.status, heard.body, heard.ending) == (200, b"", "ReadTimeout")
    fact = peer.truth.requests[-1].stream
    assert fact is not None
    assert (fact.events, fact.end) == (0, StreamEnd.CLIENT)


@pytest.mark.spec("STRM-6")
@pytest.mark.parametrize(
    ("versions", "version", "code", "as_json"),
    [
        (("1.0",), "1.0", -32004, True),
        (("0.3",), "0.3", -32602, False),
        (("0.2",), "0.2", -32602, False),
        (BOTH, "1.0", -32004, True),
        (BOTH, "0.3", -32004, False),
    ],
)
async def test_a_finished_task_is_refused_as_in_the_server_of_its_version(
    versions: tuple[str, ...], version: str, code: int, *, as_json: bool
) -> None:
    peer = ScriptedPeer(versions, streaming=True)
    async with peer.client(timeout=None) as client:
        speaker = Speaker(peer, client, version)
        task = await speaker.sent_task("task")
        asked = {"id": task["id"]}
        if as_json:
            assert (await speaker.call("subscribe", asked))["error"]["code"] == code
            return
        heard = await hear(speaker, "subscribe", asked)
    (reply,) = heard.replies
    assert (reply["error"]["code"], reply["id"], heard.ending) == (code, 7, "closed")
    assert "data" not in reply["error"]


@pytest.mark.spec("STRM-6")
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("finished", Finished)
async def test_a_script_says_what_a_finished_task_gets(version: str, finished: Finished) -> None:
    peer = ScriptedPeer((version,), streaming=True)
    peer.always(Operation.SUBSCRIBE, Subscription(finished=finished))
    async with speaking_to(peer, version) as speaker:
        heard = await subscribed(speaker, "task")
    assert is_json(heard) == (finished is Finished.REFUSAL)
    assert heard.ending == ("RemoteProtocolError" if finished is Finished.CUT else "closed")
    if finished is Finished.CUT:
        assert heard.body == b""
    elif finished is Finished.SNAPSHOT:
        assert (heard.kinds, states(heard)) == (["task"], ["completed"])
        assert texts(heard.results[0]) == ["result of task"]
    elif finished is Finished.ERROR_EVENT:
        assert len(heard.replies) == 1
        assert "is in terminal state" in heard.replies[0]["error"]["message"]


@pytest.mark.spec("STRM-6")
@pytest.mark.parametrize("version", VERSIONS)
async def test_a_task_that_is_not_there_is_refused_in_the_same_way(version: str) -> None:
    peer = ScriptedPeer((version,), streaming=True)
    async with speaking_to(peer, version) as speaker:
        heard = await hear(speaker, "subscribe", {"id": "nobody's"})
    assert is_json(heard) == (version == "1.0")
    assert b"-32001" in heard.body


@pytest.mark.spec("STRM-7")
@pytest.mark.parametrize("version", VERSIONS)
async def test_a_subscription_to_a_question_stays_open_until_it_is_answered(version: str) -> None:
    peer = ScriptedPeer((version,), streaming=True)
    peer.always(Operation.SUBSCRIBE, Subscription())
    async with speaking_to(peer, version) as speaker, anyio.create_task_group() as tasks:
        task = await speaker.sent_task("ask")
        heard: list[Heard] = []

        async def listen() -> None:
            heard.append(await hear(speaker, "subscribe", {"id": task["id"]}))

        tasks.start_soon(listen)
        await anyio.sleep(1000)
        assert not heard
        await speaker.send("Rome", taskId=task["id"])
    assert states(heard[0]) == ["input-required", "completed"]
    assert heard[0].moments == [0, 1000, 1000]


@pytest.mark.spec("STRM-7")
async def test_all_who_listen_see_the_same() -> None:
    peer = ScriptedPeer(streaming=True)
    async with speaking_to(peer) as speaker:
        heard: list[Heard] = []

        async def listen() -> None:
            heard.append(await hear(speaker, "subscribe", {"id": task["id"]}))

        task = await speaker.sent_task("slow 3", immediate=True)
        async with anyio.create_task_group() as tasks:
            for _ in range(3):
                tasks.start_soon(listen)
    assert len({one.body for one in heard}) == 1
    assert states(heard[0]) == ["working", "completed"]


# What the ground truth says of it


@pytest.mark.spec("STRM-8")
async def test_the_truth_counts_the_events_and_says_who_ended_a_stream() -> None:
    peer = ScriptedPeer(streaming=True)
    async with speaking_to(peer) as speaker:
        began = anyio.current_time()
        await hear_send(speaker, "slow 2")
        await hear_send(speaker, "slow 2", leave_after=2)
        await speaker.send("task")
    ended, left, plain = (request.stream for request in peer.truth.requests)
    assert ended == StreamFact(4, StreamEnd.PEER, closed=began + 2)
    assert left == StreamFact(2, StreamEnd.CLIENT, closed=began + 2)
    assert plain is None
    assert (peer.truth.open, peer.truth.sends) == (0, 3)


@pytest.mark.spec("STRM-8")
async def test_a_stream_that_is_open_reads_as_open() -> None:
    peer = ScriptedPeer(streaming=True)
    async with speaking_to(peer) as speaker, anyio.create_task_group() as tasks:
        tasks.start_soon(hear_send, speaker, "stuck")
        await anyio.sleep(1)
        assert peer.truth.requests[0].stream == StreamFact(2, StreamEnd.OPEN, None)
        assert peer.truth.open == 1
        tasks.cancel_scope.cancel()
    (request,) = peer.truth.requests
    assert request.stream is not None
    assert request.stream.end is StreamEnd.CLIENT
    assert peer.truth.open == 0


@pytest.mark.spec("STRM-8")
async def test_the_work_goes_on_when_its_stream_is_left() -> None:
    peer = ScriptedPeer(streaming=True)
    async with speaking_to(peer) as speaker:
        await hear_send(speaker, "slow 2", leave_after=1)
        await anyio.sleep(2)
    assert peer.truth.tasks[0].state == "completed"


# What else a script says of a send


@pytest.mark.spec("STRM-9")
@pytest.mark.parametrize(
    "behaviour",
    [DropBeforeReading(), Respond(503, accepts=True), RpcError(-32603, "boom")],
    ids=str,
)
async def test_what_is_said_of_a_send_is_said_of_a_streamed_one(
    behaviour: Respond | RpcError | DropBeforeReading,
) -> None:
    told: list[object] = []
    for operation in ("send", "stream"):
        peer = ScriptedPeer(streaming=True)
        peer.script(Operation.SEND, behaviour)
        async with peer.client() as client:
            speaker = Speaker(peer, client)
            try:
                params = {"message": speaker.message("task", "m")}
                heard = await hear(speaker, operation, params)
                told.append((heard.status, heard.body, peer.truth.runs["m"]))
            except Exception as error:  # noqa: BLE001 - whatever it is, both have to raise it
                told.append((type(error), str(error), peer.truth.runs["m"]))
    assert told[0] == told[1]


@pytest.mark.spec("STRM-9")
async def test_a_stream_is_cut_at_any_byte() -> None:
    peer = ScriptedPeer(streaming=True)
    async with speaking_to(peer) as speaker:
        whole = (await hear_send(speaker, "chunks 2")).body
        of_one_size = len(whole)
        for cut in range(1, of_one_size, 7):
            peer.script(Operation.SEND, DropAfterAccepting(cut, loss=Loss.READ_ERROR))
            heard = await hear_send(speaker, "chunks 2")
            assert (len(heard.body), heard.ending) == (cut, "ReadError")


@pytest.mark.spec("STRM-9")
@pytest.mark.parametrize("event", range(1, 5))
async def test_a_cut_between_two_events_does_not_wait_for_the_second(event: int) -> None:
    peer = ScriptedPeer(streaming=True)
    async with speaking_to(peer) as speaker:
        whole = await hear_send(speaker, "slow 5")
        upto = sum(len(piece) for _, piece in whole.pieces[:event])
        peer.script(Operation.SEND, DropAfterAccepting(upto))
        began = anyio.current_time()
        heard = await hear_send(speaker, "slow 5")
        took = anyio.current_time() - began
    last = event == len(whole.pieces)
    assert heard.ending == ("closed" if last else "RemoteProtocolError")
    assert took == whole.pieces[event - 1][0]
    assert peer.truth.requests[-1].stream == StreamFact(event, StreamEnd.PEER, began + took)


@pytest.mark.spec("STRM-9")
async def test_an_act_that_changes_a_reply_changes_every_event() -> None:
    peer = ScriptedPeer(streaming=True)
    peer.script(
        Operation.SEND,
        WrongId(),
        UnknownState("PONDERING"),
        Rewrite(lambda reply: {**reply, "jsonrpc": "1.0"}),
    )
    async with speaking_to(peer) as speaker:
        wrong, unknown, old = [await hear_send(speaker, "task") for _ in range(3)]
    assert [reply["id"] for reply in wrong.replies] == [8] * 3
    shown = [one["status"]["state"] for one in unknown.results if "status" in one]
    assert shown == ["PONDERING"] * 2
    assert {reply["jsonrpc"] for reply in old.replies} == {"1.0"}


@pytest.mark.spec("STRM-9")
async def test_a_stream_that_begins_late_shows_at_once_what_it_missed() -> None:
    peer = ScriptedPeer(streaming=True)
    peer.script(Operation.SEND, Delay(1.5))
    async with speaking_to(peer) as speaker:
        heard = await hear_send(speaker, "slow 1")
    assert heard.kinds == ["task", "status", "artifact", "status"]
    assert heard.moments == [1.5] * 4


@pytest.mark.spec("STRM-9")
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("waits", [False, True])
async def test_a_call_for_a_stream_is_answered_with_json(version: str, *, waits: bool) -> None:
    peer = ScriptedPeer((version,), streaming=True)
    peer.script(Operation.SEND, Unstreamed(waits=waits))
    peer.script(Operation.SUBSCRIBE, Unstreamed())
    async with speaking_to(peer, version) as speaker:
        params: Reply = {"message": speaker.message("slow 3")}
        began = anyio.current_time()
        task = bare((await speaker.call("stream", params))["result"])
        assert state(task) == ("completed" if waits else "submitted")
        assert anyio.current_time() - began == (3 if waits else 0)
        shown = bare((await speaker.call("subscribe", {"id": task["id"]}))["result"])
        assert state(shown) == ("completed" if waits else "working")
    assert [request.stream for request in peer.truth.requests] == [None, None]
