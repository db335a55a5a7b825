"""A client as plain as can be: it says what it is told to and returns what came back.

The tests of the peer speak through it, so that they depend on nothing that the peer is there to
test.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    import httpx

    from a2a_delegate.testing import ScriptedPeer

METHODS = {
    "1.0": {
        "send": "SendMessage",
        "get": "GetTask",
        "list": "ListTasks",
        "cancel": "CancelTask",
        "stream": "SendStreamingMessage",
        "subscribe": "SubscribeToTask",
    },
    "0.3": {
        "send": "message/send",
        "get": "tasks/get",
        "list": "tasks/list",
        "cancel": "tasks/cancel",
        "stream": "message/stream",
        "subscribe": "tasks/resubscribe",
    },
}
METHODS["0.2"] = METHODS["0.3"]
Reply = dict[str, Any]


@dataclass
class Speaker:
    """Calls one peer in one version. Replies are the parsed JSON bodies, errors included."""

    peer: ScriptedPeer
    client: httpx.AsyncClient
    version: str = "1.0"
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def message(self, text: str, message_id: str | None = None, **more: object) -> Reply:
        """Make a message of one text part."""
        message_id = message_id or f"message-{next(self.numbers)}"
        if self.version == "1.0":
            part: Reply = {"text": text}
            shape: Reply = {"role": "ROLE_USER", "parts": [part]}
        else:
            part = {"kind": "text", "text": text}
            shape = {"role": "user", "kind": "message", "parts": [part]}
        return {"messageId": message_id, **shape, **more}

    async def call(self, operation: str, params: Reply, **options: Any) -> Reply:
        """Call one operation and return the whole reply."""
        reply = await self.post(operation, params, **options)
        parsed: Reply = reply.json()
        return parsed

    async def post(self, operation: str, params: object, **options: Any) -> httpx.Response:
        """Call one operation and return the HTTP response."""
        return await self.client.send(self.request(operation, params, **options))

    def request(
        self,
        operation: str,
        params: object,
        *,
        at: str = "",
        call_id: object = None,
        **options: Any,
    ) -> httpx.Request:
        """Make the request of a call; `at` is the origin, where that is not the peer's own."""
        method = METHODS[self.version].get(operation, operation)
        call_id = call_id or f"call-{next(self.numbers)}"
        body = {"jsonrpc": "2.0", "id": call_id, "method": method, "params": params}
        headers = {} if self.version == "0.2" else {"A2A-Version": self.version}
        url = f"{at}/rpc" if at else self.peer.url
        return self.client.build_request("POST", url, json=body, headers=headers, **options)

    async def send(
        self,
        text: str,
        message_id: str | None = None,
        *,
        immediate: bool = False,
        options: Reply | None = None,
        **more: object,
    ) -> Reply:
        """Send a text; `more` are fields of the message."""
        wait = (
            {"returnImmediately": immediate}
            if self.version == "1.0"
            else {"blocking": not immediate}
        )
        params = {"message": self.message(text, message_id, **more), "configuration": wait}
        return await self.call("send", params, **(options or {}))

    async def sent_task(self, text: str, **more: Any) -> Reply:
        """Send a text and return the task that came back."""
        result = (await self.send(text, **more))["result"]
        task: Reply = result.get("task", result)
        return task

    async def get(self, task_id: str, **params: object) -> Reply:
        """Get a task and return the reply's result, or its error."""
        return await self._outcome("get", {"id": task_id, **params})

    async def cancel(self, task_id: str) -> Reply:
        """Cancel a task and return the reply's result, or its error."""
        return await self._outcome("cancel", {"id": task_id})

    async def list(self, **params: object) -> Reply:
        """List tasks and return the reply's result, or its error."""
        return await self._outcome("list", params)

    async def _outcome(self, operation: str, params: Reply) -> Reply:
        reply = await self.call(operation, params)
        outcome: Reply = reply["error"] if "error" in reply else reply["result"]
        return outcome


def state(task: Reply) -> str:
    """Return a task's state as a word of 0.3, in whichever version it came."""
    word: str = task["status"]["state"]
    word = word.removeprefix("TASK_STATE_").lower().replace("_", "-")
    return "canceled" if word == "cancelled" else word


def texts(task: Reply) -> list[str]:
    """Return the texts of a task's artifacts."""
    parts = [part for artifact in task.get("artifacts", []) for part in artifact["parts"]]
    return [part["text"] for part in parts if "text" in part]
