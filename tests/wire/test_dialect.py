from __future__ import annotations

import pytest

from a2a_delegate.model.card import ProtocolVersion
from a2a_delegate.wire.dialect import DIALECTS

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


def test_nobody_can_change_what_goes_with_every_request() -> None:
    for dialect in DIALECTS.values():
        with pytest.raises(TypeError):
            dialect.headers()["A2A-Version"] = "9.9"  # type: ignore[index]
