"""Calls an agent by a2a-sdk's own client, and says what CPU that took.

Runs in an environment of its own (tests/interop/install.py a2a-sdk-1.3). Reads lines of two
numbers, callers and calls of each, from standard input; answers each line with the seconds of CPU
that this process has spent on it, after one call of each that is not counted. Ends with its input.
"""

from __future__ import annotations

import asyncio  # noqa: TID251 - a program without the package
import gc
import sys
import time

import httpx
from a2a.client import Client, ClientConfig, ClientFactory  # type: ignore[import-not-found]
from a2a.helpers.proto_helpers import new_text_message  # type: ignore[import-not-found]
from a2a.types.a2a_pb2 import (  # type: ignore[import-not-found]
    Role,
    SendMessageRequest,
    TaskState,
)


async def one_call(client: Client, prompt: str) -> None:
    """Send one message, and check that its task has completed."""
    message = new_text_message(prompt, role=Role.ROLE_USER)
    async for event in client.send_message(SendMessageRequest(message=message)):
        if event.task.status.state != TaskState.TASK_STATE_COMPLETED:
            raise ValueError("the agent answered something else")


async def calls(client: Client, prompt: str, *, callers: int, each: int) -> None:
    """Let callers call at once, each one call after the other."""

    async def caller() -> None:
        for _ in range(each):
            await one_call(client, prompt)

    async with asyncio.TaskGroup() as tasks:
        for _ in range(callers):
            tasks.create_task(caller())


async def main(url: str, prompt: str) -> None:
    """Serve the orders on standard input."""
    # As a caller of many would have it: the client's own limit on waiting would end calls.
    async with httpx.AsyncClient(timeout=None) as http:  # noqa: S113 - as said above
        factory = ClientFactory(ClientConfig(streaming=False, polling=True, httpx_client=http))
        client = await factory.create_from_url(url)
        loop = asyncio.get_running_loop()
        while line := await loop.run_in_executor(None, sys.stdin.readline):
            callers, each = map(int, line.split())
            await calls(client, prompt, callers=callers, each=1)
            gc.collect()
            began = time.process_time()
            await calls(client, prompt, callers=callers, each=each)
            print(time.process_time() - began, flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2]))
