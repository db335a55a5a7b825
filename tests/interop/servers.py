"""Starts the agents of tests/interop on servers that others wrote, for tests and for the demo.

    with running("a2a-sdk-1.3", "dual") as server:
        ...                                   # talk to server.url
        assert server.runs(message_id) == 1   # what the agent's own code really did

By hand: `python tests/interop/servers.py LINE MODE [--port N] [--journal FILE]`.

Each line lives in an environment of its own, made by `tests/interop/install.py`; one that is
missing or stale is an error, never a skip. Only the standard library is imported here.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import os
import selectors
import subprocess
import sys
import tempfile
import time
import urllib.parse
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final, TypeVar

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.interop.lines import LINES, interop_dir

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

CARD_PATHS: Final = ("/.well-known/agent-card.json", "/.well-known/agent.json")
"""Where a card is looked for; the second is all that 0.2 has."""

SERVERS: Final = tuple((line.name, mode) for line in LINES.values() for mode in line.modes)
"""Every (line, mode) that can be started."""

START_SECONDS: Final = 60.0
STOP_SECONDS: Final = 3.0
LOG_TAIL: Final = 4_000
"""Characters of a server's standard error that a failure shows."""

ENDS: Final = ("done", "cancelled", "raised")
"""The events of a journal one of which follows every `execute`."""

T = TypeVar("T")


class ServerError(Exception):
    """A server is not installed, did not start, or ended by itself."""


@dataclass(frozen=True, slots=True)
class Server:
    """The facts of one running server."""

    line: str
    mode: str
    url: str
    """The base URL, where the card is."""
    interfaces: Mapping[str, str]
    """The URL of each binding, as the card has it."""
    journal: Path
    """What the agent's code really did, one JSON object a line."""
    log: Path
    """The server's standard error."""
    pid: int

    @property
    def rpc_url(self) -> str:
        """The JSON-RPC interface, as the card has it."""
        return self.interfaces["JSONRPC"]

    @property
    def name(self) -> str:
        """Line and mode, in one string."""
        return f"{self.line} {self.mode}"

    def events(self) -> list[dict[str, object]]:
        """Read the journal so far: `event`, `message_id`, `task_id`, `text`, `time`, `state`."""
        text = self.journal.read_text(encoding="utf-8")
        whole, _, _unfinished = text.rpartition("\n")
        # Not splitlines: it cuts at U+2028 as well, which JSON does not escape.
        return [json.loads(line) for line in whole.split("\n") if line]

    def events_of(self, message: str) -> list[dict[str, object]]:
        """Read the events of the turns with this message id or this text."""
        return [e for e in self.events() if message in (e["message_id"], e["text"])]

    def runs(self, message: str) -> int:
        """Count how often the agent's code began on a message, named by its id or its text."""
        return sum(e["event"] == "execute" for e in self.events_of(message))

    def wait_for(self, event: str, message: str, *, within: float = 10.0) -> dict[str, object]:
        """Wait until the journal holds this event of a message; `TimeoutError` after `within` s."""
        return wait_until(
            lambda: next((e for e in self.events_of(message) if e["event"] == event), None),
            f'"{event}" of {message!r} in the journal of {self.name}',
            within=within,
        )

    def wait_for_end(self, message: str, *, within: float = 10.0) -> dict[str, object]:
        """Wait until the agent's code has ended a turn, in whatever way; see `wait_for`."""
        return wait_until(
            lambda: next((e for e in self.events_of(message) if e["event"] in ENDS), None),
            f"end of {message!r} in the journal of {self.name}",
            within=within,
        )


def wait_until(
    probe: Callable[[], T | None], what: str, *, within: float = 10.0, every: float = 0.02
) -> T:
    """Ask `probe` every `every` s until it gives a value; `TimeoutError` names `what`."""
    deadline = time.monotonic() + within
    while True:
        found = probe()
        if found is not None:
            return found
        if time.monotonic() >= deadline:
            raise TimeoutError(f"no {what} within {within} s")
        time.sleep(every)


@contextlib.contextmanager
def running(
    line: str,
    mode: str,
    *,
    port: int = 0,
    directory: Path | None = None,
    start_within: float = START_SECONDS,
) -> Iterator[Server]:
    """Run the agent of a server line for as long as the block lasts.

    `port` 0 lets the system choose. Journal and log go to `directory`, which stays; without one to
    a temporary folder, which does not. At the end the server gets `STOP_SECONDS` to stop, then it
    is killed; it also ends when this process dies. Raises `ServerError` if the line is not
    installed, if no card is served within `start_within` s, or if the server ended by itself during
    the block. Whatever is raised carries the end of the server's log as a note.
    """
    name = f"{line} {mode}"
    with contextlib.ExitStack() as stack:
        if directory is None:
            made = tempfile.TemporaryDirectory(prefix="a2a-interop-")
            directory = Path(stack.enter_context(made))
        journal, log = directory / "journal.jsonl", directory / "server.log"
        journal.touch()
        command = [*agent_command(line, mode, port=port, journal=journal), "--end-with-stdin"]
        errors = stack.enter_context(log.open("wb"))
        process = subprocess.Popen(  # noqa: S603  # our own file in our own environment
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            # Ctrl-C is for the client; the server must live to answer its cancel.
            start_new_session=True,
        )
        try:
            with _stopped_at_the_end(process):
                url, interfaces = _wait_until_ready(process, name, start_within)
                yield Server(line, mode, url, interfaces, journal, log, process.pid)
                _must_still_run(process, name)
        except BaseException as error:
            tail = log.read_text(encoding="utf-8", errors="replace")[-LOG_TAIL:]
            error.add_note(f"--- standard error of {name}\n{tail or '(nothing)'}")
            raise


