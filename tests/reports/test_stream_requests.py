"""What a request for a stream is answered with when that is no stream, or none of the task."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from a2a_delegate import (
    A2ARequestError,
    AttemptFailed,
    Completed,
    Effect,
    Failed,
    InvalidReplyError,
    Rejected,
    TaskFailedError,
    Unknown,
    UsageError,
)
from a2a_delegate.testing import (
    InsertBytes,
    Operation,
    Redirect,
    Respond,
    RpcError,
    ScriptedPeer,
    Stop,
    StopStream,
    Unstreamed,
)
from tests.reports.staging import Notes, Renewing, delegate_of, requests_of, runs
from tests.reports.streaming import (
    INTERFACES,
    THREE,
    WAYS,
    Balancer,
    Way,
    cuts,
    delegate_behind,
    streaming_peer,
    subscriptions,
    text_told,
    watched,
    wrapped,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.reports.staging import Json

pytestmark = [pytest.mark.anyio, pytest.mark.virtual_time]

OLD_REST = Way("0.3", "HTTP+JSON")

STREAM = {"content-type": "text/event-stream"}

MEDIA_TYPES = [
    "application/json",
    "application/json; charset=utf-8",
    "application/a2a+json",
    "application/problem+json",
    "text/plain",
    "text/event-stream",
]
"""What servers call an error that they give in place of a stream; the last one lies."""


# -- errors ----------------------------------------------------------------------------------------


@pytest.mark.report("S5", "R8", "R14")
@WAYS
@pytest.mark.parametrize("media_type", MEDIA_TYPES)
async def test_a_401_to_a_request_for_a_stream_is_shown_as_one(way: Way, media_type: str) -> None:
    peer = streaming_peer(way)
    challenge = {"content-type": media_type, "www-authenticate": "Bearer"}
    peer.script(Operation.SEND, Respond(401, challenge, {"error": "the token has expired"}))
    result, notes = await watched(peer)
    assert isinstance(result, Rejected)
    assert isinstance(result.error, A2ARequestError)
    assert result.error.status == 401
    assert "the token has expired" in str(result.error)
    assert (result.effect, result.safe_to_retry) == (Effect.NOT_STARTED, True)
    assert not cuts(notes)
    assert (peer.truth.sends, runs(peer)) == (1, 0)


@pytest.mark.report("S5", "S6", "R8")
@WAYS
@pytest.mark.parametrize("media_type", MEDIA_TYPES)
@pytest.mark.parametrize("status", [400, 403, 404, 422, 500, 502, 503])
async def test_an_error_to_a_request_for_a_stream_is_shown_with_its_status_and_body(
    way: Way, status: int, media_type: str
) -> None:
    peer = streaming_peer(way, lists=False)
    body: Json = {"detail": "something is wrong here"}
    peer.script(Operation.SEND, Respond(status, {"content-type": media_type}, body))
    result, _ = await watched(peer)
    assert isinstance(result, Failed)
    assert isinstance(result.error, A2ARequestError)
    assert result.error.status == status
    assert "something is wrong here" in str(result.error)
    assert result.effect is Effect.MAY_HAVE_RUN, "agent code can raise that after its effect"
    assert peer.truth.sends == 1


@pytest.mark.report("S5", "S6", "R8")
@WAYS
@pytest.mark.parametrize("status", [200, 400, 500])
async def test_an_error_object_in_place_of_a_stream_keeps_its_code(way: Way, status: int) -> None:
    peer = streaming_peer(way, lists=False)
    peer.script(Operation.SEND, RpcError(-32602, "no such part", status=status))
    result, _ = await watched(peer)
    assert isinstance(result, Failed)
    assert isinstance(result.error, A2ARequestError)
    assert "no such part" in str(result.error)
    assert (peer.truth.sends, runs(peer)) == (1, 0)
    if way.binding == "JSONRPC":
        assert (result.error.code, result.error.status) == (-32602, status)


@pytest.mark.report("S5", "S6")
@WAYS
@pytest.mark.parametrize("media_type", MEDIA_TYPES)
@pytest.mark.parametrize("status", [400, 401, 403, 500])
async def test_an_error_to_a_subscription_is_told_and_the_task_is_asked_for(
    way: Way, status: int, media_type: str
) -> None:
    peer = streaming_peer(way)
    peer.script(Operation.SEND, StopStream(1, Stop.CUT))
    body: Json = {"error": {"code": 7, "message": "not while it rains"}}
    peer.always(Operation.SUBSCRIBE, Respond(status, {"content-type": media_type}, body))
    result, notes = await watched(peer, "slow 30")
    assert isinstance(result, Completed)
    assert result.output == text_told(notes) == "result of slow 30"
    failed = [one for one in notes.of(AttemptFailed) if one.attempt.operation == "subscribe"]
    assert failed
    for one in failed:
        assert isinstance(one.error, A2ARequestError)
        assert (one.error.status, one.attempt.http_status) == (status, status)
        assert "not while it rains" in str(one.error)


@pytest.mark.report("O1", "S3")
@WAYS
@pytest.mark.parametrize("status", [429, 503])
async def test_a_peer_that_asks_a_subscriber_to_wait_is_left_alone_for_as_long(
    way: Way, status: int
) -> None:
    peer = streaming_peer(way)
    peer.script(Operation.SEND, StopStream(1, Stop.CUT))
    peer.always(Operation.SUBSCRIBE, Respond(status, {"retry-after": "20"}))
    result, _ = await watched(peer, "slow 60")
    assert isinstance(result, Completed)
    times = [one.when for one in subscriptions(peer)]
    assert len(times) >= 3
    gets = [one.when for one in requests_of(peer, Operation.GET)]
    for refused in times[:-1]:
        assert not [one for one in (*times, *gets) if refused < one < refused + 20]


@pytest.mark.report("O1")
@WAYS
async def test_a_send_that_asks_for_a_stream_is_repeated_when_the_peer_says(way: Way) -> None:
    peer = streaming_peer(way)
    peer.script(Operation.SEND, Respond(429, {"retry-after": "7"}))
    result, notes = await watched(peer)
    assert isinstance(result, Completed)
    assert result.output == text_told(notes) == THREE
    first, second = [one.when for one in requests_of(peer, Operation.SEND)]
    assert second - first >= 7
    assert runs(peer) == 1


SAID = ["it broke", '{"error": "it broke"}', '{"detail": [{"msg": "it broke"}]}', '"it broke"']


@pytest.mark.report("S5", "S6")
@WAYS
@pytest.mark.parametrize("data", SAID)
async def test_an_event_that_is_called_an_error_is_one_whatever_it_holds(
    way: Way, data: str
) -> None:
    peer = streaming_peer(way, lists=False)
    peer.script(Operation.SEND, Respond(200, STREAM, f"event: error\ndata: {data}\n\n"))
    result, _ = await watched(peer)
    assert isinstance(result, Failed)
    assert isinstance(result.error, A2ARequestError)
    assert "it broke" in str(result.error)
    assert result.effect is Effect.MAY_HAVE_RUN
    assert peer.truth.sends == 1


@pytest.mark.report("S5")
@WAYS
@pytest.mark.parametrize("data", SAID)
async def test_a_stream_that_an_error_ends_is_resumed_and_the_error_is_told(
    way: Way, data: str
) -> None:
    peer = streaming_peer(way)
    event = f"event: error\ndata: {data}\n\n".encode()
    peer.script(Operation.SEND, InsertBytes(3, event))
    result, notes = await watched(peer)
    assert isinstance(result, Completed)
    assert result.output == text_told(notes) == THREE
    (cut,) = cuts(notes)
    assert isinstance(cut.error, A2ARequestError)
    assert "it broke" in str(cut.error)


@pytest.mark.report("S5", "R14")
@WAYS
async def test_a_token_that_lapses_is_renewed_for_streams_too(way: Way) -> None:
    peer = streaming_peer(way)
    refused = Respond(401, {"www-authenticate": "Bearer"})
    async with delegate_of(peer, auth=Renewing(), watch="stream") as delegate:
        peer.script(Operation.SEND, refused, StopStream(1, Stop.CUT))
        peer.script(Operation.SUBSCRIBE, refused)
        result = await delegate.dispatch("slow 5")
    assert isinstance(result, Completed)
    assert runs(peer) == 1
    tokens = [one.headers["authorization"] for one in subscriptions(peer)]
    assert tokens == ["Bearer 1", "Bearer 2"]


@pytest.mark.report("P27")
@WAYS
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_request_for_a_stream_is_never_redirected(way: Way, status: int) -> None:
    peer = streaming_peer(way, lists=False)
    peer.script(Operation.SEND, Redirect(status, "https://elsewhere.example/"))
    result, _ = await watched(peer)
    assert isinstance(result, Failed | Rejected)
    assert result.safe_to_retry is (status in {307, 308})
    peer.script(Operation.SEND, StopStream(1, Stop.CUT))
    peer.always(Operation.SUBSCRIBE, Redirect(status, "https://elsewhere.example/"))
    result, _ = await watched(peer, "slow 20")
    assert isinstance(result, Completed)
    assert {one.url.split("/")[2] for one in peer.truth.requests} == {"peer.example"}


# -- a single reply --------------------------------------------------------------------------------


@pytest.mark.report("S7", "P36")
@WAYS
@pytest.mark.parametrize("waits", [True, False])
async def test_a_task_in_place_of_a_stream_is_read_as_that(
    way: Way,
    waits: bool,  # noqa: FBT001 - an example
) -> None:
    peer = streaming_peer(way)
    peer.script(Operation.SEND, Unstreamed(waits))
    result, notes = await watched(peer)
    assert isinstance(result, Completed)
    assert result.output == text_told(notes) == THREE
    assert not cuts(notes)
    assert (peer.truth.sends, runs(peer)) == (1, 1)
    assert bool(subscriptions(peer)) is not waits, "what has ended is not subscribed to"


@pytest.mark.report("S7", "P36")
@WAYS
async def test_a_message_in_place_of_a_stream_is_the_answer(way: Way) -> None:
    peer = streaming_peer(way)
    peer.script(Operation.SEND, Unstreamed())
    result, notes = await watched(peer, "hello")
    assert isinstance(result, Completed)
    assert result.output == "hello from Scripted peer"
    assert not cuts(notes)
    assert (peer.truth.sends, runs(peer)) == (1, 1)
    assert not requests_of(peer, Operation.GET)
    assert not subscriptions(peer)


@pytest.mark.report("S7", "P36")
@WAYS
@pytest.mark.parametrize(
    ("prompt", "status", "error"), [("fail", "failed", "it failed"), ("reject", "rejected", "not")]
)
async def test_a_task_that_failed_in_place_of_a_stream_is_no_success(
    way: Way, prompt: str, status: str, error: str
) -> None:
    peer = streaming_peer(way)
    peer.script(Operation.SEND, Unstreamed())
    result, _ = await watched(peer, prompt)
    assert isinstance(result, Failed | Rejected)
    assert result.status == status
    assert isinstance(result.error, TaskFailedError)
    assert error in str(result.error)


@pytest.mark.report("S7", "P36")
@WAYS
async def test_a_subscription_that_is_answered_with_the_task_shows_it(way: Way) -> None:
    peer = streaming_peer(way)
    peer.script(Operation.SEND, StopStream(1, Stop.CUT))
    peer.always(Operation.SUBSCRIBE, Unstreamed())
    result, notes = await watched(peer, "slow 30")
    assert isinstance(result, Completed)
    assert result.output == text_told(notes) == "result of slow 30"
    assert len(subscriptions(peer)) <= 5, "and it is not asked for ever"


@pytest.mark.report("S7", "R8")
@WAYS
@pytest.mark.parametrize("media_type", [*MEDIA_TYPES[:5], "application/octet-stream", ""])
async def test_a_single_reply_is_read_whatever_it_is_called(way: Way, media_type: str) -> None:
    peer, notes = streaming_peer(way), Notes()
    peer.script(Operation.SEND, Unstreamed(waits=True))
    async with delegate_behind(Balancer(peer, media_type=media_type)) as delegate:
        result = await delegate.dispatch("chunks 3", observer=notes)
    assert isinstance(result, Completed)
    assert result.output == THREE
    assert not notes.of(AttemptFailed)


@pytest.mark.report("R8")
@WAYS
@pytest.mark.parametrize(
    "media_type", ["Text/Event-Stream", "text/event-stream ; charset=UTF-8", "text/event-stream;"]
)
async def test_a_stream_is_known_however_its_media_type_is_written(
    way: Way, media_type: str
) -> None:
    peer, notes = streaming_peer(way), Notes()
    async with delegate_behind(Balancer(peer, media_type=media_type)) as delegate:
        result = await delegate.dispatch("chunks 3", observer=notes)
    assert isinstance(result, Completed)
    assert result.output == text_told(notes) == THREE
    assert not cuts(notes)
    assert not notes.of(AttemptFailed)


# -- a stream of something else --------------------------------------------------------------------


ODD: dict[str, Callable[[Json], Any]] = {
    "response": lambda shown: {"response": shown},
    "deep": lambda shown: {"event": {"data": {"payload": shown}}},
    "list": lambda shown: [shown],
    "text": str,
    "nothing": lambda _: {},
    "data": lambda shown: {"data": shown, "type": "update"},
}


@pytest.mark.report("L22")
@WAYS
@pytest.mark.parametrize("wrap", ODD.values(), ids=ODD)
@pytest.mark.parametrize("lists", [True, False])
async def test_a_stream_in_an_odd_wrapper_is_not_sent_a_second_time(
    way: Way,
    wrap: Callable[[Json], Any],
    lists: bool,  # noqa: FBT001 - an example
) -> None:
    peer = streaming_peer(way, lists=lists)
    peer.script(Operation.SEND, wrapped(wrap))
    result, _ = await watched(peer)
    assert (peer.truth.sends, runs(peer)) == (1, 1)
    if isinstance(result, Completed):
        assert result.output == THREE, "it was found by the id that stands there, or by our context"
    else:
        assert not (lists and way.version == "1.0"), "where tasks are listed it is found"
        assert isinstance(result, Unknown)
        assert isinstance(result.cause, InvalidReplyError)
        assert result.effect is Effect.MAY_HAVE_RUN
        assert result.evidence.strip(), "and what came is kept"


@pytest.mark.report("L22")
@WAYS
@pytest.mark.parametrize("wrap", ODD.values(), ids=ODD)
async def test_artifacts_in_an_odd_wrapper_are_had_from_the_task(
    way: Way, wrap: Callable[[Json], Any]
) -> None:
    def only_artifacts(shown: Json) -> Any:
        is_artifact = "artifactUpdate" in shown or shown.get("kind") == "artifact-update"
        return wrap(shown) if is_artifact else shown

    peer = streaming_peer(way)
    peer.script(Operation.SEND, wrapped(only_artifacts))
    result, notes = await watched(peer)
    assert isinstance(result, Completed)
    assert result.output == text_told(notes) == THREE
    assert (peer.truth.sends, runs(peer)) == (1, 1)


NOTHING: dict[str, Respond] = {
    "a page": Respond(200, {"content-type": "text/html"}, "<html>", accepts=True),
    "no content": Respond(204, accepts=True),
    "accepted": Respond(202, accepts=True),
    "an empty stream": Respond(200, STREAM, accepts=True),
    "comments": Respond(200, STREAM, ": hello\n\n: bye\n\n", accepts=True),
    "a trailer": Respond(200, STREAM, "data: [DONE]\n\n", accepts=True),
    "half an event": Respond(200, STREAM, 'data: {"jsonrpc": "2.0", "re', accepts=True),
}


@pytest.mark.report("L22", "P13", "R6")
@WAYS
@pytest.mark.parametrize("nothing", NOTHING.values(), ids=NOTHING)
async def test_nothing_in_place_of_a_stream_is_looked_up_or_unknown(
    way: Way, nothing: Respond
) -> None:
    for lists in (True, False):
        peer = streaming_peer(way, lists=lists)
        peer.script(Operation.SEND, nothing)
        result, _ = await watched(peer, "slow 5")
        assert (peer.truth.sends, runs(peer)) == (1, 1)
        if lists and way.version == "1.0":
            assert isinstance(result, Completed)
            assert result.output == "result of slow 5"
        else:
            assert isinstance(result, Unknown)
            assert isinstance(result.cause, InvalidReplyError)
            assert result.effect is Effect.MAY_HAVE_RUN
            assert result.evidence == nothing.content


# -- no stream -------------------------------------------------------------------------------------


@pytest.mark.report("S28")
@WAYS
@pytest.mark.parametrize("watch", ["auto", "poll"])
async def test_no_stream_is_asked_for_where_none_is_offered_or_wanted(way: Way, watch: str) -> None:
    peer = ScriptedPeer((way.version,), bindings=(way.binding,), streaming=watch == "poll")
    result, _ = await watched(peer, "slow 3", watch=watch)
    assert isinstance(result, Completed)
    for one in peer.truth.requests:
        assert "event-stream" not in one.headers["accept"]
        assert "stream" not in one.url
        assert not subscriptions(peer)


@pytest.mark.report("S28")
@WAYS
async def test_to_insist_on_a_stream_that_no_card_offers_is_refused_at_once(way: Way) -> None:
    peer = ScriptedPeer((way.version,), bindings=(way.binding,))
    with pytest.raises(UsageError, match="streaming"):
        await watched(peer, watch="stream")
    assert peer.truth.sends == 0


# An error of 0.3 over HTTP+JSON has no code, so there nothing proves that the method is missing.
@pytest.mark.report("S28")
@pytest.mark.parametrize("way", [way for way in INTERFACES if way != OLD_REST], ids=str)
async def test_a_card_that_promises_streams_in_vain_costs_no_second_run(way: Way) -> None:
    peer = streaming_peer(way)
    peer.script(Operation.SEND, RpcError(-32601, "Method not found", status=404))
    result, notes = await watched(peer, "slow 3")
    assert isinstance(result, Completed)
    assert result.output == text_told(notes) == "result of slow 3"
    assert (peer.truth.sends, runs(peer)) == (2, 1)
    assert not subscriptions(peer)
