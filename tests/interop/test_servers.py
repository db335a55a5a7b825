"""The servers of tests/interop answer as their protocol says, seen with raw requests.

These tests are about the peers, not about the library: what a client test takes for granted about
the other side is shown here first. Sources: A2A 1.0 and 0.3 specifications; where the SDK does
something else, the test says so.
"""

from __future__ import annotations

import re
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import httpx
import pytest

from tests.interop.raw import JSON, METHODS, Face, artifact_text, new_id, state, text_of
from tests.interop.servers import CARD_PATHS, Server, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.interop


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    """A plain client without a proxy of the environment."""
    with httpx.Client(trust_env=False) as client:
        yield client


FACES = {
    "1.0-only": ("a2a-sdk-1.3", "1.0-only", "1.0"),
    "dual-as-1.0": ("a2a-sdk-1.3", "dual", "1.0"),
    "dual-as-0.3": ("a2a-sdk-1.3", "dual", "0.3"),
    "0.3-only": ("a2a-sdk-0.3", "0.3-only", "0.3"),
}

MEANWHILE = {"a2a-sdk-1.3": "failed", "a2a-sdk-0.3": "submitted"}
"""What a task shows after its agent refused a cancel, while its work goes on.

The state of 1.3 is a terminal one, and `completed` is written over it: the SDK's doing.
"""

DOUBLES = {"a2a-sdk-0.3"}
"""Where each subscriber's own copy of the events is written into the one task as well."""

TOO_LATE = {"a2a-sdk-1.3": ("completed", None), "a2a-sdk-0.3": (None, -32002)}
"""State or error that a cancel is answered with once the work that ignored it is done."""


@pytest.fixture(params=FACES)
def face(
    request: pytest.FixtureRequest,
    server_of: Callable[[str, str], Server],
    client: httpx.Client,
) -> Face:
    """Every server in every dialect that it speaks."""
    line, mode, dialect = FACES[request.param]
    return Face(server_of(line, mode), dialect, client)


@pytest.fixture
def face_of(server_of: Callable[[str, str], Server], client: httpx.Client) -> Callable[[str], Face]:
    """One face by name."""

    def named(name: str) -> Face:
        line, mode, dialect = FACES[name]
        return Face(server_of(line, mode), dialect, client)

    return named


# --- the card


def card_of(server: Server, client: httpx.Client) -> JSON:
    """The card at the well-known path."""
    reply = client.get(server.url + CARD_PATHS[0], headers={"A2A-Version": "1.0"})
    assert reply.status_code == httpx.codes.OK
    card: JSON = reply.json()
    assert card["capabilities"]["streaming"] is True
    return card


def interfaces(server: Server, *versions: str) -> list[JSON]:
    """The 1.0 form of the interfaces of this server."""
    urls = {"JSONRPC": f"{server.url}/rpc", "HTTP+JSON": f"{server.url}/rest"}
    return [
        {"url": url, "protocolBinding": binding, "protocolVersion": version}
        for binding, url in urls.items()
        for version in versions
    ]


def test_a_1_0_card_names_an_interface_a_binding_and_no_0_3_field(
    server_of: Callable[[str, str], Server], client: httpx.Client
) -> None:
    server = server_of("a2a-sdk-1.3", "1.0-only")
    card = card_of(server, client)
    assert card["supportedInterfaces"] == interfaces(server, "1.0")
    assert not {"url", "preferredTransport", "protocolVersion"} & card.keys()


def test_a_dual_card_is_blended_and_both_shapes_name_the_same_urls(
    server_of: Callable[[str, str], Server], client: httpx.Client
) -> None:
    server = server_of("a2a-sdk-1.3", "dual")
    card = card_of(server, client)
    assert card["supportedInterfaces"] == interfaces(server, "1.0", "0.3")
    assert card["url"] == f"{server.url}/rpc"
    assert card["preferredTransport"] == "JSONRPC"
    rest = {"url": f"{server.url}/rest", "transport": "HTTP+JSON"}
    assert rest in card["additionalInterfaces"]
    assert card["protocolVersion"] == "0.3"


def test_a_0_3_card_has_the_0_3_shape_only(
    server_of: Callable[[str, str], Server], client: httpx.Client
) -> None:
    server = server_of("a2a-sdk-0.3", "0.3-only")
    card = card_of(server, client)
    assert "supportedInterfaces" not in card
    assert card["url"] == f"{server.url}/rpc"
    assert card["preferredTransport"] == "JSONRPC"
    rest = {"url": f"{server.url}/rest", "transport": "HTTP+JSON"}
    assert card["additionalInterfaces"] == [rest]
    assert card["protocolVersion"] == "0.3.0"


@pytest.mark.parametrize(
    ("line", "mode", "status"),
    [
        ("a2a-sdk-1.3", "1.0-only", 404),
        ("a2a-sdk-1.3", "dual", 404),
        ("a2a-sdk-0.3", "0.3-only", 200),
    ],
)
def test_only_the_0_3_line_serves_the_old_card_path(
    server_of: Callable[[str, str], Server],
    client: httpx.Client,
    line: str,
    mode: str,
    status: int,
) -> None:
    url = server_of(line, mode).url + "/.well-known/agent.json"
    assert client.get(url).status_code == status


