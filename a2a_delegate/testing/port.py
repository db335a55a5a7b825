"""A scripted peer on a TCP port of this machine."""

from __future__ import annotations

import errno
import ipaddress
import re
import socket
import ssl
from contextlib import ExitStack
from typing import TYPE_CHECKING, Final, TypeAlias

import anyio
from anyio.streams.tls import TLSStream

from a2a_delegate.errors import UsageError
from a2a_delegate.testing.connection import Connection, Surroundings
from a2a_delegate.testing.happenings import ConnectionRefused
from a2a_delegate.testing.line import Line

if TYPE_CHECKING:
    import os
    from types import TracebackType

    from a2a_delegate.testing.backstage import Backstage
    from a2a_delegate.testing.happenings import PortObserver

HANDSHAKE_SECONDS: Final = 10.0
"""How long a client may take to come to an end with TLS."""

StrPath: TypeAlias = "str | os.PathLike[str]"

_LAST_PORT: Final = 65_535
_BACKLOG: Final = 1024
_BREATH: Final = 0.05
"""Seconds until the next attempt to accept where the system has nothing left to accept with."""

_EXHAUSTED: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
_HOST: Final = re.compile(r"([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?")


class Port:
    """Where a peer listens, for as long as the block lasts; entering it gives the URL.

    Leaving closes everything: the listener, every connection, and every request on its way, also
    one that hangs. What a script did that it cannot do is raised then, unless the block raises.
    """

    def __init__(
        self,
        backstage: Backstage,
        address: tuple[str, int],
        *,
        tls: ssl.SSLContext | None,
        observer: PortObserver | None,
    ) -> None:
        self._main = backstage
        self._address = address
        self._tls = tls
        self._observer = observer
        self._undo = ExitStack()

    async def __aenter__(self) -> str:
        """Listen, and return the URL. Raises UsageError where that cannot be."""
        with ExitStack() as undo:
            undo.enter_context(self._main.script.on_a_port())
            self._listener = undo.enter_context(await _listen(*self._address))
            self._backstage = self._main.branch()
            undo.callback(self._main.branches.remove, self._backstage)
            self._undo = undo.pop_all()
        self._authority, self._is_wild = self._own_authority()
        self._surroundings = Surroundings(self._backstage, self._url_of, self._observer)
        self._group = anyio.create_task_group()
        await self._group.__aenter__()
        self._group.start_soon(self._accept)
        return self._url_of("", "")

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close everything. Raises what a script could not do."""
        self._group.cancel_scope.cancel()
        # A deaf request does not hear that.
        self._backstage.release()
        try:
            # Not told of the block's exception, which would come out wrapped in a group.
            await self._group.__aexit__(None, None, None)
        finally:
            self._undo.close()
        if error is None and self._surroundings.failures:
            raise self._surroundings.failures[0]

    def _own_authority(self) -> tuple[str, bool]:
        """Return host and port as they stand in a URL, and whether any address will do."""
        bound, port = self._listener.getsockname()[:2]
        host = self._address[0] or bound
        is_wild = ipaddress.ip_address(bound.partition("%")[0]).is_unspecified
        if is_wild:
            host = "::1" if ":" in bound else "127.0.0.1"
        return (f"[{host}]" if ":" in host else host) + f":{port}", is_wild

    def _url_of(self, host: str, target: str) -> str:
        """Return the URL of a target; one that listens everywhere is called as it was called."""
        authority = host if self._is_wild and _HOST.fullmatch(host) else self._authority
        scheme = "http" if self._tls is None else "https"
        return f"{scheme}://{authority}{target}"

    async def _accept(self) -> None:
        while True:
            await anyio.wait_readable(self._listener)
            try:
                accepted, _ = self._listener.accept()
            except (BlockingIOError, ConnectionError):
                continue  # it has left again
            except OSError as problem:
                if problem.errno not in _EXHAUSTED:
                    raise
                await anyio.sleep(_BREATH)
                continue
            self._group.start_soon(self._hold, accepted)

    async def _hold(self, accepted: socket.socket) -> None:
        with accepted:
            line = Line(accepted)
            if self._tls is None:
                await Connection(self._surroundings, line, line).hold()
            elif (stream := await self._shake_hands(line, self._tls)) is not None:
                await Connection(self._surroundings, line, stream).hold()

    async def _shake_hands(self, line: Line, tls: ssl.SSLContext) -> TLSStream | None:
        reason = "the TLS handshake took too long"
        with anyio.move_on_after(HANDSHAKE_SECONDS):
            try:
                return await TLSStream.wrap(
                    line, server_side=True, ssl_context=tls, standard_compatible=False
                )
            except ssl.SSLError as problem:
                reason = f"no TLS handshake: {problem.reason or problem}"
            except (anyio.BrokenResourceError, anyio.EndOfStream):
                reason = "no TLS handshake: the client left"
        self._surroundings.tell(lambda: ConnectionRefused(reason))
        return None


async def _listen(host: str, port: int) -> socket.socket:
    """Open a listener. Raises UsageError."""
    if not 0 <= port <= _LAST_PORT:  # the system would take it modulo that
        raise UsageError(f"cannot listen at {host}:{port}: ports go from 0 to {_LAST_PORT}")
    try:
        found = await anyio.getaddrinfo(
            host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        family, _, _, _, address = found[0]
        listener = socket.create_server(address[:2], family=family, backlog=_BACKLOG)
    except (OSError, UnicodeError) as problem:
        reason = getattr(problem, "strerror", None) or problem
        raise UsageError(f"cannot listen at {host}:{port}: {reason}") from None
    listener.setblocking(False)  # noqa: FBT003 - it takes no keyword
    return listener


def tls_context(
    certfile: StrPath | None, keyfile: StrPath | None, context: ssl.SSLContext | None
) -> ssl.SSLContext | None:
    """Return the context that was given, or one for this certificate. Raises UsageError."""
    if certfile is None:
        if keyfile is not None:
            raise UsageError("a key needs its certificate: give certfile too")
        return context
    if context is not None:
        raise UsageError("give either a certificate or a TLS context, not both")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        # Without a password OpenSSL would ask for one at the terminal.
        context.load_cert_chain(certfile, keyfile, password="")
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or type(problem).__name__
        raise UsageError(f"cannot use the certificate {certfile}: {reason}") from None
    return context
