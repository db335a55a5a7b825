"""The servers that others wrote: what each needs, and how it is started.

Only the standard library is imported here: the installer and the demo run on it too.
"""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).resolve().parent
AGENTS: Final = HERE / "agents"
PINS: Final = HERE / "pins"


@dataclass(frozen=True, slots=True)
class Line:
    """One line of releases of one server, in an environment of its own."""

    name: str
    package: str
    """The distribution that is the server, as its registry calls it."""
    modes: tuple[str, ...]
    """What its agent can be started as; `dual` speaks 1.0 and 0.3 on one URL."""
    soak: bool = False
    """Whether it is run by `scripts/soak` only."""
    family: str = ""
    """The name of its agent, where that serves several lines; else the line's own."""

    @property
    def on_node(self) -> bool:
        """Whether it runs on Node.js, not on Python."""
        return self.package.startswith("@")

    @property
    def agent(self) -> Path:
        """Our agent on it."""
        stem = re.sub(r"\W", "_", self.family or self.name)
        return AGENTS / (stem + (".mjs" if self.on_node else ".py"))

    @property
    def pins(self) -> tuple[Path, ...]:
        """The files that say which releases are installed."""
        if self.on_node:
            return PINS / self.name / "package.json", PINS / self.name / "package-lock.json"
        return (PINS / f"{self.name}.txt",)

    @property
    def version(self) -> str:
        """The release of the server that is pinned."""
        separator = '": "' if self.on_node else r"(?:\[.*\])?=="
        pattern = rf"{re.escape(self.package)}{separator}([\w.]+)"
        found = re.search(pattern, self.pins[0].read_text(encoding="utf-8"))
        if found is None:
            raise ValueError(f"{self.pins[0]} does not pin {self.package}")
        return found[1]

    @property
    def folder(self) -> Path:
        """Where it is installed."""
        return interop_dir() / self.name

    @property
    def program(self) -> Path:
        """The interpreter that runs its agent."""
        return self.folder / ("node" if self.on_node else "bin/python")

    @property
    def stamp(self) -> Path:
        """Holds the digest of the pins that the environment was made from."""
        return self.folder / ".stamp"

    def digest(self) -> str:
        """What the stamp must hold."""
        joined = b"\0".join(path.read_bytes() for path in self.pins)
        return hashlib.sha256(joined).hexdigest()


LINES: Final = {
    line.name: line
    for line in (
        Line("a2a-sdk-1.3", "a2a-sdk", ("1.0-only", "dual")),
        Line("a2a-sdk-0.3", "a2a-sdk", ("0.3-only",), family="a2a-sdk-0"),
        Line("a2a-sdk-0.2", "a2a-sdk", ("0.2-only",), family="a2a-sdk-0"),
        Line("js-sdk-1.3", "@a2a-js/sdk", ("1.0-only", "dual")),
        Line("js-sdk-0.3", "@a2a-js/sdk", ("0.3-only",)),
        Line("fasta2a-2.1", "fasta2a", ("1.0-only",)),
        Line("google-adk-2", "google-adk", ("1.0-only",), soak=True),
        Line("agent-framework-1", "agent-framework-a2a", ("1.0-only",), soak=True),
        Line("strands-1", "strands-agents", ("0.3-only",), soak=True),
        Line("a2akit-0.0", "a2akit", ("0.3-only",), soak=True),
    )
}


def interop_dir() -> Path:
    """Where the environments are: `A2A_DELEGATE_INTEROP_DIR`, or `.interop` in the checkout."""
    return Path(os.environ.get("A2A_DELEGATE_INTEROP_DIR") or HERE.parent.parent / ".interop")
