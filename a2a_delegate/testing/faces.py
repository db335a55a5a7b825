"""Which faces a peer has: one for each version that it speaks, in each binding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from a2a_delegate.errors import UsageError
from a2a_delegate.testing.entrance import JsonRpc
from a2a_delegate.testing.face_v0_2 import FaceV02
from a2a_delegate.testing.face_v0_3 import FaceV03
from a2a_delegate.testing.face_v1_0 import FaceV10
from a2a_delegate.testing.http_json import HttpJson
from a2a_delegate.testing.http_json_v0_3 import HttpJsonV03, HttpJsonV03Beside, HttpJsonV03OfJs
from a2a_delegate.testing.http_json_v1_0 import HttpJsonV10
from a2a_delegate.testing.http_statuses import MAPPINGS
from a2a_delegate.testing.places import BINDINGS, JSONRPC

if TYPE_CHECKING:
    from collections.abc import Sequence

    from a2a_delegate.testing.clock import PeerClock
    from a2a_delegate.testing.face import Face
    from a2a_delegate.testing.http_json import HttpJsonFace

VERSIONS: Final = ("1.0", "0.3", "0.2")
"""The versions that a scripted peer can speak."""

VERBS: Final = ("POST", "GET")
"""The verbs that a subscription over HTTP+JSON can take."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Manners:
    """How a peer speaks, whatever it speaks; the options of `ScriptedPeer` of these names."""

    clock: PeerClock
    tenant: str | None
    lists: bool
    subscribe_verbs: Sequence[str]
    error_mapping: str
    like_js: bool


def json_rpc(versions: Sequence[str], manners: Manners) -> JsonRpc:
    """Make the faces of JSON-RPC."""
    clock = manners.clock
    faces: dict[str, Face] = {
        "1.0": FaceV10(clock, tenant=manners.tenant, lists=manners.lists),
        "0.3": FaceV03(clock, alone=len(versions) == 1),
        "0.2": FaceV02(clock),
    }
    # Where two are spoken, the envelope is read by 1.0's, as in a2a-sdk 1.3.
    return JsonRpc([faces[version] for version in VERSIONS if version in versions])


def http_json(versions: Sequence[str], manners: Manners) -> HttpJson:
    """Make the faces of HTTP+JSON."""
    clock, verbs = manners.clock, manners.subscribe_verbs
    mapping = manners.error_mapping
    faces: list[HttpJsonFace] = []
    # The paths of 0.3 go first: with a tenant `v1`, they would be some of 1.0 too.
    if "0.3" in versions and len(versions) > 1:
        faces.append(HttpJsonV03Beside(clock, subscribe=verbs, mapping=mapping))
    elif "0.3" in versions:
        faces.append((HttpJsonV03OfJs if manners.like_js else HttpJsonV03)(clock, subscribe=verbs))
    if "1.0" in versions:
        tenant, lists = manners.tenant, manners.lists
        faces.append(
            HttpJsonV10(clock, tenant=tenant, lists=lists, subscribe=verbs, mapping=mapping)
        )
    return HttpJson(faces, manners.tenant)


def checked_versions(versions: Sequence[str]) -> tuple[str, ...]:
    """Return the versions. Raises UsageError for those that no peer speaks together."""
    named = _some_of(versions, VERSIONS, "versions")
    if {"0.2", "0.3"} <= set(named):
        raise UsageError("0.2 and 0.3 have the same methods, so no peer can speak both on one URL")
    return named


def checked_bindings(bindings: Sequence[str], versions: Sequence[str]) -> tuple[str, ...]:
    """Return the bindings. Raises UsageError for those in which a version is not spoken."""
    named = _some_of(bindings, BINDINGS, "bindings")
    if "0.2" in versions and JSONRPC not in named:
        raise UsageError(f"0.2 is spoken over JSONRPC only, not over {', '.join(named)}")
    return named


def checked_verbs(verbs: Sequence[str]) -> tuple[str, ...]:
    """Return the verbs of a subscription. Raises UsageError for others."""
    return _some_of(verbs, VERBS, "subscribe_verbs")


def checked_mapping(mapping: str) -> str:
    """Return the name of a mapping of errors. Raises UsageError for another."""
    if mapping not in MAPPINGS:
        raise UsageError(f"error_mapping is one of {', '.join(MAPPINGS)}, not {mapping!r}")
    return mapping


def _some_of(named: Sequence[str], known: Sequence[str], what: str) -> tuple[str, ...]:
    if not named or len(set(named)) != len(tuple(named)) or not set(named) <= set(known):
        raise UsageError(f"{what} are some of {', '.join(known)}, not {named!r}")
    return tuple(named)
