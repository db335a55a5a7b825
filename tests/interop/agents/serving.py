"""Runs an agent's ASGI application: the arguments, the port, the first line on standard output."""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import socket
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import uvicorn
from journal import Journal

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from starlette.applications import Starlette

HOST: Final = "127.0.0.1"
RPC_PATH: Final = "/rpc"
REST_PATH: Final = "/rest"
NAME: Final = "interop agent"
DESCRIPTION: Final = "An agent of the a2a-delegate tests, on a server that others wrote."
VERSION: Final = "1.0.0"
TEXT: Final = "text/plain"
JSON: Final = "application/json"
SHUTDOWN_SECONDS: Final = 1
"""How long a stopping server waits for its open requests."""


@dataclass(frozen=True, slots=True)
class Options:
    """What the application needs to know, once the port is."""

    mode: str
    base_url: str
    journal: Journal

    @property
    def rpc_url(self) -> str:
        """The one JSON-RPC interface, deliberately on a path."""
        return self.base_url + RPC_PATH

    @property
    def rest_url(self) -> str:
        """The one HTTP+JSON interface, on a path of its own."""
        return self.base_url + REST_PATH


class _Announcing(uvicorn.Server):
    """Prints the READY line as soon as connections are accepted."""

    def __init__(self, config: uvicorn.Config, base_url: str) -> None:
        super().__init__(config)
        self._base_url = base_url

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            print(f"READY {self._base_url}", flush=True)  # noqa: T201  # the launcher reads it


def serve(modes: Sequence[str], application: Callable[[Options], Starlette]) -> None:
    """Read the arguments, bind, build the application for that port, and serve it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--mode", choices=modes, default=modes[0])
    parser.add_argument("--port", type=int, default=0, help="default: the system chooses")
    parser.add_argument("--journal", type=Path, required=True, help="file to append events to")
    parser.add_argument(
        "--end-with-stdin",
        action="store_true",
        help="end when standard input does, so that no server outlives its launcher",
    )
    arguments = parser.parse_args()
    if arguments.end_with_stdin:
        threading.Thread(target=_end_with_stdin, daemon=True).start()
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((HOST, arguments.port))
        base_url = f"http://{HOST}:{listener.getsockname()[1]}"
        options = Options(arguments.mode, base_url, Journal(arguments.journal))
        config = uvicorn.Config(
            application(options),
            log_level="warning",
            timeout_graceful_shutdown=SHUTDOWN_SECONDS,
        )
        with contextlib.suppress(KeyboardInterrupt):  # uvicorn raises it again after its shutdown
            _Announcing(config, base_url).run([listener])


def _end_with_stdin() -> None:
    # os.read, not sys.stdin: a daemon thread that holds the lock of a buffered reader breaks the
    # interpreter's shutdown.
    while os.read(0, 1024):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
