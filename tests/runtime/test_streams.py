"""Streams in real time: who sets the pace, who waits for whom, and what is closed when."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import anyio
import httpx
import pytest

from a2a_delegate import (
    A2ADelegate,
    A2ADelegateConfig,
    ArtifactChunk,
    CancelToken,
    Completed,
    DelegateCapabilities,
    DispatchOnly,
    Effect,
    Intent,
    LostReplyError,
    Message,
    Progress,
    Role,
    Settled,
    StreamCut,
    TextPart,
    TimedOut,
    UsageError,
    open_delegation,
)
from a2a_delegate.runtime.card_lookup import fetch_agent_card
from a2a_delegate.testing import (
    Hang,
    Operation,
    Pings,
    RpcError,
    ScriptedPeer,
    Stop,
    StopStream,
    StreamEnd,
)
from tests.runtime.staging import Notes

if TYPE_CHECKING:
    from a2a_delegate import DelegateRequest, DelegateResult, Observer
    from a2a_delegate.testing import StreamFact

pytestmark = [pytest.mark.anyio, pytest.mark.virtual_time]


class Stage:
    """A peer that streams, and a delegate of it; use it in an `async with` block."""

    def __init__(self, *, streaming: bool = True, version: str = "1.0", **config: Any) -> None:
        self.peer = ScriptedPeer((version,), streaming=streaming)
        self._config = A2ADelegateConfig(**config)

    async def __aenter__(self) -> Self:
        self._client = httpx.AsyncClient(transport=self.peer.transport(), trust_env=False)
        card = await fetch_agent_card(self.peer.url, client=self._client)
        self._began = anyio.current_time()
        self.delegate = A2ADelegate("peer", card, client=self._client, config=self._config)
        return self

    async def __aexit__(self, *_: object) -> None:
        self.peer.release()
        await self.delegate.aclose()
        await self._client.aclose()

    @property
    def seconds(self) -> float:
        """How long it has been since the block was entered."""
        return anyio.current_time() - self._began

    @property
    def streams(self) -> list[StreamFact]:
        """Every stream that the peer opened, in order."""
        return [one.stream for one in self.peer.truth.requests if one.stream is not None]


class Talkative(DispatchOnly):
    """Tells much and is done; no word of it is waited for."""

    id = "talkative"
    capabilities = DelegateCapabilities()

    def __init__(self, text: str, times: int) -> None:
        self._text, self._times = text, times
        self.last: Progress | None = None

    async def dispatch(
        self,
        request: DelegateRequest | str,
        *,
        cancel: CancelToken | None = None,
        observer: Observer | None = None,
    ) -> DelegateResult:
        del request, cancel
        assert observer is not None
        observer(Intent(None))
        for number in range(self._times):
            said = Message(f"m-{number}", Role.AGENT, (TextPart(self._text),))
            self.last = Progress("task", said)
            observer(self.last)
        result = Completed(delegate_id=self.id, effect=Effect.RAN)
        observer(Settled(result))
        return result


# -- the pace -------------------------------------------------------------------------------------


@pytest.mark.spec("WATCH-4")
async def test_a_reader_that_is_slower_than_the_peer_holds_its_stream_back() -> None:
    async with (
        Stage(poll_interval=1000, poll_interval_max=10_000) as stage,
        open_delegation(stage.delegate, "chunks 400") as delegation,
    ):
        told: list[str] = []
        async for update in delegation:
            if isinstance(update, ArtifactChunk):
                told.append(update.artifact.text)
            if len(told) == 5:
                break
        await anyio.sleep(100)
        (stream,) = stage.streams
        assert stream.events < 120, "it went on without its reader"
        told += [
            update.artifact.text async for update in delegation if isinstance(update, ArtifactChunk)
        ]
        result = await delegation.result()
    assert isinstance(result, Completed)
    assert "".join(told) == result.output == " ".join(f"chunk {n}" for n in range(1, 401))


@pytest.mark.spec("WATCH-4")
async def test_a_reader_that_never_comes_back_keeps_nobody_from_the_outcome() -> None:
    async with (
        Stage() as stage,
        open_delegation(stage.delegate, "chunks 400") as delegation,
    ):
        async for update in delegation:
            if isinstance(update, ArtifactChunk):
                break
        result = await delegation.result()
        assert stage.seconds < 42
    assert isinstance(result, Completed)


@pytest.mark.spec("WATCH-4")
async def test_a_reader_that_stands_still_is_passed_by_the_poll() -> None:
    async with (
        Stage() as stage,
        open_delegation(stage.delegate, "chunks 400") as delegation,
    ):
        await anext(delegation)
        await anyio.sleep(120)
        with anyio.fail_after(0.1):
            result = await delegation.result()
    assert isinstance(result, Completed)
    assert result.output is not None
    assert result.output.endswith("chunk 400")


@pytest.mark.spec("WATCH-4")
async def test_who_has_asked_for_the_result_is_not_held_back_by_another_reader() -> None:
    async with (
        Stage() as stage,
        open_delegation(stage.delegate, "chunks 400") as delegation,
        anyio.create_task_group() as group,
    ):

        async def read_slowly() -> None:
            async for _ in delegation:
                await anyio.sleep(5)

        group.start_soon(read_slowly)
        await anyio.sleep(1)
        await delegation.result()
        assert stage.seconds < 42
        group.cancel_scope.cancel()


@pytest.mark.spec("WATCH-4")
async def test_updates_that_nobody_takes_are_kept_up_to_a_bound() -> None:
    delegate = Talkative("x" * 1_000_000, 50)
    async with open_delegation(delegate, "talk") as delegation:
        await delegation.result()
        kept = [update async for update in delegation]
    assert 5 <= len(kept) <= 9
    assert kept[-1] == delegate.last


async def test_nobody_who_only_waits_holds_anything_back() -> None:
    async with Stage() as stage:
        result = await stage.delegate.dispatch("chunks 400")
        assert stage.seconds < 42
    assert isinstance(result, Completed)


# -- silence --------------------------------------------------------------------------------------


@pytest.mark.spec("WATCH-5")
async def test_a_stream_of_which_no_byte_comes_is_given_up() -> None:
    async with Stage(stream_idle_timeout=20, timeout=100) as stage:
        stage.peer.always(Operation.SEND, StopStream(1, Stop.SILENCE))
        stage.peer.always(Operation.SUBSCRIBE, RpcError(-32004, "no"))
        stage.peer.always(Operation.GET, Hang())
        notes = Notes()
        result = await stage.delegate.dispatch("slow 60", observer=notes)
    assert isinstance(result, TimedOut)
    (cut,) = notes.of(StreamCut)
    assert isinstance(cut.error, LostReplyError)
    assert cut.error.phase == "idle"
    assert notes.time_of(StreamCut) == pytest.approx(20, abs=0.5)
    assert stage.streams[0].end is StreamEnd.CLIENT


@pytest.mark.spec("WATCH-5")
async def test_any_byte_is_a_sign_of_life() -> None:
    async with Stage(stream_idle_timeout=20, timeout=300) as stage:
        stage.peer.always(Operation.SEND, Pings(15.0, StopStream(1, Stop.SILENCE)))
        notes = Notes()
        result = await stage.delegate.dispatch("slow 60", observer=notes)
    assert isinstance(result, Completed)
    assert notes.of(StreamCut) == []
    assert len(stage.streams) == 1


@pytest.mark.spec("WATCH-5")
async def test_a_subscription_that_is_never_answered_is_given_up_and_asked_for_again() -> None:
    async with Stage(stream_idle_timeout=20, timeout=300) as stage:
        stage.peer.script(Operation.SEND, StopStream(1, Stop.CUT))
        stage.peer.script(Operation.SUBSCRIBE, Hang())
        result = await stage.delegate.dispatch("slow 30")
    assert isinstance(result, Completed)
    assert stage.peer.truth.subscriptions == 2


# -- leaving --------------------------------------------------------------------------------------


@pytest.mark.spec("WATCH-6")
async def test_a_stream_that_nobody_wants_any_more_is_closed_at_once() -> None:
    async with Stage() as stage:
        async with open_delegation(stage.delegate, "stuck") as delegation:
            await anext(delegation)
            (stream,) = stage.streams
            assert stream.end is StreamEnd.OPEN
            left = anyio.current_time()
        (stream,) = stage.streams
        assert stream.end is StreamEnd.CLIENT
        assert stream.closed is not None
        assert stream.closed - left < 0.1
        assert stage.peer.truth.open == 0
    assert stage.peer.truth.cancels == 1, "who leaves a task tells its peer"


@pytest.mark.spec("WATCH-6")
async def test_a_cancel_lets_the_stream_go_and_stops_the_task_by_name() -> None:
    async with Stage() as stage, anyio.create_task_group() as group:
        token = CancelToken()

        async def stop() -> None:
            await anyio.sleep(3)
            token.cancel("enough")

        group.start_soon(stop)
        result = await stage.delegate.dispatch("stuck", cancel=token)
        assert (result.status, stage.streams[0].end) == ("cancelled", StreamEnd.CLIENT)
        assert stage.seconds < 3.5


# -- what is asked for ----------------------------------------------------------------------------


@pytest.mark.spec("WATCH-7")
@pytest.mark.parametrize(
    ("watch", "streaming", "streams"),
    [("auto", True, 1), ("stream", True, 1), ("poll", True, 0), ("auto", False, 0)],
)
async def test_streams_are_asked_for_only_where_the_card_offers_them(
    watch: str, *, streaming: bool, streams: int
) -> None:
    async with Stage(streaming=streaming, watch=watch) as stage:
        assert stage.delegate.capabilities.stream is bool(streams)
        result = await stage.delegate.dispatch("slow 3")
        assert isinstance(result, Completed)
        assert len(stage.streams) == streams


@pytest.mark.spec("WATCH-7")
async def test_a_stream_that_cannot_be_is_refused_when_the_delegate_is_made() -> None:
    with pytest.raises(UsageError, match="needs a card that offers streaming"):
        async with Stage(streaming=False, watch="stream"):
            pass


@pytest.mark.spec("WATCH-8")
@pytest.mark.parametrize(
    ("version", "watch", "subscriptions"),
    [("1.0", "auto", 2), ("0.3", "auto", 0), ("0.2", "auto", 0), ("0.3", "stream", 2)],
)
async def test_before_1_0_a_task_is_subscribed_to_only_where_that_is_asked_for(
    version: str, watch: str, subscriptions: int
) -> None:
    async with Stage(version=version, watch=watch) as stage:
        stage.peer.script(Operation.SEND, StopStream(3, Stop.CUT))
        async with open_delegation(stage.delegate, "chunks 20") as delegation:
            while delegation.handle is None or delegation.handle.task_id is None:
                await anext(delegation)
            taken_up = await stage.delegate.resume(delegation.handle)
            cut = await delegation.result()
        assert isinstance(cut, Completed)
        assert isinstance(taken_up, Completed)
        assert cut.output == taken_up.output
        assert stage.peer.truth.subscriptions == subscriptions


@pytest.mark.spec("WATCH-7")
async def test_a_task_is_taken_up_by_a_stream_and_looked_at_without() -> None:
    async with Stage() as stage, open_delegation(stage.delegate, "slow 30") as delegation:
        while delegation.handle is None or delegation.handle.task_id is None:
            await anext(delegation)
        handle = delegation.handle
        looked = await stage.delegate.resume(handle, wait=False)
        assert (looked.status, len(stage.streams)) == ("running", 1)
        result = await stage.delegate.resume(handle)
        assert isinstance(result, Completed)
        assert len(stage.streams) == 2