# --- how a turn ends


def test_quick_completes_at_once_with_one_artifact(face: Face) -> None:
    message = face.message("quick")
    task = face.send(message)
    assert state(task) == "completed"
    assert artifact_text(task) == "quick done"
    assert [(e["event"], e["task_id"]) for e in face.server.events_of(message["messageId"])] == [
        ("execute", task["id"]),
        ("done", task["id"]),
    ]


def test_hello_is_a_message_and_no_task(face: Face) -> None:
    message = face.message("hello", contextId=new_id())
    reply = face.send(message)
    assert text_of(reply) == "hello to you"
    assert "status" not in reply
    assert face.server.wait_for("done", message["messageId"])["state"] == "message"
    if face.dialect == "1.0":
        assert face.listed(message["contextId"]) == []


def test_any_other_text_comes_back_as_the_artifact(face: Face) -> None:
    task = face.send(face.message("Größe \u2028 42"))
    assert state(task) == "completed"
    assert artifact_text(task) == "Größe \u2028 42"


def test_data_comes_as_a_data_part(face: Face) -> None:
    task = face.send(face.message("data"))
    ((part,),) = [artifact["parts"] for artifact in task["artifacts"]]
    # The proto-based servers turn 42 into 42.0; the two are equal in Python.
    assert part["data"] == {"answer": 42, "words": ["a", "b"]}


@pytest.mark.parametrize(
    ("text", "end", "said"), [("fail", "failed", "it failed"), ("reject", "rejected", "not my job")]
)
def test_a_task_that_ends_badly_says_why(face: Face, text: str, end: str, said: str) -> None:
    message = face.message(text)
    task = face.send(message)
    assert state(task) == end
    assert text_of(task["status"]["message"]) == said
    assert face.server.wait_for("done", message["messageId"])["state"] == end


def test_code_that_raises_is_an_internal_error_without_a_task(face: Face) -> None:
    message = face.message("raise", contextId=new_id())
    method = METHODS[face.dialect]["send"]
    error = face.call(method, face.sending(message, at_once=False))["error"]
    assert error["code"] == -32603
    assert "a fault in the agent's code" in error["message"]
    events = [e["event"] for e in face.server.events_of(message["messageId"])]
    assert events == ["execute", "raised"]
    if face.dialect == "1.0":
        (task,) = face.listed(message["contextId"])
        assert state(task) == "failed"


def test_ask_waits_for_an_answer_and_completes_with_it(face: Face) -> None:
    question = face.send(face.message("ask"))
    assert state(question) == "input-required"
    assert text_of(question["status"]["message"]) == "Which colour?"

    answer = face.message("blue", taskId=question["id"], contextId=question["contextId"])
    task = face.send(answer)
    assert task["id"] == question["id"]
    assert state(task) == "completed"
    assert artifact_text(task) == "answer: blue"
    assert face.server.runs(answer["messageId"]) == 1


# --- time: immediate return, status updates, lost connections


def test_an_immediate_return_gives_an_open_task_that_get_sees_ending(face: Face) -> None:
    message = face.message("slow 1")
    begun = face.send(message, at_once=True)
    assert state(begun) in {"submitted", "working"}
    task = face.completed(begun["id"])
    assert artifact_text(task) == "slow done"
    said = [text_of(m) for m in task["history"] if m["role"] in {"agent", "ROLE_AGENT"}]
    assert {"step 0 of 2", "step 1 of 2"} <= set(said)
    assert face.server.runs(message["messageId"]) == 1


def test_a_client_that_vanishes_does_not_stop_the_work(face: Face) -> None:
    message = face.message("slow 1", contextId=new_id())
    method = METHODS[face.dialect]["send"]
    with pytest.raises(httpx.ReadTimeout):  # httpx closes the connection with it
        face.call(
            method, face.sending(message, at_once=False), timeout=httpx.Timeout(10.0, read=0.3)
        )

    done = face.server.wait_for("done", message["messageId"])
    assert done["state"] == "completed"
    assert face.server.runs(message["messageId"]) == 1
    if face.dialect == "1.0":
        (task,) = wait_until(lambda: face.listed(message["contextId"]) or None, "listed task")
        assert task["id"] == done["task_id"]
        assert message["messageId"] in [m["messageId"] for m in task["history"]]
        assert artifact_text(face.completed(task["id"])) == "slow done"


