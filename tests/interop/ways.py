"""The ways to a server: what carries the requests, and how the task is watched."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Final, Literal

from a2a_delegate import Binding

LOOPS: Final = ("asyncio", "trio")
SOAKED: Final = bool(os.environ.get("A2A_DELEGATE_SOAK"))

STREAM: Final = "stream"
POLL: Final = "poll"


@dataclass(frozen=True, slots=True)
class Way:
    """One way; `loop` is the event loop that it is gone on where not both are.

    Of the four, each two of binding, watching and loop meet in one.
    """

    binding: Binding
    watch: Literal["stream", "poll"]
    loop: Literal["asyncio", "trio"]

    def __str__(self) -> str:
        return f"{self.binding} {self.watch}"

    @property
    def streams(self) -> bool:
        """Whether the task is watched by stream."""
        return self.watch == STREAM

    @property
    def loops(self) -> tuple[str, ...]:
        """Where it is gone: `scripts/soak` goes everywhere."""
        return LOOPS if SOAKED else (self.loop,)

    def is_called(self, word: str) -> bool:
        """Whether a word of the page means it, perhaps with others."""
        return word in {str(self), str(self.binding), self.watch}


WAYS: Final = (
    Way(Binding.JSONRPC, STREAM, "asyncio"),
    Way(Binding.JSONRPC, POLL, "trio"),
    Way(Binding.HTTP_JSON, STREAM, "trio"),
    Way(Binding.HTTP_JSON, POLL, "asyncio"),
)
BY_STREAM: Final = tuple(way for way in WAYS if way.streams)
BY_POLL: Final = tuple(way for way in WAYS if not way.streams)
OVER_HTTP_JSON: Final = WAYS[2:]
STREAMED_HTTP_JSON: Final = WAYS[2:3]
POLLED_HTTP_JSON: Final = WAYS[3:]
