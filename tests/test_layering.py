"""Imports point one way: the ranks of the design, and who may import what from outside."""

from __future__ import annotations

import ast
import graphlib
import sys
from typing import TYPE_CHECKING, NamedTuple

import pytest

from tests import installed_package
from tests.installed_package import PACKAGE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

# Lowest first. A module imports from lower lines and from its own folder, never beside it.
RANKS = (
    ("errors",),
    ("model",),
    ("saving",),
    ("outcome",),
    ("records",),
    ("signals",),
    ("delegate",),
    ("lifecycle",),
    ("journal", "wire"),
    ("bindings", "retrying"),
    ("peer",),
    ("push",),
    ("runtime",),
    ("a2a", "functions"),
    ("scheduling", "observers"),
    ("",),  # the package's own __init__: what users import, so what is built on it may as well
    ("engines", "sync", "adapters", "testing", "contrib"),
    ("contract",),
    ("cli", "console"),
    ("__main__",),
)
RANK = {name: rank for rank, names in enumerate(RANKS) for name in names}
# `retrying` wraps bindings and stands with them.
FOLDER = {"retrying": "bindings"}

# What comes from outside the standard library, or is kept in few hands within it.
ALLOWED = {
    "anyio": RANK.keys()
    - {"errors", "model", "outcome", "records", "signals", "lifecycle", "wire"},
    "asyncio": {"runtime.owner"},
    "h11": {"testing"},
    "httpcore": {"peer.connection", "peer.line"},
    "httpx": {"bindings", "peer", "testing", "contract"},
    "hypothesis": {"testing"},
    "logging": {"observers"},
    "pydantic": {"outcome", "wire", "peer", "contract", "testing"},
    "pytest": {"testing"},
    "random": {"runtime.clock"},
    "rich": {"cli"},
    "tenacity": {"retrying"},
    "trio": {"runtime.owner"},
    "typer": {"cli"},
}
# Public signatures may name `httpx.AsyncClient` and `httpx.Auth`; nothing is run for that.
ALLOWED_FOR_TYPES = {"httpx": {"a2a", "runtime.card_lookup"}}

# The lifecycle is pure: words of ours, and value modules of the standard library.
LIFECYCLE_MAY_IMPORT = {"errors", "model", "outcome", "records", "signals", "lifecycle"}
VALUE_MODULES = {
    "__future__",
    "collections",
    "dataclasses",
    "datetime",
    "enum",
    "functools",
    "itertools",
    "types",
    "typing",
}


class Import(NamedTuple):
    """One import: the module that has it, what it imports, and whether only for types."""

    source: str
    target: str
    for_types: bool


def part(module: str) -> str:
    """Return the part of the package that a module is in: `wire` for `a2a_delegate.wire.gate`."""
    return module.removeprefix(PACKAGE).lstrip(".").partition(".")[0]


def is_ours(module: str) -> bool:
    return module.partition(".")[0] == PACKAGE


def imports_of(modules: Iterable[installed_package.Module]) -> Iterator[Import]:
    """Yield every import of every module, wherever in it: on top, in a function, for types only."""
    modules = list(modules)
    names = {module.name for module in modules}
    for module in modules:
        tree = module.tree
        for_types = {
            inner
            for node in ast.walk(tree)
            if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")
            for statement in node.body
            for inner in ast.walk(statement)
        }
        for node in ast.walk(tree):
            for target in _targets(node, module, names):
                yield Import(module.name, target, node in for_types)


def _targets(node: ast.AST, module: installed_package.Module, names: set[str]) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        origin = node.module or ""
        if node.level:
            base = module.name.split(".")
            base = base[: len(base) - node.level + module.is_package]
            origin = ".".join([*base, *filter(None, [origin])])
        for alias in node.names:
            inner = f"{origin}.{alias.name}"
            yield inner if inner in names else origin


def faults_of(modules: Iterable[installed_package.Module]) -> list[str]:
    """Return one sentence for every import that points the wrong way."""
    modules = list(modules)
    imports = list(imports_of(modules))
    unknown = sorted({part(module.name) for module in modules} - RANK.keys())
    if unknown:
        return [f"{name} has no rank: give it one in tests/test_layering.py" for name in unknown]
    return [
        *filter(None, map(_fault, imports)),
        *_cycles(imports),
    ]


def _fault(found: Import) -> str | None:
    source = part(found.source)
    top = found.target.partition(".")[0]
    if is_ours(found.target):
        target = part(found.target)
        if source == "lifecycle" and target not in LIFECYCLE_MAY_IMPORT:
            return f"{found.source} imports {found.target}: the lifecycle is pure"
        if FOLDER.get(source, source) == FOLDER.get(target, target):
            return None
        if RANK.get(target, len(RANKS)) >= RANK[source]:
            return f"{found.source} imports {found.target}, which does not stand below it"
        return None
    if source == "lifecycle" and top not in VALUE_MODULES:
        return f"{found.source} imports {found.target}: the lifecycle is pure"
    return _foreign_fault(found, top)


