"""What real servers do differently, each by a name, and what is expected of us there.

One row of the tests and one face have at most one quirk; it takes the place of what is usual.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from a2a_delegate import (
    Cancelled,
    CancelReceipt,
    Completed,
    Effect,
    Failed,
    Rejected,
    TimedOut,
    Unknown,
)
from tests.interop.behaviours import IN_PIECES, Behaviour, Expected
from tests.interop.ways import (
    BY_POLL,
    BY_STREAM,
    OVER_HTTP_JSON,
    POLLED_HTTP_JSON,
    STREAMED_HTTP_JSON,
    WAYS,
    Way,
)

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Quirk:
    """One thing that some servers do differently."""

    name: str
    faces: tuple[str, ...]
    sentence: str
    """What they do, and what we do about it."""
    changes: Mapping[Behaviour, Expected]
    ways: tuple[Way, ...] = WAYS
    """The ways by which it is met."""


_LISTLESS: Final = Expected(Unknown, effect=Effect.MAY_HAVE_RUN)
_HELD: Final = Expected(Unknown, effect=Effect.MAY_HAVE_RUN)
_UNREACHED: Final = {"receipt": CancelReceipt.UNREACHED}
_REFUSED: Final = {"receipt": CancelReceipt.REFUSED}
_CONFIRMED: Final = {"receipt": CancelReceipt.CONFIRMED}
_STOPPED: Final = Expected(TimedOut, work="cancelled", facts=_CONFIRMED)
_DOUBLED: Final = Expected(Completed, note="with pieces twice")

QUIRKS: Final[tuple[Quirk, ...]] = (
    Quirk(
        "no-list",
        ("a2a-sdk-0.3", "a2a-sdk-0.2", "js-sdk-0.3", "fasta2a-2.1", "strands-1", "a2akit-0.0"),
        "Tasks cannot be listed (before 1.0 the protocol has no list; fasta2a answers -32004), so "
        "a task whose id never came is not found again. It did run: the outcome is `Unknown`, "
        "never a failure, and nothing is sent again.",
        {
            Behaviour.LOST: _LISTLESS,
            Behaviour.DROPPED: _LISTLESS,
            Behaviour.TAKEN_UP_UNKNOWN: _LISTLESS,
        },
    ),
    Quirk(
        "holds-the-send",
        ("a2a-sdk-0.2",),
        "The wish for an immediate return is ignored: the send is answered when the work is done. "
        "Whoever stops waiting before that knows no task to cancel, says so, and the work goes on.",
        {
            Behaviour.AT_ONCE: Expected(Completed, "slow done", note="the send was held"),
            Behaviour.CHUNKS: Expected(Completed, IN_PIECES),
            Behaviour.CANCEL: Expected(
                Cancelled, effect=Effect.MAY_HAVE_RUN, facts=_UNREACHED | {"by": "caller"}
            ),
            Behaviour.STOPPED_BY_OTHERS: Expected(Completed, "slow done"),
            Behaviour.DEADLINE: _HELD,
            Behaviour.REFUSE: _HELD,
            Behaviour.HANG: _HELD,
            Behaviour.TAKEN_UP: _HELD,
            Behaviour.LOOK: replace(_HELD, work=None),
            Behaviour.STOPPED_BY_HANDLE: replace(_HELD, note="cancel unreached"),
        },
        ways=BY_POLL,
    ),
    Quirk(
        "stops-work-with-its-stream",
        ("a2a-sdk-0.2",),
        "When the stream of a send is cut, the server cancels the agent's code and leaves the task "
        "`working` for ever; a subscription shows nothing at all. The deadline ends the wait, and "
        "the cancel is confirmed. Code that cannot be interrupted ends unheard.",
        {
            Behaviour.TAKEN_UP: _STOPPED,
            Behaviour.CUT_BETWEEN: _STOPPED,
            Behaviour.CUT_WITHIN: _STOPPED,
            Behaviour.REFUSE: replace(_STOPPED, facts=_REFUSED),
            Behaviour.HANG: replace(_STOPPED, facts=_UNREACHED),
        },
        ways=BY_STREAM,
    ),
    Quirk(
        "raise-ends-the-stream-without-a-word",
        ("a2a-sdk-0.2",),
        "When the agent's code raises, its stream ends, and the task stays `submitted` for ever. "
        "The deadline ends the wait.",
        {Behaviour.RAISE: Expected(TimedOut, work="raised", facts=_CONFIRMED)},
        ways=BY_STREAM,
    ),
    Quirk(
        "writes-pieces-down-for-each-subscriber",
        ("a2a-sdk-0.3",),
        "A subscription makes the server put each piece of an artifact into the task once more, "
        "so that the task itself says them twice. Its word is the last one, true or not: so before "
        '1.0 only `watch="stream"` subscribes, as here, and `auto` polls after a cut.',
        {Behaviour.CUT_BETWEEN: _DOUBLED, Behaviour.CUT_WITHIN: _DOUBLED},
        ways=BY_STREAM,
    ),
    Quirk(
        "raise-is-an-error-without-a-task",
        ("a2a-sdk-0.2",),
        "An exception of the agent comes as -32603 with its text and without a task. Such an error "
        "proves nothing about what ran: `Failed`, may-have-run.",
        {Behaviour.RAISE: Expected(Failed, work="raised", effect=Effect.MAY_HAVE_RUN)},
        ways=BY_POLL,
    ),
    Quirk(
        "raise-leaves-the-task-open",
        ("a2a-sdk-0.3", "js-sdk-0.3"),
        "A task whose agent raised stays `submitted` for ever (js writes the failure down under "
        "another task id). The deadline ends the wait, and nothing runs that a cancel could not "
        "confirm.",
        {Behaviour.RAISE: Expected(TimedOut, work="raised", facts=_CONFIRMED)},
    ),
    Quirk(
        "fails-what-it-cannot-cancel",
        ("a2a-sdk-1.3", "a2a-sdk-1.3 as 0.3"),
        "When the agent refuses a cancel, the server writes `failed`, perhaps after the look that "
        "follows the refusal, and `completed` over it when the work that goes on is done. The end "
        "that is seen first stays, as a late one.",
        {
            Behaviour.REFUSE: Expected(
                Failed,
                late=True,
                rival=Expected(TimedOut, facts=_REFUSED),
                cell="failed, late, or timed-out, refused",
            )
        },
    ),
    Quirk(
        "one-worker",
        ("fasta2a-2.1",),
        "One worker does one thing after the other: a cancel waits in the queue, its caller in the "
        "call, until the work is done. Work that ends within the bound is the outcome; else the "
        "cancel is `unreached`.",
        {
            Behaviour.CANCEL: Expected(Cancelled, facts=_UNREACHED | {"by": "caller"}),
            Behaviour.STOPPED_BY_OTHERS: Expected(Completed, "slow done"),
            Behaviour.DEADLINE: Expected(TimedOut, facts=_UNREACHED),
            Behaviour.REFUSE: Expected(Completed, "stubborn done", late=True),
            Behaviour.STOPPED_BY_HANDLE: Expected(Completed, "slow done", note="cancel unreached"),
        },
    ),
    Quirk(
        "keeps-artifacts-whole",
        ("fasta2a-2.1", "a2akit-0.0"),
        "An artifact is stored when it is whole: a get shows no piece of it, a stream all of them.",
        {Behaviour.CHUNKS: Expected(Completed, IN_PIECES)},
        ways=BY_POLL,
    ),
    Quirk(
        "answers-start-new-tasks",
        ("fasta2a-2.1",),
        "The task id of a message is ignored, known or not: an answer is new work, in a task of "
        "its own, which is followed like any other.",
        {
            Behaviour.ANSWER: Expected(Completed, "blue"),
            Behaviour.ANSWER_TO_NOBODY: Expected(Completed, "blue"),
        },
    ),
    Quirk(
        "answers-by-tasks-only",
        ("fasta2a-2.1", "google-adk-2", "agent-framework-1", "strands-1", "a2akit-0.0"),
        "An agent cannot answer with a bare message (a2akit: not where the send returns at once). "
        "Its words are the output of a task.",
        {Behaviour.MESSAGE: Expected(Completed, "hello to you", note="a task")},
    ),
    Quirk(
        "speaks-more-than-its-card-says",
        ("a2a-sdk-1.3 as 0.3", "js-sdk-1.3 as 0.3", "fasta2a-2.1", "google-adk-2"),
        "The server speaks the other version too, so a card that claims it is no mistake: it is "
        "spoken as claimed.",
        {Behaviour.WRONG_VERSION: Expected(Completed, "quick done")},
    ),
    Quirk(
        "refuses-a-version-outside-json-rpc",
        ("a2akit-0.0",),
        "Another version is refused with HTTP 400 and an error that is no JSON-RPC reply. That is "
        "no proof that nothing began: `Failed`, may-have-run, although nothing ran.",
        {Behaviour.WRONG_VERSION: Expected(Failed, work="nothing", effect=Effect.MAY_HAVE_RUN)},
    ),
    Quirk(
        "has-no-path-of-another-version",
        ("a2a-sdk-1.3", "a2a-sdk-0.3", "js-sdk-0.3"),
        "Over HTTP+JSON another version is another path, and one that is not there is answered "
        "with 404 alone. Agents answer so too, after their effect: `Failed`, may-have-run, "
        "although nothing ran.",
        {Behaviour.WRONG_VERSION: Expected(Failed, work="nothing", effect=Effect.MAY_HAVE_RUN)},
        ways=OVER_HTTP_JSON,
    ),
    Quirk(
        "names-no-error-over-http-json",
        ("a2a-sdk-0.3",),
        "Over HTTP+JSON an error is a status and a sentence. A 404 may come of the agent itself, "
        "after its effect: `Failed`, may-have-run, although nothing ran.",
        {Behaviour.ANSWER_TO_NOBODY: Expected(Failed, work="nothing", effect=Effect.MAY_HAVE_RUN)},
        ways=POLLED_HTTP_JSON,
    ),
    Quirk(
        "breaks-the-stream-that-it-refuses",
        ("a2a-sdk-1.3 as 0.3", "a2a-sdk-0.3"),
        "Over HTTP+JSON a stream that is refused begins with 200 and is then cut, without a word. "
        "What came of the message nobody says, so it is `Unknown`, although nothing ran.",
        {Behaviour.ANSWER_TO_NOBODY: Expected(Unknown, work="nothing", effect=Effect.MAY_HAVE_RUN)},
        ways=STREAMED_HTTP_JSON,
    ),
    Quirk(
        "breaks-down-over-a-stream-that-it-refuses",
        ("js-sdk-0.3",),
        "Over HTTP+JSON a stream that is refused is answered with 500 and a fault of the server's "
        "own. That proves nothing: `Failed`, may-have-run, although nothing ran.",
        {Behaviour.ANSWER_TO_NOBODY: Expected(Failed, work="nothing", effect=Effect.MAY_HAVE_RUN)},
        ways=STREAMED_HTTP_JSON,
    ),
    Quirk(
        "tells-pieces-as-words-of-the-status",
        ("google-adk-2", "strands-1"),
        "The pieces of an answer are words of the status while it works, so they are `Progress`; "
        "the artifact comes whole, at the end.",
        {Behaviour.CHUNKS: Expected(Completed, IN_PIECES)},
    ),
    Quirk(
        "works-before-it-rejects",
        ("a2akit-0.0",),
        "A stream shows that the task is `working` before it is rejected, so the rejection is no "
        "proof that nothing began.",
        {Behaviour.REJECT: Expected(Rejected, "not my job")},
        ways=BY_STREAM,
    ),
    Quirk(
        "takes-other-words-over-http-json",
        ("a2akit-0.0",),
        "Its HTTP+JSON wants the bodies of JSON-RPC, not those that every SDK "
        "speaks there. It refuses ours with 400: `Failed`, may-have-run, although nothing ran. "
        "Its card names JSON-RPC first, so nobody is led there.",
        {Behaviour.COMPLETE: Expected(Failed, work="nothing", effect=Effect.MAY_HAVE_RUN)},
        ways=OVER_HTTP_JSON,
    ),
    Quirk(
        "text-only",
        ("google-adk-2", "agent-framework-1", "strands-1"),
        "An agent answers with text; data comes as JSON in it, and `parse` reads it there.",
        {Behaviour.DATA: Expected(Completed, '{"answer": 42, "words": ["a", "b"]}')},
    ),
    Quirk(
        "ends-its-text-with-a-line-feed",
        ("strands-1",),
        "The framework adds a line feed to each answer. The output is what the peer sent.",
        {Behaviour.COMPLETE: Expected(Completed, facts={"output": "quick done\n"})},
    ),
    Quirk(
        "hides-why-it-failed",
        ("strands-1",),
        "An agent fails by an exception, and its text stays inside.",
        {
            Behaviour.FAIL: Expected(Failed, "Agent execution failed"),
            Behaviour.REJECT: Expected(Failed, "Agent execution failed"),
        },
    ),
    Quirk(
        "cannot-reject",
        ("google-adk-2", "agent-framework-1"),
        "An agent has no word for a refusal and fails instead: `Failed`, ran.",
        {Behaviour.REJECT: Expected(Failed, "not my job")},
    ),
    Quirk(
        "cannot-ask-in-words",
        ("agent-framework-1", "strands-1"),
        "An agent without tools cannot ask: its question ends the task. An answer to that task is "
        "refused, and starts nothing.",
        {
            Behaviour.ASK: Expected(Completed, "Which colour?"),
            Behaviour.ANSWER: Expected(Rejected, work="nothing", effect=Effect.NOT_STARTED),
        },
    ),
    Quirk(
        "cancels-over-the-agents-head",
        ("google-adk-2", "agent-framework-1", "strands-1"),
        "The agent is not asked: the server reports `canceled` at once, while work that cannot be "
        "interrupted goes on to its end. The receipt is the peer's word, and so it is told as one.",
        {
            Behaviour.REFUSE: Expected(TimedOut, facts=_CONFIRMED),
            Behaviour.HANG: Expected(TimedOut, facts=_CONFIRMED),
        },
    ),
    Quirk(
        "cancels-until-the-agent-gives-in",
        ("a2akit-0.0",),
        "The agent is not asked: the server reports `canceled`, and cancels the agent's code again "
        "and again until it stops.",
        {
            Behaviour.REFUSE: Expected(TimedOut, work="cancelled", facts=_CONFIRMED),
            Behaviour.HANG: Expected(TimedOut, work="cancelled", facts=_CONFIRMED),
        },
    ),
)


def quirk_of(face: str, way: Way, behaviour: Behaviour) -> Quirk | None:
    """The quirk that a face has in a row by a way, if any."""
    found = [
        quirk
        for quirk in QUIRKS
        if face in quirk.faces and way in quirk.ways and behaviour in quirk.changes
    ]
    if len(found) > 1:
        raise ValueError(f"{face} has two quirks by {way} in the row {behaviour.value!r}")
    return found[0] if found else None
