"""Exit statuses over the whole union of outcomes, and over what is raised before there is one."""

from __future__ import annotations

import typing
from dataclasses import replace
from itertools import product

import pytest

from a2a_delegate.cli.exit_status import (
    ExitStatus,
    status_of,
    status_of_receipt,
    status_of_refusal,
)
from a2a_delegate.errors import (
    A2AProtocolMismatchError,
    DelegateError,
    DelegationCancelledError,
    InvalidAgentCardError,
    LostReplyError,
    PeerUnreachableError,
    TaskFailedError,
    UnsafeEndpointError,
    UsageError,
)
from a2a_delegate.model.message import Message, Role
from a2a_delegate.model.part import TextPart
from a2a_delegate.outcome import (
    AuthRequired,
    Cancelled,
    CancelReceipt,
    Completed,
    DelegateResult,
    Effect,
    Failed,
    InputRequired,
    Rejected,
    Running,
    TimedOut,
    Unknown,
)

QUESTION = Message("m", Role.AGENT, (TextPart("which?"),))
FAILURE = TaskFailedError(task_id="t", state="failed")
LOST = LostReplyError(method="send", phase="read")

STATUSES: dict[DelegateResult, int] = {
    Completed(delegate_id="d", effect=Effect.RAN, output="x"): 0,
    Failed(delegate_id="d", effect=Effect.RAN, error=FAILURE): 1,
    Rejected(delegate_id="d", effect=Effect.NOT_STARTED, error=FAILURE): 1,
    InputRequired(delegate_id="d", effect=Effect.RAN, question=QUESTION): 4,
    AuthRequired(delegate_id="d", effect=Effect.RAN, question=QUESTION): 4,
    Cancelled(delegate_id="d", effect=Effect.RAN, by="caller"): 5,
    TimedOut(
        delegate_id="d",
        effect=Effect.RAN,
        last_state="working",
        receipt=CancelReceipt.CONFIRMED,
    ): 5,
    Unknown(delegate_id="d", effect=Effect.MAY_HAVE_RUN, cause=LOST): 6,
    Running(delegate_id="d", effect=Effect.RAN, last_state="working"): 7,
}


def test_every_outcome_of_the_union_is_tested() -> None:
    assert {type(one) for one in STATUSES} == set(typing.get_args(DelegateResult))


@pytest.mark.spec("CLI-10", "CLI-11")
@pytest.mark.parametrize(("result", "effect"), [*product(STATUSES, Effect)], ids=str)
def test_every_outcome_has_its_status_unless_it_may_have_run(
    result: DelegateResult, effect: Effect
) -> None:
    expected = ExitStatus.UNKNOWN if effect is Effect.MAY_HAVE_RUN else STATUSES[result]
    assert status_of(replace(result, effect=effect)) == expected


@pytest.mark.spec("CLI-29")
@pytest.mark.parametrize(
    ("receipt", "status"), [*zip(CancelReceipt, [0, 0, 7, 1, 6], strict=True)], ids=str
)
def test_every_receipt_has_its_status(receipt: CancelReceipt, status: int) -> None:
    assert status_of_receipt(receipt) == status


@pytest.mark.spec("CLI-10")
@pytest.mark.parametrize(
    ("error", "status"),
    [
        (UsageError("x"), 2),
        (InvalidAgentCardError(url="https://a.example", reason="none"), 3),
        (A2AProtocolMismatchError(url="https://a.example", theirs=("2.0",), ours=("1.0",)), 3),
        (UnsafeEndpointError(url="https://a.example", reason="not bound"), 3),
        (PeerUnreachableError(phase="card", url="https://a.example"), 3),
        (DelegationCancelledError("stopped", result=None), 5),
    ],
    ids=lambda value: type(value).__name__,
)
def test_every_refusal_has_its_status(error: DelegateError, status: int) -> None:
    assert status_of_refusal(error) == status
