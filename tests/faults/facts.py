"""What the judge's rules need of a record, worked out once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from a2a_delegate import Intent, Settled
from tests.faults.circumstances import EPSILON, cause_time

if TYPE_CHECKING:
    from a2a_delegate import DelegateResult
    from a2a_delegate.testing import TaskFact, WorkState
    from tests.faults.catalogue import Fault
    from tests.faults.errands import Errand
    from tests.faults.play import Record
    from tests.faults.wire import Trip


@dataclass(frozen=True, slots=True)
class Facts:
    """A record and what follows from it.

    `runs` counts those of the errand's message, which is that of the handle where nothing is sent.
    `task` carries that message; `target` is the task that a stop would stop: that one, or the one
    that the message answers. `sends` are the errand's own.
    """

    record: Record
    result: DelegateResult
    settled_at: float
    runs: int
    task: TaskFact | None
    target: TaskFact | None
    sends: list[Trip]
    cause_at: float
    """When the delegation was first told to stop, or would have been."""

    @property
    def fault(self) -> Fault:
        """The fault of the case."""
        return self.record.case.fault

    @property
    def errand(self) -> Errand:
        """What was asked of the delegate."""
        return self.fault.errand

    @property
    def state(self) -> WorkState | None:
        """The true state of the task that carries the message."""
        return None if self.task is None else self.task.state

    @property
    def stopped(self) -> bool:
        """Whether it was told to stop before it had settled."""
        return self.cause_at <= self.settled_at + EPSILON

    @property
    def began(self) -> bool:
        """Whether the peer took the message up: it ran, or there is a task for it."""
        return self.runs > 0 or self.task is not None

    @property
    def left(self) -> list[Trip]:
        """The sends of which a byte left."""
        return [trip for trip in self.sends if trip.left]

    @property
    def ever_left(self) -> bool:
        """Whether a byte of the message left, now or before the errand."""
        return bool(self.left) or not self.errand.sends


def facts_of(record: Record) -> Facts | None:
    """Work them out; None where nothing was told, or nothing has settled."""
    intents = [signal for signal in record.told(Intent) if isinstance(signal, Intent)]
    result, settled_at = record.settled, record.time_of(Settled)
    if not intents or intents[0].handle is None or result is None or settled_at is None:
        return None
    message_id = intents[0].handle.message_id
    runs = record.runs.get(message_id, 0)
    task = next((one for one in record.tasks if one.message_id == message_id), None)
    target = task
    if record.handle is not None and record.case.fault.errand.sends:
        # The peer knows each task by its first message; an answer is carried once it ran.
        target = next(one for one in record.tasks if one.id == record.handle.task_id)
        task = target if runs else None
    return Facts(
        record,
        result,
        settled_at,
        runs,
        task,
        target,
        [trip for trip in record.trips if trip.operation == "send"],
        cause_time(record),
    )
