"""What the reports are played with: a delegate as users make one, and replies of any version."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import httpx
import pytest

from a2a_delegate import A2ADelegate, A2ADelegateConfig, fetch_agent_card
from a2a_delegate.testing import Operation, Rewrite, ScriptedPeer, WorkState
from tests.runtime.staging import Notes, requests_of

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping

    from a2a_delegate import DelegateResult
    from a2a_delegate.testing import RequestFact

__all__ = ["Notes", "requests_of"]

SPOKEN: Final = ("1.0", "0.3", "0.2")
"""The versions that a report is played in where it is not about one of them."""

VERSIONS: Final = pytest.mark.parametrize("version", SPOKEN)

Json: TypeAlias = dict[str, Any]

CLEANUP: Final = 0.5 + 2 * 2.0
"""Seconds that cleaning up may take by default: `recovery_grace` and twice `cancel_grace`."""

TLS: Final = httpx.create_ssl_context()
"""Made once: each client would take its own time to make one."""

ORIGIN: Final = "https://peer.example"
CARD: Final = f"{ORIGIN}/.well-known/agent-card.json"
OLD_CARD: Final = f"{ORIGIN}/.well-known/agent.json"


def card_place(version: str) -> str:
    """Return where a scripted peer that speaks this version alone has its card."""
    return OLD_CARD if version == "0.2" else CARD


@asynccontextmanager
async def delegate_of(
    peer: ScriptedPeer,
    *,
    auth: Any = None,
    headers: Mapping[str, str] | None = None,
    observers: Any = (),
    client: Mapping[str, Any] | None = None,
    **config: Any,
) -> AsyncGenerator[A2ADelegate, None]:
    """Find a peer's card and make a delegate of it; `client` are options of httpx's client."""
    async with peer.client(**(client or {})) as http:
        card = await fetch_agent_card(ORIGIN, client=http, auth=auth, headers=headers)
        options = A2ADelegateConfig(**config)
        async with A2ADelegate(
            "peer",
            card,
            client=http,
            auth=auth,
            headers=headers,
            config=options,
            observers=observers,
        ) as delegate:
            yield delegate


async def dispatched(
    peer: ScriptedPeer, prompt: str = "work", notes: Notes | None = None, **config: Any
) -> DelegateResult:
    """Delegate once, with the card found first."""
    async with delegate_of(peer, **config) as delegate:
        return await delegate.dispatch(prompt, observer=notes)


class Renewing(httpx.Auth):
    """A bearer token that is made anew when the peer refuses the old one."""

    def __init__(self) -> None:
        self.made = 0

    async def async_auth_flow(
        self, request: httpx.Request
    ) -> AsyncGenerator[httpx.Request, httpx.Response]:
        request.headers["authorization"] = f"Bearer {self.made}"
        response = yield request
        if response.status_code == httpx.codes.UNAUTHORIZED:
            self.made += 1
            request.headers["authorization"] = f"Bearer {self.made}"
            yield request


# -- replies ---------------------------------------------------------------------------------------


def task_in(reply: Json) -> Json:
    """Return the task that a reply holds, in the shape of whichever version."""
    result: Json = reply["result"]
    task: Json = result.get("task", result)
    return task


def changed(change: Callable[[Json], object]) -> Rewrite:
    """Give the honest reply with its task changed in place."""

    def rewrite(reply: Json) -> Json:
        change(task_in(reply))
        return reply

    return Rewrite(rewrite)


def remade(make: Callable[[Json], Any]) -> Rewrite:
    """Give the honest reply with another result: what `make` makes of its task."""
    return Rewrite(lambda reply: {**reply, "result": make(task_in(reply))})


def state_word(version: str, state: WorkState) -> str:
    """Spell a state as a version does."""
    if version == "1.0":
        return "TASK_STATE_" + state.name
    return state.value


def text_part(version: str, text: str) -> Json:
    """Write a text part of a version."""
    return {"text": text} if version == "1.0" else {"kind": "text", "text": text}


def agent_message(version: str, text: str, message_id: str = "m-1") -> Json:
    """Write a message of the agent in a version."""
    message: Json = {"messageId": message_id, "parts": [text_part(version, text)]}
    if version == "1.0":
        return {**message, "role": "ROLE_AGENT"}
    return {**message, "role": "agent", "kind": "message"}


# -- what the peer saw -----------------------------------------------------------------------------


def message_of(request: RequestFact) -> Json:
    """Return the message that a send carried."""
    body: Any = request.body
    message: Json = body["params"]["message"]
    return message


def sends(peer: ScriptedPeer) -> list[Json]:
    """Return the messages of all sends that arrived, in order."""
    return [message_of(one) for one in requests_of(peer, Operation.SEND) if one.body is not None]


def runs(peer: ScriptedPeer) -> int:
    """Return how often the peer ran anything."""
    return sum(peer.truth.runs.values())
