"""A2A 0.2 over JSON-RPC, from 0.2.0 to 0.2.6: the words of the family, and no version header.

0.2 has no such header. To name 0.2 in one would be a word that nobody expects: js-sdk 1.3 refuses
it with -32009 where it serves 0.3 beside 1.0. To name 0.3 would claim what the card does not say.
Without one, every server recorded that knows `message/send` takes it: those of 0.2 and 0.3 look at
no header, and one of 1.0 has to take a missing one for 0.3 (1.0 section 3.6.2), whose words these
are.
"""

from __future__ import annotations

from types import MappingProxyType

from a2a_delegate.model.card import ProtocolVersion
from a2a_delegate.wire.kind_family import KindDialect

DIALECT = KindDialect(ProtocolVersion.V0_2, MappingProxyType({}))
