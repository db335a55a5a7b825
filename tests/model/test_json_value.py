"""The one spelling of a JSON value, which digests are made of."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from a2a_delegate.errors import UsageError
from a2a_delegate.model.json_value import canonical, sha256

texts = st.text(st.characters(exclude_categories=["Cs"]))
numbers = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)


@given(values)
def test_a_value_comes_back_from_its_spelling(value: object) -> None:
    assert json.loads(canonical(value)) == value


@given(st.dictionaries(texts, values, max_size=5))
def test_the_order_of_names_does_not_matter(value: dict[str, object]) -> None:
    turned = dict(reversed(value.items()))
    assert canonical(turned) == canonical(value)
    assert sha256(turned) == sha256(value)


def test_the_spelling_has_no_spaces_and_no_escapes_but_those_of_json() -> None:
    assert (
        canonical({"b": [1, True, None], "a": "é\n"}) == '{"a":"é\\n","b":[1,true,null]}'.encode()
    )


@pytest.mark.parametrize(
    "value",
    [
        float("nan"),
        float("-inf"),
        "\ud800",
        {"\udfff": 1},
        {1, 2},
        b"bytes",
        object(),
        {("a",): 1},
        {"a": 1, 2: 3},
    ],
)
def test_what_json_cannot_carry_is_refused(value: object) -> None:
    with pytest.raises(UsageError, match="not a JSON value"):
        canonical(value)


def test_a_value_without_an_end_is_refused() -> None:
    inner: list[object] = []
    inner.append(inner)
    with pytest.raises(UsageError, match="not a JSON value"):
        canonical(inner)
    for _ in range(100_000):
        inner = [inner]
    with pytest.raises(UsageError, match="not a JSON value"):
        canonical(inner)


@pytest.mark.parametrize("name", [1, 1.5, True, None])
@pytest.mark.parametrize("at", [lambda it: it, lambda it: {"a": [it]}, lambda it: [(it,)]])
def test_a_name_that_is_no_string_is_refused_and_not_made_one(name: object, at: object) -> None:
    with pytest.raises(UsageError, match="names in it must be strings"):
        canonical(at({name: 1}))  # type: ignore[operator]
