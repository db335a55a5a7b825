"""What a recorded reply and one of the scripted peer have to have in common: their shape."""

from __future__ import annotations

import json
import re
from pathlib import Path

CAPTURES = Path(__file__).parents[1] / "data" / "captures"

# Where these stand, the word itself is part of the protocol, or of what the recorded agent does.
LITERAL = {
    "state",
    "role",
    "kind",
    "jsonrpc",
    "code",
    "@type",
    "reason",
    "domain",
    "filename",
    "mediaType",
    "mimeType",
    "pageSize",
    "field",
    "append",
    "lastChunk",
    "final",
}
# What a validator has to say is its own; that it says it, and where, is compared.
OWN_WORDS = {"parseError", "input", "ctx", "url", "loc", "msg", "type"}
TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}(Z|\+00:00)")

Shape = object


def shape(value: object, key: str = "", *, in_error: bool = False) -> Shape:
    """Reduce JSON to its form: the same for two replies that differ in ids, times and texts."""
    if isinstance(value, dict):
        return {
            name: shape(item, name, in_error=in_error or name == "error")
            for name, item in value.items()
            if not (in_error and name in OWN_WORDS)
        }
    if isinstance(value, list):
        return sorted(
            {json.dumps(shape(item, key, in_error=in_error), sort_keys=True) for item in value}
        )
    if key in LITERAL:
        return value
    if key == "timestamp":
        match = TIMESTAMP.fullmatch(str(value))
        assert match, value
        return f"time {match[1]}"
    # Protobuf knows no integers in JSON values: 3 comes back as 3.0.
    return "number" if type(value) in {int, float} else type(value).__name__
