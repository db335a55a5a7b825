"""Which behaviour the next request of an operation gets."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from a2a_delegate.errors import UsageError
from a2a_delegate.testing.acts import Honest
from a2a_delegate.testing.behaviours import Operation, check, check_on_port

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from a2a_delegate.testing.layering import Behaviour

WITHOUT_PROMPT = frozenset({Operation.CARD, Operation.LIST})
"""The operations whose requests belong to no piece of work."""


@dataclass(slots=True)
class _Lines:
    """What is said of one operation: by the number of its request, by prompt, and for the rest."""

    came: int = 0
    numbered: dict[int, Behaviour] = field(default_factory=dict)
    prompted: dict[str, Behaviour] = field(default_factory=dict)
    always: Behaviour = field(default_factory=Honest)


class Script:
    """The behaviours that are still to come, by operation; requests are numbered from 1."""

    def __init__(self) -> None:
        self._lines = {operation: _Lines() for operation in Operation}
        self._ports = 0

    def add(
        self, operation: Operation, behaviours: Sequence[Behaviour], call: int | None = None
    ) -> None:
        """Put these at the end, or at the request of this number and after.

        Raises UsageError for one that means nothing there, and for a request that has come or
        about which something was said already.
        """
        lines = self._lines[operation]
        for behaviour in behaviours:
            self._check(operation, behaviour)
        start = max([lines.came, *lines.numbered]) + 1 if call is None else call
        numbers = range(start, start + len(behaviours))
        if start <= lines.came or not lines.numbered.keys().isdisjoint(numbers):
            raise UsageError(
                f"{operation} number {call} cannot be scripted: {lines.came} have come, and "
                f"scripted are {sorted(lines.numbered)}"
            )
        lines.numbered.update(zip(numbers, behaviours, strict=True))

    def set_always(self, operation: Operation, behaviour: Behaviour, prompt: str | None) -> None:
        """Let every request behave so of which nothing else was said. Raises UsageError."""
        self._check(operation, behaviour)
        if prompt is None:
            self._lines[operation].always = behaviour
        elif operation in WITHOUT_PROMPT:
            raise UsageError(f"a request of {operation} belongs to no prompt")
        else:
            self._lines[operation].prompted[prompt] = behaviour

    @contextlib.contextmanager
    def on_a_port(self) -> Iterator[None]:
        """Refuse what cannot be done on a port, said before the block or in it (`UsageError`)."""
        for lines in self._lines.values():
            for said in (*lines.numbered.values(), *lines.prompted.values(), lines.always):
                check_on_port(said)
        self._ports += 1
        try:
            yield
        finally:
            self._ports -= 1

    @property
    def pending(self) -> tuple[tuple[Operation, Behaviour], ...]:
        """What was scripted by number and has not been used."""
        return tuple(
            (operation, lines.numbered[number])
            for operation, lines in self._lines.items()
            for number in sorted(lines.numbered)
        )

    def asks_for_prompts(self, operation: Operation | None) -> bool:
        """Whether anything was said of the prompts of this operation."""
        return operation is not None and bool(self._lines[operation].prompted)

    def next(self, operation: Operation | None, prompt: str | None) -> Behaviour:
        """Tell what `take` would use up."""
        if operation is None:
            return Honest()
        lines = self._lines[operation]
        said = lines.numbered.get(lines.came + 1)
        if said is None and prompt is not None:
            said = lines.prompted.get(prompt)
        return lines.always if said is None else said

    def take(self, operation: Operation | None, prompt: str | None) -> Behaviour:
        """Use up the next behaviour of an operation; `Honest` where nothing was said.

        What was said of the number goes before what was said of the prompt.
        """
        behaviour = self.next(operation, prompt)
        if operation is not None:
            lines = self._lines[operation]
            lines.came += 1
            lines.numbered.pop(lines.came, None)
        return behaviour

    def _check(self, operation: Operation, behaviour: Behaviour) -> None:
        check(operation, behaviour)
        if self._ports:
            check_on_port(behaviour)
