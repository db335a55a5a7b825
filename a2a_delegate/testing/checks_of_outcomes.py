"""Checks of outcomes: what a delegate gives for work that ends by itself."""

from __future__ import annotations

import pickle
from dataclasses import fields
from typing import TYPE_CHECKING

import anyio
import pytest

from a2a_delegate.delegate import DelegateRequest
from a2a_delegate.errors import DelegateError, DelegationPausedError
from a2a_delegate.outcome import (
    Attempt,
    Completed,
    DelegationHandle,
    Effect,
    Failed,
    InputRequired,
    Rejected,
)
from a2a_delegate.testing.delegate_under_test import Checks, expected, mark, must

if TYPE_CHECKING:
    from a2a_delegate.outcome import DelegateResult
    from a2a_delegate.testing.delegate_under_test import DelegateUnderTest

_CROWD = 8
"""Delegations that go on at once."""


class OutcomeChecks(Checks):
    """What a delegate gives for work that ends by itself."""

    @mark.spec("DEL-1")
    async def test_a_completed_task_gives_its_text(self) -> None:
        """Hold the answer to the text that was asked for."""
        async with self._made() as made:
            result = await made.delegate.dispatch(made.completes("apples"))
            completed = expected(result, Completed)
            must("apples" in (completed.output or ""), f"no such text in {completed.output!r}")
            must(completed.raise_for_status() is completed, "a good outcome raises nothing")
            must(not completed.late, "nothing was stopped, so nothing is late")

    @mark.spec("DEL-2")
    async def test_data_comes_as_data(self) -> None:
        """Look for the value among the data of the answer."""
        async with self._made() as made:
            if made.gives_data is None:
                pytest.skip("no request that gives data")
            request, value = made.gives_data
            completed = expected(await made.delegate.dispatch(request), Completed)
            must(value in completed.data, f"{value!r} is not among {completed.data!r}")

    @mark.spec("DEL-3")
    async def test_a_failure_is_an_outcome_and_its_text_an_error(self) -> None:
        """Hold the failure to its text, and `raise_for_status` to the error."""
        async with self._made() as made:
            request, text = made.fails
            failed = expected(await made.delegate.dispatch(request), Failed)
            must(isinstance(failed.error, DelegateError), f"{failed.error!r} is none of ours")
            must(text in str(failed.error), f"no {text!r} in {failed.error!s}")
            with pytest.raises(DelegateError) as raised:
                failed.raise_for_status()
            must(raised.value is failed.error, "raise_for_status raises another error")

    @mark.spec("DEL-4")
    async def test_a_question_comes_back_as_a_question(self) -> None:
        """Hold the question to its text."""
        async with self._made() as made:
            if made.asks is None:
                pytest.skip("no request upon which it asks")
            request, text = made.asks
            asked = expected(await made.delegate.dispatch(request), InputRequired)
            must(text in asked.question.text, f"no {text!r} in {asked.question.text!r}")
            with pytest.raises(DelegationPausedError):
                asked.raise_for_status()

    @mark.spec("DEL-5")
    async def test_a_refusal_is_rejected_and_may_be_repeated(self) -> None:
        """Hold the refusal to an error, and its effect to not-started."""
        async with self._made() as made:
            if made.refuses is None:
                pytest.skip("no request that it refuses")
            rejected = expected(await made.delegate.dispatch(made.refuses), Rejected)
            must(rejected.safe_to_retry, f"refused before it began, and yet: {rejected.effect}")
            with pytest.raises(DelegateError) as raised:
                rejected.raise_for_status()
            must(raised.value is rejected.error, "raise_for_status raises another error")

    @mark.spec("DEL-6")
    async def test_the_effect_of_work_that_ended_is_ran(self) -> None:
        """Compare the effect with the truth, once for an answer and once for a failure."""
        async with self._made() as made:
            with made.must_run("pears", times=1):
                completed = await made.delegate.dispatch(made.completes("pears"))
            must(completed.effect is Effect.RAN, f"it ran, and yet: {completed.effect}")
            must(not completed.safe_to_retry, "it ran, and a repeat would run it twice")
            failed = await made.delegate.dispatch(made.fails[0])
            must(failed.effect is not Effect.NOT_STARTED, "it failed, so it had begun")

    @mark.spec("DEL-7")
    async def test_a_request_that_is_dispatched_twice_runs_twice(self) -> None:
        """Dispatch one request two times and compare the ids and the truth."""
        async with self._made() as made:
            request = made.completes("plums")
            with made.must_run("plums", times=2):
                first = expected(await made.delegate.dispatch(request), Completed)
                second = expected(await made.delegate.dispatch(request), Completed)
            must(first is not second, "the second outcome is the first one")
            if first.handle is not None and second.handle is not None:
                ids = {first.handle.message_id, second.handle.message_id}
                must(len(ids) == len([first, second]), f"both have the message id {ids}")

    @mark.spec("DEL-8")
    async def test_delegations_at_once_keep_their_answers_apart(self) -> None:
        """Dispatch several at once, and look that each has its own answer."""
        async with self._made() as made:
            results: dict[str, DelegateResult] = {}

            async def one(text: str) -> None:
                results[text] = await made.delegate.dispatch(made.takes(self.short, text))

            async with anyio.create_task_group() as group:
                for number in range(_CROWD):
                    group.start_soon(one, f"cherry-{number}-")
            for text, result in results.items():
                output = expected(result, Completed).output or ""
                must(text in output, f"{output!r} is no answer to {text!r}")

    @mark.spec("DEL-9")
    async def test_a_string_is_as_good_as_a_request(self) -> None:
        """Dispatch a prompt in both forms, where it is one that needs no more than a prompt."""
        async with self._made() as made:
            request = made.completes("quinces")
            prompt = request if isinstance(request, str) else request.prompt
            if request not in (prompt, DelegateRequest(prompt or "nothing")):
                pytest.skip("its requests need more than a prompt")
            for form in (prompt, DelegateRequest(prompt)):
                completed = expected(await made.delegate.dispatch(form), Completed)
                must("quinces" in (completed.output or ""), f"no such text: {completed.output!r}")

    @mark.spec("DEL-10")
    async def test_every_outcome_is_whole(self) -> None:
        """Explain, pickle and write down an outcome of each kind that can be had."""
        async with self._made() as made:
            requests = [made.completes("figs"), made.fails[0]]
            requests += [] if made.asks is None else [made.asks[0]]
            requests += [] if made.refuses is None else [made.refuses]
            for request in requests:
                _must_be_whole(await made.delegate.dispatch(request), made)


def _must_be_whole(result: DelegateResult, made: DelegateUnderTest) -> None:
    must(result.delegate_id == made.delegate.id, f"it is of another: {result.delegate_id!r}")
    must(isinstance(result.effect, Effect), f"{result.effect!r} is no Effect")
    must(all(isinstance(one, Attempt) for one in result.attempts), "attempts are Attempts")
    must(str(result) in result.explain(), "explain() does not tell the outcome")
    must(str(result.effect) in result.explain(), "explain() does not tell the effect")
    back = pickle.loads(pickle.dumps(result))  # noqa: S301 - what was just written
    for name in (field.name for field in fields(result)):
        # Errors have no equality of their own; their `repr` holds all that they say.
        was, now = (repr(getattr(one, name)) for one in (result, back))
        must(now == was, f"pickled, its {name} comes back as {now}")
    handle = result.handle
    if handle is not None:
        again = DelegationHandle.from_json(handle.to_json())
        must(again == handle, f"the handle comes back from JSON as {again!r}")
        must(handle.delegate_id == made.delegate.id, "the handle is of another delegate")
