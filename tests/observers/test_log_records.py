"""The logging observer: one record a signal, of kinds, codes and ids; quiet until it is wanted."""

from __future__ import annotations

import logging
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, get_args

import anyio
import pytest

from a2a_delegate import (
    A2ARequestError,
    Artifact,
    ArtifactChunk,
    Attempt,
    AttemptFailed,
    AttemptOutcome,
    AuthRequired,
    Cancelled,
    CancelReceipt,
    CancelSent,
    Completed,
    ContextSubstituted,
    DataPart,
    DelegateRequest,
    DelegateResult,
    DelegationHandle,
    Downgraded,
    Effect,
    EvidenceFailed,
    Failed,
    IdKnown,
    InputRequired,
    Intent,
    InvalidReplyError,
    LostReplyError,
    Message,
    PeerUnreachableError,
    Progress,
    Recovered,
    Rejected,
    Rerouted,
    Role,
    Running,
    Sent,
    Settled,
    Signal,
    StateSeen,
    StreamCut,
    TaskFailedError,
    TerminalChanged,
    TextPart,
    TimedOut,
    TransportStuck,
    Unknown,
    delegate_from,
)
from a2a_delegate.observers import LoggingObserver
from a2a_delegate.observers.log_records import MEANINGS
from a2a_delegate.testing import DropAfterAccepting, Operation, RpcError, ScriptedPeer
from tests.runtime.staging import Notes, delegate_over

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.anyio, pytest.mark.virtual_time]

SECRET = "hunter2"
"""What stands in every text of the samples; no record may hold it."""

TEXT = f"{SECRET}\nCRITICAL forged \x1b[2J " * 1_000
"""A text as a hostile peer writes it."""

ID = "t-1\nCRITICAL forged \x1b[2J" + "x" * 100_000
"""An id as a hostile peer chooses it."""

PLAIN_IDS = {"a2a_delegate_id", "a2a_message_id", "a2a_context_id", "a2a_task_id"}

HANDLE = DelegationHandle(
    delegate_id="research",
    endpoint=f"https://user:{SECRET}@a.example/rpc?key={SECRET}",
    version="1.0",
    binding="JSONRPC",
    message_id="m-1",
    body_digest="0" * 64,
    sent_at=datetime(2026, 3, 1, tzinfo=UTC),
    context_id="c-1",
)
WORDS = Message("m-2", Role.AGENT, (TextPart(TEXT),))
ARTIFACT = Artifact("a-1", (TextPart(TEXT), DataPart({"key": TEXT})), name=TEXT)
ATTEMPT = Attempt(
    number=3,
    operation="get",
    started_at=datetime(2026, 3, 1, tzinfo=UTC),
    seconds=0.1,
    http_status=500,
    outcome=AttemptOutcome.REFUSED,
    body_left=True,
    version="1.0",
)
REFUSED = A2ARequestError(
    method="get", status=500, code=-32603, reason=TEXT, message=TEXT, task_id=ID
)
LOST = LostReplyError(method="send", phase="read", reason=TEXT)


def outcome(kind: Any = Completed, **own: Any) -> Any:
    return kind(
        delegate_id="research",
        effect=Effect.RAN,
        handle=HANDLE,
        attempts=(ATTEMPT,),
        artifacts=(ARTIFACT,),
        message=WORDS,
        **own,
    )


