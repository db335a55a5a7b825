"""The rows of docs/interop.md: what a delegation to a real server is tried at, and how it ends.

A test dispatches, and then says `peer.shows(BEHAVIOUR, ended, usual)`. Where quirks.py knows that
this server does something else here, its expectation takes the place of the usual one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any

from a2a_delegate import (
    Completed,
    DelegateResult,
    Effect,
    Failed,
    InputRequired,
    Rejected,
    TaskFailedError,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.interop.servers import Server
    from tests.interop.ways import Way


IN_PIECES = "piece 1. piece 2. piece 3. piece 4. piece 5."
"""What `chunks 5` comes to."""


class Behaviour(Enum):
    """A row of the table."""

    COMPLETE = "a task completes"
    MESSAGE = "a bare message answers"
    DATA = "data comes as data"
    TEXT = "any letter arrives and comes back"
    AT_ONCE = "the task is known at once, and followed to its end"
    CHUNKS = "an artifact comes in pieces"
    MANY = "twenty at once"
    FAIL = "the agent fails"
    REJECT = "the agent rejects"
    RAISE = "the agent's code raises"
    ASK = "the agent asks"
    ANSWER = "the answer continues the task"
    CANCEL = "a cancel while it works"
    DEADLINE = "the deadline while it works"
    STOPPED_BY_OTHERS = "somebody else cancels while it works"
    REFUSE = "the agent refuses the cancel"
    HANG = "the agent does not answer the cancel"
    LOST = "the reply to the send is lost"
    DROPPED = "the connection drops while the server works"
    CUT = "the reply is cut after the task id"
    CUT_BETWEEN = "the stream is cut between two events"
    CUT_WITHIN = "the stream is cut within an event"
    UNKNOWN_TASK = "an unknown task is taken up"
    ANSWER_TO_NOBODY = "an unknown task is answered"
    WRONG_VERSION = "a version that the card claims wrongly"
    TAKEN_UP = "another process takes the task up"
    LOOK = "a look at a task that works"
    STOPPED_BY_HANDLE = "a cancel by the handle"
    TAKEN_UP_UNKNOWN = "an unknown outcome is taken up later"
    REPEAT = "one message id sent twice"

    def is_tried(self, way: Way) -> bool:
        """Whether this can be tried by a way at all."""
        return way.streams or self not in _OF_STREAMS


_OF_STREAMS = frozenset({Behaviour.CUT_BETWEEN, Behaviour.CUT_WITHIN})


@dataclass(frozen=True, slots=True)
class Ended:
    """A delegation that ended, beside what the agent's own code wrote down about it."""

    server: Server
    message_id: str
    result: DelegateResult
    note: str = ""
    """What the outcome does not tell, for the cell of the table."""

    def work(self) -> str:
        """How the agent's work on the message ended: `nothing` where it never began.

        Waits for the end of work that goes on, so that no test leaves any to the next one.
        """
        if self.server.runs(self.message_id) == 0:
            return "nothing"
        return str(self.server.wait_for_end(self.message_id)["event"])

    def cell(self) -> str:
        """What the table says of it."""
        result = self.result
        asked = getattr(result, "by", None) != "peer"
        facts = [result.status, str(getattr(result, "receipt", "")) if asked else ""]
        facts += ["late" if result.late else "", self.note]
        facts += [str(result.effect) if result.effect is not Effect.RAN else ""]
        return ", ".join(fact for fact in facts if fact)


@dataclass(frozen=True, slots=True)
class Expected:
    """What an outcome must be; the agent has run once, or never where its work is `nothing`."""

    kind: type[DelegateResult]
    says: str | None = None
    """The words of the peer (output, question, why it failed), stripped. None: not looked at."""
    work: str | None = "done"
    """How the agent's work ended; None: not looked at."""
    effect: Effect = Effect.RAN
    late: bool = False
    note: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """Attributes of the outcome."""
    rival: Expected | None = None
    """What it may be as well, where the server runs a race with itself."""
    cell: str = ""
    """What the table says of such a race."""

    def check(self, ended: Ended) -> None:
        """Compare; the server's own journal has the last word about what ran."""
        result = ended.result
        if self.rival is not None and isinstance(result, self.rival.kind):
            self.rival.check(ended)
            return
        assert isinstance(result, self.kind), result.explain()
        assert (result.effect, result.late, ended.note) == (self.effect, self.late, self.note)
        if self.says is not None:
            assert (words_of(result) or "").strip() == self.says
        for name, value in self.facts.items():
            assert getattr(result, name) == value
        if self.work is None:
            return
        if self.work != "nothing":
            # Some servers take work from a queue, after whoever asked for it has gone.
            ended.server.wait_for("execute", ended.message_id)
        assert ended.work() == self.work
        assert ended.server.runs(ended.message_id) == (self.work != "nothing")


def words_of(result: DelegateResult) -> str | None:
    """What the peer said, wherever it stands."""
    match result:
        case Completed(output=text):
            return text
        case InputRequired(question=question):
            return question.text
        case Failed(error=TaskFailedError(text=text)) | Rejected(error=TaskFailedError(text=text)):
            return text
        case _:
            return None
