"""Which behaviour the next request of an operation gets."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from a2a_delegate.testing.behaviours import Honest, Operation, check

if TYPE_CHECKING:
    from a2a_delegate.testing.behaviours import Behaviour


class Script:
    """The behaviours that are still to come, by operation; one is used up by each request."""

    def __init__(self) -> None:
        self._queues: dict[Operation, deque[Behaviour]] = {op: deque() for op in Operation}
        self._always: dict[Operation, Behaviour] = {}

    def add(self, operation: Operation, behaviours: tuple[Behaviour, ...]) -> None:
        """Put these at the end. Raises UsageError for one that means nothing there."""
        for behaviour in behaviours:
            check(operation, behaviour)
        self._queues[operation].extend(behaviours)

    def set_always(self, operation: Operation, behaviour: Behaviour) -> None:
        """Let every request behave so once the queue is empty. Raises UsageError as `add`."""
        check(operation, behaviour)
        self._always[operation] = behaviour

    @property
    def pending(self) -> tuple[tuple[Operation, Behaviour], ...]:
        """What was scripted and has not been used."""
        return tuple((op, behaviour) for op, queue in self._queues.items() for behaviour in queue)

    def take(self, operation: Operation | None) -> Behaviour:
        """Use up the next behaviour of an operation; `Honest` where nothing was said."""
        if operation is None:
            return Honest()
        queue = self._queues[operation]
        return queue.popleft() if queue else self._always.get(operation, Honest())
