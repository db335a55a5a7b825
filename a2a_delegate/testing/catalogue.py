"""Every behaviour by its name, with its parameters, as the classes have them: never stale."""

from __future__ import annotations

import inspect
import json
import math
from dataclasses import MISSING, dataclass, fields
from enum import Enum
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, TypeVar, cast, get_args

from a2a_delegate.errors import UsageError
from a2a_delegate.testing.acts import (
    Act,
    Close,
    Finished,
    Loss,
    Opening,
    RefuseConnection,
    Rewrite,
)
from a2a_delegate.testing.behaviours import (
    Coding,
    Layer,
    Moment,
    Operation,
    operations_of,
)
from a2a_delegate.testing.stream_behaviours import EventKind, Intruder, LineEnd, Stop

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from a2a_delegate.testing.layering import Behaviour

DOES: Final = "does"
"""The member of a table that names its behaviour; the others are parameters."""

E = TypeVar("E", bound=Enum)

BEHAVIOURS: Final[Mapping[str, type[Behaviour]]] = MappingProxyType(
    {
        kind.__name__: kind
        for kind in (*get_args(Act), *get_args(Layer))
        # The one takes a function, which no file can hold; the other cannot be done on a port.
        if kind not in {Rewrite, RefuseConnection}
    }
)
"""The behaviours that a scenario can name."""


class WrongValueError(Exception):
    """A value in a scenario cannot be what it stands for; `path` leads to it from its table."""

    def __init__(self, problem: str, *path: str) -> None:
        super().__init__(problem)
        self.problem = problem
        self.path = path


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of parameter: what it may be, in words, and how a value of a file becomes one."""

    words: str
    read: Callable[[object], object]


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a behaviour. `default` is spelled as in a file; None makes it required."""

    name: str
    kind: Kind
    default: str | None


@dataclass(frozen=True, slots=True)
class Description:
    """One behaviour as a person is told of it: its name, what it does in a line, and where."""

    name: str
    about: str
    operations: tuple[Operation, ...]
    parameters: tuple[Parameter, ...]


def behaviour_from(table: Mapping[str, object]) -> Behaviour:
    """Make the behaviour that a table names by `does`, from its other members.

    Raises WrongValueError for a name, a parameter or a value that there is not.
    """
    name = table.get(DOES)
    if name is None:
        raise WrongValueError(f"say what it does: {DOES} = one of {', '.join(sorted(BEHAVIOURS))}")
    if not isinstance(name, str) or name not in BEHAVIOURS:
        known = ", ".join(sorted(BEHAVIOURS))
        raise WrongValueError(f"there is no behaviour {name!r}; known are {known}", DOES)
    known_here = {one.name: one for one in parameters_of(BEHAVIOURS[name])}
    given: dict[str, object] = {}
    for key, value in table.items():
        if key == DOES:
            continue
        if key not in known_here:
            raise WrongValueError(f"{name} has no {key!r}; {_known(known_here)}", key)
        given[key] = _read(known_here[key].kind, value, key)
    missing = [key for key, one in known_here.items() if one.default is None and key not in given]
    if missing:
        raise WrongValueError(f"{name} needs {' and '.join(missing)}")
    try:
        return cast("Callable[..., Behaviour]", BEHAVIOURS[name])(**given)
    except UsageError as problem:
        raise WrongValueError(str(problem)) from None


def parameters_of(kind: type[Behaviour]) -> tuple[Parameter, ...]:
    """Return the parameters of a behaviour, in the order of its class."""
    found = []
    for one in fields(kind):
        if one.default is not MISSING:
            default: str | None = _spelled(one.default)
        elif one.default_factory is not MISSING:
            default = _spelled(one.default_factory())
        else:
            default = None
        found.append(Parameter(one.name, KINDS[str(one.type)], default))
    return tuple(found)


def descriptions() -> tuple[Description, ...]:
    """Describe every behaviour that a scenario can name."""
    return tuple(
        Description(
            name,
            (inspect.getdoc(kind) or "").partition("\n")[0],
            tuple(one for one in Operation if one in operations_of(kind)),
            parameters_of(kind),
        )
        for name, kind in BEHAVIOURS.items()
    )


def spelled(behaviour: Behaviour) -> str:
    """Spell a behaviour in one line, without the parameters that are as by default."""
    told = []
    for one in fields(behaviour):
        value = getattr(behaviour, one.name)
        default = one.default if one.default_factory is MISSING else one.default_factory()
        if value != default:
            told.append(f"{one.name}={_spelled(value)}")
    name = type(behaviour).__name__
    return f"{name}({', '.join(told)})" if told else name


