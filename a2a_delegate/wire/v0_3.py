"""A2A 0.3 over JSON-RPC: the words of the family, under a header that names the version."""

from __future__ import annotations

from types import MappingProxyType

from a2a_delegate.model.card import ProtocolVersion
from a2a_delegate.wire.kind_family import KindDialect

# Servers of two versions choose by the header, those of 0.3 alone ignore it (BIND-2).
DIALECT = KindDialect(ProtocolVersion.V0_3, MappingProxyType({"A2A-Version": "0.3"}))
