"""What is seen of one request: it left or it did not, and nobody takes that back."""

from __future__ import annotations

import pytest

from a2a_delegate.bindings.exchange import EVIDENCE_BYTES, Exchange, SealedError


def test_the_news_that_the_body_leaves_is_told_once() -> None:
    told: list[str] = []
    exchange = Exchange(on_left=lambda: told.append("left"))
    exchange.leave()
    exchange.leave()
    assert exchange.body_left
    assert told == ["left"]


@pytest.mark.spec("CARR-2")
def test_a_sealed_body_does_not_leave() -> None:
    exchange = Exchange()
    assert exchange.seal() is False
    with pytest.raises(SealedError):
        exchange.leave()
    assert not exchange.body_left


def test_sealing_tells_that_the_body_had_left_before() -> None:
    exchange = Exchange()
    exchange.leave()
    assert exchange.seal() is True


@pytest.mark.spec("CARR-9")
def test_the_evidence_is_the_beginning_of_the_reply_and_bounded() -> None:
    exchange = Exchange()
    for _ in range(3):
        exchange.see(b"x" * (EVIDENCE_BYTES // 2))
    assert exchange.evidence == b"x" * EVIDENCE_BYTES


def test_an_exchange_does_not_show_the_reply() -> None:
    exchange = Exchange()
    exchange.see(b"a secret answer")
    assert "secret" not in repr(exchange)


def test_an_exchange_that_nobody_listens_to_is_fine() -> None:
    Exchange().on_id("task-1")
