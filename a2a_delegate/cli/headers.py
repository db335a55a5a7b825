"""Headers of the command line: read from the words of the shell, and hidden from all output."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from a2a_delegate.cli.inputs import read_bounded
from a2a_delegate.errors import UsageError
from a2a_delegate.peer.credentials import PROTOCOL_HEADERS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
# `env:NAME` or `@FILE`, alone or after one word such as `Bearer`.
_ELSEWHERE = re.compile(r"(?P<scheme>[^\s@]+[ ]+)?(?:env:(?P<variable>\S+)|@(?P<file>.+))")

_MAX_BYTES = 64 * 1024
"""Bytes of a file that holds a header's value; servers refuse headers of that size."""

_HIDDEN_FROM = 8
"""Characters from which a value is hidden: a shorter one is no secret, and stands in many words."""


def read_headers(given: Sequence[str]) -> dict[str, str]:
    """Read `Name: value` as often as it was given.

    A value, or what follows its first word, may stand elsewhere, so that a secret need not stand
    on the command line: `env:NAME` in the environment, `@FILE` in a file (line breaks at its end
    do not count). Raises UsageError, which never shows a value, nor what might be one.
    """
    headers: dict[str, str] = {}
    for number, text in enumerate(given, 1):
        name, colon, value = text.partition(":")
        name = name.strip()
        if not colon or not _NAME.fullmatch(name):
            raise UsageError(f"--header number {number} is not of the form 'Name: value'")
        if name.lower() in PROTOCOL_HEADERS:
            raise UsageError(f"header {name!r} is the protocol's own and cannot be given")
        if name.lower() in map(str.lower, headers):
            raise UsageError(f"header {name!r} is given twice")
        headers[name] = _found(name, value.strip())
        if not headers[name]:
            raise UsageError(f"header {name!r} has no value; quote it as one word: 'Name: value'")
    return headers


def _found(name: str, value: str) -> str:
    elsewhere = _ELSEWHERE.fullmatch(value)
    if elsewhere is None:
        return value
    if (variable := elsewhere["variable"]) is not None:
        found = os.environ.get(variable, "")
        if not found:
            raise UsageError(f"header {name!r}: {variable!r} is not set in the environment")
    else:
        body = read_bounded(Path(elsewhere["file"]), what=f"header {name!r}", limit=_MAX_BYTES)
        try:
            found = body.decode("ascii").rstrip("\r\n")
        except UnicodeDecodeError:
            raise UsageError(f"header {name!r}: its file holds more than ASCII text") from None
    return f"{elsewhere['scheme'] or ''}{found}"


class Hiding:
    """Hides the values of headers in what is told about a delegation.

    Peers and the gateways before them quote requests in their errors. The answer itself is never
    changed: it is not ours.
    """

    def __init__(self, headers: Mapping[str, str]) -> None:
        names: dict[str, str] = {}
        for name, value in headers.items():
            # The credential of `Authorization: Bearer ...` is also quoted without its scheme.
            for secret in (value, value.partition(" ")[2].strip()):
                if len(secret) >= _HIDDEN_FROM:
                    names[secret] = f"[header {name}]"
        # The longest first: one value may be a part of another.
        longest = sorted(names, key=len, reverse=True)
        self._names = names
        self._secrets = re.compile("|".join(map(re.escape, longest))) if longest else None

    def __repr__(self) -> str:
        return f"<Hiding of {len(self._names)} values>"

    def __call__(self, text: str) -> str:
        """Return the text with each value replaced by the name of its header."""
        if self._secrets is None:
            return text
        return self._secrets.sub(lambda found: self._names[found[0]], text)
