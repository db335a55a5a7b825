"""Where the answer of a task is found: servers put it in different places.

Artifacts first; then the status message; then the agent's last message in the history (a server
seen in the field completes with neither artifact nor status message). Each of text and data is
taken from the first place that has it, so nothing is said twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2a_delegate.model.message import Role
from a2a_delegate.model.part import data_of, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from a2a_delegate.model.json_value import JSON
    from a2a_delegate.model.message import Message
    from a2a_delegate.model.part import Part
    from a2a_delegate.model.task import Task


def words_of(task: Task, *, ours: str) -> tuple[Message, ...]:
    """Return the peer's last words, the best place first: status message, then history.

    In the history that is the agent's last message after our own or, where ours is not shown,
    after the last user message: earlier ones answer somebody else.
    """
    status = task.status.message
    told = () if status is None or status.message_id == ours else (status,)
    start = 0
    for place, message in enumerate(task.history):
        if message.role is Role.USER:
            start = place + 1
            if message.message_id == ours:
                break
    spoken = [one for one in task.history[start:] if one.role is Role.AGENT]
    return (*told, *spoken[-1:])


def _places(task: Task, ours: str) -> Iterator[tuple[tuple[Part, ...], ...]]:
    yield tuple([artifact.parts for artifact in task.artifacts])
    for message in words_of(task, ours=ours):
        yield (message.parts,)


def text(task: Task, *, ours: str) -> str | None:
    """Return the text of the answer, artifacts set apart by a blank line; None where none is."""
    for place in _places(task, ours):
        found = "\n\n".join([words for words in map(text_of, place) if words])
        if found:
            return found
    return None


def data(task: Task, *, ours: str) -> tuple[JSON, ...]:
    """Return the data values of the answer, in order."""
    for place in _places(task, ours):
        found = data_of([part for parts in place for part in parts])
        if found:
            return found
    return ()
