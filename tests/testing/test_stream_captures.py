"""The peer's streams against those of real servers: the same events, of the same shape.

What the recorded agent does between is its own: ours says more of one piece of work, less of
another. So of the events that say how far it is only the shapes are compared.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from a2a_delegate.testing import Finished, Opening, Operation, ScriptedPeer, Subscription
from tests.testing.hearing import Heard, hear, kind_of, read_events
from tests.testing.recorded_shapes import CAPTURES, Shape, shape
from tests.testing.speaking import METHODS, Reply, Speaker

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.anyio, pytest.mark.virtual_time, pytest.mark.spec("STRM-10")]

BOTH = ("1.0", "0.3")
PEERS = {
    "a2a-sdk-1.3": (("1.0",), "1.0"),
    "a2a-sdk-1.3-compat-as-1.0": (BOTH, "1.0"),
    "a2a-sdk-1.3-compat-as-0.3": (BOTH, "0.3"),
    "a2a-sdk-0.3": (("0.3",), "0.3"),
    "a2a-sdk-0.2": (("0.2",), "0.2"),
}
OPERATIONS = {
    "SendStreamingMessage": "stream",
    "message/stream": "stream",
    "SubscribeToTask": "subscribe",
    "tasks/resubscribe": "subscribe",
}
HEADERS = ("content-type", "cache-control", "x-accel-buffering")


@dataclass(frozen=True)
class Recorded:
    """One recorded call for a stream."""

    operation: str
    params: Reply
    request_id: object
    headers: dict[str, str]
    body: bytes
    ended: str

    @property
    def replies(self) -> list[Reply]:
        return [json.loads(data) for _, data in read_events(self.body)]


def recorded(peer: str, name: str) -> Iterator[Recorded]:
    loaded: Any = json.loads((CAPTURES / peer / f"{name}.json").read_text(encoding="utf-8"))
    for exchange in loaded["exchanges"]:
        call = json.loads(exchange["request"]["body"])
        if (operation := OPERATIONS.get(call["method"])) is None:
            continue
        # A connection that the recorder left ends within an event.
        lines = [line for _, line in exchange["stream"]]
        body = "".join(f"{line}\n" for line in lines).encode()
        yield Recorded(
            operation,
            call["params"],
            call["id"],
            exchange["headers"],
            body,
            exchange["ended"],
        )


def shapes(replies: list[Reply]) -> list[str]:
    return [json.dumps(shape(reply), sort_keys=True) for reply in replies]


def kinds(replies: list[Reply]) -> list[str]:
    """Return what a stream showed, with everything once that came several times running."""
    found = [kind_of(reply["result"]) for reply in replies]
    return [kind for number, kind in enumerate(found) if [kind] != found[number - 1 : number]]


def artifacts(replies: list[Reply]) -> list[str]:
    return shapes([reply for reply in replies if kind_of(reply["result"]) == "artifact"])


def assert_same_headers(heard: Heard, of: Recorded) -> None:
    for name in HEADERS:
        assert heard.headers.get(name) == of.headers.get(name)


@pytest.mark.parametrize("peer_name", PEERS)
@pytest.mark.parametrize("name", ["10-stream-slow", "11-stream-chunks", "12-stream-hello"])
async def test_a_streamed_send_is_as_recorded(peer_name: str, name: str) -> None:
    versions, version = PEERS[peer_name]
    peer = ScriptedPeer(versions, streaming=True)
    (recording,) = recorded(peer_name, name)
    async with peer.client(timeout=None) as client:
        speaker = Speaker(peer, client, version)
        heard = await hear(speaker, "stream", recording.params, request_id=recording.request_id)
    assert_same_headers(heard, recording)
    assert (heard.ending, recording.ended) == ("closed", "server closed")
    assert set(shapes(heard.replies)) <= set(PEERS_SHAPES[peer_name])
    assert shapes(heard.replies)[0] == shapes(recording.replies)[0]
    assert shapes(heard.replies)[-1] == shapes(recording.replies)[-1]
    assert artifacts(heard.replies) == artifacts(recording.replies)
    if name != "11-stream-chunks":  # where ours says how far it is between the pieces
        assert kinds(heard.replies) == kinds(recording.replies)
    assert {reply["id"] for reply in heard.replies} == {recording.request_id}


def _all_shapes(peer: str) -> list[str]:
    names = ("10-stream-slow", "11-stream-chunks", "12-stream-hello")
    return [one for name in names for call in recorded(peer, name) for one in shapes(call.replies)]


PEERS_SHAPES = {peer: _all_shapes(peer) for peer in PEERS}
SUBSCRIBED = [peer for peer in PEERS if peer != "a2a-sdk-0.2"]


@pytest.mark.parametrize("peer_name", SUBSCRIBED)
async def test_a_subscription_after_a_disconnect_is_as_recorded(peer_name: str) -> None:
    versions, version = PEERS[peer_name]
    peer = ScriptedPeer(versions, streaming=True)
    first, again, finished, unknown = recorded(peer_name, "19-disconnect-mid-stream")
    async with peer.client(timeout=None) as client:
        speaker = Speaker(peer, client, version)
        left = await hear(
            speaker, "stream", first.params, leave_after=2, request_id=first.request_id
        )
        assert set(shapes(left.replies)) <= set(PEERS_SHAPES[peer_name])
        asked = {"id": peer.truth.tasks[0].id}
        await anyio.sleep(0.6)
        heard = await hear(speaker, "subscribe", asked, request_id=again.request_id)
        assert_same_headers(heard, again)
        # Ours says nothing between; what comes first and last is what tells servers apart.
        opening = ["task"] if kinds(again.replies)[0] == "task" else []
        assert kinds(heard.replies) == [*opening, "artifact", "status"]
        assert shapes(heard.replies)[-1] == shapes(again.replies)[-1]
        assert artifacts(heard.replies) == artifacts(again.replies)
        for recording, params in ((finished, asked), (unknown, unknown.params)):
            refused = await hear(speaker, "subscribe", params, request_id=recording.request_id)
            assert_same_headers(refused, recording)
            assert refusal(refused.body) == refusal(recording.body)


def refusal(body: bytes) -> tuple[Shape, bool]:
    """Return the shape of an error, whether it came as JSON or as an event."""
    events = read_events(body)
    data = events[0][1] if events else body
    return shape(json.loads(data)), bool(events)


async def test_a_subscription_at_an_old_server_hangs_as_recorded() -> None:
    _, again, _, unknown = recorded("a2a-sdk-0.2", "19-disconnect-mid-stream")
    assert (again.body, again.ended) == (b"", "capture limit")
    peer = ScriptedPeer(("0.2",), streaming=True)
    async with peer.client(timeout=15) as client:
        speaker = Speaker(peer, client, "0.2")
        task = await speaker.sent_task("slow 60", immediate=True)
        heard = await hear(speaker, "subscribe", {"id": task["id"]})
        assert_same_headers(heard, again)
        assert (heard.body, heard.ending) == (b"", "ReadTimeout")
        refused = await hear(speaker, "subscribe", unknown.params, request_id=unknown.request_id)
        assert_same_headers(refused, unknown)
        assert refusal(refused.body) == refusal(unknown.body)


@pytest.mark.parametrize(
    ("recorded_of", "way"),
    [
        ("a2a-sdk-1.3", Subscription()),
        ("a2a-sdk-0.3", Subscription(Opening.UPDATES, Finished.ERROR_EVENT)),
        ("strands", Subscription(Opening.UPDATES, Finished.ERROR_EVENT)),
        ("js-sdk-1.3", Subscription()),
        ("js-sdk-0.3", Subscription(Opening.SNAPSHOT, Finished.SNAPSHOT)),
        ("fasta2a-2.1", Subscription(Opening.SNAPSHOT, Finished.SNAPSHOT)),
        ("a2akit", Subscription(Opening.SNAPSHOT, Finished.REFUSAL)),
    ],
)
async def test_the_ways_of_subscribing_are_those_of_servers(
    recorded_of: str, way: Subscription
) -> None:
    _, again, finished, _ = recorded(recorded_of, "19-disconnect-mid-stream")
    version = "0.3" if again.replies[0]["result"].get("kind") else "1.0"
    peer = ScriptedPeer((version,), streaming=True)
    peer.always(Operation.SUBSCRIBE, way)
    async with peer.client(timeout=None) as client:
        speaker = Speaker(peer, client, version)
        task = await speaker.sent_task("slow 4", immediate=True)
        await anyio.sleep(1)
        heard = await hear(speaker, "subscribe", {"id": task["id"]})
        over = await hear(speaker, "subscribe", {"id": task["id"]})
    assert (kinds(heard.replies)[0] == "task") == (kinds(again.replies)[0] == "task")
    # Both show the task, or both say what is wrong.
    assert (b'"error"' in over.body) == (b'"error"' in finished.body)
    is_stream = finished.headers["content-type"].startswith("text/event-stream")
    assert over.headers["content-type"].startswith("text/event-stream") == is_stream


def test_every_method_that_was_recorded_is_one_of_ours() -> None:
    ours = {
        methods[operation] for methods in METHODS.values() for operation in ("stream", "subscribe")
    }
    assert ours == set(OPERATIONS)
