"""A client of streams as plain as can be: what came, when it came, and how it ended.

Its reader of event streams is short and slow, and shares nothing with the one of the package.
"""

from __future__ import annotations

import json
import re
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import anyio
import httpx

if TYPE_CHECKING:
    from tests.testing.speaking import Reply, Speaker

BOM = b"\xef\xbb\xbf"
KINDS = {
    "task": "task",
    "message": "message",
    "statusUpdate": "status",
    "status-update": "status",
    "artifactUpdate": "artifact",
    "artifact-update": "artifact",
}


@dataclass(frozen=True)
class Heard:
    """What came of a call: the head, the pieces of the body with their moments, and the end.

    `ending` is `closed`, `left` where the client did, or the name of the error of httpx.
    """

    status: int
    headers: httpx.Headers
    pieces: list[tuple[float, bytes]] = field(repr=False)
    ending: str

    @property
    def body(self) -> bytes:
        return b"".join(piece for _, piece in self.pieces)

    @property
    def events(self) -> list[tuple[str, bytes]]:
        return read_events(self.body)

    @property
    def replies(self) -> list[Reply]:
        """The data of every event, parsed."""
        return [json.loads(data) for _, data in self.events]

    @property
    def results(self) -> list[Reply]:
        """What the events show, without the wrapper that 1.0 puts around it."""
        return [bare(reply.get("result", reply)) for reply in self.replies]

    @property
    def kinds(self) -> list[str]:
        return [kind_of(reply.get("result", reply)) for reply in self.replies]

    @property
    def moments(self) -> list[float]:
        """When each piece came, since the call began; rounded to what a plan is made in."""
        return [round(at, 3) for at, _ in self.pieces]


def read_events(body: bytes) -> list[tuple[str, bytes]]:
    """Return the name and the data of each event, by the rules of WHATWG HTML 9.2.6."""
    found = []
    name = ""
    data: list[bytes] = []
    *lines, _unfinished = re.split(rb"\r\n|\n|\r", body.removeprefix(BOM))
    for line in lines:
        if not line:
            if data:
                found.append((name or "message", b"\n".join(data)))
            name, data = "", []
            continue
        key, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if key == b"data":
            data.append(value)
        elif key == b"event":
            name = value.decode()
    return found


def kind_of(result: Reply) -> str:
    if "kind" in result:
        return KINDS[result["kind"]]
    (wrapper,) = result
    return KINDS[wrapper]


def bare(result: Reply) -> Reply:
    if "kind" in result:
        return result
    (shown,) = result.values()
    return dict(shown)


async def hear(
    speaker: Speaker,
    operation: str,
    params: Reply,
    *,
    leave_after: int | None = None,
    url: str | None = None,
    request_id: object = 7,
) -> Heard:
    """Call for a stream and take it to its end, or leave it after so many pieces."""
    at = "" if url is None else url.removesuffix("/rpc")
    request = speaker.request(operation, params, at=at, call_id=request_id)
    start = anyio.current_time()
    pieces: list[tuple[float, bytes]] = []
    response = await speaker.client.send(request, stream=True)
    async with aclosing(response):
        try:
            # Left by a cancelled read, which ends the generators of httpx, those within included.
            with anyio.CancelScope() as leaving:
                async for piece in response.aiter_raw():
                    pieces.append((anyio.current_time() - start, piece))
                    if len(pieces) == leave_after:
                        leaving.cancel()
        except httpx.TransportError as error:
            ending = type(error).__name__
        else:
            ending = "left" if leaving.cancelled_caught else "closed"
    return Heard(response.status_code, response.headers, pieces, ending)


async def hear_send(
    speaker: Speaker,
    text: str,
    *,
    message: Reply | None = None,
    leave_after: int | None = None,
    url: str | None = None,
) -> Heard:
    """Send a text and hear the stream; `message` holds further fields of the message."""
    params = {"message": speaker.message(text, **(message or {}))}
    return await hear(speaker, "stream", params, leave_after=leave_after, url=url)
