"""The connection is dropped after the send: found again, or unknown, and never run twice."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from a2a_delegate import (
    AttemptFailed,
    Cancelled,
    CancelReceipt,
    CancelToken,
    Completed,
    Effect,
    Failed,
    LostReplyError,
    ProtocolVersion,
    Recovered,
    Unknown,
)
from tests.interop.cutting_proxy import CuttingProxy, all_but_the_last_byte, nothing, the_head
from tests.interop.delegating import (
    FACES,
    Reacting,
    Told,
    delegate_to,
    journal,
    operations,
    sends,
    spoken,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.interop.servers import Server

pytestmark = [pytest.mark.interop, pytest.mark.anyio]

LISTED = ("1.0-only", "dual-as-1.0", "dual-as-0.3")
"""The faces whose server can list, if only in its other version."""

CUTS = {"before-a-byte": nothing, "after-the-head": the_head}


def assert_one_send_left(proxy: CuttingProxy, server: Server, told: Told) -> None:
    """The message left once, its reply was lost, and the agent ran it once."""
    assert proxy.lost == 1
    server.wait_for("done", told.message_id)
    assert server.runs(told.message_id) == 1


@pytest.mark.parametrize("text", ["quick", "slow 1"])
@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("name", LISTED)
async def test_a_lost_reply_is_recovered_where_tasks_can_be_listed(
    server_of: Callable[[str, str], Server], name: str, cut: str, text: str
) -> None:
    face, told = FACES[name], Told()
    server = server_of(face.line, face.mode)
    with CuttingProxy(f"{server.url}/rpc", cut=CUTS[cut]) as proxy:
        async with delegate_to(server, face.version, url=proxy.url) as delegate:
            result = await delegate.dispatch(text, observer=told)
    assert isinstance(result, Completed)
    assert (result.output, result.effect) == (f"{text.split(maxsplit=1)[0]} done", Effect.RAN)
    assert result.handle is not None
    assert told.all(Recovered) == [Recovered(result.handle.task_id or "")]
    assert operations(result)[:2] == ["send", "list"]
    # Looked up over the 1.0 face; everything else stays on the version that was agreed.
    assert spoken(result, by=lambda one: one.operation == "list") == {"1.0"}
    assert spoken(result, by=lambda one: one.operation != "list") == {face.version}
    assert_one_send_left(proxy, server, told)


async def test_a_failure_behind_a_lost_reply_is_found_as_one(
    server_of: Callable[[str, str], Server],
) -> None:
    server, told = server_of("a2a-sdk-1.3", "1.0-only"), Told()
    with CuttingProxy(f"{server.url}/rpc") as proxy:
        async with delegate_to(server, ProtocolVersion.V1_0, url=proxy.url) as delegate:
            result = await delegate.dispatch("fail", observer=told)
    assert isinstance(result, Failed)
    assert result.effect is Effect.RAN
    assert_one_send_left(proxy, server, told)


async def test_a_connection_lost_while_the_server_still_reads_is_recovered(
    server_of: Callable[[str, str], Server],
) -> None:
    server, told = server_of("a2a-sdk-1.3", "1.0-only"), Told()
    with CuttingProxy(f"{server.url}/rpc", waits=False) as proxy:
        async with delegate_to(server, ProtocolVersion.V1_0, url=proxy.url) as delegate:
            result = await delegate.dispatch("quick", observer=told)
    # The task may not be listed yet when first looked for.
    assert isinstance(result, Completed)
    assert_one_send_left(proxy, server, told)


@pytest.mark.parametrize("cut", CUTS)
async def test_a_lost_reply_is_unknown_where_nothing_can_be_listed(
    server_of: Callable[[str, str], Server], cut: str
) -> None:
    server, told = server_of("a2a-sdk-0.3", "0.3-only"), Told()
    with CuttingProxy(f"{server.url}/rpc", cut=CUTS[cut]) as proxy:
        async with delegate_to(server, ProtocolVersion.V0_3, url=proxy.url) as delegate:
            result = await delegate.dispatch("quick", observer=told)
    assert isinstance(result, Unknown)
    assert isinstance(result.cause, LostReplyError)
    assert (result.cause.phase, result.effect) == ("read", Effect.MAY_HAVE_RUN)
    assert not result.safe_to_retry
    assert operations(result) == ["send"]
    assert result.handle is not None
    assert (result.handle.message_id, result.handle.task_id) == (told.message_id, None)
    # It did run, and a repeat would have run it a second time.
    assert_one_send_left(proxy, server, told)


async def test_a_reply_that_answers_with_a_message_cannot_be_found_again(
    server_of: Callable[[str, str], Server],
) -> None:
    server, told = server_of("a2a-sdk-1.3", "1.0-only"), Told()
    with CuttingProxy(f"{server.url}/rpc") as proxy:
        async with delegate_to(server, ProtocolVersion.V1_0, url=proxy.url) as delegate:
            result = await delegate.dispatch("hello", observer=told)
    # There is no task to list, and that it is not listed proves nothing.
    assert isinstance(result, Unknown)
    assert result.effect is Effect.MAY_HAVE_RUN
    assert set(operations(result)) == {"send", "list"}
    assert_one_send_left(proxy, server, told)


@pytest.mark.parametrize("name", FACES)
async def test_an_id_in_a_cut_reply_is_enough_in_every_version(
    server_of: Callable[[str, str], Server], name: str
) -> None:
    face, told = FACES[name], Told()
    server = server_of(face.line, face.mode)
    with CuttingProxy(f"{server.url}/rpc", cut=all_but_the_last_byte) as proxy:
        async with delegate_to(server, face.version, url=proxy.url) as delegate:
            result = await delegate.dispatch("quick", observer=told)
    assert isinstance(result, Completed)
    assert (result.output, result.effect) == ("quick done", Effect.RAN)
    assert "list" not in operations(result)
    assert len(sends(result)) == 1
    assert_one_send_left(proxy, server, told)


async def test_a_cancel_while_the_task_is_looked_for_stops_it_at_the_peer(
    server_of: Callable[[str, str], Server],
) -> None:
    server, token = server_of("a2a-sdk-1.3", "1.0-only"), CancelToken()
    told = Reacting(when=lambda signal: isinstance(signal, AttemptFailed), then=token.cancel)
    with CuttingProxy(f"{server.url}/rpc") as proxy:
        async with delegate_to(server, ProtocolVersion.V1_0, url=proxy.url) as delegate:
            result = await delegate.dispatch("slow 30", cancel=token, observer=told)
    assert isinstance(result, Cancelled)
    assert (result.receipt, result.effect) == (CancelReceipt.CONFIRMED, Effect.RAN)
    assert len(told.all(Recovered)) == 1
    server.wait_for("cancelled", told.message_id)
    assert journal(server, told.message_id) == ["execute", "cancel-asked", "cancelled"]
    assert proxy.lost == 1
