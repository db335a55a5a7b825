"""The public names: what `__all__` says is what can be imported, and each says what it is.

That `__all__` is sorted is the linter's business (RUF022).
"""

from __future__ import annotations

import ast
import importlib
import importlib.metadata
import inspect
import itertools
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest

import a2a_delegate
from tests import installed_package
from tests.installed_package import PACKAGE

if TYPE_CHECKING:
    from collections.abc import Iterator


def root_tree() -> ast.Module:
    """Return the syntax tree of the package's own `__init__`."""
    modules = installed_package.modules(installed_package.root())
    return next(module.tree for module in modules if module.name == PACKAGE)


def homes_for_type_checkers() -> list[tuple[str, str]]:
    """Return each public name with the module that type checkers are told to look in."""
    return [
        (alias.asname or alias.name, str(node.module))
        for branch in root_tree().body
        if isinstance(branch, ast.If) and ast.unparse(branch.test) == "TYPE_CHECKING"
        for node in branch.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    ]


def homes_at_run_time() -> list[tuple[str, str]]:
    """Return each public name with the module that it is imported from when it is used."""
    (table,) = [
        statement.value
        for statement in root_tree().body
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "_HOMES"
    ]
    return [
        (name, f"{PACKAGE}.{home}")
        for home, names in ast.literal_eval(table).items()
        for name in names
    ]


def run(program: str) -> str:
    """Run a program in a fresh interpreter and return what it prints."""
    done = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


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


def test_what_type_checkers_see_is_what_is_imported() -> None:
    assert sorted(homes_at_run_time()) == sorted(homes_for_type_checkers())


def test_every_public_name_has_one_home() -> None:
    names = [name for name, _ in homes_at_run_time()]
    assert sorted([*names, "__version__"]) == sorted(a2a_delegate.__all__)


def test_all_names_nothing_twice() -> None:
    assert len(set(a2a_delegate.__all__)) == len(a2a_delegate.__all__)


def test_dir_is_all_that_is_public() -> None:
    assert dir(a2a_delegate) == sorted(a2a_delegate.__all__)


@pytest.mark.parametrize("name", sorted(set(a2a_delegate.__all__) - {"__version__"}))
def test_each_public_name_says_what_it_is(name: str) -> None:
    value = getattr(a2a_delegate, name)
    assert value is getattr(importlib.import_module(dict(homes_at_run_time())[name]), name)
    if inspect.isclass(value) or inspect.isroutine(value):
        assert written_docstring(value)
        assert value.__module__ == "a2a_delegate"
    else:
        assert name in set(documented_values()), "write a docstring under its assignment"


def test_the_programs_for_type_checkers_use_every_public_name() -> None:
    used = [
        node.id
        for program in Path(__file__).with_name("typing").glob("*_api.py")
        for node in ast.walk(ast.parse(program.read_text(encoding="utf-8")))
        if isinstance(node, ast.Name)
    ]
    assert set(a2a_delegate.__all__) - set(used) == set()


def test_the_version_is_the_installed_one() -> None:
    assert a2a_delegate.__version__ == importlib.metadata.version("a2a-delegate")


def test_a_checkout_that_is_not_installed_gives_every_name_and_no_made_up_version(
    tmp_path: Path,
) -> None:
    # All that is installed here, but not what says so.
    for where in {Path(httpx.__file__).parents[1], installed_package.root().parent}:
        for entry in where.iterdir():
            link = tmp_path / entry.name
            if entry.suffix not in {".dist-info", ".pth"} and not link.exists():
                link.symlink_to(entry)
    program = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "from a2a_delegate import *\n"
        "print(__version__, connect.__module__)"
    )
    done = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-I", "-S", "-c", program],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout.strip() == "0+unknown a2a_delegate"


@pytest.mark.parametrize("name", ["nothing", "errors_", "metadata", "__path_", ""])
def test_an_unknown_name_is_an_attribute_error(name: str) -> None:
    with pytest.raises(AttributeError, match=f"'a2a_delegate' has no attribute '{name}'"):
        getattr(a2a_delegate, name)


def test_a_star_import_gives_every_name() -> None:
    program = "from a2a_delegate import *\nprint(sorted(set(globals()) & set(NAMES)) == NAMES)"
    names = f"NAMES = {sorted(a2a_delegate.__all__)!r}\n"
    assert run(names + program) == "True"


def test_the_package_alone_imports_no_library() -> None:
    heavy = ("httpx", "pydantic", "anyio", "tenacity", "asyncio", "trio", "importlib.metadata")
    program = f"import a2a_delegate, sys; print([one for one in {heavy!r} if one in sys.modules])"
    assert run(program) == "[]"


def test_a_delegate_needs_no_pydantic_and_no_event_loop_to_be_imported() -> None:
    program = """
import sys
from a2a_delegate import A2ADelegate, Completed, DelegateRequest, connect
print([one for one in ("pydantic", "asyncio", "trio", "rich", "typer") if one in sys.modules])
"""
    assert run(program) == "[]"


def test_names_that_nobody_asked_for_say_where_users_find_them_too() -> None:
    program = """
from a2a_delegate import connect
from a2a_delegate.errors import InvalidAgentCardError
from a2a_delegate.outcome import TimedOut
print(InvalidAgentCardError.__module__, TimedOut.__module__)
"""
    assert run(program) == "a2a_delegate a2a_delegate"


WRITE = """
import pickle
from {home} import Completed, Effect
print(pickle.dumps(Completed(delegate_id="d", effect=Effect.RAN, output="text")).hex())
"""
READ = """
import pickle, sys
{first}
value = pickle.loads(bytes.fromhex({pickled!r}))
from a2a_delegate import Completed, Effect
print(value == Completed(delegate_id="d", effect=Effect.RAN, output="text"))
"""


@pytest.mark.parametrize("home", ["a2a_delegate", "a2a_delegate.outcome"])
@pytest.mark.parametrize(
    "first", ["pass", "from a2a_delegate import Completed", "import a2a_delegate.outcome"]
)
def test_pickles_are_read_whatever_was_imported_first(home: str, first: str) -> None:
    pickled = run(WRITE.format(home=home))
    assert run(READ.format(first=first, pickled=pickled)) == "True"
