"""One page of an agent's tasks, newest first (A2A 1.0 section 3.1.4)."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING

from a2a_delegate.testing.requests import Fault, RefusedError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from a2a_delegate.testing.clock import PeerClock
    from a2a_delegate.testing.requests import ListParams
    from a2a_delegate.testing.work import Task, View


def select(
    tasks: Iterable[Task], params: ListParams, clock: PeerClock
) -> tuple[list[View], int, str]:
    """Return the views of a page, how many tasks there are on all pages, and the next token.

    Tasks are sorted by the moment of their state and, within one moment, by their age. A token is
    a position in that order, so tasks that change meanwhile move before it and are not shown
    again. Raises RefusedError for a token that this peer did not make.
    """
    now = clock.now()
    found: list[tuple[tuple[float, int], View]] = []
    for task in tasks:
        view = task.view(now)
        since = now if view.since is None else view.since
        if (
            (not params.context_id or view.context_id == params.context_id)
            and (params.state is None or view.state is params.state)
            and (params.since is None or clock.time_of_day(since) >= params.since)
        ):
            found.append(((since, task.ordinal), view))
    found.sort(key=lambda item: item[0], reverse=True)
    rest = found
    if params.page_token:
        cursor = _read(params.page_token)
        rest = [item for item in found if item[0] < cursor]
    page = rest[: params.page_size]
    token = _write(page[-1][0]) if len(rest) > len(page) else ""
    return [view for _, view in page], len(found), token


def _write(position: tuple[float, int]) -> str:
    return base64.urlsafe_b64encode(json.dumps(position).encode()).decode()


def _read(token: str) -> tuple[float, int]:
    try:
        match json.loads(base64.urlsafe_b64decode(token)):
            case [float(since), int(ordinal)]:
                return since, ordinal
            case _:
                pass
    except (ValueError, RecursionError):  # binascii's errors are ValueErrors
        pass
    raise RefusedError(Fault.INVALID_PARAMS, "Token is not a valid base64-encoded cursor.")
