"""The command `peer` and its options; what it does is in `peer_command`."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - typer reads it
from typing import Annotated

import typer

from a2a_delegate.cli import help_texts


def register(app: typer.Typer) -> None:
    """Add the command to the others."""
    app.command("peer", help=help_texts.PEER, epilog=help_texts.PEER_EXAMPLES)(peer)


def peer(
    *,
    scenario: Annotated[
        Path | None,
        typer.Argument(metavar="SCENARIO", show_default=False, help=help_texts.SCENARIO),
    ] = None,
    host: Annotated[str, typer.Option(metavar="ADDRESS", help=help_texts.HOST)] = "127.0.0.1",
    port: Annotated[int, typer.Option(metavar="NUMBER", help=help_texts.PORT)] = 0,
    version: Annotated[
        list[str], typer.Option(metavar="VERSION", show_default=False, help=help_texts.PEER_VERSION)
    ] = [],  # noqa: B006 - typer copies it
    certfile: Annotated[
        Path | None, typer.Option(metavar="PATH", show_default=False, help=help_texts.CERTFILE)
    ] = None,
    keyfile: Annotated[
        Path | None, typer.Option(metavar="PATH", show_default=False, help=help_texts.KEYFILE)
    ] = None,
    list_: Annotated[bool, typer.Option("--list", help=help_texts.PEER_LIST)] = False,
    json: Annotated[bool, typer.Option("--json", help=help_texts.PEER_JSON)] = False,
) -> None:
    """Serve a scripted peer, or list what it can be told."""
    # No other command needs the twins, and each would take the time to import them.
    from a2a_delegate.cli import peer_command  # noqa: PLC0415 - as said above

    if list_:
        raise typer.Exit(peer_command.list_behaviours(json=json))
    post = peer_command.Post(
        scenario=scenario,
        host=host,
        port=port,
        versions=version,
        certfile=certfile,
        keyfile=keyfile,
        json=json,
    )
    raise typer.Exit(peer_command.serve_peer(post))
