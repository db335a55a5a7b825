"""What must hold of any bytes, reader by reader: each target raises where one of ours does not.

The same functions are called by hypothesis in every tier and by atheris in the soak. They demand
own errors only, and that what comes out is bounded, whatever went in.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from a2a_delegate.errors import (
    A2AProtocolMismatchError,
    InvalidAgentCardError,
    UnsafeEndpointError,
    UsageError,
)
from a2a_delegate.lifecycle.operations import (
    ArtifactUpdate,
    CancelTask,
    Fault,
    GetTask,
    ListTasks,
    MessageReply,
    OperationName,
    SendMessage,
    StatusUpdate,
    SubscribeToTask,
    TaskPage,
    TaskReply,
    Unreadable,
)
from a2a_delegate.model.card import AgentCard
from a2a_delegate.model.message import Message, Role
from a2a_delegate.wire import envelope, fault_table, http_json, proto_family, v0_2, v0_3, v1_0
from a2a_delegate.wire.card_reader import read_card
from a2a_delegate.wire.cut_reply import TaskIdScan, task_id_in
from a2a_delegate.wire.event_stream import EventStream, EventTooLargeError
from a2a_delegate.wire.events import read_event
from a2a_delegate.wire.gate import agree
from a2a_delegate.wire.json_text import MAX_DEPTH, NotJSONError, parse, write
from a2a_delegate.wire.reading import Unclear
from a2a_delegate.wire.result import EVIDENCE, WireResult
from tests.wire.by_the_book import events_by_the_book

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from a2a_delegate.errors import DelegateError
    from a2a_delegate.lifecycle.operations import Operation
    from a2a_delegate.wire.dialect import Dialect
    from a2a_delegate.wire.event_stream import ServerSentEvent

REQUEST_ID: Final = "r1"
NOW: Final = datetime(2026, 11, 30, 12, tzinfo=UTC)
STATUSES: Final = (200, 204, 301, 401, 404, 429, 500)
LONGEST_SENTENCE: Final = 2_000
"""Characters that an error of ours may have: a peer's text is cut before it gets into one."""

SEND: Final = SendMessage(Message("m", Role.USER, ()))
OPERATIONS: Final = (
    SEND,
    GetTask("t"),
    CancelTask("t"),
    SubscribeToTask("t"),
    ListTasks("c"),
)
SMALLEST_BOUND: Final = 100
"""Bytes of an event, so few that real ones are too large."""


def check_json(body: bytes) -> None:
    """Any bytes are JSON within bounds, which can be written and read again, or refused."""
    try:
        value = parse(body)
    except NotJSONError:
        return
    assert depth_of(value) <= MAX_DEPTH
    assert parse(write(value)) == value


def check_dialect(dialect: Dialect, body: bytes) -> None:
    """Any JSON is a result of each operation or unreadable, and what was read can be sent on."""
    try:
        result = parse(body)
    except NotJSONError:
        return
    for operation in OPERATIONS:
        check_result(dialect, operation, result)


def check_result(dialect: Dialect, operation: Operation, result: object) -> None:
    """Any value is a result of an operation, or unreadable."""
    match reply := dialect.decode(operation, result):
        case TaskReply(task=task):
            assert task.id
            assert operation is SEND or task.id == "t"
            for message in task.history:
                check_sending_on(dialect, message)
        case MessageReply(message=message):
            assert operation is SEND
            check_sending_on(dialect, message)
        case TaskPage(tasks=tasks):
            assert isinstance(operation, ListTasks)
            assert all(task.id for task in tasks)
        case Unreadable(error=error):
            check_sentence(error)
        case _:
            raise AssertionError(reply)


def check_sending_on(dialect: Dialect, message: Message) -> None:
    """A message that was read can be sent, or its part that was not understood is refused."""
    try:
        words = dialect.encode(SendMessage(message), tenant=None)
        sent = envelope.request(REQUEST_ID, words)
    except UsageError:
        return
    assert json.loads(sent)["method"] == words.method