SIGNALS: dict[type[Signal], Signal] = {
    Intent: Intent(HANDLE),
    Sent: Sent(1),
    IdKnown: IdKnown(ID),
    StateSeen: StateSeen(ID, "working"),
    Progress: Progress(ID, WORDS),
    ArtifactChunk: ArtifactChunk(ID, ARTIFACT, append=True),
    Rerouted: Rerouted(replace(HANDLE, endpoint="https://other.example/rest")),
    StreamCut: StreamCut(ID, LostReplyError(method="send", phase="read", reason=TEXT)),
    AttemptFailed: AttemptFailed(ATTEMPT, REFUSED),
    Recovered: Recovered(ID),
    ContextSubstituted: ContextSubstituted("c-1", ID),
    EvidenceFailed: EvidenceFailed(LoggingObserver(), ValueError(TEXT)),
    Downgraded: Downgraded("1.0", "0.3"),
    CancelSent: CancelSent(ID),
    TransportStuck: TransportStuck("send"),
    TerminalChanged: TerminalChanged(ID, "completed", "failed"),
    Settled: Settled(outcome(output=TEXT, data=(TEXT,))),
}
OUTCOMES: dict[type[DelegateResult], tuple[DelegateResult, dict[str, object]]] = {
    Completed: (outcome(output=TEXT), {"status": "completed", "attempts": 1, "late": False}),
    Failed: (
        outcome(Failed, error=REFUSED),
        {"status": "failed", "error": "A2ARequestError", "http_status": 500, "code": -32603},
    ),
    Rejected: (
        outcome(Rejected, error=TaskFailedError(task_id=ID, state="rejected", text=TEXT)),
        {"status": "rejected", "error": "TaskFailedError"},
    ),
    Cancelled: (
        outcome(Cancelled, by="caller", reason=TEXT, receipt=CancelReceipt.CONFIRMED),
        {"status": "cancelled", "by": "caller", "receipt": "confirmed"},
    ),
    TimedOut: (
        outcome(TimedOut, last_state=TEXT, receipt=CancelReceipt.UNREACHED),
        {"status": "timed-out", "receipt": "unreached"},
    ),
    InputRequired: (outcome(InputRequired, question=WORDS), {"status": "input-required"}),
    AuthRequired: (outcome(AuthRequired, question=WORDS), {"status": "auth-required"}),
    Running: (outcome(Running, last_state=TEXT), {"status": "running"}),
    Unknown: (
        outcome(Unknown, cause=LOST, evidence=TEXT.encode()),
        {"status": "unknown", "error": "LostReplyError", "phase": "read"},
    ),
}


