"""ListTasks as a look-up for a lost reply uses it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import anyio
import pytest

from a2a_delegate.testing import Operation, RpcError, ScriptedPeer
from tests.testing.speaking import Speaker, state

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

pytestmark = [pytest.mark.anyio, pytest.mark.virtual_time]

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


@pytest.fixture
async def speaker() -> AsyncIterator[Speaker]:
    peer = ScriptedPeer()
    async with peer.client(timeout=None) as client:
        yield Speaker(peer, client)


def ids(listed: dict[str, list[dict[str, str]]]) -> list[str]:
    return [task["id"] for task in listed["tasks"]]


async def test_the_newest_state_comes_first(speaker: Speaker) -> None:
    slow = await speaker.sent_task("slow 5", immediate=True)
    await anyio.sleep(1)
    quick = [await speaker.sent_task("task") for _ in range(3)]
    # Of one moment, the youngest task comes first.
    newest_first = [task["id"] for task in reversed(quick)]
    assert ids(await speaker.list()) == [*newest_first, slow["id"]]
    await anyio.sleep(5)
    listed = await speaker.list()
    assert ids(listed) == [slow["id"], *newest_first]
    assert state(listed["tasks"][0]) == "completed"
    assert (listed["totalSize"], listed["pageSize"], listed["nextPageToken"]) == (4, 50, "")


async def test_a_lost_message_is_found_by_its_context(speaker: Speaker) -> None:
    await speaker.send("task", contextId="other")
    await speaker.send("slow 9", "ours", immediate=True, contextId="context")
    listed = await speaker.list(contextId="context")
    (task,) = listed["tasks"]
    assert [message["messageId"] for message in task["history"]] == ["ours"]
    assert listed["totalSize"] == 1
    assert (await speaker.list(contextId="nowhere"))["tasks"] == []


async def test_a_bare_message_is_never_listed(speaker: Speaker) -> None:
    await speaker.send("hello", contextId="context")
    assert (await speaker.list(contextId="context"))["tasks"] == []


async def test_pages_follow_each_other_without_gap_or_repeat(speaker: Speaker) -> None:
    made = [(await speaker.sent_task("task"))["id"] for _ in range(7)]
    seen: list[str] = []
    token, pages = "", 0
    while pages == 0 or token:
        page = await speaker.list(pageSize=3, pageToken=token)
        seen += ids(page)
        token, pages = page["nextPageToken"], pages + 1
        assert page["totalSize"] == 7
    assert pages == 3
    assert seen == made[::-1]


async def test_a_page_that_just_fits_is_the_last(speaker: Speaker) -> None:
    for _ in range(4):
        await speaker.send("task")
    page = await speaker.list(pageSize=2)
    assert page["nextPageToken"]
    assert (await speaker.list(pageSize=2, pageToken=page["nextPageToken"]))["nextPageToken"] == ""


async def test_a_task_that_changes_meanwhile_is_not_shown_twice(speaker: Speaker) -> None:
    slow = await speaker.sent_task("slow 5", immediate=True)
    await anyio.sleep(1)
    quick = [(await speaker.sent_task("task"))["id"] for _ in range(2)]
    page = await speaker.list(pageSize=2)
    assert ids(page) == quick[::-1]
    await anyio.sleep(9)
    assert ids(await speaker.list(pageToken=page["nextPageToken"])) == []
    assert state(await speaker.get(slow["id"])) == "completed"


async def test_what_changed_since_a_moment_is_found_by_it(speaker: Speaker) -> None:
    await speaker.send("task")
    await anyio.sleep(60)
    second = await speaker.sent_task("task")
    stamp = second["status"]["timestamp"]
    assert ids(await speaker.list(statusTimestampAfter=stamp)) == [second["id"]]
    earlier = datetime.fromisoformat(stamp) - timedelta(seconds=61)
    everything = await speaker.list(statusTimestampAfter=earlier.isoformat())
    assert len(everything["tasks"]) == 2
    later = datetime.fromisoformat(stamp) + timedelta(microseconds=1)
    assert ids(await speaker.list(statusTimestampAfter=later.isoformat())) == []


async def test_timestamps_go_with_the_clock_of_the_loop(speaker: Speaker) -> None:
    before = datetime.now(UTC)
    first = await speaker.sent_task("slow 100")
    second = await speaker.sent_task("task")
    stamps = [datetime.fromisoformat(task["status"]["timestamp"]) for task in (first, second)]
    assert stamps[0] == stamps[1]
    assert timedelta(seconds=99) < stamps[0] - before < timedelta(seconds=110)


async def test_a_peer_may_have_another_time_of_day() -> None:
    peer = ScriptedPeer(wall_clock=lambda: NOON)
    async with peer.client() as client:
        speaker = Speaker(peer, client)
        task = await speaker.sent_task("slow 2", immediate=True)
        await anyio.sleep(5)
        done = await speaker.get(task["id"])
    # It ended three seconds before the peer's clock showed noon.
    assert done["status"]["timestamp"] == "2026-11-30T11:59:57.000000Z"


async def test_states_can_be_asked_for(speaker: Speaker) -> None:
    await speaker.send("task")
    asked = await speaker.sent_task("ask")
    found = await speaker.list(status="TASK_STATE_INPUT_REQUIRED")
    assert ids(found) == [asked["id"]]
    # A word that is no state is no filter: a2a-sdk shows everything.
    assert len((await speaker.list(status="TASK_STATE_BORED"))["tasks"]) == 2


async def test_artifacts_come_only_when_asked_for(speaker: Speaker) -> None:
    await speaker.send("data")
    assert "artifacts" not in (await speaker.list())["tasks"][0]
    (task,) = (await speaker.list(includeArtifacts=True))["tasks"]
    assert [artifact["name"] for artifact in task["artifacts"]] == ["data", "result"]


async def test_the_history_is_as_long_as_asked_for(speaker: Speaker) -> None:
    await speaker.send("slow 1")
    for length, shown in [(0, 0), (1, 1), (9, 2)]:
        (task,) = (await speaker.list(historyLength=length))["tasks"]
        assert len(task.get("history", [])) == shown


@pytest.mark.parametrize(
    ("params", "text"),
    [
        ({"pageSize": 0}, "minimum page size is 1"),
        ({"pageSize": 101}, "maximum page size is 100"),
        ({"pageSize": "2"}, "Validation failed"),
        ({"historyLength": -1}, "history length must be non-negative"),
        ({"pageToken": "~"}, "Token is not a valid base64-encoded cursor."),
        ({"pageToken": "e30="}, "Token is not a valid base64-encoded cursor."),
        ({"pageToken": "WzEsMl0="}, "Token is not a valid base64-encoded cursor."),
        ({"pageToken": "gA=="}, "Token is not a valid base64-encoded cursor."),
        ({"statusTimestampAfter": "yesterday"}, "Validation failed"),
        ({"statusTimestampAfter": "2026-11-30T12:00:00"}, "Validation failed"),
        ({"statusTimestampAfter": "0001-01-01T00:00:00+14:00"}, "Validation failed"),
    ],
)
async def test_a_page_that_cannot_be_is_refused(
    speaker: Speaker, params: dict[str, object], text: str
) -> None:
    refused = await speaker.list(**params)
    assert (refused["code"], refused["message"]) == (-32602, text)


async def test_a_peer_may_refuse_to_list() -> None:
    peer = ScriptedPeer(lists=False)
    async with peer.client() as client:
        assert (await Speaker(peer, client).list())["code"] == -32004


@pytest.mark.parametrize(
    ("versions", "version", "code"),
    [
        (("0.3",), "0.3", -32601),
        (("1.0", "0.3"), "0.3", -32601),
        (("0.2",), "0.2", -32600),
        (("1.0", "0.2"), "0.2", -32600),
    ],
)
async def test_before_1_0_no_list_is_known(
    versions: tuple[str, ...], version: str, code: int
) -> None:
    peer = ScriptedPeer(versions)
    peer.script(Operation.LIST, RpcError(-1))
    async with peer.client() as client:
        speaker = Speaker(peer, client, version)
        assert (await speaker.list())["code"] == -1
        assert (await speaker.list())["code"] == code


async def test_what_was_begun_in_0_3_is_listed_in_1_0() -> None:
    peer = ScriptedPeer(("0.3", "1.0"))
    async with peer.client() as client:
        parts = [
            {"kind": "text", "text": "task"},
            {"kind": "data", "data": {"a": 1}, "metadata": {"b": 2}},
            {"kind": "file", "file": {"uri": "https://files.example/x", "name": "x"}},
            {"kind": "file", "file": {"bytes": "aGk=", "mimeType": "text/plain"}},
        ]
        old = Speaker(peer, client, "0.3")
        more = {"metadata": {"c": 3}, "extensions": ["e"], "referenceTaskIds": ["r"]}
        task = await old.sent_task("", message_id="m", parts=parts, **more)
        assert task["history"][0]["parts"] == parts
        (listed,) = (await Speaker(peer, client).list(contextId=task["contextId"]))["tasks"]
        seen = await Speaker(peer, client).get(task["id"])
    assert listed["id"] == task["id"]
    (message,) = seen["history"]
    assert message["parts"] == [
        {"text": "task"},
        {"data": {"a": 1}, "metadata": {"b": 2}},
        {"url": "https://files.example/x", "filename": "x"},
        {"raw": "aGk=", "mediaType": "text/plain"},
    ]
    assert message["metadata"] == {"c": 3}
    assert message["extensions"] == ["e"]
    assert message["referenceTaskIds"] == ["r"]


async def test_what_was_begun_in_1_0_can_be_got_in_0_3() -> None:
    peer = ScriptedPeer(("1.0", "0.3"))
    async with peer.client() as client:
        parts = [{"data": [1]}, {"raw": "aGk=", "filename": "x", "metadata": {"a": 1}}]
        task = await Speaker(peer, client).sent_task("", parts=parts)
        seen = await Speaker(peer, client, "0.3").get(task["id"])
    # Only objects travel as data in 0.3.
    assert seen["history"][0]["parts"] == [
        {"kind": "data", "data": {"value": [1]}},
        {"kind": "file", "file": {"bytes": "aGk=", "name": "x"}, "metadata": {"a": 1}},
    ]
