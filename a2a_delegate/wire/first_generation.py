"""A2A 0.1, which is not spoken: how it shows itself, so that it is refused by its name.

It had `tasks/send` where later versions have `message/send`, a `sessionId` where they have a
`contextId`, parts with a `type` in messages without an id, and ids of tasks that the client makes:
so none that it shows is an id to follow. Some servers still speak it under a later card.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from a2a_delegate.model.json_value import JSON

NAME = "A2A 0.1 (`tasks/send`), which is not spoken here"
"""What a sentence calls it."""

LATER_MEMBERS = frozenset({"kind", "contextId", "context_id"})
"""Members of a task that 0.1 does not have: 0.2 and 0.3 require them."""


def is_task(value: Mapping[str, JSON]) -> bool:
    """Whether a task is of 0.1: it is in a session, and has nothing that came later."""
    return "sessionId" in value and not LATER_MEMBERS & value.keys()


def is_message(value: Mapping[str, JSON]) -> bool:
    """Whether a document is a message of 0.1, which some servers send where an error is due."""
    parts = value.get("parts")
    if not isinstance(value.get("role"), str) or not isinstance(parts, list) or not parts:
        return False
    later = {"messageId", "message_id"} | LATER_MEMBERS
    return not later & value.keys() and all(
        isinstance(part, dict) and isinstance(part.get("type"), str) and "kind" not in part
        for part in parts
    )


def is_expected(complaint: Mapping[str, JSON]) -> bool:
    """Whether a validator that does not know a method says that it expected one of 0.1."""
    context = complaint.get("ctx")
    expected = context.get("expected_tags") if isinstance(context, dict) else None
    return isinstance(expected, str) and "'tasks/send'" in expected
