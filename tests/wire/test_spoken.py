from __future__ import annotations

import pytest

from a2a_delegate.model.card import Binding, ProtocolVersion
from a2a_delegate.wire import proto_family, v0_2, v0_3, v1_0
from a2a_delegate.wire.spoken import SPOKEN_BINDINGS, dialect_for, lists_tasks

SPOKEN = {
    (ProtocolVersion.V0_2, Binding.JSONRPC): v0_2.DIALECT,
    (ProtocolVersion.V0_3, Binding.JSONRPC): v0_3.DIALECT,
    (ProtocolVersion.V1_0, Binding.JSONRPC): v1_0.DIALECT,
    (ProtocolVersion.V0_2, Binding.HTTP_JSON): proto_family.V0_2,
    (ProtocolVersion.V0_3, Binding.HTTP_JSON): proto_family.V0_3,
    (ProtocolVersion.V1_0, Binding.HTTP_JSON): v1_0.DIALECT,
}


@pytest.mark.parametrize("version", ProtocolVersion)
@pytest.mark.parametrize("binding", Binding)
@pytest.mark.spec("GATE-7")
def test_each_version_has_its_words_over_each_binding_or_none(
    version: ProtocolVersion, binding: Binding
) -> None:
    dialect = dialect_for(version, binding)
    assert dialect is SPOKEN.get((version, binding))
    assert dialect is None or dialect.version is version
    assert dialect is None or binding in SPOKEN_BINDINGS
    lists = version is ProtocolVersion.V1_0 and binding is not Binding.GRPC
    assert lists_tasks(version, binding) is lists
