"""The public names: what `__all__` says is what can be imported, and each says what it is.

That `__all__` is sorted is the linter's business (RUF022).
"""

from __future__ import annotations

import ast
import inspect
import itertools
from typing import TYPE_CHECKING

import pytest

import a2a_delegate
from tests import installed_package

if TYPE_CHECKING:
    from collections.abc import Iterator


def public_names() -> set[str]:
    """Return what `from a2a_delegate import ...` offers without an underscore, but submodules."""
    return {
        name
        for name, value in vars(a2a_delegate).items()
        if not name.startswith("_") and not inspect.ismodule(value)
    } - {"annotations"}  # what `from __future__ import annotations` leaves behind


def written_docstring(value: object) -> str:
    """Return the docstring that a person wrote for a class or function, else an empty one."""
    doc = (vars(value) if isinstance(value, type) else {"__doc__": value.__doc__}).get("__doc__")
    generated = isinstance(value, type) and str(doc).startswith(f"{value.__name__}(")
    return "" if doc is None or generated else str(doc)


def documented_values() -> Iterator[str]:
    """Yield the module-level names that a docstring follows: constants, aliases, unions."""
    for module in installed_package.modules(installed_package.root()):
        for statement, after in itertools.pairwise(module.tree.body):
            match statement, after:
                case (
                    ast.Assign(targets=[ast.Name(id=name)])
                    | ast.AnnAssign(target=ast.Name(id=name)),
                    ast.Expr(value=ast.Constant(value=str())),
                ):
                    yield name
                case _:
                    continue


def test_all_is_what_can_be_imported() -> None:
    assert set(a2a_delegate.__all__) - {"__version__"} == public_names()
    assert all(hasattr(a2a_delegate, name) for name in a2a_delegate.__all__)


def test_all_names_nothing_twice() -> None:
    assert len(set(a2a_delegate.__all__)) == len(a2a_delegate.__all__)


@pytest.mark.parametrize("name", sorted(set(a2a_delegate.__all__) - {"__version__"}))
def test_each_public_name_says_what_it_is(name: str) -> None:
    value = getattr(a2a_delegate, name)
    if inspect.isclass(value) or inspect.isroutine(value):
        assert written_docstring(value)
        assert value.__module__ == "a2a_delegate"
    else:
        assert name in set(documented_values()), "write a docstring under its assignment"
