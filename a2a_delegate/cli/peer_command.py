"""A scripted peer on a port, from the words of the shell to the exit status."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import anyio

from a2a_delegate.cli.exit_status import ExitStatus
from a2a_delegate.cli.interruption import interruptible
from a2a_delegate.cli.outcome_json import error_object, spell
from a2a_delegate.cli.peer_view import (
    behaviours_object,
    behaviours_text,
    line_of,
    truth_object,
    truth_text,
)
from a2a_delegate.cli.report import report_refusal, written
from a2a_delegate.cli.terminal import Screen, write_answer
from a2a_delegate.errors import UsageError
from a2a_delegate.testing.scenario import Scenario, read_scenario

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from a2a_delegate.delegate import CancelToken
    from a2a_delegate.model.json_value import JSON
    from a2a_delegate.testing.happenings import Happening
    from a2a_delegate.testing.peer import ScriptedPeer


@dataclass(frozen=True, slots=True, kw_only=True)
class Post:
    """Where a scripted peer is put, and which, as it was typed."""

    scenario: Path | None
    host: str
    port: int
    versions: Sequence[str]
    certfile: Path | None
    keyfile: Path | None
    json: bool


def list_behaviours(*, json: bool) -> ExitStatus:
    """Print every behaviour that a scenario can name."""
    lost = write_answer(spell(behaviours_object()) if json else behaviours_text())
    return written(ExitStatus.COMPLETED, lost, Screen())


def serve_peer(post: Post) -> ExitStatus:
    """Serve a peer until a signal ends it, and return the exit status."""
    screen = Screen()
    try:
        scenario = Scenario({}, ()) if post.scenario is None else read_scenario(post.scenario)
        peer = scenario.peer(**({"versions": post.versions} if post.versions else {}))
    except UsageError as error:
        return _refused(error, post, screen)
    lost = anyio.run(_serve, peer, post, screen)
    if isinstance(lost, UsageError):
        return _refused(lost, post, screen)
    told = spell(truth_object(peer)) if post.json else truth_text(peer)
    screen.say(told)
    return written(ExitStatus.COMPLETED, lost, screen)


def address_object(
    url: str | None, versions: Sequence[str], error: UsageError | None = None
) -> dict[str, JSON]:
    """Return what `peer --json` prints; without a peer `url` is null and `error` says why."""
    return {
        "url": url,
        "versions": list(versions),
        "error": None if error is None else error_object(error),
    }


async def _serve(peer: ScriptedPeer, post: Post, screen: Screen) -> UsageError | OSError | None:
    """Serve the peer, and return what kept it from that, or its address from being written."""

    def tell(happening: Happening) -> None:
        line = line_of(happening)
        if line is not None:
            screen.say(line)

    async def served(token: CancelToken) -> OSError | None:
        async with peer.serve(
            post.host, post.port, certfile=post.certfile, keyfile=post.keyfile, observer=tell
        ) as url:
            if not _is_loopback(post.host):
                screen.say("it listens to other machines too, and does what anybody asks")
            address = spell(address_object(url, peer.versions)) if post.json else url
            lost = write_answer(address)
            if lost is None:
                await token.wait()
            return lost

    async def work(token: CancelToken) -> UsageError | OSError | None:
        try:
            return await served(token)
        except UsageError as error:  # raised, it would come out wrapped in a group
            return error

    return await interruptible(
        work,
        on_first=lambda name: screen.say(f"{name}: closing the port"),
        on_second=lambda: screen.say("ended at once"),
    )


def _refused(error: UsageError, post: Post, screen: Screen) -> ExitStatus:
    if post.json:
        write_answer(spell(address_object(None, (), error)))
    else:
        report_refusal(error, screen)
    return ExitStatus.USAGE


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
