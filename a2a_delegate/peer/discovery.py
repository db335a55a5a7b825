"""Discovery: from what a person types to a card that can be used, or a refusal that says why.

It happens once, while a human is looking, so every way it can fail has a sentence of its own.
"""

from __future__ import annotations

import contextlib
import math
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import httpx

from a2a_delegate.bindings.carriage import Answer, Bounds, Carrier, Errand
from a2a_delegate.bindings.exchange import Exchange
from a2a_delegate.bindings.failures import may_pass, spoke
from a2a_delegate.errors import (
    DelegateError,
    InvalidAgentCardError,
    PeerUnreachableError,
    UnsafeEndpointError,
    UsageError,
)
from a2a_delegate.lifecycle.operations import Lost, NotSent, Unreadable
from a2a_delegate.model.card import ProtocolVersion
from a2a_delegate.model.frozen import dataclass
from a2a_delegate.peer.credentials import Credentials
from a2a_delegate.peer.origins import origin_of
from a2a_delegate.peer.places import places_of
from a2a_delegate.retrying import Again, repeated, sleep_for
from a2a_delegate.wire.card_reader import read_card
from a2a_delegate.wire.fault_table import retry_after

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Mapping

    from a2a_delegate.bindings.carriage import Carried
    from a2a_delegate.model.card import AgentCard
    from a2a_delegate.peer.credentials import AuthProvider

MAX_CARD_BYTES = 1024 * 1024
"""Bytes that a card may have; those in the wild have a few thousand."""

FALL_BACK_ON = frozenset({401, 404, 405})
"""Statuses that send the search on to the next place: a server that has no card there says 404,
and some say 405, or 401 for every path that they do not know."""

_PASSING = frozenset({429, 502, 503, 504})
"""Statuses of a peer that is not ready yet, or of a proxy before it."""

_NOT_HERE = frozenset({404, 405})

_SHOWN_BYTES = 200
"""How much of an answer that is no card a refusal shows."""

_HEADERS: Mapping[str, str] = {
    # Servers of several versions shape the card by this header (CARD-3).
    "A2A-Version": ProtocolVersion.V1_0.value,
    "Accept": "application/json",
    "Accept-Encoding": "identity",
}


@dataclass(frozen=True, slots=True)
class _Found:
    """A card's place, and what lets us ask whether it has changed (RFC 9110 section 13)."""

    place: httpx.URL
    validators: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _Attempt:
    """One request for a card: how it ended, and the status where one came."""

    carried: Carried
    status: int | None


class CardSource:
    """Where one agent's card comes from: found once, and looked at again when something changed.

    Remembers the place and its validators (`ETag`, `Last-Modified`), so it serves one identity:
    another set of credentials may see another card. `fall_back_on` are the statuses that send the
    search on to the next place. `sleep` waits between repeats. Raises what `fetch_agent_card` says;
    the bound is `runtime.card_lookup`'s.
    """

    def __init__(
        self,
        base_url: str,
        *,
        client: httpx.AsyncClient,
        headers: Mapping[str, str] | None = None,
        auth: httpx.Auth | AuthProvider | None = None,
        max_bytes: int = MAX_CARD_BYTES,
        fall_back_on: Collection[int] = FALL_BACK_ON,
        sleep: Callable[[float], Awaitable[None]] = sleep_for,
    ) -> None:
        if isinstance(max_bytes, bool) or not isinstance(max_bytes, int) or max_bytes < 1:
            raise UsageError(f"max_bytes must be a number of bytes above zero; got {max_bytes!r}")
        self._places = places_of(base_url)
        self._typed = base_url.strip()
        self._carrier = Carrier(client, bounds=Bounds(max_bytes))
        credentials = Credentials(headers, auth)
        self._headers = {**credentials.headers, **_HEADERS}
        self._auth = credentials.auth_for(None, str(origin_of(self._places[0])))
        self._fall_back_on = frozenset(fall_back_on)
        self._sleep = sleep
        self._found: _Found | None = None

    @property
    def typed(self) -> str:
        """What was typed to find the card."""
        return self._typed

    async def look(self, *, deadline: float = math.inf) -> AgentCard:
        """Find the card and read it, wherever it was before.

        A peer that asks for more time than there is until `deadline` (on the loop's clock) is not
        waited for; to end the search then is left to whoever began it.
        """
        missing: list[tuple[httpx.URL, Answer]] = []
        for place in self._places:
            answer = await self._ask(place, {}, deadline)
            if answer.status not in self._fall_back_on:
                return self._read(place, answer)
            missing.append((place, answer))
        # Of several refusals, one that is no plain "not here" says most.
        place, answer = next((one for one in missing if one[1].status not in _NOT_HERE), missing[0])
        raise _refused(place, answer, looked=len(missing))

    async def look_again(self, *, deadline: float = math.inf) -> AgentCard | None:
        """Ask whether the card has changed; None if it has not.

        A card that is no longer where it was is searched for anew.
        """
        found = self._found
        if found is None:
            return await self.look(deadline=deadline)
        answer = await self._ask(found.place, found.validators, deadline)
        if answer.status == httpx.codes.NOT_MODIFIED and found.validators:
            return None
        if answer.status in self._fall_back_on:
            return await self.look(deadline=deadline)
        return self._read(found.place, answer)

    async def _ask(
        self, place: httpx.URL, validators: Mapping[str, str], deadline: float
    ) -> Answer:
        """Return the answer of one place, asked again where that may help."""
        errand = Errand(
            name="card", url=place, headers={**self._headers, **validators}, auth=self._auth
        )

        async def once() -> _Attempt:
            exchange = Exchange()
            carried = await self._carrier.carry(errand, exchange)
            return _Attempt(carried, exchange.http_status)

        last = await repeated(once, again=_again, deadline=deadline, sleep=self._sleep)
        if isinstance(last.carried, Answer):
            return last.carried
        raise _unanswered(last.carried, place, last.status)

    def _read(self, place: httpx.URL, answer: Answer) -> AgentCard:
        if not answer.is_success:
            raise _refused(place, answer)
        card = read_card(answer.body, url=str(place), status=answer.status)
        self._found = _Found(place, _validators(answer.headers))
        return replace(card, source=self._typed)


