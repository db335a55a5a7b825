"""The command `send` against a peer on a port."""

from __future__ import annotations

import json
import shlex
import subprocess
from typing import TYPE_CHECKING

import pytest

from a2a_delegate.testing import DropAfterAccepting, Operation, Redirect, Respond, RpcError
from tests.cli.command import COMMAND, environment, finish, invoke, run

if TYPE_CHECKING:
    from pathlib import Path

    from a2a_delegate.testing import Behaviour
    from tests.cli.peer_on_a_port import PeerOnAPort

MEMBERS = {
    "status",
    "effect",
    "output",
    "data",
    "artifacts",
    "files",
    "task_id",
    "context_id",
    "handle",
    "receipt",
    "error",
    "attempts",
}


@pytest.mark.spec("CLI-4", "CLI-5", "CLI-10")
def test_a_plain_success_is_its_text_alone(peer: PeerOnAPort) -> None:
    done = run("send", peer.origin, "say ünïcödé\n\x1b[31m\tas it is")
    assert done.out == "result of say ünïcödé\n\x1b[31m\tas it is\n".encode()
    assert done.err == ""
    assert done.status == 0


@pytest.mark.spec("CLI-4")
def test_an_answer_that_ends_its_line_gets_no_second_line_break(peer: PeerOnAPort) -> None:
    assert run("send", peer.origin, "-", stdin=b"a line\n").out == b"result of a line\n"


@pytest.mark.spec("CLI-4")
def test_what_is_not_shown_is_told_of(peer: PeerOnAPort) -> None:
    done = invoke("send", peer.origin, "file")
    assert done.out == b"result of file\n"
    assert done.err == (
        "not shown here: 1 file URL; --json shows them\n"
        "not shown here: 1 file; --save DIR saves them\n"
    )


@pytest.mark.spec("CLI-5")
def test_a_success_is_explained_where_that_is_asked_for(peer: PeerOnAPort) -> None:
    done = invoke("send", peer.origin, "hi", "--explain")
    assert (done.status, done.out) == (0, b"result of hi\n")
    assert "1. send (1.0): answered, HTTP 200" in done.err
    assert "effect: ran" in done.err


@pytest.mark.spec("CLI-7")
def test_json_is_one_object_with_everything(peer: PeerOnAPort) -> None:
    done = run("send", peer.origin, "data", "--json")
    assert (done.status, done.err) == (0, "")
    assert done.out.count(b"\n") == 1
    told = json.loads(done.out)
    (fact,) = peer.do(lambda it: it.truth.tasks)
    assert set(told) == MEMBERS
    assert (told["status"], told["effect"]) == ("completed", "ran")
    assert told["output"] == "result of data"
    assert told["data"] == [{"city": "Rome", "n": 3, "list": [1, None, "x"]}]
    assert (told["task_id"], told["context_id"]) == (fact.id, fact.context_id)
    assert told["handle"]["message_id"] == fact.message_id
    assert [one["operation"] for one in told["attempts"]] == ["send"]
    assert told["receipt"] is told["error"] is None


@pytest.mark.spec("CLI-7", "CLI-16")
def test_json_holds_what_the_peer_wrote_as_escapes(peer: PeerOnAPort) -> None:
    done = invoke("send", peer.origin, "\x1b[31m \u202e \x9b \x7f \U0001f600", "--json")
    assert done.out.isascii()
    assert b"\x1b" not in done.out
    assert b"\x7f" not in done.out
    assert json.loads(done.out)["output"].endswith("\x1b[31m \u202e \x9b \x7f \U0001f600")


@pytest.mark.spec("CLI-6", "CLI-10")
@pytest.mark.parametrize(
    ("prompt", "status", "told"),
    [
        ("fail", 1, "ended as failed: it failed"),
        ("reject", 1, "effect: not-started"),
        ("ask", 4, "question:\nwhich city?\nto answer: a2a-delegate send "),
        ("auth", 4, "the peer needs credentials: need a token"),
    ],
)
def test_what_is_no_success_is_explained(
    peer: PeerOnAPort, prompt: str, status: int, told: str
) -> None:
    done = invoke("send", peer.origin, prompt)
    assert (done.status, done.out) == (status, b"")
    assert told in done.err
    assert "1. send (1.0): answered" in done.err


