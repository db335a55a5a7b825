"""The details of an error of A2A 1.0, the same in every binding (sections 9.5 and 11.6)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from a2a_delegate.testing.face import Json
    from a2a_delegate.testing.requests import RefusedError


def details_of(error: RefusedError, reason: str) -> list[Json]:
    """Write the details of an error: its reason, and what is wrong with which field."""
    metadata: Json = {}
    if error.field:
        metadata["errors"] = [{"field": error.field, "message": error.problem}]
    elif error.problem:
        metadata["parseError"] = error.problem
    details = [error_info(reason, metadata)]
    if error.field:
        violation = {"field": error.field, "description": error.problem}
        details.append(
            {
                "@type": "type.googleapis.com/google.rpc.BadRequest",
                "fieldViolations": [violation],
            }
        )
    return details


def error_info(reason: str, metadata: Json) -> Json:
    """Write the detail that names the reason."""
    return {
        "@type": "type.googleapis.com/google.rpc.ErrorInfo",
        "reason": reason,
        "domain": "a2a-protocol.org",
        "metadata": metadata,
    }
