"""One server, spoken to with literal JSON: no code of the library stands between test and wire."""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass, field
from typing import Any

import httpx

from tests.interop.servers import Server, wait_until

JSON = dict[str, Any]

_BEFORE_1_0 = {
    "send": "message/send",
    "stream": "message/stream",
    "subscribe": "tasks/resubscribe",
    "get": "tasks/get",
    "cancel": "tasks/cancel",
    "list": "tasks/list",
}

METHODS = {
    "1.0": {
        "send": "SendMessage",
        "stream": "SendStreamingMessage",
        "subscribe": "SubscribeToTask",
        "get": "GetTask",
        "cancel": "CancelTask",
        "list": "ListTasks",
    },
    "0.3": _BEFORE_1_0,
    "0.2": _BEFORE_1_0,
}


def new_id() -> str:
    """A fresh id for a message or a context."""
    return str(uuid.uuid4())


@dataclass(frozen=True, slots=True)
class Face:
    """One server, spoken to in one dialect, with literal JSON."""

    server: Server
    dialect: str
    client: httpx.Client = field(repr=False)

    def call(
        self,
        method: str,
        params: JSON,
        *,
        version: str | None = "",
        timeout: float | httpx.Timeout = 10.0,
    ) -> JSON:
        """Post one request; `version` "" is the dialect's own header, `None` sends none."""
        request_id = new_id()
        version = self.dialect if version == "" else version
        headers = {} if version is None else {"A2A-Version": version}
        body = {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}
        reply = self.client.post(self.server.rpc_url, json=body, headers=headers, timeout=timeout)
        assert reply.status_code == httpx.codes.OK
        envelope: JSON = reply.json()
        assert envelope["jsonrpc"] == "2.0"
        assert envelope["id"] == request_id
        return envelope

    def events(self, method: str, params: JSON, *, most: int | None = None) -> list[JSON]:
        """The results that a stream shows: all, or the first ones, after which it is let go."""
        body = {"jsonrpc": "2.0", "id": new_id(), "method": method, "params": params}
        headers = {"A2A-Version": self.dialect}
        url, shown = self.server.rpc_url, list[JSON]()
        with self.client.stream("POST", url, json=body, headers=headers, timeout=10.0) as reply:
            assert reply.headers["content-type"].startswith("text/event-stream")
            for line in reply.iter_lines():
                if line.startswith("data:"):
                    shown.append(json.loads(line.removeprefix("data:"))["result"])
                if len(shown) == most:
                    break
        return shown

    def message(self, text: str, **more: str) -> JSON:
        """A user message in this dialect."""
        message: JSON = {"messageId": new_id(), **more}
        if self.dialect == "1.0":
            return message | {"role": "ROLE_USER", "parts": [{"text": text}]}
        part = {"kind": "text", "text": text}
        return message | {"kind": "message", "role": "user", "parts": [part]}

    def sending(self, message: JSON, *, at_once: bool) -> JSON:
        """The parameters of a send."""
        if self.dialect == "1.0":
            return {"message": message, "configuration": {"returnImmediately": at_once}}
        configuration = {"blocking": not at_once, "acceptedOutputModes": []}
        return {"message": message, "configuration": configuration}

    def send(self, message: JSON, *, at_once: bool = False) -> JSON:
        """Send; give the task or message of the reply, bare as 0.3 has it."""
        reply = self.call(METHODS[self.dialect]["send"], self.sending(message, at_once=at_once))
        result: JSON = reply["result"]
        if self.dialect != "1.0":
            assert result["kind"] in {"task", "message"}
            return result
        assert len(result) == 1
        only: JSON = result.get("task") or result["message"]
        return only

    def get(self, task_id: str) -> JSON:
        """The task as it is now."""
        task: JSON = self.call(METHODS[self.dialect]["get"], {"id": task_id})["result"]
        return task

    def cancel(self, task_id: str) -> JSON:
        """The whole envelope of a cancel."""
        return self.call(METHODS[self.dialect]["cancel"], {"id": task_id})

    def listed(self, context_id: str) -> list[JSON]:
        """The tasks of a context; only 1.0 can tell."""
        params = {"contextId": context_id, "includeArtifacts": True}
        tasks: list[JSON] = self.call("ListTasks", params)["result"]["tasks"]
        return tasks

    def completed(self, task_id: str) -> JSON:
        """The task, once it is completed."""

        def probe() -> JSON | None:
            task = self.get(task_id)
            return task if state(task) == "completed" else None

        return wait_until(probe, f"completed task {task_id}", every=0.05)


def state(task: JSON) -> str:
    """The state in the words of 0.3."""
    word: str = task["status"]["state"]
    return word.removeprefix("TASK_STATE_").lower().replace("_", "-")


def text_of(holder: JSON) -> str:
    """The text of the only part of a message or an artifact."""
    (part,) = holder["parts"]
    text: str = part["text"]
    return text


def artifact_text(task: JSON) -> str:
    """The text of the only artifact."""
    (artifact,) = task["artifacts"]
    return text_of(artifact)