def agent_command(line: str, mode: str, *, port: int, journal: Path) -> list[str]:
    """The command that serves a line; `ServerError` if it is unknown, missing or stale."""
    if (line, mode) not in SERVERS:
        known = ", ".join(" ".join(server) for server in SERVERS)
        raise ServerError(f"no server {line} {mode}; there are: {known}")
    found = LINES[line]
    if not found.stamp.exists() or found.stamp.read_text("ascii").strip() != found.digest():
        state = "out of date" if found.stamp.exists() else "not installed"
        raise ServerError(
            f"{line} is {state} in {interop_dir()}; run tests/interop/install.py {line}"
        )
    options = ["--mode", mode, "--port", str(port), "--journal", str(journal)]
    if found.on_node:
        modules = f"NODE_PATH={found.folder / 'node_modules'}"
        return ["/usr/bin/env", modules, str(found.program), str(found.agent), *options]
    # -I would hide the agent's own folder; -B keeps the checkout clean.
    return [str(found.program), "-B", str(found.agent), *options]


def _must_still_run(process: subprocess.Popen[bytes], name: str) -> None:
    if process.poll() is not None:
        raise ServerError(f"{name} ended by itself, status {process.returncode}")


@contextlib.contextmanager
def _stopped_at_the_end(process: subprocess.Popen[bytes]) -> Iterator[None]:
    with process:  # closes the pipes and reaps
        try:
            yield
        finally:
            process.terminate()
            try:
                process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()


def _wait_until_ready(
    process: subprocess.Popen[bytes], name: str, within: float
) -> tuple[str, dict[str, str]]:
    """Give the base URL, and that of each binding."""
    deadline = time.monotonic() + within
    if process.stdout is None:
        raise TypeError("the server was started without a pipe")
    word, _, url = _first_line(process.stdout, within).partition(" ")
    if word != "READY":
        ended = f", it ended with status {process.returncode}" if process.poll() is not None else ""
        raise ServerError(f"{name} did not say READY within {within} s{ended}")
    try:
        card = wait_until(
            lambda: _card_at(url),
            f"card of {name} at {url}",
            within=max(0.0, deadline - time.monotonic()),
        )
    except TimeoutError as error:
        raise ServerError(str(error)) from error
    return url, _interfaces(card)


def _interfaces(card: dict[str, Any]) -> dict[str, str]:
    """The URL of each binding that a card names, in the shape of 1.0 or of 0.3."""
    if listed := card.get("supportedInterfaces"):
        return {one["protocolBinding"]: one["url"] for one in listed}
    others = card.get("additionalInterfaces") or []
    first = {card.get("preferredTransport") or "JSONRPC": card["url"]}
    return first | {one["transport"]: one["url"] for one in others}


def _first_line(stream: IO[bytes], within: float) -> str:
    """The first line, or what came of it in `within` s or until the stream ended."""
    deadline = time.monotonic() + within
    got = b""
    with selectors.DefaultSelector() as selector:
        selector.register(stream, selectors.EVENT_READ)
        while b"\n" not in got and selector.select(max(0.0, deadline - time.monotonic())):
            more = os.read(stream.fileno(), 1024)
            if not more:
                break
            got += more
    return got.decode(errors="replace").partition("\n")[0]


def _card_at(url: str) -> dict[str, Any] | None:
    # http.client rather than urllib: no proxy of the environment may come between.
    address = urllib.parse.urlsplit(url)
    for path in CARD_PATHS:
        connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=2.0)
        with contextlib.closing(connection):
            try:
                # Without the version, some servers give the card of an older one.
                connection.request("GET", path, headers={"A2A-Version": "1.0"})
                reply = connection.getresponse()
            except (OSError, http.client.HTTPException):
                return None
            if reply.status == http.HTTPStatus.OK:
                card: dict[str, Any] = json.loads(reply.read())
                return card
    return None


def main() -> None:
    """Run one server in the foreground until Ctrl-C; its journal is on the terminal by default."""
    parser = argparse.ArgumentParser(description="Run one server of tests/interop by hand.")
    parser.add_argument("line", choices=list(LINES))
    parser.add_argument("mode", choices=sorted({mode for _, mode in SERVERS}))
    parser.add_argument("--port", type=int, default=0, help="default: the system chooses")
    parser.add_argument("--journal", type=Path, default=Path("/dev/stdout"))
    arguments = parser.parse_args()
    try:
        command = agent_command(
            arguments.line, arguments.mode, port=arguments.port, journal=arguments.journal
        )
    except ServerError as error:
        sys.exit(str(error))
    os.execv(command[0], command)  # noqa: S606  # no shell; the server takes this process over


if __name__ == "__main__":
    main()
