"""Names for files that a peer names: whatever it says, the name is one plain file's, everywhere.

The same name comes out on every system, so it is safe on all of them: what only Windows reserves is
avoided on Linux too, because files travel. A name says nothing about the content of its file.
"""

from __future__ import annotations

import re
import unicodedata

MAX_BYTES = 255
"""Bytes of UTF-8 that a name may have on common file systems; ours has no more with its number."""

_ROOM = len("-9999999")
"""Kept free for a number, so that names which are one but for it stay one when they are cut."""

_LONGEST = 1024
"""Characters that are looked at: normalising takes quadratic time in a run of combining marks."""

_SUFFIX_LENGTH = 32
_SUFFIX = re.compile(r"(?:\.tar)?\.[^. ]{1,16}$", re.IGNORECASE)

# What shows nothing though it counts as printable (Unicode's Default_Ignorable_Code_Point).
_INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0000-\U000e0fff]"
)
# Not in names on Windows: wildcards, redirections, and the colon of drives and of streams.
_FORBIDDEN = re.compile('[<>:"|?*]')

# Devices of Windows, in whatever directory and with whatever extension.
_RESERVED = frozenset(
    {"CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"}
    | {f"{port}{digit}" for port in ("COM", "LPT") for digit in "0123456789¹²³"}
)


def safe_name(wanted: str) -> str:
    """Return the name of one plain file, as near to `wanted` as is safe; "" where nothing is left.

    What stands before the last slash or backslash goes, and so does every character that shows
    nothing: controls, marks of direction, zero widths, lone surrogates. Characters that Windows
    forbids become `_`, and a device's name gets one before it. The name begins with no dot, hyphen
    or blank, ends with no dot or blank, is in NFC, and has at most 255 bytes of UTF-8, from which
    its extension is not cut. It leaves room for what `numbered` adds.
    """
    name = wanted[max(wanted.rfind("/"), wanted.rfind("\\")) + 1 :]
    if len(name) > _LONGEST:
        name = name[: _LONGEST - _SUFFIX_LENGTH] + name[-_SUFFIX_LENGTH:]
    if not name.isprintable():
        name = "".join([" " if one.isspace() else one for one in name if _shows(one)])
    name = unicodedata.normalize("NFC", _INVISIBLE.sub("", name))
    stem, suffix = _split(_FORBIDDEN.sub("_", name).lstrip(". -").rstrip(". "))
    name = (_cut(stem, MAX_BYTES - _ROOM - 1 - len(suffix.encode())) + suffix).rstrip(". ")
    # Looked at last: a cut can leave the name of a device, and so can blanks at an end.
    reserved = name.partition(".")[0].rstrip().upper() in _RESERVED
    return f"_{name}" if reserved else name


def numbered(name: str, number: int) -> str:
    """Return a safe name with a number before its extension, as in `report-2.pdf`."""
    stem, suffix = _split(name)
    return f"{stem}-{number}{suffix}"


def _shows(one: str) -> bool:
    return one.isprintable() or one.isspace()


def _split(name: str) -> tuple[str, str]:
    """Split a name before its extension, which is none where nothing stands before it."""
    found = _SUFFIX.search(name, 1)
    return (name, "") if found is None else (name[: found.start()], found[0])


def _cut(stem: str, limit: int) -> str:
    """Return as many whole characters as fit into so many bytes of UTF-8."""
    return stem.encode()[:limit].decode(errors="ignore")