def _again(attempt: _Attempt) -> Again | None:
    carried = attempt.carried
    if isinstance(carried, Answer) and carried.status in _PASSING:
        return Again(retry_after(carried.headers, now=datetime.now(UTC)))
    if isinstance(carried, NotSent | Lost) and may_pass(carried.error.__cause__):
        return Again()
    return None


def _unanswered(
    carried: Unreadable | NotSent | Lost, place: httpx.URL, status: int | None
) -> DelegateError:
    """Say why a request for a card has no answer that can be read."""
    url, cause = str(place), carried.error.__cause__
    if isinstance(carried, Unreadable):
        return InvalidAgentCardError(
            url=url, reason=f"its body: {carried.error.reason}", status=status
        )
    error: DelegateError
    if status is not None:
        error = InvalidAgentCardError(
            url=url, reason=f"the answer was cut short: {carried.error.reason}", status=status
        )
    elif spoke(cause):
        error = InvalidAgentCardError(
            url=url, reason=f"the answer is not usable as HTTP: {carried.error.reason}"
        )
    else:
        error = PeerUnreachableError(
            phase="card", url=url, reason=f"{carried.error.phase}: {carried.error.reason}"
        )
    error.__cause__ = cause
    return error


def _refused(place: httpx.URL, answer: Answer, *, looked: int = 1) -> InvalidAgentCardError:
    """Say what an answer means that is no success."""
    words = [httpx.codes.get_reason_phrase(answer.status).lower() or "no success"]
    if 300 <= answer.status < 400:  # noqa: PLR2004 - RFC 9110 section 15.4
        words.append(_redirection(place, answer.headers.get("location", "")))
    elif answer.status in {httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN}:
        words.append("give the credentials that it asks for by headers or auth")
    text = answer.body[:_SHOWN_BYTES].decode(errors="replace").strip()
    if text and not text.startswith("<"):
        words.append(f"it says {text!r}")
    if looked > 1:
        places = "other place" if looked == 2 else f"{looked - 1} other places"  # noqa: PLR2004
        words.append(f"nor is one at the {places} where cards are kept")
    return InvalidAgentCardError(url=str(place), reason="; ".join(words), status=answer.status)


def _redirection(place: httpx.URL, location: str) -> str:
    target = "somewhere that cannot be read"
    if location:
        with contextlib.suppress(UnsafeEndpointError, httpx.InvalidURL, ValueError):
            target = str(origin_of(place.join(location)))
    return (
        f"it redirects to {target}, and redirects are not followed; "
        "type that address if it is the one that you mean"
    )


def _validators(headers: httpx.Headers) -> dict[str, str]:
    """Return the headers that ask whether a card has changed since it had these."""
    pairs = {
        "If-None-Match": headers.get("etag"),
        "If-Modified-Since": headers.get("last-modified"),
    }
    return {
        name: value
        for name, value in pairs.items()
        if value and value.isascii() and value.isprintable()
    }
