"""A scenario: what an agent is and what happens to its requests, read from a TOML file.

::

    [peer]                      # what the agent is, as the options of ScriptedPeer
    versions = ["1.0", "0.3"]

    [[send]]                    # the first send: its reply is cut within its head
    call = 1
    does = "CutReply"
    at = 30
    by = "rst"

    [[send]]                    # every other send of exactly this text
    prompt = "be slow"
    does = "Delay"
    seconds = 5
    then = { does = "RpcError", code = -32603, accepts = true }

    [[cancel]]                  # every cancel
    does = "LyingCancel"
"""

from __future__ import annotations

import inspect
import re
import tomllib
from collections import Counter
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from a2a_delegate.errors import UsageError, shown
from a2a_delegate.testing.behaviours import Operation, check
from a2a_delegate.testing.catalogue import DOES, KINDS, WrongValueError, behaviour_from
from a2a_delegate.testing.peer import ScriptedPeer
from a2a_delegate.testing.script import WITHOUT_PROMPT

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from a2a_delegate.testing.layering import Behaviour

MAX_BYTES: Final = 1024 * 1024
"""Bytes that a scenario may have."""

_PEER: Final = "peer"
_PATH: Final = "path"
_CALL: Final = "call"
_PROMPT: Final = "prompt"
_HEAD: Final = re.compile(r"\s*\[\[?\s*[\"']?(?P<table>[\w-]+)[\"']?\s*\]")
_MEMBER: Final = re.compile(r"\s*[\"']?(?P<key>[\w-]+)[\"']?\s*[.=]")
# Where a peer stands on its port is the port's to say, and a clock is no text.
_NOT_IN_A_FILE: Final = frozenset({"url", "wall_clock"})


@dataclass(frozen=True, slots=True)
class Rule:
    """What one table says: which requests of an operation get a behaviour.

    Those with these numbers, or those about this prompt, or, with neither, all the others.
    """

    operation: Operation
    behaviour: Behaviour
    calls: tuple[int, ...] = ()
    prompt: str | None = None


@dataclass(frozen=True, slots=True)
class Scenario:
    """What an agent is, as options of ScriptedPeer, and what happens to its requests."""

    options: Mapping[str, Any]
    rules: tuple[Rule, ...]

    def peer(self, **options: object) -> ScriptedPeer:
        """Make the peer; `options` go before those of the file. Raises UsageError."""
        peer = ScriptedPeer(**{**self.options, **options})
        for rule in self.rules:
            for call in rule.calls:
                peer.script(rule.operation, rule.behaviour, call=call)
            if not rule.calls:
                peer.always(rule.operation, rule.behaviour, prompt=rule.prompt)
        return peer


def read_scenario(path: Path) -> Scenario:
    """Read a scenario. Raises UsageError, which names the place and what may stand there."""
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or "it is no name of a file"
        raise UsageError(f"cannot read the scenario {shown(path)}: {reason}") from None
    if len(content) > MAX_BYTES:
        raise UsageError(f"the scenario {shown(path)} is larger than {MAX_BYTES} bytes")
    try:
        text = content.decode()
        tables = tomllib.loads(text)
    except UnicodeDecodeError as problem:
        raise UsageError(f"{shown(path)}: not UTF-8 at byte {problem.start}") from None
    except (tomllib.TOMLDecodeError, RecursionError) as problem:
        raise UsageError(f"{shown(path)}: not TOML: {shown(problem)}") from None
    return _Reader(str(path), text).scenario(tables)


