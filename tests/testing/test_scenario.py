"""A scenario file: what it can say, and what is said of one that is wrong."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, TypeAlias, get_args

import pytest

from a2a_delegate.errors import UsageError
from a2a_delegate.testing import (
    Chunked,
    Close,
    CloseAfterReply,
    Compressed,
    CutReply,
    Delay,
    Dribble,
    DropAfterAccepting,
    EarlyReply,
    EventFormat,
    EventKind,
    EventOrder,
    Finished,
    GreedyFirstChunk,
    Honest,
    InsertEvent,
    Intruder,
    LineEnd,
    Loss,
    LyingCancel,
    Moment,
    Opening,
    Operation,
    Overtaken,
    Pings,
    RawReply,
    RefuseConnection,
    Respond,
    Rewrite,
    RpcError,
    Stop,
    StopStream,
    Subscription,
    UnknownState,
    WithoutEvents,
)
from a2a_delegate.testing.acts import Act
from a2a_delegate.testing.behaviours import Layer
from a2a_delegate.testing.catalogue import BEHAVIOURS, KINDS, descriptions, parameters_of, spelled
from a2a_delegate.testing.scenario import MAX_BYTES, Rule, Scenario, read_scenario
from tests.testing.hearing import hear
from tests.testing.speaking import Speaker

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from a2a_delegate.testing import Behaviour


@pytest.fixture
def read(tmp_path: Path) -> Callable[[str | bytes], Scenario]:
    """Return what reads a scenario from a text."""

    def read(text: str | bytes) -> Scenario:
        path = tmp_path / "scenario.toml"
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return read_scenario(path)

    return read


Read: TypeAlias = "Callable[[str | bytes], Scenario]"

WHOLE = """
[peer]
name = "Flaky"
versions = ["1.0", "0.3"]
lists = false
tenant = "acme"
path = "/agents/one"

[[send]]
call = 1
does = "CutReply"
at = 120
by = "rst"

[[send]]
call = [2, 4]
does = "RawReply"
content = { hex = "ff 00" }
accepts = false

[[send]]
prompt = "be slow"
does = "Delay"
seconds = 0.5
then = { does = "Dribble", size = 3, every = 1, then = "WrongId" }

[[get]]
does = "Respond"
status = 503
headers = { Retry-After = "2" }
body = { list = [1, 2.5, true, "x"] }

[[cancel]]
does = "CloseAfterReply"
moment = "next-request"
then = { does = "LyingCancel" }

[[list]]
does = "Overtaken"
by = "send"

[[card]]
call = 1
does = "DropAfterAccepting"
loss = "READ_TIMEOUT"
"""


@pytest.mark.spec("SCEN-1")
def test_a_scenario_says_who_the_agent_is_and_what_happens_to_whom(read: Read) -> None:
    scenario = read(WHOLE)
    assert scenario.options["url"] == "https://peer.example/agents/one"
    assert scenario.rules[1] == Rule(
        Operation.SEND, RawReply(b"\xff\x00", accepts=False), calls=(2, 4)
    )
    assert scenario.rules[2].prompt == "be slow"
    peer = scenario.peer()
    assert (peer.name, tuple(peer.versions), peer.tenant) == ("Flaky", ("1.0", "0.3"), "acme")
    assert [behaviour for _, behaviour in peer.pending] == [
        DropAfterAccepting(loss=Loss.READ_TIMEOUT),
        CutReply(120, Close.RST),
        RawReply(b"\xff\x00", accepts=False),
        RawReply(b"\xff\x00", accepts=False),
    ]
    behaviours = [rule.behaviour for rule in scenario.rules]
    assert CloseAfterReply(Moment.NEXT_REQUEST, then=LyingCancel()) in behaviours
    assert Overtaken(Operation.SEND) in behaviours
    slow = next(one for one in behaviours if isinstance(one, Delay))
    assert spelled(slow) == "Delay(seconds=0.5, then=Dribble(size=3, every=1, then=WrongId))"
    assert tuple(scenario.peer(versions=["0.2"]).versions) == ("0.2",)


@pytest.mark.spec("SCEN-1")
@pytest.mark.anyio
async def test_the_peer_of_a_scenario_does_what_it_says(read: Read) -> None:
    peer = read(
        '[[get]]\ncall = 2\ndoes = "RpcError"\ncode = -2\n'
        '[[get]]\ndoes = "RpcError"\ncode = -1\n'
        '[[send]]\nprompt = "no"\ndoes = "RpcError"\ncode = -3\naccepts = true\n'
    ).peer()
    async with peer.client() as client:
        speaker = Speaker(peer, client)
        assert [(await speaker.get("x"))["code"] for _ in range(3)] == [-1, -2, -1]
        assert (await speaker.send("no"))["error"]["code"] == -3
        assert "result" in await speaker.send("yes")


STREAMING = """
[peer]
versions = ["0.3"]
streaming = true

