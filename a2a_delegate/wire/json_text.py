"""JSON as bytes: written strictly, read with bounds, because the bytes come from outside."""

from __future__ import annotations

import json
import re
from itertools import accumulate

from a2a_delegate.errors import UsageError

MAX_DEPTH = 100
"""Levels of objects and arrays that a text may nest; real replies stay under 20."""

MAX_VALUES = 1_000_000
"""Values that a text may hold. Each costs up to a hundred times the bytes that it is spelled in,
and nothing else happens on the event loop while they are read."""

MAX_CONTAINERS = 200_000
"""Objects and arrays among them, which cost most."""

_MAX_DIGITS = 309
"""Digits of the largest double; a longer integer is no number to most of the world."""

_BOM = b"\xef\xbb\xbf"

# Possessive, and with the end of the text as a way out, so that no text is scanned twice.
_STRING = rb'(?s)"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)'

_NO_BRACKETS = bytes(set(range(256)) - set(b"{}[]"))
_STEP = {ord("{"): 1, ord("["): 1, ord("}"): -1, ord("]"): -1}


class NotJSONError(ValueError):
    """The bytes are no JSON that can be read here; the sentence says what is wrong with them."""


def parse(body: bytes) -> object:
    """Read one JSON text: UTF-8, with or without a byte order mark.

    It may be MAX_DEPTH deep, and hold MAX_VALUES values, MAX_CONTAINERS of them objects or arrays.

    A number that no double can hold, and the words NaN and Infinity which some servers send, come
    as strings: so ProtoJSON spells them, and a float that is not finite breaks whoever meets it
    later. Of a name that stands twice in an object the last one counts. Lone surrogates stay.

    Raises NotJSONError for everything else.
    """
    body = body.removeprefix(_BOM)
    _check_bounds(body)
    try:
        return _DECODER.decode(body.decode())
    except UnicodeDecodeError as problem:
        msg = f"not UTF-8 at byte {problem.start}"
        raise NotJSONError(msg) from None
    except json.JSONDecodeError as problem:
        msg = "an empty body" if not body.strip() else f"not JSON at character {problem.pos}"
        raise NotJSONError(msg) from None


def write(value: object) -> bytes:
    """Spell a JSON value in ASCII, which carries any text, lone surrogates too.

    Raises UsageError for what JSON cannot carry: NaN, infinities, values of other types.
    """
    try:
        return _ENCODER.encode(value).encode()
    except (TypeError, ValueError, RecursionError) as problem:
        msg = f"not a JSON value: {problem}"
        raise UsageError(msg) from problem


def kind_of(value: object) -> str:
    """Name the JSON type of a value for a sentence: `an array`, `a number`, `null`."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, str):
        return "a string"
    if isinstance(value, list):
        return "an array"
    return "an object" if isinstance(value, dict) else "a number"


def _check_bounds(body: bytes) -> None:
    # Counting is a hundred times cheaper than looking, and settles it for small replies. The
    # parser recurses in C, where the limit is the host's recursion limit: not a bound of ours.
    flat = body.count(b"{") + body.count(b"[") <= MAX_DEPTH
    if flat and (len(body) <= MAX_VALUES or body.count(b",") < MAX_VALUES):
        return
    bare, strings = re.subn(_STRING, b"", body, count=2 * MAX_VALUES)
    if strings == 2 * MAX_VALUES or bare.count(b",") >= MAX_VALUES:
        msg = f"JSON of more than {MAX_VALUES} values"
        raise NotJSONError(msg)
    if bare.count(b"{") + bare.count(b"[") > MAX_CONTAINERS:
        msg = f"JSON of more than {MAX_CONTAINERS} objects and arrays"
        raise NotJSONError(msg)
    brackets = bare.translate(None, _NO_BRACKETS)
    if max(accumulate(map(_STEP.__getitem__, brackets)), default=0) > MAX_DEPTH:
        msg = f"JSON that nests deeper than {MAX_DEPTH} levels"
        raise NotJSONError(msg)


def _integer(digits: str) -> int | str:
    return int(digits) if len(digits) <= _MAX_DIGITS else digits


def _number(digits: str) -> float | str:
    number = float(digits)
    return number if abs(number) != float("inf") else digits


_ENCODER = json.JSONEncoder(separators=(",", ":"), allow_nan=False)
_DECODER = json.JSONDecoder(parse_int=_integer, parse_float=_number, parse_constant=str)