def _foreign_fault(found: Import, top: str) -> str | None:
    if top not in ALLOWED:
        if top in sys.stdlib_module_names:
            return None
        return f"{found.source} imports {found.target}: say in tests/test_layering.py who may"
    inner = found.source.removeprefix(PACKAGE).lstrip(".")
    allowed = ALLOWED[top] | (ALLOWED_FOR_TYPES.get(top, set()) if found.for_types else set())
    if {inner, part(found.source)} & allowed:
        return None
    return f"{found.source} imports {found.target}: only {', '.join(sorted(allowed))} may"


def _cycles(imports: Iterable[Import]) -> Iterator[str]:
    graph: dict[str, set[str]] = {}
    for found in imports:
        if is_ours(found.target):
            graph.setdefault(found.source, set()).add(found.target)
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        yield f"imports in a circle: {' <- '.join(error.args[1])}"


def test_the_package_imports_one_way() -> None:
    assert faults_of(installed_package.modules(installed_package.root())) == []


@pytest.fixture
def faults_of_sample(tmp_path: Path) -> Callable[[dict[str, str]], list[str]]:
    """Return a function that makes a package of the given files and returns its faults."""

    def check(sources: dict[str, str]) -> list[str]:
        for name, source in {"__init__.py": "", **sources}.items():
            path = tmp_path / PACKAGE / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(source, encoding="utf-8")
        return faults_of(installed_package.modules(tmp_path / PACKAGE))

    return check


@pytest.mark.parametrize(
    ("file", "source", "complaint"),
    [
        ("errors.py", "from a2a_delegate.model import task", "does not stand below"),
        ("errors.py", "def f():\n    import a2a_delegate.model", "does not stand below"),
        ("wire/gate.py", "from .. import journal", "does not stand below"),
        ("outcome.py", "from a2a_delegate import Completed", "does not stand below"),
        (
            "outcome.py",
            "if TYPE_CHECKING:\n    from .model import task\n    import logging",
            "observers",
        ),
        ("lifecycle/machine.py", "from a2a_delegate.delegate import X", "the lifecycle is pure"),
        ("lifecycle/machine.py", "import time", "the lifecycle is pure"),
        ("wire/gate.py", "import httpx", "only bindings, contract, peer, testing may"),
        ("a2a.py", "import httpx", "only bindings, contract, peer, testing may"),
        ("runtime/driver.py", "import asyncio.events", "only runtime.owner may"),
        ("peer/peer.py", "from tenacity import retry", "only retrying may"),
        ("peer/peer.py", "from random import random", "only runtime.clock may"),
        ("wire/gate.py", "import anyio.abc", "a2a_delegate.wire.gate imports anyio.abc: only"),
        ("peer/peer.py", "import mcp_bridge", "say in tests/test_layering.py who may"),
        ("helpers.py", "", "helpers has no rank: give it one"),
    ],
)
def test_an_import_that_points_the_wrong_way_is_named(
    faults_of_sample: Callable[[dict[str, str]], list[str]], file: str, source: str, complaint: str
) -> None:
    sample = {"model/__init__.py": "", "model/task.py": "", "journal/__init__.py": "", file: source}
    (fault,) = faults_of_sample(sample)
    assert complaint in fault


@pytest.mark.parametrize(
    ("file", "source"),
    [
        ("model/card.py", "from . import task"),
        ("model/card.py", "from .task import Task\nimport dataclasses"),
        ("lifecycle/machine.py", "from a2a_delegate.model.task import Task\nimport enum"),
        ("bindings/jsonrpc.py", "import httpx\nfrom a2a_delegate.errors import X"),
        ("a2a.py", "if typing.TYPE_CHECKING:\n    import httpx"),
        ("retrying.py", "import tenacity\nfrom a2a_delegate.bindings import Binding"),
        ("runtime/owner.py", "import asyncio, trio"),
        ("testing/peer.py", "from a2a_delegate import Completed"),
    ],
)
def test_an_import_that_points_down_is_fine(
    faults_of_sample: Callable[[dict[str, str]], list[str]], file: str, source: str
) -> None:
    assert faults_of_sample({"model/task.py": "", "model/__init__.py": "", file: source}) == []


def test_a_circle_within_a_folder_is_named(
    faults_of_sample: Callable[[dict[str, str]], list[str]],
) -> None:
    (fault,) = faults_of_sample(
        {
            "model/__init__.py": "",
            "model/card.py": "from a2a_delegate.model.task import Task",
            "model/task.py": "def f():\n    from a2a_delegate.model import card",
        }
    )
    assert fault.startswith("imports in a circle: ")
    assert "a2a_delegate.model.card" in fault
