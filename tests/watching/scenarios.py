"""What may become of a task and of the stream that shows it, whatever the way of watching."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from a2a_delegate.testing import (
    EventFormat,
    EventKind,
    EventOrder,
    Finished,
    Gathered,
    GreedyFirstChunk,
    Hang,
    InsertBytes,
    InsertEvent,
    Intruder,
    LineEnd,
    Opening,
    Operation,
    PadEvent,
    Pings,
    Respond,
    RpcError,
    SplitInside,
    Stop,
    StopStream,
    Subscription,
    Unstreamed,
    WithoutEvents,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from a2a_delegate.testing import Behaviour

THREE: Final = "chunk 1 chunk 2 chunk 3"
SEND, SUBSCRIBE, GET = Operation.SEND, Operation.SUBSCRIBE, Operation.GET


@dataclass(frozen=True, slots=True)
class Scenario:
    """One thing that happens, and the one outcome of it.

    `always` says how every request of an operation is treated, `once` the first ones; to a reply
    that is no stream most of it means nothing. `cancel_at` and `timeout` are in seconds from the
    dispatch.
    """

    name: str
    prompt: str = "chunks 3"
    outcome: str = "completed"
    output: str | None = THREE
    once: tuple[tuple[Operation, Behaviour], ...] = ()
    always: Mapping[Operation, Behaviour] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    timeout: float | None = 300.0
    cancel_at: float | None = None


def cut(after: int, how: Stop) -> Behaviour:
    """Stop a stream after so many events."""
    return StopStream(after, how)


_BAD_EVENT: Final = b'data: {"no": "event"}\n\n'

SCENARIOS: Final = (
    Scenario("a message is the whole answer", "hello", output="hello from Scripted peer"),
    Scenario("a task completes at once", "do it", output="result of do it"),
    Scenario("a task works, then completes", "slow 4", output="result of slow 4"),
    Scenario("a task makes its artifact in pieces"),
    Scenario("a task makes it for longer than a stream may be silent", "slow 90",
             output="result of slow 90"),
    Scenario("the answer stands in the history only", "history", output="result of history"),
    Scenario("a task completes with nothing to show", "empty", output=None),
    Scenario("a task asks", "ask", outcome="input-required", output=None),
    Scenario("a task needs credentials", "auth", outcome="auth-required", output=None),
    Scenario("a task fails", "fail", outcome="failed", output=None),
    Scenario("a task is rejected", "reject", outcome="rejected", output=None),
    Scenario("nobody ends the task before the deadline", "stuck", outcome="timed-out", output=None,
             timeout=40.0),
    Scenario("the caller cancels", "stuck", outcome="cancelled", output=None, cancel_at=3.0),
    Scenario("the caller cancels between two pieces", "chunks 40", outcome="cancelled",
             output=None, cancel_at=1.05),
    # -- the stream ends before the task --------------------------------------------------------
    *(
        Scenario(f"the stream {word} after event {after}", once=((SEND, cut(after, how)),))
        for how, word in (
            (Stop.END, "ends"),
            (Stop.CUT, "is cut"),
            (Stop.SILENCE, "falls silent"),
        )
        for after in range(1, 9)
    ),
    *(
        Scenario(f"every stream {word} after its first event", "slow 200",
                 output="result of slow 200",
                 always={SEND: cut(1, how), SUBSCRIBE: cut(1, how)})
        for how, word in (
            (Stop.END, "ends"),
            (Stop.CUT, "is cut"),
            (Stop.SILENCE, "falls silent"),
        )
    ),
    Scenario("only comments come after the first event", "slow 100", output="result of slow 100",
             always={SEND: Pings(15.0, cut(1, Stop.SILENCE)),
                     SUBSCRIBE: Pings(15.0, cut(1, Stop.SILENCE))}),
    Scenario("comments come between the events", "slow 100", output="result of slow 100",
             always={SEND: Pings(5.0)}),
    # -- the stream leaves out, repeats, or holds what does not belong there ----------------------
    *(
        Scenario(f"the stream shows no {kind}", always={SEND: WithoutEvents(kind)})
        for kind in (EventKind.ARTIFACT, EventKind.PROGRESS, EventKind.END)
    ),
    Scenario("events come twice", always={SEND: EventOrder((1, 2, 2, 3, 3, 4, 4, 5, 5))}),
    Scenario("events come in another order", always={SEND: EventOrder((1, 4, 3, 2, 6, 5))}),
    Scenario("the first piece holds all others, which come again",
             always={SEND: GreedyFirstChunk()}),
    Scenario("another task's end stands in the stream",
             always={SEND: InsertEvent(2, Intruder.OTHER_TASK)}),
    Scenario("a message stands beside the task", always={SEND: InsertEvent(2, Intruder.MESSAGE)}),
    Scenario("half an event stands in the stream",
             always={SEND: InsertEvent(2, Intruder.UNPARSABLE)}),
    Scenario("an unknown event stands in the stream", always={SEND: InsertBytes(2, _BAD_EVENT)}),
    Scenario("an error ends the stream", always={SEND: InsertEvent(2, Intruder.ERROR)}),
    Scenario("an error by name ends the stream",
             always={SEND: InsertEvent(2, Intruder.ERROR_FRAME)}),
    Scenario("a trailer ends the stream", always={SEND: InsertBytes(99, b"data: [DONE]\n\n")}),
    Scenario("an event is too large", always={SEND: PadEvent(3, 2_000_000)}),
    # -- how it is spelled -----------------------------------------------------------------------
    *(
        Scenario(f"lines end with {end.name}", always={SEND: EventFormat(line_end=end)})
        for end in LineEnd
    ),
    Scenario("events have ids, names and several lines, after a byte order mark",
             always={SEND: EventFormat(bom=True, multi_line=True, ids=True, retry=3, space=False)}),
    Scenario("all events come in one piece", always={SEND: Gathered()}),
    Scenario("pieces end inside of line ends",
             always={SEND: SplitInside("\r\n", EventFormat(line_end=LineEnd.CRLF))}),
    # -- no stream where one was asked for ---------------------------------------------------------
    Scenario("the answer is a task as JSON", "slow 4", output="result of slow 4",
             always={SEND: Unstreamed(), SUBSCRIBE: Unstreamed()}),
    Scenario("the answer is a task as JSON, once it has ended", "slow 4",
             output="result of slow 4", always={SEND: Unstreamed(waits=True)}),
    Scenario("nobody may subscribe", "slow 30", output="result of slow 30",
             once=((SEND, cut(1, Stop.CUT)),), always={SUBSCRIBE: RpcError(-32004, "no")}),
    Scenario("a subscription is answered by a gateway", "slow 30", output="result of slow 30",
             once=((SEND, cut(1, Stop.CUT)),), always={SUBSCRIBE: Respond(502)}),
    Scenario("a subscription is never answered", "slow 100", output="result of slow 100",
             once=((SEND, cut(1, Stop.CUT)),), always={SUBSCRIBE: Hang()}),
    *(
        Scenario(f"a subscription begins with {opening}", "chunks 40",
                 output=" ".join(f"chunk {n}" for n in range(1, 41)),
                 once=((SEND, cut(4, Stop.CUT)),), always={SUBSCRIBE: Subscription(opening)})
        for opening in Opening
    ),
    *(
        Scenario(f"the task ends before the subscription: {finished}",
                 once=((SEND, cut(2, Stop.CUT)), (GET, Hang())),
                 always={SUBSCRIBE: Subscription(finished=finished)})
        for finished in Finished
    ),
)  # fmt: skip
"""Each with the one outcome that every version, binding and way of watching must give."""