def _read(kind: Kind, value: object, key: str) -> object:
    try:
        return kind.read(value)
    except WrongValueError as wrong:
        raise WrongValueError(wrong.problem, key, *wrong.path) from None


def _known(parameters: Mapping[str, Parameter]) -> str:
    return f"known are {', '.join(parameters)}" if parameters else "it has no parameters"


def _spelled(value: object) -> str:
    """Spell a value as a scenario would, a behaviour by its name and parameters."""
    match value:
        case Enum():
            return str(value.value) if isinstance(value, str) else value.name
        case bytes():
            return json.dumps(value.decode("latin-1"))
        case str() | bool() | int() | float() | list() | dict() | None:
            return json.dumps(value).replace("null", "none")
        case tuple():
            return json.dumps(list(value))
        case MappingProxyType():
            return json.dumps(dict(value))
        case _:
            return spelled(cast("Behaviour", value))


# -- kinds of parameters -------------------------------------------------------------------------


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise WrongValueError(f"a number is needed, not {value!r}")
    return value


def _whole(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise WrongValueError(f"a whole number is needed, not {value!r}")
    return value


def _wholes(value: object) -> tuple[int, ...]:
    if not isinstance(value, list):
        raise WrongValueError(f"a list of whole numbers is needed, not {value!r}")
    return tuple(_whole(one) for one in value)


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise WrongValueError(f"true or false is needed, not {value!r}")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise WrongValueError(f"text is needed, not {value!r}")
    return value


def _bytes(value: object) -> bytes:
    if isinstance(value, dict) and value.keys() == {"hex"}:
        try:
            return bytes.fromhex(_text(value["hex"]))
        except ValueError:
            raise WrongValueError("hex holds pairs of hexadecimal digits", "hex") from None
    if not isinstance(value, str):
        raise WrongValueError(f'text or {{ hex = "..." }} is needed, not {value!r}')
    return value.encode()


def _headers(value: object) -> dict[str, str]:
    if not isinstance(value, dict):
        raise WrongValueError(f"a table of texts is needed, not {value!r}")
    return {name: _read(_TEXT, one, name) for name, one in value.items()}  # type: ignore[misc]


def _json(value: object) -> object:
    match value:
        case dict():
            for name, inner in value.items():
                _read(_JSON, inner, name)
        case list():
            for number, inner in enumerate(value, 1):
                _read(_JSON, inner, f"[{number}]")
        case str() | bool() | int() | None:
            pass
        case _:
            _number(value)
    return value


def _inner(value: object) -> Behaviour:
    if isinstance(value, str):
        return behaviour_from({DOES: value})
    if not isinstance(value, dict):
        raise WrongValueError(f'{{ {DOES} = "..." }} is needed, not {value!r}')
    return behaviour_from(value)


def _word(choices: type[E]) -> Kind:
    """Take one of the words of an enumeration: its value where that is text, else its name."""
    words = {_spelled(one): one for one in choices}

    def read(value: object) -> E:
        if not isinstance(value, str) or value not in words:
            raise WrongValueError(f"{value!r} is none of {', '.join(words)}")
        return words[value]

    return Kind(", ".join(words), read)


_TEXT: Final = Kind("text", _text)
_JSON: Final = Kind("any value of JSON", _json)
_OPERATION: Final = _word(Operation)

KINDS: Final[Mapping[str, Kind]] = MappingProxyType(
    {
        "float": Kind("a number", _number),
        "int": Kind("a whole number", _whole),
        "bool": Kind("true or false", _flag),
        "str": _TEXT,
        "str | None": _TEXT,
        "bytes": Kind('text, or { hex = "..." }', _bytes),
        "bytes | JsonValue": Kind("text, or any value of JSON", _json),
        "JsonValue": _JSON,
        "Mapping[str, str]": Kind("a table of texts", _headers),
        "Behaviour": Kind("a behaviour", _inner),
        "Respond | RpcError | Redirect": Kind("Respond, RpcError or Redirect", _inner),
        "Operation | None": _OPERATION,
        "Loss": _word(Loss),
        "Close": _word(Close),
        "Moment": _word(Moment),
        "Coding": _word(Coding),
        "tuple[int, ...]": Kind("a list of whole numbers", _wholes),
        "Stop": _word(Stop),
        "EventKind": _word(EventKind),
        "Intruder": _word(Intruder),
        "LineEnd": _word(LineEnd),
        "Opening": _word(Opening),
        "Finished": _word(Finished),
    }
)
"""Every kind of parameter that a behaviour has, by its annotation."""
