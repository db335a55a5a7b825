"""The seam between what is done with a request and what is laid around that."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TypeAlias

from a2a_delegate.testing.acts import Act


@dataclass(frozen=True, slots=True)
class Around(ABC):
    """What is laid around an act, or around another one of these."""

    @property
    @abstractmethod
    def then(self) -> Behaviour:
        """What it is laid around."""


Behaviour: TypeAlias = Act | Around
"""Everything that a script may hold."""
