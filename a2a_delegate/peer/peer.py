"""One remote agent: an operation goes in, a reply comes out."""

from __future__ import annotations

import functools
from dataclasses import field
from typing import TYPE_CHECKING

import httpx

from a2a_delegate.bindings.call import Call
from a2a_delegate.bindings.carriage import Identity
from a2a_delegate.errors import UsageError
from a2a_delegate.lifecycle.operations import (
    Fault,
    ListTasks,
    SendMessage,
    asks_for_stream,
    task_named_in,
)
from a2a_delegate.model.frozen import dataclass
from a2a_delegate.peer.credentials import Credentials
from a2a_delegate.peer.origins import origin_of
from a2a_delegate.wire.result import WireResult, decoded
from a2a_delegate.wire.spoken import dialect_for

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from a2a_delegate.bindings.call import Carriage, ReadsEvent
    from a2a_delegate.bindings.exchange import Exchange
    from a2a_delegate.lifecycle.operations import Operation, Reply
    from a2a_delegate.model.card import AgentInterface, Binding, ProtocolVersion
    from a2a_delegate.peer.credentials import AuthProvider
    from a2a_delegate.peer.origins import BoundOrigins
    from a2a_delegate.wire.dialect import Dialect
    from a2a_delegate.wire.gate import Agreement


@dataclass(frozen=True, slots=True)
class _Face:
    """One interface of the agent, ready to be asked; its URL has been checked to be bound."""

    interface: AgentInterface
    dialect: Dialect
    carriage: Carriage
    url: httpx.URL
    origin: str
    headers: Mapping[str, str] = field(repr=False)


class Peer:
    """One remote agent, reached over the interfaces that the gate agreed on.

    `bindings` has what carries the calls to each. Sends, gets and cancels go to the agreed
    interface; lists, which only look, to the one that can list. `origins` are those that the caller
    bound: an interface on any other is refused here (UnsafeEndpointError), and since interfaces
    never change, so is every request. `headers` and `auth` go with every request; they, and so the
    origins, are the caller's word (see Credentials).
    """

    def __init__(
        self,
        agreement: Agreement,
        *,
        bindings: Mapping[Binding, Carriage],
        origins: BoundOrigins,
        headers: Mapping[str, str] | None = None,
        auth: httpx.Auth | AuthProvider | None = None,
        extensions: Sequence[str] = (),
    ) -> None:
        self._bindings = bindings
        self._origins = origins
        self._credentials = Credentials(headers, auth)
        self._extensions = tuple(extensions)
        self._principal: str | None = None
        self._agreed = self._face(agreement.interface)
        self._looking = self._looking_face(agreement.lookup)
        self._lesser = None if agreement.downgrade is None else self._face(agreement.downgrade)
        self._aside = tuple(self._face(one) for one in agreement.detours)

    def __repr__(self) -> str:
        return f"<Peer at {self._agreed.origin}, A2A {self.version}>"

    def _twin(self, **differences: object) -> Peer:
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__, **differences)
        return twin

    def serving(self, principal: str | None) -> Peer:
        """Return a twin whose requests authenticate for that principal, None for nobody named."""
        return self._twin(_principal=principal)

    def pinned(self, interface: AgentInterface) -> Peer:
        """Return a twin whose sends, gets and cancels go to exactly that interface.

        For the task of a handle: it lives where it was made, whatever the card says today. Lists
        go there too if its version has them, else to where this peer lists; there is no downgrade.
        Raises UnsafeEndpointError where its origin is not bound, and UsageError for a version that
        is not spoken over its binding.
        """
        face = self._face(interface)
        looking = face if face.dialect.lists_tasks else self._looking
        return self._twin(_agreed=face, _looking=looking, _lesser=None, _aside=())

    @property
    def interface(self) -> AgentInterface:
        """The interface that sends, gets and cancels go to, as the card spells it."""
        return self._agreed.interface

    @property
    def version(self) -> ProtocolVersion:
        """The version that sends are spoken in."""
        return self._agreed.interface.version

    @property
    def endpoint(self) -> str:
        """The address that sends go to, as the card spells it."""
        return self._agreed.interface.url

    @property
    def principal(self) -> str | None:
        """For whom it is asked."""
        return self._principal

    @property
    def identity(self) -> tuple[str, str | None, str | None]:
        """Origin, tenant and principal: what is learned of one of these holds for no other."""
        return self._agreed.origin, self._agreed.interface.tenant, self._principal

    @property
    def can_look_up(self) -> bool:
        """Whether the agent can be asked for a list of tasks, here or over another interface."""
        return self._looking is not None

    def way_of(self, operation: Operation) -> tuple[str, str]:
        """Return the version that an operation is asked in, and the address that it goes to."""
        interface = self._face_for(operation).interface
        return interface.version.value, interface.url

    def switch(self, to: AgentInterface) -> None:
        """Send, get and cancel by another interface from now on; one not agreed on changes nothing.

        It may be of another version, for a peer whose card promises one that it refuses (where the
        caller allows that, and once), or of the same, for one that cannot be reached.
        """
        for face in (self._lesser, *self._aside):
            if face is not None and face.interface == to:
                before, self._agreed = self._agreed, face
                if face is self._lesser:
                    self._lesser, self._aside = None, ()
                # What refused a send will not list either; another interface still may.
                if self._looking is before:
                    self._looking = self._looking_face(None)

    async def perform(self, operation: Operation, exchange: Exchange) -> Reply:
        """Ask the agent for one thing, once.

        Whatever the network or the agent does is in the reply. Raises UsageError for what cannot
        be said in the agent's version, before anything is sent; cancellation passes through, with
        the exchange filled so far.
        """
        face = self._face_for(operation)
        call = Call(
            words=face.dialect.encode(operation, tenant=face.interface.tenant),
            name=operation.name,
            url=face.url,
            headers=face.headers,
            auth=self._credentials.auth_for(self._principal, face.origin),
            identity=Identity(face.interface.tenant, self._principal),
            read_event=_event_reader(face.dialect, operation),
        )
        answer = await face.carriage.call(call, exchange)
        if isinstance(answer, WireResult):
            return decoded(face.dialect, operation, answer)
        if isinstance(answer, Fault):
            # No binding knows of tasks, and few peers repeat in an error which one it is about.
            answer.error.task_id = task_named_in(operation)
        return answer

    def _face_for(self, operation: Operation) -> _Face:
        if isinstance(operation, ListTasks) and self._looking is not None:
            return self._looking
        return self._agreed

    def _face(self, interface: AgentInterface) -> _Face:
        dialect = dialect_for(interface.version, interface.binding)
        if dialect is None:
            raise UsageError(f"A2A {interface.version} over {interface.binding} is not spoken here")
        self._origins.check(interface.url)
        url = httpx.URL(interface.url)
        return _Face(
            interface=interface,
            dialect=dialect,
            carriage=self._bindings[interface.binding],
            url=url,
            origin=str(origin_of(url)),
            headers={**self._credentials.headers, **dialect.headers(self._extensions)},
        )

    def _looking_face(self, lookup: AgentInterface | None) -> _Face | None:
        if self._agreed.dialect.lists_tasks:
            return self._agreed
        return None if lookup is None else self._face(lookup)


def _event_reader(dialect: Dialect, operation: Operation) -> ReadsEvent | None:
    """Return what reads the events of an operation that asks for a stream."""
    if not asks_for_stream(operation):
        return None
    if isinstance(operation, SendMessage):
        return functools.partial(dialect.decode_event, ours=operation.message)
    return dialect.decode_event
