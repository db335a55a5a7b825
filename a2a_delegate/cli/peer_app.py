"""The command `peer` and its options; what it does is in `peer_command`."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - typer reads it
from typing import Annotated

import typer

_AS_IS = "\b\n"

_HELP = """\
Serve an agent that misbehaves as a scenario says, and tell what really happened.

An orchestrator, in whatever language, is tested against it: it answers A2A at the URL that is
printed, does the work that the first word of a prompt names (`slow 3`, `stuck`, `ask`, `fail`; any
other is done at once), and is honest where the scenario is silent.

The URL goes to standard output, and each request with its effect to standard error. Ctrl-C, or
SIGTERM, closes the port; then the ground truth is told: what ran, how often, and what became of it.
"""

_SCENARIO = "A TOML file that says what happens to which request; without one the agent is honest."
_HOST = "Listen at this address; 0.0.0.0 or :: lets other machines reach it."
_PORT = "Listen at this port; 0 takes any that is free."
_VERSION = (
    "Speak this version of A2A (1.0, 0.3 or 0.2); may be given again. Else as the scenario says."
)
_CERTFILE = "Speak TLS with this certificate (PEM), which may have its key in the same file."
_KEYFILE = "The key of the certificate (PEM, without a password)."
_LIST = "List every behaviour that a scenario can name, with its parameters, and end."
_JSON = "Print the address as one JSON object, and the ground truth as one on standard error."

_EXAMPLES = f"""\
{_AS_IS}Examples:
  a2a-delegate peer
  a2a-delegate peer flaky.toml --port 8900 --version 0.3
  a2a-delegate peer flaky.toml --json 2> log | jq -r .url
  a2a-delegate peer --list

{_AS_IS}A scenario, such as flaky.toml:
  [peer]                  # what it is; all of this is optional
  name = "Flaky"
  versions = ["1.0", "0.3"]

{_AS_IS}  [[send]]                # the first send: cut within its reply, and reset
  call = 1                # or several: [1, 3]
  does = "CutReply"
  at = 120
  by = "rst"

{_AS_IS}  [[send]]                # any other send of exactly this text
  prompt = "be slow"
  does = "Delay"
  seconds = 5
  then = {{ does = "RpcError", code = -32603, accepts = true }}

{_AS_IS}  [[cancel]]              # all cancels
  does = "LyingCancel"

Tables are card, send, get, list and cancel. What is said of a call goes before what is said of a
prompt, and that before what is said of all. A prompt means the gets and cancels of its task too.

{_AS_IS}Exit status: 0 closed by a signal, 1 the address could not be written, 2 wrong usage.
"""


def register(app: typer.Typer) -> None:
    """Add the command to the others."""
    app.command("peer", help=_HELP, epilog=_EXAMPLES)(peer)


def peer(
    *,
    scenario: Annotated[
        Path | None, typer.Argument(metavar="SCENARIO", show_default=False, help=_SCENARIO)
    ] = None,
    host: Annotated[str, typer.Option(metavar="ADDRESS", help=_HOST)] = "127.0.0.1",
    port: Annotated[int, typer.Option(metavar="NUMBER", help=_PORT)] = 0,
    version: Annotated[
        list[str], typer.Option(metavar="VERSION", show_default=False, help=_VERSION)
    ] = [],  # noqa: B006 - typer copies it
    certfile: Annotated[
        Path | None, typer.Option(metavar="PATH", show_default=False, help=_CERTFILE)
    ] = None,
    keyfile: Annotated[
        Path | None, typer.Option(metavar="PATH", show_default=False, help=_KEYFILE)
    ] = None,
    list_: Annotated[bool, typer.Option("--list", help=_LIST)] = False,
    json: Annotated[bool, typer.Option("--json", help=_JSON)] = False,
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
