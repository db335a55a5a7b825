"""The task's id in a reply that is still coming, or that was cut.

A complete id in an incomplete body is worth taking: the task can then be asked for, where without
it nobody can say what became of the message (design section 5, step 2).
"""

from __future__ import annotations

import re
from typing import TypeAlias

from a2a_delegate.wire import first_generation
from a2a_delegate.wire.json_text import NotJSONError, parse

MAX_SCANNED = 1024 * 1024
"""Bytes of a reply that are looked through; replies to a send show their id long before."""

_DEPTH = 3
"""Levels at which names matter: the envelope, its result, and the task in a wrapper."""

_Path: TypeAlias = tuple[str | None, ...]
_ENVELOPE_ID: _Path = ("id",)
_OF_A_MESSAGE = frozenset({"messageId", "message_id"})
_OF_A_TASK = frozenset({"contextId", "context_id"})


class _Layout:
    """Where a reply has what matters, its result standing at `result`."""

    def __init__(self, *result: str) -> None:
        self.wrapped_id: _Path = (*result, "task", "id")
        self.flat_id: _Path = (*result, "id")
        self.kind: _Path = (*result, "kind")
        self.wanted = frozenset({_ENVELOPE_ID, self.wrapped_id, self.flat_id, self.kind})
        names = first_generation.TELLING | _OF_A_MESSAGE
        self.telling: frozenset[_Path] = frozenset((*result, name) for name in names)
        """Members of a flat result whose mere presence says what it is."""


_IN_ENVELOPE = _Layout("result")
_BY_ITSELF = _Layout()

# Blanks and scalars may be cut anywhere: a half one says as little as a whole one.
_TOKEN = re.compile(rb'([{}\[\],:])|(")|([ \t\r\n]++)|[^ \t\r\n{}\[\],:"]++')
_STOP = re.compile(rb'["\\]')


def task_id_in(partial: bytes, *, request_id: str | None) -> str | None:
    """Return the id of the task in the beginning of a reply, if it stands there complete.

    `request_id` is None where replies have no envelope. None for a reply whose envelope already
    shows another id than the request's, and for a direct message. Never raises.
    """
    scan = TaskIdScan(request_id=request_id)
    scan.feed(partial)
    return scan.task_id


class TaskIdScan:
    """Looks for the task's id while a reply arrives, piece by piece, each byte once.

    Give `feed` every piece as it comes, and stop when it returns an id. Where the reply is cut
    before that, `task_id` says what it has shown. `request_id` is the id that the envelope has to
    repeat; None where there is no envelope, and a reply is the result itself.
    """

    def __init__(self, *, request_id: str | None) -> None:
        self._request_id = request_id
        self._at = _BY_ITSELF if request_id is None else _IN_ENVELOPE
        self._room = MAX_SCANNED
        self._unread = bytearray()
        self._looked_at = 0  # how far an unfinished string has been searched for its end
        self._path: list[str | None] = []  # the names that lead here; None stands for an array
        self._name_next = False
        self._found: dict[_Path, str | None] = {}
        self._told: set[str] = set()

    @property
    def task_id(self) -> str | None:
        """The id, as far as the reply is known; one under a foreign id never counts."""
        ours = self._request_id
        # An id of the envelope that is not a string is not ours either.
        if ours is not None and self._found.get(_ENVELOPE_ID, ours) != ours:
            return None
        flat = self._found.get(self._at.flat_id) if self._may_be_a_task() else None
        return self._found.get(self._at.wrapped_id) or flat or None

    def _may_be_a_task(self) -> bool:
        """Whether a flat result shows nothing of a message, nor that it is of A2A 0.1."""
        kind = self._found.get(self._at.kind)
        if self._told & _OF_A_MESSAGE or kind == "message":
            return False
        if self._request_id is None and kind != "task" and not self._told & _OF_A_TASK:
            return False  # other documents have an id as well, and no envelope tells them apart
        return not first_generation.is_task(self._told)

    def feed(self, piece: bytes) -> str | None:
        """Take the next piece of the body; return the id if it is known now. Never raises.

        It is not known while the reply may still turn out to be another one: it may show the task
        before its own id.
        """
        taken = piece[: self._room]
        self._room -= len(taken)
        self._unread += taken
        at = 0
        while token := _TOKEN.match(self._unread, at):
            end = token.end()
            if token[1]:
                self._bracket(token[1])
            elif token[2]:
                close = self._close_of(at)
                if close is None:
                    break
                end = close
                self._string(bytes(self._unread[at:end]))
            elif not token[3]:
                self._value(None)
            at = end
        del self._unread[:at]
        self._looked_at = max(0, self._looked_at - at)
        known = self._request_id is None or _ENVELOPE_ID in self._found
        return self.task_id if known else None

    def _close_of(self, start: int) -> int | None:
        """Return where the string that begins at `start` ends; None if that is still to come."""
        at = max(start + 1, self._looked_at)
        while stop := _STOP.search(self._unread, at):
            if stop[0] == b'"':
                return stop.end()
            at = stop.end() + 1
            if at > len(self._unread):  # the escape itself is cut
                self._looked_at = stop.start()
                return None
        self._looked_at = len(self._unread)
        return None

    def _bracket(self, token: bytes) -> None:
        if token in b"{[":
            self._path.append("" if token == b"{" else None)
        elif token in b"}]" and self._path:
            self._path.pop()
        opens = token == b"{" or (token == b"," and bool(self._path))
        self._name_next = opens and self._path[-1] is not None

    def _string(self, raw: bytes) -> None:
        if len(self._path) > _DEPTH:
            self._name_next = False
        elif self._name_next:
            self._name_next = False
            name = self._path[-1] = _text(raw) or ""
            if tuple(self._path) in self._at.telling:
                self._told.add(name)
        else:
            self._value(raw)

    def _value(self, raw: bytes | None) -> None:
        """Keep a string that is wanted; any other value takes its place as none."""
        if len(self._path) > _DEPTH or (path := tuple(self._path)) not in self._at.wanted:
            return
        self._found[path] = None if raw is None else _text(raw)


def _text(raw: bytes) -> str | None:
    try:
        text = parse(raw)
    except NotJSONError:
        return None
    return text if isinstance(text, str) else None
