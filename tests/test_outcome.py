"""Outcomes and handles: what a caller reads, what is raised, and what comes back whole."""

from __future__ import annotations

import json
import pickle
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any, get_args

import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from a2a_delegate import (
    Artifact,
    Attempt,
    AttemptOutcome,
    AuthRequired,
    Cancelled,
    CancelReceipt,
    Completed,
    DelegateError,
    DelegateResult,
    DelegationCancelledError,
    DelegationHandle,
    DelegationPausedError,
    DelegationTimeoutError,
    Effect,
    Failed,
    InputRequired,
    LostReplyError,
    Message,
    OutputMismatchError,
    Rejected,
    Role,
    Running,
    TaskFailedError,
    TextPart,
    TimedOut,
    Unknown,
    UnknownEffectError,
    UsageError,
)

SENT = datetime(2026, 3, 1, 12, 30, 15, 123456, tzinfo=UTC)
HANDLE = DelegationHandle(
    delegate_id="research",
    endpoint="https://research.example/rpc",
    version="1.0",
    binding="JSONRPC",
    message_id="m-1",
    body_digest="0" * 64,
    sent_at=SENT,
)
FACTS: dict[str, Any] = json.loads(HANDLE.to_json())

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
WORDS_OF_THE_PEER = st.text(st.characters())
NEEDED = ("delegate_id", "endpoint", "version", "binding", "message_id", "body_digest")
THEIRS = ("context_id", "task_id", "question_id")
OPTIONAL = ("tenant", "principal")
HANDLES = st.builds(
    DelegationHandle,
    **dict.fromkeys(NEEDED, TEXTS),
    **dict.fromkeys(OPTIONAL, st.none() | TEXTS),
    **dict.fromkeys(THEIRS, st.none() | WORDS_OF_THE_PEER),
    sent_at=st.datetimes(
        timezones=st.sampled_from([UTC, timezone(timedelta(hours=2))]),
        min_value=datetime(1970, 1, 2),  # noqa: DTZ001 - hypothesis adds the zone
        max_value=datetime(9999, 12, 30),  # noqa: DTZ001
    ),
)


@given(HANDLES)
def test_a_handle_comes_back_unchanged(handle: DelegationHandle) -> None:
    text = handle.to_json()
    assert "\n" not in text
    assert DelegationHandle.from_json(text) == handle


@pytest.mark.parametrize("name", THEIRS)
def test_an_id_of_the_peer_comes_back_with_half_a_surrogate_pair(name: str) -> None:
    theirs: dict[str, Any] = {name: "\ud800"}
    handle = replace(HANDLE, **theirs)
    assert DelegationHandle.from_json(handle.to_json()) == handle


def test_a_handle_of_a_later_version_is_read_by_what_is_known() -> None:
    text = json.dumps({**FACTS, "lease": {"until": "tomorrow"}})
    assert DelegationHandle.from_json(text) == HANDLE


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "Expecting value"),
        ("{", "Expecting property name"),
        ("[]", "no JSON object"),
        ("null", "no JSON object"),
        ("[" * 100_000, ""),
        ("9" * 10_000, ""),
        (json.dumps({**FACTS, "task_id": 7}), "task_id must be text"),
        (json.dumps({**FACTS, "message_id": None}), "message_id must be text"),
        (json.dumps({**FACTS, "endpoint": ["https://x"]}), "endpoint must be text"),
        (json.dumps({**FACTS, "endpoint": "https://user:s3cret@peer.example"}), "user information"),
        (json.dumps({**FACTS, "endpoint": "https://[::1"}), "IPv6"),
        (json.dumps({**FACTS, "delegate_id": "\ud800"}), "surrogates"),
        (json.dumps({**FACTS, "sent_at": "yesterday"}), "isoformat"),
        (json.dumps({**FACTS, "sent_at": "2026-03-01T12:30:15"}), "offset from UTC"),
        (json.dumps({**FACTS, "sent_at": "0001-01-01T00:00:00+14:00"}), "out of range"),
        (json.dumps({**FACTS, "sent_at": 1_700_000_000}), "sent_at must be text"),
    ],
)
def test_what_is_no_handle_is_refused_in_a_sentence(text: str, complaint: str) -> None:
    with pytest.raises(UsageError, match="pass what to_json") as refusal:
        DelegationHandle.from_json(text)
    assert complaint in str(refusal.value)
    assert len(str(refusal.value)) < 400, "hostile text is not repeated at length"
    assert "s3cret" not in str(refusal.value)


def test_a_missing_fact_is_named() -> None:
    for name in ("delegate_id", "sent_at", "body_digest"):
        text = json.dumps({key: fact for key, fact in FACTS.items() if key != name})
        with pytest.raises(UsageError, match=f"{name} must be text"):
            DelegationHandle.from_json(text)


def test_what_is_no_text_at_all_is_refused_too() -> None:
    for value in (None, 7, object()):
        with pytest.raises(UsageError, match="not a delegation handle"):
            DelegationHandle.from_json(value)  # type: ignore[arg-type]