@pytest.mark.parametrize("again", [False, True], ids=["let-go", "subscribed-again"])
def test_a_stream_that_is_let_go_leaves_the_task_whole_unless_it_is_subscribed_to(
    face: Face, *, again: bool
) -> None:
    message = face.message("chunks 4")
    sending = face.sending(message, at_once=True)
    (first,) = face.events(METHODS[face.dialect]["stream"], sending, most=1)
    task_id = (first.get("task") or first)["id"]
    if again:
        face.events(METHODS[face.dialect]["subscribe"], {"id": task_id})
    face.server.wait_for("done", message["messageId"])
    (artifact,) = face.completed(task_id)["artifacts"]
    numbers = re.findall(r"\d", "".join(part["text"] for part in artifact["parts"]))
    doubled = again and face.server.line in DOUBLES
    assert len(numbers) > 4 if doubled else numbers == ["1", "2", "3", "4"]


def test_the_same_message_id_twice_runs_twice(face: Face) -> None:
    message = face.message(new_id())
    first, second = face.send(message), face.send(message)
    assert first["id"] != second["id"]
    assert face.server.runs(message["messageId"]) == 2
    assert face.server.runs(artifact_text(first)) == 2


# --- cancel


def test_a_cancel_of_slow_stops_the_work(face: Face) -> None:
    message = face.message("slow 60")
    task = face.send(message, at_once=True)
    assert state(face.cancel(task["id"])["result"]) == "canceled"
    face.server.wait_for("cancelled", message["messageId"])
    assert state(face.get(task["id"])) == "canceled"
    assert face.cancel(task["id"])["error"]["code"] == -32002


def test_a_cancel_of_a_waiting_question_is_honoured(face: Face) -> None:
    task = face.send(face.message("ask"))
    assert state(face.cancel(task["id"])["result"]) == "canceled"
    assert state(face.get(task["id"])) == "canceled"


def test_stubborn_refuses_a_cancel_and_works_to_its_end(face: Face) -> None:
    message = face.message("stubborn 0.8")
    task = face.send(message, at_once=True)
    assert face.cancel(task["id"])["error"]["code"] == -32002
    assert state(face.get(task["id"])) == MEANWHILE[face.server.line]
    assert face.server.wait_for("done", message["messageId"])["state"] == "completed"
    assert artifact_text(face.completed(task["id"])) == "stubborn done"
    events = [e["event"] for e in face.server.events_of(message["messageId"])]
    assert events == ["execute", "cancel-asked", "done"]


def test_deaf_lets_a_cancel_wait_until_its_work_is_done(face: Face) -> None:
    message = face.message("deaf 0.8")
    task = face.send(message, at_once=True)
    started = time.monotonic()
    reply = face.cancel(task["id"])
    assert time.monotonic() - started > 0.4
    task_now, error = reply.get("result"), reply.get("error", {})
    assert (task_now and state(task_now), error.get("code")) == TOO_LATE[face.server.line]
    assert face.server.wait_for("done", message["messageId"])["state"] == "completed"
    assert artifact_text(face.completed(task["id"])) == "deaf done"


# --- refusals


def test_an_unknown_task_is_not_found(face: Face) -> None:
    for operation in ("get", "cancel"):
        reply = face.call(METHODS[face.dialect][operation], {"id": new_id()})
        assert reply["error"]["code"] == -32001
    lost = face.message("quick", taskId=new_id())
    reply = face.call(METHODS[face.dialect]["send"], face.sending(lost, at_once=False))
    assert reply["error"]["code"] == -32001
    assert face.server.runs(lost["messageId"]) == 0


@pytest.mark.parametrize(
    ("name", "method", "version", "code"),
    [
        # A missing header means 0.3 (1.0, section 3.6.2).
        ("1.0-only", "SendMessage", None, -32009),
        ("1.0-only", "SendMessage", "0.3", -32009),
        ("1.0-only", "message/send", "1.0", -32601),
        ("1.0-only", "message/send", None, -32601),
        ("dual-as-1.0", "SendMessage", None, -32009),
        ("dual-as-1.0", "SendMessage", "0.3", -32009),
        # Not -32009: the 0.3 adapter of the SDK wraps it.
        ("dual-as-1.0", "message/send", "1.0", -32603),
        ("dual-as-0.3", "tasks/list", "0.3", -32601),
        ("0.3-only", "SendMessage", "1.0", -32601),
        ("0.3-only", "ListTasks", None, -32601),
        ("0.3-only", "tasks/list", None, -32601),
    ],
)
def test_a_wrong_version_or_method_is_refused_before_anything_runs(
    face_of: Callable[[str], Face], name: str, method: str, version: str | None, code: int
) -> None:
    face = face_of(name)
    shape = "1.0" if method in METHODS["1.0"].values() else "0.3"
    writer = replace(face, dialect=shape)
    message = writer.message("quick")
    params = writer.sending(message, at_once=False)
    assert face.call(method, params, version=version)["error"]["code"] == code
    assert face.server.runs(message["messageId"]) == 0


def test_a_0_3_task_of_a_dual_server_is_listed_by_its_1_0_face(
    face_of: Callable[[str], Face],
) -> None:
    old, new = face_of("dual-as-0.3"), face_of("dual-as-1.0")
    message = old.message("quick", contextId=new_id())
    task = old.send(message)
    assert [listed["id"] for listed in new.listed(message["contextId"])] == [task["id"]]
