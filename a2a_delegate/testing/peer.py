"""The scripted peer: a remote A2A agent in this process that misbehaves on demand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import httpx

from a2a_delegate.errors import UsageError
from a2a_delegate.testing.agent import Agent
from a2a_delegate.testing.backstage import Backstage
from a2a_delegate.testing.cards import card, card_path
from a2a_delegate.testing.clock import PeerClock
from a2a_delegate.testing.faces import (
    VERBS,
    Manners,
    checked_bindings,
    checked_mapping,
    checked_verbs,
    checked_versions,
    http_json,
    json_rpc,
)
from a2a_delegate.testing.places import HTTP_JSON, JSONRPC, Places, http_json_url
from a2a_delegate.testing.port import Port, tls_context
from a2a_delegate.testing.reception import ContextRules, Reception
from a2a_delegate.testing.script import Script
from a2a_delegate.testing.transport import ScriptedTransport
from a2a_delegate.testing.truth import GroundTruth
from a2a_delegate.testing.work import WorkState

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Sequence
    from contextlib import AbstractAsyncContextManager
    from datetime import datetime

    from a2a_delegate.testing.behaviours import Operation
    from a2a_delegate.testing.face import Json
    from a2a_delegate.testing.happenings import PortObserver
    from a2a_delegate.testing.layering import Behaviour
    from a2a_delegate.testing.port import StrPath


class ScriptedPeer:
    """A twin of a remote A2A agent: honest until told otherwise, and it knows what really ran.

    ::

        peer = ScriptedPeer()
        peer.script(Operation.SEND, DropAfterAccepting())   # the first send: the reply is lost
        async with peer.client() as client:
            ...                                             # delegate over this client
        assert peer.truth.runs[message_id] == 1             # whatever the client made of it

    What the agent does is said by the first word of the message: `slow 3`, `ask`, `fail`; the
    list is in `a2a_delegate.testing.agent`. Time is the event loop's, so a virtual clock moves it.
    Work does not stop when its request is cancelled. A peer belongs to the one event loop in
    which it is used, and is not for threads.

    Options, beside the `url` of its endpoint and its `name`:

    - `versions`: "1.0", "0.3", "0.2", or 1.0 with one of the others, in the order of the card; two
      share the one URL, as a2a-sdk serves them.
    - `bindings`: "JSONRPC", "HTTP+JSON" or both, in the order in which the card lists them for each
      version; 0.2 is spoken over JSON-RPC only. HTTP+JSON stands at `http_json_url`.
    - `subscribe_verbs`: what a subscription over HTTP+JSON takes: "POST", "GET" or both. A GET that
      is none finds no task of that id (404), a POST that is none is not allowed (405).
    - `error_mapping`: the patch of 1.0 whose HTTP statuses the errors over HTTP+JSON have: "1.0.1"
      or "1.0.0".
    - `like_js`: whether 0.3 alone over HTTP+JSON is as @a2a-js/sdk serves it, where a send is
      answered with 201 and an error has its code, and not as a2a-sdk, where it has neither.
    - `recognises_repeats`: the same message id a second time gets the first one's task and runs
      nothing. No server known does; the default runs it twice.
    - `lists`: whether 1.0 lists tasks; when not, it answers -32004.
    - `keeps_context_ids`: whether the context id of a client's new message is kept; when not,
      another takes its place. `refuses_context_ids` refuses such a message (-32602) instead.
    - `streaming`: whether the card offers streams, and sends and subscriptions that ask for one
      get it; when not, they are refused (-32004).
    - `always_blocks`: whether a send is answered only when its work has settled, even one that asks
      for an immediate return, as a2a-sdk 0.2 and CrewAI do it.
    - `tenant`: stands in the card, and then every request of 1.0 has to name it.
    - `wall_clock`: what the peer takes for the time of day when it stamps a state.

    Raises UsageError for options that make no peer.
    """

    def __init__(
        self,
        versions: Sequence[str] = ("1.0",),
        *,
        bindings: Sequence[str] = (JSONRPC,),
        url: str = "https://peer.example/rpc",
        name: str = "Scripted peer",
        recognises_repeats: bool = False,
        lists: bool = True,
        keeps_context_ids: bool = True,
        refuses_context_ids: bool = False,
        streaming: bool = False,
        always_blocks: bool = False,
        tenant: str | None = None,
        subscribe_verbs: Sequence[str] = VERBS,
        error_mapping: str = "1.0.1",
        like_js: bool = False,
        wall_clock: Callable[[], datetime] | None = None,
    ) -> None:
        self.versions = checked_versions(versions)
        self.bindings = checked_bindings(bindings, self.versions)
        self.url = url
        self._url = _checked_url(url)
        self.name = name
        self.tenant = tenant
        self.streaming = streaming
        self._clock = clock = PeerClock(wall_clock)
        self._agent = agent = Agent(name, recognises_repeats=recognises_repeats)
        manners = Manners(
            clock=clock,
            tenant=tenant,
            lists=lists,
            subscribe_verbs=checked_verbs(subscribe_verbs),
            error_mapping=checked_mapping(error_mapping),
            like_js=like_js,
        )
        contexts = ContextRules(keeps=keeps_context_ids, refuses=refuses_context_ids)
        self._script = Script()
        self._backstage = Backstage(
            target=self._url.raw_path.decode("ascii"),
            places=Places(
                self._url,
                card_path(self.versions),
                json_rpc(self.versions, manners) if JSONRPC in self.bindings else None,
                http_json(self.versions, manners) if HTTP_JSON in self.bindings else None,
            ),
            card=self._card_at,
            script=self._script,
            reception=Reception(
                agent, clock, contexts, always_blocks=always_blocks, streaming=streaming
            ),
            agent=agent,
            clock=clock,
        )
        self.truth = GroundTruth(agent, clock, self._backstage.ledger)

    def script(self, operation: Operation, *behaviours: Behaviour, call: int | None = None) -> None:
        """Say how the next requests of one operation are treated: one each, in this order.

        With `call` they are not the next ones but those from this number on, where the first
        request of the operation has the number 1. Later ones are honest again, or as `always` says.
        What a request asks for is known before its body is read where the request was built from
        bytes, as httpx's `json=` and `content=` do. Raises UsageError for a behaviour that means
        nothing for this operation, and for a number that has come or is scripted.
        """
        self._script.add(operation, behaviours, call)

    def always(
        self, operation: Operation, behaviour: Behaviour, *, prompt: str | None = None
    ) -> None:
        """Say how every request of one operation is treated of which the script says nothing.

        With `prompt`, only those about a message of exactly this text: the send itself, and the
        gets and cancels of its task; they go before what is said of all. Raises UsageError for a
        behaviour that means nothing for this operation, and for a prompt of a card or a list.
        """
        self._script.set_always(operation, behaviour, prompt)

    @property
    def http_json_url(self) -> str:
        """Where HTTP+JSON stands: beside the endpoint, at `rest`; on a port, at the same path."""
        return str(http_json_url(self._url))

    @property
    def pending(self) -> tuple[tuple[Operation, Behaviour], ...]:
        """What was scripted and has not been used: a test that leaves some did not test it."""
        return self._script.pending

    def transport(self) -> httpx.AsyncBaseTransport:
        """Return a way to this peer, for `httpx.AsyncClient(transport=...)`. There may be many."""
        return ScriptedTransport(self._backstage, self._url)

    def serve(
        self,
        host: str = "127.0.0.1",
        port: int = 0,
        *,
        certfile: StrPath | None = None,
        keyfile: StrPath | None = None,
        tls: ssl.SSLContext | None = None,
        observer: PortObserver | None = None,
    ) -> AbstractAsyncContextManager[str]:
        """Put this peer on a TCP port for as long as the block lasts.

        ::

            async with peer.serve() as url, connect(url) as delegate:
                ...

        Entering gives the URL that the peer is known by. It is the same peer as in process, with
        the same agent, script, clock and ground truth, at another address: the card that is served
        names that one, with the path of the peer's own `url`. Here, and here alone, it can do what
        takes a wire, such as `CutReply`.

        - `port`: 0 takes any that is free.
        - `certfile` and `keyfile` (PEM, without a password), or an `ssl.SSLContext`, make it TLS.
        - `observer` is called with each `Happening`, on the event loop; it must not block.

        Leaving the block closes everything, also requests that hang. It may be called again, and
        for several ports at once. Raises UsageError for a certificate that cannot be used and, on
        entering, where nothing can listen there and for a script that no port can follow.
        """
        return Port(
            self._backstage,
            (host, port),
            tls=tls_context(certfile, keyfile, tls),
            observer=observer,
        )

    def client(self, **options: Any) -> httpx.AsyncClient:
        """Return an httpx client whose only way leads to this peer; `options` are httpx's own.

        The caller closes it.
        """
        return httpx.AsyncClient(transport=self.transport(), **options)

    def card(self) -> Json:
        """Return the card that is served at `/.well-known/agent-card.json`, as a fresh value.

        One that speaks 0.2 alone has it at `/.well-known/agent.json`, and only there.
        """
        return self._card_at(self.url)

    def _card_at(self, url: str) -> Json:
        return card(
            self.versions,
            self.bindings,
            url=url,
            name=self.name,
            tenant=self.tenant,
            streaming=self.streaming,
        )

    def finish(self, task_id: str, state: str = "completed", text: str | None = None) -> None:
        """Bring a task to this state now, whatever it was doing; a blocked send is answered.

        `state` is a word of `WorkState`. `text` becomes the artifact of a completed task (by
        default what the agent would have made) and the status message of any other. A task that
        has ended may be given another end, as some servers do. Raises UsageError for a task or a
        state that there is not.
        """
        task = self._agent.tasks.get(task_id)
        if task is None:
            raise UsageError(f"this peer has no task {task_id!r}")
        try:
            known = WorkState(state)
        except ValueError:
            raise UsageError(f"{state!r} is no state; see WorkState") from None
        self._agent.finish(task, known, text, self._clock.now())

    def release(self) -> None:
        """Let every request that hangs go on: accepted ones are answered, others disconnected."""
        self._backstage.release()


def _checked_url(url: str) -> httpx.URL:
    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL:
        parsed = httpx.URL("")
    if parsed.scheme not in {"http", "https"} or not parsed.host:
        raise UsageError(f"the endpoint of a peer is an absolute http or https URL, not {url!r}")
    return parsed
