"""Every statement in specs/ has a test that names it, and every name is a statement's."""

from __future__ import annotations

import ast
import re
from collections import Counter
from typing import TYPE_CHECKING, TypeGuard

import pytest

from tests import installed_package
from tests.installed_package import PACKAGE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

ID = re.compile(r"[A-Z][A-Z0-9]*-[1-9][0-9]*")
ITEM = re.compile(r"(?:[-*+]|[0-9]+[.)])\s+(.*)")
STATEMENT = re.compile(rf"\*\*({ID.pattern})\*\*\s+\S")
FENCE = re.compile(r"\s*(```+|~~~+)")


def statements(name: str, text: str, fault: Callable[[str], object]) -> Iterator[str]:
    """Yield the ids of a page's statements; tell `fault` of each item that has none."""
    fence = ""
    for number, line in enumerate(text.splitlines(), start=1):
        mark = FENCE.match(line)
        if mark and not fence:
            fence = mark[1]
        elif mark and mark[1].startswith(fence) and not line.strip(" `~"):
            fence = ""
        elif not fence and (item := ITEM.match(line)):
            if statement := STATEMENT.match(item[1]):
                yield statement[1]
            else:
                fault(f"{name}:{number}: a statement begins with its id: - **AREA-1** ...")


def named(name: str, text: str, fault: Callable[[str], object]) -> Iterator[str]:
    """Yield every id that a module's tests name; tell `fault` of markers that cannot count."""
    tree = ast.parse(text, name)
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            for decorator in node.decorator_list:
                if _is_marker(decorator) and not node.name.startswith("test_"):
                    fault(f"{name}:{node.lineno}: {node.name} names a statement and is no test")
        if not _is_marker(node):
            continue
        if not node.args or node.keywords:
            fault(f"{name}:{node.lineno}: the marker spec takes ids and nothing else")
        for argument in node.args:
            if isinstance(argument, ast.Constant) and ID.fullmatch(str(argument.value)):
                yield str(argument.value)
            else:
                fault(f"{name}:{node.lineno}: {ast.unparse(argument)} is no literal id")


def _is_marker(node: ast.AST) -> TypeGuard[ast.Call]:
    return isinstance(node, ast.Call) and ast.unparse(node.func).endswith("mark.spec")


def faults_of(pages: Mapping[str, str], sources: Mapping[str, str]) -> list[str]:
    """Return one sentence for every gap between the pages of specs/ and the sources of tests."""
    faults: list[str] = []
    stated = Counter(
        found for name, text in pages.items() for found in statements(name, text, faults.append)
    )
    tested = {found for name, text in sources.items() for found in named(name, text, faults.append)}
    faults += [f"{found} is stated more than once" for found, times in stated.items() if times > 1]
    faults += [f"{found} has no test that names it" for found in sorted(stated.keys() - tested)]
    faults += [
        f"{found} is named by a test and stated nowhere" for found in sorted(tested - stated.keys())
    ]
    return faults


def read(folder: Path, pattern: str) -> dict[str, str]:
    return {
        path.relative_to(folder.parent).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(folder.rglob(pattern))
    }


def test_every_statement_has_a_test_and_every_test_its_statement(
    pytestconfig: pytest.Config,
) -> None:
    pages = read(pytestconfig.rootpath / "specs", "*.md")
    del pages["specs/README.md"]
    sources = read(pytestconfig.rootpath / "tests", "test_*.py")
    shipped = f"{PACKAGE}.testing"
    sources |= {
        module.name: module.text
        for module in installed_package.modules(installed_package.root())
        if module.name == shipped or module.name.startswith(f"{shipped}.")
    }
    assert faults_of(pages, sources) == []


PAGE = """\
# Laws

- **LAW-1** One intent, at most one run.
  - an inner item
1. **LAW-2** An answer is never thrown away.

```markdown
- no statement, only a picture of one
```
"""
TESTS = """
pytestmark = [pytest.mark.anyio, pytest.mark.spec("LAW-1")]

@pytest.mark.parametrize("x", [pytest.param(1, marks=pytest.mark.spec("LAW-2"))])
async def test_it(x): ...
"""


def test_pages_and_tests_that_agree_have_no_fault() -> None:
    assert faults_of({"laws.md": PAGE}, {"test_laws.py": TESTS}) == []


@pytest.mark.parametrize(
    ("page", "tests", "fault"),
    [
        (PAGE + "- **LAW-3** Another.", TESTS, "LAW-3 has no test that names it"),
        (PAGE + "- **LAW-2** Again.", TESTS, "LAW-2 is stated more than once"),
        (PAGE + "- It has none.", TESTS, "laws.md:10: a statement begins with its id"),
        (PAGE + "* **law-3** Small.", TESTS, "laws.md:10: a statement begins with its id"),
        (PAGE + "2. **LAW-3**", TESTS, "laws.md:10: a statement begins with its id"),
        (PAGE.replace("LAW-2", "LAW-02"), TESTS, "laws.md:5: a statement begins with its id"),
        (PAGE, TESTS + "pytest.mark.spec('LAW-9')", "LAW-9 is named by a test and stated nowhere"),
        (PAGE, TESTS + "pytest.mark.spec(LAW)", "test_laws.py:6: LAW is no literal id"),
        (PAGE, TESTS + "pytest.mark.spec('law-1')", "test_laws.py:6: 'law-1' is no literal id"),
        (PAGE, TESTS + "pytest.mark.spec()", "test_laws.py:6: the marker spec takes ids"),
        (
            PAGE,
            TESTS + "@mark.spec('LAW-1')\ndef helper(): ...",
            "helper names a statement and is no",
        ),
    ],
)
def test_a_gap_between_pages_and_tests_is_named(page: str, tests: str, fault: str) -> None:
    assert any(fault in found for found in faults_of({"laws.md": page}, {"test_laws.py": tests}))
