"""The commands and their options; what they do is in the modules beside this one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

import a2a_delegate
from a2a_delegate.cli import help_texts, peer_app
from a2a_delegate.cli.commands import (
    Call,
    Following,
    Work,
    cancel_handle,
    resume_handle,
    send_request,
    show_card,
)
from a2a_delegate.cli.wrong_usage import Commands
from a2a_delegate.runtime.card_lookup import CARD_TIMEOUT
from a2a_delegate.runtime.config import A2ADelegateConfig

app = typer.Typer(
    name="a2a-delegate",
    cls=Commands,
    help=help_texts.ABOUT,
    epilog=help_texts.EXIT_STATUSES,
    add_completion=False,
    no_args_is_help=True,
    # Plain text: help is read in pipes and logs too. And no local variable, which may be a
    # header's value, stands in a traceback.
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    pretty_exceptions_show_locals=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

# Left-over words are told of by `_refuse_left_over`, which does not show them: after a header that
# was not quoted they may be its value.
_SETTINGS = {"allow_extra_args": True}

_DEFAULTS = A2ADelegateConfig()
_TIMEOUT, _POLL_INTERVAL = _DEFAULTS.timeout or 0.0, _DEFAULTS.poll_interval

Url = Annotated[str, typer.Argument(metavar="URL", show_default=False, help=help_texts.URL)]
Json = Annotated[bool, typer.Option("--json", help=help_texts.JSON)]
Header = Annotated[
    list[str],
    typer.Option(
        "--header", "-H", metavar="'NAME: VALUE'", show_default=False, help=help_texts.HEADER
    ),
]
AllowOrigin = Annotated[
    list[str],
    typer.Option(
        "--allow-origin", metavar="ORIGIN", show_default=False, help=help_texts.ALLOW_ORIGIN
    ),
]
Extension = Annotated[
    list[str],
    typer.Option("--extension", metavar="URI", show_default=False, help=help_texts.EXTENSION),
]
Handle = Annotated[
    str, typer.Argument(metavar="HANDLE", show_default=False, help=help_texts.HANDLE)
]
HandleUrl = Annotated[
    str, typer.Option("--url", metavar="URL", show_default=False, help=help_texts.HANDLE_URL)
]
Save = Annotated[
    str | None, typer.Option("--save", metavar="DIR", show_default=False, help=help_texts.SAVE)
]
SaveHandle = Annotated[
    Path | None, typer.Option(metavar="FILE", show_default=False, help=help_texts.SAVE_HANDLE)
]
Explain = Annotated[bool, typer.Option("--explain", help=help_texts.EXPLAIN)]
Timeout = Annotated[float, typer.Option(metavar="SECONDS", help=help_texts.TIMEOUT)]
Watch = Annotated[Literal["auto", "stream", "poll"], typer.Option("--watch", help=help_texts.WATCH)]
PollInterval = Annotated[float, typer.Option(metavar="SECONDS", help=help_texts.POLL_INTERVAL)]
AuthRequired = Annotated[
    Literal["return", "wait"], typer.Option("--auth-required", help=help_texts.AUTH_REQUIRED)
]
AllowDowngrade = Annotated[bool, typer.Option("--allow-downgrade", help=help_texts.ALLOW_DOWNGRADE)]


def _print_version(wanted: bool) -> None:  # noqa: FBT001 - typer passes the option by position
    if wanted:
        typer.echo(f"a2a-delegate {a2a_delegate.__version__}")
        raise typer.Exit


@app.callback()
def start(
    *,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Take the options that stand before the command."""
    del version


@app.command(
    "card", help=help_texts.CARD, epilog=help_texts.CARD_EXAMPLES, context_settings=_SETTINGS
)
def card(
    context: typer.Context,
    *,
    url: Url,
    json: Json = False,
    header: Header = [],  # noqa: B006 - typer copies it
    timeout: Annotated[
        float, typer.Option(metavar="SECONDS", help=help_texts.CARD_TIMEOUT)
    ] = CARD_TIMEOUT,
    allow_origin: AllowOrigin = [],  # noqa: B006 - typer copies it
    extension: Extension = [],  # noqa: B006 - typer copies it
) -> None:
    """Show an agent's card, and which of its interfaces would be used."""
    _refuse_left_over(context)
    call = Call(
        url=url,
        json=json,
        headers=header,
        timeout=timeout,
        allowed_origins=tuple(allow_origin),
        extensions=tuple(extension),
    )
    raise typer.Exit(show_card(call))