def check_envelope(body: bytes) -> None:
    """Any bytes are a result under our id, an error, or unreadable with bounded evidence."""
    headers = {"retry-after": body[:32].decode("latin-1"), "www-authenticate": "Basic"}
    for operation in OPERATIONS:
        status = STATUSES[len(body) % len(STATUSES)]
        reply = envelope.read(
            body,
            request_id=REQUEST_ID,
            operation=operation.name,
            status=status,
            headers=headers,
            now=NOW,
        )
        if isinstance(reply, WireResult):
            assert len(reply.evidence) <= EVIDENCE
            check_result(v1_0.DIALECT, operation, reply.result)
        elif isinstance(reply, Fault):
            check_fault(reply)
        else:
            assert len(reply.evidence) <= EVIDENCE
            check_sentence(reply.error)


def check_http_json(body: bytes) -> None:
    """Any bytes are a result, an error, or unreadable; and the id of a task is one segment."""
    headers = {"retry-after": body[:32].decode("latin-1"), "www-authenticate": "Basic"}
    for operation in OPERATIONS:
        for status in (200, STATUSES[len(body) % len(STATUSES)]):
            reply = http_json.read(
                body, operation=operation.name, status=status, headers=headers, now=NOW
            )
            if isinstance(reply, WireResult):
                assert status < 300
                assert len(reply.evidence) <= EVIDENCE
                check_path(proto_family.V0_3, operation, reply.result)
            elif isinstance(reply, Fault):
                check_fault(reply)
                assert reply.error.status == status
            else:
                assert status < 300
                assert len(reply.evidence) <= EVIDENCE
                check_sentence(reply.error)


def check_path(dialect: Dialect, operation: Operation, result: object) -> None:
    """The id of a task that was read leads to that task's place and nowhere else."""
    check_result(dialect, operation, result)
    match dialect.decode(operation, result):
        case TaskReply(task=task):
            words = dialect.encode(GetTask(task.id), tenant=None)
            before, _, segment = http_json.request(OperationName.GET, words).path.partition("/")
            assert before == "tasks"
            assert segment not in ("", ".", "..")
            assert not set(segment) & set("/?#\\ ")
            assert unquote(segment, errors="surrogatepass") == task.id
        case _:
            pass


def check_fault_table(body: bytes) -> None:
    """Any object is an error with a bounded sentence, whatever it was an answer to."""
    try:
        error = parse(body)
    except NotJSONError:
        return
    if not isinstance(error, dict):
        return
    for name in OperationName:
        for status in STATUSES:
            headers: Mapping[str, str] = {"retry-after": str(error.get("data"))}
            check_fault(
                fault_table.from_error(
                    error, operation=name, status=status, headers=headers, now=NOW
                )
            )


def check_fault(fault: Fault) -> None:
    """What an error says is bounded, and a delay that it asks for is one."""
    check_sentence(fault.error)
    delay = fault.error.retry_after
    assert delay is None or 0 <= delay < float("inf")


def check_card(body: bytes) -> None:
    """Any bytes are a card or one of two refusals, and the gate refuses by its own errors."""
    try:
        card = read_card(body, url="https://agent.example")
    except (InvalidAgentCardError, A2AProtocolMismatchError) as refusal:
        check_sentence(refusal)
        return
    assert isinstance(card, AgentCard)
    assert card.name
    assert card.interfaces
    assert all(len(note) <= LONGEST_SENTENCE for note in card.notes)
    try:
        agreement = agree(card, is_bound=_only_ours)
    except (InvalidAgentCardError, A2AProtocolMismatchError, UnsafeEndpointError) as refusal:
        check_sentence(refusal)
    else:
        assert agreement.interface in card.interfaces


def _only_ours(url: str) -> None:
    if "agent.example" not in url:
        raise UnsafeEndpointError(url=url, reason="not bound")


