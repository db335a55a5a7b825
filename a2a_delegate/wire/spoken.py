"""Which version is spoken over which binding: the one place where the two meet."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from a2a_delegate.model.card import Binding, ProtocolVersion
from a2a_delegate.wire import proto_family, v1_0
from a2a_delegate.wire.dialect import DIALECTS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from a2a_delegate.wire.dialect import Dialect

SPOKEN_BINDINGS = (Binding.JSONRPC, Binding.HTTP_JSON)
"""The bindings that have landed."""

_PROTO_JSON: Mapping[ProtocolVersion, Dialect] = {
    ProtocolVersion.V0_2: proto_family.V0_2,
    ProtocolVersion.V0_3: proto_family.V0_3,
    ProtocolVersion.V1_0: v1_0.DIALECT,
}
"""The dialects whose words are those of the protocol's proto, from where HTTP+JSON takes them."""


def dialect_for(version: ProtocolVersion, binding: Binding) -> Dialect | None:
    """Return the dialect that a version has over a binding; None where that is not spoken."""
    match binding:
        case Binding.JSONRPC:
            return DIALECTS.get(version)
        case Binding.HTTP_JSON:
            return _PROTO_JSON.get(version)
        case Binding.GRPC:
            return None
        case _:
            assert_never(binding)


def lists_tasks(version: ProtocolVersion, binding: Binding) -> bool:
    """Whether a version has words for a list of tasks over a binding."""
    dialect = dialect_for(version, binding)
    return dialect is not None and dialect.lists_tasks
