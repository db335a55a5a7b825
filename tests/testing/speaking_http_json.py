"""The same plain client over HTTP+JSON: a verb, a path, and a body without an envelope."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from tests.testing.speaking import Reply, Speaker

if TYPE_CHECKING:
    import httpx

PATHS = {
    "send": ("POST", "message:send"),
    "stream": ("POST", "message:stream"),
    "get": ("GET", "tasks/{id}"),
    "list": ("GET", "tasks"),
    "cancel": ("POST", "tasks/{id}:cancel"),
    "subscribe": ("POST", "tasks/{id}:subscribe"),
}


@dataclass
class HttpJsonSpeaker(Speaker):
    """Calls one peer over HTTP+JSON. Replies look as over JSON-RPC: `result`, or `error`."""

    def message(self, text: str, message_id: str | None = None, **more: object) -> Reply:
        """Make a message of one text part."""
        message_id = message_id or f"message-{next(self.numbers)}"
        parts = "parts" if self.version == "1.0" else "content"
        return {"messageId": message_id, "role": "ROLE_USER", parts: [{"text": text}], **more}

    async def call(self, operation: str, params: Reply, **options: Any) -> Reply:
        """Call one operation and return what came, as result or error."""
        reply = await self.post(operation, params, **options)
        body: Reply = reply.json()
        if reply.is_success:
            return {"result": body}
        return {"error": body.get("error", body)}

    def request(
        self,
        operation: str,
        params: object,
        *,
        at: str = "",
        call_id: object = None,
        **options: Any,
    ) -> httpx.Request:
        """Make the request of a call: what is in no body stands in the path and the query."""
        del call_id
        assert isinstance(params, dict)
        verb, path = PATHS[operation]
        base = f"{at}/rest" if at else self.peer.http_json_url
        under = "" if self.version == "1.0" else "/v1"
        rest = {name: value for name, value in params.items() if name != "id"}
        url = f"{base}{under}/{path.format(id=quote(str(params.get('id')), safe=''))}"
        if verb == "GET" and rest:
            url += "?" + urlencode(rest)
        return self.client.build_request(
            verb,
            url,
            headers={"A2A-Version": self.version},
            json=rest if verb == "POST" else None,
            **options,
        )


SPEAKERS: dict[str, type[Speaker]] = {"JSONRPC": Speaker, "HTTP+JSON": HttpJsonSpeaker}
"""The client of each binding."""

KINDS: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    "1.0": (("1.0",), {}),
    "0.3": (("0.3",), {}),
    "0.3 of js": (("0.3",), {"like_js": True}),
    "0.3 beside 1.0": (("1.0", "0.3"), {}),
}
"""What a peer can be there: its versions, of which the last is spoken, and its options."""
