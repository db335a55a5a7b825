"""What a body says that is no answer of the protocol: its text, to be shown in a sentence."""

from __future__ import annotations

from a2a_delegate.wire.result import EVIDENCE


def text_in(value: object) -> str:
    """Find what a JSON body says; servers spell it in several ways. Empty where it says nothing."""
    if not isinstance(value, dict):
        return value if isinstance(value, str) else ""
    error = value.get("error")
    inner = error if isinstance(error, dict) else value
    said = [inner.get(name) for name in ("message", "detail", "title")]
    return next((text for text in [*said, error] if isinstance(text, str)), "")


def text_of(body: bytes) -> str:
    """Return the beginning of a body of plain text; a page of markup says nothing in one line."""
    text = body[:EVIDENCE].decode(errors="replace").strip()
    return "" if text.startswith("<") else text
