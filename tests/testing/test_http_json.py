"""The scripted peer over HTTP+JSON: its card, its places, its bodies and its errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from a2a_delegate.errors import UsageError
from a2a_delegate.testing import (
    Operation,
    ScriptedPeer,
)
from a2a_delegate.testing.scenario import read_scenario
from tests.testing.speaking import Reply, state, texts
from tests.testing.speaking_http_json import KINDS, HttpJsonSpeaker

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

pytestmark = [pytest.mark.anyio, pytest.mark.virtual_time]

HTTP_JSON = ("HTTP+JSON",)
BOTH = ("JSONRPC", "HTTP+JSON")


@pytest.fixture(params=KINDS)
async def speaker(request: pytest.FixtureRequest) -> AsyncIterator[HttpJsonSpeaker]:
    versions, options = KINDS[request.param]
    peer = ScriptedPeer(versions, bindings=HTTP_JSON, **options)
    async with peer.client(timeout=None) as client:
        yield HttpJsonSpeaker(peer, client, versions[-1])
    assert peer.truth.open == 0
    assert peer.pending == ()


# The card


@pytest.mark.spec("BARE-1")
@pytest.mark.parametrize("bindings", [BOTH, BOTH[::-1], HTTP_JSON])
def test_a_card_of_1_0_lists_each_binding_of_each_version_in_order(
    bindings: tuple[str, ...],
) -> None:
    urls = {"JSONRPC": "http://h.example/a/rpc?q", "HTTP+JSON": "http://h.example/a/rest"}
    peer = ScriptedPeer(("1.0", "0.3"), bindings=bindings, url=urls["JSONRPC"], tenant="t")
    card = peer.card()
    assert peer.http_json_url == urls["HTTP+JSON"]
    assert card["supportedInterfaces"] == [
        {"url": urls[binding], "protocolBinding": binding, "protocolVersion": version}
        | ({"tenant": "t"} if version == "1.0" else {})
        for version in ("1.0", "0.3")
        for binding in bindings
    ]
    assert card["preferredTransport"] == bindings[0]
    assert card["url"] == urls[bindings[0]]
    assert card.get("additionalInterfaces", []) == [
        {"transport": binding, "url": urls[binding]} for binding in bindings[1:]
    ]


@pytest.mark.spec("BARE-1")
def test_a_card_of_0_3_prefers_the_first_binding_and_lists_all() -> None:
    card = ScriptedPeer(("0.3",), bindings=BOTH[::-1]).card()
    assert (card["preferredTransport"], card["url"]) == ("HTTP+JSON", "https://peer.example/rest")
    assert card["additionalInterfaces"] == [
        {"transport": "HTTP+JSON", "url": "https://peer.example/rest"},
        {"transport": "JSONRPC", "url": "https://peer.example/rpc"},
    ]


@pytest.mark.spec("BARE-1")
def test_0_2_is_spoken_over_json_rpc_only() -> None:
    card = ScriptedPeer(("1.0", "0.2"), bindings=BOTH).card()
    listed: Any = card["supportedInterfaces"]
    assert [(one["protocolVersion"], one["protocolBinding"]) for one in listed] == [
        ("1.0", "JSONRPC"),
        ("1.0", "HTTP+JSON"),
        ("0.2", "JSONRPC"),
    ]
    with pytest.raises(UsageError, match=r"0\.2 is spoken over JSONRPC only"):
        ScriptedPeer(("1.0", "0.2"), bindings=HTTP_JSON)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"bindings": ()}, r"bindings are some of JSONRPC, HTTP\+JSON"),
        ({"bindings": ("GRPC",)}, "bindings are some of"),
        ({"bindings": ("JSONRPC", "JSONRPC")}, "bindings are some of"),
        ({"bindings": "JSONRPC"}, "bindings are some of"),
        ({"subscribe_verbs": ()}, "subscribe_verbs are some of POST, GET"),
        ({"subscribe_verbs": ("PUT",)}, "subscribe_verbs are some of POST, GET"),
        ({"error_mapping": "1.0"}, r"error_mapping is one of 1\.0\.1, 1\.0\.0, not '1\.0'"),
    ],
)
def test_options_that_make_no_peer_are_refused(options: dict[str, Any], reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        ScriptedPeer(**options)


@pytest.mark.spec("BARE-1")
async def test_only_what_is_served_answers() -> None:
    for bindings, statuses in (
        ((BOTH[0],), (200, 404)),
        (HTTP_JSON, (404, 400)),
        (BOTH, (200, 400)),
    ):
        peer = ScriptedPeer(bindings=bindings)
        async with peer.client() as client:
            rpc = await client.post(peer.url, json={})
            rest = await client.post(f"{peer.http_json_url}/message:send", json={})
        assert (rpc.status_code, rest.status_code) == statuses


# Work


@pytest.mark.spec("BARE-3")
async def test_work_is_sent_looked_at_and_cancelled(speaker: HttpJsonSpeaker) -> None:
    done = await speaker.sent_task("data", message_id="m")
    assert state(done) == "completed"
    assert texts(await speaker.get(done["id"])) == ["result of data"]
    running = await speaker.sent_task("slow 5", immediate=True)
    assert state(running) == "submitted"
    assert state(await speaker.get(running["id"])) == "working"
    assert state(await speaker.cancel(running["id"])) == "canceled"
    hello = (await speaker.send("hello"))["result"]["message"]
    assert hello["role"] == "ROLE_AGENT"
    assert dict(speaker.peer.truth.runs)["m"] == 1
    assert (speaker.peer.truth.sends, speaker.peer.truth.cancels) == (3, 1)
    versions = {request.version for request in speaker.peer.truth.requests}
    assert versions == {speaker.version}


@pytest.mark.spec("BARE-3")
async def test_a_question_is_answered_in_the_same_task(speaker: HttpJsonSpeaker) -> None:
    asked = await speaker.sent_task("ask")
    assert state(asked) == "input-required"
    answered = await speaker.sent_task("Rome", taskId=asked["id"], contextId=asked["contextId"])
    assert (answered["id"], state(answered)) == (asked["id"], "completed")
    refused = await speaker.post("send", {"message": speaker.message("x", taskId=asked["id"])})
    assert refused.status_code in {400, 422}


@pytest.mark.spec("BARE-3")
async def test_parts_travel_both_ways_in_proto_json() -> None:
    peer = ScriptedPeer(("0.3",), bindings=HTTP_JSON)
    parts: list[Reply] = [
        {"text": "file", "metadata": {"a": 1}},
        {"data": {"data": {"n": 1}}},
        {"file": {"fileWithBytes": "aGk=", "mimeType": "text/plain", "name": "a.txt"}},
        {"file": {"fileWithUri": "https://x.example/a"}},
    ]
    async with peer.client() as client:
        speaker = HttpJsonSpeaker(peer, client, "0.3")
        message = speaker.message("", content=parts, metadata={"b": 2}, extensions=["https://e"])
        sent = await speaker.call("send", {"message": message, "configuration": {"blocking": True}})
        task = sent["result"]["task"]
    (first,) = task["history"]
    assert first["content"] == parts
    assert (first["metadata"], first["extensions"]) == ({"b": 2}, ["https://e"])
    files = [part["file"] for part in task["artifacts"][0]["parts"]]
    assert [sorted(file) for file in files] == [
        ["fileWithBytes", "mimeType", "name"],
        ["fileWithUri", "mimeType", "name"],
    ]


@pytest.mark.spec("BARE-3")
async def test_the_default_of_a_send_is_that_of_its_server() -> None:
    states = {}
    for name, (versions, options) in KINDS.items():
        peer = ScriptedPeer(versions, bindings=HTTP_JSON, **options)
        async with peer.client(timeout=None) as client:
            speaker = HttpJsonSpeaker(peer, client, versions[-1])
            sent = await speaker.call("send", {"message": speaker.message("slow 1")})
        states[name] = state(sent["result"]["task"])
    # The protobuf of 0.3 does not block unless told; its servers but one do.
    assert states.pop("0.3") == "submitted"
    assert set(states.values()) == {"completed"}


@pytest.mark.spec("BARE-3")
async def test_a_list_takes_its_parameters_from_the_query() -> None:
    peer = ScriptedPeer(bindings=HTTP_JSON)
    async with peer.client() as client:
        speaker = HttpJsonSpeaker(peer, client)
        for number in range(3):
            await speaker.send("task", contextId=f"c {number % 2}")
        page = await speaker.list(contextId="c 0", pageSize=1, includeArtifacts="true")
        assert (page["pageSize"], page["totalSize"], len(page["tasks"])) == (1, 2, 1)
        assert texts(page["tasks"][0]) == ["result of task"]
        rest = await speaker.list(contextId="c 0", pageSize=1, pageToken=page["nextPageToken"])
        assert rest["tasks"][0]["id"] != page["tasks"][0]["id"]
        assert "artifacts" not in rest["tasks"][0]
        for wrong in ({"pageSize": "x"}, {"pageSize": 0}, {"includeArtifacts": "maybe"}):
            assert (await speaker.list(**wrong))["code"] == 400
    refuses = ScriptedPeer(bindings=HTTP_JSON, lists=False)
    async with refuses.client() as client:
        refused = await HttpJsonSpeaker(refuses, client).list()
    assert refused["details"][0]["reason"] == "UNSUPPORTED_OPERATION"


@pytest.mark.spec("BARE-3")
async def test_a_history_is_as_long_as_the_query_says() -> None:
    peer = ScriptedPeer(bindings=HTTP_JSON)
    async with peer.client() as client:
        speaker = HttpJsonSpeaker(peer, client)
        task = await speaker.sent_task("history")
        lengths = [
            len((await speaker.get(task["id"], historyLength=length)).get("history", ()))
            for length in (0, 1, 9)
        ]
        assert lengths == [0, 1, 2]
        assert (await speaker.get(task["id"], historyLength=-1))["code"] == 400


@pytest.mark.spec("BARE-3")
async def test_a_history_of_0_3_is_as_long_as_the_query_says(speaker: HttpJsonSpeaker) -> None:
    task = await speaker.sent_task("history")
    (last,) = (await speaker.get(task["id"], historyLength=1))["history"]
    assert last["role"] == "ROLE_AGENT"
    whole = await speaker.get(task["id"])
    # @a2a-js/sdk 0.3 shows no history unless it is asked for some.
    assert len(whole.get("history", ())) in {0, 2}


@pytest.mark.spec("BARE-3")
async def test_data_that_is_no_object_is_wrapped_for_0_3() -> None:
    peer = ScriptedPeer(("1.0", "0.3"), bindings=HTTP_JSON)
    async with peer.client() as client:
        modern, old = HttpJsonSpeaker(peer, client), HttpJsonSpeaker(peer, client, "0.3")
        parts: list[Reply] = [{"data": [1]}, {"url": "https://x.example/a"}]
        task = await modern.sent_task("", parts=parts)
        (message,) = (await old.get(task["id"]))["history"]
    assert message["content"] == [
        {"data": {"data": {"value": [1]}}},
        {"file": {"fileWithUri": "https://x.example/a"}},
    ]


# Places


@pytest.mark.spec("BARE-2")
@pytest.mark.parametrize(
    ("verb", "place", "status"),
    [
        ("GET", "", 404),
        ("GET", "/", 404),
        ("POST", "/message", 404),
        ("POST", "/message:sendx", 404),
        ("POST", "/tasks/", 404),
        ("POST", "/tasks/a/b", 404),
        ("POST", "//message:send", 404),
        ("POST", "/t/message:send", 404),
        ("POST", "/v1/message:send", 404),
        ("GET", "/message:send", 405),
        ("PUT", "/message:stream", 405),
        ("POST", "/tasks", 405),
        ("DELETE", "/tasks/a", 405),
        ("PUT", "/tasks/a:cancel", 405),
        ("HEAD", "/tasks/a", 405),
    ],
)
async def test_what_is_no_place_is_not_found_and_what_is_no_verb_not_allowed(
    verb: str, place: str, status: int
) -> None:
    peer = ScriptedPeer(bindings=HTTP_JSON)
    async with peer.client() as client:
        reply = await client.request(verb, peer.http_json_url + place)
    assert reply.status_code == status
    assert reply.headers["content-type"] == "text/plain; charset=utf-8"
    (request,) = peer.truth.requests
    assert (request.operation, request.version) == (None, None)


@pytest.mark.spec("BARE-2")
async def test_an_id_is_decoded_and_a_colon_that_is_encoded_is_part_of_it() -> None:
    peer = ScriptedPeer(bindings=HTTP_JSON, subscribe_verbs=("POST",))
    async with peer.client() as client:
        for encoded, decoded in [
            ("a%2Fb%20c", "a/b c"),
            ("%C3%A9", "é"),
            ("a%3Acancel", "a:cancel"),
            ("a:cancel", "a:cancel"),
            ("%ff", "\ufffd"),
        ]:
            reply = await client.get(
                f"{peer.http_json_url}/tasks/{encoded}", headers={"A2A-Version": "1.0"}
            )
            assert reply.status_code == 404
            assert reply.json()["error"]["message"] == f"Task not found: {decoded}"
            assert peer.truth.requests[-1].operation is Operation.GET
        cancel = await client.post(f"{peer.http_json_url}/tasks/a%3Acancel:cancel")
    assert cancel.status_code == 400
    assert peer.truth.requests[-1].operation is Operation.CANCEL


@pytest.mark.spec("BARE-2")
async def test_a_base_may_be_anywhere_and_encoded() -> None:
    for url in (
        "https://peer.example",
        "https://peer.example/a%20b/rpc",
        "https://peer.example/rest",
    ):
        peer = ScriptedPeer(bindings=BOTH, url=url)
        async with peer.client() as client:
            speaker = HttpJsonSpeaker(peer, client)
            assert state(await speaker.sent_task("task")) == "completed"
            assert (await client.post(url, json={})).json()["error"]["code"] == -32600


@pytest.mark.spec("BARE-2")
async def test_a_tenant_stands_in_the_path_or_in_the_body_or_in_the_query() -> None:
    peer = ScriptedPeer(bindings=HTTP_JSON, tenant="a/b")
    base, header = peer.http_json_url, {"A2A-Version": "1.0"}
    async with peer.client() as client:
        speaker = HttpJsonSpeaker(peer, client)

        async def send(place: str, **more: object) -> int:
            body = {"message": speaker.message("task"), **more}
            reply = await client.post(f"{base}{place}", json=body, headers=header)
            return reply.status_code

        assert await send("/message:send") == 400
        assert await send("/message:send", tenant="a/b") == 200
        assert await send("/a%2Fb/message:send") == 200
        assert await send("/a%2Fb/message:send", tenant="a/b") == 200
        assert await send("/a%2Fb/message:send", tenant="other") == 400
        assert await send("/other/message:send", tenant="a/b") == 400
        task = peer.truth.tasks[0].id
        for place, status in [
            (f"/tasks/{task}", 400),
            (f"/tasks/{task}?tenant=a%2Fb", 200),
            (f"/a%2Fb/tasks/{task}", 200),
            (f"/other/tasks/{task}", 400),
            ("/a%2Fb/tasks", 200),
        ]:
            reply = await client.get(f"{base}{place}", headers=header)
            assert reply.status_code == status, place
    assert len(peer.truth.tasks) == 3


@pytest.mark.spec("BARE-2")
async def test_0_3_stands_under_v1_also_where_a_tenant_is_called_so() -> None:
    peer = ScriptedPeer(("1.0", "0.3"), bindings=HTTP_JSON, tenant="v1")
    async with peer.client() as client:
        speaker = HttpJsonSpeaker(peer, client, "0.3")
        assert state(await speaker.sent_task("task")) == "completed"
        listed = await client.get(f"{peer.http_json_url}/v1/tasks", headers={"A2A-Version": "1.0"})
    # 0.3 beside 1.0 has no list, so this is the list of a tenant.
    assert listed.json()["totalSize"] == 1


@pytest.mark.spec("BARE-5")
@pytest.mark.parametrize("version", ["1.0", "0.3"])
@pytest.mark.parametrize(
    ("verbs", "statuses"),
    [
        (("POST", "GET"), (400, 400)),
        (("POST",), (400, 404)),
        (("GET",), (405, 400)),
    ],
)
async def test_a_subscription_takes_the_verbs_that_it_was_told(
    version: str, verbs: tuple[str, ...], statuses: tuple[int, int]
) -> None:
    peer = ScriptedPeer((version,), bindings=HTTP_JSON, subscribe_verbs=verbs, like_js=True)
    async with peer.client() as client:
        speaker = HttpJsonSpeaker(peer, client, version)
        task = (await speaker.sent_task("stuck", immediate=True))["id"]
        under = "" if version == "1.0" else "/v1"
        url = f"{peer.http_json_url}{under}/tasks/{task}:subscribe"
        replies = [
            await client.request(verb, url, headers={"A2A-Version": version})
            for verb in ("POST", "GET")
        ]
    assert tuple(reply.status_code for reply in replies) == statuses
    asked = [request.operation for request in peer.truth.requests[1:]]
    for verb, operation, reply in zip(("POST", "GET"), asked, replies, strict=True):
        if verb in verbs:
            assert operation is Operation.SUBSCRIBE
            assert "tream" in reply.text
        elif verb == "GET":
            assert operation is Operation.GET
            assert f"Task not found: {task}:subscribe" in reply.text
        else:
            assert operation is None


# The scenario


@pytest.mark.spec("BARE-4")
async def test_a_scenario_says_what_is_served_and_how(tmp_path: Path) -> None:
    file = tmp_path / "bare.toml"
    file.write_text(
        """
        [peer]
        versions = ["0.3"]
        bindings = ["HTTP+JSON"]
        subscribe_verbs = ["GET"]
        like_js = true
        path = "/agents/rpc"

        [[get]]
        call = 1
        does = "RpcError"
        code = -32603
        """
    )
    peer = read_scenario(file).peer()
    assert peer.http_json_url == "https://peer.example/agents/rest"
    async with peer.client() as client:
        speaker = HttpJsonSpeaker(peer, client, "0.3")
        sent = await speaker.post("send", {"message": speaker.message("task")})
        assert sent.status_code == 201
        task = sent.json()["task"]["id"]
        assert await speaker.get(task) == {"code": -32603, "message": ""}
        assert state(await speaker.get(task)) == "completed"


@pytest.mark.spec("BARE-4")
async def test_a_scenario_with_bindings_that_there_are_not_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "bare.toml"
    file.write_text('[peer]\nbindings = ["REST"]\n')
    with pytest.raises(UsageError, match=r"bare\.toml: bindings are some of"):
        read_scenario(file)
