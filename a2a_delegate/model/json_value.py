"""JSON as Python values, and the one canonical spelling that digests are made of."""

from __future__ import annotations

import hashlib
import json
from typing import TypeAlias

from a2a_delegate.errors import UsageError

JSON: TypeAlias = "bool | int | float | str | list[JSON] | dict[str, JSON] | None"
"""Any JSON value, as the standard library reads it."""


# Made once: `json.dumps` makes one for each call that asks for anything.
_ENCODER = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
)


def canonical(value: object) -> bytes:
    """Spell a JSON value in one way: sorted names, no spaces, UTF-8.

    Raises UsageError for what JSON cannot carry: NaN, infinities, lone surrogates, names that
    are no strings, values of other types.
    """
    try:
        spelled = _ENCODER.encode(value).encode()
        _check_names(value)
    except (TypeError, ValueError, RecursionError) as problem:
        msg = f"not a JSON value: {problem}"
        raise UsageError(msg) from problem
    return spelled


def _check_names(value: object) -> None:
    """Refuse names that are no strings: a writer of JSON turns 1, None and True into some."""
    inner: list[object] = [value]
    while inner:
        one = inner.pop()
        if isinstance(one, dict):
            if not all(isinstance(name, str) for name in one):
                raise TypeError("the names in it must be strings")
            inner.extend(one.values())
        elif isinstance(one, (list, tuple)):
            inner.extend(one)


def sha256(value: object) -> str:
    """Return the SHA-256 of the canonical spelling, in hexadecimal."""
    return hashlib.sha256(canonical(value)).hexdigest()
