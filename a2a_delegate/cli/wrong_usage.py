"""How the words are parsed, and how it is told what kept that from ending well.

What the parser refuses is told as an object where `--json` is among the words.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, cast

import typer
from typer.core import TyperGroup

from a2a_delegate.cli.card_view import Looked, card_object
from a2a_delegate.cli.delegating import Refused
from a2a_delegate.cli.exit_status import ExitStatus
from a2a_delegate.cli.outcome_json import outcome_object, spell
from a2a_delegate.cli.report import written
from a2a_delegate.cli.terminal import Screen, silence, write_answer
from a2a_delegate.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from a2a_delegate.model.json_value import JSON

# Of all that typer raises for wrong words only this one has a public name; the rest are its kin.
_WRONG_USAGE = cast("type[typer.BadParameter]", typer.BadParameter.__base__)


class Commands(TyperGroup):
    """All commands; what their parser refuses is told as JSON where that was asked for."""

    def main(  # type: ignore[override]  # the other options are handed on as they come
        self, args: Sequence[str] | None = None, **options: Any
    ) -> Any:
        """Parse the words and run the command that they name; exit with its status."""
        words = sys.argv[1:] if args is None else list(args)
        try:
            if not _asks_for_json(words):
                return super().main(args, **options)
            status = super().main(args, **{**options, "standalone_mode": False})
        except _WRONG_USAGE as wrong:
            lost = write_answer(spell(_refusal(wrong, words)))
            status = written(ExitStatus(wrong.exit_code), lost, Screen())
        except OSError as lost:
            # Help and version, which the parser writes itself; the commands know about theirs.
            if lost.filename is not None:
                raise
            silence(sys.stdout)
            status = written(ExitStatus.COMPLETED, lost, Screen())
        sys.exit(status)


def _asks_for_json(words: Sequence[str]) -> bool:
    """Whether the option stands anywhere in words that cannot be parsed to find out."""
    return "--json" in (words[: words.index("--")] if "--" in words else words)


def _refusal(wrong: typer.BadParameter, words: Sequence[str]) -> dict[str, JSON]:
    """Return what the command prints that would have refused these words itself."""
    error = UsageError(wrong.format_message())
    # Not every refusal says where it was parsed; no option before the command takes a value.
    command = next((word for word in words if not word.startswith("-")), "")
    if command == "card":
        return card_object(Looked("", error=error))
    if command == "peer":
        # As in `peer_app`: the twins take their time to import.
        from a2a_delegate.cli.peer_command import address_object  # noqa: PLC0415 - as said above

        return address_object(None, (), error)
    begun = command in {"resume", "cancel"}
    return outcome_object(Refused(error, begun=begun).result, hide=str)
