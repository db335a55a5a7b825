"""A process that hands a message over and is killed: it keeps its handle in a file meanwhile.

python tests/interop/first_process.py BASE_URL VERSION WAY TEXT FILE
"""

from __future__ import annotations

import sys
from pathlib import Path

import anyio

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from a2a_delegate import ProtocolVersion, open_delegation
from tests.interop.delegating import delegate_to, watching
from tests.interop.ways import WAYS


async def main(base_url: str, version: str, word: str, text: str, file: str) -> None:
    """Delegate, and write down the handle at the start and after each update, a line each."""
    (way,) = [one for one in WAYS if str(one) == word]
    speaks = ProtocolVersion(version), way.binding
    async with (
        delegate_to(base_url, *speaks, config=watching(way)) as delegate,
        open_delegation(delegate, text) as delegation,
        await anyio.open_file(file, "a") as lines,
    ):
        known = None
        while delegation.handle is not None:
            if known != delegation.handle:
                known = delegation.handle
                await lines.write(known.to_json() + "\n")
                await lines.flush()
            await anext(delegation)


if __name__ == "__main__":
    base_url, version, word, text, file = sys.argv[1:]
    anyio.run(main, base_url, version, word, text, file)
