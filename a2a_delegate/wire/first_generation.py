"""A2A 0.1, which is not spoken: how it shows itself, so that it is refused by its name.

It had `tasks/send` where later versions have `message/send`, a `sessionId` where they have a
`contextId`, parts with a `type` in messages without an id, and ids of tasks that the client makes:
so none that it shows is an id to follow. Some servers still speak it under a later card.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Set as AbstractSet

    from a2a_delegate.model.json_value import JSON

NAME = "A2A 0.1 (`tasks/send`), which is not spoken here"
"""What a sentence calls it."""

_SESSION = "sessionId"
_LATER = frozenset({"kind", "contextId", "context_id"})
"""Members of a task that 0.1 does not have: 0.2 and 0.3 require them."""

TELLING = _LATER | {_SESSION}
"""Members by which a task of 0.1 is told from a later one."""


def is_task(members: AbstractSet[str]) -> bool:
    """Whether a task with these members is of 0.1: in a session, and with nothing that is later."""
    return _SESSION in members and not _LATER & members


def is_message(value: Mapping[str, JSON]) -> bool:
    """Whether a document is a message of 0.1, which some servers send where an error is due."""
    parts = value.get("parts")
    if not isinstance(value.get("role"), str) or not isinstance(parts, list) or not parts:
        return False
    later = {"messageId", "message_id"} | _LATER
    return not later & value.keys() and all(
        isinstance(part, dict) and isinstance(part.get("type"), str) and "kind" not in part
        for part in parts
    )


def is_expected(complaint: Mapping[str, JSON]) -> bool:
    """Whether a validator that does not know a method says that it expected one of 0.1."""
    context = complaint.get("ctx")
    expected = context.get("expected_tags") if isinstance(context, dict) else None
    return isinstance(expected, str) and "'tasks/send'" in expected