@pytest.mark.spec("CLI-7", "CLI-10")
@pytest.mark.parametrize(
    ("prompt", "status", "word", "kind"),
    [
        ("fail", 1, "failed", "TaskFailedError"),
        ("reject", 1, "rejected", "TaskFailedError"),
        ("ask", 4, "input-required", "DelegationPausedError"),
        ("auth", 4, "auth-required", "DelegationPausedError"),
    ],
)
def test_json_tells_what_is_no_success(
    peer: PeerOnAPort, prompt: str, status: int, word: str, kind: str
) -> None:
    done = invoke("send", peer.origin, prompt, "--json")
    told = json.loads(done.out)
    assert (done.status, done.err, set(told)) == (status, "", MEMBERS)
    assert (told["status"], told["error"]["type"]) == (word, kind)


@pytest.mark.spec("CLI-10", "CLI-14")
def test_a_deadline_that_passes_cancels_and_exits_with_5(peer: PeerOnAPort) -> None:
    done = invoke("send", peer.origin, "stuck", "--timeout", "1", "--json")
    told = json.loads(done.out)
    (fact,) = peer.do(lambda it: it.truth.tasks)
    assert (done.status, told["status"], told["receipt"]) == (5, "timed-out", "confirmed")
    assert fact.state == "canceled"


@pytest.mark.spec("CLI-10")
def test_a_lost_reply_that_nobody_can_find_exits_with_6(old_peer: PeerOnAPort) -> None:
    old_peer.do(lambda it: it.script(Operation.SEND, DropAfterAccepting()))
    done = run("send", old_peer.origin, "hi", "--json")
    told = json.loads(done.out)
    assert done.status == 6
    assert (told["status"], told["effect"]) == ("unknown", "may-have-run")
    assert told["error"]["type"] == "LostReplyError"
    assert old_peer.do(lambda it: it.truth.sends) == 1


@pytest.mark.spec("CLI-6")
def test_what_is_unknown_leaves_its_handle_on_standard_error(old_peer: PeerOnAPort) -> None:
    old_peer.do(lambda it: it.script(Operation.SEND, DropAfterAccepting()))
    done = invoke("send", old_peer.origin, "hi")
    (line,) = [one for one in done.err.splitlines() if one.startswith("to go on: ")]
    (message_id,) = old_peer.do(lambda it: it.truth.runs)
    command, word, handle, *options = shlex.split(line.removeprefix("to go on: "))
    assert (command, word, options) == ("a2a-delegate", "resume", ["--url", old_peer.origin])
    assert json.loads(handle)["message_id"] == message_id


@pytest.mark.spec("CLI-11")
def test_a_failure_that_may_have_run_exits_with_6(old_peer: PeerOnAPort) -> None:
    old_peer.do(lambda it: it.script(Operation.SEND, RpcError(-32602, "late", accepts=True)))
    done = invoke("send", old_peer.origin, "hi", "--json")
    told = json.loads(done.out)
    assert (done.status, told["status"], told["effect"]) == (6, "failed", "may-have-run")


def card_with(**changes: object) -> Respond:
    """Return the answer of a peer with a card that differs in these members."""
    card = {
        "name": "Changed",
        "description": "",
        "version": "1",
        "capabilities": {},
        "defaultInputModes": [],
        "defaultOutputModes": [],
        "skills": [],
        **changes,
    }
    return Respond(200, {"content-type": "application/json"}, json.dumps(card))


@pytest.mark.spec("CLI-8", "CLI-10")
@pytest.mark.parametrize(
    ("behaviour", "kind"),
    [
        (Respond(404, {}, "nothing here"), "InvalidAgentCardError"),
        (Respond(200, {}, "<html>"), "InvalidAgentCardError"),
        (Redirect(302, "https://elsewhere.example/"), "InvalidAgentCardError"),
        (
            card_with(
                supportedInterfaces=[
                    {"url": "http://h/", "protocolBinding": "JSONRPC", "protocolVersion": "2.0"}
                ]
            ),
            "A2AProtocolMismatchError",
        ),
        (
            card_with(
                supportedInterfaces=[
                    {"url": "http://h/", "protocolBinding": "GRPC", "protocolVersion": "1.0"}
                ]
            ),
            "InvalidAgentCardError",
        ),
    ],
)
def test_a_peer_that_cannot_be_used_exits_with_3(
    peer: PeerOnAPort, behaviour: Behaviour, kind: str
) -> None:
    peer.do(lambda it: it.always(Operation.CARD, behaviour))
    done = invoke("send", peer.origin, "hi", "--json")
    told = json.loads(done.out)
    assert (done.status, done.err, set(told)) == (3, "", MEMBERS)
    assert (told["status"], told["effect"]) == ("failed", "not-started")
    assert told["error"]["type"] == kind
    assert peer.do(lambda it: it.truth.sends) == 0


