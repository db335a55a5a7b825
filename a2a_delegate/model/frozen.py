"""Frozen, slotted dataclasses that cost an import a third of what the standard library's do.

Use it in place of `dataclasses.dataclass`; type checkers take it for that. The classes are real
dataclasses: `fields`, `replace`, `asdict`, `match`, `copy` and `pickle` know them. The standard
library compiles six methods for each class, 0.6 ms in all, and this package has near a hundred
classes. Here only the constructor is compiled, for its speed counts (it takes half the time of the
other one); the rest are the same few functions for all. What changes is a dataclass of the standard
library, without the methods that nobody calls: `eq=False, repr=False`.
"""

from __future__ import annotations

import dataclasses
from reprlib import recursive_repr
from typing import TYPE_CHECKING, ClassVar, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable
    from dataclasses import dataclass as dataclass  # noqa: PLC0414 - handed on to type checkers

if not TYPE_CHECKING:

    def dataclass(
        *,
        frozen: bool,
        slots: bool,
        kw_only: bool = False,
        repr: bool = True,  # noqa: A002 - the word of the standard library
    ) -> Callable[[type], type]:
        """Make a frozen, slotted dataclass; both words must be said, for whoever reads them."""
        if not (frozen and slots):
            raise TypeError("this makes frozen, slotted dataclasses only")
        return lambda cls: _made(cls, kw_only=kw_only, repr=repr)


def _made(cls: type, *, kw_only: bool, repr: bool) -> type:  # noqa: A002 - as above
    bare = dataclasses.dataclass(init=False, repr=False, eq=False, slots=True, kw_only=kw_only)
    made: type = bare(cls)
    fields = dataclasses.fields(made)
    given = {
        **_METHODS,
        "__compared__": tuple([field.name for field in fields if field.compare]),
        "__init__": _constructor(made, fields),
    }
    if not repr:
        del given["__repr__"]
    for name, value in given.items():
        if name not in vars(cls):
            setattr(made, name, value)
    return made


def _constructor(cls: type, fields: tuple[dataclasses.Field[object], ...]) -> Callable[..., None]:
    """Compile `__init__`. It fills the slots through their descriptors: assigning is refused."""
    known: dict[str, object] = {"__name__": cls.__module__}
    parameters, keywords, steps = ["self"], ["*"], []
    for field in fields:
        name, default = field.name, ""
        value = field.name
        if field.default is not dataclasses.MISSING:
            default = f"_default_{name}"
            known[default] = field.default
            value = name if field.init else default
        elif field.default_factory is not dataclasses.MISSING:
            default = f"_new_{name}"
            known[default] = field.default_factory
            value = f"{name} if {name} is not {default} else {default}()"
            value = value if field.init else f"{default}()"
        if field.init:
            parameter = f"{name}={default}" if default else name
            (keywords if field.kw_only else parameters).append(parameter)
        known[f"_set_{name}"] = getattr(cls, name).__set__
        steps.append(f"_set_{name}(self, {value})")
    if len(keywords) > 1:
        parameters += keywords
    if hasattr(cls, "__post_init__"):
        steps.append("self.__post_init__()")
    source = f"def __init__({', '.join(parameters)}):\n  {'; '.join(steps) or 'pass'}\n"
    made: dict[str, Callable[..., None]] = {}
    exec(source, known, made)  # noqa: S102 - made of names of fields
    constructor = made["__init__"]
    constructor.__qualname__ = f"{cls.__qualname__}.__init__"
    constructor.__annotations__ = {field.name: field.type for field in fields if field.init}
    return constructor


class _Frozen:
    """The methods that every class is given, where it has none of its own."""

    __dataclass_fields__: ClassVar[dict[str, dataclasses.Field[object]]]
    __compared__: ClassVar[tuple[str, ...]]

    @recursive_repr("...")
    def __repr__(self) -> str:
        fields = [field for field in dataclasses.fields(self) if field.repr]
        shown = ", ".join([f"{field.name}={getattr(self, field.name)!r}" for field in fields])
        return f"{type(self).__qualname__}({shown})"

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return _content(self) == _content(other)

    def __hash__(self) -> int:
        return hash(_content(self))

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")

    def __delattr__(self, name: str) -> NoReturn:
        raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")

    # Copies and pickles fill the slots by assignment, if nobody says otherwise.

    def __getstate__(self) -> list[object]:
        return [getattr(self, field.name) for field in dataclasses.fields(self)]

    def __setstate__(self, state: list[object]) -> None:
        for field, value in zip(dataclasses.fields(self), state, strict=True):
            object.__setattr__(self, field.name, value)


_METHODS = {name: method for name, method in vars(_Frozen).items() if callable(method)}


def _content(value: _Frozen) -> tuple[object, ...]:
    return tuple([getattr(value, name) for name in value.__compared__])
