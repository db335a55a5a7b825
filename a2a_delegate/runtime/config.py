"""How an A2A delegate behaves: every option, checked when the configuration is made."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import fields
from typing import Literal

from a2a_delegate.bindings.carriage import Bounds
from a2a_delegate.delegate import check_seconds
from a2a_delegate.errors import UsageError
from a2a_delegate.lifecycle.plan import Timing
from a2a_delegate.model.frozen import dataclass
from a2a_delegate.peer.origins import BoundOrigins


@dataclass(frozen=True, slots=True, kw_only=True)
class A2ADelegateConfig:
    """How a delegate behaves; times in seconds. Checked when built: UsageError names the field.

    - `timeout`: the one deadline of a delegation, from the call to the outcome; None for none.
    - `poll_interval`, `poll_interval_max`: between two looks at a task, growing with jitter.
    - `cancel_grace`: the bound of one step of stopping a task at the peer.
    - `recovery_grace`: how long a send in flight may still show an id after a cancel or deadline.
    - `recovery_timeout`: the bound of looking up a lost reply.
    - `client_context_ids`: send a context id of ours to peers that can list by it.
    - `max_reply_bytes`: replies over this size are not read further.
    - `allowed_origins`: origins besides the typed one that requests and credentials may go to.
    - `allow_downgrade`: speak an older version once a peer has refused the first one.
    - `max_event_bytes`: events of a stream over this size end it; the task is asked for then.
    - `stream_idle_timeout`: a stream that has shown an event, or a subscription, is given up when
      no byte of it comes for so long. A send may take as long as it likes to show the first one.
    - `extensions`: the URIs of the extensions that the caller speaks; every request names them, and
      a card that requires another one is refused.
    - `watch`: how a task is followed: `stream` as the peer shows it, `poll` by asking, `auto` by
      stream where the card offers it. Beside a stream the task is asked for, slowly. Before 1.0
      `auto` subscribes to no task: servers of 0.3 store a piece once more for each subscriber.
    - `auth_required`: what a task that needs credentials does: `return` ends with AuthRequired,
      `wait` watches on until they have reached it by another way.
    """

    timeout: float | None = 600.0
    poll_interval: float = 1.0
    poll_interval_max: float = 30.0
    cancel_grace: float = 2.0
    recovery_grace: float = 0.5
    recovery_timeout: float = 5.0
    client_context_ids: bool = True
    stream_idle_timeout: float = 60.0
    max_reply_bytes: int = 32 * 1024 * 1024
    max_event_bytes: int = 8 * 1024 * 1024
    allowed_origins: tuple[str, ...] = ()
    allow_downgrade: bool = False
    extensions: tuple[str, ...] = ()
    watch: Literal["auto", "stream", "poll"] = "auto"
    auth_required: Literal["return", "wait"] = "return"

    def __post_init__(self) -> None:
        if self.timeout is not None:
            check_seconds("timeout", self.timeout)
        for name in ("poll_interval", "poll_interval_max", "cancel_grace", "stream_idle_timeout"):
            check_seconds(name, getattr(self, name))
        for name in ("recovery_grace", "recovery_timeout"):
            check_seconds(name, getattr(self, name), zero=True)
        if self.poll_interval_max < self.poll_interval:
            raise UsageError("poll_interval_max must not be less than poll_interval")
        for name in ("client_context_ids", "allow_downgrade"):
            _check_flag(name, getattr(self, name))
        _check_word("watch", self.watch, "auto", "stream", "poll")
        _check_word("auth_required", self.auth_required, "return", "wait")
        for name in ("max_reply_bytes", "max_event_bytes"):
            _check_bytes(name, getattr(self, name))
        origins = _checked_texts("allowed_origins", self.allowed_origins)
        BoundOrigins(None, origins)
        object.__setattr__(self, "allowed_origins", origins)
        object.__setattr__(self, "extensions", _checked_extensions(self.extensions))

    @property
    def bounds(self) -> Bounds:
        """What limits replies."""
        return Bounds(self.max_reply_bytes, self.max_event_bytes, self.stream_idle_timeout)

    @property
    def timing(self) -> Timing:
        """The times that the lifecycle's rules are made of."""
        return Timing(**{field.name: getattr(self, field.name) for field in fields(Timing)})


def _check_flag(name: str, value: object) -> None:
    # 1 is True to Python, and a typing mistake to us.
    if not isinstance(value, bool):
        raise UsageError(f"{name} must be True or False; got {value!r}")


def _check_word(name: str, value: object, *words: str) -> None:
    if value not in words:
        raise UsageError(f"{name} must be {' or '.join(map(repr, words))}; got {value!r}")


def _check_bytes(name: str, value: object) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise UsageError(f"{name} must be a whole number of bytes, 1 or more; got {value!r}")


def _checked_texts(name: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, str) and isinstance(value, Iterable):
        texts = tuple(value)
        if all(isinstance(text, str) for text in texts):
            return texts
    raise UsageError(f"{name} must be a tuple of strings; got {value!r}")


def _checked_extensions(value: object) -> tuple[str, ...]:
    """Check that each can stand in a header of its own kind: a list of URIs set apart by commas."""
    uris = _checked_texts("extensions", value)
    for uri in uris:
        if not re.fullmatch(r"[!-+\--~]+", uri):
            raise UsageError(f"extensions are URIs; got {uri!r:.200}")
    return tuple(dict.fromkeys(uris))
