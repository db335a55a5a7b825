from __future__ import annotations

import pytest

from a2a_delegate.model.card import ProtocolVersion
from a2a_delegate.wire.v0_3 import DIALECT


@pytest.mark.spec("BIND-2")
def test_every_request_names_exactly_version_0_3() -> None:
    assert dict(DIALECT.headers()) == {"A2A-Version": "0.3"}
    assert DIALECT.version is ProtocolVersion.V0_3
    assert not DIALECT.lists_tasks