@app.command(
    "send", help=help_texts.SEND, epilog=help_texts.SEND_EXAMPLES, context_settings=_SETTINGS
)
def send(
    context: typer.Context,
    *,
    url: Url,
    prompt: Annotated[
        str, typer.Argument(metavar="PROMPT", show_default=False, help=help_texts.PROMPT)
    ] = "",
    data: Annotated[
        list[str],
        typer.Option(metavar="JSON", show_default=False, help=help_texts.DATA),
    ] = [],  # noqa: B006 - typer copies it
    file: Annotated[
        list[Path],
        typer.Option(metavar="PATH", show_default=False, help=help_texts.FILE),
    ] = [],  # noqa: B006 - typer copies it
    continues: Annotated[
        str | None,
        typer.Option("--continue", metavar="HANDLE", show_default=False, help=help_texts.CONTINUE),
    ] = None,
    context_id: Annotated[
        str | None,
        typer.Option(metavar="ID", show_default=False, help=help_texts.CONTEXT_ID),
    ] = None,
    save: Save = None,
    save_handle: SaveHandle = None,
    json: Json = False,
    explain: Explain = False,
    header: Header = [],  # noqa: B006 - typer copies it
    timeout: Timeout = _TIMEOUT,
    watch: Watch = "auto",
    poll_interval: PollInterval = _POLL_INTERVAL,
    auth_required: AuthRequired = "return",
    allow_origin: AllowOrigin = [],  # noqa: B006 - typer copies it
    extension: Extension = [],  # noqa: B006 - typer copies it
    allow_downgrade: AllowDowngrade = False,
) -> None:
    """Delegate a piece of work and wait for its outcome."""
    _refuse_left_over(context)
    call = Call(
        url=url,
        json=json,
        headers=header,
        timeout=timeout,
        allowed_origins=tuple(allow_origin),
        extensions=tuple(extension),
        explain=explain,
        save=save,
    )
    work = Work(
        prompt=prompt,
        data=data,
        files=file,
        continues=continues,
        context_id=context_id,
        allow_downgrade=allow_downgrade,
        save_handle=save_handle,
    )
    following = Following(watch=watch, poll_interval=poll_interval, auth_required=auth_required)
    raise typer.Exit(send_request(call, work, following))


@app.command(
    "resume", help=help_texts.RESUME, epilog=help_texts.RESUME_EXAMPLES, context_settings=_SETTINGS
)
def resume(
    context: typer.Context,
    *,
    handle: Handle,
    no_wait: Annotated[bool, typer.Option("--no-wait", help=help_texts.NO_WAIT)] = False,
    url: HandleUrl = "",
    save: Save = None,
    json: Json = False,
    explain: Explain = False,
    header: Header = [],  # noqa: B006 - typer copies it
    timeout: Timeout = _TIMEOUT,
    watch: Watch = "auto",
    poll_interval: PollInterval = _POLL_INTERVAL,
    auth_required: AuthRequired = "return",
    allow_origin: AllowOrigin = [],  # noqa: B006 - typer copies it
    extension: Extension = [],  # noqa: B006 - typer copies it
) -> None:
    """Take up a delegation by its handle and wait for its outcome."""
    _refuse_left_over(context)
    call = Call(
        url=url,
        json=json,
        headers=header,
        timeout=timeout,
        allowed_origins=tuple(allow_origin),
        extensions=tuple(extension),
        explain=explain,
        save=save,
    )
    following = Following(watch=watch, poll_interval=poll_interval, auth_required=auth_required)
    raise typer.Exit(resume_handle(call, handle, following, wait=not no_wait))


@app.command(
    "cancel", help=help_texts.CANCEL, epilog=help_texts.CANCEL_EXAMPLES, context_settings=_SETTINGS
)
def cancel(
    context: typer.Context,
    *,
    handle: Handle,
    url: HandleUrl = "",
    json: Json = False,
    explain: Explain = False,
    header: Header = [],  # noqa: B006 - typer copies it
    allow_origin: AllowOrigin = [],  # noqa: B006 - typer copies it
    extension: Extension = [],  # noqa: B006 - typer copies it
) -> None:
    """Stop a delegation by its handle and tell what came of that."""
    _refuse_left_over(context)
    call = Call(
        url=url,
        json=json,
        headers=header,
        timeout=0.0,  # stopping has a bound of its own
        allowed_origins=tuple(allow_origin),
        extensions=tuple(extension),
        explain=explain,
    )
    raise typer.Exit(cancel_handle(call, handle))


def _refuse_left_over(context: typer.Context) -> None:
    if context.args:
        context.fail(
            f"{len(context.args)} more words than the command takes; quote what holds blanks: "
            "'a prompt', --header 'Name: value'"
        )


peer_app.register(app)