[[send]]
does = "Pings"
every = 5
then = { does = "StopStream", after = 2, how = "silence", then = "GreedyFirstChunk" }

[[subscribe]]
call = 1
does = "EventOrder"
order = [1, 3, 2]
then = { does = "Subscription", opening = "snapshot", finished = "error-event" }

[[subscribe]]
prompt = "slow 2"
does = "InsertEvent"
after = 0
what = "other-task"
then = { does = "EventFormat", line_end = "crlf", then = { does = "WithoutEvents", kind = "end" } }
"""


@pytest.mark.spec("SCEN-4")
@pytest.mark.anyio
async def test_a_scenario_says_what_is_done_to_a_stream(read: Read) -> None:
    scenario = read(STREAMING)
    assert [rule.behaviour for rule in scenario.rules] == [
        Pings(5, StopStream(2, Stop.SILENCE, GreedyFirstChunk())),
        EventOrder((1, 3, 2), Subscription(Opening.SNAPSHOT, Finished.ERROR_EVENT)),
        InsertEvent(
            0,
            Intruder.OTHER_TASK,
            EventFormat(LineEnd.CRLF, then=WithoutEvents(EventKind.END)),
        ),
    ]
    peer = scenario.peer()
    assert peer.card()["capabilities"] == {"streaming": True, "pushNotifications": False}
    async with peer.client() as client:
        speaker = Speaker(peer, client, "0.3")
        await speaker.send("task")
        heard = await hear(speaker, "subscribe", {"id": peer.truth.tasks[0].id})
    assert heard.replies[0]["error"]["code"] == -32602
    assert spelled(scenario.rules[1].behaviour) == (
        "EventOrder(order=[1, 3, 2], then=Subscription(finished=error-event))"
    )


def test_an_empty_scenario_is_an_honest_agent(read: Read) -> None:
    assert read("") == Scenario({}, ())


@pytest.mark.spec("SCEN-2")
@pytest.mark.parametrize(
    ("text", "place", "problem"),
    [
        ("sned = 1", "line 1, sned", "there is no 'sned'; known are peer, card, send, get"),
        ("[[sned]]\nx = 1", "line 1, sned", "there is no 'sned'"),
        ("\n[peer]\nx = 1\nnmae = 1", "line 3, peer: x", "a peer has no 'x'; known are versions"),
        ("peer = 1", "line 1, peer", "write [peer] above"),
        ("[peer]\nurl = 'x'", "line 2, peer: url", "a peer has no 'url'"),
        ("[peer]\npath = 'x'", "line 2, peer: path", "a path that begins with /"),
        ("[peer]\nversions = '1.0'", "line 2, peer: versions", "a list of texts"),
        ("[peer]\nlists = 1", "line 2, peer: lists", "true or false is needed, not 1"),
        ("[peer]\nname = 1", "line 2, peer: name", "text is needed, not 1"),
        ("[peer]\nstreaming = 1", "line 2, peer: streaming", "true or false is needed, not 1"),
        (
            "[[subscribe]]\ndoes = 'EventOrder'\norder = 1",
            "line 3, subscribe, rule 1: order",
            "a list of whole numbers is needed, not 1",
        ),
        (
            "[[subscribe]]\ndoes = 'EventOrder'\norder = [1, 'x']",
            "line 3, subscribe, rule 1: order",
            "a whole number is needed, not 'x'",
        ),
        (
            "[[subscribe]]\ndoes = 'EventOrder'\norder = [1, 0]",
            "line 1, subscribe, rule 1",
            "EventOrder needs numbers from 1",
        ),
        (
            "[[cancel]]\ndoes = 'StopStream'\nafter = 1",
            "line 2, cancel, rule 1: does",
            "StopStream is for send, subscribe, not for cancel",
        ),
        (
            "[[send]]\ndoes = 'StopStream'\nafter = 1\nhow = 'sigh'",
            "line 4, send, rule 1: how",
            "'sigh' is none of end, cut, silence",
        ),
        ("send = 1", "line 1, send", "write [[send]], with two brackets"),
        ("[send]\ndoes = 'Hang'", "line 1, send", "write [[send]], with two brackets"),
        ("[[send]]\n", "line 1, send, rule 1", "say what it does: does = one of Chunked"),
        (
            "[[send]]\ndoes = 'Honest'\ncall = 1\n[[send]]\ncall = 2\ndoes = 'Hnoest'",
            "line 6, send, rule 2: does",
            "there is no behaviour 'Hnoest'; known are Chunked, ",
        ),
        ("[[send]]\ndoes = 3", "line 2, send, rule 1: does", "there is no behaviour 3"),
        ("[[send]]\ndoes = 'Rewrite'", "line 2, send, rule 1: does", "there is no behaviour"),
        (
            "[[get]]\ndoes = 'RefuseConnection'",
            "line 2, get, rule 1: does",
            "there is no behaviour 'RefuseConnection'",
        ),
        (
            "[[send]]\ndoes = 'Delay'\nsecond = 1",
            "line 3, send, rule 1: second",
            "Delay has no 'second'; known are seconds, then, before_reading",
        ),
        ("[[send]]\ndoes = 'Honest'\nx = 1", "line 3, send, rule 1: x", "it has no parameters"),
        ("[[send]]\ndoes = 'Delay'", "line 1, send, rule 1", "Delay needs seconds"),
        ("[[send]]\ndoes = 'Dribble'", "line 1, send, rule 1", "Dribble needs size and every"),
        ("[[send]]\ndoes = 'Delay'\nseconds = -1", "line 1, send, rule 1", "finite number"),
        ("[[send]]\ndoes = 'Delay'\nseconds = inf", "line 3, send, rule 1: seconds", "a number"),
        ("[[send]]\ndoes = 'CutReply'\nat = 1.5", "line 3, send, rule 1: at", "a whole number"),
        ("[[send]]\ndoes = 'CutReply'\nat = true", "line 3, send, rule 1: at", "a whole number"),
        (
            "[[send]]\ndoes = 'CutReply'\nat = 1\nby = 'sigh'",
            "line 4, send, rule 1: by",
            "'sigh' is none of fin, rst",
        ),
        (
            "[[send]]\ndoes = 'DropAfterAccepting'\nloss = 'TOTAL'",
            "line 3, send, rule 1: loss",
            "'TOTAL' is none of DISCONNECTED, READ_ERROR",
        ),
        (
            "[[send]]\ndoes = 'RawReply'\ncontent = {hex = 'zz'}",
            "line 3, send, rule 1: content.hex",
            "pairs of hexadecimal digits",
        ),
        (
            "[[send]]\ndoes = 'RawReply'\ncontent = 1",
            "line 3, send, rule 1: content",
            'text or { hex = "..." }',
        ),
        (
            "[[send]]\ndoes = 'Respond'\nheaders = {a = 1}",
            "line 3, send, rule 1: headers.a",
            "text is needed, not 1",
        ),
        (
            "[[send]]\ndoes = 'Respond'\nheaders = 1",
            "line 3, send, rule 1: headers",
            "a table of texts",
        ),
        (
            "[[send]]\ndoes = 'Respond'\nbody = {a = [1, 1979-05-27]}",
            "line 3, send, rule 1: body.a.[2]",
            "a number is needed",
        ),
        (
            "[[send]]\ndoes = 'Delay'\nseconds = 1\nthen = {does = 'Respond', status = 99}",
            "line 4, send, rule 1: then",
            "a final HTTP status is between 200 and 599, not 99",
        ),
        (
            "[[send]]\ndoes = 'Delay'\nseconds = 1\n[send.then]\ndoes = 'Cut'",
            "line 1, send, rule 1: then.does",
            "there is no behaviour 'Cut'",
        ),
        (
            "[[send]]\ndoes = 'Delay'\nseconds = 1\nthen = 7",
            "line 4, send, rule 1: then",
            '{ does = "..." } is needed, not 7',
        ),
        (
            "[[send]]\ndoes = 'EarlyReply'\nthen = 'Hang'",
            "line 1, send, rule 1",
            "EarlyReply needs a Respond",
        ),
        (
            "[[card]]\ndoes = 'LyingCancel'",
            "line 2, card, rule 1: does",
            "LyingCancel is for cancel, not for card",
        ),
        (
            "[[send]]\ndoes = 'Chunked'\nthen = 'CloseDelimited'",
            "line 2, send, rule 1: does",
            "only one WrongLength or CloseDelimited or Chunked",
        ),
        (
            "[[card]]\nprompt = 'hi'\ndoes = 'Hang'",
            "line 2, card, rule 1: prompt",
            "a request of card belongs to no prompt",
        ),
        (
            "[[send]]\nprompt = 1\ndoes = 'Hang'",
            "line 2, send, rule 1: prompt",
            "text is needed, not 1",
        ),
        (
            "[[send]]\nprompt = 'hi'\ncall = 1\ndoes = 'Hang'",
            "line 2, send, rule 1: prompt",
            "a call or a prompt, not both",
        ),
        (
            "[[send]]\ndoes = 'RawReply'\ncontent = {hex = 1}",
            "line 3, send, rule 1: content",
            "text is needed, not 1",
        ),
        ("[[send]]\ncall = 0\ndoes = 'Hang'", "line 2, send, rule 1: call", "numbered from 1; 0"),
        ("[[send]]\ncall = ['x']\ndoes = 'Hang'", "line 2, send, rule 1: call", "'x' is none"),
        (
            "[[send]]\ncall = [1, 2]\ndoes = 'Hang'\n[[send]]\ncall = 2\ndoes = 'Hang'",
            "line 4, send, rule 2",
            "rule 1 speaks of the same requests",
        ),
        (
            "[[send]]\ndoes = 'Hang'\n[[get]]\ndoes = 'Hang'\n[[send]]\ndoes = 'Hang'",
            "line 5, send, rule 2",
            "rule 1 speaks of the same requests",
        ),
        ("send = [\n{does = 'Hnag'}]", "line 1, send, rule 1: does", "there is no behaviour"),
        ("x.y = 1", "line 1, x", "there is no 'x'"),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_what_is_wrong_is_told_with_its_place_and_what_may_stand_there(
    read: Read,
    text: str,
    place: str,
    problem: str,
) -> None:
    with pytest.raises(UsageError) as raised:
        read(text)
    told = str(raised.value)
    assert f"scenario.toml, {place}: " in told
    assert problem in told


@pytest.mark.spec("SCEN-2")
@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a = [", "not TOML: "),
        ("a = 1\nb = ", "not TOML: Invalid value (at end of document)"),
        ("a = " + "[" * 100_000, "not TOML: "),
        (b"\xff = 1", "not UTF-8 at byte 0"),
        ("[peer]\nversions = ['2.0']", "versions are some of 1.0, 0.3, 0.2"),
        ("#" * (MAX_BYTES + 1), f"larger than {MAX_BYTES} bytes"),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_what_is_no_scenario_is_told_as_such(
    read: Read,
    text: str | bytes,
    problem: str,
) -> None:
    with pytest.raises(UsageError, match=r"scenario\.toml") as raised:
        read(text)
    assert problem in str(raised.value)


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    for path in (tmp_path / "none.toml", tmp_path, tmp_path / "a\0b"):
        with pytest.raises(UsageError, match="cannot read the scenario"):
            read_scenario(path)


# What can be named is what there is


@pytest.mark.spec("SCEN-3")
def test_every_behaviour_has_a_name_and_every_parameter_a_kind() -> None:
    assert set(BEHAVIOURS.values()) == {*get_args(Act), *get_args(Layer)} - {
        Rewrite,
        RefuseConnection,
    }
    for kind in BEHAVIOURS.values():
        named = [one.name for one in parameters_of(kind)]
        assert named == [one.name for one in fields(kind)]
        assert not {"call", "prompt", "does"} & set(named)
    used = {one.kind for kind in BEHAVIOURS.values() for one in parameters_of(kind)}
    assert used <= set(KINDS.values())
    assert all(one.about.endswith(".") for one in descriptions())


@pytest.mark.parametrize(
    ("behaviour", "told"),
    [
        (Honest(), "Honest"),
        (CutReply(3), "CutReply(at=3)"),
        (Compressed(then=Chunked(9)), "Compressed(then=Chunked(size=9))"),
        (RpcError(-1, data={"a": None}), 'RpcError(code=-1, data={"a": none})'),
        (RawReply(b"a\xff"), 'RawReply(content="a\\u00ff")'),
        (Respond(headers={"a": "b"}, body=b"x"), 'Respond(headers={"a": "b"}, body="x")'),
        (DropAfterAccepting(loss=Loss.READ_ERROR), "DropAfterAccepting(loss=READ_ERROR)"),
        (Overtaken(Operation.GET), "Overtaken(by=get)"),
        (EarlyReply(drains=False), "EarlyReply(drains=false)"),
        (UnknownState("x"), 'UnknownState(word="x")'),
        (Dribble(1, 0.5), "Dribble(size=1, every=0.5)"),
    ],
)
def test_a_behaviour_is_spelled_without_what_goes_without_saying(
    behaviour: Behaviour, told: str
) -> None:
    assert spelled(behaviour) == told
