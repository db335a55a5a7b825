"""The table of all scenarios says what they come to, today."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.watching.page import NAME, page

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.timeout(120)
@pytest.mark.spec("WATCH-1")
def test_the_table_of_all_of_them_is_current(pytestconfig: pytest.Config) -> None:
    written: Path = pytestconfig.rootpath / "docs" / NAME
    assert written.read_text(encoding="utf-8") == page(), "run scripts/specs"
