from __future__ import annotations

import pytest

from a2a_delegate.model.card import ProtocolVersion
from a2a_delegate.wire.v0_2 import DIALECT


@pytest.mark.spec("WIRE-14")
def test_no_request_names_a_version_in_a_header_that_0_2_does_not_have() -> None:
    assert dict(DIALECT.headers()) == {}
    assert DIALECT.version is ProtocolVersion.V0_2
    assert not DIALECT.lists_tasks
