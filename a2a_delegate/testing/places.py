"""Where a peer is met: which path leads to its card, and which to the calls of which binding."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final, TypeAlias
from urllib.parse import unquote, urlsplit

import httpx

from a2a_delegate.testing.arrival import path_of
from a2a_delegate.testing.entrance import Entrance
from a2a_delegate.testing.http_json import NOT_ALLOWED, NOT_FOUND

if TYPE_CHECKING:
    from a2a_delegate.testing.entrance import JsonRpc
    from a2a_delegate.testing.http_json import HttpJson

JSONRPC: Final = "JSONRPC"
HTTP_JSON: Final = "HTTP+JSON"

BINDINGS: Final = (JSONRPC, HTTP_JSON)
"""The bindings that a scripted peer can serve, in the words of the card."""


class Card(Enum):
    """The place of the card."""

    CARD = "card"


Place: TypeAlias = Entrance | Card | int
"""What a request finds: where calls come in, the card, or the status that says what is wrong."""


@dataclass(frozen=True, slots=True)
class Places:
    """All the places of a peer. `url` is that of its endpoint; what is None is not served."""

    url: httpx.URL
    card_path: str
    json_rpc: JsonRpc | None
    http_json: HttpJson | None

    def find(self, verb: str, target: str) -> Place:
        """Return what the target of a request leads to."""
        path = path_of(target)
        if path == self.card_path:
            return Card.CARD
        if path == self.url.path and self.json_rpc is not None:
            return self.json_rpc if verb == "POST" else NOT_ALLOWED
        base = http_json_url(self.url).path.split("/")
        if self.http_json is None or not path.startswith("/"):
            return NOT_FOUND
        said = urlsplit(target)
        segments = said.path.split("/")
        if [unquote(one) for one in segments[: len(base)]] != base:
            return NOT_FOUND
        return self.http_json.find(verb, "/".join(segments[len(base) :]), said.query)


def http_json_url(url: httpx.URL) -> httpx.URL:
    """Return where HTTP+JSON stands beside this endpoint: at `rest` in its place."""
    return url.copy_with(query=None, fragment=None).join("rest")


def endpoint(url: str, binding: str) -> str:
    """Return the URL of a binding of the peer whose endpoint this is."""
    return url if binding == JSONRPC else str(http_json_url(httpx.URL(url)))