@pytest.mark.spec("CLI-10")
def test_a_peer_that_is_not_there_exits_with_3_without_a_traceback() -> None:
    done = run("send", "http://127.0.0.1:1", "hi")
    assert (done.status, done.out) == (3, b"")
    assert done.err.startswith("nothing was sent: http://127.0.0.1:1/")
    assert "Traceback" not in done.err


@pytest.mark.spec("CLI-20")
def test_an_origin_is_used_only_where_it_was_typed_or_allowed(peer: PeerOnAPort) -> None:
    # Another port of the same host is another origin; nobody listens there.
    url = "http://127.0.0.1:1/rpc"
    interface = {"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
    peer.do(lambda it: it.always(Operation.CARD, card_with(supportedInterfaces=[interface])))
    refused = invoke("send", peer.origin, "hi")
    assert refused.status == 3
    assert "--allow-origin http://127.0.0.1:1" in refused.err
    # Allowed, it is called, and the send itself ends the delegation.
    allowed = invoke(
        "send",
        peer.origin,
        "hi",
        "--allow-origin",
        "http://127.0.0.1:1",
        "--timeout",
        "2",
        "--json",
    )
    told = json.loads(allowed.out)
    assert (allowed.status, told["error"]["type"]) == (1, "PeerUnreachableError")
    assert {one["operation"] for one in told["attempts"]} == {"send"}


@pytest.mark.spec("CLI-3", "CLI-7", "CLI-8")
@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "there is nothing to send"),
        (("hi", "--timeout", "-1"), "timeout must be"),
        (("hi", "--timeout", "nan"), "timeout must be"),
        (("hi", "--poll-interval", "0"), "poll_interval must be"),
        (("hi", "--context-id", ""), "context_id must not be empty"),
        (("hi", "--data", "{"), "not JSON at character 1"),
        (("hi", "--file", "/no/such/file"), "cannot read /no/such/file: No such file"),
        (("hi", "--allow-origin", "https://a.example/path"), "an allowed origin has no path"),
        (("hi", "--header", "nothing"), "not of the form 'Name: value'"),
    ],
)
def test_wrong_usage_is_told_in_either_form(
    peer: PeerOnAPort, words: tuple[str, ...], told: str
) -> None:
    plain = invoke("send", peer.origin, *words)
    assert (plain.status, plain.out) == (2, b"")
    assert plain.err.startswith("wrong usage: ")
    assert told in plain.err
    assert plain.err.count("\n") == 1
    spelled = invoke("send", peer.origin, *words, "--json")
    error = json.loads(spelled.out)
    assert (spelled.status, spelled.err, set(error)) == (2, "", MEMBERS)
    assert (error["status"], error["effect"]) == ("failed", "not-started")
    assert error["error"]["type"] == "UsageError"
    assert told in error["error"]["message"]
    assert peer.do(lambda it: it.truth.requests) == ()


@pytest.mark.spec("CLI-3")
@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("send",), "Missing argument 'URL'"),
        (("send", "http://x", "hi", "--no-such"), "No such option"),
        (("send", "http://x", "hi", "--timeout", "soon"), "--timeout"),
        (("snd",), "No such command"),
    ],
)
def test_words_that_cannot_be_parsed_are_told_of(words: tuple[str, ...], told: str) -> None:
    done = invoke(*words)
    assert (done.status, done.out) == (2, b"")
    assert told in done.err
    assert "Traceback" not in done.err


@pytest.mark.spec("CLI-19")
def test_prompt_data_and_files_arrive_as_they_were_given(peer: PeerOnAPort, tmp_path: Path) -> None:
    picture = tmp_path / "scan 1.png"
    picture.write_bytes(b"\x89PNG\x00\xff")
    values = tmp_path / "values.json"
    values.write_text("[1, 2.5, null]")
    words = ("--data", '{"a": "ü"}', "--data", f"@{values}", "--file", str(picture))
    done = invoke(
        "send", peer.origin, "-", *words, "--context-id", "c-1", stdin=" Grüße\n".encode()
    )
    assert done.status == 0
    (sent,) = peer.do(lambda it: [one for one in it.truth.requests if one.operation == "send"])
    assert isinstance(sent.body, dict)
    message = sent.body["params"]["message"]
    assert message["contextId"] == "c-1"
    text, first, second, file = message["parts"]
    assert text["text"] == " Grüße\n"
    assert first["data"] == {"a": "ü"}
    assert second["data"] == [1, 2.5, None]
    assert (file["raw"], file["filename"], file["mediaType"]) == (
        "iVBORwD/",
        "scan 1.png",
        "image/png",
    )


