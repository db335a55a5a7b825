"""A scripted peer on a port, for the tests of the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cli.peer_on_a_port import PeerOnAPort

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def peer() -> Iterator[PeerOnAPort]:
    """Return a peer that speaks 1.0."""
    with PeerOnAPort() as running:
        yield running


@pytest.fixture
def old_peer() -> Iterator[PeerOnAPort]:
    """Return a peer that speaks 0.3, and so cannot be asked what became of a lost reply."""
    with PeerOnAPort("0.3") as running:
        yield running