class _Reader:
    """Reads one file, and knows where in it everything stands."""

    def __init__(self, name: str, text: str) -> None:
        self._name = name
        self._lines = text.splitlines()

    def scenario(self, tables: Mapping[str, object]) -> Scenario:
        """Read all of it. Raises UsageError."""
        options: dict[str, Any] = {}
        rules: list[Rule] = []
        for name, value in tables.items():
            if name == _PEER:
                options = self._options(value)
            elif name in Operation.__members__.values():
                rules += self._rules(Operation(name), value)
            else:
                known = ", ".join((_PEER, *Operation))
                raise self._wrong(WrongValueError(f"there is no {name!r}; known are {known}"), name)
        scenario = Scenario(MappingProxyType(options), tuple(rules))
        try:
            scenario.peer()
        except UsageError as problem:
            raise UsageError(f"{shown(self._name)}: {problem}") from None
        return scenario

    def _options(self, table: object) -> dict[str, Any]:
        if not isinstance(table, dict):
            raise self._wrong(WrongValueError(f"write [{_PEER}] above its options"), _PEER)
        kinds = {
            name: str(one.annotation)
            for name, one in inspect.signature(ScriptedPeer).parameters.items()
            if name not in _NOT_IN_A_FILE
        }
        options: dict[str, Any] = {}
        for name, value in table.items():
            try:
                options["url" if name == _PATH else name] = _option(name, value, kinds)
            except WrongValueError as wrong:
                raise self._wrong(wrong, _PEER, None, name) from None
        return options

    def _rules(self, operation: Operation, tables: object) -> list[Rule]:
        if not isinstance(tables, list) or not all(isinstance(one, dict) for one in tables):
            problem = f"write [[{operation}]], with two brackets, above each of its rules"
            raise self._wrong(WrongValueError(problem), operation)
        rules: list[Rule] = []
        said: dict[object, int] = {}
        for number, table in enumerate(tables, 1):
            try:
                rule = _rule(operation, table)
                _note(said, rule, number)
            except WrongValueError as wrong:
                raise self._wrong(wrong, operation, number, *wrong.path) from None
            rules.append(rule)
        return rules

    def _wrong(
        self, wrong: WrongValueError, table: str, number: int | None = None, *path: str
    ) -> UsageError:
        line = self._line_of(table, number, path[0] if path else None)
        place = f"line {line}, " if line is not None else ""
        where = table if number is None else f"{table}, rule {number}"
        inner = f": {'.'.join(path)}" if path else ""
        return UsageError(f"{shown(self._name)}, {place}{where}{inner}: {wrong.problem}")

    def _line_of(self, table: str, number: int | None, key: str | None) -> int | None:
        """Find a member of a table, or the head of it; None for what is written in another form."""
        wanted = table, number or 1
        heads: Counter[str] = Counter()
        here, found = None, None
        for at, line in enumerate(self._lines, 1):
            if (head := _HEAD.match(line)) is not None:
                heads[head["table"]] += 1
                here = head["table"], heads[head["table"]]
                found = at if here == wanted else found
            elif (member := _MEMBER.match(line)) is not None:
                if here == wanted and member["key"] == key:
                    return at
                # Above the first head a member stands for a table.
                found = at if here is None and member["key"] == table else found
        return found


def _option(name: str, value: object, kinds: Mapping[str, str]) -> object:
    """Read one option of a peer. Raises WrongValueError."""
    if name == _PATH:
        return _url(value)
    if name not in kinds:
        raise WrongValueError(f"a peer has no {name!r}; known are {', '.join((*kinds, _PATH))}")
    return _texts(value) if kinds[name] == "Sequence[str]" else KINDS[kinds[name]].read(value)


def _note(said: dict[object, int], rule: Rule, number: int) -> None:
    """Note of which requests a rule speaks. Raises WrongValueError where one spoke of them."""
    for key in rule.calls or (rule.prompt,):
        if said.setdefault(key, number) != number:
            raise WrongValueError(f"rule {said[key]} speaks of the same requests")


def _rule(operation: Operation, table: Mapping[str, object]) -> Rule:
    """Read one rule. Raises WrongValueError."""
    rest = dict(table)
    calls, prompt = _calls(rest.pop(_CALL, ())), rest.pop(_PROMPT, None)
    if calls and prompt is not None:
        raise WrongValueError(f"a rule has a {_CALL} or a {_PROMPT}, not both", _PROMPT)
    if prompt is not None and not isinstance(prompt, str):
        raise WrongValueError(f"text is needed, not {prompt!r}", _PROMPT)
    if prompt is not None and operation in WITHOUT_PROMPT:
        raise WrongValueError(f"a request of {operation} belongs to no prompt", _PROMPT)
    behaviour = behaviour_from(rest)
    try:
        check(operation, behaviour)
    except UsageError as problem:
        raise WrongValueError(str(problem), DOES) from None
    return Rule(operation, behaviour, calls, prompt)


def _calls(value: object) -> tuple[int, ...]:
    """Read the numbers of requests: one, or a list of some."""
    numbers = value if isinstance(value, list | tuple) else [value]
    for number in numbers:
        if isinstance(number, bool) or not isinstance(number, int) or number < 1:
            raise WrongValueError(f"requests are numbered from 1; {number!r} is none", _CALL)
    return tuple(numbers)


def _url(path: object) -> str:
    if not isinstance(path, str) or not path.startswith("/"):
        raise WrongValueError(f"a path that begins with / is needed, not {path!r}")
    return f"https://peer.example{path}"


def _texts(value: object) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise WrongValueError(f"a list of texts is needed, not {value!r}")
    return value