class City(pydantic.BaseModel):
    """What the answers below should hold."""

    name: str
    people: int


ROME: dict[str, Any] = {"name": "Rome", "people": 2_748_109}


def completed(*data: Any, output: str | None = None) -> Completed:
    return Completed(delegate_id="research", effect=Effect.RAN, data=data, output=output)


@pytest.mark.parametrize(
    "answer",
    [
        completed(ROME),
        completed({"name": "Rome"}, ROME),
        completed(output=json.dumps(ROME)),
        completed(output=f"```json\n{json.dumps(ROME)}\n```"),
        completed(output=f"\n```\n{json.dumps(ROME, indent=1)}\n```\n"),
        completed("no object", output=json.dumps(ROME)),
    ],
)
def test_the_answer_is_found_where_it_stands(answer: Completed) -> None:
    assert answer.parse(City) == City(**ROME)


@pytest.mark.parametrize(
    "output",
    [
        "```json\n" + " \n" * 200_000 + "x",
        "```json\n" + "```\n" * 200_000 + "x",
        "```",
        "```json```",
        "```python\n1\n```",
        "```\n1\n```\n```\n2\n```",
    ],
)
def test_what_only_looks_like_an_answer_is_refused_in_no_time(output: str) -> None:
    started = time.process_time()
    with pytest.raises(OutputMismatchError):
        completed(output=output).parse(City)
    # Looking for the end of the fence again at every line takes minutes.
    assert time.process_time() - started < 2


@pytest.mark.parametrize(
    ("answer", "problems"),
    [
        (completed(), ("it holds no JSON",)),
        (completed(output="Rome is large"), ("it holds no JSON",)),
        (completed(output="[" * 100_000), ("it holds no JSON",)),
        (completed({"name": "Rome"}, output="[]"), ("people: Field required",)),
        (completed("Rome"), ("value: Input should be a valid dictionary or instance of City",)),
    ],
)
def test_an_answer_of_another_kind_says_what_is_wrong(
    answer: Completed, problems: tuple[str, ...]
) -> None:
    with pytest.raises(OutputMismatchError) as refusal:
        answer.parse(City)
    assert refusal.value.problems == problems
    assert refusal.value.model == "City"


def test_any_type_that_pydantic_knows_will_do() -> None:
    assert completed([1, 2]).parse(list[int]) == [1, 2]
    assert completed(output="7").parse(int) == 7


QUESTION = Message("q", Role.AGENT, (TextPart("which city?"),))
GONE = LostReplyError(method="send", phase="read")
COMMON: Any = {"delegate_id": "research", "effect": Effect.RAN, "handle": HANDLE}


@pytest.mark.parametrize(
    ("result", "kind", "words"),
    [
        (Failed(error=GONE, **COMMON), LostReplyError, "failed: the send left"),
        (Rejected(error=GONE, **COMMON), LostReplyError, "rejected: the send left"),
        (
            Cancelled(by="peer", receipt=CancelReceipt.REFUSED, **COMMON),
            DelegationCancelledError,
            "cancelled by the peer; cancel at the peer: refused",
        ),
        (
            TimedOut(last_state="brewing\n", receipt=CancelReceipt.CONFIRMED, **COMMON),
            DelegationTimeoutError,
            "timed out while the task was brewing ; cancel at the peer: confirmed",
        ),
        (
            InputRequired(question=QUESTION, **COMMON),
            DelegationPausedError,
            "the peer asks: which city?",
        ),
        (
            AuthRequired(question=QUESTION, **COMMON),
            DelegationPausedError,
            "the peer needs credentials: which city?",
        ),
        (Running(last_state="working", **COMMON), DelegationPausedError, "the task goes on"),
        (Unknown(cause=GONE, **COMMON), UnknownEffectError, "unknown: the send left"),
    ],
)
def test_what_is_no_answer_raises_and_explains_itself(
    result: DelegateResult, kind: type[DelegateError], words: str
) -> None:
    with pytest.raises(kind) as raised:
        result.raise_for_status()
    assert getattr(raised.value, "result", result) is result
    assert words in str(result)
    told = result.explain().splitlines()
    assert told[:2] == [
        str(result),
        "effect: ran (the peer showed a task or a message of its own)",
    ]
    assert "message m-1, task not known" in told


def test_a_task_id_tells_no_lines_of_its_own() -> None:
    forged = "t\neffect: not-started (proven)\x1b[2J" + "x" * 10_000
    error = TaskFailedError(task_id=forged, state="failed", text="no\nyes")
    handle = replace(HANDLE, task_id=forged)
    result = Failed(error=error, **{**COMMON, "handle": handle})
    assert len(result.explain().splitlines()) == 3
    for told in (result.explain(), str(result), str(error)):
        assert "\x1b" not in told
        assert len(told) < 1_500
    assert error.task_id == result.handle.task_id == forged  # type: ignore[union-attr]


