"""What is installed is what pyproject.toml and the changelog say."""

from __future__ import annotations

import importlib.metadata
import importlib.resources
import re
import sys
import tomllib
from typing import TYPE_CHECKING, Any

import pytest

from tests import installed_package
from tests.installed_package import PACKAGE
from tests.test_layering import imports_of

if TYPE_CHECKING:
    from pathlib import Path

NAME = "a2a-delegate"


@pytest.fixture
def project(pytestconfig: pytest.Config) -> dict[str, Any]:
    text = (pytestconfig.rootpath / "pyproject.toml").read_text(encoding="utf-8")
    project: dict[str, Any] = tomllib.loads(text)["project"]
    return project


def headings(changelog: str) -> list[str]:
    """Return what each release of a changelog is called, newest first."""
    return re.findall(r"^## \[(.+?)\]", changelog, flags=re.MULTILINE)


def test_the_installed_version_is_the_projects(project: dict[str, Any]) -> None:
    assert importlib.metadata.version(NAME) == project["version"]


def test_the_changelog_begins_with_what_is_unreleased_or_this_version(
    project: dict[str, Any], pytestconfig: pytest.Config
) -> None:
    path: Path = pytestconfig.rootpath / "CHANGELOG.md"
    newest, *older = headings(path.read_text(encoding="utf-8"))
    assert newest in {"Unreleased", project["version"]}
    assert "Unreleased" not in older
    if newest == "Unreleased" and older:
        assert older[0] == project["version"]


def test_the_package_says_that_it_is_typed() -> None:
    assert importlib.resources.files("a2a_delegate").joinpath("py.typed").is_file()


def test_the_installed_extras_are_the_projects(project: dict[str, Any]) -> None:
    extras = set(importlib.metadata.metadata(NAME).get_all("Provides-Extra") or ())
    assert extras == project["optional-dependencies"].keys()


def test_the_extra_all_is_every_other_extra(project: dict[str, Any]) -> None:
    extras = dict(project["optional-dependencies"])
    (every,) = extras.pop("all")
    assert every == f"{NAME}[{','.join(sorted(extras))}]"


def test_whatever_is_imported_is_declared(project: dict[str, Any]) -> None:
    extras: list[list[str]] = list(project["optional-dependencies"].values())
    declared = {_distribution(one) for one in sum(extras, project["dependencies"])}
    # What brings the code that needs these is the user's own: their tests, their event loop.
    declared |= {"hypothesis", "pytest", "trio"}
    homes = importlib.metadata.packages_distributions()
    found = imports_of(installed_package.modules(installed_package.root()))
    foreign = {one.target.partition(".")[0] for one in found} - sys.stdlib_module_names
    undeclared = {
        name for name in foreign - {PACKAGE} if declared.isdisjoint(map(_distribution, homes[name]))
    }
    assert undeclared == set()


def _distribution(requirement: str) -> str:
    return re.split(r"[^\w.-]", requirement)[0].lower().replace("_", "-")


def test_nothing_but_the_package_and_its_command_is_installed() -> None:
    files = importlib.metadata.files(NAME) or []
    strange = [
        str(file)
        for file in files
        if not re.match(
            r"a2a_delegate/"
            r"|a2a_delegate-[^/]+\.dist-info/"
            r"|(\.\./)+(bin|Scripts)/a2a-delegate(\.exe)?$"
            # What an editable install of a checkout consists of.
            r"|_?_editable_[^/]+$"
            r"|(__pycache__/)?_?_editable_",
            str(file).replace("\\", "/"),
        )
    ]
    assert files
    assert strange == []
