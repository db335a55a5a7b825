from __future__ import annotations

import pytest

from a2a_delegate.model.card import Binding, ProtocolVersion
from a2a_delegate.wire.dialect import DIALECTS
from a2a_delegate.wire.spoken import dialect_for

NAMED = {
    ProtocolVersion.V0_2: {},
    ProtocolVersion.V0_3: {"A2A-Version": "0.3"},
    ProtocolVersion.V1_0: {"A2A-Version": "1.0"},
}


@pytest.mark.spec("BIND-1", "BIND-2", "WIRE-14")
def test_each_dialect_stands_under_its_own_version() -> None:
    assert set(DIALECTS) == set(ProtocolVersion)
    for version, dialect in DIALECTS.items():
        assert dialect.version is version
        assert dict(dialect.headers()) == NAMED[version]


@pytest.mark.spec("BIND-3")
@pytest.mark.parametrize("binding", [Binding.JSONRPC, Binding.HTTP_JSON])
@pytest.mark.parametrize("version", ProtocolVersion)
def test_extensions_in_use_are_named_by_the_header_of_the_version(
    version: ProtocolVersion, binding: Binding
) -> None:
    dialect = dialect_for(version, binding)
    if dialect is not None:
        name = "A2A-Extensions" if version is ProtocolVersion.V1_0 else "X-A2A-Extensions"
        named = {name: "https://e.example/a, https://e.example/b"}
        given = dialect.headers(("https://e.example/a", "https://e.example/b"))
        assert given == NAMED[version] | named