def check_cut_reply(body: bytes, request_id: str | None = REQUEST_ID) -> None:
    """The scan never raises; cut anywhere, an id that it tells stands in the bytes before."""
    whole = task_id_in(body, request_id=request_id)
    assert whole is None or isinstance(whole, str)
    scan = TaskIdScan(request_id=request_id)
    step = 1 + len(body) % 31
    for start in range(0, len(body), step):
        told = scan.feed(body[start : start + step])
        assert told in (None, scan.task_id)
    assert scan.task_id == whole


def check_event_stream(body: bytes) -> None:
    """However a stream is cut, its events are those of the standard, up to one too large."""
    by_the_book = events_by_the_book(body)
    pieces = 1 + len(body) % 61
    for most in (SMALLEST_BOUND, len(body)):
        events, was_too_large = _events(body, step=1 + len(body), most=most)
        assert _events(body, step=1 + len(body) // pieces, most=most) == (events, was_too_large)
        assert all(len(event.data) <= most for event in events)
        assert not was_too_large or most < len(body)
        assert events == (by_the_book[: len(events)] if was_too_large else by_the_book)


def _events(body: bytes, *, step: int, most: int) -> tuple[list[ServerSentEvent], bool]:
    """Decode a stream in pieces; tell whether it ends in an event that is too large."""
    stream, events = EventStream(max_event_bytes=most), []
    try:
        for start in range(0, len(body), step):
            events += stream.feed(body[start : start + step])
        stream.feed(b"")
    except EventTooLargeError:
        return events, True
    return events, False


def check_event_reader(body: bytes) -> None:
    """Any JSON is an event of a task with an id, an answer that can be sent on, or unclear."""
    try:
        value = parse(body)
    except NotJSONError:
        return
    match event := read_event(value, ours=SEND.message):
        case TaskReply(task=task):
            assert task.id
            assert task.status.name
        case StatusUpdate(task_id=task_id, status=status):
            assert task_id
            assert status.name
        case ArtifactUpdate(task_id=task_id):
            assert task_id
            assert isinstance(event.append, bool)
        case MessageReply(message=message):
            check_sending_on(v1_0.DIALECT, message)
        case Unclear(reason=reason, task_id=unclear):
            assert reason.isprintable()
            assert len(reason) <= LONGEST_SENTENCE
            assert unclear is None or unclear
        case _:
            raise AssertionError(event)


def check_sentence(error: DelegateError) -> None:
    """An error of ours is one line of bounded length, whatever a peer put into it."""
    sentence = str(error)
    assert len(sentence) <= LONGEST_SENTENCE
    assert sentence.isprintable()


def depth_of(value: object) -> int:
    """Count the levels of a JSON value, one after another: a deep one must not end the count."""
    depth, level = 0, [value]
    while any(isinstance(item, dict | list) for item in level):
        depth += 1
        level = [inner for item in level for inner in _within(item)]
    return depth


def _within(value: object) -> Iterator[object]:
    if isinstance(value, dict):
        yield from value.values()
    elif isinstance(value, list):
        yield from value


def break_at_a_short_id(body: bytes) -> None:
    """Break at a task whose id is one character: none of those recorded is so short."""
    task_id = task_id_in(body, request_id=REQUEST_ID)
    assert task_id is None or len(task_id) > 1, "an id of one character"


TARGETS: Final[dict[str, Callable[[bytes], None]]] = {
    "json": check_json,
    "dialect-0.2": lambda body: check_dialect(v0_2.DIALECT, body),
    "dialect-0.3": lambda body: check_dialect(v0_3.DIALECT, body),
    "dialect-0.3-proto": lambda body: check_dialect(proto_family.V0_3, body),
    "dialect-1.0": lambda body: check_dialect(v1_0.DIALECT, body),
    "envelope": check_envelope,
    "http-json": check_http_json,
    "fault-table": check_fault_table,
    "card": check_card,
    "cut-reply": check_cut_reply,
    "cut-body": lambda body: check_cut_reply(body, None),
    "event-stream": check_event_stream,
    "event-reader": check_event_reader,
}
"""Every reader of bytes from a peer, by a name for the command line."""

PLANTED: Final[dict[str, Callable[[bytes], None]]] = {"planted": break_at_a_short_id}
"""A target that is broken, for the search to find."""
