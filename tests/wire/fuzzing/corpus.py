"""Where a search begins: what real servers sent, and what people published."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Final

DATA: Final = Path(__file__).parents[2] / "data"


@functools.cache
def replies() -> tuple[bytes, ...]:
    """Return every recorded and every published reply once, envelopes and all."""
    found = {path.read_bytes() for path in (DATA / "cards" / "replies").glob("*.json")}
    for path in (DATA / "captures").rglob("*.json"):
        recorded = json.loads(path.read_bytes())
        exchanges = recorded if isinstance(recorded, list) else recorded.get("exchanges", [])
        for exchange in exchanges:
            body = (exchange.get("response") or {}).get("body")
            if isinstance(body, str):
                found.add(body.encode())
    return tuple(sorted(found))


@functools.cache
def cards() -> tuple[bytes, ...]:
    """Return every published card."""
    return tuple(path.read_bytes() for path in sorted((DATA / "cards" / "cards").glob("*.json")))


@functools.cache
def streams() -> tuple[bytes, ...]:
    """Return every recorded stream once."""
    found = set()
    for path in (DATA / "captures").rglob("*.json"):
        recorded = json.loads(path.read_bytes())
        exchanges = recorded if isinstance(recorded, list) else recorded.get("exchanges", [])
        for exchange in exchanges:
            lines = [line for _, line in exchange.get("stream") or []]
            found.add("".join(f"{line}\n" for line in lines).encode())
    return tuple(sorted(found))


@functools.cache
def events() -> tuple[bytes, ...]:
    """Return the data of every event of a recorded stream once."""
    lines = {line for stream in streams() for line in stream.splitlines()}
    return tuple(sorted(line[5:] for line in lines if line.startswith(b"data:")))


def inner(body: bytes, member: str) -> bytes | None:
    """Return what stands under a member of a reply, as JSON of its own, if there is any."""
    try:
        document = json.loads(body)
    except ValueError:
        return None
    value = document.get(member) if isinstance(document, dict) else None
    return None if value is None else json.dumps(value).encode()


@functools.cache
def beginnings(target: str) -> tuple[bytes, ...]:
    """Return the inputs that are nearest to what a target reads."""
    match target:
        case "card":
            return cards()
        case "event-stream":
            return streams()
        case "event-reader":
            found = (inner(body, "result") for body in events())
        case "dialect-0.3-proto" | "http-json" | "cut-body":
            found = (body for body in replies() if b'"jsonrpc"' not in body)
        case "fault-table":
            found = (inner(body, "error") for body in replies())
        case _ if target.startswith("dialect"):
            found = (inner(body, "result") for body in replies())
        case _:
            # Under the id that the targets ask for, so that a reply is looked into.
            found = (_under_our_id(body) for body in replies())
    return tuple(filter(None, found))


def _under_our_id(body: bytes) -> bytes:
    try:
        document = json.loads(body)
    except ValueError:
        return body
    if not isinstance(document, dict) or "jsonrpc" not in document:
        return body
    return json.dumps(document | {"id": "r1"}).encode()
