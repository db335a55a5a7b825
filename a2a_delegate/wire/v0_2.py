"""A2A 0.2 over JSON-RPC, from 0.2.0 to 0.2.6: the words of the family, and no version header.

0.2 has no such header, and every server recorded that knows `message/send` takes it without one:
those of 0.2 and 0.3 look at none, and those that serve 1.0 beside them have to take a missing one
for 0.3 (1.0 section 3.6.2), whose words these are. A header that says 0.2 is refused by js-sdk 1.3
(-32009) where it serves 0.3 beside 1.0, and an empty one by a2akit (HTTP 400). One that says 0.3
would be taken as well, but claims what the card does not say.
"""

from __future__ import annotations

from types import MappingProxyType

from a2a_delegate.model.card import ProtocolVersion
from a2a_delegate.wire.kind_family import KindDialect

DIALECT = KindDialect(ProtocolVersion.V0_2, MappingProxyType({}))
