"""The sources of the package under test, read without importing it.

Where the wheel is tested, these are the files in site-packages; the checkout is out of the way.
"""

from __future__ import annotations

import ast
import importlib.util
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGE = "a2a_delegate"


@dataclass(frozen=True, slots=True)
class Module:
    """One source file: its dotted name, whether it is a package's `__init__`, and its text."""

    name: str
    is_package: bool
    text: str

    @property
    def tree(self) -> ast.Module:
        """Return the file's syntax tree."""
        return ast.parse(self.text, self.name)


def root() -> Path:
    """Return the folder of the package that an import would find."""
    spec = importlib.util.find_spec(PACKAGE)
    assert spec is not None
    assert spec.origin is not None, f"{PACKAGE} has no __init__.py"
    return Path(spec.origin).parent


def modules(folder: Path) -> Iterator[Module]:
    """Yield every module of the package in `folder`, which bears the package's name."""
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(folder.parent).with_suffix("").parts
        is_package = parts[-1] == "__init__"
        name = ".".join(parts[:-1] if is_package else parts)
        yield Module(name, is_package, path.read_text(encoding="utf-8"))
