"""What a dialect makes of an operation: the name of a method, and its parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2a_delegate.model.frozen import dataclass

if TYPE_CHECKING:
    from a2a_delegate.model.json_value import JSON


@dataclass(frozen=True, slots=True)
class Words:
    """One request in the words of one version; a binding says how they travel.

    `root` is what the version puts before the paths of its resources; empty where it puts nothing.
    """

    method: str
    params: dict[str, JSON]
    root: str = ""