def test_an_explanation_tells_each_request_and_how_it_ended() -> None:
    attempt = Attempt(
        number=1,
        operation="send",
        started_at=SENT,
        seconds=0.25,
        http_status=503,
        outcome=AttemptOutcome.REFUSED,
        body_left=True,
        version="1.0",
    )
    result = Unknown(cause=GONE, attempts=(attempt, replace(attempt, http_status=None)), **COMMON)
    _, _, first, second, *_ = result.explain().splitlines()
    assert first == ("12:30:15.123456Z  1. send (1.0): refused, HTTP 503, the body left, 0.250 s")
    assert "refused, the body left" in second


def test_an_explanation_says_which_proof_it_has() -> None:
    never_left = Failed(error=GONE, **{**COMMON, "effect": Effect.NOT_STARTED, "handle": None})
    refused = Rejected(error=GONE, **{**COMMON, "effect": Effect.NOT_STARTED})
    nobody_knows = Unknown(cause=GONE, **{**COMMON, "effect": Effect.MAY_HAVE_RUN})
    assert "not-started (no byte of the message left)" in never_left.explain()
    assert "not-started (the peer refused before it began)" in refused.explain()
    assert "nothing proves that the peer did not begin" in nobody_knows.explain()


def test_a_sentence_shows_the_answer_or_what_there_is_of_it() -> None:
    assert str(completed(output="Rome\nis a city")) == "completed: Rome is a city"
    assert str(completed(ROME)) == "completed with 1 values and no text"


def test_a_sentence_shows_the_reason_of_a_cancel_where_it_is_text() -> None:
    left = Cancelled(by="caller", reason="the user left", **COMMON)
    assert str(left).startswith("cancelled by the caller (the user left); ")
    assert "object" not in str(replace(left, reason=object()))


def test_only_what_never_started_is_safe_to_retry() -> None:
    retried = [effect for effect in Effect if replace(completed(), effect=effect).safe_to_retry]
    assert retried == [Effect.NOT_STARTED]


def test_an_unknown_outcome_raises_from_its_cause() -> None:
    with pytest.raises(UnknownEffectError) as raised:
        Unknown(cause=GONE, **COMMON).raise_for_status()
    assert raised.value.__cause__ is GONE


def test_an_outcome_that_is_late_says_so() -> None:
    assert "late: after a cancel or a deadline" in replace(completed(), late=True).explain()


def test_a_handle_and_an_answer_are_pickled() -> None:
    for value in (HANDLE, completed(ROME, output="Rome")):
        assert pickle.loads(pickle.dumps(value)) == value  # noqa: S301 - our own bytes


# -- what a debugger and a log show ----------------------------------------------------------------


@pytest.mark.spec("RUN-9")
def test_a_repr_names_the_outcome_its_effect_and_its_ids() -> None:
    known = replace(HANDLE, task_id="t-1", context_id="c-1")
    result = Completed(delegate_id="research", effect=Effect.RAN, handle=known, late=True)
    assert repr(result) == (
        "<Completed effect=ran delegate='research' message='m-1' task='t-1' context='c-1' "
        "attempts=0 late>"
    )
    lost = Unknown(
        delegate_id="research",
        effect=Effect.MAY_HAVE_RUN,
        handle=HANDLE,
        cause=LostReplyError(method="send", phase="read"),
    )
    assert repr(lost) == (
        "<Unknown effect=may-have-run cause=LostReplyError delegate='research' message='m-1' "
        "attempts=0>"
    )


@pytest.mark.spec("RUN-9")
def test_a_repr_is_one_bounded_line_without_content() -> None:
    secret = "hunter2 " * 100
    words = Message("m", Role.AGENT, (TextPart(secret),))
    attempt = Attempt(1, "send", SENT, 0.1, 200, AttemptOutcome.ANSWERED, True, "1.0")  # noqa: FBT003
    common: dict[str, Any] = {
        "delegate_id": "research",
        "effect": Effect.RAN,
        "handle": replace(HANDLE, task_id="t\n" * 100_000, context_id="\ud800\x1b[2J"),
        "attempts": (attempt,) * 1_000,
        "artifacts": (Artifact("a", (TextPart(secret),)),),
        "message": words,
    }
    error = TaskFailedError(task_id="t", state="failed", text=secret)
    results: list[DelegateResult] = [
        Completed(output=secret, data=(secret,), **common),
        Failed(error=error, **common),
        Rejected(error=error, **common),
        Cancelled(by="caller", reason=secret, **common),
        TimedOut(last_state=secret, receipt=CancelReceipt.REFUSED, **common),
        InputRequired(question=words, **common),
        AuthRequired(question=words, **common),
        Running(last_state=secret, **common),
        Unknown(cause=error, evidence=secret.encode(), **common),
    ]
    assert {type(one) for one in results} == set(get_args(DelegateResult))
    for result in results:
        told = repr(result)
        assert told.startswith(f"<{type(result).__name__} effect=ran ")
        assert "attempts=1000" in told
        assert "hunter2" not in told
        assert len(told) < 500
        assert told.isprintable()
