"""A proxy that loses replies: it stands between a client and a server that are in order.

    with CuttingProxy(server.rpc_url, cut=the_head) as proxy:
        ...                                   # talk to proxy.url
        assert proxy.lost == 1

It carries every request to the server, so the server does what it is asked. Plain threads, so that
clients on any event loop can use it.
"""

from __future__ import annotations

import contextlib
import http.client
import socket
import threading
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Final, Self

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

SECONDS: Final = 5.0
"""How long one side may be silent before the proxy gives up."""

_SENDS: Final = (b'"SendMessage"', b'"message/send"')


def nothing(_: bytes) -> int:
    """Let no byte of the reply through."""
    return 0


def the_head(reply: bytes) -> int:
    """Let the head through, and no byte of the body."""
    return reply.index(b"\r\n\r\n") + 4


def all_but_the_last_byte(reply: bytes) -> int:
    """Let everything through but what would make the body complete."""
    return len(reply) - 1


class CuttingProxy(ThreadingHTTPServer):
    """Listens at `url` for as long as its block lasts; `lost` counts the replies that it cut.

    `cut` is given a whole reply to a send and says how many bytes of it go through before the
    connection is closed. With `waits=False` the client's connection is closed as soon as the send
    is on its way to the server, whatever the server will say. With `everything` no other request
    is answered either, until `heal()`.
    """

    def __init__(
        self,
        upstream: str,
        *,
        cut: Callable[[bytes], int] = nothing,
        waits: bool = True,
        everything: bool = False,
    ) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.upstream = urllib.parse.urlsplit(upstream)
        self.url = f"http://127.0.0.1:{self.server_port}{self.upstream.path}"
        self.cut = cut
        self.waits = waits
        self.everything = everything
        self.healed = False
        self.lost = 0
        self._thread = threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True)

    def heal(self) -> None:
        """Lose nothing from now on."""
        self.healed = True

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.shutdown()
        self._thread.join(SECONDS)
        self.server_close()  # joins the threads of the connections


class _Handler(BaseHTTPRequestHandler):
    """One connection of the client; each request goes on over a connection of its own."""

    protocol_version = "HTTP/1.1"
    timeout = SECONDS
    server: CuttingProxy

    def do_POST(self) -> None:
        """Carry one request there, and what is left of its reply back."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        is_send = any(name in body for name in _SENDS)
        is_lost = not self.server.healed and (is_send or self.server.everything)
        there = http.client.HTTPConnection(self.server.upstream.netloc, timeout=SECONDS)
        with contextlib.closing(there):
            there.request("POST", self.server.upstream.path or "/", body, dict(self.headers))
            if is_lost and not self.server.waits:
                self._lose(b"")
            reply = _whole(there.getresponse())
        if not is_lost:
            self.wfile.write(reply)
        elif self.server.waits:
            self._lose(reply[: self.server.cut(reply)])

    def _lose(self, part: bytes) -> None:
        self.server.lost += 1
        self.close_connection = True
        with contextlib.suppress(OSError):  # the client may have gone first
            self.wfile.write(part)
            self.connection.shutdown(socket.SHUT_RDWR)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def _whole(response: http.client.HTTPResponse) -> bytes:
    """The reply as bytes, with its length announced."""
    body = response.read()
    head = [
        f"HTTP/1.1 {response.status} {response.reason}",
        f"content-type: {response.headers['content-type']}",
        f"content-length: {len(body)}",
    ]
    return "\r\n".join([*head, "", ""]).encode("latin-1") + body
