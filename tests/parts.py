"""Parts of a tier: run side by side, or one by one where the whole takes hours."""

from __future__ import annotations

import os
import re
import zlib
from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from collections.abc import Sequence

VARIABLE: Final = "A2A_DELEGATE_PART"
TOGETHER: Final = "real servers"
"""What the tests with real servers count as: they are one part, since they share the servers."""
_ADDRESS: Final = re.compile(r" at 0x[0-9a-f]+")


def asked_part() -> tuple[int, int] | None:
    """Return which part of how many is to be run, from 1; None for all of it."""
    said = os.environ.get(VARIABLE, "")
    if not said:
        return None
    match = re.fullmatch(r"([1-9]\d?)/([1-9]\d?)", said)
    if match is None or int(match[1]) > int(match[2]):
        message = f"{VARIABLE} is a part such as 2/4; got {said!r}"
        raise pytest.UsageError(message)
    return int(match[1]), int(match[2])


def is_in(name: str, part: tuple[int, int]) -> bool:
    """Whether a test is in a part: by its name alone, the same in every process.

    A name may show an object by its address, which is another in each of them.
    """
    number, parts = part
    return zlib.crc32(_ADDRESS.sub("", name).encode()) % parts == number - 1


def keep_part(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out of the tests those of other parts."""
    part = asked_part()
    if part is None:
        return
    kept: list[pytest.Item] = []
    others: list[pytest.Item] = []
    for item in items:
        name = TOGETHER if item.get_closest_marker("interop") else item.nodeid
        (kept if is_in(name, part) else others).append(item)
    items[:] = kept
    config.hook.pytest_deselected(items=others)


def parts_of(names: Sequence[str], parts: int) -> list[list[str]]:
    """Return the names of each part, in order."""
    return [
        [name for name in names if is_in(name, (number, parts))] for number in range(1, parts + 1)
    ]
