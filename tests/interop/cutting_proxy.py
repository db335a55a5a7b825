"""A proxy that loses replies: it stands between a client and a server that are in order.

    with CuttingProxy(server.url, cut=the_head) as proxy:
        ...                                   # talk to proxy.url
        assert proxy.lost == 1

It carries every request to the server, so the server does what it is asked. Plain threads, so that
clients on any event loop can use it.
"""

from __future__ import annotations

import contextlib
import http.client
import re
import socket
import threading
import urllib.parse
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Final, Self, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    Cut: TypeAlias = Callable[[bytes, bool], tuple[int, bool]]

SECONDS: Final = 5.0
"""How long one side may be silent before the proxy gives up."""

NOT_EVEN_THE_HEAD: Final = -1

_SENDS: Final = re.compile(
    rb'"(?:SendMessage|SendStreamingMessage|message/send|message/stream)"|/message:(?:send|stream)$'
)
_BLANK_LINE: Final = re.compile(rb"\r\n\r\n|\n\n|\r\r")


# A cut is asked with the body so far, and whether that is all of it. It says how many bytes of it
# go through, and whether the connection is closed then.


def nothing(_: bytes, whole: bool) -> tuple[int, bool]:  # noqa: ARG001, FBT001  # a Cut
    """Let no byte of the reply through."""
    return NOT_EVEN_THE_HEAD, True


def the_head(_: bytes, whole: bool) -> tuple[int, bool]:  # noqa: ARG001, FBT001  # a Cut
    """Let the head through, and no byte of the body."""
    return 0, True


def all_but_the_last_byte(body: bytes, whole: bool) -> tuple[int, bool]:  # noqa: FBT001  # a Cut
    """Let everything through but what would make the body complete."""
    return max(0, len(body) - 1), whole


def after_events(count: int) -> Cut:
    """Let so many events of a stream through, and no byte of the next one."""
    return partial(_after_events, count)


def within_event(number: int) -> Cut:
    """Let a stream through up to the middle of this event; the first one is 1."""
    return partial(_within_event, number)


def _after_events(
    count: int,
    body: bytes,
    whole: bool,  # noqa: ARG001, FBT001  # a Cut
) -> tuple[int, bool]:
    ends = _ends_of_events(body)
    return (ends[count - 1], True) if len(ends) >= count else (len(body), False)


def _within_event(number: int, body: bytes, whole: bool) -> tuple[int, bool]:  # noqa: FBT001
    ends = [0, *_ends_of_events(body)]
    if len(ends) <= number:
        # What has come of the event may be more than its half: it waits for the rest.
        return ends[min(number - 1, len(ends) - 1)] if not whole else len(body), False
    return (ends[number - 1] + ends[number]) // 2, True


def _ends_of_events(body: bytes) -> list[int]:
    """Where events end; a comment alone is none."""
    ends, begin = [], 0
    for blank in _BLANK_LINE.finditer(body):
        if b"data:" in body[begin : blank.end()]:
            ends.append(blank.end())
        begin = blank.end()
    return ends


class CuttingProxy(ThreadingHTTPServer):
    """Listens at `url` for as long as its block lasts; `lost` counts the replies that it cut.

    `cut` says how much of the reply to a send goes through before the connection is closed. With
    `waits=False` the client's connection is closed as soon as the send is on its way to the server,
    whatever the server will say. With `everything` no other request is answered either, until
    `heal()`. With `repeats` nothing is cut: each send goes to the server twice, as it is, and the
    second reply is the one that goes through.
    """

    def __init__(
        self,
        upstream: str,
        *,
        cut: Cut = nothing,
        waits: bool = True,
        everything: bool = False,
        repeats: bool = False,
    ) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.upstream = urllib.parse.urlsplit(upstream).netloc
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.cut = cut
        self.waits = waits
        self.everything = everything
        self.repeats = repeats
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

    def do_GET(self) -> None:
        """As any other request."""
        self._carry(b"")

    def do_POST(self) -> None:
        """Carry one request there, and what is left of its reply back."""
        self._carry(self.rfile.read(int(self.headers["Content-Length"])))

    def _carry(self, body: bytes) -> None:
        is_send = _SENDS.search(body) or _SENDS.search(self.path.encode())
        loses = not (self.server.healed or self.server.repeats)
        is_lost = loses and (is_send or self.server.everything)
        if is_send and self.server.repeats:
            with self._asked(body) as first:
                first.getresponse().read()
        with self._asked(body) as there, contextlib.suppress(OSError):  # the client may go first
            if is_lost and not self.server.waits:
                self._lose()
                there.getresponse().read()
            else:
                self._answer(there.getresponse(), self.server.cut if is_lost else _uncut)

    def _asked(self, body: bytes) -> contextlib.closing[http.client.HTTPConnection]:
        there = http.client.HTTPConnection(self.server.upstream, timeout=SECONDS)
        there.request(self.command, self.path, body or None, dict(self.headers))
        return contextlib.closing(there)

    def _answer(self, response: http.client.HTTPResponse, cut: Cut) -> None:
        """Give the reply on as it comes, chunk by chunk, up to the cut."""
        body, gone, whole = b"", NOT_EVEN_THE_HEAD, False
        while not whole:
            more = response.read1()
            body, whole = body + more, not more
            upto, ends = cut(body, whole)
            if gone == NOT_EVEN_THE_HEAD < upto:
                gone = 0
                self.wfile.write(_head_of(response))
            if upto > gone:
                self.wfile.write(b"%x\r\n%b\r\n" % (upto - gone, body[gone:upto]))
                gone = upto
            if ends:
                self._lose()
                return
        self.wfile.write(b"0\r\n\r\n")

    def _lose(self) -> None:
        self.server.lost += 1
        self.close_connection = True
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def _uncut(body: bytes, whole: bool) -> tuple[int, bool]:  # noqa: ARG001, FBT001  # a Cut
    return len(body), False


def _head_of(response: http.client.HTTPResponse) -> bytes:
    """The head of a reply whose body comes in chunks."""
    head = [
        f"HTTP/1.1 {response.status} {response.reason}",
        f"content-type: {response.headers['content-type']}",
        "transfer-encoding: chunked",
    ]
    return "\r\n".join([*head, "", ""]).encode("latin-1")
