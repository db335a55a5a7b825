"""All parts of a tier together are the whole of it."""

from __future__ import annotations

import pytest

from tests.parts import VARIABLE, asked_part, is_in, parts_of

NAMES = [f"tests/faults/test_matrix.py::test_all[{number}]" for number in range(400)]


def test_each_test_is_in_one_part() -> None:
    for parts in (1, 2, 4, 7):
        found = parts_of(NAMES, parts)
        assert sorted(name for part in found for name in part) == sorted(NAMES)
        assert min(map(len, found)) > len(NAMES) / parts / 2, "the parts are of a size"


def test_a_name_that_shows_an_address_is_in_the_same_part_in_every_process() -> None:
    names = [f"test_it[Rewrite(<lambda> at 0x7f{number:010x})]" for number in range(20)]
    assert len({is_in(name, (1, 2)) for name in names}) == 1


def test_a_part_is_named_by_its_number_and_how_many_there_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    assert asked_part() is None
    monkeypatch.setenv(VARIABLE, "2/4")
    assert asked_part() == (2, 4)


@pytest.mark.parametrize("said", ["0/4", "5/4", "1/0", "2", "a/b", "1/4 ", "-1/4"])
def test_what_is_no_part_is_refused(monkeypatch: pytest.MonkeyPatch, said: str) -> None:
    monkeypatch.setenv(VARIABLE, said)
    with pytest.raises(pytest.UsageError, match="a part such as 2/4"):
        asked_part()
