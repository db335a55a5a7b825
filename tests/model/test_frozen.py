"""Our frozen dataclasses behave as the standard library's do: each is held beside its twin."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import time
from dataclasses import field
from typing import TYPE_CHECKING, Any, Literal

import pytest

from a2a_delegate.model import frozen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Decorator = Any
ours: Decorator = frozen.dataclass
theirs: Decorator = dataclasses.dataclass


def family(make: Decorator) -> dict[str, Any]:
    """Make one class of each shape that the package has, by one decorator."""

    @make(frozen=True, slots=True)
    class Empty:
        """Nothing."""

    @make(frozen=True, slots=True)
    class Plain:
        """Needed, optional, made anew, hidden, and by keyword only."""

        number: int
        name: str = "none"
        tags: list[str] = field(default_factory=list)
        secret: str = field(default="", repr=False)
        note: str | None = field(default=None, compare=False)
        extra: int = field(default=0, kw_only=True)

    @make(frozen=True, slots=True, kw_only=True)
    class Base:
        """What subclasses share."""

        who: str
        late: bool = False

    @make(frozen=True, slots=True, kw_only=True)
    class Derived(Base):
        """A needed field after optional ones of the base, and one that is fixed."""

        status: Literal["derived"] = field(default="derived", init=False)
        made: list[int] = field(default_factory=list, init=False)
        error: str

    @make(frozen=True, slots=True)
    class Checked:
        """Refuses and mends when it is built; shows and compares in its own way."""

        items: tuple[int, ...]

        def __post_init__(self) -> None:
            object.__setattr__(self, "items", tuple(self.items))

        def __repr__(self) -> str:
            return f"<{len(self.items)} items>"

    @make(frozen=True, slots=True, repr=False)
    class Inherits(Checked):
        """Shows itself as its base does."""

        more: int = 0

    kinds = (Empty, Plain, Base, Derived, Checked, Inherits)
    return {kind.__name__: kind for kind in kinds}


def instances(kinds: dict[str, Any]) -> list[Any]:
    plain, derived = kinds["Plain"], kinds["Derived"]
    return [
        kinds["Empty"](),
        plain(1),
        plain(1, "one"),
        plain(1, "one", ["a"], "hush", "note", extra=3),
        plain(1, "one", secret="hush", note="another note"),
        kinds["Base"](who="a"),
        derived(who="a", error="e"),
        derived(late=True, error="e", who="a"),
        kinds["Checked"]([1, 2]),
        kinds["Checked"](()),
        kinds["Inherits"]((), 1),
    ]


@pytest.fixture
def both() -> tuple[dict[str, Any], dict[str, Any]]:
    return family(ours), family(theirs)


Both = tuple[dict[str, Any], dict[str, Any]]


def told(value: Any) -> str:
    return repr(value).replace("<locals>.", "")


def test_values_are_shown_alike(both: Both) -> None:
    mine, twins = map(instances, both)
    assert list(map(told, mine)) == list(map(told, twins))


def test_values_compare_alike_each_with_each(both: Both) -> None:
    mine, twins = map(instances, both)
    assert [a == b for a in mine for b in mine] == [a == b for a in twins for b in twins]
    assert mine[0] != twins[0], "another class"


def test_values_hash_alike_or_not_at_all(both: Both) -> None:
    def hashes(values: list[Any]) -> Iterator[int | str]:
        for value in values:
            try:
                yield hash(value)
            except TypeError as refusal:
                yield str(refusal)

    mine, twins = map(instances, both)
    assert list(hashes(mine)) == list(hashes(twins))


@pytest.mark.parametrize("number", [float("nan")])
def test_a_value_equals_itself_with_nan_in_it(both: Both, number: float) -> None:
    for kinds in both:
        assert kinds["Plain"](number) == kinds["Plain"](number)


def test_nothing_can_be_assigned_or_deleted(both: Both) -> None:
    for kinds in both:
        value = kinds["Plain"](1)
        with pytest.raises(dataclasses.FrozenInstanceError, match="'number'"):
            value.number = 2
        with pytest.raises(dataclasses.FrozenInstanceError, match="'number'"):
            del value.number
        with pytest.raises((dataclasses.FrozenInstanceError, TypeError)):
            value.other = 2
        assert value.number == 1


def test_there_is_no_dict_and_no_room_for_more(both: Both) -> None:
    for kinds in both:
        assert not any(hasattr(value, "__dict__") for value in instances(kinds))


def test_constructors_refuse_alike(both: Both) -> None:
    def refused(kinds: dict[str, Any], call: Callable[[dict[str, Any]], object]) -> str:
        with pytest.raises(TypeError) as refusal:
            call(kinds)
        return str(refusal.value)

    calls: list[Callable[[dict[str, Any]], object]] = [
        lambda kinds: kinds["Plain"](),
        lambda kinds: kinds["Plain"](1, "a", [], "", None, 3),
        lambda kinds: kinds["Plain"](1, nothing=1),
        lambda kinds: kinds["Derived"](who="a"),
        lambda kinds: kinds["Derived"](who="a", error="e", status="other"),
        lambda kinds: kinds["Base"]("a"),
    ]
    mine, twins = both
    for call in calls:
        assert refused(mine, call) == refused(twins, call)


def test_each_value_gets_its_own_default(both: Both) -> None:
    plain, derived = both[0]["Plain"], both[0]["Derived"]
    assert plain(1).tags is not plain(1).tags
    assert derived(who="a", error="").made is not derived(who="a", error="").made


def test_the_standard_library_sees_the_same_dataclasses(both: Both) -> None:
    for mine, twin in zip(*map(instances, both), strict=True):
        assert dataclasses.asdict(mine) == dataclasses.asdict(twin)
        facts = [
            [(one.name, one.type, one.init, one.kw_only) for one in dataclasses.fields(value)]
            for value in (mine, twin)
        ]
        assert facts[0] == facts[1]
        assert type(mine).__match_args__ == type(twin).__match_args__
        assert type(mine).__doc__ == type(twin).__doc__


def test_signatures_are_alike(both: Both) -> None:
    for mine, twin in zip(both[0].values(), both[1].values(), strict=True):
        shown = [
            [(one.name, one.kind, one.annotation) for one in signature.parameters.values()]
            for signature in (inspect.signature(mine), inspect.signature(twin))
        ]
        assert shown[0] == shown[1]


def test_replaced_values_are_new_ones(both: Both) -> None:
    value = both[0]["Derived"](who="a", error="e")
    other = dataclasses.replace(value, error="another")
    assert (value.error, other.error, other.who) == ("e", "another", "a")


def test_a_match_sees_the_fields_in_order(both: Both) -> None:
    plain = both[0]["Plain"]
    match plain(1, "one"):
        case plain(number, name):
            assert (number, name) == (1, "one")
        case _:
            pytest.fail("it did not match")


@frozen.dataclass(frozen=True, slots=True)
class Kept:
    """A class that a pickle can find."""

    number: int
    name: str = "none"


@frozen.dataclass(frozen=True, slots=True)
class KeptEmpty:
    """A class without fields that a pickle can find."""


@pytest.mark.parametrize("value", [Kept(1), Kept(2, "two"), KeptEmpty()])
def test_values_are_copied_and_pickled(value: object) -> None:
    copies = [copy.copy(value), copy.deepcopy(value)]
    copies += [
        pickle.loads(pickle.dumps(value, protocol))  # noqa: S301 - our own bytes
        for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1)
    ]
    assert copies == [value] * len(copies)
    assert value not in [1, None]


def test_other_kinds_of_dataclasses_are_refused() -> None:
    for frozen_, slots in ((False, True), (True, False)):
        with pytest.raises(TypeError, match="frozen, slotted"):
            ours(frozen=frozen_, slots=slots)


def test_a_class_is_made_in_much_less_time() -> None:
    def seconds(make: Decorator) -> float:
        began = time.process_time()
        family(make)
        return time.process_time() - began

    pairs = [(seconds(ours), seconds(theirs)) for _ in range(30)]
    assert min(mine for mine, _ in pairs) < 0.7 * min(theirs for _, theirs in pairs)
