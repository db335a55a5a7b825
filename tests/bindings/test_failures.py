"""What an exception means: the exchange says whether, the exception says where."""

from __future__ import annotations

import ssl

import h11
import httpcore
import httpx
import pytest

from a2a_delegate.bindings.exchange import Exchange, SealedError
from a2a_delegate.bindings.failures import failed, may_pass, spoke
from a2a_delegate.errors import DelegateError
from a2a_delegate.lifecycle.operations import Lost, NotSent


class MuteError(Exception):
    """An error whose text cannot be made."""

    def __str__(self) -> str:
        raise ZeroDivisionError


ANYTHING = [
    MuteError(),
    httpx.ConnectError("x"),
    httpx.ConnectTimeout("x"),
    httpx.PoolTimeout("x"),
    httpx.ReadError("x"),
    httpx.ReadTimeout("x"),
    httpx.WriteError("x"),
    httpx.WriteTimeout("x"),
    httpx.CloseError("x"),
    httpx.ProxyError("x"),
    httpx.RemoteProtocolError("x"),
    httpx.LocalProtocolError("x"),
    httpx.UnsupportedProtocol("x"),
    httpx.TooManyRedirects("x"),
    httpx.DecodingError("x"),
    httpx.InvalidURL("x"),
    httpx.StreamConsumed(),
    httpcore.ConnectError("x"),
    h11.RemoteProtocolError("x"),
    ssl.SSLError("x"),
    OSError("x"),
    RuntimeError("x"),
    UnicodeEncodeError("ascii", "é", 0, 1, "x"),
    ExceptionGroup("x", [OSError("y")]),
    SealedError(),
]


def chained(top: Exception, *below: BaseException) -> Exception:
    link: BaseException = top
    for cause in below:
        link.__cause__ = cause
        link = cause
    return top


@pytest.mark.spec("CARR-1")
@pytest.mark.parametrize("problem", ANYTHING, ids=lambda problem: type(problem).__qualname__)
def test_any_exception_is_not_sent_before_the_body_leaves_and_lost_after(
    problem: Exception,
) -> None:
    before, after = Exchange(), Exchange(body_left=True)
    after.see(b"HTTP")
    not_sent = failed(problem, exchange=before, name="send", url="https://h.example/?k=s3cret")
    lost = failed(problem, exchange=after, name="send", url="https://h.example/", task_id="task-1")
    assert isinstance(not_sent, NotSent)
    assert isinstance(lost, Lost)
    assert (lost.evidence, lost.task_id) == (b"HTTP", "task-1")
    for error in (not_sent.error, lost.error):
        assert isinstance(error, DelegateError)
        assert error.reason
        assert "s3cret" not in str(error)
        quotes = isinstance(problem, httpx.LocalProtocolError)
        assert error.__cause__ is (None if quotes else problem)


@pytest.mark.parametrize(
    ("problem", "phase"),
    [
        (httpx.PoolTimeout("x"), "queue"),
        (httpx.ConnectTimeout("x"), "connect"),
        (httpx.ConnectError("x"), "connect"),
        (chained(httpx.ConnectError("x"), httpcore.ConnectError("y"), OSError(111)), "connect"),
        (chained(httpx.ConnectError("x"), httpcore.ConnectError("y"), ssl.SSLError("z")), "tls"),
        (httpx.WriteError("x"), "write"),
        (httpx.WriteTimeout("x"), "write"),
        (httpx.ReadError("x"), "connect"),
        (ValueError("x"), "connect"),
    ],
)
def test_what_was_not_sent_names_the_step_that_failed(problem: Exception, phase: str) -> None:
    end = failed(problem, exchange=Exchange(), name="send", url="http://h.example/")
    assert end.error.phase == phase


@pytest.mark.parametrize(
    ("problem", "phase"),
    [
        (httpx.WriteError("x"), "write"),
        (httpx.WriteTimeout("x"), "write"),
        (httpx.ReadError("x"), "read"),
        (httpx.ConnectError("x"), "read"),
        (OSError(), "read"),
    ],
)
def test_what_was_lost_names_the_step_that_failed(problem: Exception, phase: str) -> None:
    end = failed(problem, exchange=Exchange(body_left=True), name="send", url="http://h.example/")
    assert end.error.phase == phase


@pytest.mark.spec("CARR-12")
def test_the_parser_quotes_a_header_and_the_error_does_not() -> None:
    problem = httpx.LocalProtocolError("Illegal header value b'Bearer s3cret'")
    end = failed(problem, exchange=Exchange(), name="send", url="http://h.example/")
    assert "s3cret" not in str(end.error)
    assert end.error.__cause__ is None


def test_the_reason_gathers_what_each_layer_says_once() -> None:
    problem = chained(
        httpx.ConnectError("All connection attempts failed"),
        httpcore.ConnectError("All connection attempts failed"),
        OSError("refused"),
    )
    end = failed(problem, exchange=Exchange(), name="send", url="http://h.example/")
    assert end.error.reason == "All connection attempts failed: refused"


def test_a_chain_of_causes_that_bites_its_own_tail_ends() -> None:
    problem = OSError("round")
    problem.__cause__ = chained(OSError("and"), problem)
    end = failed(problem, exchange=Exchange(), name="send", url="http://h.example/")
    assert end.error.reason == "round: and"


@pytest.mark.parametrize(
    ("problem", "passes"),
    [
        (httpx.ConnectError("x"), True),
        (httpx.ReadTimeout("x"), True),
        (httpx.RemoteProtocolError("x"), True),
        (chained(httpx.ConnectError("x"), ssl.SSLError("a bad certificate stays bad")), False),
        (httpx.LocalProtocolError("x"), False),
        (httpx.InvalidURL("x"), False),
        (ValueError("x"), False),
        (None, False),
    ],
)
def test_only_failures_of_the_network_may_pass(problem: Exception | None, *, passes: bool) -> None:
    assert may_pass(problem) is passes


@pytest.mark.parametrize(
    ("problem", "said_something"),
    [
        (
            chained(
                httpx.RemoteProtocolError("x"),
                httpcore.RemoteProtocolError("x"),
                h11.RemoteProtocolError("illegal status line"),
            ),
            True,
        ),
        (chained(httpx.RemoteProtocolError("in location header"), httpx.InvalidURL("x")), True),
        (httpx.InvalidURL("x"), True),
        (httpx.RemoteProtocolError("Server disconnected"), False),
        (chained(httpx.LocalProtocolError("x"), h11.LocalProtocolError("x")), False),
        (chained(httpx.RemoteProtocolError("x"), httpcore.RemoteProtocolError("x")), False),
        (httpx.ReadError("x"), False),
        (None, False),
    ],
)
def test_a_peer_that_hangs_up_in_silence_is_told_from_one_that_answers_with_garbage(
    problem: Exception | None, *, said_something: bool
) -> None:
    assert spoke(problem) is said_something
