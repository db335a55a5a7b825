"""The scripted peer's streams over HTTP+JSON: the same events, without the envelope."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio
import httpx
import pytest

from a2a_delegate.testing import (
    Delay,
    DropAfterAccepting,
    EventFormat,
    EventKind,
    EventOrder,
    Finished,
    Gathered,
    GreedyFirstChunk,
    Hang,
    Honest,
    InsertBytes,
    InsertEvent,
    Intruder,
    LineEnd,
    Opening,
    Operation,
    PadEvent,
    Pings,
    Respond,
    ScriptedPeer,
    SplitInside,
    Stop,
    StopStream,
    Subscription,
    UnknownState,
    Unstreamed,
    WithoutEvents,
    WorkEndsWithStream,
)
from tests.testing.hearing import Heard, hear, hear_send
from tests.testing.speaking import Speaker, state
from tests.testing.speaking_http_json import KINDS, SPEAKERS, HttpJsonSpeaker

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from a2a_delegate.testing import Behaviour

pytestmark = [pytest.mark.anyio, pytest.mark.virtual_time]

HTTP_JSON = ("HTTP+JSON",)


@pytest.fixture(params=KINDS)
async def speaker(request: pytest.FixtureRequest) -> AsyncIterator[HttpJsonSpeaker]:
    versions, options = KINDS[request.param]
    peer = ScriptedPeer(versions, bindings=HTTP_JSON, streaming=True, **options)
    async with peer.client(timeout=None) as client:
        yield HttpJsonSpeaker(peer, client, versions[-1])
    assert peer.truth.open == 0
    assert peer.pending == ()


@asynccontextmanager
async def speaking_to(
    binding: str, version: str, behaviour: Behaviour, operation: Operation
) -> AsyncIterator[Speaker]:
    """Speak to a peer that behaves so, in one binding."""
    peer = ScriptedPeer((version,), bindings=(binding,), streaming=True)
    peer.script(operation, behaviour)
    async with peer.client(timeout=20) as client:
        yield SPEAKERS[binding](peer, client, version)


@pytest.mark.spec("BARE-7")
async def test_an_event_is_the_result_alone(speaker: HttpJsonSpeaker) -> None:
    heard = await hear_send(speaker, "chunks 2")
    assert heard.status == 200
    assert heard.headers["content-type"] == "text/event-stream; charset=utf-8"
    wrappers = [list(event) for event in heard.replies]
    assert wrappers == [
        ["task"],
        *[["statusUpdate"], ["statusUpdate"], ["artifactUpdate"]],
        *[["statusUpdate"], ["artifactUpdate"], ["statusUpdate"]],
    ]
    assert heard.moments == [0, 0, 0, 0, 0.1, 0.1, 0.2]
    states = [state(one) for one in heard.results if "status" in one]
    assert states == ["submitted", *["working"] * 3, "completed"]
    pieces = [one for one in heard.results if "artifact" in one]
    assert [bool(one.get("append")) for one in pieces] == [False, True]
    assert [bool(one.get("lastChunk")) for one in pieces] == [False, True]
    finals = [one.get("final", False) for one in heard.results]
    assert finals == [False] * 6 + [speaker.version == "0.3"]
    assert speaker.peer.truth.requests[0].operation is Operation.SEND


@pytest.mark.spec("BARE-7")
async def test_a_stream_of_1_0_is_that_of_json_rpc_without_the_envelope() -> None:
    heard: list[Heard] = []
    for binding in SPEAKERS:
        peer = ScriptedPeer(bindings=(binding,), streaming=True)
        async with peer.client(timeout=None) as client:
            heard.append(await hear_send(SPEAKERS[binding](peer, client), "chunks 3"))
    enveloped, bare = heard
    assert [without_time(one["result"]) for one in enveloped.replies] == [
        without_time(one) for one in bare.replies
    ]


def without_time(value: Any) -> Any:
    """Return an event without what differs in every run: its moments, and the id of its message."""
    if isinstance(value, dict):
        drawn = {"timestamp", "messageId"}
        return {name: without_time(item) for name, item in value.items() if name not in drawn}
    return [without_time(item) for item in value] if isinstance(value, list) else value


@pytest.mark.spec("BARE-7")
async def test_a_bare_message_is_all_of_its_stream(speaker: HttpJsonSpeaker) -> None:
    heard = await hear_send(speaker, "hello")
    assert [list(event) for event in heard.replies] == [["message"]]


@pytest.mark.spec("BARE-7")
async def test_what_cannot_be_streamed_is_refused_with_a_status(speaker: HttpJsonSpeaker) -> None:
    unknown = await hear_send(speaker, "x", message={"taskId": "nobody's"})
    subscribed = await hear(speaker, "subscribe", {"id": "nobody's"})
    assert (unknown.status, subscribed.status) == (404, 404)
    for heard in (unknown, subscribed):
        assert heard.headers["content-type"].startswith("application/json")
        assert isinstance(json.loads(heard.body), dict)
    assert speaker.peer.truth.subscriptions == 1


@pytest.mark.spec("BARE-7")
async def test_a_peer_without_streams_refuses_them(speaker: HttpJsonSpeaker) -> None:
    peer = ScriptedPeer((speaker.version,), bindings=HTTP_JSON)
    async with peer.client() as client:
        heard = await hear_send(HttpJsonSpeaker(peer, client, speaker.version), "task")
    assert heard.status in {400, 501}
    assert peer.truth.tasks == ()


@pytest.mark.spec("BARE-5")
@pytest.mark.parametrize("version", ["1.0", "0.3"])
@pytest.mark.parametrize("verb", ["POST", "GET"])
async def test_a_subscription_streams_by_each_verb_that_it_takes(version: str, verb: str) -> None:
    peer = ScriptedPeer((version,), bindings=HTTP_JSON, streaming=True, subscribe_verbs=(verb,))
    peer.always(Operation.SUBSCRIBE, Subscription(Opening.SNAPSHOT))
    async with peer.client(timeout=None) as client:
        speaker = HttpJsonSpeaker(peer, client, version)
        task = (await speaker.sent_task("slow 2", immediate=True))["id"]
        asked = speaker.request("subscribe", {"id": task})
        reply = await client.request(verb, asked.url, headers={"A2A-Version": version})
    heard = Heard(reply.status_code, reply.headers, [(0.0, reply.content)], "closed")
    assert heard.kinds == ["task", "artifact", "status"]
    assert state(heard.results[-1]) == "completed"
    assert peer.truth.subscriptions == 1


@pytest.mark.spec("BARE-7")
async def test_a_subscription_begins_and_ends_as_in_its_server(speaker: HttpJsonSpeaker) -> None:
    task = (await speaker.sent_task("slow 2", immediate=True))["id"]
    heard = await hear(speaker, "subscribe", {"id": task})
    over = await hear(speaker, "subscribe", {"id": task})
    of_sdk = speaker.version == "0.3" and len(speaker.peer.versions) == 1
    of_js = of_sdk and "task" in over.body.decode() and over.status == 200
    shows_task = [] if of_sdk and not of_js else ["task"]
    assert heard.kinds == [*shows_task, "artifact", "status"]
    if of_js:
        assert over.kinds == ["task"]
    elif of_sdk:
        assert (over.status, over.ending) == (200, "RemoteProtocolError")
    else:
        assert over.status in {400, 422}


@pytest.mark.spec("BARE-7")
@pytest.mark.parametrize("finished", Finished)
async def test_a_script_says_what_a_finished_task_gets(
    speaker: HttpJsonSpeaker, finished: Finished
) -> None:
    speaker.peer.script(Operation.SUBSCRIBE, Subscription(finished=finished))
    task = await speaker.sent_task("data")
    await anyio.sleep(1)
    heard = await hear(speaker, "subscribe", {"id": task["id"]})
    match finished:
        case Finished.REFUSAL:
            assert heard.status in {400, 422}
        case Finished.ERROR_EVENT:
            (event,) = heard.replies
            assert event.keys() & {"error", "message"}
        case Finished.CUT:
            assert (heard.status, heard.ending) == (200, "RemoteProtocolError")
        case Finished.SNAPSHOT:
            assert heard.kinds == ["task"]


@pytest.mark.spec("BARE-7")
@pytest.mark.parametrize(("what", "name"), [("error", "message"), ("error-frame", "error")])
async def test_an_error_within_a_stream_has_the_form_of_its_server(
    speaker: HttpJsonSpeaker, what: str, name: str
) -> None:
    speaker.peer.script(Operation.SEND, InsertEvent(1, Intruder(what)))
    heard = await hear_send(speaker, "task")
    called, data = heard.events[1]
    assert called == name
    error = json.loads(data)
    told = error.get("error", error)
    assert told["message"] == "the stream broke"
    assert told.get("code") in {None, 500, -32603}


STREAMED: list[Behaviour] = [
    Honest(),
    DropAfterAccepting(0, headers_sent=True),
    Respond(503, accepts=True),
    UnknownState("PONDERING"),
    Unstreamed(),
    Unstreamed(waits=True),
    Delay(3),
    Hang(),
    StopStream(1),
    StopStream(2, Stop.CUT),
    StopStream(2, Stop.SILENCE),
    Pings(1.5),
    EventOrder((2, 1, 1)),
    WithoutEvents(EventKind.ARTIFACT),
    InsertBytes(1, b"data: [DONE]\n\n"),
    PadEvent(1, 100_000),
    GreedyFirstChunk(),
    EventFormat(LineEnd.CRLF, bom=True, multi_line=True, ids=True, retry=5, name="x", space=False),
    Gathered(2),
    SplitInside("data: "),
    WorkEndsWithStream(),
    *(InsertEvent(1, what) for what in Intruder if what is not Intruder.WRONG_ID),
]


async def played(binding: str, version: str, behaviour: Behaviour, text: str) -> tuple[object, ...]:
    """Hear one stream, and return what of it is the same in every binding."""
    heard: Heard | None = None
    async with speaking_to(binding, version, behaviour, Operation.SEND) as speaker:
        peer = speaker.peer
        with anyio.move_on_after(60):
            try:
                heard = await hear_send(speaker, text, message={"messageId": "m"})
            except httpx.TransportError as error:
                return type(error), dict(peer.truth.runs)
    assert heard is not None
    fact = peer.truth.requests[-1].stream
    return (
        heard.status,
        [name for name, _ in heard.events],
        shown(heard),
        heard.moments if "event-stream" in heard.headers.get("content-type", "") else [],
        heard.ending,
        dict(peer.truth.runs),
        [(one.state, one.ended and round(one.ended - one.started, 3)) for one in peer.truth.tasks],
        fact and (fact.events, fact.end),
    )


def shown(heard: Heard) -> list[str]:
    """Return what each event shows: its kind, or that it is none."""
    found = []
    for _, data in heard.events:
        try:
            event = json.loads(data)
        except ValueError:
            found.append("no JSON")
            continue
        alone = Heard(200, heard.headers, [(0, b"data: %b\n\n" % data.replace(b"\n", b""))], "")
        is_error = "error" in event or isinstance(event.get("message"), str)
        found.append("error" if is_error else alone.kinds[0])
    return found


@pytest.mark.spec("BARE-4", "BARE-7")
@pytest.mark.parametrize("version", ["1.0", "0.3"])
@pytest.mark.parametrize("behaviour", STREAMED, ids=str)
async def test_a_stream_misbehaves_in_the_same_way_in_every_binding(
    behaviour: Behaviour, version: str
) -> None:
    text = "chunks 3" if isinstance(behaviour, GreedyFirstChunk) else "slow 4"
    with_envelope, without = [
        await played(binding, version, behaviour, text) for binding in SPEAKERS
    ]
    assert without == with_envelope


@pytest.mark.spec("BARE-7")
async def test_a_stream_is_cut_at_any_byte() -> None:
    async with speaking_to("HTTP+JSON", "1.0", Honest(), Operation.SEND) as speaker:
        whole = (await hear_send(speaker, "task")).body
        for cut in range(len(whole)):
            speaker.peer.script(Operation.SEND, DropAfterAccepting(cut, headers_sent=True))
            heard = await hear_send(speaker, "task")
            assert heard.ending == "RemoteProtocolError"
            assert len(heard.body) == cut