@pytest.mark.spec("CLI-19")
def test_a_part_is_enough_without_a_prompt(peer: PeerOnAPort) -> None:
    assert invoke("send", peer.origin, "--data", "{}").status == 0


@pytest.mark.spec("CLI-9")
@pytest.mark.parametrize("form", [(), ("--json",)])
def test_an_answer_that_cannot_be_written_is_no_success(
    peer: PeerOnAPort, form: tuple[str, ...]
) -> None:
    shell = shell_around(("/bin/sh", "-c", 'exec "$0" "$@" > /dev/full'))
    done = run("send", peer.origin, "hi", *form, command=shell)
    assert done.status == 1
    assert done.err == "the answer could not be written: No space left on device\n"


@pytest.mark.spec("CLI-9")
def test_an_answer_for_a_closed_standard_output_is_no_success(peer: PeerOnAPort) -> None:
    shell = ("/bin/sh", "-c", 'exec "$0" "$@" >&-')
    done = run("send", peer.origin, "hi", command=shell_around(shell))
    assert done.status == 1
    assert done.err == "the answer could not be written: standard output is closed\n"


@pytest.mark.spec("CLI-9")
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_an_answer_that_is_not_read_to_its_end_is_no_success(
    peer: PeerOnAPort, tmp_path: Path, unbuffered: str
) -> None:
    prompt = tmp_path / "prompt"
    prompt.write_text("x" * 500_000)
    shell = ("/bin/sh", "-c", f'exec "$0" "$@" < {prompt}', *COMMAND)
    with subprocess.Popen(  # noqa: S603 - words of this test
        [*shell, "send", peer.origin, "-"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment({"PYTHONUNBUFFERED": unbuffered}),
    ) as process:
        assert process.stdout is not None
        assert process.stdout.read(6) == b"result"
        process.stdout.close()
        process.stdout = None
        done = finish(process)
    assert done.err == "the answer could not be written: Broken pipe\n"
    assert done.status == 1


def test_a_long_answer_is_written_whole_without_buffers(peer: PeerOnAPort) -> None:
    prompt = "é" * 200_000
    done = run("send", peer.origin, "-", stdin=prompt.encode(), env={"PYTHONUNBUFFERED": "1"})
    assert done.out.decode() == f"result of {prompt}\n"
    assert done.status == 0


@pytest.mark.parametrize("target", ["2>&-", "2>/dev/full"])
def test_a_standard_error_that_is_closed_or_full_changes_nothing(
    peer: PeerOnAPort, target: str
) -> None:
    shell = shell_around(("/bin/sh", "-c", f'exec "$0" "$@" {target}'))
    failed = run("send", peer.origin, "fail", command=shell)
    assert (failed.status, failed.out) == (1, b"")
    completed = run("send", peer.origin, "file", command=shell)
    assert (completed.status, completed.out) == (0, b"result of file\n")


def shell_around(shell: tuple[str, ...]) -> tuple[str, ...]:
    """Return the command as a shell starts it, with its streams turned elsewhere."""
    return (*shell, *COMMAND)


@pytest.mark.parametrize("command", [("card",), ("send", "hi")])
@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("SSL_CERT_FILE", "/nonexistent", "no such file of certificates"),
        ("HTTP_PROXY", "ftp://h.example", "no such kind of proxy"),
    ],
)
def test_an_environment_that_cannot_be_used_is_told_of(
    peer: PeerOnAPort, command: tuple[str, ...], name: str, value: str, told: str
) -> None:
    word, *words = command
    done = run(word, peer.origin, *words, env={name: value, "NO_PROXY": ""})
    assert done.status == 2
    assert name in done.err
    assert told in done.err
    assert "Traceback" not in done.err


def test_letters_that_the_encoding_lacks_are_spelled_out(peer: PeerOnAPort) -> None:
    done = run("send", peer.origin, "é €", env={"PYTHONUTF8": "0", "PYTHONIOENCODING": "latin-1"})
    assert done.out == b"result of \xe9 \\u20ac\n"
    assert done.status == 0