class Kept(logging.Handler):
    """Keeps the records, as a handler of an application is given them."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[Any] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)


@contextmanager
def kept(level: int = logging.DEBUG, name: str = "a2a_delegate") -> Iterator[list[Any]]:
    """Keep the records of a logger, as an application does that configures logging."""
    logger, handler = logging.getLogger(name), Kept()
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(level)
    try:
        yield handler.records
    finally:
        logger.setLevel(before)
        logger.removeHandler(handler)


def record_of(signal: Signal) -> Any:
    with kept() as records:
        LoggingObserver()(signal)
    (record,) = records
    return record


@pytest.mark.spec("LOG-1")
def test_every_signal_has_a_level_and_a_meaning() -> None:
    assert set(MEANINGS) == set(get_args(Signal)), "give the new signal a level and words"
    assert set(SIGNALS) == set(get_args(Signal)), "give the new signal a sample here"
    assert len({words for _, words in MEANINGS.values()}) == len(MEANINGS)


@pytest.mark.spec("LOG-1", "LOG-3")
@pytest.mark.parametrize("kind", get_args(Signal))
async def test_each_signal_is_one_bounded_line_without_content(kind: type[Signal]) -> None:
    record = record_of(SIGNALS[kind])
    told = record.getMessage()
    assert told.isprintable()
    assert len(told) < 600
    assert record.levelno == MEANINGS[kind][0]
    assert record.a2a_signal == kind.__name__
    assert record.exc_info is None
    own = {name: value for name, value in vars(record).items() if name.startswith("a2a_")}
    assert own.keys() >= PLAIN_IDS
    for value in own.values():
        assert (
            value is None or isinstance(value, int) or (len(value) <= 100 and value.isprintable())
        )
    assert SECRET not in f"{told} {record.args} {own}"


@pytest.mark.spec("LOG-1")
@pytest.mark.parametrize(
    ("kinds", "level"),
    [
        ([Settled, Intent, CancelSent, Recovered], logging.INFO),
        ([Sent, IdKnown, StateSeen, Progress, ArtifactChunk], logging.DEBUG),
        ([AttemptFailed, Downgraded, TransportStuck, TerminalChanged], logging.WARNING),
        ([ContextSubstituted], logging.WARNING),
        ([EvidenceFailed], logging.ERROR),
    ],
)
async def test_levels_go_by_what_a_signal_means(kinds: list[type[Signal]], level: int) -> None:
    assert [record_of(SIGNALS[kind]).levelno for kind in kinds] == [level] * len(kinds)


@pytest.mark.spec("LOG-2", "LOG-3")
@pytest.mark.parametrize("kind", get_args(DelegateResult))
async def test_the_end_tells_the_outcome_by_its_kinds_and_codes(kind: Any) -> None:
    result, expected = OUTCOMES[kind]
    record = record_of(Settled(result))
    own = vars(record)
    assert {name: own[f"a2a_{name}"] for name in expected} == expected
    assert (record.a2a_effect, record.a2a_delegate_id) == ("ran", "research")
    assert SECRET not in f"{record.getMessage()} {own}"


@pytest.mark.spec("LOG-2")
@pytest.mark.parametrize(
    ("error", "facts"),
    [
        (REFUSED, {"error": "A2ARequestError", "code": -32603, "http_status": 500}),
        (A2ARequestError(method="get", reason="TASK_NOT_FOUND"), {"reason": "TASK_NOT_FOUND"}),
        (LOST, {"error": "LostReplyError", "phase": "read"}),
        (PeerUnreachableError(phase="tls", url=HANDLE.endpoint, reason=TEXT), {"phase": "tls"}),
        (InvalidReplyError(method="get", reason=TEXT, status=204), {"http_status": 204}),
    ],
)
async def test_a_failed_request_is_told_by_its_kind_and_codes(
    error: Any, facts: dict[str, object]
) -> None:
    record = record_of(AttemptFailed(ATTEMPT, error))
    expected = {"attempt": 3, "operation": "get", "outcome": "refused", "body_left": True, **facts}
    assert {name: vars(record)[f"a2a_{name}"] for name in expected} == expected
    assert SECRET not in f"{record.getMessage()} {vars(record)}"


@pytest.mark.spec("LOG-3")
async def test_an_address_is_told_without_what_may_be_a_secret() -> None:
    record = record_of(Intent(HANDLE))
    assert record.a2a_endpoint == "https://a.example/rpc?…"
    assert record.getMessage() == (
        "a delegation begins [delegate_id='research' message_id='m-1' context_id='c-1' "
        "endpoint='https://a.example/rpc?…' version='1.0' binding='JSONRPC']"
    )


# -- whole delegations -----------------------------------------------------------------------------


@pytest.mark.spec("LOG-1", "LOG-2")
async def test_a_delegation_is_one_record_a_signal_each_with_its_ids() -> None:
    peer, notes = ScriptedPeer(), Notes()
    peer.script(Operation.SEND, DropAfterAccepting())
    with kept() as records:
        async with delegate_over(
            peer.transport(), peer.versions, observers=[LoggingObserver(), notes]
        ) as delegate:
            result = await delegate.dispatch(SECRET)
    assert [record.a2a_signal for record in records] == notes.kinds
    assert {"AttemptFailed", "Recovered", "Settled"} <= set(notes.kinds)
    assert result.handle is not None
    ids = {(one.a2a_delegate_id, one.a2a_message_id, one.a2a_context_id) for one in records}
    assert ids == {("peer", result.handle.message_id, result.handle.context_id)}
    known = [record.a2a_task_id for record in records]
    first = notes.kinds.index("Recovered")
    assert known == [None] * first + [result.handle.task_id] * (len(known) - first)
    assert SECRET not in str([record.getMessage() for record in records])


@pytest.mark.spec("LOG-2")
async def test_delegations_at_once_are_told_apart() -> None:
    peer = ScriptedPeer()
    results: list[DelegateResult] = []

    async def one(prompt: str) -> None:
        results.append(await delegate.dispatch(prompt))

    with kept() as records:
        async with (
            delegate_over(
                peer.transport(), peer.versions, observers=[LoggingObserver()]
            ) as delegate,
            anyio.create_task_group() as group,
        ):
            for seconds in (3, 1, 2):
                group.start_soon(one, f"slow {seconds}")
    handles = [result.handle for result in results if result.handle is not None]
    assert len(handles) == 3
    told = {(one.a2a_message_id, one.a2a_task_id) for one in records if one.a2a_task_id}
    assert told == {(handle.message_id, handle.task_id) for handle in handles}
    counts = [sum(one.a2a_message_id == handle.message_id for one in records) for handle in handles]
    assert sum(counts) == len(records)
    assert min(counts) > 5


@pytest.mark.spec("LOG-2")
async def test_a_delegation_within_another_leaves_its_ids_to_itself() -> None:
    peer, observer = ScriptedPeer(), LoggingObserver()
    with kept() as records:
        async with delegate_over(peer.transport(), peer.versions, observers=[observer]) as inner:

            async def pass_on(request: DelegateRequest) -> str:
                return (await inner.dispatch(request)).status

            outer = delegate_from(pass_on, id="outer")
            await outer.dispatch("work", observer=observer)
            await outer.dispatch("work", observer=observer)
    told = [(one.a2a_signal, one.a2a_delegate_id) for one in records]
    assert told.count(("Settled", "outer")) == told.count(("Settled", "peer")) == 2
    # Work in this process has no handle, so its id is known at its end.
    assert all(name == "peer" for kind, name in told if name not in (None, "outer"))
    between = [one for one in records if one.a2a_signal == "ArtifactChunk"]
    assert [one.a2a_delegate_id for one in between] == ["peer", None, "peer", None]
    assert records[-1].a2a_message_id is None


@pytest.mark.spec("LOG-2")
async def test_two_observers_of_one_delegation_tell_the_same() -> None:
    peer = ScriptedPeer()
    mine = logging.getLogger("mine")
    with kept() as records, kept(name="mine") as others:
        async with delegate_over(
            peer.transport(), peer.versions, observers=[LoggingObserver()]
        ) as delegate:
            await delegate.dispatch("work", observer=LoggingObserver(mine))
            await delegate.dispatch("work")
    again = records[len(others) :]
    assert [one.getMessage() for one in others] == [
        one.getMessage() for one in records[: len(others)]
    ]
    assert {one.a2a_message_id for one in again}.isdisjoint(one.a2a_message_id for one in others)


@pytest.mark.spec("LOG-2")
async def test_ids_are_known_though_the_signal_that_brought_them_was_not_logged() -> None:
    peer = ScriptedPeer()
    peer.script(Operation.GET, RpcError(-32603, TEXT))
    with kept(logging.WARNING) as records:
        async with delegate_over(
            peer.transport(), peer.versions, observers=[LoggingObserver()]
        ) as delegate:
            result = await delegate.dispatch("slow 3")
    (record,) = records
    assert record.a2a_signal == "AttemptFailed"
    assert result.handle is not None
    assert record.a2a_task_id == result.handle.task_id


A_PROGRAM = """
import logging, sys
import anyio
from a2a_delegate import delegate_from
from a2a_delegate.observers import LoggingObserver
from a2a_delegate.signals import AttemptFailed, Settled, TransportStuck

{configure}

async def work(request):
    return "done"

async def main():
    observer = LoggingObserver()
    observer(TransportStuck("send"))
    await delegate_from(work, id="x").dispatch("hunter2", observer=observer)

anyio.run(main)
"""


def run(configure: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-c", A_PROGRAM.format(configure=configure)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )


@pytest.mark.spec("LOG-4")
def test_nothing_is_printed_until_the_application_configures_logging() -> None:
    quiet, wanted = run(""), run("logging.basicConfig(level=logging.INFO)")
    assert (quiet.stdout, quiet.stderr) == ("", "")
    lines = wanted.stderr.splitlines()
    assert [line.split(":")[0] for line in lines] == ["WARNING", "INFO", "INFO"]
    assert lines[-1].startswith("INFO:a2a_delegate:a delegation has settled [delegate_id='x' ")
    assert lines[-1].endswith(" status='completed' effect='ran' attempts=1 late=False]")
    assert "hunter2" not in wanted.stderr
